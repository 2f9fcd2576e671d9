//! From an AnnData file to a table.

use std::io::Write;
use std::path::Path;

use rust_hdf5::{DatatypeMessage, H5Dataset, H5File, H5Group, Hdf5Error, ReadNumeric};

use crate::anndata::{AnnData, check_turned, number_text};
use crate::error::OptionName::Transpose;
use crate::error::{one_line, phrase, truth_name};
use crate::finish::Draft;
use crate::forecast::TableShape;
use crate::limit::Limit;
use crate::memory::check_room;
use crate::source::contained;
use crate::sparse::natural_numbers;
use crate::{Error, ReadOptions, TextCells};

use super::cells::Kind;
use super::guard;

/// Reads `X`, or the layer that the options name.
pub(crate) fn read(path: &Path, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    contained(file, "h5ad", || decode(path, file, options))?
}

fn decode(path: &Path, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    check_turned(options)?;
    let h5ad = H5ad::open(path, file, options)?;
    match h5ad.kind(options)? {
        Kind::AnnData => h5ad.draft(options),
        _ if options.transpose => {
            let problem = "in a 10x or loom file, cells are always the samples".into();
            Err(Error::Options { problem, advice: phrase!["remove ", Transpose] })
        }
        Kind::TenX(matrix) => h5ad.tenx(&matrix, options),
        Kind::Loom => h5ad.loom(options),
    }
}

/// Reads a file that is in memory: HDF5 needs to jump about, so it goes to a temporary file first.
pub(crate) fn read_bytes(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    in_a_file(bytes, file, |path| read(path, file, options))
}

/// Puts the bytes of a file into a temporary one for a while.
pub(crate) fn in_a_file<T>(
    bytes: &[u8],
    file: &str,
    use_it: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = |source| Error::Read { file: file.into(), source };
    let mut temporary = tempfile::NamedTempFile::new().map_err(failed)?;
    temporary.write_all(bytes).map_err(failed)?;
    use_it(temporary.path())
}

/// The shape of the matrix that is asked for, as its datasets say it.
pub(crate) fn shape(path: &Path, file: &str, options: &ReadOptions) -> Option<TableShape> {
    let promised = contained(file, "h5ad", || {
        let h5ad = H5ad::open(path, file, options).ok()?;
        let kind = h5ad.kind(options).ok()?;
        if kind == Kind::AnnData { h5ad.table_shape(options) } else { h5ad.other_shape(&kind, options) }
    });
    promised.ok()?
}

/// The matrices of a file, and the columns of obs with their texts; without, where they cannot be read.
pub(crate) fn describe(path: &Path, file: &str, options: &ReadOptions) -> Result<(Vec<String>, Vec<TextCells>), Error> {
    contained(file, "h5ad", || {
        let h5ad = H5ad::open(path, file, options)?;
        if h5ad.kind(options)? != Kind::AnnData {
            return Ok((Vec::new(), Vec::new()));
        }
        h5ad.described()
    })?
}

pub(super) struct H5ad<'a> {
    pub file: H5File,
    pub root: H5Group,
    pub name: &'a str,
    /// The most bytes that a dataset may take.
    limit: Limit,
    /// How many rows each sparse matrix of MATLAB has.
    pub sparse_rows: guard::SparseRows,
}

