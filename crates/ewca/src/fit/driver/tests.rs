//! Saved states that are none, and what the search for an epsilon begins with.

use super::*;
use crate::fit::perplexity_search::*;
use crate::fit::session::*;
use crate::fit::state::*;
use crate::fit::{Ewca, Params, Progress, Start};
use crate::parallel::StopFlag;
use crate::samples::{Reduction, Samples, Span};
use crate::solvers::{Point, Solver};
use crate::team::TeamHandle;
use crate::testing::{gaussian, groups};
use crate::transport::MANY_SAMPLES;

fn state_of(params: &Params, samples: &Samples<'_>, at: usize) -> FitState {
    let mut states = Vec::new();
    let mut observer = |progress: &Progress<'_>| {
        states.push(progress.state.clone());
        Control::Continue
    };
    params.clone().check().unwrap().fit_observed(samples, &mut observer).unwrap();
    states.swap_remove(at)
}

#[test]
fn forged_states_are_refused() {
    let data = groups(16, 4);
    let samples = Samples::new(&data, 16, 4).unwrap();
    let params = Ewca::params(2).perplexity(3.0).restarts(1);
    let good = state_of(&params, &samples, 1);
    assert!(good.is_sane() && good.search.is_some() && good.starts.count() == 3);
    let refused = |change: &dyn Fn(&mut FitState)| {
        let mut state = good.clone();
        change(&mut state);
        let checked = params.clone().check().unwrap();
        checked.resume(&samples, state, &mut |_: &Progress<'_>| Control::Stop).err()
    };
    let continued = |steps_left| FitState { stage: Stage::Continuation { steps_left }, ..good.clone() };
    let numbers = Some(Error::State { what: "its numbers" });
    for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
        assert_eq!(refused(&|state| state.epsilon = bad), numbers, "{bad}");
        assert_eq!(refused(&|state| state.unit = bad), numbers, "{bad}");
        assert_eq!(refused(&|state| state.total_variance = bad), numbers, "{bad}");
    }
    for steps_left in [0, -1, CONTINUATION_STEPS + 1] {
        assert!(!continued(steps_left).is_sane(), "{steps_left}");
    }
    assert!(continued(1).is_sane() && continued(CONTINUATION_STEPS).is_sane());
    assert_eq!(refused(&|state| state.start = 3), numbers);
    assert_eq!(refused(&|state| state.start = 2), None);
    assert_eq!(refused(&|state| state.rounds = MAX_SEARCH_ROUNDS + 1), numbers);
    assert_eq!(refused(&|state| state.rounds = MAX_SEARCH_ROUNDS), None);
    let (most, more) = (usize::MAX / 2 - 1, usize::MAX / 2);
    for (count, wanted) in [(most, None), (more, numbers.clone()), (usize::MAX, numbers.clone())] {
        assert_eq!(refused(&|state| state.attempt = count), wanted);
        assert_eq!(refused(&|state| state.iteration = count), wanted);
        let mut state = good.clone();
        state.tally.passes = count;
        assert_eq!(state.is_sane(), wanted.is_none());
    }
    let broken = |state: &mut FitState| {
        let text = serde_json::to_string(&state.search).unwrap().replace("\"slope\":", "\"slope\":-");
        state.search = serde_json::from_str(&text).unwrap();
    };
    assert_eq!(refused(&broken), numbers);
    // What belongs to other shapes, or to other starts.
    let shapes = Some(Error::State { what: "its shapes" });
    assert_eq!(refused(&|state| state.solver.point.scores = Matrix::zeros(15, 2)), shapes);
    assert_eq!(refused(&|state| state.starts.random = 2), shapes);
    assert_eq!(refused(&|state| state.starts.continuation = false), shapes);
    let best = |frame: Matrix| {
        move |state: &mut FitState| {
            let mut solver = state.solver.clone();
            solver.point.frame = frame.clone();
            let termination = Termination::Converged;
            state.best = Some(Candidate { solver, termination, attempt: 0, iterations: 0, leading: None });
        }
    };
    assert_eq!(refused(&best(Matrix::zeros(9, 2))), shapes);
    assert_eq!(refused(&best(good.solver.point.frame.clone())), None);
    let nearest = |frame: Matrix| {
        move |state: &mut FitState| {
            best(frame.clone())(state);
            state.nearest = state.best.take().map(|end| Nearest { distance: 0.1, end, ends: vec![1.0] });
        }
    };
    assert_eq!(refused(&nearest(Matrix::zeros(9, 2))), shapes);
    assert_eq!(refused(&nearest(good.solver.point.frame.clone())), None);
    // The same of a state whose axes were turned by rounding.
    let turned = |change: &dyn Fn(&mut FitState)| {
        refused(&|state| {
            state.fingerprint ^= 1;
            change(state);
        })
    };
    assert_eq!(turned(&|_| ()), None);
    assert_eq!(turned(&|state| state.solver.point.scores = Matrix::zeros(15, 2)), shapes);
    assert_eq!(turned(&|state| state.solver.point.potential = vec![0.0; 17]), shapes);
    assert_eq!(turned(&|state| state.solver.point.scores.set(0, 0, f64::NAN)), shapes);
    assert_eq!(turned(&|state| state.solver.point.epsilon = 0.0), shapes);
    let other = Some(Error::State { what: "the data or the parameters" });
    assert_eq!(turned(&|state| state.stable_fingerprint ^= 1), other);
    for (factor, wanted) in [(1.0 + 2e-9, &other), (1.0 - 2e-9, &other), (1.0 + 0.5e-9, &None)] {
        assert_eq!(turned(&|state| state.total_variance *= factor), *wanted);
    }
    // Units may be others where the lengths are the same.
    let doubled = |state: &mut FitState| {
        state.unit *= 2.0;
        state.total_variance /= 4.0;
        state.epsilon /= 4.0;
        state.solver.point.epsilon /= 4.0;
    };
    assert_eq!(turned(&doubled), None);
    let mut state = good.clone();
    doubled(&mut state);
    state.fingerprint ^= 1;
    let mut seen = 0.0;
    let mut observer = |progress: &Progress<'_>| {
        seen = progress.iteration.epsilon;
        Control::Stop
    };
    params.clone().check().unwrap().resume(&samples, state, &mut observer).unwrap();
    assert!((seen / good.epsilon / good.unit.powi(2) - 1.0).abs() < 1e-12);
}

