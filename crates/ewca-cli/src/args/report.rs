//! Arguments of `ewca report`, and of the commands that write a report beside their results.

use std::path::PathBuf;

use clap::Args;

use super::job::{Limits, ReportJob, ReportWish};
use super::method::LimitArgs;
use super::table::{MetadataArgs, TableArgs};
use super::{examples, values};

/// Make one HTML file that shows what a fit found.
///
/// The file opens in a browser from disk, without a network: the embedding (PCA, EWCA, barycentric) to turn, zoom, colour and
/// select in, the plan, the loadings, the certificate, and how classes are kept apart. `ewca fit`, `path` and `demo` write the
/// same with --report.
#[derive(Debug, Args)]
#[command(after_help = examples::REPORT)]
pub struct ReportArgs {
    /// The model: a model.safetensors, or the folder that holds it
    model: PathBuf,

    /// The table that the model was fitted on, read with the same options; `-` is standard input
    input: PathBuf,

    /// The file for the report
    #[arg(short, long, value_name = "FILE", default_value = "ewca-out/report.html", value_parser = values::html_file)]
    output: PathBuf,

    /// Fit a path too, 20 epsilons from PCA to just past the collapse, and show it with a slider
    #[arg(long)]
    path: bool,

    /// t-SNE of the scores as a further view (up to 3000 samples)
    #[arg(long)]
    tsne: bool,

    /// The embedding for MultiQC too, in a file named like run1_mqc.json
    #[arg(long, value_name = "FILE", value_parser = values::multiqc_file)]
    multiqc: Option<PathBuf>,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    metadata: MetadataArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

impl ReportArgs {
    pub fn into_job(self) -> ReportJob {
        let limits = Limits::from(self.limits);
        ReportJob {
            model: self.model,
            table: self.table.into_job_with(self.metadata, self.input, limits.max_memory),
            path: self.path,
            report: ReportWish { file: self.output, tsne: self.tsne },
            multiqc: self.multiqc,
            limits,
        }
    }
}

#[derive(Debug, Args)]
pub struct ReportOutput {
    /// A report here, one .html file to look at in a browser
    #[arg(long, value_name = "FILE", value_parser = values::html_file)]
    pub report: Option<PathBuf>,

    /// With --report: t-SNE of the scores as a further view (up to 3000 samples)
    #[arg(long, requires = "report")]
    tsne: bool,
}

impl ReportOutput {
    pub fn wish(self) -> Option<ReportWish> {
        let tsne = self.tsne;
        self.report.map(|file| ReportWish { file, tsne })
    }
}
