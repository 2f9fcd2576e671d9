//! Reports: one HTML file that shows what a fit found, as the program writes it.

use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

use ewca::{Model, Observer, Pca};
use ewca_eval::covariates::{Covariate, DEFAULT_PERMUTATIONS, associations};
use ewca_io::{Annotation, FittedPreprocessing, Known, Values, write_atomically};
use ewca_report::{Report, SampleRows, Subject, is_report};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::{PyFileExistsError, PyValueError};
use pyo3::prelude::*;

use crate::data::{TableView, with_samples};
use crate::error::{file_error, fit_error};
use crate::model::{Origin, PyModel};
use crate::run::{Given, Watch, Watchers, left_alone_on_signal, watched};
use crate::steps::owned;

/// Scores of the data that are further than this part of the largest from those of the fit are scores of other data. Single precision is
/// forgiven.
const SAME_SCORES: f64 = 1e-3;
/// The seed of the permutations, as in the program: the same fit gives the same p-values.
const SEED: u64 = 0;
/// What tells a report is in its first bytes.
const HEAD: u64 = 1 << 12;

/// A page.
#[pyclass(frozen, name = "Report", module = "ewca._ewca")]
pub struct PyReport {
    #[pyo3(get)]
    html: String,
}

#[pymethods]
impl PyReport {
    /// Writes the page, whole or not at all. As in the program, what is in its place already is replaced if it is a report.
    fn save(&self, py: Python<'_>, path: PathBuf, overwrite: bool) -> PyResult<()> {
        if !overwrite && path.is_file() && !begins_as_report(&path) {
            return Err(PyFileExistsError::new_err(format!(
                "{} already exists, and is not a report of ewca: choose another file, or pass overwrite=True to replace it",
                path.display()
            )));
        }
        py.detach(|| write_atomically(&path, |out| out.write_all(self.html.as_bytes()))).map_err(file_error)
    }
}

fn begins_as_report(path: &PathBuf) -> bool {
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    read.is_ok() && is_report(&String::from_utf8_lossy(&head))
}

/// A column of what is known of the samples: classes with their numbers (below 0 where it is missing), texts or numbers.
#[derive(FromPyObject)]
pub enum Column<'py> {
    Classes(String, Vec<String>, PyReadonlyArray1<'py, i64>, Vec<String>),
    Numbers(String, PyReadonlyArray1<'py, f64>),
    Texts(String, Vec<String>),
}

impl Column<'_> {
    fn annotation(&self) -> PyResult<Annotation> {
        Ok(match self {
            Self::Classes(name, classes, codes, colours) => {
                let code = |&code: &i64| u32::try_from(code).ok().filter(|&code| (code as usize) < classes.len());
                let codes = codes.as_slice()?.iter().map(code).collect();
                let known = Known::Classes { classes: classes.clone(), codes };
                Annotation { name: name.clone(), known, colours: colours.clone() }
            }
            Self::Numbers(name, numbers) => {
                let text = |x: &f64| if x.is_finite() { x.to_string() } else { String::new() };
                let cells: Vec<String> = numbers.as_slice()?.iter().map(text).collect();
                Annotation::of_texts(name, cells.iter().map(String::as_str), false, &[])
            }
            Self::Texts(name, cells) => Annotation::of_texts(name, cells.iter().map(String::as_str), true, &[]),
        })
    }
}

/// What a report tells beside the fit.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Beside<'py> {
    /// The name of the data.
    name: String,
    /// What is known of the samples; nothing where the model is to say it.
    columns: Option<Vec<Column<'py>>>,
    /// Their names, and those of the features.
    ids: Option<Vec<String>>,
    features: Option<Vec<String>>,
    /// Fits along epsilon.
    path: Vec<PyRef<'py, PyModel>>,
    tsne: bool,
    threads: Option<usize>,
}

/// The page of a fit; without the data, what the model alone tells.
#[pyfunction]
pub fn report<'py>(
    py: Python<'py>,
    model: &PyModel,
    table: Option<Py<PyAny>>,
    beside: Beside<'py>,
) -> PyResult<PyReport> {
    model.has_samples()?;
    let origin = model.origin.clone().unwrap_or_else(|| model.no_origin());
    let annotations = match &beside.columns {
        Some(columns) => columns.iter().map(Column::annotation).collect::<PyResult<Vec<Annotation>>>()?,
        None => known_by(&origin),
    };
    let wish = Wish {
        name: beside.name,
        preprocessing: origin.preprocessing.steps.in_words(),
        features: kept_names(model, beside.features, &origin)?,
        ids: beside.ids.unwrap_or(origin.ids),
        annotations,
        model: model.model.clone(),
        steps: model.steps().cloned(),
        path: beside.path.iter().map(|step| step.model.clone()).collect(),
        tsne: beside.tsne,
    };
    wish.check()?;
    let Some(table) = table else {
        return Ok(PyReport { html: left_alone_on_signal(py, move |_| wish.html(None, None))?? });
    };
    let work = move |values: TableView<'_>, _: Option<&[f64]>, watch: &Watch| {
        Ok(wish.html_with(values, &mut watch.observer(None)))
    };
    match watched(py, beside.threads, Watchers::default(), Given { table, weights: None }, work)? {
        (_, Some(raised)) => Err(raised),
        (html, None) => Ok(PyReport { html: html? }),
    }
}

/// All that a page tells beside the data, free of Python.
struct Wish {
    model: Model,
    /// What is done to the data before they are shown.
    steps: Option<FittedPreprocessing>,
    name: String,
    preprocessing: Vec<String>,
    features: Vec<String>,
    ids: Vec<String>,
    annotations: Vec<Annotation>,
    path: Vec<Model>,
    tsne: bool,
}

