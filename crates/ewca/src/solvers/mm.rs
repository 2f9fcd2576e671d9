//! Algorithm 2 of the paper, block majorisation-minimisation: plan, then a few steps U <- qf(-P U).
//!
//! With X'X = n Sigma the paper's P U collapses to -(M U + c U), c = max(alpha, 0) lambda_max(Sigma), alpha = 1 - 2 nu, where
//! nu is a lower bound of the smallest eigenvalue of diag(a)^-1/2 pi diag(a)^-1/2 (n lambda for uniform weights): docs/method.md, section 4.

use super::{Algorithm, Goal, Objective, Outcome, Point};
use crate::error::Result;
use crate::matrix::{Matrix, symmetric_eigen};
use crate::subspace::Orthonormalisation;
use crate::transport::Balancer;

/// The lower bound of the plan's smallest eigenvalue that the majoriser uses. The tighter, the longer the steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[non_exhaustive]
pub enum EigenvalueBound {
    /// The eigenvalue itself, by an eigen-decomposition of the n x n plan in every iteration.
    Exact,
    /// Gershgorin's -1/n, which costs nothing.
    Gershgorin,
    /// 0: valid because the plan is positive semi-definite, tighter than Gershgorin's, and free.
    #[default]
    Zero,
}

/// The parameters of Algorithm 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct MmParams {
    /// Steps per plan (the paper's m_it).
    pub inner_steps: usize,
    /// The eigenvalue bound of the majoriser.
    pub bound: EigenvalueBound,
    /// How a step is made orthonormal.
    pub orthonormalisation: Orthonormalisation,
}

impl Default for MmParams {
    fn default() -> Self {
        Self { inner_steps: 10, bound: EigenvalueBound::default(), orthonormalisation: Orthonormalisation::default() }
    }
}

/// It remembers nothing.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Mm(pub MmParams);

impl Algorithm for Mm {
    /// `inner_steps` majorised steps at the current plan, then the plan anew.
    fn step(
        &mut self,
        objective: &mut Objective<'_>,
        point: &mut Point,
        balancer: &mut Balancer,
        goal: &Goal,
    ) -> Result<Outcome> {
        let Self(params) = self;
        let nu = match params.bound {
            EigenvalueBound::Zero => 0.0,
            EigenvalueBound::Gershgorin => -1.0,
            EigenvalueBound::Exact => smallest_eigenvalue(objective, point)?,
        };
        let shift = (1.0 - 2.0 * nu).max(0.0) * objective.span.variances[0];
        // The first M V comes with the plan; each further one is a pass.
        let mut m_frame = point.m_frame.clone();
        let mut frame = point.frame.clone();
        for inner in 0..params.inner_steps {
            if inner > 0 {
                m_frame = m_times_frame(objective, point, &frame);
            }
            m_frame.add_scaled(shift, &frame);
            frame = params.orthonormalisation.of(&m_frame)?;
        }
        let potential = std::mem::take(&mut point.potential);
        *point = objective.evaluate(point.epsilon, frame, potential, balancer, goal.marginal_error);
        Ok(Outcome::Moved)
    }
}

/// M V at the current plan.
fn m_times_frame(objective: &mut Objective<'_>, point: &Point, frame: &Matrix) -> Matrix {
    let mut scores = objective.span.scores(frame);
    let mut carried = objective.apply_plan(point, &scores).scaled(2.0);
    scores.scale_rows(&objective.span.weights);
    carried.add_scaled(-1.0, &scores);
    objective.span.transpose_times(&carried)
}

/// The smallest eigenvalue of diag(a)^-1/2 pi diag(a)^-1/2.
fn smallest_eigenvalue(objective: &mut Objective<'_>, point: &Point) -> Result<f64> {
    let a = &objective.span.weights;
    let root: Vec<f64> = a.iter().zip(&point.potential).map(|(a, f)| a.sqrt() * f.exp()).collect();
    let (n, kernel) = (a.len(), objective.kernel.at(&point.scores, point.epsilon));
    let mut plan = Matrix::zeros(n, n);
    for i in 0..n {
        let line = kernel.row(i);
        for (j, out) in plan.column_mut(i).iter_mut().enumerate() {
            *out = line[j] * root[i] * root[j];
        }
    }
    let (values, _) = symmetric_eigen(&plan)?;
    Ok(values[n - 1])
}
