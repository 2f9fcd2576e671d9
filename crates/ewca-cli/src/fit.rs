//! `ewca fit`: read, fit, write, and say what was done.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ewca::{Model, Params, Samples, Source as _};
use ewca_io::ModelFile;
use serde::Serialize;

use crate::account::{self, FitAccount};
use crate::args::FitJob;
use crate::checkpoint::{self, Keeper};
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::input::{Dataset, Input};
use crate::interrupt;
use crate::memory::{self, Prediction, Reporting};
use crate::outcome::Outcome;
use crate::parts::Parts;
use crate::progress::{self, Watcher, Work};
use crate::report::ReportSource;
use crate::results::ResultsFolder;
use crate::summary::{Source, Summary, Times};
use crate::terminal::{Console, Verbosity};

/// Runs the job, alone or as one of the processes that share it.
pub fn run(job: &FitJob, console: Console) -> Result<Outcome, Failure> {
    start_threads(job.limits.threads)?;
    if !job.distributed {
        return fit(job, None, console);
    }
    let cluster = Cluster::join()?;
    let quiet = Console { verbosity: Verbosity::Quiet, ..console };
    let outcome = fit(job, Some(&cluster), if cluster.is_first() { console } else { quiet });
    // MPI ends the job as soon as a process leaves with an error: what there is to say is said before.
    let outcome = outcome.map_err(|failure| failure.said(console));
    cluster.wait_for_all();
    outcome
}

fn fit(job: &FitJob, cluster: Option<&Cluster>, console: Console) -> Result<Outcome, Failure> {
    let clock = Instant::now();
    let name = job.table.input.name();
    let report = job.report.as_ref().map(|_| Reporting { components: job.wanted.components, steps: 0 });
    let plan = memory::Plan { params: &job.params, limits: job.limits, file: &name, report };

    job.exports.check_input(&job.table.input)?;
    // A process that fails alone must not leave the others waiting.
    let held = agreed(cluster, Held::open(job, &plan, cluster, console))?;
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let samples = agreed(cluster, held.samples().map_err(refused))?;
    let samples = match cluster {
        Some(cluster) => samples.with_team(cluster.team()).map_err(refused)?,
        None => samples,
    };
    let named = held.named();
    let data = named.as_ref().unwrap_or(&held.data);
    let read = clock.elapsed();

    let first = cluster.is_none_or(Cluster::is_first);
    let prediction = match held.parts.is_some() || cluster.is_some() {
        true => plan.for_samples(&samples, held.bytes()),
        false => plan.for_table(data, held.reading),
    };
    let Prediction { params, peak } = agreed(cluster, prediction)?;
    let within_budget = params.clone();
    let params = params.check().map_err(refused)?;
    let training_checksum = cluster.map_or_else(|| data.checksum(), |cluster| cluster.told(data.checksum()));
    let prepare = || {
        let state = job.resume.as_deref().map(|file| checkpoint::read(file, training_checksum)).transpose()?;
        if !first {
            return Ok((state, None, None));
        }
        let folder = ResultsFolder::make(&job.output)?;
        job.exports.rehearse()?;
        job.report.iter().try_for_each(|wish| wish.rehearse(data.rows()))?;
        let keeper = job.checkpoint.as_ref().map(|job| Keeper::new(job, training_checksum, console)).transpose()?;
        Ok((state, Some(folder), keeper))
    };
    let (state, folder, keeper) = agreed(cluster, prepare())?;

    // From here on an interrupted run writes its best result.
    let mut watcher = Watcher::new(Work::Attempts(job.wanted.restarts.saturating_add(1)), console).keeping(keeper);
    match cluster {
        Some(_) => interrupt::keep_results(last_words(job, first)),
        None => interrupt::keep_results(watcher.stop_notice()),
    }
    console.say(&account::what_was_read(&name, data));
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
    let Some(folder) = folder else { return Ok(model.termination.into()) };

    let file = ModelFile {
        model,
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
    folder.write(data, &file, &summary)?;
    let mut written = job.exports.write(&job.table.input, data, model, job.limits.max_memory)?;
    if let Some(wish) = &job.report {
        let pca = pca(&samples, &within_budget).map_err(refused)?;
        let source = ReportSource { name: &input, label: job.table.read.label.as_deref(), data, samples: &samples };
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
                format!("the last checkpoint is whole; go on with --resume {file}, with any number of processes")
            }
            None => "there is no checkpoint; next time keep one with --checkpoint FILE".into(),
        };
        let text = format!("ewca: the job is being ended: by hand, by the system, or because a process died; {next}\n");
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// A table as a fit has it: whole, some rows, or the way to them.
struct Held {
    data: Dataset,
    parts: Option<Parts>,
    /// What reading took at most.
    reading: usize,
}

impl Held {
    fn open(
        job: &FitJob,
        plan: &memory::Plan<'_>,
        cluster: Option<&Cluster>,
        console: Console,
    ) -> Result<Self, Failure> {
        let in_parts = job.in_parts || plan.needs_parts(&job.table, &job.preprocessing);
        let place = cluster.map_or((0, 1), Cluster::place);
        let own_rows = cluster.is_some() && job.table.is_readable_in_parts();
        if !in_parts && !own_rows {
            let reading = plan.before_reading(&job.table, &job.preprocessing)?;
            let data = Dataset::to_fit(job.table.read(console)?, &job.preprocessing, plan.file)?;
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

/// PCA with these parameters: the limit of a small epsilon.
pub fn pca(samples: &Samples<'_>, params: &Params) -> ewca::Result<Model> {
    let tiny = (1e-12 * samples.total_variance()?).max(f64::MIN_POSITIVE);
    params.clone().single_start().epsilon(tiny).fit(samples)
}
