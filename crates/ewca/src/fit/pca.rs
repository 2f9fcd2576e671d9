//! Principal component analysis: what EWCA comes to as epsilon goes to 0, and what it is compared with.

use super::canonical::{Canonical, canonical};
use super::memory::{self, Shape};
use super::params::Params;
use super::session::{MAX_EXTENSIONS, PARTIAL_AXES_SHARE};
use super::{Observer, Phase};
use crate::error::{Error, Result};
use crate::matrix::{Matrix, dot};
use crate::parallel::{self, StopFlag};
use crate::samples::{Data, Reduction, Samples, Scalar, Span};

/// The principal components of some samples, in the conventions of [`Model`](crate::Model): see [`Params::pca`].
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Pca {
    /// The loadings, d x k, orthonormal.
    pub components: Matrix,
    /// The mean of each feature.
    pub mean: Vec<f64>,
    /// The scores, n x k: uncorrelated, in the order of their variances.
    pub scores: Matrix,
    /// The variance of each component, as [`Model::explained_variance`](crate::Model::explained_variance).
    pub explained_variance: Vec<f64>,
    /// The leading eigenvalues of Sigma: the same variances with weights that sum to 1, as they stand in the loss. What epsilon is measured in.
    pub eigenvalues: Vec<f64>,
    /// The variances as a part of the total variance.
    pub explained_variance_ratio: Vec<f64>,
    /// The rank of the centred data, as far as it was looked for.
    pub rank: usize,
    /// How far |Sigma u - lambda u| is from 0, relative to lambda, at the most: the tolerance at the most, unless the data have more than
    /// 4096 samples and features and no component stands out. 0 where all axes are known.
    pub residual: f64,
}

impl Pca {
    /// The scores of other samples with the same features.
    ///
    /// # Errors
    /// Where the samples have another number of features, or cannot be read.
    pub fn transform<T: Scalar>(&self, samples: &Samples<'_, T>) -> Result<Matrix> {
        if samples.columns() != self.mean.len() {
            return Err(Error::Columns { expected: self.mean.len(), found: samples.columns() });
        }
        samples.data.project(&self.mean, &self.components)
    }
}

/// The leading principal components.
pub(super) fn pca(samples: &Data<'_>, params: &Params, observer: &mut dyn Observer) -> Result<Pca> {
    let k = params.components;
    parallel::with_threads(params.threads, || {
        let memory = memory::plan(&Shape::of(samples, k, params.landmarks), params.memory_budget)?;
        observer.phase(Phase::Reduction);
        let stop = StopFlag(observer.stop_flag());
        let mut span = Span::new(samples, Reduction { axes: memory.axes, stop: stop.clone() })?;
        if k > span.rank() {
            return Err(Error::Components { requested: k, rank: span.rank() });
        }
        let mut residual = 0.0;
        for _ in 0..=MAX_EXTENSIONS {
            stop.check()?;
            let Some(outside) = outside(samples, &span, k)? else { break };
            let relative = |j: usize| dot(outside.column(j), outside.column(j)).sqrt() / span.variances[j];
            residual = (0..k).map(relative).fold(0.0, f64::max);
            if residual <= PARTIAL_AXES_SHARE * params.tolerance {
                break;
            }
            (span, _) = span.extended(samples, &outside, &span.pca_frame(k))?;
        }
        let Canonical { components, scores, variances, .. } = canonical(samples, &span, &span.pca_frame(k))?;
        let total = span.total_variance() * span.unit * span.unit;
        let divisor = samples.variance_divisor();
        Ok(Pca {
            components,
            mean: samples.mean().to_vec(),
            scores,
            explained_variance: variances.iter().map(|v| v / divisor).collect(),
            explained_variance_ratio: variances.iter().map(|v| v / total).collect(),
            eigenvalues: variances,
            rank: span.rank(),
            residual,
        })
    })?
}

/// Where the span has some of the axes only: what Sigma V has outside of them.
fn outside(samples: &Data<'_>, span: &Span<'_>, k: usize) -> Result<Option<Matrix>> {
    if !span.is_partial() {
        return Ok(None);
    }
    let mut columns = span.leading_axes(k);
    columns.scale_rows(&span.weights);
    span.outside(samples, &columns)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::AtomicBool;

    use crate::fit::{Control, Ewca, Progress};
    use crate::matrix::symmetric_eigen;
    use crate::testing::gaussian;

    #[test]
    fn components_are_the_eigenvectors_of_the_covariance() {
        let (n, d) = (20, 5);
        // In units that are far from 1.
        let data: Vec<f64> = gaussian(n, d, 4).iter().map(|x| 40.0 * x).collect();
        let weights: Vec<f64> = (0..n).map(|i| (i % 3) as f64).collect();
        let samples = Samples::new(&data, n, d).unwrap().with_weights(&weights).unwrap();
        let (mean, a) = (samples.mean(), samples.weights());
        let centred = |i: usize, j: usize| data[i * d + j] - mean[j];
        let covariance =
            Matrix::from_fn(d, d, |j, l| (0..n).map(|i| a[i] * centred(i, j) * centred(i, l)).sum::<f64>());
        let (values, vectors) = symmetric_eigen(&covariance).unwrap();
        let total: f64 = values.iter().sum();
        for k in [1, 3, d] {
            let pca = Ewca::params(k).pca(&samples).unwrap();
            assert_eq!((pca.rank, pca.residual), (d, 0.0));
            for (c, value) in values[..k].iter().enumerate() {
                assert!((pca.eigenvalues[c] / value - 1.0).abs() < 1e-12);
                let unbiased = value / (1.0 - a.iter().map(|a| a * a).sum::<f64>());
                assert!((pca.explained_variance[c] / unbiased - 1.0).abs() < 1e-12);
                assert!((pca.explained_variance_ratio[c] - value / total).abs() < 1e-12);
                let cosine = dot(pca.components.column(c), vectors.column(c));
                assert!((cosine.abs() - 1.0).abs() < 1e-12, "{c}: {cosine}");
            }
            assert_eq!(pca.mean, samples.mean());
            assert_eq!(pca.transform(&samples).unwrap().rows(), n);
        }
        assert_eq!(Ewca::params(6).pca(&samples).unwrap_err(), Error::Components { requested: 6, rank: 5 });
        struct Stopping(Vec<Phase>);
        impl Observer for Stopping {
            fn observe(&mut self, _: &Progress<'_>) -> Control {
                Control::Continue
            }
            fn phase(&mut self, phase: Phase) {
                self.0.push(phase);
            }
            fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
                Some(Arc::new(AtomicBool::new(true)))
            }
        }
        let mut observer = Stopping(Vec::new());
        let stopped = Ewca::params(2).check().unwrap().pca_observed(&samples, &mut observer).unwrap_err();
        assert_eq!((stopped, observer.0), (Error::Stopped, vec![Phase::Reduction]));
        let other = Samples::new(&data, 25, 4).unwrap();
        let refused = Ewca::params(2).pca(&samples).unwrap().transform(&other).unwrap_err();
        assert_eq!(refused, Error::Columns { expected: 5, found: 4 });
    }
}
