//! The fast way: a body without quotes. Cells are parsed where they stand, lines in parallel.

use rayon::prelude::*;

use super::Rows;
use super::cell::{line_number, number, text};
use super::layout::Layout;
use crate::error::closest;
use crate::memory::{check_room, zeros};
use crate::{Error, OptionName};

/// About this many bytes of text make one piece of work.
const PIECE: usize = 1 << 18;

/// Reads the body, which starts at `offset` of the whole text.
pub(super) fn read(body: &[u8], offset: usize, whole: &[u8], layout: &Layout) -> Result<Rows, Error> {
    let body = Body { text: body, offset, whole, layout };
    check_lines(body.text, layout)?;
    let mut lines = body.lines();
    let label_row = body.take_label_row(&mut lines)?;

    let columns = layout.numeric_columns();
    // A cell takes at least one byte, its delimiter or the line end. If there are too few bytes, some
    // line is short, and looking for it needs no memory.
    if lines.len().saturating_mul(layout.width()) > body.text.len() + 1 {
        lines.par_iter().map(|&start| body.check_width(start)).find_first(Result::is_err).unwrap_or(Ok(()))?;
    }
    if columns == 0 || lines.is_empty() {
        return Ok(Rows { numbers: Vec::new(), texts: Vec::new(), label_row });
    }

    let mut numbers = zeros(lines.len().saturating_mul(columns), layout.file)?;
    let lines_per_piece = (PIECE * lines.len() / body.text.len().max(1)).clamp(1, lines.len());
    let pieces: Vec<Result<Vec<String>, Error>> = numbers
        .par_chunks_mut(columns * lines_per_piece)
        .zip(lines.par_chunks(lines_per_piece))
        .map(|(numbers, lines)| {
            let mut texts = Vec::new();
            for (cells, &start) in numbers.chunks_exact_mut(columns).zip(lines) {
                body.parse_line(start, cells, &mut texts)?;
            }
            Ok(texts)
        })
        .collect();
    let mut texts = Vec::new();
    for piece in pieces {
        texts.append(&mut piece?);
    }
    Ok(Rows { numbers, texts, label_row })
}

/// Refuses a text whose lines, and the texts that are kept of each, need more memory than there is. A short text of its own
/// takes more than its bytes.
fn check_lines(body: &[u8], layout: &Layout) -> Result<(), Error> {
    const SHORT_TEXT: usize = size_of::<String>() + 32;
    let kept = layout.columns.texts.iter().filter(|text| text.kept).count();
    let lines = memchr::memchr_iter(b'\n', body).count() as u64 + 1;
    check_room(lines.saturating_mul((size_of::<usize>() + kept * SHORT_TEXT) as u64), layout.file)
}

struct Body<'a> {
    text: &'a [u8],
    /// Where `text` starts in `whole`, for line numbers.
    offset: usize,
    whole: &'a [u8],
    layout: &'a Layout<'a>,
}

impl<'a> Body<'a> {
    /// Where each line that is not blank starts.
    fn lines(&self) -> Vec<usize> {
        let mut lines = Vec::new();
        let mut start = 0;
        let ends = memchr::memchr_iter(b'\n', self.text).chain([self.text.len()]);
        for end in ends {
            let starts_blank = self.text[start..end].first().is_none_or(u8::is_ascii_whitespace);
            let line = &self.text[start..end];
            let is_comment = || self.layout.is_comment(line) && self.width(start) != self.layout.width();
            if !(starts_blank && self.is_blank(line) || is_comment()) {
                lines.push(start);
            }
            start = (end + 1).min(self.text.len());
        }
        lines
    }

    /// A line of nothing but tabs is a row of empty cells, not a blank line.
    fn is_blank(&self, line: &[u8]) -> bool {
        line.trim_ascii().is_empty() && !line.contains(&self.layout.delimiter)
    }

