//! Three ways to move the subspace, each a pure step on a [`State`].
//!
//! | solver | idea | cost of an iteration |
//! |---|---|---|
//! | [`bcd`] | the paper's Algorithm 1: eigenvectors of M | a plan, a pass with r columns, an r x r eigen-decomposition |
//! | [`mm`] | the paper's Algorithm 2: majorised steps | a plan, a pass per inner step |
//! | [`lbfgs`] | quasi-Newton on the Grassmann manifold | one to three passes |

pub(crate) mod bcd;
pub(crate) mod lbfgs;
pub(crate) mod mm;
mod objective;
#[cfg(test)]
pub(crate) mod tests;

use serde::{Deserialize, Serialize};

pub use mm::{EigenvalueBound, MmParams};
pub(crate) use objective::{Leading, Objective, Point, component_residuals, gradient_columns, is_wide, largest};

use crate::samples::Span;
use crate::transport::Balancer;

/// Which algorithm moves the subspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Solver {
    /// The fastest for the shape at hand: L-BFGS, for all shapes measured so far.
    #[default]
    Auto,
    /// Riemannian L-BFGS.
    Lbfgs,
    /// Block coordinate descent, Algorithm 1 of the paper.
    Bcd,
    /// Block majorisation-minimisation, Algorithm 2 of the paper.
    Mm(MmParams),
}

impl Solver {
    /// The name by which people ask for it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Lbfgs => "lbfgs",
            Self::Bcd => "bcd",
            Self::Mm(_) => "mm",
        }
    }

    /// The algorithm that `auto` stands for.
    pub(crate) fn resolved(self) -> Self {
        match self {
            Self::Auto => Self::Lbfgs,
            other => other,
        }
    }
}

/// What a solver knows between two iterations.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    pub point: Point,
    pub balancer: Balancer,
    pub curvature: lbfgs::Curvature,
}

impl State {
    /// Whether the shapes are those of a state in `span`: a state may come from a file.
    pub fn belongs_to(&self, span: &Span, components: usize) -> bool {
        self.point.belongs_to(span, components)
            && self.curvature.belongs_to(span.rank(), components)
            && self.balancer.belongs_to(span.weights.len())
    }

    /// Solves the plan anew, more accurately, at the same frame.
    pub fn tighten(&mut self, objective: &mut Objective, plan_tolerance: f64) {
        let Point { frame, scores, potential, .. } = self.point.clone();
        self.point = objective.evaluate_scores(frame, scores, potential, &mut self.balancer, plan_tolerance);
    }
}

/// What an iteration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Moved,
    /// No step lowers F: the end of this solver's means.
    Stuck,
}
