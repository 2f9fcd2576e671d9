//! Arguments of `ewca reproduce`.

use std::path::PathBuf;
use std::sync::LazyLock;

use clap::builder::PossibleValue;
use clap::{Args, ValueEnum};
use ewca_paper::experiments::Experiment;

use super::job::{EvidenceJob, Job, Limits, ReproduceJob};
use super::method::{LimitArgs, SplitArgs};
use super::table::TableArgs;
use super::values::{Counts, Numbers};
use super::{examples, values};

/// Repeat the experiments of the paper, and compare the results with the published ones.
///
/// Every figure is written as SVG and PNG, with its numbers as CSV. The data are khan2001 (built in) or a labelled table. By
/// default the table has the layout of the CuMiDa collection, with columns 'samples' and 'type', such as Breast_GSE45827.csv.
#[derive(Debug, Args)]
#[command(after_help = examples::REPRODUCE)]
pub struct ReproduceArgs {
    /// What to reproduce
    what: WhatArg,

    /// The data: khan2001, or a table in any format that `ewca fit` reads; for `evidence`, a folder [default: target/evidence]
    #[arg(long, value_name = "DATA", default_value = "khan2001")]
    data: PathBuf,

    /// The folder for the figures; it is created if needed
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out/reproduce")]
    output: PathBuf,

    /// The numbers of components, such as 4..12 or 3..10,15 [default: the paper's]
    #[arg(short = 'k', long, value_name = "RANGE", value_parser = values::counts)]
    components: Option<Counts>,

    /// The epsilons: FROM:TO:COUNT (evenly spaced on a log scale), or a list such as 5,10,50 [default: the paper's]
    #[arg(long, value_name = "RANGE", value_parser = values::epsilons, allow_hyphen_values = true)]
    epsilons: Option<Numbers>,

    #[command(flatten)]
    splits: SplitArgs,

    /// How many gene subsets of each size in `timing` [default: 100, or 5 in `all`], or data sets of each ratio in `when` [default: 20]
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    repeats: Option<usize>,

    /// The seed for splits and simulated data
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WhatArg {
    Experiment(Experiment),
    Evidence,
    All,
}

impl ValueEnum for WhatArg {
    fn value_variants<'a>() -> &'a [Self] {
        static VARIANTS: LazyLock<Vec<WhatArg>> = LazyLock::new(|| {
            let experiments = Experiment::ALL.into_iter().chain(Experiment::BEYOND).map(WhatArg::Experiment);
            experiments.chain([WhatArg::Evidence, WhatArg::All]).collect()
        });
        &VARIANTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        let (name, about) = match self {
            Self::Experiment(experiment) => experiment.described(),
            Self::Evidence => (
                "evidence",
                "Beyond the paper: EWCA compared with PCA on 37 gene-expression data sets, which a script downloads",
            ),
            Self::All => ("all", "All experiments of the paper, and a page that shows them: index.html"),
        };
        Some(PossibleValue::new(name).help(about))
    }
}

impl ReproduceArgs {
    pub fn into_job(self, overwrite: bool) -> Job {
        match self.what {
            WhatArg::Evidence => Job::Evidence(Box::new(self.into_evidence_job(overwrite))),
            WhatArg::Experiment(experiment) => {
                Job::Reproduce(Box::new(self.into_experiments_job(vec![experiment], overwrite)))
            }
            WhatArg::All => Job::Reproduce(Box::new(self.into_experiments_job(Experiment::ALL.to_vec(), overwrite))),
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

    fn into_experiments_job(self, experiments: Vec<Experiment>, overwrite: bool) -> ReproduceJob {
        let limits = Limits::from(self.limits);
        let embedded = self.data.as_os_str() == "khan2001";
        ReproduceJob {
            experiments,
            page: self.what == WhatArg::All,
            table: (!embedded).then(|| self.table.into_labelled_job(self.data, limits.max_memory)),
            components: self.components.map(|Counts(components)| components),
            epsilons: self.epsilons.map(|Numbers(epsilons)| epsilons),
            protocol: self.splits.protocol(self.seed),
            repeats: self.repeats.unwrap_or(match self.what {
                WhatArg::All => 5,
                WhatArg::Experiment(Experiment::When) => 20,
                _ => 100,
            }),
            seed: self.seed,
            threads: limits.threads,
            output: self.output,
            overwrite,
        }
    }
}
