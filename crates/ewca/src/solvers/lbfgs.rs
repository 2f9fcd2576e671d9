//! Riemannian L-BFGS on F, with warm-started potentials.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use super::{Objective, Outcome, Point, State};
use crate::error::Result;
use crate::matrix::{Matrix, symmetric_eigen};
use crate::subspace::polar_factor;

/// Steps that are remembered.
const MEMORY: usize = 6;
/// Sufficient decrease (Armijo).
const DECREASE: f64 = 1e-4;
/// The longest step, as a Frobenius norm of the tangent: about half a right angle in one direction.
const LONGEST: f64 = 0.8;
const MAX_TRIALS: usize = 12;
/// Iterations after which the preconditioner looks at M again.
const REFRESH: usize = 8;
/// Differences of eigenvalues below this fraction of a component's size are taken as this fraction.
const SMALLEST_CURVATURE: f64 = 0.05;

/// The curvature seen so far: pairs of steps and gradient changes, moved along by projection.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(crate) struct Curvature {
    pairs: VecDeque<Pair>,
    /// Iterations since the start.
    age: usize,
    /// The diagonal of M in the principal axes.
    diagonal: Vec<f64>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Pair {
    step: Matrix,
    change: Matrix,
}

/// Inner accuracy: a tenth of the overall gradient is enough for the gradient to be a descent direction and for the memory to
/// stay meaningful.
fn plan_tolerance(overall_gradient: f64, floor: f64) -> f64 {
    (0.1 * overall_gradient).min(1e-2).max(floor)
}

/// One iteration: direction, line search, memory.
pub(crate) fn step(objective: &mut Objective, state: &mut State, plan_floor: f64) -> Result<Outcome> {
    // A plan that is less accurate than the gradient is small says nothing about descent.
    while state.point.marginal_error > state.point.overall_gradient.max(plan_floor) {
        let (error, tolerance) = (state.point.marginal_error, plan_tolerance(state.point.overall_gradient, plan_floor));
        state.tighten(objective, tolerance);
        if state.point.marginal_error >= error {
            break;
        }
    }
    let point = &state.point;
    if state.curvature.age.is_multiple_of(REFRESH) {
        state.curvature.diagonal = objective.diagonal(point);
    }
    state.curvature.age += 1;
    let mut direction = state.curvature.direction(point)?;
    let mut slope = direction.dot(&point.gradient);
    if slope.is_nan() || slope >= 0.0 {
        state.curvature.pairs.clear();
        direction = state.curvature.direction(point)?;
        slope = direction.dot(&point.gradient);
        if slope.is_nan() || slope >= 0.0 {
            return Ok(Outcome::Stuck);
        }
    }
    let tolerance = plan_tolerance(point.overall_gradient, plan_floor);
    let longest = LONGEST / direction.norm();
    let mut length = longest.min(1.0);
    let noise = 1e-13 * point.loss.abs().max(objective.span.total_variance());
    let mut accepted: Option<(f64, Point)> = None;
    for _ in 0..MAX_TRIALS {
        let mut frame = point.frame.clone();
        frame.add_scaled(length, &direction);
        let potential = point.potential.clone();
        let trial = objective.evaluate(polar_factor(&frame)?, potential, &mut state.balancer, tolerance);
        let decrease = trial.loss - point.loss;
        let new_slope = trial.gradient.dot(&direction);
        if !trial.loss.is_finite() {
            length *= 0.1;
            continue;
        }
        // Near the end differences of F are rounding noise; there the slopes decide (approximate Wolfe condition).
        let enough =
            decrease <= DECREASE * length * slope || (decrease.abs() <= noise && new_slope.abs() <= 0.9 * slope.abs());
        if !enough {
            if accepted.is_some() {
                break;
            }
            let quadratic = -0.5 * slope * length * length / (decrease - slope * length);
            length = if quadratic.is_finite() { quadratic.clamp(0.1 * length, 0.5 * length) } else { 0.1 * length };
            continue;
        }
        if accepted.as_ref().is_some_and(|(_, best)| best.loss <= trial.loss) {
            break;
        }
        let downhill = new_slope < slope && length < 0.99 * longest;
        accepted = Some((length, trial));
        if !downhill {
            break;
        }
        // The slope grew: the curvature is negative, and a longer step is better.
        length = (3.0 * length).min(longest);
    }
    let Some((length, trial)) = accepted else {
        return Ok(Outcome::Stuck);
    };
    let before = std::mem::replace(&mut state.point, trial);
    state.curvature.moved(&before, &state.point, &direction.scaled(length));
    Ok(Outcome::Moved)
}

impl Curvature {
    /// Whether the shapes are those of steps in a span of the given rank: a state may come from a file.
    pub fn belongs_to(&self, rank: usize, components: usize) -> bool {
        let matches = |matrix: &Matrix| (matrix.rows(), matrix.columns()) == (rank, components) && matrix.is_finite();
        let known = if self.age == 0 { 0 } else { rank };
        self.pairs.iter().all(|pair| matches(&pair.step) && matches(&pair.change)) && self.diagonal.len() == known
    }

