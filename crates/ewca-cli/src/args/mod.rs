//! What the user may type, and what the program makes of it: the one place where arguments become typed jobs.

mod examples;
mod job;
mod method;
mod table;
pub mod values;

use std::io::IsTerminal;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use ewca_eval::Protocol;
use ewca_paper::experiments::Experiment;

pub use job::{
    CheckpointJob, DemoJob, EvidenceJob, FitJob, Job, Limits, NeighboursJob, PathJob, ReportJob, ReportWish,
    ReproduceJob, Request, SelectJob, Steps, TableJob, TransformJob, Wanted,
};
use method::{EndingArgs, LimitArgs, ManyArgs, MethodArgs, SpreadArgs};
use table::{PreprocessingArgs, TableArgs, WeightArgs};
use values::{Counts, Numbers};

use crate::console::failure::Failure;
use crate::console::outcome::CLOSED_PIPE;
use crate::console::terminal::{Console, Verbosity, printable};
use crate::output::exports::Exports;

/// Reads the command line. Wrong usage ends the program with exit code 2 and a message.
pub fn parse() -> Request {
    let arguments: Vec<std::ffi::OsString> = std::env::args_os().collect();
    let json = arguments.iter().any(|argument| argument == "--json");
    let quit = |error: clap::Error| -> ! {
        // Help and version are no errors, and stay text.
        if json && error.use_stderr() {
            let text = error.to_string();
            let problem = text.trim_start_matches("error: ").split("\n\n").next().unwrap_or_default();
            Console { verbosity: Verbosity::Normal, json }.fail(2, &problem.replace('\n', " "));
            std::process::exit(2);
        }
        if error.use_stderr() {
            // Names on the command line may come from a folder that somebody else has filled.
            let text = error.render();
            let styled = std::io::stderr().is_terminal();
            let text = if styled { text.ansi().to_string() } else { text.to_string() };
            eprint!("{}", printable(&text, styled));
            std::process::exit(2);
        }
        match error.print().and_then(|()| std::io::stdout().flush()) {
            Ok(()) => std::process::exit(0),
            Err(source) => {
                let failure = Failure::Print { source };
                if failure.code() != CLOSED_PIPE {
                    Console { verbosity: Verbosity::Normal, json }.fail(failure.code(), &failure.to_string());
                }
                std::process::exit(failure.code().into());
            }
        }
    };
    let cli = Cli::try_parse_from(arguments).unwrap_or_else(|error| quit(error));
    let console = cli.messages.console();
    ewca_io::write_raw_text(cli.messages.raw_text);
    let name = cli.command.name();
    let overwrite = cli.files.overwrite;
    match cli.command.into_job(overwrite) {
        Ok(job) => Request { console, overwrite, job },
        Err(problem) => quit(wrong_usage(name, &problem)),
    }
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
    /// Replace files that this program did not write; without it they are kept, and the run is refused. Inputs are never replaced
    #[arg(long, global = true)]
    overwrite: bool,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Messages")]
struct MessageArgs {
    /// Say more: solver, kernel passes, time and memory
    #[arg(short, long, global = true, conflicts_with = "quiet")]
    verbose: bool,

    /// Say nothing but warnings and errors
    #[arg(short, long, global = true)]
    quiet: bool,

    /// Messages for programs: one JSON object per line
    #[arg(long, global = true)]
    json: bool,

    /// Write names to .csv and .tsv as they are. Without this, text that a spreadsheet would run as a formula gets an
    /// apostrophe in front (taken off again where the file is read)
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
            Self::Reproduce(args) if args.what == WhatArg::Evidence => {
                Job::Evidence(Box::new(args.into_evidence_job(overwrite)))
            }
            Self::Reproduce(args) => Job::Reproduce(Box::new(args.into_job(overwrite))),
            Self::Inspect(args) => Job::Inspect(Box::new(args.table.into_job(args.file, None))),
            Self::Demo(args) => Job::Demo(DemoJob { output: args.output, report: args.report }),
            Self::Completions(args) => Job::Completions(args.shell),
            Self::Man(args) => Job::Man(args.output),
        })
    }
}

