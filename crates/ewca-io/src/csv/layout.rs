//! What each column of a text table is for.

use std::borrow::Cow;

use crate::error::{closest, excerpt};
use crate::format::delimiter_of;
use crate::{Error, Place, ReadOptions, Role};

/// The columns of a text table.
pub(super) struct Layout<'a> {
    pub file: &'a str,
    pub options: &'a ReadOptions,
    pub delimiter: u8,
    /// Whether the names come from the file.
    named: bool,
    /// One name per cell of a row.
    pub names: Vec<String>,
    /// The columns that are not numbers, in order.
    pub texts: Vec<TextColumn>,
    roles: Roles,
}

/// A column that is kept out of the numbers.
#[derive(Clone, Copy)]
pub(super) struct TextColumn {
    pub column: usize,
    /// Whether its text is kept.
    pub kept: bool,
}

/// The columns with a meaning of their own.
#[derive(Clone, Copy, Default)]
struct Roles {
    id: Option<usize>,
    label: Option<usize>,
    filter: Option<usize>,
}

/// Where among the kept texts of a row the id, the label and the filter are.
pub(super) struct Slots {
    pub id: Option<usize>,
    pub label: Option<usize>,
    pub filter: Option<usize>,
    pub count: usize,
}

impl<'a> Layout<'a> {
    /// Reads the header; returns the layout and where the body starts.
    pub fn find(text: &[u8], file: &'a str, options: &'a ReadOptions) -> Result<(Layout<'a>, usize), Error> {
        let start = start_of_text(text, file)?;
        let header_end = record_end(text, start);
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
                names.push(name.trim().to_string());
            }
            let next = skip_blank(text, body);
            let second = &text[next..record_end(text, next)];
            if !second.is_empty() && cells(second, delimiter).len() == names.len() + 1 {
                names.insert(0, String::new());
            }
        } else {
            names.extend((1..=first.len()).map(|number| format!("column{number}")));
        }
        let mut layout = Layout {
            file,
            options,
            delimiter,
            named: options.header,
            names,
            texts: Vec::new(),
            roles: Roles::default(),
        };
        layout.assign_roles()?;
        Ok((layout, body))
    }

    fn assign_roles(&mut self) -> Result<(), Error> {
        let options = self.options;
        if options.transpose && options.filter.is_some() {
            return Err(Error::Options {
                problem: "--where chooses rows, and --transpose makes features of them".into(),
                advice: "leave out one of the two".into(),
            });
        }
        let unnamed = self.names.first().is_some_and(|name| name.is_empty()).then_some(0);
        let id = options.id.as_ref().map(|name| self.column(name, Role::Id)).transpose()?.or(unnamed);
        // In a transposed table the labels are a row, not a column.
        let label = options.label.as_ref().filter(|_| !options.transpose);
        let label = label.map(|name| self.column(name, Role::Label)).transpose()?;
        let filter = options.filter.as_ref().map(|(name, _)| self.column(name, Role::Filter)).transpose()?;
        if options.transpose && options.label.is_some() && id.is_none() {
            return Err(Error::Options {
                problem: "--label names a row of a transposed table, and no column names the rows".into(),
                advice: "give the column with the names of the rows with --id".into(),
            });
        }
        self.roles = Roles { id, label, filter };
        let kept: Vec<usize> = [id, label, filter].into_iter().flatten().collect();
        let mut columns = kept.clone();
        columns.extend(unnamed);
        for name in &options.ignore {
            columns.push(self.column(name, Role::Ignore)?);
        }
        columns.sort_unstable();
        columns.dedup();
        self.texts = columns.into_iter().map(|column| TextColumn { column, kept: kept.contains(&column) }).collect();
        Ok(())
    }

    fn column(&self, name: &str, role: Role) -> Result<usize, Error> {
        self.names.iter().position(|known| known == name).ok_or_else(|| Error::NoColumn {
            file: self.file.into(),
            role,
            name: excerpt(name.as_bytes()),
            known: closest(name, self.names.iter().map(String::as_str).filter(|name| !name.is_empty())),
        })
    }

    /// The number of cells in a row.
    pub fn width(&self) -> usize {
        self.names.len()
    }

    /// The number of cells in a row that are numbers.
    pub fn numeric_columns(&self) -> usize {
        self.width() - self.texts.len()
    }

    pub fn slots(&self) -> Slots {
        let kept: Vec<usize> = self.texts.iter().filter(|text| text.kept).map(|text| text.column).collect();
        let slot = |column: Option<usize>| column.and_then(|c| kept.iter().position(|&k| k == c));
        Slots {
            id: slot(self.roles.id),
            label: slot(self.roles.label),
            filter: slot(self.roles.filter),
            count: kept.len().max(1),
        }
    }

    /// In a transposed table with labels: the column of row names, and the name of the label row.
    pub fn label_row(&self) -> Option<(usize, &'a str)> {
        let label = self.options.label.as_deref().filter(|_| self.options.transpose)?;
        Some((self.roles.id?, label))
    }

    /// The names of the numeric columns. Numbers given to columns do not count as names of samples.
    pub fn into_feature_names(self) -> Option<Vec<String>> {
        let mut texts = self.texts.iter().map(|text| text.column).peekable();
        let features = self.names.into_iter().enumerate().filter(|(column, _)| {
            let is_text = texts.peek() == Some(column);
            if is_text {
                texts.next();
            }
            !is_text
        });
        (self.named || !self.options.transpose).then(|| features.map(|(_, name)| name).collect())
    }
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
            "check the file, or name its format with --format",
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
                problem: format!("'{}' cannot separate numbers", excerpt(&[given])),
                advice: "give --delimiter one of , ; tab space or |".into(),
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
