//! Riemannian L-BFGS on F, with warm-started potentials (docs/method.md, section 5).

use std::collections::VecDeque;

use super::{Algorithm, Goal, LeadingBlock, Objective, Outcome, Point};
use crate::error::Result;
use crate::matrix::{Matrix, symmetric_eigen};
use crate::samples::Span;
use crate::subspace::polar_factor;
use crate::transport::{Balancer, MANY_SAMPLES};

/// Steps that are remembered.
const MEMORY: usize = 12;
/// Sufficient decrease (Armijo).
const DECREASE: f64 = 1e-4;
/// The longest step, as a Frobenius norm of the tangent: about half a right angle in one direction.
const LONGEST: f64 = 0.8;
const MAX_TRIALS: usize = 12;
/// Iterations after which the preconditioner looks at M again.
const REFRESH: usize = 8;
/// Differences of eigenvalues below this fraction of a component's size are taken as this fraction.
const SMALLEST_CURVATURE: f64 = 0.05;

/// A jump must lower F by this part of the variance of the scores: at first, when steps have not shown yet what they can do, and later.
const FIRST_JUMP: f64 = 5e-3;
const LATER_JUMP: f64 = 1e-4;
/// The marginal error of the plan after a jump.
const JUMP_ERROR: f64 = 1e-2;

/// How far a frame of more than so many numbers may move, as a Frobenius norm, before what is remembered is made tangent again.
const SMALL_FRAME: usize = 4096;
const LONGEST_MOVE: f64 = 0.2;

/// The marginal error of a plan, as a part of the overall gradient; and among many samples.
const PLAN_PART: f64 = 0.1;
const PLAN_PART_OF_MANY: f64 = 0.2;
/// A gradient of so many times the least error of a plan in single precision is told by such plans.
const TOLD_GRADIENT: f64 = 4.0;

/// What it remembers is the curvature seen so far: pairs of steps and gradient changes, moved along by projection.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Lbfgs {
    pairs: VecDeque<Pair>,
    /// Iterations since the start.
    age: usize,
    /// M as it was when last looked at, and F then.
    block: LeadingBlock,
    loss: Option<f64>,
    /// Whether the last look led to a jump: then the next one is due.
    jumped: bool,
    /// How far the frame has moved since the pairs were made tangent.
    moved_by: f64,
}

#[derive(Debug, Clone, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
struct Pair {
    step: Matrix,
    change: Matrix,
}

/// Inner accuracy: a tenth of the overall gradient is enough for the gradient to be a descent direction and for the memory to
/// stay meaningful; a fifth among many samples, where that saves a pass in nearly every iteration. Less will do while single precision, which can tell
/// errors from `single` on, can tell the gradient.
fn plan_tolerance(overall_gradient: f64, floor: f64, single: Option<f64>, samples: usize) -> f64 {
    let part = if samples < MANY_SAMPLES { PLAN_PART } else { PLAN_PART_OF_MANY };
    let told = single.filter(|single| overall_gradient >= TOLD_GRADIENT * single).unwrap_or(0.0);
    (part * overall_gradient).min(1e-2).max(floor).max(told)
}

impl Algorithm for Lbfgs {
    fn step(
        &mut self,
        objective: &mut Objective<'_>,
        point: &mut Point,
        balancer: &mut Balancer,
        goal: &Goal,
    ) -> Result<Outcome> {
        // The smallest component asks for the most accurate plan.
        let smallest = point.variances.last().map_or(1.0, |v| v / objective.span.variances[0]);
        let plan_floor = (0.1 * goal.relative_gradient * smallest.clamp(0.0, 1.0)).max(goal.marginal_error);
        self.step_with(objective, point, balancer, plan_floor)
    }

    fn forget(&mut self) {
        *self = Self::default();
    }
}

