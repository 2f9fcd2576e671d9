//! Parquet and Arrow IPC (Feather): batches of named, typed columns.
//!
//! Columns of numbers become the values; the columns that the options name become labels, ids and so
//! on. A missing value is NaN until it is settled. The row index that pandas writes under the name
//! `__index_level_0__` holds the ids.

mod array;
mod guard;
mod pages;
mod parts;

use std::fs::File;
use std::io::Cursor;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::{RecordBatch, new_empty_array};
use arrow_ipc::reader::{FileReader, StreamReader};
use arrow_schema::{ArrowError, DataType, SchemaRef};
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

use crate::columns::Columns;
use crate::error::{excerpt, phrase};
use crate::finish::Draft;
use crate::forecast::TableShape;
use crate::limit::Limit;
use crate::memory::make_room;
use crate::source::contained;
use crate::{DenseValues, Error, Format, OptionName, Place, ReadOptions, TextCells, Values};

pub(crate) use parts::ParquetParts;

/// The name that pandas gives to an index that has none.
const PANDAS_INDEX: &str = "__index_level_0__";
/// Columns that are turned into rows together, so that both sides stay in the cache.
const COLUMNS_AT_ONCE: usize = 64;

/// Reads a Parquet file.
pub(crate) fn read_parquet(bytes: bytes::Bytes, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    contained(file, "parquet", || decode_parquet(bytes, file, options))?
}

/// Reads an Arrow IPC file, or a stream.
pub(crate) fn read_ipc(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    contained(file, "arrow", || decode_ipc(bytes, file, options))?
}

/// The shape that the footer of a Parquet file promises, and whether it is compressed with zstd.
pub(crate) fn parquet_shape(path: &Path, file: &str, options: &ReadOptions) -> Option<(TableShape, bool)> {
    let promised = contained(file, "parquet", || {
        let opened = File::open(path).ok()?;
        let builder = ParquetRecordBatchReaderBuilder::try_new(opened).ok()?;
        let rows = builder.metadata().file_metadata().num_rows();
        let first = builder.metadata().row_groups().first().and_then(|group| group.columns().first());
        let zstd = first.is_some_and(|column| matches!(column.compression(), Compression::ZSTD(_)));
        let shape = TableShape::dense(usize::try_from(rows).ok()?, numeric_columns(builder.schema(), file, options)?);
        Some((shape, zstd))
    });
    promised.ok()?
}

/// The shape that the messages of an Arrow file promise.
pub(crate) fn ipc_shape(bytes: &[u8], file: &str, options: &ReadOptions) -> Option<TableShape> {
    let promised = contained(file, "arrow", || {
        let (rows, schema) = ipc_schema(bytes, options)?;
        Some(TableShape::dense(rows, numeric_columns(&schema, file, options)?))
    });
    promised.ok()?
}

/// The number of rows and the columns of an Arrow file.
fn ipc_schema(bytes: &[u8], options: &ReadOptions) -> Option<(usize, SchemaRef)> {
    let limit = Limit::of_compressed(bytes.len() as u64, options).bytes;
    if bytes.starts_with(b"ARROW1") {
        let rows = guard::check_file(bytes, limit).ok()?;
        return Some((rows, FileReader::try_new(Cursor::new(bytes), None).ok()?.schema()));
    }
    let rows = guard::check_stream(bytes, limit).ok()?;
    Some((rows, StreamReader::try_new(Cursor::new(bytes), None).ok()?.schema()))
}

/// The columns of text that the options do not name, by the types that a file claims.
pub(crate) fn text_columns(bytes: &bytes::Bytes, format: Format, file: &str, options: &ReadOptions) -> Vec<String> {
    let found = contained(file, format.name(), || {
        let schema = match format {
            Format::Parquet => ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).ok()?.schema().clone(),
            _ => ipc_schema(bytes, options)?.1,
        };
        let (names, columns) = assigned(&schema, file, options).ok()?;
        let holds_text = |column: usize| {
            let cells = new_empty_array(schema.field(column).data_type());
            array::numbers(&cells).is_none() && array::texts(&cells).is_some()
        };
        let texts = (0..names.len()).filter(|&column| !columns.is_text(column) && holds_text(column));
        Some(texts.map(|column| names[column].clone()).collect())
    });
    found.ok().flatten().unwrap_or_default()
}

fn numeric_columns(schema: &SchemaRef, file: &str, options: &ReadOptions) -> Option<usize> {
    let (names, columns) = assigned(schema, file, options).ok()?;
    Some(names.len() - columns.texts.len())
}

