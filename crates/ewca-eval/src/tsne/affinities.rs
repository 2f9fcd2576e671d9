//! How alike points are: a Gaussian about each of them, as wide as the perplexity asks for.

use ewca::Matrix;
use rayon::prelude::*;

use crate::distance::{rows, squared_distance};

/// Affinities are those with the nearest neighbours, so many for each of the perplexity: what lies beyond has next to no share.
const NEIGHBOURS: f64 = 5.0;

/// Who is alike, as lists: for each point its neighbours in order, and its joint affinities with them.
pub struct Neighbourhoods {
    /// Where each point's list begins, and where the last one ends.
    starts: Vec<usize>,
    entries: Vec<(u32, f64)>,
}

impl Neighbourhoods {
    /// Those of the nearest neighbours of each point.
    pub fn new(points: &Matrix, perplexity: f64) -> Self {
        let points = rows(points);
        let count = (NEIGHBOURS * perplexity).ceil() as usize;
        let scale = 1.0 / (2 * points.len()) as f64;
        let given: Vec<Vec<(u32, f64)>> =
            (0..points.len()).into_par_iter().map(|i| shares(&points, i, perplexity, count)).collect();
        let mut lists: Vec<Vec<(u32, f64)>> = vec![Vec::new(); points.len()];
        for (i, shares) in given.into_iter().enumerate() {
            for (j, share) in shares {
                lists[i].push((j, scale * share));
                lists[j as usize].push((i as u32, scale * share));
            }
        }
        let (mut starts, mut entries) = (vec![0], Vec::new());
        for mut list in lists {
            list.sort_by_key(|entry| entry.0);
            list.dedup_by(|later, kept| {
                let same = later.0 == kept.0;
                kept.1 += if same { later.1 } else { 0.0 };
                same
            });
            entries.extend(list);
            starts.push(entries.len());
        }
        Self { starts, entries }
    }

    /// The neighbours of a point, with their joint affinities. All of them sum to 1.
    pub fn of(&self, i: usize) -> &[(u32, f64)] {
        &self.entries[self.starts[i]..self.starts[i + 1]]
    }
}

/// The joint affinities, n x n, symmetric, sum 1: row i before the symmetrisation is a Gaussian with the given perplexity.
pub fn affinities(points: &Matrix, perplexity: f64) -> Matrix {
    let (n, points) = (points.rows(), rows(points));
    let mut dense = Matrix::zeros(n, n);
    let given: Vec<Vec<(u32, f64)>> = (0..n).into_par_iter().map(|i| shares(&points, i, perplexity, n)).collect();
    for (i, shares) in given.into_iter().enumerate() {
        for (j, share) in shares {
            let (j, half) = (j as usize, share / (2 * n) as f64);
            dense.set(i, j, dense.get(i, j) + half);
            dense.set(j, i, dense.get(j, i) + half);
        }
    }
    dense
}

/// The shares of the nearest `count` neighbours of a point, with the bandwidth at which their entropy is the logarithm of the
/// perplexity.
fn shares(points: &[Vec<f64>], i: usize, perplexity: f64, count: usize) -> Vec<(u32, f64)> {
    let others = (0..points.len()).filter(|&j| j != i);
    let mut near: Vec<(u32, f64)> = others.map(|j| (j as u32, squared_distance(&points[i], &points[j]))).collect();
    if count < near.len() {
        near.select_nth_unstable_by(count, |a, b| a.1.total_cmp(&b.1).then(a.0.cmp(&b.0)));
        near.truncate(count);
        near.sort_by_key(|entry| entry.0);
    }
    let nearest = near.iter().map(|entry| entry.1).fold(f64::INFINITY, f64::min);
    near.iter_mut().for_each(|entry| entry.1 -= nearest);
    let precision = precision(&near, perplexity.min(near.len() as f64).ln());
    near.iter_mut().for_each(|entry| entry.1 = (-precision * entry.1).exp());
    let sum: f64 = near.iter().map(|entry| entry.1).sum();
    near.iter_mut().for_each(|entry| entry.1 /= sum);
    near
}

