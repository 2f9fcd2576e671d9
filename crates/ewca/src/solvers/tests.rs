//! The objective and the paper's steps against plain loops over all pairs of samples.

use std::sync::Arc;

use super::*;
use crate::kernel::{KernelLayout, KernelOptions};
use crate::matrix::{Matrix, qr_factor, symmetric_eigen};
use crate::parallel::StopFlag;
use crate::samples::{Reduction, Samples};
use crate::subspace::{Orthonormalisation, grassmann_distance, random_frame};
use crate::testing;

pub(crate) const N: usize = 24;
pub(crate) const K: usize = 2;

pub(crate) fn layout(span: &Span<'_>, components: usize) -> KernelLayout {
    KernelLayout::new(&span.leading_axes(components), KernelOptions::default())
}

/// A weighted problem of five features at a random frame, with an accurate plan.
pub(crate) fn problem(epsilon: f64) -> (Objective<'static>, State) {
    let data = testing::gaussian(N, 5, 21);
    let weights: Vec<f64> = (0..N).map(|i| 1.0 + 0.25 * (i % 4) as f64).collect();
    let samples = Samples::new(&data, N, 5).unwrap().with_weights(&weights).unwrap();
    let span = Arc::new(Span::new(&samples.data, Reduction { axes: usize::MAX, stop: StopFlag::default() }).unwrap());
    let kernel = layout(&span, K);
    let mut objective = Objective { span, kernel, single: false, max_plan_passes: 1000, stop: StopFlag::default() };
    let mut balancer = Balancer::default();
    let point = objective.evaluate(epsilon, random_frame(5, K, 3, 0), vec![0.0; N], &mut balancer, 1e-14);
    (objective, State::new(Solver::Lbfgs, point, balancer))
}

/// A step of `solver`, with accurate plans.
fn step(solver: Solver, objective: &mut Objective<'_>, state: &mut State) {
    *state = State::new(solver, state.point.clone(), state.balancer.clone());
    let goal = Goal { relative_gradient: 1e-9, marginal_error: 1e-13 };
    assert_eq!(state.step(objective, &goal).unwrap(), Outcome::Moved);
}

/// pi, entry by entry.
pub(crate) fn plan(objective: &Objective<'_>, point: &Point) -> Matrix {
    let (a, f, z) = (&objective.span.weights, &point.potential, &point.scores);
    Matrix::from_fn(N, N, |i, j| {
        let distance: f64 = (0..K).map(|l| (z.get(i, l) - z.get(j, l)).powi(2)).sum();
        a[i] * a[j] * (f[i] + f[j] - distance / point.epsilon).exp()
    })
}

/// M = Y'(2 pi - diag(a)) Y, entry by entry.
fn matrix_by_hand(objective: &Objective<'_>, point: &Point) -> Matrix {
    let (plan, y, a) = (plan(objective, point), objective.span.axes(0..5), &objective.span.weights);
    Matrix::from_fn(5, 5, |p, q| {
        let pairs = (0..N).flat_map(|i| (0..N).map(move |j| (i, j)));
        let moved: f64 = pairs.map(|(i, j)| 2.0 * y.get(i, p) * plan.get(i, j) * y.get(j, q)).sum();
        moved - (0..N).map(|i| a[i] * y.get(i, p) * y.get(i, q)).sum::<f64>()
    })
}

fn assert_close(found: &Matrix, wanted: &Matrix) {
    let mut difference = found.clone();
    difference.add_scaled(-1.0, wanted);
    assert!(difference.norm() < 1e-12 * (1.0 + wanted.norm()), "{found:?} {wanted:?}");
}

