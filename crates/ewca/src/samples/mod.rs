//! The data: n samples x d features, weighted, centred on the fly.
//!
//! [`Samples`] borrows the caller's matrix, dense or sparse; nothing here ever makes a centred copy of it. What the method needs
//! of the data are four operations: the mean, the Gram matrix of the cheaper side, X U, and X'W (with X X'W beside it).

mod dense;
mod span;
mod sparse;

use std::borrow::Cow;
use std::ops::Range;

pub(crate) use dense::SMALL_GRAM;
pub(crate) use span::Span;

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::parallel;
use dense::Dense;
use sparse::Sparse;

/// A floating point type that samples may come in: `f64` or `f32`. Everything is computed in `f64`.
pub trait Scalar: Copy + Send + Sync + Into<f64> + private::Sealed + 'static {}
impl Scalar for f64 {}
impl Scalar for f32 {}

mod private {
    pub trait Sealed {}
    impl Sealed for f64 {}
    impl Sealed for f32 {}
}

/// Squares of magnitudes beyond these leave the range of f64 once they are summed or multiplied by one another.
const MAGNITUDES: Range<f64> = 1e-140..1e140;

/// Samples in rows, features in columns, with optional sample weights.
///
/// ```
/// use ewca::Samples;
/// let data = [1.0, 2.0, 3.0, 4.0, 5.0, 6.5];
/// let samples = Samples::new(&data, 3, 2)?.with_weights(&[1.0, 2.0, 1.0])?;
/// assert_eq!(samples.weights(), [0.25, 0.5, 0.25]);
/// assert_eq!(samples.mean(), [3.0, 4.125]);
/// # Ok::<(), ewca::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Samples<'a, T: Scalar = f64> {
    values: Values<'a, T>,
    rows: usize,
    columns: usize,
    weights: Vec<f64>,
    /// The sum of weights that are all whole numbers.
    repeated: Option<f64>,
    mean: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Values<'a, T: Scalar> {
    Dense(Dense<'a, T>),
    Sparse(Sparse<'a, T>),
}

/// Between what a Gram matrix is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Samples,
    Features,
}

