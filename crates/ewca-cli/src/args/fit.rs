//! Arguments of `ewca fit`.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;

use super::job::{CheckpointJob, Components, FitJob, Limits};
use super::method::{Asked, EndingArgs, LimitArgs, ManyArgs, MethodArgs, SpreadArgs};
use super::report::ReportOutput;
use super::table::{MetadataArgs, PreprocessingArgs, TableArgs, WeightArgs};
use super::{examples, values};
use crate::output::exports::Exports;

/// Find the subspace that keeps each sample close to its neighbours.
///
/// Reads a table with samples in rows and features in columns, centres it, and finds k orthonormal components. Epsilon says how
/// far each sample's mass spreads over its neighbours (towards 0 the result is PCA); perplexity says the same as a number of
/// neighbours. Give one of them, or neither.
#[derive(Debug, Args)]
#[command(after_help = examples::FIT)]
pub struct FitArgs {
    /// The table: CSV or TSV (also .gz, .zst, .bz2, .xz or .zip), Excel .xlsx, .npy, .npz, Parquet, Arrow, MATLAB .mat, Matrix Market .mtx, a
    /// 10x folder or .h5 file, loom, or AnnData .h5ad (also in a Zarr folder, if built with the feature `zarr`); `-` is standard input
    input: PathBuf,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    metadata: MetadataArgs,

    #[command(flatten)]
    weights: WeightArgs,

    #[command(flatten)]
    preprocessing: PreprocessingArgs,

    #[command(flatten)]
    spread: SpreadArgs,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    many: ManyArgs,

    #[command(flatten)]
    checkpoint: CheckpointArgs,

    #[command(flatten)]
    ending: EndingArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The results")]
struct OutputArgs {
    /// The folder for the results; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out")]
    output: PathBuf,

    /// The scores also here: .csv, .tsv, .parquet, .arrow or .npy
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    scores: Option<PathBuf>,

    /// The loadings also here: .csv, .tsv, .parquet, .arrow or .npy
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    loadings: Option<PathBuf>,

    /// The plan here, as the strongest partners of each sample: .csv, .tsv, .parquet or .arrow
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    plan: Option<PathBuf>,

    /// How many partners of each sample go to --plan and --write-anndata
    #[arg(long, value_name = "M", default_value = "10", value_parser = values::at_least_one)]
    partners: usize,

    /// The whole plan here, n x n: .npy
    #[arg(long, value_name = "FILE", value_parser = values::npy_file)]
    dense_plan: Option<PathBuf>,

    /// A copy of the .h5ad input with the results in obsm, varm, obsp and uns
    #[arg(long, value_name = "FILE")]
    write_anndata: Option<PathBuf>,

    #[command(flatten)]
    report: ReportOutput,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Long runs")]
struct CheckpointArgs {
    /// Keep the state of the fit in this file while it runs
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// The time between two states, in seconds; 0 keeps every iteration
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = values::seconds, allow_negative_numbers = true)]
    checkpoint_every: f64,

    /// Go on from the state in this file; the result is the same as without the interruption
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

impl FitArgs {
    pub fn into_job(self) -> Result<FitJob, String> {
        let Self {
            input,
            table,
            metadata,
            weights,
            preprocessing,
            spread,
            method,
            output,
            limits,
            many,
            checkpoint,
            ending,
        } = self;
        let (in_parts, distributed) = (many.in_parts, many.distributed);
        let asked = Asked::new(method, Some(spread), Some(many))?;
        if asked.components() == Components::Auto && (in_parts || distributed) {
            let option = if in_parts { "--in-parts" } else { "--distributed" };
            return Err(format!(
                "-k auto permutes the features of the whole table, which {option} never holds in one place: find the number with \
                 `ewca fit -k auto` of some of the samples, and give it with -k"
            ));
        }
        if output.write_anndata.is_some() && !table.says_anndata(&input) {
            return Err(
                "--write-anndata adds to a copy of the input, which must be an AnnData file (.h5ad) that is not \
                        transposed"
                    .into(),
            );
        }
        if distributed && output.report.report.is_some() {
            return Err("--report needs all samples in one process: make it afterwards, with `ewca report`".into());
        }
        let limits = Limits::from(limits);
        let CheckpointArgs { checkpoint, checkpoint_every, resume } = checkpoint;
        Ok(FitJob {
            weighting: weights.into_weighting(),
            table: table.into_job_with(metadata, input, limits.max_memory),
            preprocessing: preprocessing.into_steps(),
            asked,
            limits,
            exports: Exports {
                scores: output.scores,
                loadings: output.loadings,
                plan: output.plan,
                partners: output.partners,
                dense_plan: output.dense_plan,
                anndata: output.write_anndata,
            },
            output: output.output,
            report: output.report.wish(),
            checkpoint: checkpoint.map(|file| CheckpointJob { file, every: Duration::from_secs_f64(checkpoint_every) }),
            resume,
            in_parts,
            distributed,
            allow_unconverged: ending.allow_unconverged,
        })
    }
}
