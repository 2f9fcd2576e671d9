//! `ewca path`: fits along epsilon, and where they collapse.

use std::fmt::Write;

use ewca::{DEFAULT_EPSILONS, DEFAULT_PERPLEXITY, Model, Params, Samples, Start, Termination};
use ewca_eval::Scree;
use ewca_io::{Frame, Preprocessing, write_table};
use serde_json::json;

use crate::args::{Components, PathJob, Steps};
use crate::commands::fit::start_threads;
use crate::commands::report::ReportSource;
use crate::console::failure::Failure;
use crate::console::fit_summary::what_was_read;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;
use crate::console::text::{count, number, percent, wrapped};
use crate::input::prepare::{Preparation, Purpose};
use crate::output::covariates::Covariates;
use crate::output::emit::check_writable;
use crate::output::results::ResultsFolder;
use crate::run::components::Chosen;
use crate::run::interrupt;
use crate::run::memory::{MemoryPlan, Reporting};
use crate::run::progress::{WatchedFits, Watcher};

/// Data in groups collapse later: further epsilons to find it, each by the same factor.
const FURTHER: usize = 10;

/// The columns of the table.
pub const COLUMNS: [&str; 9] = [
    "epsilon",
    "perplexity",
    "loss",
    "explained_variance",
    "explained_variance_ratio",
    "eigenvalue",
    "distance_to_pca",
    "collapsed",
    "converged",
];

/// Runs the job.
pub fn run(job: &PathJob, console: Console) -> Result<Outcome, Failure> {
    let name = job.table.input.name();
    start_threads(job.limits.threads)?;
    let steps = match &job.steps {
        Steps::Automatic => DEFAULT_EPSILONS,
        Steps::Epsilons(steps) | Steps::Perplexities(steps) => steps.len(),
    };
    let expected = job.asked.params(job.asked.expected());
    let plan = job.memory_plan(&expected, (job.asked.expected(), steps), &name);
    let purpose = Purpose::Fit { steps: &job.preprocessing, weighting: job.weighting.as_ref() };
    let mut prepared = Preparation { table: &job.table, purpose, plan }.whole(console)?;
    prepared.data.annotate(&job.table)?;
    let data = &prepared.data;
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let samples = prepared.samples(&name)?;
    let prediction = prepared.predict(&plan, &samples)?;
    let _folder = ResultsFolder::make_for(job.output.parent().unwrap_or(&job.output))?;
    check_writable(&job.output)?;
    job.report.iter().try_for_each(|wish| wish.check_writable(data.rows()))?;

    let mut watcher = Watcher::new(WatchedFits::Steps(steps), console);
    console.say(&what_was_read(&name, data));
    let Chosen { components, scree } = Chosen::new(job.asked.components(), job.asked.seed(), &samples, &name, console)?;
    let params = match &scree {
        Some(_) => {
            let asked = job.asked.params(components);
            prepared.predict(&job.memory_plan(&asked, (components, steps), &name), &samples)?.params
        }
        None => prediction.params,
    };
    watcher.start();
    let models = fitted(&samples, &params, &job.steps, &mut watcher);
    watcher.finish();
    let models = models.map_err(refused)?;

    let rows: Vec<[f64; 9]> = models.iter().map(row).collect();
    let columns = COLUMNS.map(String::from);
    let values = rows.concat();
    write_table(&job.output, &Frame { rows: rows.len(), texts: &[], columns: &columns, values: &values })?;
    interrupt::results_are_safe();
    console.say(&console_summary(&models, &job.preprocessing));
    console.say(&format!("\nWritten to {}: {}\n", job.output.display(), count(rows.len(), "row")));
    if let (Some(wish), Some(model)) = (&job.report, of_the_path(&models)) {
        let pca = params.pca(&samples).map_err(refused)?;
        let short_name = job.table.input.short_name();
        let covariates = Covariates::new(data, model);
        let (covariates, scree) = (covariates.as_ref(), scree.as_ref());
        let source = ReportSource { name: &short_name, data, samples: &samples, covariates, scree };
        let (written, staged) = source.stage(wish, model, &pca, &models, console)?;
        staged.commit()?;
        written.say(console);
    }
    for_programs(&models, scree.as_ref(), job, console);
    if let Some(warning) = not_converged(&models)
        && !console.talks()
    {
        console.warn(&warning);
    }
    Ok(ending(&models).allowing_doubtful(job.allow_unconverged))
}

