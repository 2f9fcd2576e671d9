//! `ewca fit`: read, fit, write, and say what was done.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ewca::{Samples, Source as _, Termination};
use ewca_io::{ModelFile, RoleColumns};
use serde::Serialize;

use crate::args::FitJob;
use crate::commands::report::ReportSource;
use crate::console::command_line::shell_word;
use crate::console::failure::Failure;
use crate::console::fit_summary::{self, FitAccount};
use crate::console::outcome::Outcome;
use crate::console::terminal::{Console, Verbosity};
use crate::input::parts::Parts;
use crate::input::table::{Dataset, Input};
use crate::output::exports::Exporting;
use crate::output::results::ResultsFolder;
use crate::output::summary::{Source, Summary, Times};
use crate::run::checkpoint::{self, CheckpointWriter};
use crate::run::cluster::Cluster;
use crate::run::interrupt;
use crate::run::memory::{self, Prediction, Reporting};
use crate::run::progress::{self, Watcher, Work};

/// Runs the job.
pub fn run(job: &FitJob, console: Console) -> Result<Outcome, Failure> {
    start_threads(job.limits.threads)?;
    fit(job, None, console)
}

/// Runs the job as one of the processes that share it, unless its files were found unfit.
pub fn run_shared(job: &FitJob, checked: Result<(), Failure>, console: Console) -> Result<Outcome, Failure> {
    start_threads(job.limits.threads)?;
    let cluster = Cluster::join()?;
    let quiet = Console { verbosity: Verbosity::Quiet, ..console };
    let own = if cluster.is_first() { console } else { quiet };
    let checked = if cluster.is_first() { checked } else { Ok(()) };
    let outcome = cluster.agree(checked).and_then(|()| fit(job, Some(&cluster), own));
    // MPI ends the job as soon as a process leaves with an error: what there is to say is said before.
    let outcome = outcome.map_err(|failure| failure.said(console));
    cluster.wait_for_all();
    outcome
}

