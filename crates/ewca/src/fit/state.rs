//! The state of a running fit: all that is needed to go on, and what it belongs to.

use serde::{Deserialize, Serialize};

use super::perplexity_search::PerplexitySearch;
use super::{Iteration, Params, Termination};
use crate::kernel::Tally;
use crate::samples::Span;
use crate::solvers::{Point, State};

/// A start by continuation takes this many steps up to epsilon.
pub(super) const CONTINUATION_STEPS: i32 = 2;
/// How often all starts may be made again at another epsilon, for the sake of a wanted perplexity.
pub(super) const MAX_SEARCH_ROUNDS: usize = 20;
/// Ends that are the same to this part of their loss agree.
const SAME_LOSS: f64 = 1e-6;

/// How settled epsilon is while a perplexity is sought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
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
            Self::Approach => 1e-2,
            Self::Settling => 7e-4,
            Self::Final | Self::Continuation { .. } => 1e-3,
        }
    }
}

/// The starts of a fit at one epsilon: the first one, random ones, and one by continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
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

/// A running fit, between two iterations: all that is needed to go on. Opaque; can be serialised with serde.
#[derive(Debug, Clone, Serialize, Deserialize)]
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
}

/// The end of an attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Candidate {
    pub(super) point: Point,
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
            && self.rounds <= MAX_SEARCH_ROUNDS + 1
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
    let mut hash = 0xcbf2_9ce4_8422_2325u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    };
    let same = Params { threads: None, memory_budget: None, max_iterations: 0, ..params.clone() };
    // The encoding is documented and kept: what is fitted again must hash the same in later versions.
    add(&postcard::to_stdvec(&same).unwrap_or_default());
    for value in values {
        add(&value.to_bits().to_le_bytes());
    }
    hash
}
