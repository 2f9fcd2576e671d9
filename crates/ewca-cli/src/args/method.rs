//! Options of every command that fits.

use clap::{Args, ValueEnum};
use ewca::{EigenvalueBound, Ewca, MmParams, Orthonormalisation, Params, Solver};
use ewca_eval::Protocol;

use super::job::{Components, Limits};
use super::values;

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The method")]
pub struct SpreadArgs {
    /// How strong the smoothing is, in squared units of the data: with a larger value, each sample is matched with more
    /// neighbours; towards 0 the result is PCA
    #[arg(long, value_name = "E", value_parser = values::positive, allow_negative_numbers = true, conflicts_with = "perplexity")]
    epsilon: Option<f64>,

    /// How many neighbours each sample is matched with on average; epsilon is then found for you [default: 5, or 1 + 0.3 (n - 1)
    /// for fewer than 15 samples]
    #[arg(long, value_name = "P", value_parser = values::above_one, allow_negative_numbers = true)]
    perplexity: Option<f64>,
}

impl SpreadArgs {
    fn applied_to(&self, mut params: Params) -> Params {
        if let Some(epsilon) = self.epsilon {
            params = params.epsilon(epsilon);
        }
        if let Some(perplexity) = self.perplexity {
            params = params.perplexity(perplexity);
        }
        params
    }
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "The method")]
pub struct MethodArgs {
    /// The number of components, or auto: as many as explain more variance than chance (parallel analysis with 20 tables whose
    /// features are shuffled)
    #[arg(short = 'k', long, value_name = "K", default_value = "2", value_parser = values::components)]
    components: Components,

    /// The algorithm; all find the same optimum, and lbfgs is the fastest
    #[arg(long, value_name = "NAME", default_value = "auto")]
    solver: SolverArg,

    /// The fit has converged when the relative gradient is below this
    #[arg(long, value_name = "T", default_value = "1e-6", value_parser = values::fraction, allow_negative_numbers = true)]
    tolerance: f64,

    /// The most iterations per start
    #[arg(long, value_name = "N", default_value = "1000", value_parser = values::at_least_one)]
    max_iterations: usize,

    /// Also start from this many random subspaces, and keep the fit with the lowest loss
    #[arg(long, value_name = "R", default_value = "0")]
    restarts: usize,

    /// The seed for everything random
    #[arg(long, value_name = "S", default_value = "0")]
    seed: u64,

    /// Steps per plan, with --solver mm [default: 10]
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    mm_inner_steps: Option<usize>,

    /// The lower bound for the plan's smallest eigenvalue, with --solver mm [default: zero]
    #[arg(long, value_name = "NAME")]
    mm_bound: Option<BoundArg>,

    /// How components are kept orthonormal, with --solver mm [default: qr]
    #[arg(long, value_name = "NAME")]
    mm_orthonormalisation: Option<OrthonormalisationArg>,
}

#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Many samples")]
pub struct ManyArgs {
    /// Read the table in parts instead of loading it: .npy, Parquet or .h5ad. This is automatic for a table that is larger than
    /// --max-memory or the free memory
    #[arg(long)]
    pub in_parts: bool,

    /// Share the fit among the processes of an MPI job: mpirun -n 4 ewca fit table.npy --distributed
    #[arg(long)]
    pub distributed: bool,

    /// Compute all pairs of samples, even those too far apart to matter
    #[arg(long)]
    all_pairs: bool,

    /// Do not start from a fit of fewer samples
    #[arg(long)]
    no_coarse_start: bool,

    /// Compute all plans in double precision, even early ones that need not be accurate
    #[arg(long)]
    double_precision: bool,

    /// Approximate the fit with this many landmarks (a subset of the samples): for a million samples or more, with a perplexity
    /// well above samples / LANDMARKS. The result is marked as approximate, and its error is estimated on exact rows of the plan
    #[arg(long, value_name = "LANDMARKS", value_parser = values::at_least_two)]
    approximate: Option<usize>,
}

