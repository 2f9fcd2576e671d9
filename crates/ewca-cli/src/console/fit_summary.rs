//! What is said after a fit: for someone who sees the method for the first time, on a terminal of 80 columns.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use ewca::{CheckedParams, Finding, Model, Termination};
use ewca_io::{Settled, Values};

use crate::console::terminal::{self, Verbosity};
use crate::console::text::{accuracy, bytes, classes, count, number, percent, time, wrapped};
use crate::input::table::Dataset;
use crate::output::covariates::Covariates;
use crate::output::exports::Written;
use crate::output::results::component_name;
use crate::output::summary::Times;
use crate::run::memory::process_bytes;

/// Components that get a line of their own; the rest share one.
const SHOWN_COMPONENTS: usize = 12;

/// The first line, said before the fit begins.
pub fn what_was_read(file: &str, data: &Dataset) -> String {
    let classes = data.table.labels.as_ref().map_or(String::new(), |labels| format!(", {}", classes(labels)));
    let shape = format!("{} x {}", count(data.rows(), "sample"), count(data.columns(), "feature"));
    let stored = match &data.table.values {
        _ if data.table.rows() == 0 => ", in parts".into(),
        Values::Dense(_) => String::new(),
        Values::Sparse(sparse) => {
            let cells = sparse.rows() as f64 * sparse.columns as f64;
            format!(", sparse ({} stored)", percent(sparse.values.len() as f64 / cells))
        }
    };
    let settled = settled_in_words(&data.table.settled, "means");
    let notes = match data.table.notes.join(", ") {
        notes if notes.is_empty() => notes,
        notes => format!(" ({notes})"),
    };
    let joined = data.joined.as_ref().map_or("", |joined| joined.in_words());
    format!("Read {file}: {shape}{stored}{classes}{notes}\n{joined}")
        + &settled.map_or(String::new(), |words| words + "\n")
}

/// What became of missing cells, if there were any; `filling` is what they were filled with.
pub fn settled_in_words(settled: &Settled, filling: &str) -> Option<String> {
    let Settled { dropped_rows, dropped_features, filled_cells } = *settled;
    let left_out = |number: usize, noun: &str| (number > 0).then(|| format!("left out {}", count(number, noun)));
    let filled = (filled_cells > 0).then(|| format!("filled {} with {filling}", count(filled_cells, "value")));
    let parts = [left_out(dropped_rows, "sample"), left_out(dropped_features, "feature"), filled];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    (!parts.is_empty()).then(|| format!("Missing values: {}", parts.join(", ")))
}

/// The memory that a run was expected to take, in bytes.
#[derive(Debug, Clone, Copy)]
pub struct Expected {
    /// What it needs.
    pub peak: usize,
    /// What it may take beside that, to keep what is computed of the kernel.
    pub kept: usize,
}

/// What there is to say about a fit.
#[derive(Debug, Clone, Copy)]
pub struct ConsoleSummary<'a> {
    /// The fit.
    pub model: &'a Model,
    /// The names of its features.
    pub features: &'a [String],
    /// What was asked of it.
    pub wanted: &'a CheckedParams,
    /// Where the time of the run went.
    pub times: Times,
    /// Where the results are.
    pub folder: &'a Path,
    /// The memory that the run was expected to take, in bytes.
    pub memory: Expected,
    /// The files elsewhere.
    pub written: &'a [Written],
    /// Which component goes with what is known of the samples.
    pub covariates: Option<&'a Covariates>,
}

/// What is known of the optimum: F is not convex.
fn starts(model: &Model) -> String {
    match (model.starts(), model.agreeing_starts()) {
        (1, _) => "local (one start)".into(),
        (starts, agreeing) if starts == agreeing => format!("local; {starts} starts agree"),
        (starts, _) => format!("local; the best of {starts} starts"),
    }
}

