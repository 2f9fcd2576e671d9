//! Processes that share a fit: each has some of the samples, and all do the same steps at the same time.

use std::fmt::Debug;
use std::sync::Arc;

use crate::matrix::Matrix;
use crate::parallel;
use crate::simd::Simd;

/// A team of processes (of a cluster, say) that fit together: see [`crate::Samples::with_team`].
///
/// Every member calls the same methods in the same order; a call returns when all have made it. Implementations move numbers and
/// never add them: sums are taken here, in the order of the ranks, so that the same number of processes gives the same bits.
pub trait Team: Debug + Send + Sync {
    /// The number of this process, from 0.
    fn rank(&self) -> usize;

    /// The number of processes.
    fn size(&self) -> usize;

    /// The numbers of every process, by rank. They may differ in length.
    fn gather(&self, own: &[f64]) -> Vec<Vec<f64>>;

    /// Gives `parts[r]` to process r, for every r; returns what every process gave to this one, by rank.
    fn exchange(&self, parts: &[&[f64]]) -> Vec<Vec<f64>>;
}

/// The vectors in use, and what else the processor can do, as a number: others would round otherwise, and members must not.
pub(crate) fn processor() -> f64 {
    let kinds = Simd::available().len() as f64;
    kinds + 10.0 * Simd::chosen().map_or(0.0, |simd| f64::from(simd as u8))
}

/// A process with its team, or alone.
#[derive(Debug, Clone, Default)]
pub(crate) struct TeamHandle {
    team: Option<Arc<dyn Team>>,
}

impl TeamHandle {
    pub fn of(team: Arc<dyn Team>) -> Self {
        Self { team: Some(team).filter(|team| team.size() > 1) }
    }

    pub fn is_alone(&self) -> bool {
        self.team.is_none()
    }

    pub fn rank(&self) -> usize {
        self.team.as_ref().map_or(0, |team| team.rank())
    }

    pub fn size(&self) -> usize {
        self.team.as_ref().map_or(1, |team| team.size())
    }

    /// The numbers of all, by rank.
    pub fn gathered(&self, own: &[f64]) -> Vec<Vec<f64>> {
        self.team.as_ref().map_or_else(|| vec![own.to_vec()], |team| team.gather(own))
    }

    /// The rows of all, by rank.
    pub fn gathered_rows(&self, own: Matrix) -> Matrix {
        let Some(team) = &self.team else { return own };
        let parts = team.gather(own.as_column_major());
        let columns = own.columns();
        let heights: Vec<usize> = parts.iter().map(|part| part.len() / columns.max(1)).collect();
        let mut all = Matrix::zeros(heights.iter().sum(), columns);
        let mut start = 0;
        for (part, height) in parts.iter().zip(heights) {
            for (j, column) in part.chunks_exact(height.max(1)).enumerate() {
                all.column_mut(j)[start..start + height].copy_from_slice(column);
            }
            start += height;
        }
        all
    }

    /// `values` becomes the sum over all processes: each sums a part, in the order of the ranks, and tells the others.
    pub fn sum(&self, values: &mut [f64]) {
        let Some(team) = &self.team else { return };
        let shares = parallel::blocks(values.len(), values.len().div_ceil(team.size()).max(1));
        let mut parts: Vec<&[f64]> = shares.iter().map(|share| &values[share.clone()]).collect();
        parts.resize(team.size(), &[]);
        let mut received = team.exchange(&parts).into_iter();
        let mut own = received.next().unwrap_or_default();
        for part in received {
            own.iter_mut().zip(part).for_each(|(sum, x)| *sum += x);
        }
        for (share, sums) in shares.into_iter().zip(team.gather(&own)) {
            values[share].copy_from_slice(&sums);
        }
    }

    /// The sum of everyone's matrix.
    pub fn summed(&self, mut matrix: Matrix) -> Matrix {
        self.sum(matrix.as_column_major_mut());
        matrix
    }
}
