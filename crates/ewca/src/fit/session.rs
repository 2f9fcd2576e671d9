//! One fit from the data to the model: reduce -> start -> run -> finish.

use std::cell::OnceCell;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::memory::{self, Shape};
use super::params::{Params, Smoothing, Start};
use super::perplexity_search::{PerplexitySearch, first_epsilon, target};
use super::state::{Candidate, FitState, Stage, Starts, fingerprint, is_positive, stable_fingerprint};
use super::{Model, Observer, Phase, Termination};
use crate::error::{Error, Result};
use crate::kernel::{FEWEST_SORTED_POINTS, KernelLayout, KernelOptions};
use crate::matrix::{Matrix, symmetric_eigen};
use crate::parallel::StopFlag;
use crate::samples::{Data, Reduction, Span};
use crate::solvers::{Objective, Point, Solver, State};
use crate::subspace::{Orthonormalisation, random_frame};
use crate::team::TeamHandle;
use crate::transport::{Balancer, MANY_SAMPLES};

/// Up to this many samples a fit also starts by continuation.
pub(super) const MOST_SAMPLES_FOR_CONTINUATION: usize = 1000;
/// The largest epsilon, in units of the largest variance: beyond it even the sum of the weights rounds too much.
const LARGEST_EPSILON: f64 = 1e18;
/// The marginal error of a first look.
pub(super) const FIRST_PLAN_ERROR: f64 = 1e-2;
const MAX_PLAN_PASSES: usize = 2000;
/// How often a fit in the leading axes may take in directions from outside.
pub(super) const MAX_EXTENSIONS: usize = 30;
/// The relative gradient of rough ends, of further starts and of fits in some of the axes.
const ROUGH_GRADIENT: f64 = 1e-4;
const ROUGH_GRADIENT_IN_FIRST_AXES: f64 = 3e-2;
/// Inside and outside of the leading axes, the gradient may each take this part of the tolerance.
pub(super) const PARTIAL_AXES_SHARE: f64 = 0.7;
/// Inside of all axes it takes this part: the certificate looks at the features, and rounds otherwise.
pub(super) const ALL_AXES_SHARE: f64 = 0.95;

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
pub(super) fn check_epsilon(epsilon: f64, span: &Span<'_>) -> Result<()> {
    let largest = LARGEST_EPSILON * span.variances[0] * span.unit * span.unit;
    if epsilon <= largest {
        return Ok(());
    }
    let expected = format!("it must be at most {largest:e} for these data, 1e18 times their largest variance");
    Err(Error::Parameter { name: "epsilon", value: format!("{epsilon:e}"), expected })
}

/// Where a fit begins: a frame, and a potential where one is known.
#[derive(Debug)]
pub(super) struct StartingPoint {
    pub frame: Matrix,
    pub potential: Option<Vec<f64>>,
}

/// Everything that stays the same during a fit.
pub(super) struct Session<'a> {
    pub(super) span: Arc<Span<'a>>,
    pub(super) params: &'a Params,
    /// With whom the kernel is shared.
    pub(super) member: TeamHandle,
    pub(super) solver: Solver,
    pub(super) observer: &'a mut dyn Observer,
    /// Since the start of the run.
    pub(super) clock: Instant,
    pub(super) reduction: Duration,
    /// Since the start of the fit, of which a path has several.
    pub(super) begun: Instant,
    /// What the kernel had taken before it.
    pub(super) kernel_before: Duration,
    pub(super) kept_bytes: usize,
    layout: OnceCell<KernelLayout>,
    pub(super) fingerprint: u64,
    /// The frame of the first start.
    pub(super) first: Matrix,
    pub(super) stop: StopFlag,
}

impl<'a> Session<'a> {
    /// Reduces the data, once it is clear that the fit is possible.
    pub(super) fn open(
        samples: &Data<'_>,
        params: &'a Params,
        member: TeamHandle,
        observer: &'a mut dyn Observer,
    ) -> Result<Self> {
        let clock = Instant::now();
        let memory = memory::plan(&Shape::of(samples, params.components, params.landmarks), params.memory_budget)?;
        check_perplexity(params.smoothing, samples.count())?;
        observer.phase(Phase::Reduction);
        let stop = StopFlag(observer.stop_flag());
        let span = Span::new(samples, Reduction { axes: memory.axes, stop: stop.clone() })?;
        if params.components > span.rank() {
            return Err(Error::Components { requested: params.components, rank: span.rank() });
        }
        if let Smoothing::Epsilon(epsilon) = params.smoothing {
            check_epsilon(epsilon, &span)?;
        }
        let first = first_frame(samples, &span, params)?;
        Ok(Self {
            fingerprint: fingerprint(&span, params),
            first,
            stop,
            span: Arc::new(span),
            params,
            member,
            solver: params.solver.resolved(),
            observer,
            clock,
            reduction: clock.elapsed(),
            begun: Instant::now(),
            kernel_before: Duration::ZERO,
            kept_bytes: memory.kept_bytes,
            layout: OnceCell::new(),
        })
    }