impl Lbfgs {
    /// One iteration: direction, line search, memory; with plans that are no more accurate than `plan_floor`.
    fn step_with(
        &mut self,
        objective: &mut Objective<'_>,
        point: &mut Point,
        balancer: &mut Balancer,
        plan_floor: f64,
    ) -> Result<Outcome> {
        // A plan that is less accurate than the gradient is small says nothing about descent.
        let (single, samples) = (objective.single_precision_from(point), point.potential.len());
        let tolerance_at = |gradient: f64| plan_tolerance(gradient, plan_floor, single, samples);
        while point.marginal_error > point.overall_gradient.max(plan_floor) {
            let error = point.marginal_error;
            point.tighten(objective, balancer, tolerance_at(point.overall_gradient));
            if point.marginal_error >= error {
                break;
            }
        }
        if self.age.is_multiple_of(REFRESH) || self.jumped {
            self.block = objective.leading_block(point)?;
            self.jumped = self.jump(objective, point, balancer);
        }
        self.age += 1;
        let span = objective.span.clone();
        let mut direction = self.direction(&span, point)?;
        let mut slope = direction.dot(&point.gradient);
        if slope.is_nan() || slope >= 0.0 {
            self.pairs.clear();
            direction = self.direction(&span, point)?;
            slope = direction.dot(&point.gradient);
            if slope.is_nan() || slope >= 0.0 {
                return Ok(Outcome::Stuck);
            }
        }
        let line = Line { loss: point.loss, slope, longest: LONGEST / direction.norm(), noise: objective.noise(point) };
        let mut search = |objective: &mut Objective<'_>, tolerance: f64| {
            line.search(|length| {
                let mut frame = point.frame.clone();
                frame.add_scaled(length, &direction);
                let (frame, potential) = (polar_factor(&frame)?, point.potential.clone());
                let point = objective.evaluate(point.epsilon, frame, potential, balancer, tolerance);
                Ok(Trial { loss: point.loss, slope: point.gradient.dot(&direction), point })
            })
        };
        let tolerance = tolerance_at(point.overall_gradient);
        let mut accepted = search(objective, tolerance)?;
        // What single precision does not see, double precision may.
        if let (None, Some(single)) = (&accepted, single)
            && tolerance >= single
        {
            accepted = search(objective, 0.5 * single)?;
        }
        let Some((length, trial)) = accepted else {
            return Ok(Outcome::Stuck);
        };
        let before = std::mem::replace(point, trial);
        self.moved(&before, point, &direction.scaled(length));
        Ok(Outcome::Moved)
    }

    /// A step of Algorithm 1 in the leading axes, where it lowers F by more than the last steps together did: it leaves saddles and crosses plains
    /// on which gradients are small.
    fn jump(&mut self, objective: &mut Objective<'_>, point: &mut Point, balancer: &mut Balancer) -> bool {
        let k = point.frame.columns();
        let frame = objective.span.spread_over_all(&self.block.rotation.leading_columns(k));
        let sum: f64 = self.block.values[..k].iter().sum();
        let trace: f64 = (0..k).map(|j| point.frame_m_frame.get(j, j)).sum();
        let variance: f64 = point.variances.iter().sum();
        let least = match self.loss.replace(point.loss) {
            Some(before) => (before - point.loss).max(LATER_JUMP * variance),
            None => FIRST_JUMP * variance,
        };
        // F falls by at least the deficit.
        let deficit = sum - trace;
        if deficit <= least {
            return false;
        }
        let trial = objective.evaluate(point.epsilon, frame, point.potential.clone(), balancer, JUMP_ERROR);
        if trial.loss > point.loss - 0.5 * deficit {
            return false;
        }
        *point = trial;
        self.pairs.clear();
        true
    }
}

/// F along a direction, as a function of the length of the step.
struct Line {
    /// F and its slope at the beginning.
    loss: f64,
    slope: f64,
    longest: f64,
    /// Differences of F below this are rounding.
    noise: f64,
}

/// A place on the line: F, its slope along the direction there, and whatever else is known of it.
struct Trial<P> {
    loss: f64,
    slope: f64,
    point: P,
}

impl Line {
    /// A length at which F is low enough, and what is there; none where no trial is.
    fn search<P>(&self, mut at: impl FnMut(f64) -> Result<Trial<P>>) -> Result<Option<(f64, P)>> {
        let &Self { loss, slope, longest, noise } = self;
        let mut length = longest.min(1.0);
        let mut accepted: Option<(f64, Trial<P>)> = None;
        for _ in 0..MAX_TRIALS {
            let trial = at(length)?;
            let decrease = trial.loss - loss;
            if !trial.loss.is_finite() {
                length *= 0.1;
                continue;
            }
            // Near the end differences of F are rounding noise; there the slopes decide (approximate Wolfe condition).
            let enough = decrease <= DECREASE * length * slope
                || (decrease.abs() <= noise && trial.slope.abs() <= 0.9 * slope.abs());
            if !enough {
                if accepted.is_some() {
                    break;
                }
                let quadratic = -0.5 * slope * length * length / (decrease - slope * length);
                // Not `clamp`: where everything underflows this is NaN, of which `max` makes the shortest.
                length = quadratic.max(0.1 * length).min(0.5 * length);
                continue;
            }
            if accepted.as_ref().is_some_and(|(_, best)| best.loss <= trial.loss) {
                break;
            }
            let downhill = trial.slope < slope && length < 0.99 * longest;
            accepted = Some((length, trial));
            if !downhill {
                break;
            }
            // The slope grew: the curvature is negative, and a longer step is better.
            length = (3.0 * length).min(longest);
        }
        Ok(accepted.map(|(length, trial)| (length, trial.point)))
    }
}