#[test]
fn the_fingerprint_knows_what_changes_a_fit() {
    let data = groups(16, 4);
    let span = |data: &[f64]| {
        let reduction = Reduction { axes: usize::MAX, stop: StopFlag::default() };
        Span::new(&Samples::new(data, 16, 4).unwrap().data, reduction).unwrap()
    };
    let own = span(&data);
    let base = Ewca::params(2);
    let same = base.clone().threads(3).memory_budget(7).max_iterations(2);
    assert_eq!(fingerprint(&own, &base), fingerprint(&own, &same));
    for other in [base.clone().epsilon(1.0), base.clone().seed(1), base.clone().restarts(1), Ewca::params(3)] {
        assert_ne!(fingerprint(&own, &base), fingerprint(&own, &other));
        assert_ne!(stable_fingerprint(&own, &base), stable_fingerprint(&own, &other));
    }
    let mut moved = data.clone();
    moved[0] += 1e-9;
    assert_ne!(fingerprint(&own, &base), fingerprint(&span(&moved), &base));
    assert_eq!(stable_fingerprint(&own, &base), stable_fingerprint(&span(&moved), &base));
}

/// exp of the mean entropy of some rows of the kernel, each weighted by `a exp(f)`, by plain loops.
fn rows_perplexity(scores: &Matrix, rows: &[usize], a: &[f64], f: &[f64], count: Option<f64>, epsilon: f64) -> f64 {
    let entropy = |&i: &usize| {
        let distance =
            |j: usize| (0..scores.columns()).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum::<f64>();
        let mass: Vec<f64> = (0..a.len()).map(|j| a[j] * (f[j] - distance(j) / epsilon).exp()).collect();
        let total: f64 = mass.iter().sum();
        let stands_for = |j: usize| count.map_or(1.0, |count| a[j] * count);
        let of = |j: usize| if mass[j] > 0.0 { mass[j] / total * (mass[j] / total / stands_for(j)).ln() } else { 0.0 };
        -(0..a.len()).map(of).sum::<f64>()
    };
    (rows.iter().map(entropy).sum::<f64>() / rows.len() as f64).exp()
}

#[test]
fn the_first_epsilon_gives_rows_of_the_wanted_perplexity() {
    let (n, d) = (50, 3);
    let data = groups(n, d);
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
    let plain = Samples::new(&data, n, d).unwrap();
    for counted in [false, true] {
        let samples = if counted { plain.clone().with_counts(&weights) } else { plain.clone().with_weights(&weights) };
        let span =
            Span::new(&samples.unwrap().data, Reduction { axes: usize::MAX, stop: StopFlag::default() }).unwrap();
        let scores = span.leading_axes(2);
        let rows: Vec<usize> = spread_rows(&scores, &span.weights).collect();
        assert_eq!(rows.len(), 16);
        let bent: Vec<f64> = (0..n).map(|i| 0.1 * (i % 5) as f64).collect();
        for (potential, target) in [(None, 4.0), (None, 10.0), (Some(&bent), 6.0)] {
            let (epsilon, slope) = first_guess(&scores, &span, potential.map(|f| &f[..]), target);
            let flat = vec![0.0; n];
            let f = potential.unwrap_or(&flat);
            let at = |epsilon| rows_perplexity(&scores, &rows, &span.weights, f, span.total_count, epsilon);
            // Within a tenth of log(epsilon).
            assert!(at(epsilon * 0.95) < target && at(epsilon * 1.055) > target, "{target}: {}", at(epsilon));
            let wanted = (at(epsilon * 1.05).ln() - at(epsilon / 1.05).ln()) / (2.0 * 1.05f64.ln());
            assert!((slope - wanted).abs() < 0.01, "{slope} {wanted}");
        }
    }
}

