//! PCA, against the eigenvectors of the covariance by Jacobi's method.

use crate::common::{audited, jacobi};
use crate::sparse::{compressed, counts};
use crate::streamed::Table;
use ewca::{Error, Ewca, Matrix, Pca, Samples};

/// The weighted covariance, in plain loops.
fn covariance(data: &[f64], columns: usize, weights: &[f64]) -> (Vec<f64>, Matrix) {
    let total: f64 = weights.iter().sum();
    let rows = || data.chunks(columns).zip(weights);
    let mean: Vec<f64> = (0..columns).map(|j| rows().map(|(row, w)| w * row[j]).sum::<f64>() / total).collect();
    let moment = |i: usize, j: usize| -> f64 {
        rows().map(|(row, w)| w * (row[i] - mean[i]) * (row[j] - mean[j])).sum::<f64>() / total
    };
    (mean.clone(), Matrix::from_fn(columns, columns, moment))
}

/// `divisor`: 1 - 1/n, or what stands for it.
fn check(pca: &Pca, data: &[f64], columns: usize, weights: &[f64], divisor: f64) {
    let (mean, covariance) = covariance(data, columns, weights);
    let (values, vectors) = jacobi(&covariance);
    let (n, k) = (data.len() / columns, pca.components.columns());
    let total: f64 = values.iter().sum();
    for c in 0..k {
        assert!((pca.eigenvalues[c] - values[c]).abs() < 1e-9 * values[0], "eigenvalue {c}");
        assert!((pca.explained_variance[c] * divisor - values[c]).abs() < 1e-9 * values[0], "variance {c}");
        assert!((pca.explained_variance_ratio[c] - values[c] / total).abs() < 1e-9, "ratio {c}");
        let (at, largest) = pca
            .components
            .column(c)
            .iter()
            .enumerate()
            .fold((0, 0.0), |best: (usize, f64), (i, x)| if x.abs() > best.1.abs() { (i, *x) } else { best });
        let sign = (largest * vectors.get(at, c)).signum();
        for i in 0..columns {
            assert!((pca.components.get(i, c) - sign * vectors.get(i, c)).abs() < 1e-6, "loading {i} of {c}");
        }
        for i in 0..n {
            let row = &data[i * columns..(i + 1) * columns];
            let score: f64 = (0..columns).map(|j| (row[j] - mean[j]) * pca.components.get(j, c)).sum();
            assert!((pca.scores.get(i, c) - score).abs() < 1e-9 * values[0].sqrt(), "score {i} of {c}");
        }
    }
    assert!(pca.mean.iter().zip(&mean).all(|(a, b)| (a - b).abs() < 1e-12 * (1.0 + b.abs())));
}

#[test]
fn dense_sparse_weighted_and_streamed_samples_have_the_principal_components_of_their_covariance() {
    let (data, n, d) = audited("wine");
    let samples = Samples::new(&data, n, d).unwrap();
    let (equal, usual) = (vec![1.0; n], 1.0 - 1.0 / n as f64);
    for k in [1, 2, 5, d] {
        check(&Ewca::params(k).pca(&samples).unwrap(), &data, d, &equal, usual);
    }
    let pca = Ewca::params(3).pca(&samples).unwrap();
    assert_eq!((pca.rank, pca.residual), (d, 0.0));
    let same = pca.transform(&samples).unwrap();
    assert!((0..n).all(|i| (0..3).all(|c| (same.get(i, c) - pca.scores.get(i, c)).abs() < 1e-9)));

    let weights: Vec<f64> = (0..n).map(|i| (i % 4) as f64).collect();
    let weighted = Samples::new(&data, n, d).unwrap().with_weights(&weights).unwrap();
    // Of weights only their ratios count; counts are repetitions.
    let total: f64 = weights.iter().sum();
    let squares: f64 = weights.iter().map(|w| (w / total).powi(2)).sum();
    check(&Ewca::params(3).pca(&weighted).unwrap(), &data, d, &weights, 1.0 - squares);
    let counted = Samples::new(&data, n, d).unwrap().with_counts(&weights).unwrap();
    check(&Ewca::params(3).pca(&counted).unwrap(), &data, d, &weights, 1.0 - 1.0 / total);
    // Counts of less than two samples are weights: there is no n - 1 to divide by.
    let shares: Vec<f64> = weights.iter().map(|w| w / total).collect();
    let counted = Samples::new(&data, n, d).unwrap().with_counts(&shares).unwrap();
    check(&Ewca::params(3).pca(&counted).unwrap(), &data, d, &weights, 1.0 - squares);

    let (offsets, positions, values) = compressed(&data, d);
    let sparse = Samples::sparse(&offsets, &positions, &values, d).unwrap();
    check(&Ewca::params(3).pca(&sparse).unwrap(), &data, d, &equal, usual);

    let table = Table::new(&data, d, 50);
    check(&Ewca::params(3).pca(&Samples::<f64>::streamed(&table).unwrap()).unwrap(), &data, d, &equal, usual);
}

