//! Tables of which some rows are read at a time: files larger than the memory, and files of which each process of a
//! cluster reads its own rows.
//!
//! Each format has a type that implements [`Parts`]; the [`TableReader`] makes tables of what these give.

use std::fmt::Debug;
use std::fs::{self, File};
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::error::{file_name, phrase};
use crate::finish::{Draft, check_names, check_not_empty, finish_part};
use crate::read::HEAD;
use crate::source::{Kind, check_length, is_gzip, is_zstd, kind_of};
use crate::{Error, Format, Missing, OptionName, ReadOptions, Table, Values, arrow, h5ad, npy};

/// What a caller may do with a file that is not read in parts.
const ADVICE: &str = "convert it to .npy, Parquet or .h5ad";

/// A file that gives some of its rows at a time, to many threads at once.
pub(crate) trait Parts: Debug + Send + Sync {
    /// The number of rows.
    fn rows(&self) -> usize;

    /// About how many bytes all of its rows would take.
    fn bytes(&self) -> usize;

    /// How many rows can only be read together, if it is more than one.
    fn rows_together(&self) -> usize {
        1
    }

    /// About how many bytes are held while the file is open, beside the rows that are read.
    fn open_bytes(&self) -> usize {
        0
    }

    /// What the file says of these rows, which it has. Of no rows too: the names and their roles.
    fn draft(&self, rows: Range<usize>, file: &str, options: &ReadOptions) -> Result<Draft, Error>;
}

/// A table on disk that is read some rows at a time, so that it may be larger than the memory.
///
/// ```
/// use ewca_io::{ReadOptions, TableReader, write_matrix_npy};
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("table.npy");
/// write_matrix_npy(&path, 5, 2, &[0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0])?;
///
/// let reader = TableReader::open(&path, &ReadOptions::default())?;
/// assert_eq!((reader.rows(), reader.features()), (5, &["column1".to_string(), "column2".to_string()][..]));
/// assert_eq!(reader.read(3..5)?.values.stored(), [6.0, 7.0, 8.0, 9.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct TableReader {
    path: PathBuf,
    /// The path as messages show it.
    file: String,
    options: ReadOptions,
    parts: Box<dyn Parts>,
    features: Vec<String>,
    is_sparse: bool,
    stamp: Stamp,
}

impl TableReader {
    /// Looks at the file without reading its values: a `.npy` array in C order, a Parquet file, or an `.h5ad` file whose
    /// matrix is dense or in compressed sparse rows. Names of samples, labels and row offsets of an `.h5ad` file are read
    /// now, and kept.
    ///
    /// Other formats and layouts are refused, and so are options that need the whole table: `transpose`, `filter`, and
    /// `missing` other than [`Missing::Error`].
    pub fn open(path: &Path, options: &ReadOptions) -> Result<TableReader, Error> {
        let file = file_name(path);
        check_options(options)?;
        let format = format_in_parts(path, &file, options)?;
        let stamp = Stamp::of(path, &file)?;
        let parts: Box<dyn Parts> = match format {
            PartFormat::Npy => {
                check_length(stamp.length, &file, options)?;
                Box::new(npy::ArrayParts::open(path, &file)?)
            }
            PartFormat::Parquet => {
                check_length(stamp.length, &file, options)?;
                Box::new(arrow::ParquetParts::open(path, stamp.length, &file, options)?)
            }
            PartFormat::H5ad => Box::new(h5ad::AnnDataParts::open(path, &file, options)?),
        };
        // A part without rows tells what the columns are.
        let table = finish_part(parts.draft(0..0, &file, options)?, &file, options)?;
        check_not_empty(parts.rows(), table.columns(), &file)?;
        check_names(&table.features, &file)?;
        let is_sparse = matches!(table.values, Values::Sparse(_));
        let options = options.clone();
        Ok(TableReader { path: path.into(), file, options, parts, features: table.features, is_sparse, stamp })
    }

    /// The number of samples in the whole table.
    pub fn rows(&self) -> usize {
        self.parts.rows()
    }

    /// The number of features; columns with another role are not among them.
    pub fn columns(&self) -> usize {
        self.features.len()
    }

    /// The names of the features.
    pub fn features(&self) -> &[String] {
        &self.features
    }

    /// Whether only the cells that the file lists are stored.
    pub fn is_sparse(&self) -> bool {
        self.is_sparse
    }

