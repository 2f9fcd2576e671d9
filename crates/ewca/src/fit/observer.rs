//! What the outside sees of a running fit.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::FitState;

/// One iteration, as it is kept in a model's history.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Iteration {
    /// The attempt: 0 is the first, others are restarts.
    pub attempt: usize,
    /// The iteration within the attempt, from 0, the starting point.
    pub iteration: usize,
    /// The epsilon at work; it moves while a perplexity is sought.
    pub epsilon: f64,
    /// F, by its dual value.
    pub loss: f64,
    /// |G| / (2 lambda_max(Sigma)).
    pub relative_gradient: f64,
    /// sum_i |(pi 1)_i - a_i|.
    pub marginal_error: f64,
    /// Passes over the kernel so far, over all attempts.
    pub kernel_passes: usize,
}

/// A running fit, after an iteration.
#[derive(Debug, Clone, Copy)]
pub struct Progress<'a> {
    /// The iteration that has just ended.
    pub iteration: &'a Iteration,
    /// Time since the start of the fit.
    pub elapsed: Duration,
    /// The relative gradient that the fit is after.
    pub tolerance: f64,
    /// Everything needed to go on from here: see [`crate::CheckedParams::resume`].
    pub state: &'a FitState,
}

/// What an observer wants.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Control {
    /// Go on.
    Continue,
    /// Stop after this iteration with the best model so far.
    Stop,
}

/// Sees every iteration of a fit: progress bars, logs, checkpoints and Ctrl-C hang here. Closures are observers.
pub trait Observer: Send {
    /// Called after every iteration.
    fn observe(&mut self, progress: &Progress<'_>) -> Control;

    /// Whether the fit should stop. Asked where there is no iteration to show: during the fits of fewer samples that come first
    /// where there are many.
    fn stopped(&mut self) -> bool {
        false
    }
}

impl<F: FnMut(&Progress<'_>) -> Control + Send> Observer for F {
    fn observe(&mut self, progress: &Progress<'_>) -> Control {
        self(progress)
    }
}
