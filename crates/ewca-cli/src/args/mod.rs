//! What the user may type, and what the program makes of it: the one place where arguments become typed jobs.

use std::path::PathBuf;

use clap::error::ErrorKind;
use clap::{Args, CommandFactory, Parser, Subcommand, ValueEnum};
use ewca::{EigenvalueBound, Ewca, MmParams, Orthonormalisation, Params, Solver};
use ewca_io::{Missing, ReadOptions};

use crate::input::Input;

/// What the program is to do.
#[derive(Debug)]
pub enum Job {
    /// `ewca fit`.
    Fit(Box<FitJob>),
    /// `ewca demo`.
    Demo(DemoJob),
}

/// A fit of a user's table.
#[derive(Debug)]
pub struct FitJob {
    /// Where the table comes from.
    pub input: Input,
    /// How to read it.
    pub read: ReadOptions,
    /// How to fit it. They pass [`Params::check`].
    pub params: Params,
    /// What was asked of the parameters, for the account and the summary.
    pub wanted: Wanted,
    /// The most memory to use, in bytes.
    pub max_memory: Option<usize>,
    /// The number of threads; all when `None`.
    pub threads: Option<usize>,
    /// The folder for the results.
    pub output: PathBuf,
    /// How much to say.
    pub verbosity: Verbosity,
}

/// The parameters as the user gave them, where the library's own are not open to readers.
#[derive(Debug, Clone, PartialEq)]
pub struct Wanted {
    /// The perplexity to aim at, where one was given.
    pub perplexity: Option<f64>,
    /// The relative gradient at which the fit has converged.
    pub tolerance: f64,
    /// The limit of iterations.
    pub max_iterations: usize,
    /// Further attempts from random subspaces.
    pub restarts: usize,
    /// The seed of everything random.
    pub seed: u64,
}

impl Default for Wanted {
    /// What a bare `ewca fit` asks for.
    fn default() -> Self {
        Self { perplexity: None, tolerance: 1e-6, max_iterations: 1000, restarts: 0, seed: 0 }
    }
}

/// The demonstration.
#[derive(Debug)]
pub struct DemoJob {
    /// The folder for the results.
    pub output: PathBuf,
}

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// The account.
    Normal,
    /// The account, and where the time went.
    Verbose,
}

/// Reads the command line. Wrong usage ends the program with exit code 2 and a message.
pub fn parse() -> Job {
    match Cli::parse().command {
        Command::Fit(args) => match args.into_job() {
            Ok(job) => Job::Fit(Box::new(job)),
            Err(problem) => wrong_usage("fit", &problem),
        },
        Command::Demo(args) => Job::Demo(DemoJob { output: args.output }),
    }
}

fn wrong_usage(command: &str, problem: &str) -> ! {
    let mut program = Cli::command();
    // `build` gives the subcommand the name that its usage line shows: `ewca fit`.
    program.build();
    match program.find_subcommand_mut(command) {
        Some(command) => command.error(ErrorKind::ValueValidation, problem).exit(),
        None => program.error(ErrorKind::ValueValidation, problem).exit(),
    }
}

const PROGRAM_EXAMPLES: &str = "\
Start here:
  ewca demo              a first look, on data that come with the program
  ewca fit data.csv      fit a table: samples in rows, features in columns
  ewca fit --help        all options, with examples

Every fit has one parameter besides the number of components. Epsilon says how
far each sample's mass spreads over its neighbours (towards 0 the result is
PCA); perplexity says the same as a number of neighbours.";

const FIT_EXAMPLES: &str = "\
Examples:
  ewca fit data.csv
          two components, everything else by default, results in ewca-out/
  ewca fit data.csv -k 5 --label class --id sample -o results
          five components; the columns 'class' and 'sample' are no features
  ewca fit data.tsv.gz -k 3 --perplexity 20 -v
          each sample spreads over about 20; says where the time went
  zcat data.csv.gz | ewca fit - --epsilon 15 --restarts 10 --seed 1
          from a pipe; the best of eleven attempts

