//! `ewca fit`: read, fit, write, and say what was done.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use ewca::{CheckedParams, FitState, Params, Samples, Termination};
use ewca_eval::Scree;
use ewca_io::{ModelFile, RoleColumns, Staged};
use serde::Serialize;

use crate::args::{Components, FitJob};
use crate::commands::report::ReportSource;
use crate::console::command_line::shell_word;
use crate::console::failure::Failure;
use crate::console::fit_summary::{self, ConsoleSummary, Expected};
use crate::console::outcome::Outcome;
use crate::console::terminal::{Console, Verbosity};
use crate::input::prepare::{Preparation, Purpose};
use crate::input::table::Dataset;
use crate::output::covariates::Covariates;
use crate::output::exports::{Exporting, Written};
use crate::output::results::ResultsFolder;
use crate::output::summary::{DataSource, Summary, Times};
use crate::run::checkpoint::{self, CheckpointWriter};
use crate::run::cluster::Cluster;
use crate::run::components::Chosen;
use crate::run::coordinator::{Alone, Coordinator};
use crate::run::interrupt;
use crate::run::memory::{MemoryPlan, Prediction, Reporting};
use crate::run::progress::{self, WatchedFits, Watcher};

/// Runs the job.
pub fn run(job: &FitJob, console: Console) -> Result<Outcome, Failure> {
    start_threads(job.limits.threads)?;
    fit(job, &Alone, console)
}

/// Runs the job as one of the processes that share it, unless its files were found unfit.
pub fn run_shared(job: &FitJob, checked: Result<(), Failure>, console: Console) -> Result<Outcome, Failure> {
    start_threads(job.limits.threads)?;
    let cluster = Cluster::join()?;
    let quiet = Console { verbosity: Verbosity::Quiet, ..console };
    let own = if cluster.is_first() { console } else { quiet };
    let checked = if cluster.is_first() { checked } else { Ok(()) };
    let outcome = cluster.agree(checked).and_then(|()| fit(job, &cluster, own));
    // MPI ends the job as soon as a process leaves with an error: what there is to say is said before.
    let outcome = outcome.map_err(|failure| failure.said(console));
    cluster.wait_for_all();
    outcome
}

fn fit(job: &FitJob, coordinator: &impl Coordinator, console: Console) -> Result<Outcome, Failure> {
    let clock = Instant::now();
    let name = job.table.input.name();
    let expected = job.asked.params(job.asked.expected());
    let plan = job.memory_plan(&expected, job.asked.expected(), &name);
    let purpose = Purpose::Fit { steps: &job.preprocessing, weighting: job.weighting.as_ref() };
    let preparation = Preparation { table: &job.table, purpose, plan };

    job.exports.check_input(&job.table.input)?;
    let mut prepared = coordinator.agree(preparation.shared(job.in_parts, coordinator, console))?;
    coordinator.agree(prepared.data.annotate(&job.table))?;
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let samples = coordinator.agree(prepared.samples(&name))?;
    let samples = coordinator.join(samples).map_err(refused)?;
    let named = coordinator.agree(prepared.named(&job.table))?;
    let data = named.as_ref().unwrap_or(&prepared.data);
    let read = clock.elapsed();
    coordinator.agree(job.check_whole(data))?;
    let prediction = coordinator.agree(prepared.predict(&plan, &samples))?;
    let training_checksum = coordinator.broadcast(data.checksum());
    let ready = Ready::make(job, data.rows(), training_checksum, coordinator.is_first(), console);
    let Ready { state, folder, watcher } = coordinator.agree(ready)?;

    console.say(&fit_summary::what_was_read(&name, data));
    let chosen = Chosen::new(job.asked.components(), job.asked.seed(), &samples, &name, console);
    let Chosen { components, scree } = coordinator.agree(chosen)?;
    let asked = job.asked.params(components);
    let wanted = asked.check_ref().map_err(refused)?;
    let Prediction { params, peak, kept } = match &scree {
        Some(_) => prepared.predict(&job.memory_plan(&asked, components, &name), &samples)?,
        None => prediction,
    };
    let fit_clock = Instant::now();
    let model = match coordinator.shares_rows() {
        true => {
            interrupt::keep_results(last_words(job, coordinator.is_first()));
            console.say(&format!("Shared by {}\n", processes(coordinator.place().1)));
            fitted(&params, &samples, state, watcher.silent())
        }
        false => fitted(&params, &samples, state, watcher),
    };
    let fit = fit_clock.elapsed();
    let model = coordinator.settle(model.map_err(refused), console)?;
    let outcome = Outcome::of(&model).allowing_doubtful(job.allow_unconverged);
    let Some(folder) = folder else { return Ok(outcome) };

    let columns = RoleColumns { label: data.label.clone(), id: job.table.read.id.clone() };
    let file = data.model_file(model, columns, training_checksum);
    let times = Times { read, fit, total: clock.elapsed() };
    let (samples, scree) = (&samples, scree.as_ref());
    let memory = Expected { peak, kept };
    let results = Results { job, wanted: &wanted, scree, data, samples, params: &params, file: &file, times, memory };
    results.write(folder, !coordinator.shares_rows(), console)?;
    Ok(outcome)
}

