//! The careful way: a body with quotes, through the `csv` crate, one record after the other.

use super::Rows;
use super::cell::{line_number, number, text};
use super::layout::Layout;
use crate::Error;
use crate::memory::make_room;

/// Reads the body, which starts at `offset` of the whole text.
pub(super) fn read(body: &[u8], offset: usize, whole: &[u8], layout: &Layout) -> Result<Rows, Error> {
    let mut reader =
        csv::ReaderBuilder::new().has_headers(false).flexible(true).delimiter(layout.delimiter).from_reader(body);
    let mut rows = Rows { numbers: Vec::new(), texts: Vec::new(), label_row: None };
    let mut record = csv::ByteRecord::new();
    loop {
        let start = reader.position().byte() as usize;
        match reader.read_byte_record(&mut record) {
            Ok(true) => {}
            Ok(false) => return Ok(rows),
            Err(error) => return Err(Error::malformed(layout.file, "csv", error)),
        }
        // Blank lines before the record belong to its bytes, so the count starts at its own first byte.
        let blank = body[start..].iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
        let line = || line_number(whole, offset + start + blank);
        if record.len() == 1 && layout.width() > 1 && record[0].trim_ascii().is_empty() {
            continue;
        }
        if layout.trailing && record.len() == layout.width() + 1 && record[layout.width()].is_empty() {
            record.truncate(layout.width());
        }
        if record.len() != layout.width() && layout.is_comment(&record[0]) {
            continue;
        }
        if record.len() != layout.width() {
            return Err(Error::Ragged {
                file: layout.file.into(),
                line: line(),
                found: record.len(),
                expected: layout.width(),
            });
        }
        make_room(&mut rows.numbers, record.len(), layout.file)?;
        make_room(&mut rows.texts, record.len(), layout.file)?;
        match layout.label_row() {
            Some((id, label)) if rows.label_row.is_none() && record[id].trim_ascii() == label.as_bytes() => {
                rows.label_row = Some(labels(&record, layout, line)?);
            }
            _ => add(&mut rows, &record, layout, line)?,
        }
    }
}

fn add(rows: &mut Rows, record: &csv::ByteRecord, layout: &Layout, line: impl Fn() -> usize) -> Result<(), Error> {
    let mut text_columns = layout.columns.texts.iter().peekable();
    for (column, cell) in record.iter().enumerate() {
        match text_columns.next_if(|text| text.column == column) {
            Some(found) if found.kept => rows.texts.push(text(cell, column, layout, &line)?),
            Some(_) => {}
            // A number never needs two lines: the quote before it was meant to end earlier.
            None if cell.contains(&b'\n') => return Err(Error::OpenQuote { file: layout.file.into(), line: line() }),
            None => rows.numbers.push(number(cell, column, layout, &line)?),
        }
    }
    Ok(())
}

fn labels(record: &csv::ByteRecord, layout: &Layout, line: impl Fn() -> usize) -> Result<Vec<String>, Error> {
    let is_value = |column: usize| !layout.columns.is_text(column);
    let cells = record.iter().enumerate().filter(|&(column, _)| is_value(column));
    cells.map(|(column, cell)| text(cell, column, layout, &line)).collect()
}
