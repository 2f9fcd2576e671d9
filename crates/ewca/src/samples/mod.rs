//! The data: n samples x d features, weighted, centred on the fly.
//!
//! [`Samples`] borrows the caller's matrix, dense or sparse, or reads it part by part; nothing here ever makes a centred copy of
//! it. What the method needs of the data are four operations: the mean, the Gram matrix of the cheaper side, X U, and X'W (with
//! X X'W beside it). Processes of a team have some of the rows each; what they sum they sum together.

mod axes;
mod dense;
mod source;
mod span;
mod sparse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use dense::{SMALL_GRAM, strip_width};
pub use source::{Part, Source};
pub(crate) use span::{LARGEST_GRAM, Reduction, Span};

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::parallel;
use crate::team::{Team, TeamHandle, processor};
use dense::{Dense, Lines};
use source::Streamed;
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
    member: TeamHandle,
    /// The number of the first row among those of the whole team.
    start: usize,
    /// Of the whole team.
    weights: Vec<f64>,
    /// The sum of the counts, where samples have counts.
    total_count: Option<f64>,
    mean: Vec<f64>,
}

#[derive(Debug, Clone)]
enum Values<'a, T: Scalar> {
    Dense(Dense<'a, T>),
    Sparse(Sparse<'a, T>),
    Streamed(Streamed<'a>),
}

/// Some rows of data: what the method needs of them.
trait Rows {
    /// A copy of a row.
    fn row(&self, row: usize) -> Vec<f64>;
    /// The largest magnitude; an error if a value is not finite. `start` is the number of the first row, for the message.
    fn magnitude(&self, start: usize) -> Result<f64>;
    /// sum_i a_i x_i, for weights that sum to 1.
    fn weighted_mean(&self, weights: &[f64]) -> Vec<f64>;
    /// The Gram matrix of diag(a)^1/2 (X - mean) over the `active` rows, between samples or between features.
    fn gram(&self, active: &[usize], weights: &[f64], mean: &[f64], side: Side) -> Matrix;
    /// (X - mean) `loadings`, for the given rows.
    fn project(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Matrix;
    /// sum_i a_i |x_i - mean|^2.
    fn total_variance(&self, weights: &[f64], mean: &[f64]) -> f64;
    /// (X - mean)' `columns`, over the given rows.
    fn transpose_times(&self, rows: &[usize], mean: &[f64], columns: &Matrix) -> Matrix;
    /// U = (X - mean)' `combination` over the `active` rows, and (X - mean) U for all rows.
    fn lift(&self, active: &[usize], mean: &[f64], combination: &Matrix) -> (Matrix, Matrix);
}

/// What is done with each part of some samples: where it stands among them, and its rows.
type EachPart<'e> = dyn FnMut(Range<usize>, &dyn Rows) -> Result<()> + 'e;

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

    /// Takes such a matrix instead of borrowing it.
    pub fn from_vec(data: Vec<T>, rows: usize, columns: usize) -> Result<Self> {
        Self::from_dense(Cow::Owned(data), rows, columns)?.centred()
    }

    /// Borrows rows that need not lie one behind the other: some rows of a table, or some features of each.
    ///
    /// ```
    /// use ewca::Samples;
    /// let table = [[1.0, 2.0, 9.0], [3.0, 4.0, 9.0], [5.0, 6.5, 9.0]];
    /// let samples = Samples::from_slices(table.iter().map(|row| &row[..2]).collect())?;
    /// assert_eq!(samples.row(2)?, [5.0, 6.5]);
    /// # Ok::<(), ewca::Error>(())
    /// ```
    pub fn from_slices(rows: Vec<&'a [T]>) -> Result<Self> {
        let (count, columns) = (rows.len(), rows.first().map_or(0, |row| row.len()));
        if columns == 0 {
            return Err(Error::Empty { rows: count, columns });
        }
        if let Some((row, values)) = rows.iter().enumerate().find(|(_, values)| values.len() != columns) {
            return Err(Error::Ragged { row, expected: columns, found: values.len() });
        }
        let dense = Dense { data: Lines::Apart(rows), rows: count, columns };
        Self::checked(Values::Dense(dense), count, columns)?.centred()
    }

    /// The same as [`Samples::new`], from rows of their own, which are copied.
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
    /// assert_eq!(samples.row(0)?, [1.0, 0.0, 2.0]);
    /// assert_eq!(samples.mean(), [0.5, 0.0, 2.5]);
    /// # Ok::<(), ewca::Error>(())
    /// ```
    pub fn sparse(offsets: &'a [usize], positions: &'a [u32], values: &'a [T], columns: usize) -> Result<Self> {
        Self::uncentred_sparse(offsets, positions, values, columns)?.centred()
    }

    /// Samples that are read from their source whenever they are needed, part by part: for tables that are larger than the memory.
    /// This reads them once; a fit reads them once more, or twice if they have more features than it can hold.
    pub fn streamed(source: &'a dyn Source) -> Result<Self> {
        let (rows, columns) = (source.rows(), source.columns());
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        Self::of(Values::Streamed(Streamed::new(source)), rows, columns).centred()
    }

    /// Makes these samples the share of one process in a team: others have other samples, of the same features. All processes of
    /// the team fit together, with the same parameters, and get the same model. Weights are given after this, each process its own.
    pub fn with_team(mut self, team: Arc<dyn Team>) -> Result<Self> {
        if self.total_count.is_some() || self.weights.iter().any(|a| *a != self.weights[0]) {
            let expected = "give them after the team, to which they must sum".into();
            return Err(Error::Parameter { name: "weights", value: "those of one process".into(), expected });
        }
        self.member = TeamHandle::of(team);
        let shapes = self.member.gathered(&[self.rows as f64, self.columns as f64, processor()]);
        if shapes.iter().any(|shape| shape.get(2) != shapes[0].get(2)) {
            return Err(Error::Team { what: "what their processors can do" });
        }
        if let Some(other) = shapes.iter().find(|shape| shape.get(1) != Some(&(self.columns as f64))) {
            return Err(Error::Columns { expected: self.columns, found: other.get(1).map_or(0, |&d| d as usize) });
        }
        self.start = shapes[..self.member.rank()].iter().map(|shape| shape[0] as usize).sum();
        let all: usize = shapes.iter().map(|shape| shape[0] as usize).sum();
        self.weights = vec![1.0 / all as f64; all];
        // The mean is that of this process's samples so far.
        let share = self.rows as f64 / all as f64;
        self.mean.iter_mut().for_each(|m| *m *= share);
        self.member.sum(&mut self.mean);
        if let Values::Streamed(streamed) = &mut self.values {
            streamed.reweight(share);
        }
        Ok(self)
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
        Self::checked(Values::Dense(Dense { data: Lines::Whole(data), rows, columns }), rows, columns)
    }

    /// Samples whose values are all numbers of a sensible size.
    fn checked(values: Values<'a, T>, rows: usize, columns: usize) -> Result<Self> {
        let samples = Self::of(values, rows, columns);
        let mut largest = 0.0f64;
        samples.each_part(&mut |range, rows| {
            largest = largest.max(rows.magnitude(range.start)?);
            Ok(())
        })?;
        check_range(largest)?;
        Ok(samples)
    }

    fn of(values: Values<'a, T>, rows: usize, columns: usize) -> Self {
        let (weights, mean, member) = (Vec::new(), Vec::new(), TeamHandle::default());
        Self { values, rows, columns, member, start: 0, weights, total_count: None, mean }
    }

    /// The same samples with uniform weights and their mean.
    fn centred(mut self) -> Result<Self> {
        if self.rows < 2 {
            return Err(Error::TooFewSamples { found: self.rows });
        }
        self.weights = vec![1.0 / self.rows as f64; self.rows];
        self.mean = self.weighted_mean()?;
        Ok(self)
    }

    /// Gives each sample a weight: not negative, at least two of them positive. They are divided by their sum, so that their scale does not
    /// matter: a distribution over the samples (the paper's histogram a). Perplexities count samples, whatever their weights.
    ///
    /// A sample of weight 0 takes no part in the fit, but gets scores and a plan row like a new sample.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        self.weigh(weights)?;
        self.total_count = None;
        Ok(self)
    }

    /// Gives each sample a count: how many samples it stands for, which need not be a whole number. As weights they are the same as
    /// [`Samples::with_weights`]; but perplexities count a sample so many times, so that a count of 3 is as good as the same sample three
    /// times: with the shares q_ij of row i, its perplexity is exp(-sum_j q_ij log(q_ij / count_j)).
    pub fn with_counts(mut self, counts: &[f64]) -> Result<Self> {
        let sum: f64 = self.weigh(counts)?.iter().sum();
        // Beyond, adding one changes nothing.
        if sum > 9e15 {
            return Err(Error::Counts { sum });
        }
        self.total_count = Some(sum);
        Ok(self)
    }

    /// Takes the weights, and returns those of the whole team as they were given.
    fn weigh(&mut self, weights: &[f64]) -> Result<Vec<f64>> {
        if weights.len() != self.rows {
            return Err(Error::WeightCount { expected: self.rows, found: weights.len() });
        }
        let weights = self.member.gathered(weights).concat();
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
        self.mean = self.weighted_mean()?;
        Ok(weights)
    }

    /// Number of samples; in a team, of this process.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of samples of the whole team; of these where there is none.
    pub fn all_rows(&self) -> usize {
        self.weights.len()
    }

    /// Number of features.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The weights a, which sum to 1; in a team, of all samples.
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// How many samples these stand for: the sum of the counts where they have counts, otherwise the number of samples that carry
    /// weight. Perplexities are below it.
    pub fn count(&self) -> f64 {
        self.total_count.unwrap_or_else(|| self.active().len() as f64)
    }

    /// The weighted mean of each feature.
    pub fn mean(&self) -> &[f64] {
        &self.mean
    }

    /// A copy of one sample (of this process).
    pub fn row(&self, row: usize) -> Result<Vec<f64>> {
        if row >= self.rows {
            return Err(Error::NoSuchRow { row, rows: self.rows });
        }
        match &self.values {
            Values::Dense(dense) => Ok(Rows::row(dense, row)),
            Values::Sparse(sparse) => Ok(Rows::row(sparse, row)),
            Values::Streamed(streamed) => streamed.row(row),
        }
    }

    /// The samples that carry weight, of the whole team.
    pub(crate) fn active(&self) -> Vec<usize> {
        (0..self.weights.len()).filter(|&i| self.weights[i] > 0.0).collect()
    }

    /// Where this process's samples stand among all.
    fn own(&self) -> Range<usize> {
        self.start..self.start + self.rows
    }

    /// The samples of this process that carry weight, counted from its first one.
    fn own_active(&self) -> Vec<usize> {
        (0..self.rows).filter(|&i| self.weights[self.start + i] > 0.0).collect()
    }

    /// With whom these samples are shared.
    pub(crate) fn member(&self) -> &TeamHandle {
        &self.member
    }

    /// Whether reading the samples again is dear.
    pub(crate) fn is_streamed(&self) -> bool {
        matches!(self.values, Values::Streamed(_))
    }

    /// Calls `each` with every part of this process's rows and where it stands among them. What is in memory is one part.
    fn each_part(&self, each: &mut EachPart<'_>) -> Result<()> {
        match &self.values {
            Values::Dense(dense) => each(0..self.rows, dense),
            Values::Sparse(sparse) => each(0..self.rows, sparse),
            Values::Streamed(streamed) => streamed.each_part(each),
        }
    }

    /// (X - mean) `loadings`, for the given rows of this process, in ascending order.
    fn project_own(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Result<Matrix> {
        let mut out = Matrix::zeros(rows.len(), loadings.columns());
        self.each_part(&mut |range, part| {
            let (places, local) = within(rows, &range);
            let projected = part.project(&local, mean, loadings);
            if local.len() == rows.len() {
                out = projected;
            } else {
                for j in 0..loadings.columns() {
                    out.column_mut(j)[places.clone()].copy_from_slice(projected.column(j));
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// (X - mean) `loadings`, for all rows of all processes.
    pub(crate) fn project(&self, mean: &[f64], loadings: &Matrix) -> Result<Matrix> {
        let all: Vec<usize> = (0..self.rows).collect();
        Ok(self.member.gathered_rows(self.project_own(&all, mean, loadings)?))
    }

    /// (X - mean)' `columns`, over the active rows; `columns` has a row for each of them, of all processes.
    pub(crate) fn transpose_times(&self, columns: &Matrix) -> Result<Matrix> {
        let active = self.own_active();
        let before = self.weights[..self.start].iter().filter(|a| **a > 0.0).count();
        let mut out = Matrix::zeros(self.columns, columns.columns());
        self.each_part(&mut |range, part| {
            let (places, local) = within(&active, &range);
            let own =
                Matrix::from_fn(places.len(), columns.columns(), |i, j| columns.get(before + places.start + i, j));
            out.add_scaled(1.0, &part.transpose_times(&local, &self.mean, &own));
            Ok(())
        })?;
        Ok(self.member.summed(out))
    }

    /// Sigma `basis`, with Sigma the covariance.
    fn covariance_times(&self, basis: &Matrix) -> Result<Matrix> {
        let active = self.own_active();
        let weights = &self.weights[self.own()];
        let mut out = Matrix::zeros(self.columns, basis.columns());
        self.each_part(&mut |range, part| {
            let (_, local) = within(&active, &range);
            // Some thousand rows at a time: their coordinates need not be held for all.
            for some in local.chunks(4096) {
                let mut projected = part.project(some, &self.mean, basis);
                projected.scale_rows(&some.iter().map(|&i| weights[range.start + i]).collect::<Vec<_>>());
                out.add_scaled(1.0, &part.transpose_times(some, &self.mean, &projected));
            }
            Ok(())
        })?;
        Ok(self.member.summed(out))
    }

    /// The sum of all features' variances: sum_i a_i |x_i - mean|^2.
    pub fn total_variance(&self) -> Result<f64> {
        let weights = &self.weights[self.own()];
        let mut sum = 0.0;
        self.each_part(&mut |range, part| {
            sum += part.total_variance(&weights[range], &self.mean);
            Ok(())
        })?;
        let mut total = [sum];
        self.member.sum(&mut total);
        Ok(total[0])
    }

    fn weighted_mean(&mut self) -> Result<Vec<f64>> {
        let own = &self.weights[self.start..self.start + self.rows];
        let weight: f64 = own.iter().sum();
        let alone = self.member.is_alone();
        let shares: Vec<f64> = match (alone, weight > 0.0) {
            (true, _) => own.to_vec(),
            (false, true) => own.iter().map(|a| a / weight).collect(),
            (false, false) => vec![0.0; own.len()],
        };
        let mean = match &mut self.values {
            Values::Dense(dense) => dense.weighted_mean(&shares),
            Values::Sparse(sparse) => sparse.weighted_mean(&shares),
            Values::Streamed(streamed) => {
                streamed.first_pass(&self.weights[self.start..self.start + self.rows], self.columns <= LARGEST_GRAM)?
            }
        };
        if alone {
            return Ok(mean);
        }
        let mut mean: Vec<f64> = mean.into_iter().map(|m| m * weight).collect();
        self.member.sum(&mut mean);
        Ok(mean)
    }

    /// The Gram matrix of the weighted, centred active rows, between samples (of one process) or between features (of all).
    fn gram(&self, side: Side) -> Result<Matrix> {
        let (active, weights) = (self.own_active(), &self.weights[self.own()]);
        let gram = match &self.values {
            Values::Dense(dense) => dense.gram(&active, weights, &self.mean, side),
            Values::Sparse(sparse) => sparse.gram(&active, weights, &self.mean, side),
            Values::Streamed(streamed) => match streamed.gram(&self.mean) {
                Some(gram) => gram,
                None => {
                    let mut gram = Matrix::zeros(self.columns, self.columns);
                    self.each_part(&mut |range, part| {
                        let (_, local) = within(&active, &range);
                        gram.add_scaled(1.0, &part.gram(&local, &weights[range], &self.mean, Side::Features));
                        Ok(())
                    })?;
                    gram
                }
            },
        };
        Ok(self.member.summed(gram))
    }

    /// Features as combinations of the `active` rows, U = (X - mean)' `combination`, and the scores (X - mean) U of all rows.
    fn lift(&self, combination: &Matrix) -> Result<(Matrix, Matrix)> {
        match &self.values {
            Values::Dense(dense) if self.member.is_alone() => {
                Ok(dense.lift(&self.own_active(), &self.mean, combination))
            }
            Values::Sparse(sparse) if self.member.is_alone() => {
                Ok(sparse.lift(&self.own_active(), &self.mean, combination))
            }
            _ => {
                let loadings = self.transpose_times(combination)?;
                let scores = self.project(&self.mean, &loadings)?;
                Ok((loadings, scores))
            }
        }
    }
}

/// Which places of `rows` (ascending) lie in `range`, and these rows, counted from its start.
fn within(rows: &[usize], range: &Range<usize>) -> (Range<usize>, Vec<usize>) {
    let places = rows.partition_point(|&i| i < range.start)..rows.partition_point(|&i| i < range.end);
    let local = rows[places.clone()].iter().map(|i| i - range.start).collect();
    (places, local)
}

/// Refuses data whose squares leave the range of f64.
fn check_range(magnitude: f64) -> Result<()> {
    if magnitude == 0.0 || MAGNITUDES.contains(&magnitude) { Ok(()) } else { Err(Error::Range { magnitude }) }
}

/// The largest magnitude of `values`; an error if one is not finite, with its `place` (row and column).
fn magnitude<T: Scalar>(values: &[T], place: impl Fn(usize) -> (usize, usize)) -> Result<f64> {
    largest_magnitude(values).ok_or_else(|| {
        let entry = values.iter().position(|&x| !x.into().is_finite()).unwrap_or(0);
        let (row, column) = place(entry);
        Error::NotFinite { row, column, value: values[entry].into() }
    })
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
