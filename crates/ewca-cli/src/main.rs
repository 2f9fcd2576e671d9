//! The `ewca` program: Entropic Wasserstein Component Analysis on the command line.
//!
//! What the user typed becomes a typed job in `args`; a job reads, fits, writes and says what it did. Data flows one way:
//!
//! ```text
//! args -> input -> fit / transform / ... -> (progress, interrupt, checkpoint) -> results, exports, output -> account
//! ```
//!
//! The exit code says how it went: 0 converged, 1 failed, 2 wrong usage, 3 written but not converged or collapsed, 130
//! interrupted with the best result written.
#![forbid(unsafe_code)]

mod account;
mod args;
mod checkpoint;
mod cluster;
mod command_line;
mod demo;
mod evidence;
mod exports;
mod failure;
mod files;
mod fit;
mod input;
mod inspect;
mod interrupt;
mod manual;
mod memory;
mod nearest;
mod neighbours;
mod outcome;
mod output;
mod parts;
mod path;
mod plot;
mod progress;
mod reconstruct;
mod report;
mod reproduce;
mod results;
mod select;
mod summary;
mod terminal;
mod text;
mod transform;

use std::process::ExitCode;

use args::{Job, Request};
use failure::Failure;
use outcome::Outcome;
use terminal::Console;

/// A panic of a decoder that becomes an error is not worth more than the error's line.
fn quiet_decoders() {
    let print = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !ewca_io::is_contained_panic() {
            print(panic);
        }
    }));
}

fn main() -> ExitCode {
    interrupt::watch();
    quiet_decoders();
    let Request { console, overwrite, job } = args::parse();
    let outcome = match (job.files().check(overwrite), job) {
        // Of many processes one speaks.
        (checked, Job::Fit(job)) if job.distributed => fit::run_shared(&job, checked, console),
        (checked, job) => checked.and_then(|()| run(job, console)),
    };
    outcome.unwrap_or_else(Outcome::Failed).report(console)
}

fn run(job: Job, console: Console) -> Result<Outcome, Failure> {
    match job {
        Job::Fit(job) => fit::run(&job, console),
        Job::Transform(job) => transform::run(&job, console),
        Job::Reconstruct(job) => reconstruct::run(&job, console),
        Job::Neighbours(job) => neighbours::run(&job, console),
        Job::Report(job) => report::run(&job, console),
        Job::Path(job) => path::run(&job, console),
        Job::Select(job) => select::run(&job, console),
        Job::Evidence(job) => evidence::run(&job, console),
        Job::Reproduce(job) => reproduce::run(&job, console),
        Job::Inspect(job) => inspect::run(&job, console),
        Job::Demo(job) => demo::run(&job, console),
        Job::Completions(shell) => manual::completions(shell),
        Job::Man(folder) => manual::pages(folder.as_deref(), console),
    }
}
