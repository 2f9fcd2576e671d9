//! Fitted models.

use std::path::PathBuf;

use ewca::{Matrix, Model, Start};
use ewca_io::{Annotation, Checksum, FittedPreprocessing, ModelFile, Preprocessing, RoleColumns, Values};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{by_rows, transposed, vector};
use crate::data::{self, matrix};
use crate::error::{file_error, fit_error};
use crate::plan::PyPlan;
use crate::run::{attended, detached, lost};
use crate::steps::{self, PySteps, owned};

/// A fit, with what a model file holds beside it.
#[pyclass(frozen, name = "Model", module = "ewca._ewca")]
pub struct PyModel {
    pub(crate) model: Model,
    /// What came with a model that was loaded. A fit of arrays has none of it.
    pub(crate) origin: Option<Origin>,
    /// How many samples the fit had, where nothing is kept of them: the model has one sample then, which stands for all.
    forgotten: Option<usize>,
}

#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) preprocessing: FittedPreprocessing,
    pub(crate) ids: Vec<String>,
    pub(crate) labels: Option<Vec<String>>,
    pub(crate) annotations: Vec<Annotation>,
    pub(crate) columns: RoleColumns,
    program: String,
    training_checksum: u64,
}

impl PyModel {
    pub fn new(model: Model) -> Self {
        Self { model: without_start(model), origin: None, forgotten: None }
    }

    /// Refuses what only the samples of the fit can tell.
    pub(crate) fn has_samples(&self) -> PyResult<()> {
        match self.forgotten {
            None => Ok(()),
            Some(_) => Err(PyValueError::new_err(
                "this model was fitted with keep_plan=False: its scores, potential and plan were not kept, and it cannot be \
                 saved as a model file; fit it with keep_plan=True",
            )),
        }
    }

    /// The steps before the fit, where there are any.
    pub(crate) fn steps(&self) -> Option<&FittedPreprocessing> {
        self.origin.as_ref().map(|origin| &origin.preprocessing).filter(|steps| !steps.steps.is_nothing())
    }

    /// What goes into a model file. Given names of features replace those that nobody gave.
    fn file(&self, features: Option<Vec<String>>) -> PyResult<ModelFile> {
        let mut origin = self.origin.clone().unwrap_or_else(|| self.no_origin());
        if let (Some(names), None) = (features, self.steps()) {
            let mut sorted: Vec<&String> = names.iter().collect();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(PyValueError::new_err(format!("two features are named {:?}: rename one", pair[0])));
            }
            origin.preprocessing.features = names;
        }
        let Origin { preprocessing, ids, labels, annotations, columns, program, training_checksum } = origin;
        let (model, has_checksum) = (self.model.clone(), true);
        Ok(ModelFile {
            model,
            preprocessing,
            ids,
            labels,
            annotations,
            columns,
            program,
            training_checksum,
            has_checksum,
        })
    }

    /// What is said of a fit of arrays: samples and features are named as the program names those without names.
    pub(crate) fn no_origin(&self) -> Origin {
        let features = numbered("column", self.model.n_features());
        Origin {
            preprocessing: FittedPreprocessing {
                steps: Preprocessing::default(),
                features,
                kept: None,
                scales: None,
                means: None,
            },
            ids: numbered("", self.model.n_samples()),
            labels: None,
            annotations: Vec::new(),
            columns: RoleColumns::default(),
            program: env!("CARGO_PKG_VERSION").into(),
            training_checksum: 0,
        }
    }
}

/// A model that does not repeat the components that its fit began at.
fn without_start(model: Model) -> Model {
    let plain = model.params().params().clone().start(Start::Pca);
    if plain == *model.params().params() {
        return model;
    }
    let mut parts = model.clone().into_parts();
    let Ok(checked) = plain.check() else { return model };
    parts.params = checked;
    Model::from_parts(parts).unwrap_or(model)
}

fn numbered(stem: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("{stem}{number}")).collect()
}

