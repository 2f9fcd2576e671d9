//! Fits, paths, and the choice of k and epsilon.

use std::ffi::CString;

use ewca::{Ewca, Params, Samples, Scalar};
use ewca_eval::{Candidates, EncodedLabels, Method, Protocol, Recommendation, Selection, Spread};
use numpy::PyArray1;
use pyo3::exceptions::PyUserWarning;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

use crate::arrays::vector;
use crate::data::{TableView, with_samples};
use crate::error::fit_error;
use crate::model::PyModel;
use crate::run::{Given, Watch, Watchers, lost, watched};
use crate::settings::Settings;

pub type Weights = Option<Py<PyArray1<f64>>>;

/// One fit. Returns the model, and the exception that interrupted it if one did.
#[pyfunction]
#[pyo3(signature = (table, weights, settings, progress=None))]
pub fn fit(
    py: Python<'_>,
    table: Py<PyAny>,
    weights: Weights,
    settings: Settings<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(PyModel, Option<PyErr>)> {
    let params = settings.params()?;
    params.check_ref().map_err(fit_error)?;
    let (max_memory, state, mut checkpoint) = (settings.max_memory, settings.state()?, settings.checkpoint()?);
    let (threads, watchers) = (settings.threads, Watchers { progress, callback: settings.callback });
    let work = move |values: TableView<'_>, weights: Option<&[f64]>, watch: &Watch| {
        let checked = within(params, max_memory, values).check()?;
        let model = with_samples!(values, weights, |samples| {
            let mut observer = watch.observer(checkpoint.as_mut());
            match state {
                Some(state) => checked.resume(&samples, state, &mut observer),
                None => checked.fit_observed(&samples, &mut observer),
            }
        })?;
        Ok((model, checkpoint.and_then(|checkpoint| checkpoint.problem)))
    };
    let ((model, problem), raised) = watched(py, threads, watchers, Given { table, weights }, work)?;
    if let Some(problem) = problem {
        let words = CString::new(format!("the state of the fit could not be saved: {problem}"))?;
        PyErr::warn(py, &py.get_type::<PyUserWarning>(), &words, 2)?;
    }
    Ok((PyModel::new(model), raised))
}

/// The parameters with a limit to the memory, of which reading takes its part.
fn within(params: Params, max_memory: Option<usize>, values: TableView<'_>) -> Params {
    let reading = if let TableView::Streamed(source) = values { source.bytes() } else { 0 };
    match max_memory {
        Some(bytes) => params.memory_budget(bytes.saturating_sub(reading)),
        None => params,
    }
}

/// One model per epsilon, each fitted from its smaller neighbour; and the exception that interrupted it if one did.
#[pyfunction]
#[pyo3(signature = (table, weights, epsilons, settings, progress=None))]
pub fn path(
    py: Python<'_>,
    table: Py<PyAny>,
    weights: Weights,
    epsilons: Vec<f64>,
    settings: Settings<'_>,
    progress: Option<Py<PyAny>>,
) -> PyResult<(Vec<PyModel>, Option<PyErr>)> {
    let params = settings.params()?;
    params.check_ref().map_err(fit_error)?;
    let max_memory = settings.max_memory;
    let (threads, watchers) = (settings.threads, Watchers { progress, callback: settings.callback });
    let work = move |values: TableView<'_>, weights: Option<&[f64]>, watch: &Watch| {
        let checked = within(params, max_memory, values).check()?;
        with_samples!(values, weights, |samples| checked.path_observed(&samples, &epsilons, &mut watch.observer(None)))
    };
    let (models, raised) = watched(py, threads, watchers, Given { table, weights }, work)?;
    Ok((models.into_iter().map(PyModel::new).collect(), raised))
}