impl FitJob {
    fn memory_plan<'p>(&'p self, params: &'p Params, components: usize, file: &'p str) -> MemoryPlan<'p> {
        MemoryPlan {
            params,
            limits: self.limits,
            file,
            report: self.report.as_ref().map(|_| Reporting { components, steps: 0 }),
            exports: Some((&self.exports, components)),
            permuting: self.asked.components() == Components::Auto,
        }
    }

    /// What is not in memory cannot be permuted.
    fn check_whole(&self, data: &Dataset) -> Result<(), Failure> {
        if data.is_whole() || self.asked.components() != Components::Auto {
            return Ok(());
        }
        let problem = "-k auto needs the table and a shuffled copy of it in memory, and there is not enough; choose the number \
                       of components with -k (try -k auto on some of the samples), or free some memory";
        Err(Failure::Unfit { file: self.table.input.name(), problem: problem.into() })
    }
}

/// What a fit begins with, and where its results go.
struct Ready {
    state: Option<FitState>,
    /// Of several processes one writes.
    folder: Option<ResultsFolder>,
    watcher: Watcher,
}

impl Ready {
    /// Makes sure that all that is wanted can be written: a long fit should not find out at its end.
    fn make(job: &FitJob, rows: usize, checksum: u64, writes: bool, console: Console) -> Result<Self, Failure> {
        let state = job.resume.as_deref().map(|file| checkpoint::read(file, checksum)).transpose()?;
        let watcher = Watcher::new(WatchedFits::Attempts(job.asked.restarts().saturating_add(1)), console);
        if !writes {
            return Ok(Self { state, folder: None, watcher });
        }
        let folder = ResultsFolder::make(&job.output)?;
        job.exports.check_writable()?;
        job.report.iter().try_for_each(|wish| wish.check_writable(rows))?;
        let writer = job.checkpoint.as_ref().map(|job| CheckpointWriter::new(job, checksum, console)).transpose()?;
        Ok(Self { state, folder: Some(folder), watcher: watcher.keeping(writer) })
    }
}

/// Makes the fit. From its first iteration on an interrupted run writes its best result.
fn fitted(
    params: &Params,
    samples: &Samples<'_>,
    state: Option<FitState>,
    mut watcher: Watcher,
) -> ewca::Result<ewca::Model> {
    let params = params.clone().check()?;
    watcher.start();
    let model = match state {
        Some(state) => params.resume(samples, state, &mut watcher),
        None => params.fit_observed(samples, &mut watcher),
    };
    watcher.finish();
    model
}

/// `1 process`, `2 processes`.
fn processes(count: usize) -> String {
    format!("{count} process{}", if count == 1 { "" } else { "es" })
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
                format!("the last checkpoint is complete; continue with --resume {file}, on any number of processes")
            }
            None => "there is no checkpoint; next time, save one with --checkpoint FILE".into(),
        };
        let text =
            format!("ewca: the job is being stopped, by a user, by the system, or because a process died; {next}\n");
        let _ = std::io::stderr().write_all(text.as_bytes());
    }
}

/// What a fit found, on its way to files and to the terminal.
struct Results<'a> {
    job: &'a FitJob,
    /// What was asked of the fit.
    wanted: &'a CheckedParams,
    /// What its number of components was found by.
    scree: Option<&'a Scree>,
    data: &'a Dataset,
    samples: &'a Samples<'a>,
    /// The parameters within the memory that may be used.
    params: &'a Params,
    file: &'a ModelFile,
    times: Times,
    /// What the run takes at most, in bytes.
    memory: Expected,
}

