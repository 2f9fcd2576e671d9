//! The machine-readable summary of a fit: `summary.json`.

use std::time::Duration;

use ewca::{Certificate, CheckedParams, Finding, Model, Perplexity, Solver};
use ewca_eval::Scree;
use ewca_io::{Missing, Preprocessing, Settled};
use serde::Serialize;

use crate::input::metadata::{AnnotationFacts, JoinedFile};
use crate::input::table::Dataset;
use crate::output::covariates::CovariatesRecord;
use crate::output::results::Checksums;

/// The name of this layout. It changes when a key changes its meaning or goes away; new keys may come under the same name.
const SCHEMA: &str = "ewca.summary/1";

/// What `summary.json` holds.
#[derive(Debug, Serialize)]
pub struct Summary<'a> {
    schema: &'static str,
    version: &'static str,
    input: &'a str,
    label: Option<&'a str>,
    id: Option<&'a str>,
    /// How metadata were joined to the samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    metadata: Option<&'a JoinedFile>,
    /// What is known of the samples, the label first.
    annotations: Vec<AnnotationFacts>,
    preprocessing: &'a Preprocessing,
    missing: MissingCells<'a>,
    n_samples: usize,
    n_features: usize,
    rank: usize,
    n_components: usize,
    /// What the number of components was found by, where it was: parts of the variance, of the data and of permuted tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub parallel_analysis: Option<&'a Scree>,
    solver: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    solver_options: Option<Solver>,
    epsilon: f64,
    perplexity: Perplexity,
    loss: f64,
    explained_variance: &'a [f64],
    explained_variance_ratio: &'a [f64],
    distance_to_pca: f64,
    certificate: &'a Certificate,
    /// Which component goes with what is known of the samples.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub covariates: Option<CovariatesRecord<'a>>,
    /// What one should know before believing the fit.
    findings: Vec<Finding>,
    converged: bool,
    termination: &'static str,
    tolerance: f64,
    max_iterations: usize,
    iterations: usize,
    kernel_passes: usize,
    restarts: usize,
    starts: usize,
    agreeing_starts: usize,
    attempt: usize,
    seed: u64,
    seconds: Seconds,
    /// The SHA-256 of the files that were written with it, by their names.
    pub checksums: Checksums,
}

/// What was to be done with missing cells, and what was.
#[derive(Debug, Serialize)]
struct MissingCells<'a> {
    how: &'static str,
    #[serde(flatten)]
    settled: &'a Settled,
}

#[derive(Debug, Serialize)]
struct Seconds {
    read: f64,
    fit: f64,
    total: f64,
    reduction: f64,
    iterations: f64,
    finish: f64,
    kernel: f64,
}

/// Where the fit's data came from.
#[derive(Debug, Clone, Copy)]
pub struct DataSource<'a> {
    /// The input, without folders.
    pub input: &'a str,
    /// The data.
    pub data: &'a Dataset,
    /// The column of the samples' names.
    pub id: Option<&'a str>,
    /// What was done to the table.
    pub preprocessing: &'a Preprocessing,
    /// What was to be done with missing cells.
    pub missing: Missing,
}

/// Where the time of the whole run went.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// Reading the table.
    pub read: Duration,
    /// The fit.
    pub fit: Duration,
    /// Everything until now.
    pub total: Duration,
}

/// The word for it on the command line.
pub fn missing_name(missing: Missing) -> &'static str {
    match missing {
        Missing::Error => "error",
        Missing::DropRows => "drop-rows",
        Missing::DropColumns => "drop-columns",
        Missing::Mean => "mean",
    }
}

impl<'a> Summary<'a> {
    /// The summary of a model.
    pub fn new(source: DataSource<'a>, wanted: &CheckedParams, model: &'a Model, times: Times) -> Self {
        Self {
            schema: SCHEMA,
            version: env!("CARGO_PKG_VERSION"),
            input: source.input,
            label: source.data.label.as_deref(),
            id: source.id,
            metadata: source.data.joined.as_ref(),
            annotations: source.data.all_annotations().iter().map(AnnotationFacts::of).collect(),
            preprocessing: source.preprocessing,
            missing: MissingCells { how: missing_name(source.missing), settled: &source.data.table.settled },
            n_samples: model.n_samples(),
            n_features: model.n_features(),
            rank: model.rank(),
            n_components: model.n_components(),
            parallel_analysis: None,
            solver: model.solver().name(),
            solver_options: matches!(model.solver(), Solver::Mm(_)).then_some(model.solver()),
            epsilon: model.epsilon(),
            perplexity: model.perplexity(),
            loss: model.loss(),
            explained_variance: model.explained_variance(),
            explained_variance_ratio: model.explained_variance_ratio(),
            distance_to_pca: model.distance_to_pca(),
            certificate: model.certificate(),
            covariates: None,
            findings: model.findings(),
            converged: model.converged(),
            termination: model.termination().name(),
            tolerance: wanted.tolerance(),
            max_iterations: wanted.max_iterations(),
            iterations: model.iterations(),
            kernel_passes: model.kernel_passes(),
            restarts: wanted.restarts(),
            starts: model.starts(),
            agreeing_starts: model.agreeing_starts(),
            attempt: model.attempt(),
            seed: wanted.seed(),
            seconds: Seconds {
                read: times.read.as_secs_f64(),
                fit: times.fit.as_secs_f64(),
                total: times.total.as_secs_f64(),
                reduction: model.timings().reduction.as_secs_f64(),
                iterations: model.timings().iterations.as_secs_f64(),
                finish: model.timings().finish.as_secs_f64(),
                kernel: model.timings().kernel.as_secs_f64(),
            },
            checksums: Checksums::new(),
        }
    }
}
