//! ndarray's arrays: rows are samples.

use ::ndarray::{Array2, ArrayBase, ArrayView2, Axis, Data, Ix2, ShapeBuilder};

use crate::error::{Error, Result};
use crate::matrix::Matrix;
use crate::samples::{Samples, Scalar};

const SAME_SHAPE: &str = "a matrix has rows x columns entries";

/// Borrows the array where the values of each row lie side by side (the standard layout, and slices of it by rows or by ranges of
/// columns), or those of each column (Fortran order, and slices of it); copies it otherwise (gaps in both ways, backwards).
///
/// ```
/// use ewca::{Ewca, Samples};
/// use ndarray::{ArrayView2, array};
///
/// let data = array![[0.0, 0.1, 5.0], [0.2, 0.0, 1.0], [4.0, 4.1, 2.0], [4.2, 4.0, 4.0]];
/// let samples = Samples::try_from(data.view())?;
/// let model = Ewca::params(1).epsilon(1.0).fit(&samples)?;
/// let scores = ArrayView2::from(model.scores()); // no copy
/// assert_eq!(scores.dim(), (4, 1));
/// # Ok::<(), ewca::Error>(())
/// ```
impl<'a, T: Scalar> TryFrom<ArrayView2<'a, T>> for Samples<'a, T> {
    type Error = Error;

    fn try_from(view: ArrayView2<'a, T>) -> Result<Self> {
        let (rows, columns) = view.dim();
        if let Some(data) = view.to_slice() {
            return Self::new(data, rows, columns);
        }
        if rows == 0 || columns == 0 {
            return Err(Error::Empty { rows, columns });
        }
        let slices = |axis| (0..view.len_of(axis)).map(|i| view.index_axis_move(axis, i).to_slice()).collect();
        if let Some(rows) = slices(Axis(0)) {
            return Self::from_slices(rows);
        }
        match slices(Axis(1)) {
            Some(columns) => Self::from_columns(columns),
            None => Self::from_vec(view.iter().copied().collect(), rows, columns),
        }
    }
}

/// As that of a view of the array.
impl<'a, T: Scalar, S: Data<Elem = T>> TryFrom<&'a ArrayBase<S, Ix2>> for Samples<'a, T> {
    type Error = Error;

    fn try_from(array: &'a ArrayBase<S, Ix2>) -> Result<Self> {
        Self::try_from(array.view())
    }
}

/// A view in Fortran order, without a copy.
impl<'a> From<&'a Matrix> for ArrayView2<'a, f64> {
    fn from(matrix: &'a Matrix) -> Self {
        Self::from_shape((matrix.rows(), matrix.columns()).f(), matrix.as_column_major()).expect(SAME_SHAPE)
    }
}

/// An array in Fortran order, without a copy.
impl From<Matrix> for Array2<f64> {
    fn from(matrix: Matrix) -> Self {
        let shape = (matrix.rows(), matrix.columns()).f();
        Self::from_shape_vec(shape, matrix.into_column_major()).expect(SAME_SHAPE)
    }
}

/// A copy.
impl From<ArrayView2<'_, f64>> for Matrix {
    fn from(view: ArrayView2<'_, f64>) -> Self {
        Self::from_fn(view.nrows(), view.ncols(), |i, j| view[(i, j)])
    }
}
