//! Whole fits of small data: what they end at, by plain loops, and how many passes over the kernel they take to get there.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::*;
use crate::error::Error;
use crate::matrix::Matrix;
use crate::samples::{Part, Samples, Source};
use crate::solvers::{MmParams, Solver};
use crate::testing::suite::{check_fit, fixture, subspace_distance};
use crate::testing::{Two, gaussian, groups};

/// Everything of a model but its timings, as text.
fn bits(model: &Model) -> String {
    serde_json::to_string(model).unwrap()
}

fn go_on(_: &Progress<'_>) -> Control {
    Control::Continue
}

/// The model, and the state at every iteration.
fn notify_observer(params: &CheckedParams, samples: &Samples<'_>) -> (Model, Vec<FitState>) {
    let mut states = Vec::new();
    let model = params.fit_observed(samples, &mut |progress: &Progress<'_>| {
        states.push(progress.state.clone());
        Control::Continue
    });
    (model.unwrap(), states)
}

/// 24 samples in two groups along one direction, and waves in the others: at a perplexity of 5 the optimum jumps.
fn jumping() -> Vec<f64> {
    let wave = |i: usize, j: usize| ((i * 7919 + j * 104_729 + 31) as f64 * 0.618).sin();
    let group = |i: usize, j: usize| if j == 0 { 4.0 * (i % 2) as f64 - 2.0 } else { 0.0 };
    (0..24 * 6).map(|at| 0.3 * wave(at / 6, at % 6) + group(at / 6, at % 6)).collect()
}

#[test]
fn references_are_met_within_few_passes() {
    // The most passes that each case may take: a start at PCA, and with the start by continuation.
    let limits: [(&str, &[[usize; 2]]); 4] = [
        ("gauss5", &[[8, 13], [22, 35], [29, 60], [40, 105], [18, 28]]),
        ("toy20", &[[33, 63], [31, 60], [32, 62], [28, 59]]),
        ("two_blobs", &[[27, 48], [26, 53], [25, 50], [19, 19]]),
        ("weighted20", &[[32, 63], [32, 61]]),
    ];
    for (name, limits) in limits {
        let fixture = fixture(name);
        let samples = fixture.samples();
        for (case, most) in fixture.cases.iter().zip(limits) {
            let params = Ewca::params(case.k).epsilon(case.epsilon);
            let models = [params.clone().single_start(), params].map(|params| params.fit(&samples).unwrap());
            for (model, most) in models.iter().zip(most) {
                check_fit(&samples, model);
                assert!(model.converged());
                let above = (model.loss() - case.loss) / case.loss.abs();
                assert!(above < 1e-8, "{name} at {}: {} {}", case.epsilon, model.loss(), case.loss);
                assert!(model.kernel_passes() <= *most, "{name} at {}: {}", case.epsilon, model.kernel_passes());
                assert!(model.history().last().unwrap().kernel_passes < model.kernel_passes());
            }
            assert_eq!(models[0].starts(), 1);
            let all_of_it = models[1].rank() == case.k;
            assert_eq!(models[1].certificate().next_eigenvalue.is_none(), all_of_it);
            assert_eq!(models[1].starts(), if all_of_it { 1 } else { 2 });
        }
    }
}

#[test]
fn every_solver_ends_at_the_same_optimum() {
    let data = groups(40, 6);
    let samples = Samples::new(&data, 40, 6).unwrap();
    let params = Ewca::params(2).epsilon(9.0).single_start();
    let fast = params.clone().fit(&samples).unwrap();
    check_fit(&samples, &fast);
    let polar = MmParams { orthonormalisation: crate::Orthonormalisation::Polar, ..MmParams::default() };
    for (solver, name, most) in [(Solver::Bcd, "bcd", 320), (Solver::Mm(polar), "mm", 1850)] {
        let model = params.clone().solver(solver).fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert!(model.converged() && (model.loss() / fast.loss() - 1.0).abs() < 1e-9);
        assert_eq!((model.solver().name(), model.starts()), (name, 1));
        // Their plans are accurate in every iteration.
        assert!(model.history().iter().all(|i| i.marginal_error <= 1e-9));
        assert!(model.kernel_passes() <= most, "{name}: {} passes", model.kernel_passes());
    }
    assert!(fast.history()[0].marginal_error > 1e-9);
}

#[test]
fn wanted_perplexities_are_met_and_told() {
    let data = groups(40, 6);
    let samples = Samples::new(&data, 40, 6).unwrap();
    for (wanted, most) in [(1.2, [42, 73]), (3.0, [77, 145]), (9.0, [66, 152]), (25.0, [83, 275])] {
        let params = Ewca::params(2).perplexity(wanted);
        let (single, both) = (params.clone().single_start().fit(&samples).unwrap(), params.fit(&samples).unwrap());
        for (model, most) in [(&single, most[0]), (&both, most[1])] {
            check_fit(&samples, model);
            assert!(model.converged() && !model.perplexity().is_missed(), "{:?}", model.perplexity());
            assert!((model.perplexity().overall / wanted).ln().abs() <= 8.1e-3);
            assert_eq!((model.perplexity().wanted, model.perplexity().floor), (Some(wanted), None));
            assert!(model.kernel_passes() <= most, "{wanted}: {} passes", model.kernel_passes());
        }
        // What a fit ends at depends on epsilon, not on how it was found.
        let given = Ewca::params(2).epsilon(both.epsilon()).fit(&samples).unwrap();
        assert_eq!((given.loss(), given.epsilon(), given.starts()), (both.loss(), both.epsilon(), 2));
        assert_eq!((given.components(), given.agreeing_starts()), (both.components(), both.agreeing_starts()));
        assert_eq!((given.perplexity().wanted, given.history()[0].epsilon), (None, both.epsilon()));
    }
    // Nothing asked for is 5, and less among few samples.
    let model = Ewca::params(1).fit(&samples).unwrap();
    assert_eq!(model.perplexity().wanted, Some(DEFAULT_PERPLEXITY));
    let few = Samples::new(&data[..60], 10, 6).unwrap();
    let model = Ewca::params(1).fit(&few).unwrap();
    assert!((model.perplexity().wanted.unwrap() - (1.0 + 0.3 * 9.0)).abs() < 1e-12);
    check_fit(&few, &model);
}

