//! Arguments of `ewca report`, and of the commands that write a report beside their results.

use std::path::PathBuf;

use clap::Args;

use super::job::{Limits, ReportJob, ReportWish};
use super::method::LimitArgs;
use super::table::{MetadataArgs, TableArgs};
use super::{examples, values};

/// Make an interactive report of a fit: one HTML file.
///
/// The file opens in any browser and needs no network. It shows the samples as points to turn, zoom, colour and select (for PCA,
/// EWCA, and EWCA with each sample at the mean of its partners), the transport plan, the loadings, how accurate the fit is, and
/// how well the classes are separated. `ewca fit`, `path` and `demo` write the same report with --report.
#[derive(Debug, Args)]
#[command(after_help = examples::REPORT)]
pub struct ReportArgs {
    /// The model: a model.safetensors file, or the folder that contains it
    model: PathBuf,

    /// The table that the model was fitted on, with the same options as in the fit; `-` is standard input
    input: PathBuf,

    /// Write the report to this file
    #[arg(short, long, value_name = "FILE", default_value = "ewca-out/report.html", value_parser = values::html_file)]
    output: PathBuf,

    /// Also fit 20 epsilons, from PCA to just beyond the collapse, and show them with a slider
    #[arg(long)]
    path: bool,

    /// Also show t-SNE of the scores (up to 3000 samples)
    #[arg(long)]
    tsne: bool,

    /// Also write the embedding for MultiQC, to a file with a name such as run1_mqc.json
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
    /// Write a report to this file: one .html file for your browser
    #[arg(long, value_name = "FILE", value_parser = values::html_file)]
    pub report: Option<PathBuf>,

    /// With --report: also show t-SNE of the scores (up to 3000 samples)
    #[arg(long, requires = "report")]
    tsne: bool,
}

impl ReportOutput {
    pub fn wish(self) -> Option<ReportWish> {
        let tsne = self.tsne;
        self.report.map(|file| ReportWish { file, tsne })
    }
}
