//! What can go wrong, said once and said fully.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// Everything the library refuses to do. A message names the culprit (row, column, parameter) and the way out.
///
/// Rows and columns are counted from 0, as in the arrays that were passed in.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// There is nothing to fit.
    #[error("the data are empty ({rows} rows x {columns} columns): pass at least 2 samples with 1 feature")]
    Empty {
        /// Number of samples that were passed.
        rows: usize,
        /// Number of features that were passed.
        columns: usize,
    },
    /// The buffer's length is not rows x columns.
    #[error("{rows} rows x {columns} columns need {expected} values, but {found} were passed")]
    Shape {
        /// Number of rows that were declared.
        rows: usize,
        /// Number of columns that were declared.
        columns: usize,
        /// rows x columns.
        expected: usize,
        /// The buffer's length.
        found: usize,
    },
    /// Compressed sparse rows that are none.
    #[error("the sparse matrix is not valid: {what}")]
    Sparse {
        /// What is wrong with it.
        what: String,
    },
    /// Rows of different lengths.
    #[error("row {row} has {found} values, but row 0 has {expected}: all rows must have the same length")]
    Ragged {
        /// The first row that differs.
        row: usize,
        /// The length of row 0.
        expected: usize,
        /// The length of that row.
        found: usize,
    },
    /// Columns of different lengths.
    #[error("column {column} has {found} values, but column 0 has {expected}: all columns must have the same length")]
    RaggedColumn {
        /// The first column that differs.
        column: usize,
        /// The length of column 0.
        expected: usize,
        /// The length of that column.
        found: usize,
    },
    /// Strides that lead out of the buffer.
    #[error(
        "{rows} rows x {columns} columns with strides of {row_stride} and {column_stride} need more than the {found} values that were passed"
    )]
    Strides {
        /// Number of rows that were declared.
        rows: usize,
        /// Number of columns that were declared.
        columns: usize,
        /// The way from one row to the next.
        row_stride: usize,
        /// The way from one column to the next.
        column_stride: usize,
        /// The buffer's length.
        found: usize,
    },
    /// A NaN or an infinity among the data.
    #[error("the value at row {row}, column {column} is {value}: remove it, or fill in a value first")]
    NotFinite {
        /// Its row.
        row: usize,
        /// Its column.
        column: usize,
        /// The value: NaN, inf or -inf.
        value: f64,
    },
    /// A magnitude whose square leaves the range of f64.
    #[error("the largest value is {magnitude:e}, too large to square: rescale the data first")]
    Range {
        /// The largest magnitude of the data.
        magnitude: f64,
    },
    /// One sample has no subspace.
    #[error("only {found} sample{} with a positive weight: a fit needs at least 2", if *.found == 1 { "" } else { "s" })]
    TooFewSamples {
        /// How many samples carry weight.
        found: usize,
    },
    /// All samples are the same point.
    #[error("all samples are identical: there is no variance to explain")]
    Constant,
    /// Weights of the wrong length.
    #[error("{found} weights were passed for {expected} samples")]
    WeightCount {
        /// Number of samples.
        expected: usize,
        /// Number of weights.
        found: usize,
    },
    /// A weight that is negative or not finite.
    #[error("the weight of sample {row} is {value}: weights must be finite and not negative")]
    Weight {
        /// The sample.
        row: usize,
        /// Its weight.
        value: f64,
    },
    /// No sample has any weight.
    #[error("all weights are zero: at least 2 samples need a positive weight")]
    ZeroWeights,
    /// k is 0 or larger than the rank.
    #[error("{requested} components were requested, but the centred data have rank {rank}: choose k from 1 to {rank}")]
    Components {
        /// The wanted number of components.
        requested: usize,
        /// The numerical rank of the centred data.
        rank: usize,
    },
    /// A sample that is not there.
    #[error("there is no sample {row}: there are {rows} samples, counted from 0")]
    NoSuchRow {
        /// The sample that was asked for.
        row: usize,
        /// How many there are.
        rows: usize,
    },
    /// A parameter outside its range.
    #[error("{name} is {value}: {expected}")]
    Parameter {
        /// The parameter's name.
        name: &'static str,
        /// What was passed.
        value: String,
        /// What would be right.
        expected: String,
    },
    /// The fit does not fit.
    #[error(
        "the fit needs about {needed} bytes, more than the budget of {budget}: raise the memory budget, or use fewer {cause}"
    )]
    Memory {
        /// What a fit of this shape needs, in bytes.
        needed: usize,
        /// What was allowed, in bytes.
        budget: usize,
        /// What makes it large: samples or features.
        cause: &'static str,
    },
    /// New data with another number of features.
    #[error("the data have {found} columns, but the model was fitted on {expected}")]
    Columns {
        /// The model's number of features (or components).
        expected: usize,
        /// The number of columns that was passed.
        found: usize,
    },
    /// A Sinkhorn scaling in which a whole row or column of the kernel vanished.
    #[error(
        "the kernel underflows in {line} {index} (iteration {iteration}): epsilon is too small for plain scaling; use the log-domain solver"
    )]
    Underflow {
        /// "row" or "column".
        line: &'static str,
        /// Which row or column.
        index: usize,
        /// In which iteration it was seen.
        iteration: usize,
    },
    /// Samples that could not be read from their source.
    #[error("{source}")]
    Read {
        /// What the source said: [`std::error::Error::source`] returns it as it was.
        source: Cause,
    },
    /// Processes of a team that came to different results.
    #[error("the processes differ in {what}: run all of them with the same program, on processors of the same kind")]
    Team {
        /// What differs.
        what: &'static str,
    },
    /// A saved state that belongs to another fit.
    #[error("the saved state is from another fit: {what} differ")]
    State {
        /// What does not match.
        what: &'static str,
    },
    /// Parts that do not make a model.
    #[error("these parts do not form a valid model: {what}")]
    Model {
        /// What is wrong with them.
        what: String,
    },
    /// An observer stopped the fit before there was anything to return.
    #[error("the fit was stopped before its first iteration: there is no result yet")]
    Stopped,
    /// A result that is not a number, from data and parameters that are.
    #[error(
        "{what} became NaN: the data or epsilon are too extreme for double precision; scale the features, or choose another epsilon"
    )]
    NotANumber {
        /// What it is.
        what: &'static str,
    },
    /// Counts that are no counts of samples.
    #[error("the counts sum to {sum:e}: the sum must be at most 9e15")]
    Counts {
        /// Their sum.
        sum: f64,
    },
    /// An eigenvalue decomposition that did not converge.
    #[error("an eigenvalue decomposition of order {order} did not converge")]
    Eigen {
        /// The matrix's order.
        order: usize,
    },
}

/// An error of whoever was asked, behind one of ours. Causes are equal that say the same.
#[derive(Debug, Clone)]
pub struct Cause(Arc<dyn std::error::Error + Send + Sync>);

impl Cause {
    pub(crate) fn new(error: Box<dyn std::error::Error + Send + Sync>) -> Self {
        Self(error.into())
    }
}

// No error itself, so that nothing stands between ours and what caused it.
impl Deref for Cause {
    type Target = dyn std::error::Error + Send + Sync;

    fn deref(&self) -> &Self::Target {
        &*self.0
    }
}

impl fmt::Display for Cause {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(to)
    }
}

impl PartialEq for Cause {
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// Shorthand for results of this crate.
pub type Result<T> = std::result::Result<T, Error>;