    /// What starts a fit makes, one of a path (`along`) or one that stands alone.
    pub(super) fn starts(&self, along: bool) -> Starts {
        if self.params.single_start {
            return Starts::ONE;
        }
        let n = self.span.weights.len();
        let continuation = !along
            && n <= MOST_SAMPLES_FOR_CONTINUATION
            && self.params.start == Start::Pca
            && self.solver == Solver::Lbfgs
            // All of the span is one subspace only.
            && self.params.components < self.span.rank()
            && self.params.landmarks.is_none_or(|m| m >= n);
        Starts { random: self.params.restarts, continuation }
    }

    /// The state before the first iteration; with an epsilon (along a path), at just that one.
    pub(super) fn begin(&mut self, start: StartingPoint, epsilon: Option<f64>) -> Result<FitState> {
        let StartingPoint { frame, potential } = start;
        self.stop.check()?;
        self.begun = Instant::now();
        self.kernel_before = self.layout.get().map_or(Duration::ZERO, KernelLayout::elapsed);
        let starts = self.starts(epsilon.is_some());
        let target = if epsilon.is_some() { None } else { target(&self.span, self.params) };
        let (epsilon, slope) = match epsilon {
            Some(epsilon) => (epsilon / self.unit_squared(), 1.0),
            None => first_epsilon(&self.span, self.params, &frame, potential.as_deref()),
        };
        let mut objective = self.objective();
        let mut balancer = Balancer::default();
        let potential = potential.unwrap_or_else(|| self.flat_potential());
        let point = objective.evaluate(epsilon, frame, potential, &mut balancer, self.first_plan_goal());
        Ok(FitState {
            fingerprint: self.fingerprint,
            stable_fingerprint: stable_fingerprint(&self.span, self.params),
            unit: self.span.unit,
            total_variance: self.span.total_variance(),
            starts,
            start: 0,
            attempt: 0,
            iteration: 0,
            epsilon,
            stage: if target.is_some() { Stage::Calibration } else { Stage::Final },
            searching: target.is_some() && starts.count() > 1,
            search: target.map(|target| PerplexitySearch::new(target, self.span.count(), slope)),
            rounds: 0,
            solver: State::new(self.solver, point, balancer),
            tally: objective.kernel.tally(),
            history: Vec::new(),
            ends: Vec::new(),
            made: None,
            settled: false,
            goal: self.goal_of_start(starts),
            best: None,
            nearest: None,
        })
    }

    /// The relative gradient to which a start is made: what is left is done for the best of them, in all directions.
    pub(super) fn goal_of_start(&self, starts: Starts) -> f64 {
        let rough = match (self.span.can_be_completed(), starts.count()) {
            (true, _) => ROUGH_GRADIENT_IN_FIRST_AXES,
            (false, 1) => 0.0,
            (false, _) => ROUGH_GRADIENT,
        };
        rough.max(self.tolerance())
    }

    /// A solver that has seen nothing but this point.
    pub(super) fn begun_at(&self, point: Point) -> State {
        State::new(self.solver, point, Balancer::default())
    }

    /// The unit of squared length: from the span's units to those of the data.
    pub(super) fn unit_squared(&self) -> f64 {
        self.span.unit * self.span.unit
    }

    /// The marginal error of the first plan: rough where the solver asks for better ones as it goes.
    pub(super) fn first_plan_goal(&self) -> f64 {
        if self.solver == Solver::Lbfgs { FIRST_PLAN_ERROR } else { self.plan_goal() }
    }

    /// The potential to begin with when nothing is known.
    pub(super) fn flat_potential(&self) -> Vec<f64> {
        vec![0.0; self.span.weights.len()]
    }

