//! The experiments of the paper, and one beyond it: each gives figures, the numbers behind them, and what the paper says beside what was found here.

mod accuracy;
mod complexity;
mod drawing;
mod embedding;
mod examples;
mod growth;
mod illustration;
mod page;
mod plan;
mod sensitivity;
mod synthetic;
mod timing;
mod when;

use ewca::{Ewca, Model, Samples};
use ewca_eval::{Candidates, EncodedLabels, Protocol, Selection, StrictCell, select, strict};

pub use page::page;

use crate::{Error, Figure, Result};

/// The number of components of the figures that show one fit.
const COMPONENTS: usize = 5;

/// Which experiment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Experiment {
    /// Figure 1: what the method does, in the plane.
    Illustration,
    /// Figure 2: misclassification against k.
    Accuracy,
    /// Figure 3: the transport plan.
    Plan,
    /// Figure 4: t-SNE of the scores.
    Embedding,
    /// Figure 5: time against d.
    Timing,
    /// Figure 6: misclassification over k and epsilon.
    Sensitivity,
    /// Table 1: time of each step against n, d and k.
    Complexity,
    /// The small examples of the authors' code.
    Examples,
    /// Beyond the paper: clusters beside directions of noise, over the ratio of their variances and over perplexity.
    When,
}

impl Experiment {
    /// All of the paper, in its order.
    pub const ALL: [Self; 8] = [
        Self::Illustration,
        Self::Accuracy,
        Self::Plan,
        Self::Embedding,
        Self::Timing,
        Self::Sensitivity,
        Self::Complexity,
        Self::Examples,
    ];

    /// Those that the paper does not have.
    pub const BEYOND: [Self; 1] = [Self::When];

    /// Its name, and what it shows.
    pub fn described(self) -> (&'static str, &'static str) {
        match self {
            Self::Illustration => {
                ("illustration", "Figure 1: two clusters in the plane, their projections, and the plan")
            }
            Self::Accuracy => {
                ("accuracy", "Figure 2: misclassification against k, by the paper's protocol and by a stricter one")
            }
            Self::Plan => ("plan", "Figure 3: the transport plan, ordered by class"),
            Self::Embedding => ("embedding", "Figure 4: t-SNE of the scores, with links where the plan is large"),
            Self::Timing => ("timing", "Figure 5: time against the number of features"),
            Self::Sensitivity => ("sensitivity", "Figure 6: misclassification over k and epsilon"),
            Self::Complexity => ("complexity", "Table 1: time of each step against n, d and k"),
            Self::Examples => ("examples", "The small examples of the authors' code"),
            Self::When => (
                "when",
                "Beyond the paper: when EWCA finds clusters that PCA does not, a map over noise and perplexity",
            ),
        }
    }

    /// Whether it needs a labelled data set.
    pub fn needs_data(self) -> bool {
        matches!(self, Self::Accuracy | Self::Plan | Self::Embedding | Self::Sensitivity)
    }
}

/// A labelled data set, and how to judge it.
#[derive(Debug)]
pub struct Study<'a> {
    /// The name of the data in titles.
    pub name: String,
    /// The data.
    pub samples: &'a Samples<'a>,
    /// The classes.
    pub labels: &'a EncodedLabels,
    /// The numbers of components, ascending.
    pub components: Vec<usize>,
    /// The epsilons to choose from, ascending.
    pub epsilons: Vec<f64>,
    /// The splits.
    pub protocol: Protocol,
}

/// What the paper says about a number, and what was found here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison {
    /// What it is.
    pub what: String,
    /// What to compare it with, and whose it is: a published number, another computation, a count of operations.
    pub beside: Option<String>,
    /// What was found.
    pub ours: String,
}

impl Comparison {
    fn new(what: impl Into<String>, beside: Option<&str>, ours: impl Into<String>) -> Self {
        Self { what: what.into(), beside: beside.map(String::from), ours: ours.into() }
    }
}

/// What an experiment gives.
#[derive(Debug, Clone)]
pub struct ExperimentReport {
    /// Its title.
    pub title: String,
    /// What was done, in a paragraph.
    pub text: String,
    /// The figures.
    pub figures: Vec<Figure>,
    /// The numbers worth telling.
    pub facts: Vec<Comparison>,
}

/// Hears how far the work is, from any thread: what is done, how many steps of how many. It stops the work by returning false.
pub type Watch<'a> = &'a (dyn Fn(&str, usize, usize) -> bool + Sync);

/// Tells the watcher, who may stop the work.
fn tell(watch: Watch<'_>, what: &str, done: usize, total: usize) -> Result<()> {
    if watch(what, done, total) { Ok(()) } else { Err(Error::Interrupted) }
}

