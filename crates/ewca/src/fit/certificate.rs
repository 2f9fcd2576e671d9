//! What a fit can prove about itself (docs/method.md, section 7).

use crate::error::Result;
use crate::matrix::Matrix;
use crate::samples::Data;
use crate::solvers::{Objective, Point, component_residuals, gradient_columns, is_wide, largest};
use crate::transport::Scalings;

/// Numbers by which anyone can judge a fit without trusting the solver.
#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Certificate {
    /// sum_i |(pi 1)_i - a_i|: the error in the plan's row and column sums.
    pub marginal_error: f64,
    /// An upper bound of what the plan's cost exceeds the optimal transport cost by, in units of the loss: the cost of a
    /// feasible plan made from this one, minus the dual value.
    pub duality_gap: f64,
    /// How far the subspace is from being stationary: the largest of the `residuals`.
    pub relative_gradient: f64,
    /// The same component by component, each relative to itself: with the eigenvectors u_j of U'MU (values mu_j, descending),
    /// |M u_j - U U'M u_j| / max(|mu_j|, s_j), s_j the j-th explained variance. So small components count as much as large ones.
    /// Computed from the data themselves, not in reduced coordinates.
    #[cfg_attr(feature = "serde", serde(default))]
    pub residuals: Vec<f64>,
    /// The residual that rounding alone may cause, component by component. Where it is above the tolerance, whether that component
    /// has converged cannot be told, and the fit does not say so.
    #[cfg_attr(feature = "serde", serde(default))]
    pub rounding: Vec<f64>,
    /// About how many degrees each component may still be off: its residual over the distance from mu_j to the next eigenvalue. 90
    /// where that distance is nothing: the data do not determine the subspace then.
    #[cfg_attr(feature = "serde", serde(default))]
    pub angles: Vec<f64>,
    /// (sum of the k leading eigenvalues of M - tr U'MU) / |sum|: how far the subspace is from being the best for its plan.
    /// Positive at a saddle.
    pub eigen_deficit: f64,
    /// The k leading eigenvalues of M, descending. With more than 48 axes (512, of up to 1024 samples), by a Krylov space that has the subspace
    /// in it: these, the next one and the deficit are then at most what they are in all directions.
    pub eigenvalues: Vec<f64>,
    /// The eigenvalue after them, where the data's span has one: the smaller the gap, the less the subspace is determined.
    pub next_eigenvalue: Option<f64>,
    /// A bound of the plan's mass between samples too far apart to be looked at in the last pass: 0 where all pairs were.
    #[cfg_attr(feature = "serde", serde(default))]
    pub skipped_mass: f64,
    /// The part of the variance outside the principal axes that the fit worked with: 0 but where both n and d are large, or the data
    /// larger than the memory. The relative gradient counts these directions as well; the eigenvalues do not.
    #[cfg_attr(feature = "serde", serde(default))]
    pub omitted_variance: f64,
    /// Whether an eigenvalue is not positive: epsilon is too large, and the subspace shrinks the data instead of showing them.
    pub collapsed: bool,
    /// Where the kernel was approximated by landmarks: how far that is from the exact kernel. Everything above is about the approximate
    /// kernel then. None for a fit with the exact kernel.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Option::is_none"))]
    pub approximation: Option<Approximation>,
}

/// How far a fit with landmarks is from one with the exact kernel, by the exact rows of a sample of the data.
///
/// See [`Params::landmarks`](crate::Params::landmarks). The rows are a sample, chosen without a look at the fit: the numbers are
/// estimates, not bounds.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Approximation {
    /// The number of landmarks.
    pub landmarks: usize,
    /// The number of samples whose rows were computed exactly.
    pub rows: usize,
    /// sum_i |(pi 1)_i - a_i| for the plan of the exact kernel with the potentials of the fit, which is the plan that
    /// [`Model::plan`](crate::Model::plan) gives: the relative errors of the rows, averaged by weight.
    pub marginal_error: f64,
    /// The largest relative error among the rows.
    pub worst_row: f64,
    /// The largest residual (see [`Certificate::residuals`]) with the exact kernel, at the subspace and the potentials of the fit.
    pub relative_gradient: f64,
}