    pub(super) fn objective(&self) -> Objective<'a> {
        let layout = self.layout.get_or_init(|| {
            // Samples stand together by their principal components: where they are in the subspace is not much different.
            let layout_points = self.span.leading_axes(self.params.components);
            let options = KernelOptions {
                keep_far_pairs: !self.params.skip_far_pairs,
                kept_bytes: self.kept_bytes,
                landmarks: self.params.landmarks.filter(|m| *m < layout_points.rows()),
            };
            KernelLayout::of_team(&layout_points, options, self.member.clone())
        });
        Objective {
            span: self.span.clone(),
            kernel: layout.again(),
            // Among few samples passes are as fast in double precision. Landmarks are always in double.
            single: self.params.single_precision
                && self.span.weights.len() > FEWEST_SORTED_POINTS
                && layout.landmarks().is_none(),
            max_plan_passes: MAX_PLAN_PASSES,
            stop: if self.may_break_off_plans() { self.stop.clone() } else { StopFlag::default() },
        }
    }

    /// The same, counting its passes on from what a state has counted.
    pub(super) fn objective_of(&self, state: &FitState) -> Objective<'a> {
        let mut objective = self.objective();
        objective.kernel.count_from(state.tally);
        objective
    }

    /// The marginal error that a run_to_model plan must have.
    pub(super) fn plan_goal(&self) -> f64 {
        (1e-3 * self.params.tolerance).max(1e-14 * self.span.weights.len() as f64).min(1e-3)
    }

    /// The relative gradient that is good enough inside these axes.
    pub(super) fn tolerance(&self) -> f64 {
        self.params.tolerance * if self.span.is_partial() { PARTIAL_AXES_SHARE } else { ALL_AXES_SHARE }
    }

    /// Whether a plan may be broken off when the fit is to stop: where passes take their time.
    pub(super) fn may_break_off_plans(&self) -> bool {
        self.span.weights.len() >= MANY_SAMPLES
    }

    /// A saved state that belongs to these data and parameters, in these axes.
    pub(super) fn adopt_state(&mut self, samples: &'a Data<'_>, state: FitState) -> Result<FitState> {
        let (n, k) = (self.span.weights.len(), self.params.components);
        if !state.is_sane() {
            return Err(Error::State { what: "its numbers" });
        }
        if state.fingerprint == self.fingerprint {
            if let Some(completed) = self.span.completed(samples)
                && state.solver.point.frame.rows() == completed.rank()
            {
                self.span = Arc::new(completed);
            }
            let belongs = |end: &Candidate| end.solver.belongs_to(self.solver, &self.span, k);
            let best = state.best.as_ref().is_none_or(belongs);
            let starts = if state.made.is_some() { Starts::ONE } else { self.starts(false) };
            let nearest = state.nearest.as_ref().is_none_or(|nearest| belongs(&nearest.end));
            let fits = state.solver.belongs_to(self.solver, &self.span, k) && best && nearest && state.starts == starts;
            return if fits { Ok(state) } else { Err(Error::State { what: "its shapes" }) };
        }
        let total = |variance: f64, unit: f64| variance * unit * unit;
        let near = total(state.total_variance, state.unit) / total(self.span.total_variance(), self.span.unit) - 1.0;
        if state.stable_fingerprint != stable_fingerprint(&self.span, self.params) || near.is_nan() || near.abs() > 1e-9
        {
            return Err(Error::State { what: "the data or the parameters" });
        }
        // Rounding may have turned the axes. Scores know the subspace without them.
        let scale = state.unit / self.span.unit;
        let epsilon = |epsilon: f64| epsilon * scale * scale;
        let mut objective = self.objective_of(&state);
        let mut moved = |point: &Point, goal: f64| {
            let shapes = (point.scores.rows(), point.scores.columns(), point.potential.len());
            if shapes != (n, k, n) || !point.scores.is_finite() || !is_positive(point.epsilon) {
                return Err(Error::State { what: "its shapes" });
            }
            let frame = Orthonormalisation::Qr.of(&self.span.frame_of_scores(&point.scores))?;
            let potential = point.potential.clone();
            Ok(objective.evaluate(epsilon(point.epsilon), frame, potential, &mut Balancer::default(), goal))
        };
        let goal = self.first_plan_goal().min(state.solver.point.marginal_error.max(self.plan_goal()));
        let point = moved(&state.solver.point, goal)?;
        let best = match state.best {
            Some(best) => {
                let point = moved(&best.solver.point, self.plan_goal())?;
                Some(Candidate { solver: self.begun_at(point), leading: None, ..best })
            }
            None => None,
        };
        Ok(FitState {
            fingerprint: self.fingerprint,
            unit: self.span.unit,
            total_variance: self.span.total_variance(),
            epsilon: epsilon(state.epsilon),
            solver: self.begun_at(point),
            tally: objective.kernel.tally(),
            best,
            nearest: None,
            ..state
        })
    }

    /// Makes all starts from `state` on. Returns where the best one ended, and its model.
    pub(super) fn run_to_model(
        &mut self,
        samples: &'a Data<'_>,
        mut state: FitState,
    ) -> Result<(StartingPoint, Model)> {
        let (mut extensions, mut refined) = (0, false);
        let mut objective = self.objective_of(&state);
        self.observer.phase(Phase::Iterations);
        loop {
            objective.stop = if self.may_break_off_plans() { self.stop.clone() } else { StopFlag::default() };
            let best = self.run_starts(&mut objective, &mut state)?;
            let converged = best.termination == Termination::Converged;
            // Whether it is a minimum is looked at when an end is not rough.
            if converged && best.leading.is_none() && !refined {
                refined = !self.span.can_be_completed();
                state = self.refined(samples, &mut objective, state, best)?;
                continue;
            }
            let iterations = self.begun.elapsed();
            self.observer.phase(Phase::Finish);
            objective.stop = StopFlag::default();
            let end = self.canonical_end(samples, &mut objective, &best)?;
            if let Some(outside) = end.outside.as_ref().filter(|_| converged && extensions < MAX_EXTENSIONS) {
                extensions += 1;
                self.observer.phase(Phase::Iterations);
                state = self.extended(samples, &mut objective, state, best, outside)?;
                continue;
            }
            let model = self.model(samples, &mut objective, &mut state, &best, end, iterations)?;
            let Point { frame, potential, .. } = best.solver.point;
            return Ok((StartingPoint { frame, potential: Some(potential) }, model));
        }
    }

    /// Goes on from the best of rough ends, in all directions.
    fn refined(
        &mut self,
        samples: &'a Data<'_>,
        objective: &mut Objective<'a>,
        mut state: FitState,
        mut best: Candidate,
    ) -> Result<FitState> {
        if let Some(completed) = self.span.completed(samples) {
            let mut point = best.solver.point;
            point.frame = completed.spread_over_all(&point.frame);
            self.move_to(completed, objective);
            let point = objective.evaluate_again(&point, state.epsilon, &mut Balancer::default(), state.goal);
            best.solver = self.begun_at(point);
            state.goal = self.tolerance();
            // In all directions the perplexity is another one.
            let stage = if state.search.is_some() { Stage::Approach } else { Stage::Final };
            return Ok(FitState { stage, ..self.going_on(objective, state, best) });
        }
        state.goal = self.tolerance();
        state.settled = true;
        Ok(self.going_on(objective, state, best))
    }

    /// From here on in other coordinates.
    fn move_to(&mut self, span: Span<'a>, objective: &mut Objective<'a>) {
        self.fingerprint = fingerprint(&span, self.params);
        self.span = Arc::new(span);
        objective.span = self.span.clone();
    }

    /// Takes the `outside` of the gradient into the axes, and goes on from the best point with them.
    fn extended(
        &mut self,
        samples: &Data<'_>,
        objective: &mut Objective<'a>,
        state: FitState,
        mut best: Candidate,
        outside: &Matrix,
    ) -> Result<FitState> {
        let point = best.solver.point;
        let (span, frame) = self.span.extended(samples, outside, &point.frame)?;
        self.move_to(span, objective);
        let tolerance = point.marginal_error.max(self.plan_goal());
        let point = objective.evaluate(state.epsilon, frame, point.potential, &mut Balancer::default(), tolerance);
        best.solver = self.begun_at(point);
        Ok(self.going_on(objective, state, best))
    }

    /// The state that goes on from the best end: the starts were made, what is left is a matter of the last digits.
    fn going_on(&self, objective: &Objective<'_>, state: FitState, best: Candidate) -> FitState {
        let made = Some(state.starts_made(best.solver.point.loss));
        let mut search = state.search;
        search.iter_mut().for_each(PerplexitySearch::reset_bracket);
        FitState {
            fingerprint: self.fingerprint,
            starts: Starts::ONE,
            made,
            ends: Vec::new(),
            start: 0,
            attempt: best.attempt,
            // At the limit there is no further iteration: what is left to do is looked at, and not done.
            iteration: (best.iterations + 1).min(self.params.max_iterations.max(best.iterations)),
            search,
            stage: Stage::Final,
            solver: best.solver,
            tally: objective.kernel.tally(),
            best: None,
            nearest: None,
            ..state
        }
    }
}

/// The frame of the first start.
fn first_frame(samples: &Data<'_>, span: &Span<'_>, params: &Params) -> Result<Matrix> {
    let k = params.components;
    match &params.start {
        Start::Pca => Ok(span.pca_frame(k)),
        Start::Random => Ok(random_frame(span.rank(), k, params.seed, 0)),
        Start::Loadings(loadings) => {
            if loadings.rows() != samples.columns() {
                return Err(Error::Columns { expected: samples.columns(), found: loadings.rows() });
            }
            let frame = span.frame(samples, loadings)?;
            let (values, _) = symmetric_eigen(&frame.transposed_times(&frame))?;
            if values[k - 1].is_nan() || values[k - 1] <= 1e-12 * values[0] {
                return Err(Error::Parameter {
                    name: "start",
                    value: "given loadings".into(),
                    expected: "their columns must be linearly independent within the span of the data".into(),
                });
            }
            Orthonormalisation::Qr.of(&frame)
        }
    }
}
