//! Fits, paths, and the choice of k and epsilon.

use ewca_eval::{Candidates, EncodedLabels, Protocol, Selection, Spread};
use numpy::PyReadonlyArray1;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::vector;
use crate::data::{Table, with_samples};
use crate::error::fit_error;
use crate::model::PyModel;
use crate::run::{detached, watched};
use crate::settings::Settings;

type Weights<'py> = Option<PyReadonlyArray1<'py, f64>>;

fn slice<'a>(weights: &'a Weights<'_>) -> PyResult<Option<&'a [f64]>> {
    weights.as_ref().map(|weights| Ok(weights.as_slice()?)).transpose()
}

/// One fit. Returns the model, and the exception that interrupted it if one did.
#[pyfunction]
#[pyo3(signature = (table, weights, settings, progress=None))]
pub fn fit<'py>(
    py: Python<'py>,
    table: Table<'py>,
    weights: Weights<'py>,
    settings: Settings<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(PyModel, Option<PyErr>)> {
    let (values, weights) = (table.values()?, slice(&weights)?);
    let checked = settings.params()?.check().map_err(fit_error)?;
    let (made, raised) = watched(py, settings.threads, progress, |watch| {
        with_samples!(values, weights, |samples| checked.fit_observed(&samples, &mut watch.observer()))
    })?;
    match (made, raised) {
        (Some(model), raised) => Ok((PyModel::new(model.map_err(fit_error)?), raised)),
        (None, raised) => Err(raised.unwrap_or_else(lost)),
    }
}

/// One model per epsilon, each fitted from its smaller neighbour; and the exception that interrupted it if one did.
#[pyfunction]
#[pyo3(signature = (table, weights, epsilons, settings, progress=None))]
pub fn path<'py>(
    py: Python<'py>,
    table: Table<'py>,
    weights: Weights<'py>,
    epsilons: Vec<f64>,
    settings: Settings<'py>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<PyModel>, Option<PyErr>)> {
    let (values, weights) = (table.values()?, slice(&weights)?);
    let checked = settings.params()?.check().map_err(fit_error)?;
    let (made, raised) = watched(py, settings.threads, progress, |watch| {
        with_samples!(values, weights, |samples| checked.path_observed(&samples, &epsilons, &mut watch.observer()))
    })?;
    let Some(models) = made else { return Err(raised.unwrap_or_else(lost)) };
    Ok((models.map_err(fit_error)?.into_iter().map(PyModel::new).collect(), raised))
}

/// The epsilons of a path, and those among which labels choose, where none are given.
#[pyfunction]
pub fn default_epsilons(
    py: Python<'_>,
    table: Table<'_>,
    weights: Weights<'_>,
    k: usize,
) -> PyResult<(Vec<f64>, Vec<f64>)> {
    let (values, weights) = (table.values()?, slice(&weights)?);
    let found = detached(py, None, || {
        with_samples!(values, weights, |samples| {
            ewca::Ewca::params(k).pca(&samples).map(|pca| (pca.path_epsilons(), pca.selection_epsilons()))
        })
    })?;
    found.map_err(fit_error)
}

/// Judges each k, and chooses an epsilon for it, by the paper's protocol.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn select<'py>(
    py: Python<'py>,
    table: Table<'py>,
    labels: Vec<String>,
    ks: Vec<usize>,
    epsilons: Vec<f64>,
    splits: usize,
    inner_splits: usize,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let values = table.values()?;
    let labels = EncodedLabels::new(&labels);
    let protocol = Protocol { splits, inner_splits, seed };
    let (made, raised) = watched(py, threads, None, |watch| {
        let mut go_on = |_| !watch.stopped();
        with_samples!(values, None, |samples| {
            let candidates = Candidates::Standing;
            ewca_eval::select(&samples, &labels, &ks, &epsilons, candidates, protocol, &mut go_on)
        })
    })?;
    match made.transpose().map_err(fit_error)?.flatten() {
        Some(selection) => words(py, &selection),
        None => Err(raised.unwrap_or_else(lost)),
    }
}

fn words<'py>(py: Python<'py>, selection: &Selection) -> PyResult<Bound<'py, PyDict>> {
    let spread = |spread: &Spread| (spread.mean, spread.q1, spread.median, spread.q3);
    let cells = PyList::empty(py);
    for cell in &selection.cells {
        let one = PyDict::new(py);
        one.set_item("n_components", cell.k)?;
        one.set_item("epsilon", cell.epsilon)?;
        one.set_item("stands", cell.stands)?;
        one.set_item("pca", spread(&cell.pca))?;
        one.set_item("ewca", spread(&cell.ewca))?;
        one.set_item("chosen", vector(py, &cell.chosen))?;
        one.set_item("by_epsilon", vector(py, &cell.by_epsilon))?;
        one.set_item("collapsed", cell.collapsed.clone())?;
        cells.append(one)?;
    }
    let words = PyDict::new(py);
    words.set_item("epsilons", vector(py, &selection.epsilons))?;
    words.set_item("raw", spread(&selection.raw))?;
    words.set_item("cells", cells)?;
    words.set_item("best", selection.best)?;
    Ok(words)
}

fn lost() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("the work ended without a result")
}