/// The names of the columns, and what each is for.
fn assigned(schema: &SchemaRef, file: &str, options: &ReadOptions) -> Result<(Vec<String>, Columns), Error> {
    let names: Vec<String> = schema.fields().iter().map(|field| field.name().clone()).collect();
    let index = names.iter().position(|name| name == PANDAS_INDEX);
    let holds_text = |column: usize| match schema.field(column).data_type() {
        DataType::Dictionary(_, values) => is_text(values),
        kind => is_text(kind),
    };
    let columns = Columns::assign(&names, index, 0, file, options, holds_text)?;
    Ok((names, columns))
}

fn decode_parquet(bytes: bytes::Bytes, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    let length = bytes.len() as u64;
    let limit = Limit::of_compressed(length, options);
    let problem = |error: &dyn std::fmt::Display| Error::malformed(file, "parquet", error);
    let builder = ParquetRecordBatchReaderBuilder::try_new(bytes.clone()).map_err(|error| problem(&error))?;
    let schema = builder.schema().clone();
    let claimed = *row_starts(builder.metadata(), length).map_err(|claim| problem(&claim))?.last().unwrap_or(&0);
    pages::check(&bytes, builder.metadata(), limit.bytes).map_err(|claim| problem(&claim))?;
    let batch_size = batch_size(&schema).min(claimed).max(1);
    let batches = builder.with_batch_size(batch_size).build().map_err(|error| problem(&error))?;
    read(schema, batches, "parquet", file, options, limit)
}

/// Where each row group of a Parquet file of this length starts, and where the last one ends, in rows; if the places and
/// sizes that its footer claims can be.
fn row_starts(metadata: &ParquetMetaData, length: u64) -> Result<Vec<usize>, &'static str> {
    let mut starts = vec![0usize];
    let mut end = 0usize;
    for group in metadata.row_groups() {
        if group.columns().iter().any(|column| is_outside(column, length)) {
            return Err("a column lies outside the file");
        }
        let rows = usize::try_from(group.num_rows()).map_err(|_| "it claims a negative number of rows")?;
        end = end.checked_add(rows).ok_or("it claims more rows than can be counted")?;
        starts.push(end);
    }
    Ok(starts)
}

/// The parquet crate panics on places before the start of the file.
fn is_outside(column: &ColumnChunkMetaData, length: u64) -> bool {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let end = start.checked_add(column.compressed_size());
    start < 0 || column.compressed_size() < 0 || end.is_none_or(|end| end as u64 > length)
}

fn decode_ipc(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    let limit = Limit::of_compressed(bytes.len() as u64, options);
    let problem = |error| Error::malformed(file, "arrow", error);
    if bytes.starts_with(b"ARROW1") {
        guard::check_file(bytes, limit.bytes).map_err(|problem| Error::malformed(file, "arrow", problem))?;
        let reader = FileReader::try_new(Cursor::new(bytes), None).map_err(problem)?;
        return read(reader.schema(), reader, "arrow", file, options, limit);
    }
    guard::check_stream(bytes, limit.bytes).map_err(|problem| Error::malformed(file, "arrow", problem))?;
    let reader = StreamReader::try_new(Cursor::new(bytes), None).map_err(problem)?;
    read(reader.schema(), reader, "arrow", file, options, limit)
}

/// Rows per batch, so that a batch takes a few megabytes.
fn batch_size(schema: &SchemaRef) -> usize {
    ((1 << 20) / schema.fields().len().max(1)).clamp(64, 1 << 14)
}