#[test]
fn samples_that_repeat_have_a_least_perplexity() {
    let few = gaussian(8, 3, 4);
    let data: Vec<f64> = (0..32).flat_map(|i| few[i % 8 * 3..i % 8 * 3 + 3].to_vec()).collect();
    let samples = Samples::new(&data, 32, 3).unwrap();
    for (single, most) in [(false, 155), (true, 142)] {
        let params = Ewca::params(1).perplexity(2.0);
        let model = if single { params.single_start() } else { params }.fit(&samples).unwrap();
        check_fit(&samples, &model);
        let floor = model.perplexity().floor.unwrap();
        assert!((floor - 4.0).abs() < 1e-3 && model.perplexity().wanted == Some(2.0));
        // A hundredth above it.
        assert!(((model.perplexity().overall / floor).ln() - 0.01).abs() < 6e-3, "{:?}", model.perplexity());
        assert!(model.perplexity().is_missed() && model.kernel_passes() <= most, "{} passes", model.kernel_passes());
    }
}

#[test]
fn the_nearer_side_of_a_jump_is_taken() {
    let data = jumping();
    let samples = Samples::new(&data, 24, 6).unwrap();
    for (wanted, lower, most) in [(4.6, true, 970), (5.5, false, 1035)] {
        let model = Ewca::params(2).perplexity(wanted).fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert_eq!(model.perplexity().overall < wanted, lower, "{:?}", model.perplexity());
        assert!(model.converged() && model.perplexity().is_missed());
        // A little further on, by no more than what is close enough, the fit is on the other side.
        let further = model.epsilon() * if lower { 1.0 + 8e-3 } else { 1.0 - 8e-3 };
        let beyond = Ewca::params(2).epsilon(further).fit(&samples).unwrap();
        assert_eq!(beyond.perplexity().overall < wanted, !lower, "{:?}", beyond.perplexity());
        assert!(model.kernel_passes() <= most, "{} passes", model.kernel_passes());
    }
}

#[test]
fn more_starts_are_never_worse_and_agreeing_ones_are_counted() {
    let data = jumping();
    let samples = Samples::new(&data, 24, 6).unwrap();
    for epsilon in [0.03, 0.0722, 0.3] {
        let params = Ewca::params(2).epsilon(epsilon).seed(5);
        let single = params.clone().single_start().fit(&samples).unwrap();
        let both = params.clone().fit(&samples).unwrap();
        let many = params.clone().restarts(4).fit(&samples).unwrap();
        for model in [&single, &both, &many] {
            check_fit(&samples, model);
            assert!(model.converged());
        }
        assert_eq!([&single, &both, &many].map(|m| m.starts()), [1, 2, 6]);
        assert!(both.loss() <= single.loss() * (1.0 + 1e-9) && many.loss() <= both.loss() * (1.0 + 1e-9));
        // Each start by itself, as far as it goes: the last loss of its attempt.
        let ends = |model: &Model| -> Vec<f64> {
            let of = |attempt: usize| model.history().iter().filter(move |i| i.attempt == attempt);
            (0..model.starts()).map(|attempt| of(attempt).next_back().unwrap().loss).collect()
        };
        let ends = ends(&many);
        let lowest = ends.iter().fold(f64::INFINITY, |m: f64, x| m.min(*x));
        assert!((many.loss() / lowest - 1.0).abs() < 1e-6, "{} {ends:?}", many.loss());
        let agreeing = ends.iter().filter(|end| (**end / many.loss() - 1.0).abs() <= 1e-6).count();
        assert_eq!(many.agreeing_starts(), agreeing, "{ends:?}");
        assert!((ends[many.attempt()] / many.loss() - 1.0).abs() <= 1e-6);
        // The last start is by continuation: it comes from smaller epsilons, a quarter each.
        let steps: Vec<f64> = many.history().iter().filter(|i| i.attempt == 5).map(|i| i.epsilon / epsilon).collect();
        assert!((steps[0] * 16.0 - 1.0).abs() < 1e-12 && steps.iter().any(|x| (x * 4.0 - 1.0).abs() < 1e-12));
        assert!((steps.last().unwrap() - 1.0).abs() < 1e-12);
        assert!(many.history().iter().all(|i| i.attempt == 5 || (i.epsilon / epsilon - 1.0).abs() < 1e-12));
        // Other seeds begin at another place.
        let other = params.clone().seed(6).restarts(1).fit(&samples).unwrap();
        let begin = |model: &Model| model.history().iter().find(|i| i.attempt == 1).unwrap().loss;
        assert!((begin(&other) / begin(&many) - 1.0).abs() > 1e-6);
    }
}

#[test]
fn a_fit_resumed_from_any_state_gives_the_same_bits() {
    let data = groups(20, 5);
    let weights: Vec<f64> = (0..20).map(|i| f64::from(u8::from(i != 3)) * (1.0 + (i % 3) as f64)).collect();
    let samples = Samples::new(&data, 20, 5).unwrap().with_weights(&weights).unwrap();
    let base = Ewca::params(2).seed(3);
    for params in [
        base.clone().epsilon(20.0).restarts(1),
        base.clone().perplexity(4.0),
        base.clone().perplexity(4.0).single_start(),
        base.clone().epsilon(20.0).solver(Solver::Bcd),
        base.clone().perplexity(3.0).restarts(1).solver(Solver::Mm(MmParams::default())),
    ] {
        let params = params.check().unwrap();
        let (model, states) = notify_observer(&params, &samples);
        check_fit(&samples, &model);
        assert_eq!(states.len(), model.history().len());
        let step = states.len().div_ceil(12);
        for state in states.into_iter().step_by(step) {
            let text = serde_json::to_string(&state).unwrap();
            let state: FitState = serde_json::from_str(&text).unwrap();
            assert_eq!(bits(&params.resume(&samples, state, &mut go_on).unwrap()), bits(&model));
        }
    }
}