    /// The given rows, as [`read_table`](crate::read_table) of the whole file would give them. Messages count rows from
    /// the start of the file. A range without rows gives a table without rows.
    pub fn read(&self, rows: Range<usize>) -> Result<Table, Error> {
        if rows.start > rows.end || rows.end > self.rows() {
            return Err(Error::Options {
                problem: format!(
                    "rows {} to {} (counted from 0) were requested, but there are {}",
                    rows.start,
                    rows.end,
                    self.rows()
                )
                .into(),
                advice: "request rows within the table".into(),
            });
        }
        if Stamp::of(&self.path, &self.file)? != self.stamp {
            let what = "has changed since its first part was read";
            return Err(Error::unsupported(&self.file, what, "wait until it is complete, and read it again"));
        }
        let first = rows.start;
        let draft = self.parts.draft(rows, &self.file, &self.options);
        let part = draft.and_then(|draft| finish_part(draft, &self.file, &self.options));
        part.map_err(|error| error.after_rows(first))
    }

    /// About how many bytes are held between two parts, beside the names.
    pub fn open_bytes(&self) -> usize {
        self.parts.open_bytes()
    }

    /// How many rows make a part of about this many bytes, at least 1: what to ask for at a time. Of a file whose rows
    /// are stored in groups, whole groups, so that none is decoded twice by who reads from the start.
    pub fn rows_in(&self, bytes: usize) -> usize {
        let (all, together) = (self.rows() as u128, self.parts.rows_together().max(1));
        let rows = bytes as u128 * all / self.parts.bytes().max(1) as u128;
        let rows = usize::try_from(rows.min(all)).unwrap_or(usize::MAX).max(1);
        if rows > together { rows - rows % together } else { rows }
    }
}

/// Whether [`TableReader::open`] can read this file in parts, as its format, its layout and the options tell. A damaged
/// file may still be refused when it is opened.
pub fn readable_in_parts(path: &Path, options: &ReadOptions) -> bool {
    let file = file_name(path);
    let format = check_options(options).and_then(|()| format_in_parts(path, &file, options));
    match format {
        Ok(PartFormat::Npy) => npy::ArrayParts::open(path, &file).is_ok(),
        Ok(PartFormat::Parquet) => true,
        Ok(PartFormat::H5ad) => h5ad::AnnDataParts::has_rows_apart(path, &file, options),
        Err(_) => false,
    }
}

/// A format that is read in parts.
enum PartFormat {
    Npy,
    Parquet,
    H5ad,
}

/// The format of the file at `path`, if it is one of those.
fn format_in_parts(path: &Path, file: &str, options: &ReadOptions) -> Result<PartFormat, Error> {
    let refused = |what: &str| Error::unsupported(file, format!("is {what} and cannot be read in parts"), ADVICE);
    let failed = |source| Error::Read { file: file.into(), source };
    match kind_of(path, file)? {
        Kind::Folder => return Err(refused("a folder")),
        Kind::Stream => return Err(refused("a pipe")),
        Kind::Regular(_) => {}
    }
    let mut head = Vec::new();
    File::open(path).map_err(failed)?.take(HEAD as u64).read_to_end(&mut head).map_err(failed)?;
    if head.is_empty() {
        return Err(Error::Empty { file: file.into() });
    }
    if is_gzip(&head) || is_zstd(&head) {
        return Err(Error::unsupported(
            file,
            "is compressed as a whole and cannot be read in parts",
            "decompress it first, or save it as Parquet or .h5ad",
        ));
    }
    match Format::detect(&head, file, options)? {
        Format::Npy => Ok(PartFormat::Npy),
        Format::Parquet => Ok(PartFormat::Parquet),
        Format::H5ad => Ok(PartFormat::H5ad),
        other => Err(refused(&format!("in the format {}", other.name()))),
    }
}

/// Refuses options that need the whole table.
fn check_options(options: &ReadOptions) -> Result<(), Error> {
    let refused = |option: OptionName, advice: &'static str| {
        let problem = phrase![option, " does not work with a table that is read in parts"];
        Err(Error::Options { problem, advice: advice.into() })
    };
    if options.transpose {
        return refused(OptionName::Transpose, "save the table with samples in rows, or load the whole table");
    }
    if options.filter.is_some() {
        return refused(OptionName::Filter, "save the rows you need to a separate file, or load the whole table");
    }
    if options.missing != Missing::Error {
        return refused(OptionName::Missing, "fill in the missing values in the file, or load the whole table");
    }
    Ok(())
}

/// What shows that a file is not the one that was opened.
#[derive(Debug, PartialEq)]
struct Stamp {
    length: u64,
    modified: Option<SystemTime>,
}

impl Stamp {
    fn of(path: &Path, file: &str) -> Result<Stamp, Error> {
        let about = fs::metadata(path).map_err(|source| Error::Read { file: file.into(), source })?;
        Ok(Stamp { length: about.len(), modified: about.modified().ok() })
    }
}
