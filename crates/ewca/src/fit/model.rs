//! What a fit returns.

use std::time::Duration;

use super::{Certificate, CheckedParams, Iteration, ModelParts, Termination};
use crate::error::{Error, Result};
use crate::matrix::{Matrix, dot};
use crate::parallel;
use crate::samples::{Samples, Scalar};
use crate::solvers::Solver;
use crate::transport::Plan;

/// A fitted subspace with its plan and its certificate.
///
/// The frame is canonical: scores are uncorrelated, explained variances descend, and the loading of largest magnitude of each
/// component is positive. For epsilon towards 0 this is PCA.
#[derive(Debug, Clone)]
pub struct Model {
    pub(super) parts: ModelParts,
}

/// Over how many samples the plan's rows spread; for a fit with landmarks, by the exact rows of a sample of about a thousand.
#[derive(Debug, Clone, Copy, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub struct Perplexity {
    /// That of the plan: exp of the mean entropy of its rows, by weight. This is what a wanted perplexity means.
    #[cfg_attr(feature = "serde", serde(alias = "mean"))]
    pub overall: f64,
    /// Half of the samples, by weight, spread over no more than this. (0 in models of earlier versions, which did not keep it.)
    #[cfg_attr(feature = "serde", serde(default))]
    pub median: f64,
    /// The smallest of a row.
    pub min: f64,
    /// The largest of a row.
    pub max: f64,
    /// The overall perplexity that was wanted, where one was. The optimum may jump as epsilon grows, and then no epsilon gives what lies
    /// between.
    #[cfg_attr(feature = "serde", serde(default))]
    pub wanted: Option<f64>,
    /// The smallest overall perplexity that any epsilon gives, where that is more than what was wanted: samples that repeat spread over
    /// one another. The fit is at just above it then.
    #[cfg_attr(feature = "serde", serde(default))]
    pub floor: Option<f64>,
}

impl Perplexity {
    /// Whether it is more than 1 % away from what was wanted.
    #[must_use]
    pub fn is_missed(&self) -> bool {
        self.wanted.is_some_and(|wanted| (self.overall / wanted - 1.0).abs() > 0.01)
    }

    /// Of rows with these entropies and weights.
    pub(crate) fn of(entropies: &[f64], weights: &[f64]) -> Result<Self> {
        if entropies.iter().any(|h| h.is_nan()) {
            return Err(Error::NotANumber { what: "the perplexity" });
        }
        let total: f64 = weights.iter().sum();
        let mut order: Vec<usize> = (0..entropies.len()).collect();
        order.sort_by(|&i, &j| entropies[i].total_cmp(&entropies[j]));
        let mut reached = 0.0;
        let middle = order.iter().copied().find(|&i| {
            reached += weights[i];
            reached >= 0.5 * total
        });
        let at = |i: Option<&usize>| i.map_or(f64::NAN, |&i| entropies[i].exp());
        Ok(Self {
            overall: (dot(entropies, weights) / total).exp(),
            median: at(middle.as_ref()),
            min: at(order.first()),
            max: at(order.last()),
            wanted: None,
            floor: None,
        })
    }
}

/// Where the time of a fit went.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct Timings {
    /// Reduction of the data to their span.
    pub reduction: Duration,
    /// Iterations, including their passes over the kernel.
    pub iterations: Duration,
    /// Loadings, scores and certificate.
    pub finish: Duration,
    /// The kernel, in iterations and finish: the rest of these is algebra.
    pub kernel: Duration,
}

impl Model {
    /// The loadings U, d x k: orthonormal columns.
    #[must_use]
    pub fn components(&self) -> &Matrix {
        &self.parts.components
    }

    /// The weighted mean of each feature.
    #[must_use]
    pub fn mean(&self) -> &[f64] {
        &self.parts.mean
    }

    /// The scores Z = (X - mean) U of the samples, n x k.
    #[must_use]
    pub fn scores(&self) -> &Matrix {
        &self.parts.scores
    }