impl Lbfgs {
    /// Whether the shapes are those of steps in a span of the given rank: a state may come from a file.
    pub fn belongs_to(&self, rank: usize, components: usize) -> bool {
        let matches = |matrix: &Matrix| (matrix.rows(), matrix.columns()) == (rank, components) && matrix.is_finite();
        let LeadingBlock { rank: of, values, rotation, elsewhere } = &self.block;
        let is_of_rank = *of == rank || (self.age == 0 && *self == Self::default());
        is_of_rank
            && self.pairs.iter().all(|pair| matches(&pair.step) && matches(&pair.change))
            && values.len() <= rank
            && (rotation.rows(), rotation.columns()) == (values.len(), values.len())
            && rotation.is_finite()
            && values.iter().chain([elsewhere]).all(|x| x.is_finite())
            && self.moved_by >= 0.0
    }

    /// -H G by the two-loop recursion, tangent at `point`.
    fn direction(&self, span: &Span<'_>, point: &Point) -> Result<Matrix> {
        let preconditioner = self.preconditioner(span, point)?;
        let mut q = point.gradient.clone();
        let curvatures: Vec<f64> = self.pairs.iter().map(|pair| pair.step.dot(&pair.change)).collect();
        let mut factors = Vec::with_capacity(self.pairs.len());
        for (pair, curvature) in self.pairs.iter().zip(&curvatures).rev() {
            let factor = pair.step.dot(&q) / curvature;
            q.add_scaled(-factor, &pair.change);
            factors.push(factor);
        }
        let mut q = preconditioner.apply(point, &q);
        if let (Some(newest), Some(curvature)) = (self.pairs.back(), curvatures.last()) {
            let preconditioned = preconditioner.apply(point, &newest.change);
            let scale = curvature / newest.change.dot(&preconditioned);
            if scale.is_finite() && scale > 0.0 {
                q = q.scaled(scale);
            }
        }
        for ((pair, curvature), factor) in self.pairs.iter().zip(&curvatures).zip(factors.iter().rev()) {
            let other = pair.change.dot(&q) / curvature;
            q.add_scaled(factor - other, &pair.step);
        }
        Ok(point.tangent(&q.scaled(-1.0)))
    }

    fn preconditioner<'a>(&'a self, span: &'a Span<'_>, point: &Point) -> Result<Preconditioner<'a>> {
        let (values, rotation) = symmetric_eigen(&point.frame_m_frame)?;
        let inverse = |j: usize, eigenvalue: f64| {
            let size = values[j].abs().max(point.variances[j]).max(f64::MIN_POSITIVE);
            0.5 / (values[j] - eigenvalue).abs().max(SMALLEST_CURVATURE * size)
        };
        let elsewhere: Vec<f64> = (0..values.len()).map(|j| inverse(j, self.block.elsewhere)).collect();
        // What is done elsewhere is done everywhere, and taken back here.
        let here = Matrix::from_fn(self.block.values.len(), values.len(), |i, j| {
            inverse(j, self.block.values[i]) - elsewhere[j]
        });
        Ok(Preconditioner { span, block: &self.block, rotation, here, elsewhere })
    }

    fn moved(&mut self, before: &Point, after: &Point, step: &Matrix) {
        let curves_upwards = |p: &Pair| p.step.dot(&p.change) > 1e-10 * p.step.norm() * p.change.norm();
        self.moved_by += step.norm();
        if self.moved_by > LONGEST_MOVE || step.as_column_major().len() <= SMALL_FRAME {
            self.moved_by = 0.0;
            for pair in &mut self.pairs {
                pair.step = after.tangent(&pair.step);
                pair.change = after.tangent(&pair.change);
            }
            self.pairs.retain(curves_upwards);
        }
        let step = after.tangent(step);
        let mut change = after.gradient.clone();
        change.add_scaled(-1.0, &after.tangent(&before.gradient));
        let newest = Pair { step, change };
        if curves_upwards(&newest) {
            self.pairs.push_back(newest);
        }
        if self.pairs.len() > MEMORY {
            self.pairs.pop_front();
        }
    }
}

/// With the plan held, the Hessian is D -> 2 (D V'MV - M D). With the eigenvectors of M in the leading axes, dividing by differences of
/// eigenvalues undoes most of it.
struct Preconditioner<'a> {
    span: &'a Span<'a>,
    block: &'a LeadingBlock,
    /// The eigenvectors of V'MV.
    rotation: Matrix,
    /// 1 / (2 |eigenvalue_j of V'MV - eigenvalue_i of M|) in the leading axes, less what it is elsewhere.
    here: Matrix,
    elsewhere: Vec<f64>,
}

impl Preconditioner<'_> {
    fn apply(&self, point: &Point, gradient: &Matrix) -> Matrix {
        let mut turned = gradient.times(&self.rotation);
        let mut leading = self.block.rotation.transposed_times(&self.span.along_leading(&turned, self.here.rows()));
        let factors = self.here.as_column_major();
        leading.as_column_major_mut().iter_mut().zip(factors).for_each(|(x, c)| *x *= c);
        turned.scale_columns(&self.elsewhere);
        turned.add_scaled(1.0, &self.span.spread_over_all(&self.block.rotation.times(&leading)));
        point.tangent(&turned.times(&self.rotation.transposed()))
    }
}