impl Approximation {
    /// Whether the plan is off by more than 1 %: then more landmarks are needed, wider neighbourhoods, or the exact kernel.
    #[must_use]
    pub fn is_poor(&self) -> bool {
        self.marginal_error > 0.01
    }
}

/// Why a fit ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "snake_case"))]
#[non_exhaustive]
pub enum Termination {
    /// The tolerance was met, and the subspace is no saddle.
    Converged,
    /// The iteration limit was reached first.
    MaxIterations,
    /// An observer stopped the fit.
    Interrupted,
    /// No step lowers the loss any more, though the tolerance is not met; or rounding hides whether it is: see
    /// [`Certificate::rounding`].
    Stalled,
}

impl Termination {
    /// The name in summaries and files.
    #[must_use]
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
            Self::Stalled => "stalled before reaching the tolerance",
        })
    }
}

/// What the exact rows of the probe_rows say, where the kernel is approximated.
///
/// The gradient by the exact kernel is that of the approximate plan, whose rows are all known, corrected by the difference in the
/// rows of the probe_rows: so small a difference that a sample of it will do.
pub(crate) fn approximation(objective: &mut Objective<'_>, point: &Point) -> Option<Approximation> {
    let span = objective.span.clone();
    let (a, k) = (&span.weights, point.scores.columns());
    let landmarks = objective.kernel.landmarks()?;
    let kernel = objective.kernel.at(&point.scores, point.epsilon);
    let probe_rows = kernel.probe_rows()?;
    let u = Scalings::new(a, &point.potential);
    let right = u.beside(&point.scores);
    let sums = kernel.exact(&right, &u);
    let approximate = kernel.apply(&right, &u);
    let total: f64 = probe_rows.iter().map(|&i| a[i]).sum();
    let (mut marginal_error, mut worst_row) = (0.0, 0.0f64);
    let mut row_sums = Vec::with_capacity(a.len());
    let mut carried = Matrix::from_fn(a.len(), k, |i, c| u[i] * approximate.get(i, c + 1));
    row_sums.extend(approximate.column(0).iter().zip(&*u).map(|(sum, u)| u * sum));
    for (w, &i) in probe_rows.iter().enumerate() {
        let error = (u[i] * sums.get(w, 0) / a[i] - 1.0).abs();
        marginal_error += a[i] / total * error;
        worst_row = worst_row.max(error);
        // Each stands for as many samples as there are for one witness.
        let part = u[i] / total;
        row_sums[i] += part * (sums.get(w, 0) - approximate.get(i, 0));
        for c in 0..k {
            let value = carried.get(i, c) + part * (sums.get(w, c + 1) - approximate.get(i, c + 1));
            carried.set(i, c, value);
        }
    }
    let m_frame = span.transpose_times(&gradient_columns(carried, &row_sums, a, &point.scores));
    let mut frame_m_frame = point.frame.transposed_times(&m_frame);
    frame_m_frame.symmetrise();
    let relative_gradient = largest(&component_residuals(&point.tangent(&m_frame), &frame_m_frame, &point.variances));
    Some(Approximation { landmarks, rows: probe_rows.len(), marginal_error, worst_row, relative_gradient })
}

/// The gap between the dual value at `point` and the cost of a feasible plan near its plan: one pass.
///
/// The feasible plan is diag(x) pi diag(x) + e e' / t, with x_i = min(1, a_i / p_i) for the row sums p, e what its rows then
/// lack, and t = sum e. The relative entropy of the sum is bounded by convexity (weights 1 - t and t). Everything of order one
/// cancels on paper, so that a tiny gap is computed to full relative precision.
pub(crate) fn duality_gap(objective: &mut Objective<'_>, point: &Point) -> f64 {
    let span = objective.span.clone();
    let a = &span.weights;
    if is_wide(&point.scores, point.epsilon) {
        // All of the above is rounding there. The dual is strongly concave: what the residuals r of the rows leave is at most
        // epsilon sum a r^2.
        return point.epsilon * a.iter().zip(&point.row_sums).map(|(a, p)| a * (p / a - 1.0).powi(2)).sum::<f64>();
    }
    let x: Vec<f64> = a.iter().zip(&point.row_sums).map(|(a, p)| (a / p).min(1.0)).collect();
    let carried = objective.apply_plan(point, &Matrix::from_fn(a.len(), 1, |i, _| x[i]));
    let lacking: Vec<f64> = (0..a.len()).map(|i| (a[i] - x[i] * carried.get(i, 0)).max(0.0)).collect();
    let t: f64 = lacking.iter().sum();
    let excess: f64 = point.row_sums.iter().zip(a).map(|(p, a)| p - a).sum();
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
    (point.epsilon * entropy + cost).max(0.0)
}

