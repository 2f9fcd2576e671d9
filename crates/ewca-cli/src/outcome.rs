//! How a run ended, and the exit code that says so.

use std::process::ExitCode;

use ewca::{Model, Termination};

use crate::failure::Failure;
use crate::terminal::Console;

/// The exit code of a run that a signal ended: 128 + SIGINT, as shells have it.
pub const INTERRUPTED: u8 = 130;
/// The exit code of a run whose results are written, but should not be used as they are.
const DOUBTFUL: u8 = 3;

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// All went well: results are written, and fits met their tolerance.
    Converged,
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
        match model.termination {
            Termination::Interrupted => Self::Interrupted,
            Termination::MaxIterations | Termination::Stalled => Self::NotConverged,
            Termination::Converged if model.certificate.collapsed => Self::Collapsed,
            Termination::Converged => Self::Converged,
        }
    }

    /// The same for someone who takes results that did not converge, or that have collapsed, as they are.
    pub fn allowing_doubtful(self, allowed: bool) -> Self {
        match self {
            Self::NotConverged | Self::Collapsed if allowed => Self::Converged,
            other => other,
        }
    }

    /// Says what went wrong, if anything did, and gives the exit code.
    pub fn report(self, console: Console) -> ExitCode {
        match self {
            Self::Converged => ExitCode::SUCCESS,
            Self::NotConverged | Self::Collapsed => ExitCode::from(DOUBTFUL),
            Self::Interrupted => ExitCode::from(INTERRUPTED),
            // It was said already.
            Self::Failed(Failure::Elsewhere) => ExitCode::FAILURE,
            Self::Failed(failure) => {
                console.fail(1, &failure.to_string());
                ExitCode::FAILURE
            }
        }
    }
}
