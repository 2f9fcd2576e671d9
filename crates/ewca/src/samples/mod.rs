//! The data: n samples x d features, weighted, centred on the fly.
//!
//! [`Samples`] borrows the caller's matrix, dense or sparse, or reads it part by part; nothing here ever makes a centred copy of
//! it. What the method needs of the data are four operations: the mean, the Gram matrix of the cheaper side, X U, and X'W (with
//! X X'W beside it). Processes of a team have some of the rows each; what they sum they sum together.

mod axes;
mod dense;
mod footprint;
mod magnitude;
mod operator;
mod source;
mod span;
mod sparse;
#[cfg(test)]
mod tests;

use std::borrow::Cow;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

pub(crate) use footprint::SpanShape;
pub(crate) use operator::Product;
pub use source::{Part, Source};
pub(crate) use span::{ALL_AXES, LARGEST_GRAM, Reduction, Span, is_whole};

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::team::{Team, TeamHandle, processor};
use dense::{Dense, Lines};
use magnitude::{check_range, magnitude};
use source::Streamed;
use sparse::Sparse;

/// A floating point type that samples may come in: `f64` or `f32`. Everything is computed in `f64`.
pub trait Scalar: Copy + Send + Sync + Into<f64> + private::Sealed + 'static {}
impl Scalar for f64 {}
impl Scalar for f32 {}

// Nobody outside of this crate can call these functions, or name what they take.
#[allow(private_interfaces)]
mod private {
    use super::{Dense, InMemory, Result, Sparse};

    /// Where the type of the values ends. These are no generic functions: what computes with each type is compiled in this crate, once, and not in every
    /// crate that has samples, with whatever settings that has.
    pub trait Sealed: Sized {
        fn dense(dense: Dense<'_, Self>) -> InMemory<'_>
        where
            Self: super::Scalar;

        fn sparse<'a>(
            offsets: &'a [usize],
            positions: &'a [u32],
            values: &'a [Self],
            columns: usize,
        ) -> Result<InMemory<'a>>;
    }

    macro_rules! sealed {
        ($($scalar:ty: $dense:ident, $sparse:ident;)*) => {$(
            impl Sealed for $scalar {
                fn dense(dense: Dense<'_, Self>) -> InMemory<'_> {
                    InMemory::$dense(dense)
                }

                fn sparse<'a>(
                    offsets: &'a [usize],
                    positions: &'a [u32],
                    values: &'a [Self],
                    columns: usize,
                ) -> Result<InMemory<'a>> {
                    Sparse::new(offsets, positions, values, columns).map(InMemory::$sparse)
                }
            }
        )*};
    }
    sealed! {
        f64: DenseDouble, SparseDouble;
        f32: DenseSingle, SparseSingle;
    }
}

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
    pub(crate) data: Data<'a>,
    scalar: PhantomData<T>,
}

