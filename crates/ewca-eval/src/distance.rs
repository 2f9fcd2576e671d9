//! Distances between points.

use ewca::Matrix;

/// The square of the Euclidean distance.
pub fn squared_distance(x: &[f64], y: &[f64]) -> f64 {
    x.iter().zip(y).map(|(x, y)| (x - y) * (x - y)).sum()
}

/// The rows of a matrix, each in one piece of memory.
pub(crate) fn rows(points: &Matrix) -> Vec<Vec<f64>> {
    (0..points.rows()).map(|i| points.row(i)).collect()
}
