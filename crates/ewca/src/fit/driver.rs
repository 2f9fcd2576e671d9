//! The one loop: steps of a solver, watched, until the certificate is good enough.

use std::sync::Arc;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use super::certificate::{approximation, duality_gap};
use super::coarse::{MANY, Warm, coarse_start};
use super::memory::{self, MemoryPlan, Shape};
use super::model::{Perplexity, Timings};
use super::params::{DEFAULT_PERPLEXITY, Params, Smoothing, Start};
use super::search::Search;
use super::{Certificate, Control, Iteration, Model, Observer, Progress, Termination};
use crate::error::{Error, Result};
use crate::kernel::{Kernel, exp_of_minus_all};
use crate::matrix::{Matrix, dot, symmetric_eigen};
use crate::parallel;
use crate::samples::{Reduction, Samples, Scalar, Span};
use crate::solvers::{Leading, Objective, Outcome, Point, Solver, State, bcd, lbfgs, mm};
use crate::subspace::{
    Orthonormalisation, canonical_signs, grassmann_distance, polar_correction, principal_rotation, random_frame,
};
use crate::team::Member;
use crate::transport::{Balancer, row_perplexities};

/// A stationary subspace is a saddle when Algorithm 1 could still win more than this fraction of lambda_max(Sigma).
const SADDLE: f64 = 1e-9;
/// The relative gradient that is good enough to measure a perplexity while epsilon still moves.
const LOOSE: f64 = 1e-3;
/// The marginal error of a first look.
const FIRST_LOOK: f64 = 1e-2;
const MAX_PLAN_PASSES: usize = 2000;
/// How often a fit in the leading axes may take in directions from outside.
const MAX_EXTENSIONS: usize = 30;
/// Inside and outside of the leading axes, the gradient may each take this part of the tolerance.
const EACH: f64 = 0.7;

/// How settled epsilon is while a perplexity is sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
enum Stage {
    /// The subspace is still the first one: a plan is all it takes to know the perplexity.
    Calibration,
    /// Fits are loose.
    Approach,
    /// Epsilon is fixed, or settled but for the last digits.
    Final,
}

impl Stage {
    /// How near the mean perplexity must come to the wanted one.
    fn close(self) -> f64 {
        match self {
            Self::Calibration => 0.05,
            Self::Approach => 0.01,
            Self::Final => 1e-3,
        }
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
    attempt: usize,
    iteration: usize,
    /// In units of the span, as everything below.
    epsilon: f64,
    /// None when epsilon is fixed.
    search: Option<Search>,
    stage: Stage,
    solver: State,
    /// Kernel passes up to here.
    passes: usize,
    history: Vec<Iteration>,
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
        let (span, memory) = reduced(samples, params)?;
        let mut run = Run::new(span, memory, params, samples.member().clone(), observer, clock);
        let state = match resumed {
            Some(state) => run.belonging(state)?,
            None => {
                let frame = run.first_frame(samples)?;
                let Warm { frame, potential } = run.coarse(frame)?;
                run.begin(frame, potential, None)?
            }
        };
        let (_, model) = run.finished(samples, state)?;
        Ok(model)
    })?
}

