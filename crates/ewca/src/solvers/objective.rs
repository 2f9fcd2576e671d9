//! F(U) and everything a solver may ask of it, in the coordinates of the span (docs/method.md, sections 2 to 5).

use std::sync::Arc;

use crate::error::Result;
use crate::kernel::{Accuracy, KernelLayout, NEGLIGIBLE};
use crate::matrix::{Matrix, dot, hstack, orthonormal_beside, symmetric_eigen};
use crate::parallel::StopFlag;
use crate::samples::Span;
use crate::subspace::random_frame;
use crate::transport::{Balancer, Limits, MANY_SAMPLES, Scalings};

/// Among many samples a pass for M takes so many columns at once: they are held several times over.
const MANY_COLUMNS: usize = 48;
/// Up to so many samples, a pass with so many columns costs little at the end of a fit; and for a first look at M's eigenvectors there, with so many.
const FEW_ROWS: usize = 1024;
const WHOLE_AXES: usize = 512;
const MANY_AXES: usize = 160;
/// Up to this rank M is made whole where its leading eigenvectors are looked for. Beyond, a Krylov space is: blocks of so many directions, so many
/// steps at the most, until the residual of the next eigenvalue is below this part of its distance to the last one of the frame.
const SMALL_RANK: usize = 48;
const BLOCK: usize = 3;
const MOST_STEPS: usize = 16;
const KNOWN_GAP: f64 = 0.3;
/// The marginal error that single precision can reach without trouble, for each unit of sqrt(epsilon) in the largest coordinate of the points, which is
/// rounded by 6e-8 of it; and the least one.
const SINGLE_PRECISION_ERROR: f64 = 1e-8;
const LEAST_SINGLE_PRECISION_ERROR: f64 = 1e-7;
/// By this part of it, times epsilon, F may be off.
const SINGLE_PRECISION_LOSS: f64 = 1.5;
/// The marginal error to which a plan is solved in single precision before it is solved in double.
const ROUGH_PLAN_ERROR: f64 = 1e-3;
/// The share of a plan's mass that passes may leave out at the most.
const MOST_NEGLIGIBLE: f64 = 1e-6;
/// A stationary subspace is a saddle when Algorithm 1 could still win more than this fraction of its smallest component.
const SADDLE: f64 = 1e-9;
/// Eigenvalues of M are off by about this fraction of the largest variance.
const ROUNDING: f64 = 1e-14;

/// F as a function of epsilon and of the frame V (r x k) that spans the subspace U = B V.
#[derive(Debug)]
pub(crate) struct Objective<'s> {
    pub span: Arc<Span<'s>>,
    pub kernel: KernelLayout,
    /// Whether plans that need not be accurate are solved in single precision.
    pub single: bool,
    /// Passes that one plan may take before it is returned as it is.
    pub max_plan_passes: usize,
    /// Raised when a plan should be returned as it is.
    pub stop: StopFlag,
}

/// A frame with its plan, value and gradient at an epsilon.
#[derive(Debug, Clone)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Point {
    /// In units of the span.
    pub epsilon: f64,
    /// V: r x k, orthonormal.
    pub frame: Matrix,
    /// Z = Y V.
    pub scores: Matrix,
    /// f = g / epsilon.
    pub potential: Vec<f64>,
    /// Row sums of the plan.
    pub row_sums: Vec<f64>,
    pub marginal_error: f64,
    /// F, by its dual value.
    pub loss: f64,
    /// M V.
    pub m_frame: Matrix,
    /// V' M V.
    pub frame_m_frame: Matrix,
    /// G = -2 (M V - V V'M V).
    pub gradient: Matrix,
    /// The variances of the scores, descending: the sizes of the components.
    pub variances: Vec<f64>,
    /// How far each component is from being stationary, relative to itself.
    pub residuals: Vec<f64>,
    /// The largest of them.
    pub relative_gradient: f64,
    /// |G| / (2 lambda_max(Sigma)): beside the whole, as a plan's error is.
    pub overall_gradient: f64,
}

/// M in the leading principal axes, taken apart.
#[derive(Debug, Clone, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct LeadingBlock {
    /// How many coordinates frames have.
    pub rank: usize,
    /// Its eigenvalues, descending, and its eigenvectors.
    pub values: Vec<f64>,
    pub rotation: Matrix,
    /// About what eigenvalues M has in the other directions.
    pub elsewhere: f64,
}