#[test]
fn a_fit_of_many_numbers_resumes_with_the_same_bits() {
    // More than 512 samples, more than eight components, and frames of more than 4096 numbers: what small fits do without.
    let (n, d) = (600, 520);
    let data = groups(n, d);
    let samples = Samples::new(&data, n, d).unwrap();
    let params = Ewca::params(9).perplexity(6.0).single_start().check().unwrap();
    let (model, states) = notify_observer(&params, &samples);
    check_fit(&samples, &model);
    assert!(model.converged() && (model.perplexity().overall / 6.0).ln().abs() <= 1.1e-3);
    let step = states.len().div_ceil(4);
    for state in states.into_iter().skip(step / 2).step_by(step) {
        let state: FitState = serde_json::from_str(&serde_json::to_string(&state).unwrap()).unwrap();
        assert_eq!(bits(&params.resume(&samples, state, &mut go_on).unwrap()), bits(&model));
    }
}

#[test]
fn a_state_goes_on_where_rounding_differs_but_not_with_other_data() {
    let data = groups(20, 5);
    let samples = Samples::new(&data, 20, 5).unwrap();
    let params = Ewca::params(2).epsilon(20.0).restarts(1).check().unwrap();
    let (model, states) = notify_observer(&params, &samples);
    // Units twice as large, and features in another order: the same distances, but for rounding and signs of axes.
    for factor in [1.0, 1.0 + 1e-12] {
        let other: Vec<f64> = (0..100).map(|at| factor * data[at / 5 * 5 + 4 - at % 5]).collect();
        let other = Samples::new(&other, 20, 5).unwrap();
        for state in states.iter().step_by(states.len().div_ceil(6)) {
            let resumed = params.resume(&other, state.clone(), &mut go_on).unwrap();
            check_fit(&other, &resumed);
            assert!(resumed.converged() && (resumed.loss() / model.loss() - 1.0).abs() < 1e-9);
            assert_eq!((resumed.starts(), resumed.epsilon()), (model.starts(), model.epsilon()));
            // A start that is under way loses what it has learnt.
            assert!(resumed.kernel_passes() <= model.kernel_passes() + 40);
        }
    }
    let refused = |samples: &Samples<'_>, params: &CheckedParams| {
        params.resume(samples, states[2].clone(), &mut go_on).unwrap_err()
    };
    let what = Error::State { what: "the data or the parameters" };
    let larger: Vec<f64> = data.iter().map(|x| x * (1.0 + 1e-8)).collect();
    assert_eq!(refused(&Samples::new(&larger, 20, 5).unwrap(), &params), what);
    assert_eq!(refused(&samples, &Ewca::params(2).epsilon(20.0).restarts(2).check().unwrap()), what);
    assert_eq!(refused(&samples, &Ewca::params(2).epsilon(21.0).restarts(1).check().unwrap()), what);
    let weighted = samples.clone().with_weights(&(1..=20).map(f64::from).collect::<Vec<_>>()).unwrap();
    assert_eq!(refused(&weighted, &params), what);
    // Threads, memory and the iteration limit may be others.
    let same = Ewca::params(2).epsilon(20.0).restarts(1).threads(2).memory_budget(1 << 30).max_iterations(999);
    let mut resumed = same.check().unwrap().resume(&samples, states[2].clone(), &mut go_on).unwrap();
    assert_eq!(resumed.params().max_iterations(), 999);
    resumed.parts.params = model.parts.params.clone();
    assert_eq!(bits(&resumed), bits(&model));
}

#[test]
fn a_stopped_fit_returns_the_best_so_far() {
    let data = jumping();
    let samples = Samples::new(&data, 24, 6).unwrap();
    let params = Ewca::params(2).epsilon(0.0722).seed(5).restarts(2).check().unwrap();
    let whole = params.fit(&samples).unwrap();
    for stop in (0..whole.history().len()).step_by(3) {
        let mut seen = 0;
        let model = params.fit_observed(&samples, &mut |_: &Progress<'_>| {
            seen += 1;
            if seen > stop { Control::Stop } else { Control::Continue }
        });
        let model = model.unwrap();
        check_fit(&samples, &model);
        assert_eq!((model.termination(), seen), (Termination::Interrupted, stop + 1));
        assert_eq!(model.history()[..], whole.history()[..=stop]);
        // No start that had ended before, and not the last point either, is lower.
        let now = model.history()[stop];
        let ended = |attempt: usize| whole.history().iter().rfind(|i| i.attempt == attempt).unwrap().loss;
        let lowest = (0..now.attempt).map(ended).fold(f64::INFINITY, f64::min);
        assert!(model.loss() <= lowest * (1.0 + 1e-6), "{stop}: {} {lowest}", model.loss());
        if (now.epsilon / 0.0722 - 1.0).abs() < 1e-12 && now.marginal_error < 1e-8 {
            assert!(model.loss() <= now.loss * (1.0 + 1e-6), "{stop}: {} {}", model.loss(), now.loss);
        }
        assert!((model.epsilon() / 0.0722 - 1.0).abs() < 1e-12 && model.attempt() <= now.attempt);
        // The best of rough ends is gone on with, under its own number.
        let last = model.history().iter().map(|i| i.attempt).max().unwrap();
        let made = if now.attempt < last { last + 1 } else { last.max(1) };
        assert_eq!(model.starts(), made, "{stop}");
    }
    // Where the observer has a flag, it is looked at before the first iteration.
    struct Flagged(Arc<AtomicBool>);
    impl Observer for Flagged {
        fn observe(&mut self, _: &Progress<'_>) -> Control {
            Control::Continue
        }
        fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
            Some(self.0.clone())
        }
    }
    let error = params.fit_observed(&samples, &mut Flagged(Arc::new(true.into()))).unwrap_err();
    assert_eq!(error, Error::Stopped);
    let model = params.fit_observed(&samples, &mut Flagged(Arc::default())).unwrap();
    assert_eq!(bits(&model), bits(&whole));
}