#[cfg(test)]
mod tests {
    use super::super::State;
    use super::super::tests::{K, N, layout, problem};
    use super::*;
    use crate::subspace::random_frame;

    #[test]
    fn plans_are_as_accurate_as_the_gradient_is_small() {
        for (gradient, floor, single, samples, wanted) in [
            (1e-3, 1e-9, None, MANY_SAMPLES - 1, 1e-4),
            (1e-3, 1e-9, None, MANY_SAMPLES, 2e-4),
            (1.0, 1e-9, None, 100, 1e-2),
            (1e-9, 1e-7, None, 100, 1e-7),
            // Single precision tells a gradient of 4 times its error, and not one of 3.
            (1e-3, 1e-9, Some(1e-7), 100, 1e-4),
            (4.1e-7, 1e-9, Some(1e-7), 100, 1e-7),
            (3e-7, 1e-9, Some(1e-7), 100, 3e-8),
        ] {
            assert!((plan_tolerance(gradient, floor, single, samples) / wanted - 1.0).abs() < 1e-12, "{gradient}");
        }
    }

    /// A curvature with so many pairs of random steps, whose changes of gradient are those of a positive definite Hessian.
    fn curvature(point: &Point, pairs: u64) -> Lbfgs {
        let pair = |stream| {
            let step = point.tangent(&random_frame(5, K, 7, stream)).scaled(0.1 * (1 + stream) as f64);
            let mut change = step.clone();
            change.scale_rows(&[1.0, 2.0, 3.0, 4.0, 5.0]);
            Pair { change: point.tangent(&change), step }
        };
        // In three of the five axes M is known, by its eigenvectors.
        let rotation = random_frame(3, 3, 7, 50);
        let block = LeadingBlock { rank: 5, values: vec![1.0, 0.6, -0.2], rotation, elsewhere: 0.1 };
        Lbfgs { pairs: (0..pairs).map(pair).collect(), age: 3, block, loss: None, jumped: false, moved_by: 0.0 }
    }

    #[test]
    fn the_direction_undoes_the_newest_change_of_gradient() {
        // The secant equation: the inverse Hessian turns the newest change of the gradient into the newest step.
        let (objective, mut state) = problem(0.3);
        for pairs in [1, 2, 5] {
            let curvature = curvature(&state.point, pairs);
            let newest = curvature.pairs.back().unwrap().clone();
            state.point.gradient = newest.change.clone();
            let mut direction = curvature.direction(&objective.span, &state.point).unwrap();
            direction.add_scaled(1.0, &newest.step);
            assert!(direction.norm() < 1e-12 * newest.step.norm(), "{pairs} pairs: {}", direction.norm());
        }
    }

    #[test]
    fn directions_are_symmetric_and_lead_down() {
        // <G1, H G2> = <H G1, G2>, whatever was learnt, and nothing of it leaves the tangent space.
        let (objective, mut state) = problem(0.3);
        for pairs in [0, 1, 4] {
            let curvature = curvature(&state.point, pairs);
            let [first, second] = [20, 21].map(|stream| state.point.tangent(&random_frame(5, K, 7, stream)));
            let [h_first, h_second] = [&first, &second].map(|gradient| {
                state.point.gradient = gradient.clone();
                curvature.direction(&objective.span, &state.point).unwrap()
            });
            let (left, right) = (first.dot(&h_second), second.dot(&h_first));
            assert!((left - right).abs() < 1e-12 * (first.norm() * h_second.norm()), "{pairs} pairs: {left} {right}");
            assert!(first.dot(&h_first) < 0.0 && second.dot(&h_second) < 0.0);
            assert!(state.point.frame.transposed_times(&h_first).norm() < 1e-12);
        }
    }