#[test]
fn a_first_epsilon_among_many_samples_is_nearer() {
    let n = MANY_SAMPLES;
    let data = gaussian(n, 1, 3);
    let samples = Samples::new(&data, n, 1).unwrap();
    let span = Span::new(&samples.data, Reduction { axes: usize::MAX, stop: StopFlag::default() }).unwrap();
    let scores = span.leading_axes(1);
    assert_eq!([100, MANY_SAMPLES - 1, MANY_SAMPLES, 1 << 17, 1 << 22].map(rows_of_first_guess), [16, 16, 100, 32, 16]);
    let rows: Vec<usize> = spread_rows(&scores, &span.weights).collect();
    let flat = vec![0.0; n];
    let at = |epsilon: f64| rows_perplexity(&scores, &rows, &span.weights, &flat, None, epsilon).ln();
    let (epsilon, slope) = first_guess(&scores, &span, None, 200.0);
    assert!((at(epsilon) - 200f64.ln()).abs() < 0.003);
    let wanted = (at(epsilon * 1.05f64) - at(epsilon / 1.05)) / (2.0 * 1.05f64.ln());
    assert!((slope - wanted).abs() < 0.01, "{slope} {wanted}");
}

#[test]
fn rows_are_spread_by_weight_whatever_the_order() {
    // Positions 0 to 9, in some order; the rows are those at equal steps of weight along them.
    let place = [3.0, 9.0, 0.0, 5.0, 1.0, 8.0, 2.0, 7.0, 4.0, 6.0];
    let scores = Matrix::from_column_major(10, 1, place.to_vec()).unwrap();
    let uniform: Vec<f64> = spread_rows(&scores, &[0.1; 10]).map(|i| place[i]).collect();
    let wanted: Vec<f64> = (0..16).map(|step| ((step as f64 + 0.5) / 16.0 * 10.0).floor()).collect();
    assert_eq!(uniform, wanted);
    let mut weights = [0.0; 10];
    (weights[1], weights[4]) = (0.25, 0.75);
    let two: Vec<f64> = spread_rows(&scores, &weights).map(|i| place[i]).collect();
    assert_eq!(two, [vec![1.0; 12], vec![9.0; 4]].concat());
}

#[test]
fn the_smallest_epsilon_is_a_tiny_part_of_the_smallest_component() {
    let data = groups(16, 4);
    let samples = Samples::new(&data, 16, 4).unwrap();
    let mut point = state_of(&Ewca::params(2).epsilon(9.0), &samples, 0).solver.point;
    for (variances, wanted) in [([4.0, 2.0], 2e-12), ([4.0, 0.0], 4e-12), ([0.0, 0.0], 1e-12), ([1.0, 1e-300], 0.0)] {
        point.variances = variances.to_vec();
        let found = smallest_epsilon(&point);
        assert!((found - wanted).abs() <= 1e-15 * wanted + f64::MIN_POSITIVE && found > 0.0, "{found} {wanted}");
    }
}

/// What `job` makes of a run.
fn with_run<R>(samples: &Samples<'_>, params: &Params, job: impl FnOnce(&mut Session<'_>) -> R) -> R {
    let mut observer = |_: &Progress<'_>| Control::Continue;
    let mut run = Session::open(&samples.data, params, TeamHandle::default(), &mut observer).unwrap();
    job(&mut run)
}

#[test]
fn plans_are_a_thousand_times_as_accurate_as_the_tolerance_or_as_rounding_lets_them() {
    let data = groups(40, 4);
    let samples = Samples::new(&data, 40, 4).unwrap();
    for (tolerance, wanted) in [(1e-6, 1e-9), (1e-12, 40e-14), (0.5, 5e-4)] {
        let params = Ewca::params(2).epsilon(9.0).tolerance(tolerance);
        with_run(&samples, &params, |run| {
            assert!((run.plan_goal() / wanted - 1.0).abs() < 1e-12);
            assert!((run.tolerance() / tolerance - ALL_AXES_SHARE).abs() < 1e-12);
            assert_eq!(run.first_plan_goal(), FIRST_PLAN_ERROR);
        });
        with_run(&samples, &params.solver(Solver::Bcd), |run| assert_eq!(run.first_plan_goal(), run.plan_goal()));
    }
}

#[test]
fn a_start_by_continuation_is_made_where_it_may_help() {
    let data = groups(MOST_SAMPLES_FOR_CONTINUATION + 1, 3);
    let whole = Samples::new(&data, MOST_SAMPLES_FOR_CONTINUATION + 1, 3).unwrap();
    let fewer = Samples::new(&data[..3 * MOST_SAMPLES_FOR_CONTINUATION], MOST_SAMPLES_FOR_CONTINUATION, 3).unwrap();
    let base = Ewca::params(2).epsilon(9.0).restarts(3);
    let starts = |samples: &Samples<'_>, params: &Params, along: bool| {
        with_run(samples, params, |run| run.starts(along)).count()
    };
    assert_eq!((starts(&fewer, &base, false), starts(&fewer, &base, true)), (5, 4));
    assert_eq!(starts(&whole, &base, false), 4);
    assert_eq!(starts(&fewer, &base.clone().single_start(), false), 1);
    assert_eq!(starts(&fewer, &base.clone().start(Start::Random), false), 4);
    assert_eq!(starts(&fewer, &base.clone().solver(Solver::Bcd), false), 4);
    assert_eq!(starts(&fewer, &base.clone().landmarks(MOST_SAMPLES_FOR_CONTINUATION - 1), false), 4);
    assert_eq!(starts(&fewer, &base.clone().landmarks(MOST_SAMPLES_FOR_CONTINUATION), false), 5);
    let all = Ewca::params(3).epsilon(9.0).restarts(3);
    assert_eq!(starts(&fewer, &all, false), 4);
    assert_eq!(Starts { random: usize::MAX, continuation: true }.count(), usize::MAX);
}