fn fit(job: &FitJob, cluster: Option<&Cluster>, console: Console) -> Result<Outcome, Failure> {
    let clock = Instant::now();
    let name = job.table.input.name();
    let report = job.report.as_ref().map(|_| Reporting { components: job.wanted.components, steps: 0 });
    let exports = Some((&job.exports, job.wanted.components));
    let plan = memory::Plan { params: &job.params, limits: job.limits, file: &name, report, exports };
    // Of several processes one writes.
    let first = cluster.is_none_or(Cluster::is_first);

    job.exports.check_input(&job.table.input)?;
    // A process that fails alone must not leave the others waiting.
    let held = agreed(cluster, OpenedTable::open(job, &plan, cluster, console))?;
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let samples = agreed(cluster, held.samples().map_err(refused))?;
    let samples = match cluster {
        Some(cluster) => samples.with_team(cluster.team()).map_err(refused)?,
        None => samples,
    };
    let named = held.named();
    let data = named.as_ref().unwrap_or(&held.data);
    let read = clock.elapsed();

    let prediction = match held.parts.is_some() || cluster.is_some() {
        true => plan.for_samples(&samples, data.rows(), held.bytes()),
        false => plan.for_table(data, held.reading),
    };
    let Prediction { params, peak } = agreed(cluster, prediction)?;
    let within_budget = params.clone();
    let params = params.check().map_err(refused)?;
    let training_checksum = cluster.map_or_else(|| data.checksum(), |cluster| cluster.broadcast(data.checksum()));
    let prepare = || {
        let state = job.resume.as_deref().map(|file| checkpoint::read(file, training_checksum)).transpose()?;
        if !first {
            return Ok((state, None, None));
        }
        let folder = ResultsFolder::make(&job.output)?;
        job.exports.check_writable()?;
        job.report.iter().try_for_each(|wish| wish.check_writable(data.rows()))?;
        let checkpoint_writer =
            job.checkpoint.as_ref().map(|job| CheckpointWriter::new(job, training_checksum, console)).transpose()?;
        Ok((state, Some(folder), checkpoint_writer))
    };
    let (state, folder, checkpoint_writer) = agreed(cluster, prepare())?;

    // From the first iteration on an interrupted run writes its best result.
    let mut watcher =
        Watcher::new(Work::Attempts(job.wanted.restarts.saturating_add(1)), console).keeping(checkpoint_writer);
    if cluster.is_some() {
        watcher = watcher.silent();
        interrupt::keep_results(last_words(job, first));
    }
    console.say(&fit_summary::what_was_read(&name, data));
    if let Some(cluster) = cluster {
        let (_, size) = cluster.place();
        console.say(&format!("Shared by {size} process{}\n", if size == 1 { "" } else { "es" }));
    }
    watcher.start();
    let fit_clock = Instant::now();
    let model = match state {
        Some(state) => params.resume(&samples, state, &mut watcher),
        None => params.fit_observed(&samples, &mut watcher),
    };
    let fit = fit_clock.elapsed();
    watcher.finish();
    let model = match (model, cluster) {
        // The others are in the middle of the fit, and would wait for ever.
        (Err(source @ ewca::Error::Read { .. }), Some(cluster)) => {
            refused(source).said(console);
            cluster.give_up()
        }
        // All processes have come to the same end; one says so.
        (Err(_), Some(cluster)) if !cluster.is_first() => return Err(Failure::Elsewhere),
        (model, _) => model.map_err(refused)?,
    };
    let outcome = Outcome::of(&model).allowing_doubtful(job.allow_unconverged);
    let Some(mut folder) = folder else { return Ok(outcome) };

    let file = ModelFile {
        model,
        preprocessing: data.preprocessing.clone(),
        ids: data.ids.clone(),
        labels: data.table.labels.clone(),
        columns: RoleColumns { label: job.table.read.label.clone(), id: job.table.read.id.clone() },
        params: job.params.clone(),
        program: env!("CARGO_PKG_VERSION").into(),
        training_checksum,
        has_checksum: true,
    };
    let model = &file.model;
    let times = Times { read, fit, total: clock.elapsed() };
    let input = job.table.input.short_name();
    let source = Source {
        input: &input,
        label: job.table.read.label.as_deref(),
        id: job.table.read.id.as_deref(),
        preprocessing: &job.preprocessing,
        missing: job.table.read.missing,
        settled: &data.table.settled,
    };
    let mut summary = Summary::new(source, &job.wanted, model, times);
    let writing = progress::phase("writing the results", console);
    if cluster.is_none() {
        interrupt::keep_results(progress::notice(&writing, "Writing the results; press Ctrl-C again to quit at once."));
    }
    folder.add_results(data, &file)?;
    folder.commit_fit(&mut summary)?;
    interrupt::results_are_safe();

    // A fit that was stopped is still written everywhere; Ctrl-C after the fit stops the writing.
    let stop = || model.termination != Termination::Interrupted && interrupt::requested();
    let (mut exports, mut failure) = job.exports.stage(Exporting { input: &job.table.input, data, model, stop: &stop });
    writing.finish_and_clear();
    if let Some(wish) = job.report.as_ref().filter(|_| failure.is_none()) {
        let source = ReportSource { name: &input, label: job.table.read.label.as_deref(), data, samples: &samples };
        let report = within_budget.pca(&samples).map_err(refused);
        match report.and_then(|pca| source.stage(wish, model, &pca, &[], console)) {
            Ok(report) => exports.push(report),
            Err(failed) => failure = Some(failed),
        }
    }
    let mut written = Vec::new();
    let mut is_inside = false;
    for (file, staged) in exports {
        match folder.name_of(&file.file) {
            Some(name) => {
                is_inside = true;
                folder.add(&name, staged)?;
            }
            None => staged.commit()?,
        }
        written.push(file);
    }
    if is_inside {
        folder.commit_fit(&mut summary)?;
    }
    if let Some(failure) = failure {
        return Err(failure);
    }

    let account = FitAccount {
        model,
        features: &data.table.features,
        wanted: &job.wanted,
        times,
        folder: folder.path(),
        expected_memory: peak,
        written: &written,
    };
    if console.talks() {
        console.say(&account.text(console.verbosity));
    } else {
        account.findings(true).iter().for_each(|warning| console.warn(warning));
        let files = written.iter().map(|written| &written.file).collect();
        console.report(&MachineAccount { event: "fit", folder: folder.path(), files, summary: &summary });
    }
    Ok(outcome)
}

