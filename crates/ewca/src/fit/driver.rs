//! The one loop: steps of a solver, watched, until the certificate is good enough.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::certificate::{angles, approximation, duality_gap, residuals_in_features, rounding};
use super::coarse::{MANY, Warm, coarse_start};
use super::memory::{self, MemoryPlan, Shape};
use super::model::{Perplexity, Timings};
use super::params::{DEFAULT_PERPLEXITY, Params, Smoothing, Start};
use super::search::Search;
use super::{Certificate, Control, Iteration, Model, Observer, Phase, Progress, Termination};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, Tally, exp_of_minus_all};
use crate::matrix::{Matrix, dot, symmetric_eigen};
use crate::parallel::{self, StopFlag};
use crate::samples::{Reduction, Samples, Scalar, Span};
use crate::solvers::{Leading, Objective, Outcome, Point, Solver, State, bcd, component_residuals, largest, lbfgs, mm};
use crate::subspace::{
    Orthonormalisation, canonical_signs, grassmann_distance, polar_correction, principal_rotation, random_frame,
};
use crate::team::Member;
use crate::transport::{Balancer, row_entropies};

/// The relative gradient that is good enough to measure a perplexity while epsilon still moves.
const LOOSE: f64 = 1e-3;
/// A start by continuation takes this many steps up to epsilon, each by a factor, with fits of this relative gradient.
const RUNGS: i32 = 2;
const RUNG: f64 = 4.0;
const RUNG_GRADIENT: f64 = 1e-2;
/// Up to this many samples a fit also starts by continuation.
const SECOND_START: usize = 1000;
/// How near the perplexity of a fit must be to the wanted one; and how often all starts may be made again for that.
const CLOSE: f64 = 5e-3;
const MAX_ROUNDS: usize = 20;
/// An end must be lower than the best one so far by this part of the variance to replace it: less is the same optimum.
const LOWER: f64 = 1e-10;
/// Ends that are the same to this part of their loss agree.
const SAME: f64 = 1e-6;
/// The smallest epsilon of a search, in units of the smallest component: samples that still share something are at the same place.
const SMALLEST_EPSILON: f64 = 1e-12;
/// The largest epsilon, in units of the largest variance: beyond it even the sum of the weights rounds too much.
const LARGEST_EPSILON: f64 = 1e18;
/// The marginal error of a first look.
const FIRST_LOOK: f64 = 1e-2;
const MAX_PLAN_PASSES: usize = 2000;
/// About how many distances the first epsilon is guessed by, where there are many samples.
const GUESS: usize = 1 << 22;
/// How often a fit in the leading axes may take in directions from outside.
const MAX_EXTENSIONS: usize = 30;
/// Inside and outside of the leading axes, the gradient may each take this part of the tolerance.
const EACH: f64 = 0.7;
/// Inside of all axes it takes this part: the certificate looks at the features, and rounds otherwise.
const NEARLY: f64 = 0.95;

/// How settled epsilon is while a perplexity is sought.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
enum Stage {
    /// The subspace is still the first one: a plan is all it takes to know the perplexity.
    Calibration,
    /// Fits are loose.
    Approach,
    /// Epsilon is fixed, or settled but for the last digits.
    Final,
    /// A start by continuation, so many steps below the epsilon that is wanted.
    Ladder { rung: i32, epsilon: f64 },
}

impl Stage {
    /// How near the perplexity must come to the wanted one.
    fn close(self) -> f64 {
        match self {
            Self::Calibration => 0.05,
            Self::Approach => 0.01,
            Self::Final | Self::Ladder { .. } => 1e-3,
        }
    }
}

/// The starts of a fit at one epsilon: the first one, random ones, and one by continuation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Starts {
    random: usize,
    continuation: bool,
}

impl Starts {
    fn count(self) -> usize {
        1usize.saturating_add(self.random).saturating_add(usize::from(self.continuation))
    }
}

/// A running fit, between two iterations: all that is needed to go on. Opaque; can be serialised with serde.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FitState {
    /// Of the data and the parameters that the state belongs to, to the last bit.
    fingerprint: u64,
    /// Of what stays the same when rounding differs: another number of processes, another kind of processor.
    kin: u64,
    unit: f64,
    total_variance: f64,
    starts: Starts,
    /// Which of them is under way.
    start: usize,
    /// Counts all that was begun, the search included.
    attempt: usize,
    iteration: usize,
    /// In units of the span, as everything below.
    epsilon: f64,
    /// None when epsilon is fixed.
    search: Option<Search>,
    /// Whether this attempt only looks for an epsilon, at which all starts are made afterwards.
    searching: bool,
    /// How often all starts were made.
    rounds: usize,
    stage: Stage,
    solver: State,
    /// What passes took up to here.
    tally: Tally,
    history: Vec<Iteration>,
    /// The losses at the ends of the starts.
    ends: Vec<f64>,
    best: Option<Candidate>,
}

/// The end of an attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Candidate {
    point: Point,
    termination: Termination,
    attempt: usize,
    iterations: usize,
    /// Eigenvalues and shortfall, where the last test found them.
    leading: Option<(Vec<f64>, f64)>,
}

/// Fits, or goes on with a fit.
pub(crate) fn fit<T: Scalar>(
    samples: &Samples<'_, T>,
    params: &Params,
    resumed: Option<FitState>,
    observer: &mut dyn Observer,
) -> Result<Model> {
    parallel::with_threads(params.threads, || {
        let clock = Instant::now();
        let (span, memory) = reduced(samples, params, observer)?;
        let mut run = Run::new(span, memory, params, samples.member().clone(), observer, clock);
        run.first = run.first_frame(samples)?;
        let state = match resumed {
            Some(state) => run.belonging(state)?,
            None => {
                let Warm { frame, potential } = run.coarse(run.first.clone())?;
                run.begin(frame, potential, None)?
            }
        };
        let (_, model) = run.finished(samples, state)?;
        Ok(model)
    })?
}

