//! Parquet files of which some rows are read at a time.

use std::fs::File;
use std::ops::Range;
use std::path::{Path, PathBuf};

use arrow_array::new_empty_array;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, ArrowReaderOptions, ParquetRecordBatchReaderBuilder};

use crate::finish::Draft;
use crate::parts::Parts;
use crate::source::{contained, growth_limit};
use crate::{Error, ReadOptions};

use super::{array, assigned, batch_size, check_cells, read, row_starts};

/// A Parquet file: its footer, and where its row groups start.
#[derive(Debug)]
pub(crate) struct ParquetParts {
    path: PathBuf,
    metadata: ArrowReaderMetadata,
    /// The first row of each row group, and the end of the last one.
    starts: Vec<usize>,
    limit: u64,
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
        let parts = ParquetParts { path: path.into(), metadata, starts, limit: growth_limit(length, options) };
        check_cells(parts.rows(), parts.width(), parts.limit, file)?;
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
        let opened = File::open(&self.path).map_err(|source| Error::Read { file: file.into(), source })?;
        let first = self.starts.partition_point(|&start| start <= rows.start) - 1;
        let end = self.starts.partition_point(|&start| start < rows.end);
        let batches = ParquetRecordBatchReaderBuilder::new_with_metadata(opened, self.metadata.clone())
            .with_row_groups((first..end).collect())
            .with_offset(rows.start - self.starts[first])
            .with_limit(rows.len())
            .with_batch_size(batch_size(&schema).min(rows.len()))
            .build()
            .map_err(|error| problem(&error))?;
        let draft = read(schema, batches, "parquet", file, options, self.limit)?;
        if draft.values.rows() != rows.len() {
            return Err(problem(&"its row groups have fewer rows than they claim"));
        }
        Ok(draft)
    }
}

impl Parts for ParquetParts {
    fn rows(&self) -> usize {
        self.starts[self.starts.len() - 1]
    }

    fn bytes(&self) -> usize {
        self.rows().saturating_mul(self.width()).saturating_mul(8)
    }

    fn draft(&self, rows: Range<usize>, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
        contained(file, "parquet", || self.decode(rows, file, options))?
    }
}
