//! Parquet files of which some rows are read at a time.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use arrow_array::{RecordBatch, new_empty_array};
use arrow_schema::ArrowError;
use parquet::arrow::arrow_reader::{
    ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder,
};

use crate::finish::Draft;
use crate::limit::Limit;
use crate::parts::Parts;
use crate::source::contained;
use crate::{Error, ReadOptions};

use super::{array, assigned, batch_size, check_cells, pages, read, row_starts};

/// The usual size of a page.
const PAGE: usize = 1 << 20;

/// A Parquet file: its footer, and where its row groups start.
#[derive(Debug)]
pub(crate) struct ParquetParts {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// The first row of each row group, and the end of the last one.
    starts: Vec<usize>,
    limit: Limit,
    /// Where the last part ended: the next one usually begins there, and its pages are decoded already.
    ongoing: Mutex<Option<Ongoing>>,
}

/// A file that is read from some row on.
struct Ongoing {
    next: usize,
    batches: ParquetRecordBatchReader,
    /// What the last part left of its last batch.
    rest: Option<RecordBatch>,
}

impl std::fmt::Debug for Ongoing {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.debug_struct("Ongoing").field("next", &self.next).finish_non_exhaustive()
    }
}

impl Ongoing {
    /// Batches with just so many rows.
    fn batches(&mut self, mut rows: usize) -> impl Iterator<Item = Result<RecordBatch, ArrowError>> {
        std::iter::from_fn(move || {
            if rows == 0 {
                return None;
            }
            let batch = match self.rest.take().map_or_else(|| self.batches.next(), |rest| Some(Ok(rest)))? {
                Ok(batch) => batch,
                Err(error) => return Some(Err(error)),
            };
            let count = batch.num_rows().min(rows);
            self.rest = (count < batch.num_rows()).then(|| batch.slice(count, batch.num_rows() - count));
            (rows, self.next) = (rows - count, self.next + count);
            Some(Ok(batch.slice(0, count)))
        })
    }
}

impl ParquetParts {
    pub fn open(path: &Path, length: u64, file: &str, options: &ReadOptions) -> Result<ParquetParts, Error> {
        let parts = contained(file, "parquet", || ParquetParts::footer(path, length, file, options))??;
        if !parts.has_only_numbers(file, options)? {
            // Reading a row tells what is there instead.
            parts.draft(0..1.min(parts.rows()), file, options)?;
        }
        Ok(parts)
    }

    fn footer(path: &Path, length: u64, file: &str, options: &ReadOptions) -> Result<ParquetParts, Error> {
        let problem = |error: &dyn std::fmt::Display| Error::malformed(file, "parquet", error);
        let opened = File::open(path).map_err(|source| Error::Read { file: file.into(), source })?;
        let metadata =
            ArrowReaderMetadata::load(&opened, ArrowReaderOptions::new()).map_err(|error| problem(&error))?;
        let starts = row_starts(metadata.metadata(), length).map_err(|claim| problem(&claim))?;
        let parts = ParquetParts {
            path: path.into(),
            metadata,
            starts,
            limit: Limit::of_claims(length, options),
            ongoing: Mutex::new(None),
        };
        check_cells(parts.rows(), parts.width(), parts.limit, file)?;
        // A page is held whole.
        let most = Limit::of_compressed(length, options).bytes;
        pages::check(&opened, parts.metadata.metadata(), most).map_err(|claim| problem(&claim))?;
        Ok(parts)
    }

    /// The number of columns, of whatever type.
    fn width(&self) -> usize {
        self.metadata.schema().fields().len()
    }

    /// Whether every column that should be numbers has a type of numbers.
    fn has_only_numbers(&self, file: &str, options: &ReadOptions) -> Result<bool, Error> {
        let (_, columns) = assigned(self.metadata.schema(), file, options)?;
        let fields = self.metadata.schema().fields().iter().enumerate();
        let mut numeric = fields.filter(|&(column, _)| !columns.is_text(column));
        contained(file, "parquet", || {
            numeric.all(|(_, field)| array::numbers(&new_empty_array(field.data_type())).is_some())
        })
    }

    /// Decodes the row groups that have some of the rows, batch by batch.
    fn decode(&self, rows: Range<usize>, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
        let problem = |error: &dyn std::fmt::Display| Error::malformed(file, "parquet", error);
        let schema = self.metadata.schema().clone();
        if rows.is_empty() {
            return read(schema, std::iter::empty(), "parquet", file, options, self.limit);
        }
        let kept = || self.ongoing.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = kept().take().filter(|ongoing| ongoing.next == rows.start);
        let mut ongoing = match taken {
            Some(ongoing) => ongoing,
            None => self.begin_at(rows.start, batch_size(&schema).min(rows.len()), file)?,
        };
        let draft = read(schema, ongoing.batches(rows.len()), "parquet", file, options, self.limit)?;
        if draft.values.rows() != rows.len() {
            return Err(problem(&"its row groups have fewer rows than they claim"));
        }
        if rows.end < self.rows() {
            *kept() = Some(ongoing);
        }
        Ok(draft)
    }

    /// The file from a row on.
    fn begin_at(&self, row: usize, batch_rows: usize, file: &str) -> Result<Ongoing, Error> {
        let opened = File::open(&self.path).map_err(|source| Error::Read { file: file.into(), source })?;
        let first = self.starts.partition_point(|&start| start <= row) - 1;
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(opened, self.metadata.clone())
            .with_row_groups((first..self.starts.len() - 1).collect())
            .with_offset(row - self.starts[first])
            .with_batch_size(batch_rows)
            .build()
            .map_err(|error| Error::malformed(file, "parquet", error))?;
        Ok(Ongoing { next: row, batches, rest: None })
    }
}

impl Parts for ParquetParts {
    fn rows(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    fn bytes(&self) -> usize {
        self.rows().saturating_mul(self.width()).saturating_mul(8)
    }

    /// A page of every column, packed and unpacked; of a small row group that is all of it.
    fn open_bytes(&self) -> usize {
        let groups = self.metadata.metadata().row_groups().iter();
        let largest = groups.map(|group| usize::try_from(group.total_byte_size()).unwrap_or(usize::MAX)).max();
        largest.unwrap_or(0).min(self.width().saturating_mul(PAGE)).saturating_mul(2)
    }

    fn draft(&self, rows: Range<usize>, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
        contained(file, "parquet", || self.decode(rows, file, options))?
    }
}
