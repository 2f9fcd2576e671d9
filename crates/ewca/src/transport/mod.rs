//! Entropic optimal transport: the plan that says who is near whom.
//!
//! Three ways to the plan of a self-transport: symmetric scaling ([`self_transport`], the one that fits use), and for any cost
//! matrix and any two histograms the paper's Sinkhorn-Knopp ([`sinkhorn_knopp`]) and its log-domain form ([`sinkhorn_log`]).

mod plan;
mod scalings;
mod sinkhorn;
mod symmetric;

pub use plan::Plan;
pub(crate) use plan::row_entropies;
pub(crate) use scalings::Scalings;
pub use sinkhorn::{Coupling, SinkhornLimits, sinkhorn_knopp, sinkhorn_log};
pub(crate) use symmetric::{Balancer, Limits, MANY_SAMPLES};

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::matrix::Matrix;
use crate::parallel::StopFlag;

/// The plan of the entropic self-transport of `scores` (n x k) with weights that sum to 1, by symmetric scaling.
///
/// Returns the plan and its marginal error, at most `tolerance` unless rounding forbids it.
///
/// ```
/// use ewca::{Matrix, self_transport};
/// let scores = Matrix::from_row_major(3, 1, &[0.0, 0.1, 5.0])?;
/// let (plan, error) = self_transport(&scores, &[1.0 / 3.0; 3], 0.5, 1e-12)?;
/// assert!(error <= 1e-12);
/// assert_eq!(plan.partners(0, 2)[1].0, 1); // after itself, sample 0 is nearest to sample 1
/// # Ok::<(), ewca::Error>(())
/// ```
///
/// # Errors
/// Where the weights do not fit the scores or are not positive, a score is not finite, or epsilon is out of range.
pub fn self_transport(scores: &Matrix, weights: &[f64], epsilon: f64, tolerance: f64) -> Result<(Plan, f64)> {
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(Error::Parameter {
            name: "epsilon",
            value: epsilon.to_string(),
            expected: "it must be positive and finite".into(),
        });
    }
    if weights.is_empty() {
        return Err(Error::Empty { rows: 0, columns: scores.columns() });
    }
    if weights.len() != scores.rows() {
        return Err(Error::WeightCount { expected: scores.rows(), found: weights.len() });
    }
    if let Some((row, &value)) = weights.iter().enumerate().find(|(_, a)| !(a.is_finite() && **a > 0.0)) {
        return Err(Error::Weight { row, value });
    }
    if let Some(at) = scores.as_column_major().iter().position(|x| !x.is_finite()) {
        let (row, column) = (at % scores.rows(), at / scores.rows());
        return Err(Error::NotFinite { row, column, value: scores.get(row, column) });
    }
    let kernel = Kernel::of(scores, epsilon);
    let nothing = Matrix::zeros(scores.rows(), 0);
    let start = vec![0.0; weights.len()];
    let limits = Limits { tolerance, first_error: None, max_passes: 1000, stop: StopFlag::default() };
    let balanced = Balancer::default().balance(&kernel, weights, start, &nothing, &limits);
    let error = balanced.marginal_error;
    Ok((Plan::new(scores.clone(), weights.to_vec(), balanced.potential, epsilon, None), error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn within(tolerance: f64) -> Limits {
        Limits { tolerance, first_error: None, max_passes: 1000, stop: StopFlag::default() }
    }

    fn cost(scores: &Matrix) -> Matrix {
        Matrix::from_fn(scores.rows(), scores.rows(), |i, j| {
            (0..scores.columns()).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum()
        })
    }

    #[test]
    fn three_ways_give_the_same_plan() {
        let n = 30;
        let scores = Matrix::from_row_major(n, 2, &testing::gaussian(n, 2, 11)).unwrap();
        let total: f64 = (1..=n).map(|i| i as f64).sum();
        let weights: Vec<f64> = (1..=n).map(|i| i as f64 / total).collect();
        let limits = SinkhornLimits { tolerance: 1e-12, max_iterations: 200_000 };
        for epsilon in [0.3, 1.0, 10.0] {
            let (plan, error) = self_transport(&scores, &weights, epsilon, 1e-13).unwrap();
            assert!(error <= 1e-13);
            let dense = plan.dense(usize::MAX).unwrap();
            let knopp = sinkhorn_knopp(&cost(&scores), &weights, &weights, epsilon, limits).unwrap();
            let log = sinkhorn_log(&cost(&scores), &weights, &weights, epsilon, limits).unwrap();
            assert!(knopp.converged && log.converged);
            for (i, j) in (0..n).flat_map(|i| (0..n).map(move |j| (i, j))) {
                assert!((dense.get(i, j) - knopp.plan.get(i, j)).abs() < 1e-8);
                assert!((dense.get(i, j) - log.plan.get(i, j)).abs() < 1e-8);
            }
        }
    }

    #[test]
    fn symmetric_scaling_takes_few_passes_at_any_epsilon() {
        let n = 100;
        let scores = Matrix::from_row_major(n, 3, &testing::gaussian(n, 3, 2)).unwrap();
        let weights = vec![1.0 / n as f64; n];
        for exponent in -12..=12 {
            let epsilon = 10f64.powi(exponent);
            let kernel = Kernel::of(&scores, epsilon);
            let plan =
                Balancer::default().balance(&kernel, &weights, vec![0.0; n], &Matrix::zeros(n, 0), &within(1e-10));
            assert!(plan.marginal_error <= 1e-10);
            assert!(kernel.passes() <= 24, "{} passes at epsilon {epsilon}", kernel.passes());
        }
    }

    #[test]
    fn a_bad_warm_start_is_survived() {
        let n = 50;
        let scores = Matrix::from_row_major(n, 2, &testing::gaussian(n, 2, 4)).unwrap();
        let weights = vec![1.0 / n as f64; n];
        let kernel = Kernel::of(&scores, 0.1);
        for bad in [1e3, -1e3, f64::NAN, f64::INFINITY] {
            let start = (0..n).map(|i| if i % 2 == 0 { bad } else { 0.0 }).collect();
            let plan = Balancer::default().balance(&kernel, &weights, start, &scores, &within(1e-12));
            assert!(plan.marginal_error <= 1e-12, "{bad}: {}", plan.marginal_error);
        }
    }

    #[test]
    fn the_scaling_form_reports_underflow() {
        // Two far clusters of different mass on the two sides: mass must cross a cost whose kernel underflows.
        let cost = Matrix::from_row_major(2, 2, &[0.0, 1000.0, 1000.0, 0.0]).unwrap();
        let (a, b) = ([0.7, 0.3], [0.4, 0.6]);
        let limits = SinkhornLimits::default();
        assert!(matches!(sinkhorn_knopp(&cost, &a, &b, 1.0, limits), Err(Error::Underflow { .. })));
        let log = sinkhorn_log(&cost, &a, &b, 1.0, limits).unwrap();
        assert!(log.converged && (log.plan.get(0, 1) - 0.3).abs() < 1e-8);
        // A row that is far from everything.
        let cost = Matrix::from_row_major(2, 2, &[800.0, 900.0, 1.0, 2.0]).unwrap();
        let underflow = sinkhorn_knopp(&cost, &a, &b, 1.0, limits).unwrap_err();
        assert_eq!(underflow, Error::Underflow { line: "row", index: 0, iteration: 1 });
    }

    #[test]
    fn rectangular_problems() {
        let cost = Matrix::from_row_major(2, 3, &[0.0, 1.0, 2.0, 2.0, 1.0, 0.0]).unwrap();
        let (a, b) = ([0.5, 0.5], [0.25, 0.5, 0.25]);
        let knopp = sinkhorn_knopp(&cost, &a, &b, 0.1, SinkhornLimits::default()).unwrap();
        let log = sinkhorn_log(&cost, &a, &b, 0.1, SinkhornLimits::default()).unwrap();
        for (x, y) in knopp.plan.as_column_major().iter().zip(log.plan.as_column_major()) {
            assert!((x - y).abs() < 1e-8);
        }
        for (j, want) in b.iter().enumerate() {
            assert!((knopp.plan.column(j).iter().sum::<f64>() - want).abs() < 1e-12);
        }
        let wrong = sinkhorn_knopp(&cost, &a, &[0.5, 0.5, 0.5], 0.1, SinkhornLimits::default());
        assert!(matches!(wrong, Err(Error::Parameter { name: "b", .. })));
    }

    #[test]
    fn what_is_no_problem_is_refused() {
        let scores = Matrix::from_fn(3, 2, |i, j| (i + j) as f64);
        let even = [1.0 / 3.0; 3];
        for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
            let error = self_transport(&scores, &even, epsilon, 1e-9).unwrap_err();
            assert!(matches!(error, Error::Parameter { name: "epsilon", .. }));
        }
        let error = self_transport(&scores, &even[..2], 1.0, 1e-9).unwrap_err();
        assert_eq!(error, Error::WeightCount { expected: 3, found: 2 });
        for bad in [0.0, -0.5, f64::INFINITY] {
            let error = self_transport(&scores, &[0.5, 0.5, bad], 1.0, 1e-9).unwrap_err();
            assert_eq!(error, Error::Weight { row: 2, value: bad });
        }
        let mut wrong = scores.clone();
        wrong.set(2, 1, f64::INFINITY);
        let error = self_transport(&wrong, &even, 1.0, 1e-9).unwrap_err();
        assert_eq!(error, Error::NotFinite { row: 2, column: 1, value: f64::INFINITY });
    }
}
