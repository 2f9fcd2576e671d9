//! What is done to a table before the fit: the program's preprocessing.

use ewca::Matrix;
use ewca_io::{FittedPreprocessing, Preprocessing, Table, Values};
use numpy::{IntoPyArray, PyArrayMethods};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::data;
use crate::error::file_error;
use crate::run::detached;

/// The steps that Python asks for.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Wanted {
    normalize_total: Option<f64>,
    log1p: bool,
    top_variable: Option<usize>,
    unit_variance: bool,
}

/// Steps with what they learned from a table.
#[pyclass(frozen, name = "Steps", module = "ewca._ewca")]
pub struct PySteps {
    pub fitted: FittedPreprocessing,
}

#[pymethods]
impl PySteps {
    /// The names of the features that come out.
    #[getter]
    fn features(&self) -> Vec<String> {
        self.fitted.output_features()
    }
}

/// Learns the steps from a table; returns them and the table that comes out, as `fit` takes it.
#[pyfunction]
pub fn preprocess<'py>(
    py: Python<'py>,
    table: data::Table<'py>,
    features: Vec<String>,
    wanted: Wanted,
) -> PyResult<(PySteps, Bound<'py, PyAny>)> {
    let values = table.values()?;
    let Wanted { normalize_total, log1p, top_variable, unit_variance } = wanted;
    let steps = Preprocessing { normalize_total, log1p, top_variable, unit_variance };
    let learn = || steps.fit(owned(values, &features)?, "X").map_err(file_error);
    let (fitted, done) = detached(py, None, learn)??;
    Ok((PySteps { fitted }, to_python(py, done.values)?))
}

/// The steps as the words that they are asked for with.
pub fn words<'py>(py: Python<'py>, steps: &Preprocessing) -> PyResult<Bound<'py, PyDict>> {
    let words = PyDict::new(py);
    if let Some(total) = steps.normalize_total {
        words.set_item("normalize_total", total)?;
    }
    if steps.log1p {
        words.set_item("log1p", true)?;
    }
    if let Some(count) = steps.top_variable {
        words.set_item("top_variable", count)?;
    }
    if steps.unit_variance {
        words.set_item("unit_variance", true)?;
    }
    Ok(words)
}

/// Values as `ewca._input.as_table` gives them.
pub fn to_python<'py>(py: Python<'py>, values: Values) -> PyResult<Bound<'py, PyAny>> {
    match values {
        Values::Dense(x) => Ok(x.data.into_pyarray(py).reshape([x.rows, x.columns])?.into_any()),
        Values::Sparse(x) => {
            let parts = (x.offsets.into_pyarray(py), x.indices.into_pyarray(py), x.values.into_pyarray(py), x.columns);
            Ok(parts.into_pyobject(py)?.into_any())
        }
    }
}

/// A copy for the steps to work on.
pub fn owned(values: data::TableView<'_>, features: &[String]) -> PyResult<Table> {
    let values = match values {
        data::TableView::Dense64(x) => x.owned(),
        data::TableView::Dense32(x) => x.owned(),
        data::TableView::Sparse64(x) => x.owned(),
        data::TableView::Sparse32(x) => x.owned(),
        data::TableView::Streamed(_) => {
            return Err(PyValueError::new_err(
                "`preprocessing` does not work with data that are read in parts: pass arrays (to fit, all rows at once; to \
                 transform, some rows at a time)",
            ));
        }
    };
    Ok(Table::new(values, features.to_vec()))
}

/// Samples before the steps, of samples after them: all features that the table had. A feature that was left out has its mean. That
/// samples were scaled to a total cannot be undone: they have that total, so their features that were left out are scaled to it.
pub fn undone(steps: &FittedPreprocessing, after: &Matrix) -> Matrix {
    let left_out = |at: usize| steps.means.as_ref().map_or(f64::NAN, |means| means[at] * share_of_total(steps, means));
    let mut place = vec![None; steps.features.len()];
    match &steps.kept {
        Some(kept) => kept.iter().enumerate().for_each(|(at, &feature)| place[feature] = Some(at)),
        None => place.iter_mut().enumerate().for_each(|(at, place)| *place = Some(at)),
    }
    let cell = |row: usize, at: usize| {
        let scale = steps.scales.as_ref().map_or(1.0, |scales| scales[at]);
        let value = after.get(row, at) * scale;
        if steps.steps.log1p { value.exp_m1() } else { value }
    };
    let fills: Vec<f64> = (0..place.len()).map(left_out).collect();
    Matrix::from_fn(after.rows(), place.len(), |row, feature| match place[feature] {
        Some(at) => cell(row, at),
        None => fills[feature],
    })
}

/// What means are multiplied by, so that a sample that has them has the total that samples were scaled to.
fn share_of_total(steps: &FittedPreprocessing, means: &[f64]) -> f64 {
    let sum: f64 = means.iter().sum();
    match steps.steps.normalize_total {
        Some(total) if sum > 0.0 => total / sum,
        _ => 1.0,
    }
}