/// The data in their span, once it is clear that the fit is possible.
pub(crate) fn reduced<T: Scalar>(
    samples: &Samples<'_, T>,
    params: &Params,
    observer: &mut dyn Observer,
) -> Result<(Span, MemoryPlan)> {
    let memory = memory::plan(&Shape::of(samples, params.components, params.landmarks), params.memory_budget)?;
    check_perplexity(params.smoothing, samples.count())?;
    observer.phase(Phase::Reduction);
    let stop = StopFlag(observer.stop_flag());
    let span = Span::new(samples, Reduction { axes: memory.axes, stop })?;
    let k = params.components;
    if k > span.rank() {
        return Err(Error::Components { requested: k, rank: span.rank() });
    }
    if let Smoothing::Epsilon(epsilon) = params.smoothing {
        check_epsilon(epsilon, &span)?;
    }
    Ok((span, memory))
}

/// Refuses a perplexity that so many samples cannot have.
fn check_perplexity(smoothing: Smoothing, count: f64) -> Result<()> {
    let wanted = match smoothing {
        Smoothing::Epsilon(_) => return Ok(()),
        Smoothing::Perplexity(p) => p,
        Smoothing::Default => 1.0,
    };
    if wanted < count {
        return Ok(());
    }
    let expected =
        format!("it must be below the number of samples, {count} (the sum of their counts, where they have counts)");
    Err(Error::Parameter { name: "perplexity", value: wanted.to_string(), expected })
}

/// Refuses an epsilon at which rounding is all that is left.
pub(crate) fn check_epsilon(epsilon: f64, span: &Span) -> Result<()> {
    let largest = LARGEST_EPSILON * span.variances[0] * span.unit * span.unit;
    if epsilon <= largest {
        return Ok(());
    }
    let expected = format!("it must be at most {largest:e} for these data, 1e18 times their largest variance");
    Err(Error::Parameter { name: "epsilon", value: format!("{epsilon:e}"), expected })
}

/// Everything that stays the same during a fit.
pub(crate) struct Run<'a> {
    span: Arc<Span>,
    params: &'a Params,
    /// With whom the kernel is shared.
    member: Member,
    solver: Solver,
    observer: &'a mut dyn Observer,
    /// Since the start of the run.
    clock: Instant,
    reduction: Duration,
    /// Since the start of the fit, of which a path has several.
    begun: Instant,
    store_kernel: bool,
    fingerprint: u64,
    /// The frame of the first start.
    pub first: Matrix,
    stop: StopFlag,
}

impl FitState {
    /// Whether the numbers are such as a fit has: a state may come from a file, and a forged one must not keep a fit busy.
    fn is_sane(&self) -> bool {
        let positive = |x: f64| x.is_normal() && x.is_sign_positive();
        let rung = match self.stage {
            Stage::Ladder { rung, epsilon } => (1..=RUNGS).contains(&rung) && positive(epsilon),
            _ => true,
        };
        positive(self.epsilon)
            && positive(self.unit)
            && positive(self.total_variance)
            && rung
            && self.start < self.starts.count()
            && self.rounds <= MAX_ROUNDS + 1
            && self.attempt < usize::MAX / 2
            && self.iteration < usize::MAX / 2
            && self.tally.passes < usize::MAX / 2
            && self.search.as_ref().is_none_or(Search::is_sane)
    }
}

impl<'a> Run<'a> {
    /// `clock` started before the reduction.
    pub fn new(
        span: Span,
        memory: MemoryPlan,
        params: &'a Params,
        member: Member,
        observer: &'a mut dyn Observer,
        clock: Instant,
    ) -> Self {
        Self {
            fingerprint: fingerprint(&span, params),
            first: Matrix::default(),
            stop: StopFlag(observer.stop_flag()),
            span: Arc::new(span),
            params,
            member,
            solver: params.solver.resolved(),
            observer,
            clock,
            reduction: clock.elapsed(),
            begun: Instant::now(),
            store_kernel: memory.store_kernel,
        }
    }

    /// The frame of the first attempt.
    pub fn first_frame<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<Matrix> {
        let (rank, k) = (self.span.rank(), self.params.components);
        match &self.params.start {
            Start::Pca => Ok(pca_frame(rank, k)),
            Start::Random => Ok(random_frame(rank, k, self.params.seed, 0)),
            Start::Loadings(loadings) => {
                if loadings.rows() != samples.columns() {
                    return Err(Error::Columns { expected: samples.columns(), found: loadings.rows() });
                }
                let frame = self.span.frame(samples, loadings)?;
                let (values, _) = symmetric_eigen(&frame.transposed_times(&frame))?;
                if values[k - 1].is_nan() || values[k - 1] <= 1e-12 * values[0] {
                    return Err(Error::Parameter {
                        name: "start",
                        value: "given loadings".into(),
                        expected: "their columns must be independent inside the data's span".into(),
                    });
                }
                Orthonormalisation::Qr.of(&frame)
            }
        }
    }

    /// A better start than `frame`, where there are so many samples that it pays.
    fn coarse(&mut self, frame: Matrix) -> Result<Warm> {
        if !self.params.coarse_to_fine {
            return Ok(Warm { frame, potential: None });
        }
        let (span, params) = (self.span.clone(), self.params);
        coarse_start(&span, params, &self.member, self.observer, frame, |warm| {
            first_epsilon(&span, params, &warm.frame, warm.potential.as_deref()).0
        })
    }

    /// What starts a fit makes, one of a path (`along`) or one that stands alone.
    fn starts(&self, along: bool) -> Starts {
        if self.params.single_start {
            return Starts { random: 0, continuation: false };
        }
        let n = self.span.weights.len();
        let continuation = !along
            && n <= SECOND_START
            && self.params.start == Start::Pca
            && self.solver == Solver::Lbfgs
            // All of the span is one subspace only.
            && self.params.components < self.span.rank()
            && self.params.landmarks.is_none_or(|m| m >= n);
        Starts { random: self.params.restarts, continuation }
    }