fn read(
    schema: SchemaRef,
    batches: impl Iterator<Item = Result<RecordBatch, ArrowError>>,
    format: &'static str,
    file: &str,
    options: &ReadOptions,
    limit: Limit,
) -> Result<Draft, Error> {
    if options.transpose && options.label.is_some() {
        return Err(Error::Options {
            problem: phrase![
                OptionName::Label,
                " is a column, and ",
                OptionName::Transpose,
                " turns columns into samples"
            ],
            advice: "remove one of the two options".into(),
        });
    }
    let (names, columns) = assigned(&schema, file, options)?;
    let numeric: Vec<usize> = (0..names.len()).filter(|&column| !columns.is_text(column)).collect();
    let mut rows = 0;
    let mut data: Vec<f64> = Vec::new();
    let mut texts: Vec<Vec<String>> = vec![Vec::new(); names.len()];
    for batch in batches {
        let batch = batch.map_err(|error| Error::malformed(file, format, error))?;
        rows += batch.num_rows();
        check_cells(rows, names.len(), limit, file)?;
        for text in columns.texts.iter().filter(|text| text.kept) {
            let cells = array::texts(batch.column(text.column)).ok_or_else(|| {
                let kind = batch.column(text.column).data_type().to_string();
                let what = format!(
                    "its column '{}' contains {}",
                    excerpt(names[text.column].as_bytes()),
                    excerpt(kind.as_bytes())
                );
                Error::unsupported(file, what, "choose a column of text or numbers")
            })?;
            texts[text.column].extend(cells);
        }
        add_rows(&batch, &numeric, &names, rows - batch.num_rows(), &mut data, file)?;
    }
    let take = |column: Option<usize>| column.map(|column| texts[column].clone());
    let other = |&column: &usize| TextCells {
        name: names[column].clone(),
        cells: texts[column].clone(),
        categorical: !array::is_numeric(schema.field(column).data_type()),
    };
    Ok(Draft {
        texts: columns.others.iter().map(other).collect(),
        left_out: columns.left_out.iter().map(|&column| names[column].clone()).collect(),
        palettes: Vec::new(),
        ids: take(columns.roles.id),
        labels: take(columns.roles.label),
        filter: take(columns.roles.filter),
        values: Values::Dense(DenseValues { rows, columns: numeric.len(), data }),
        features: Some(columns.numeric_names(names)),
        roles_open: false,
        notes: Vec::new(),
    })
}

/// Refuses more cells than may come out of the file.
fn check_cells(rows: usize, columns: usize, limit: Limit, file: &str) -> Result<(), Error> {
    if rows as u64 > limit.bytes / 8 / columns.max(1) as u64 {
        return Err(limit.exceeded(file));
    }
    Ok(())
}

/// Adds the numeric columns of a batch to `data`, which has rows one after the other.
fn add_rows(
    batch: &RecordBatch,
    numeric: &[usize],
    names: &[String],
    rows_before: usize,
    data: &mut Vec<f64>,
    file: &str,
) -> Result<(), Error> {
    let (rows, width) = (batch.num_rows(), numeric.len());
    let start = data.len();
    make_room(data, rows.saturating_mul(width), file)?;
    data.resize(start + rows * width, 0.0);
    let block = &mut data[start..];
    for (piece, columns) in numeric.chunks(COLUMNS_AT_ONCE).enumerate() {
        let mut numbers = Vec::with_capacity(columns.len());
        for &column in columns {
            let cells = batch.column(column);
            numbers.push(array::numbers(cells).ok_or_else(|| not_numbers(cells, &names[column], rows_before, file))?);
        }
        for row in 0..rows {
            let cells = &mut block[row * width + piece * COLUMNS_AT_ONCE..][..columns.len()];
            for (cell, column) in cells.iter_mut().zip(&numbers) {
                *cell = column[row];
            }
        }
    }
    Ok(())
}

/// The complaint about a column that holds something else than numbers.
fn not_numbers(cells: &arrow_array::ArrayRef, name: &str, rows_before: usize, file: &str) -> Error {
    let name = excerpt(name.as_bytes());
    match array::texts(cells) {
        Some(texts) if !texts.is_empty() => Error::NotANumber {
            file: file.into(),
            place: Place::Row(rows_before + 1),
            column: name,
            cell: excerpt(texts[0].as_bytes()),
        },
        _ => {
            let kind = cells.data_type().to_string();
            let what = format!("its column '{name}' contains {}", excerpt(kind.as_bytes()));
            Error::unsupported(file, what, phrase!["pass ", OptionName::Ignore.set_to(name), " to leave it out"])
        }
    }
}

/// Whether text can be taken from a column of this type.
fn is_text(kind: &DataType) -> bool {
    matches!(kind, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View)
}

/// The texts of an array of text; a missing one is empty.
fn plain_texts(cells: &dyn arrow_array::Array) -> Option<Vec<String>> {
    fn owned<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> Vec<String> {
        texts.map(|text| text.unwrap_or_default().to_string()).collect()
    }
    match cells.data_type() {
        DataType::Utf8 => Some(owned(cells.as_string::<i32>().iter())),
        DataType::LargeUtf8 => Some(owned(cells.as_string::<i64>().iter())),
        DataType::Utf8View => Some(owned(cells.as_string_view().iter())),
        _ => None,
    }
}