impl Wish {
    /// What would be found out late, or makes a library panic.
    fn check(&self) -> PyResult<()> {
        let samples = self.model.n_samples();
        let wrong = |what: String| Err(PyValueError::new_err(what));
        if self.ids.len() != samples {
            return wrong(format!("{} sample names were passed, but there are {samples} samples", self.ids.len()));
        }
        match self.annotations.iter().find(|column| column.len() != samples) {
            Some(column) => wrong(format!(
                "the column {:?} of obs has {} values, but there are {samples} samples: obs needs one row per sample of the fit",
                column.name,
                column.len()
            )),
            None => Ok(()),
        }
    }

    /// The page with PCA beside the fit, of the table that was fitted.
    fn html_with(&self, values: TableView<'_>, observer: &mut (dyn Observer + '_)) -> PyResult<String> {
        if let Some(steps) = &self.steps {
            let done = steps.apply(owned(values, &steps.features)?, "X").map_err(file_error)?;
            let samples = match &done.values {
                Values::Dense(x) => ewca::Samples::new(&x.data, x.rows, x.columns),
                Values::Sparse(x) => ewca::Samples::sparse(&x.offsets, &x.indices, &x.values, x.columns),
            };
            return self.html_of(samples.map_err(fit_error)?, observer);
        }
        let page = (|| with_samples!(values, None, |samples| ewca::Result::Ok(self.html_of(samples, observer))))();
        page.map_err(fit_error)?
    }

    fn html_of<T: ewca::Scalar + std::fmt::Debug>(
        &self,
        samples: ewca::Samples<'_, T>,
        observer: &mut (dyn Observer + '_),
    ) -> PyResult<String> {
        let model = &self.model;
        let samples = samples.with_weights(model.weights()).map_err(fit_error)?;
        let scores = model.transform_samples(&samples).map_err(fit_error)?;
        let largest = model.scores().as_column_major().iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        let pairs = scores.as_column_major().iter().zip(model.scores().as_column_major());
        let apart = pairs.fold(0.0, |most: f64, (x, y)| most.max((x - y).abs()));
        if apart > SAME_SCORES * largest {
            let message = "X does not have the scores of the fit: pass the data that were fitted, in the same order";
            return Err(PyValueError::new_err(message));
        }
        let pca = model.params().pca_observed(&samples, observer).map_err(fit_error)?;
        self.html(Some(&samples), Some(&pca))
    }

    fn html(&self, samples: Option<&dyn SampleRows>, pca: Option<&Pca>) -> PyResult<String> {
        let annotations: Vec<ewca_report::Annotation> = self.annotations.iter().map(shown).collect();
        let subject = Subject {
            name: &self.name,
            preprocessing: &self.preprocessing,
            samples,
            features: &self.features,
            ids: &self.ids,
            annotations: &annotations,
            covariates: &self.covariates(),
            scree: None,
            model: &self.model,
            pca,
            path: &self.path,
            tsne: self.tsne,
        };
        let report = Report::new(&subject).map_err(|error| PyValueError::new_err(error.to_string()))?;
        Ok(report.to_html())
    }

    /// Which component goes with which column.
    fn covariates(&self) -> Vec<ewca_report::Covariate> {
        let (scores, count) = (self.model.scores(), self.model.n_components());
        let components: Vec<Vec<f64>> = (0..count).map(|k| scores.column(k).to_vec()).collect();
        let covariates: Vec<Covariate<'_>> = self.annotations.iter().map(covariate).collect();
        let found = associations(&components, &covariates, DEFAULT_PERMUTATIONS, SEED);
        let named = |test| ewca_report::Covariate::of(test, &self.annotations[test.covariate].name);
        found.tests.iter().map(named).collect()
    }
}

/// What a model file says of its samples, the label first.
fn known_by(origin: &Origin) -> Vec<Annotation> {
    let label = origin.labels.as_ref().map(|labels| {
        let name = origin.columns.label.as_deref().unwrap_or("label");
        Annotation::of_texts(name, labels.iter().map(String::as_str), true, &[])
    });
    label.into_iter().chain(origin.annotations.iter().cloned()).collect()
}

/// The names of the features that the components have, from those of a table that the model takes.
fn kept_names(model: &PyModel, given: Option<Vec<String>>, origin: &Origin) -> PyResult<Vec<String>> {
    let (kept, all) = (model.model.n_features(), model.table_features());
    let names = given.unwrap_or_else(|| origin.preprocessing.features.clone());
    match &origin.preprocessing.kept {
        _ if names.len() == kept => Ok(names),
        Some(places) if names.len() == all => Ok(places.iter().map(|&place| names[place].clone()).collect()),
        _ => {
            let or = if all == kept { String::new() } else { format!(" (or {all})") };
            let found = names.len();
            Err(PyValueError::new_err(format!("{found} feature names were passed, but there are {kept}{or} features")))
        }
    }
}

fn covariate(annotation: &Annotation) -> Covariate<'_> {
    match &annotation.known {
        Known::Classes { codes, .. } => Covariate::Classes(codes),
        Known::Numbers { numbers } => Covariate::Numbers(numbers),
    }
}

fn shown(annotation: &Annotation) -> ewca_report::Annotation {
    match &annotation.known {
        Known::Classes { classes, codes } => {
            ewca_report::Annotation::classes(&annotation.name, classes.clone(), codes, annotation.colours.clone())
        }
        Known::Numbers { numbers } => {
            let numbers = numbers.iter().map(|number| number.unwrap_or(f64::NAN)).collect();
            ewca_report::Annotation::numbers(&annotation.name, numbers)
        }
    }
}