impl ManyArgs {
    fn applied_to(&self, params: Params) -> Params {
        let params = params
            .skip_far_pairs(!self.all_pairs)
            .coarse_to_fine(!self.no_coarse_start)
            .single_precision(!self.double_precision);
        self.approximate.into_iter().fold(params, Params::landmarks)
    }
}

/// Options of commands that judge by splits.
#[derive(Debug, Args)]
pub struct SplitArgs {
    /// The number of splits
    #[arg(long, value_name = "N", default_value = "100", value_parser = values::at_least_one)]
    splits: usize,

    /// The number of splits within each training half
    #[arg(long, value_name = "N", default_value = "20", value_parser = values::at_least_one)]
    inner_splits: usize,
}

impl SplitArgs {
    pub fn protocol(&self, seed: u64) -> Protocol {
        Protocol { splits: self.splits, inner_splits: self.inner_splits, seed }
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The run")]
pub struct LimitArgs {
    /// The number of threads; it does not change the results [default: all]
    #[arg(long, value_name = "T", value_parser = values::thread_count)]
    threads: Option<usize>,

    /// The most memory to use, such as 8GiB or 500MB; a fit that needs more is refused (`ewca fit` first tries to read the table
    /// in parts) [default: what is free]
    #[arg(long, value_name = "SIZE", value_parser = values::size)]
    max_memory: Option<usize>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "The run")]
pub struct EndingArgs {
    /// Exit with code 0 instead of 3 when the results did not converge or have collapsed: for pipelines that check the results
    /// themselves
    #[arg(long)]
    pub allow_unconverged: bool,
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
    /// The exact eigenvalue: n x n work in every iteration
    Exact,
    /// Gershgorin's -1/n
    Gershgorin,
    /// Zero: valid, tighter, and costs nothing
    Zero,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum OrthonormalisationArg {
    /// QR factorisation
    Qr,
    /// Polar decomposition: the nearest orthonormal components
    Polar,
}

/// What is asked of a fit. How many components it has may have to be found first.
#[derive(Debug, Clone)]
pub struct Asked {
    method: MethodArgs,
    solver: Solver,
    spread: Option<SpreadArgs>,
    many: Option<ManyArgs>,
}

impl Asked {
    /// What the options of a command ask for, unless they contradict each other.
    pub fn new(method: MethodArgs, spread: Option<SpreadArgs>, many: Option<ManyArgs>) -> Result<Self, String> {
        let asked = Self { solver: method.solver()?, method, spread, many };
        asked.params(asked.expected()).check().map_err(|error| error.to_string())?;
        Ok(asked)
    }

    /// How many components.
    pub fn components(&self) -> Components {
        self.method.components
    }

    /// How many components to expect while that is not known.
    pub fn expected(&self) -> usize {
        self.method.components.expected()
    }

    /// The seed for everything random.
    pub fn seed(&self) -> u64 {
        self.method.seed
    }

    /// Further attempts from random subspaces.
    pub fn restarts(&self) -> usize {
        self.method.restarts
    }

    /// The parameters of a fit with so many components.
    pub fn params(&self, components: usize) -> Params {
        let MethodArgs { tolerance, max_iterations, restarts, seed, .. } = self.method;
        let params = Ewca::params(components).solver(self.solver).tolerance(tolerance);
        let params = params.max_iterations(max_iterations).restarts(restarts).seed(seed);
        let params = self.spread.iter().fold(params, |params, spread| spread.applied_to(params));
        self.many.iter().fold(params, |params, many| many.applied_to(params))
    }
}

impl MethodArgs {
    fn solver(&self) -> Result<Solver, String> {
        let given = [
            ("--mm-inner-steps", self.mm_inner_steps.is_some()),
            ("--mm-bound", self.mm_bound.is_some()),
            ("--mm-orthonormalisation", self.mm_orthonormalisation.is_some()),
        ];
        if let (true, Some((option, _))) = (self.solver != SolverArg::Mm, given.iter().find(|(_, given)| *given)) {
            return Err(format!("{option} works only with --solver mm: add --solver mm, or remove {option}"));
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

impl From<LimitArgs> for Limits {
    fn from(args: LimitArgs) -> Self {
        Self { max_memory: args.max_memory, threads: args.threads }
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
