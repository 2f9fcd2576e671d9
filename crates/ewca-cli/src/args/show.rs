//! Arguments of the commands that show something: `ewca inspect`, `demo`, `completions` and `man`.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

use super::job::TableJob;
use super::table::{MetadataArgs, TableArgs};
use super::{examples, values};

/// Say what is in a file: a table in any format, or a model.
///
/// Shape, types, names, missing cells and range, and the command to go on with.
#[derive(Debug, Args)]
#[command(after_help = examples::INSPECT)]
pub struct InspectArgs {
    /// The file, or a 10x folder (or a Zarr folder, if built with the feature `zarr`)
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

/// Show the method at work on data that come with the program.
///
/// The data are 63 tumour samples of four kinds with 2308 gene expressions each (Khan et al. 2001), and 20 further samples to
/// try the result on. Fits five components, compares them with PCA, and writes the same files as `ewca fit`,
/// and report.html, which shows them with a path of 20 epsilons.
///
/// Epsilon says how far each sample's mass spreads over its neighbours; perplexity says the same as a number of neighbours. The
/// demonstration uses the default perplexity, 5.
#[derive(Debug, Args)]
#[command(after_help = examples::DEMO)]
pub struct DemoArgs {
    /// The folder for the results; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out/demo")]
    pub output: PathBuf,

    /// The file for the report [default: report.html in the folder]
    #[arg(long, value_name = "FILE", value_parser = values::html_file)]
    pub report: Option<PathBuf>,
}

/// Print the completions of a shell.
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
    /// A folder for the pages of all commands; it is made if need be
    #[arg(short, long, value_name = "DIR")]
    pub output: Option<PathBuf>,
}
