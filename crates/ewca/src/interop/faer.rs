//! faer's matrices: rows are samples.

use ::faer::MatRef;

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::samples::{Samples, Scalar};

/// Borrows the view where the values of each column lie side by side (faer's own matrices) or those of each row (their transposes);
/// copies it otherwise (rows with gaps, or backwards).
///
/// ```
/// use ewca::{Ewca, Samples};
/// use faer::{MatRef, mat};
///
/// let data = mat![[0.0, 0.1, 5.0], [0.2, 0.0, 1.0], [4.0, 4.1, 2.0], [4.2, 4.0, 4.0]];
/// let samples = Samples::try_from(data.as_ref())?;
/// let model = Ewca::params(1).epsilon(1.0).fit(&samples)?;
/// let scores = MatRef::from(model.scores()); // no copy
/// assert_eq!(scores.shape(), (4, 1));
/// # Ok::<(), ewca::Error>(())
/// ```
impl<'a, T: Scalar> TryFrom<MatRef<'a, T>> for Samples<'a, T> {
    type Error = Error;

    fn try_from(view: MatRef<'a, T>) -> Result<Self> {
        let (rows, columns) = view.shape();
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        if let Some(view) = view.try_as_row_major() {
            return Self::from_slices((0..rows).map(|i| view.row(i).as_slice()).collect());
        }
        if let Some(view) = view.try_as_col_major() {
            return Self::from_columns((0..columns).map(|j| view.col(j).as_slice()).collect());
        }
        let copy = (0..rows).flat_map(|i| (0..columns).map(move |j| view[(i, j)])).collect();
        Self::from_vec(copy, rows, columns)
    }
}

/// A column-major view, without a copy.
impl<'a> From<&'a Matrix> for MatRef<'a, f64> {
    fn from(matrix: &'a Matrix) -> Self {
        matrix.view()
    }
}

/// A copy.
impl From<MatRef<'_, f64>> for Matrix {
    fn from(view: MatRef<'_, f64>) -> Self {
        Self::from_fn(view.nrows(), view.ncols(), |i, j| view[(i, j)])
    }
}
