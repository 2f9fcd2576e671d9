//! Transport plans.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ewca::Plan;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::prelude::*;
use rayon::prelude::*;

use crate::arrays::{by_rows, rows_of, vector};
use crate::data::matrix;
use crate::error::fit_error;
use crate::run::left_alone_on_signal;

/// The transport plan of scores with themselves: n numbers, from which its entries are computed when they are asked for.
#[pyclass(frozen, name = "Plan", module = "ewca._ewca")]
pub struct PyPlan {
    pub plan: Arc<Plan>,
    #[pyo3(get)]
    pub marginal_error: f64,
}

#[pymethods]
impl PyPlan {
    fn __len__(&self) -> usize {
        self.plan.len()
    }

    #[getter]
    fn epsilon(&self) -> f64 {
        self.plan.epsilon()
    }

    #[getter]
    fn potential<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        self.plan.potential().into_pyarray(py)
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.plan.weights())
    }

    fn perplexities<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray1<f64>>> {
        Ok(self.whole(py, Plan::perplexities)?.into_pyarray(py))
    }

    fn dense<'py>(&self, py: Python<'py>, max_bytes: usize) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let dense = self.whole(py, move |plan| plan.dense(max_bytes))?.map_err(fit_error)?;
        // Column i of the core's matrix is row i of the plan.
        vector(py, dense.as_column_major()).reshape([dense.rows(), dense.columns()])
    }

    fn apply<'py>(&self, py: Python<'py>, columns: PyReadonlyArray2<'_, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let columns = matrix(&columns);
        by_rows(py, &self.whole(py, move |plan| plan.apply(&columns))?)
    }

    fn barycentric<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        by_rows(py, &self.whole(py, Plan::barycentric_scores)?)
    }

    /// How points with the given scores spread over the samples: one row of shares each.
    fn shares<'py>(&self, py: Python<'py>, points: PyReadonlyArray2<'_, f64>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let points = rows_of(&points);
        let count = points.len();
        let shares = self.by_rows(py, count, move |plan, i| plan.shares(&points[i]))?;
        shares.concat().into_pyarray(py).reshape([count, self.plan.len()])
    }

    /// The strongest partners of each sample, itself among them: (positions, shares), n x count each, strongest first.
    fn partners<'py>(&self, py: Python<'py>, count: usize) -> PyResult<Partners<'py>> {
        let n = self.plan.len();
        let count = count.min(n);
        let found = self.by_rows(py, n, move |plan, i| plan.partners(i, count))?;
        let positions: Vec<i64> = found.iter().flatten().map(|(j, _)| *j as i64).collect();
        let shares: Vec<f64> = found.iter().flatten().map(|(_, share)| *share).collect();
        Ok((positions.into_pyarray(py).reshape([n, count])?, shares.into_pyarray(py).reshape([n, count])?))
    }
}

impl PyPlan {
    /// Work that cannot be ended early. It takes a pass over the kernel.
    fn whole<T: Send + 'static>(&self, py: Python<'_>, work: impl FnOnce(&Plan) -> T + Send + 'static) -> PyResult<T> {
        let plan = self.plan.clone();
        left_alone_on_signal(py, move |_| work(&plan))
    }

    /// Work row by row.
    fn by_rows<T: Send + 'static>(
        &self,
        py: Python<'_>,
        count: usize,
        row: impl Fn(&Plan, usize) -> Vec<T> + Send + Sync + 'static,
    ) -> PyResult<Vec<Vec<T>>> {
        let plan = self.plan.clone();
        let unless_stopped =
            move |stop: &AtomicBool, i| if stop.load(Ordering::Relaxed) { Vec::new() } else { row(&plan, i) };
        left_alone_on_signal(py, move |stop| (0..count).into_par_iter().map(|i| unless_stopped(stop, i)).collect())
    }
}

type Partners<'py> = (Bound<'py, PyArray2<i64>>, Bound<'py, PyArray2<f64>>);

/// The plan of scores with themselves; weights are positive and sum to 1.
#[pyfunction]
pub fn self_transport(
    py: Python<'_>,
    scores: PyReadonlyArray2<'_, f64>,
    weights: PyReadonlyArray1<'_, f64>,
    epsilon: f64,
    tol: f64,
) -> PyResult<PyPlan> {
    let scores = matrix(&scores);
    let weights = weights.as_slice()?.to_vec();
    let found = left_alone_on_signal(py, move |_| ewca::self_transport(&scores, &weights, epsilon, tol))?;
    let (plan, marginal_error) = found.map_err(fit_error)?;
    Ok(PyPlan { plan: plan.into(), marginal_error })
}