/// The summary for programs: a line per fit, and one for all.
fn for_programs(models: &[Model], scree: Option<&Scree>, job: &PathJob, console: Console) {
    for model in models {
        console.report(&json!({
            "event": "step",
            "epsilon": model.epsilon(),
            "perplexity": model.perplexity().overall,
            "loss": model.loss(),
            "explained_variance_ratio": model.explained_variance_ratio().iter().sum::<f64>(),
            "eigenvalue": last_eigenvalue(model),
            "distance_to_pca": model.distance_to_pca(),
            "collapsed": model.certificate().collapsed,
            "converged": model.converged(),
        }));
    }
    let mut all = json!({ "event": "path", "file": job.output, "collapse": collapse(models) });
    if let Some(scree) = scree {
        all["parallel_analysis"] = json!(scree);
    }
    console.report(&all);
}

impl PathJob {
    fn memory_plan<'p>(
        &'p self,
        params: &'p Params,
        (components, steps): (usize, usize),
        file: &'p str,
    ) -> MemoryPlan<'p> {
        let report = self.report.as_ref().map(|_| Reporting { components, steps });
        let permuting = self.asked.components() == Components::Auto;
        MemoryPlan { params, limits: self.limits, file, report, exports: None, permuting }
    }
}

/// The worst of how the fits ended.
fn ending(models: &[Model]) -> Outcome {
    let any = |termination| models.iter().any(|model| model.termination() == termination);
    if any(Termination::Interrupted) {
        return Outcome::Interrupted;
    }
    match models.iter().all(Model::converged) {
        true => Outcome::Success,
        false => Outcome::NotConverged,
    }
}

fn fitted(samples: &Samples<'_>, params: &Params, steps: &Steps, watcher: &mut Watcher) -> ewca::Result<Vec<Model>> {
    match steps {
        Steps::Epsilons(epsilons) => params.clone().check()?.path_observed(samples, epsilons, watcher),
        Steps::Perplexities(perplexities) => {
            let mut models = Vec::new();
            for &perplexity in perplexities {
                models.push(params.clone().perplexity(perplexity).check()?.fit_observed(samples, watcher)?);
                if interrupt::requested() {
                    break;
                }
            }
            Ok(models)
        }
        Steps::Automatic => automatic(samples, params, watcher),
    }
}

/// The fit that a report begins with: the one whose perplexity is nearest to the default, among those that have not collapsed.
fn of_the_path(models: &[Model]) -> Option<&Model> {
    let distance = |model: &Model| (model.perplexity().overall / DEFAULT_PERPLEXITY).ln().abs();
    let standing = models.iter().filter(|model| !model.certificate().collapsed);
    standing.min_by(|a, b| distance(a).total_cmp(&distance(b))).or(models.first())
}

/// A path from PCA to just past the collapse.
pub fn automatic(samples: &Samples<'_>, params: &Params, watcher: &mut Watcher) -> ewca::Result<Vec<Model>> {
    let epsilons = params.pca(samples)?.path_epsilons();
    let mut models = params.clone().check()?.path_observed(samples, &epsilons, watcher)?;
    let factor = epsilons[1] / epsilons[0];
    for _ in 0..FURTHER {
        let Some(model) = models.last() else { break };
        if model.certificate().collapsed || interrupt::requested() {
            break;
        }
        let next = params.clone().start(Start::Loadings(model.components().clone())).epsilon(factor * model.epsilon());
        models.push(next.check()?.fit_observed(samples, watcher)?);
    }
    Ok(models)
}

