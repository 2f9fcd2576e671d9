//! The state of a fit as a file, which the program and the Python package write now and then, and read to go on.
//!
//! ```text
//! "ewca.checkpoint/2\n" | checksum of the rest (8 bytes) | program version, checksum of the table, state (postcard)
//! ```
//!
//! A state is replaced whole, so a program that is killed at any moment leaves the last one or the one before.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use ewca::FitState;
use serde::{Deserialize, Serialize};

use crate::Checksum;

const MAGIC: &[u8] = b"ewca.checkpoint/2\n";
/// What every version of the format starts with.
const FAMILY: &[u8] = b"ewca.checkpoint/";

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

/// A state of a fit of the table with this checksum, as the bytes of a checkpoint; or what is wrong with it.
pub fn checkpoint_bytes(state: &FitState, table: u64) -> Result<Vec<u8>, String> {
    let content = Saved { program: env!("CARGO_PKG_VERSION"), table, state };
    let body = postcard::to_stdvec(&content).map_err(|error| format!("cannot be written: {error}"))?;
    Ok([MAGIC, &Checksum::of(&body).to_le_bytes(), &body].concat())
}

/// The state in the bytes of a checkpoint, or what is wrong with it: to be said behind the name of the file. With a checksum, it must be
/// of the table that has it; without one, the fit that goes on is the one to see whether the data are the same.
pub fn checkpoint_state(bytes: &[u8], table: Option<u64>) -> Result<FitState, String> {
    let damaged = || "is damaged or not complete; start the fit again without it".to_string();
    let Some(rest) = bytes.strip_prefix(MAGIC) else {
        return Err(match bytes.starts_with(FAMILY) {
            true => "was written by another version of ewca; use that version, or start the fit again".into(),
            false => "is not a checkpoint; choose a file that a fit saved its state to".into(),
        });
    };
    let (checksum, body) = rest.split_first_chunk().ok_or_else(damaged)?;
    if u64::from_le_bytes(*checksum) != Checksum::of(body) {
        return Err(damaged());
    }
    let (origin, state): (Origin, &[u8]) = postcard::take_from_bytes(body).map_err(|_| damaged())?;
    if origin.program != env!("CARGO_PKG_VERSION") {
        return Err(format!("was written by ewca {}; use that version, or start the fit again", origin.program));
    }
    if table.is_some_and(|table| table != origin.table) {
        return Err("is from a fit with other data or options; use the same data and options as before".into());
    }
    postcard::from_bytes(state).map_err(|_| damaged())
}

/// Where a checkpoint is until it is complete.
pub fn unfinished_checkpoint(file: &Path) -> PathBuf {
    let mut name = file.as_os_str().to_os_string();
    name.push(".part");
    name.into()
}

/// Puts the bytes of a checkpoint in the place of a file, whole or not at all. What is not finished has a fixed name, so that a
/// program that is killed while it writes leaves no more than one such file, and the next state takes it over.
pub fn replace_checkpoint(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::metadata(file).is_ok_and(|existing| !existing.is_file()) {
        return fs::write(file, bytes);
    }
    let unfinished = unfinished_checkpoint(file);
    let write = || {
        let mut out = File::create(&unfinished)?;
        out.write_all(bytes)?;
        out.sync_all()?;
        fs::rename(&unfinished, file)
    };
    write().inspect_err(|_| drop(fs::remove_file(&unfinished)))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use ewca::{Control, Ewca, Progress, Samples};

    use super::*;

    fn state_of(bytes: &[u8], table: u64) -> Result<FitState, String> {
        checkpoint_state(bytes, Some(table))
    }

    #[test]
    fn damage_and_mix_ups_are_named() {
        let data: Vec<f64> = (0..40).map(|i| f64::from(i * i % 17)).collect();
        let samples = Samples::new(&data, 10, 4).unwrap();
        let params = Ewca::params(2).check().unwrap();
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("state");
        let mut watch = |progress: &Progress<'_>| {
            replace_checkpoint(&file, &checkpoint_bytes(progress.state, 7).unwrap()).unwrap();
            Control::Continue
        };
        params.fit_observed(&samples, &mut watch).unwrap();

        let bytes = fs::read(&file).unwrap();
        assert!(!unfinished_checkpoint(&file).exists() && checkpoint_state(&bytes, None).is_ok());
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
        assert!(said(&bytes, 8).contains("other data or options"));
        assert!(said(b"a,b\n1,2\n", 7).contains("is not a checkpoint"));
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
