//! How well a partition agrees with classes, and how well classes are apart.

use ewca::Matrix;
use rayon::prelude::*;

use crate::distance::{rows, squared_distance};

/// The adjusted Rand index of two partitions of the same samples (Hubert and Arabie 1985): 1 when they are the same, 0 on average
/// when they are independent.
///
/// # Panics
/// If the two have different lengths.
pub fn adjusted_rand_index(one: &[usize], other: &[usize]) -> f64 {
    assert_eq!(one.len(), other.len(), "partitions of different sets");
    let count = |partition: &[usize]| partition.iter().max().map_or(0, |m| m + 1);
    let (rows, columns) = (count(one), count(other));
    let mut table = vec![0usize; rows * columns];
    one.iter().zip(other).for_each(|(&i, &j)| table[i * columns + j] += 1);
    let pairs = |n: usize| (n * n.saturating_sub(1) / 2) as f64;
    let together: f64 = table.iter().map(|&n| pairs(n)).sum();
    let in_one: f64 = (0..rows).map(|i| pairs(table[i * columns..][..columns].iter().sum())).sum();
    let in_other: f64 = (0..columns).map(|j| pairs((0..rows).map(|i| table[i * columns + j]).sum())).sum();
    let all = pairs(one.len());
    let expected = if all > 0.0 { in_one * in_other / all } else { 0.0 };
    let most = (in_one + in_other) / 2.0;
    // Both are one cluster, or both are single samples: the same.
    if most == expected { 1.0 } else { (together - expected) / (most - expected) }
}

/// The mean silhouette of the classes among the rows of `points` (Rousseeuw 1987, Euclidean): from -1 to 1; a sample that is alone
/// in its class counts 0. NaN with fewer than two classes.
pub fn silhouette(points: &Matrix, classes: &[usize]) -> f64 {
    let all: Vec<usize> = (0..points.rows()).collect();
    silhouettes(points, classes, &all).iter().sum::<f64>() / points.rows() as f64
}

/// The silhouettes of some of the samples, each against all: see [`silhouette`]. NaN with fewer than two classes.
pub fn silhouettes(points: &Matrix, classes: &[usize], queries: &[usize]) -> Vec<f64> {
    let rows = rows(points);
    let distance = |i: usize, j: usize| squared_distance(&rows[i], &rows[j]).sqrt();
    let count = classes.iter().max().map_or(0, |m| m + 1);
    let mut sizes = vec![0usize; count];
    classes.iter().for_each(|&c| sizes[c] += 1);
    if sizes.iter().filter(|&&s| s > 0).count() < 2 {
        return vec![f64::NAN; queries.len()];
    }
    let one = |&i: &usize| {
        let mut sums = vec![0.0; count];
        (0..rows.len()).for_each(|j| sums[classes[j]] += distance(i, j));
        let own = classes[i];
        if sizes[own] == 1 {
            return 0.0;
        }
        let within = sums[own] / (sizes[own] - 1) as f64;
        let others = (0..count).filter(|&c| c != own && sizes[c] > 0);
        let without = others.map(|c| sums[c] / sizes[c] as f64).fold(f64::INFINITY, f64::min);
        let larger = within.max(without);
        if larger > 0.0 { (without - within) / larger } else { 0.0 }
    };
    queries.par_iter().map(one).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values() {
        assert_eq!(adjusted_rand_index(&[0, 0, 1, 1], &[1, 1, 0, 0]), 1.0);
        assert_eq!(adjusted_rand_index(&[0, 0, 0], &[0, 0, 0]), 1.0);
        // Hubert and Arabie's formula by hand: (0 - 2 * 2 / 6) / (2 - 2 * 2 / 6).
        assert!((adjusted_rand_index(&[0, 0, 1, 1], &[0, 1, 0, 1]) + 0.5).abs() < 1e-15);
        let line = Matrix::from_row_major(4, 1, &[0.0, 1.0, 10.0, 11.0]).unwrap();
        let by_hand = (1.0 - 1.0 / 10.5 + 1.0 - 1.0 / 9.5) / 2.0;
        assert!((silhouette(&line, &[0, 0, 1, 1]) - by_hand).abs() < 1e-15);
        let of_some = silhouettes(&line, &[0, 0, 1, 1], &[1, 2]);
        assert!(of_some.iter().all(|value| (value - (1.0 - 1.0 / 9.5)).abs() < 1e-15));
        assert!(silhouette(&line, &[0, 0, 0, 0]).is_nan());
    }
}