#[test]
fn iterations_are_limited_and_phases_are_told() {
    let data = groups(30, 6);
    let samples = Samples::new(&data, 30, 6).unwrap();
    for most in 1..6 {
        let params = Ewca::params(2).epsilon(30.0).tolerance(1e-9).max_iterations(most);
        let model = params.single_start().fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert_eq!((model.termination(), model.iterations()), (Termination::MaxIterations, most));
        assert!(!model.converged());
        assert_eq!(model.history().len(), most + 1);
    }
    struct Phases(Vec<String>);
    impl Observer for Phases {
        fn observe(&mut self, progress: &Progress<'_>) -> Control {
            assert_eq!(progress.tolerance, 1e-5);
            Control::Continue
        }
        fn phase(&mut self, phase: Phase) {
            self.0.push(phase.to_string());
        }
    }
    let mut phases = Phases(Vec::new());
    Ewca::params(1).epsilon(9.0).tolerance(1e-5).check().unwrap().fit_observed(&samples, &mut phases).unwrap();
    assert_eq!(phases.0, ["finding the principal axes", "fitting", "checking the result"]);
    assert_eq!(Phase::Coarse { samples: 7 }.to_string(), "a first fit of 7 samples");
}

#[test]
fn a_huge_epsilon_leaves_the_saddle_and_says_that_it_collapsed() {
    // There PCA is stationary, and the worst subspace of all.
    let data = groups(30, 5);
    let samples = Samples::new(&data, 30, 5).unwrap();
    for (epsilon, most) in [(3e3, 75), (1e9, 14)] {
        let model = Ewca::params(2).epsilon(epsilon).single_start().fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert!(model.converged() && model.certificate().collapsed && model.distance_to_pca() > 2.0);
        let (first, last) = (model.history()[0].loss, model.loss());
        assert!(last < 0.9 * first && model.kernel_passes() <= most, "{}", model.kernel_passes());
    }
    // The least epsilons are those of PCA.
    let model = Ewca::params(2).epsilon(1e-9).fit(&samples).unwrap();
    check_fit(&samples, &model);
    assert!(model.distance_to_pca() < 1e-6 && !model.certificate().collapsed && model.history().len() <= 5);
}

#[test]
fn a_path_is_fitted_from_small_to_large_and_comes_in_the_order_asked_for() {
    let data = groups(30, 5);
    let samples = Samples::new(&data, 30, 5).unwrap();
    let params = Ewca::params(2).check().unwrap();
    let epsilons = [40.0, 2.0, 10.0];
    let models = params.path(&samples, &epsilons).unwrap();
    let mut before: Option<&Model> = None;
    for at in [1, 2, 0] {
        let model = &models[at];
        check_fit(&samples, model);
        assert!(model.converged() && model.epsilon() == epsilons[at] && model.starts() == 1);
        let alone = Ewca::params(2).epsilon(epsilons[at]).single_start().fit(&samples).unwrap();
        assert!((model.loss() / alone.loss() - 1.0).abs() < 1e-9);
        // From its neighbour, not from PCA.
        if let Some(before) = before {
            let plan = model.history()[0].relative_gradient;
            assert!((plan - alone.history()[0].relative_gradient).abs() > 1e-6);
            assert!(model.kernel_passes() <= alone.kernel_passes() + 10, "{before:?}");
        }
        before = Some(model);
    }
    let mut seen = 0;
    let stopped = params.path_observed(&samples, &epsilons, &mut |_: &Progress<'_>| {
        seen += 1;
        if seen > models[1].history().len() { Control::Stop } else { Control::Continue }
    });
    let stopped = stopped.unwrap();
    assert_eq!(stopped.iter().map(|m| m.epsilon()).collect::<Vec<_>>(), [2.0, 10.0]);
    assert_eq!(stopped[1].termination(), Termination::Interrupted);
    let wrong = params.path(&samples, &[1.0, -1.0]).unwrap_err();
    assert!(matches!(wrong, Error::Parameter { name: "epsilons", .. }));
    // An epsilon among the parameters is not that of the path.
    let other = Ewca::params(2).epsilon(3.0).check().unwrap();
    assert_eq!(other.path(&samples, &[2.0]).unwrap()[0].epsilon(), 2.0);
    let huge = params.path(&samples, &[1.0, 1e30]).unwrap_err();
    assert!(matches!(huge, Error::Parameter { name: "epsilon", .. }));
}

#[test]
fn samples_without_weight_are_like_new_samples() {
    let data = groups(24, 5);
    let weights: Vec<f64> = (0..24).map(|i| if i % 5 == 2 { 0.0 } else { 1.0 + (i % 3) as f64 }).collect();
    let samples = Samples::new(&data, 24, 5).unwrap().with_weights(&weights).unwrap();
    let model = Ewca::params(2).epsilon(20.0).fit(&samples).unwrap();
    check_fit(&samples, &model);
    let active: Vec<usize> = (0..24).filter(|i| i % 5 != 2).collect();
    let without: Vec<f64> = active.iter().flat_map(|&i| data[i * 5..i * 5 + 5].to_vec()).collect();
    let fewer = Samples::new(&without, active.len(), 5).unwrap();
    let fewer = fewer.with_weights(&active.iter().map(|&i| weights[i]).collect::<Vec<_>>()).unwrap();
    let other = Ewca::params(2).epsilon(20.0).fit(&fewer).unwrap();
    assert!((other.loss() / model.loss() - 1.0).abs() < 1e-12);
    assert!(subspace_distance(other.components(), model.components()) < 1e-8);
    assert_eq!((model.sample_count(), other.sample_count()), (19.0, 19.0));
    // Their potentials make their shares, a_j exp((g_i + g_j - |z_i - z_j|^2) / epsilon), sum to 1.
    let (z, g) = (model.scores(), model.potential());
    for i in (0..24).filter(|i| i % 5 == 2) {
        let distance = |j: usize| (0..2).map(|l| (z.get(i, l) - z.get(j, l)).powi(2)).sum::<f64>();
        let share = |j: usize| model.weights()[j] * ((g[i] + g[j] - distance(j)) / model.epsilon()).exp();
        let sum: f64 = active.iter().map(|&j| share(j)).sum();
        assert!((sum - 1.0).abs() < 1e-12, "{sum}");
        let row = model.plan_row(&data[i * 5..i * 5 + 5]).unwrap();
        active.iter().for_each(|&j| assert!((row[j] - share(j)).abs() < 1e-12));
    }
    // A far one has no share that is not tiny, and its potential is finite all the same.
    let mut far = data.clone();
    far[2 * 5..3 * 5].iter_mut().for_each(|x| *x = 1e5);
    let samples = Samples::new(&far, 24, 5).unwrap().with_weights(&weights).unwrap();
    let model = Ewca::params(2).epsilon(20.0).fit(&samples).unwrap();
    assert!(model.potential().iter().all(|g| g.is_finite()));
}