/// The k leading eigenvectors of M at a point: where Algorithm 1 goes next, and the test of a minimum.
#[derive(Debug, Clone)]
pub(crate) struct Leading {
    /// The k leading eigenvalues of M, and the next one where the span has room for it.
    pub values: Vec<f64>,
    pub frame: Matrix,
    /// (sum of the k leading eigenvalues - tr V'MV): what Algorithm 1 can still win at this plan.
    pub eigen_deficit: f64,
    /// Whether that is more than rounding, beside the smallest component: then the subspace is a saddle.
    pub is_saddle: bool,
}

/// A potential to begin with, and its marginal error where it is known.
#[derive(Debug)]
pub(crate) struct Guess {
    pub potential: Vec<f64>,
    pub error: Option<f64>,
}

impl Objective<'_> {
    /// Solves the plan at `frame`, starting from `potential`.
    pub fn evaluate(
        &mut self,
        epsilon: f64,
        frame: Matrix,
        potential: Vec<f64>,
        balancer: &mut Balancer,
        tolerance: f64,
    ) -> Point {
        let scores = self.span.scores(&frame);
        let (potential, error) = self.roughly_balanced(epsilon, &scores, potential, balancer, tolerance);
        self.evaluate_with_columns(epsilon, frame, scores, Guess { potential, error }, balancer, tolerance).0
    }

    /// A better potential for scores at which nothing is known yet, and its error: as far as passes in single precision can tell, where the
    /// plan is to be more accurate than they are.
    fn roughly_balanced(
        &mut self,
        epsilon: f64,
        scores: &Matrix,
        potential: Vec<f64>,
        balancer: &mut Balancer,
        tolerance: f64,
    ) -> (Vec<f64>, Option<f64>) {
        let accuracy = self.rough_accuracy();
        let is_rough_already = balancer.last_first_error().is_some_and(|error| error <= ROUGH_PLAN_ERROR);
        if !accuracy.single || tolerance >= single_precision_error(scores, epsilon) || is_rough_already {
            return (potential, None);
        }
        let limits = self.limits(ROUGH_PLAN_ERROR, None);
        let nothing = Matrix::zeros(scores.rows(), 0);
        let kernel = self.kernel.with_accuracy(scores, epsilon, accuracy);
        let plan = balancer.balance(kernel, &self.span.weights, potential, &nothing, &limits);
        // The next pass looks at the same potential.
        (plan.potential, Some(plan.marginal_error))
    }

    fn limits(&self, tolerance: f64, first_error: Option<f64>) -> Limits {
        Limits { tolerance, first_error, max_passes: self.max_plan_passes, stop: self.stop.clone() }
    }

    /// The least marginal error of the plans near `point` that are solved in single precision, where some are.
    pub fn single_precision_from(&self, point: &Point) -> Option<f64> {
        self.single.then(|| single_precision_error(&point.scores, point.epsilon))
    }

    /// Differences of F near `point` that are nothing but rounding.
    pub fn noise(&self, point: &Point) -> f64 {
        let single =
            self.single_precision_from(point).map_or(0.0, |error| SINGLE_PRECISION_LOSS * error * point.epsilon);
        single + 1e-13 * point.loss.abs().max(self.span.total_variance())
    }

    /// Of passes that need not be accurate.
    pub fn rough_accuracy(&self) -> Accuracy {
        Accuracy { negligible: MOST_NEGLIGIBLE, single: self.single }
    }

    /// Solves the plan of `point` anew, at the same frame.
    pub fn evaluate_again(&mut self, point: &Point, epsilon: f64, balancer: &mut Balancer, tolerance: f64) -> Point {
        let Point { frame, scores, potential, .. } = point.clone();
        let error = (epsilon == point.epsilon).then_some(point.marginal_error);
        self.evaluate_with_columns(epsilon, frame, scores, Guess { potential, error }, balancer, tolerance).0
    }

    /// The point where the scores are known, and the columns W with M V = X'W in the coordinates of the data.
    pub fn evaluate_with_columns(
        &mut self,
        epsilon: f64,
        frame: Matrix,
        scores: Matrix,
        guess: Guess,
        balancer: &mut Balancer,
        tolerance: f64,
    ) -> (Point, Matrix) {
        let Guess { potential, error } = guess;
        let span = self.span.clone();
        let a = &span.weights;
        let accuracy = Accuracy {
            // The loss knows a plan's error by its square: what is left out must be less than that.
            negligible: (0.01 * tolerance * tolerance).clamp(NEGLIGIBLE, MOST_NEGLIGIBLE),
            single: self.single && tolerance >= single_precision_error(&scores, epsilon),
        };
        let limits = self.limits(tolerance, error);
        let plan =
            balancer.balance(self.kernel.with_accuracy(&scores, epsilon, accuracy), a, potential, &scores, &limits);
        let moments = weighted_moments(&scores, a);
        let kept: f64 = (0..moments.rows()).map(|j| moments.get(j, j)).sum();
        let transport = if is_wide(&scores, epsilon) {
            wide_transport(&moments, kept, epsilon)
        } else {
            // 2 sum a g - eps (sum pi - 1).
            let dual: f64 = a.iter().zip(&plan.potential).map(|(a, f)| 2.0 * a * f).sum();
            let excess: f64 = plan.row_sums.iter().zip(a).map(|(p, a)| p - a).sum();
            epsilon * (dual - excess)
        };
        // F = sum a (|x|^2 - |z|^2) + the transport.
        let loss = self.span.total_variance() - kept + transport;
        let columns = gradient_columns(plan.carried, &plan.row_sums, a, &scores);
        let m_frame = self.span.transpose_times(&columns);
        let mut frame_m_frame = frame.transposed_times(&m_frame);
        frame_m_frame.symmetrise();
        let mut gradient = frame.times(&frame_m_frame);
        gradient.add_scaled(-1.0, &m_frame);
        let variances = symmetric_eigen(&moments).map_or_else(|_| vec![f64::NAN; moments.rows()], |eigen| eigen.0);
        let residuals = component_residuals(&gradient, &frame_m_frame, &variances);
        let gradient = gradient.scaled(2.0);
        let relative_gradient = largest(&residuals);
        let overall_gradient = gradient.norm() / (2.0 * self.span.variances[0]);
        let point = Point {
            epsilon,
            frame,
            scores,
            potential: plan.potential,
            row_sums: plan.row_sums,
            marginal_error: plan.marginal_error,
            loss,
            m_frame,
            frame_m_frame,
            gradient,
            variances,
            residuals,
            relative_gradient,
            overall_gradient,
        };
        (point, columns)
    }

    /// pi `columns` with the plan of `point`: one pass.
    pub fn apply_plan(&mut self, point: &Point, columns: &Matrix) -> Matrix {
        self.apply_plan_with(point, columns, Accuracy::default())
    }

    fn apply_plan_with(&mut self, point: &Point, columns: &Matrix, accuracy: Accuracy) -> Matrix {
        let u = Scalings::new(&self.span.weights, &point.potential);
        let mut carried = columns.clone();
        carried.scale_rows(&u);
        let mut carried = self.kernel.with_accuracy(&point.scores, point.epsilon, accuracy).apply(&carried, &u);
        carried.scale_rows(&u);
        carried
    }

    /// M in the leading principal axes, as far as whoever divides by differences of eigenvalues needs it: one pass.
    pub fn leading_block(&mut self, point: &Point) -> Result<LeadingBlock> {
        let known = axes_of_block(self.span.variances.len(), point.frame.columns());
        self.leading_block_of(point, known)
    }

    /// The same in so many axes.
    pub(super) fn leading_block_of(&mut self, point: &Point, known: usize) -> Result<LeadingBlock> {
        let span = self.span.clone();
        let variances = &span.variances;
        let axes = span.leading_axes(known);
        let carried = self.apply_plan_with(point, &axes, self.rough_accuracy());
        let mut block = axes.transposed_times(&carried).scaled(2.0);
        block.symmetrise();
        for (i, variance) in variances[..known].iter().enumerate() {
            block.set(i, i, block.get(i, i) - variance);
        }
        // Elsewhere M has about the same ratio to the variance as in the last of these axes.
        let last = known - known.div_ceil(3)..known;
        let ratio: f64 = last.clone().map(|i| block.get(i, i) / variances[i]).sum::<f64>() / last.len() as f64;
        let others = span.rank().saturating_sub(known).max(1) as f64;
        let elsewhere = (span.total_variance() - variances[..known].iter().sum::<f64>()).max(0.0) / others;
        let (values, rotation) = symmetric_eigen(&block)?;
        Ok(LeadingBlock { rank: span.rank(), values, rotation, elsewhere: ratio * elsewhere })
    }

    /// M = Y'(2 pi - diag(a)) Y at `point`: one pass with r columns, or a few with some of them each where there are many samples.
    pub fn matrix(&mut self, point: &Point) -> Matrix {
        let rank = self.span.rank();
        let at_once = columns_of_m(self.span.weights.len(), rank);
        let mut matrix = Matrix::zeros(rank, rank);
        for axes in crate::parallel::blocks(rank, at_once) {
            let columns = self.span.axes(axes.clone());
            let carried = self.apply_plan(point, &columns);
            let part = self.span.transpose_times(&carried).scaled(2.0);
            for (j, axis) in axes.enumerate() {
                matrix.column_mut(axis).copy_from_slice(part.column(j));
            }
        }
        matrix.symmetrise();
        for (i, variance) in self.span.variances.iter().enumerate() {
            let value = matrix.get(i, i) - variance;
            matrix.set(i, i, value);
        }
        matrix
    }

    /// The leading eigenvectors of M at `point`.
    pub fn leading(&mut self, point: &Point) -> Result<Leading> {
        let (rank, k) = (self.span.rank(), point.frame.columns());
        let (values, frame, trace) = if is_made_whole(self.span.weights.len(), rank, k) {
            let matrix = self.matrix(point);
            let (values, vectors) = symmetric_eigen(&matrix)?;
            (values, vectors, point.frame.dot(&matrix.times(&point.frame)))
        } else {
            self.leading_by_lanczos(point)?
        };
        let eigen_deficit = (values[..k].iter().sum::<f64>() - trace).max(0.0);
        let smallest = values[k - 1].abs().max(point.variances[k - 1]);
        let is_saddle = eigen_deficit > (SADDLE * smallest).max(ROUNDING * self.span.variances[0]);
        let values = values[..values.len().min(k + 1)].to_vec();
        Ok(Leading { values, frame: frame.leading_columns(k), eigen_deficit, is_saddle })
    }

    /// Eigenvalues and eigenvectors of M in the space of the frame and of a block Krylov space beside it, begun with what the leading axes know of M and
    /// with chance; and the trace of V'MV. Steps are made until the largest eigenvalue beside the frame is known well enough to be told from those of
    /// the frame.
    pub(super) fn leading_by_lanczos(&mut self, point: &Point) -> Result<(Vec<f64>, Matrix, f64)> {
        let k = point.frame.columns();
        let block =
            self.leading_block_of(point, axes_of_look(self.span.weights.len(), self.span.variances.len(), k))?;
        let count = BLOCK.min(block.values.len());
        let known = self.span.spread_over_all(&block.rotation.leading_columns((k + count).min(block.values.len())));
        let chance = random_frame(self.span.weights.len(), 1, 0, 0);
        let mut basis = point.frame.clone();
        let mut image = self.m_times(point, &basis);
        let trace = basis.dot(&image);
        // What of the best known directions lies beside the frame: those of the largest eigenvalues.
        let mut beside = known;
        beside.add_scaled(-1.0, &basis.times(&basis.transposed_times(&beside)));
        let (_, turn) = symmetric_eigen(&beside.transposed_times(&beside))?;
        let mut next = hstack(&beside.times(&turn.leading_columns(count)), &self.span.transpose_times(&chance));
        while let Some(fresh) = orthonormal_beside(&basis, next) {
            let applied = self.m_times(point, &fresh);
            basis = hstack(&basis, &fresh);
            image = hstack(&image, &applied);
            let (values, vectors) = ritz(&basis, &image)?;
            // The (k + 1)-st Ritz pair: an eigenvalue lies within the residual of its value.
            let vector = Matrix::from_fn(vectors.rows(), 1, |i, _| vectors.get(i, k));
            let mut residual = image.times(&vector);
            residual.add_scaled(-values[k], &basis.times(&vector));
            let is_known = residual.norm() <= KNOWN_GAP * (values[k - 1] - values[k]);
            if is_known || basis.columns() >= k + MOST_STEPS * (BLOCK + 1) {
                break;
            }
            next = applied;
        }
        let (values, vectors) = ritz(&basis, &image)?;
        let most = (k + 1).min(values.len());
        Ok((values, basis.times(&vectors.leading_columns(most)), trace))
    }

    /// M `frame`: one pass.
    pub(super) fn m_times(&mut self, point: &Point, frame: &Matrix) -> Matrix {
        let scores = self.span.scores(frame);
        let mut columns = self.apply_plan(point, &scores).scaled(2.0);
        for j in 0..columns.columns() {
            let weighted = scores.column(j).iter().zip(&self.span.weights);
            columns.column_mut(j).iter_mut().zip(weighted).for_each(|(x, (z, a))| *x -= a * z);
        }
        self.span.transpose_times(&columns)
    }
}