/// Goes on if all processes can.
fn agreed<T>(cluster: Option<&Cluster>, result: Result<T, Failure>) -> Result<T, Failure> {
    match cluster {
        Some(cluster) => cluster.agree(result),
        None => result,
    }
}

/// What is said when the system ends the job, or one of its processes has died: MPI then ends the others.
fn last_words(job: &FitJob, first: bool) -> impl Fn() + Send + Sync + 'static {
    let state = job.checkpoint.as_ref().map(|job| job.file.display().to_string());
    move || {
        if !first {
            return;
        }
        let next = match &state {
            Some(file) => {
                let file = shell_word(file);
                format!("the last checkpoint is whole; go on with --resume {file}, with any number of processes")
            }
            None => "there is no checkpoint; next time keep one with --checkpoint FILE".into(),
        };
        let text = format!("ewca: the job is being ended: by hand, by the system, or because a process died; {next}\n");
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// A table as a fit has it: whole, some rows, or the way to them.
struct OpenedTable {
    data: Dataset,
    parts: Option<Parts>,
    /// What reading took at most.
    reading: usize,
}

impl OpenedTable {
    fn open(
        job: &FitJob,
        plan: &memory::Plan<'_>,
        cluster: Option<&Cluster>,
        console: Console,
    ) -> Result<Self, Failure> {
        let in_parts = job.in_parts || plan.needs_parts(&job.table, &job.preprocessing);
        let place = cluster.map_or((0, 1), Cluster::place);
        let own_rows = cluster.is_some() && job.table.is_readable_in_parts();
        if let Some(weighting) = job.weighting.as_ref().filter(|_| in_parts || cluster.is_some()) {
            let problem = format!(
                "cannot be fitted with weights (the column '{}') in parts or by many processes; leave them out, or give it more memory",
                weighting.column
            );
            return Err(Failure::Unfit { file: plan.file.into(), problem });
        }
        if !in_parts && !own_rows {
            let reading = plan.before_reading(&job.table, &job.preprocessing)?;
            let table = job.table.read(console)?;
            let data = Dataset::to_fit_weighted(table, job.weighting.as_ref(), &job.preprocessing, plan.file)?;
            enough_rows(data.rows(), place)?;
            let data = if cluster.is_some() { data.share(place) } else { data };
            return Ok(Self { data, parts: None, reading });
        }
        let Input::File(path) = &job.table.input else {
            let problem = "standard input cannot be read in parts; name a .npy, Parquet or .h5ad file".into();
            return Err(Failure::Unfit { file: plan.file.into(), problem });
        };
        let spinner = progress::spinner(format!("reading {}", plan.file), console);
        progress::turn(&spinner);
        let most = job.limits.max_memory;
        let open = || {
            let parts = Parts::open(path, &job.table.read, &job.preprocessing, place, most)?;
            enough_rows(parts.all_rows(), place)?;
            if in_parts && cluster.is_none() {
                plan.for_parts(parts.all_rows(), parts.columns(), parts.bytes())?;
            }
            if cluster.is_some_and(Cluster::is_first) {
                parts.look_over()?;
            }
            let values = if in_parts { None } else { Some(parts.own_rows()?.values) };
            let reading = parts.bytes();
            let data = parts.dataset(values);
            Ok(Self { data, parts: in_parts.then_some(parts), reading })
        };
        let held = open();
        spinner.finish_and_clear();
        held
    }

    fn samples(&self) -> ewca::Result<Samples<'_>> {
        match &self.parts {
            Some(parts) => Samples::streamed(parts),
            None => self.data.samples(),
        }
    }

    /// Names and classes that only reading has brought.
    fn named(&self) -> Option<Dataset> {
        self.parts.as_ref().filter(|parts| parts.is_whole()).map(|parts| parts.dataset(None))
    }

    /// The bytes of what is in memory, and of what reading takes.
    fn bytes(&self) -> usize {
        self.data.bytes().saturating_add(self.reading)
    }
}

/// Every process needs two samples at least.
fn enough_rows(rows: usize, (_, processes): (usize, usize)) -> Result<(), Failure> {
    if processes > 1 && rows < 2 * processes {
        let problem = format!("{rows} samples are too few for {processes} processes; start fewer");
        return Err(Failure::Cluster { problem });
    }
    Ok(())
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
