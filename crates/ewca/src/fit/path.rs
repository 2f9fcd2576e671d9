//! A sequence of epsilons, each fit started from the one before.
//!
//! Epsilons are taken in ascending order, from the PCA side: coming down from a large epsilon ends in collapsed optima.

use super::session::{Session, StartingPoint, check_epsilon};
use super::{CheckedParams, Model, Observer, Params, Termination};
use crate::error::{Error, Result};
use crate::parallel;
use crate::samples::Data;

/// One model for each epsilon, in the given order. When the observer stops it, the models up to there, in ascending order.
pub(super) fn fit_path(
    samples: &Data<'_>,
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
        let mut session = Session::open(samples, params, samples.member().clone(), observer)?;
        epsilons.iter().try_for_each(|&epsilon| check_epsilon(epsilon, &session.span))?;
        let mut start = StartingPoint { frame: session.first.clone(), potential: None };
        let mut models = Vec::with_capacity(order.len());
        for &at in &order {
            let state = session.begin(start, Some(epsilons[at]))?;
            let (end, mut model) = session.run_to_model(samples, state)?;
            start = end;
            model.parts.params = CheckedParams::of_model(params, Some(epsilons[at]));
            let interrupted = model.termination() == Termination::Interrupted;
            models.push((at, model));
            if interrupted {
                return Ok(models.into_iter().map(|(_, model)| model).collect());
            }
        }
        models.sort_by_key(|(at, _)| *at);
        Ok(models.into_iter().map(|(_, model)| model).collect())
    })?
}
