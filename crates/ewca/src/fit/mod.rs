//! From parameters and samples to a model: params -> checked -> the driver's loop -> model.

mod certificate;
mod coarse;
pub(crate) mod driver;
mod memory;
mod model;
mod observer;
mod params;
mod search;
#[cfg(test)]
mod tests;

pub use certificate::{Approximation, Certificate, Termination};
pub use driver::FitState;
pub use model::{Model, Perplexity, Timings};
pub use observer::{Control, Iteration, Observer, Phase, Progress};
pub use params::{CheckedParams, DEFAULT_PERPLEXITY, Ewca, Params, Start};