/// The precision at which Gaussian shares by these squared distances have this entropy.
///
/// The entropy falls as the precision rises: Newton's method for the logarithm of the precision, or bisection where that leaves
/// what is known to hold the solution.
fn precision(distances: &[(u32, f64)], wanted: f64) -> f64 {
    let spread = distances.iter().map(|entry| entry.1).sum::<f64>() / distances.len() as f64;
    let unit = if spread > 0.0 { 1.0 / spread } else { 1.0 };
    let (mut low, mut high, mut log) = (-42.0, 42.0, 0.0);
    for _ in 0..100 {
        let precision = unit * f64::exp(log);
        let (mut sum, mut first, mut second) = (0.0, 0.0, 0.0);
        for &(_, distance) in distances {
            let exponent = precision * distance;
            let share = (-exponent).exp();
            sum += share;
            first += share * exponent;
            second += share * exponent * exponent;
        }
        let (mean, square) = (first / sum, second / sum);
        let excess = sum.ln() + mean - wanted;
        if excess.abs() < 1e-13 {
            break;
        }
        if excess > 0.0 {
            low = log
        } else {
            high = log
        }
        // The derivative of the entropy by the logarithm of the precision is minus the variance of the exponents.
        let newton = log + excess / (square - mean * mean);
        log = if newton > low && newton < high { newton } else { (low + high) / 2.0 };
    }
    unit * f64::exp(log)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of three clouds, with some in two copies.
    fn clouds(n: usize) -> Matrix {
        let noise = |s: usize| ((s as f64 * 12.9898).sin() * 43758.5453).fract();
        Matrix::from_fn(n, 4, |i, j| if j == i % 3 { 6.0 } else { 0.0 } + noise(i.max(3) * 17 + j * 5 + 1))
    }

    #[test]
    fn shares_have_the_perplexity() {
        let points = rows(&clouds(45));
        for (i, count) in (0..45).flat_map(|i| [(i, 44), (i, 20), (i, 8)]) {
            let shares = shares(&points, i, 7.0, count);
            assert_eq!(shares.len(), count);
            let entropy: f64 = shares.iter().filter(|(_, p)| *p > 0.0).map(|(_, p)| -p * p.ln()).sum();
            assert!((entropy.exp() - 7.0).abs() < 1e-9, "{i} of {count}: {}", entropy.exp());
            // A Gaussian: the logarithm of a share falls by the same amount for each unit of squared distance.
            let value = |at: usize| {
                let (j, share) = shares[at];
                (squared_distance(&points[i], &points[j as usize]), share.ln())
            };
            let slope = |a: usize, b: usize| (value(a).1 - value(b).1) / (value(a).0 - value(b).0);
            assert!((slope(0, count - 1) / slope(1, count - 1) - 1.0).abs() < 1e-6);
        }
    }

    #[test]
    fn a_perplexity_that_cannot_be_had_is_approached() {
        // All others at the same distance: the shares are equal whatever the precision.
        let corners: Vec<Vec<f64>> = (0..5).map(|i| (0..5).map(|j| f64::from(i == j)).collect()).collect();
        for (_, share) in shares(&corners, 0, 2.0, 4) {
            assert!((share - 0.25).abs() < 1e-12);
        }
        // Four copies of a point, and one apart: at least the copies share.
        let copies: Vec<Vec<f64>> = (0..5).map(|i| vec![f64::from(i == 4)]).collect();
        let found = shares(&copies, 0, 2.0, 4);
        assert!(found[..3].iter().all(|(_, share)| (share - 1.0 / 3.0).abs() < 1e-9), "{found:?}");
    }

    #[test]
    fn lists_are_the_affinities_where_everybody_is_a_neighbour() {
        let (points, perplexity) = (clouds(30), 7.0);
        let (dense, lists) = (affinities(&points, perplexity), Neighbourhoods::new(&points, perplexity));
        assert!((dense.as_column_major().iter().sum::<f64>() - 1.0).abs() < 1e-12);
        for i in 0..30 {
            assert_eq!(lists.of(i).iter().map(|entry| entry.0).collect::<Vec<_>>(), others(30, i));
            for &(j, affinity) in lists.of(i) {
                assert!((affinity - dense.get(i, j as usize)).abs() < 1e-15);
                assert!((affinity - dense.get(j as usize, i)).abs() < 1e-15);
            }
        }
    }

    fn others(n: u32, i: usize) -> Vec<u32> {
        (0..n).filter(|&j| j as usize != i).collect()
    }

    #[test]
    fn lists_leave_out_next_to_nothing() {
        let (points, perplexity) = (clouds(300), 7.0);
        let (dense, lists) = (affinities(&points, perplexity), Neighbourhoods::new(&points, perplexity));
        let (mut sum, mut difference) = (0.0, 0.0);
        for i in 0..300 {
            let listed = lists.of(i);
            assert!(listed.len() >= 35 && listed.windows(2).all(|pair| pair[0].0 < pair[1].0));
            let mut row = vec![0.0; 300];
            for &(j, affinity) in listed {
                row[j as usize] = affinity;
                sum += affinity;
            }
            difference += (0..300).map(|j| f64::abs(row[j] - dense.get(i, j))).sum::<f64>();
        }
        assert!((sum - 1.0).abs() < 1e-12);
        assert!(difference < 0.01, "{difference}");
    }
}