#[test]
fn the_lowest_end_is_kept_and_of_equal_ones_that_which_arrived() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    let params = Ewca::params(2).epsilon(9.0).restarts(3);
    let good = state_of(&params, &samples, 0);
    with_run(&samples, &params, |run| {
        let mut objective = run.objective();
        let least = LOWER_LOSS * run.span.total_variance();
        let (converged, limited, interrupted) =
            (Termination::Converged, Termination::MaxIterations, Termination::Interrupted);
        // The attempt that is kept of a first end and a second one, whose loss is `above` the first.
        let mut second = |first: Termination, above: f64, end: Termination, stage: Stage| {
            let mut state = good.clone();
            (state.solver.point.marginal_error, state.solver.point.relative_gradient) = (0.0, 1.0);
            run.keep(&mut objective, &mut state, first, None).unwrap();
            (state.attempt, state.iteration, state.stage) = (1, 7, stage);
            state.solver.point.loss += above;
            run.keep(&mut objective, &mut state, end, None).unwrap();
            let best = state.best.unwrap();
            (best.attempt, best.termination, state.ends.len())
        };
        for (above, attempt) in [(-1.2 * least, 1), (-0.8 * least, 0), (0.8 * least, 0), (1.0, 0)] {
            assert_eq!(second(converged, above, converged, Stage::Final), (attempt, converged, 2), "{above}");
            assert_eq!(second(converged, above, limited, Stage::Final).0, attempt, "{above}");
            assert_eq!(second(limited, above, limited, Stage::Final).0, attempt, "{above}");
        }
        for (above, attempt) in [(0.8 * least, 1), (1.2 * least, 0)] {
            assert_eq!(second(limited, above, converged, Stage::Final).0, attempt, "{above}");
        }
        // A start that is stopped on the way is no end, but kept where it is lower already, at this epsilon.
        for (above, attempt) in [(-0.5 * least, 1), (0.0, 0), (0.5 * least, 0)] {
            assert_eq!(second(converged, above, interrupted, Stage::Final), (attempt, interrupted, 1), "{above}");
            assert_eq!(second(converged, above, interrupted, Stage::Approach), (0, interrupted, 1), "{above}");
        }
        let ladder = Stage::Continuation { steps_left: 1 };
        for end in [interrupted, limited] {
            let kept = second(converged, -1.0, end, ladder);
            assert_eq!((kept.0, kept.2), (0, 1));
        }
        // What has no number is no end; and a first one that is stopped is better than none.
        let mut state = good.clone();
        (state.solver.point.loss, state.solver.point.marginal_error) = (f64::NAN, 0.0);
        let error = run.keep(&mut objective, &mut state, converged, None).unwrap_err();
        assert_eq!(error, Error::NotANumber { what: "the loss" });
        let mut state = good.clone();
        let rough = state.solver.point.marginal_error;
        assert!(rough > run.plan_goal());
        run.keep(&mut objective, &mut state, interrupted, None).unwrap();
        assert_eq!((state.best.unwrap().termination, state.solver.point.marginal_error), (interrupted, rough));
        // Ends are compared by accurate plans.
        let mut state = good.clone();
        run.keep(&mut objective, &mut state, limited, None).unwrap();
        assert!(state.best.unwrap().solver.point.marginal_error <= run.plan_goal());
    });
}

#[test]
fn a_start_on_its_way_to_the_best_end_is_told() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    let params = Ewca::params(2).epsilon(9.0).restarts(3);
    let mut near = state_of(&params, &samples, 0);
    near.solver.point.relative_gradient = SEARCH_GRADIENT;
    with_run(&samples, &params, |run| {
        assert!(!run.comes_to_the_best(&near));
        let candidate = |factor: f64, termination: Termination| {
            let point = Point { loss: factor * near.solver.point.loss, ..near.solver.point.clone() };
            Some(Candidate { solver: run.begun_at(point), termination, attempt: 0, iterations: 3, leading: None })
        };
        let with = |factor: f64| FitState { best: candidate(factor, Termination::Converged), ..near.clone() };
        for (factor, is_near) in [(1.0, true), (1.0 + 0.9e-6, true), (1.0 - 0.9e-6, true), (1.0 + 1.1e-6, false)] {
            assert_eq!(run.comes_to_the_best(&with(factor)), is_near, "{factor}");
        }
        let stalled = candidate(1.0, Termination::Stalled);
        assert!(!run.comes_to_the_best(&FitState { best: stalled, ..near.clone() }));
        assert!(!run.comes_to_the_best(&FitState { searching: true, ..with(1.0) }));
        assert!(!run.comes_to_the_best(&FitState { stage: Stage::Approach, ..with(1.0) }));
        let mut far = with(1.0);
        far.solver.point.relative_gradient = 1.1 * SEARCH_GRADIENT;
        assert!(!run.comes_to_the_best(&far));
        // It ends there, and counts as one that agrees.
        let mut state = with(1.0 + 0.5e-6);
        let mut objective = run.objective();
        run.keep(&mut objective, &mut state, Termination::Converged, None).unwrap();
        assert_eq!(state.ends, [state.best.unwrap().solver.point.loss]);
    });
}