    /// The state before the first iteration, from a frame and possibly a potential; with an epsilon (along a path), at just that one.
    pub fn begin(&mut self, frame: Matrix, potential: Option<Vec<f64>>, epsilon: Option<f64>) -> Result<FitState> {
        self.stop.check()?;
        self.begun = Instant::now();
        let starts = self.starts(epsilon.is_some());
        let target = if epsilon.is_some() { None } else { target(&self.span, self.params) };
        let (epsilon, slope) = match epsilon {
            Some(epsilon) => (epsilon / self.square(), 1.0),
            None => first_epsilon(&self.span, self.params, &frame, potential.as_deref()),
        };
        let mut objective = self.objective(epsilon);
        let mut balancer = Balancer::default();
        let potential = potential.unwrap_or_else(|| self.flat_potential());
        let point = objective.evaluate(frame, potential, &mut balancer, self.first_plan_goal());
        Ok(FitState {
            fingerprint: self.fingerprint,
            kin: kin(&self.span, self.params),
            unit: self.span.unit,
            total_variance: self.span.total_variance(),
            starts,
            start: 0,
            attempt: 0,
            iteration: 0,
            epsilon,
            stage: if target.is_some() { Stage::Calibration } else { Stage::Final },
            searching: target.is_some() && starts.count() > 1,
            search: target.map(|target| Search::new(target, self.span.count(), slope)),
            rounds: 0,
            solver: State { point, balancer, curvature: lbfgs::Curvature::default() },
            tally: objective.kernel.tally(),
            history: Vec::new(),
            ends: Vec::new(),
            best: None,
        })
    }

    /// The unit of squared length: from the span's units to those of the data.
    fn square(&self) -> f64 {
        self.span.unit * self.span.unit
    }

    /// The marginal error of the first plan: rough where the solver asks for better ones as it goes.
    fn first_plan_goal(&self) -> f64 {
        if self.solver == Solver::Lbfgs { FIRST_LOOK } else { self.plan_goal() }
    }

    /// The potential to begin with when nothing is known.
    pub fn flat_potential(&self) -> Vec<f64> {
        vec![0.0; self.span.weights.len()]
    }

    fn objective(&self, epsilon: f64) -> Objective {
        // Samples stand together by their principal components: where they are in the subspace is not much different.
        let like = self.span.leading_axes(self.params.components);
        let mut kernel = Kernel::new(&like, self.store_kernel);
        kernel.skip(self.params.skip_far_pairs);
        if let Some(landmarks) = self.params.landmarks.filter(|m| *m < like.rows()) {
            kernel.approximate(&like, landmarks);
        }
        kernel.share(self.member.clone());
        Objective {
            span: self.span.clone(),
            epsilon,
            kernel,
            single: self.params.single_precision,
            max_plan_passes: MAX_PLAN_PASSES,
            stop: if self.breaks_off() { self.stop.clone() } else { StopFlag::default() },
        }
    }

    /// The same, counting its passes on from what a state has counted.
    fn objective_of(&self, state: &FitState) -> Objective {
        let mut objective = self.objective(state.epsilon);
        objective.kernel.count_from(state.tally);
        objective
    }

    /// The marginal error that a finished plan must have.
    fn plan_goal(&self) -> f64 {
        (1e-3 * self.params.tolerance).max(1e-14 * self.span.weights.len() as f64).min(1e-3)
    }

    /// The relative gradient that is good enough inside these axes.
    fn tolerance(&self) -> f64 {
        self.params.tolerance * if self.span.is_partial() { EACH } else { NEARLY }
    }

    /// A saved state that belongs to these data and parameters, in these axes.
    fn belonging(&mut self, state: FitState) -> Result<FitState> {
        let (n, k) = (self.span.weights.len(), self.params.components);
        if !state.is_sane() {
            return Err(Error::State { what: "its numbers" });
        }
        if state.fingerprint == self.fingerprint {
            let best = state.best.as_ref().is_none_or(|best| best.point.belongs_to(&self.span, k));
            let fits = state.solver.belongs_to(&self.span, k) && best && state.starts == self.starts(false);
            return if fits { Ok(state) } else { Err(Error::State { what: "its shapes" }) };
        }
        let total = |variance: f64, unit: f64| variance * unit * unit;
        let near = total(state.total_variance, state.unit) / total(self.span.total_variance(), self.span.unit) - 1.0;
        if state.kin != kin(&self.span, self.params) || near.is_nan() || near.abs() > 1e-9 {
            return Err(Error::State { what: "the data or the parameters" });
        }
        // Rounding may have turned the axes. Scores know the subspace without them.
        let scale = state.unit / self.span.unit;
        let epsilon = state.epsilon * scale * scale;
        let mut objective = self.objective(epsilon);
        objective.kernel.count_from(state.tally);
        let mut moved = |point: &Point, goal: f64| {
            let shapes = (point.scores.rows(), point.scores.columns(), point.potential.len());
            if shapes != (n, k, n) || !point.scores.is_finite() {
                return Err(Error::State { what: "its shapes" });
            }
            let frame = Orthonormalisation::Qr.of(&self.span.frame_of_scores(&point.scores))?;
            Ok(objective.evaluate(frame, point.potential.clone(), &mut Balancer::default(), goal))
        };
        let goal = self.first_plan_goal().min(state.solver.point.marginal_error.max(self.plan_goal()));
        let point = moved(&state.solver.point, goal)?;
        let best = match state.best {
            Some(best) => Some(Candidate { point: moved(&best.point, self.plan_goal())?, leading: None, ..best }),
            None => None,
        };
        Ok(FitState {
            fingerprint: self.fingerprint,
            unit: self.span.unit,
            total_variance: self.span.total_variance(),
            epsilon,
            solver: State { point, balancer: Balancer::default(), curvature: lbfgs::Curvature::default() },
            tally: objective.kernel.tally(),
            best,
            ..state
        })
    }