#[test]
fn the_objective_is_what_the_plan_makes_it() {
    for epsilon in [0.05, 0.6] {
        let (mut objective, State { point, .. }) = problem(epsilon);
        let (pi, m) = (plan(&objective, &point), matrix_by_hand(&objective, &point));
        let a = objective.span.weights.clone();
        assert_close(&objective.matrix(&point), &m);
        assert_close(&point.m_frame, &m.times(&point.frame));
        assert_close(&point.frame_m_frame, &point.frame.transposed_times(&m.times(&point.frame)));
        let overall = point.gradient.norm() / (2.0 * objective.span.variances[0]);
        assert!((point.overall_gradient / overall - 1.0).abs() < 1e-12);
        // Each component beside itself: |(I - VV') M v| / max(|mu|, s) for the eigenvectors v of V'MV.
        let (values, turn) = symmetric_eigen(&point.frame_m_frame).unwrap();
        let leaving = point.tangent(&m.times(&point.frame.times(&turn)));
        let mut moments = Matrix::zeros(K, K);
        for (p, q) in (0..K).flat_map(|p| (0..K).map(move |q| (p, q))) {
            moments.set(p, q, (0..N).map(|i| a[i] * point.scores.get(i, p) * point.scores.get(i, q)).sum());
        }
        let (sizes, _) = symmetric_eigen(&moments).unwrap();
        for (j, (value, size)) in values.iter().zip(&sizes).enumerate() {
            let norm = leaving.column(j).iter().map(|x| x * x).sum::<f64>().sqrt();
            let wanted = norm / value.abs().max(*size);
            assert!((point.residuals[j] / wanted - 1.0).abs() < 1e-9, "{} {wanted}", point.residuals[j]);
            assert!((point.variances[j] / size - 1.0).abs() < 1e-12);
        }
        assert_eq!(point.relative_gradient, point.residuals[0].max(point.residuals[1]));
        // G = -2 (M V - V V'M V)
        assert_close(&point.gradient, &point.tangent(&m.times(&point.frame)).scaled(-2.0));
        assert_close(&objective.apply_plan(&point, &point.scores), &pi.times(&point.scores));
        assert_close(&objective.m_times(&point, &point.frame), &m.times(&point.frame));
        // F = sum a (|x|^2 - |z|^2) + sum pi |z_i - z_j|^2 + epsilon sum pi log(pi / (a a')), all in units of the span.
        let mut loss = objective.span.total_variance();
        for i in 0..N {
            loss -= a[i] * (0..K).map(|l| point.scores.get(i, l).powi(2)).sum::<f64>();
            for j in 0..N {
                let distance: f64 = (0..K).map(|l| (point.scores.get(i, l) - point.scores.get(j, l)).powi(2)).sum();
                let p = pi.get(i, j);
                loss += p * distance + if p > 0.0 { epsilon * p * (p / (a[i] * a[j])).ln() } else { 0.0 };
            }
        }
        assert!((point.loss - loss).abs() < 1e-11, "{} {loss}", point.loss);
    }
}

#[test]
fn leading_eigenvectors_and_what_they_win() {
    let (mut objective, State { point, .. }) = problem(0.3);
    let m = matrix_by_hand(&objective, &point);
    let (values, vectors) = symmetric_eigen(&m).unwrap();
    let leading = objective.leading(&point).unwrap();
    assert_eq!(leading.values.len(), K + 1);
    leading.values.iter().zip(&values).for_each(|(x, y)| assert!((x - y).abs() < 1e-12));
    assert!(grassmann_distance(&leading.frame, &vectors.leading_columns(K)).unwrap() < 1e-9);
    let eigen_deficit = values[0] + values[1] - point.frame.dot(&m.times(&point.frame));
    assert!((leading.eigen_deficit - eigen_deficit).abs() < 1e-12 && eigen_deficit > 0.1);
}

#[test]
fn a_step_of_algorithm_one_goes_to_the_leading_eigenvectors() {
    let (mut objective, mut state) = problem(0.3);
    let (_, vectors) = symmetric_eigen(&matrix_by_hand(&objective, &state.point)).unwrap();
    step(Solver::Bcd, &mut objective, &mut state);
    assert!(grassmann_distance(&state.point.frame, &vectors.leading_columns(K)).unwrap() < 1e-9);
    assert!(state.point.marginal_error <= 1e-13);
}