Files written to the output folder:
  scores.csv       one row per sample: id, label (if given), ewca1 .. ewcaK
  loadings.csv     one row per feature: feature, ewca1 .. ewcaK
  summary.json     parameters, explained variance, certificate, timings

Exit codes:
  0    converged
  1    bad input or failed run
  2    wrong usage
  3    results written, but not converged
  130  interrupted, best result written (Ctrl-C once; twice quits at once)";

const DEMO_EXAMPLES: &str = "\
Examples:
  ewca demo                results in ewca-out/demo/
  ewca demo -o first       results in first/";

/// Entropic Wasserstein Component Analysis: PCA with a sense of neighbourhood.
#[derive(Debug, Parser)]
#[command(name = "ewca", version, max_term_width = 80, after_help = PROGRAM_EXAMPLES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    Fit(Box<FitArgs>),
    Demo(DemoArgs),
}

/// Find the subspace that keeps each sample close to its neighbours.
///
/// Reads a table with samples in rows and features in columns, centres it, and finds k orthonormal components. Epsilon says how
/// far each sample's mass spreads over its neighbours (towards 0 the result is PCA); perplexity says the same as a number of
/// neighbours. Give one of them, or neither.
#[derive(Debug, Args)]
#[command(after_help = FIT_EXAMPLES)]
struct FitArgs {
    /// The table: CSV or TSV, also .gz or .zst; `-` is standard input
    input: PathBuf,

    #[command(flatten)]
    table: TableArgs,

    #[command(flatten)]
    method: MethodArgs,

    #[command(flatten)]
    run: RunArgs,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The table")]
struct TableArgs {
    /// The column that holds the classes; it is no feature
    #[arg(long, value_name = "COLUMN")]
    label: Option<String>,

    /// The column that names the samples; it is no feature [default: row numbers from 1]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,

    /// A column to leave out; may be given several times
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,

    /// Use only the rows with this text in this column, which is then no feature
    #[arg(long = "where", value_name = "COLUMN=TEXT", value_parser = condition)]
    only: Option<(String, String)>,

    /// What to do with missing cells (empty, NA, NaN)
    #[arg(long, value_name = "HOW", default_value = "error")]
    missing: MissingArg,

    /// The first line holds data, not names
    #[arg(long)]
    no_header: bool,

    /// What separates the cells: , ; | tab or space [default: found in the text]
    #[arg(long, value_name = "CHARACTER", value_parser = delimiter)]
    delimiter: Option<u8>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The method")]
struct MethodArgs {
    /// The number of components
    #[arg(short = 'k', long, value_name = "K", default_value = "2", value_parser = at_least_one)]
    components: usize,

    /// How far each sample's mass spreads, in squared units of the data: the larger, the more neighbours count; towards 0 the
    /// result is PCA
    #[arg(long, value_name = "E", value_parser = positive, allow_negative_numbers = true, conflicts_with = "perplexity")]
    epsilon: Option<f64>,

    /// Over how many samples each one spreads on average; epsilon is then found for you [default: 10, or a third of the samples
    /// if that is less]
    #[arg(long, value_name = "P", value_parser = above_one, allow_negative_numbers = true)]
    perplexity: Option<f64>,

    /// The algorithm; all find the same optimum, lbfgs in the shortest time
    #[arg(long, value_name = "NAME", default_value = "auto")]
    solver: SolverArg,

    /// The relative gradient at which the fit has converged
    #[arg(long, value_name = "T", default_value = "1e-6", value_parser = fraction, allow_negative_numbers = true)]
    tolerance: f64,

    /// The largest number of iterations of one attempt
    #[arg(long, value_name = "N", default_value = "1000", value_parser = at_least_one)]
    max_iterations: usize,

    /// Further attempts from random subspaces; the lowest loss is kept
    #[arg(long, value_name = "R", default_value = "0")]
    restarts: usize,

    /// The seed of everything random
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,

    /// Steps per plan, with --solver mm [default: 10]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    mm_inner_steps: Option<usize>,