#[test]
fn what_a_rough_gradient_explains_is_no_saddle() {
    let data = groups(40, 5);
    let samples = Samples::new(&data, 40, 5).unwrap();
    let point = state_of(&Ewca::params(2).epsilon(9.0).single_start(), &samples, 0).solver.point;
    let smallest = point.variances[1];
    // The size of the last component is its variance, or its eigenvalue where that is larger.
    for (value, size) in [(0.5 * smallest, smallest), (-3.0 * smallest, 3.0 * smallest)] {
        for (goal, share) in [(1e-6, 2e-11), (1e-4, 2e-7), (1e-3, 2e-5), (0.5, 2e-5)] {
            for (factor, is_near) in [(0.99, true), (1.01, false)] {
                let found = Leading {
                    values: vec![2.0, value],
                    frame: point.frame.clone(),
                    eigen_deficit: factor * share * size,
                    is_saddle: true,
                };
                assert_eq!(is_near_an_end(&found, &point, goal), is_near, "{value} {goal} {factor}");
            }
        }
    }
}

#[test]
fn with_landmarks_a_saddle_is_left_only_downwards() {
    let data = groups(40, 5);
    let samples = Samples::new(&data, 40, 5).unwrap();
    for (landmarks, exact) in [(20, false), (40, true)] {
        let params = Ewca::params(2).epsilon(200.0).landmarks(landmarks);
        let state = state_of(&params, &samples, 0);
        with_run(&samples, &params, |run| {
            let mut objective = run.objective();
            assert_eq!(objective.kernel.landmarks().is_none(), exact);
            let mut at = |frame: Matrix| {
                objective.evaluate(
                    state.epsilon,
                    frame,
                    run.flat_potential(),
                    &mut Balancer::default(),
                    run.plan_goal(),
                )
            };
            let (rank, k) = (run.span.rank(), 2);
            let last = Matrix::from_fn(rank, k, |i, j| if i == rank - 1 - j { 1.0 } else { 0.0 });
            let (first, last) = (at(run.span.pca_frame(k)), at(last));
            assert!((first.loss - last.loss).abs() > 1e-3);
            let (high, low) = if first.loss > last.loss { (first, last) } else { (last, first) };
            let mut went = |from: Point, to: &Point| {
                let solver = State::new(run.solver, from, state.solver.balancer.clone());
                let mut state = FitState { solver, ..state.clone() };
                let frame = to.frame.clone();
                let leading = Leading { values: Vec::new(), frame, eigen_deficit: 0.0, is_saddle: true };
                let left = run.escape_saddle(&mut objective, &mut state, leading);
                (left, state.solver.point)
            };
            let (left, point) = went(high.clone(), &low);
            assert!(left && (point.loss / low.loss - 1.0).abs() < 1e-6);
            let (left, point) = went(low.clone(), &high);
            assert_eq!(left, exact, "{landmarks}");
            assert!((point.loss / if left { high.loss } else { low.loss } - 1.0).abs() < 1e-6);
            // Down is by more than rounding.
            let (_, landed) = went(Point { loss: f64::INFINITY, ..low.clone() }, &high);
            let least = LOWER_LOSS * run.span.variances[0];
            for (above, lower) in [(1.2 * least, true), (0.8 * least, false)] {
                let from = Point { loss: landed.loss + above, ..low.clone() };
                assert_eq!(went(from, &high).0, exact || lower, "{landmarks} {above}");
            }
        });
    }
}

#[test]
fn where_no_step_helps_a_fit_goes_on_if_algorithm_one_does() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    // So strict a tolerance that nothing meets it.
    let params = Ewca::params(2).epsilon(9.0).tolerance(1e-15).single_start();
    let good = state_of(&Ewca::params(2).epsilon(9.0).single_start(), &samples, 3);
    with_run(&samples, &params, |run| {
        let mut objective = run.objective();
        // Without a gradient L-BFGS has no direction.
        let mut stuck = good.clone();
        stuck.solver.point.gradient = Matrix::zeros(4, 2);
        stuck.solver.forget();
        (stuck.solver.point.marginal_error, stuck.solver.point.relative_gradient) = (0.0, 1.0);
        let mut ended = |loss: f64, gradient: f64| {
            let mut state = stuck.clone();
            (state.solver.point.loss, state.solver.point.relative_gradient) = (loss, gradient);
            let end = run.advance(&mut objective, &mut state, &mut None).unwrap();
            (end, state.solver.point)
        };
        let (end, landed) = ended(f64::MAX, 1.0);
        assert_eq!(end, None);
        // Neither the loss nor the gradient is better by more than rounding, or one of them is.
        let (loss, gradient) = (landed.loss, landed.relative_gradient);
        let stalled = Some(Termination::Stalled);
        for (above, before, wanted) in [
            (0.0, gradient, stalled),
            (0.5e-13, gradient, stalled),
            (2e-13, gradient, None),
            (-1e-3, gradient, stalled),
            (-1e-3, 1.05 * gradient, stalled),
            (-1e-3, 1.2 * gradient, None),
            (f64::NAN, 2.0 * gradient, stalled),
        ] {
            let (end, point) = ended(loss * (1.0 + above), before);
            assert_eq!(end, wanted, "{above} {}", before / gradient);
            assert_eq!(point.frame, landed.frame);
        }
        // A rough plan is made accurate first.
        let mut state = stuck.clone();
        (state.solver.point.marginal_error, state.solver.point.overall_gradient) = (1e-3, 1.0);
        let frame = state.solver.point.frame.clone();
        assert_eq!(run.advance(&mut objective, &mut state, &mut None).unwrap(), None);
        assert_eq!(state.solver.point.frame, frame);
        assert!(state.solver.point.marginal_error <= run.plan_goal());
    });
}