/// The residuals of the components, computed from the data themselves; see [`Certificate::residuals`]. `columns` are the W with M U = X'W,
/// `components` U itself. None where the data would have to be read once more: there the axes are features, and the residuals in them
/// are as good.
pub(crate) fn residuals_in_features(
    samples: &Data<'_>,
    components: &Matrix,
    columns: &Matrix,
    variances: &[f64],
    unit: f64,
) -> Result<Option<Vec<f64>>> {
    if samples.is_streamed() {
        return Ok(None);
    }
    let m_frame = samples.transpose_times(columns)?.scaled(1.0 / unit);
    let mut frame_m_frame = components.transposed_times(&m_frame);
    frame_m_frame.symmetrise();
    let mut leaving = components.times(&frame_m_frame);
    leaving.add_scaled(-1.0, &m_frame);
    Ok(Some(component_residuals(&leaving, &frame_m_frame, variances)))
}

/// What rounding does to the residuals. Coordinates are known to eps of the largest deviation, and the mean (whose error counts squared,
/// since the data are centred) to eps of its size.
pub(crate) fn rounding(variances: &[f64], largest_variance: f64, mean_size: f64) -> Vec<f64> {
    let offset = f64::EPSILON * mean_size;
    let of = |variance: &f64| {
        let deviation = variance.max(0.0).sqrt();
        let coordinates = 4.0 * f64::EPSILON * largest_variance.sqrt() / deviation;
        coordinates + (offset / deviation).powi(2)
    };
    variances.iter().map(of).collect()
}