/// More than 4096 of both: a few axes are found at random. What is outside of them is taken in, until the components are those of all.
#[test]
fn a_few_axes_are_extended_until_they_hold_the_components() {
    let (n, d) = (4100, 4100);
    let data = counts(n, d, 7);
    let (offsets, positions, values) = compressed(&data, d);
    let samples = Samples::sparse(&offsets, &positions, &values, d).unwrap();
    let pca = Ewca::params(3).tolerance(1e-7).pca(&samples).unwrap();
    assert!(pca.rank < 1000 && pca.residual <= 1e-7);
    // |Sigma u - lambda u|, relative to lambda.
    for (c, lambda) in pca.eigenvalues.iter().enumerate() {
        let u = pca.components.column(c);
        let mut image = vec![0.0; d];
        for (i, row) in data.chunks(d).enumerate() {
            let centred = || row.iter().zip(&pca.mean).map(|(x, mean)| x - mean);
            let score: f64 = centred().zip(u).map(|(x, u)| x * u).sum();
            assert!((score - pca.scores.get(i, c)).abs() < 1e-9 * lambda.sqrt());
            image.iter_mut().zip(centred()).for_each(|(sum, x)| *sum += score * x / n as f64);
        }
        let residual: f64 = image.iter().zip(u).map(|(x, u)| (x - lambda * u).powi(2)).sum();
        assert!(residual.sqrt() < 1e-7 * lambda, "component {c}: {}", residual.sqrt() / lambda);
    }
}

/// PCA is where EWCA begins: the same subspace, scores and signs as at an epsilon that is nothing beside the data.
#[test]
fn it_is_the_limit_of_a_small_epsilon() {
    for name in ["wine", "normal40x300", "digits600"] {
        let (data, n, d) = audited(name);
        let samples = Samples::new(&data, n, d).unwrap();
        let pca = Ewca::params(4).pca(&samples).unwrap();
        let tiny = 1e-12 * pca.explained_variance[3];
        let model = Ewca::params(4).epsilon(tiny).fit(&samples).unwrap();
        let largest = pca.explained_variance[0].sqrt();
        for (a, b) in pca.scores.as_column_major().iter().zip(model.scores().as_column_major()) {
            assert!((a - b).abs() < 1e-9 * largest, "{name}: {a} {b}");
        }
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let data = [1.0, 2.0, 2.0, 4.0, 3.0, 6.0];
    let samples = Samples::new(&data, 3, 2).unwrap();
    assert_eq!(Ewca::params(2).pca(&samples).unwrap_err(), Error::Components { requested: 2, rank: 1 });
    assert!(Ewca::params(0).pca(&samples).is_err());
    let pca = Ewca::params(1).pca(&samples).unwrap();
    let other = Samples::new(&data, 2, 3).unwrap();
    assert_eq!(pca.transform(&other).unwrap_err(), Error::Columns { expected: 2, found: 3 });
}