#[test]
fn ends_within_a_millionth_agree() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    for scale in [1.0, 1e-3] {
        let data: Vec<f64> = data.iter().map(|x| scale * x).collect();
        let samples = Samples::new(&data, samples.rows(), 4).unwrap();
        let params = Ewca::params(2).epsilon(9.0 * scale * scale).restarts(1);
        let mut state = state_of(&params, &samples, 0);
        with_run(&samples, &params, |run| {
            let mut objective = run.objective();
            run.keep(&mut objective, &mut state, Termination::Converged, None).unwrap();
            let end = state.ends[0];
            for loss in [100.0 * end, 0.01 * end] {
                let mut best = state.best.clone().unwrap();
                best.solver.point.loss = loss;
                state.ends = [1.0, 1.0 + 0.9e-6, 1.0 - 0.9e-6, 1.0 + 1.1e-6, 1.0 - 1.1e-6].map(|x| x * loss).to_vec();
                let canonical = run.canonical_end(&samples.data, &mut objective, &best).unwrap();
                let model =
                    run.model(&samples.data, &mut objective, &mut state, &best, canonical, Default::default()).unwrap();
                assert_eq!((model.starts(), model.agreeing_starts()), (5, 3));
            }
        });
    }
}

#[test]
fn many_samples_break_off_and_begin_with_fewer() {
    for n in [MANY_SAMPLES - 1, MANY_SAMPLES] {
        let data = gaussian(n, 2, 3);
        let samples = Samples::new(&data, n, 2).unwrap();
        for coarse in [true, false] {
            let params = Ewca::params(1).epsilon(1e-3).tolerance(0.3).coarse_to_fine(coarse);
            with_run(&samples, &params, |run| {
                assert_eq!(run.may_break_off_plans(), n >= MANY_SAMPLES);
                if n >= MANY_SAMPLES {
                    let warm = crate::fit::coarse::starting_point(run).unwrap();
                    assert_eq!(warm.potential.is_some(), coarse);
                }
            });
        }
    }
    // What was close enough once is close enough later, and none is missed by a hundredth.
    let close = [Stage::Approach, Stage::Settling, Stage::Final].map(Stage::close);
    assert!(close.is_sorted() && close[0] > 0.0 && close[2] < CLOSE_PERPLEXITY && CLOSE_PERPLEXITY < 0.01);
    assert!(Stage::Calibration.close() > close[2]);
}

#[test]
fn all_starts_are_made_again_until_the_perplexity_is_met_or_rounds_are_out() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    let params = Ewca::params(2).perplexity(3.0).restarts(1);
    let good = state_of(&params, &samples, 0);
    with_run(&samples, &params, |run| {
        let mut objective = run.objective();
        let point = good.solver.point.clone();
        let here = perplexity(&mut objective, &point).unwrap().overall;
        let candidate = Candidate {
            solver: run.begun_at(point),
            termination: Termination::Converged,
            attempt: 0,
            iterations: 3,
            leading: None,
        };
        // Whether they are made again after so many rounds, at which epsilon, and what round that is.
        let mut again = |rounds: usize, target: f64, bounds: bool, starts: Starts| {
            let mut search = PerplexitySearch::new(target, 20.0, 1.0);
            if bounds {
                search.next(0.5 * good.epsilon, 0.9 * target, CLOSE_PERPLEXITY, 1e-12);
                search.next(2.0 * good.epsilon, 1.2 * target, CLOSE_PERPLEXITY, 1e-12);
            }
            let (search, best) = (Some(search), Some(candidate.clone()));
            let mut state = FitState { rounds, search, best, starts, ends: vec![1.0], ..good.clone() };
            let moved = run.epsilon_moved_after_all_starts(&mut objective, &mut state).unwrap();
            assert_eq!((moved, moved, moved), (state.best.is_none(), state.ends.is_empty(), state.attempt == 1));
            assert_eq!(moved, state.nearest.is_some());
            moved.then_some((state.epsilon / good.epsilon, state.rounds))
        };
        let starts = good.starts;
        let more = again(0, 1.5 * here, false, starts).unwrap();
        assert!(more.0 > 1.1 && more.1 == 1, "{more:?}");
        assert_eq!(again(MAX_SEARCH_ROUNDS - 1, 1.5 * here, false, starts).unwrap().1, MAX_SEARCH_ROUNDS);
        // Out of rounds.
        assert_eq!(again(MAX_SEARCH_ROUNDS, 1.5 * here, false, starts), None);
        assert_eq!(again(MAX_SEARCH_ROUNDS, 1.05 * here, true, starts), None);
        // Near enough, or a single start.
        assert_eq!(again(0, (1.0 + 0.5 * CLOSE_PERPLEXITY) * here, true, starts), None);
        assert_eq!(again(0, 1.5 * here, false, Starts { random: 0, continuation: false }), None);
    });
}