impl From<ModelFile> for PyModel {
    fn from(file: ModelFile) -> Self {
        let ModelFile { model, preprocessing, ids, labels, annotations, columns, program, training_checksum, .. } =
            file;
        let origin = Origin { preprocessing, ids, labels, annotations, columns, program, training_checksum };
        Self { model, origin: Some(origin), forgotten: None }
    }
}

/// What pickle keeps: the function that reads a model again, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, u64, Option<usize>));

#[pymethods]
impl PyModel {
    /// k x d, as scikit-learn has it.
    #[getter]
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        transposed(py, self.model.components())
    }

    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.model.mean())
    }

    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        self.has_samples()?;
        by_rows(py, self.model.scores())
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.has_samples()?;
        Ok(vector(py, self.model.weights()))
    }

    #[getter]
    fn potential<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        self.has_samples()?;
        Ok(vector(py, self.model.potential()))
    }

    #[getter]
    fn explained_variance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.model.explained_variance())
    }

    #[getter]
    fn explained_variance_ratio<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.model.explained_variance_ratio())
    }

    /// The norm of each column of the scores, of as many samples as the weights stand for.
    #[getter]
    fn singular_values<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        let samples = self.model.variance_divisor() * self.model.sample_count();
        let values: Vec<f64> = self.model.explained_variance().iter().map(|v| (v * samples).sqrt()).collect();
        values.into_pyarray(py)
    }

    #[getter]
    fn epsilon(&self) -> f64 {
        self.model.epsilon()
    }

    #[getter]
    fn perplexity(&self) -> f64 {
        self.model.perplexity().overall
    }

    #[getter]
    fn loss(&self) -> f64 {
        self.model.loss()
    }

    #[getter]
    fn rank(&self) -> usize {
        self.model.rank()
    }

    #[getter]
    fn distance_to_pca(&self) -> f64 {
        self.model.distance_to_pca()
    }

    #[getter]
    fn n_iter(&self) -> usize {
        self.model.iterations()
    }

    #[getter]
    fn solver(&self) -> &'static str {
        self.model.solver().name()
    }

    #[getter]
    fn n_components(&self) -> usize {
        self.model.n_components()
    }

    /// How many features a table must have; with preprocessing more than the components have.
    #[getter(n_features)]
    pub(crate) fn table_features(&self) -> usize {
        self.steps().map_or(self.model.n_features(), |steps| steps.features.len())
    }

    /// Which of these features the components have, where they do not have all.
    #[getter]
    fn kept(&self) -> Option<&[usize]> {
        self.steps()?.kept.as_deref()
    }

    /// How many samples the weights stand for.
    #[getter]
    fn count(&self) -> f64 {
        self.model.sample_count()
    }

    #[getter]
    fn n_samples(&self) -> usize {
        self.forgotten.unwrap_or(self.model.n_samples())
    }

    /// Whether the scores, the potential and so the plan were kept.
    #[getter]
    fn has_plan(&self) -> bool {
        self.forgotten.is_none()
    }

    /// What was asked of the fit, as JSON.
    #[getter]
    fn params(&self) -> PyResult<String> {
        serde_json::to_string(self.model.params().params()).map_err(|e| PyRuntimeError::new_err(e.to_string()))
    }

    /// The steps before the fit, by name, where there are any.
    #[getter]
    fn steps_wanted<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyDict>>> {
        self.steps().map(|steps| steps::words(py, &steps.steps)).transpose()
    }

    /// The names of the features, where somebody gave them.
    #[getter]
    fn feature_names(&self) -> Option<&[String]> {
        let names = &self.origin.as_ref()?.preprocessing.features;
        (*names != numbered("column", names.len())).then_some(names)
    }

    /// The steps before the fit, in words, where there are any.
    #[getter]
    fn preprocessing(&self) -> Option<String> {
        let steps = &self.steps()?.steps;
        let mut words = Vec::new();
        words.extend(steps.normalize_total.map(|total| format!("normalize_total={total}")));
        words.extend(steps.log1p.then(|| "log1p".to_string()));
        words.extend(steps.top_variable.map(|count| format!("top_variable={count}")));
        words.extend(steps.unit_variance.then(|| "unit_variance".to_string()));
        Some(words.join(", "))
    }

    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let certificate = self.model.certificate();
        let words = PyDict::new(py);
        words.set_item("converged", self.model.converged())?;
        words.set_item("termination", self.model.termination().name())?;
        words.set_item("marginal_error", certificate.marginal_error)?;
        words.set_item("duality_gap", certificate.duality_gap)?;
        words.set_item("relative_gradient", certificate.relative_gradient)?;
        words.set_item("residuals", vector(py, &certificate.residuals))?;
        words.set_item("rounding", vector(py, &certificate.rounding))?;
        words.set_item("angles", vector(py, &certificate.angles))?;
        words.set_item("eigen_deficit", certificate.eigen_deficit)?;
        words.set_item("skipped_mass", certificate.skipped_mass)?;
        words.set_item("omitted_variance", certificate.omitted_variance)?;
        words.set_item("eigenvalues", vector(py, &certificate.eigenvalues))?;
        words.set_item("next_eigenvalue", certificate.next_eigenvalue)?;
        words.set_item("collapsed", certificate.collapsed)?;
        let approximation = certificate.approximation.map(|near| {
            let words = PyDict::new(py);
            words.set_item("landmarks", near.landmarks)?;
            words.set_item("rows", near.rows)?;
            words.set_item("marginal_error", near.marginal_error)?;
            words.set_item("worst_row", near.worst_row)?;
            words.set_item("relative_gradient", near.relative_gradient)?;
            PyResult::Ok(words)
        });
        words.set_item("approximation", approximation.transpose()?)?;
        let findings =
            serde_json::to_string(&self.model.findings()).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        words.set_item("findings", findings)?;
        Ok(words)
    }

    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let history = self.model.history();
        let columns = PyDict::new(py);
        let count = |values: Vec<i64>| values.into_pyarray(py);
        columns.set_item("attempt", count(history.iter().map(|it| it.attempt as i64).collect()))?;
        columns.set_item("iteration", count(history.iter().map(|it| it.iteration as i64).collect()))?;
        let number = |values: Vec<f64>| values.into_pyarray(py);
        columns.set_item("epsilon", number(history.iter().map(|it| it.epsilon).collect()))?;
        columns.set_item("loss", number(history.iter().map(|it| it.loss).collect()))?;
        columns.set_item("relative_gradient", number(history.iter().map(|it| it.relative_gradient).collect()))?;
        columns.set_item("marginal_error", number(history.iter().map(|it| it.marginal_error).collect()))?;
        columns.set_item("kernel_passes", count(history.iter().map(|it| it.kernel_passes as i64).collect()))?;
        Ok(columns)
    }

    fn transform<'py>(&self, py: Python<'py>, table: data::Table<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = table.values()?;
        let (scores, raised) = attended(py, |watch| match self.steps() {
            Some(steps) => {
                let done = steps.apply(owned(values, &steps.features)?, "X").map_err(file_error)?;
                match &done.values {
                    Values::Dense(x) => self.model.transform(&x.data, x.rows),
                    Values::Sparse(x) => self.model.transform_sparse(&x.offsets, &x.indices, &x.values),
                }
                .map_err(fit_error)
            }
            None => match values {
                data::TableView::Dense64(x) => x.scores(&self.model),
                data::TableView::Dense32(x) => x.scores(&self.model),
                data::TableView::Sparse64(x) => self.model.transform_sparse(x.offsets, x.positions, x.values),
                data::TableView::Sparse32(x) => self.model.transform_sparse(x.offsets, x.positions, x.values),
                data::TableView::Streamed(x) => {
                    x.stop_with(watch.flag());
                    x.scores(&self.model)
                }
            }
            .map_err(fit_error),
        })?;
        match raised.or_else(|| table.failure()) {
            Some(error) => Err(error),
            None => by_rows(py, &scores.ok_or_else(lost)??),
        }
    }

    fn inverse_transform<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let scores = matrix(&scores);
        let samples = detached(py, None, || {
            let samples = self.model.inverse_transform(&scores)?;
            Ok(match self.steps() {
                Some(steps) => steps::undone(steps, &samples),
                None => samples,
            })
        })?
        .map_err(fit_error)?;
        by_rows(py, &samples)
    }

    /// Samples as the model sees them: after the steps.
    fn prepared<'py>(&self, py: Python<'py>, table: data::Table<'py>) -> PyResult<Bound<'py, PyAny>> {
        let values = table.values()?;
        let Some(fitted) = self.steps() else {
            return Err(PyRuntimeError::new_err("the model has no steps"));
        };
        let apply = || fitted.apply(owned(values, &fitted.features)?, "X").map_err(file_error);
        let done = detached(py, None, apply)??;
        steps::to_python(py, done.values)
    }

    /// The same fit with the steps that made its table.
    fn with_steps(&self, steps: &PySteps) -> Self {
        let origin = Origin { preprocessing: steps.fitted.clone(), ..self.no_origin() };
        Self { model: self.model.clone(), origin: Some(origin), forgotten: self.forgotten }
    }

    /// The same model without its samples: as large as that of PCA.
    fn without_plan(&self) -> PyResult<Self> {
        let samples = self.n_samples();
        let mut parts = self.model.clone().into_parts();
        parts.total_count = Some(self.model.sample_count());
        parts.scores = Matrix::zeros(1, self.model.n_components());
        (parts.weights, parts.potential) = (vec![1.0], vec![0.0]);
        let origin = self.origin.clone().map(|origin| Origin {
            ids: numbered("", 1),
            labels: None,
            annotations: Vec::new(),
            ..origin
        });
        Ok(Self { model: Model::from_parts(parts).map_err(fit_error)?, origin, forgotten: Some(samples) })
    }

    /// As much of the model as its plan is made of: no features.
    fn for_plan(&self) -> PyResult<Self> {
        self.has_samples()?;
        let k = self.model.n_components();
        let mut parts = self.model.clone().into_parts();
        parts.components = Matrix::from_fn(k, k, |i, j| f64::from(u8::from(i == j)));
        (parts.mean, parts.history) = (vec![0.0; k], Vec::new());
        Ok(Self::new(Model::from_parts(parts).map_err(fit_error)?))
    }

    fn plan(&self) -> PyResult<PyPlan> {
        self.has_samples()?;
        let certificate = self.model.certificate();
        // The plan is that of the exact kernel.
        let marginal_error = certificate.approximation.map_or(certificate.marginal_error, |near| near.marginal_error);
        Ok(PyPlan { plan: self.model.plan().into(), marginal_error })
    }

    #[pyo3(signature = (path, features=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, features: Option<Vec<String>>) -> PyResult<()> {
        self.has_samples()?;
        let file = self.file(features)?;
        py.detach(|| ewca_io::write_model(&path, &file)).map_err(file_error)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| ewca_io::read_model(&path)).map(Self::from).map_err(file_error)
    }

    /// The bytes of a model file.
    #[pyo3(signature = (features=None))]
    fn to_bytes<'py>(&self, py: Python<'py>, features: Option<Vec<String>>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &ewca_io::model_bytes(&self.file(features)?).map_err(file_error)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        ewca_io::read_model_bytes(bytes, "the saved model").map(Self::from).map_err(file_error)
    }

    /// A pickle holds the bytes of the model file and their checksum.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let bytes = self.to_bytes(py, None)?;
        let sum = Checksum::of(bytes.as_bytes());
        Ok((py.get_type::<Self>().getattr("_unpickled")?, (bytes, sum, self.forgotten)))
    }

    #[staticmethod]
    #[pyo3(signature = (bytes, sum, forgotten=None))]
    fn _unpickled(bytes: &[u8], sum: u64, forgotten: Option<usize>) -> PyResult<Self> {
        match Checksum::of(bytes) == sum {
            true => Ok(Self { forgotten, ..Self::from_bytes(bytes)? }),
            false => Err(PyValueError::new_err("the pickled model is damaged: its checksum differs")),
        }
    }
}
