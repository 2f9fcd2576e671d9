//! nalgebra's matrices: rows are samples, or columns where they are asked for.

use ::nalgebra::storage::RawStorage;
use ::nalgebra::{self as na, DMatrix, DMatrixView, Dim, U1};

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::samples::{Samples, Scalar};

/// Without a copy: matrices of nalgebra, and views of them by rows and columns. (Views that leave out every other row are copied with
/// `clone_owned` first.) Where columns are samples, see [`Samples::from_nalgebra_columns`].
///
/// ```
/// use ewca::{Ewca, Samples};
/// use nalgebra::{DMatrix, DMatrixView};
///
/// let data = DMatrix::from_row_slice(4, 3, &[0.0, 0.1, 5.0, 0.2, 0.0, 1.0, 4.0, 4.1, 2.0, 4.2, 4.0, 4.0]);
/// let samples = Samples::try_from(&data)?;
/// let model = Ewca::params(1).epsilon(1.0).fit(&samples)?;
/// let scores = DMatrixView::from(model.scores()); // no copy
/// assert_eq!(scores.shape(), (4, 1));
/// # Ok::<(), ewca::Error>(())
/// ```
impl<'a, T: Scalar, R: Dim, C: Dim, S> TryFrom<&'a na::Matrix<T, R, C, S>> for Samples<'a, T>
where
    S: RawStorage<T, R, C, RStride = U1>,
{
    type Error = Error;

    fn try_from(matrix: &'a na::Matrix<T, R, C, S>) -> Result<Self> {
        Self::from_columns((0..matrix.ncols()).map(|j| matrix.column(j).data.into_slice()).collect())
    }
}

impl<'a, T: Scalar> Samples<'a, T> {
    /// Borrows a matrix of nalgebra whose columns are the samples, without a copy (feature `nalgebra`).
    ///
    /// ```
    /// use ewca::Samples;
    /// let data = nalgebra::DMatrix::from_column_slice(2, 3, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.5]);
    /// let samples = Samples::from_nalgebra_columns(&data)?;
    /// assert_eq!((samples.rows(), samples.row(2)?), (3, vec![5.0, 6.5]));
    /// # Ok::<(), ewca::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`Samples::new`].
    pub fn from_nalgebra_columns<R: Dim, C: Dim, S: RawStorage<T, R, C, RStride = U1>>(
        matrix: &'a na::Matrix<T, R, C, S>,
    ) -> Result<Self> {
        Self::from_slices((0..matrix.ncols()).map(|j| matrix.column(j).data.into_slice()).collect())
    }
}

/// A view, without a copy.
impl<'a> From<&'a Matrix> for DMatrixView<'a, f64> {
    fn from(matrix: &'a Matrix) -> Self {
        Self::from_slice(matrix.as_column_major(), matrix.rows(), matrix.columns())
    }
}

/// Takes the entries, without a copy.
impl From<Matrix> for DMatrix<f64> {
    fn from(matrix: Matrix) -> Self {
        let (rows, columns) = (matrix.rows(), matrix.columns());
        Self::from_vec(rows, columns, matrix.into_column_major())
    }
}

/// A copy.
impl<R: Dim, C: Dim, S: RawStorage<f64, R, C>> From<&na::Matrix<f64, R, C, S>> for Matrix {
    fn from(matrix: &na::Matrix<f64, R, C, S>) -> Self {
        Self::from_fn(matrix.nrows(), matrix.ncols(), |i, j| matrix[(i, j)])
    }
}
