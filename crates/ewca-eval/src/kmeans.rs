//! k-means: Lloyd's iterations from k-means++ starts.

use ewca::Matrix;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::distance::{rows, squared_distance};

/// Iterations of one start; clusters of a few hundred points settle in far fewer.
const MAX_ITERATIONS: usize = 300;

/// A partition of points into clusters.
#[derive(Debug, Clone, PartialEq)]
pub struct KMeans {
    /// The cluster of each point.
    pub clusters: Vec<usize>,
    /// The sum of squared distances to the clusters' means.
    pub inertia: f64,
}

impl KMeans {
    /// Partitions the rows of `points` into `clusters` clusters; of `starts` starts the one with the least inertia is kept.
    /// With no more points than clusters each point is a cluster of its own.
    pub fn new(points: &Matrix, clusters: usize, starts: usize, seed: u64) -> Self {
        let rows = rows(points);
        if rows.len() <= clusters {
            return Self { clusters: (0..rows.len()).collect(), inertia: 0.0 };
        }
        let start = |number: usize| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            random.set_stream(number as u64);
            settled(&rows, seeds(&rows, clusters, &mut random))
        };
        let mut best = start(0);
        for number in 1..starts {
            let other = start(number);
            if other.inertia < best.inertia {
                best = other;
            }
        }
        best
    }
}

/// k-means++: each next centre is a point, drawn in proportion to its squared distance from the nearest centre so far.
fn seeds(rows: &[Vec<f64>], clusters: usize, random: &mut ChaCha8Rng) -> Vec<Vec<f64>> {
    let mut centres = vec![rows[random.random_range(0..rows.len())].clone()];
    let mut distances = vec![f64::INFINITY; rows.len()];
    while centres.len() < clusters {
        let newest = &centres[centres.len() - 1];
        distances.iter_mut().zip(rows).for_each(|(d, row)| *d = d.min(squared_distance(row, newest)));
        let mut left = random.random::<f64>() * distances.iter().sum::<f64>();
        // Rounding may leave a little over: the last point that is no centre takes it.
        let mut chosen = distances.iter().rposition(|&d| d > 0.0).unwrap_or(0);
        for (i, &d) in distances.iter().enumerate() {
            left -= d;
            if left < 0.0 {
                chosen = i;
                break;
            }
        }
        centres.push(rows[chosen].clone());
    }
    centres
}

/// Lloyd's iterations until no point changes its cluster.
fn settled(rows: &[Vec<f64>], mut centres: Vec<Vec<f64>>) -> KMeans {
    let mut clusters = vec![usize::MAX; rows.len()];
    let mut distances = vec![0.0; rows.len()];
    for _ in 0..MAX_ITERATIONS {
        let mut changed = false;
        for (i, row) in rows.iter().enumerate() {
            let (nearest, distance) = nearest(row, &centres);
            changed |= clusters[i] != nearest;
            (clusters[i], distances[i]) = (nearest, distance);
        }
        if !changed {
            break;
        }
        centres = means(rows, &clusters, &distances, centres.len());
    }
    KMeans { clusters, inertia: distances.iter().sum() }
}

fn nearest(row: &[f64], centres: &[Vec<f64>]) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (c, centre) in centres.iter().enumerate() {
        let distance = squared_distance(row, centre);
        if distance < best.1 {
            best = (c, distance);
        }
    }
    best
}

/// The mean of each cluster; an empty one takes the point farthest from its centre, which no other empty one has taken.
fn means(rows: &[Vec<f64>], clusters: &[usize], distances: &[f64], count: usize) -> Vec<Vec<f64>> {
    let mut sums = vec![vec![0.0; rows[0].len()]; count];
    let mut sizes = vec![0usize; count];
    for (row, &c) in rows.iter().zip(clusters) {
        sums[c].iter_mut().zip(row).for_each(|(s, x)| *s += x);
        sizes[c] += 1;
    }
    let mut farthest: Vec<usize> = (0..rows.len()).collect();
    farthest.sort_by(|&i, &j| distances[i].total_cmp(&distances[j]).then(j.cmp(&i)));
    for (sum, &size) in sums.iter_mut().zip(&sizes) {
        match size {
            0 => *sum = farthest.pop().map_or_else(|| sum.clone(), |i| rows[i].clone()),
            size => sum.iter_mut().for_each(|s| *s /= size as f64),
        }
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn separate_groups_are_found_and_starts_only_help() {
        let points = Matrix::from_fn(30, 2, |i, j| 10.0 * ((i % 3) * (j + 1)) as f64 + 0.1 * ((i * 7 + j) % 5) as f64);
        let found = KMeans::new(&points, 3, 5, 1);
        for i in 0..30 {
            assert_eq!(found.clusters[i], found.clusters[i % 3]);
        }
        let few = KMeans::new(&points, 7, 1, 1);
        let many = KMeans::new(&points, 7, 20, 1);
        assert!(many.inertia <= few.inertia);
        assert_eq!(many, KMeans::new(&points, 7, 20, 1));
    }

    #[test]
    fn equal_points_and_few_points_do_no_harm() {
        let equal = Matrix::from_fn(6, 2, |_, _| 1.0);
        assert_eq!(KMeans::new(&equal, 3, 2, 0).inertia, 0.0);
        assert_eq!(KMeans::new(&equal, 8, 2, 0).clusters, [0, 1, 2, 3, 4, 5]);
    }
}
