//! Comma- and tab-separated text, out.

use std::io::{self, Write};
use std::path::Path;

use super::{Frame, write_atomically};
use crate::Error;
use crate::format::delimiter_of;

/// Writes a frame as comma-separated text (tab-separated if the name says .tsv), compressed if the
/// name ends in .gz or .zst. Numbers have the fewest digits that give the same bits when read again;
/// text is quoted only where it must be.
///
/// # Panics
/// If the parts of the frame do not have the same number of rows.
pub fn write_table_csv(path: &Path, frame: &Frame) -> Result<(), Error> {
    frame.check();
    let name = path.to_string_lossy().to_ascii_lowercase();
    let delimiter = delimiter_of(&name).unwrap_or(b',');
    write_atomically(path, |file| {
        if name.ends_with(".gz") {
            let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
            write_lines(&mut encoder, frame, delimiter)?;
            encoder.finish().map(drop)
        } else if name.ends_with(".zst") {
            let mut encoder = zstd::stream::write::Encoder::new(file, 0)?;
            write_lines(&mut encoder, frame, delimiter)?;
            encoder.finish().map(drop)
        } else {
            write_lines(file, frame, delimiter)
        }
    })
}

fn write_lines(out: &mut impl Write, frame: &Frame, delimiter: u8) -> io::Result<()> {
    let mut line = Vec::new();
    for name in frame.texts.iter().map(|text| text.name).chain(frame.columns.iter().map(String::as_str)) {
        push_text(&mut line, name, delimiter);
        line.push(delimiter);
    }
    end_line(out, &mut line)?;
    for row in 0..frame.rows {
        for text in frame.texts {
            push_text(&mut line, &text.cells[row], delimiter);
            line.push(delimiter);
        }
        for value in &frame.values[row * frame.columns.len()..][..frame.columns.len()] {
            write!(line, "{value:?}")?;
            line.push(delimiter);
        }
        end_line(out, &mut line)?;
    }
    Ok(())
}

/// Puts a line end in the place of the last delimiter.
fn end_line(out: &mut impl Write, line: &mut Vec<u8>) -> io::Result<()> {
    line.pop();
    line.push(b'\n');
    out.write_all(line)?;
    line.clear();
    Ok(())
}

fn push_text(line: &mut Vec<u8>, text: &str, delimiter: u8) {
    let must_quote = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n');
    if text.is_empty() || !text.bytes().any(must_quote) && text == text.trim() {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    line.push(b'"');
}