impl<'a, T: Scalar> Samples<'a, T> {
    /// Borrows a row-major matrix of `rows` samples x `columns` features, each sample with the same weight.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        Self::uncentred(data, rows, columns)?.centred()
    }

    /// The same, from rows of their own.
    pub fn from_rows<R: AsRef<[T]>>(rows: &[R]) -> Result<Self> {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        let mut data = Vec::with_capacity(rows.len() * columns);
        for (row, values) in rows.iter().enumerate() {
            let values = values.as_ref();
            if values.len() != columns {
                return Err(Error::Ragged { row, expected: columns, found: values.len() });
            }
            data.extend_from_slice(values);
        }
        Self::from_dense(Cow::Owned(data), rows.len(), columns)?.centred()
    }

    /// Borrows compressed sparse rows: row i has the entries `offsets[i]..offsets[i + 1]` of `positions` (columns, ascending) and
    /// `values`. They stay sparse: the centring is never carried out on them.
    ///
    /// ```
    /// use ewca::Samples;
    /// // [[1, 0, 2], [0, 0, 3]]
    /// let samples = Samples::sparse(&[0, 2, 3], &[0, 2, 2], &[1.0, 2.0, 3.0], 3)?;
    /// assert_eq!(samples.row(0), [1.0, 0.0, 2.0]);
    /// assert_eq!(samples.mean(), [0.5, 0.0, 2.5]);
    /// # Ok::<(), ewca::Error>(())
    /// ```
    pub fn sparse(offsets: &'a [usize], positions: &'a [u32], values: &'a [T], columns: usize) -> Result<Self> {
        Self::uncentred_sparse(offsets, positions, values, columns)?.centred()
    }

    /// Samples to be projected with somebody else's mean: any number of them.
    pub(crate) fn uncentred(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        Self::from_dense(Cow::Borrowed(data), rows, columns)
    }

    /// The same for compressed sparse rows.
    pub(crate) fn uncentred_sparse(
        offsets: &'a [usize],
        positions: &'a [u32],
        values: &'a [T],
        columns: usize,
    ) -> Result<Self> {
        let rows = offsets.len().saturating_sub(1);
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        let values = Values::Sparse(Sparse::new(offsets, positions, values, columns)?);
        Self::checked(values, rows, columns)
    }

    fn from_dense(data: Cow<'a, [T]>, rows: usize, columns: usize) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        if rows.checked_mul(columns) != Some(data.len()) {
            return Err(Error::Shape { rows, columns, expected: rows.saturating_mul(columns), found: data.len() });
        }
        Self::checked(Values::Dense(Dense { data, rows, columns }), rows, columns)
    }

    /// Samples whose values are all numbers of a sensible size.
    fn checked(values: Values<'a, T>, rows: usize, columns: usize) -> Result<Self> {
        let all: &[T] = match &values {
            Values::Dense(dense) => &dense.data,
            Values::Sparse(sparse) => sparse.values(),
        };
        match largest_magnitude(all) {
            Some(magnitude) if magnitude == 0.0 || MAGNITUDES.contains(&magnitude) => {}
            Some(magnitude) => return Err(Error::Range { magnitude }),
            None => {
                let entry = all.iter().position(|&x| !x.into().is_finite()).unwrap_or(0);
                let (row, column) = match &values {
                    Values::Dense(_) => (entry / columns, entry % columns),
                    Values::Sparse(sparse) => sparse.place(entry),
                };
                return Err(Error::NotFinite { row, column, value: all[entry].into() });
            }
        }
        Ok(Self { values, rows, columns, weights: Vec::new(), repeated: None, mean: Vec::new() })
    }

    /// The same samples with uniform weights and their mean.
    fn centred(mut self) -> Result<Self> {
        if self.rows < 2 {
            return Err(Error::TooFewSamples { found: self.rows });
        }
        self.weights = vec![1.0 / self.rows as f64; self.rows];
        self.mean = self.weighted_mean();
        Ok(self)
    }

    /// Gives each sample a weight: not negative, at least two of them positive; they are divided by their sum.
    ///
    /// A sample of weight 0 takes no part in the fit, but gets scores and a plan row like a new sample. Weights that are all
    /// whole numbers stand for repeated samples: see [`Samples::count`].
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        if weights.len() != self.rows {
            return Err(Error::WeightCount { expected: self.rows, found: weights.len() });
        }
        if let Some((row, &value)) = weights.iter().enumerate().find(|(_, w)| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::Weight { row, value });
        }
        let largest = weights.iter().fold(0.0, |m: f64, &w| m.max(w));
        if largest == 0.0 {
            return Err(Error::ZeroWeights);
        }
        // Dividing by the largest first keeps the sum finite.
        let sum: f64 = weights.iter().map(|w| w / largest).sum();
        self.weights = weights.iter().map(|w| w / largest / sum).collect();
        let found = self.active().len();
        if found < 2 {
            return Err(Error::TooFewSamples { found });
        }
        let whole = weights.iter().all(|w| w.fract() == 0.0);
        self.repeated = whole.then(|| weights.iter().sum());
        self.mean = self.weighted_mean();
        Ok(self)
    }

    /// Number of samples.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of features.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The weights a, which sum to 1.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How many samples these stand for: the sum of the weights where all are whole numbers, so that a weight of 3 is as good as
    /// the same sample three times; otherwise the number of samples that carry weight. Perplexities count in it.
    pub fn count(&self) -> f64 {
        self.repeated.unwrap_or_else(|| self.active().len() as f64)
    }

    /// The weighted mean of each feature.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// A copy of one sample.
    pub fn row(&self, row: usize) -> Vec<f64> {
        match &self.values {
            Values::Dense(dense) => dense.row(row).iter().map(|&x| x.into()).collect(),
            Values::Sparse(sparse) => sparse.row(row),
        }
    }

    /// The samples that carry weight.
    pub(crate) fn active(&self) -> Vec<usize> {
        (0..self.rows).filter(|&i| self.weights[i] > 0.0).collect()
    }

    /// (X - mean) `loadings`, for the given rows.
    pub(crate) fn project(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Matrix {
        match &self.values {
            Values::Dense(dense) => dense.project(rows, mean, loadings),
            Values::Sparse(sparse) => sparse.project(rows, mean, loadings),
        }
    }

    fn weighted_mean(&self) -> Vec<f64> {
        match &self.values {
            Values::Dense(dense) => dense.weighted_mean(&self.weights),
            Values::Sparse(sparse) => sparse.weighted_mean(&self.weights),
        }
    }

    /// The Gram matrix of the weighted, centred `active` rows, between samples or between features.
    fn gram(&self, active: &[usize], side: Side) -> Matrix {
        match &self.values {
            Values::Dense(dense) => dense.gram(active, &self.weights, &self.mean, side),
            Values::Sparse(sparse) => sparse.gram(active, &self.weights, &self.mean, side),
        }
    }

    /// Features as combinations of the `active` rows, U = (X - mean)' `combination`, and the scores (X - mean) U of all rows.
    fn combine(&self, active: &[usize], combination: &Matrix) -> (Matrix, Matrix) {
        match &self.values {
            Values::Dense(dense) => dense.combine(active, &self.mean, combination),
            Values::Sparse(sparse) => sparse.combine(active, &self.mean, combination),
        }
    }
}

/// The largest magnitude, or none if a value is not finite.
fn largest_magnitude<T: Scalar>(values: &[T]) -> Option<f64> {
    let parts = parallel::map(&parallel::blocks(values.len(), 1 << 18), values.len(), |block| {
        // A NaN fails every comparison, so `not (|x| <= max)` catches it; no branch, so that the loop vectorises.
        let mut finite = true;
        let mut lanes = [0.0f64; 8];
        for chunk in values[block].chunks(8) {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                let size = x.into().abs();
                finite &= size <= f64::MAX;
                *lane = if size > *lane { size } else { *lane };
            }
        }
        finite.then(|| lanes.into_iter().fold(0.0, f64::max))
    });
    parts.into_iter().try_fold(0.0f64, |a, b| b.map(|b| a.max(b)))
}