    /// Runs all attempts from `state` on. Returns the best frame with its potential, and its model.
    pub fn finished<T: Scalar>(
        &mut self,
        samples: &Samples<'_, T>,
        mut state: FitState,
    ) -> Result<((Matrix, Vec<f64>), Model)> {
        let mut extensions = 0;
        loop {
            let mut objective = self.objective_of(&state);
            self.observer.phase(Phase::Iterations);
            self.attempts(&mut objective, &mut state)?;
            let iterations = self.begun.elapsed();
            self.observer.phase(Phase::Finish);
            objective.stop = StopFlag::default();
            let (mut model, outside) = self.model(samples, &mut objective, &state)?;
            state.tally = objective.kernel.tally();
            let Some(best) = state.best.take() else {
                return Err(Error::State { what: "no attempt has begun, and they" });
            };
            if let Some(outside) = outside
                && model.converged()
            {
                if extensions < MAX_EXTENSIONS {
                    extensions += 1;
                    state = self.extended(samples, state, best, &outside)?;
                    continue;
                }
                model.termination = Termination::MaxIterations;
            }
            let told = largest(&model.certificate.residuals).max(largest(&model.certificate.rounding));
            if model.converged() && (told.is_nan() || told > self.params.tolerance) {
                model.termination = Termination::Stalled;
            }
            let work = objective.kernel.work();
            model.kernel_passes = work.passes;
            model.kernel_share = work.computed;
            model.certificate.skipped_mass = work.left_out;
            let finish = self.begun.elapsed() - iterations;
            model.timings = Timings { reduction: self.reduction, iterations, finish };
            model.history = std::mem::take(&mut state.history);
            return Ok(((best.point.frame, best.point.potential), model));
        }
    }

    /// Takes the `outside` of the gradient into the axes, and goes on from the best point with them.
    fn extended<T: Scalar>(
        &mut self,
        samples: &Samples<'_, T>,
        state: FitState,
        best: Candidate,
        outside: &Matrix,
    ) -> Result<FitState> {
        let (span, frame) = self.span.extended(samples, outside, &best.point.frame)?;
        self.fingerprint = fingerprint(&span, self.params);
        self.span = Arc::new(span);
        let mut objective = self.objective_of(&state);
        let mut balancer = Balancer::default();
        let point = objective.evaluate(frame, best.point.potential, &mut balancer, self.plan_goal());
        let mut search = state.search;
        search.iter_mut().for_each(Search::again);
        // In these axes the starts were made: what is left is a matter of the last digits.
        Ok(FitState {
            fingerprint: self.fingerprint,
            starts: Starts { random: 0, continuation: false },
            start: 0,
            attempt: best.attempt,
            iteration: best.iterations + 1,
            search,
            stage: Stage::Final,
            solver: State { point, balancer, curvature: lbfgs::Curvature::default() },
            tally: objective.kernel.tally(),
            best: None,
            ..state
        })
    }

    /// Makes all starts; where a perplexity is wanted, at the epsilon that gives it.
    fn attempts(&mut self, objective: &mut Objective, state: &mut FitState) -> Result<()> {
        loop {
            let mut leading = None;
            let termination = loop {
                state.tally = objective.kernel.tally();
                if self.watched(state)? == Control::Stop {
                    break Termination::Interrupted;
                }
                // What is broken off in the middle is not what an uninterrupted fit would go on from.
                let before = self.breaks_off().then(|| state.clone());
                let ended = self.advance(objective, state, &mut leading)?;
                if let Some(before) = before.filter(|_| self.stop.is_raised()) {
                    *state = before;
                    objective.epsilon = state.epsilon;
                    leading = None;
                } else if let Some(termination) = ended {
                    break termination;
                } else {
                    state.iteration += 1;
                }
            };
            state.tally = objective.kernel.tally();
            let interrupted = termination == Termination::Interrupted;
            if state.searching && !interrupted {
                // Epsilon is found: what it gives must not depend on the way there.
                state.searching = false;
                self.begin_start(objective, state, 0)?;
                continue;
            }
            self.keep(objective, state, termination, leading)?;
            if interrupted {
                return Ok(());
            }
            if state.start + 1 < state.starts.count() {
                self.begin_start(objective, state, state.start + 1)?;
            } else if !self.epsilon_moved_after_all_starts(objective, state)? {
                return Ok(());
            }
        }
    }

    /// Whether a plan may be broken off when the fit is to stop: where there are so many samples that passes take their time.
    fn breaks_off(&self) -> bool {
        self.span.weights.len() >= MANY
    }

    /// Keeps the end of an attempt where it is the lowest.
    fn keep(
        &self,
        objective: &mut Objective,
        state: &mut FitState,
        termination: Termination,
        leading: Option<(Vec<f64>, f64)>,
    ) -> Result<()> {
        let interrupted = termination == Termination::Interrupted;
        if let Stage::Ladder { epsilon, .. } = state.stage {
            // It ended on the way, at another epsilon.
            (state.epsilon, objective.epsilon) = (epsilon, epsilon);
        } else if let (true, Some(best)) = (!interrupted && self.comes_to_the_best(state), &state.best) {
            state.ends.push(best.point.loss);
        } else if !interrupted || state.best.is_none() {
            if !interrupted && state.solver.point.marginal_error > self.plan_goal() {
                // A rough plan's dual value is too low to be compared.
                state.solver.tighten(objective, self.plan_goal());
            }
            let point = &state.solver.point;
            if !point.loss.is_finite() {
                return Err(Error::NotANumber { what: "the loss" });
            }
            state.ends.push(point.loss);
            let least = LOWER * self.span.total_variance();
            let is_better = |best: &Candidate| {
                // Of two ends at the same optimum the one that has arrived there counts.
                let arrived = termination == Termination::Converged && best.termination != Termination::Converged;
                point.loss < best.point.loss + if arrived { least } else { -least }
            };
            if state.best.as_ref().is_none_or(is_better) {
                state.best = Some(Candidate {
                    point: point.clone(),
                    termination,
                    attempt: state.attempt,
                    iterations: state.iteration,
                    leading,
                });
            }
        } else if let Some(best) = &mut state.best
            && state.stage == Stage::Final
            && state.solver.point.loss < best.point.loss
        {
            // Stopped on the way, and already lower.
            *best = Candidate {
                point: state.solver.point.clone(),
                termination,
                attempt: state.attempt,
                iterations: state.iteration,
                leading: None,
            };
        }
        if let (true, Some(best)) = (interrupted, &mut state.best) {
            best.termination = Termination::Interrupted;
        }
        Ok(())
    }

