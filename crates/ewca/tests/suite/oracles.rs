//! What must hold by mathematics, whatever the data: limits, symmetries, closed forms.

use crate::common::{cases, check_fit, product, subspace_distance, weighted_variances};
use ewca::{Ewca, Matrix, MmParams, Model, Params, Samples, Solver, Start, self_transport};
use proptest::prelude::*;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Clustered data with distinct variances: row-major n x d.
fn data(n: usize, d: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let mut normal = || -> f64 { StandardNormal.sample(&mut random) };
    let centres: Vec<f64> = (0..3 * d).map(|_| 2.0 * normal()).collect();
    (0..n * d)
        .map(|at| {
            let (i, j) = (at / d, at % d);
            centres[(i % 3) * d + j] / (1.0 + j as f64) + normal() / (1.0 + 0.7 * j as f64)
        })
        .collect()
}

fn variance(data: &[f64], d: usize) -> f64 {
    let n = data.len() / d;
    (0..d)
        .map(|j| {
            let column = || (0..n).map(|i| data[i * d + j]);
            let mean = column().sum::<f64>() / n as f64;
            column().map(|x| (x - mean).powi(2)).sum::<f64>() / n as f64
        })
        .sum()
}

fn fit(data: &[f64], d: usize, k: usize, epsilon: f64) -> Model {
    checked_fit(&Samples::new(data, data.len() / d, d).unwrap(), Ewca::params(k).epsilon(epsilon))
}

/// The fit that begins where another one ended. From a saddle, rounding decides which way a fit goes, so that two fits of the same
/// samples in another order, scale or position may rightly end in different optima: each must hold what the other found.
fn refit(data: &[f64], d: usize, found: &Matrix, epsilon: f64) -> Model {
    let start = Start::Loadings(found.clone());
    let params = Ewca::params(found.columns()).epsilon(epsilon).start(start);
    checked_fit(&Samples::new(data, data.len() / d, d).unwrap(), params)
}

fn checked_fit(samples: &Samples<'_>, params: Params) -> Model {
    let model = params.tolerance(1e-8).fit(samples).unwrap();
    check_fit(samples, &model);
    model
}

/// Shapes on both sides of n = d.
fn shape() -> impl Strategy<Value = (usize, usize, usize, u64)> {
    (4usize..24, 2usize..30).prop_flat_map(|(n, d)| {
        let most = (n - 1).min(d).min(4);
        (Just(n), Just(d), 1..=most, 0u64..1000)
    })
}