impl<'a> H5ad<'a> {
    pub fn open(path: &Path, name: &'a str, options: &ReadOptions) -> Result<H5ad<'a>, Error> {
        let length = std::fs::metadata(path).map_err(|source| Error::Read { file: name.into(), source })?.len();
        let sparse_rows = guard::check(path, name)?;
        let file = H5File::options().best_effort_locking().open(path);
        let file = file.map_err(|error| Error::malformed(name, "h5ad", error))?;
        Ok(H5ad { root: file.root_group(), file, name, limit: Limit::of_claims(length, options), sparse_rows })
    }

    fn group(&self, path: &str) -> rust_hdf5::Result<H5Group> {
        if path.is_empty() { Ok(self.file.root_group()) } else { self.root.group(path) }
    }

    pub fn because(&self, path: &str) -> impl Fn(Hdf5Error) -> Error {
        let (name, path) = (self.name.to_string(), path.to_string());
        move |error| {
            let error = error.to_string();
            // An unknown filter is one of several layers' errors; all of them say this.
            if error.contains("unsupported feature") {
                let what = format!("{path} is stored in a way that ewca cannot read ({})", one_line(&error));
                return Error::unsupported(
                    &name,
                    what,
                    "save the file again with gzip compression, or without compression",
                );
            }
            Error::malformed(&name, "h5ad", format!("{path}: {error}"))
        }
    }

    /// A matrix with every cell stored, and its rows and columns.
    pub fn dense(&self, path: &str) -> Result<(H5Dataset, [usize; 2]), Error> {
        let dataset = self.dataset(path)?;
        let shape = self.rows_and_columns(&dataset.shape(), path)?;
        Ok((dataset, shape))
    }

    pub fn dataset(&self, path: &str) -> Result<H5Dataset, Error> {
        let dataset = self.file.dataset(path).map_err(self.because(path))?;
        if bytes_of(&dataset, &dataset.shape()) > self.limit.bytes {
            return Err(self.limit.exceeded(self.name));
        }
        Ok(dataset)
    }

    /// Refuses to read what memory cannot hold: so many elements of a dataset, and its chunks, which are held whole and may be
    /// larger than what they are a part of.
    pub fn check_room(&self, dataset: &H5Dataset, counts: &[usize]) -> Result<(), Error> {
        let chunk = dataset.chunk_dims().map_or(0, |chunk| bytes_of(dataset, &chunk));
        if chunk > self.limit.bytes {
            return Err(self.limit.exceeded(self.name));
        }
        check_room(bytes_of(dataset, counts).max(chunk), self.name)
    }

    pub fn numbers(&self, dataset: &H5Dataset, path: &str) -> Result<Vec<f64>, Error> {
        self.check_room(dataset, &dataset.shape())?;
        numbers(dataset, None).map_err(self.because(path))
    }

    /// The numbers of a part of a dataset.
    pub fn some_numbers(&self, dataset: &H5Dataset, part: &Part, path: &str) -> Result<Vec<f64>, Error> {
        if part.counts.contains(&0) {
            return Ok(Vec::new());
        }
        self.check_room(dataset, part.counts)?;
        numbers(dataset, Some(part)).map_err(self.because(path))
    }

    /// The integers of a part of a dataset.
    pub fn some_integers(&self, dataset: &H5Dataset, part: &Part, path: &str) -> Result<Vec<i64>, Error> {
        if part.counts.contains(&0) {
            return Ok(Vec::new());
        }
        self.check_room(dataset, part.counts)?;
        numeric(dataset, Some(part)).map_err(self.because(path))
    }

    pub fn integers(&self, path: &str) -> Result<Vec<i64>, Error> {
        let dataset = self.dataset(path)?;
        self.check_room(&dataset, &dataset.shape())?;
        dataset.read_numeric_as::<i64>().map_err(self.because(path))
    }

    pub fn plain_texts(&self, dataset: &H5Dataset, path: &str) -> Result<Vec<String>, Error> {
        self.check_room(dataset, &dataset.shape())?;
        match numbers(dataset, None) {
            Ok(numbers) if is_truth(dataset) => Ok(numbers.iter().map(|&number| truth_name(number != 0.0)).collect()),
            Ok(numbers) => Ok(numbers.into_iter().map(number_text).collect()),
            Err(_) => {
                dataset.read_strings().or_else(|error| fixed_texts(dataset).ok_or(error)).map_err(self.because(path))
            }
        }
    }
}

impl AnnData for H5ad<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn format(&self) -> &'static str {
        "h5ad"
    }

    fn check_claim(&self, path: &str) -> Result<(), Error> {
        self.dataset(path).map(|_| ())
    }

    fn members(&self, group: &str) -> Result<Vec<String>, Error> {
        self.group(group).and_then(|found| found.link_names()).map_err(self.because(group))
    }

    fn is_group(&self, path: &str) -> bool {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.group(parent).is_ok_and(|parent| has(&parent.group_names(), name))
    }

    fn is_array(&self, path: &str) -> bool {
        let (parent, name) = path.rsplit_once('/').unwrap_or(("", path));
        self.group(parent).is_ok_and(|parent| has(&parent.dataset_names(), name))
    }

    fn text_attribute(&self, group: &str, name: &str) -> Option<String> {
        self.group(group).ok()?.attr_string(name).ok()
    }

    fn sizes(&self, array: &str) -> Result<Vec<usize>, Error> {
        Ok(self.file.dataset(array).map_err(self.because(array))?.shape())
    }

    fn all_numbers(&self, array: &str) -> Result<Vec<f64>, Error> {
        self.numbers(&self.dataset(array)?, array)
    }

    fn naturals(&self, array: &str, what: &str) -> Result<Vec<u64>, Error> {
        natural_numbers(self.integers(array)?, what).map_err(|problem| self.malformed(format!("{array}: {problem}")))
    }

    fn all_texts(&self, array: &str) -> Result<Vec<String>, Error> {
        self.plain_texts(&self.dataset(array)?, array)
    }

    fn holds_numbers(&self, array: &str) -> bool {
        let is_number =
            |kind| matches!(kind, DatatypeMessage::FixedPoint { .. } | DatatypeMessage::FloatingPoint { .. });
        self.file.dataset(array).and_then(|dataset| dataset.datatype()).is_ok_and(is_number)
    }

    fn record_names(&self, frame: &str) -> Option<Vec<String>> {
        self.names_of_fields(frame)
    }

    fn record_texts(&self, frame: &str, name: Option<&str>) -> Option<Result<Vec<String>, Error>> {
        self.texts_of_field(frame, name)
    }

    fn is_measured_field(&self, frame: &str, name: &str) -> Option<bool> {
        self.field_is_measured(frame, name)
    }
}

