//! The state of a fit in a file: written now and then, read to go on.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ewca::{FitState, Progress};
use ewca_io::{checkpoint_bytes, checkpoint_state, replace_checkpoint};

use crate::args::CheckpointJob;
use crate::console::failure::Failure;
use crate::console::terminal::Console;
use crate::output::emit::check_writable;

/// Keeps the state of a fit while it runs.
#[derive(Debug)]
pub struct CheckpointWriter {
    file: PathBuf,
    every: Duration,
    last: Instant,
    table: u64,
    console: Console,
    /// A state that could not be written is said once; the fit goes on.
    complained: bool,
}

impl CheckpointWriter {
    /// A checkpoint_writer for the fit of the table with this checksum. Makes sure that it can write.
    pub fn new(job: &CheckpointJob, table: u64, console: Console) -> Result<Self, Failure> {
        check_writable(&job.file)?;
        let (file, every) = (job.file.clone(), job.every);
        Ok(Self { file, every, last: Instant::now(), table, console, complained: false })
    }

    /// Writes the state if it is time, or if there will be no other.
    pub fn observe(&mut self, progress: &Progress<'_>, last_chance: bool) {
        if self.last.elapsed() < self.every && !last_chance {
            return;
        }
        if let Err(failure) = self.write(progress.state)
            && !self.complained
        {
            self.complained = true;
            self.console.warn(&format!("the fit continues without a checkpoint: {failure}"));
        }
        self.last = Instant::now();
    }

    fn write(&self, state: &FitState) -> Result<(), Failure> {
        let unfit = |problem| Failure::Checkpoint { file: self.file.clone(), problem };
        let bytes = checkpoint_bytes(state, self.table).map_err(unfit)?;
        replace_checkpoint(&self.file, &bytes)
            .map_err(|source| ewca_io::Error::Write { file: self.file.display().to_string(), source }.into())
    }
}

/// Reads the state of a fit of the table with this checksum.
pub fn read(file: &Path, table: u64) -> Result<FitState, Failure> {
    let bytes =
        std::fs::read(file).map_err(|source| ewca_io::Error::Read { file: file.display().to_string(), source })?;
    checkpoint_state(&bytes, Some(table)).map_err(|problem| Failure::Checkpoint { file: file.into(), problem })
}