    /// The weights of the samples, which sum to 1.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.parts.weights
    }

    /// The sum of the counts, where samples have counts: see [`Samples::with_counts`].
    #[must_use]
    pub fn total_count(&self) -> Option<f64> {
        self.parts.total_count
    }

    /// The potential g of the plan, in units of the cost.
    #[must_use]
    pub fn potential(&self) -> &[f64] {
        &self.parts.potential
    }

    /// The variance of each component, divided by n - 1 as PCA's users expect: sum_i a_i z_i^2 / (1 - 1/N) for samples that stand for N (the
    /// sum of the counts, or n), and sum_i a_i z_i^2 / (1 - sum_i a_i^2) for weights, which is the same where they are all equal. The loss, the
    /// certificate and epsilon are in units of sum_i a_i z_i^2: times [`Model::variance_divisor`].
    #[must_use]
    pub fn explained_variance(&self) -> &[f64] {
        &self.parts.explained_variance
    }

    /// The same as a fraction of the total variance.
    #[must_use]
    pub fn explained_variance_ratio(&self) -> &[f64] {
        &self.parts.explained_variance_ratio
    }

    /// The regularisation.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.parts.epsilon
    }

    /// Over how many samples the plan's rows spread.
    #[must_use]
    pub fn perplexity(&self) -> Perplexity {
        self.parts.perplexity
    }

    /// F(U).
    #[must_use]
    pub fn loss(&self) -> f64 {
        self.parts.loss
    }

    /// What the fit can prove about itself.
    #[must_use]
    pub fn certificate(&self) -> &Certificate {
        &self.parts.certificate
    }

    /// Why the fit ended.
    #[must_use]
    pub fn termination(&self) -> Termination {
        self.parts.termination
    }

    /// The algorithm (never `Auto`).
    #[must_use]
    pub fn solver(&self) -> Solver {
        self.parts.solver
    }

    /// The numerical rank of the centred data; where both n and d are large, the number of axes that were worked with.
    #[must_use]
    pub fn rank(&self) -> usize {
        self.parts.rank
    }

    /// Grassmann distance to the subspace of the k leading principal components.
    #[must_use]
    pub fn distance_to_pca(&self) -> f64 {
        self.parts.distance_to_pca
    }

    /// Iterations of the attempt that was kept.
    #[must_use]
    pub fn iterations(&self) -> usize {
        self.parts.iterations
    }

    /// The attempt that was kept, by its number in the history.
    #[must_use]
    pub fn attempt(&self) -> usize {
        self.parts.attempt
    }

    /// How many starts were made at this epsilon; the model is the lowest of their ends. 1: a local optimum, with nothing to compare.
    #[must_use]
    pub fn starts(&self) -> usize {
        self.parts.starts
    }

    /// How many of them ended at this loss, to a part in a million.
    #[must_use]
    pub fn agreeing_starts(&self) -> usize {
        self.parts.agreeing_starts
    }

    /// Passes over the kernel, over all attempts.
    #[must_use]
    pub fn kernel_passes(&self) -> usize {
        self.parts.kernel_passes
    }

    /// The part of all pairs of blocks of samples that the passes computed: the others cannot matter.
    #[must_use]
    pub fn kernel_share(&self) -> f64 {
        self.parts.kernel_share
    }

    /// Every iteration of every attempt.
    #[must_use]
    pub fn history(&self) -> &[Iteration] {
        &self.parts.history
    }

    /// Where the time went. Not part of what is saved.
    #[must_use]
    pub fn timings(&self) -> Timings {
        self.parts.timings
    }

    /// What was asked of the fit, but for threads and memory, which belong to the machine. `model.params().fit(&samples)` fits again.
    #[must_use]
    pub fn params(&self) -> &CheckedParams {
        &self.parts.params
    }

    /// Whether the tolerance was met at a minimum; of the approximate problem, where
    /// [`Certificate::approximation`] says that there is one.
    #[must_use]
    pub fn converged(&self) -> bool {
        self.parts.termination == Termination::Converged
    }

    /// Number of components k.
    #[must_use]
    pub fn n_components(&self) -> usize {
        self.parts.components.columns()
    }

    /// Number of features d.
    #[must_use]
    pub fn n_features(&self) -> usize {
        self.parts.components.rows()
    }

    /// How many samples the weights stand for: see [`Samples::count`].
    #[must_use]
    pub fn sample_count(&self) -> f64 {
        self.parts.total_count.unwrap_or_else(|| self.parts.weights.iter().filter(|a| **a > 0.0).count() as f64)
    }

    /// What [`Model::explained_variance`] is divided by beyond the weights, which sum to 1: 1 - 1/n for n samples.
    #[must_use]
    pub fn variance_divisor(&self) -> f64 {
        self.parts.variance_divisor()
    }

    /// Number of samples n.
    #[must_use]
    pub fn n_samples(&self) -> usize {
        self.parts.scores.rows()
    }

    /// The scores of new samples (row-major, `rows` x d): (X - mean) U.
    ///
    /// # Errors
    /// Where the samples have another number of features than the model, or values that are not finite.
    pub fn transform<T: Scalar>(&self, data: &[T], rows: usize) -> Result<Matrix> {
        if rows == 0 || !data.len().is_multiple_of(rows) {
            return Err(Error::Shape {
                rows,
                columns: self.n_features(),
                expected: rows.saturating_mul(self.n_features()),
                found: data.len(),
            });
        }
        let columns = data.len() / rows;
        if columns != self.n_features() {
            return Err(Error::Columns { expected: self.n_features(), found: columns });
        }
        let samples = Samples::uncentred(data, rows, columns)?;
        samples.data.project(&self.parts.mean, &self.parts.components)
    }

    /// The scores of new samples of any order, with gaps or without: see [`Samples::strided`].
    ///
    /// # Errors
    /// As [`Model::transform`], and [`Error::Strides`] where they lead out of `data`.
    pub fn transform_strided<T: Scalar>(
        &self,
        data: &[T],
        rows: usize,
        row_stride: usize,
        column_stride: usize,
    ) -> Result<Matrix> {
        let samples = Samples::uncentred_strided(data, rows, self.n_features(), row_stride, column_stride)?;
        samples.data.project(&self.parts.mean, &self.parts.components)
    }

    /// The scores of new samples in compressed sparse rows (see [`Samples::sparse`]), without making them dense.
    ///
    /// # Errors
    /// As [`Model::transform`], and [`Error::Sparse`] where the three do not make compressed sparse rows.
    pub fn transform_sparse<T: Scalar>(&self, offsets: &[usize], positions: &[u32], values: &[T]) -> Result<Matrix> {
        let samples = Samples::uncentred_sparse(offsets, positions, values, self.n_features())?;
        samples.data.project(&self.parts.mean, &self.parts.components)
    }

    /// The scores of new samples, however they are held; their weights do not matter.
    ///
    /// # Errors
    /// As [`Model::transform`], and [`Error::Read`] where samples cannot be read.
    pub fn transform_samples<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<Matrix> {
        if samples.columns() != self.n_features() {
            return Err(Error::Columns { expected: self.n_features(), found: samples.columns() });
        }
        samples.data.project(&self.parts.mean, &self.parts.components)
    }

    /// Samples from scores (rows x k): Z U' + mean, rows x d.
    ///
    /// # Errors
    /// Where the scores have another number of columns than the model has components.
    pub fn inverse_transform(&self, scores: &Matrix) -> Result<Matrix> {
        if scores.columns() != self.n_components() {
            return Err(Error::Columns { expected: self.n_components(), found: scores.columns() });
        }
        let mut samples = scores.times(&self.parts.components.transposed());
        for (j, mean) in self.parts.mean.iter().enumerate() {
            samples.column_mut(j).iter_mut().for_each(|x| *x += mean);
        }
        Ok(samples)
    }

    /// The transport plan of the fit: that of the exact kernel with the fit's potentials. After a fit with landmarks its marginals are
    /// off by what [`Certificate::approximation`] says.
    #[must_use]
    pub fn plan(&self) -> Plan {
        let scaled = self.parts.potential.iter().map(|g| g / self.parts.epsilon).collect();
        Plan::new(
            self.parts.scores.clone(),
            self.parts.weights.clone(),
            scaled,
            self.parts.epsilon,
            self.parts.total_count,
        )
    }

    /// The scores of each sample averaged over its partners: n pi Z for uniform weights.
    #[must_use]
    pub fn barycentric_scores(&self) -> Matrix {
        self.plan().barycentric_scores()
    }

    /// How one new sample (d values) spreads over the training samples: shares that sum to 1.
    ///
    /// # Errors
    /// As [`Model::transform`].
    pub fn plan_row<T: Scalar>(&self, sample: &[T]) -> Result<Vec<f64>> {
        let scores = self.transform(sample, 1)?;
        Ok(self.plan().shares(&scores.row(0)))
    }

    /// The same for many new samples: one row for each, one column for each training sample.
    ///
    /// # Errors
    /// As [`Model::transform_samples`].
    pub fn plan_rows<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<Matrix> {
        let (scores, plan) = (self.transform_samples(samples)?, self.plan());
        // An exponential is worth some twenty multiply-adds.
        let work = parallel::work(&[scores.rows(), plan.len(), 20]);
        let shares =
            parallel::map(&parallel::blocks(scores.rows(), 1), work, |row| plan.shares(&scores.row(row.start)));
        Ok(Matrix::from_fn(scores.rows(), plan.len(), |i, j| shares[i][j]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn perplexities_are_those_of_entropies_by_weight() {
        let entropies = [2.0, 0.5, 1.0, 3.0];
        let said = Perplexity::of(&entropies, &[0.1, 0.2, 0.4, 0.1]).unwrap();
        let overall: f64 = (0.1 * 2.0 + 0.2 * 0.5 + 0.4 * 1.0 + 0.1 * 3.0) / 0.8;
        assert!((said.overall - overall.exp()).abs() < 1e-12);
        assert_eq!([said.min, said.median, said.max], [0.5, 1.0, 3.0].map(f64::exp));
        // The median is by weight, also where weights do not sum to 1.
        assert_eq!(Perplexity::of(&entropies, &[0.1, 0.2, 0.2, 0.5]).unwrap().median, 3f64.exp().min(2f64.exp()));
        assert_eq!(Perplexity::of(&entropies, &[9.0, 2.0, 1.0, 5.0]).unwrap().median, 2f64.exp());
        assert_eq!(Perplexity::of(&entropies, &[9.0, 32.0, 1.0, 5.0]).unwrap().median, 0.5f64.exp());
        let error = Perplexity::of(&[1.0, f64::NAN], &[0.5, 0.5]).unwrap_err();
        assert_eq!(error, Error::NotANumber { what: "the perplexity" });
    }

    #[test]
    fn rows_of_many_new_samples_are_those_of_each() {
        let (data, new) = (crate::testing::groups(40, 3), crate::testing::gaussian(25, 3, 8));
        let model = crate::Ewca::params(2).perplexity(6.0).fit(&Samples::new(&data, 40, 3).unwrap()).unwrap();
        let samples = Samples::new(&new, 25, 3).unwrap();
        assert_eq!(model.transform_samples(&samples).unwrap(), model.transform(&new, 25).unwrap());
        let rows = model.plan_rows(&samples).unwrap();
        assert_eq!((rows.rows(), rows.columns()), (25, 40));
        for (i, sample) in new.chunks_exact(3).enumerate() {
            let alone = model.plan_row(sample).unwrap();
            assert!((alone.iter().sum::<f64>() - 1.0).abs() < 1e-12);
            for (together, alone) in rows.row(i).iter().zip(alone) {
                assert!((together - alone).abs() < 1e-12, "{together}, alone {alone}");
            }
        }
        let narrow = Samples::new(&new, 15, 5).unwrap();
        assert_eq!(model.plan_rows(&narrow).unwrap_err(), Error::Columns { expected: 3, found: 5 });
    }

    #[test]
    fn a_perplexity_is_missed_by_more_than_a_hundredth() {
        let said = |overall: f64, wanted: Option<f64>| {
            let of = Perplexity::of(&[overall.ln()], &[1.0]).unwrap();
            Perplexity { wanted, ..of }.is_missed()
        };
        assert!(!said(5.04, Some(5.0)) && said(5.06, Some(5.0)) && !said(4.96, Some(5.0)) && said(4.94, Some(5.0)));
        assert!(!said(9.0, None));
    }
}
