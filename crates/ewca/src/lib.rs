//! Entropic Wasserstein Component Analysis.
#![deny(unsafe_code)]

mod error;
mod fit;
mod kernel;
mod matrix;
mod parallel;
mod path;
mod samples;
mod solvers;
mod subspace;
#[cfg(test)]
mod testing;
mod transport;

pub use error::{Error, Result};
pub use fit::{
    Certificate, CheckedParams, Control, DEFAULT_PERPLEXITY, Ewca, FitState, Iteration, Model, Observer, Params,
    Perplexity, Progress, Start, Termination, Timings,
};
pub use matrix::Matrix;
pub use samples::{Samples, Scalar};
pub use solvers::{EigenvalueBound, MmParams, Solver};
pub use subspace::Orthonormalisation;
pub use transport::{Coupling, Plan, SinkhornLimits, self_transport, sinkhorn_knopp, sinkhorn_log};