/// How many degrees each component may be off.
pub(crate) fn angles(residuals: &[f64], eigenvalues: &[f64], variances: &[f64], next: Option<f64>) -> Vec<f64> {
    let angle = |((rho, mu), s): ((&f64, &f64), &f64)| match next {
        None => 0.0,
        Some(next) => (rho * mu.abs().max(*s)).atan2((mu - next).max(0.0)).to_degrees(),
    };
    residuals.iter().zip(eigenvalues).zip(variances).map(angle).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::solvers::tests::{K, N, plan, problem};
    use crate::transport::Balancer;

    #[test]
    fn the_gap_is_that_of_a_feasible_plan_to_the_dual_value() {
        for (epsilon, tolerance) in [(0.05, 0.3), (0.3, 0.2), (0.6, 0.05), (0.3, 1e-4)] {
            let (mut objective, state) = problem(epsilon);
            let frame = state.point.frame.clone();
            let point = objective.evaluate(epsilon, frame, vec![0.0; N], &mut Balancer::default(), tolerance);
            let (pi, a, z) = (plan(&objective, &point), objective.span.weights.clone(), &point.scores);
            let p: Vec<f64> = (0..N).map(|i| (0..N).map(|j| pi.get(i, j)).sum()).collect();
            let x: Vec<f64> = (0..N).map(|i| (a[i] / p[i]).min(1.0)).collect();
            let shrunk = Matrix::from_fn(N, N, |i, j| x[i] * pi.get(i, j) * x[j]);
            let e: Vec<f64> = (0..N).map(|i| a[i] - (0..N).map(|j| shrunk.get(i, j)).sum::<f64>()).collect();
            let t: f64 = e.iter().sum();
            // The cost of diag(x) pi diag(x) + e e' / t, its relative entropy bounded by that of either part.
            let mut cost = 0.0;
            for (i, j) in (0..N).flat_map(|i| (0..N).map(move |j| (i, j))) {
                let distance: f64 = (0..K).map(|l| (z.get(i, l) - z.get(j, l)).powi(2)).sum();
                for (mass, total) in [(shrunk.get(i, j), 1.0 - t), (e[i] * e[j] / t, t)] {
                    if mass > 0.0 {
                        cost += mass * distance + epsilon * mass * (mass / (total * a[i] * a[j])).ln();
                    }
                }
            }
            let dual: f64 = (0..N).map(|i| 2.0 * a[i] * point.potential[i] - (p[i] - a[i])).sum();
            let wanted = cost - epsilon * dual;
            let gap = duality_gap(&mut objective, &point);
            assert!(point.marginal_error > 1e-6 && wanted > 0.0);
            assert!((gap - wanted).abs() < 1e-12 + 1e-9 * wanted, "epsilon {epsilon}: {gap} {wanted}");
        }
    }

    #[test]
    fn a_perfect_plan_has_no_gap_and_a_wide_epsilon_one_of_second_order() {
        let (mut objective, state) = problem(0.3);
        assert!(duality_gap(&mut objective, &state.point) < 1e-13);
        let (mut objective, mut state) = problem(1e9);
        let a = objective.span.weights.clone();
        state.point.row_sums = (0..N).map(|i| a[i] * (1.0 + 1e-5 * i as f64)).collect();
        let wanted: f64 = (0..N).map(|i| 1e9 * a[i] * (1e-5 * i as f64).powi(2)).sum();
        let gap = duality_gap(&mut objective, &state.point);
        assert!((gap / wanted - 1.0).abs() < 1e-9, "{gap} {wanted}");
    }

    #[test]
    fn rounding_is_that_of_coordinates_and_of_the_mean() {
        let said = rounding(&[4.0, 0.25], 9.0, 1e6);
        for (found, deviation) in said.iter().zip([2.0, 0.5]) {
            let wanted = 4.0 * f64::EPSILON * 3.0 / deviation + (f64::EPSILON * 1e6 / deviation).powi(2);
            assert!((found / wanted - 1.0).abs() < 1e-12, "{said:?}");
        }
        let far = rounding(&[4.0], 4.0, 1e12)[0];
        assert!((far / (4.0 * f64::EPSILON + (f64::EPSILON * 5e11).powi(2)) - 1.0).abs() < 1e-12);
        assert_eq!(rounding(&[-1e-20], 1.0, 1.0)[0], f64::INFINITY);
    }

    #[test]
    fn angles_are_residuals_over_the_distance_to_the_next_eigenvalue() {
        // Residuals relative to max(|mu|, s).
        let found = angles(&[1e-2, 1e-3, 0.0], &[4.0, -0.5, 1.0], &[3.0, 2.0, 1.0], Some(-1.5));
        let wanted = [4e-2f64.atan2(5.5), 2e-3f64.atan2(1.0), 0.0].map(f64::to_degrees);
        found.iter().zip(wanted).for_each(|(x, y)| assert!((x - y).abs() < 1e-12, "{found:?}"));
        // Nothing else to turn to; or nothing between.
        assert_eq!(angles(&[1e-2], &[4.0], &[3.0], None), [0.0]);
        assert_eq!(angles(&[1e-2, 0.0], &[4.0, 4.0], &[3.0, 3.0], Some(5.0)), [90.0, 0.0]);
    }

    #[test]
    fn ends_have_names() {
        let all = [Termination::Converged, Termination::MaxIterations, Termination::Interrupted, Termination::Stalled];
        assert_eq!(all.map(Termination::name), ["converged", "max_iterations", "interrupted", "stalled"]);
        let texts = all.map(|end| end.to_string());
        assert_eq!(texts[0], "converged");
        assert!(
            texts[1].contains("limit")
                && texts[2] == "interrupted"
                && texts[3].contains("before reaching the tolerance")
        );
        let of = |marginal_error| Approximation {
            landmarks: 2,
            rows: 3,
            marginal_error,
            worst_row: 0.0,
            relative_gradient: 0.0,
        };
        assert!(of(0.011).is_poor() && !of(0.009).is_poor());
    }
}