    fn line(&self, start: usize) -> &'a [u8] {
        let rest = &self.text[start..];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        match line.split_last() {
            Some((&last, before)) if self.layout.trailing && last == self.layout.delimiter => before,
            _ => line,
        }
    }

    /// The number of cells in a line.
    fn width(&self, start: usize) -> usize {
        memchr::memchr_iter(self.layout.delimiter, self.line(start)).count() + 1
    }

    fn line_number(&self, start: usize) -> usize {
        line_number(self.whole, self.offset + start)
    }

    fn check_width(&self, start: usize) -> Result<(), Error> {
        let found = self.width(start);
        if found == self.layout.width() {
            return Ok(());
        }
        Err(Error::Ragged {
            file: self.layout.file.into(),
            line: self.line_number(start),
            found,
            expected: self.layout.width(),
        })
    }

    /// Parses the line at `start` into `cells`, and adds its text cells to `texts`.
    fn parse_line(&self, start: usize, cells: &mut [f64], texts: &mut Vec<String>) -> Result<(), Error> {
        let Layout { delimiter, .. } = *self.layout;
        let is_plain = self.layout.has_plain_numbers();
        let line = self.line(start);
        let line_number = || self.line_number(start);
        let mut text_columns = self.layout.columns.texts.iter().peekable();
        let mut cells = cells.iter_mut();
        // Where the next cell starts; one past the end once the last cell has been taken.
        let mut at = 0;
        for column in 0..self.layout.width() {
            if at > line.len() {
                return self.check_width(start);
            }
            let rest = &line[at..];
            if let Some(kept) = text_columns.next_if(|text| text.column == column).map(|text| text.kept) {
                let length = memchr::memchr(delimiter, rest).unwrap_or(rest.len());
                if kept {
                    texts.push(text(&rest[..length], column, self.layout, line_number)?);
                }
                at += length + 1;
                continue;
            }
            let cell = cells.next().expect("as many cells as numeric columns");
            match fast_float2::parse_partial::<f64, _>(rest) {
                Ok((value, length))
                    if is_plain && value.is_finite() && rest.get(length).is_none_or(|&next| next == delimiter) =>
                {
                    *cell = value;
                    at += length + 1;
                }
                _ => {
                    let length = memchr::memchr(delimiter, rest).unwrap_or(rest.len());
                    // A line that is too short ends in an empty cell: its length is the true fault.
                    *cell = number(&rest[..length], column, self.layout, line_number)
                        .map_err(|error| self.check_width(start).err().unwrap_or(error))?;
                    at += length + 1;
                }
            }
        }
        if at <= line.len() {
            return self.check_width(start);
        }
        Ok(())
    }

    /// In a transposed table, takes the line with the labels out of `lines`.
    fn take_label_row(&self, lines: &mut Vec<usize>) -> Result<Option<Vec<String>>, Error> {
        let Some((id, label)) = self.layout.label_row() else {
            return Ok(None);
        };
        let delimiter = self.layout.delimiter;
        let cell = |start: usize| {
            let cell = self.line(start).split(|&byte| byte == delimiter).nth(id);
            cell.unwrap_or_default().trim_ascii()
        };
        let is_label = |&start: &usize| cell(start) == label.as_bytes();
        let Some(row) = lines.iter().position(is_label) else {
            let names: Vec<String> =
                lines.iter().map(|&start| String::from_utf8_lossy(cell(start)).into_owned()).collect();
            return Err(Error::NoColumn {
                file: self.layout.file.into(),
                role: OptionName::Label,
                name: label.into(),
                known: closest(label, names.iter().map(String::as_str)),
            });
        };
        let start = lines.remove(row);
        self.check_width(start)?;
        let mut labels = Vec::new();
        for (column, cell) in self.line(start).split(|&byte| byte == delimiter).enumerate() {
            if !self.layout.columns.is_text(column) {
                labels.push(text(cell, column, self.layout, || self.line_number(start))?);
            }
        }
        Ok(Some(labels))
    }
}
