//! Exact reduction of the data to their span (MATH: "Working in the span").

use super::{Samples, Scalar, Side};
use crate::error::{Error, Result};
use crate::matrix::{Matrix, symmetric_eigen};

/// Eigenvalues of the covariance below this fraction of the largest are rounding noise: both ways of getting them square the
/// data, so a direction whose standard deviation is below 3e-7 of the largest cannot be told from none.
const RANK_TOLERANCE: f64 = 1e-13;

/// The active samples in their principal axes: y_i = B'(x_i - mean), with B an orthonormal basis of the span (d x r).
///
/// Sum over i of a_i y_i y_i' is diagonal, with `variances` on the diagonal, descending. Coordinates are in units of `unit`, a
/// power of two near the largest standard deviation: squares of squares then stay in range whatever the data's scale, and the
/// change of units rounds nothing.
#[derive(Debug, Clone)]
pub(crate) struct Span {
    /// n x r.
    pub coordinates: Matrix,
    /// The r positive eigenvalues of the covariance.
    pub variances: Vec<f64>,
    /// The weights of the active samples.
    pub weights: Vec<f64>,
    /// The sum of the weights where they stand for repeated samples.
    pub repeated: Option<f64>,
    /// The numbers of the active samples.
    pub active: Vec<usize>,
    /// The unit of length.
    pub unit: f64,
    basis: Basis,
}

#[derive(Debug, Clone)]
enum Basis {
    /// B itself (d x r).
    Features(Matrix),
    /// B = X'C (C is n x r), never formed.
    Samples(Matrix),
}

impl Span {
    /// Reduces by the cheaper side: samples x samples when d > n, features x features otherwise.
    pub fn new<T: Scalar>(samples: &Samples<'_, T>) -> Result<Self> {
        let active = samples.active();
        let weights: Vec<f64> = active.iter().map(|&i| samples.weights[i]).collect();
        let side = if samples.columns > active.len() { Side::Samples } else { Side::Features };
        let (eigenvalues, vectors) = symmetric_eigen(&samples.gram(&active, side))?;
        let largest = eigenvalues[0];
        if largest.is_nan() || largest <= f64::MIN_POSITIVE {
            return Err(Error::Constant);
        }
        let limit = (active.len() - 1).min(samples.columns);
        let rank = eigenvalues.iter().take(limit).take_while(|&&x| x > RANK_TOLERANCE * largest).count();
        let unit = largest.sqrt().log2().round().exp2();
        let variances: Vec<f64> = eigenvalues[..rank].iter().map(|v| v / unit / unit).collect();
        let vectors = vectors.leading_columns(rank);
        let (coordinates, basis) = match side {
            Side::Features => {
                let coordinates = samples.project(&active, &samples.mean, &vectors).scaled(1.0 / unit);
                (coordinates, Basis::Features(vectors))
            }
            Side::Samples => {
                // diag(a)^1/2 X = Q S B': Y = diag(a)^-1/2 Q S, and B = X' diag(a)^1/2 Q S^-1.
                let deviations: Vec<f64> = variances.iter().map(|v| v.sqrt()).collect();
                let mut coordinates = vectors.clone();
                coordinates.scale_columns(&deviations);
                coordinates.scale_rows(&weights.iter().map(|a| 1.0 / a.sqrt()).collect::<Vec<_>>());
                let mut combination = vectors;
                combination.scale_columns(&deviations.iter().map(|s| 1.0 / (s * unit)).collect::<Vec<_>>());
                combination.scale_rows(&weights.iter().map(|a| a.sqrt()).collect::<Vec<_>>());
                (coordinates, Basis::Samples(combination))
            }
        };
        Ok(Self { coordinates, variances, weights, repeated: samples.repeated, active, unit, basis })
    }

    /// How many samples these stand for.
    pub fn count(&self) -> f64 {
        self.repeated.unwrap_or(self.weights.len() as f64)
    }

    /// The working rank r.
    pub fn rank(&self) -> usize {
        self.variances.len()
    }

    /// Sum of the variances: the mean squared distance from the mean.
    pub fn total_variance(&self) -> f64 {
        self.variances.iter().sum()
    }