/// Rows that are handed out seven at a time.
#[derive(Debug)]
struct Table<'a>(&'a [f64], usize);

impl Source for Table<'_> {
    fn rows(&self) -> usize {
        self.0.len() / self.1
    }
    fn columns(&self) -> usize {
        self.1
    }
    fn part_rows(&self) -> usize {
        7
    }
    fn read(&self, rows: Range<usize>) -> std::result::Result<Part, Box<dyn std::error::Error + Send + Sync>> {
        Ok(Part::Dense(self.0[rows.start * self.1..rows.end * self.1].to_vec()))
    }
}

#[test]
fn pca_in_fewer_axes_is_that_in_all() {
    let (n, d) = (30, 20);
    let data: Vec<f64> = groups(n, d);
    let table = Table(&data, d);
    let (whole, streamed) = (Samples::new(&data, n, d).unwrap(), Samples::streamed(&table).unwrap());
    for tolerance in [1e-3, 1e-8] {
        let params = Ewca::params(3).tolerance(tolerance);
        let Error::Memory { needed, .. } = params.clone().memory_budget(1).pca::<f64>(&streamed).unwrap_err() else {
            panic!("one byte is not enough")
        };
        let (exact, few) = (params.pca(&whole).unwrap(), params.memory_budget(needed).pca(&streamed).unwrap());
        assert!(few.rank < exact.rank && exact.residual == 0.0);
        // What is left of Sigma u, by hand, is what is told.
        let residual = |c: usize| {
            let u = few.components.column(c);
            let mut image = vec![0.0; d];
            for row in data.chunks_exact(d) {
                let centred: Vec<f64> = row.iter().zip(&few.mean).map(|(x, m)| x - m).collect();
                let score: f64 = centred.iter().zip(u).map(|(x, u)| x * u).sum();
                image.iter_mut().zip(&centred).for_each(|(sum, x)| *sum += x * score / n as f64);
            }
            let value = few.eigenvalues[c];
            let left = image.iter().zip(u).map(|(image, u)| (image - value * u).powi(2)).sum::<f64>();
            left.sqrt() / value
        };
        let largest = (0..3).map(residual).fold(0.0, f64::max);
        assert!((few.residual - largest).abs() < 1e-2 * largest + 1e-12, "{} {largest}", few.residual);
        assert!(few.residual > 0.0 && few.residual < tolerance, "{}", few.residual);
        for c in 0..3 {
            let (found, wanted) = (few.explained_variance[c], exact.explained_variance[c]);
            assert!((found / wanted - 1.0).abs() < 10.0 * tolerance * tolerance + 1e-12, "{found} {wanted}");
            assert!((few.explained_variance_ratio[c] / exact.explained_variance_ratio[c] - 1.0).abs() < 1e-5);
        }
    }
}

#[test]
fn fewer_axes_end_at_the_same_optimum_as_all() {
    let (n, d) = (30, 20);
    let data: Vec<f64> = groups(n, d);
    let whole = Samples::new(&data, n, d).unwrap();
    let table = Table(&data, d);
    let streamed: Samples<'_> = Samples::streamed(&table).unwrap();
    let weights: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
    for weighted in [false, true] {
        let (whole, streamed) = match weighted {
            true => (whole.clone().with_weights(&weights).unwrap(), streamed.clone().with_weights(&weights).unwrap()),
            false => (whole.clone(), streamed.clone()),
        };
        // Where an epsilon is searched for, it is not found to the last digit.
        for (params, most) in
            [(Ewca::params(2).epsilon(60.0), [424, 270]), (Ewca::params(2).perplexity(3.0), [313, 341])]
        {
            let exact = params.clone().fit(&whole).unwrap();
            let Error::Memory { needed, .. } = params.clone().memory_budget(1).fit(&streamed).unwrap_err() else {
                panic!("one byte is not enough")
            };
            // All axes, and the fewest that a fit makes do with.
            let all = params.clone().fit(&streamed).unwrap();
            let few = params.clone().memory_budget(needed).check().unwrap();
            let (model, states) = notify_observer(&few, &streamed);
            assert_eq!(model.history().len(), states.len());
            for model in [&all, &model] {
                check_fit(&whole, model);
                assert!(model.converged() && model.certificate().relative_gradient <= 1e-6);
                // Two epsilons can have the same perplexity: what is compared is at the same one.
                let exact = params.clone().epsilon(model.epsilon()).fit(&whole).unwrap();
                assert!((model.loss() / exact.loss() - 1.0).abs() < 1e-9, "{} {}", model.loss(), exact.loss());
            }
            assert_eq!(all.certificate().omitted_variance, 0.0);
            assert!(model.rank() < exact.rank() && model.rank() > 4);
            assert!((1e-3..0.9).contains(&model.certificate().omitted_variance));
            assert!(model.kernel_passes() <= most[usize::from(weighted)], "{} passes", model.kernel_passes());
            // The iterations in the wider axes are counted on, as those of the attempt that was the best; no number comes twice.
            let numbers: Vec<(usize, usize)> = model.history().iter().map(|i| (i.attempt, i.iteration)).collect();
            let follows = |&(attempt, i): &(usize, usize)| i == 0 || numbers.contains(&(attempt, i - 1));
            assert!(numbers.iter().all(follows));
            let distinct: std::collections::HashSet<_> = numbers.iter().collect();
            assert_eq!((distinct.len(), numbers.last()), (numbers.len(), Some(&(model.attempt(), model.iterations()))));
            // A loose tolerance leaves more outside of the axes: it is counted.
            let loose = params.clone().memory_budget(needed).tolerance(0.05).fit(&streamed).unwrap();
            let there = Ewca::params(2).epsilon(loose.epsilon()).start(Start::Loadings(loose.components().clone()));
            let wanted = there.solver(Solver::Bcd).fit(&whole).unwrap().history()[0].relative_gradient;
            let found = loose.certificate().relative_gradient;
            assert!((found / wanted - 1.0).abs() < 0.02 && found <= 0.05, "{found} {wanted}");
        }
    }
}