/// Find the subspace that keeps each sample close to its neighbours.
///
/// Reads a table with samples in rows and features in columns, centres it, and finds k orthonormal components. Epsilon says how
/// far each sample's mass spreads over its neighbours (towards 0 the result is PCA); perplexity says the same as a number of
/// neighbours. Give one of them, or neither.
#[derive(Debug, Args)]
#[command(after_help = examples::FIT)]
struct FitArgs {
    /// The table: CSV or TSV (also .gz or .zst), .npy, .npz, Parquet, Arrow, MATLAB .mat, Matrix Market .mtx, a 10x folder, or
    /// AnnData .h5ad; `-` is standard input
    input: PathBuf,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    weights: WeightArgs,

    #[command(flatten)]
    preprocessing: PreprocessingArgs,

    #[command(flatten)]
    spread: SpreadArgs,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    output: OutputArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    many: ManyArgs,

    #[command(flatten)]
    checkpoint: CheckpointArgs,

    #[command(flatten)]
    ending: EndingArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The results")]
struct OutputArgs {
    /// The folder for the results; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out")]
    output: PathBuf,

    /// The scores also here: .csv, .tsv, .parquet, .arrow or .npy
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    scores: Option<PathBuf>,

    /// The loadings also here: .csv, .tsv, .parquet, .arrow or .npy
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    loadings: Option<PathBuf>,

    /// The plan here, as the strongest partners of each sample: .csv, .tsv, .parquet or .arrow
    #[arg(long, value_name = "FILE", value_parser = values::table_file)]
    plan: Option<PathBuf>,

    /// How many partners of each sample go to --plan and --write-anndata
    #[arg(long, value_name = "M", default_value = "10", value_parser = values::at_least_one)]
    partners: usize,

    /// The whole plan here, n x n: .npy
    #[arg(long, value_name = "FILE", value_parser = values::npy_file)]
    dense_plan: Option<PathBuf>,

    /// A copy of the .h5ad input with the results in obsm, varm, obsp and uns
    #[arg(long, value_name = "FILE")]
    write_anndata: Option<PathBuf>,

    #[command(flatten)]
    report: ReportOutput,
}

#[derive(Debug, Args)]
struct ReportOutput {
    /// A report here, one .html file to look at in a browser
    #[arg(long, value_name = "FILE", value_parser = values::html_file)]
    report: Option<PathBuf>,

    /// With --report: t-SNE of the scores as a further view (up to 3000 samples)
    #[arg(long, requires = "report")]
    tsne: bool,
}

impl ReportOutput {
    fn wish(self) -> Option<ReportWish> {
        let tsne = self.tsne;
        self.report.map(|file| ReportWish { file, tsne })
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Long runs")]
struct CheckpointArgs {
    /// Keep the state of the fit in this file while it runs
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,

    /// The time between two states, in seconds; 0 keeps every iteration
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = values::seconds, allow_negative_numbers = true)]
    checkpoint_every: f64,

