//! Comma- and tab-separated text, out.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use super::{AtomicWriter, Frame};
use crate::format::delimiter_of;

/// Whether names are written as they are.
static RAW: AtomicBool = AtomicBool::new(false);

/// Whether text goes to .csv and .tsv files as it is, from now on, in this whole process. Otherwise what a spreadsheet would
/// run as a formula gets an apostrophe in front, which [`read_table`](crate::read_table) takes off again.
pub fn write_raw_text(raw: bool) {
    RAW.store(raw, Ordering::Relaxed);
}

/// Whether a spreadsheet would run this text as a formula: it begins like one, and is no number.
fn is_formula(text: &str) -> bool {
    let visible = text.trim_start_matches(|c: char| c.is_whitespace() || c.is_control());
    let begins = text.starts_with(['\t', '\r', '\n']) || visible.starts_with(FORMULA);
    begins && fast_float2::parse::<f64, _>(text.strip_prefix('+').unwrap_or(text)).is_err()
}

/// What spreadsheets take for the beginning of a formula; the wide forms too.
const FORMULA: [char; 10] = ['=', '+', '-', '@', '|', '%', '\u{ff1d}', '\u{ff0b}', '\u{ff0d}', '\u{ff20}'];

/// Text that no spreadsheet runs.
fn defused(text: &str) -> Cow<'_, str> {
    // Text that looks defused already gets a further apostrophe, so that reading gives back what was written.
    match is_formula(text.trim_start_matches('\'')) {
        true => Cow::Owned(format!("'{text}")),
        false => Cow::Borrowed(text),
    }
}

/// The text that was there before it was defused.
pub(crate) fn undefused(text: &str) -> &str {
    match text.strip_prefix('\'') {
        Some(rest) if is_formula(rest.trim_start_matches('\'')) => rest,
        _ => text,
    }
}

/// Writes a frame as comma-separated text, as [`write_table`](super::write_table) does to a file, with or without its first line, the names.
///
/// # Panics
/// If the parts of the frame do not have the same number of rows.
pub fn write_csv(out: &mut impl Write, frame: &Frame, names: bool) -> io::Result<()> {
    frame.check();
    write_lines(out, frame, b',', names)
}

/// The lines of a text table.
pub(super) struct Lines<'t> {
    out: Encoder<'t>,
    delimiter: u8,
    begun: bool,
}

enum Encoder<'t> {
    Plain(&'t mut dyn Write),
    Gzip(flate2::write::GzEncoder<&'t mut dyn Write>),
    Zstd(zstd::stream::write::Encoder<'static, &'t mut dyn Write>),
}

impl<'t> Lines<'t> {
    /// For a file of this name, in lower case.
    pub fn new(file: &'t mut AtomicWriter, name: &str) -> io::Result<Lines<'t>> {
        let file: &'t mut dyn Write = file;
        let out = if name.ends_with(".gz") {
            Encoder::Gzip(flate2::write::GzEncoder::new(file, flate2::Compression::default()))
        } else if name.ends_with(".zst") {
            Encoder::Zstd(zstd::stream::write::Encoder::new(file, 0)?)
        } else {
            Encoder::Plain(file)
        };
        Ok(Lines { out, delimiter: delimiter_of(name).unwrap_or(b','), begun: false })
    }

    pub fn add(&mut self, frame: &Frame) -> io::Result<()> {
        let header = !std::mem::replace(&mut self.begun, true);
        let out: &mut dyn Write = match &mut self.out {
            Encoder::Plain(out) => out,
            Encoder::Gzip(out) => out,
            Encoder::Zstd(out) => out,
        };
        write_lines(out, frame, self.delimiter, header)
    }

    pub fn end(self) -> io::Result<()> {
        match self.out {
            Encoder::Plain(_) => Ok(()),
            Encoder::Gzip(out) => out.finish().map(drop),
            Encoder::Zstd(out) => out.finish().map(drop),
        }
    }
}

impl fmt::Debug for Lines<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "Lines({:?})", char::from(self.delimiter))
    }
}

fn write_lines(out: &mut dyn Write, frame: &Frame, delimiter: u8, header: bool) -> io::Result<()> {
    let mut line = Vec::new();
    if header {
        for name in frame.texts.iter().map(|text| text.name).chain(frame.columns.iter().map(String::as_str)) {
            push_text(&mut line, name, delimiter);
            line.push(delimiter);
        }
        end_line(out, &mut line)?;
    }
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
fn end_line(out: &mut dyn Write, line: &mut Vec<u8>) -> io::Result<()> {
    line.pop();
    line.push(b'\n');
    out.write_all(line)?;
    line.clear();
    Ok(())
}

fn push_text(line: &mut Vec<u8>, text: &str, delimiter: u8) {
    let text = if RAW.load(Ordering::Relaxed) { Cow::Borrowed(text) } else { defused(text) };
    let must_quote = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n');
    if text.is_empty() || !text.bytes().any(must_quote) && text == text.trim() {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    line.push(b'"');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formulas_are_defused_and_come_back() {
        let formulas =
            ["=1+1", "+A1", "-A1", "@SUM(A1)", "  =x", "\t=x", "\rx", "\nx", "|calc", "%x", "\u{ff1d}x", "-", "--1"];
        for text in formulas {
            assert_eq!(defused(text), format!("'{text}"), "{text:?}");
        }
        for text in ["", "x", "1", "-1", "+1.5e-3", "-.5", "1=2", "'", "'x", "a-b", "-inf"] {
            assert_eq!(defused(text), text);
        }
        for text in formulas.into_iter().chain(["'=x", "''=x", "'x", "x", "-1", "'-1"]) {
            assert_eq!(undefused(&defused(text)), text, "{text:?}");
        }
    }
}
