//! What the outside sees of a running fit.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::FitState;

/// One iteration, as it is kept in a model's history.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Iteration {
    /// The attempt: 0 is the first, others are restarts.
    pub attempt: usize,
    /// The iteration within the attempt, from 0, the starting point.
    pub iteration: usize,
    /// The epsilon at work; it moves while a perplexity is sought.
    pub epsilon: f64,
    /// F, by its dual value.
    pub loss: f64,
    /// The largest residual of a component: see [`Certificate::residuals`](crate::Certificate::residuals).
    pub relative_gradient: f64,
    /// sum_i |(pi 1)_i - a_i|.
    pub marginal_error: f64,
    /// Passes over the kernel so far, over all attempts.
    pub kernel_passes: usize,
}

/// A running fit, after an iteration.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
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

/// What a fit is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Phase {
    /// The data are reduced to their principal axes.
    Reduction,
    /// A fit of some of the samples, whose result the fit of all begins with.
    Coarse {
        /// How many.
        samples: usize,
    },
    /// Iterations, each of which the observer sees.
    Iterations,
    /// Loadings, scores and certificate.
    Finish,
}

impl std::fmt::Display for Phase {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Reduction => out.write_str("finding the principal axes"),
            Self::Coarse { samples } => write!(out, "a first fit of {samples} samples"),
            Self::Iterations => out.write_str("fitting"),
            Self::Finish => out.write_str("checking the result"),
        }
    }
}

/// Sees every iteration of a fit: progress bars, logs, checkpoints and Ctrl-C hang here. Closures are observers.
pub trait Observer: Send {
    /// Called after every iteration.
    fn observe(&mut self, progress: &Progress<'_>) -> Control;

    /// Called when a phase begins.
    fn phase(&mut self, _: Phase) {}

    /// A flag that somebody raises when the fit should stop. It is looked at where there is no iteration to show: during the reduction, the
    /// fits of fewer samples that come first where there are many, and between the passes of a plan. Before the first iteration the
    /// fit ends with [`Error::Stopped`](crate::Error::Stopped).
    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        None
    }
}

/// The observer of a fit that nobody watches.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unobserved;

impl Observer for Unobserved {
    fn observe(&mut self, _: &Progress<'_>) -> Control {
        Control::Continue
    }
}

impl<F: FnMut(&Progress<'_>) -> Control + Send> Observer for F {
    fn observe(&mut self, progress: &Progress<'_>) -> Control {
        self(progress)
    }
}