/// Samples, whatever type their values have: what the method works with.
#[derive(Debug, Clone)]
pub(crate) struct Data<'a> {
    values: Storage<'a>,
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
enum Storage<'a> {
    InMemory(InMemory<'a>),
    Streamed(Streamed<'a>),
}

/// All rows, dense or sparse, of one type or the other. (Not a trait object: it might look at what it borrows when it is dropped, so that samples could
/// not outlive their data unused.)
#[derive(Debug, Clone)]
enum InMemory<'a> {
    DenseDouble(Dense<'a, f64>),
    DenseSingle(Dense<'a, f32>),
    SparseDouble(Sparse<'a, f64>),
    SparseSingle(Sparse<'a, f32>),
}

impl InMemory<'_> {
    fn rows(&self) -> &dyn Rows {
        match self {
            Self::DenseDouble(dense) => dense,
            Self::DenseSingle(dense) => dense,
            Self::SparseDouble(sparse) => sparse,
            Self::SparseSingle(sparse) => sparse,
        }
    }
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

/// What a variance with weights that sum to 1 is divided by to be unbiased (docs/method.md, section 9): 1 - 1/N for counts that sum to N,
/// 1 - sum_i a_i^2 for weights, which is 1 - 1/n where they are all the same. Counts of less than two samples are weights.
pub(crate) fn variance_divisor(weights: &[f64], total_count: Option<f64>) -> f64 {
    match total_count {
        Some(count) if count >= 2.0 => (count - 1.0) / count,
        _ => {
            // The sum over all pairs: nothing cancels where one weight is nearly all.
            let (mut before, mut pairs) = (0.0, 0.0);
            for a in weights {
                pairs += a * before;
                before += a;
            }
            2.0 * pairs
        }
    }
}

/// Between what a Gram matrix is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Side {
    Samples,
    Features,
}

impl<'a, T: Scalar> Samples<'a, T> {
    /// Borrows a row-major matrix of `rows` samples x `columns` features, each sample with the same weight.
    ///
    /// # Errors
    /// Where there are no values or fewer than 2 samples, where a value is not finite, or is too large or too small to be squared; where the length is not `rows` x `columns`.
    pub fn new(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        Self::uncentred(data, rows, columns)?.centred()
    }

    /// Takes such a matrix instead of borrowing it.
    ///
    /// # Errors
    /// As [`Samples::new`].
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
    ///
    /// # Errors
    /// As [`Samples::new`], and where rows have different lengths.
    pub fn from_slices(rows: Vec<&'a [T]>) -> Result<Self> {
        let (count, columns) = (rows.len(), rows.first().map_or(0, |row| row.len()));
        if columns == 0 {
            return Err(Error::Empty { rows: count, columns });
        }
        if let Some((row, values)) = rows.iter().enumerate().find(|(_, values)| values.len() != columns) {
            return Err(Error::Ragged { row, expected: columns, found: values.len() });
        }
        let dense = Dense { data: Lines::Apart(rows), rows: count, columns };
        Self::checked(T::dense(dense), count, columns)?.centred()
    }

    /// Borrows columns (features) instead of rows, which need not lie one behind the other either: column-major matrices, some columns of a
    /// table. Results are the same bits as from rows; the work over the data themselves takes a little longer.
    ///
    /// ```
    /// use ewca::Samples;
    /// let (height, weight) = ([1.0, 3.0, 5.0], [2.0, 4.0, 6.5]);
    /// let samples = Samples::from_columns(vec![&height, &weight])?;
    /// assert_eq!(samples.row(2)?, [5.0, 6.5]);
    /// # Ok::<(), ewca::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Samples::new`], and where columns have different lengths.
    pub fn from_columns(columns: Vec<&'a [T]>) -> Result<Self> {
        let rows = columns.first().map_or(0, |column| column.len());
        if let Some((column, values)) = columns.iter().enumerate().find(|(_, values)| values.len() != rows) {
            return Err(Error::RaggedColumn { column, expected: rows, found: values.len() });
        }
        Self::by_columns(columns, rows, 1)?.centred()
    }

    /// Borrows a matrix whose value at row i and column j is `data[i * row_stride + j * column_stride]`: of any order, with gaps or without.
    ///
    /// ```
    /// use ewca::Samples;
    /// // Every other column of a row-major table.
    /// let table = [1.0, 9.0, 2.0, 9.0, 3.0, 9.0, 4.0, 9.0, 5.0, 9.0, 6.5, 9.0];
    /// let samples = Samples::strided(&table, 3, 2, 4, 2)?;
    /// assert_eq!(samples.row(2)?, [5.0, 6.5]);
    /// # Ok::<(), ewca::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Samples::new`], and [`Error::Strides`] where they lead out of `data`.
    pub fn strided(
        data: &'a [T],
        rows: usize,
        columns: usize,
        row_stride: usize,
        column_stride: usize,
    ) -> Result<Self> {
        Self::uncentred_strided(data, rows, columns, row_stride, column_stride)?.centred()
    }

    /// The same as [`Samples::new`], from rows of their own, which are copied.
    ///
    /// # Errors
    /// As [`Samples::from_slices`].
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
    ///
    /// # Errors
    /// As [`Samples::new`], and [`Error::Sparse`] where the three do not make compressed sparse rows.
    pub fn sparse(offsets: &'a [usize], positions: &'a [u32], values: &'a [T], columns: usize) -> Result<Self> {
        Self::uncentred_sparse(offsets, positions, values, columns)?.centred()
    }

    /// Samples that are read from their source whenever they are needed, part by part: for tables that are larger than the memory.
    /// This reads them once; a fit reads them once more, or twice if they have more features than it can hold.
    ///
    /// # Errors
    /// As [`Samples::new`], and [`Error::Read`] where the source fails.
    pub fn streamed(source: &'a dyn Source) -> Result<Self> {
        let (rows, columns) = (source.rows(), source.columns());
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        Self::with(Data::of(Storage::Streamed(Streamed::new(source)), rows, columns)).centred()
    }

    /// Makes these samples the share of one process in a team: others have other samples, of the same features. All processes of
    /// the team fit together, with the same parameters, and get the same model. Weights are given after this, each process its own.
    ///
    /// # Errors
    /// Where weights or counts were given before, or where the processes have other features, or processors of another kind.
    pub fn with_team(mut self, team: Arc<dyn Team>) -> Result<Self> {
        self.data.join(team)?;
        Ok(self)
    }

    /// Samples to be projected with somebody else's mean: any number of them.
    pub(crate) fn uncentred(data: &'a [T], rows: usize, columns: usize) -> Result<Self> {
        Self::from_dense(Cow::Borrowed(data), rows, columns)
    }

    /// The same for any strides.
    pub(crate) fn uncentred_strided(
        data: &'a [T],
        rows: usize,
        columns: usize,
        row_stride: usize,
        column_stride: usize,
    ) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        let way = |count: usize, stride: usize| (count - 1).checked_mul(stride);
        let last = way(rows, row_stride).zip(way(columns, column_stride)).and_then(|(i, j)| i.checked_add(j));
        if last.is_none_or(|last| last >= data.len()) {
            return Err(Error::Strides { rows, columns, row_stride, column_stride, found: data.len() });
        }
        if column_stride != 1 {
            let slices = (0..columns).map(|j| &data[j * column_stride..]).collect();
            return Self::by_columns(slices, rows, row_stride);
        }
        let slices = (0..rows).map(|i| &data[i * row_stride..][..columns]).collect();
        Self::checked(T::dense(Dense { data: Lines::Apart(slices), rows, columns }), rows, columns)
    }

    fn by_columns(slices: Vec<&'a [T]>, rows: usize, step: usize) -> Result<Self> {
        let columns = slices.len();
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        let dense = Dense { data: Lines::Columns { columns: slices, step }, rows, columns };
        Self::checked(T::dense(dense), rows, columns)
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
        Self::checked(T::sparse(offsets, positions, values, columns)?, rows, columns)
    }

    fn from_dense(data: Cow<'a, [T]>, rows: usize, columns: usize) -> Result<Self> {
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        if rows.checked_mul(columns) != Some(data.len()) {
            return Err(Error::Shape { rows, columns, expected: rows.saturating_mul(columns), found: data.len() });
        }
        Self::checked(T::dense(Dense { data: Lines::Whole(data), rows, columns }), rows, columns)
    }

    fn with(data: Data<'a>) -> Self {
        Self { data, scalar: PhantomData }
    }

    fn checked(values: InMemory<'a>, rows: usize, columns: usize) -> Result<Self> {
        Data::checked(values, rows, columns).map(Self::with)
    }

    fn centred(mut self) -> Result<Self> {
        self.data.centre()?;
        Ok(self)
    }

    /// Gives each sample a weight: not negative, at least two of them positive. They are divided by their sum, so that their scale does not
    /// matter: a distribution over the samples (the paper's histogram a). Perplexities count samples, whatever their weights.
    ///
    /// A sample of weight 0 takes no part in the fit, but gets scores and a plan row like a new sample.
    ///
    /// # Errors
    /// Where there is not one weight for each sample, one is negative or not finite, or fewer than 2 are positive.
    pub fn with_weights(mut self, weights: &[f64]) -> Result<Self> {
        self.data.weigh(weights)?;
        self.data.total_count = None;
        Ok(self)
    }

    /// Gives each sample a count: how many samples it stands for, which need not be a whole number. As weights they are the same as
    /// [`Samples::with_weights`]; but perplexities count a sample so many times, so that a count of 3 is as good as the same sample three
    /// times: with the shares q_ij of row i, its perplexity is exp(-sum_j q_ij log(q_ij / count_j)).
    ///
    /// # Errors
    /// As [`Samples::with_weights`], and [`Error::Counts`] where they sum to more than 9e15.
    pub fn with_counts(mut self, counts: &[f64]) -> Result<Self> {
        self.data.count_by(counts)?;
        Ok(self)
    }

    /// Number of samples; in a team, of this process.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.data.rows()
    }

    /// Number of samples of the whole team; of these where there is none.
    #[must_use]
    pub fn all_rows(&self) -> usize {
        self.data.all_rows()
    }

    /// Number of features.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.data.columns()
    }

    /// The weights a, which sum to 1; in a team, of all samples.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        self.data.weights()
    }

    /// How many samples these stand for: the sum of the counts where they have counts, otherwise the number of samples that carry
    /// weight. Perplexities are below it.
    #[must_use]
    pub fn count(&self) -> f64 {
        self.data.count()
    }

    /// The weighted mean of each feature.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        self.data.mean()
    }

    /// A copy of one sample (of this process).
    ///
    /// # Errors
    /// Where there is no such sample, or it cannot be read.
    pub fn row(&self, row: usize) -> Result<Vec<f64>> {
        self.data.row(row)
    }

    /// The sum of all features' variances: sum_i a_i |x_i - mean|^2.
    ///
    /// # Errors
    /// Where the samples are streamed and cannot be read.
    pub fn total_variance(&self) -> Result<f64> {
        self.data.total_variance()
    }
}