/// Eigenvalues and eigenvectors of a matrix in the space of an orthonormal `basis`, of which it makes `image`.
fn ritz(basis: &Matrix, image: &Matrix) -> Result<(Vec<f64>, Matrix)> {
    let mut inside = basis.transposed_times(image);
    inside.symmetrise();
    symmetric_eigen(&inside)
}

/// How many columns the plan carries at once where M is made in so many axes.
fn columns_of_m(samples: usize, axes: usize) -> usize {
    if samples < MANY_SAMPLES { axes } else { axes.min(MANY_COLUMNS) }
}

/// Whether M is made whole where its eigenvectors are looked for.
fn is_made_whole(samples: usize, axes: usize, components: usize) -> bool {
    axes <= SMALL_RANK || (samples <= FEW_ROWS && axes <= WHOLE_AXES) || axes <= 2 * components
}

/// The leading axes in which M is looked at when its eigenvectors are looked for.
fn axes_of_look(samples: usize, axes: usize, components: usize) -> usize {
    if samples <= FEW_ROWS { axes.min((4 * components).max(MANY_AXES)) } else { axes_of_block(axes, components) }
}

/// The leading axes in which M is looked at on the way.
fn axes_of_block(axes: usize, components: usize) -> usize {
    axes.min((3 * components).max(16))
}

