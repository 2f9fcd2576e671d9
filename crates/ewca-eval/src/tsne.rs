//! t-SNE (van der Maaten and Hinton 2008), exact and deterministic: for pictures of up to a few thousand points.
//!
//! The usual recipe: affinities of a given perplexity, a start from the principal axes, early exaggeration by 12 for 250
//! iterations, gradient descent with momentum and gains. Every iteration takes O(n^2).

use ewca::{Ewca, Matrix, Samples};
use rayon::prelude::*;

use crate::distance::{rows, squared_distance};

const EXAGGERATION: f64 = 12.0;
const EXAGGERATED_ITERATIONS: usize = 250;
const ITERATIONS: usize = 1000;

/// Points in the plane, one row for each row of `points`.
pub fn embed(points: &Matrix, perplexity: f64) -> ewca::Result<Matrix> {
    let affinities = affinities(points, perplexity);
    let mut map = start(points)?;
    let n = map.len();
    let rate = (n as f64 / EXAGGERATION / 4.0).max(50.0);
    let mut speeds = vec![[0.0; 2]; n];
    let mut gains = vec![[1.0; 2]; n];
    for iteration in 0..ITERATIONS {
        let early = iteration < EXAGGERATED_ITERATIONS;
        let (exaggeration, momentum) = if early { (EXAGGERATION, 0.5) } else { (1.0, 0.8) };
        let slopes = gradient(&affinities, &map, exaggeration);
        for i in 0..n {
            for c in 0..2 {
                let against = slopes[i][c] * speeds[i][c] < 0.0;
                gains[i][c] = if against { gains[i][c] + 0.2 } else { f64::max(gains[i][c] * 0.8, 0.01) };
                speeds[i][c] = momentum * speeds[i][c] - rate * gains[i][c] * slopes[i][c];
                map[i][c] += speeds[i][c];
            }
        }
    }
    let mean = [0, 1].map(|c| map.iter().map(|y| y[c]).sum::<f64>() / n as f64);
    Ok(Matrix::from_fn(n, 2, |i, c| map[i][c] - mean[c]))
}

/// The joint affinities, n x n, symmetric, sum 1: row i before the symmetrisation is a Gaussian with the given perplexity.
pub fn affinities(points: &Matrix, perplexity: f64) -> Matrix {
    let (n, points) = (points.rows(), rows(points));
    let shares: Vec<Vec<f64>> = (0..n).into_par_iter().map(|i| conditional(&points, i, perplexity)).collect();
    Matrix::from_fn(n, n, |i, j| (shares[i][j] + shares[j][i]) / (2 * n) as f64)
}

/// The shares of row i, with the bandwidth at which their entropy is the logarithm of the perplexity.
fn conditional(points: &[Vec<f64>], i: usize, perplexity: f64) -> Vec<f64> {
    let distances: Vec<f64> = points.iter().map(|point| squared_distance(&points[i], point)).collect();
    let nearest = (0..distances.len()).filter(|&j| j != i).map(|j| distances[j]).fold(f64::INFINITY, f64::min);
    let wanted = perplexity.min(distances.len() as f64 - 1.0).ln();
    let shares = |precision: f64| {
        let mut shares: Vec<f64> = distances.iter().map(|d| (-(d - nearest) * precision).exp()).collect();
        shares[i] = 0.0;
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|p| *p /= sum);
        shares
    };
    let entropy = |shares: &[f64]| -> f64 { shares.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum() };
    let spread = distances.iter().map(|d| d - nearest).sum::<f64>() / distances.len() as f64;
    // The entropy falls as the precision rises: bisection of its logarithm.
    let (mut low, mut high) = (-60.0, 60.0);
    let unit = if spread > 0.0 { 1.0 / spread } else { 1.0 };
    for _ in 0..80 {
        let middle: f64 = (low + high) / 2.0;
        if entropy(&shares(unit * middle.exp2())) > wanted { low = middle } else { high = middle }
    }
    shares(unit * f64::exp2((low + high) / 2.0))
}

/// The first two principal scores, scaled so that the first has a standard deviation of 1e-4.
fn start(points: &Matrix) -> ewca::Result<Vec<[f64; 2]>> {
    let data = points.to_row_major();
    let samples = Samples::new(&data, points.rows(), points.columns())?;
    let components = points.columns().min(2);
    let pca = Ewca::params(components).pca(&samples)?;
    let unit = 1e-4 / pca.eigenvalues[0].sqrt();
    let score = |i: usize, c: usize| if c < components { unit * pca.scores.get(i, c) } else { 0.0 };
    Ok((0..points.rows()).map(|i| [score(i, 0), score(i, 1)]).collect())
}

