//! Tables in files, by the program's own readers: whole, or some rows at a time.

use std::ops::Range;
use std::path::PathBuf;

use ewca::Part;
use ewca_io::{Missing, ReadOptions, Table, TableReader, Values, available_memory, readable_in_parts};
use pyo3::exceptions::{PyIndexError, PyValueError};
use pyo3::prelude::*;

use crate::error::file_error;
use crate::run::detached;
use crate::steps::to_python;

/// A table in a file.
#[pyclass(frozen, name = "Table", module = "ewca._ewca")]
pub struct PyTable {
    pub contents: Contents,
}

/// What is held of it.
pub enum Contents {
    Whole(Table),
    Parts(FileParts),
}

/// A table on disk, and how many rows of it are read at a time.
#[derive(Debug)]
pub struct FileParts {
    reader: TableReader,
    pub part_rows: usize,
}

/// How to read a file: the keys of the dictionary that Python passes.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    label: Option<String>,
    id: Option<String>,
    ignore: Vec<String>,
    array: Option<String>,
    transpose: bool,
    missing: String,
}

impl Options {
    fn read_options(self) -> PyResult<ReadOptions> {
        let missing = match self.missing.as_str() {
            "error" => Missing::Error,
            "drop-rows" => Missing::DropRows,
            "drop-columns" => Missing::DropColumns,
            "mean" => Missing::Mean,
            other => {
                let choices = "choose 'error', 'drop-rows', 'drop-columns' or 'mean'";
                return Err(PyValueError::new_err(format!("missing is '{other}': {choices}")));
            }
        };
        let Self { label, id, ignore, array, transpose, .. } = self;
        Ok(ReadOptions { label, id, ignore, array, transpose, missing, ..ReadOptions::default() })
    }
}

impl FileParts {
    fn open(path: &std::path::Path, options: &ReadOptions, part_bytes: usize) -> Result<Self, ewca_io::Error> {
        let reader = TableReader::open(path, options)?;
        let part_rows = reader.rows_in(part_bytes);
        Ok(Self { reader, part_rows })
    }

    pub fn rows(&self) -> usize {
        self.reader.rows()
    }

    pub fn columns(&self) -> usize {
        self.reader.columns()
    }

    /// About how many bytes it would take whole.
    fn bytes(&self, part_bytes: usize) -> usize {
        part_bytes.saturating_mul(self.rows()) / self.part_rows.max(1)
    }

    pub fn read(&self, rows: Range<usize>) -> Result<Part, ewca_io::Error> {
        Ok(match self.reader.read(rows)?.values {
            Values::Dense(dense) => Part::Dense(dense.data),
            Values::Sparse(x) => Part::Sparse { offsets: x.offsets, positions: x.indices, values: x.values },
        })
    }

    /// Walks over the file for the names of the samples, or for their classes.
    fn names(&self, of: impl Fn(Table) -> Option<Vec<String>>) -> Result<Option<Vec<String>>, ewca_io::Error> {
        let mut all = Vec::new();
        for start in (0..self.rows()).step_by(self.part_rows.max(1)) {
            let part = self.reader.read(start..(start + self.part_rows).min(self.rows()))?;
            let Some(some) = of(part) else { return Ok(None) };
            all.extend(some);
        }
        Ok(Some(all))
    }
}

#[pymethods]
impl PyTable {
    /// Reads a file whole, or opens it to be read in parts of about `part_bytes`: where `in_parts` says nothing, if it would take more
    /// than half of the memory that is free.
    #[staticmethod]
    #[pyo3(signature = (path, options, in_parts, part_bytes))]
    fn open(
        py: Python<'_>,
        path: PathBuf,
        options: Options,
        in_parts: Option<bool>,
        part_bytes: usize,
    ) -> PyResult<Self> {
        let options = options.read_options()?;
        let read = || {
            if in_parts == Some(true) || (in_parts.is_none() && readable_in_parts(&path, &options)) {
                let parts = FileParts::open(&path, &options, part_bytes)?;
                let room =
                    available_memory().map_or(usize::MAX, |free| usize::try_from(free).unwrap_or(usize::MAX) / 2);
                if in_parts == Some(true) || parts.bytes(part_bytes) > room {
                    return Ok(Contents::Parts(parts));
                }
            }
            ewca_io::read_table(&path, &options).map(Contents::Whole)
        };
        let contents = detached(py, None, read)?.map_err(file_error)?;
        Ok(Self { contents })
    }

    #[getter]
    fn shape(&self) -> (usize, usize) {
        match &self.contents {
            Contents::Whole(table) => (table.rows(), table.columns()),
            Contents::Parts(parts) => (parts.rows(), parts.columns()),
        }
    }

    #[getter]
    fn in_parts(&self) -> bool {
        matches!(self.contents, Contents::Parts(_))
    }

    #[getter]
    fn features(&self) -> Vec<String> {
        match &self.contents {
            Contents::Whole(table) => table.features.clone(),
            Contents::Parts(parts) => parts.reader.features().to_vec(),
        }
    }

    /// How many parts it is read in; 1 where it is in memory.
    #[getter]
    fn n_parts(&self) -> usize {
        match &self.contents {
            Contents::Whole(_) => 1,
            Contents::Parts(parts) => parts.rows().div_ceil(parts.part_rows.max(1)),
        }
    }

    /// The rows of one of the parts, as `ewca._input.as_table` gives them.
    fn part<'py>(&self, py: Python<'py>, at: usize) -> PyResult<Bound<'py, PyAny>> {
        if at >= self.n_parts() {
            return Err(PyIndexError::new_err(format!("part {at} of {}", self.n_parts())));
        }
        let values = match &self.contents {
            Contents::Whole(table) => table.values.clone(),
            Contents::Parts(parts) => {
                let start = at * parts.part_rows.max(1);
                let rows = start..(start + parts.part_rows.max(1)).min(parts.rows());
                detached(py, None, || parts.reader.read(rows))?.map_err(file_error)?.values
            }
        };
        to_python(py, values)
    }

    #[getter]
    fn ids(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        match &self.contents {
            Contents::Whole(table) => Ok(table.ids.clone()),
            Contents::Parts(parts) => detached(py, None, || parts.names(|part| part.ids))?.map_err(file_error),
        }
    }

    #[getter]
    fn labels(&self, py: Python<'_>) -> PyResult<Option<Vec<String>>> {
        match &self.contents {
            Contents::Whole(table) => Ok(table.labels.clone()),
            Contents::Parts(parts) => detached(py, None, || parts.names(|part| part.labels))?.map_err(file_error),
        }
    }
}
