//! Parquet and Arrow IPC, out.

use std::io::{self, Write};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch, StringArray};
use arrow_schema::{ArrowError, DataType, Field, Schema};
use parquet::arrow::ArrowWriter;
use parquet::basic::{Compression, ZstdLevel};
use parquet::file::properties::WriterProperties;

use super::Frame;

pub(super) fn write_parquet(out: impl Write + Send, frame: &Frame) -> io::Result<()> {
    let batch = record_batch(frame).map_err(io::Error::other)?;
    let zstd = ZstdLevel::try_new(3).map_err(io::Error::other)?;
    let properties = WriterProperties::builder().set_compression(Compression::ZSTD(zstd)).build();
    let mut writer = ArrowWriter::try_new(out, batch.schema(), Some(properties)).map_err(io::Error::other)?;
    writer.write(&batch).map_err(io::Error::other)?;
    writer.close().map(drop).map_err(io::Error::other)
}

pub(super) fn write_ipc(out: impl Write, frame: &Frame) -> io::Result<()> {
    let batch = record_batch(frame).map_err(io::Error::other)?;
    let mut writer = arrow_ipc::writer::FileWriter::try_new(out, &batch.schema()).map_err(io::Error::other)?;
    writer.write(&batch).map_err(io::Error::other)?;
    writer.finish().map_err(io::Error::other)
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
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns)
}
