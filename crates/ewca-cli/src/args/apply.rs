//! Arguments of the commands that apply a model: `ewca transform`, `reconstruct` and `neighbours`.

use std::path::PathBuf;

use clap::Args;

use super::job::{NeighboursJob, TransformJob};
use super::table::TableArgs;
use super::{examples, values};

/// Give the scores of new samples under a fitted model.
///
/// The table must have the features of the model, in any order: they are matched by name. Its other columns of text are carried
/// along to the result; other columns of numbers are left out, and named. The columns of --id and --label of the fit are known,
/// where this table has them too. What the fit did to its table before (--log1p and so on) is done to this one too, and --missing
/// mean puts in the means of the training data.
#[derive(Debug, Args)]
#[command(after_help = examples::TRANSFORM)]
pub struct TransformArgs {
    /// The model: a model.safetensors, or the folder that holds it
    model: PathBuf,

    /// The table of new samples, in any format that `ewca fit` reads; `-` is standard input
    input: PathBuf,

    /// The file for the scores: .csv, .tsv, .parquet, .arrow or .npy [default: CSV on standard output]
    #[arg(short, long, value_name = "FILE", value_parser = values::table_file)]
    output: Option<PathBuf>,

    #[command(flatten)]
    table: TableArgs,
}

impl TransformArgs {
    pub fn into_job(self) -> TransformJob {
        TransformJob {
            model: self.model,
            table: self.table.into_job(self.input, None),
            output: named_file(self.output),
        }
    }
}

/// Give the samples that scores stand for: Z U' + mean.
///
/// Reads scores as `ewca fit` and `ewca transform` write them. The samples come in the units of the fit: after --log1p, --scale
/// and the like, where the fit had them.
#[derive(Debug, Args)]
#[command(after_help = examples::RECONSTRUCT)]
pub struct ReconstructArgs {
    /// The model: a model.safetensors, or the folder that holds it
    model: PathBuf,

    /// The table of scores, with columns ewca1 .. ewcaK; `-` is standard input
    scores: PathBuf,

    /// The file for the samples: .csv, .tsv, .parquet, .arrow or .npy [default: CSV on standard output]
    #[arg(short, long, value_name = "FILE", value_parser = values::table_file)]
    output: Option<PathBuf>,

    #[command(flatten)]
    table: TableArgs,
}

impl ReconstructArgs {
    pub fn into_job(self) -> TransformJob {
        TransformJob {
            model: self.model,
            table: self.table.into_job(self.scores, None),
            output: named_file(self.output),
        }
    }
}

/// Give the strongest partners of samples: over whom their mass spreads.
///
/// One row per pair: sample, partner, the partner's label where it is known, and the share of the sample's mass. Training
/// samples are not their own partners here, though they keep a share.
#[derive(Debug, Args)]
#[command(after_help = examples::NEIGHBOURS)]
pub struct NeighboursArgs {
    /// The model: a model.safetensors, or the folder that holds it
    model: PathBuf,

    /// A table of new samples [default: the training samples]
    input: Option<PathBuf>,

    /// How many partners of each sample
    #[arg(short, long = "partners", value_name = "M", default_value = "5", value_parser = values::at_least_one)]
    m: usize,

    /// The file for the pairs: .csv, .tsv, .parquet or .arrow [default: CSV on standard output]
    #[arg(short, long, value_name = "FILE", value_parser = values::table_file)]
    output: Option<PathBuf>,

    #[command(flatten)]
    table: TableArgs,
}

impl NeighboursArgs {
    pub fn into_job(self) -> NeighboursJob {
        NeighboursJob {
            model: self.model,
            table: self.input.map(|input| self.table.into_job(input, None)),
            count: self.m,
            output: named_file(self.output),
        }
    }
}

/// `-` is standard output.
fn named_file(output: Option<PathBuf>) -> Option<PathBuf> {
    output.filter(|file| file.as_os_str() != "-")
}