#[test]
fn a_step_of_algorithm_two_goes_where_the_majoriser_is_least() {
    // U <- qf(M U + c U), c = max(1 - 2 nu, 0) lambda_max(Sigma), as often as inner steps are wanted.
    for (epsilon, bound) in [
        (0.02, EigenvalueBound::Exact),
        (0.6, EigenvalueBound::Exact),
        (0.3, EigenvalueBound::Zero),
        (0.3, EigenvalueBound::Gershgorin),
    ] {
        let (objective, State { point, .. }) = problem(epsilon);
        let (pi, m) = (plan(&objective, &point), matrix_by_hand(&objective, &point));
        let a = &objective.span.weights;
        let scaled = Matrix::from_fn(N, N, |i, j| pi.get(i, j) / (a[i] * a[j]).sqrt());
        let nu = match bound {
            EigenvalueBound::Exact => symmetric_eigen(&scaled).unwrap().0[N - 1],
            EigenvalueBound::Zero => 0.0,
            EigenvalueBound::Gershgorin => -1.0,
        };
        let shift = f64::max(1.0 - 2.0 * nu, 0.0) * objective.span.variances[0];
        let mut wanted = point.frame.clone();
        for inner_steps in 1..4 {
            let mut m_frame = m.times(&wanted);
            m_frame.add_scaled(shift, &wanted);
            wanted = qr_factor(&m_frame);
            for orthonormalisation in [Orthonormalisation::Qr, Orthonormalisation::Polar] {
                let (mut objective, mut state) = problem(epsilon);
                let params = MmParams { inner_steps, bound, orthonormalisation };
                step(Solver::Mm(params), &mut objective, &mut state);
                let distance = grassmann_distance(&state.point.frame, &wanted).unwrap();
                assert!(distance < 1e-8, "{bound:?}, {inner_steps} steps: {distance}");
            }
        }
        assert!(grassmann_distance(&point.frame, &wanted).unwrap() > 1e-3);
    }
}

#[test]
fn states_of_other_shapes_do_not_belong() {
    let (objective, state) = problem(0.3);
    let span = &objective.span;
    assert!(state.belongs_to(Solver::Lbfgs, span, K));
    assert!(!state.belongs_to(Solver::Lbfgs, span, K + 1));
    let solvers = [Solver::Auto, Solver::Lbfgs, Solver::Bcd, Solver::Mm(MmParams::default())];
    let few = Solver::Mm(MmParams { inner_steps: 1, ..MmParams::default() });
    for (at, solver) in solvers.into_iter().enumerate() {
        let other = State::new(solver, state.point.clone(), state.balancer.clone());
        let belongs: Vec<bool> = solvers.iter().map(|solver| other.belongs_to(*solver, span, K)).collect();
        assert_eq!(belongs, [at < 2, at < 2, at == 2, at == 3]);
        assert!(!other.belongs_to(few, span, K));
    }
    let changes: [fn(&mut Point); 9] = [
        |p| p.epsilon = -1.0,
        |p| p.epsilon = f64::NAN,
        |p| p.frame = Matrix::zeros(4, K),
        |p| p.scores = Matrix::zeros(N - 1, K),
        |p| p.potential = vec![0.0; N + 1],
        |p| p.row_sums = Vec::new(),
        |p| p.m_frame = Matrix::zeros(5, K + 1),
        |p| p.frame_m_frame = Matrix::zeros(K, 1),
        |p| p.gradient = Matrix::zeros(K, 5),
    ];
    for change in changes {
        let mut other = state.clone();
        change(&mut other.point);
        assert!(!other.belongs_to(Solver::Lbfgs, span, K));
    }
}

#[test]
fn a_solver_forgets_what_it_has_seen() {
    let (mut objective, mut state) = problem(0.3);
    state.step(&mut objective, &Goal { relative_gradient: 1e-9, marginal_error: 1e-13 }).unwrap();
    // What L-BFGS remembers is of these five axes; without it, it belongs to any.
    let belongs = |state: &State, rank| state.running.belongs_to(Solver::Lbfgs, rank, K);
    assert_eq!([5, 7].map(|rank| belongs(&state, rank)), [true, false]);
    state.forget();
    assert_eq!([5, 7].map(|rank| belongs(&state, rank)), [true, true]);
}

