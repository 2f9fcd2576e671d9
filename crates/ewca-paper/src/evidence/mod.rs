//! EWCA on many labelled sets, beside PCA and the data themselves.
//!
//! Subspaces are fitted on all samples without labels. Then, over stratified half-half splits: the error of the nearest neighbour
//! (the train half knows, the test half asks), and in the test half the adjusted Rand index of k-means and the silhouette of the
//! classes. Epsilon is chosen by several rules; only `nested` sees labels, those of the train half, and `oracle` sees everything:
//! it is no method but a bound.

mod figures;
mod measure;
mod rules;
mod set;
mod summary;
mod tables;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use ewca::{Ewca, Matrix, Model, Samples, geometric};
use ewca_eval::{Neighbours, Protocol, Split};
use rayon::prelude::*;
use serde::Serialize;

pub use figures::evidence_figures;
pub use measure::{Estimate, Measure};
pub use set::{EvidenceSet, FEWEST};
pub use summary::{EvidenceSummary, summaries};
pub use tables::{evidence_markdown, rows_csv, summaries_csv};

use measure::Measured;

/// Epsilons that are tried: from, to (as multiples of the variance of the k-th principal component), and how many.
pub const GRID: (f64, f64, usize) = (0.05, 5.0, 20);
/// Mean perplexities that are tried; half the number of samples where that is less.
const PERPLEXITIES: [f64; 6] = [2.0, 3.0, 5.0, 10.0, 15.0, 30.0];

/// One measure of one method on one set.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Row {
    /// The set.
    pub set: String,
    /// Its study.
    pub study: String,
    /// Number of components.
    pub k: usize,
    /// `raw`, `pca`, `ewca` or `barycentric`.
    pub method: &'static str,
    /// How epsilon was chosen; empty for raw and PCA.
    pub rule: String,
    /// What was measured.
    pub measure: Measure,
    /// The measure, in percent.
    pub value: Estimate,
    /// By how much it is better than PCA's, split by split, in points: positive is better.
    pub gain: Estimate,
    /// The epsilon (the median over the splits for `nested`); 0 for raw and PCA.
    pub epsilon: f64,
    /// Epsilon divided by the variance of the k-th principal component.
    pub multiple: f64,
    /// The mean perplexity of the plan.
    pub perplexity: f64,
    /// How far PCA's scores fall into clusters, which needs no labels: the best silhouette of k-means, in percent.
    pub clusters: f64,
}

/// Judges all sets at each k of `ks` that is below the set's rank. `done` hears how many of how many parts are done, and may stop by
/// returning false.
pub fn evidence(
    sets: &[EvidenceSet],
    ks: &[usize],
    protocol: Protocol,
    done: &(dyn Fn(usize, usize) -> bool + Sync),
) -> ewca::Result<Option<Vec<Row>>> {
    let finished = AtomicUsize::new(0);
    let stopped = AtomicBool::new(false);
    let parts = sets.len() * ks.len();
    let rows: ewca::Result<Vec<Vec<Row>>> = sets
        .par_iter()
        .map(|set| {
            let trial = Trial::new(set, protocol)?;
            let mut rows = Vec::new();
            for &k in ks {
                if stopped.load(Ordering::Relaxed) {
                    break;
                }
                if k < trial.rank {
                    rows.extend(trial.judged(k)?);
                }
                if !done(finished.fetch_add(1, Ordering::Relaxed) + 1, parts) {
                    stopped.store(true, Ordering::Relaxed);
                }
            }
            Ok(rows)
        })
        .collect();
    let rows = rows?;
    Ok((!stopped.into_inner()).then(|| rows.into_iter().flatten().collect()))
}

/// What all k of one set share.
struct Trial<'a> {
    set: &'a EvidenceSet,
    samples: Samples<'a>,
    protocol: Protocol,
    splits: Vec<Split>,
    rank: usize,
    raw_neighbours: Neighbours,
    raw: Measured,
}

/// One epsilon: its place, and what was measured of the scores and of the barycentric scores.
struct Candidate {
    epsilon: f64,
    perplexity: f64,
    neighbours: [Neighbours; 2],
    measured: [Measured; 2],
}

/// All fits of one set with one number of components.
struct Fits {
    /// The variance of the k-th principal component.
    unit: f64,
    clusters: f64,
    pca: Candidate,
    /// Those of the grid first.
    candidates: Vec<Candidate>,
    /// The rules, each with the place of the candidate that it chose.
    choices: Vec<(String, usize)>,
}

/// The rows of one set and one number of components.
struct Rows<'a> {
    set: &'a EvidenceSet,
    k: usize,
    fits: &'a Fits,
    rows: Vec<Row>,
}

impl Rows<'_> {
    fn add(
        &mut self,
        method: &'static str,
        rule: &str,
        measured: &Measured,
        measures: &[Measure],
        at: Option<&Candidate>,
    ) {
        self.rows.extend(measures.iter().map(|&measure| Row {
            set: self.set.name.clone(),
            study: self.set.study.clone(),
            k: self.k,
            method,
            rule: rule.to_string(),
            measure,
            value: Estimate::of(measured.of(measure)),
            gain: Estimate::of(&gains(measure, measured, &self.fits.pca.measured[0])),
            epsilon: at.map_or(0.0, |c| c.epsilon),
            multiple: at.map_or(0.0, |c| c.epsilon / self.fits.unit),
            perplexity: at.map_or(1.0, |c| c.perplexity),
            clusters: self.fits.clusters,
        }));
    }
}

const METHODS: [&str; 2] = ["ewca", "barycentric"];