    /// Go on from the state in this file; the result is the same as without the interruption
    #[arg(long, value_name = "FILE")]
    resume: Option<PathBuf>,
}

impl FitArgs {
    fn into_job(self) -> Result<FitJob, String> {
        let Self { input, table, weights, preprocessing, spread, method, output, limits, many, checkpoint, ending } =
            self;
        let params = many.applied_to(spread.applied_to(method.params()?));
        params.clone().check().map_err(|error| error.to_string())?;
        if output.write_anndata.is_some() && !table.says_anndata(&input) {
            return Err(
                "--write-anndata adds to a copy of the input, which must be an AnnData file (.h5ad) that is not \
                        transposed"
                    .into(),
            );
        }
        if many.distributed && output.report.report.is_some() {
            return Err("--report needs all samples in one process: make it afterwards, with `ewca report`".into());
        }
        let limits = Limits::from(limits);
        let CheckpointArgs { checkpoint, checkpoint_every, resume } = checkpoint;
        Ok(FitJob {
            weighting: weights.into_weighting(),
            table: table.into_job(input, limits.max_memory),
            preprocessing: preprocessing.into_steps(),
            wanted: method.wanted(spread.perplexity),
            params,
            limits,
            exports: Exports {
                scores: output.scores,
                loadings: output.loadings,
                plan: output.plan,
                partners: output.partners,
                dense_plan: output.dense_plan,
                anndata: output.write_anndata,
            },
            output: output.output,
            report: output.report.wish(),
            checkpoint: checkpoint.map(|file| CheckpointJob { file, every: Duration::from_secs_f64(checkpoint_every) }),
            resume,
            in_parts: many.in_parts,
            distributed: many.distributed,
            allow_unconverged: ending.allow_unconverged,
        })
    }
}

/// Give the scores of new samples under a fitted model.
///
/// The table must have the features of the model, in any order: they are matched by name. Its other columns of text are carried
/// along to the result; other columns of numbers are left out, and named. The columns of --id and --label of the fit are known,
/// where this table has them too. What the fit did to its table before (--log1p and so on) is done to this one too, and --missing
/// mean puts in the means of the training data.
#[derive(Debug, Args)]
#[command(after_help = examples::TRANSFORM)]
struct TransformArgs {
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
    fn into_job(self) -> TransformJob {
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
struct ReconstructArgs {
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
    fn into_job(self) -> TransformJob {
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
struct NeighboursArgs {
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
    fn into_job(self) -> NeighboursJob {
        NeighboursJob {
            model: self.model,
            table: self.input.map(|input| self.table.into_job(input, None)),
            count: self.m,
            output: named_file(self.output),
        }
    }
}

/// Make one HTML file that shows what a fit found.
///
/// The file opens in a browser from disk, without a network: the embedding (PCA, EWCA, barycentric) to turn, zoom, colour and
/// select in, the plan, the loadings, the certificate, and how classes are kept apart. `ewca fit`, `path` and `demo` write the
/// same with --report.
#[derive(Debug, Args)]
#[command(after_help = examples::REPORT)]
struct ReportArgs {
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

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    limits: LimitArgs,
}

impl ReportArgs {
    fn into_job(self) -> ReportJob {
        let limits = Limits::from(self.limits);
        ReportJob {
            model: self.model,
            table: self.table.into_job(self.input, limits.max_memory),
            path: self.path,
            report: ReportWish { file: self.output, tsne: self.tsne },
            limits,
        }
    }
}

/// `-` is standard output.
fn named_file(output: Option<PathBuf>) -> Option<PathBuf> {
    output.filter(|file| file.as_os_str() != "-")
}

/// Choose k and epsilon by how well nearest neighbours in the scores tell the classes of --label.
///
/// The protocol of the paper: the subspaces are found on all samples, without labels; for each of many stratified 50/50 splits
/// epsilon is chosen on splits of the train half alone, and the test half is classified by its nearest neighbour. Without
/// --label there is nothing to measure, and a rule of thumb is given as such.
#[derive(Debug, Args)]
#[command(after_help = examples::SELECT)]
struct SelectArgs {
    /// The table, in any format that `ewca fit` reads; `-` is standard input
    input: PathBuf,

    /// The numbers of components: a range such as 4..12, or a list such as 3,5,10
    #[arg(short = 'k', long, value_name = "RANGE", default_value = "2..10", value_parser = values::counts)]
    components: Counts,

    /// The epsilons: FROM:TO:COUNT (a constant factor apart), or a list such as 5,10,50 [default: 20, from the variances]
    #[arg(long, value_name = "RANGE", value_parser = values::epsilons, allow_hyphen_values = true)]
    epsilons: Option<Numbers>,

    /// The number of splits
    #[arg(long, value_name = "N", default_value = "100", value_parser = values::at_least_one)]
    splits: usize,

    /// The number of splits of each train half
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::at_least_one)]
    inner_splits: usize,

    /// The seed of the splits
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,

    /// The file for the table: .csv, .tsv, .parquet or .arrow
    #[arg(short, long, value_name = "FILE", default_value = "ewca-out/select.csv", value_parser = values::table_file)]
    output: PathBuf,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    preprocessing: PreprocessingArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    ending: EndingArgs,
}

impl SelectArgs {
    fn into_job(self) -> SelectJob {
        let limits = Limits::from(self.limits);
        SelectJob {
            table: self.table.into_job(self.input, limits.max_memory),
            preprocessing: self.preprocessing.into_steps(),
            components: self.components.0,
            epsilons: self.epsilons.map(|Numbers(epsilons)| epsilons),
            protocol: Protocol { splits: self.splits, inner_splits: self.inner_splits, seed: self.seed },
            limits,
            output: self.output,
            allow_unconverged: self.ending.allow_unconverged,
        }
    }
}

/// Run the experiments of the paper again: figures, their numbers, and what was published beside what was found.
///
/// Every figure is written as SVG and PNG, with its numbers as CSV. The data are khan2001 (built in), or a labelled table: by
/// default one in the form of the CuMiDa collection, with columns 'samples' and 'type', such as Breast_GSE45827.csv.
#[derive(Debug, Args)]
#[command(after_help = examples::REPRODUCE)]
struct ReproduceArgs {
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

    /// The number of splits
    #[arg(long, value_name = "N", default_value = "100", value_parser = values::at_least_one)]
    splits: usize,

    /// The number of splits of each train half
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::at_least_one)]
    inner_splits: usize,

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
    fn into_evidence_job(self, overwrite: bool) -> EvidenceJob {
        let embedded = self.data.as_os_str() == "khan2001";
        EvidenceJob {
            data: if embedded { "target/evidence".into() } else { self.data },
            components: self.components.map_or(vec![3, 5, 10], |Counts(components)| components),
            protocol: Protocol { splits: self.splits, inner_splits: self.inner_splits, seed: self.seed },
            threads: Limits::from(self.limits).threads,
            output: self.output,
            overwrite,
        }
    }