impl<'a> Data<'a> {
    /// Those in memory, whose values are all numbers of a sensible size.
    fn checked(values: InMemory<'a>, rows: usize, columns: usize) -> Result<Self> {
        check_range(values.rows().magnitude(0)?)?;
        Ok(Self::of(Storage::InMemory(values), rows, columns))
    }

    fn of(values: Storage<'a>, rows: usize, columns: usize) -> Self {
        let (weights, mean, member) = (Vec::new(), Vec::new(), TeamHandle::default());
        Self { values, rows, columns, member, start: 0, weights, total_count: None, mean }
    }

    /// Gives them uniform weights, and their mean.
    fn centre(&mut self) -> Result<()> {
        if self.rows < 2 {
            return Err(Error::TooFewSamples { found: self.rows });
        }
        self.weights = vec![1.0 / self.rows as f64; self.rows];
        self.mean = self.weighted_mean()?;
        Ok(())
    }

    /// See [`Samples::with_team`].
    fn join(&mut self, team: Arc<dyn Team>) -> Result<()> {
        if self.total_count.is_some() || self.weights.iter().any(|a| *a != self.weights[0]) {
            let expected = "give them after the team, to which they must sum".into();
            return Err(Error::Parameter { name: "weights", value: "those of one process".into(), expected });
        }
        self.member = TeamHandle::of(team);
        let shapes = self.member.gathered(&[self.rows as f64, self.columns as f64, processor()]);
        if shapes.iter().any(|shape| shape.get(2) != shapes[0].get(2)) {
            return Err(Error::Team { what: "their processor features" });
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
        if let Storage::Streamed(streamed) = &mut self.values {
            streamed.reweight(share);
        }
        Ok(())
    }

    /// See [`Samples::with_counts`].
    fn count_by(&mut self, counts: &[f64]) -> Result<()> {
        let sum: f64 = self.weigh(counts)?.iter().sum();
        // Beyond, adding one changes nothing.
        if sum > 9e15 {
            return Err(Error::Counts { sum });
        }
        self.total_count = Some(sum);
        Ok(())
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

    pub(crate) fn rows(&self) -> usize {
        self.rows
    }

    pub(crate) fn all_rows(&self) -> usize {
        self.weights.len()
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    pub(crate) fn weights(&self) -> &[f64] {
        &self.weights
    }

    pub(crate) fn count(&self) -> f64 {
        self.total_count.unwrap_or_else(|| self.active().len() as f64)
    }

    pub(crate) fn mean(&self) -> &[f64] {
        &self.mean
    }

    pub(crate) fn row(&self, row: usize) -> Result<Vec<f64>> {
        if row >= self.rows {
            return Err(Error::NoSuchRow { row, rows: self.rows });
        }
        match &self.values {
            Storage::InMemory(all) => Ok(all.rows().row(row)),
            Storage::Streamed(streamed) => streamed.row(row),
        }
    }

    /// What variances are divided by: see [`variance_divisor`].
    pub(crate) fn variance_divisor(&self) -> f64 {
        variance_divisor(&self.weights, self.total_count)
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
        matches!(self.values, Storage::Streamed(_))
    }
}