#[test]
fn a_plan_can_be_tightened_and_solvers_have_names() {
    let (mut objective, mut state) = problem(0.3);
    state.point = objective.evaluate(0.3, state.point.frame.clone(), vec![0.0; N], &mut Balancer::default(), 1e-2);
    let rough = state.point.marginal_error;
    state.tighten(&mut objective, 1e-12);
    assert!(rough > 1e-6 && state.point.marginal_error <= 1e-12);
    let names = [Solver::Auto, Solver::Lbfgs, Solver::Bcd, Solver::Mm(MmParams::default())].map(Solver::name);
    assert_eq!(names, ["auto", "lbfgs", "bcd", "mm"]);
    assert_eq!((Solver::Auto.resolved(), Solver::Bcd.resolved()), (Solver::Lbfgs, Solver::Bcd));
}

#[test]
fn the_loss_goes_on_smoothly_to_huge_epsilons() {
    // At such an epsilon the plan is nearly a a', whose cost is twice the kept variance: F = total + kept.
    let (objective, State { point, .. }) = problem(1e9);
    let kept: f64 = point.variances.iter().sum();
    let squares: f64 = point.variances.iter().map(|v| v * v).sum();
    let wanted = objective.span.total_variance() + kept - 2.0 * squares / 1e9;
    assert!((point.loss / wanted - 1.0).abs() < 1e-14, "{} {wanted}", point.loss);
    // Where both formulas hold they agree: relative to what they differ by from F without the plan's gain.
    for epsilon in [1e3, 1e5] {
        let (objective, State { point, .. }) = problem(epsilon);
        let kept: f64 = point.variances.iter().sum();
        let squares: f64 = point.variances.iter().map(|v| v * v).sum();
        let wanted = objective.span.total_variance() + kept - 2.0 * squares / epsilon;
        assert!((point.loss - wanted).abs() < 30.0 / (epsilon * epsilon) + 1e-9, "{} {wanted}", point.loss);
    }
}

#[test]
fn a_saddle_is_where_algorithm_one_wins_more_than_rounding() {
    let (mut objective, mut state) = problem(0.3);
    assert!(objective.leading(&state.point).unwrap().is_saddle);
    for _ in 0..200 {
        step(Solver::Bcd, &mut objective, &mut state);
    }
    let leading = objective.leading(&state.point).unwrap();
    assert!(!leading.is_saddle && leading.eigen_deficit < 1e-9, "{}", leading.eigen_deficit);
}

/// A problem of many features, at a random frame of `k` columns.
fn wide_problem(k: usize) -> (Objective<'static>, State) {
    let (n, d) = (40, 24);
    let data = testing::gaussian(n, d, 22);
    let samples = Samples::new(&data, n, d).unwrap();
    let span = Arc::new(Span::new(&samples.data, Reduction { axes: usize::MAX, stop: StopFlag::default() }).unwrap());
    let kernel = layout(&span, k);
    let stop = StopFlag::default();
    let mut objective = Objective { span, kernel, single: false, max_plan_passes: 1000, stop };
    let mut balancer = Balancer::default();
    let point = objective.evaluate(0.8, random_frame(d, k, 3, 0), vec![0.0; n], &mut balancer, 1e-13);
    (objective, State::new(Solver::Lbfgs, point, balancer))
}