    fn into_job(self, overwrite: bool) -> ReproduceJob {
        let limits = Limits::from(self.limits);
        let all = self.what == WhatArg::All;
        let embedded = self.data.as_os_str() == "khan2001";
        ReproduceJob {
            experiments: self.what.experiments(),
            page: all,
            table: (!embedded).then(|| self.table.into_labelled_job(self.data, limits.max_memory)),
            components: self.components.map(|Counts(components)| components),
            epsilons: self.epsilons.map(|Numbers(epsilons)| epsilons),
            protocol: Protocol { splits: self.splits, inner_splits: self.inner_splits, seed: self.seed },
            repeats: self.repeats.unwrap_or(if all { 5 } else { 100 }),
            seed: self.seed,
            threads: limits.threads,
            output: self.output,
            overwrite,
        }
    }
}

/// Fit along a sequence of epsilons, and say where the components collapse.
///
/// Epsilon says how far each sample's mass spreads over its neighbours (towards 0 the result is PCA); perplexity says the same
/// as a number of neighbours. Each fit starts from its neighbour with the smaller epsilon.
#[derive(Debug, Args)]
#[command(after_help = examples::PATH)]
struct PathArgs {
    /// The table, in any format that `ewca fit` reads; `-` is standard input
    input: PathBuf,

    /// The epsilons: FROM:TO:COUNT (a constant factor apart), or a list such as 5,10,50 [default: 20 from PCA to just past the
    /// collapse]
    #[arg(long, value_name = "RANGE", value_parser = values::epsilons, conflicts_with = "perplexities", allow_hyphen_values = true)]
    epsilons: Option<Numbers>,

    /// The perplexities instead, such as 2,5,10
    #[arg(long, value_name = "LIST", value_parser = values::perplexities, allow_hyphen_values = true)]
    perplexities: Option<Numbers>,

    /// The file for the table: .csv, .tsv, .parquet, .arrow or .npy
    #[arg(short, long, value_name = "FILE", default_value = "ewca-out/path.csv", value_parser = values::table_file)]
    output: PathBuf,

    #[command(flatten)]
    report: ReportOutput,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    weights: WeightArgs,

    #[command(flatten)]
    preprocessing: PreprocessingArgs,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    limits: LimitArgs,

