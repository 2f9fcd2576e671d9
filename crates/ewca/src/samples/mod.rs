//! The data: n samples x d features, weighted, centred on the fly.
//!
//! [`Samples`] borrows the caller's matrix; nothing here ever makes a centred copy of it. What the method needs of the data are
//! four operations (the mean, the Gram matrix of the cheaper side, X U and X' W), each a blocked walk over the rows.

mod span;

use std::borrow::Cow;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

pub(crate) use span::Span;

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::parallel;

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
    data: Cow<'a, [T]>,
    rows: usize,
    columns: usize,
    weights: Vec<f64>,
    mean: Vec<f64>,
}

impl<'a, T: Scalar> Samples<'a, T> {
    /// Borrows a row-major matrix of `rows` samples x `columns` features, each sample with the same weight.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        Self::from_cow(Cow::Borrowed(data), rows, columns)
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
        Self::from_cow(Cow::Owned(data), rows.len(), columns)
    }

    fn from_cow(data: Cow<'a, [T]>, rows: usize, columns: usize) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        if rows.checked_mul(columns) != Some(data.len()) {
            return Err(Error::Shape { rows, columns, expected: rows.saturating_mul(columns), found: data.len() });
        }
        let mut samples = Self { data, rows, columns, weights: vec![1.0 / rows as f64; rows], mean: Vec::new() };
        samples.check_values()?;
        if rows < 2 {
            return Err(Error::TooFewSamples { found: rows });
        }
        samples.mean = samples.weighted_mean();
        Ok(samples)
    }

    /// Samples to be projected with somebody else's mean: any number of them.
    pub(crate) fn uncentred(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        let samples = Self { data: Cow::Borrowed(data), rows, columns, weights: Vec::new(), mean: Vec::new() };
        samples.check_values()?;
        Ok(samples)
    }

    /// Gives each sample a weight: not negative, at least two of them positive; they are divided by their sum.
    ///
    /// A sample of weight 0 takes no part in the fit, but gets scores and a plan row like a new sample.
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

    /// The weighted mean of each feature.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// One sample.
    pub fn row(&self, row: usize) -> &[T] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// The samples that carry weight.
    pub(crate) fn active(&self) -> Vec<usize> {
        (0..self.rows).filter(|&i| self.weights[i] > 0.0).collect()
    }

    /// Rows per block of a walk: about a million values, whatever the number of threads.
    fn row_blocks(&self) -> Vec<Range<usize>> {
        parallel::blocks(self.rows, ((1 << 18) / self.columns).clamp(1, 4096))
    }

    fn check_values(&self) -> Result<()> {
        let largest = parallel::map(&self.row_blocks(), self.data.len(), |block| {
            let values = &self.data[block.start * self.columns..block.end * self.columns];
            // A NaN fails every comparison, so `not (|x| <= max)` catches it; no branch, so that the loop vectorises.
            let mut finite = true;
            let mut lanes = [0.0f64; 8];
            for chunk in values.chunks(8) {
                for (lane, &x) in lanes.iter_mut().zip(chunk) {
                    let size = x.into().abs();
                    finite &= size <= f64::MAX;
                    *lane = if size > *lane { size } else { *lane };
                }
            }
            finite.then(|| lanes.into_iter().fold(0.0, f64::max))
        });
        match largest.into_iter().try_fold(0.0f64, |a, b| b.map(|b| a.max(b))) {
            Some(magnitude) if magnitude == 0.0 || MAGNITUDES.contains(&magnitude) => Ok(()),
            Some(magnitude) => Err(Error::Range { magnitude }),
            None => {
                let at = self.data.iter().position(|&x| !x.into().is_finite()).unwrap_or(0);
                Err(Error::NotFinite { row: at / self.columns, column: at % self.columns, value: self.data[at].into() })
            }
        }
    }

    /// Sum of a_i (x_i - x_0), added to x_0: exact for constant columns, and accurate far from the origin.
    fn weighted_mean(&self) -> Vec<f64> {
        let parts = parallel::map(&self.row_blocks(), self.data.len(), |block| {
            let mut sum = vec![0.0; self.columns];
            for i in block {
                let weight = self.weights[i];
                for ((s, &x), &x0) in sum.iter_mut().zip(self.row(i)).zip(self.row(0)) {
                    *s += weight * (x.into() - x0.into());
                }
            }
            sum
        });
        let mut mean: Vec<f64> = self.row(0).iter().map(|&x| x.into()).collect();
        for part in parts {
            mean.iter_mut().zip(part).for_each(|(m, p)| *m += p);
        }
        mean
    }

    /// Writes the centred rows `rows` (their numbers), features `columns`, into `panel`, row after row, each times `scale[row]`.
    fn fill_centred(&self, rows: &[usize], columns: Range<usize>, scale: impl Fn(usize) -> f64, panel: &mut [f64]) {
        let mean = &self.mean[columns.clone()];
        for (&i, out) in rows.iter().zip(panel.chunks_exact_mut(columns.len())) {
            let factor = scale(i);
            let values = &self.row(i)[columns.clone()];
            for ((o, &x), &m) in out.iter_mut().zip(values).zip(mean) {
                *o = factor * (x.into() - m);
            }
        }
    }

    /// Gram matrix between the weighted, centred `active` rows, or between features: sum over the other side.
    fn gram(&self, active: &[usize], side: Side) -> Matrix {
        let (order, length) = match side {
            Side::Samples => (active.len(), self.columns),
            Side::Features => (self.columns, active.len()),
        };
        let mut gram = Matrix::zeros(order, order);
        let tiles = lower_tiles(order);
        let root = |i: usize| self.weights[i].sqrt();
        let width = ((1 << 18) / order).clamp(256, 4096);
        let mut panel = vec![0.0; order * width.min(length)];
        for strip in parallel::blocks(length, width) {
            let panel = &mut panel[..order * strip.len()];
            let work = panel.len() * order / 2;
            let lines = match side {
                Side::Samples => {
                    let rows_at_once = 16;
                    parallel::for_chunks(panel, rows_at_once * strip.len(), 4 * work, |chunk, out| {
                        let rows = &active[chunk * rows_at_once..][..out.len() / strip.len()];
                        self.fill_centred(rows, strip.clone(), root, out);
                    });
                    MatRef::from_row_major_slice(panel, order, strip.len())
                }
                Side::Features => {
                    let rows_at_once = 64;
                    parallel::for_chunks(panel, rows_at_once * order, 4 * work, |chunk, out| {
                        let rows = &active[strip.start + chunk * rows_at_once..][..out.len() / order];
                        self.fill_centred(rows, 0..order, root, out);
                    });
                    MatRef::from_column_major_slice(panel, order, strip.len())
                }
            };
            let parts = parallel::map(&tiles.ranges, work, |tile| {
                let (rows, columns) = tiles.at(tile.start);
                let mut part = Matrix::zeros(rows.len(), columns.len());
                let (left, right) =
                    (lines.subrows(rows.start, rows.len()), lines.subrows(columns.start, columns.len()).transpose());
                multiply_tile(part.view_mut(), left, right, rows == columns);
                part
            });
            for (tile, part) in parts.iter().enumerate() {
                let (rows, columns) = tiles.at(tile);
                for (j, column) in columns.enumerate() {
                    let out = &mut gram.column_mut(column)[rows.clone()];
                    out.iter_mut().zip(part.column(j)).for_each(|(o, p)| *o += p);
                }
            }
        }
        gram.mirror_lower();
        gram
    }

    /// (X - mean) `loadings`, for the given rows.
    pub(crate) fn project(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Matrix {
        let components = loadings.columns();
        let mut scores = Matrix::zeros(rows.len(), components);
        let blocks = parallel::blocks(rows.len(), 64);
        let parts = parallel::map(&blocks, rows.len() * self.columns * components, |block| {
            let mut part = Matrix::zeros(block.len(), components);
            let mut panel = Vec::new();
            for strip in parallel::blocks(self.columns, 1024) {
                panel.resize(block.len() * strip.len(), 0.0);
                for (&i, out) in rows[block.clone()].iter().zip(panel.chunks_exact_mut(strip.len())) {
                    let values = &self.row(i)[strip.clone()];
                    for ((o, &x), &m) in out.iter_mut().zip(values).zip(&mean[strip.clone()]) {
                        *o = x.into() - m;
                    }
                }
                let left = MatRef::from_row_major_slice(&panel, block.len(), strip.len());
                let right = loadings.view().subrows(strip.start, strip.len());
                matmul(part.view_mut(), Accum::Add, left, right, 1.0, Par::Seq);
            }
            part
        });
        for (block, part) in blocks.iter().zip(&parts) {
            for j in 0..components {
                scores.column_mut(j)[block.clone()].copy_from_slice(part.column(j));
            }
        }
        scores
    }

    /// (X - mean)' `combination`, over the `active` rows: features as combinations of samples.
    fn combine(&self, active: &[usize], combination: &Matrix) -> Matrix {
        let components = combination.columns();
        let mut out = Matrix::zeros(self.columns, components);
        let strips = parallel::blocks(self.columns, 1024);
        let parts = parallel::map(&strips, active.len() * self.columns * components, |strip| {
            let mut panel = vec![0.0; active.len() * strip.len()];
            self.fill_centred(active, strip.clone(), |_| 1.0, &mut panel);
            let left = MatRef::from_row_major_slice(&panel, active.len(), strip.len()).transpose();
            let mut part = Matrix::zeros(strip.len(), components);
            matmul(part.view_mut(), Accum::Replace, left, combination.view(), 1.0, Par::Seq);
            part
        });
        for (strip, part) in strips.iter().zip(&parts) {
            for j in 0..components {
                out.column_mut(j)[strip.clone()].copy_from_slice(part.column(j));
            }
        }
        out
    }
}

/// Between what a Gram matrix is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Samples,
    Features,
}

/// The tiles of a lower triangle.
struct Tiles {
    lines: Vec<Range<usize>>,
    /// One range of length 1 per tile: what `parallel::map` iterates over.
    ranges: Vec<Range<usize>>,
    pairs: Vec<(usize, usize)>,
}

impl Tiles {
    fn at(&self, tile: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) = self.pairs[tile];
        (self.lines[row].clone(), self.lines[column].clone())
    }
}

fn lower_tiles(order: usize) -> Tiles {
    let size = if order <= 96 { order } else { order.div_ceil(4).clamp(48, 384) };
    let lines = parallel::blocks(order, size);
    let pairs: Vec<_> = (0..lines.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
    let ranges = (0..pairs.len()).map(|t| t..t + 1).collect();
    Tiles { lines, ranges, pairs }
}

fn multiply_tile(out: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>, diagonal: bool) {
    if diagonal {
        use BlockStructure::{Rectangular, TriangularLower};
        triangular::matmul(out, TriangularLower, Accum::Add, left, Rectangular, right, Rectangular, 1.0, Par::Seq);
    } else {
        matmul(out, Accum::Add, left, right, 1.0, Par::Seq);
    }
}
