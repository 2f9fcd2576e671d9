//! The loop: steps of a solver, shown to the observer, until the certificate is good enough; and the starts, one after the other.

use super::perplexity_search::{PerplexitySearch, rough_perplexity, smallest_epsilon};
use super::session::Session;
use super::state::{CONTINUATION_STEPS, Candidate, FitState, MAX_SEARCH_ROUNDS, Nearest, Stage, is_same_loss};
use super::{Control, Iteration, Progress, Termination};
use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::solvers::{Goal, Leading, Objective, Outcome, Point, State};
use crate::subspace::{Orthonormalisation, random_frame};
use crate::transport::Balancer;

/// The marginal error of a plan whose perplexity is measured before the subspace moves.
const CALIBRATION_PLAN_ERROR: f64 = 2e-3;
/// The relative gradient that is good enough to measure a perplexity while epsilon still moves.
const SEARCH_GRADIENT: f64 = 1e-3;
/// The one at which the perplexity is that of the end, to the digits that matter.
const SETTLED_GRADIENT: f64 = 3e-5;
/// From one step of a continuation to the next epsilon grows by this factor; the fits on the way have this relative gradient.
const CONTINUATION_FACTOR: f64 = 4.0;
const CONTINUATION_GRADIENT: f64 = 1e-2;
/// How near the perplexity of the best of all starts must be to the wanted one.
const CLOSE_PERPLEXITY: f64 = 8e-3;
/// ... that of a fit in some of the axes, and that of the best of all starts there: in all axes it is another one.
const ROUGHLY_CLOSE_PERPLEXITY: f64 = 0.1;
const ROUGHLY_CLOSE_STARTS: f64 = 0.5;
/// Up to so many samples a perplexity must be so far off, on the scale of logarithms, for epsilon to be moved on the way.
const FEW_SAMPLES: usize = 512;
const FAR_PERPLEXITY: f64 = 0.7;
/// How often that is looked at, in iterations.
const FOLLOW_AFTER: usize = 4;
/// At a relative gradient, Algorithm 1 may win so many times its square of the smallest component without there being a saddle.
const EXPLAINED_DEFICIT: f64 = 20.0;
/// ... up to this gradient.
const LARGEST_GOAL: f64 = 1e-3;
/// An end must be lower than the best one so far by this part of the variance to replace it: less is the same optimum.
const LOWER_LOSS: f64 = 1e-10;