    #[command(flatten)]
    ending: EndingArgs,
}

impl PathArgs {
    fn into_job(self) -> Result<PathJob, String> {
        let params = self.method.params()?;
        params.clone().check().map_err(|error| error.to_string())?;
        let limits = Limits::from(self.limits);
        let steps = match (self.epsilons, self.perplexities) {
            (Some(Numbers(epsilons)), _) => Steps::Epsilons(epsilons),
            (_, Some(Numbers(perplexities))) => Steps::Perplexities(perplexities),
            _ => Steps::Automatic,
        };
        Ok(PathJob {
            weighting: self.weights.into_weighting(),
            table: self.table.into_job(self.input, limits.max_memory),
            preprocessing: self.preprocessing.into_steps(),
            components: self.method.components,
            params,
            steps,
            limits,
            output: self.output,
            report: self.report.wish(),
            allow_unconverged: self.ending.allow_unconverged,
        })
    }
}

/// Say what is in a file: a table in any format, or a model.
///
/// Shape, types, names, missing cells and range, and the command to go on with.
#[derive(Debug, Args)]
#[command(after_help = examples::INSPECT)]
struct InspectArgs {
    /// The file, or a 10x folder
    file: PathBuf,

    #[command(flatten)]
    table: TableArgs,
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
struct DemoArgs {
    /// The folder for the results; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out/demo")]
    output: PathBuf,

    /// The file for the report [default: report.html in the folder]
    #[arg(long, value_name = "FILE", value_parser = values::html_file)]
    report: Option<PathBuf>,
}

/// Print the completions of a shell.
#[derive(Debug, Args)]
#[command(after_help = examples::COMPLETIONS)]
struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Print the manual page, or write all pages to a folder.
#[derive(Debug, Args)]
#[command(after_help = examples::MAN)]
struct ManArgs {
    /// A folder for the pages of all commands; it is made if need be
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

#[cfg(test)]
mod tests {
    use ewca::{EigenvalueBound, Ewca, MmParams, Orthonormalisation, Solver};
    use ewca_io::{Format, Missing, Preprocessing};

    use super::*;
    use crate::input::table::Input;

    fn request(arguments: &[&str]) -> Result<Request, String> {
        let cli = Cli::try_parse_from([&["ewca"], arguments].concat()).map_err(|error| error.to_string())?;
        let overwrite = cli.files.overwrite;
        Ok(Request { console: cli.messages.console(), overwrite, job: cli.command.into_job(overwrite)? })
    }