#[test]
fn m_is_exact_in_the_leading_axes_and_in_proportion_elsewhere() {
    for (k, known) in [(2, 16), (7, 21), (9, 24)] {
        let (mut objective, State { point, .. }) = wide_problem(k);
        let m = objective.matrix(&point);
        let passes = objective.kernel.passes();
        let block = objective.leading_block_of(&point, known).unwrap();
        assert_eq!((block.values.len(), objective.kernel.passes()), (known, passes + 1));
        let mut scaled = block.rotation.clone();
        scaled.scale_columns(&block.values);
        let made = scaled.times(&block.rotation.transposed());
        for (i, j) in (0..known).flat_map(|i| (0..known).map(move |j| (i, j))) {
            assert!((made.get(i, j) - m.get(i, j)).abs() < 1e-12, "k = {k}, ({i}, {j})");
        }
        // The mean ratio to the variance of the last third of these axes, times the mean variance of the others.
        let variances = &objective.span.variances;
        let from = known - known.div_ceil(3);
        let ratio = (from..known).map(|i| m.get(i, i) / variances[i]).sum::<f64>() / (known - from) as f64;
        let others = variances[known..].iter().sum::<f64>() / (24 - known).max(1) as f64;
        assert!((block.elsewhere - ratio * others).abs() < 1e-12, "{} {}", block.elsewhere, ratio * others);
    }
}

#[test]
fn lanczos_finds_the_leading_eigenvectors_beside_a_frame() {
    for k in [2, 5] {
        let (mut objective, State { point, .. }) = wide_problem(k);
        let (values, vectors) = symmetric_eigen(&objective.matrix(&point)).unwrap();
        // With an eigenvector left out, it is found; with all of them, nothing better is, and the next eigenvalue is known.
        let skipping = |first: usize| Matrix::from_fn(24, k, |i, j| vectors.get(i, if j < first { j } else { j + 1 }));
        for first in [0, 1, k] {
            // The plan stays, so that M does.
            let frame = skipping(first);
            let at = Point { m_frame: objective.matrix(&point).times(&frame), frame, ..point.clone() };
            let (found, leading, trace) = objective.leading_by_lanczos(&at).unwrap();
            let wanted: f64 = (0..=k).filter(|&j| j != first).map(|j| values[j]).sum();
            assert!((trace - wanted).abs() < 1e-12, "{trace} {wanted}");
            for j in 0..k {
                assert!(
                    (found[j] - values[j]).abs() < 1e-6 * values[0].abs(),
                    "k = {k}, {first}: {found:?} {values:?}"
                );
            }
            assert!(found[k] <= values[k] + 1e-12);
            let mut gram = leading.transposed_times(&leading);
            gram.add_scaled(-1.0, &Matrix::identity(k + 1));
            assert!(gram.norm() < 1e-10);
        }
    }
}

#[test]
fn single_precision_is_for_plans_that_may_be_rough() {
    let at = |single: bool, tolerance: f64| {
        let (mut objective, State { point, .. }) = wide_problem(2);
        objective.single = single;
        objective.evaluate(0.8, point.frame, vec![0.0; 40], &mut Balancer::default(), tolerance).potential
    };
    // Where the plan is to be more accurate, single precision is only the beginning.
    for (tolerance, error) in [(1e-2, 1e-5), (1e-6, 1e-6), (1e-7, 1e-6), (0.9e-7, 1e-7), (1e-9, 1e-9), (1e-12, 1e-12)] {
        let (single, double) = (at(true, tolerance), at(false, tolerance));
        assert_ne!(single, double, "{tolerance}");
        let furthest = single.iter().zip(&double).fold(0.0, |m: f64, (x, y)| m.max((x - y).abs()));
        assert!(furthest < 3.0 * error, "{tolerance}: {furthest}");
    }
}

#[test]
fn the_further_the_points_the_earlier_double_precision() {
    // Coordinates of 1000 sqrt(epsilon) are rounded a hundred times as coarsely as those of 10.
    let (mut objective, State { point, .. }) = wide_problem(2);
    assert_eq!(objective.single_precision_from(&point), None);
    let rounding = objective.noise(&point);
    objective.single = true;
    let largest = point.scores.as_column_major().iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    for (furthest, wanted) in [(1.0, 1e-7), (10.0, 1e-7), (100.0, 1e-6), (1000.0, 1e-5)] {
        let point = Point { epsilon: (largest / furthest).powi(2), ..point.clone() };
        let error = objective.single_precision_from(&point).unwrap();
        assert!((error / wanted - 1.0).abs() < 1e-12, "{furthest}: {error}");
        assert!(objective.noise(&point) > rounding && objective.noise(&point) < rounding + 2.0 * error * point.epsilon);
    }
}

