//! How a run ended, and the exit code that says so.

use std::io::ErrorKind;

use ewca::{Model, Termination};

use crate::console::failure::Failure;
use crate::console::terminal::{self, Console};

/// The exit code of a run that a signal ended: 128 + SIGINT, as shells have it.
pub const INTERRUPTED: u8 = 130;
/// The exit code where nobody reads what is printed any more: 128 + SIGPIPE, as shells have it.
pub const CLOSED_PIPE: u8 = 141;
/// The exit code of a run without results.
const FAILED: u8 = 1;
/// The exit code of a run whose results are written, but should not be used as they are.
const DOUBTFUL: u8 = 3;

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// All went well: results are written, and fits met their tolerance.
    Success,
    /// The results are written, but the fit did not meet its tolerance.
    NotConverged,
    /// The results are written, but the fit has collapsed: its components shrink the data instead of showing them.
    Collapsed,
    /// The user stopped the fit; the best result so far is written.
    Interrupted,
    /// There are no results.
    Failed(Failure),
}

impl Outcome {
    /// How a fit ended.
    pub fn of(model: &Model) -> Self {
        match model.termination() {
            Termination::Interrupted => Self::Interrupted,
            Termination::Converged if model.certificate().collapsed => Self::Collapsed,
            Termination::Converged => Self::Success,
            _ => Self::NotConverged,
        }
    }

    /// The same for someone who takes results that did not converge, or that have collapsed, as they are.
    pub fn allowing_doubtful(self, allowed: bool) -> Self {
        match self {
            Self::NotConverged | Self::Collapsed if allowed => Self::Success,
            other => other,
        }
    }

    /// Says what went wrong, if anything did, and gives the exit code.
    pub fn report(self, console: Console) -> u8 {
        // A run that went well, but whose words did not arrive, has failed.
        let outcome = match (self, terminal::trouble()) {
            (Self::Failed(failure), _) => Self::Failed(failure),
            (outcome @ (Self::NotConverged | Self::Interrupted), Some(error))
                if error.kind() == ErrorKind::BrokenPipe =>
            {
                outcome
            }
            (_, Some(source)) => Self::Failed(Failure::Print { source }),
            (outcome, None) => outcome,
        };
        match outcome {
            Self::Success => 0,
            Self::NotConverged | Self::Collapsed => DOUBTFUL,
            Self::Interrupted => INTERRUPTED,
            // It was said already.
            Self::Failed(Failure::Elsewhere) => FAILED,
            // Whoever read the beginning has seen enough, and needs no explanation.
            Self::Failed(failure) if failure.code() == CLOSED_PIPE => CLOSED_PIPE,
            Self::Failed(Failure::Stopped) => INTERRUPTED,
            Self::Failed(failure) => {
                console.fail(failure.code(), &failure.to_string());
                failure.code()
            }
        }
    }
}