impl Session<'_> {
    /// Makes all starts; where a perplexity is wanted, at the epsilon that gives it. Returns the best end.
    pub(super) fn run_starts(&mut self, objective: &mut Objective<'_>, state: &mut FitState) -> Result<Candidate> {
        loop {
            let mut leading = None;
            let termination = loop {
                state.tally = objective.kernel.tally();
                if self.notify_observer(state)? == Control::Stop {
                    break Termination::Interrupted;
                }
                // What is broken off in the middle is not what an uninterrupted fit would go on from.
                let before = self.may_break_off_plans().then(|| state.clone());
                let ended = self.advance(objective, state, &mut leading)?;
                if let Some(before) = before.filter(|_| self.stop.is_raised()) {
                    *state = before;
                    leading = None;
                } else if let Some(termination) = ended {
                    break termination;
                } else {
                    state.iteration += 1;
                }
            };
            state.tally = objective.kernel.tally();
            let interrupted = termination == Termination::Interrupted;
            // At the limit before epsilon is found there is nothing to make starts at. A state of the search goes on as if there had been no limit.
            let is_lost = state.searching && termination == Termination::MaxIterations;
            if state.searching && !interrupted && !is_lost {
                // Epsilon is found: what it gives must not depend on the way there.
                state.searching = false;
                state.search.iter_mut().for_each(PerplexitySearch::reset_bracket);
                self.begin_start(objective, state, 0)?;
                continue;
            }
            self.keep(objective, state, termination, leading)?;
            let all_made = state.start + 1 >= state.starts.count();
            if interrupted || is_lost || (all_made && !self.epsilon_moved_after_all_starts(objective, state)?) {
                return state.best.take().ok_or(Error::State { what: "its numbers" });
            }
            if !all_made {
                self.begin_start(objective, state, state.start + 1)?;
            }
        }
    }

    /// Keeps the end of an attempt where it is the lowest.
    fn keep(
        &self,
        objective: &mut Objective<'_>,
        state: &mut FitState,
        termination: Termination,
        leading: Option<(Vec<f64>, f64)>,
    ) -> Result<()> {
        let interrupted = termination == Termination::Interrupted;
        if let Stage::Continuation { .. } = state.stage {
            // It ended on the way, at another epsilon: that is no end.
        } else if let (true, Some(best)) = (!interrupted && self.comes_to_the_best(state), &state.best) {
            state.ends.push(best.solver.point.loss);
        } else if !interrupted || state.best.is_none() {
            let is_compared = state.starts.count() > 1 || state.goal <= self.tolerance();
            if !interrupted && is_compared && state.solver.point.marginal_error > self.plan_goal() {
                // A rough plan's dual value is too low to be compared.
                state.solver.tighten(objective, self.plan_goal());
            }
            let point = &state.solver.point;
            if !point.loss.is_finite() {
                return Err(Error::NotANumber { what: "the loss" });
            }
            state.ends.push(point.loss);
            let least = LOWER_LOSS * self.span.total_variance();
            let is_better = |best: &Candidate| {
                // Of two ends at the same optimum the one that has arrived there counts.
                let arrived = termination == Termination::Converged && best.termination != Termination::Converged;
                point.loss < best.solver.point.loss + if arrived { least } else { -least }
            };
            if state.best.as_ref().is_none_or(is_better) {
                // What comes next begins anew.
                let left = self.begun_at(point.clone());
                state.best = Some(Candidate {
                    solver: std::mem::replace(&mut state.solver, left),
                    termination,
                    attempt: state.attempt,
                    iterations: state.iteration,
                    leading,
                });
            }
        } else if let Some(best) = &mut state.best
            && state.stage == Stage::Final
            && state.solver.point.loss < best.solver.point.loss
        {
            // Stopped on the way, and already lower.
            *best = Candidate {
                solver: state.solver.clone(),
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
    fn begin_start(&self, objective: &mut Objective<'_>, state: &mut FitState, start: usize) -> Result<()> {
        (state.start, state.attempt, state.iteration) = (start, state.attempt + 1, 0);
        state.goal = self.goal_of_start(state.starts);
        let (mut epsilon, mut balancer) = (state.epsilon, Balancer::default());
        state.stage = Stage::Final;
        let frame = if start == 0 {
            self.first.clone()
        } else if start <= state.starts.random {
            self.random_start(start as u64)?
        } else {
            state.stage = Stage::Continuation { steps_left: CONTINUATION_STEPS };
            epsilon /= CONTINUATION_FACTOR.powi(CONTINUATION_STEPS);
            self.span.pca_frame(self.params.components)
        };
        let point = objective.evaluate(epsilon, frame, self.flat_potential(), &mut balancer, self.first_plan_goal());
        state.solver = State::new(self.solver, point, balancer);
        Ok(())
    }

    /// A random subspace that leans towards the directions in which the data vary: uniformly random ones are far from every optimum.
    fn random_start(&self, stream: u64) -> Result<Matrix> {
        let mut frame = random_frame(self.span.rank(), self.params.components, self.params.seed, stream);
        frame.scale_rows(&self.span.variances.iter().map(|v| v.sqrt()).collect::<Vec<_>>());
        Orthonormalisation::Qr.of(&frame)
    }

    /// Where several starts were made at an epsilon that was searched for, and the best end has another perplexity than the search saw: all
    /// starts again at a better epsilon. Where none has the wanted perplexity, since the optimum jumps, the nearer side of the jump is the end.
    fn epsilon_moved_after_all_starts(&self, objective: &mut Objective<'_>, state: &mut FitState) -> Result<bool> {
        if state.starts.count() == 1 {
            return Ok(false);
        }
        let (Some(search), Some(best)) = (&mut state.search, &state.best) else { return Ok(false) };
        let perplexity = rough_perplexity(objective, &best.solver.point)?;
        // What is only the beginning of a fit in all directions may be further off.
        let close = if state.goal >= SEARCH_GRADIENT { ROUGHLY_CLOSE_STARTS } else { CLOSE_PERPLEXITY };
        let next = search.next(state.epsilon, perplexity, close, smallest_epsilon(&best.solver.point));
        let distance = search.distance(perplexity);
        let nearer_one = state.nearest.take().filter(|nearest| nearest.distance < distance);
        if let Some(epsilon) = next.filter(|_| state.rounds < MAX_SEARCH_ROUNDS) {
            let (end, ends) = (state.best.take(), std::mem::take(&mut state.ends));
            state.nearest = nearer_one.or(end.map(|end| Nearest { distance, end, ends }));
            (state.rounds, state.epsilon) = (state.rounds + 1, epsilon);
            self.begin_start(objective, state, 0)?;
            return Ok(true);
        }
        if let Some(Nearest { end, ends, .. }) = nearer_one {
            (state.epsilon, state.ends) = (end.solver.point.epsilon, ends);
            state.best = Some(end);
        }
        Ok(false)
    }

    fn notify_observer(&mut self, state: &mut FitState) -> Result<Control> {
        let point = &state.solver.point;
        let iteration = Iteration {
            attempt: state.attempt,
            iteration: state.iteration,
            epsilon: point.epsilon * self.unit_squared(),
            loss: point.loss * self.unit_squared(),
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
        objective: &mut Objective<'_>,
        state: &mut FitState,
        leading: &mut Option<(Vec<f64>, f64)>,
    ) -> Result<Option<Termination>> {
        *leading = None;
        if self.comes_to_the_best(state) {
            return Ok(Some(Termination::Converged));
        }
        let (goal, plan_goal) = self.goals(state);
        if state.solver.point.relative_gradient <= goal && state.solver.point.marginal_error > plan_goal {
            state.solver.tighten(objective, plan_goal);
        }
        let limit_reached = (state.iteration >= self.params.max_iterations).then_some(Termination::MaxIterations);
        if state.solver.point.relative_gradient <= goal {
            if let Stage::Continuation { steps_left } = state.stage {
                if limit_reached.is_some() {
                    return Ok(limit_reached);
                }
                self.climb(objective, state, steps_left - 1);
                return Ok(None);
            }
            let is_rough = state.goal > self.tolerance();
            // A rough end in some of the axes is not where the perplexity is measured, unless there are several, or the search begins.
            let several = state.starts.count() > 1 || state.settled;
            let settled = !state.searching && (several || (is_rough && state.stage == Stage::Final));
            if !settled && self.epsilon_moved(objective, state)? {
                return Ok(limit_reached);
            }
            if state.stage == Stage::Final && !state.searching && !is_rough {
                let found = objective.leading(&state.solver.point)?;
                let known = (found.values.clone(), found.eigen_deficit);
                if found.is_saddle && !is_near_an_end(&found, &state.solver.point, goal) {
                    if limit_reached.is_some() {
                        return Ok(limit_reached);
                    }
                    if self.escape_saddle(objective, state, found) {
                        return Ok(None);
                    }
                }
                *leading = Some(known);
            }
            return Ok(Some(Termination::Converged));
        }
        if limit_reached.is_some() {
            return Ok(limit_reached);
        }
        if self.follows_perplexity(objective, state)? {
            return Ok(None);
        }
        let goal = Goal { relative_gradient: goal, marginal_error: self.plan_goal() };
        match state.solver.step(objective, &goal)? {
            Outcome::Moved => Ok(None),
            Outcome::Stuck => self.go_on_where_no_step_helps(objective, state),
        }
    }

    /// The relative gradient at which this attempt has arrived, and how accurate its plan must be there.
    fn goals(&self, state: &FitState) -> (f64, f64) {
        let loose = |gradient: f64| {
            let goal = gradient.max(self.tolerance());
            (goal, 0.1 * goal)
        };
        match state.stage {
            Stage::Calibration => (f64::INFINITY, CALIBRATION_PLAN_ERROR),
            Stage::Approach => loose(SEARCH_GRADIENT.max(state.goal)),
            Stage::Settling => loose(SETTLED_GRADIENT),
            Stage::Continuation { .. } => loose(CONTINUATION_GRADIENT),
            Stage::Final if state.searching => loose(SEARCH_GRADIENT.max(state.goal)),
            Stage::Final if state.goal > self.tolerance() => loose(state.goal),
            Stage::Final => (self.tolerance(), self.plan_goal()),
        }
    }

    /// Where the solver finds no step: with a better plan, or by Algorithm 1, unless that does not help either.
    fn go_on_where_no_step_helps(
        &self,
        objective: &mut Objective<'_>,
        state: &mut FitState,
    ) -> Result<Option<Termination>> {
        if state.solver.point.marginal_error > self.plan_goal() {
            // The dual value of a rough plan is too low for any step to beat it: try again from an accurate one.
            state.solver.tighten(objective, self.plan_goal());
            state.solver.forget();
            return Ok(None);
        }
        let (before, gradient) = (state.solver.point.loss, state.solver.point.relative_gradient);
        let found = objective.leading(&state.solver.point)?;
        self.escape_saddle(objective, state, found);
        let won = before - state.solver.point.loss;
        // Where one component dominates, the others may improve by less than the loss can tell.
        let better = state.solver.point.relative_gradient < 0.9 * gradient;
        let stalled = won.is_nan() || (won <= 1e-13 * before.abs() && !better);
        Ok(stalled.then_some(Termination::Stalled))
    }

    /// Whether a further start is on its way to the loss that is the lowest so far: what is left of it would tell nothing new.
    fn comes_to_the_best(&self, state: &FitState) -> bool {
        let point = &state.solver.point;
        let is_near = |best: &Candidate| {
            is_same_loss(point.loss, best.solver.point.loss) && best.termination == Termination::Converged
        };
        state.stage == Stage::Final
            && !state.searching
            && point.relative_gradient <= SEARCH_GRADIENT
            && state.best.as_ref().is_some_and(is_near)
    }

    /// The next step of a start by continuation: a larger epsilon, from here.
    fn climb(&self, objective: &mut Objective<'_>, state: &mut FitState, steps_left: i32) {
        state.stage = if steps_left == 0 { Stage::Final } else { Stage::Continuation { steps_left } };
        self.go_on_at(objective, state, state.epsilon / CONTINUATION_FACTOR.powi(steps_left));
    }

    /// Goes on from here at another epsilon.
    fn go_on_at(&self, objective: &mut Objective<'_>, state: &mut FitState, epsilon: f64) {
        let State { point, balancer, .. } = &mut state.solver;
        *point = objective.evaluate_again(point, epsilon, balancer, self.first_plan_goal());
    }

    /// Moves epsilon with the subspace where the perplexity is further off than the gradient is large: at a wrong epsilon no step is worth much.
    fn follows_perplexity(&self, objective: &mut Objective<'_>, state: &mut FitState) -> Result<bool> {
        // Where passes are cheap, or all starts are made once epsilon is known, only if it is far off.
        let only_far = state.searching || self.span.weights.len() <= FEW_SAMPLES;
        let after = match state.stage {
            Stage::Approach => FOLLOW_AFTER,
            Stage::Settling if !only_far => 2 * FOLLOW_AFTER,
            _ => return Ok(false),
        };
        let near = close_perplexity(state);
        let Some(search) = &mut state.search else { return Ok(false) };
        if state.iteration % after != after - 1 || !search.may_follow() {
            return Ok(false);
        }
        let point = &state.solver.point;
        let perplexity = rough_perplexity(objective, point)?;
        let close = if only_far { FAR_PERPLEXITY } else { near.max(point.relative_gradient) };
        let Some(epsilon) = search.follow(state.epsilon, perplexity, close, smallest_epsilon(point)) else {
            return Ok(false);
        };
        (state.epsilon, state.nearest) = (epsilon, None);
        self.go_on_at(objective, state, epsilon);
        Ok(true)
    }

    /// One step of the search for a perplexity, where there is one: whether anything is left to do. At the limit of iterations epsilon stays.
    fn epsilon_moved(&self, objective: &mut Objective<'_>, state: &mut FitState) -> Result<bool> {
        if state.search.is_none() {
            return Ok(false);
        }
        let perplexity = rough_perplexity(objective, &state.solver.point)?;
        let lowest = smallest_epsilon(&state.solver.point);
        loop {
            let close = close_perplexity(state);
            let Some(search) = &mut state.search else { return Ok(false) };
            let next = search.next(state.epsilon, perplexity, close, lowest);
            let distance = search.distance(perplexity);
            let nearer_one = state.nearest.take().filter(|nearest| nearest.distance < distance);
            if let Some(epsilon) = next {
                if state.iteration < self.params.max_iterations {
                    state.nearest = nearer_one.or_else(|| Some(self.end_of_search(state, distance)));
                    state.epsilon = epsilon;
                    self.go_on_at(objective, state, epsilon);
                }
                return Ok(true);
            }
            // While the subspace stays the perplexity may be steep, but it does not jump.
            let at_jump = search.is_at_jump() && state.stage != Stage::Calibration;
            search.reset_bracket();
            let settles = !state.searching && state.goal < SETTLED_GRADIENT;
            if at_jump && state.searching {
                // All starts are made from here on: another subspace may have the perplexity.
                state.epsilon = nearer_one.map_or(state.epsilon, |nearest| nearest.end.solver.point.epsilon);
                return Ok(false);
            }
            // A loose fit may have jumped too soon, an accurate one has not.
            state.settled |= at_jump && settles && state.stage != Stage::Approach;
            if let Some(nearest) = nearer_one.filter(|_| at_jump && state.iteration < self.params.max_iterations) {
                state.solver = nearest.end.solver;
                state.epsilon = state.solver.point.epsilon;
                state.stage = if settles && state.stage == Stage::Approach { Stage::Settling } else { Stage::Final };
                return Ok(true);
            }
            state.stage = match state.stage {
                Stage::Calibration => Stage::Approach,
                Stage::Approach if settles => Stage::Settling,
                Stage::Approach | Stage::Settling => Stage::Final,
                Stage::Final | Stage::Continuation { .. } => return Ok(false),
            };
            // Where this is also good enough for the next stage, its perplexity is known.
            let (gradient, plan_error) = self.goals(state);
            let point = &state.solver.point;
            if state.stage == Stage::Final || point.relative_gradient > gradient || point.marginal_error > plan_error {
                return Ok(true);
            }
        }
    }

    /// Where a search has come to: its perplexity is so far from the wanted one.
    fn end_of_search(&self, state: &FitState, distance: f64) -> Nearest {
        let end = Candidate {
            solver: self.begun_at(state.solver.point.clone()),
            termination: Termination::Converged,
            attempt: state.attempt,
            iterations: state.iteration,
            leading: None,
        };
        Nearest { distance, end, ends: Vec::new() }
    }

    /// Leaves a saddle, or a place where no step helps, by a step of Algorithm 1, and says whether it did.
    ///
    /// With an approximate kernel the eigenvectors of M are not quite where its loss is least: there the step is taken only if it
    /// lowers the loss.
    fn escape_saddle(&self, objective: &mut Objective<'_>, state: &mut FitState, leading: Leading) -> bool {
        let State { point: before, balancer, .. } = &mut state.solver;
        let potential = before.potential.clone();
        let point = objective.evaluate(before.epsilon, leading.frame, potential, balancer, self.plan_goal());
        let won = before.loss - point.loss;
        let lower = won > LOWER_LOSS * objective.span.variances[0];
        if objective.kernel.landmarks().is_some() && !lower {
            *balancer = Balancer::default();
            return false;
        }
        *before = point;
        state.solver.forget();
        true
    }
}

/// Whether a gradient of `goal`, relative to each component, explains what Algorithm 1 would still win: then it is no saddle.
fn is_near_an_end(found: &Leading, point: &Point, goal: f64) -> bool {
    let (last, goal) = (point.variances.len() - 1, goal.min(LARGEST_GOAL));
    found.eigen_deficit <= EXPLAINED_DEFICIT * goal * goal * found.values[last].abs().max(point.variances[last])
}

/// How near the perplexity must come to the wanted one at this stage. What is only the beginning of a fit in all directions may be further off.
fn close_perplexity(state: &FitState) -> f64 {
    if state.goal >= SEARCH_GRADIENT { ROUGHLY_CLOSE_PERPLEXITY } else { state.stage.close() }
}

#[cfg(test)]
mod tests;