    /// Begins one of the starts at the epsilon of the state.
    fn begin_start(&self, objective: &mut Objective, state: &mut FitState, start: usize) -> Result<()> {
        let (rank, k) = (self.span.rank(), self.params.components);
        (state.start, state.attempt, state.iteration) = (start, state.attempt + 1, 0);
        state.stage = Stage::Final;
        let frame = if start == 0 {
            self.first.clone()
        } else if start <= state.starts.random {
            self.random_start(start as u64)?
        } else {
            state.stage = Stage::Ladder { rung: RUNGS, epsilon: state.epsilon };
            state.epsilon /= RUNG.powi(RUNGS);
            pca_frame(rank, k)
        };
        objective.epsilon = state.epsilon;
        let mut balancer = Balancer::default();
        let point = objective.evaluate(frame, self.flat_potential(), &mut balancer, self.first_plan_goal());
        state.solver = State { point, balancer, curvature: lbfgs::Curvature::default() };
        Ok(())
    }

    /// A random subspace that leans towards the directions in which the data vary: uniformly random ones are far from every optimum.
    fn random_start(&self, stream: u64) -> Result<Matrix> {
        let mut frame = random_frame(self.span.rank(), self.params.components, self.params.seed, stream);
        frame.scale_rows(&self.span.variances.iter().map(|v| v.sqrt()).collect::<Vec<_>>());
        Orthonormalisation::Qr.of(&frame)
    }

    /// Where several starts were made at an epsilon that was searched for, and the best end has another perplexity than the search saw: all
    /// starts again at a better epsilon. Where none has the wanted perplexity, since the optimum jumps, at the nearer side of the jump.
    fn epsilon_moved_after_all_starts(&self, objective: &mut Objective, state: &mut FitState) -> Result<bool> {
        let (Some(search), Some(best)) = (&mut state.search, &state.best) else { return Ok(false) };
        if state.starts.count() == 1 || state.rounds > MAX_ROUNDS {
            return Ok(false);
        }
        objective.epsilon = state.epsilon;
        let perplexity = perplexity(objective, &best.point)?.overall;
        let next = search.next(state.epsilon, perplexity, CLOSE, smallest_epsilon(&best.point));
        let epsilon = match next.filter(|_| state.rounds < MAX_ROUNDS) {
            Some(epsilon) => {
                state.rounds += 1;
                epsilon
            }
            None => match search.nearer_side().filter(|side| *side != state.epsilon) {
                Some(side) if !search.is_close(perplexity, CLOSE) => {
                    state.rounds = MAX_ROUNDS + 1;
                    side
                }
                _ => return Ok(false),
            },
        };
        state.epsilon = epsilon;
        state.best = None;
        state.ends.clear();
        self.begin_start(objective, state, 0)?;
        Ok(true)
    }

    fn watched(&mut self, state: &mut FitState) -> Result<Control> {
        let point = &state.solver.point;
        let iteration = Iteration {
            attempt: state.attempt,
            iteration: state.iteration,
            epsilon: state.epsilon * self.square(),
            loss: point.loss * self.square(),
            relative_gradient: point.relative_gradient,
            marginal_error: point.marginal_error,
            kernel_passes: state.tally.passes,
        };
        // A resumed fit has its last iteration in the history already.
        if state.history.last().is_none_or(|last| (last.attempt, last.iteration) != (state.attempt, state.iteration)) {
            state.history.push(iteration);
        }
        let control = self.observer.observe(&Progress {
            iteration: &iteration,
            elapsed: self.clock.elapsed(),
            tolerance: self.params.tolerance,
            state,
        });
        let control = if self.stop.is_raised() { Control::Stop } else { control };
        if self.member.is_alone() {
            return Ok(control);
        }
        // Whoever wants to stop stops all; and all must be at the same point.
        let stop = f64::from(u8::from(control == Control::Stop));
        let reports = self.member.gathered(&[stop, point.loss, point.relative_gradient]);
        if reports.iter().any(|report| report[1..] != reports[0][1..]) {
            return Err(Error::Team { what: "the loss" });
        }
        Ok(if reports.iter().any(|report| report[0] > 0.0) { Control::Stop } else { Control::Continue })
    }

