//! Ways to choose epsilon without labels.
//!
//! Each is a score of a fit, taken at each epsilon of a grid; the epsilon with the largest score is chosen. Fits that collapsed are
//! left out.

use ewca::{Ewca, Matrix, Model, Pca, Samples};
use ewca_eval::{KMeans, Neighbours, silhouette, squared_distance};
use rand::SeedableRng;
use rand::seq::SliceRandom;
use rand_chacha::ChaCha8Rng;

use super::EvidenceSet;

/// Pairs of halves for the stability.
const HALVES: u64 = 5;
/// Neighbours that are compared between the data and the scores.
const NEAREST: usize = 10;

/// The position in `grid` that each rule chooses.
pub fn choices(
    set: &EvidenceSet,
    pca: &Pca,
    grid: &[Model],
    raw: &Neighbours,
    seed: u64,
) -> ewca::Result<Vec<(String, usize)>> {
    let best = |score: &dyn Fn(&Model) -> f64| {
        let scores: Vec<f64> =
            grid.iter().map(|m| if m.certificate().collapsed { f64::NAN } else { score(m) }).collect();
        highest(&scores)
    };
    let mut found = vec![
        ("bandwidth".to_string(), best(&|m| likelihood(&pca.scores, m.epsilon()))),
        (
            "likelihood of the scores".to_string(),
            best(&|m| likelihood(m.scores(), m.epsilon()) + gaussian(m.explained_variance())),
        ),
        ("likelihood of the samples".to_string(), best(&sample_likelihood)),
        ("eigengap of M".to_string(), best(&|m| eigengap(m) / m.certificate().eigenvalues[0])),
        ("eigengap of the plan".to_string(), best(&plan_gap)),
        ("reconstruction".to_string(), best(&|m| -reconstruction(set, m))),
        ("neighbours kept".to_string(), best(&|m| raw.agreement(&Neighbours::new(m.scores()), NEAREST))),
        ("silhouette of k-means".to_string(), best(&|m| clustered(m.scores(), seed))),
        ("not collapsed".to_string(), best(&|m| m.epsilon())),
    ];
    let kept = |m: &Model| m.explained_variance().iter().sum::<f64>() / pca.explained_variance.iter().sum::<f64>();
    for least in [0.99, 0.95, 0.9] {
        let score = |m: &Model| if kept(m) >= least { m.epsilon() } else { -m.epsilon() };
        found.push((format!("{}% of PCA's variance", 100.0 * least), best(&score)));
    }
    let steady = stability(set, pca.scores.columns(), grid, seed)?;
    found.push(("stability".to_string(), highest(&steady)));
    Ok(found)
}

/// The position of the largest score; ties go to the last, NaN never wins; the first where all are NaN.
fn highest(scores: &[f64]) -> usize {
    let mut best = 0;
    for (at, &score) in scores.iter().enumerate() {
        if score >= scores[best] || (scores[best].is_nan() && !score.is_nan()) {
            best = at;
        }
    }
    best
}

/// The mean log-density of each point under Gaussians about all others, of the width that the kernel exp(-|x - y|^2 / epsilon) has.
fn likelihood(points: &Matrix, epsilon: f64) -> f64 {
    let (n, k) = (points.rows(), points.columns());
    let rows: Vec<Vec<f64>> = (0..n).map(|i| points.row(i)).collect();
    let unit = 0.5 * k as f64 * (std::f64::consts::PI * epsilon).ln() + ((n - 1) as f64).ln();
    let one = |i: usize| {
        let logs: Vec<f64> =
            (0..n).filter(|&j| j != i).map(|j| -squared_distance(&rows[i], &rows[j]) / epsilon).collect();
        let largest = logs.iter().fold(f64::NEG_INFINITY, |m: f64, &x| m.max(x));
        largest + logs.iter().map(|x| (x - largest).exp()).sum::<f64>().ln() - unit
    };
    (0..n).map(one).sum::<f64>() / n as f64
}

/// The entropy of a Gaussian with these variances: what the scores' log-density gains over it does not depend on their scale.
fn gaussian(variances: &[f64]) -> f64 {
    variances.iter().map(|v| 0.5 * (2.0 * std::f64::consts::PI * std::f64::consts::E * v).ln()).sum()
}

/// The likelihood of the scores, and of what they leave as a round Gaussian.
fn sample_likelihood(model: &Model) -> f64 {
    let explained: f64 = model.explained_variance().iter().sum();
    let total = explained / model.explained_variance_ratio().iter().sum::<f64>();
    let others = (model.rank() - model.n_components()) as f64;
    let rest = gaussian(&[(total - explained) / others]) * others;
    likelihood(model.scores(), model.epsilon()) - rest
}

/// How far the subspace's directions are from the next one, in M.
fn eigengap(model: &Model) -> f64 {
    let next = model.certificate().next_eigenvalue.unwrap_or(0.0);
    model.certificate().eigenvalues[model.n_components() - 1] - next
}

