//! `ewca select`: which k and epsilon, by the paper's protocol, or a suggestion where there are no labels.

use std::fmt::Write;

use ewca::{DEFAULT_PERPLEXITY, Ewca, Model, Samples};
use ewca_eval::{Candidates, EncodedLabels, Method, Recommendation, Scree, Selection, Spread, select};
use ewca_io::{Frame, TextColumn, write_table};
use serde_json::json;

use crate::args::{Components, SelectJob};
use crate::commands::fit::start_threads;
use crate::console::command_line::CommandLine;
use crate::console::failure::Failure;
use crate::console::fit_summary::what_was_read;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;
use crate::console::text::{count, number, percent, wrapped};
use crate::input::prepare::{Preparation, Purpose};
use crate::output::emit::check_writable;
use crate::output::results::ResultsFolder;
use crate::run::components::{Chosen, above_chance};
use crate::run::interrupt;
use crate::run::memory::MemoryPlan;
use crate::run::progress::phase;

/// Perplexities below this part of the default are smaller than it, in words.
const SMALLER: f64 = 0.9;

/// The columns of the table.
pub const COLUMNS: [&str; 7] = ["method", "k", "mean", "q1", "median", "q3", "epsilon"];

/// Runs the job.
pub fn run(job: &SelectJob, console: Console) -> Result<Outcome, Failure> {
    let name = job.table.input.name();
    start_threads(job.limits.threads)?;
    let expected = job.components.as_ref().map_or(Components::Auto.expected(), |ks| ks[ks.len() - 1]);
    // Without labels chance decides on the number of components, too.
    let permuting = job.components.is_none() || job.table.labels.is_empty();
    let (params, limits) = (Ewca::params(expected), job.limits);
    let plan = MemoryPlan { params: &params, limits, file: &name, report: None, exports: None, permuting };
    let purpose = Purpose::Fit { steps: &job.preprocessing, weighting: job.weighting.as_ref() };
    let mut prepared = Preparation { table: &job.table, purpose, plan }.whole(console)?;
    prepared.data.annotate(&job.table)?;
    let data = &prepared.data;
    if let Some(problem) = data.why_no_label() {
        let problem = format!(
            "{problem}; `ewca select` needs a class for every sample: choose another column, or leave out \
                               --label for a rule of thumb"
        );
        return Err(Failure::Unfit { file: name, problem });
    }
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let samples = prepared.samples(&name)?;
    prepared.predict(&plan, &samples)?;
    console.say(&what_was_read(&name, data));
    if data.table.labels.is_none() {
        let scree = above_chance(&samples, job.protocol.seed, &name, console)?;
        let outcome = suggest(&samples, &scree, job, console).map_err(refused)?;
        return Ok(outcome.allowing_doubtful(job.allow_unconverged));
    }
    let labels = EncodedLabels::new(data.labels());
    if labels.names.len() < 2 {
        let problem =
            format!("all samples have the label '{}'; choose a column with at least 2 classes", labels.names[0]);
        return Err(Failure::Unfit { file: name, problem });
    }
    let _folder = ResultsFolder::make_for(job.output.parent().unwrap_or(&job.output))?;
    check_writable(&job.output)?;
    let components = match &job.components {
        Some(components) => components.clone(),
        None => {
            let chosen = Chosen::new(Components::Auto, job.protocol.seed, &samples, &name, console)?;
            (1..=chosen.components).collect()
        }
    };
    let least = components[0];
    let epsilons = match &job.epsilons {
        Some(epsilons) => epsilons.clone(),
        None => Ewca::params(least).pca(&samples).map_err(refused)?.selection_epsilons(),
    };
    let bar = phase(&format!("k = {least}"), console);
    let mut done = 0;
    let found = select(&samples, &labels, &components, &epsilons, Candidates::Standing, job.protocol, &mut |k| {
        done += 1;
        bar.set_message(format!("k = {k} done, {done} of {}", components.len()));
        !interrupt::requested()
    });
    bar.finish_and_clear();
    let Some(mut found) = found.map_err(refused)? else { return Ok(Outcome::Interrupted) };
    let recommended = confirmed(&mut found, &samples).map_err(refused)?;
    write(&found, job)?;
    let command = command(job).option("-k", Some(recommended.k)).option("--epsilon", Some(number(recommended.epsilon)));
    console.say(&console_summary(&found, &recommended, job, &command));
    console.report(&json!({
        "event": "select",
        "file": job.output,
        "selection": found,
        "recommended": recommended,
        "command": command.on_one_line(),
    }));
    Ok(Outcome::Success)
}