/// What the experiments may need besides their data.
#[derive(Debug, Clone, Copy)]
pub struct Effort {
    /// The seed of everything random but the splits.
    pub seed: u64,
    /// Gene subsets of each size in [`Experiment::Timing`], data sets of each ratio in [`Experiment::When`].
    pub repeats: usize,
}

/// Runs experiments one after the other. Those that need data need a study; [`Experiment::Timing`] takes its matrix when it comes
/// from a file (`timed`), and a synthetic one otherwise.
pub fn run(
    experiments: &[Experiment],
    study: Option<&Study<'_>>,
    timed: Option<(&str, &Samples<'_>)>,
    effort: Effort,
    watch: Watch<'_>,
) -> Result<Vec<ExperimentReport>> {
    let mut judged = None;
    let mut reports = Vec::new();
    for &experiment in experiments {
        let report = match (experiment, study) {
            (Experiment::Illustration, _) => illustration::run(effort.seed, watch)?,
            (Experiment::Examples, _) => examples::run(effort.seed, watch)?,
            (Experiment::Timing, _) => timing::run(timed, effort, watch)?,
            (Experiment::Complexity, _) => complexity::run(effort.seed, watch)?,
            (Experiment::When, _) => when::run(effort, watch)?,
            (_, None) => continue,
            (Experiment::Accuracy, Some(study)) => {
                let selection = judged_once(&mut judged, study, true, watch)?;
                accuracy::run(study, selection, &judged_strictly(study, watch)?)
            }
            (Experiment::Sensitivity, Some(study)) => {
                sensitivity::run(study, judged_once(&mut judged, study, true, watch)?)
            }
            (Experiment::Plan, Some(study)) => {
                let all = experiments.contains(&Experiment::Accuracy) || experiments.contains(&Experiment::Sensitivity);
                plan::run(study, &best_model(study, judged_once(&mut judged, study, all, watch)?)?)?
            }
            (Experiment::Embedding, Some(study)) => {
                let all = experiments.contains(&Experiment::Accuracy) || experiments.contains(&Experiment::Sensitivity);
                embedding::run(study, &best_model(study, judged_once(&mut judged, study, all, watch)?)?, watch)?
            }
        };
        reports.push(report);
    }
    Ok(reports)
}

/// The paper's protocol: for all k, or only for the one that figures of a single fit show.
fn judged_once<'s>(
    judged: &'s mut Option<Selection>,
    study: &Study<'_>,
    all: bool,
    watch: Watch<'_>,
) -> Result<&'s Selection> {
    let selection = match judged.take() {
        Some(selection) => selection,
        None => {
            let ks = if all { study.components.clone() } else { vec![single(study)] };
            let mut done = 0;
            let mut fitted = |_| {
                done += 1;
                watch("the paper's protocol", done, ks.len())
            };
            tell(watch, "the paper's protocol", 0, ks.len())?;
            let candidates = Candidates::All;
            select(study.samples, study.labels, &ks, &study.epsilons, candidates, study.protocol, &mut fitted)?
                .ok_or(Error::Interrupted)?
        }
    };
    Ok(judged.insert(selection))
}

fn judged_strictly(study: &Study<'_>, watch: Watch<'_>) -> Result<Vec<StrictCell>> {
    let done = std::sync::atomic::AtomicUsize::new(0);
    let total = study.protocol.splits;
    let one_more = || {
        let done = 1 + done.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        watch("the strict protocol", done, total)
    };
    tell(watch, "the strict protocol", 0, total)?;
    strict(study.samples, &study.labels.classes, &study.components, &study.epsilons, study.protocol, &one_more)?
        .ok_or(Error::Interrupted)
}

/// The k of figures that show one fit: 5, or the nearest that is judged.
fn single(study: &Study<'_>) -> usize {
    study.components.iter().copied().min_by_key(|k| k.abs_diff(COMPONENTS)).unwrap_or(COMPONENTS)
}

/// The fit of [`single`] at the epsilon that inner splits of all samples choose, on the same path as it was judged on.
fn best_model(study: &Study<'_>, selection: &Selection) -> Result<Model> {
    let k = single(study);
    let epsilon = selection.cells.iter().find(|cell| cell.k == k).map_or(study.epsilons[0], |cell| cell.epsilon);
    let up_to: Vec<f64> = selection.epsilons.iter().copied().filter(|e| *e <= epsilon).collect();
    let path = Ewca::params(k).check()?.path(study.samples, &up_to)?;
    path.into_iter().next_back().ok_or(Error::Interrupted)
}
