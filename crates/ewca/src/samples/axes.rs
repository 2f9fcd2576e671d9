//! The leading principal axes of data with many samples and many features, without a matrix between either.
//!
//! Subspace iteration on the covariance, begun at random: each step is one walk over the data. What these axes leave out is not
//! lost: a fit looks at its gradient outside of them at the end, and takes in what it finds there (`Span::extended`).

use super::{Reduction, Samples, Scalar};
use crate::error::Result;
use crate::matrix::{Matrix, qr_factor};
use crate::subspace::random_frame;

/// Steps of the iteration.
const STEPS: usize = 4;
/// Axes beyond those that are wanted: they make the wanted ones better.
const SPARE: usize = 10;

/// An orthonormal basis (of at most as many columns as are wanted, and some more) that nearly holds the leading principal axes.
pub(super) fn leading_axes<T: Scalar>(samples: &Samples<'_, T>, reduction: &Reduction) -> Result<Matrix> {
    let d = samples.columns;
    let most = d.min(samples.all_rows().saturating_sub(1)).max(1);
    let mut basis = random_frame(d, reduction.axes.saturating_add(SPARE).min(most), 0, 0);
    for _ in 0..STEPS {
        reduction.stop.check()?;
        basis = qr_factor(&samples.covariance_times(&basis)?);
    }
    Ok(basis)
}