    /// One iteration: a test of the end where one is due, otherwise a step.
    fn advance(
        &self,
        objective: &mut Objective,
        state: &mut FitState,
        leading: &mut Option<(Vec<f64>, f64)>,
    ) -> Result<Option<Termination>> {
        *leading = None;
        let goal = match state.stage {
            Stage::Calibration => f64::INFINITY,
            Stage::Approach => LOOSE.max(self.tolerance()),
            Stage::Ladder { .. } => RUNG_GRADIENT.max(self.tolerance()),
            Stage::Final if state.searching => LOOSE.max(self.tolerance()),
            Stage::Final => self.tolerance(),
        };
        if state.solver.point.relative_gradient <= goal {
            let plan_goal = match state.stage {
                Stage::Calibration => FIRST_LOOK,
                Stage::Approach | Stage::Ladder { .. } => 0.1 * goal,
                Stage::Final if state.searching => 0.1 * goal,
                Stage::Final => self.plan_goal(),
            };
            if state.solver.point.marginal_error > plan_goal {
                state.solver.tighten(objective, plan_goal);
            }
        }
        if state.solver.point.relative_gradient <= goal {
            if let Stage::Ladder { rung, epsilon } = state.stage {
                self.climb(objective, state, rung, epsilon);
                return Ok(None);
            }
            if state.stage == Stage::Final && !state.searching {
                let found = objective.leading(&state.solver.point)?;
                let known = (found.values.clone(), found.shortfall);
                if found.is_saddle {
                    if state.iteration >= self.params.max_iterations {
                        return Ok(Some(Termination::MaxIterations));
                    }
                    if self.left(objective, state, found) {
                        return Ok(None);
                    }
                }
                *leading = Some(known);
            }
            let settled = state.starts.count() > 1 && !state.searching;
            if !settled && self.epsilon_moved(objective, state)? {
                return Ok(None);
            }
            return Ok(Some(Termination::Converged));
        }
        if self.comes_to_the_best(state) {
            return Ok(Some(Termination::Converged));
        }
        if state.iteration >= self.params.max_iterations {
            return Ok(Some(Termination::MaxIterations));
        }
        let outcome = match self.solver {
            Solver::Auto | Solver::Lbfgs => {
                // The smallest component asks for the most accurate plan.
                let smallest = state.solver.point.variances.last().map_or(1.0, |v| v / self.span.variances[0]);
                let plan_floor = (0.1 * goal * smallest.clamp(0.0, 1.0)).max(self.plan_goal());
                lbfgs::step(objective, &mut state.solver, plan_floor)?
            }
            Solver::Bcd => bcd::step(objective, &mut state.solver, self.plan_goal())?,
            Solver::Mm(params) => mm::step(objective, &mut state.solver, params, self.plan_goal())?,
        };
        if outcome == Outcome::Stuck && state.solver.point.marginal_error > self.plan_goal() {
            // The dual value of a rough plan is too low for any step to beat it: try again from an accurate one.
            state.solver.tighten(objective, self.plan_goal());
            state.solver.curvature = lbfgs::Curvature::default();
        } else if outcome == Outcome::Stuck {
            let (before, gradient) = (state.solver.point.loss, state.solver.point.relative_gradient);
            let found = objective.leading(&state.solver.point)?;
            self.left(objective, state, found);
            let won = before - state.solver.point.loss;
            // Where one component dominates, the others may improve by less than the loss can tell.
            let better = state.solver.point.relative_gradient < 0.9 * gradient;
            if won.is_nan() || (won <= 1e-13 * before.abs() && !better) {
                return Ok(Some(Termination::Stalled));
            }
        }
        Ok(None)
    }

    /// Whether a further start is on its way to the loss that is the lowest so far: what is left of it would tell nothing new.
    fn comes_to_the_best(&self, state: &FitState) -> bool {
        let point = &state.solver.point;
        let is_near = |best: &Candidate| {
            let same = (point.loss - best.point.loss).abs() <= SAME * best.point.loss.abs();
            same && best.termination == Termination::Converged
        };
        state.stage == Stage::Final
            && !state.searching
            && point.relative_gradient <= LOOSE
            && state.best.as_ref().is_some_and(is_near)
    }

    /// The next step of a start by continuation: a larger epsilon, from here.
    fn climb(&self, objective: &mut Objective, state: &mut FitState, rung: i32, epsilon: f64) {
        let rung = rung - 1;
        state.stage = if rung == 0 { Stage::Final } else { Stage::Ladder { rung, epsilon } };
        self.move_epsilon(objective, state, epsilon / RUNG.powi(rung));
    }

    /// Goes on from here at another epsilon.
    fn move_epsilon(&self, objective: &mut Objective, state: &mut FitState, epsilon: f64) {
        (state.epsilon, objective.epsilon) = (epsilon, epsilon);
        let Point { frame, scores, potential, .. } = state.solver.point.clone();
        let goal = self.first_plan_goal();
        state.solver.point = objective.evaluate_scores(frame, scores, potential, &mut state.solver.balancer, goal);
    }

    /// One step of the search for a perplexity, where there is one: whether anything is left to do.
    fn epsilon_moved(&self, objective: &mut Objective, state: &mut FitState) -> Result<bool> {
        let Some(search) = &mut state.search else { return Ok(false) };
        let perplexity = perplexity(objective, &state.solver.point)?.overall;
        let lowest = smallest_epsilon(&state.solver.point);
        match (search.next(state.epsilon, perplexity, state.stage.close(), lowest), state.stage) {
            (Some(epsilon), _) => {
                self.move_epsilon(objective, state, epsilon);
                Ok(true)
            }
            (None, Stage::Calibration | Stage::Approach) => {
                state.stage = if state.stage == Stage::Calibration { Stage::Approach } else { Stage::Final };
                search.again();
                Ok(true)
            }
            (None, Stage::Final | Stage::Ladder { .. }) => {
                search.again();
                Ok(false)
            }
        }
    }

    /// Leaves a saddle, or a place where no step helps, by a step of Algorithm 1, and says whether it did.
    ///
    /// With an approximate kernel the eigenvectors of M are not quite where its loss is least: there the step is taken only if it
    /// lowers the loss.
    fn left(&self, objective: &mut Objective, state: &mut FitState, leading: Leading) -> bool {
        let potential = state.solver.point.potential.clone();
        let point = objective.evaluate(leading.frame, potential, &mut state.solver.balancer, self.plan_goal());
        let won = state.solver.point.loss - point.loss;
        let lower = won > LOWER * objective.span.variances[0];
        if objective.kernel.landmarks().is_some() && !lower {
            state.solver.balancer = Balancer::default();
            return false;
        }
        state.solver.point = point;
        state.solver.curvature = lbfgs::Curvature::default();
        true
    }