/// Texts of one length. Some programs say that they are ASCII, and write others.
fn fixed_texts(dataset: &H5Dataset) -> Option<Vec<String>> {
    let DatatypeMessage::FixedString { size, .. } = dataset.datatype().ok()? else { return None };
    let bytes = dataset.read_raw_bytes().ok()?;
    let text = |cell: &[u8]| {
        let end = memchr::memchr(0, cell).unwrap_or(cell.len());
        String::from_utf8_lossy(&cell[..end]).into_owned()
    };
    Some(bytes.chunks_exact((size as usize).max(1)).map(text).collect())
}

/// The bytes of so many elements along each dimension, as numbers of 8 bytes at least.
fn bytes_of(dataset: &H5Dataset, counts: &[usize]) -> u64 {
    let element = dataset.element_size().max(8) as u64;
    counts.iter().fold(element, |bytes, &count| bytes.saturating_mul(count as u64))
}

/// A part of a dataset: where it starts and how long it is, in each dimension.
pub(super) struct Part<'a> {
    pub starts: &'a [usize],
    pub counts: &'a [usize],
}

/// Numbers of any type, all of them or a part; truth values, which HDF5 keeps as an enumeration, are 0 and 1.
fn numbers(dataset: &H5Dataset, part: Option<&Part>) -> rust_hdf5::Result<Vec<f64>> {
    if is_truth(dataset) {
        let bytes = match part {
            None => dataset.read_raw_bytes()?,
            Some(part) => dataset.read_slice(part.starts, part.counts)?,
        };
        return Ok(bytes.into_iter().map(f64::from).collect());
    }
    if let Ok(numbers) = numeric::<f64>(dataset, part) {
        return Ok(numbers);
    }
    if let Ok(integers) = numeric::<i64>(dataset, part) {
        return Ok(integers.into_iter().map(|integer| integer as f64).collect());
    }
    let integers = numeric::<u64>(dataset, part)?;
    Ok(integers.into_iter().map(|integer| integer as f64).collect())
}

fn numeric<T: ReadNumeric>(dataset: &H5Dataset, part: Option<&Part>) -> rust_hdf5::Result<Vec<T>> {
    match part {
        None => dataset.read_numeric_as(),
        Some(part) => dataset.read_numeric_slice_as(part.starts, part.counts),
    }
}

fn is_truth(dataset: &H5Dataset) -> bool {
    dataset.element_size() == 1 && matches!(dataset.datatype(), Ok(DatatypeMessage::Enum { .. }))
}

pub(super) fn has(names: &rust_hdf5::Result<Vec<String>>, name: &str) -> bool {
    names.as_ref().is_ok_and(|names| names.iter().any(|known| known == name))
}
