//! How many components, and what goes with them: what Python asks of the evaluation.

use std::sync::atomic::Ordering;

use ewca::{Error, Ewca, Observer, Result, Samples, Scalar};
use ewca_eval::ParallelAnalysis;
use ewca_eval::covariates::{Associations, Covariate, associations};
use ewca_io::{Annotation, Known};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::arrays::vector;
use crate::data::{TableView, with_samples};
use crate::fit::Weights;
use crate::run::{Given, Watch, Watchers, left_alone_on_signal, lost, watched};

/// Variances are asked for in so many components at first, and four times as many each time that they are too few.
const FIRST_COMPONENTS: usize = 64;
/// Parts of the variance that differ by less are equal: sums in another order differ by rounding.
const SAME: f64 = 1e-12;

/// The variances of principal components beside those of permuted tables.
#[pyfunction]
#[pyo3(signature = (table, weights, seed, threads=None))]
pub fn scree<'py>(
    py: Python<'py>,
    table: Py<PyAny>,
    weights: Weights,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let analysis = ParallelAnalysis { seed, ..ParallelAnalysis::default() };
    let work = move |values: TableView<'_>, weights: Option<&[f64]>, watch: &Watch| {
        let stop = watch.flag();
        let mut go_on = |_| !stop.load(Ordering::Relaxed);
        with_samples!(values, weights, |samples| analysis.scree_observed(&samples, &mut go_on))
    };
    let found = finished(watched(py, threads, Watchers::default(), Given { table, weights }, work)?)?;
    let found = found.ok_or_else(lost)?;
    let words = PyDict::new(py);
    words.set_item("above", found.above)?;
    words.set_item("variances", vector(py, &found.variances))?;
    words.set_item("permuted", vector(py, &found.permuted))?;
    words.set_item("quantile", found.quantile)?;
    words.set_item("permutations", found.permutations)?;
    Ok(words)
}

/// How many principal components explain more than `part` of the variance; all that there are where that is 1.
#[pyfunction]
#[pyo3(signature = (table, weights, part, threads=None))]
pub fn components_for(
    py: Python<'_>,
    table: Py<PyAny>,
    weights: Weights,
    part: f64,
    threads: Option<usize>,
) -> PyResult<usize> {
    let work = move |values: TableView<'_>, weights: Option<&[f64]>, watch: &Watch| {
        with_samples!(values, weights, |samples| count_for(&samples, part, &mut watch.observer(None)))
    };
    finished(watched(py, threads, Watchers::default(), Given { table, weights }, work)?)
}

fn count_for<T: Scalar>(samples: &Samples<'_, T>, part: f64, observer: &mut dyn Observer) -> Result<usize> {
    let most = samples.all_rows().saturating_sub(1).min(samples.columns()).max(1);
    let mut asked = FIRST_COMPONENTS.min(most);
    loop {
        let explained = match Ewca::params(asked).check()?.pca_observed(samples, observer) {
            Ok(pca) => pca.explained_variance_ratio,
            Err(Error::Components { rank, .. }) if (1..asked).contains(&rank) => {
                Ewca::params(rank).check()?.pca_observed(samples, observer)?.explained_variance_ratio
            }
            Err(error) => return Err(error),
        };
        let mut sum = 0.0;
        let enough = explained.iter().position(|variance| {
            sum += variance;
            part < 1.0 && sum > part + SAME
        });
        match enough {
            Some(last) => return Ok(last + 1),
            None if asked == most || explained.len() < asked => return Ok(explained.len()),
            None => asked = asked.saturating_mul(4).min(most),
        }
    }
}

/// A column of what is known of samples: its name, its cells as text (empty where they are missing), and whether they are classes
/// even if they look like numbers.
type Column = (String, Vec<String>, bool);

/// One row per component and column that could be compared: (component, column, measure, effect, samples, p, corrected p).
type Row = (usize, usize, &'static str, f64, usize, f64, f64);

/// The rows, and the columns that were not compared with the reason.
type Compared = (Vec<Row>, Vec<(usize, String)>);

/// Which columns go with which components.
#[pyfunction]
pub fn covariates(
    py: Python<'_>,
    scores: PyReadonlyArray2<'_, f64>,
    columns: Vec<Column>,
    permutations: usize,
    seed: u64,
) -> PyResult<Compared> {
    let scores: Vec<Vec<f64>> = scores.as_array().columns().into_iter().map(|column| column.to_vec()).collect();
    let samples = scores.first().map_or(0, Vec::len);
    if let Some((name, cells, _)) = columns.iter().find(|(_, cells, _)| cells.len() != samples) {
        let message = format!("column '{name}' has {} values, but there are {samples} samples", cells.len());
        return Err(PyValueError::new_err(message));
    }
    let found = left_alone_on_signal(py, move |_| {
        let known: Vec<Annotation> = columns
            .iter()
            .map(|(name, cells, classes)| Annotation::of_texts(name, cells.iter().map(String::as_str), *classes, &[]))
            .collect();
        let covariates: Vec<Covariate<'_>> = known.iter().map(covariate).collect();
        associations(&scores, &covariates, permutations, seed)
    })?;
    Ok(rows(&found))
}

fn covariate(annotation: &Annotation) -> Covariate<'_> {
    match &annotation.known {
        Known::Classes { codes, .. } => Covariate::Classes(codes),
        Known::Numbers { numbers } => Covariate::Numbers(numbers),
    }
}

fn rows(found: &Associations) -> Compared {
    use ewca_eval::covariates::Skipped;
    let tests = found.tests.iter().map(|test| {
        let name = test.measure.name();
        (test.component, test.covariate, name, test.effect, test.samples, test.p, test.p_corrected)
    });
    let why = |skipped: Skipped| match skipped {
        Skipped::TooFew => "too few samples have a value",
        Skipped::OneValue => "the value is the same for all samples",
        Skipped::AllDifferent => "the value differs for every sample",
    };
    (tests.collect(), found.skipped.iter().map(|&(column, skipped)| (column, why(skipped).to_string())).collect())
}

/// What a watched piece of work made, unless it was interrupted: half of it is of no use.
fn finished<T>((made, raised): (T, Option<PyErr>)) -> PyResult<T> {
    raised.map_or(Ok(made), Err)
}
