//! How a run ended, and the exit code that says so.

use std::io::ErrorKind;
use std::process::ExitCode;

use ewca::Termination;

use crate::failure::Failure;
use crate::terminal::{self, Console};

/// The exit code of a run that a signal ended: 128 + SIGINT, as shells have it.
pub const INTERRUPTED: u8 = 130;
/// The exit code where nobody reads what is printed any more: 128 + SIGPIPE, as shells have it.
pub const CLOSED_PIPE: u8 = 141;

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
            Self::Converged => ExitCode::SUCCESS,
            Self::NotConverged => ExitCode::from(3),
            Self::Interrupted => ExitCode::from(INTERRUPTED),
            // It was said already.
            Self::Failed(Failure::Elsewhere) => ExitCode::FAILURE,
            // Whoever read the beginning has seen enough, and needs no explanation.
            Self::Failed(failure) if failure.code() == CLOSED_PIPE => ExitCode::from(CLOSED_PIPE),
            Self::Failed(Failure::Stopped) => ExitCode::from(INTERRUPTED),
            Self::Failed(failure) => {
                console.fail(failure.code(), &failure.to_string());
                ExitCode::from(failure.code())
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
