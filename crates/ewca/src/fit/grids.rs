//! Epsilons and numbers of components to try where none are given.

use std::ops::RangeInclusive;

use super::Pca;

/// The numbers of components that are compared where none are given.
pub const DEFAULT_COMPONENTS: RangeInclusive<usize> = 2..=10;

/// How many epsilons are tried where none are given.
pub const DEFAULT_EPSILONS: usize = 20;
/// The last epsilon of a path, in units of the last component's variance s2: where the data are Gaussian along it, it collapses at 3 s2.
const PAST_COLLAPSE: f64 = 3.6;
/// From the first epsilon of a path to the last. At the first, neighbours hardly count.
const PATH_RANGE: f64 = 200.0;
/// From where to where labels choose epsilon, in units of the last component's variance: the paper's range.
const SELECTION_RANGE: (f64, f64) = (0.1, 4.0);

/// `count` numbers from `from` to `to`, each of them by the same factor from the last.
#[must_use]
pub fn geometric(from: f64, to: f64, count: usize) -> Vec<f64> {
    let last = count.saturating_sub(1);
    (0..count)
        .map(|at| match at {
            0 => from,
            at if at == last => to,
            at => from * (to / from).powf(at as f64 / last as f64),
        })
        .collect()
}

impl Pca {
    /// Twenty epsilons, from where EWCA is hardly different from PCA to where it has just collapsed: for
    /// [`CheckedParams::path`](crate::CheckedParams::path).
    #[must_use]
    pub fn path_epsilons(&self) -> Vec<f64> {
        let last = PAST_COLLAPSE * self.last_variance();
        geometric(last / PATH_RANGE, last, DEFAULT_EPSILONS)
    }

    /// Twenty epsilons among which labels may choose: those of the paper.
    #[must_use]
    pub fn selection_epsilons(&self) -> Vec<f64> {
        let (from, to) = SELECTION_RANGE;
        geometric(from * self.last_variance(), to * self.last_variance(), DEFAULT_EPSILONS)
    }

    fn last_variance(&self) -> f64 {
        self.eigenvalues.last().copied().unwrap_or(0.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Ewca, Samples};

    #[test]
    fn grids_go_by_equal_factors_from_end_to_end() {
        let doubled = geometric(1.0, 8.0, 4);
        assert_eq!((doubled.len(), doubled[0], doubled[3]), (4, 1.0, 8.0));
        // The end is the one that was given, to the last bit, where powers are not.
        assert_eq!(geometric(0.37, 6.04, 3)[2], 6.04);
        assert!((doubled[1] - 2.0).abs() + (doubled[2] - 4.0).abs() < 1e-12, "{doubled:?}");
        assert_eq!((geometric(3.0, 7.0, 1), geometric(3.0, 7.0, 0)), (vec![3.0], vec![]));
        let data = crate::testing::gaussian(30, 4, 3);
        let pca = Ewca::params(2).pca(&Samples::new(&data, 30, 4).unwrap()).unwrap();
        let unit = pca.eigenvalues[1];
        for (grid, from, to) in [(pca.path_epsilons(), 0.018, 3.6), (pca.selection_epsilons(), 0.1, 4.0)] {
            assert_eq!(grid.len(), 20);
            assert!((grid[0] / unit - from).abs() < 1e-12 && (grid[19] / unit - to).abs() < 1e-12);
            let factor = grid[1] / grid[0];
            assert!(grid.windows(2).all(|pair| (pair[1] / pair[0] / factor - 1.0).abs() < 1e-12));
        }
    }
}
