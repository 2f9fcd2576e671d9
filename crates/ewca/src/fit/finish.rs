//! The end of a fit: loadings and scores in their canonical form, and the certificate of just these.

use std::time::Duration;

use super::canonical::{Canonical, canonical};
use super::certificate::{angles, approximation, duality_gap, residuals_in_features, rounding};
use super::model::{Perplexity, Timings};
use super::perplexity_search::{PerplexitySearch, perplexity, target};
use super::session::{PARTIAL_AXES_SHARE, Session};
use super::state::{Candidate, FitState};
use super::{Certificate, CheckedParams, Model, ModelParts, Termination};
use crate::error::Result;
use crate::matrix::{Matrix, dot};
use crate::samples::{Data, Span};
use crate::solvers::{Guess, Objective, Point, component_residuals, largest};
use crate::subspace::grassmann_distance;
use crate::transport::Balancer;

/// Eigenvalues of M at a plan with this marginal error are those of any better one, to all digits that are told.
const KNOWN_PLAN_ERROR: f64 = 1e-9;

/// The end of a fit in its canonical form, with an accurate plan.
pub(super) struct CanonicalEnd {
    components: Matrix,
    scores: Matrix,
    variances: Vec<f64>,
    point: Point,
    /// Of each component, relative to itself, in the data's own features.
    residuals: Vec<f64>,
    /// What the gradient has outside of the axes, where it was computed in some of them only and that is too much.
    pub outside: Option<Matrix>,
}