/// The epsilons of a path, and those among which labels choose, where none are given.
#[pyfunction]
pub fn default_epsilons(
    py: Python<'_>,
    table: Py<PyAny>,
    weights: Weights,
    k: usize,
) -> PyResult<(Vec<f64>, Vec<f64>)> {
    let work = move |values: TableView<'_>, weights: Option<&[f64]>, watch: &Watch| {
        with_samples!(values, weights, |samples| {
            let pca = ewca::Ewca::params(k).check()?.pca_observed(&samples, &mut watch.observer(None))?;
            Ok((pca.path_epsilons(), pca.selection_epsilons()))
        })
    };
    match watched(py, None, Watchers::default(), Given { table, weights }, work)? {
        (_, Some(raised)) => Err(raised),
        (found, None) => Ok(found),
    }
}

/// Judges each k, and chooses an epsilon for it, by the paper's protocol.
#[pyfunction]
#[allow(clippy::too_many_arguments)]
pub fn select<'py>(
    py: Python<'py>,
    table: Py<PyAny>,
    labels: Vec<String>,
    ks: Vec<usize>,
    epsilons: Vec<f64>,
    splits: usize,
    inner_splits: usize,
    seed: u64,
    threads: Option<usize>,
) -> PyResult<Bound<'py, PyDict>> {
    let labels = EncodedLabels::new(&labels);
    let protocol = Protocol { splits, inner_splits, seed };
    let work = move |values: TableView<'_>, _: Option<&[f64]>, watch: &Watch| {
        let stop = watch.flag();
        with_samples!(values, None, |samples| {
            let (candidates, go_on) = (Candidates::Standing, &mut |_| true);
            let found = ewca_eval::select_until(&samples, &labels, &ks, &epsilons, candidates, protocol, go_on, &stop)?;
            found.map(|found| confirmed(found, &samples)).transpose()
        })
    };
    match watched(py, threads, Watchers::default(), Given { table, weights: None }, work)? {
        (Some((selection, recommended)), None) => words(py, &selection, &recommended),
        (_, raised) => Err(raised.unwrap_or_else(lost)),
    }
}

/// What the table recommends, once that very fit has been made: fits of the table begin from each other, and may end elsewhere.
fn confirmed<T: Scalar>(mut found: Selection, samples: &Samples<'_, T>) -> ewca::Result<(Selection, Recommendation)> {
    loop {
        let recommended = found.recommendation();
        if recommended.method == Method::Pca {
            return Ok((found, recommended));
        }
        let model = Ewca::params(recommended.k).epsilon(recommended.epsilon).fit(samples)?;
        if !model.certificate().collapsed {
            return Ok((found, Recommendation { perplexity: model.perplexity().overall, ..recommended }));
        }
        found.note_collapse(recommended.k);
    }
}

fn advice<'py>(py: Python<'py>, recommended: &Recommendation) -> PyResult<Bound<'py, PyDict>> {
    let words = PyDict::new(py);
    let method = if recommended.method == Method::Pca { "pca" } else { "ewca" };
    words.set_item("method", method)?;
    words.set_item("n_components", recommended.k)?;
    words.set_item("epsilon", recommended.epsilon)?;
    words.set_item("perplexity", recommended.perplexity)?;
    words.set_item("error", recommended.error)?;
    words.set_item("other", recommended.other)?;
    words.set_item("ahead", recommended.ahead)?;
    words.set_item("behind", recommended.behind)?;
    words.set_item("better_by", recommended.better_by())?;
    Ok(words)
}

fn words<'py>(py: Python<'py>, selection: &Selection, recommended: &Recommendation) -> PyResult<Bound<'py, PyDict>> {
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
        one.set_item("perplexities", vector(py, &cell.perplexities))?;
        cells.append(one)?;
    }
    let words = PyDict::new(py);
    words.set_item("epsilons", vector(py, &selection.epsilons))?;
    words.set_item("raw", spread(&selection.raw))?;
    words.set_item("cells", cells)?;
    words.set_item("best", selection.best)?;
    words.set_item("recommended", advice(py, recommended)?)?;
    Ok(words)
}
