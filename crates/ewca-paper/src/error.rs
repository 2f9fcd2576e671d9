//! What can go wrong.

/// What can go wrong in an evaluation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The method refused the data or the parameters.
    #[error(transparent)]
    Fit(#[from] ewca::Error),
    /// The caller asked to stop.
    #[error("the work was interrupted")]
    Interrupted,
    /// A figure could not be drawn.
    #[error("a figure could not be drawn: {reason}")]
    Picture {
        /// What the renderer said.
        reason: String,
    },
}

/// The result of an evaluation.
pub type Result<T> = std::result::Result<T, Error>;
