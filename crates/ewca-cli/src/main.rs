//! The `ewca` program: Entropic Wasserstein Component Analysis on the command line.
//!
//! What the user typed becomes a typed job in `args`; a job reads, fits, writes and says what it did. Data flows one way:
//!
//! ```text
//! args -> fit / demo -> (progress, interrupt) -> results -> account
//! ```
//!
//! The exit code says how it went: 0 converged, 1 failed, 2 wrong usage, 3 written but not converged, 130 interrupted with the
//! best result written.
#![forbid(unsafe_code)]

mod account;
mod args;
mod demo;
mod failure;
mod fit;
mod input;
mod interrupt;
mod nearest;
mod outcome;
mod plot;
mod progress;
mod results;
mod summary;
mod terminal;
mod text;

use std::process::ExitCode;

use args::Job;
use outcome::Outcome;

fn main() -> ExitCode {
    interrupt::watch();
    let outcome = match args::parse() {
        Job::Fit(job) => fit::run(&job),
        Job::Demo(job) => demo::run(&job),
    };
    outcome.unwrap_or_else(Outcome::Failed).report()
}
