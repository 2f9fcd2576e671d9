//! Arrays as they come from Python, borrowed: dense rows, or compressed sparse rows.

use ewca::{Error, Matrix, Model, Result, Samples, Scalar};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;

/// Samples in rows. The Python side has made sure of the layout: what is here only borrows.
#[derive(FromPyObject)]
pub enum Table<'py> {
    Dense64(Dense<'py, f64>),
    Dense32(Dense<'py, f32>),
    Strided64(Strided<'py, f64>),
    Strided32(Strided<'py, f32>),
    Sparse64(Sparse<'py, f64>),
    Sparse32(Sparse<'py, f32>),
}

/// A C-contiguous array of two dimensions.
pub struct Dense<'py, T: Element>(PyReadonlyArray2<'py, T>);

/// (memory from the first value to the last, rows, columns, row stride, column stride) of an array in any other order.
#[derive(FromPyObject)]
pub struct Strided<'py, T: Element>(PyReadonlyArray1<'py, T>, usize, usize, usize, usize);

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
pub enum TableView<'a> {
    Dense64(Lines<'a, f64>),
    Dense32(Lines<'a, f32>),
    Sparse64(Rows<'a, f64>),
    Sparse32(Rows<'a, f32>),
}

/// Dense rows, whose values may lie in any order.
#[derive(Clone, Copy)]
pub struct Lines<'a, T> {
    pub data: &'a [T],
    pub rows: usize,
    pub columns: usize,
    pub row_stride: usize,
    pub column_stride: usize,
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
    pub fn values(&self) -> PyResult<TableView<'_>> {
        Ok(match self {
            Self::Dense64(x) => TableView::Dense64(x.lines()?),
            Self::Dense32(x) => TableView::Dense32(x.lines()?),
            Self::Strided64(x) => TableView::Dense64(x.lines()?),
            Self::Strided32(x) => TableView::Dense32(x.lines()?),
            Self::Sparse64(x) => TableView::Sparse64(x.rows()?),
            Self::Sparse32(x) => TableView::Sparse32(x.rows()?),
        })
    }
}

impl<T: Element> Dense<'_, T> {
    fn lines(&self) -> PyResult<Lines<'_, T>> {
        let (rows, columns) = (self.0.shape()[0], self.0.shape()[1]);
        Ok(Lines { data: self.0.as_slice()?, rows, columns, row_stride: columns, column_stride: 1 })
    }
}

impl<T: Element> Strided<'_, T> {
    fn lines(&self) -> PyResult<Lines<'_, T>> {
        let &Self(ref memory, rows, columns, row_stride, column_stride) = self;
        let data = memory.as_slice()?;
        let way = |count: usize, stride: usize| count.checked_sub(1)?.checked_mul(stride);
        let last = way(rows, row_stride).zip(way(columns, column_stride)).and_then(|(i, j)| i.checked_add(j));
        match last {
            Some(last) if last < data.len() => Ok(Lines { data, rows, columns, row_stride, column_stride }),
            _ => Err(PyValueError::new_err("the strides lead out of the memory")),
        }
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

impl<'a, T: Scalar> Lines<'a, T> {
    pub fn samples(self) -> Result<Samples<'a, T>> {
        if self.is_row_major() {
            return Samples::new(self.data, self.rows, self.columns);
        }
        Samples::strided(self.data, self.rows, self.columns, self.row_stride, self.column_stride)
    }

    pub fn scores(self, model: &Model) -> Result<Matrix> {
        let expected = model.n_features();
        if self.is_row_major() {
            return model.transform(self.data, self.rows);
        }
        if self.columns != expected {
            return Err(Error::Columns { expected, found: self.columns });
        }
        model.transform_strided(self.data, self.rows, self.row_stride, self.column_stride)
    }

    fn is_row_major(self) -> bool {
        self.column_stride == 1 && self.row_stride == self.columns
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
            $crate::data::TableView::Dense64(x) => {
                let $samples = weighted(x.samples()?, $weights)?;
                $body
            }
            $crate::data::TableView::Dense32(x) => {
                let $samples = weighted(x.samples()?, $weights)?;
                $body
            }
            $crate::data::TableView::Sparse64(x) => {
                let $samples = weighted(x.samples()?, $weights)?;
                $body
            }
            $crate::data::TableView::Sparse32(x) => {
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