/// The leading eigenvectors of M at a point of `objective`, the last of them turned towards the next one so far that `eigen_deficit` is lost.
fn turned(objective: &mut Objective<'_>, point: &Point, eigen_deficit: f64) -> Point {
    let (values, vectors) = symmetric_eigen(&objective.matrix(point)).unwrap();
    let sine = (eigen_deficit / (values[K - 1] - values[K])).sqrt();
    let cosine = (1.0 - sine * sine).sqrt();
    let frame = Matrix::from_fn(vectors.rows(), K, |i, j| match j + 1 {
        K => cosine * vectors.get(i, K - 1) + sine * vectors.get(i, K),
        _ => vectors.get(i, j),
    });
    Point { frame, ..point.clone() }
}

#[test]
fn a_saddle_wins_more_than_a_billionth_of_the_smallest_component() {
    let (mut objective, State { point, .. }) = problem(0.3);
    let (values, _) = symmetric_eigen(&objective.matrix(&point)).unwrap();
    // The size of the smallest component: its eigenvalue, or its variance where that is more.
    for variance in [1e-30, 10.0] {
        let point = Point { variances: vec![20.0, variance], ..point.clone() };
        let smallest = values[K - 1].abs().max(variance);
        for (factor, is_saddle) in [(1.2, true), (0.8, false)] {
            let at = turned(&mut objective, &point, factor * 1e-9 * smallest);
            let leading = objective.leading(&at).unwrap();
            assert_eq!(leading.is_saddle, is_saddle, "{variance} {factor}: {}", leading.eigen_deficit);
            assert!((leading.eigen_deficit / (factor * 1e-9 * smallest) - 1.0).abs() < 1e-3);
        }
    }
}

#[test]
fn a_saddle_wins_more_than_the_rounding_of_the_largest_variance() {
    // Beside the first feature the others are tiny. Units are such that the largest variance is not 1.
    let data = testing::gaussian(N, 3, 21);
    let spread = |scale: f64| -> Vec<f64> {
        data.iter().enumerate().map(|(at, x)| x * if at % 3 == 0 { scale } else { 1e-4 * scale }).collect()
    };
    let span_of = |data: &[f64]| {
        let samples = Samples::new(data, N, 3).unwrap();
        Span::new(&samples.data, Reduction { axes: usize::MAX, stop: StopFlag::default() }).unwrap()
    };
    let scales = (0..20).map(|i| 1.0 + 0.05 * f64::from(i));
    let span = scales.map(|scale| span_of(&spread(scale))).find(|span| span.variances[0] > 1.6).unwrap();
    let largest = span.variances[0];
    let kernel = layout(&span, K);
    let (span, stop) = (Arc::new(span), StopFlag::default());
    let mut objective = Objective { span, kernel, single: false, max_plan_passes: 1000, stop };
    let frame = Matrix::from_fn(3, K, |i, j| if i == j { 1.0 } else { 0.0 });
    let point = objective.evaluate(1e-9, frame, vec![0.0; N], &mut Balancer::default(), 1e-13);
    assert!(point.variances[1] < 1e-7 * largest);
    for (factor, is_saddle) in [(1.2, true), (0.8, false)] {
        let at = turned(&mut objective, &point, factor * 1e-14 * largest);
        let leading = objective.leading(&at).unwrap();
        assert_eq!(leading.is_saddle, is_saddle, "{factor}: {}", leading.eigen_deficit);
    }
}

#[test]
fn an_epsilon_is_wide_from_two_million_times_the_furthest_score_on() {
    let scores = Matrix::from_row_major(3, 2, &[1.0, 0.5, -1.0, 2f64.sqrt(), 0.0, 0.0]).unwrap();
    assert!(is_wide(&scores, 6.01e6) && !is_wide(&scores, 5.99e6));
    assert_eq!(objective::largest(&[0.5, 2.0, 1.0]), 2.0);
    assert!(objective::largest(&[0.5, f64::NAN, 1.0]).is_nan());
}
