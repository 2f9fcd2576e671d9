//! Arguments of the commands that apply a model: `ewca transform`, `reconstruct` and `neighbours`.

use std::path::PathBuf;

use clap::Args;

use super::job::{NeighboursJob, TransformJob};
use super::table::TableArgs;
use super::{examples, values};

/// Compute the scores of new samples with a fitted model.
///
/// The table must have the model's features, in any order: they are matched by name. Other text columns are copied to the result;
/// other numeric columns are left out, and listed. The fit's --id and --label columns are found by name if this table has them.
/// The preprocessing of the fit (--log1p and so on) is repeated, and --missing mean fills in the means of the training data.
#[derive(Debug, Args)]
#[command(after_help = examples::TRANSFORM)]
pub struct TransformArgs {
    /// The model: a model.safetensors file, or the folder that contains it
    model: PathBuf,

    /// The table of new samples, in any format that `ewca fit` reads; `-` is standard input
    input: PathBuf,

    /// Write the scores to this file: .csv, .tsv, .parquet, .arrow or .npy [default: CSV on standard output]
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

/// Compute samples from their scores (the inverse of transform).
///
/// Reads scores as `ewca fit` and `ewca transform` write them, and computes scores x loadings + mean. The result is in the units
/// of the fit: if the fit used --log1p, --scale and so on, the values are those after these steps.
#[derive(Debug, Args)]
#[command(after_help = examples::RECONSTRUCT)]
pub struct ReconstructArgs {
    /// The model: a model.safetensors file, or the folder that contains it
    model: PathBuf,

    /// The table of scores, with columns ewca1 to ewcaK; `-` is standard input
    scores: PathBuf,

    /// Write the samples to this file: .csv, .tsv, .parquet, .arrow or .npy [default: CSV on standard output]
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

/// List each sample's partners: which samples it is matched with most strongly.
///
/// The output has one row per pair: the sample, its partner, the partner's label (if known) and its share, which says how
/// strongly the two are matched. All shares of a sample sum to 1, over all samples. A training sample also has a share with
/// itself, which is not listed.
#[derive(Debug, Args)]
#[command(after_help = examples::NEIGHBOURS)]
pub struct NeighboursArgs {
    /// The model: a model.safetensors file, or the folder that contains it
    model: PathBuf,

    /// A table of new samples [default: the training samples]
    input: Option<PathBuf>,

    /// How many partners to list for each sample
    #[arg(short, long = "partners", value_name = "M", default_value = "5", value_parser = values::at_least_one)]
    m: usize,

    /// Write the pairs to this file: .csv, .tsv, .parquet or .arrow [default: CSV on standard output]
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
