//! The state of a running fit: all that is needed to go on, and what it belongs to.

use super::params::Smoothing;
use super::perplexity_search::PerplexitySearch;
use super::{Iteration, Params, Start, Termination};
use crate::kernel::Tally;
use crate::samples::Span;
use crate::solvers::{EigenvalueBound, MmParams, Solver, State};
use crate::subspace::Orthonormalisation;

/// A start by continuation takes this many steps up to epsilon.
pub(super) const CONTINUATION_STEPS: i32 = 2;
/// How often all starts may be made again at another epsilon, for the sake of a wanted perplexity.
pub(super) const MAX_SEARCH_ROUNDS: usize = 20;
/// Ends that are the same to this part of their loss agree.
const SAME_LOSS: f64 = 1e-6;

/// How settled epsilon is while a perplexity is sought.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) enum Stage {
    /// The subspace is still the first one: a plan is all it takes to know the perplexity.
    Calibration,
    /// Fits are loose.
    Approach,
    /// Fits are accurate enough to tell the perplexity of the end.
    Settling,
    /// Epsilon is fixed, or settled but for the last digits.
    Final,
    /// A start by continuation, so many steps below the epsilon that is wanted.
    Continuation { steps_left: i32 },
}

impl Stage {
    /// How near the perplexity must come to the wanted one.
    pub fn close(self) -> f64 {
        match self {
            Self::Calibration => 0.05,
            Self::Approach => 4e-3,
            Self::Settling => 5e-3,
            Self::Final | Self::Continuation { .. } => 7e-3,
        }
    }
}

/// The starts of a fit at one epsilon: the first one, random ones, and one by continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Starts {
    pub(super) random: usize,
    pub(super) continuation: bool,
}

impl Starts {
    /// The first one alone.
    pub const ONE: Self = Self { random: 0, continuation: false };

    pub fn count(self) -> usize {
        1usize.saturating_add(self.random).saturating_add(usize::from(self.continuation))
    }
}

/// A running fit, between two iterations: all that is needed to go on. Opaque; can be serialised with
/// serde (feature `serde`).
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FitState {
    /// Of the data and the parameters that the state belongs to, to the last bit.
    pub(super) fingerprint: u64,
    /// Of what stays the same when rounding differs: another number of processes, another kind of processor.
    pub(super) stable_fingerprint: u64,
    pub(super) unit: f64,
    pub(super) total_variance: f64,
    pub(super) starts: Starts,
    /// Which of them is under way.
    pub(super) start: usize,
    /// Counts all that was begun, the search included.
    pub(super) attempt: usize,
    pub(super) iteration: usize,
    /// What this attempt is to end at, in units of the span, as everything below.
    pub(super) epsilon: f64,
    /// None when epsilon is fixed.
    pub(super) search: Option<PerplexitySearch>,
    /// Whether this attempt only looks for an epsilon, at which all starts are made afterwards.
    pub(super) searching: bool,
    /// How often all starts were made.
    pub(super) rounds: usize,
    pub(super) stage: Stage,
    pub(super) solver: State,
    /// What passes took up to here.
    pub(super) tally: Tally,
    pub(super) history: Vec<Iteration>,
    /// The losses at the ends of the starts.
    pub(super) ends: Vec<f64>,
    /// How many starts were made, and how many of them ended at the best loss, once the best is refined.
    pub(super) made: Option<(usize, usize)>,
    /// Whether epsilon stays what it is, since all starts were made at it.
    pub(super) settled: bool,
    /// The relative gradient to which this attempt is made: its goal, or a rough one while there are starts to choose from, or directions
    /// outside of the axes to take in.
    pub(super) goal: f64,
    pub(super) best: Option<Candidate>,
    /// Where the perplexity came nearest to the wanted one since epsilon was last bounded.
    pub(super) nearest: Option<Nearest>,
}

/// An end whose perplexity is so far from the wanted one, to come back to where the optimum jumps over that.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Nearest {
    /// On the scale of logarithms.
    pub(super) distance: f64,
    pub(super) end: Candidate,
    /// What all starts at its epsilon ended at.
    pub(super) ends: Vec<f64>,
}

/// The end of an attempt.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(super) struct Candidate {
    /// With what the solver remembers, to go on from.
    pub(super) solver: State,
    pub(super) termination: Termination,
    pub(super) attempt: usize,
    pub(super) iterations: usize,
    /// Eigenvalues and eigen-deficit, where the last test found them.
    pub(super) leading: Option<(Vec<f64>, f64)>,
}

impl FitState {
    /// How many starts were made, and how many of them ended where the best one did, whose loss this is.
    pub(super) fn starts_made(&self, best: f64) -> (usize, usize) {
        let agreeing = self.ends.iter().filter(|end| is_same_loss(**end, best)).count();
        self.made.unwrap_or((self.ends.len().max(1), agreeing.max(1)))
    }

    /// Whether the numbers are such as a fit has: a state may come from a file, and a forged one must not keep a fit busy.
    pub(super) fn is_sane(&self) -> bool {
        let steps_left = match self.stage {
            Stage::Continuation { steps_left } => (1..=CONTINUATION_STEPS).contains(&steps_left),
            _ => true,
        };
        [self.epsilon, self.unit, self.total_variance, self.goal].into_iter().all(is_positive)
            && steps_left
            && self.start < self.starts.count()
            && self.rounds <= MAX_SEARCH_ROUNDS
            && self.attempt < usize::MAX / 2
            && self.iteration < usize::MAX / 2
            && self.tally.passes < usize::MAX / 2
            && self.search.as_ref().is_none_or(PerplexitySearch::is_sane)
    }
}