    /// The model of the best attempt: loadings, scores in the canonical frame, and the certificate of just these. With it, what the
    /// gradient has outside of the axes, where that is too much.
    fn model<T: Scalar>(
        &self,
        samples: &Samples<'_, T>,
        objective: &mut Objective,
        state: &FitState,
    ) -> Result<(Model, Option<Matrix>)> {
        let Some(best) = &state.best else {
            return Err(Error::State { what: "no attempt has begun, and they" });
        };
        let span = &self.span;
        let (mut loadings, mut scores) = span.loadings(samples, &best.point.frame)?;
        match polar_correction(&loadings)? {
            Some(correction) => (loadings, scores) = (loadings.times(&correction), scores.times(&correction)),
            None => {
                // Directions that the squaring of the data has blurred.
                loadings = Orthonormalisation::Qr.of(&loadings)?;
                scores = samples.project(samples.mean(), &loadings)?;
            }
        }
        let (explained_variance, rotation) = principal_rotation(&scores, samples.weights())?;
        let mut components = loadings.times(&rotation);
        let signs = canonical_signs(&components);
        let mut turn = rotation;
        turn.scale_columns(&signs);
        components.scale_columns(&signs);
        let scores = scores.times(&turn);

        let frame = best.point.frame.times(&turn);
        let active =
            Matrix::from_fn(span.active.len(), scores.columns(), |i, j| scores.get(span.active[i], j) / span.unit);
        let mut balancer = Balancer::default();
        let potential = best.point.potential.clone();
        let (point, columns) =
            objective.evaluate_with_columns(frame, active, potential, &mut balancer, self.plan_goal());
        let (mut eigenvalues, shortfall) = match best.leading.clone() {
            Some(known) => known,
            None => {
                let found = objective.leading(&point)?;
                (found.values, found.shortfall)
            }
        };
        let outside = if span.is_partial() { span.outside(samples, &columns)? } else { None };
        let residuals_outside = outside
            .as_ref()
            .map(|outside| component_residuals(outside, &point.compression, &point.variances))
            .unwrap_or_default();
        let relative_outside = largest(&residuals_outside);
        let residuals = match residuals_in_features(samples, &components, &columns, &point.variances, span.unit)? {
            Some(residuals) => residuals,
            None if outside.is_none() => point.residuals.clone(),
            None => point.residuals.iter().zip(residuals_outside).map(|(x, y)| x.hypot(y)).collect(),
        };
        let k = components.columns();
        let next_eigenvalue = (eigenvalues.len() > k).then(|| eigenvalues[k]);
        eigenvalues.truncate(k);
        let sum = eigenvalues.iter().sum::<f64>().abs();
        let square = self.square();
        let mean_size = dot(samples.mean(), samples.mean()).sqrt() / span.unit;
        let certificate = Certificate {
            marginal_error: point.marginal_error,
            duality_gap: duality_gap(objective, &point) * square,
            relative_gradient: largest(&residuals),
            angles: angles(&residuals, &eigenvalues, &point.variances, next_eigenvalue),
            rounding: rounding(&point.variances, span.variances[0], mean_size),
            residuals,
            omitted_variance: span.omitted_variance(),
            eigen_deficit: shortfall / if sum > 0.0 { sum } else { span.variances[0] },
            skipped_mass: 0.0,
            collapsed: eigenvalues.iter().any(|&x| x <= 0.0),
            eigenvalues: eigenvalues.into_iter().map(|x| x * square).collect(),
            next_eigenvalue: next_eigenvalue.map(|x| x * square),
            approximation: approximation(objective, &point),
        };
        let floor = state.search.as_ref().and_then(Search::floor);
        let wanted = state.search.as_ref().and_then(|_| target(span, self.params));
        let perplexity = Perplexity { floor, wanted, ..perplexity(objective, &point)? };
        let agrees = |end: &&f64| (**end - best.point.loss).abs() <= SAME * best.point.loss.abs();
        let distance_to_pca = grassmann_distance(&point.frame, &pca_frame(span.rank(), k))?;
        let total = span.total_variance() * square;
        // The epsilon that was asked for, to the last bit.
        let epsilon = match self.params.smoothing {
            Smoothing::Epsilon(epsilon) if epsilon / square == objective.epsilon => epsilon,
            _ => objective.epsilon * square,
        };
        let model = Model {
            potential: extended_potential(samples, span, &scores, &point.potential, epsilon),
            components,
            mean: samples.mean().to_vec(),
            scores,
            weights: samples.weights().to_vec(),
            total_count: span.total_count,
            explained_variance_ratio: explained_variance.iter().map(|v| v / total).collect(),
            explained_variance,
            epsilon,
            perplexity,
            loss: point.loss * square,
            certificate,
            termination: best.termination,
            solver: self.solver,
            rank: span.rank(),
            distance_to_pca,
            iterations: best.iterations,
            attempt: best.attempt,
            starts: state.ends.len().max(1),
            agreeing_starts: state.ends.iter().filter(agrees).count().max(1),
            kernel_passes: 0,
            kernel_share: 1.0,
            history: Vec::new(),
            timings: Timings::default(),
        };
        Ok((model, outside.filter(|_| relative_outside > EACH * self.params.tolerance)))
    }
}

/// The k leading principal axes, in their own coordinates.
pub(crate) fn pca_frame(rank: usize, k: usize) -> Matrix {
    Matrix::from_fn(rank, k, |i, j| if i == j { 1.0 } else { 0.0 })
}

fn perplexity(objective: &mut Objective, point: &Point) -> Result<Perplexity> {
    objective.kernel.set_points(&point.scores, objective.epsilon);
    let u: Vec<f64> = objective.span.weights.iter().zip(&point.potential).map(|(a, f)| a * f.exp()).collect();
    let Span { weights, total_count, .. } = &*objective.span;
    let entropies = row_entropies(&objective.kernel, &u, weights, *total_count);
    match objective.kernel.witnesses() {
        Some(witnesses) => Perplexity::of(&entropies, &witnesses.iter().map(|&i| weights[i]).collect::<Vec<_>>()),
        None => Perplexity::of(&entropies, weights),
    }
}

/// The smallest epsilon that a search may try at these scores.
fn smallest_epsilon(point: &Point) -> f64 {
    let smallest = point.variances.iter().rev().copied().find(|v| *v > 0.0).unwrap_or(1.0);
    (SMALLEST_EPSILON * smallest).max(f64::MIN_POSITIVE)
}

/// The perplexity that is wanted, where one is.
fn target(span: &Span, params: &Params) -> Option<f64> {
    match params.smoothing {
        Smoothing::Epsilon(_) => None,
        Smoothing::Perplexity(p) => Some(p),
        Smoothing::Default => Some(DEFAULT_PERPLEXITY.min(1.0 + 0.3 * (span.count() - 1.0))),
    }
}

