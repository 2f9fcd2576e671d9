//! The `ewca` program: Entropic Wasserstein Component Analysis on the command line. The program itself and the command that the Python package
//! brings both call [`main`].
//!
//! What the user typed becomes a typed job in `args`; a job reads, fits, writes and says what it did. Data flows one way:
//!
//! ```text
//! args -> input -> commands (under the eyes of run) -> output -> console
//! ```
//!
//! The exit code says how it went: 0 converged, 1 failed, 2 wrong usage, 3 written but not converged or collapsed, 130
//! interrupted with the best result written.
#![forbid(unsafe_code)]

mod args;
mod commands;
mod console;
mod input;
mod output;
mod run;

use std::ffi::OsString;

use args::{Job, Request};
use console::outcome::Outcome;

/// A panic of a decoder that becomes an error is not worth more than the error's line.
fn quiet_decoders() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !ewca_io::is_contained_panic() {
            print(panic);
        }
    }));
}

/// Runs the program on the words that were typed, its own name first, and gives its exit code.
///
/// It takes the whole process: Ctrl-C, standard output and standard error, and the number of threads. Twice asked to stop, it ends the process.
pub fn main(words: impl IntoIterator<Item = OsString>) -> u8 {
    run::memory::note_what_is_held();
    run::interrupt::watch();
    quiet_decoders();
    let Request { console, overwrite, mut job } = match args::parse(words.into_iter().collect()) {
        Ok(request) => request,
        Err(code) => return code,
    };
    let checked = job.files().check(overwrite).and_then(|()| job.open_metadata());
    let outcome = match (checked, job) {
        // Of many processes one speaks.
        (checked, Job::Fit(job)) if job.distributed => commands::fit::run_shared(&job, checked, console),
        (checked, job) => checked.and_then(|()| commands::run(job, console)),
    };
    outcome.unwrap_or_else(Outcome::Failed).report(console)
}