    #[test]
    fn without_memory_differences_of_eigenvalues_divide() {
        let (objective, state) = problem(0.3);
        let curvature = curvature(&state.point, 0);
        let (values, rotation) = symmetric_eigen(&state.point.frame_m_frame).unwrap();
        // The eigenvectors of M as far as it is known, and two axes elsewhere.
        let known = &curvature.block;
        let basis = Matrix::from_fn(5, 5, |i, j| match (i, j) {
            (0..3, 0..3) => known.rotation.get(i, j),
            _ => f64::from(u8::from(i == j)),
        });
        let mut turned = basis.transposed_times(&state.point.gradient.times(&rotation));
        for (i, j) in (0..5).flat_map(|i| (0..K).map(move |j| (i, j))) {
            let size = values[j].abs().max(state.point.variances[j]);
            let eigenvalue = known.values.get(i).copied().unwrap_or(known.elsewhere);
            let difference = (values[j] - eigenvalue).abs().max(SMALLEST_CURVATURE * size);
            turned.set(i, j, turned.get(i, j) * 0.5 / difference);
        }
        let mut wanted = state.point.tangent(&basis.times(&turned).times(&rotation.transposed()));
        wanted.add_scaled(1.0, &curvature.direction(&objective.span, &state.point).unwrap());
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
        let mut memory = Lbfgs::default();
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
    fn what_is_remembered_is_made_tangent_at_once_or_when_a_large_frame_has_moved_far() {
        let (_, State { point, .. }) = problem(0.3);
        for (rows, is_large) in [(SMALL_FRAME / K, false), (SMALL_FRAME / K + 1, true)] {
            let of = |stream| random_frame(rows, K, 7, stream);
            let after = Point { frame: of(0), gradient: Matrix::zeros(rows, K), ..point.clone() };
            let pair = Pair { step: of(1), change: of(1) };
            let mut memory = Lbfgs { pairs: [pair.clone()].into(), ..Lbfgs::default() };
            let short = of(2).scaled(0.4 * LONGEST_MOVE / of(2).norm());
            for moves in 1..=4 {
                memory.moved(&after, &after, &short);
                let Pair { step, change } = &memory.pairs[0];
                let is_tangent = [step, change].map(|x| after.frame.transposed_times(x).norm() < 1e-12);
                assert_eq!(is_tangent, [!is_large || moves > 2; 2], "{rows} {moves}");
                assert_eq!(memory.pairs[0] == pair, is_large && moves <= 2, "{rows} {moves}");
            }
        }
    }

    #[test]
    fn memories_of_other_shapes_do_not_belong() {
        let (_, State { point, .. }) = problem(0.3);
        let known = curvature(&point, 2);
        assert!(known.belongs_to(5, K) && Lbfgs::default().belongs_to(5, K));
        assert!(!known.belongs_to(5, K + 1) && !known.belongs_to(4, K));
        for moved_by in [f64::NAN, -1.0] {
            assert!(!Lbfgs { moved_by, ..known.clone() }.belongs_to(5, K));
        }
        let mut other = known.clone();
        other.pairs[1].change = Matrix::zeros(5, 1);
        assert!(!other.belongs_to(5, K));
        let mut other = known.clone();
        other.pairs[0].step = Matrix::zeros(5, 1);
        assert!(!other.belongs_to(5, K));
        let block = |block: LeadingBlock| Lbfgs { block, ..known.clone() };
        assert!(!block(LeadingBlock { values: vec![0.0; 2], ..known.block.clone() }).belongs_to(5, K));
        let large = LeadingBlock { values: vec![0.0; 6], rotation: Matrix::identity(6), ..known.block.clone() };
        assert!(!block(large).belongs_to(5, K));
        assert!(!block(LeadingBlock { rank: 6, ..known.block.clone() }).belongs_to(5, K));
        assert!(!block(LeadingBlock { elsewhere: f64::NAN, ..known.block.clone() }).belongs_to(5, K));
        assert!(!block(LeadingBlock { rotation: Matrix::zeros(3, 2), ..known.block.clone() }).belongs_to(5, K));
    }

    #[test]
    fn steps_descend_and_few_are_needed() {
        for epsilon in [0.05, 0.3, 0.8] {
            let (mut objective, State { mut point, mut balancer, .. }) = problem(epsilon);
            let (mut lbfgs, mut steps) = (Lbfgs::default(), 0);
            while point.relative_gradient > 1e-8 {
                let before = point.loss;
                let outcome = lbfgs.step_with(&mut objective, &mut point, &mut balancer, 1e-13).unwrap();
                assert_eq!(outcome, Outcome::Moved);
                assert!(point.loss < before + 1e-3 * point.marginal_error + 1e-12, "epsilon {epsilon}");
                steps += 1;
                assert!(steps <= 40, "epsilon {epsilon}: {}", point.relative_gradient);
            }
            assert!(point.marginal_error <= 1e-8 && point.frame.rows() == 5);
            assert_eq!((point.potential.len(), point.epsilon), (N, epsilon));
        }
    }

    #[test]
    fn plans_are_as_accurate_as_the_smallest_component_asks_for() {
        // The accuracy of the plan after a step, with variances of 1 and `variance` in units of the largest.
        let after = |variance: f64, goal: Goal| {
            let (mut objective, State { mut point, mut balancer, .. }) = problem(0.3);
            (point.overall_gradient, point.variances[1]) = (0.0, variance * objective.span.variances[0]);
            // Without a jump, which has an accuracy of its own: the last steps won more.
            let mut lbfgs = Lbfgs { loss: Some(f64::INFINITY), ..Lbfgs::default() };
            lbfgs.step(&mut objective, &mut point, &mut balancer, &goal).unwrap();
            point.marginal_error
        };
        let goal = Goal { relative_gradient: 1e-2, marginal_error: 1e-12 };
        for (variance, floor) in [(1.0, 1e-3), (1e-3, 1e-6), (1e-6, 1e-9), (-1.0, 1e-12), (7.0, 1e-3)] {
            let error = after(variance, goal);
            assert!(error <= floor && error > 1e-3 * floor, "{variance}: {error}");
        }
        let error = after(1e-6, Goal { marginal_error: 1e-5, ..goal });
        assert!(error <= 1e-5 && error > 1e-8, "{error}");
    }

    /// Where a search along `curve` (value and slope at a length) ends, and the lengths that it tried.
    fn tried(line: &Line, curve: impl Fn(f64) -> (f64, f64)) -> (Option<f64>, Vec<f64>) {
        let mut lengths = Vec::new();
        let found = line.search(|length| {
            lengths.push(length);
            let (loss, slope) = curve(length);
            Ok(Trial { loss, slope, point: length })
        });
        let found = found.unwrap();
        assert!(found.is_none_or(|(length, point)| length == point));
        (found.map(|(length, _)| length), lengths)
    }

    fn close(found: &[f64], wanted: &[f64]) {
        let near = |(x, y): (&f64, &f64)| (x / y - 1.0).abs() < 1e-12;
        assert!(found.len() == wanted.len() && found.iter().zip(wanted).all(near), "{found:?}, not {wanted:?}");
    }

    #[test]
    fn a_step_of_length_one_is_taken_where_it_is_good() {
        // 7 - 2 t + t^2: least at 1.
        let line = Line { loss: 7.0, slope: -2.0, longest: 5.0, noise: 0.0 };
        assert_eq!(tried(&line, |t| (7.0 - 2.0 * t + t * t, -2.0 + 2.0 * t)), (Some(1.0), vec![1.0]));
        // Never longer than the longest.
        let line = Line { longest: 0.25, ..line };
        assert_eq!(tried(&line, |t| (7.0 - 2.0 * t + t * t, -2.0 + 2.0 * t)), (Some(0.25), vec![0.25]));
    }

    #[test]
    fn too_long_a_step_is_cut_to_where_a_parabola_is_least() {
        // 1 - 0.8 t + c t^2 is least at 0.4 / c.
        let line = Line { loss: 1.0, slope: -0.8, longest: 5.0, noise: 0.0 };
        let parabola = |c: f64| move |t: f64| (1.0 - 0.8 * t + c * t * t, -0.8 + 2.0 * c * t);
        let (found, lengths) = tried(&line, parabola(1.6));
        close(&lengths, &[1.0, 0.25]);
        assert_eq!(found, Some(lengths[1]));
        // To a tenth at the least, and a half at the most.
        let (_, lengths) = tried(&line, parabola(16.0));
        close(&lengths, &[1.0, 0.1, 0.025]);
        let (_, lengths) = tried(&line, |t| (if t > 0.6 { 1.0 - 1e-5 } else { 0.5 }, 0.0));
        close(&lengths, &[1.0, 0.5]);
        // From another length the parabola is another one.
        let shorter = Line { longest: 0.5, ..line };
        let (_, lengths) = tried(&shorter, parabola(3.2));
        close(&lengths, &[0.5, 0.125]);
        let (_, lengths) = tried(&shorter, |t| (if t > 0.3 { 1.0 - 1e-5 } else { 0.5 }, 0.0));
        close(&lengths, &[0.5, 0.25]);
    }

    #[test]
    fn a_step_must_lower_the_loss_by_a_part_of_what_its_slope_promises() {
        // At length 0.5 the slope promises 1, of which a ten-thousandth is asked for.
        let line = Line { loss: 3.0, slope: -2.0, longest: 0.5, noise: 0.0 };
        let first = |decrease: f64| tried(&line, |t| if t == 0.5 { (3.0 - decrease, 0.0) } else { (2.0, 0.0) });
        assert_eq!(first(1.01e-4).1.len(), 1);
        assert_eq!(first(0.99e-4).1.len(), 2);
        assert_eq!(first(-1.0).1.len(), 2);
    }

    #[test]
    fn where_the_loss_is_rounding_the_slope_decides() {
        let line = Line { loss: 3.0, slope: -2.0, longest: 1.0, noise: 1e-6 };
        let first = |rise: f64, slope: f64| tried(&line, |t| if t == 1.0 { (3.0 + rise, slope) } else { (0.0, 0.0) });
        for (rise, slope, trials) in
            [(0.9e-6, 1.79, 1), (-0.9e-6, -1.79, 1), (0.9e-6, 1.81, 2), (0.9e-6, -1.81, 2), (1.1e-6, 0.0, 2)]
        {
            assert_eq!(first(rise, slope).1.len(), trials, "{rise} {slope}");
        }
    }

    #[test]
    fn where_the_slope_grows_the_step_does() {
        let line = Line { loss: 0.0, slope: -1.0, longest: 10.0, noise: 0.0 };
        // -t - t^2 / 2 falls ever faster.
        let (found, lengths) = tried(&line, |t| (-t - 0.5 * t * t, -1.0 - t));
        close(&lengths, &[1.0, 3.0, 9.0, 10.0]);
        assert_eq!(found, Some(10.0));
        // Up to where the slope is no steeper than at the beginning, or the loss rises again: the lowest is taken.
        let (found, lengths) = tried(&line, |t| (-t - 0.5 * t * t, if t < 2.0 { -1.5 } else { -1.0 }));
        assert_eq!((found, lengths), (Some(3.0), vec![1.0, 3.0]));
        let (found, lengths) = tried(&line, |t| (if t < 2.0 { -1.6 } else { -1.5 }, -1.5));
        assert_eq!((found, lengths), (Some(1.0), vec![1.0, 3.0]));
        let (found, lengths) = tried(&line, |t| (if t < 2.0 { -1.6 } else { 5.0 }, -1.5));
        assert_eq!((found, lengths), (Some(1.0), vec![1.0, 3.0]));
        // A hundredth is not worth a trial.
        let nearly = Line { longest: 1.005, ..line };
        assert_eq!(tried(&nearly, |t| (-t - 0.5 * t * t, -1.0 - t)).1, [1.0]);
        let further = Line { longest: 1.02, ..line };
        assert_eq!(tried(&further, |t| (-t - 0.5 * t * t, -1.0 - t)).1, [1.0, 1.02]);
    }

    #[test]
    fn a_loss_that_is_no_number_is_too_far_and_trials_end() {
        let line = Line { loss: 3.0, slope: -2.0, longest: 1.0, noise: 0.0 };
        let (found, lengths) = tried(&line, |t| (if t > 0.05 { f64::NAN } else { 2.0 }, 0.0));
        close(&lengths, &[1.0, 0.1, 0.01]);
        assert_eq!(found, Some(lengths[2]));
        let (found, lengths) = tried(&line, |_| (4.0, 1.0));
        assert_eq!((found, lengths.len()), (None, MAX_TRIALS));
    }

    #[test]
    fn only_curvature_beyond_rounding_is_remembered() {
        // The cosine between a step and its change of gradient must be above 1e-10, whatever their lengths.
        let (_, State { point, .. }) = problem(0.3);
        let step = point.tangent(&random_frame(5, K, 7, 30));
        let mut across = point.tangent(&random_frame(5, K, 7, 31));
        across.add_scaled(-across.dot(&step) / step.dot(&step), &step);
        let size = step.norm() / across.norm();
        let across = across.scaled(size);
        for (size, length) in [(1.0, 1.0), (1e3, 1.0), (1e-3, 1.0), (1.0, 1e3), (1.0, 1e-3)] {
            for (cosine, kept) in [(2e-10, 1), (0.5e-10, 0), (-1e-6, 0)] {
                let mut after = point.clone();
                after.gradient = across.clone().scaled(size);
                after.gradient.add_scaled(cosine * size, &step);
                let mut before = point.clone();
                before.gradient = Matrix::zeros(5, K);
                let mut memory = Lbfgs::default();
                memory.moved(&before, &after, &step.clone().scaled(length));
                assert_eq!(memory.pairs.len(), kept, "{size} {length} {cosine}");
                // The same of what was remembered before.
                let pair = Pair { step: step.clone().scaled(length), change: after.gradient.clone() };
                let mut memory = Lbfgs { pairs: [pair].into(), ..Lbfgs::default() };
                memory.moved(&before, &before, &step);
                assert_eq!(memory.pairs.len(), kept, "{size} {length} {cosine}");
            }
        }
    }

    #[test]
    fn the_direction_is_that_of_the_inverse_hessian_written_out() {
        // H <- (I - s y'/s.y) H (I - y s'/s.y) + s s'/s.y for each pair, begun at the preconditioner times s.y / y.Py of the newest.
        let (objective, mut state) = problem(0.3);
        let size = 5 * K;
        let flat = |matrix: &Matrix| matrix.as_column_major().to_vec();
        for pairs in [1, 3] {
            let curvature = curvature(&state.point, pairs);
            let preconditioner = curvature.preconditioner(&objective.span, &state.point).unwrap();
            let unit = |at: usize| Matrix::from_fn(5, K, |i, j| if j * 5 + i == at { 1.0 } else { 0.0 });
            let columns: Vec<Vec<f64>> = (0..size)
                .map(|at| flat(&preconditioner.apply(&state.point, &state.point.tangent(&unit(at)))))
                .collect();
            let newest = curvature.pairs.back().unwrap();
            let scale = newest.step.dot(&newest.change)
                / newest.change.dot(&preconditioner.apply(&state.point, &newest.change));
            let mut h = Matrix::from_fn(size, size, |i, j| scale * columns[j][i]);
            for Pair { step, change } in &curvature.pairs {
                let (s, y, product) = (flat(step), flat(change), step.dot(change));
                let left = Matrix::from_fn(size, size, |i, j| f64::from(u8::from(i == j)) - s[i] * y[j] / product);
                h = left.times(&h).times(&left.transposed());
                h.add_scaled(1.0, &Matrix::from_fn(size, size, |i, j| s[i] * s[j] / product));
            }
            state.point.gradient = state.point.tangent(&random_frame(5, K, 7, 40));
            let gradient = Matrix::from_column_major(size, 1, flat(&state.point.gradient)).unwrap();
            let wanted = state.point.tangent(&Matrix::from_column_major(5, K, flat(&h.times(&gradient))).unwrap());
            let mut difference = curvature.direction(&objective.span, &state.point).unwrap();
            difference.add_scaled(1.0, &wanted);
            assert!(difference.norm() < 1e-12 * wanted.norm(), "{pairs} pairs: {}", difference.norm());
        }
    }

    #[test]
    fn rough_plans_are_made_better_before_a_step_and_the_preconditioner_is_made_anew_now_and_then() {
        let (mut objective, State { mut point, mut balancer, .. }) = problem(0.3);
        // From where no jump is worth its while.
        let mut before = Lbfgs::default();
        while point.relative_gradient > 1e-2 {
            before.step_with(&mut objective, &mut point, &mut balancer, 1e-13).unwrap();
        }
        let mut lbfgs = Lbfgs::default();
        point = objective.evaluate(0.3, point.frame, vec![0.0; N], &mut balancer, 1.0);
        assert!(point.marginal_error > point.overall_gradient);
        let passes = objective.kernel.passes();
        lbfgs.step_with(&mut objective, &mut point, &mut balancer, 1e-13).unwrap();
        // For a plan that is good enough, the preconditioner, and a trial.
        assert!(objective.kernel.passes() <= passes + 9);
        assert!(point.marginal_error <= 1e-2);
        assert_eq!(lbfgs.age, 1);
        // Only every so often the diagonal of M is looked at again.
        for age in 1..=2 * REFRESH {
            lbfgs.block.values[0] = 7.0;
            lbfgs.step_with(&mut objective, &mut point, &mut balancer, 1e-13).unwrap();
            assert_eq!(lbfgs.age, age + 1);
            assert_eq!(lbfgs.block.values[0] != 7.0, age % REFRESH == 0, "{age}");
        }
        lbfgs.forget();
        assert!(lbfgs.age == 0 && lbfgs.pairs.is_empty() && lbfgs.block.values.is_empty());
    }

    #[test]
    fn where_single_precision_finds_no_step_double_precision_does() {
        // Slopes of 1e-8 are rounding in single precision: all trials of a first search may fail there, and the fit would be stuck.
        let mut searched_again = 0;
        for step in 0..24 {
            let epsilon = 0.1 + 0.03 * f64::from(step);
            let (mut objective, State { mut point, mut balancer, .. }) = problem(epsilon);
            let mut lbfgs = Lbfgs::default();
            while point.relative_gradient > 3e-8 {
                lbfgs.step_with(&mut objective, &mut point, &mut balancer, 1e-13).unwrap();
            }
            // Plans that single precision is good enough for.
            objective.kernel = layout(&objective.span, K);
            objective.single = true;
            let plan_floor = 2.0 * objective.single_precision_from(&point).unwrap();
            let outcome = lbfgs.step_with(&mut objective, &mut point, &mut balancer, plan_floor).unwrap();
            assert_eq!(outcome, Outcome::Moved, "epsilon {epsilon}");
            searched_again += usize::from(objective.kernel.passes() > MAX_TRIALS);
        }
        assert!(searched_again > 0, "single precision found a step everywhere");
    }

    #[test]
    fn a_direction_that_does_not_lead_down_forgets_what_was_learnt() {
        let (mut objective, State { mut point, mut balancer, .. }) = problem(0.3);
        let (mut alone, mut own) = (point.clone(), balancer.clone());
        Lbfgs::default().step_with(&mut objective, &mut alone, &mut own, 1e-13).unwrap();
        // A pair that turns everything round: its step and its change are opposite.
        let pair = Pair { change: point.gradient.clone().scaled(-1.0), step: point.gradient.clone() };
        let mut lbfgs = Lbfgs { pairs: [pair].into(), ..Lbfgs::default() };
        lbfgs.step_with(&mut objective, &mut point, &mut balancer, 1e-13).unwrap();
        assert_eq!(point.frame, alone.frame);
        // Nothing helps where the gradient is no number, or nothing.
        for value in [f64::NAN, 0.0] {
            point.gradient = Matrix::from_fn(5, K, |_, _| value);
            let passes = objective.kernel.passes();
            let outcome = lbfgs.step_with(&mut objective, &mut point, &mut balancer, 1e-13).unwrap();
            assert_eq!(outcome, Outcome::Stuck);
            assert!(objective.kernel.passes() <= passes + 1);
        }
    }
}
