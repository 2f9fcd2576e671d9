//! What the program is to do, once the arguments are understood.

use std::path::PathBuf;
use std::time::Duration;

use clap_complete::Shell;
use ewca_eval::Protocol;
use ewca_io::{Preprocessing, ReadOptions};
use ewca_paper::experiments::Experiment;

use super::method::Asked;
use crate::console::failure::Failure;
use crate::console::terminal::Console;
use crate::input::metadata::MetadataJob;
use crate::input::table::{Input, Weighting};
use crate::output::exports::Exports;

/// What the user wants, and how to talk about it.
#[derive(Debug)]
pub struct Request {
    /// How much to say, and in which form.
    pub console: Console,
    /// Whether files that this program did not write may be replaced.
    pub overwrite: bool,
    /// What to do.
    pub job: Job,
}

/// What the program is to do.
#[derive(Debug)]
pub enum Job {
    /// `ewca fit`.
    Fit(Box<FitJob>),
    /// `ewca transform`.
    Transform(Box<TransformJob>),
    /// `ewca reconstruct`.
    Reconstruct(Box<TransformJob>),
    /// `ewca neighbours`.
    Neighbours(Box<NeighboursJob>),
    /// `ewca report`.
    Report(Box<ReportJob>),
    /// `ewca path`.
    Path(Box<PathJob>),
    /// `ewca select`.
    Select(Box<SelectJob>),
    /// `ewca reproduce`.
    Reproduce(Box<ReproduceJob>),
    /// `ewca reproduce evidence`.
    Evidence(Box<EvidenceJob>),
    /// `ewca inspect`.
    Inspect(Box<TableJob>),
    /// `ewca demo`.
    Demo(DemoJob),
    /// `ewca completions`.
    Completions(Shell),
    /// `ewca man`, to a folder or to standard output.
    Man(Option<PathBuf>),
}

impl Job {
    /// Opens the metadata, where some were named: which columns they have must be known before the table is read.
    pub fn open_metadata(&mut self) -> Result<(), Failure> {
        match self {
            Self::Fit(job) => job.table.open_metadata(),
            Self::Report(job) => job.table.open_metadata(),
            Self::Path(job) => job.table.open_metadata(),
            Self::Select(job) => job.table.open_metadata(),
            Self::Inspect(job) => job.open_metadata(),
            _ => Ok(()),
        }
    }
}

/// A table to read.
#[derive(Debug)]
pub struct TableJob {
    /// Where the table comes from.
    pub input: Input,
    /// How to read it.
    pub read: ReadOptions,
    /// The columns that --label names, of the table or of the metadata.
    pub labels: Vec<String>,
    /// What is known of its samples elsewhere.
    pub metadata: Option<MetadataJob>,
}

/// How many components a fit has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Components {
    /// So many.
    Given(usize),
    /// As many as stand out from chance.
    Auto,
}

impl Components {
    /// How many to expect while that is not known.
    pub fn expected(self) -> usize {
        const USUAL: usize = 10;
        match self {
            Self::Given(count) => count,
            Self::Auto => USUAL,
        }
    }
}

/// A fit of a user's table.
#[derive(Debug)]
pub struct FitJob {
    /// The table.
    pub table: TableJob,
    /// What to do to it before the fit.
    pub preprocessing: Preprocessing,
    /// The column of weights or counts.
    pub weighting: Option<Weighting>,
    /// How to fit it.
    pub asked: Asked,
    /// What the run may use.
    pub limits: Limits,
    /// The folder for the results.
    pub output: PathBuf,
    /// Further files for results.
    pub exports: Exports,
    /// The report that is wanted beside them.
    pub report: Option<ReportWish>,
    /// Where to keep the state of the fit while it runs.
    pub checkpoint: Option<CheckpointJob>,
    /// The state to go on from.
    pub resume: Option<PathBuf>,
    /// Whether the table is read part by part, though it may fit the memory.
    pub in_parts: bool,
    /// Whether other processes share the fit.
    pub distributed: bool,
    /// Whether results that did not converge, or have collapsed, are as good as others.
    pub allow_unconverged: bool,
}

/// A report that is to be written.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportWish {
    /// The file.
    pub file: PathBuf,
    /// Whether t-SNE of the scores is part of it.
    pub tsne: bool,
}

/// The state of a fit, kept in a file.
#[derive(Debug)]
pub struct CheckpointJob {
    /// The file.
    pub file: PathBuf,
    /// The time between two states.
    pub every: Duration,
}

/// What a run may use.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// The most memory to use, in bytes.
    pub max_memory: Option<usize>,
    /// The number of threads; all when `None`.
    pub threads: Option<usize>,
}

