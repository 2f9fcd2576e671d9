//! The state of a fit in a file: written now and then, read to go on.
//!
//! ```text
//! "ewca.checkpoint/2\n" | checksum of the rest (8 bytes) | program version, checksum of the table, state (postcard)
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
use crate::console::failure::Failure;
use crate::console::terminal::Console;
use crate::output::emit::check_writable;

const MAGIC: &[u8] = b"ewca.checkpoint/2\n";
/// What every version of the format starts with.
const FAMILY: &[u8] = b"ewca.checkpoint/";

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
    use crate::console::terminal::Verbosity;

    #[test]
    fn damage_and_mix_ups_are_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state");
        let job = CheckpointJob { file: file.clone(), every: Duration::ZERO };
        let console = Console { verbosity: Verbosity::Quiet, json: false };
        let mut checkpoint_writer = CheckpointWriter::new(&job, 7, console).unwrap();
        let data: Vec<f64> = (0..40).map(|i| f64::from(i * i % 17)).collect();
        let samples = Samples::new(&data, 10, 4).unwrap();
        let params = Ewca::params(2).check().unwrap();
        let mut watch = |progress: &Progress<'_>| {
            checkpoint_writer.observe(progress, false);
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

    /// A file around this state, with a checksum that holds.
    fn signed(origin: &[u8], state: &[u8]) -> Vec<u8> {
        let body = [origin, state].concat();
        [MAGIC, &Checksum::of(&body).to_le_bytes(), &body].concat()
    }

    /// A state with other numbers in it: at every place other bytes, and at every place every kind of odd number.
    fn odd_states(state: &[u8]) -> Vec<Vec<u8>> {
        let mut states = Vec::new();
        for at in 0..state.len() {
            for byte in [state[at] ^ 0x01, state[at] ^ 0x80, 0x7f, 0xff] {
                let mut odd = state.to_vec();
                odd[at] = byte;
                states.push(odd);
            }
            for number in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
                if state.len() >= at + 8 {
                    let mut odd = state.to_vec();
                    odd[at..at + 8].copy_from_slice(&number.to_le_bytes());
                    states.push(odd);
                }
            }
            // The largest count that there is.
            let largest = [&[0xff; 9][..], &[0x01]].concat();
            states.push([&state[..at], &largest, &state[at + 1..]].concat());
        }
        states
    }

    /// Whoever forges a state can make a fit fail or end early, but cannot make it go on for ever.
    #[test]
    fn forged_states_come_to_an_end() {
        const LIMIT: usize = 10;
        const RESTARTS: usize = 1;
        let data: Vec<f64> = (0..18).map(|i| f64::from(i * i % 17)).collect();
        let samples = Samples::new(&data, 6, 3).unwrap();
        let params = Ewca::params(1).max_iterations(LIMIT).restarts(RESTARTS).check().unwrap();
        let mut saved = Vec::new();
        let mut watch = |progress: &Progress<'_>| {
            saved.push(postcard::to_stdvec(progress.state).unwrap());
            Control::Continue
        };
        params.fit_observed(&samples, &mut watch).unwrap();
        let origin = postcard::to_stdvec(&(env!("CARGO_PKG_VERSION"), 7u64)).unwrap();
        // The first state, and one of the last attempt.
        let some = [saved[0].clone(), saved[saved.len() - 1].clone()];
        assert!(some.iter().all(|state| state_of(&signed(&origin, state), 7).is_ok()));

        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || {
            let samples = Samples::new(&data, 6, 3).unwrap();
            for odd in some.iter().flat_map(|state| odd_states(state)) {
                let Ok(state) = state_of(&signed(&origin, &odd), 7) else { continue };
                let _ = sender.send((odd, None));
                let mut seen = 0;
                let mut watch = |_: &Progress<'_>| {
                    seen += 1;
                    if seen > 1000 * LIMIT { Control::Stop } else { Control::Continue }
                };
                let resumed = std::panic::AssertUnwindSafe(|| params.resume(&samples, state, &mut watch).is_ok());
                let calm = std::panic::catch_unwind(resumed).is_ok();
                let _ = sender.send((Vec::new(), Some(calm && seen <= 1000 * LIMIT)));
            }
        });
        let mut case = Vec::new();
        loop {
            match receiver.recv_timeout(Duration::from_secs(120)) {
                Ok((odd, None)) => case = odd,
                Ok((_, Some(ended))) => assert!(ended, "panics, or goes on and on: {case:?}"),
                Err(std::sync::mpsc::RecvTimeoutError::Disconnected) => break,
                Err(_) => panic!("no end: {case:?}"),
            }
        }
    }
}