/// The largest gap between successive eigenvalues of the row-normalised plan, after the first (which is 1): how clearly the plan
/// falls into groups.
fn plan_gap(model: &Model) -> f64 {
    let plan = model.plan();
    let n = plan.len();
    let mut dense = faer::Mat::<f64>::zeros(n, n);
    for i in 0..n {
        plan.row(i).iter().enumerate().for_each(|(j, &x)| dense[(i, j)] = n as f64 * x);
    }
    let Ok(values) = dense.self_adjoint_eigenvalues(faer::Side::Lower) else { return f64::NAN };
    // Ascending: the last is 1.
    values[..n - 1].windows(2).map(|pair| pair[1] - pair[0]).fold(0.0, f64::max)
}

/// The mean squared distance of each sample from the mix of the *others* that the plan gives it.
fn reconstruction(set: &EvidenceSet, model: &Model) -> f64 {
    let plan = model.plan();
    let (n, d) = (plan.len(), set.features);
    let one = |i: usize| {
        let mut row = plan.row(i);
        row[i] = 0.0;
        let sum: f64 = row.iter().sum();
        if sum <= 0.0 {
            return f64::NAN;
        }
        let mut mixed = vec![0.0; d];
        for (j, weight) in row.iter().enumerate().filter(|(_, w)| **w > 1e-6 * sum) {
            mixed.iter_mut().zip(&set.data[j * d..]).for_each(|(m, x)| *m += weight / sum * x);
        }
        squared_distance(&mixed, &set.data[i * d..][..d])
    };
    (0..n).map(one).sum::<f64>() / n as f64
}

/// The best silhouette of k-means with 2 to 8 clusters.
pub fn clustered(points: &Matrix, seed: u64) -> f64 {
    let one = |count: usize| silhouette(points, &KMeans::new(points, count, 5, seed).clusters);
    (2..=8.min(points.rows() - 1)).map(one).fold(f64::NEG_INFINITY, f64::max)
}

/// For each epsilon, how much of the subspace fitted on one half of the samples lies in that of the other half.
fn stability(set: &EvidenceSet, k: usize, grid: &[Model], seed: u64) -> ewca::Result<Vec<f64>> {
    let (n, d) = (set.samples(), set.features);
    let epsilons: Vec<f64> = grid.iter().map(|m| m.epsilon()).collect();
    let mut overlaps = vec![0.0; grid.len()];
    if n / 2 <= k + 1 {
        return Ok(vec![f64::NAN; grid.len()]);
    }
    for pair in 0..HALVES {
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        random.set_stream(pair);
        let mut order: Vec<usize> = (0..n).collect();
        order.shuffle(&mut random);
        let fitted = |members: &[usize]| {
            let data: Vec<f64> = members.iter().flat_map(|&i| &set.data[i * d..][..d]).copied().collect();
            let samples = Samples::new(&data, members.len(), d)?;
            Ewca::params(k).check()?.path(&samples, &epsilons)
        };
        let (one, other) = (fitted(&order[..n / 2])?, fitted(&order[n / 2..])?);
        for ((overlap, one), other) in overlaps.iter_mut().zip(&one).zip(&other) {
            *overlap += shared(one.components(), other.components()) / HALVES as f64;
        }
    }
    Ok(grid.iter().zip(overlaps).map(|(m, o)| if m.certificate().collapsed { f64::NAN } else { o }).collect())
}

/// |U'V|^2 / k: 1 for the same subspace, 0 for orthogonal ones.
fn shared(one: &Matrix, other: &Matrix) -> f64 {
    let k = one.columns();
    let dot = |i: usize, j: usize| one.column(i).iter().zip(other.column(j)).map(|(x, y)| x * y).sum::<f64>();
    (0..k).flat_map(|i| (0..k).map(move |j| (i, j))).map(|(i, j)| dot(i, j).powi(2)).sum::<f64>() / k as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_likelihood_is_that_of_a_kernel_density() {
        // Two points at distance 2, k = 1, epsilon 2: each has density exp(-4 / 2) / sqrt(2 pi) under the other.
        let points = Matrix::from_row_major(2, 1, &[0.0, 2.0]).unwrap();
        let expected = -2.0 - 0.5 * (2.0 * std::f64::consts::PI).ln();
        assert!((likelihood(&points, 2.0) - expected).abs() < 1e-14);
    }

    #[test]
    fn the_best_score_is_last_and_never_missing() {
        assert_eq!(highest(&[1.0, 3.0, f64::NAN, 3.0, 2.0]), 3);
        assert_eq!(highest(&[f64::NAN, -1.0, f64::NAN]), 1);
        assert_eq!(highest(&[f64::NAN, f64::NAN]), 0);
    }

    #[test]
    fn subspaces_share_what_they_should() {
        let plane = Matrix::from_column_major(3, 2, vec![1.0, 0.0, 0.0, 0.0, 1.0, 0.0]).unwrap();
        let other = Matrix::from_column_major(3, 2, vec![0.0, 1.0, 0.0, 0.0, 0.0, 1.0]).unwrap();
        assert_eq!(shared(&plane, &plane), 1.0);
        assert_eq!(shared(&plane, &other), 0.5);
    }
}
