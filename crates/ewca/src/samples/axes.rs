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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::symmetric_eigen;
    use crate::parallel::StopFlag;
    use crate::samples::Side;
    use crate::testing;

    fn only(axes: usize) -> Reduction {
        Reduction { axes, stop: StopFlag::default() }
    }

    #[test]
    fn the_basis_holds_the_leading_axes() {
        let (rows, columns) = (60, 40);
        // Variances that fall: axes after the first few are told apart.
        let data = testing::gaussian(rows, columns, 12);
        let samples = Samples::new(&data, rows, columns).unwrap();
        let (_, vectors) = symmetric_eigen(&samples.gram(Side::Features).unwrap()).unwrap();
        let wanted = vectors.leading_columns(3);
        let basis = leading_axes(&samples, &only(3)).unwrap();
        assert_eq!((basis.rows(), basis.columns()), (columns, 3 + SPARE));
        let mut gram = basis.transposed_times(&basis);
        gram.add_scaled(-1.0, &Matrix::identity(3 + SPARE));
        assert!(gram.norm() < 1e-13);
        let mut outside = wanted.clone();
        outside.add_scaled(-1.0, &basis.times(&basis.transposed_times(&wanted)));
        assert!(outside.norm() < 1e-2, "{}", outside.norm());
    }

    #[test]
    fn there_are_no_more_axes_than_features_or_samples_less_one() {
        let data = testing::gaussian(6, 20, 1);
        for (rows, columns, most) in [(6, 20, 5), (20, 6, 6)] {
            let samples = Samples::new(&data, rows, columns).unwrap();
            assert_eq!(leading_axes(&samples, &only(4)).unwrap().columns(), most);
        }
    }
}