/// Whether a number from a file can be a length, or a square of one.
pub(super) fn is_positive(x: f64) -> bool {
    x.is_normal() && x.is_sign_positive()
}

/// Whether two starts ended at the same optimum, by all that their losses can tell.
pub(super) fn is_same_loss(loss: f64, best: f64) -> bool {
    (loss - best).abs() <= SAME_LOSS * best.abs()
}

/// What determines a fit: parameters that change the result, and the data through their variances and weights.
pub(super) fn fingerprint(span: &Span<'_>, params: &Params) -> u64 {
    hash(params, span.variances.iter().chain(&span.weights).chain([&span.unit]))
}

/// The same without what rounding can change.
pub(super) fn stable_fingerprint(span: &Span<'_>, params: &Params) -> u64 {
    hash(params, span.weights.iter())
}

/// FNV-1a.
fn hash<'v>(params: &Params, values: impl Iterator<Item = &'v f64>) -> u64 {
    let bytes = encoded(params).into_iter().chain(values.flat_map(|value| value.to_bits().to_le_bytes()));
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3))
}

/// The parameters that change a result, in bytes that stay the same in later versions: those of postcard, with which checkpoints were
/// hashed from the beginning. Every field is named, so that a new one is not forgotten.
fn encoded(params: &Params) -> Vec<u8> {
    let Params {
        components,
        smoothing,
        solver,
        tolerance,
        max_iterations: _,
        start,
        restarts,
        seed,
        threads: _,
        memory_budget: _,
        skip_far_pairs,
        single_precision,
        coarse_to_fine,
        landmarks,
        single_start,
    } = params;
    let mut out = Encoding::default();
    out.size(*components);
    match smoothing {
        Smoothing::Default => out.integer(0),
        Smoothing::Epsilon(epsilon) => out.tagged(1, *epsilon),
        Smoothing::Perplexity(perplexity) => out.tagged(2, *perplexity),
    }
    match solver {
        Solver::Auto => out.integer(0),
        Solver::Lbfgs => out.integer(1),
        Solver::Bcd => out.integer(2),
        Solver::Mm(MmParams { inner_steps, bound, orthonormalisation }) => {
            out.integer(3);
            out.size(*inner_steps);
            out.integer(match bound {
                EigenvalueBound::Exact => 0,
                EigenvalueBound::Gershgorin => 1,
                EigenvalueBound::Zero => 2,
            });
            out.integer(match orthonormalisation {
                Orthonormalisation::Qr => 0,
                Orthonormalisation::Polar => 1,
            });
        }
    }
    out.number(*tolerance);
    out.integer(0); // Iterations do not count.
    match start {
        Start::Pca => out.integer(0),
        Start::Random => out.integer(1),
        Start::Loadings(loadings) => {
            let values = loadings.as_column_major();
            out.integer(2);
            [loadings.rows(), loadings.columns(), values.len()].into_iter().for_each(|size| out.size(size));
            values.iter().for_each(|value| out.number(*value));
        }
    }
    out.size(*restarts);
    out.integer(*seed);
    [0; 2].into_iter().for_each(|nothing| out.integer(nothing)); // Nor do threads and memory.
    [skip_far_pairs, single_precision, coarse_to_fine].into_iter().for_each(|flag| out.integer((*flag).into()));
    out.integer(landmarks.is_some().into());
    landmarks.iter().for_each(|landmarks| out.size(*landmarks));
    out.integer((*single_start).into());
    out.0
}

#[derive(Default)]
struct Encoding(Vec<u8>);

impl Encoding {
    /// Seven bits at a time, the lowest first.
    fn integer(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }

    fn size(&mut self, value: usize) {
        self.integer(value as u64);
    }

    fn number(&mut self, value: f64) {
        self.0.extend(value.to_bits().to_le_bytes());
    }

    fn tagged(&mut self, tag: u64, value: f64) {
        self.integer(tag);
        self.number(value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fit::Ewca;
    use crate::matrix::Matrix;

    /// Checkpoints of before go on: what their parameters were hashed by is what postcard makes of them.
    #[test]
    fn parameters_are_hashed_as_postcard_writes_them() {
        let mm = |bound, orthonormalisation| Solver::Mm(MmParams { inner_steps: 300, bound, orthonormalisation });
        let loadings = Matrix::from_fn(3, 2, |i, j| i as f64 - 0.25 * j as f64);
        let all = [
            Ewca::params(1),
            Ewca::params(127).epsilon(0.125).start(Start::Random),
            Ewca::params(128).perplexity(30.0).solver(Solver::Lbfgs).restarts(5).seed(u64::MAX),
            Ewca::params(2).start(Start::Loadings(loadings)).solver(Solver::Bcd).tolerance(1e-9),
            Ewca::params(20_000).landmarks(300).single_start().skip_far_pairs(false),
            Ewca::params(2).solver(mm(EigenvalueBound::Exact, Orthonormalisation::Qr)).single_precision(false),
            Ewca::params(2).solver(mm(EigenvalueBound::Gershgorin, Orthonormalisation::Polar)).coarse_to_fine(false),
            Ewca::params(2).solver(mm(EigenvalueBound::Zero, Orthonormalisation::Polar)).max_iterations(3),
            Ewca::params(2).threads(3).memory_budget(1 << 30),
        ];
        for params in all {
            let same = Params { threads: None, memory_budget: None, max_iterations: 0, ..params.clone() };
            assert_eq!(encoded(&params), postcard::to_stdvec(&same).unwrap(), "{params:?}");
        }
    }
}
