//! The core's vectors and matrices as NumPy's.

use ewca::Matrix;
use numpy::{IntoPyArray, PyArray1, PyArray2, PyArrayMethods, PyReadonlyArray2};
use pyo3::prelude::*;

pub fn vector<'py>(py: Python<'py>, values: &[f64]) -> Bound<'py, PyArray1<f64>> {
    PyArray1::from_slice(py, values)
}

/// A matrix in C order.
pub fn by_rows<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    matrix.to_row_major().into_pyarray(py).reshape([matrix.rows(), matrix.columns()])
}

/// The transpose, in C order: the core keeps matrices column after column.
pub fn transposed<'py>(py: Python<'py>, matrix: &Matrix) -> PyResult<Bound<'py, PyArray2<f64>>> {
    vector(py, matrix.as_column_major()).reshape([matrix.columns(), matrix.rows()])
}

pub fn rows_of(array: &PyReadonlyArray2<'_, f64>) -> Vec<Vec<f64>> {
    array.as_array().rows().into_iter().map(|row| row.to_vec()).collect()
}
