//! What a fit can prove about itself.

use serde::{Deserialize, Serialize};

use crate::matrix::Matrix;
use crate::solvers::{Objective, Point};

/// Numbers by which anyone can judge a fit without trusting the solver.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Certificate {
    /// sum_i |(pi 1)_i - a_i|: how far the plan is from being a plan.
    pub marginal_error: f64,
    /// An upper bound of what the plan's cost exceeds the optimal transport cost by, in units of the loss: the cost of a
    /// feasible plan made from this one, minus the dual value.
    pub duality_gap: f64,
    /// |G| / (2 lambda_max(Sigma)): how far the subspace is from being stationary.
    pub relative_gradient: f64,
    /// (sum of the k leading eigenvalues of M - tr U'MU) / |sum|: how far the subspace is from being the best for its plan.
    /// Positive at a saddle.
    pub eigen_deficit: f64,
    /// The k leading eigenvalues of M, descending.
    pub eigenvalues: Vec<f64>,
    /// The eigenvalue after them, where the data's span has one: the smaller the gap, the less the subspace is determined.
    pub next_eigenvalue: Option<f64>,
    /// A bound of the plan's mass between samples too far apart to be looked at, in any pass of the fit: 0 where all pairs were.
    #[serde(default)]
    pub skipped_mass: f64,
    /// The part of the variance outside the principal axes that the fit worked with: 0 but where both n and d are large, or the data
    /// larger than the memory. The relative gradient counts these directions as well; the eigenvalues do not.
    #[serde(default)]
    pub omitted_variance: f64,
    /// Whether an eigenvalue is not positive: epsilon is too large, and the subspace shrinks the data instead of showing them.
    pub collapsed: bool,
}

/// Why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Termination {
    /// The tolerance was met, and the subspace is no saddle.
    Converged,
    /// The iteration limit was reached first.
    MaxIterations,
    /// An observer stopped the fit.
    Interrupted,
    /// No step lowers the loss any more, though the tolerance is not met: it is finer than rounding allows.
    Stalled,
}

impl Termination {
    /// The name in summaries and files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Converged => "converged",
            Self::MaxIterations => "max_iterations",
            Self::Interrupted => "interrupted",
            Self::Stalled => "stalled",
        }
    }
}

impl std::fmt::Display for Termination {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str(match self {
            Self::Converged => "converged",
            Self::MaxIterations => "stopped at the iteration limit",
            Self::Interrupted => "interrupted",
            Self::Stalled => "stalled before the tolerance was met",
        })
    }
}

/// The gap between the dual value at `point` and the cost of a feasible plan near its plan: one pass.
///
/// The feasible plan is diag(x) pi diag(x) + e e' / t, with x_i = min(1, a_i / p_i) for the row sums p, e what its rows then
/// lack, and t = sum e. The relative entropy of the sum is bounded by convexity (weights 1 - t and t). Everything of order one
/// cancels on paper, so that a tiny gap is computed to full relative precision.
pub(crate) fn duality_gap(objective: &mut Objective, point: &Point) -> f64 {
    let span = objective.span.clone();
    let a = &span.weights;
    let x: Vec<f64> = a.iter().zip(&point.masses).map(|(a, p)| (a / p).min(1.0)).collect();
    let carried = objective.carry(point, &Matrix::from_fn(a.len(), 1, |i, _| x[i]));
    let lacking: Vec<f64> = (0..a.len()).map(|i| (a[i] - x[i] * carried.get(i, 0)).max(0.0)).collect();
    let t: f64 = lacking.iter().sum();
    let excess: f64 = point.masses.iter().zip(a).map(|(p, a)| p - a).sum();
    let mut entropy = excess;
    let mut cost = 0.0;
    for i in 0..a.len() {
        let e = lacking[i];
        entropy += 2.0 * (a[i] - e) * x[i].ln() - 2.0 * e * point.potential[i];
        if e > 0.0 {
            entropy += 2.0 * e * (e / (t * a[i])).ln();
        }
        cost += 2.0 * e * point.scores.row(i).iter().map(|z| z * z).sum::<f64>();
    }
    entropy -= (1.0 - t) * (-t).ln_1p();
    if t > 0.0 {
        let mean_square: f64 =
            (0..point.scores.columns()).map(|j| crate::matrix::dot(point.scores.column(j), &lacking).powi(2)).sum();
        cost -= 2.0 * mean_square / t;
    }
    (objective.epsilon * entropy + cost).max(0.0)
}
