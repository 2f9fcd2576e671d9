//! What Python asks of a fit, as the core's parameters.

use std::path::PathBuf;
use std::time::Duration;

use ewca::{Ewca, FitState, MmParams, Params, Solver, Start};
use numpy::PyReadonlyArray2;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::checkpoint::{self, Checkpoint};
use crate::data::matrix;

/// The keys of the dictionary that Python passes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct Settings<'py> {
    n_components: usize,
    epsilon: Option<f64>,
    perplexity: Option<f64>,
    solver: String,
    inner_steps: Option<usize>,
    tol: f64,
    max_iter: usize,
    n_init: usize,
    seed: u64,
    start: Option<PyReadonlyArray2<'py, f64>>,
    landmarks: Option<usize>,
    single_precision: bool,
    skip_far_pairs: bool,
    coarse_to_fine: bool,
    pub max_memory: Option<usize>,
    checkpoint: Option<PathBuf>,
    checkpoint_every: f64,
    resume: Option<PathBuf>,
    pub callback: Option<Py<PyAny>>,
    pub threads: Option<usize>,
}

impl Settings<'_> {
    /// The parameters. They are checked by the core; only what has no type there is checked here.
    pub fn params(&self) -> PyResult<Params> {
        let mut params = Ewca::params(self.n_components)
            .solver(self.solver()?)
            .tolerance(self.tol)
            .max_iterations(self.max_iter)
            .restarts(self.n_init.saturating_sub(1))
            .seed(self.seed)
            .single_precision(self.single_precision)
            .skip_far_pairs(self.skip_far_pairs)
            .coarse_to_fine(self.coarse_to_fine);
        if let Some(epsilon) = self.epsilon {
            params = params.epsilon(epsilon);
        }
        if let Some(perplexity) = self.perplexity {
            params = params.perplexity(perplexity);
        }
        if let Some(start) = &self.start {
            params = params.start(Start::Loadings(matrix(start)));
        }
        if let Some(landmarks) = self.landmarks {
            params = params.landmarks(landmarks);
        }
        Ok(params)
    }

    /// The file that the state of the fit is kept in, if one is.
    pub fn checkpoint(&self) -> PyResult<Option<Checkpoint>> {
        let every = Duration::try_from_secs_f64(self.checkpoint_every).map_err(|error| {
            PyValueError::new_err(format!("checkpoint_every is {}: {error}", self.checkpoint_every))
        })?;
        self.checkpoint.clone().map(|file| Checkpoint::new(file, every)).transpose()
    }

    /// The state to go on from, if there is one.
    pub fn state(&self) -> PyResult<Option<FitState>> {
        self.resume.as_deref().map(checkpoint::read).transpose()
    }

    fn solver(&self) -> PyResult<Solver> {
        let mut mm = MmParams::default();
        mm.inner_steps = self.inner_steps.unwrap_or(mm.inner_steps);
        match self.solver.as_str() {
            "auto" => Ok(Solver::Auto),
            "lbfgs" => Ok(Solver::Lbfgs),
            "bcd" => Ok(Solver::Bcd),
            "mm" => Ok(Solver::Mm(mm)),
            other => Err(PyValueError::new_err(format!("solver is {other:?}: choose 'auto', 'lbfgs', 'bcd' or 'mm'"))),
        }
    }
}