/// The epsilon to begin with at `frame`, in units of the span, and how log(perplexity) grows with its logarithm.
fn first_epsilon(span: &Span, params: &Params, frame: &Matrix, potential: Option<&[f64]>) -> (f64, f64) {
    match (params.smoothing, target(span, params)) {
        (Smoothing::Epsilon(epsilon), _) => (epsilon / (span.unit * span.unit), 1.0),
        (_, Some(p)) => first_guess(&span.scores(frame), span, potential, p),
        (_, None) => (span.variances[0], 1.0),
    }
}

/// A first epsilon for a wanted perplexity, from a few rows of the kernel, balanced by the potential where there is one; and how
/// log(perplexity) grows with log(epsilon) there.
fn first_guess(scores: &Matrix, span: &Span, potential: Option<&[f64]>, target: f64) -> (f64, f64) {
    let weights = &span.weights;
    let f = |i: usize| potential.map_or(0.0, |f| f[i]);
    // The logarithm of a sample's share of the weight, for each of the samples that it stands for.
    let log = |a: f64| span.total_count.map_or(a.ln(), |count| -count.ln());
    let logs: Vec<f64> = weights.iter().enumerate().map(|(i, &a)| log(a) + f(i)).collect();
    let scaled: Vec<f64> = weights.iter().enumerate().map(|(i, a)| a * f(i).exp()).collect();
    let distances: Vec<Vec<f64>> = spread_rows(scores, weights)
        .map(|i| {
            let mut row = vec![0.0; scores.rows()];
            for (l, z) in scores.row(i).into_iter().enumerate() {
                row.iter_mut().zip(scores.column(l)).for_each(|(sum, x)| *sum += (z - x).powi(2));
            }
            row
        })
        .collect();
    let log_perplexity = |epsilon: f64| {
        let of_row = |row: &Vec<f64>| {
            let mut kernel: Vec<f64> = row.iter().map(|d| d / epsilon).collect();
            exp_of_minus_all(&mut kernel);
            let (mut total, mut sum) = (0.0, 0.0);
            for (((k, d), u), log) in kernel.iter().zip(row).zip(&scaled).zip(&logs) {
                let mass = u * k;
                // What is nothing has nothing to say, also where d / epsilon is infinite.
                if mass > 0.0 {
                    total += mass;
                    sum += mass * (log - d / epsilon);
                }
            }
            total.ln() - sum / total
        };
        let rows = parallel::blocks(distances.len(), 8);
        let parts = parallel::map(&rows, parallel::work(&[distances.len(), scores.rows(), 20]), |part| {
            distances[part].iter().map(of_row).sum::<f64>()
        });
        parts.iter().sum::<f64>() / distances.len() as f64
    };
    let mean_distance = distances.iter().map(|row| dot(row, weights)).sum::<f64>() / distances.len() as f64;
    let (mut low, mut high) = ((1e-9 * mean_distance).ln(), (1e3 * mean_distance).ln());
    // Where passes are dear, a better guess saves some.
    let near = if scores.rows() < MANY { 0.1 } else { 0.003 };
    while high - low > near {
        let middle = 0.5 * (low + high);
        if log_perplexity(middle.exp()) < target.ln() { low = middle } else { high = middle }
    }
    let guess = 0.5 * (low + high);
    let slope = if scores.rows() < MANY {
        1.0
    } else {
        const STEP: f64 = 0.05;
        (log_perplexity((guess + STEP).exp()) - log_perplexity((guess - STEP).exp())) / (2.0 * STEP)
    };
    (guess.exp(), slope)
}

/// By how many rows of the kernel a first epsilon is guessed.
pub(crate) fn rows_of_first_guess(samples: usize) -> usize {
    if samples < MANY { 16 } else { parallel::lines_of(samples, GUESS, 16..=100) }
}

/// Samples that are spread over the cloud: those at equal steps of weight along the first axis. The choice depends neither on the
/// samples' order nor on whether weights or repeated samples were given, and so the search ends at the same epsilon.
fn spread_rows(scores: &Matrix, weights: &[f64]) -> impl Iterator<Item = usize> {
    let rows = rows_of_first_guess(scores.rows());
    let along = scores.column(0);
    let mut order: Vec<usize> = (0..along.len()).collect();
    order.sort_by(|&i, &j| along[i].total_cmp(&along[j]));
    let mut reached = 0.0;
    let ends: Vec<f64> = order
        .iter()
        .map(|&i| {
            reached += weights[i];
            reached
        })
        .collect();
    (0..rows).map(move |step| {
        let at = (step as f64 + 0.5) / rows as f64;
        order[ends.partition_point(|&end| end < at).min(order.len() - 1)]
    })
}

/// g for all samples: those without weight get the potential that makes their shares sum to 1.
fn extended_potential<T: Scalar>(
    samples: &Samples<'_, T>,
    span: &Span,
    scores: &Matrix,
    potential: &[f64],
    epsilon: f64,
) -> Vec<f64> {
    let mut all = vec![f64::NAN; samples.all_rows()];
    for (&i, f) in span.active.iter().zip(potential) {
        all[i] = epsilon * f;
    }
    for i in (0..samples.all_rows()).filter(|&i| samples.weights()[i] == 0.0) {
        let logs: Vec<f64> = span
            .active
            .iter()
            .enumerate()
            .map(|(at, &j)| {
                let d: f64 = (0..scores.columns()).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum();
                span.weights[at].ln() + potential[at] - d / epsilon
            })
            .collect();
        let largest = logs.iter().fold(f64::NEG_INFINITY, |m: f64, &x| m.max(x));
        all[i] = -epsilon * (largest + logs.iter().map(|x| (x - largest).exp()).sum::<f64>().ln());
    }
    all
}

/// What determines a fit: parameters that change the result, and the data through their variances and weights.
fn fingerprint(span: &Span, params: &Params) -> u64 {
    hash(params, span.variances.iter().chain(&span.weights).chain([&span.unit]))
}

/// The same without what rounding can change.
fn kin(span: &Span, params: &Params) -> u64 {
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
    add(format!("{same:?}").as_bytes());
    for value in values {
        add(&value.to_bits().to_le_bytes());
    }
    hash
}

#[cfg(test)]
mod tests;
