//! `ewca select`: which k and epsilon, by the paper's protocol, or a suggestion where there are no labels.

use std::fmt::Write;

use ewca::{Ewca, Model, Samples};
use ewca_io::{Frame, TextColumn, write_table};
use ewca_lab::{Labels, Selection, Spread, select};
use serde_json::json;

use crate::account::what_was_read;
use crate::args::SelectJob;
use crate::args::values::geometric;
use crate::failure::Failure;
use crate::fit::{pca, start_threads};
use crate::input::Dataset;
use crate::interrupt;
use crate::memory;
use crate::outcome::Outcome;
use crate::output::rehearse;
use crate::progress::{spinner, turn};
use crate::results::ResultsFolder;
use crate::terminal::Console;
use crate::text::{count, number, percent, wrapped};

/// Epsilons that are tried where none are given, from a tenth to four times the variance of the last component of the smallest k.
const AUTOMATIC: usize = 20;
const RANGE: (f64, f64) = (0.1, 4.0);

/// Runs the job.
pub fn run(job: &SelectJob, console: Console) -> Result<Outcome, Failure> {
    let name = job.table.input.name();
    start_threads(job.limits.threads)?;
    let (least, most) = (job.components[0], job.components[job.components.len() - 1]);
    let plan = memory::Plan { params: &Ewca::params(most), limits: job.limits, file: &name, report: None };
    let reading = plan.before_reading(&job.table, &job.preprocessing)?;
    let data = Dataset::to_fit(job.table.read(console)?, &job.preprocessing, &name)?;
    plan.for_table(&data, reading)?;
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let samples = data.samples().map_err(refused)?;
    console.say(&what_was_read(&name, &data));
    if data.table.labels.is_none() {
        let pca = pca(&samples, &Ewca::params(most)).map_err(refused)?;
        return suggest(&samples, &pca, &job.components, console).map_err(refused);
    }
    let labels = Labels::new(data.labels());
    if labels.names.len() < 2 {
        let problem =
            format!("all samples have the label '{}'; name a column with at least 2 classes", labels.names[0]);
        return Err(Failure::Unfit { file: name, problem });
    }
    let _folder = ResultsFolder::make_for(job.output.parent().unwrap_or(&job.output))?;
    rehearse(&job.output)?;
    let epsilons = match &job.epsilons {
        Some(epsilons) => epsilons.clone(),
        None => {
            let variance = pca(&samples, &Ewca::params(least)).map_err(refused)?.explained_variance[least - 1];
            geometric(RANGE.0 * variance, RANGE.1 * variance, AUTOMATIC)
        }
    };
    let bar = spinner(format!("k = {least}"), console);
    turn(&bar);
    let mut done = 0;
    let found = select(&samples, &labels, &job.components, &epsilons, job.protocol, &mut |k| {
        done += 1;
        bar.set_message(format!("k = {k} judged, {done} of {}", job.components.len()));
        !interrupt::requested()
    });
    bar.finish_and_clear();
    let Some(found) = found.map_err(refused)? else { return Ok(Outcome::Interrupted) };
    write(&found, job)?;
    console.say(&account(&found, job, &name));
    console.report(&json!({ "event": "select", "file": job.output, "selection": found }));
    Ok(Outcome::Converged)
}

/// A tidy table: one row per k and method.
fn write(found: &Selection, job: &SelectJob) -> Result<(), Failure> {
    let mut methods = Vec::new();
    let mut values = Vec::new();
    for cell in &found.cells {
        for (method, spread, epsilon) in
            [("raw", &found.raw, 0.0), ("pca", &cell.pca, 0.0), ("ewca", &cell.ewca, cell.epsilon)]
        {
            methods.push(method.to_string());
            values.extend([cell.k as f64, spread.mean, spread.q1, spread.median, spread.q3, epsilon]);
        }
    }
    let columns = ["k", "mean", "q1", "median", "q3", "epsilon"].map(String::from);
    let texts = [TextColumn { name: "method", cells: &methods }];
    write_table(&job.output, &Frame { rows: methods.len(), texts: &texts, columns: &columns, values: &values })?;
    Ok(())
}

fn account(found: &Selection, job: &SelectJob, name: &str) -> String {
    let cell = |spread: &Spread| format!("{:.1} ({:.1} - {:.1})", spread.mean, spread.q1, spread.q3);
    let mut text = format!(
        "\nWrong classes by the nearest neighbour, in percent: mean (quartiles) over\n{}. Raw data: {}\n\n  {:>3} {:>20} {:>20} {:>10}\n",
        count(job.protocol.splits, "split"),
        cell(&found.raw),
        "k",
        "PCA",
        "EWCA",
        "epsilon"
    );
    for (at, row) in found.cells.iter().enumerate() {
        let mark = if at == found.best { " <" } else { "" };
        let _ = writeln!(
            text,
            "  {:>3} {:>20} {:>20} {:>10}{mark}",
            row.k,
            cell(&row.pca),
            cell(&row.ewca),
            number(row.epsilon)
        );
    }
    let best = &found.cells[found.best];
    let honest = "Subspaces were found on all samples without labels; epsilon was chosen on the train half of each split alone. \
                  The last column is what all samples choose. The best k was picked by these very numbers, so expect a little \
                  more than its error on new data.";
    let _ = writeln!(text, "\n{}\n", wrapped(honest, 0));
    let _ = writeln!(text, "Go on with:\n  ewca fit {name} -k {} --epsilon {}", best.k, number(best.epsilon));
    let _ = writeln!(text, "\nWritten to {}.", job.output.display());
    text
}

/// Without labels nothing can be measured: what is usual, and why.
fn suggest(samples: &Samples<'_>, pca: &Model, components: &[usize], console: Console) -> ewca::Result<Outcome> {
    let rank = pca.rank;
    let total = pca.explained_variance.iter().sum::<f64>() / pca.explained_variance_ratio.iter().sum::<f64>();
    // The broken stick: what the i-th largest of `rank` random pieces would be.
    let stick = |i: usize| total / rank as f64 * (i + 1..=rank).map(|j| 1.0 / j as f64).sum::<f64>();
    let strong = pca.explained_variance.iter().enumerate().take_while(|(i, v)| **v > stick(*i)).count();
    let k = *components.iter().rev().find(|&&k| k <= strong).unwrap_or(&components[0]);
    let model = Ewca::params(k).fit(samples)?;
    let mut reason = format!(
        "{strong} of the principal components are larger than pieces of a stick broken at random, so k = {k}. Epsilon {} spreads each \
         sample over {} others on average. On 37 labelled sets that made classes a little more compact than PCA did, and nearest \
         neighbours no better; no rule without labels did better. This is a rule of thumb, not a measurement: give --label to have \
         k and epsilon judged.",
        number(model.epsilon),
        number(model.perplexity.overall),
    );
    if model.certificate.collapsed {
        reason.push_str(" At this epsilon the components collapse: take a smaller perplexity.");
    }
    let explained = percent(model.explained_variance_ratio.iter().sum());
    console.say(&format!(
        "\nSuggested: -k {k} --perplexity {:.1} ({explained} of the variance)\n\n{}\n",
        model.perplexity.overall,
        wrapped(&reason, 0)
    ));
    console.report(&json!({ "event": "suggestion", "k": k, "epsilon": model.epsilon, "reason": reason }));
    Ok(if model.converged() { Outcome::Converged } else { Outcome::NotConverged })
}
