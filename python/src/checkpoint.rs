//! The state of a fit, kept in a file while it runs.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ewca::FitState;
use ewca_io::{checkpoint_bytes, checkpoint_state, replace_checkpoint, unfinished_checkpoint};
use pyo3::exceptions::{PyOSError, PyValueError};
use pyo3::prelude::*;

/// Keeps the state of a fit.
pub struct Checkpoint {
    file: PathBuf,
    every: Duration,
    last: Instant,
    /// Why a state could not be written. The fit goes on.
    pub problem: Option<String>,
}

impl Checkpoint {
    /// Makes sure that there can be such a file: a long fit should not find out later.
    pub fn new(file: PathBuf, every: Duration) -> PyResult<Self> {
        let unfinished = unfinished_checkpoint(&file);
        let tried = if file.is_dir() { Err("it is a folder".to_string()) } else { try_to_write(&unfinished) };
        tried.map_err(|problem| {
            PyOSError::new_err(format!("checkpoint: {} cannot be written: {problem}", file.display()))
        })?;
        Ok(Self { file, every, last: Instant::now(), problem: None })
    }

    /// Writes the state if it is time, or if there will be no other.
    pub fn keep(&mut self, state: &FitState, last_chance: bool) {
        if self.last.elapsed() < self.every && !last_chance {
            return;
        }
        // The file may tell nothing of the data: whether they are the same is seen by the fit that goes on.
        let written = checkpoint_bytes(state, 0)
            .and_then(|bytes| replace_checkpoint(&self.file, &bytes).map_err(|error| error.to_string()));
        if let Err(problem) = written {
            self.problem.get_or_insert(format!("{}: {problem}", self.file.display()));
        }
        self.last = Instant::now();
    }
}

fn try_to_write(file: &Path) -> Result<(), String> {
    File::create(file).map_err(|error| error.to_string())?;
    // It is only in the way where it cannot be removed, and the first state takes it over.
    let _ = std::fs::remove_file(file);
    Ok(())
}

/// Reads a state to go on from.
pub fn read(file: &Path) -> PyResult<FitState> {
    let name = file.display();
    // The kind decides on the exception: FileNotFoundError, PermissionError.
    let said = |error: io::Error| io::Error::new(error.kind(), format!("resume: cannot read {name}: {error}"));
    let bytes = std::fs::read(file).map_err(said)?;
    checkpoint_state(&bytes, None).map_err(|problem| PyValueError::new_err(format!("resume: {name} {problem}")))
}