/// A model applied to a table.
#[derive(Debug)]
pub struct TransformJob {
    /// The model file.
    pub model: PathBuf,
    /// The table: new samples, or scores.
    pub table: TableJob,
    /// Where the result goes; to standard output when `None`.
    pub output: Option<PathBuf>,
}

/// The strongest partners of samples.
#[derive(Debug)]
pub struct NeighboursJob {
    /// The model file.
    pub model: PathBuf,
    /// New samples; the training samples when `None`.
    pub table: Option<TableJob>,
    /// How many partners each sample has.
    pub count: usize,
    /// Where the result goes; to standard output when `None`.
    pub output: Option<PathBuf>,
}

/// The report of a model.
#[derive(Debug)]
pub struct ReportJob {
    /// The model file.
    pub model: PathBuf,
    /// The table that it was fitted on.
    pub table: TableJob,
    /// Whether a path along epsilon is fitted for it.
    pub path: bool,
    /// What to write.
    pub report: ReportWish,
    /// The file for MultiQC.
    pub multiqc: Option<PathBuf>,
    /// What the run may use.
    pub limits: Limits,
}

/// Fits along a sequence of epsilons.
#[derive(Debug)]
pub struct PathJob {
    /// The table.
    pub table: TableJob,
    /// What to do to it before the fits.
    pub preprocessing: Preprocessing,
    /// The column of weights or counts.
    pub weighting: Option<Weighting>,
    /// How to fit it, but for epsilon.
    pub asked: Asked,
    /// The epsilons.
    pub steps: Steps,
    /// What the run may use.
    pub limits: Limits,
    /// The file for the table.
    pub output: PathBuf,
    /// The report that is wanted beside it.
    pub report: Option<ReportWish>,
    /// Whether results that did not converge are as good as others.
    pub allow_unconverged: bool,
}

/// The choice of k and epsilon.
#[derive(Debug)]
pub struct SelectJob {
    /// The table.
    pub table: TableJob,
    /// What to do to it before the fits.
    pub preprocessing: Preprocessing,
    /// The column of weights or counts.
    pub weighting: Option<Weighting>,
    /// The numbers of components to judge, ascending; as many as stand out from chance when `None`.
    pub components: Option<Vec<usize>>,
    /// The epsilons to choose from; from the variances when `None`.
    pub epsilons: Option<Vec<f64>>,
    /// The splits.
    pub protocol: Protocol,
    /// What the run may use.
    pub limits: Limits,
    /// The file for the table.
    pub output: PathBuf,
    /// Whether a suggestion whose fit did not converge is as good as others.
    pub allow_unconverged: bool,
}

/// The paper's experiments.
#[derive(Debug)]
pub struct ReproduceJob {
    /// Which of them, in order.
    pub experiments: Vec<Experiment>,
    /// Whether a page shows them all.
    pub page: bool,
    /// The table; the embedded data when `None`.
    pub table: Option<TableJob>,
    /// The numbers of components, ascending; the paper's when `None`.
    pub components: Option<Vec<usize>>,
    /// The epsilons; the paper's when `None`.
    pub epsilons: Option<Vec<f64>>,
    /// The splits.
    pub protocol: Protocol,
    /// Gene subsets of each size that are timed.
    pub repeats: usize,
    /// The seed of made data.
    pub seed: u64,
    /// The number of threads; all when `None`.
    pub threads: Option<usize>,
    /// The folder for the figures.
    pub output: PathBuf,
    /// Whether files that this program did not write may be replaced.
    pub overwrite: bool,
}

/// EWCA beside PCA on many sets.
#[derive(Debug)]
pub struct EvidenceJob {
    /// The folder with the sets.
    pub data: PathBuf,
    /// The numbers of components, ascending.
    pub components: Vec<usize>,
    /// The splits.
    pub protocol: Protocol,
    /// The number of threads; all when `None`.
    pub threads: Option<usize>,
    /// The folder for tables and figures.
    pub output: PathBuf,
    /// Whether files that this program did not write may be replaced.
    pub overwrite: bool,
}

/// The steps of a path.
#[derive(Debug, Clone, PartialEq)]
pub enum Steps {
    /// From PCA to just past the collapse, chosen from the data.
    Automatic,
    /// These epsilons.
    Epsilons(Vec<f64>),
    /// These perplexities.
    Perplexities(Vec<f64>),
}

/// The demonstration.
#[derive(Debug)]
pub struct DemoJob {
    /// The folder for the results.
    pub output: PathBuf,
    /// The file for the report; in the folder when `None`.
    pub report: Option<PathBuf>,
}