proptest! {
    #![proptest_config(cases(40))]

    /// epsilon -> 0 is PCA: the explained variances are the leading ones, and the subspace does not move.
    #[test]
    fn small_epsilon_is_pca((n, d, k, seed) in shape()) {
        let x = data(n, d, seed);
        let total = variance(&x, d);
        let pca = fit(&x, d, k, 1e-12 * total);
        prop_assert!(pca.converged());
        prop_assert!(pca.distance_to_pca() < 1e-6);
        for (v, m) in weighted_variances(&pca).iter().zip(&pca.certificate().eigenvalues) {
            prop_assert!((v - m).abs() < 1e-9 * total);
        }
        prop_assert!(pca.perplexity().max < 1.0 + 1e-6);
    }

    /// epsilon -> infinity is the k smallest eigenvectors: M -> -Sigma.
    #[test]
    fn large_epsilon_is_the_smallest_eigenvectors((n, d, k, seed) in shape()) {
        let x = data(n, d, seed);
        let total = variance(&x, d);
        let samples = Samples::new(&x, n, d).unwrap();
        let rank = (n - 1).min(d);
        let all = Ewca::params(rank).epsilon(1e-9 * total).fit(&samples).unwrap().explained_variance().to_vec();
        let collapsed = fit(&x, d, k, 1e12 * total);
        prop_assert!(collapsed.certificate().collapsed);
        let kept: f64 = collapsed.explained_variance().iter().sum();
        let smallest: f64 = all[rank - k..].iter().sum();
        prop_assert!((kept - smallest).abs() < 1e-7 * total, "{kept} {smallest}");
        prop_assert!((collapsed.perplexity().overall - n as f64).abs() < 1e-3 * n as f64);
    }

    /// X -> cX with epsilon -> c^2 epsilon leaves U and multiplies the loss by c^2.
    #[test]
    fn scaling((n, d, k, seed) in shape(), exponent in -6.0f64..6.0, relative in -2.0f64..0.5) {
        let x = data(n, d, seed);
        let c = 10f64.powf(exponent);
        let epsilon = 10f64.powf(relative) * variance(&x, d);
        let one = fit(&x, d, k, epsilon);
        let scaled: Vec<f64> = x.iter().map(|x| c * x).collect();
        let other = refit(&scaled, d, one.components(), c * c * epsilon);
        prop_assume!(one.converged() && other.converged());
        prop_assert!((other.loss() / (c * c) - one.loss()).abs() <= 1e-7 * one.loss().abs());
        prop_assert!(subspace_distance(one.components(), other.components()) < 1e-4 * eigengap_factor(&one));
    }

    /// Powers of two scale without any rounding: the very same bits.
    #[test]
    fn scaling_by_powers_of_four_is_exact((n, d, k, seed) in shape(), power in -10i32..10) {
        let x = data(n, d, seed);
        let epsilon = 0.3 * variance(&x, d);
        let c = 4f64.powi(power);
        let one = fit(&x, d, k, epsilon);
        let other = fit(&x.iter().map(|x| c * x).collect::<Vec<_>>(), d, k, c * c * epsilon);
        prop_assert_eq!(one.components(), other.components());
        prop_assert_eq!(one.loss() * c * c, other.loss());
    }

    /// A translation changes the mean only; a permutation of samples permutes the scores; a rotation of features turns U.
    #[test]
    fn translation_permutation_rotation((n, d, k, seed) in shape(), relative in -2.0f64..0.3) {
        let x = data(n, d, seed);
        let epsilon = 10f64.powf(relative) * variance(&x, d);
        let one = fit(&x, d, k, epsilon);
        prop_assume!(one.converged());
        let close = 1e-4 * eigengap_factor(&one);

        let moved: Vec<f64> = x.iter().enumerate().map(|(at, x)| x + 100.0 * (at % d) as f64).collect();
        let moved = refit(&moved, d, one.components(), epsilon);
        prop_assert!((moved.loss() - one.loss()).abs() < 1e-7 * one.loss().abs());
        prop_assert!(subspace_distance(one.components(), moved.components()) < close);
        prop_assert!((moved.mean()[d - 1] - one.mean()[d - 1] - 100.0 * (d - 1) as f64).abs() < 1e-9);

        let reversed: Vec<f64> = (0..n).rev().flat_map(|i| x[i * d..(i + 1) * d].to_vec()).collect();
        let reversed = refit(&reversed, d, one.components(), epsilon);
        prop_assert!((reversed.loss() - one.loss()).abs() < 1e-7 * one.loss().abs());
        prop_assert!(subspace_distance(one.components(), reversed.components()) < close);

        // A product of plane rotations.
        let mut turned = x.clone();
        let mut rotation = Matrix::from_fn(d, d, |i, j| if i == j { 1.0 } else { 0.0 });
        for axis in 0..d - 1 {
            let (s, c) = (0.3 + axis as f64).sin_cos();
            for row in turned.chunks_exact_mut(d) {
                (row[axis], row[axis + 1]) = (c * row[axis] - s * row[axis + 1], s * row[axis] + c * row[axis + 1]);
            }
            for j in 0..d {
                let (p, q) = (rotation.get(axis, j), rotation.get(axis + 1, j));
                rotation.set(axis, j, c * p - s * q);
                rotation.set(axis + 1, j, s * p + c * q);
            }
        }
        let expected = product(&rotation, one.components());
        let turned = refit(&turned, d, &expected, epsilon);
        prop_assert!((turned.loss() - one.loss()).abs() < 1e-7 * one.loss().abs());
        prop_assert!(subspace_distance(&expected, turned.components()) < close);
    }

    /// Integer weights equal repeated rows, and a data set repeated as a whole keeps U and loss.
    #[test]
    fn weights_are_repetitions((n, d, k, seed) in shape(), relative in -1.5f64..0.3) {
        check_repetitions((n, d, k, seed), relative, |rows, epsilon, found| refit(rows, d, found, epsilon))?;
    }

    /// Any scale and any epsilon: finite numbers, an honest certificate, no panic.
    #[test]
    fn extremes((n, d, k, seed) in shape(), exponent in -6.0f64..6.0, relative in -12.0f64..12.0) {
        let c = 10f64.powf(exponent);
        let x: Vec<f64> = data(n, d, seed).iter().map(|x| c * x).collect();
        let epsilon = 10f64.powf(relative) * variance(&x, d);
        let samples = Samples::new(&x, n, d).unwrap();
        for solver in [Solver::Lbfgs, Solver::Bcd, Solver::Mm(MmParams::default())] {
            let model = Ewca::params(k).epsilon(epsilon).solver(solver).max_iterations(300).fit(&samples).unwrap();
            check_fit(&samples, &model);
        }
    }
}

/// How much a small gradient may turn the subspace: the inverse of the relative gap after the k-th eigenvalue of M.
fn eigengap_factor(model: &Model) -> f64 {
    let values = &model.certificate().eigenvalues;
    match model.certificate().next_eigenvalue {
        Some(next) => (values[0].abs().max(next.abs()) / (values[values.len() - 1] - next).abs()).max(1.0),
        None => 1.0,
    }
}