impl ConsoleSummary<'_> {
    /// What the user should know before believing the result, and what to do about it: warnings, or what is only good to know.
    pub fn findings(&self, warnings: bool) -> Vec<String> {
        let found = self.model.findings().into_iter().filter(|finding| finding.is_warning() == warnings);
        found.filter_map(|finding| self.in_words(&finding)).collect()
    }

    fn in_words(&self, finding: &Finding) -> Option<String> {
        let model = self.model;
        let (perplexity, epsilon) = (number(model.perplexity().overall), number(model.epsilon()));
        Some(match finding {
            Finding::NotConverged { termination } => self.why_not_converged(*termination),
            Finding::PoorApproximation(near) => format!(
                "the approximation is poor: checked on {}, the plan is off by {}. Use more landmarks than --approximate {}, a \
                 larger --perplexity (now {perplexity}), or remove --approximate for an exact fit",
                count(near.rows, "sample"),
                percent(near.marginal_error),
                near.landmarks
            ),
            Finding::Collapsed => format!(
                "collapsed: smoothing is too strong: the components no longer reflect the data. Use a smaller --perplexity (now \
                 {perplexity}) or a smaller --epsilon (now {epsilon})"
            ),
            Finding::PerplexityFloor { smallest } => format!(
                "some samples are identical, and identical samples are always matched with each other: the smallest possible \
                 perplexity is {}, and the fit is just above it, at {perplexity}",
                number(*smallest)
            ),
            Finding::PerplexityMissed { wanted } => format!(
                "the perplexity is {perplexity}, not {wanted} as requested: the optimum jumps near epsilon {epsilon}, and no \
                 epsilon gives a perplexity in between"
            ),
            Finding::SkippedMass { share } => format!(
                "pairs of samples that are far apart were left out, and their share of the plan may be as large as {}; fit \
                 again with --all-pairs",
                accuracy(*share)
            ),
            Finding::DominantFeature { feature, variance } => format!(
                "one feature, {}, dominates the first component, with {} of the variance. If the features have different units, \
                 use --scale unit-variance",
                self.features
                    .get(*feature)
                    .map_or_else(|| format!("number {}", feature + 1), |name| format!("'{name}'")),
                percent(*variance)
            ),
            Finding::OmittedVariance { share } => format!(
                "the fit used the leading principal components; {} of the variance is outside them, and was included in the \
                 check of the result",
                percent(*share)
            ),
            // One that came with a later version of the library.
            _ => return None,
        })
    }

    fn why_not_converged(&self, termination: Termination) -> String {
        let model = self.model;
        let gradient = accuracy(model.certificate().relative_gradient);
        let (tolerance, iterations) = (accuracy(self.wanted.tolerance()), count(model.iterations(), "iteration"));
        match termination {
            Termination::Interrupted => format!(
                "interrupted after {iterations}: this is the best result so far (relative gradient {gradient}, tolerance {tolerance})"
            ),
            Termination::Stalled if model.certificate().approximation.is_some() => format!(
                "not converged: the approximate fit cannot be improved further (relative gradient {gradient}, tolerance \
                 {tolerance}); use more landmarks (--approximate), or raise --tolerance"
            ),
            Termination::Stalled => format!(
                "not converged: --tolerance {tolerance} is below rounding error. The fit reached a relative gradient of \
                 {gradient}; choose a --tolerance above that"
            ),
            _ => format!(
                "not converged after {iterations} (relative gradient {gradient}, tolerance {tolerance}); raise --max-iterations \
                 or --tolerance{}",
                if model.solver().name() == "lbfgs" { "" } else { ", or use --solver lbfgs" }
            ),
        }
    }

    /// The summary, warnings first.
    pub fn text(&self, verbosity: Verbosity) -> String {
        let mut text = String::new();
        for (warnings, word) in [(true, "Warning:"), (false, "Note:")] {
            for finding in self.findings(warnings) {
                let finding = wrapped(&format!("{word} {finding}."), 2);
                text.push_str(&format!("\n{}\n", emphasised(&finding, word, "1;33")));
            }
        }
        text.push_str(&format!("\n{}\n", self.verdict()));
        text.push('\n');
        text.push_str(&self.parameters());
        if verbosity == Verbosity::Verbose {
            text.push_str(&self.effort());
        }
        text.push('\n');
        text.push_str(&explained_variance(self.model));
        text.push('\n');
        if let Some(covariates) = self.covariates {
            text.push_str(&(covariates.in_words() + "\n"));
        }
        text.push_str(&self.files());
        text
    }

    fn verdict(&self) -> String {
        let certificate = self.model.certificate();
        let near = certificate.approximation;
        let start = if self.findings(true).is_empty() { "Fit OK: the" } else { "The" };
        let kind = near.map_or("fit".into(), |near| format!("approximate fit ({})", count(near.landmarks, "landmark")));
        let ended = if self.model.converged() { "has converged" } else { "has not converged" };
        let collapsed = match (self.model.converged(), certificate.collapsed) {
            (true, false) => " and has not collapsed",
            (true, true) => ", but has collapsed",
            (false, false) => ", and has not collapsed",
            (false, true) => " and has collapsed",
        };
        let gradient = accuracy(certificate.relative_gradient);
        let tolerance = accuracy(self.wanted.tolerance());
        let checked = near.map_or("", |_| " (checked on exact rows)");
        let error = accuracy(near.map_or(certificate.marginal_error, |near| near.marginal_error));
        let verdict = format!(
            "{start} {kind} {ended} (relative gradient {gradient}, tolerance {tolerance}){collapsed}. Error in the plan's row and \
             column sums{checked}: {error}."
        );
        emphasised(&wrapped(&verdict, 2), "Fit OK:", "1;32")
    }

    fn parameters(&self) -> String {
        let Self { model, .. } = self;
        let spread = &model.perplexity();
        let mut text = String::new();
        let (k, rank, omitted) = (model.n_components(), model.rank(), model.certificate().omitted_variance);
        let room = match omitted > 0.0 {
            true => format!("{k} in the first {rank} principal components ({} of variance omitted)", percent(omitted)),
            false => format!("{k} of {rank} possible"),
        };
        line(&mut text, "components", &room);
        line(&mut text, "epsilon", &number(model.epsilon()));
        line(
            &mut text,
            "perplexity",
            &format!(
                "{} (per sample: median {}, range {} to {})",
                number(spread.overall),
                number(spread.median),
                number(spread.min),
                number(spread.max)
            ),
        );
        line(
            &mut text,
            "",
            &format!("(each sample is matched with about {:.0} of the {})", spread.overall, model.n_samples()),
        );
        if let Some(near) = &model.certificate().approximation {
            let rows = count(near.rows, "exact row");
            let landmarks = count(near.landmarks, "landmark");
            line(&mut text, "approximation", &format!("{landmarks}; checked on {rows} of the plan:"));
            let (mean, worst) = (accuracy(near.marginal_error), accuracy(near.worst_row));
            line(&mut text, "", &format!("row sums off by {mean} on average, {worst} at most;"));
            line(&mut text, "", &format!("relative gradient {}", accuracy(near.relative_gradient)));
        }
        line(&mut text, "optimum", &starts(model));
        line(
            &mut text,
            "distance to PCA",
            &format!("{} (0: the same components as PCA)", number(model.distance_to_pca())),
        );
        text
    }

    /// What the fit took: with -v.
    fn effort(&self) -> String {
        let Self { model, times, .. } = self;
        let certificate = model.certificate();
        let mut text = String::new();
        line(&mut text, "solver", &format!("{}, {}", model.solver().name(), count(model.iterations(), "iteration")));
        line(&mut text, "kernel passes", &format!("{} at {} each", model.kernel_passes(), time(time_per_pass(model))));
        if certificate.skipped_mass > 0.0 {
            let (share, mass) = (percent(model.kernel_share()), accuracy(certificate.skipped_mass));
            line(&mut text, "", &format!("over {share} of the pairs; the others are at most {mass} of the plan"));
        }
        line(
            &mut text,
            "loss",
            &format!("{} (duality gap {})", number(model.loss()), accuracy(certificate.duality_gap)),
        );
        let eigenvalues: Vec<String> = certificate.eigenvalues.iter().take(5).map(|&x| number(x)).collect();
        let more = if certificate.eigenvalues.len() > 5 { " .." } else { "" };
        let next = certificate.next_eigenvalue.map_or(String::new(), |next| format!("; next {}", number(next)));
        line(&mut text, "eigenvalues of M", &format!("{}{more}{next}", eigenvalues.join(" ")));
        let timings = &model.timings();
        line(
            &mut text,
            "time",
            &format!("{}: reading {}, reduction {},", time(times.total), time(times.read), time(timings.reduction),),
        );
        let (iterations, finish) = (time(timings.iterations), time(timings.finish));
        line(
            &mut text,
            "",
            &format!("iterations {iterations}, checks {finish} (kernel in both: {})", time(timings.kernel)),
        );
        if let Some(peak) = process_bytes("VmHWM") {
            let Expected { peak: expected, kept } = self.memory;
            line(&mut text, "memory", &format!("{} at most; {} expected", bytes(peak), bytes(expected)));
            if kept > 0 {
                line(&mut text, "", &format!("and up to {} to keep the kernel", bytes(kept)));
            }
        }
        text
    }

    fn files(&self) -> String {
        let (model, k) = (self.model, count(self.model.n_components(), "component"));
        let mut text = format!(
            "Written to {}:\n  scores.csv         {} x {k}\n  loadings.csv       {} x {k}\n  model.safetensors  for ewca \
             transform, neighbours, reconstruct and report\n  summary.json       parameters, accuracy, times\n",
            self.folder.display(),
            count(model.n_samples(), "sample"),
            count(model.n_features(), "feature"),
        );
        if self.covariates.is_some() {
            text.push_str("  covariates.csv     which annotations are associated with which component\n");
        }
        for Written { file, what } in self.written {
            let _ = writeln!(text, "{}", wrapped(&format!("Written to {}: {what}", file.display()), 2));
        }
        text
    }
}

