//! What the user may type, and what the program makes of it: the one place where arguments become typed jobs.

mod apply;
mod examples;
mod fit;
mod job;
mod method;
mod path;
mod report;
mod reproduce;
mod select;
mod show;
mod table;
pub mod values;

use std::ffi::OsString;
use std::io::IsTerminal;
use std::io::Write as _;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand};

use apply::{NeighboursArgs, ReconstructArgs, TransformArgs};
use fit::FitArgs;
pub use job::{
    CheckpointJob, Components, DemoJob, EvidenceJob, FitJob, Job, Limits, NeighboursJob, PathJob, ReportJob,
    ReportWish, ReproduceJob, Request, SelectJob, Steps, TableJob, TransformJob,
};
use path::PathArgs;
use report::ReportArgs;
use reproduce::ReproduceArgs;
use select::SelectArgs;
use show::{CompletionsArgs, DemoArgs, InspectArgs, ManArgs};

use crate::console::failure::Failure;
use crate::console::outcome::CLOSED_PIPE;
use crate::console::terminal::{Console, Verbosity, printable};

/// Reads the command line. The error is the exit code, after what there is to say was said: wrong usage, help, the version.
pub fn parse(words: Vec<OsString>) -> Result<Request, u8> {
    let json = words.iter().any(|word| word == "--json");
    let cli = Cli::try_parse_from(words).map_err(|error| say(&error, json))?;
    let console = cli.messages.console();
    ewca_io::write_raw_text(cli.messages.raw_text);
    let name = cli.command.name();
    let overwrite = cli.files.overwrite;
    match cli.command.into_job(overwrite) {
        Ok(job) => Ok(Request { console, overwrite, job }),
        Err(problem) => Err(say(&wrong_usage(name, &problem), json)),
    }
}

/// Says why there is nothing to do, and gives the exit code.
fn say(error: &clap::Error, json: bool) -> u8 {
    const WRONG_USAGE: u8 = 2;
    // Help and version are no errors, and stay text.
    if json && error.use_stderr() {
        let text = error.to_string();
        let problem = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
        Console { verbosity: Verbosity::Normal, json }.fail(WRONG_USAGE, &problem.replace('\n', " "));
        return WRONG_USAGE;
    }
    if error.use_stderr() {
        // Names on the command line may come from a folder that somebody else has filled.
        let text = error.render();
        let styled = std::io::stderr().is_terminal();
        let text = if styled { text.ansi().to_string() } else { text.to_string() };
        eprint!("{}", printable(&text, styled));
        return WRONG_USAGE;
    }
    let Err(source) = error.print().and_then(|()| std::io::stdout().flush()) else { return 0 };
    let failure = Failure::Print { source };
    if failure.code() != CLOSED_PIPE {
        Console { verbosity: Verbosity::Normal, json }.fail(failure.code(), &failure.to_string());
    }
    failure.code()
}

/// The whole command line, for completions and manual pages.
pub fn command() -> clap::Command {
    let mut program = Cli::command();
    // Gives the subcommands the names that their usage lines show: `ewca fit`.
    program.build();
    program
}

fn wrong_usage(name: &str, problem: &str) -> clap::Error {
    let mut program = command();
    match program.find_subcommand_mut(name) {
        Some(command) => command.error(ErrorKind::ValueValidation, problem),
        None => program.error(ErrorKind::ValueValidation, problem),
    }
}

/// Entropic Wasserstein Component Analysis: PCA with a sense of neighbourhood.
#[derive(Debug, Parser)]
#[command(name = "ewca", version, max_term_width = 80, after_help = examples::PROGRAM)]
struct Cli {
    #[command(subcommand)]
    command: Command,

    #[command(flatten)]
    messages: MessageArgs,

    #[command(flatten)]
    files: FileArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Files")]
struct FileArgs {
    /// Replace existing files even if this program did not write them; otherwise the program stops without
    /// touching them. Inputs are never replaced
    #[arg(long, global = true)]
    overwrite: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Messages")]
struct MessageArgs {
    /// Print more: solver, kernel passes, time and memory
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,

    /// Print only warnings and errors
    #[arg(short, long, global = true)]
    quiet: bool,

    /// Print messages as JSON for other programs, one object per line
    #[arg(long, global = true)]
    json: bool,

    /// Write names to .csv and .tsv unchanged. Otherwise, text that a spreadsheet would run as a formula gets an apostrophe in
    /// front (removed again when ewca reads the file)
    #[arg(long, global = true)]
    raw_text: bool,
}

impl MessageArgs {
    fn console(&self) -> Console {
        let verbosity = match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        };
        Console { verbosity, json: self.json }
    }
}

#[derive(Debug, Subcommand)]
enum Command {
    Fit(Box<FitArgs>),
    Transform(Box<TransformArgs>),
    Reconstruct(Box<ReconstructArgs>),
    Neighbours(Box<NeighboursArgs>),
    Report(Box<ReportArgs>),
    Path(Box<PathArgs>),
    Select(Box<SelectArgs>),
    Reproduce(Box<ReproduceArgs>),
    Inspect(Box<InspectArgs>),
    Demo(DemoArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

impl Command {
    fn name(&self) -> &'static str {
        match self {
            Self::Fit(_) => "fit",
            Self::Transform(_) => "transform",
            Self::Reconstruct(_) => "reconstruct",
            Self::Neighbours(_) => "neighbours",
            Self::Report(_) => "report",
            Self::Path(_) => "path",
            Self::Select(_) => "select",
            Self::Reproduce(_) => "reproduce",
            Self::Inspect(_) => "inspect",
            Self::Demo(_) => "demo",
            Self::Completions(_) => "completions",
            Self::Man(_) => "man",
        }
    }

    fn into_job(self, overwrite: bool) -> Result<Job, String> {
        Ok(match self {
            Self::Fit(args) => Job::Fit(Box::new(args.into_job()?)),
            Self::Transform(args) => Job::Transform(Box::new(args.into_job())),
            Self::Reconstruct(args) => Job::Reconstruct(Box::new(args.into_job())),
            Self::Neighbours(args) => Job::Neighbours(Box::new(args.into_job())),
            Self::Report(args) => Job::Report(Box::new(args.into_job())),
            Self::Path(args) => Job::Path(Box::new(args.into_job()?)),
            Self::Select(args) => Job::Select(Box::new(args.into_job())),
            Self::Reproduce(args) => args.into_job(overwrite),
            Self::Inspect(args) => Job::Inspect(Box::new(args.into_job())),
            Self::Demo(args) => Job::Demo(DemoJob { output: args.output, report: args.report }),
            Self::Completions(args) => Job::Completions(args.shell),
            Self::Man(args) => Job::Man(args.output),
        })
    }
}

#[cfg(test)]
mod tests;
