//! The state of a fit in a file: written now and then, read to go on.
//!
//! ```text
//! "ewca.checkpoint/1\n" | checksum of the rest (8 bytes) | program version, checksum of the table, state (postcard)
//! ```
//!
//! A state is replaced whole, so a program that is killed at any moment leaves the last one or the one before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ewca::{FitState, Progress};
use ewca_io::Checksum;
use serde::{Deserialize, Serialize};

use crate::args::CheckpointJob;
use crate::failure::Failure;
use crate::output::rehearse;
use crate::terminal::Console;

const MAGIC: &[u8] = b"ewca.checkpoint/1\n";
/// What every version of the format starts with.
const FAMILY: &[u8] = b"ewca.checkpoint/";

/// Keeps the state of a fit while it runs.
#[derive(Debug)]
pub struct Keeper {
    file: PathBuf,
    every: Duration,
    last: Instant,
    table: u64,
    console: Console,
    /// A state that could not be written is said once; the fit goes on.
    complained: bool,
}

impl Keeper {
    /// A keeper for the fit of the table with this checksum. Makes sure that it can write.
    pub fn new(job: &CheckpointJob, table: u64, console: Console) -> Result<Self, Failure> {
        rehearse(&job.file)?;
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
            self.console.warn(&format!("the fit goes on without a checkpoint: {failure}"));
        }
        self.last = Instant::now();
    }

    fn write(&self, state: &FitState) -> Result<(), Failure> {
        let content = Saved { program: env!("CARGO_PKG_VERSION"), table: self.table, state };
        let unfit = |error: postcard::Error| Failure::Checkpoint {
            file: self.file.clone(),
            problem: format!("cannot be written: {error}"),
        };
        let body = postcard::to_stdvec(&content).map_err(unfit)?;
        let bytes = [MAGIC, &Checksum::of(&body).to_le_bytes(), &body].concat();
        replace(&self.file, &bytes)
            .map_err(|source| ewca_io::Error::Write { file: self.file.display().to_string(), source }.into())
    }
}

/// Where a state is until it is complete.
pub fn unfinished(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(".part");
    name.into()
}

/// Puts bytes in the place of a file, whole or not at all. What is not finished has a fixed name, so that a program that is
/// killed while it writes leaves no more than one such file, and the next state takes it over.
fn replace(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(file).is_ok_and(|existing| !existing.is_file()) {
        return fs::write(file, bytes);
    }
    let unfinished = unfinished(file);
    let write = || {
        let mut out = File::create(&unfinished)?;
        out.write_all(bytes)?;
        out.sync_all()?;
        fs::rename(&unfinished, file)
    };
    write().inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

#[derive(Serialize)]
struct Saved<'a> {
    program: &'a str,
    table: u64,
    state: &'a FitState,
}

/// The first part of what is saved: it can be read whatever version wrote the rest.
#[derive(Deserialize)]
struct Origin {
    program: String,
    table: u64,
}

/// Reads the state of a fit of the table with this checksum.
pub fn read(file: &Path, table: u64) -> Result<FitState, Failure> {
    let bytes =
        std::fs::read(file).map_err(|source| ewca_io::Error::Read { file: file.display().to_string(), source })?;
    state_of(&bytes, table).map_err(|problem| Failure::Checkpoint { file: file.into(), problem })
}

fn state_of(bytes: &[u8], table: u64) -> Result<FitState, String> {
    let damaged = || "is damaged, or was not written to its end; start the fit anew".to_string();
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(match bytes.starts_with(FAMILY) {
            true => "was written by another version of ewca; resume it with that version".into(),
            false => "is no checkpoint; name the file that --checkpoint wrote".into(),
        });
    };
    let (checksum, body) = rest.split_first_chunk().ok_or_else(damaged)?;
    if u64::from_le_bytes(*checksum) != Checksum::of(body) {
        return Err(damaged());
    }
    let (origin, state): (Origin, &[u8]) = postcard::take_from_bytes(body).map_err(|_| damaged())?;
    if origin.program != env!("CARGO_PKG_VERSION") {
        return Err(format!("was written by ewca {}; resume it with that version", origin.program));
    }
    if origin.table != table {
        return Err("belongs to a fit of another table, or of the same with other options; resume it with the same \
                    command"
            .into());
    }
    postcard::from_bytes(state).map_err(|_| damaged())
}

#[cfg(test)]
mod tests {
    use ewca::{Control, Ewca, Samples};

    use super::*;
    use crate::terminal::Verbosity;

    #[test]
    fn damage_and_mix_ups_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state");
        let job = CheckpointJob { file: file.clone(), every: Duration::ZERO };
        let console = Console { verbosity: Verbosity::Quiet, json: false };
        let mut keeper = Keeper::new(&job, 7, console).unwrap();
        let data: Vec<f64> = (0..40).map(|i| f64::from(i * i % 17)).collect();
        let samples = Samples::new(&data, 10, 4).unwrap();
        let params = Ewca::params(2).check().unwrap();
        let mut watch = |progress: &Progress<'_>| {
            keeper.observe(progress, false);
            Control::Continue
        };
        params.fit_observed(&samples, &mut watch).unwrap();

        let bytes = std::fs::read(&file).unwrap();
        assert!(state_of(&bytes, 7).is_ok());
        for length in 0..bytes.len() {
            assert!(state_of(&bytes[..length], 7).is_err(), "{length}");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(state_of(&changed, 7).is_err(), "{at}");
        }
        let said = |bytes: &[u8], table| state_of(bytes, table).unwrap_err();
        assert!(said(&bytes, 8).contains("another table"));
        assert!(said(b"a,b\n1,2\n", 7).contains("is no checkpoint"));
        assert!(said(b"ewca.checkpoint/9\n1234", 7).contains("another version"));
    }
}
