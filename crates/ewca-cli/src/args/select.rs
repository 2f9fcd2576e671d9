//! Arguments of `ewca select`.

use std::path::PathBuf;

use clap::Args;

use super::job::{Limits, SelectJob};
use super::method::{EndingArgs, LimitArgs, SplitArgs};
use super::table::{MetadataArgs, PreprocessingArgs, TableArgs, WeightArgs};
use super::values::{CountsOrAuto, Numbers};
use super::{examples, values};

/// Choose k and epsilon by how well nearest neighbours predict the classes of --label.
///
/// Follows the protocol of the paper. The components are fitted on all samples, without labels. Then the samples are split in
/// half many times, with classes in proportion; epsilon is chosen on the training half alone, and each sample of the test half
/// gets the class of its nearest neighbour in the training half. Without --label there is nothing to measure, and you get a rule
/// of thumb.
#[derive(Debug, Args)]
#[command(after_help = examples::SELECT)]
pub struct SelectArgs {
    /// The table, in any format that `ewca fit` reads; `-` is standard input
    input: PathBuf,

    /// The numbers of components: a range such as 4..12, a list such as 3,5,10, or auto: from 1 to as many as explain more
    /// variance than chance (parallel analysis with 20 tables whose features are shuffled)
    #[arg(short = 'k', long, value_name = "RANGE", default_value = "2..10", value_parser = values::counts_or_auto)]
    components: CountsOrAuto,

    /// The epsilons: FROM:TO:COUNT (evenly spaced on a log scale), or a list such as 5,10,50 [default: 20, chosen from the variances]
    #[arg(long, value_name = "RANGE", value_parser = values::epsilons, allow_hyphen_values = true)]
    epsilons: Option<Numbers>,

    #[command(flatten)]
    splits: SplitArgs,

    /// The seed for the splits
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,

    /// Write the table to this file: .csv, .tsv, .parquet or .arrow
    #[arg(short, long, value_name = "FILE", default_value = "ewca-out/select.csv", value_parser = values::table_file)]
    output: PathBuf,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    metadata: MetadataArgs,

    #[command(flatten)]
    weights: WeightArgs,

    #[command(flatten)]
    preprocessing: PreprocessingArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    ending: EndingArgs,
}

impl SelectArgs {
    pub fn into_job(self) -> SelectJob {
        let limits = Limits::from(self.limits);
        SelectJob {
            weighting: self.weights.into_weighting(),
            table: self.table.into_job_with(self.metadata, self.input, limits.max_memory),
            preprocessing: self.preprocessing.into_steps(),
            components: self.components.0,
            epsilons: self.epsilons.map(|Numbers(epsilons)| epsilons),
            protocol: self.splits.protocol(self.seed),
            limits,
            output: self.output,
            allow_unconverged: self.ending.allow_unconverged,
        }
    }
}
