//! Three ways to move the subspace: each an [`Algorithm`] with a file of its own, and a line in each list below.
//!
//! | solver | idea | cost of an iteration |
//! |---|---|---|
//! | [`bcd`] | the paper's Algorithm 1: eigenvectors of M | a plan, a pass with r columns, an r x r eigen-decomposition |
//! | [`mm`] | the paper's Algorithm 2: majorised steps | a plan, a pass per inner step |
//! | [`lbfgs`] | quasi-Newton on the Grassmann manifold | one to three passes |

mod bcd;
mod lbfgs;
mod mm;
mod objective;
#[cfg(test)]
pub(crate) mod tests;

pub use mm::{EigenvalueBound, MmParams};
pub(crate) use objective::{
    Guess, Leading, LeadingBlock, Objective, Point, component_residuals, gradient_columns, is_wide, largest,
    most_columns,
};

use crate::error::Result;
use crate::samples::Span;
use crate::transport::Balancer;

/// Which algorithm moves the subspace.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
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
    #[must_use]
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

/// A way to move the subspace, with what it remembers between two iterations.
pub(crate) trait Algorithm {
    /// One iteration from `point`.
    fn step(
        &mut self,
        objective: &mut Objective<'_>,
        point: &mut Point,
        balancer: &mut Balancer,
        goal: &Goal,
    ) -> Result<Outcome>;

    /// Forgets what it remembers, since the subspace was moved by other means.
    fn forget(&mut self) {}
}

/// How accurate the end is to be.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Goal {
    /// Of the gradient, relative to each component.
    pub relative_gradient: f64,
    /// Of the plan.
    pub marginal_error: f64,
}

/// The algorithm under way.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
enum Running {
    Lbfgs(lbfgs::Lbfgs),
    Bcd(bcd::Bcd),
    Mm(mm::Mm),
}

impl Running {
    fn new(solver: Solver) -> Self {
        match solver {
            Solver::Auto | Solver::Lbfgs => Self::Lbfgs(lbfgs::Lbfgs::default()),
            Solver::Bcd => Self::Bcd(bcd::Bcd),
            Solver::Mm(params) => Self::Mm(mm::Mm(params)),
        }
    }

    fn algorithm(&mut self) -> &mut dyn Algorithm {
        match self {
            Self::Lbfgs(lbfgs) => lbfgs,
            Self::Bcd(bcd) => bcd,
            Self::Mm(mm) => mm,
        }
    }

    /// Whether this is the algorithm of `solver`, with what it can remember in a span of this rank: it may come from a file.
    fn belongs_to(&self, solver: Solver, rank: usize, components: usize) -> bool {
        match (self, solver) {
            (Self::Lbfgs(lbfgs), Solver::Auto | Solver::Lbfgs) => lbfgs.belongs_to(rank, components),
            (Self::Bcd(_), Solver::Bcd) => true,
            (Self::Mm(mm), Solver::Mm(params)) => mm.0 == params,
            _ => false,
        }
    }
}

/// What is known between two iterations.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct State {
    pub point: Point,
    pub balancer: Balancer,
    running: Running,
}

impl State {
    /// The state before the first iteration from `point`.
    pub fn new(solver: Solver, point: Point, balancer: Balancer) -> Self {
        Self { point, balancer, running: Running::new(solver) }
    }

    /// Whether the shapes are those of a state of `solver` in `span`: a state may come from a file.
    pub fn belongs_to(&self, solver: Solver, span: &Span<'_>, components: usize) -> bool {
        self.point.belongs_to(span, components)
            && self.running.belongs_to(solver, span.rank(), components)
            && self.balancer.belongs_to(span.weights.len())
    }

    /// Numbers that a state holds, with what its steps hold: frames, gradients, the memory of L-BFGS, and an end to come back to.
    pub fn numbers(axes: usize, components: usize) -> usize {
        axes.saturating_mul(components).saturating_mul(40)
    }

    /// One iteration.
    pub fn step(&mut self, objective: &mut Objective<'_>, goal: &Goal) -> Result<Outcome> {
        self.running.algorithm().step(objective, &mut self.point, &mut self.balancer, goal)
    }

    /// Makes the plan more accurate, at the same frame.
    pub fn tighten(&mut self, objective: &mut Objective<'_>, plan_tolerance: f64) {
        self.point.tighten(objective, &mut self.balancer, plan_tolerance);
    }

    /// Lets the solver forget what it has seen.
    pub fn forget(&mut self) {
        self.running.algorithm().forget();
    }
}

/// What an iteration did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    Moved,
    /// No step lowers F: the end of this solver's means.
    Stuck,
}