    /// -H G by the two-loop recursion, tangent at `point`.
    fn direction(&self, point: &Point) -> Result<Matrix> {
        let preconditioner = self.preconditioner(point)?;
        let mut q = point.gradient.clone();
        let mut factors = Vec::with_capacity(self.pairs.len());
        for pair in self.pairs.iter().rev() {
            let factor = pair.step.dot(&q) / pair.step.dot(&pair.change);
            q.add_scaled(-factor, &pair.change);
            factors.push(factor);
        }
        let mut q = preconditioner.apply(point, &q);
        if let Some(newest) = self.pairs.back() {
            let preconditioned = preconditioner.apply(point, &newest.change);
            let scale = newest.step.dot(&newest.change) / newest.change.dot(&preconditioned);
            if scale.is_finite() && scale > 0.0 {
                q = q.scaled(scale);
            }
        }
        for (pair, factor) in self.pairs.iter().zip(factors.iter().rev()) {
            let other = pair.change.dot(&q) / pair.step.dot(&pair.change);
            q.add_scaled(factor - other, &pair.step);
        }
        Ok(point.tangent(&q.scaled(-1.0)))
    }

    fn preconditioner(&self, point: &Point) -> Result<Preconditioner> {
        let (values, rotation) = symmetric_eigen(&point.compression)?;
        let inverse = Matrix::from_fn(self.diagonal.len(), values.len(), |i, j| {
            let size = values[j].abs().max(point.variances[j]).max(f64::MIN_POSITIVE);
            0.5 / (values[j] - self.diagonal[i]).abs().max(SMALLEST_CURVATURE * size)
        });
        Ok(Preconditioner { rotation, inverse })
    }

    fn moved(&mut self, before: &Point, after: &Point, step: &Matrix) {
        for pair in &mut self.pairs {
            pair.step = after.tangent(&pair.step);
            pair.change = after.tangent(&pair.change);
        }
        let step = after.tangent(step);
        let mut change = after.gradient.clone();
        change.add_scaled(-1.0, &after.tangent(&before.gradient));
        if step.dot(&change) > 1e-10 * step.norm() * change.norm() {
            self.pairs.push_back(Pair { step, change });
        }
        self.pairs.retain(|p| p.step.dot(&p.change) > 1e-10 * p.step.norm() * p.change.norm());
        if self.pairs.len() > MEMORY {
            self.pairs.pop_front();
        }
    }
}

/// With the plan held, the Hessian is D -> 2 (D V'MV - M D). In the principal axes M is nearly diagonal, so that dividing by
/// differences of eigenvalues undoes most of it.
struct Preconditioner {
    /// The eigenvectors of V'MV.
    rotation: Matrix,
    /// 1 / (2 |eigenvalue_j - M_ii|).
    inverse: Matrix,
}