/// The most columns that the plan carries at once.
pub(crate) fn most_columns(samples: usize, axes: usize, components: usize) -> usize {
    if is_made_whole(samples, axes, components) {
        columns_of_m(samples, axes)
    } else {
        axes_of_look(samples, axes, components)
    }
}

/// From the plan times the scores, the columns W with M V = Y'W: 2 pi Z - a Z, corrected for what the marginals still lack, so that
/// it is the exact derivative of the dual value.
pub(crate) fn gradient_columns(mut carried: Matrix, row_sums: &[f64], weights: &[f64], scores: &Matrix) -> Matrix {
    for j in 0..carried.columns() {
        let z = scores.column(j);
        for (i, x) in carried.column_mut(j).iter_mut().enumerate() {
            *x = 2.0 * *x - (2.0 * row_sums[i] - weights[i]) * z[i];
        }
    }
    carried
}

/// The largest value; NaN where one is.
pub(crate) fn largest(values: &[f64]) -> f64 {
    values.iter().fold(0.0, |m: f64, &x| if m.is_nan() || x <= m { m } else { x })
}

/// Z' diag(a) Z.
fn weighted_moments(scores: &Matrix, weights: &[f64]) -> Matrix {
    let mut weighted = scores.clone();
    weighted.scale_rows(weights);
    let mut moments = scores.transposed_times(&weighted);
    moments.symmetrise();
    moments
}

