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

/// Find components, as PCA does, that also keep neighbouring samples together.
///
/// Reads a table with samples in rows and features in columns, centres it, and finds k components. Perplexity is how many
/// neighbours each sample is matched with on average. Epsilon sets the same thing in squared units of the data: towards 0 the
/// result is PCA, and more smoothing gives tighter groups. Give one of the two, or neither.
#[derive(Debug, Args)]
#[command(after_help = examples::FIT)]
pub struct FitArgs {
    /// The table: CSV or TSV (also .gz, .zst, .bz2, .xz or .zip), Excel .xlsx, .npy, .npz, Parquet, Arrow, MATLAB .mat, Matrix Market .mtx, a
    /// 10x folder or .h5 file, loom, or AnnData .h5ad (also in a Zarr folder); `-` is standard input
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
    /// The folder for the results; it is created if needed
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out")]
    output: PathBuf,

    /// Also write the scores to this file: .csv, .tsv, .parquet, .arrow or .npy
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    scores: Option<PathBuf>,

    /// Also write the loadings to this file: .csv, .tsv, .parquet, .arrow or .npy
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    loadings: Option<PathBuf>,

    /// Write the transport plan (a table of how strongly each sample is matched with every other)
    /// to this file, as the strongest partners of each sample: .csv, .tsv, .parquet or .arrow
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    plan: Option<PathBuf>,

    /// How many partners of each sample to write with --plan and --write-anndata
    #[arg(long, value_name = "M", default_value = "10", value_parser = values::at_least_one)]
    partners: usize,

    /// Write the whole plan, n x n, to this file: .npy
    #[arg(long, value_name = "FILE", value_parser = values::npy_file)]
    dense_plan: Option<PathBuf>,

    /// Write a copy of the .h5ad input to this file, with the results in obsm, varm, obsp and uns
    #[arg(long, value_name = "FILE")]
    write_anndata: Option<PathBuf>,

    #[command(flatten)]
    report: ReportOutput,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Long runs")]
struct CheckpointArgs {
    /// Save the state of the fit to this file while it runs
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// Seconds between two saved states; 0 saves every iteration
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = values::seconds, allow_negative_numbers = true)]
    checkpoint_every: f64,

    /// Continue from the state saved in this file; the result is the same as without the interruption
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
                "-k auto needs the whole table in memory, and {option} reads it in parts: find the number with `ewca fit -k \
                 auto` on some of the samples, then pass it with -k"
            ));
        }
        if output.write_anndata.is_some() && !table.says_anndata(&input) {
            return Err(
                "--write-anndata copies the input and adds the results to it: the input must be an AnnData file (.h5ad), \
                 without --transpose"
                    .into(),
            );
        }
        if distributed && output.report.report.is_some() {
            return Err("--report needs all samples in one process: run `ewca report` after the fit".into());
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
