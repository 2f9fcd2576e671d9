//! The samples: their numbers, and fewer of them where there are too many to show.

use std::fmt::Debug;

use ewca::{Samples, Scalar};

/// The numbers of the samples, a row at a time: [`Samples`] of either precision.
pub trait SampleRows: Debug + Sync {
    /// The number of samples.
    fn rows(&self) -> usize;
    /// The number of features.
    fn columns(&self) -> usize;
    /// The weighted mean of each feature.
    fn mean(&self) -> &[f64];
    /// All features of a sample.
    ///
    /// # Errors
    /// Where the data cannot be read.
    fn row(&self, row: usize) -> ewca::Result<Vec<f64>>;
}

impl<T: Scalar + Debug> SampleRows for Samples<'_, T> {
    fn rows(&self) -> usize {
        self.rows()
    }

    fn columns(&self) -> usize {
        self.columns()
    }

    fn mean(&self) -> &[f64] {
        self.mean()
    }

    fn row(&self, row: usize) -> ewca::Result<Vec<f64>> {
        self.row(row)
    }
}

/// The most samples that a page shows.
pub const MOST_SAMPLES: usize = 100_000;

/// Which samples a page shows: all up to `most`, or else that many, evenly from each class. Ascending.
pub fn shown_samples(samples: usize, classes: Option<&[usize]>, most: usize) -> Vec<usize> {
    let mut order: Vec<usize> = (0..samples).collect();
    if samples <= most {
        return order;
    }
    if let Some(classes) = classes {
        order.sort_by_key(|&i| classes[i]);
    }
    let mut shown: Vec<usize> = (0..most).map(|at| order[at * samples / most]).collect();
    shown.sort_unstable();
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_keep_their_parts() {
        assert_eq!(shown_samples(3, None, 3), [0, 1, 2]);
        assert_eq!(shown_samples(10, None, 5), [0, 2, 4, 6, 8]);
        let classes: Vec<usize> = (0..1000).map(|i| usize::from(i % 10 == 3)).collect();
        let shown = shown_samples(1000, Some(&classes), 100);
        assert!(shown.is_sorted_by(|a, b| a < b));
        assert_eq!(shown.iter().filter(|&&i| classes[i] == 1).count(), 10);
    }
}