/// Student's kernel between two points of the map.
fn kernel(a: [f64; 2], b: [f64; 2]) -> f64 {
    1.0 / (1.0 + (a[0] - b[0]).powi(2) + (a[1] - b[1]).powi(2))
}

/// The sum of the kernel over all pairs of different points.
fn mass(map: &[[f64; 2]]) -> f64 {
    let rows: Vec<f64> = map.par_iter().map(|a| map.iter().map(|b| kernel(*a, *b)).sum::<f64>() - 1.0).collect();
    rows.iter().sum()
}

fn gradient(affinities: &Matrix, map: &[[f64; 2]], exaggeration: f64) -> Vec<[f64; 2]> {
    let mass = mass(map);
    (0..map.len())
        .into_par_iter()
        .map(|i| {
            let mut slope = [0.0; 2];
            for (j, p) in affinities.column(i).iter().enumerate().filter(|(j, _)| *j != i) {
                let k = kernel(map[i], map[j]);
                let force = 4.0 * (exaggeration * p - k / mass) * k;
                slope[0] += force * (map[i][0] - map[j][0]);
                slope[1] += force * (map[i][1] - map[j][1]);
            }
            slope
        })
        .collect()
}

/// The Kullback-Leibler divergence that t-SNE minimises, of a map in the plane from affinities.
pub fn divergence(affinities: &Matrix, map: &Matrix) -> f64 {
    let map: Vec<[f64; 2]> = (0..map.rows()).map(|i| [map.get(i, 0), map.get(i, 1)]).collect();
    let mass = mass(&map);
    let row = |i: usize| -> f64 {
        let pairs = affinities.column(i).iter().enumerate().filter(|(j, p)| *j != i && **p > 0.0);
        pairs.map(|(j, p)| p * (p * mass / kernel(map[i], map[j])).ln()).sum()
    };
    (0..map.len()).map(row).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clouds() -> Matrix {
        let noise = |s: usize| ((s as f64 * 12.9898).sin() * 43758.5453).fract();
        Matrix::from_fn(45, 4, |i, j| if j == i % 3 { 6.0 } else { 0.0 } + noise(i * 17 + j * 5 + 1))
    }

    #[test]
    fn affinities_have_the_perplexity_and_sum_to_one() {
        let points = clouds();
        for i in 0..45 {
            let shares = conditional(&rows(&points), i, 7.0);
            let entropy: f64 = shares.iter().filter(|p| **p > 0.0).map(|p| -p * p.ln()).sum();
            assert!((entropy.exp() - 7.0).abs() < 1e-9);
        }
        let sum: f64 = affinities(&points, 7.0).as_column_major().iter().sum();
        assert!((sum - 1.0).abs() < 1e-12);
    }

    #[test]
    fn the_gradient_is_that_of_the_divergence() {
        let p = affinities(&clouds(), 7.0);
        let map: Vec<[f64; 2]> = (0..45).map(|i| [(i as f64).sin(), (i as f64 * 1.7).cos()]).collect();
        let value = |map: &[[f64; 2]]| divergence(&p, &Matrix::from_fn(45, 2, |i, c| map[i][c]));
        let slopes = gradient(&p, &map, 1.0);
        for (i, c) in [(0, 0), (7, 1), (44, 0)] {
            let moved = |step: f64| {
                let mut moved = map.clone();
                moved[i][c] += step;
                value(&moved)
            };
            let difference = (moved(1e-5) - moved(-1e-5)) / 2e-5;
            assert!((difference - slopes[i][c]).abs() < 1e-8, "{difference} {}", slopes[i][c]);
        }
    }

    #[test]
    fn clouds_stay_apart_and_runs_agree() {
        let map = embed(&clouds(), 10.0).unwrap();
        let distance = |i: usize, j: usize| (map.get(i, 0) - map.get(j, 0)).hypot(map.get(i, 1) - map.get(j, 1));
        for i in 0..45 {
            let nearest =
                (0..45).filter(|&j| j != i).min_by(|&a, &b| distance(i, a).total_cmp(&distance(i, b))).unwrap();
            assert_eq!(nearest % 3, i % 3);
        }
        assert_eq!(map, embed(&clouds(), 10.0).unwrap());
    }
}
