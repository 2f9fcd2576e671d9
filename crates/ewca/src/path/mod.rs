//! A sequence of epsilons, each fit started from the one before.
//!
//! Epsilons are taken in ascending order, from the PCA side: coming down from a large epsilon ends in collapsed optima.

use std::time::Instant;

use crate::error::{Error, Result};
use crate::fit::driver::{Run, check_epsilon, reduced};
use crate::fit::{Model, Observer, Params, Termination};
use crate::parallel;
use crate::samples::{Samples, Scalar};

/// One model for each epsilon, in the given order. When the observer stops it, the models up to there, in ascending order.
pub(crate) fn fit_path<T: Scalar>(
    samples: &Samples<'_, T>,
    params: &Params,
    epsilons: &[f64],
    observer: &mut dyn Observer,
) -> Result<Vec<Model>> {
    if let Some(&wrong) = epsilons.iter().find(|e| !(e.is_normal() && **e > 0.0)) {
        return Err(Error::Parameter {
            name: "epsilons",
            value: wrong.to_string(),
            expected: "each must be positive and finite".into(),
        });
    }
    let mut order: Vec<usize> = (0..epsilons.len()).collect();
    order.sort_by(|&i, &j| epsilons[i].total_cmp(&epsilons[j]));
    parallel::with_threads(params.threads, || {
        let clock = Instant::now();
        let (span, memory) = reduced(samples, params, observer)?;
        epsilons.iter().try_for_each(|&epsilon| check_epsilon(epsilon, &span))?;
        let mut run = Run::new(span, memory, params, samples.member().clone(), observer, clock);
        let mut frame = run.first_frame(samples)?;
        let mut potential = run.flat_potential();
        let mut models = Vec::with_capacity(order.len());
        for &at in &order {
            let state = run.begin(frame, Some(potential), Some(epsilons[at]))?;
            let (warm, model) = run.finished(samples, state)?;
            (frame, potential) = warm;
            let interrupted = model.termination == Termination::Interrupted;
            models.push((at, model));
            if interrupted {
                return Ok(models.into_iter().map(|(_, model)| model).collect());
            }
        }
        models.sort_by_key(|(at, _)| *at);
        Ok(models.into_iter().map(|(_, model)| model).collect())
    })?
}