    /// The bound of the plan's smallest eigenvalue, with --solver mm [default: zero]
    #[arg(long, value_name = "NAME")]
    mm_bound: Option<BoundArg>,

    /// How steps are made orthonormal, with --solver mm [default: qr]
    #[arg(long, value_name = "NAME")]
    mm_orthonormalisation: Option<OrthonormalisationArg>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The run")]
struct RunArgs {
    /// The folder for the results; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out")]
    output: PathBuf,

    /// The number of threads; it does not change the results [default: all]
    #[arg(long, value_name = "T", value_parser = thread_count)]
    threads: Option<usize>,

    /// The most memory to use, such as 8GiB or 500MB; a fit that needs more is refused
    #[arg(long, value_name = "SIZE", value_parser = size)]
    max_memory: Option<usize>,

    /// Say more: solver, kernel passes, time and memory
    #[arg(short, long, conflicts_with = "quiet")]
    verbose: bool,

    /// Say nothing but warnings and errors
    #[arg(short, long)]
    quiet: bool,
}

/// Show the method at work on data that come with the program.
///
/// The data are 63 tumour samples of four kinds with 2308 gene expressions each (Khan et al. 2001), and 20 further samples to
/// try the result on. Fits five components, compares them with PCA, and writes the same files as `ewca fit`.
///
/// Epsilon says how far each sample's mass spreads over its neighbours; perplexity says the same as a number of neighbours. The
/// demonstration uses the default perplexity, 10.
#[derive(Debug, Args)]
#[command(after_help = DEMO_EXAMPLES)]
struct DemoArgs {
    /// The folder for the results; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = "ewca-out/demo")]
    output: PathBuf,
}

#[derive(Debug, Clone, Copy, PartialEq, ValueEnum)]
enum SolverArg {
    /// The fastest for the shape of the data
    Auto,
    /// Riemannian L-BFGS
    Lbfgs,
    /// Block coordinate descent: the paper's Algorithm 1
    Bcd,
    /// Block majorisation-minimisation: the paper's Algorithm 2
    Mm,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum BoundArg {
    /// The eigenvalue itself: n x n work in every iteration
    Exact,
    /// Gershgorin's -1/n
    Gershgorin,
    /// 0: valid, tighter and free
    Zero,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OrthonormalisationArg {
    /// QR factorisation
    Qr,
    /// Polar factor: the nearest orthonormal frame
    Polar,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MissingArg {
    /// Refuse the table, naming the first missing cell
    Error,
    /// Leave out rows with missing cells
    DropRows,
    /// Leave out columns with missing cells
    DropColumns,
    /// Put the column's mean in their place
    Mean,
}

impl FitArgs {
    fn into_job(self) -> Result<FitJob, String> {
        let Self { input, table, method, run } = self;
        let wanted = Wanted {
            perplexity: method.perplexity,
            tolerance: method.tolerance,
            max_iterations: method.max_iterations,
            restarts: method.restarts,
            seed: method.seed,
        };
        let params = method.into_params()?;
        params.clone().check().map_err(|error| error.to_string())?;
        let input = if input.as_os_str() == "-" { Input::Standard } else { Input::File(input) };
        let read = ReadOptions { max_bytes: run.max_memory.map(|bytes| bytes as u64), ..table.into_options() };
        Ok(FitJob {
            input,
            read,
            params,
            wanted,
            max_memory: run.max_memory,
            threads: run.threads,
            verbosity: run.verbosity(),
            output: run.output,
        })
    }
}

impl TableArgs {
    fn into_options(self) -> ReadOptions {
        let missing = match self.missing {
            MissingArg::Error => Missing::Error,
            MissingArg::DropRows => Missing::DropRows,
            MissingArg::DropColumns => Missing::DropColumns,
            MissingArg::Mean => Missing::Mean,
        };
        ReadOptions {
            label: self.label,
            id: self.id,
            ignore: self.ignore,
            filter: self.only,
            header: !self.no_header,
            delimiter: self.delimiter,
            missing,
            ..ReadOptions::default()
        }
    }
}

impl MethodArgs {
    fn into_params(self) -> Result<Params, String> {
        let solver = self.solver()?;
        let mut params = Ewca::params(self.components)
            .solver(solver)
            .tolerance(self.tolerance)
            .max_iterations(self.max_iterations)
            .restarts(self.restarts)
            .seed(self.seed);
        if let Some(epsilon) = self.epsilon {
            params = params.epsilon(epsilon);
        }
        if let Some(perplexity) = self.perplexity {
            params = params.perplexity(perplexity);
        }
        Ok(params)
    }

    fn solver(&self) -> Result<Solver, String> {
        let given = [
            ("--mm-inner-steps", self.mm_inner_steps.is_some()),
            ("--mm-bound", self.mm_bound.is_some()),
            ("--mm-orthonormalisation", self.mm_orthonormalisation.is_some()),
        ];
        if let (true, Some((option, _))) = (self.solver != SolverArg::Mm, given.iter().find(|(_, given)| *given)) {
            return Err(format!("{option} is an option of --solver mm: add --solver mm, or leave {option} out"));
        }
        Ok(match self.solver {
            SolverArg::Auto => Solver::Auto,
            SolverArg::Lbfgs => Solver::Lbfgs,
            SolverArg::Bcd => Solver::Bcd,
            SolverArg::Mm => {
                let default = MmParams::default();
                Solver::Mm(MmParams {
                    inner_steps: self.mm_inner_steps.unwrap_or(default.inner_steps),
                    bound: self.mm_bound.map_or(default.bound, EigenvalueBound::from),
                    orthonormalisation: self
                        .mm_orthonormalisation
                        .map_or(default.orthonormalisation, Orthonormalisation::from),
                })
            }
        })
    }
}

impl RunArgs {
    fn verbosity(&self) -> Verbosity {
        match (self.quiet, self.verbose) {
            (true, _) => Verbosity::Quiet,
            (_, true) => Verbosity::Verbose,
            _ => Verbosity::Normal,
        }
    }
}

impl From<BoundArg> for EigenvalueBound {
    fn from(bound: BoundArg) -> Self {
        match bound {
            BoundArg::Exact => Self::Exact,
            BoundArg::Gershgorin => Self::Gershgorin,
            BoundArg::Zero => Self::Zero,
        }
    }
}

impl From<OrthonormalisationArg> for Orthonormalisation {
    fn from(orthonormalisation: OrthonormalisationArg) -> Self {
        match orthonormalisation {
            OrthonormalisationArg::Qr => Self::Qr,
            OrthonormalisationArg::Polar => Self::Polar,
        }
    }
}

fn number(text: &str, fits: impl Fn(f64) -> bool, expected: &str) -> Result<f64, String> {
    match text.parse() {
        Ok(value) if fits(value) => Ok(value),
        _ => Err(format!("expected {expected}")),
    }
}

fn positive(text: &str) -> Result<f64, String> {
    number(text, |x| x.is_normal() && x > 0.0, "a positive number")
}

fn above_one(text: &str) -> Result<f64, String> {
    number(text, |x| x.is_finite() && x > 1.0, "a number above 1 and below the number of samples")
}

fn fraction(text: &str) -> Result<f64, String> {
    number(text, |x| x > 0.0 && x < 1.0, "a number between 0 and 1, such as 1e-6")
}

fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if count >= 1 => Ok(count),
        _ => Err("expected a whole number, at least 1".into()),
    }
}

fn thread_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(count) if (1..=1024).contains(&count) => Ok(count),
        _ => Err("expected a whole number from 1 to 1024".into()),
    }
}

fn condition(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((column, text)) if !column.is_empty() => Ok((column.into(), text.into())),
        _ => Err("expected COLUMN=TEXT, such as split=train".into()),
    }
}

fn delimiter(text: &str) -> Result<u8, String> {
    match text {
        "tab" | "\\t" => Ok(b'\t'),
        "space" => Ok(b' '),
        _ => match text.as_bytes() {
            [byte @ (b',' | b';' | b'|' | b'\t' | b' ')] => Ok(*byte),
            _ => Err("expected one of , ; | tab space".into()),
        },
    }
}

/// A size such as `8GiB`, `500MB`, `1.5g` or a plain number of bytes.
fn size(text: &str) -> Result<usize, String> {
    let wrong = || "expected a size such as 8GiB, 500MB or 1000000".to_string();
    let split = text.find(|c: char| c.is_ascii_alphabetic() || c == ' ').unwrap_or(text.len());
    let (count, unit) = text.split_at(split);
    let factor: f64 = match unit.trim().to_ascii_lowercase().as_str() {
        "" | "b" => 1.0,
        "k" | "kib" => 1024f64,
        "m" | "mib" => 1024f64.powi(2),
        "g" | "gib" => 1024f64.powi(3),
        "t" | "tib" => 1024f64.powi(4),
        "kb" => 1e3,
        "mb" => 1e6,
        "gb" => 1e9,
        "tb" => 1e12,
        _ => return Err(wrong()),
    };
    let bytes = count.parse::<f64>().map_err(|_| wrong())? * factor;
    if bytes >= 1.0 && bytes < usize::MAX as f64 { Ok(bytes as usize) } else { Err(wrong()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn job(arguments: &[&str]) -> Result<FitJob, String> {
        let cli = Cli::try_parse_from([&["ewca", "fit"], arguments].concat()).map_err(|error| error.to_string())?;
        match cli.command {
            Command::Fit(args) => args.into_job(),
            Command::Demo(_) => Err("not a fit".into()),
        }
    }

    #[test]
    fn the_arguments_are_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn a_bare_fit_has_the_librarys_defaults() {
        let job = job(&["data.csv"]).unwrap();
        assert_eq!(job.params, Ewca::params(2));
        assert_eq!(job.wanted, Wanted::default());
        assert_eq!(job.input, Input::File("data.csv".into()));
        assert_eq!(job.output, PathBuf::from("ewca-out"));
        assert_eq!(job.verbosity, Verbosity::Normal);
    }

    #[test]
    fn every_option_reaches_the_job() {
        let job = job(&[
            "-",
            "-k",
            "3",
            "--perplexity",
            "7.5",
            "--solver",
            "mm",
            "--mm-inner-steps",
            "4",
            "--mm-bound",
            "exact",
            "--mm-orthonormalisation",
            "polar",
            "--restarts",
            "2",
            "--seed",
            "9",
            "--tolerance",
            "1e-8",
            "--max-iterations",
            "50",
            "--max-memory",
            "2GiB",
            "--threads",
            "3",
            "-o",
            "out",
            "-v",
            "--label",
            "l",
            "--id",
            "i",
            "--ignore",
            "a",
            "--ignore",
            "b",
            "--where",
            "s=x=y",
            "--missing",
            "mean",
            "--delimiter",
            "tab",
            "--no-header",
        ])
        .unwrap();
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
        assert_eq!(job.input, Input::Standard);
        assert_eq!((job.max_memory, job.threads), (Some(2 << 30), Some(3)));
        assert_eq!(job.read.ignore, ["a", "b"]);
        assert_eq!(job.read.filter, Some(("s".into(), "x=y".into())));
        assert_eq!((job.read.missing, job.read.delimiter, job.read.header), (Missing::Mean, Some(b'\t'), false));
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
            &["a.csv", "-v", "-q"],
            &[],
        ] {
            assert!(job(wrong).is_err(), "{wrong:?}");
        }
    }

    #[test]
    fn sizes() {
        assert_eq!(size("8GiB"), Ok(8 << 30));
        assert_eq!(size("1.5 k"), Ok(1536));
        assert_eq!(size("500MB"), Ok(500_000_000));
        assert_eq!(size("7"), Ok(7));
        for wrong in ["", "GiB", "0", "-1G", "1e30G", "nan"] {
            assert!(size(wrong).is_err(), "{wrong}");
        }
    }
}
