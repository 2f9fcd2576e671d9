//! `ewca reproduce`: the paper's experiments, as figures in a folder.

use ewca_eval::EncodedLabels;
use ewca_io::Preprocessing;
use ewca_paper::Error;
use ewca_paper::experiments::{Effort, ExperimentReport, Study, page, run as run_experiments};
use serde_json::json;

use crate::args::ReproduceJob;
use crate::commands::demo;
use crate::commands::fit::start_threads;
use crate::console::failure::Failure;
use crate::console::fit_summary::what_was_read;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;
use crate::console::text::{WIDTH, count, wrapped};
use crate::input::table::Dataset;
use crate::output::emit::check_writable;
use crate::output::results::ResultsFolder;
use crate::run::interrupt;
use crate::run::progress::counter;
use ewca::geometric;

const EMBEDDED: &str = "khan2001";
/// The page that shows all figures.
pub const PAGE: &str = "index.html";

/// Runs the job.
pub fn run(job: &ReproduceJob, console: Console) -> Result<Outcome, Failure> {
    start_threads(job.threads)?;
    let needed = job.table.is_some() || job.experiments.iter().any(|experiment| experiment.needs_data());
    let data = if needed { Some(read(job, console)?) } else { None };
    let name = job.table.as_ref().map_or(EMBEDDED.into(), |table| table.input.short_name());
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let samples = data.as_ref().map(Dataset::samples).transpose().map_err(refused)?;
    let labels = data.as_ref().map(|data| EncodedLabels::new(data.labels()));
    let study = match (&samples, &labels) {
        (Some(samples), Some(labels)) => {
            let (components, epsilons) = grid(job, samples.rows(), samples.columns());
            let title = name.strip_suffix(".csv").unwrap_or(&name).to_string();
            Some(Study { name: title, samples, labels, components, epsilons, protocol: job.protocol })
        }
        _ => None,
    };
    if let Some(study) = &study {
        check(study, &name)?;
    }
    let timed = job.table.as_ref().and(samples.as_ref()).map(|samples| (name.as_str(), samples));
    let mut folder = ResultsFolder::make_for_figures(&job.output)?;
    check_writable(&job.output.join(PAGE))?;

    let reports = watched(job, study.as_ref(), timed, console);
    let reports = match reports {
        Err(Error::Interrupted) => return Ok(Outcome::Interrupted),
        Err(Error::Fit(source)) => return Err(refused(source)),
        Err(other) => return Err(unfit(&name, &other)),
        Ok(reports) => reports,
    };
    let mut files = write(job, &mut folder, &reports, &name)?;
    files.push(folder.commit_figures(job.overwrite)?);
    reports.iter().for_each(|report| console.say(&console_summary(report)));
    let written = format!("\nWritten to {}: {}", job.output.display(), count(files.len(), "file"));
    console.say(&(written + if job.page { "; open index.html\n" } else { "\n" }));
    console.report(&json!({ "event": "reproduce", "folder": job.output, "files": files, "facts": facts(&reports) }));
    Ok(Outcome::Success)
}

fn read(job: &ReproduceJob, console: Console) -> Result<Dataset, Failure> {
    let Some(table) = &job.table else { return demo::read("train") };
    let name = table.input.name();
    let data = Dataset::to_fit(table.read(console)?, &Preprocessing::default(), &name)?;
    console.say(&what_was_read(&name, &data));
    Ok(data)
}

/// The paper's grids for its two data sets; numbers of components that halves of smaller tables cannot have are left out.
fn grid(job: &ReproduceJob, rows: usize, columns: usize) -> (Vec<usize>, Vec<f64>) {
    let (components, epsilons): (Vec<usize>, _) = match job.table {
        None => ((4..=12).collect(), geometric(5.0, 200.0, 20)),
        Some(_) => ((3..=10).chain([15]).chain(20..=40).collect(), geometric(50.0, 5000.0, 20)),
    };
    let possible = columns.min((rows / 2).saturating_sub(2)).max(1);
    let fitting: Vec<usize> = components.into_iter().filter(|k| *k <= possible).collect();
    let fitting = if fitting.is_empty() { (1..=possible.min(3)).collect() } else { fitting };
    let mut epsilons = job.epsilons.clone().unwrap_or(epsilons);
    epsilons.sort_by(f64::total_cmp);
    (job.components.clone().unwrap_or(fitting), epsilons)
}

fn check(study: &Study<'_>, file: &str) -> Result<(), Failure> {
    let problem = match study.labels.names.len() {
        0 | 1 => "the experiments need at least 2 classes; choose their column with --label".to_string(),
        _ if study.samples.rows() < 8 => format!("{} are too few to split", count(study.samples.rows(), "sample")),
        _ => return Ok(()),
    };
    Err(Failure::Unfit { file: file.into(), problem })
}

/// Runs the experiments with a bar on the terminal.
fn watched(
    job: &ReproduceJob,
    study: Option<&Study<'_>>,
    timed: Option<(&str, &ewca::Samples<'_>)>,
    console: Console,
) -> ewca_paper::Result<Vec<ExperimentReport>> {
    let bar = counter("preparing", console);
    let watch = |what: &str, done: usize, total: usize| {
        bar.set_length(total as u64);
        bar.set_position(done as u64);
        bar.set_message(what.to_string());
        !interrupt::requested()
    };
    let effort = Effort { seed: job.seed, repeats: job.repeats };
    let reports = run_experiments(&job.experiments, study, timed, effort, &watch);
    bar.finish_and_clear();
    reports
}

fn unfit(file: &str, error: &Error) -> Failure {
    Failure::Unfit { file: file.into(), problem: error.to_string() }
}

/// Writes every figure in all its forms, and the page; returns the names of the files.
fn write(
    job: &ReproduceJob,
    folder: &mut ResultsFolder,
    reports: &[ExperimentReport],
    name: &str,
) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    for figure in reports.iter().flat_map(|report| &report.figures) {
        files.extend(folder.add_figure(figure, name)?);
    }
    if job.page {
        let command = format!("ewca reproduce all --data {name} --seed {}", job.seed);
        let title = format!("Entropic Wasserstein Component Analysis on {name}");
        folder.add_bytes(PAGE, page(&title, &command, reports).as_bytes())?;
        files.push(PAGE.into());
    }
    Ok(files)
}

fn console_summary(report: &ExperimentReport) -> String {
    let mut text = format!("\n{}\n", report.title);
    for fact in &report.facts {
        let beside = fact.beside.as_ref().map(|said| format!(" [compare: {said}]")).unwrap_or_default();
        text.push_str(&format!("{}\n", wrapped(&format!("  {}: {}{beside}", fact.what, fact.ours), 6)));
    }
    debug_assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
    text
}

fn facts(reports: &[ExperimentReport]) -> Vec<serde_json::Value> {
    let facts = reports.iter().flat_map(|report| report.facts.iter().map(move |fact| (report, fact)));
    facts
        .map(|(report, fact)| {
            json!({ "experiment": report.title, "what": fact.what, "beside": fact.beside, "ours": fact.ours })
        })
        .collect()
}