    fn fit(arguments: &[&str]) -> Result<(Console, FitJob), String> {
        match request(&[&["fit"], arguments].concat())? {
            Request { console, job: Job::Fit(job), .. } => Ok((console, *job)),
            other => panic!("not a fit: {other:?}"),
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_bare_select_compares_what_the_library_does() {
        let Job::Select(job) = request(&["select", "data.csv"]).unwrap().job else { panic!("not a selection") };
        assert_eq!(job.components, ewca::DEFAULT_COMPONENTS.collect::<Vec<_>>());
    }

    #[test]
    fn a_bare_fit_has_the_librarys_defaults() {
        let (console, job) = fit(&["data.csv"]).unwrap();
        assert_eq!(job.params, Ewca::params(2));
        assert_eq!(job.wanted, Wanted::default());
        assert_eq!(job.table.input, Input::File("data.csv".into()));
        assert_eq!(job.output, PathBuf::from("ewca-out"));
        assert!(job.preprocessing.is_nothing() && job.checkpoint.is_none() && job.resume.is_none());
        assert_eq!((console.verbosity, console.json), (Verbosity::Normal, false));
    }

    #[test]
    fn every_option_reaches_the_job() {
        let line = "- -k 3 --perplexity 7.5 --solver mm --mm-inner-steps 4 --mm-bound exact --mm-orthonormalisation polar \
                    --restarts 2 --seed 9 --tolerance 1e-8 --max-iterations 50 --max-memory 2GiB --threads 3 -o out -v \
                    --label l --id i --ignore a --ignore b --where s=x=y --missing mean --delimiter tab --no-header --json \
                    --transpose --variable X --format mat --normalize-total 1e4 --log1p --top-variable 9 \
                    --scale unit-variance --scores s.npy --loadings l.csv --plan p.parquet --partners 7 --dense-plan d.npy \
                    --checkpoint c --checkpoint-every 1.5 --resume r";
        let (console, job) = fit(&line.split_whitespace().collect::<Vec<_>>()).unwrap();
        let mm =
            MmParams { inner_steps: 4, bound: EigenvalueBound::Exact, orthonormalisation: Orthonormalisation::Polar };
        let params = Ewca::params(3)
            .perplexity(7.5)
            .solver(Solver::Mm(mm))
            .restarts(2)
            .seed(9)
            .tolerance(1e-8)
            .max_iterations(50);
        assert_eq!(job.params, params);
        assert_eq!((console.verbosity, console.json), (Verbosity::Verbose, true));
        assert_eq!((job.limits.max_memory, job.limits.threads), (Some(2 << 30), Some(3)));
        let TableJob { input, read } = &job.table;
        assert_eq!(*input, Input::Standard);
        assert_eq!(read.ignore, ["a", "b"]);
        assert_eq!(read.filter, Some(("s".into(), "x=y".into())));
        assert_eq!((read.missing, read.delimiter, read.header), (Missing::Mean, Some(b'\t'), false));
        assert_eq!((read.transpose, read.array.as_deref(), read.format), (true, Some("X"), Some(Format::Mat)));
        let steps =
            Preprocessing { normalize_total: Some(1e4), log1p: true, top_variable: Some(9), unit_variance: true };
        assert_eq!(job.preprocessing, steps);
        assert_eq!((job.exports.partners, job.exports.plan), (7, Some("p.parquet".into())));
        assert_eq!(job.checkpoint.unwrap().every, Duration::from_millis(1500));
        assert_eq!(job.resume, Some("r".into()));
    }

    #[test]
    fn a_path_has_steps() {
        let steps = |arguments: &[&str]| match request(&[&["path", "a.csv", "-k", "3"], arguments].concat()) {
            Ok(Request { job: Job::Path(job), .. }) => Ok(job.steps),
            Ok(other) => panic!("not a path: {other:?}"),
            Err(problem) => Err(problem),
        };
        assert_eq!(steps(&[]), Ok(Steps::Automatic));
        assert_eq!(steps(&["--epsilons", "1,2"]), Ok(Steps::Epsilons(vec![1.0, 2.0])));
        assert_eq!(steps(&["--perplexities", "2,5"]), Ok(Steps::Perplexities(vec![2.0, 5.0])));
        assert!(steps(&["--epsilons", "1", "--perplexities", "2"]).is_err());
        assert!(steps(&["--epsilon", "1"]).is_err());
    }

    #[test]
    fn wrong_values_are_refused() {
        for wrong in [
            &["a.csv", "-k", "0"][..],
            &["a.csv", "--epsilon", "-1"],
            &["a.csv", "--epsilon", "1", "--perplexity", "5"],
            &["a.csv", "--perplexity", "1"],
            &["a.csv", "--tolerance", "0"],
            &["a.csv", "--max-iterations", "0"],
            &["a.csv", "--threads", "0"],
            &["a.csv", "--max-memory", "much"],
            &["a.csv", "--mm-bound", "exact"],
            &["a.csv", "--where", "train"],
            &["a.csv", "--format", "xls"],
            &["a.csv", "--scores", "s.xlsx"],
            &["a.csv", "--dense-plan", "p.csv"],
            &["a.csv", "--write-anndata", "b.h5ad"],
            &["a.h5ad", "--transpose", "--write-anndata", "b.h5ad"],
            &["a.csv", "--normalize-total", "0"],
            &["a.csv", "--top-variable", "0"],
            &["a.csv", "--checkpoint-every", "-1"],
            &["a.csv", "-v", "-q"],
            &[],
        ] {
            assert!(fit(wrong).is_err(), "{wrong:?}");
        }
    }
}
