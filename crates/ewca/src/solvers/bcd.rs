//! Algorithm 1 of the paper, block coordinate descent: plan, then the k leading eigenvectors of M (docs/method.md, section 4).

use super::{Objective, Outcome, State};
use crate::error::Result;

/// One iteration.
pub(crate) fn step(objective: &mut Objective, state: &mut State, plan_tolerance: f64) -> Result<Outcome> {
    let frame = objective.leading(&state.point)?.frame;
    let potential = std::mem::take(&mut state.point.potential);
    state.point = objective.evaluate(frame, potential, &mut state.balancer, plan_tolerance);
    Ok(Outcome::Moved)
}