/// How far each component is from being stationary: with the eigenvectors of V'MV (`frame_m_frame`, values mu_1 >= ... >= mu_k), the part of M v_j
/// that leaves the subspace (columns of `leaving`, up to the sign), relative to max(|mu_j|, s_j), s_j the j-th of the `variances` of the
/// scores. The test that eigen-solvers make: large components say nothing about small ones. NaN where something is.
pub(crate) fn component_residuals(leaving: &Matrix, frame_m_frame: &Matrix, variances: &[f64]) -> Vec<f64> {
    let Ok((values, rotation)) = symmetric_eigen(frame_m_frame) else {
        return vec![f64::NAN; variances.len()];
    };
    let turned = leaving.times(&rotation);
    let relative = |j: usize| {
        let size = dot(turned.column(j), turned.column(j)).sqrt();
        // A component without variance has nothing to turn by.
        if size == 0.0 { 0.0 } else { size / values[j].abs().max(variances[j]) }
    };
    (0..values.len()).map(relative).collect()
}

/// Scores within this part of epsilon are so near to one another that rounding, multiplied by epsilon, would show in the loss.
const WIDE: f64 = 1e-6;

/// The marginal error that single precision can reach at these scores.
fn single_precision_error(scores: &Matrix, epsilon: f64) -> f64 {
    let largest = scores.as_column_major().iter().fold(0.0, |m: f64, x| m.max(x.abs())) / epsilon.sqrt();
    (SINGLE_PRECISION_ERROR * largest).max(LEAST_SINGLE_PRECISION_ERROR)
}

