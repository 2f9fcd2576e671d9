//! Arguments of `ewca path`.

use std::path::PathBuf;

use clap::Args;

use super::job::{Limits, PathJob, Steps};
use super::method::{Asked, EndingArgs, LimitArgs, MethodArgs};
use super::report::ReportOutput;
use super::table::{MetadataArgs, PreprocessingArgs, TableArgs, WeightArgs};
use super::values::Numbers;
use super::{examples, values};

/// Fit with a series of epsilons, and report where the fit collapses.
///
/// Perplexity is how many neighbours each sample is matched with on average. Epsilon sets the same thing in squared units of the
/// data: towards 0 the result is PCA. Where epsilon is too large, the fit has collapsed: smoothing is too strong, and the
/// components no longer reflect the data. Each fit starts from the fit with the next smaller epsilon.
#[derive(Debug, Args)]
#[command(after_help = examples::PATH)]
pub struct PathArgs {
    /// The table, in any format that `ewca fit` reads; `-` is standard input
    input: PathBuf,

    /// The epsilons: FROM:TO:COUNT (evenly spaced on a log scale), or a list such as 5,10,50 [default: 20, from PCA to just
    /// beyond the collapse]
    #[arg(long, value_name = "RANGE", value_parser = values::epsilons, conflicts_with = "perplexities", allow_hyphen_values = true)]
    epsilons: Option<Numbers>,

    /// Perplexities instead of epsilons, such as 2,5,10
    #[arg(long, value_name = "LIST", value_parser = values::perplexities, allow_hyphen_values = true)]
    perplexities: Option<Numbers>,

    /// Write the table to this file: .csv, .tsv, .parquet, .arrow or .npy
    #[arg(short, long, value_name = "FILE", default_value = "ewca-out/path.csv", value_parser = values::table_file)]
    output: PathBuf,

    #[command(flatten)]
    report: ReportOutput,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    metadata: MetadataArgs,

    #[command(flatten)]
    weights: WeightArgs,

    #[command(flatten)]
    preprocessing: PreprocessingArgs,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    ending: EndingArgs,
}

impl PathArgs {
    pub fn into_job(self) -> Result<PathJob, String> {
        let asked = Asked::new(self.method, None, None)?;
        let limits = Limits::from(self.limits);
        let steps = match (self.epsilons, self.perplexities) {
            (Some(Numbers(epsilons)), _) => Steps::Epsilons(epsilons),
            (_, Some(Numbers(perplexities))) => Steps::Perplexities(perplexities),
            _ => Steps::Automatic,
        };
        Ok(PathJob {
            weighting: self.weights.into_weighting(),
            table: self.table.into_job_with(self.metadata, self.input, limits.max_memory),
            preprocessing: self.preprocessing.into_steps(),
            asked,
            steps,
            limits,
            output: self.output,
            report: self.report.wish(),
            allow_unconverged: self.ending.allow_unconverged,
        })
    }
}
