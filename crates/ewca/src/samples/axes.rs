//! The leading principal axes of data with many samples and many features, without a matrix between either.
//!
//! A block Krylov method on the covariance, begun at random: each step is one walk over the data, and all that the steps have seen is kept. What
//! these axes leave out is not lost: a fit looks at its gradient outside of them, and takes in what it finds there (`Span::extended`).

use super::{Data, Reduction};
use crate::error::Result;
use crate::matrix::{Matrix, hstack, orthonormal_beside, qr_factor};
use crate::subspace::random_frame;

/// Steps of the method.
const STEPS: usize = 5;

/// An orthonormal basis that nearly holds as many leading principal axes as are wanted, and the covariance in it.
pub(super) fn leading_axes(samples: &Data<'_>, reduction: &Reduction) -> Result<(Matrix, Matrix)> {
    let d = samples.columns;
    let most = d.min(samples.all_rows().saturating_sub(1)).max(1);
    // A quarter of the axes in each step, so that there are more in the end than are wanted; and begun inside of the data's span.
    let width = reduction.axes.div_ceil(4).min(most.div_ceil(STEPS));
    let mut basis = qr_factor(&samples.covariance_times(&random_frame(d, width, 0, 0))?);
    let mut image = samples.covariance_times(&basis)?;
    let mut last = image.clone();
    while basis.columns() < most.min(width * STEPS) {
        reduction.stop.check()?;
        let room = most - basis.columns();
        let next = if last.columns() > room { last.leading_columns(room) } else { last };
        let Some(block) = orthonormal_beside(&basis, next) else { break };
        last = samples.covariance_times(&block)?;
        basis = hstack(&basis, &block);
        image = hstack(&image, &last);
    }
    let mut gram = basis.transposed_times(&image);
    gram.symmetrise();
    Ok((basis, gram))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::matrix::symmetric_eigen;
    use crate::parallel::StopFlag;
    use crate::samples::{Samples, Side};
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
        let (_, vectors) = symmetric_eigen(&samples.data.gram(Side::Features).unwrap()).unwrap();
        let wanted = vectors.leading_columns(3);
        let (basis, gram) = leading_axes(&samples.data, &only(8)).unwrap();
        // A quarter of them in each of the steps.
        assert_eq!((basis.rows(), basis.columns()), (columns, 2 * STEPS));
        let mut product = basis.transposed_times(&basis);
        product.add_scaled(-1.0, &Matrix::identity(basis.columns()));
        assert!(product.norm() < 1e-13);
        let mut wanted_gram = basis.transposed_times(&samples.data.covariance_times(&basis).unwrap());
        wanted_gram.add_scaled(-1.0, &gram);
        assert!(wanted_gram.norm() < 1e-13 * gram.norm());
        let mut outside = wanted.clone();
        outside.add_scaled(-1.0, &basis.times(&basis.transposed_times(&wanted)));
        assert!(outside.norm() < 0.1, "{}", outside.norm());
    }

    #[test]
    fn there_are_no_more_axes_than_features_or_samples_less_one() {
        let data = testing::gaussian(6, 20, 1);
        for (rows, columns, most) in [(6, 20, 5), (20, 6, 6)] {
            let samples = Samples::new(&data, rows, columns).unwrap();
            assert_eq!(leading_axes(&samples.data, &only(8)).unwrap().0.columns(), most);
        }
    }
}
