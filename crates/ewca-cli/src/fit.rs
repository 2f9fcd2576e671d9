//! `ewca fit`: read, fit, write, and say what was done.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ewca::{Model, Params, Samples};
use ewca_io::ModelFile;
use serde::Serialize;

use crate::account::{self, FitAccount};
use crate::args::FitJob;
use crate::checkpoint::{self, Keeper};
use crate::failure::Failure;
use crate::input::Dataset;
use crate::interrupt;
use crate::memory::{self, Prediction, Reporting};
use crate::outcome::Outcome;
use crate::progress::{Watcher, Work};
use crate::report::ReportSource;
use crate::results::ResultsFolder;
use crate::summary::{Source, Summary, Times};
use crate::terminal::Console;

/// Runs the job.
pub fn run(job: &FitJob, console: Console) -> Result<Outcome, Failure> {
    let clock = Instant::now();
    let name = job.table.input.name();
    start_threads(job.limits.threads)?;

    let report = job.report.as_ref().map(|_| Reporting { components: job.wanted.components, steps: 0 });
    let plan = memory::Plan { params: &job.params, limits: job.limits, file: &name, report };
    let reading = plan.before_reading(&job.table, &job.preprocessing)?;
    let data = Dataset::to_fit(job.table.read(console)?, &job.preprocessing, &name)?;
    let read = clock.elapsed();

    let refused = |source| Failure::Fit { file: name.clone(), source };
    let samples = data.samples().map_err(refused)?;
    let Prediction { params, peak } = plan.for_table(&data, reading)?;
    let within_budget = params.clone();
    let params = params.check().map_err(refused)?;
    let training_checksum = data.table.checksum();
    let state = job.resume.as_deref().map(|file| checkpoint::read(file, training_checksum)).transpose()?;
    let folder = ResultsFolder::make(&job.output)?;
    job.exports.rehearse()?;
    job.report.iter().try_for_each(|wish| wish.rehearse(data.rows()))?;
    let keeper = job.checkpoint.as_ref().map(|job| Keeper::new(job, training_checksum, console)).transpose()?;

    // From here on an interrupted run writes its best result.
    let mut watcher = Watcher::new(Work::Attempts(job.wanted.restarts.saturating_add(1)), console).keeping(keeper);
    interrupt::keep_results(watcher.stop_notice());
    console.say(&account::what_was_read(&name, &data));
    watcher.start();
    let fit_clock = Instant::now();
    let model = match state {
        Some(state) => params.resume(&samples, state, &mut watcher),
        None => params.fit_observed(&samples, &mut watcher),
    };
    let fit = fit_clock.elapsed();
    watcher.finish();

    let file = ModelFile {
        model: model.map_err(refused)?,
        preprocessing: data.preprocessing.clone(),
        ids: data.ids.clone(),
        labels: data.table.labels.clone(),
        params: job.params.clone(),
        program: env!("CARGO_PKG_VERSION").into(),
        training_checksum,
    };
    let model = &file.model;
    let times = Times { read, fit, total: clock.elapsed() };
    let input = job.table.input.short_name();
    let source = Source {
        input: &input,
        label: job.table.read.label.as_deref(),
        id: job.table.read.id.as_deref(),
        preprocessing: &job.preprocessing,
    };
    let summary = Summary::new(source, &job.wanted, model, times);
    folder.write(&data, &file, &summary)?;
    let mut written = job.exports.write(&job.table.input, &data, model, job.limits.max_memory)?;
    if let Some(wish) = &job.report {
        let pca = pca(&samples, &within_budget).map_err(refused)?;
        let source =
            ReportSource { name: &input, label: job.table.read.label.as_deref(), data: &data, samples: &samples };
        written.push(source.write(wish, model, &pca, &[], console)?);
    }

    let account = FitAccount {
        model,
        wanted: &job.wanted,
        times,
        folder: folder.path(),
        expected_memory: peak,
        written: &written,
    };
    if console.talks() {
        console.say(&account.text(console.verbosity));
    } else {
        account.warnings().iter().for_each(|warning| console.warn(warning));
        let files = written.iter().map(|written| &written.file).collect();
        console.report(&MachineAccount { event: "fit", folder: folder.path(), files, summary: &summary });
    }
    Ok(model.termination.into())
}

/// The account for programs: the summary, and where the results are.
#[derive(Serialize)]
struct MachineAccount<'a> {
    event: &'static str,
    folder: &'a Path,
    files: Vec<&'a PathBuf>,
    #[serde(flatten)]
    summary: &'a Summary<'a>,
}

/// The number of threads is the whole program's: reading uses them too.
pub fn start_threads(threads: Option<usize>) -> Result<(), Failure> {
    let Some(count) = threads else { return Ok(()) };
    rayon::ThreadPoolBuilder::new()
        .num_threads(count)
        .build_global()
        .map_err(|error| Failure::Threads { count, reason: error.to_string() })
}

/// PCA with these parameters: the limit of a small epsilon.
pub fn pca(samples: &Samples<'_>, params: &Params) -> ewca::Result<Model> {
    let tiny = (1e-12 * samples.total_variance()?).max(f64::MIN_POSITIVE);
    params.clone().restarts(0).epsilon(tiny).fit(samples)
}
