//! `ewca fit`: read, fit, write, and say what was done.

use std::time::Instant;

use ewca::{Params, Samples};

use crate::account::{self, FitAccount};
use crate::args::{FitJob, Verbosity};
use crate::failure::Failure;
use crate::input::Dataset;
use crate::interrupt;
use crate::outcome::Outcome;
use crate::progress::{self, Watcher};
use crate::results::ResultsFolder;
use crate::summary::{Source, Summary, Times};
use crate::terminal;

/// Runs the job.
pub fn run(job: &FitJob) -> Result<Outcome, Failure> {
    let clock = Instant::now();
    let quiet = job.verbosity == Verbosity::Quiet;
    start_threads(job.threads)?;

    let data = read(job, quiet)?;
    let read = clock.elapsed();

    let refused = |source| Failure::Fit { file: job.input.name(), source };
    let samples = Samples::new(&data.values.data, data.values.rows, data.values.columns).map_err(refused)?;
    let params = within_memory(job, &data)?.check().map_err(refused)?;
    let folder = ResultsFolder::make(&job.output)?;

    // From here on an interrupted run writes its best result.
    let mut watcher = Watcher::new(job.wanted.restarts.saturating_add(1), quiet);
    interrupt::keep_results(watcher.stop_notice());
    if !quiet {
        terminal::say(&account::what_was_read(&job.input.name(), &data));
    }
    watcher.start();
    let fit_clock = Instant::now();
    let model = params.fit_observed(&samples, &mut watcher);
    let fit = fit_clock.elapsed();
    watcher.finish();
    let model = model.map_err(refused)?;

    let times = Times { read, fit, total: clock.elapsed() };
    let input = job.input.short_name();
    let source = Source { input: &input, label: job.read.label.as_deref(), id: job.read.id.as_deref() };
    folder.write(&data, &model, &Summary::new(source, &job.wanted, &model, times))?;

    let account = FitAccount { model: &model, wanted: &job.wanted, times, folder: folder.path() };
    if quiet {
        account.warnings().iter().for_each(|warning| terminal::complain(&format!("warning: {warning}")));
    } else {
        terminal::say(&account.text(job.verbosity));
    }
    Ok(model.termination.into())
}

/// The number of threads is the whole program's: reading uses them too.
fn start_threads(threads: Option<usize>) -> Result<(), Failure> {
    let Some(count) = threads else { return Ok(()) };
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build_global()
        .map_err(|error| Failure::Threads { count, reason: error.to_string() })
}

fn read(job: &FitJob, quiet: bool) -> Result<Dataset, Failure> {
    let spinner = progress::spinner(format!("reading {}", job.input.name()), quiet);
    progress::turn(&spinner);
    let data = job.input.read(&job.read);
    spinner.finish_and_clear();
    Ok(data?)
}

/// The parameters with what the table leaves of the memory.
fn within_memory(job: &FitJob, data: &Dataset) -> Result<Params, Failure> {
    let params = job.params.clone();
    let Some(budget) = job.max_memory else { return Ok(params) };
    let needed = std::mem::size_of_val(&data.values.data[..]);
    match budget.checked_sub(needed) {
        Some(left) => Ok(params.memory_budget(left)),
        None => Err(Failure::Memory { file: job.input.name(), needed, budget }),
    }
}