impl Preconditioner {
    fn apply(&self, point: &Point, gradient: &Matrix) -> Matrix {
        let mut turned = gradient.times(&self.rotation);
        let factors = self.inverse.as_column_major();
        turned.as_column_major_mut().iter_mut().zip(factors).for_each(|(x, c)| *x *= c);
        point.tangent(&turned.times(&self.rotation.transposed()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{K, N, problem};
    use super::*;
    use crate::subspace::random_frame;

    #[test]
    fn plans_are_ten_times_as_accurate_as_the_gradient_is_small() {
        for (gradient, floor, wanted) in [(1e-3, 1e-9, 1e-4), (1.0, 1e-9, 1e-2), (1e-9, 1e-7, 1e-7)] {
            assert!((plan_tolerance(gradient, floor) / wanted - 1.0).abs() < 1e-12);
        }
    }

    /// A curvature with so many pairs of random steps, whose changes of gradient are those of a positive definite Hessian.
    fn curvature(point: &Point, pairs: u64) -> Curvature {
        let pair = |stream| {
            let step = point.tangent(&random_frame(5, K, 7, stream)).scaled(0.1 * (1 + stream) as f64);
            let mut change = step.clone();
            change.scale_rows(&[1.0, 2.0, 3.0, 4.0, 5.0]);
            Pair { change: point.tangent(&change), step }
        };
        Curvature { pairs: (0..pairs).map(pair).collect(), age: 3, diagonal: vec![1.0, 0.6, -0.2, 0.3, -0.4] }
    }

    #[test]
    fn the_direction_undoes_the_newest_change_of_gradient() {
        // The secant equation: the inverse Hessian turns the newest change of the gradient into the newest step.
        let (_, mut state) = problem(0.3);
        for pairs in [1, 2, 5] {
            let curvature = curvature(&state.point, pairs);
            let newest = curvature.pairs.back().unwrap().clone();
            state.point.gradient = newest.change.clone();
            let mut direction = curvature.direction(&state.point).unwrap();
            direction.add_scaled(1.0, &newest.step);
            assert!(direction.norm() < 1e-12 * newest.step.norm(), "{pairs} pairs: {}", direction.norm());
        }
    }

    #[test]
    fn directions_are_symmetric_and_lead_down() {
        // <G1, H G2> = <H G1, G2>, whatever was learnt, and nothing of it leaves the tangent space.
        let (_, mut state) = problem(0.3);
        for pairs in [0, 1, 4] {
            let curvature = curvature(&state.point, pairs);
            let [first, second] = [20, 21].map(|stream| state.point.tangent(&random_frame(5, K, 7, stream)));
            let [h_first, h_second] = [&first, &second].map(|gradient| {
                state.point.gradient = gradient.clone();
                curvature.direction(&state.point).unwrap()
            });
            let (left, right) = (first.dot(&h_second), second.dot(&h_first));
            assert!((left - right).abs() < 1e-12 * (first.norm() * h_second.norm()), "{pairs} pairs: {left} {right}");
            assert!(first.dot(&h_first) < 0.0 && second.dot(&h_second) < 0.0);
            assert!(state.point.frame.transposed_times(&h_first).norm() < 1e-12);
        }
    }

    #[test]
    fn without_memory_differences_of_eigenvalues_divide() {
        let (_, state) = problem(0.3);
        let curvature = curvature(&state.point, 0);
        let (values, rotation) = symmetric_eigen(&state.point.compression).unwrap();
        let mut turned = state.point.gradient.times(&rotation);
        for (i, j) in (0..5).flat_map(|i| (0..K).map(move |j| (i, j))) {
            let size = values[j].abs().max(state.point.variances[j]);
            let difference = (values[j] - curvature.diagonal[i]).abs().max(SMALLEST_CURVATURE * size);
            turned.set(i, j, turned.get(i, j) * 0.5 / difference);
        }
        let mut wanted = state.point.tangent(&turned.times(&rotation.transposed()));
        wanted.add_scaled(1.0, &curvature.direction(&state.point).unwrap());
        assert!(wanted.norm() < 1e-13, "{}", wanted.norm());
    }

    #[test]
    fn a_move_is_remembered_if_it_curves_upwards() {
        let (_, State { point, .. }) = problem(0.3);
        let step = point.tangent(&random_frame(5, K, 7, 30));
        let after = |factor: f64| {
            let mut after = point.clone();
            after.gradient.add_scaled(factor, &step);
            after
        };
        let mut memory = Curvature::default();
        memory.moved(&point, &after(-2.0), &step);
        assert!(memory.pairs.is_empty());
        for count in 1..10 {
            memory.moved(&point, &after(2.0), &step.clone().scaled(count as f64));
            assert_eq!(memory.pairs.len(), count.min(MEMORY));
        }
        let Pair { step: kept, change } = memory.pairs.back().unwrap();
        let mut rest = change.clone();
        rest.add_scaled(-2.0, &step);
        assert!(rest.norm() < 1e-12 && (kept.norm() / step.norm() - 9.0).abs() < 1e-12);
        // What no longer curves upwards where the fit has got to is forgotten.
        let mut other = point.clone();
        other.frame = random_frame(5, K, 7, 31);
        memory.moved(&other, &other, &step);
        let upwards = |p: &Pair| p.step.dot(&p.change) > 1e-10 * p.step.norm() * p.change.norm();
        assert!(memory.pairs.iter().all(upwards));
        for pair in &memory.pairs {
            assert!(other.frame.transposed_times(&pair.step).norm() < 1e-12);
            assert!(other.frame.transposed_times(&pair.change).norm() < 1e-12);
        }
    }

    #[test]
    fn memories_of_other_shapes_do_not_belong() {
        let (_, State { point, .. }) = problem(0.3);
        let known = curvature(&point, 2);
        assert!(known.belongs_to(5, K) && Curvature::default().belongs_to(5, K));
        assert!(!known.belongs_to(5, K + 1) && !known.belongs_to(4, K));
        let mut other = known.clone();
        other.pairs[1].change = Matrix::zeros(5, 1);
        assert!(!other.belongs_to(5, K));
        let mut other = known.clone();
        other.pairs[0].step = Matrix::zeros(5, 1);
        assert!(!other.belongs_to(5, K));
        assert!(!Curvature { diagonal: vec![0.0; 4], ..known.clone() }.belongs_to(5, K));
        assert!(!Curvature { age: 0, ..known }.belongs_to(5, K));
    }

    #[test]
    fn steps_descend_and_few_are_needed() {
        for epsilon in [0.05, 0.3, 0.8] {
            let (mut objective, mut state) = problem(epsilon);
            let mut steps = 0;
            while state.point.relative_gradient > 1e-8 {
                let before = state.point.loss;
                assert_eq!(step(&mut objective, &mut state, 1e-13).unwrap(), Outcome::Moved);
                assert!(state.point.loss < before + 1e-3 * state.point.marginal_error + 1e-12, "epsilon {epsilon}");
                steps += 1;
                assert!(steps <= 40, "epsilon {epsilon}: {}", state.point.relative_gradient);
            }
            assert!(state.point.marginal_error <= 1e-8 && state.point.frame.rows() == 5);
            assert_eq!(state.point.potential.len(), N);
        }
    }
}