#[test]
fn rough_starts_in_some_of_the_axes_are_made_again_only_far_from_the_perplexity() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    let params = Ewca::params(2).perplexity(3.0).restarts(1);
    let good = state_of(&params, &samples, 0);
    with_run(&samples, &params, |run| {
        let mut objective = run.objective();
        let here = perplexity(&mut objective, &good.solver.point).unwrap().overall;
        let end = Candidate {
            solver: run.begun_at(good.solver.point.clone()),
            termination: Termination::Converged,
            attempt: 0,
            iterations: 3,
            leading: None,
        };
        for (goal, off, again) in [(3e-2, 0.45, false), (3e-2, 0.55, true), (1e-4, 0.02, true), (1e-4, 5e-3, false)] {
            let search = Some(PerplexitySearch::new(here * f64::exp(off), 20.0, 1.0));
            let mut state = FitState { goal, search, best: Some(end.clone()), ends: vec![1.0], ..good.clone() };
            let moved = run.epsilon_moved_after_all_starts(&mut objective, &mut state).unwrap();
            assert_eq!(moved, again, "{goal} {off}");
        }
    });
}

#[test]
fn the_nearest_of_all_ends_is_come_back_to_where_no_epsilon_helps() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    let params = Ewca::params(2).perplexity(3.0).restarts(1);
    let good = state_of(&params, &samples, 0);
    with_run(&samples, &params, |run| {
        let mut objective = run.objective();
        let point = good.solver.point.clone();
        let here = perplexity(&mut objective, &point).unwrap().overall;
        let end = |attempt: usize, factor: f64| Candidate {
            solver: run.begun_at(Point { epsilon: factor * point.epsilon, ..point.clone() }),
            termination: Termination::Converged,
            attempt,
            iterations: 3,
            leading: None,
        };
        // A jump: too low here, and at a hair more too high.
        let search = || {
            let mut search = PerplexitySearch::new(1.5 * here, 20.0, 1.0);
            search.next(1.001 * good.epsilon, 4.0 * here, CLOSE_PERPLEXITY, 1e-12);
            Some(search)
        };
        let other = |distance: f64| Some(Nearest { distance, end: end(5, 1.001), ends: vec![7.0, 8.0] });
        for (distance, returns) in [(0.1, true), (0.9, false)] {
            let (nearest, best, ends) = (other(distance), Some(end(9, 1.0)), vec![1.0]);
            let mut state = FitState { search: search(), best, ends, nearest, ..good.clone() };
            assert!(!run.epsilon_moved_after_all_starts(&mut objective, &mut state).unwrap());
            let best = state.best.unwrap();
            let factor = if returns { 1.001 } else { 1.0 };
            assert_eq!((best.attempt, state.ends.len()), if returns { (5, 2) } else { (9, 1) });
            assert_eq!([best.solver.point.epsilon, state.epsilon], [factor * good.epsilon; 2]);
            assert!(state.nearest.is_none());
        }
        // On the way the nearer one of two ends is kept.
        for (distance, kept) in [(0.01, 5), (0.9, 9)] {
            let search = Some(PerplexitySearch::new(1.5 * here, 20.0, 1.0));
            let (nearest, best) = (other(distance), Some(end(9, 1.0)));
            let mut state = FitState { search, best, ends: vec![1.0], nearest, ..good.clone() };
            assert!(run.epsilon_moved_after_all_starts(&mut objective, &mut state).unwrap());
            assert_eq!(state.nearest.unwrap().end.attempt, kept);
        }
    });
}

#[test]
fn a_search_comes_back_to_the_nearer_side_of_a_jump() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    let params = Ewca::params(2).perplexity(3.0).single_start();
    let good = state_of(&params, &samples, 0);
    with_run(&samples, &params, |run| {
        let mut objective = run.objective();
        let here = perplexity(&mut objective, &good.solver.point).unwrap().overall;
        let at_jump = |stage: Stage, distance: f64, searching: bool| {
            let mut search = PerplexitySearch::new(1.5 * here, 20.0, 1.0);
            search.next(1.001 * good.epsilon, 4.0 * here, 1e-3, 1e-12);
            let mut nearest = run.end_of_search(&good, distance);
            nearest.end.solver.point.epsilon *= 1.001;
            let nearest = Some(nearest);
            FitState { stage, searching, search: Some(search), nearest, goal: 1e-7, settled: false, ..good.clone() }
        };
        for (stage, next, settled) in [
            (Stage::Approach, Stage::Settling, false),
            (Stage::Settling, Stage::Final, true),
            (Stage::Final, Stage::Final, true),
        ] {
            let mut state = at_jump(stage, 0.1, false);
            assert!(run.epsilon_moved(&mut objective, &mut state).unwrap());
            assert_eq!((state.stage, state.settled), (next, settled));
            assert_eq!([state.epsilon, state.solver.point.epsilon], [1.001 * good.epsilon; 2]);
            // The nearer side is where it is already.
            let mut state = at_jump(stage, 0.9, false);
            run.epsilon_moved(&mut objective, &mut state).unwrap();
            assert_eq!((state.epsilon, state.settled), (good.epsilon, settled));
        }
        // A subspace that has not moved yet has no jumps.
        let mut state = at_jump(Stage::Calibration, 0.1, false);
        assert!(run.epsilon_moved(&mut objective, &mut state).unwrap());
        assert_eq!((state.stage, state.settled, state.epsilon), (Stage::Approach, false, good.epsilon));
        // Where all starts follow, epsilon is all that counts.
        for (distance, factor) in [(0.1, 1.001), (0.9, 1.0)] {
            let mut state = at_jump(Stage::Approach, distance, true);
            assert!(!run.epsilon_moved(&mut objective, &mut state).unwrap());
            assert_eq!((state.epsilon, state.settled), (factor * good.epsilon, false));
        }
        // At the limit of iterations epsilon stays.
        let mut state = at_jump(Stage::Approach, 0.1, false);
        state.iteration = run.params.max_iterations;
        run.epsilon_moved(&mut objective, &mut state).unwrap();
        assert_eq!(state.epsilon, good.epsilon);
    });
}