/// The data in their span, once it is clear that the fit is possible.
pub(crate) fn reduced<T: Scalar>(samples: &Samples<'_, T>, params: &Params) -> Result<(Span, MemoryPlan)> {
    let memory = memory::plan(&Shape::of(samples, params.components, params.landmarks), params.memory_budget)?;
    let span = Span::new(samples, Reduction { axes: memory.axes })?;
    let k = params.components;
    if k > span.rank() {
        return Err(Error::Components { requested: k, rank: span.rank() });
    }
    if let Smoothing::Perplexity(p) = params.smoothing
        && p >= samples.count()
    {
        let expected = format!("it must be below the number of samples, {}", samples.count());
        return Err(Error::Parameter { name: "perplexity", value: p.to_string(), expected });
    }
    Ok((span, memory))
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

    /// The state before the first iteration, from a frame and possibly a potential; with an epsilon, at just that one.
    pub fn begin(&mut self, frame: Matrix, potential: Option<Vec<f64>>, epsilon: Option<f64>) -> Result<FitState> {
        self.begun = Instant::now();
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
            attempt: 0,
            iteration: 0,
            epsilon,
            stage: if target.is_some() { Stage::Calibration } else { Stage::Final },
            search: target.map(|target| Search::new(target, slope)),
            solver: State { point, balancer, curvature: lbfgs::Curvature::default() },
            passes: objective.kernel.passes(),
            history: Vec::new(),
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
        let single = self.params.single_precision;
        Objective { span: self.span.clone(), epsilon, kernel, single, max_plan_passes: MAX_PLAN_PASSES }
    }

    /// The marginal error that a finished plan must have.
    fn plan_goal(&self) -> f64 {
        (1e-3 * self.params.tolerance).max(1e-14 * self.span.weights.len() as f64).min(1e-3)
    }

    /// The relative gradient that is good enough inside these axes.
    fn tolerance(&self) -> f64 {
        if self.span.is_partial() { EACH * self.params.tolerance } else { self.params.tolerance }
    }

    /// A saved state that belongs to these data and parameters, in these axes.
    fn belonging(&mut self, state: FitState) -> Result<FitState> {
        let (n, k) = (self.span.weights.len(), self.params.components);
        if state.fingerprint == self.fingerprint {
            let fits = state.solver.belongs_to(&self.span, k);
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
            passes: state.passes + objective.kernel.passes(),
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
            let mut objective = self.objective(state.epsilon);
            let passes_before = state.passes;
            self.attempts(&mut objective, &mut state, passes_before)?;
            let iterations = self.begun.elapsed();
            let (mut model, outside) = self.model(samples, &mut objective, &state)?;
            let work = objective.kernel.work();
            state.passes = passes_before + work.passes;
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
            model.kernel_passes = state.passes;
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
        let mut objective = self.objective(state.epsilon);
        let mut balancer = Balancer::default();
        let point = objective.evaluate(frame, best.point.potential, &mut balancer, self.plan_goal());
        let mut search = state.search;
        search.iter_mut().for_each(Search::again);
        Ok(FitState {
            fingerprint: self.fingerprint,
            attempt: self.params.restarts,
            iteration: best.iterations + 1,
            search,
            stage: Stage::Final,
            solver: State { point, balancer, curvature: lbfgs::Curvature::default() },
            passes: state.passes + objective.kernel.passes(),
            best: None,
            ..state
        })
    }

    fn attempts(&mut self, objective: &mut Objective, state: &mut FitState, passes_before: usize) -> Result<()> {
        loop {
            let mut leading = None;
            let termination = loop {
                state.passes = passes_before + objective.kernel.passes();
                if self.watched(state)? == Control::Stop {
                    break Termination::Interrupted;
                }
                if let Some(termination) = self.advance(objective, state, &mut leading)? {
                    break termination;
                }
                state.iteration += 1;
            };
            state.passes = passes_before + objective.kernel.passes();
            let interrupted = termination == Termination::Interrupted;
            let better = state.best.as_ref().is_none_or(|best| state.solver.point.loss < best.point.loss);
            if better && !(interrupted && state.best.is_some() && state.stage != Stage::Final) {
                state.best = Some(Candidate {
                    point: state.solver.point.clone(),
                    termination,
                    attempt: state.attempt,
                    iterations: state.iteration,
                    leading,
                });
            } else if let (true, Some(best)) = (interrupted, &mut state.best) {
                best.termination = Termination::Interrupted;
            }
            if interrupted || state.attempt == self.params.restarts {
                return Ok(());
            }
            // The next attempt: a random subspace, at the epsilon that the first one found.
            state.attempt += 1;
            state.iteration = 0;
            (state.search, state.stage) = (None, Stage::Final);
            let frame =
                random_frame(objective.span.rank(), self.params.components, self.params.seed, state.attempt as u64);
            let potential = vec![0.0; objective.span.weights.len()];
            let mut balancer = Balancer::default();
            let point = objective.evaluate(frame, potential, &mut balancer, self.first_plan_goal());
            state.solver = State { point, balancer, curvature: lbfgs::Curvature::default() };
        }
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
            kernel_passes: state.passes,
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
            Stage::Final => self.tolerance(),
        };
        if state.solver.point.relative_gradient <= goal {
            let plan_goal = match state.stage {
                Stage::Calibration => FIRST_LOOK,
                Stage::Approach => 0.1 * goal,
                Stage::Final => self.plan_goal(),
            };
            if state.solver.point.marginal_error > plan_goal {
                state.solver.tighten(objective, plan_goal);
            }
        }
        if state.solver.point.relative_gradient <= goal {
            if state.stage == Stage::Final {
                let found = objective.leading(&state.solver.point)?;
                let known = (found.values.clone(), found.shortfall);
                if found.shortfall > SADDLE * objective.span.variances[0] {
                    if state.iteration >= self.params.max_iterations {
                        return Ok(Some(Termination::MaxIterations));
                    }
                    if self.left(objective, state, found) {
                        return Ok(None);
                    }
                }
                *leading = Some(known);
            }
            if self.epsilon_moved(objective, state) {
                return Ok(None);
            }
            return Ok(Some(Termination::Converged));
        }
        if state.iteration >= self.params.max_iterations {
            return Ok(Some(Termination::MaxIterations));
        }
        let outcome = match self.solver {
            Solver::Auto | Solver::Lbfgs => lbfgs::step(objective, &mut state.solver, 0.1 * goal)?,
            Solver::Bcd => bcd::step(objective, &mut state.solver, self.plan_goal())?,
            Solver::Mm(params) => mm::step(objective, &mut state.solver, params, self.plan_goal())?,
        };
        if outcome == Outcome::Stuck && state.solver.point.marginal_error > self.plan_goal() {
            // The dual value of a rough plan is too low for any step to beat it: try again from an accurate one.
            state.solver.tighten(objective, self.plan_goal());
            state.solver.curvature = lbfgs::Curvature::default();
        } else if outcome == Outcome::Stuck {
            let before = state.solver.point.loss;
            let found = objective.leading(&state.solver.point)?;
            self.left(objective, state, found);
            let won = before - state.solver.point.loss;
            if won.is_nan() || won <= 1e-13 * before.abs() {
                return Ok(Some(Termination::Stalled));
            }
        }
        Ok(None)
    }

    /// One step of the search for a perplexity, where there is one: whether anything is left to do.
    fn epsilon_moved(&self, objective: &mut Objective, state: &mut FitState) -> bool {
        let Some(search) = &mut state.search else { return false };
        let perplexity = perplexity(objective, &state.solver.point).mean;
        match (search.next(state.epsilon, perplexity, state.stage.close()), state.stage) {
            (Some(epsilon), _) => {
                state.epsilon = epsilon;
                objective.epsilon = epsilon;
                let Point { frame, scores, potential, .. } = state.solver.point.clone();
                let goal = self.first_plan_goal();
                state.solver.point =
                    objective.evaluate_scores(frame, scores, potential, &mut state.solver.balancer, goal);
                true
            }
            (None, Stage::Calibration | Stage::Approach) => {
                state.stage = if state.stage == Stage::Calibration { Stage::Approach } else { Stage::Final };
                search.again();
                true
            }
            (None, Stage::Final) => false,
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
        let lower = won > SADDLE * objective.span.variances[0];
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
        let point =
            objective.evaluate_scores(frame, active, best.point.potential.clone(), &mut balancer, self.plan_goal());
        let (mut eigenvalues, shortfall) = match best.leading.clone() {
            Some(known) => known,
            None => {
                let found = objective.leading(&point)?;
                (found.values, found.shortfall)
            }
        };
        let outside = if span.is_partial() { span.outside(samples, &objective.columns(&point))? } else { None };
        let relative_outside = outside.as_ref().map_or(0.0, |outside| outside.norm() / span.variances[0]);
        let k = components.columns();
        let next_eigenvalue = (eigenvalues.len() > k).then(|| eigenvalues[k]);
        eigenvalues.truncate(k);
        let sum = eigenvalues.iter().sum::<f64>().abs();
        let square = self.square();
        let certificate = Certificate {
            marginal_error: point.marginal_error,
            duality_gap: duality_gap(objective, &point) * square,
            relative_gradient: point.relative_gradient.hypot(relative_outside),
            omitted_variance: span.omitted_variance(),
            eigen_deficit: shortfall / if sum > 0.0 { sum } else { span.variances[0] },
            skipped_mass: 0.0,
            collapsed: eigenvalues.iter().any(|&x| x <= 0.0),
            eigenvalues: eigenvalues.into_iter().map(|x| x * square).collect(),
            next_eigenvalue: next_eigenvalue.map(|x| x * square),
            approximation: approximation(objective, &point),
        };
        let perplexity = perplexity(objective, &point);
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
            repeated: span.repeated,
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

fn perplexity(objective: &mut Objective, point: &Point) -> Perplexity {
    objective.kernel.set_points(&point.scores, objective.epsilon);
    let u: Vec<f64> = objective.span.weights.iter().zip(&point.potential).map(|(a, f)| a * f.exp()).collect();
    let Span { weights, repeated, .. } = &*objective.span;
    let rows = row_perplexities(&objective.kernel, &u, weights, *repeated);
    if let Some(witnesses) = objective.kernel.witnesses() {
        let part = |w: usize| repeated.map_or(1.0, |_| weights[witnesses[w]]);
        let total: f64 = (0..rows.len()).map(part).sum();
        return Perplexity::of(&rows, |w| part(w) / total);
    }
    match repeated {
        Some(_) => Perplexity::of(&rows, |i| weights[i]),
        None => Perplexity::of(&rows, |_| 1.0 / weights.len() as f64),
    }
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
    let log = |a: f64| span.repeated.map_or(a.ln(), |count| -count.ln());
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
    let mean_perplexity = |epsilon: f64| {
        let of_row = |row: &Vec<f64>| {
            let mut kernel: Vec<f64> = row.iter().map(|d| d / epsilon).collect();
            exp_of_minus_all(&mut kernel);
            let (mut total, mut sum) = (0.0, 0.0);
            for (((k, d), u), log) in kernel.iter().zip(row).zip(&scaled).zip(&logs) {
                let mass = u * k;
                total += mass;
                sum += mass * (log - d / epsilon);
            }
            (total.ln() - sum / total).exp()
        };
        let rows = parallel::blocks(distances.len(), 8);
        let parts = parallel::map(&rows, distances.len() * scores.rows() * 20, |part| {
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
        if mean_perplexity(middle.exp()) < target { low = middle } else { high = middle }
    }
    let guess = 0.5 * (low + high);
    let slope = if scores.rows() < MANY {
        1.0
    } else {
        const STEP: f64 = 0.05;
        (mean_perplexity((guess + STEP).exp()) / mean_perplexity((guess - STEP).exp())).ln() / (2.0 * STEP)
    };
    (guess.exp(), slope)
}

/// Samples that are spread over the cloud: those at equal steps of weight along the first axis. The choice depends neither on the
/// samples' order nor on whether weights or repeated samples were given, and so the search ends at the same epsilon.
fn spread_rows(scores: &Matrix, weights: &[f64]) -> impl Iterator<Item = usize> {
    let rows = if scores.rows() < MANY { 16 } else { ((1 << 22) / scores.rows()).clamp(16, 100) };
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