/// One word on the end of a fit.
pub fn how_it_ended(model: &Model) -> &'static str {
    if model.converged() { "converged" } else { "not converged" }
}

/// The table of explained variance, with a total.
pub fn explained_variance(model: &Model) -> String {
    let mut text = format!("  {:<12}{:>12}{:>12}{:>12}\n", "component", "variance", "explained", "cumulative");
    let mut so_far = 0.0;
    for (component, (variance, ratio)) in
        model.explained_variance().iter().zip(model.explained_variance_ratio()).enumerate()
    {
        so_far += ratio;
        if component < SHOWN_COMPONENTS {
            let (name, variance) = (component_name(component), number(*variance));
            let _ = writeln!(text, "  {name:<12}{variance:>12}{:>12}{:>12}", percent(*ratio), percent(so_far));
        }
    }
    if model.n_components() > SHOWN_COMPONENTS {
        let rest = format!("... {} more", model.n_components() - SHOWN_COMPONENTS);
        let _ = writeln!(text, "  {rest}");
    }
    let total = number(model.explained_variance().iter().sum());
    let _ = writeln!(text, "  {:<12}{total:>12}{:>12}", "total", percent(so_far));
    text
}

/// The mean time of one pass over the kernel, with all else that an iteration does.
fn time_per_pass(model: &Model) -> Duration {
    // The certificate's passes are in the finish.
    let passes = model.history().last().map_or(model.kernel_passes(), |last| last.kernel_passes);
    model.timings().iterations.div_f64(passes.max(1) as f64)
}

fn line(text: &mut String, name: &str, value: &str) {
    let _ = writeln!(text, "  {name:<18}{value}");
}

/// `word` in `style` at the start of `text`, on terminals that show styles.
fn emphasised(text: &str, word: &str, style: &str) -> String {
    match text.strip_prefix(word) {
        Some(rest) if terminal::styled() => format!("\x1b[{style}m{word}\x1b[0m{rest}"),
        _ => text.into(),
    }
}