#[test]
fn landmarks_tell_how_far_they_are_from_the_exact_kernel() {
    let (n, d, k) = (60, 4, 2);
    let data = gaussian(n, d, 8).iter().map(|x| 3.0 * x).collect::<Vec<_>>();
    let weights: Vec<f64> = (0..n).map(|i| 1.0 + (i % 4) as f64).collect();
    let samples = Samples::new(&data, n, d).unwrap().with_weights(&weights).unwrap();
    let params = Ewca::params(k).epsilon(20.0).landmarks(12);
    let model = params.clone().fit(&samples).unwrap();
    let said = model.certificate().approximation.unwrap();
    assert!(model.converged() && model.starts() == 1 && (said.landmarks, said.rows) == (12, n));
    // By plain loops: the exact plan with these potentials.
    let (z, g, a) = (model.scores(), model.potential(), model.weights());
    let distance = |i: usize, j: usize| (0..k).map(|l| (z.get(i, l) - z.get(j, l)).powi(2)).sum::<f64>();
    let pi = Matrix::from_fn(n, n, |i, j| a[i] * a[j] * ((g[i] + g[j] - distance(i, j)) / model.epsilon()).exp());
    let row_sums: Vec<f64> = (0..n).map(|i| (0..n).map(|j| pi.get(i, j)).sum()).collect();
    let errors: Vec<f64> = (0..n).map(|i| (row_sums[i] / a[i] - 1.0).abs()).collect();
    let marginal_error: f64 = (0..n).map(|i| a[i] * errors[i]).sum();
    assert!((said.marginal_error / marginal_error - 1.0).abs() < 1e-9, "{marginal_error}");
    let worst = errors.iter().fold(0.0f64, |m, x| m.max(*x));
    assert!((said.worst_row / worst - 1.0).abs() < 1e-9, "{worst}");
    // M u = X'(2 pi - diag(2 p - a)) X u, with the row sums p.
    let mut columns = pi.times(z).scaled(2.0);
    for (i, j) in (0..n).flat_map(|i| (0..k).map(move |j| (i, j))) {
        columns.set(i, j, columns.get(i, j) - (2.0 * row_sums[i] - a[i]) * z.get(i, j));
    }
    let x = Matrix::from_fn(n, d, |i, j| data[i * d + j] - model.mean()[j]);
    let m_frame = x.transposed_times(&columns);
    let mut frame_m_frame = model.components().transposed_times(&m_frame);
    frame_m_frame.symmetrise();
    let mut leaving = m_frame.clone();
    leaving.add_scaled(-1.0, &model.components().times(&model.components().transposed_times(&m_frame)));
    let variances: Vec<f64> = model.explained_variance().iter().map(|v| v * model.variance_divisor()).collect();
    let residuals = crate::solvers::component_residuals(&leaving, &frame_m_frame, &variances);
    let wanted = residuals[0].max(residuals[1]);
    assert!((said.relative_gradient / wanted - 1.0).abs() < 1e-6, "{} {wanted}", said.relative_gradient);
    assert_eq!(said.is_poor(), said.marginal_error > 0.01);
    // As many landmarks as samples are the exact kernel.
    let exact = params.landmarks(n).fit(&samples).unwrap();
    assert_eq!((exact.certificate().approximation, exact.starts()), (None, 2));
    assert!((model.loss() / exact.loss() - 1.0).abs() < 0.02, "{} {}", model.loss(), exact.loss());
}

