//! A text table of which every cell is a text: what is known of samples.

use std::borrow::Cow;

use super::cell::line_number;
use super::layout::{Layout, cells, record_end, skip_blank};
use super::text::Text;
use crate::error::counted;
use crate::write::undefused;
use crate::{Error, Place, ReadOptions};

/// The rows of a text table with a header.
pub(crate) struct Sheet<'a> {
    text: Text<'a>,
    body: usize,
    /// One name per cell of a row; empty where a column has none.
    pub names: Vec<String>,
    file: &'a str,
}

impl<'a> Sheet<'a> {
    pub fn open(bytes: &'a [u8], file: &'a str, options: &'a ReadOptions) -> Result<Sheet<'a>, Error> {
        let text = Text::find(bytes, file, options)?;
        let (Layout { names, .. }, body) = Layout::find(&text, file, options)?;
        Ok(Sheet { text, body, names, file })
    }

    /// Whether numbers have a comma where others have a point.
    pub fn has_decimal_commas(&self) -> bool {
        self.text.decimal_comma
    }

    /// What is unusual about how it is written, for people.
    pub fn notes(&self) -> &[String] {
        &self.text.notes
    }

    /// Does something with each row: the number of its line, and its cells.
    pub fn for_each(&self, mut each: impl FnMut(usize, &[Cow<'_, [u8]>]) -> Result<(), Error>) -> Result<(), Error> {
        let bytes = &self.text.bytes[..];
        let (mut start, mut line, mut counted_to) = (skip_blank(bytes, self.body), 1, 0);
        while start < bytes.len() {
            let end = record_end(bytes, start);
            line += line_number(&bytes[counted_to..], start - counted_to) - 1;
            counted_to = start;
            let mut record = cells(&bytes[start..end], self.text.delimiter);
            if self.text.trailing && record.last().is_some_and(|cell| cell.trim_ascii().is_empty()) {
                record.pop();
            }
            let is_empty = record.iter().all(|cell| cell.trim_ascii().is_empty());
            let is_comment = record.len() != self.names.len() && bytes.get(start).copied() == self.text.comment;
            if record.len() != self.names.len() && !is_empty && !is_comment {
                let (found, expected) = (record.len(), self.names.len());
                return Err(Error::Ragged { file: self.file.into(), line, found, expected });
            }
            if !is_empty && !is_comment {
                each(line, &record)?;
            }
            start = skip_blank(bytes, end);
        }
        Ok(())
    }

    /// The text in a cell of a line.
    pub fn cell<'c>(&self, cell: &'c [u8], line: usize) -> Result<&'c str, Error> {
        let text = std::str::from_utf8(cell)
            .map_err(|_| Error::NotUtf8 { file: self.file.into(), place: Place::Line(line) })?;
        Ok(undefused(text.trim()))
    }

    /// Refuses a sheet without rows, and says how many it has at most.
    pub fn check_rows(&self) -> Result<usize, Error> {
        match memchr::memchr_iter(b'\n', self.text.bytes[self.body..].trim_ascii()).count() {
            0 if self.text.bytes[self.body..].trim_ascii().is_empty() => Err(Error::Nothing {
                file: self.file.into(),
                what: "rows below its header",
                advice: format!("its header has {}; check the file", counted(self.names.len(), "column")).into(),
            }),
            breaks => Ok(breaks + 1),
        }
    }
}
