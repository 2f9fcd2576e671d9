//! What each column of a text table is for.

use std::borrow::Cow;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::columns::Columns;
use crate::error::{excerpt, phrase};
use crate::format::delimiter_of;
use crate::write::undefused;
use crate::{Error, OptionName, Place, ReadOptions};

/// The columns of a text table.
pub(super) struct Layout<'a> {
    pub file: &'a str,
    pub options: &'a ReadOptions,
    pub delimiter: u8,
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
    pub fn find(text: &[u8], file: &'a str, options: &'a ReadOptions) -> Result<(Layout<'a>, usize), Error> {
        let start = start_of_text(text, file)?;
        let header_end = record_end(text, start);
        if memchr::memchr_iter(b'"', &text[start..header_end]).count() % 2 == 1 {
            let line = super::cell::line_number(text, start);
            return Err(Error::OpenQuote { file: file.into(), line });
        }
        let delimiter = delimiter(&text[start..header_end], file, options)?;
        let first = cells(&text[start..header_end], delimiter);
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
            if !second.is_empty() && cells(second, delimiter).len() == names.len() + 1 {
                names.insert(0, String::new());
            }
        } else {
            names.extend((1..=first.len()).map(|number| format!("column{number}")));
        }
        let index = names.first().is_some_and(|name| name.is_empty()).then_some(0);
        let texts = if options.expected.is_some() { text_columns(text, body, delimiter) } else { Vec::new() };
        let holds_text = |column: usize| texts.get(column).copied().unwrap_or(false);
        let columns = Columns::assign(&names, index, file, options, holds_text)?;
        if options.transpose && options.label.is_some() && columns.roles.id.is_none() {
            return Err(Error::Options {
                problem: phrase![OptionName::Label, " names a row of a transposed table, and no column names the rows"],
                advice: phrase!["give the column with the names of the rows with ", OptionName::Id],
            });
        }
        let layout = Layout { file, options, delimiter, named: options.header, names, columns, texts_met: None };
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
fn text_columns(text: &[u8], body: usize, delimiter: u8) -> Vec<bool> {
    const LOOKED_AT: usize = 64;
    let mut texts = Vec::new();
    let mut start = skip_blank(text, body);
    for _ in 0..LOOKED_AT {
        let end = record_end(text, start);
        let record = cells(&text[start..end], delimiter);
        texts.resize(texts.len().max(record.len()), false);
        for (is_text, cell) in texts.iter_mut().zip(&record) {
            *is_text |= !super::cell::is_number_or_missing(cell);
        }
        start = skip_blank(text, end);
        if start == text.len() {
            break;
        }
    }
    texts
}

/// Where the first line that is not blank starts, after a byte order mark.
fn start_of_text(text: &[u8], file: &str) -> Result<usize, Error> {
    let beginning = &text[..text.len().min(4096)];
    if beginning.starts_with(&[0xff, 0xfe]) || beginning.starts_with(&[0xfe, 0xff]) {
        return Err(Error::unsupported(file, "its text is UTF-16", "save it with the UTF-8 encoding"));
    }
    if memchr::memchr(0, beginning).is_some() {
        return Err(Error::unsupported(
            file,
            "is neither text nor a known binary format",
            phrase!["check the file, or name its format with ", OptionName::Format],
        ));
    }
    if memchr::memchr(b'\n', text).is_none() && memchr::memchr(b'\r', text).is_some_and(|at| at + 1 < text.len()) {
        return Err(Error::unsupported(
            file,
            "its lines end with a lone carriage return",
            "save it with Unix or Windows line ends",
        ));
    }
    let mark = if text.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
    let start = skip_blank(text, mark);
    if start == text.len() {
        return Err(Error::Empty { file: file.into() });
    }
    Ok(start)
}

/// The start of the next line that is not blank.
fn skip_blank(text: &[u8], mut start: usize) -> usize {
    while let Some(length) = memchr::memchr(b'\n', &text[start..]) {
        if !text[start..start + length].trim_ascii().is_empty() {
            return start;
        }
        start += length + 1;
    }
    if text[start..].trim_ascii().is_empty() { text.len() } else { start }
}

/// The end of the record at `start`, with its line end: a line, or more when quotes span lines.
fn record_end(text: &[u8], start: usize) -> usize {
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

/// The delimiter: as given, as the file's name says, or the one that comes most often in the header.
fn delimiter(header: &[u8], file: &str, options: &ReadOptions) -> Result<u8, Error> {
    if let Some(given) = options.delimiter {
        if given.is_ascii_alphanumeric() || b".+-\"\r\n".contains(&given) || !given.is_ascii() {
            return Err(Error::Options {
                problem: format!("'{}' cannot separate numbers", excerpt(&[given])).into(),
                advice: phrase!["give ", OptionName::Delimiter, " one of , ; tab space or |"],
            });
        }
        return Ok(given);
    }
    if let Some(named) = delimiter_of(file) {
        return Ok(named);
    }
    let count = |delimiter| cells(header, delimiter).len();
    let mut best = b',';
    for candidate in [b';', b'\t'] {
        if count(candidate) > count(best) {
            best = candidate;
        }
    }
    Ok(best)
}