/// The k-th eigenvalue of M: the one that collapses first.
fn last_eigenvalue(model: &Model) -> f64 {
    model.certificate().eigenvalues.last().copied().unwrap_or(f64::NAN)
}

fn row(model: &Model) -> [f64; 9] {
    [
        model.epsilon(),
        model.perplexity().overall,
        model.loss(),
        model.explained_variance().iter().sum(),
        model.explained_variance_ratio().iter().sum(),
        last_eigenvalue(model),
        model.distance_to_pca(),
        f64::from(u8::from(model.certificate().collapsed)),
        f64::from(u8::from(model.converged())),
    ]
}

/// The largest epsilon before the first collapsed one, and that one: in ascending order of epsilon.
fn collapse(models: &[Model]) -> Option<(Option<f64>, f64)> {
    let mut order: Vec<&Model> = models.iter().collect();
    order.sort_by(|a, b| a.epsilon().total_cmp(&b.epsilon()));
    let first = order.iter().position(|model| model.certificate().collapsed)?;
    Some((first.checked_sub(1).map(|before| order[before].epsilon()), order[first].epsilon()))
}

/// How many fits did not converge, and what to do about it.
fn not_converged(models: &[Model]) -> Option<String> {
    let ended = |termination| models.iter().filter(|model| model.termination() == termination).count();
    let (limit, stalled) = (ended(Termination::MaxIterations), ended(Termination::Stalled));
    if ended(Termination::Interrupted) > 0 {
        return Some(format!("interrupted after {}", count(models.len(), "fit")));
    }
    let advice = match (limit, stalled) {
        (0, 0) => return None,
        (_, 0) => "raise --max-iterations",
        (0, _) => "the tolerance is below rounding error; raise --tolerance",
        _ => "raise --max-iterations and --tolerance",
    };
    Some(format!("{} of {} did not converge; {advice}", limit + stalled, count(models.len(), "fit")))
}

fn console_summary(models: &[Model], steps: &Preprocessing) -> String {
    let k = models.first().map_or(0, Model::n_components);
    let mut text = format!(
        "\n  {:>10} {:>10} {:>11} {:>10} {:>12} {:>12}\n",
        "epsilon",
        "perplexity",
        "loss",
        "explained",
        format!("eigenvalue {k}"),
        "PCA distance"
    );
    for model in models {
        let mark = match (model.certificate().collapsed, model.converged()) {
            (true, _) => " *",
            (_, false) => " ?",
            _ => "",
        };
        let _ = writeln!(
            text,
            "  {:>10} {:>10} {:>11} {:>10} {:>12} {:>12}{mark}",
            number(model.epsilon()),
            number(model.perplexity().overall),
            number(model.loss()),
            percent(model.explained_variance_ratio().iter().sum()),
            number(last_eigenvalue(model)),
            number(model.distance_to_pca()),
        );
    }
    let said = match collapse(models) {
        Some((Some(before), at)) => format!(
            "Collapses between epsilon {} and {} (*: smoothing is too strong, and the components no longer reflect the data: \
             eigenvalue {k} of M is not positive). Use a smaller epsilon.",
            number(before),
            number(at)
        ),
        Some((None, _)) => "Collapsed at every epsilon (*): smoothing is too strong. Use smaller epsilons.".into(),
        None => "Not collapsed at any of these epsilons.".into(),
    };
    let _ = write!(text, "\n{}\n", wrapped(&said, 0));
    if let Some(warning) = not_converged(models) {
        let _ = writeln!(text, "{}", wrapped(&format!("?: {warning}."), 3));
    }
    if !steps.is_nothing() {
        text.push_str("Epsilon is in squared units of the data after preprocessing.\n");
    }
    text
}