#[test]
fn epsilon_follows_a_subspace_of_many_samples_on_its_way() {
    // At twice the epsilon: is it moved in this iteration of this stage, where the gradient is so large?
    let moved = |n: usize, stage: Stage, iteration: usize, gradient: f64, searching: bool| {
        let data = groups(n, 4);
        let samples = Samples::new(&data, n, 4).unwrap();
        let params = Ewca::params(2).perplexity(6.0).single_start();
        let mut state = state_of(&params, &samples, 2);
        let mut moved = None;
        with_run(&samples, &params, |run| {
            let mut objective = run.objective();
            state.epsilon *= 2.0;
            (state.stage, state.iteration, state.searching) = (stage, iteration, searching);
            let goal = run.first_plan_goal();
            let State { point, balancer, .. } = &mut state.solver;
            *point = objective.evaluate_again(point, state.epsilon, balancer, goal);
            point.relative_gradient = gradient;
            let before = state.epsilon;
            let followed = run.follows_perplexity(&mut objective, &mut state).unwrap();
            assert_eq!((followed, followed), (state.epsilon != before, state.solver.point.epsilon != before));
            moved = followed.then_some(state.epsilon / before);
        });
        moved
    };
    let few = FEW_SAMPLES + 1;
    let factor = moved(few, Stage::Approach, FOLLOW_AFTER - 1, 0.05, false).unwrap();
    assert!((0.3..0.8).contains(&factor), "{factor}");
    assert!(moved(few, Stage::Settling, 2 * FOLLOW_AFTER - 1, 0.05, false).is_some());
    for (n, stage, iteration, gradient, searching) in [
        (few, Stage::Approach, FOLLOW_AFTER, 0.05, false),
        (few, Stage::Settling, FOLLOW_AFTER - 1, 0.05, false),
        (few, Stage::Final, FOLLOW_AFTER - 1, 0.05, false),
        (few, Stage::Approach, FOLLOW_AFTER - 1, 2.0, false),
        (few, Stage::Approach, FOLLOW_AFTER - 1, 0.05, true),
        (FEW_SAMPLES, Stage::Approach, FOLLOW_AFTER - 1, 0.05, false),
    ] {
        assert_eq!(moved(n, stage, iteration, gradient, searching), None, "{n} {stage:?} {iteration} {gradient}");
    }
}

#[test]
fn a_perplexity_is_known_without_a_pass_where_rounding_does_not_show() {
    let n = 24;
    let data = groups(n, 4);
    let some: Vec<f64> = (0..n).map(|i| 1.0 + (i % 3) as f64).collect();
    let plain = || Samples::new(&data, n, 4).unwrap();
    for samples in [plain(), plain().with_weights(&some).unwrap(), plain().with_counts(&some).unwrap()] {
        let params = Ewca::params(2).perplexity(3.0).single_start();
        let State { point, balancer, .. } = state_of(&params, &samples, 2).solver;
        with_run(&samples, &params, |run| {
            let mut objective = run.objective();
            for (factor, by_a_pass) in [(1.0, false), (0.1, false), (30.0, false), (1e-11, true)] {
                let epsilon = factor * point.epsilon;
                let point = objective.evaluate_again(&point, epsilon, &mut balancer.clone(), 1e-10);
                let before = objective.kernel.passes();
                let rough = rough_perplexity(&mut objective, &point).unwrap();
                assert_eq!(objective.kernel.passes() > before, by_a_pass, "{factor}");
                // The rows' own entropies, by a pass over all pairs.
                let known = perplexity(&mut objective, &point).unwrap().overall;
                assert!((rough / known - 1.0).abs() < 1e-8, "{factor}: {rough} {known}");
            }
            // Single precision knows less: there a pass is made sooner.
            objective.single = true;
            let point = objective.evaluate_again(&point, 1e-4 * point.epsilon, &mut balancer.clone(), 1e-10);
            let before = objective.kernel.passes();
            rough_perplexity(&mut objective, &point).unwrap();
            assert!(objective.kernel.passes() > before);
        });
    }
}