#[test]
fn two_processes_fit_as_one_and_stop_together() {
    let (n, d) = (26, 5);
    let data = groups(n, d);
    let params = Ewca::params(2).perplexity(4.0).check().unwrap();
    let alone = params.fit(&Samples::new(&data, n, d).unwrap()).unwrap();
    let together = |job: &(dyn Fn(usize, &Samples<'_>) -> crate::error::Result<Model> + Sync)| -> Vec<_> {
        std::thread::scope(|scope| {
            let threads = Two::pair().into_iter().enumerate().map(|(rank, team)| {
                let own = if rank == 0 { 0..10 } else { 10..n };
                let part = &data[own.start * d..own.end * d];
                scope.spawn(move || job(rank, &Samples::new(part, own.len(), d).unwrap().with_team(team).unwrap()))
            });
            threads.collect::<Vec<_>>().into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    };
    let models: Vec<Model> = together(&|_, samples| params.fit(samples)).into_iter().map(Result::unwrap).collect();
    assert_eq!(bits(&models[0]), bits(&models[1]));
    assert!((models[0].loss() / alone.loss() - 1.0).abs() < 1e-9 && models[0].starts() == 2);
    check_fit(&Samples::new(&data, n, d).unwrap(), &models[0]);
    // One of them wants to stop.
    let stopped = together(&|rank, samples| {
        params.fit_observed(samples, &mut |progress: &Progress<'_>| match (rank, progress.iteration.iteration) {
            (1, 2) => Control::Stop,
            _ => Control::Continue,
        })
    });
    for model in stopped.into_iter().map(Result::unwrap) {
        assert_eq!((model.termination(), model.history().len()), (Termination::Interrupted, 3));
    }
    // Members that do not do the same are told apart.
    let other = Ewca::params(2).epsilon(7.0).check().unwrap();
    let same = Ewca::params(2).epsilon(8.0).check().unwrap();
    for result in together(&|rank, samples| if rank == 0 { other.fit(samples) } else { same.fit(samples) }) {
        assert_eq!(result.unwrap_err(), Error::Team { what: "the loss" });
    }
}

#[test]
fn starts_may_be_given() {
    let data = groups(24, 5);
    let samples = Samples::new(&data, 24, 5).unwrap();
    let params = Ewca::params(2).epsilon(20.0);
    let pca = params.clone().fit(&samples).unwrap();
    let given = params.clone().start(Start::Loadings(pca.components().clone())).fit(&samples).unwrap();
    assert!(given.starts() == 1 && given.iterations() <= 1 && (given.loss() / pca.loss() - 1.0).abs() < 1e-9);
    let random = params.clone().start(Start::Random).fit(&samples).unwrap();
    check_fit(&samples, &random);
    assert!(random.starts() == 1 && random.history()[0].loss > pca.history()[0].loss);
    let wrong = |loadings: Matrix| params.clone().start(Start::Loadings(loadings)).fit(&samples).unwrap_err();
    assert_eq!(wrong(Matrix::zeros(4, 2)), Error::Columns { expected: 5, found: 4 });
    // The same direction twice, and one that is a little different.
    let twice = |angle: f64| {
        Matrix::from_fn(5, 2, |i, j| match (i, j) {
            (0, _) => 1.0,
            (1, 1) => angle,
            _ => 0.0,
        })
    };
    assert!(matches!(wrong(twice(0.0)), Error::Parameter { name: "start", .. }));
    assert!(matches!(wrong(twice(1e-6).scaled(1e3)), Error::Parameter { name: "start", .. }));
    let given = params.clone().start(Start::Loadings(twice(1e-4))).fit(&samples).unwrap();
    assert!((given.loss() / pca.loss() - 1.0).abs() < 0.5 && given.converged());
    for (samples, start, starts) in
        [(samples.clone(), Start::Pca, 2), (Samples::new(&data[..60], 30, 2).unwrap(), Start::Pca, 1)]
    {
        assert_eq!(params.clone().start(start).fit(&samples).unwrap().starts(), starts);
    }
}

#[test]
fn what_cannot_be_fitted_is_refused() {
    let data = groups(6, 3);
    let samples = Samples::new(&data, 6, 3).unwrap();
    let error = |params: Params| params.fit(&samples).unwrap_err();
    let named = |params: Params| match error(params) {
        Error::Parameter { name, .. } => name,
        other => panic!("{other}"),
    };
    assert_eq!(error(Ewca::params(4)), Error::Components { requested: 4, rank: 3 });
    assert!(Ewca::params(3).epsilon(9.0).fit(&samples).is_ok());
    assert_eq!(named(Ewca::params(0)), "k");
    for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e-310] {
        assert_eq!(named(Ewca::params(1).epsilon(epsilon)), "epsilon");
    }
    for perplexity in [1.0, 0.5, f64::NAN, f64::INFINITY, 6.0, 7.0] {
        assert_eq!(named(Ewca::params(1).perplexity(perplexity)), "perplexity");
    }
    assert!(Ewca::params(1).perplexity(5.5).fit(&samples).is_ok());
    for tolerance in [0.0, -1.0, 1.0, 2.0, f64::NAN] {
        assert_eq!(named(Ewca::params(1).tolerance(tolerance)), "tolerance");
    }
    assert_eq!(named(Ewca::params(1).max_iterations(0)), "max_iterations");
    for threads in [0, 1025] {
        assert_eq!(named(Ewca::params(1).threads(threads)), "threads");
    }
    assert!(Ewca::params(1).threads(1024).check().is_ok() && Ewca::params(1).threads(1).check().is_ok());
    let none = MmParams { inner_steps: 0, ..MmParams::default() };
    assert_eq!(named(Ewca::params(1).solver(Solver::Mm(none))), "inner_steps");
    for landmarks in [0, 1] {
        assert_eq!(named(Ewca::params(1).landmarks(landmarks)), "landmarks");
    }
    assert_eq!(named(Ewca::params(1).landmarks(2).solver(Solver::Bcd)), "solver");
    assert!(Ewca::params(1).landmarks(2).solver(Solver::Lbfgs).check().is_ok());
    assert_eq!(named(Ewca::params(1).start(Start::Loadings(Matrix::zeros(3, 2)))), "start");
    let nan = Matrix::from_fn(3, 1, |_, _| f64::NAN);
    assert_eq!(named(Ewca::params(1).start(Start::Loadings(nan))), "start");
    // The largest epsilon is 1e18 times the largest variance.
    let variance = Ewca::params(1).pca(&samples).unwrap().eigenvalues[0];
    assert_eq!(named(Ewca::params(1).epsilon(1.001e18 * variance)), "epsilon");
    assert!(Ewca::params(1).epsilon(0.999e18 * variance).fit(&samples).is_ok());
    // Two processes of one sample each have nothing to be unlike.
    let two = Samples::new(&data[..6], 2, 3).unwrap();
    let error = Ewca::params(1).perplexity(2.0).fit(&two).unwrap_err();
    assert!(error.to_string().contains("below the number of samples, 2"), "{error}");
    assert!(Ewca::params(1).fit(&two).is_ok());
}

#[test]
fn scores_of_new_samples_and_back() {
    let data = groups(20, 4);
    let samples = Samples::new(&data, 20, 4).unwrap();
    let model = Ewca::params(2).epsilon(20.0).fit(&samples).unwrap();
    assert_eq!((model.n_components(), model.n_features(), model.n_samples()), (2, 4, 20));
    let scores = model.transform(&data[..12], 3).unwrap();
    for (i, j) in (0..3).flat_map(|i| (0..2).map(move |j| (i, j))) {
        assert!((scores.get(i, j) - model.scores().get(i, j)).abs() < 1e-12 * model.scores().norm());
    }
    let back = model.inverse_transform(&scores).unwrap();
    for (i, l) in (0..3).flat_map(|i| (0..4).map(move |l| (i, l))) {
        let wanted = model.mean()[l] + (0..2).map(|j| scores.get(i, j) * model.components().get(l, j)).sum::<f64>();
        assert!((back.get(i, l) - wanted).abs() < 1e-12 * model.scores().norm());
    }
    let sparse = model.transform_sparse(&[0, 1, 3], &[2, 0, 3], &[1.5, -2.0, 4.0]).unwrap();
    let dense = model.transform(&[0.0, 0.0, 1.5, 0.0, -2.0, 0.0, 0.0, 4.0], 2).unwrap();
    for (x, y) in (0..4).map(|at| (sparse.as_column_major()[at], dense.as_column_major()[at])) {
        assert!((x - y).abs() < 1e-12 * dense.norm());
    }
    assert!(matches!(model.transform::<f64>(&[], 0).unwrap_err(), Error::Shape { expected: 0, found: 0, .. }));
    assert!(matches!(model.transform(&[1.0; 7], 2).unwrap_err(), Error::Shape { rows: 2, columns: 4, .. }));
    assert_eq!(model.transform(&[1.0; 6], 2).unwrap_err(), Error::Columns { expected: 4, found: 3 });
    assert_eq!(model.inverse_transform(&Matrix::zeros(1, 3)).unwrap_err(), Error::Columns { expected: 2, found: 3 });
    // Averages over partners, weighted by the plan's rows.
    let plan = model.plan();
    let averaged = model.barycentric_scores();
    for i in 0..20 {
        let row = plan.shares(&model.scores().row(i));
        for j in 0..2 {
            let wanted: f64 = (0..20).map(|p| row[p] * model.scores().get(p, j)).sum();
            assert!((averaged.get(i, j) - wanted).abs() < 1e-6 * model.scores().norm());
        }
    }
}

#[test]
fn what_rounding_hides_is_not_called_converged() {
    // Far from the origin the mean is known to so many digits only.
    let data: Vec<f64> = groups(30, 5).iter().map(|x| x + 1e11).collect();
    let samples = Samples::new(&data, 30, 5).unwrap();
    let pca = Ewca::params(1).pca(&samples).unwrap();
    for (tolerance, hidden) in [(1e-6, false), (1e-12, true)] {
        let model = Ewca::params(2).epsilon(9.0).tolerance(tolerance).single_start().fit(&samples).unwrap();
        let mean = model.mean().iter().map(|m| m * m).sum::<f64>().sqrt();
        for (said, variance) in model.certificate().rounding.iter().zip(model.explained_variance()) {
            let variance = variance * model.variance_divisor();
            let coordinates = 4.0 * f64::EPSILON * (pca.eigenvalues[0] / variance).sqrt();
            let wanted = coordinates + (f64::EPSILON * mean).powi(2) / variance;
            assert!((said / wanted - 1.0).abs() < 1e-6, "{said} {wanted}");
            assert_eq!(*said > tolerance, hidden);
        }
        let wanted = if hidden { Termination::Stalled } else { Termination::Converged };
        assert_eq!(model.termination(), wanted);
    }
}

#[test]
fn memory_is_told_for_shapes_and_for_samples() {
    let (n, d) = (10, 40);
    let data = groups(n, d);
    let params = Ewca::params(2).epsilon(9.0).check().unwrap();
    let table = Table(&data, d);
    let streamed: Samples<'_> = Samples::streamed(&table).unwrap();
    let whole = Samples::new(&data, n, d).unwrap();
    let (in_memory, not_in_memory) =
        (params.memory_needed(n, d).unwrap(), params.memory_needed_streamed(n, d).unwrap());
    assert_eq!(params.memory_needed_for(&whole), Ok(in_memory));
    assert_eq!(params.memory_needed_for(&streamed), Ok(not_in_memory));
    assert!(in_memory > 8 * n * d && not_in_memory > in_memory);
    let within = |budget: usize| Ewca::params(2).epsilon(9.0).memory_budget(budget).check().unwrap();
    // What may be taken beside that, of what the budget leaves.
    assert_eq!(within(500).memory_kept(5000, 600), 0);
    for n in [n, 5000] {
        assert!(params.memory_kept(n, in_memory) > n * n * 4);
    }
    assert_eq!(within(500).memory_kept(5000, 100), 400);
    assert!(within(in_memory).memory_needed(n, d).is_ok() && within(in_memory / 2).memory_needed(n, d).is_err());
}

#[test]
fn models_and_parameters_of_earlier_versions_are_read() {
    let data = groups(12, 3);
    let samples = Samples::new(&data, 12, 3).unwrap();
    let model = Ewca::params(1).epsilon(9.0).fit(&samples).unwrap();
    let mut json = serde_json::to_value(&model).unwrap();
    for later in ["starts", "agreeing_starts", "kernel_share", "total_count"] {
        assert!(json.as_object_mut().unwrap().remove(later).is_some());
    }
    let old: Model = serde_json::from_value(json).unwrap();
    assert_eq!((old.starts(), old.agreeing_starts(), old.kernel_share(), old.total_count()), (1, 1, 1.0, None));
    let mut json = serde_json::to_value(Ewca::params(1)).unwrap();
    for later in ["skip_far_pairs", "single_precision", "coarse_to_fine", "landmarks", "single_start"] {
        assert!(json.as_object_mut().unwrap().remove(later).is_some());
    }
    assert_eq!(serde_json::from_value::<Params>(json).unwrap(), Ewca::params(1));
}

#[test]
fn the_parts_of_the_time_are_no_more_than_the_whole() {
    let data = groups(40, 6);
    let samples = Samples::new(&data, 40, 6).unwrap();
    let clock = std::time::Instant::now();
    let Timings { reduction, iterations, finish, kernel } =
        Ewca::params(2).perplexity(4.0).fit(&samples).unwrap().timings();
    assert!(reduction + iterations + finish <= clock.elapsed());
    assert!(!iterations.is_zero() && !finish.is_zero());
    assert!(!kernel.is_zero() && kernel <= iterations + finish);
}

#[test]
fn a_sample_of_rows_tells_how_far_landmarks_are_from_the_exact_kernel() {
    // About a thousand of 1400 rows are looked at.
    let n = 1400;
    let data = gaussian(n, 2, 9);
    let samples = Samples::new(&data, n, 2).unwrap();
    let model = Ewca::params(1).epsilon(0.05).landmarks(12).tolerance(1e-3).fit(&samples).unwrap();
    let said = model.certificate().approximation.unwrap();
    assert!(said.rows < n);
    let (z, g) = (model.scores().column(0), model.potential());
    let share = |i: usize, j: usize| ((g[i] + g[j] - (z[i] - z[j]).powi(2)) / model.epsilon()).exp() / n as f64;
    let error = |i: usize| ((0..n).map(|j| share(i, j)).sum::<f64>() - 1.0).abs();
    let wanted = (0..n).map(error).sum::<f64>() / n as f64;
    assert!((said.marginal_error / wanted - 1.0).abs() < 0.1, "{} {wanted}", said.marginal_error);
}
