//! Algorithm 1 of the paper, block coordinate descent: plan, then the k leading eigenvectors of M (docs/method.md, section 4).

use super::{Algorithm, Goal, Objective, Outcome, Point};
use crate::error::Result;
use crate::transport::Balancer;

/// It remembers nothing.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Bcd;

impl Algorithm for Bcd {
    fn step(
        &mut self,
        objective: &mut Objective<'_>,
        point: &mut Point,
        balancer: &mut Balancer,
        goal: &Goal,
    ) -> Result<Outcome> {
        let frame = objective.leading(point)?.frame;
        let potential = std::mem::take(&mut point.potential);
        *point = objective.evaluate(point.epsilon, frame, potential, balancer, goal.marginal_error);
        Ok(Outcome::Moved)
    }
}
