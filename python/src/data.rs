//! Data as they come from Python. Arrays are borrowed: dense rows, or compressed sparse rows. What is not in memory is read part by
//! part: from an object of Python, or from a file.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use ewca::{Error, Matrix, Model, Part, Result, Samples, Scalar, Source};
use ewca_io::{DenseValues, SparseValues, Values};
use numpy::{Element, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArrayMethods};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::error::file_error;
use crate::run::nested;
use crate::table::{Contents, PyTable};
use crate::threads::own_pool;

/// Samples in rows. The Python side has made sure of the layout: what is here only borrows.
#[derive(FromPyObject)]
pub enum Table<'py> {
    Dense64(Dense<'py, f64>),
    Dense32(Dense<'py, f32>),
    Strided64(Strided<'py, f64>),
    Strided32(Strided<'py, f32>),
    Sparse64(Sparse<'py, f64>),
    Sparse32(Sparse<'py, f32>),
    File(File),
    Streamed(Streamed),
}

/// A table that was read from a file, whole.
pub struct File(Py<PyTable>);

/// Samples that are not in memory.
#[derive(Debug)]
pub struct Streamed {
    origin: Origin,
    rows: usize,
    columns: usize,
    part_rows: usize,
    stop: OnceLock<Arc<AtomicBool>>,
    failure: Mutex<Option<PyErr>>,
}

/// Where they are.
#[derive(Debug)]
enum Origin {
    /// `read(start, stop)` of an object of Python: gives these rows, as a table in memory.
    Object(Py<PyAny>),
    /// With the threads that decode it: those of the fit wait for it, and rayon's own would be dead in a process that was forked after they
    /// were used.
    File(Py<PyTable>, ThreadPool),
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

impl<'a, 'py> FromPyObject<'a, 'py> for File {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let table: Py<PyTable> = object.extract().map_err(PyErr::from)?;
        match table.get().contents {
            Contents::Whole(_) => Ok(Self(table)),
            Contents::Parts(_) => Err(PyTypeError::new_err("the table is read in parts")),
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Streamed {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        let (origin, (rows, columns), part_rows) = match object.extract::<Py<PyTable>>() {
            Ok(table) => match &table.get().contents {
                Contents::Parts(parts) => {
                    let facts = ((parts.rows(), parts.columns()), parts.part_rows);
                    (Origin::File(table, own_pool()?), facts.0, facts.1)
                }
                Contents::Whole(_) => return Err(PyTypeError::new_err("the table is not read in parts")),
            },
            Err(_) => {
                let read = object.getattr("read")?.unbind();
                (Origin::Object(read), object.getattr("shape")?.extract()?, object.getattr("part_rows")?.extract()?)
            }
        };
        let (stop, failure) = (OnceLock::new(), Mutex::new(None));
        Ok(Self { origin, rows, columns, part_rows, stop, failure })
    }
}

impl Streamed {
    /// Reading fails once this flag is raised.
    pub fn stop_with(&self, flag: Arc<AtomicBool>) {
        let _ = self.stop.set(flag);
    }

    /// About how many bytes reading takes at a time: three parts, and what becomes of one.
    pub fn bytes(&self) -> usize {
        self.part_rows.min(self.rows).saturating_mul(self.columns).saturating_mul(4 * size_of::<f64>())
    }

    fn fails<T>(&self, error: PyErr) -> std::result::Result<T, Box<dyn std::error::Error + Send + Sync>> {
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        Err("the data could not be read".into())
    }

    /// Scores of all rows, part by part.
    pub fn scores(&self, model: &Model) -> Result<Matrix> {
        let (k, expected) = (model.n_components(), model.n_features());
        if self.columns != expected {
            return Err(Error::Columns { expected, found: self.columns });
        }
        let mut scores = Matrix::zeros(self.rows, k);
        for start in (0..self.rows).step_by(self.part_rows.max(1)) {
            let rows = start..self.rows.min(start + self.part_rows.max(1));
            let unreadable = |_| Error::Stopped;
            let part = match self.read(rows.clone()).map_err(unreadable)? {
                Part::Dense(data) => model.transform(&data, rows.len())?,
                Part::Sparse { offsets, positions, values } => model.transform_sparse(&offsets, &positions, &values)?,
                _ => return Err(Error::Stopped),
            };
            for j in 0..k {
                scores.column_mut(j)[rows.clone()].copy_from_slice(part.column(j));
            }
        }
        Ok(scores)
    }
}

impl Source for Streamed {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn part_rows(&self) -> usize {
        self.part_rows
    }

    fn read(&self, rows: Range<usize>) -> std::result::Result<Part, Box<dyn std::error::Error + Send + Sync>> {
        if self.stop.get().is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return Err("reading was stopped".into());
        }
        let part = match &self.origin {
            Origin::Object(read) => Python::attach(|py| -> PyResult<Part> {
                let table = nested(|| read.call1(py, (rows.start, rows.end)))?;
                let table: Table<'_> = table.extract(py)?;
                table.part()
            }),
            Origin::File(table, pool) => match &table.get().contents {
                Contents::Parts(parts) => pool.install(|| parts.read(rows)).map_err(file_error),
                Contents::Whole(_) => return Err("the table is not read in parts".into()),
            },
        };
        part.or_else(|error| self.fails(error))
    }
}

/// What the core needs of a table, free of Python: it can cross threads while Python goes on.
#[derive(Clone, Copy)]
pub enum TableView<'a> {
    Dense64(Lines<'a, f64>),
    Dense32(Lines<'a, f32>),
    Sparse64(Rows<'a, f64>),
    Sparse32(Rows<'a, f32>),
    Streamed(&'a Streamed),
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
            Self::Streamed(x) => TableView::Streamed(x),
            Self::File(File(table)) => match &table.get().contents {
                Contents::Whole(table) => whole(&table.values),
                Contents::Parts(_) => return Err(PyTypeError::new_err("the table is read in parts")),
            },
        })
    }

    /// What Python said when it failed to read some rows.
    pub fn failure(&self) -> Option<PyErr> {
        match self {
            Self::Streamed(x) => x.failure.lock().unwrap_or_else(PoisonError::into_inner).take(),
            _ => None,
        }
    }

    /// A copy, as a part of a larger table.
    fn part(&self) -> PyResult<Part> {
        let values = match self.values()? {
            TableView::Dense64(x) => x.owned(),
            TableView::Dense32(x) => x.owned(),
            TableView::Sparse64(x) => x.owned(),
            TableView::Sparse32(x) => x.owned(),
            TableView::Streamed(_) => return Err(PyTypeError::new_err("a part that is read in parts")),
        };
        Ok(match values {
            Values::Dense(x) => Part::Dense(x.data),
            Values::Sparse(x) => Part::Sparse { offsets: x.offsets, positions: x.indices, values: x.values },
        })
    }
}

/// A table of ewca-io, where it is.
fn whole(values: &Values) -> TableView<'_> {
    match values {
        Values::Dense(DenseValues { rows, columns, data }) => {
            TableView::Dense64(Lines { data, rows: *rows, columns: *columns, row_stride: *columns, column_stride: 1 })
        }
        Values::Sparse(SparseValues { columns, offsets, indices, values }) => {
            TableView::Sparse64(Rows { offsets, positions: indices, values, columns: *columns })
        }
    }
}

impl<T: Copy + Into<f64>> Lines<'_, T> {
    /// A copy, row after row.
    pub fn owned(self) -> Values {
        let Lines { data, rows, columns, row_stride, column_stride } = self;
        let row = |i: usize| (0..columns).map(move |j| data[i * row_stride + j * column_stride].into());
        Values::Dense(DenseValues { rows, columns, data: (0..rows).flat_map(row).collect() })
    }
}

impl<T: Copy + Into<f64>> Rows<'_, T> {
    /// A copy.
    pub fn owned(self) -> Values {
        Values::Sparse(SparseValues {
            columns: self.columns,
            offsets: self.offsets.to_vec(),
            indices: self.positions.to_vec(),
            values: self.values.iter().map(|&x| x.into()).collect(),
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
            $crate::data::TableView::Streamed(x) => {
                let $samples = weighted(ewca::Samples::<f64>::streamed(x)?, $weights)?;
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
