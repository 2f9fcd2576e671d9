//! Fits with landmarks: near the exact ones where they can be, and honest where they cannot.

use crate::common::subspace_distance;
use crate::many::clouds;
use ewca::{Approximation, Control, Error, Ewca, FitState, Model, Params, Progress, Samples, Solver, Unobserved};

const D: usize = 6;

fn fit(params: Params, data: &[f64]) -> Model {
    params.fit(&Samples::new(data, data.len() / D, D).unwrap()).unwrap()
}

fn text(model: &Model) -> String {
    serde_json::to_string(model).unwrap()
}

fn approximation(model: &Model) -> Approximation {
    model.certificate().approximation.unwrap()
}

/// sum_i |(pi 1)_i - a_i| with the exact kernel, by plain loops.
fn true_marginal_error(model: &Model) -> f64 {
    let (z, g, a, k) = (model.scores(), model.potential(), model.weights(), model.n_components());
    let error = |i: usize| {
        let entry = |j: usize| {
            let d: f64 = (0..k).map(|l| (z.get(i, l) - z.get(j, l)).powi(2)).sum();
            a[i] * a[j] * ((g[i] + g[j] - d) / model.epsilon()).exp()
        };
        ((0..a.len()).map(entry).sum::<f64>() - a[i]).abs()
    };
    (0..a.len()).map(error).sum()
}

/// What is said of the error is right within a factor of two.
fn check_estimate(model: &Model) {
    let (said, truth) = (approximation(model), true_marginal_error(model));
    assert!(said.marginal_error < 2.0 * truth && truth < 2.0 * said.marginal_error, "{said:?}, not {truth}");
    assert!(said.worst_row >= said.marginal_error && said.rows == 1024.min(model.n_samples()));
}

#[test]
fn landmarks_agree_with_the_exact_fit_and_know_their_error() {
    let data = clouds(4000);
    let exact = fit(Ewca::params(2).perplexity(400.0), &data);
    assert_eq!(exact.certificate().approximation, None);
    for (landmarks, close) in [(1000, 1e-6), (250, 1e-3)] {
        let at = |params: Params| fit(params.landmarks(landmarks), &data);
        let model = at(Ewca::params(2).epsilon(exact.epsilon()));
        check_estimate(&model);
        let said = approximation(&model);
        assert_eq!(said.landmarks, landmarks);
        assert!(model.converged() && model.certificate().relative_gradient <= 1e-6);
        assert!(model.certificate().marginal_error <= 1e-9);
        assert!(said.marginal_error < close, "{said:?}");
        assert!((model.loss() / exact.loss() - 1.0).abs() < close);
        let distance = subspace_distance(model.components(), exact.components());
        assert!(distance < close.max(1e-5), "{landmarks}: {distance}");
        // What the exact kernel says of this subspace is what its own fit says.
        let truth = exact.certificate().relative_gradient;
        assert!(said.relative_gradient < 10.0 * (close + truth), "{said:?}");
        // The perplexity is that of a sample of the rows.
        assert!(
            (model.perplexity().overall / exact.perplexity().overall - 1.0).abs() < 0.03,
            "{:?}",
            model.perplexity()
        );
        let wanted = at(Ewca::params(2).perplexity(400.0));
        assert!(wanted.converged() && (wanted.perplexity().overall / 400.0 - 1.0).abs() < 8.1e-3);
        assert!((wanted.epsilon() / exact.epsilon() - 1.0).abs() < 0.03, "{} {}", wanted.epsilon(), exact.epsilon());
    }
}

#[test]
fn too_few_landmarks_are_told() {
    let data = clouds(3000);
    for landmarks in [2, 30] {
        let model = fit(Ewca::params(2).perplexity(20.0).landmarks(landmarks), &data);
        check_estimate(&model);
        assert!(approximation(&model).marginal_error > 0.01, "{:?}", approximation(&model));
    }
}

#[test]
fn as_many_landmarks_as_samples_are_the_exact_fit() {
    let data = clouds(500);
    let exact = fit(Ewca::params(2).perplexity(50.0), &data);
    for landmarks in [500, 10_000] {
        let model = fit(Ewca::params(2).perplexity(50.0).landmarks(landmarks), &data);
        // All but what was asked for.
        assert_eq!(model.params().landmarks(), Some(landmarks));
        let mut parts = model.clone().into_parts();
        parts.params = exact.params().clone();
        assert_eq!(text(&Model::from_parts(parts).unwrap()), text(&exact));
        assert_eq!(model.certificate().approximation, None);
    }
}

#[test]
fn threads_and_interruptions_do_not_change_bits() {
    let data = clouds(5000);
    let params = || Ewca::params(2).perplexity(200.0).landmarks(300).tolerance(1e-4);
    let models = [1, 2, 8].map(|threads| text(&fit(params().threads(threads), &data)));
    assert!(models[0] == models[1] && models[1] == models[2]);
    let samples = Samples::new(&data, data.len() / D, D).unwrap();
    let params = params().check().unwrap();
    let mut saved: Option<FitState> = None;
    let mut watch = |progress: &Progress<'_>| {
        saved = (progress.iteration.iteration == 6).then(|| progress.state.clone()).or(saved.take());
        if saved.is_some() { Control::Stop } else { Control::Continue }
    };
    params.fit_observed(&samples, &mut watch).unwrap();
    let resumed = params.resume(&samples, saved.unwrap(), &mut Unobserved).unwrap();
    assert_eq!(text(&resumed), models[0]);
}

#[test]
fn far_and_repeated_and_weightless_samples_do_no_harm() {
    let mut data = clouds(1500);
    // Far from all others, and from all landmarks but for one of them at most.
    for (i, far) in [(3, 1e3), (700, -2e3), (701, -2e3 - 1.0)] {
        data[i * D + 1] += far;
    }
    data.copy_within(0..200 * D, 300 * D);
    let weights: Vec<f64> = (0..1500).map(|i| if i % 50 == 7 { 0.0 } else { 1.0 + (i % 3) as f64 }).collect();
    let samples = Samples::new(&data, 1500, D).unwrap().with_weights(&weights).unwrap();
    for landmarks in [2, 20, 400] {
        let model = Ewca::params(2).perplexity(100.0).landmarks(landmarks).fit(&samples).unwrap();
        let said = approximation(&model);
        let numbers = [model.potential(), model.scores().as_column_major(), &[model.loss(), said.relative_gradient]];
        assert!(numbers.iter().all(|numbers| numbers.iter().all(|x| x.is_finite())));
        assert!(said.marginal_error.is_finite() && said.worst_row.is_finite());
        assert!(landmarks < 400 || said.marginal_error < 0.01, "{said:?}");
    }
}

#[test]
fn impossible_wishes_are_refused() {
    let refused = |params: Params| matches!(params.check(), Err(Error::Parameter { .. }));
    assert!(refused(Ewca::params(2).landmarks(1)));
    assert!(refused(Ewca::params(2).landmarks(100).solver(Solver::Bcd)));
    let memory = |params: Params| params.check().unwrap().memory_needed(1_000_000, 20).unwrap();
    assert!(memory(Ewca::params(2).landmarks(5000)) > memory(Ewca::params(2)) + 5000 * 5000 * 8);
}
