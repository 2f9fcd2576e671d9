//! Arguments of `ewca reproduce`.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ewca_paper::experiments::Experiment;

use super::job::{EvidenceJob, Job, Limits, ReproduceJob};
use super::method::{LimitArgs, SplitArgs};
use super::table::TableArgs;
use super::values::{Counts, Numbers};
use super::{examples, values};

/// Run the experiments of the paper again: figures, their numbers, and what was published beside what was found.
///
/// Every figure is written as SVG and PNG, with its numbers as CSV. The data are khan2001 (built in), or a labelled table: by
/// default one in the form of the CuMiDa collection, with columns 'samples' and 'type', such as Breast_GSE45827.csv.
#[derive(Debug, Args)]
#[command(after_help = examples::REPRODUCE)]
pub struct ReproduceArgs {
    /// What to reproduce
    what: WhatArg,

    /// The data: khan2001, or a table in any format that `ewca fit` reads; for `evidence` a folder [default: target/evidence]
    #[arg(long, value_name = "DATA", default_value = "khan2001")]
    data: PathBuf,

    /// The folder for the figures; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out/reproduce")]
    output: PathBuf,

    /// The numbers of components, such as 4..12 or 3..10,15 [default: the paper's]
    #[arg(short = 'k', long, value_name = "RANGE", value_parser = values::counts)]
    components: Option<Counts>,

    /// The epsilons: FROM:TO:COUNT (a constant factor apart), or a list such as 5,10,50 [default: the paper's]
    #[arg(long, value_name = "RANGE", value_parser = values::epsilons, allow_hyphen_values = true)]
    epsilons: Option<Numbers>,

    #[command(flatten)]
    splits: SplitArgs,

    /// The gene subsets of each size in `timing` [default: 100, or 5 in `all`]
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    repeats: Option<usize>,

    /// The seed of splits and made data
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum WhatArg {
    /// Figure 1: two clusters in the plane, their projections, and the plan
    Illustration,
    /// Figure 2: misclassification against k, by the paper's protocol and by a stricter one
    Accuracy,
    /// Figure 3: the transport plan, ordered by class
    Plan,
    /// Figure 4: t-SNE of the scores, with links where the plan is large
    Embedding,
    /// Figure 5: time against the number of features
    Timing,
    /// Figure 6: misclassification over k and epsilon
    Sensitivity,
    /// Table 1: time of each step against n, d and k
    Complexity,
    /// The small examples of the authors' code
    Examples,
    /// Beyond the paper: EWCA beside PCA on 37 gene-expression sets, which a script fetches
    Evidence,
    /// Everything of the paper, and a page that shows it: index.html
    All,
}

impl WhatArg {
    fn experiments(self) -> Vec<Experiment> {
        match self {
            Self::Illustration => vec![Experiment::Illustration],
            Self::Accuracy => vec![Experiment::Accuracy],
            Self::Plan => vec![Experiment::Plan],
            Self::Embedding => vec![Experiment::Embedding],
            Self::Timing => vec![Experiment::Timing],
            Self::Sensitivity => vec![Experiment::Sensitivity],
            Self::Complexity => vec![Experiment::Complexity],
            Self::Examples => vec![Experiment::Examples],
            // A job of its own.
            Self::Evidence => Vec::new(),
            Self::All => Experiment::ALL.to_vec(),
        }
    }
}

impl ReproduceArgs {
    pub fn into_job(self, overwrite: bool) -> Job {
        match self.what {
            WhatArg::Evidence => Job::Evidence(Box::new(self.into_evidence_job(overwrite))),
            _ => Job::Reproduce(Box::new(self.into_experiments_job(overwrite))),
        }
    }

    fn into_evidence_job(self, overwrite: bool) -> EvidenceJob {
        let embedded = self.data.as_os_str() == "khan2001";
        EvidenceJob {
            data: if embedded { "target/evidence".into() } else { self.data },
            components: self.components.map_or(vec![3, 5, 10], |Counts(components)| components),
            protocol: self.splits.protocol(self.seed),
            threads: Limits::from(self.limits).threads,
            output: self.output,
            overwrite,
        }
    }

    fn into_experiments_job(self, overwrite: bool) -> ReproduceJob {
        let limits = Limits::from(self.limits);
        let all = self.what == WhatArg::All;
        let embedded = self.data.as_os_str() == "khan2001";
        ReproduceJob {
            experiments: self.what.experiments(),
            page: all,
            table: (!embedded).then(|| self.table.into_labelled_job(self.data, limits.max_memory)),
            components: self.components.map(|Counts(components)| components),
            epsilons: self.epsilons.map(|Numbers(epsilons)| epsilons),
            protocol: self.splits.protocol(self.seed),
            repeats: self.repeats.unwrap_or(if all { 5 } else { 100 }),
            seed: self.seed,
            threads: limits.threads,
            output: self.output,
            overwrite,
        }
    }
}