/// Whether all squared distances are tiny beside epsilon.
pub(crate) fn is_wide(scores: &Matrix, epsilon: f64) -> bool {
    let square = |i: usize| (0..scores.columns()).map(|j| scores.get(i, j).powi(2)).sum::<f64>();
    let furthest = (0..scores.rows()).map(square).fold(0.0, f64::max);
    2.0 * furthest <= WIDE * epsilon
}

/// The transport cost of centred scores where epsilon is wide: 2 tr S - 2 |S|^2 / epsilon, S = Z' diag(a) Z, by expansion in
/// 1 / epsilon: the mean cost, less half the mean square of the doubly centred cost (-2 z_i.z_j) over epsilon.
fn wide_transport(moments: &Matrix, kept: f64, epsilon: f64) -> f64 {
    2.0 * kept - 2.0 * moments.dot(moments) / epsilon
}

impl Point {
    /// Whether the shapes are those of a point in `span`: a point may come from a file.
    pub fn belongs_to(&self, span: &Span<'_>, components: usize) -> bool {
        let (n, r) = (span.weights.len(), span.rank());
        let shape = |matrix: &Matrix| (matrix.rows(), matrix.columns());
        shape(&self.scores) == (n, components)
            && [&self.frame, &self.m_frame, &self.gradient].iter().all(|m| shape(m) == (r, components))
            && shape(&self.frame_m_frame) == (components, components)
            && [&self.potential, &self.row_sums].iter().all(|v| v.len() == n)
            && [&self.residuals, &self.variances].iter().all(|v| v.len() == components)
            && [&self.frame, &self.scores, &self.m_frame, &self.gradient, &self.frame_m_frame]
                .iter()
                .all(|m| m.is_finite())
            && [&self.potential, &self.row_sums, &self.variances].iter().all(|v| v.iter().all(|x| x.is_finite()))
            && [self.loss, self.marginal_error].iter().all(|x| x.is_finite())
            && self.epsilon.is_normal()
            && self.epsilon > 0.0
    }

    /// Makes the plan more accurate, at the same frame.
    pub fn tighten(&mut self, objective: &mut Objective<'_>, balancer: &mut Balancer, tolerance: f64) {
        *self = objective.evaluate_again(self, self.epsilon, balancer, tolerance);
    }

    /// What of `direction` is tangent at this point: (I - V V') direction.
    pub fn tangent(&self, direction: &Matrix) -> Matrix {
        let mut out = direction.clone();
        out.add_scaled(-1.0, &self.frame.times(&self.frame.transposed_times(direction)));
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::KernelOptions;
    use crate::samples::{Reduction, Samples};
    use crate::subspace::{polar_factor, random_frame};
    use crate::testing;

    #[test]
    fn the_gradient_is_the_derivative_of_the_loss() {
        for (n, d, weighted) in [(30, 6, false), (12, 40, true)] {
            let data = testing::gaussian(n, d, 9);
            let mut samples = Samples::new(&data, n, d).unwrap();
            if weighted {
                samples = samples.with_weights(&(1..=n).map(|i| i as f64).collect::<Vec<_>>()).unwrap();
            }
            let span =
                Arc::new(Span::new(&samples.data, Reduction { axes: usize::MAX, stop: StopFlag::default() }).unwrap());
            let rank = span.rank();
            for epsilon in [0.02, 0.3, 5.0] {
                let mut objective = Objective {
                    span: span.clone(),
                    kernel: KernelLayout::new(&span.leading_axes(3), KernelOptions::default()),
                    single: false,
                    max_plan_passes: 1000,
                    stop: StopFlag::default(),
                };
                let mut at = |frame: Matrix| {
                    let frame = polar_factor(&frame).unwrap();
                    objective.evaluate(epsilon, frame, vec![0.0; n], &mut Balancer::default(), 1e-14)
                };
                let point = at(random_frame(rank, 3, 1, 0));
                for stream in 1..4 {
                    let direction = point.tangent(&random_frame(rank, 3, 1, stream));
                    let h = 1e-4;
                    let mut moved = |t: f64| {
                        let mut frame = point.frame.clone();
                        frame.add_scaled(t, &direction);
                        at(frame).loss
                    };
                    let numeric = (8.0 * (moved(h) - moved(-h)) - (moved(2.0 * h) - moved(-2.0 * h))) / (12.0 * h);
                    let exact = point.gradient.dot(&direction);
                    assert!((numeric - exact).abs() < 1e-8 * point.loss, "epsilon {epsilon}: {numeric} {exact}");
                }
            }
        }
    }
}