impl Results<'_> {
    /// Writes the folder, then the further files that were asked for, and says so. `answers`: Ctrl-C is answered here.
    fn write(&self, mut folder: ResultsFolder, answers: bool, console: Console) -> Result<(), Failure> {
        let input = self.job.table.input.short_name();
        let covariates = Covariates::new(self.data, &self.file.model);
        let mut summary = Summary::new(self.source(&input), self.wanted, &self.file.model, self.times);
        summary.parallel_analysis = self.scree;
        summary.covariates = covariates.as_ref().map(Covariates::record);
        let writing = progress::phase("writing the results", console);
        if answers {
            let words = "Writing the results; press Ctrl-C again to quit at once.";
            interrupt::keep_results(progress::notice(&writing, words));
        }
        folder.add_results(self.data, self.file)?;
        covariates.iter().try_for_each(|covariates| folder.add_covariates(covariates))?;
        folder.commit_fit(&mut summary)?;
        interrupt::results_are_safe();

        let (exports, failure) = self.stage_exports();
        writing.finish_and_clear();
        let (exports, failure) = match failure {
            None => self.stage_report(&input, exports, covariates.as_ref(), console),
            failure => (exports, failure),
        };
        let written = self.commit(exports, &mut folder, &mut summary)?;
        if let Some(failure) = failure {
            return Err(failure);
        }
        self.tell(&folder, &written, &summary, covariates.as_ref(), console);
        Ok(())
    }

    fn source<'s>(&'s self, input: &'s str) -> DataSource<'s> {
        let read = &self.job.table.read;
        DataSource {
            input,
            data: self.data,
            id: read.id.as_deref(),
            preprocessing: &self.job.preprocessing,
            missing: read.missing,
        }
    }

    fn stage_exports(&self) -> (Vec<(Written, Staged)>, Option<Failure>) {
        let (data, model) = (self.data, &self.file.model);
        // A fit that was stopped is still written everywhere; Ctrl-C after the fit stops the writing.
        let stop = || model.termination() != Termination::Interrupted && interrupt::requested();
        let (input, layer) = (&self.job.table.input, self.job.table.read.array.as_deref());
        self.job.exports.stage(Exporting { input, data, model, layer, stop: &stop })
    }

    /// Adds the report, where one is wanted.
    fn stage_report(
        &self,
        input: &str,
        mut exports: Vec<(Written, Staged)>,
        covariates: Option<&Covariates>,
        console: Console,
    ) -> (Vec<(Written, Staged)>, Option<Failure>) {
        let Some(wish) = &self.job.report else { return (exports, None) };
        let source =
            ReportSource { name: input, data: self.data, samples: self.samples, covariates, scree: self.scree };
        let refused = |source| Failure::Fit { file: self.job.table.input.name(), source };
        let pca = self.params.pca(self.samples).map_err(refused);
        match pca.and_then(|pca| source.stage(wish, &self.file.model, &pca, &[], console)) {
            Ok(report) => {
                exports.push(report);
                (exports, None)
            }
            Err(failed) => (exports, Some(failed)),
        }
    }

    /// Puts the further files into their places; those inside the folder belong to it.
    fn commit(
        &self,
        exports: Vec<(Written, Staged)>,
        folder: &mut ResultsFolder,
        summary: &mut Summary<'_>,
    ) -> Result<Vec<Written>, Failure> {
        let mut written = Vec::new();
        let mut is_inside = false;
        for (file, staged) in exports {
            is_inside |= folder.add_or_commit(&file.file, staged)?;
            written.push(file);
        }
        if is_inside {
            folder.commit_fit(summary)?;
        }
        Ok(written)
    }

    fn tell(
        &self,
        folder: &ResultsFolder,
        written: &[Written],
        summary: &Summary<'_>,
        covariates: Option<&Covariates>,
        console: Console,
    ) {
        let said = ConsoleSummary {
            model: &self.file.model,
            features: &self.data.table.features,
            wanted: self.wanted,
            times: self.times,
            folder: folder.path(),
            memory: self.memory,
            written,
            covariates,
        };
        if console.talks() {
            return console.say(&said.text(console.verbosity));
        }
        said.findings(true).iter().for_each(|warning| console.warn(warning));
        let files = written.iter().map(|written| &written.file).collect();
        console.report(&JsonSummary { event: "fit", folder: folder.path(), files, summary });
    }
}

/// The summary for programs: the summary, and where the results are.
#[derive(Serialize)]
struct JsonSummary<'a> {
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