/// Gaussian data, one direction of variance s2: Cov_pi(z, z') = sqrt(s2^2 + eps^2 / 16) - eps / 4, up to sampling error, and the
/// direction attracts (2 cov - s2 > 0) iff eps < 3 s2.
#[test]
fn the_gaussian_closed_form() {
    let n = 4000;
    let mut random = ChaCha8Rng::seed_from_u64(42);
    let z: Vec<f64> = (0..n).map(|_| StandardNormal.sample(&mut random)).collect();
    let s2 = z.iter().map(|z| z * z).sum::<f64>() / n as f64;
    let scores = Matrix::from_row_major(n, 1, &z).unwrap();
    for relative in [0.3, 1.0, 2.0, 2.7, 3.3, 6.0, 30.0] {
        let epsilon: f64 = relative * s2;
        let (plan, error) = self_transport(&scores, &vec![1.0 / n as f64; n], epsilon, 1e-10).unwrap();
        assert!(error <= 1e-10);
        let carried = plan.apply_vector(&z);
        let covariance: f64 = z.iter().zip(&carried).map(|(x, y)| x * y).sum();
        let closed_form = (s2 * s2 + epsilon * epsilon / 16.0).sqrt() - epsilon / 4.0;
        assert!((covariance - closed_form).abs() < 0.03 * s2, "epsilon {epsilon}: {covariance} {closed_form}");
        assert_eq!(2.0 * covariance - s2 > 0.0, relative < 3.0, "epsilon = {relative} s2");
    }
}

/// Algorithms 1 and 2 with converged plans never raise the loss.
#[test]
fn bcd_and_mm_descend() {
    for (n, d, k, seed) in [(40, 8, 2, 1), (25, 60, 3, 2)] {
        let x = data(n, d, seed);
        let samples = Samples::new(&x, n, d).unwrap();
        for relative in [0.05, 0.5, 1.0] {
            for solver in [Solver::Bcd, Solver::Mm(MmParams::default())] {
                let params = Ewca::params(k).epsilon(relative * variance(&x, d)).solver(solver).tolerance(1e-8);
                let model = params.max_iterations(5000).fit(&samples).unwrap();
                check_fit(&samples, &model);
                assert!(model.history().len() > 2);
                for pair in model.history().windows(2) {
                    assert!(pair[1].loss <= pair[0].loss + 1e-10 * pair[0].loss.abs(), "{}", solver.name());
                }
            }
        }
    }
}

/// At a huge epsilon the PCA start is stationary and is the worst subspace: every solver must leave it.
#[test]
fn saddles_are_left() {
    let x = data(40, 6, 3);
    let samples = Samples::new(&x, 40, 6).unwrap();
    for solver in [Solver::Lbfgs, Solver::Bcd, Solver::Mm(MmParams::default())] {
        let model = Ewca::params(2).epsilon(1e6 * variance(&x, 6)).solver(solver).fit(&samples).unwrap();
        check_fit(&samples, &model);
        assert!(model.converged() && model.certificate().collapsed);
        assert!(model.certificate().eigen_deficit < 1e-8);
        assert!(model.distance_to_pca() > 2.0, "{}", solver.name());
    }
}

/// That weights are repetitions, and that a data set repeated as a whole is the same: `fit(rows, epsilon, found)` fits the repeated
/// rows, where `found` are the components of the fit without repetition.
fn check_repetitions(
    (n, d, k, seed): (usize, usize, usize, u64),
    relative: f64,
    fit_repeated: impl Fn(&[f64], f64, &Matrix) -> Model,
) -> Result<(), TestCaseError> {
    let x = data(n, d, seed);
    let epsilon = 10f64.powf(relative) * variance(&x, d);
    let weights: Vec<f64> = (0..n).map(|i| (1 + i % 3) as f64).collect();
    let weighted = Samples::new(&x, n, d).unwrap().with_weights(&weights).unwrap();
    let by_weight: Vec<f64> = (0..n).flat_map(|i| x[i * d..(i + 1) * d].repeat(weights[i] as usize)).collect();
    for (samples, rows) in [(weighted, by_weight), (Samples::new(&x, n, d).unwrap(), x.repeat(2))] {
        let one = checked_fit(&samples, Ewca::params(k).epsilon(epsilon).restarts(12));
        let other = fit_repeated(&rows, epsilon, one.components());
        prop_assume!(one.converged() && other.converged());
        prop_assert!((one.loss() - other.loss()).abs() < 1e-7 * one.loss().abs(), "{} {}", one.loss(), other.loss());
        prop_assert!(subspace_distance(one.components(), other.components()) < 1e-4 * eigengap_factor(&one));
    }
    Ok(())
}

/// Two starts went different ways here, and what they found depended on how often samples were repeated: several starts find the
/// same optimum, wherever they begin.
#[test]
fn weights_are_repetitions_where_optima_compete() {
    for (shape, relative) in [((23, 11, 3, 114), -0.5276134058705878), ((12, 7, 3, 250), 0.27038896979248717)] {
        let (_, d, k, _) = shape;
        let from_pca = |rows: &[f64], epsilon: f64, _: &Matrix| {
            checked_fit(&Samples::new(rows, rows.len() / d, d).unwrap(), Ewca::params(k).epsilon(epsilon).restarts(12))
        };
        check_repetitions(shape, relative, from_pca).unwrap();
    }
}
