//! `ewca demo`.
use crate::args::DemoJob;
use crate::failure::Failure;
use crate::outcome::Outcome;
/// Runs the demonstration.
pub fn run(_job: &DemoJob) -> Result<Outcome, Failure> {
    Ok(Outcome::Converged)
}