    /// B `frame`: a frame in the span as loadings of the features (d x k), and the scores of all samples with them (n x k).
    pub fn loadings<T: Scalar>(&self, samples: &Samples<'_, T>, frame: &Matrix) -> (Matrix, Matrix) {
        match &self.basis {
            Basis::Samples(combination) => samples.combine(&self.active, &combination.times(frame)),
            Basis::Features(basis) => {
                let loadings = basis.times(frame);
                let all: Vec<usize> = (0..samples.rows()).collect();
                let scores = samples.project(&all, &samples.mean, &loadings);
                (loadings, scores)
            }
        }
    }

    /// B' `loadings`: what of given loadings lies in the span (r x k).
    pub fn frame<T: Scalar>(&self, samples: &Samples<'_, T>, loadings: &Matrix) -> Matrix {
        match &self.basis {
            Basis::Features(basis) => basis.transposed_times(loadings),
            Basis::Samples(combination) => {
                combination.transposed_times(&samples.project(&self.active, &samples.mean, loadings))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn check(rows: usize, columns: usize, weights: Option<Vec<f64>>) {
        let data = testing::gaussian(rows, columns, 7);
        let mut samples = Samples::new(&data, rows, columns).unwrap();
        if let Some(weights) = weights {
            samples = samples.with_weights(&weights).unwrap();
        }
        let span = Span::new(&samples).unwrap();
        assert_eq!(span.rank(), (span.active.len() - 1).min(columns));
        // Distances between samples survive the reduction.
        for (i, j) in [(0, 1), (1, 2), (0, span.active.len() - 1)] {
            let (x, y) = (samples.row(span.active[i]), samples.row(span.active[j]));
            let full: f64 = x.iter().zip(y).map(|(a, b)| (a - b).powi(2)).sum();
            let (p, q) = (span.coordinates.row(i), span.coordinates.row(j));
            let reduced: f64 = p.iter().zip(&q).map(|(a, b)| ((a - b) * span.unit).powi(2)).sum();
            assert!((full - reduced).abs() < 1e-10 * full, "{full} {reduced}");
        }
        // The basis is orthonormal, and going to features and back is the identity.
        let frame = Matrix::from_fn(span.rank(), 2, |i, j| if i == j { 1.0 } else { 0.0 });
        let (loadings, scores) = span.loadings(&samples, &frame);
        let mut gram = loadings.transposed_times(&loadings);
        gram.add_scaled(-1.0, &Matrix::identity(2));
        assert!(gram.norm() < 1e-10);
        for (place, &i) in span.active.iter().enumerate() {
            assert!((scores.get(i, 1) - span.coordinates.get(place, 1) * span.unit).abs() < 1e-10);
        }
        let mut back = span.frame(&samples, &loadings);
        back.add_scaled(-1.0, &frame);
        assert!(back.norm() < 1e-10);
    }

    #[test]
    fn both_sides_keep_geometry() {
        check(10, 40, None);
        check(40, 10, None);
        check(200, 150, None);
        check(150, 300, None);
        check(12, 12, Some((0..12).map(|i| (i % 4) as f64).collect()));
        check(9, 30, Some((0..9).map(|i| 0.5 + i as f64).collect()));
    }

    #[test]
    fn duplicated_rows_and_constant_columns_lower_the_rank() {
        let rows = [[1.0, 5.0, 2.0], [1.0, 5.0, 2.0], [3.0, 5.0, 1.0], [3.0, 5.0, 1.0]];
        let samples = Samples::from_rows(&rows).unwrap();
        assert_eq!(Span::new(&samples).unwrap().rank(), 1);
        let samples = Samples::from_rows(&[[2.0, 2.0], [2.0, 2.0], [2.0, 2.0]]).unwrap();
        assert_eq!(Span::new(&samples).unwrap_err(), Error::Constant);
    }

    #[test]
    fn a_far_origin_does_not_cost_precision() {
        let near = testing::gaussian(20, 30, 3);
        let far: Vec<f64> = near.iter().map(|x| x + 1e6).collect();
        let a = Span::new(&Samples::new(&near, 20, 30).unwrap()).unwrap();
        let b = Span::new(&Samples::new(&far, 20, 30).unwrap()).unwrap();
        for (x, y) in a.variances.iter().zip(&b.variances) {
            assert!((x * a.unit.powi(2) - y * b.unit.powi(2)).abs() < 1e-8 * a.unit.powi(2));
        }
    }
}