/// What the table recommends, once that very fit has been made: fits of the table begin from each other, and may end elsewhere.
fn confirmed(found: &mut Selection, samples: &Samples<'_>) -> ewca::Result<Recommendation> {
    loop {
        let recommended = found.recommendation();
        if recommended.method == Method::Pca {
            return Ok(recommended);
        }
        // As it is printed.
        let epsilon = number(recommended.epsilon).parse().unwrap_or(recommended.epsilon);
        let model = Ewca::params(recommended.k).epsilon(epsilon).fit(samples)?;
        if !model.certificate().collapsed {
            return Ok(Recommendation { perplexity: model.perplexity().overall, ..recommended });
        }
        found.note_collapse(recommended.k);
    }
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
    let texts = [TextColumn { name: COLUMNS[0], cells: &methods }];
    let columns: Vec<String> = COLUMNS[1..].iter().map(|name| name.to_string()).collect();
    write_table(&job.output, &Frame { rows: methods.len(), texts: &texts, columns: &columns, values: &values })?;
    Ok(())
}

/// A fit of the same table, read and prepared in the same way.
fn command(job: &SelectJob) -> CommandLine {
    let line = CommandLine::of("fit").table(&job.table).weighting(job.weighting.as_ref());
    line.preprocessing(&job.preprocessing).limits(job.limits)
}

fn console_summary(found: &Selection, recommended: &Recommendation, job: &SelectJob, command: &CommandLine) -> String {
    let cell = |spread: &Spread| format!("{:.1} ({:.1} - {:.1})", spread.mean, spread.q1, spread.q3);
    let mut text = format!(
        "\nSamples whose nearest neighbour has another class, in percent: mean (quartiles)\nover {}. Raw data: {}\n\n  {:>3} \
         {:>20} {:>20} {:>10}\n",
        count(job.protocol.splits, "split"),
        cell(&found.raw),
        "k",
        "PCA",
        "EWCA",
        "epsilon"
    );
    for (at, row) in found.cells.iter().enumerate() {
        let mark = match recommended.method {
            Method::Pca if row.k == recommended.k => " < PCA",
            Method::Ewca if at == found.best => " < EWCA",
            _ => "",
        };
        let _ = writeln!(
            text,
            "  {:>3} {:>20} {:>20} {:>10}{mark}",
            row.k,
            cell(&row.pca),
            cell(&row.ewca),
            if row.stands { number(row.epsilon) } else { "collapses".into() }
        );
    }
    let honest = "Components were fitted on all samples, without labels. In each split, epsilon was chosen on the training half \
                  only. The last column is the epsilon chosen with all samples, among those where the fit does not collapse. \
                  The best k was chosen with these same errors, so expect a slightly larger error on new data.";
    let _ = writeln!(text, "\n{}", wrapped(&verdict(found, recommended, job.protocol.splits), 0));
    let _ = writeln!(text, "\n{}", wrapped(honest, 0));
    let _ = writeln!(text, "\nNext:\n{}", command.in_lines(2));
    let _ = writeln!(text, "\nWritten to {}.", job.output.display());
    text
}

/// Which method to use here, and why.
fn verdict(found: &Selection, recommended: &Recommendation, splits: usize) -> String {
    let Recommendation { method, k, error, ahead, behind, .. } = *recommended;
    const SMALL: &str = "(The small epsilon below gives PCA.)";
    let Some((other_k, other_error)) = recommended.other else {
        let least = found.epsilons[0];
        return format!(
            "EWCA collapses at all of these epsilons (smoothing is too strong), so use PCA: {error:.1}% wrong with k = {k}. To \
             compare with EWCA, try smaller epsilons, such as --epsilons {}:{}:20. {SMALL}",
            number(least / 1000.0),
            number(least)
        );
    };
    let against = |other: &str| {
        format!("{error:.1}% wrong with k = {k}, compared with {other_error:.1}% for {other} with k = {other_k}")
    };
    let counts = format!("better in {ahead} of {splits} splits, worse in {behind}");
    match (method, recommended.better_by()) {
        (Method::Pca, Some(points)) => {
            format!("PCA is better here, by {points:.1} points: {}; {counts}. So use PCA. {SMALL}", against("EWCA"))
        }
        (Method::Pca, None) => {
            format!("PCA is as good as EWCA here, and simpler: {}; {counts}. So use PCA. {SMALL}", against("EWCA"))
        }
        (Method::Ewca, points) => format!(
            "EWCA is better than PCA here, by {:.1} points: {}; {counts}. {}",
            points.unwrap_or(0.0),
            against("PCA"),
            spread(found, recommended)
        ),
    }
}

