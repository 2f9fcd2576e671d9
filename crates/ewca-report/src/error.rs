//! What can keep a report from being made.

/// Why there is no report.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The parts of the subject do not belong together.
    #[error("{what}: {found}, but the fit has {expected}; use the table that the model was fitted on")]
    Mismatch {
        /// Which part.
        what: &'static str,
        /// How many there are.
        found: usize,
        /// How many there should be.
        expected: usize,
    },
    /// t-SNE was asked for, of more samples than it is made for.
    #[error("t-SNE works for up to {most} samples, and there are {samples}; leave it out")]
    TooManyForTsne {
        /// The samples.
        samples: usize,
        /// The most there may be.
        most: usize,
    },
    /// The library refused.
    #[error(transparent)]
    Method(#[from] ewca::Error),
}

/// A result of this crate.
pub type Result<T> = std::result::Result<T, Error>;
