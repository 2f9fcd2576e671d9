//! Arguments of the commands that show something: `ewca inspect`, `demo`, `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::job::TableJob;
use super::table::{MetadataArgs, TableArgs};
use super::{examples, values};

/// Show what is in a file: a table in any format, or a model.
///
/// Shows its shape, types, names, missing values and range, and the command to run next.
#[derive(Debug, Args)]
#[command(after_help = examples::INSPECT)]
pub struct InspectArgs {
    /// The file, or a 10x or Zarr folder
    file: PathBuf,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    metadata: MetadataArgs,
}

impl InspectArgs {
    pub fn into_job(self) -> TableJob {
        self.table.into_job_with(self.metadata, self.file, None)
    }
}

/// Try EWCA on data that come with the program.
///
/// The data are 63 tumour samples of four types with 2308 genes each (Khan et al. 2001), and 20 more samples to test the result
/// on. Fits five components, compares them with PCA, writes the same files as `ewca fit`, and makes report.html, which shows them
/// and a series of 20 epsilons.
///
/// Perplexity is how many neighbours each sample is matched with on average. Epsilon sets the same thing in squared units of the
/// data: towards 0 the result is PCA. The demo uses the default perplexity, 5.
#[derive(Debug, Args)]
#[command(after_help = examples::DEMO)]
pub struct DemoArgs {
    /// The folder for the results; it is created if needed
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out/demo")]
    pub output: PathBuf,

    /// Write the report to this file [default: report.html in the folder]
    #[arg(long, value_name = "FILE", value_parser = values::html_file)]
    pub report: Option<PathBuf>,
}

/// Print tab completions for your shell.
#[derive(Debug, Args)]
#[command(after_help = examples::COMPLETIONS)]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// Print the manual page, or write all pages to a folder.
#[derive(Debug, Args)]
#[command(after_help = examples::MAN)]
pub struct ManArgs {
    /// A folder for the pages of all commands; it is created if needed
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