/// How far samples spread in the fit that is recommended, beside what else could be asked for.
fn spread(found: &Selection, recommended: &Recommendation) -> String {
    let cell = &found.cells[found.best];
    let perplexity = recommended.perplexity;
    let mut text =
        format!("Its perplexity is {}: each sample is matched with about that many neighbours", number(perplexity));
    if perplexity < SMALLER * DEFAULT_PERPLEXITY {
        text.push_str(&format!(", fewer than the default of `ewca fit`, {DEFAULT_PERPLEXITY}"));
    }
    if recommended.epsilon < cell.epsilon {
        let chosen = number(cell.epsilon);
        text.push_str(&format!(
            ". Epsilon {chosen}, chosen with all samples, makes no fewer errors, so the smaller one is suggested"
        ));
    }
    if let Some(at) = cell.collapsed.iter().position(|collapsed| *collapsed) {
        text.push_str(&format!(". The fit collapses from epsilon {} on", number(found.epsilons[at])));
    }
    text + "."
}

/// The fit with the default perplexity, or with as large a one as does not collapse.
fn standing(samples: &Samples<'_>, k: usize) -> ewca::Result<Model> {
    const TRIES: usize = 6;
    let mut model = Ewca::params(k).fit(samples)?;
    let mut spread = model.perplexity().overall - 1.0;
    for _ in 0..TRIES {
        if !model.certificate().collapsed || spread.is_nan() || spread <= 0.0 {
            break;
        }
        spread *= 0.5;
        model = Ewca::params(k).perplexity(1.0 + spread).fit(samples)?;
    }
    Ok(model)
}

/// Without labels nothing can be measured: what is usual, and why.
fn suggest(samples: &Samples<'_>, scree: &Scree, job: &SelectJob, console: Console) -> ewca::Result<Outcome> {
    let found = [scree.components()];
    let components = job.components.as_deref().unwrap_or(&found);
    let k = *components.iter().rev().find(|&&k| k <= scree.above).unwrap_or(&components[0]);
    let model = standing(samples, k)?;
    let collapsed = model.certificate().collapsed;
    let chosen = match k <= scree.above {
        true => format!(", so k = {k}"),
        false => format!(", and k = {k} is the smallest number that was tried"),
    };
    let mut reason = format!(
        "{} more variance than chance ({} tables with shuffled features){chosen}. With epsilon {}, each sample is matched with \
         about {:.1} neighbours. On 37 labelled data sets, this made classes a little more compact than PCA did, but nearest \
         neighbours no better; no rule without labels did better. This is a rule of thumb, not a measurement: use --label to \
         choose k and epsilon by their errors.",
        match scree.above {
            0 => "None of the principal components explains".into(),
            1 => "1 principal component explains".into(),
            above => format!("{above} principal components explain"),
        },
        scree.permutations,
        number(model.epsilon()),
        model.perplexity().overall,
    );
    if collapsed {
        reason = format!(
            "With k = {k} the fit collapses at every perplexity that was tried (smoothing is too strong), so nothing is \
             suggested. Try fewer components with -k, or see how the fit changes with `ewca path`."
        );
    }
    let perplexity = format!("{:.*}", if model.perplexity().overall < 2.0 { 2 } else { 1 }, model.perplexity().overall);
    let command = command(job).option("-k", Some(k)).option("--perplexity", Some(&perplexity));
    let explained = percent(model.explained_variance_ratio().iter().sum());
    if collapsed {
        console.say(&format!("\n{}\n", wrapped(&reason, 0)));
    } else {
        console.say(&format!(
            "\nSuggested: -k {k} --perplexity {perplexity} ({explained} of the variance)\n\n{}\n\nNext:\n{}\n",
            wrapped(&reason, 0),
            command.in_lines(2)
        ));
    }
    console.report(&json!({
        "event": "suggestion",
        "k": k,
        "epsilon": model.epsilon(),
        "perplexity": model.perplexity().overall,
        "collapsed": collapsed,
        "parallel_analysis": scree,
        "reason": reason,
        "command": (!collapsed).then(|| command.on_one_line()),
    }));
    Ok(Outcome::of(&model))
}
