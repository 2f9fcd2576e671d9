//! Arrays as they come from Python, borrowed: dense rows, or compressed sparse rows.

use ewca::{Matrix, Result, Samples, Scalar};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;

/// Samples in rows. The Python side has made sure of the layout: what is here only borrows.
#[derive(FromPyObject)]
pub enum Table<'py> {
    Dense64(Dense<'py, f64>),
    Dense32(Dense<'py, f32>),
    Sparse64(Sparse<'py, f64>),
    Sparse32(Sparse<'py, f32>),
}

/// A C-contiguous array of two dimensions.
pub struct Dense<'py, T: Element>(PyReadonlyArray2<'py, T>);

/// (offsets, positions, values, number of columns), as in SciPy's `csr_array`.
#[derive(FromPyObject)]
pub struct Sparse<'py, T: Element>(
    PyReadonlyArray1<'py, usize>,
    PyReadonlyArray1<'py, u32>,
    PyReadonlyArray1<'py, T>,
    usize,
);

impl<'a, 'py, T: Element> FromPyObject<'a, 'py> for Dense<'py, T>
where
    T: 'a,
{
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let array: PyReadonlyArray2<'py, T> = object.extract()?;
        match array.is_c_contiguous() {
            true => Ok(Self(array)),
            false => Err(PyTypeError::new_err("the array is not C-contiguous")),
        }
    }
}

/// What the core needs of a table, free of Python: it can cross threads while Python goes on.
#[derive(Clone, Copy)]
pub enum Values<'a> {
    Dense64(&'a [f64], usize, usize),
    Dense32(&'a [f32], usize, usize),
    Sparse64(Rows<'a, f64>),
    Sparse32(Rows<'a, f32>),
}

/// Compressed sparse rows.
#[derive(Clone, Copy)]
pub struct Rows<'a, T> {
    pub offsets: &'a [usize],
    pub positions: &'a [u32],
    pub values: &'a [T],
    pub columns: usize,
}

impl Table<'_> {
    /// The numbers, still where Python has them.
    pub fn values(&self) -> PyResult<Values<'_>> {
        Ok(match self {
            Self::Dense64(x) => Values::Dense64(x.0.as_slice()?, x.0.shape()[0], x.0.shape()[1]),
            Self::Dense32(x) => Values::Dense32(x.0.as_slice()?, x.0.shape()[0], x.0.shape()[1]),
            Self::Sparse64(x) => Values::Sparse64(x.rows()?),
            Self::Sparse32(x) => Values::Sparse32(x.rows()?),
        })
    }
}

impl<T: Element> Sparse<'_, T> {
    fn rows(&self) -> PyResult<Rows<'_, T>> {
        Ok(Rows {
            offsets: self.0.as_slice()?,
            positions: self.1.as_slice()?,
            values: self.2.as_slice()?,
            columns: self.3,
        })
    }
}

impl<'a, T: Scalar> Rows<'a, T> {
    pub fn samples(self) -> Result<Samples<'a, T>> {
        Samples::sparse(self.offsets, self.positions, self.values, self.columns)
    }
}

/// Runs an expression with `$samples`, of whatever type the values are; `$weights` are an `Option<&[f64]>`.
macro_rules! with_samples {
    ($values:expr, $weights:expr, |$samples:ident| $body:expr) => {{
        fn weighted<'a, T: ewca::Scalar>(
            samples: ewca::Samples<'a, T>,
            weights: Option<&[f64]>,
        ) -> ewca::Result<ewca::Samples<'a, T>> {
            match weights {
                // scikit-learn's weights: a sample of weight w is as good as the same sample w times.
                Some(weights) => samples.with_counts(weights),
                None => Ok(samples),
            }
        }
        match $values {
            $crate::data::Values::Dense64(x, n, d) => {
                let $samples = weighted(ewca::Samples::new(x, n, d)?, $weights)?;
                $body
            }
            $crate::data::Values::Dense32(x, n, d) => {
                let $samples = weighted(ewca::Samples::new(x, n, d)?, $weights)?;
                $body
            }
            $crate::data::Values::Sparse64(x) => {
                let $samples = weighted(x.samples()?, $weights)?;
                $body
            }
            $crate::data::Values::Sparse32(x) => {
                let $samples = weighted(x.samples()?, $weights)?;
                $body
            }
        }
    }};
}
pub(crate) use with_samples;

/// A copy of a small matrix.
pub fn matrix(array: &PyReadonlyArray2<'_, f64>) -> Matrix {
    let view = array.as_array();
    Matrix::from_fn(view.nrows(), view.ncols(), |i, j| view[[i, j]])
}
