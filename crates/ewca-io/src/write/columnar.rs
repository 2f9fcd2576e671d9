//! Parquet and Arrow IPC, out.

use std::collections::HashMap;
use std::fmt;
use std::io;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::mark::STAMP;
use super::{AtomicWriter, Frame};

/// A Parquet file.
pub(super) struct Parquet<'t> {
    writer: Writer<'t, ArrowWriter<Out<'t>>>,
}

/// An Arrow IPC file.
pub(super) struct Ipc<'t> {
    writer: Writer<'t, arrow_ipc::writer::FileWriter<Out<'t>>>,
}

type Out<'t> = &'t mut (dyn io::Write + Send);

/// The names of the columns are known with the first rows.
enum Writer<'t, W> {
    Waiting(Out<'t>),
    Begun(W),
    Failed,
}

impl<'t, W> Writer<'t, W> {
    fn begun(&mut self, begin: impl FnOnce(Out<'t>) -> io::Result<W>) -> io::Result<&mut W> {
        if let Self::Waiting(_) = self
            && let Self::Waiting(out) = std::mem::replace(self, Self::Failed)
        {
            *self = Self::Begun(begin(out)?);
        }
        match self {
            Self::Begun(writer) => Ok(writer),
            _ => Err(io::Error::other("the table was not begun")),
        }
    }

    fn end(self) -> io::Result<W> {
        match self {
            Self::Begun(writer) => Ok(writer),
            _ => Err(io::Error::other("the table has no columns")),
        }
    }
}

impl<'t> Parquet<'t> {
    pub fn new(out: &'t mut AtomicWriter) -> Parquet<'t> {
        Parquet { writer: Writer::Waiting(out) }
    }

    pub fn add(&mut self, frame: &Frame) -> io::Result<()> {
        let batch = record_batch(frame).map_err(io::Error::other)?;
        let writer = self.writer.begun(|out| {
            let zstd = ZstdLevel::try_new(3).map_err(io::Error::other)?;
            let stamp = KeyValue::new("writer".into(), STAMP.to_string());
            let properties = WriterProperties::builder()
                .set_compression(Compression::ZSTD(zstd))
                .set_key_value_metadata(Some(vec![stamp]))
                .build();
            ArrowWriter::try_new(out, batch.schema(), Some(properties)).map_err(io::Error::other)
        })?;
        writer.write(&batch).map_err(io::Error::other)
    }

    pub fn end(self) -> io::Result<()> {
        self.writer.end()?.close().map(drop).map_err(io::Error::other)
    }
}

impl<'t> Ipc<'t> {
    pub fn new(out: &'t mut AtomicWriter) -> Ipc<'t> {
        Ipc { writer: Writer::Waiting(out) }
    }

    pub fn add(&mut self, frame: &Frame) -> io::Result<()> {
        let batch = record_batch(frame).map_err(io::Error::other)?;
        let writer = self
            .writer
            .begun(|out| arrow_ipc::writer::FileWriter::try_new(out, &batch.schema()).map_err(io::Error::other))?;
        writer.write(&batch).map_err(io::Error::other)
    }

    pub fn end(self) -> io::Result<()> {
        self.writer.end()?.finish().map_err(io::Error::other)
    }
}

impl fmt::Debug for Parquet<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("Parquet")
    }
}

impl fmt::Debug for Ipc<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str("Ipc")
    }
}

fn record_batch(frame: &Frame) -> Result<RecordBatch, ArrowError> {
    let mut fields = Vec::new();
    let mut columns: Vec<ArrayRef> = Vec::new();
    for text in frame.texts {
        fields.push(Field::new(text.name, DataType::Utf8, false));
        columns.push(Arc::new(StringArray::from_iter_values(text.cells)));
    }
    for (at, name) in frame.columns.iter().enumerate() {
        fields.push(Field::new(name, DataType::Float64, false));
        let cells = frame.values.iter().skip(at).step_by(frame.columns.len()).copied();
        columns.push(Arc::new(Float64Array::from_iter_values(cells)));
    }
    let stamp = HashMap::from([("writer".to_string(), STAMP.to_string())]);
    RecordBatch::try_new(Arc::new(Schema::new_with_metadata(fields, stamp)), columns)
}
