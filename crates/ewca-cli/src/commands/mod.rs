//! One module per command: a job that was asked for -> what it did.

pub mod demo;
pub mod evidence;
pub mod fit;
pub mod inspect;
pub mod manual;
pub mod neighbours;
pub mod path;
pub mod reconstruct;
pub mod report;
pub mod reproduce;
pub mod select;
pub mod transform;

use crate::args::Job;
use crate::console::failure::Failure;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;

/// Does what was asked for.
pub fn run(job: Job, console: Console) -> Result<Outcome, Failure> {
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
