//! What each column of a text table is for.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use super::text::{LOOKED_AT, Text};
use crate::columns::Columns;
use crate::error::phrase;
use crate::write::undefused;
use crate::{Error, OptionName, Place, ReadOptions};

/// The columns of a text table.
pub(super) struct Layout<'a> {
    pub file: &'a str,
    pub options: &'a ReadOptions,
    pub delimiter: u8,
    pub comment: Option<u8>,
    pub trailing: bool,
    pub decimal_comma: bool,
    /// Whether the names come from the file.
    named: bool,
    /// One name per cell of a row.
    pub names: Vec<String>,
    pub columns: Columns,
    /// Which columns of numbers have turned out to hold text, where that is no error.
    texts_met: Option<Vec<AtomicBool>>,
}

impl<'a> Layout<'a> {
    /// Reads the header; returns the layout and where the body starts.
    pub fn find(text: &Text, file: &'a str, options: &'a ReadOptions) -> Result<(Layout<'a>, usize), Error> {
        let Text { start, delimiter, comment, trailing, decimal_comma, described, .. } = *text;
        let text = &text.bytes[..];
        let header_end = record_end(text, start);
        if memchr::memchr_iter(b'"', &text[start..header_end]).count() % 2 == 1 {
            let line = super::cell::line_number(text, start);
            return Err(Error::OpenQuote { file: file.into(), line });
        }
        let mut first = cells(&text[start..header_end], delimiter);
        if trailing && first.last().is_some_and(|cell| cell.trim_ascii().is_empty()) {
            first.pop();
        }
        let line = super::cell::line_number(text, start);
        let mut names = Vec::new();
        let mut body = start;
        if options.header {
            body = header_end;
            for cell in &first {
                let name = std::str::from_utf8(cell)
                    .map_err(|_| Error::NotUtf8 { file: file.into(), place: Place::Line(line) })?;
                names.push(undefused(name.trim()).to_string());
            }
            let next = skip_blank(text, body);
            let second = &text[next..record_end(text, next)];
            if !second.is_empty() && cells(second, delimiter).len() == names.len() + 1 + usize::from(trailing) {
                names.insert(0, String::new());
            }
        } else {
            names.extend((1..=first.len()).map(|number| format!("column{number}")));
        }
        let index = names.first().is_some_and(|name| name.is_empty()).then_some(0);
        let texts = if options.expected.is_some() { text_columns(text, body, delimiter, options) } else { Vec::new() };
        let holds_text = |column: usize| texts.get(column).copied().unwrap_or(false);
        let columns = Columns::assign(&names, index, described, file, options, holds_text)?;
        if options.transpose && options.label.is_some() && columns.roles.id.is_none() {
            return Err(Error::Options {
                problem: phrase![
                    OptionName::Label,
                    " is a row of the transposed table, but no column has the row names"
                ],
                advice: phrase!["choose the column with the row names with ", OptionName::Id],
            });
        }
        let named = options.header;
        let layout = Layout {
            file,
            options,
            delimiter,
            comment,
            trailing,
            decimal_comma,
            named,
            names,
            columns,
            texts_met: None,
        };
        Ok((layout, body))
    }

    /// From now on, text in a column of numbers is no error: it is remembered that the column holds text.
    pub fn watch_for_texts(&mut self) {
        self.texts_met = Some(self.names.iter().map(|_| AtomicBool::new(false)).collect());
    }

    /// Whether text was met in a column before.
    pub fn is_text_met(&self, column: usize) -> bool {
        self.texts_met.as_ref().is_some_and(|met| met[column].load(Ordering::Relaxed))
    }

    /// Whether a number in the text is what it looks like.
    pub fn has_plain_numbers(&self) -> bool {
        !self.decimal_comma && self.options.missing_values.is_empty()
    }

    /// Whether a record that is not as wide as the others is a comment.
    pub fn is_comment(&self, record: &[u8]) -> bool {
        self.comment.is_some() && record.first().copied() == self.comment
    }

    /// Says that a column holds text; whether that is no error.
    pub fn meet_text(&self, column: usize) -> bool {
        self.texts_met.as_ref().inspect(|met| met[column].store(true, Ordering::Relaxed)).is_some()
    }

    /// The names of the columns in which text was met.
    pub fn texts_met(&self) -> Vec<String> {
        (0..self.width()).filter(|&column| self.is_text_met(column)).map(|column| self.names[column].clone()).collect()
    }

    /// The number of cells in a row.
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// The number of cells in a row that are numbers.
    pub fn numeric_columns(&self) -> usize {
        self.width() - self.columns.texts.len()
    }

    /// In a transposed table with labels: the column of row names, and the name of the label row.
    pub fn label_row(&self) -> Option<(usize, &'a str)> {
        let label = self.options.label.as_deref().filter(|_| self.options.transpose)?;
        Some((self.columns.roles.id?, label))
    }

    /// The names of the numeric columns. Numbers given to columns do not count as names of samples.
    pub fn into_feature_names(self) -> Option<Vec<String>> {
        let has_names = self.named || !self.options.transpose;
        has_names.then(|| self.columns.numeric_names(self.names))
    }
}

/// Which columns hold text, by the first rows of the body: some cell is neither missing nor a number.
fn text_columns(text: &[u8], body: usize, delimiter: u8, options: &ReadOptions) -> Vec<bool> {
    let mut texts = Vec::new();
    let mut start = skip_blank(text, body);
    for _ in 0..LOOKED_AT {
        let end = record_end(text, start);
        let record = cells(&text[start..end], delimiter);
        texts.resize(texts.len().max(record.len()), false);
        for (is_text, cell) in texts.iter_mut().zip(&record) {
            *is_text |= !super::cell::is_number_or_missing(cell, &options.missing_values);
        }
        start = skip_blank(text, end);
        if start == text.len() {
            break;
        }
    }
    texts
}

/// The start of the next line that is not blank.
pub(super) fn skip_blank(text: &[u8], mut start: usize) -> usize {
    while let Some(length) = memchr::memchr(b'\n', &text[start..]) {
        if !text[start..start + length].trim_ascii().is_empty() {
            return start;
        }
        start += length + 1;
    }
    if text[start..].trim_ascii().is_empty() { text.len() } else { start }
}

/// The end of the record at `start`, with its line end: a line, or more when quotes span lines.
pub(super) fn record_end(text: &[u8], start: usize) -> usize {
    let mut quoted = false;
    for at in memchr::memchr2_iter(b'"', b'\n', &text[start..]) {
        match text[start + at] {
            b'"' => quoted = !quoted,
            _ if !quoted => return start + at + 1,
            _ => {}
        }
    }
    text.len()
}

/// The cells of one record. Quotes are taken off only where there are some.
pub(super) fn cells(record: &[u8], delimiter: u8) -> Vec<Cow<'_, [u8]>> {
    let record = record.strip_suffix(b"\n").unwrap_or(record);
    let record = record.strip_suffix(b"\r").unwrap_or(record);
    if memchr::memchr(b'"', record).is_none() {
        return record.split(|&byte| byte == delimiter).map(Cow::Borrowed).collect();
    }
    let mut reader = ::csv::ReaderBuilder::new().has_headers(false).delimiter(delimiter).from_reader(record);
    let mut cells = ::csv::ByteRecord::new();
    // Reading from memory, one record, with any number of cells, cannot fail.
    let _ = reader.read_byte_record(&mut cells);
    cells.iter().map(|cell| Cow::Owned(cell.to_vec())).collect()
}
