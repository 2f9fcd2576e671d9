//! How a run ended, and the exit code that says so.

use std::process::ExitCode;

use ewca::Termination;

use crate::failure::Failure;
use crate::terminal::Console;

/// The exit code of a run that a signal ended: 128 + SIGINT, as shells have it.
pub const INTERRUPTED: u8 = 130;

/// How a run ended.
#[derive(Debug)]
pub enum Outcome {
    /// All went well: results are written, and fits met their tolerance.
    Converged,
    /// The results are written, but the fit did not meet its tolerance.
    NotConverged,
    /// The user stopped the fit; the best result so far is written.
    Interrupted,
    /// There are no results.
    Failed(Failure),
}

impl Outcome {
    /// Says what went wrong, if anything did, and gives the exit code.
    pub fn report(self, console: Console) -> ExitCode {
        match self {
            Self::Converged => ExitCode::SUCCESS,
            Self::NotConverged => ExitCode::from(3),
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

impl From<Termination> for Outcome {
    fn from(termination: Termination) -> Self {
        match termination {
            Termination::Converged => Self::Converged,
            Termination::MaxIterations | Termination::Stalled => Self::NotConverged,
            Termination::Interrupted => Self::Interrupted,
        }
    }
}