impl<'a> Trial<'a> {
    fn new(set: &'a EvidenceSet, protocol: Protocol) -> ewca::Result<Self> {
        let samples = Samples::new(&set.data, set.samples(), set.features)?;
        let classes = &set.labels.classes;
        let splits = protocol.outer_splits(classes);
        // All principal components: the same distances as between the samples, in fewer numbers.
        let rank = Ewca::params(1).pca(&samples)?.rank;
        let points = Ewca::params(rank).pca(&samples)?.scores;
        let raw_neighbours = Neighbours::new(&points);
        let raw = Measured::new(&points, &raw_neighbours, &splits, classes, protocol.seed);
        Ok(Self { set, samples, protocol, splits, rank, raw_neighbours, raw })
    }

    fn judged(&self, k: usize) -> ewca::Result<Vec<Row>> {
        let fits = self.fits(k)?;
        let mut rows = Rows { set: self.set, k, fits: &fits, rows: Vec::new() };
        rows.add("raw", "", &self.raw, &Measure::ALL, None);
        rows.add("pca", "", &fits.pca.measured[0], &Measure::ALL, None);
        for (which, method) in METHODS.into_iter().enumerate() {
            for (rule, at) in &fits.choices {
                let chosen = &fits.candidates[*at];
                rows.add(method, rule, &chosen.measured[which], &Measure::ALL, Some(chosen));
            }
            let grid: Vec<&Candidate> = fits.candidates[..GRID.2].iter().collect();
            for measure in Measure::ALL {
                let of = |c: &Candidate| measure.sign() * c.measured[which].mean(measure);
                if let Some(best) = grid.iter().max_by(|x, y| of(x).total_cmp(&of(y))) {
                    rows.add(method, "oracle", &best.measured[which], &[measure], Some(best));
                }
            }
            let (measured, typical) = self.nested(&grid, which);
            rows.add(method, "nested", &measured, &Measure::ALL, Some(typical));
            // Ties go to the last, so PCA is that here: epsilon must earn its place.
            let cautious: Vec<&Candidate> = grid.iter().rev().copied().chain([&fits.pca]).collect();
            let (measured, typical) = self.nested(&cautious, which);
            rows.add(method, "nested, ties to PCA", &measured, &Measure::ALL, Some(typical));
        }
        Ok(rows.rows)
    }

    fn fits(&self, k: usize) -> ewca::Result<Fits> {
        let pca = Ewca::params(k).pca(&self.samples)?;
        let unit = pca.eigenvalues[k - 1];
        let multiples = geometric(GRID.0, GRID.1, GRID.2);
        let epsilons: Vec<f64> = multiples.iter().map(|multiple| unit * multiple).collect();
        let mut models = Ewca::params(k).check()?.path(&self.samples, &epsilons)?;
        let mut choices = rules::choices(self.set, &pca, &models, &self.raw_neighbours, self.protocol.seed)?;
        choices.extend(multiples.iter().enumerate().map(|(at, multiple)| (format!("multiple {multiple:.2}"), at)));
        for perplexity in PERPLEXITIES {
            let possible = perplexity.min(self.set.samples() as f64 / 2.0);
            choices.push((format!("perplexity {perplexity}"), models.len()));
            models.push(Ewca::params(k).perplexity(possible).fit(&self.samples)?);
        }
        let candidate = |model: &Model| {
            self.candidate(
                [model.scores().clone(), model.barycentric_scores()],
                model.epsilon(),
                model.perplexity().overall,
            )
        };
        let candidates = models.iter().map(candidate).collect();
        let clusters = 100.0 * rules::clustered(&pca.scores, self.protocol.seed);
        // Every sample keeps its mass to itself.
        let pca = self.candidate([pca.scores.clone(), pca.scores], 0.0, 1.0);
        Ok(Fits { unit, clusters, pca, candidates, choices })
    }

    fn measured(&self, points: &Matrix, neighbours: &Neighbours) -> Measured {
        Measured::new(points, neighbours, &self.splits, &self.set.labels.classes, self.protocol.seed)
    }

    fn candidate(&self, points: [Matrix; 2], epsilon: f64, perplexity: f64) -> Candidate {
        let neighbours = [0, 1].map(|i| Neighbours::new(&points[i]));
        let measured = [0, 1].map(|i| self.measured(&points[i], &neighbours[i]));
        Candidate { epsilon, perplexity, neighbours, measured }
    }

    /// What each split's train half chooses, judged by its test half; and the median choice.
    fn nested<'c>(&self, grid: &[&'c Candidate], which: usize) -> (Measured, &'c Candidate) {
        let neighbours: Vec<Neighbours> = grid.iter().map(|c| c.neighbours[which].clone()).collect();
        let classes = &self.set.labels.classes;
        let picks: Vec<usize> = self
            .splits
            .par_iter()
            .enumerate()
            .map(|(number, split)| self.protocol.chosen(&neighbours, &split.train, classes, number as u64 + 1))
            .collect();
        let measured: Vec<&Measured> = grid.iter().map(|c| &c.measured[which]).collect();
        let mut sorted = picks.clone();
        sorted.sort_unstable();
        (Measured::picked(&measured, &picks), grid[sorted[sorted.len() / 2]])
    }
}

/// By how much each split is better than PCA.
fn gains(measure: Measure, measured: &Measured, pca: &Measured) -> Vec<f64> {
    let (values, base) = (measured.of(measure), pca.of(measure));
    values.iter().zip(base).map(|(v, b)| measure.sign() * (v - b)).collect()
}

/// The distinct values, sorted.
fn ascending<T: Ord>(values: impl Iterator<Item = T>) -> Vec<T> {
    values.collect::<BTreeSet<T>>().into_iter().collect()
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len() as f64
}
