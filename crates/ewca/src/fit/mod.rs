//! From parameters and samples to a model: params -> checked -> session (reduce -> start -> run -> finish) -> model.

mod canonical;
mod certificate;
mod coarse;
mod driver;
mod findings;
mod finish;
mod grids;
mod memory;
mod model;
mod observer;
mod params;
mod parts;
mod path;
mod pca;
mod perplexity_search;
mod session;
mod state;
#[cfg(test)]
mod tests;

pub use certificate::{Approximation, Certificate, Termination};
pub use findings::Finding;
pub use grids::{DEFAULT_COMPONENTS, DEFAULT_EPSILONS, geometric};
pub use model::{Model, Perplexity, Timings};
pub use observer::{Control, Iteration, Observer, Phase, Progress, Unobserved};
pub use params::{CheckedParams, DEFAULT_PERPLEXITY, Ewca, Params, Start};
pub use parts::ModelParts;
pub use pca::Pca;
pub use state::FitState;

use crate::error::Result;
use crate::parallel;
use crate::samples::Data;
use session::Session;

/// Fits, or goes on with a fit.
fn fit(samples: &Data<'_>, params: &Params, resumed: Option<FitState>, observer: &mut dyn Observer) -> Result<Model> {
    parallel::with_threads(params.threads, || {
        let mut session = Session::open(samples, params, samples.member().clone(), observer)?;
        let state = match resumed {
            Some(state) => session.adopt_state(samples, state)?,
            None => {
                let start = coarse::starting_point(&mut session)?;
                session.begin(start, None)?
            }
        };
        let (_, model) = session.run_to_model(samples, state)?;
        Ok(model)
    })?
}