impl Session<'_> {
    /// The best end in its canonical frame.
    pub(super) fn canonical_end(
        &self,
        samples: &Data<'_>,
        objective: &mut Objective<'_>,
        best: &Candidate,
    ) -> Result<CanonicalEnd> {
        let span = &self.span;
        let Canonical { components, scores, variances, turn } = canonical(samples, span, &best.solver.point.frame)?;
        let frame = best.solver.point.frame.times(&turn);
        let active =
            Matrix::from_fn(span.active.len(), scores.columns(), |i, j| scores.get(span.active[i], j) / span.unit);
        let mut balancer = Balancer::default();
        let potential = best.solver.point.potential.clone();
        // A plan's error, times epsilon, is in the loss.
        let rounding = 4e-15 * (span.weights.len() as f64).sqrt();
        let plan_goal = (1e-9 * span.total_variance() / best.solver.point.epsilon).max(rounding).min(self.plan_goal());
        let (point, columns) = objective.evaluate_with_columns(
            best.solver.point.epsilon,
            frame,
            active,
            Guess { potential, error: None },
            &mut balancer,
            plan_goal,
        );
        let outside = if span.is_partial() { span.outside(samples, &columns)? } else { None };
        let residuals_outside = outside
            .as_ref()
            .map(|outside| component_residuals(outside, &point.frame_m_frame, &point.variances))
            .unwrap_or_default();
        let too_much = largest(&residuals_outside) > PARTIAL_AXES_SHARE * self.params.tolerance;
        let residuals = match residuals_in_features(samples, &components, &columns, &point.variances, span.unit)? {
            Some(residuals) => residuals,
            None if outside.is_none() => point.residuals.clone(),
            None => point.residuals.iter().zip(residuals_outside).map(|(x, y)| x.hypot(y)).collect(),
        };
        let outside = outside.filter(|_| too_much);
        Ok(CanonicalEnd { components, scores, variances, point, residuals, outside })
    }

    /// The model of the best end, which took so long to get to.
    pub(super) fn model(
        &self,
        samples: &Data<'_>,
        objective: &mut Objective<'_>,
        state: &mut FitState,
        best: &Candidate,
        end: CanonicalEnd,
        iterations: Duration,
    ) -> Result<Model> {
        let leaves_gradient_outside = end.outside.is_some();
        let (span, unit_squared) = (&self.span, self.unit_squared());
        let certificate = self.certificate(samples, objective, best, &end)?;
        let perplexity = Perplexity {
            floor: state.search.as_ref().and_then(PerplexitySearch::floor),
            wanted: state.search.as_ref().and_then(|_| target(span, self.params)),
            ..perplexity(objective, &end.point)?
        };
        let CanonicalEnd { components, scores, variances, point, .. } = end;
        // Units are powers of two: the epsilon that was asked for, to the last bit.
        let epsilon = point.epsilon * unit_squared;
        let told = largest(&certificate.residuals).max(largest(&certificate.rounding));
        let termination = match best.termination {
            Termination::Converged if leaves_gradient_outside => Termination::MaxIterations,
            Termination::Converged if told.is_nan() || told > self.params.tolerance => Termination::Stalled,
            other => other,
        };
        let (total, divisor) = (span.total_variance() * unit_squared, samples.variance_divisor());
        let (starts, agreeing_starts) = state.starts_made(best.solver.point.loss);
        let work = objective.kernel.work();
        let parts = ModelParts {
            params: CheckedParams::of_model(self.params, None),
            potential: extended_potential(samples, span, &scores, &point.potential, epsilon),
            distance_to_pca: grassmann_distance(&point.frame, &span.pca_frame(components.columns()))?,
            components,
            mean: samples.mean().to_vec(),
            scores,
            weights: samples.weights().to_vec(),
            total_count: span.total_count,
            explained_variance: variances.iter().map(|v| v / divisor).collect(),
            explained_variance_ratio: variances.iter().map(|v| v / total).collect(),
            epsilon,
            perplexity,
            loss: point.loss * unit_squared,
            certificate: Certificate { skipped_mass: work.left_out, ..certificate },
            termination,
            solver: self.solver,
            rank: span.rank(),
            iterations: best.iterations,
            attempt: best.attempt,
            starts,
            agreeing_starts,
            kernel_passes: work.passes,
            kernel_share: work.computed,
            history: std::mem::take(&mut state.history),
            timings: Timings {
                reduction: self.reduction,
                iterations,
                finish: self.begun.elapsed().saturating_sub(iterations),
                kernel: objective.kernel.elapsed().saturating_sub(self.kernel_before),
            },
        };
        Ok(Model { parts })
    }

    /// The certificate, but for what passes have left out, which is known when the last one is made.
    fn certificate(
        &self,
        samples: &Data<'_>,
        objective: &mut Objective<'_>,
        best: &Candidate,
        end: &CanonicalEnd,
    ) -> Result<Certificate> {
        let (span, point) = (&self.span, &end.point);
        // Those of the last test are of another plan: as good as this one, or known as well as anyone looks.
        let is_good = best.solver.point.marginal_error <= point.marginal_error.max(KNOWN_PLAN_ERROR);
        let (mut eigenvalues, deficit) = match best.leading.clone().filter(|_| is_good) {
            Some(known) => known,
            None => {
                let found = objective.leading(point)?;
                (found.values, found.eigen_deficit)
            }
        };
        let k = end.components.columns();
        let next_eigenvalue = (eigenvalues.len() > k).then(|| eigenvalues[k]);
        eigenvalues.truncate(k);
        let sum = eigenvalues.iter().sum::<f64>().abs();
        let unit_squared = self.unit_squared();
        let mean_size = dot(samples.mean(), samples.mean()).sqrt() / span.unit;
        Ok(Certificate {
            marginal_error: point.marginal_error,
            duality_gap: duality_gap(objective, point) * unit_squared,
            relative_gradient: largest(&end.residuals),
            angles: angles(&end.residuals, &eigenvalues, &point.variances, next_eigenvalue),
            rounding: rounding(&point.variances, span.variances[0], mean_size),
            residuals: end.residuals.clone(),
            omitted_variance: span.omitted_variance(),
            eigen_deficit: deficit / if sum > 0.0 { sum } else { span.variances[0] },
            skipped_mass: 0.0,
            collapsed: eigenvalues.iter().any(|&x| x <= 0.0),
            eigenvalues: eigenvalues.into_iter().map(|x| x * unit_squared).collect(),
            next_eigenvalue: next_eigenvalue.map(|x| x * unit_squared),
            approximation: approximation(objective, point),
        })
    }
}

/// g for all samples: those without weight get the potential that makes their shares sum to 1.
fn extended_potential(
    samples: &Data<'_>,
    span: &Span<'_>,
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
