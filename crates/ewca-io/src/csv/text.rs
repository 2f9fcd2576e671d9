//! A text table before its cells: its encoding, the lines in front of the table, what separates cells, and the decimal mark. Each
//! is found in the text, unless the options say it.

use std::borrow::Cow;

use super::cell::is_number_or_missing;
use super::layout::{cells, record_end, skip_blank};
use crate::error::{counted, excerpt, phrase};
use crate::format::delimiter_of;
use crate::memory::check_room;
use crate::{Error, OptionName, ReadOptions};

/// As many rows as are looked at to know how the others are written.
pub(super) const LOOKED_AT: usize = 64;
/// Lines that begin so, in front of a table, are no part of it.
const COMMENTS: &[u8] = b"#!%";

/// A text in UTF-8, and how its table is written.
pub(super) struct Text<'a> {
    pub bytes: Cow<'a, [u8]>,
    /// Where the first line of the table starts.
    pub start: usize,
    pub delimiter: u8,
    /// What the comment lines begin with, where there are some in front of the table: there may be more in it.
    pub comment: Option<u8>,
    /// Whether rows end with a delimiter that has no cell behind it.
    pub trailing: bool,
    /// Whether numbers have a comma where others have a point.
    pub decimal_comma: bool,
    /// What is unusual about it, for people.
    pub notes: Vec<String>,
    /// How many columns, behind the first, say what is known of the rows, and are no part of the table (GCT 1.3).
    pub described: usize,
    /// What is known of the columns, each with a cell for every column of the file (GCT 1.3).
    pub known: Vec<Vec<String>>,
}

impl<'a> Text<'a> {
    pub fn find(raw: &'a [u8], file: &str, options: &ReadOptions) -> Result<Text<'a>, Error> {
        let mut notes = Vec::new();
        let mut bytes = decoded(raw, file, options, &mut notes)?;
        let mark = if bytes.starts_with(&[0xef, 0xbb, 0xbf]) { 3 } else { 0 };
        check_lines(&bytes, file)?;
        let Preface { start, given, comment, comments, described } = Preface::find(&bytes, mark, options);
        if start == bytes.len() {
            return Err(Error::Empty { file: file.into() });
        }
        let known = match described {
            Some([_, rows]) if rows > 0 => take_known(&mut bytes, start, rows, file, options)?,
            _ => Vec::new(),
        };
        if !known.is_empty() {
            let names: Vec<String> = known.iter().take(8).map(|cells| excerpt(cells[0].as_bytes())).collect();
            let more = if known.len() > names.len() { " and others" } else { "" };
            notes.push(format!("a GCT file with {}{more} for its samples", names.join(", ")));
        }
        let described = described.map_or(0, |[columns, _]| columns);
        if comments > 0 {
            notes.push(format!("{} before the table skipped", counted(comments, "line")));
        }
        let (trailing, decimal_comma) = (false, false);
        let mut text =
            Text { bytes, start, delimiter: b',', comment, trailing, decimal_comma, notes, described, known };
        text.delimiter = match given {
            Some(delimiter) => delimiter,
            None => text.delimiter(file, options)?,
        };
        if text.delimiter == b' ' {
            text = text.with_tabs(file)?;
            text.notes.push("cells separated by spaces".into());
        }
        text.take_commented_header(options);
        let [first, second] = text.first_two();
        let [wide, next] = [first, second].map(|record| cells(record, text.delimiter));
        let ends_empty =
            |record: &[Cow<[u8]>]| record.len() > 2 && record.last().is_some_and(|cell| cell.trim_ascii().is_empty());
        text.trailing = (next.len() == wide.len() + 1 && options.header
            || next.len() == wide.len() && ends_empty(&wide))
            && text.first_rows().all(|row| ends_empty(&cells(row, text.delimiter)));
        text.decimal_comma = match options.decimal {
            Some(mark) => mark == b',',
            None => text.has_decimal_commas(),
        };
        if text.trailing {
            text.notes.push("a delimiter at the end of each line skipped".into());
        }
        if text.decimal_comma {
            text.notes.push("decimal commas".into());
        }
        Ok(text)
    }

    /// The annotations that the file knows of samples in its columns, and the options without them: they are no rows of the table.
    pub fn known_apart(&self, options: &ReadOptions) -> (Vec<String>, ReadOptions) {
        let is_known = |name: &String| options.transpose && self.known.iter().any(|cells| cells[0] == *name);
        let (own, annotations) = options.annotations.iter().cloned().partition(is_known);
        (own, ReadOptions { annotations, ..options.clone() })
    }

    /// The first line of the table and the next.
    fn first_two(&self) -> [&[u8]; 2] {
        let end = record_end(&self.bytes, self.start);
        let next = skip_blank(&self.bytes, end);
        [&self.bytes[self.start..end], &self.bytes[next..record_end(&self.bytes, next)]]
    }

    /// Some rows below the first line.
    fn first_rows(&self) -> impl Iterator<Item = &[u8]> {
        let mut at = record_end(&self.bytes, self.start);
        let rows = std::iter::from_fn(move || {
            let start = skip_blank(&self.bytes, at);
            at = record_end(&self.bytes, start);
            (start < self.bytes.len()).then(|| &self.bytes[start..at])
        });
        rows.take(LOOKED_AT)
    }

    /// The delimiter: as given, as the file's name says, or the one that comes most often in the first line. Spaces, where
    /// the others do not make cells of the first two lines, and spaces do.
    fn delimiter(&self, file: &str, options: &ReadOptions) -> Result<u8, Error> {
        if let Some(given) = options.delimiter {
            if given.is_ascii_alphanumeric() || b".+-\"\r\n".contains(&given) || !given.is_ascii() {
                return Err(Error::Options {
                    problem: format!("'{}' cannot separate numbers", excerpt(&[given])).into(),
                    advice: phrase!["give ", OptionName::Delimiter, " one of , ; tab space or |"],
                });
            }
            return Ok(given);
        }
        let [first, second] = self.first_two();
        let count = |delimiter| cells(first, delimiter).len();
        let candidates = [b',', b';', b'\t', b'|'].into_iter().rev();
        let best = delimiter_of(file).unwrap_or_else(|| candidates.max_by_key(|&byte| count(byte)).unwrap_or(b','));
        let fits = |wide: usize, next: usize| wide > 1 && (wide == next || wide + 1 == next);
        if fits(count(best), cells(second, best).len()) {
            return Ok(best);
        }
        let spaced = |record: &[u8]| words(record).count();
        Ok(if fits(spaced(first), spaced(second)) { b' ' } else { best })
    }

    /// The same with a tab between cells that were separated by any number of spaces and tabs. Lines stay lines.
    fn with_tabs(self, file: &str) -> Result<Text<'a>, Error> {
        check_room(self.bytes.len() as u64, file)?;
        let mut bytes = Vec::with_capacity(self.bytes.len());
        bytes.extend_from_slice(&self.bytes[..self.start]);
        let mut at = self.start;
        while at < self.bytes.len() {
            let end = record_end(&self.bytes, at);
            for (number, word) in words(&self.bytes[at..end]).enumerate() {
                bytes.extend_from_slice(if number > 0 { b"\t" } else { b"" });
                bytes.extend_from_slice(word);
            }
            if self.bytes[at..end].ends_with(b"\n") {
                bytes.push(b'\n');
            }
            at = end;
        }
        Ok(Text { bytes: bytes.into(), delimiter: b'\t', ..self })
    }

    /// A comment line just above numbers, with as many cells as they have, is the header: so `numpy.savetxt` writes it.
    fn take_commented_header(&mut self, options: &ReadOptions) {
        let Some(mark) = self.comment.filter(|_| options.header) else { return };
        let above = self.bytes[..self.start].trim_ascii_end();
        let line = memchr::memrchr(b'\n', above).map_or(0, |end| end + 1);
        let blank = self.bytes[line..].iter().take_while(|&&byte| byte == mark || byte == b' ').count();
        let is_number = |cell: &Cow<[u8]>| is_number_or_missing(cell, &[]);
        let (names, [first, _]) = (&above[(line + blank).min(above.len())..], self.first_two());
        let data = cells(first, self.delimiter);
        if above.get(line) != Some(&mark) || data.len() < 2 || !data.iter().any(is_number) {
            return;
        }
        if cells(names, self.delimiter).len() == data.len() && !cells(names, self.delimiter).iter().all(is_number) {
            self.start = line + blank;
        } else if words(names).count() == data.len() && !words(names).all(|word| is_number(&word.into())) {
            // The prefix has not been rewritten with tabs.
            let tabbed = words(names).collect::<Vec<_>>().join(&b'\t');
            let (start, end) = (line + blank, line + blank + names.len());
            if tabbed.len() <= names.len() && self.delimiter == b'\t' {
                let bytes = self.bytes.to_mut();
                bytes[start..end].fill(b' ');
                bytes[start..start + tabbed.len()].copy_from_slice(&tabbed);
                self.start = start;
            }
        }
    }

    /// Whether the first rows have numbers with decimal commas, and none with a point. Commas that may separate thousands do
    /// not tell.
    fn has_decimal_commas(&self) -> bool {
        if self.delimiter == b',' {
            return false;
        }
        let (mut at, mut found) = (self.start, false);
        for _ in 0..LOOKED_AT {
            let end = record_end(&self.bytes, at);
            for cell in cells(&self.bytes[at..end], self.delimiter) {
                let cell = cell.trim_ascii();
                if cell.contains(&b'.') && fast_float2::parse::<f64, _>(cell).is_ok() {
                    return false;
                }
                found |= is_decimal_comma(cell) && !may_be_thousands(cell);
            }
            at = end;
        }
        found
    }
}

/// A number with a comma for its point.
pub(super) fn is_decimal_comma(cell: &[u8]) -> bool {
    with_point(cell).is_some_and(|cell| fast_float2::parse::<f64, _>(cell).is_ok())
}

/// The cell with a point in the place of its only comma.
pub(super) fn with_point(cell: &[u8]) -> Option<Vec<u8>> {
    let mut commas = memchr::memchr_iter(b',', cell);
    let (at, None) = (commas.next()?, commas.next()) else { return None };
    Some([&cell[..at], b".", &cell[at + 1..]].concat())
}

/// Whether commas in a number may separate thousands: `1,234`, `12,345,678.9`.
pub(super) fn may_be_thousands(cell: &[u8]) -> bool {
    let unsigned = cell.strip_prefix(b"-").unwrap_or(cell);
    let whole = unsigned.split(|&byte| byte == b'.').next().unwrap_or_default();
    let mut groups = whole.split(|&byte| byte == b',');
    let digits = |group: &[u8]| group.iter().all(u8::is_ascii_digit);
    let first = groups.next().unwrap_or_default();
    let rest: Vec<&[u8]> = groups.collect();
    (1..=3).contains(&first.len())
        && digits(first)
        && first != b"0"
        && !rest.is_empty()
        && rest.iter().all(|group| group.len() == 3 && digits(group))
}

/// What is between spaces and tabs; spaces within quotes do not count.
fn words(record: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut quoted = false;
    let between = move |byte: &u8| {
        quoted ^= *byte == b'"';
        !quoted && byte.is_ascii_whitespace()
    };
    record.split(between).filter(|word| !word.is_empty())
}

/// What is in front of a table.
struct Preface {
    start: usize,
    /// The delimiter that a first line `sep=;` gives, as spreadsheets write it.
    given: Option<u8>,
    comment: Option<u8>,
    comments: usize,
    /// How many columns of a GCT file say what is known of its rows, and how many rows what is known of its columns.
    described: Option<[usize; 2]>,
}

impl Preface {
    fn find(text: &[u8], mark: usize, options: &ReadOptions) -> Preface {
        let nothing =
            Preface { start: skip_blank(text, mark), given: None, comment: None, comments: 0, described: None };
        let mut found = Preface { ..nothing };
        let line = |start: usize| {
            let end = memchr::memchr(b'\n', &text[start..]).map_or(text.len(), |length| start + length + 1);
            (text[start..end].trim_ascii(), end)
        };
        if let (b"#1.2" | b"#1.3", end) = line(found.start) {
            // A GCT file: its second line has the numbers of rows and columns, and of those that describe the others.
            let (sizes, end) = line(end);
            let sizes = std::str::from_utf8(sizes).unwrap_or_default();
            let sizes: Vec<usize> = sizes.split_whitespace().map_while(|size| size.parse().ok()).collect();
            let described = if let &[_, _, columns, rows] = &sizes[..] { Some([columns, rows]) } else { None };
            let start = skip_blank(text, end);
            let given = options.delimiter.is_none().then_some(b'\t');
            return Preface { start, given, comments: 2, described, ..found };
        }
        if let (said, end) = line(found.start)
            && let [b's', b'e', b'p', b'=', delimiter @ (b',' | b';' | b'\t' | b'|')] = unquoted(said)
        {
            found.given = options.delimiter.is_none().then_some(*delimiter);
            found.start = skip_blank(text, end);
        }
        while let Some(first) = text.get(found.start).filter(|first| COMMENTS.contains(first)) {
            found.comment = Some(*first);
            found.comments += 1;
            found.start = skip_blank(text, line(found.start).1);
        }
        // Nothing but such lines: they are the table.
        if found.start == text.len() {
            return nothing;
        }
        found
    }
}

/// Blanks the rows of a GCT file, below its header, that say what is known of its samples, and returns them; lines stay where they are. The row
/// of the label stays, where samples are in columns: it is read as the label of any such table.
fn take_known(
    bytes: &mut Cow<'_, [u8]>,
    start: usize,
    rows: usize,
    file: &str,
    options: &ReadOptions,
) -> Result<Vec<Vec<String>>, Error> {
    let header = record_end(bytes, start);
    let width = cells(&bytes[start..header], b'\t').len();
    let (mut known, mut blanks, mut at) = (Vec::new(), Vec::new(), header);
    while known.len() < rows && at < bytes.len() {
        let (from, end) = (at, record_end(bytes, at));
        // Each cell is a text of its own, and may be empty.
        check_room(((end - header) as u64).saturating_mul(32).saturating_add(bytes.len() as u64), file)?;
        let row = cells(&bytes[from..end], b'\t');
        at = end;
        if row.len() != width {
            let line = super::cell::line_number(bytes, from);
            return Err(Error::Ragged { file: file.into(), line, found: row.len(), expected: width });
        }
        let row: Vec<String> = row.iter().map(|cell| String::from_utf8_lossy(cell.trim_ascii()).into_owned()).collect();
        if !(options.transpose && options.label.as_ref() == Some(&row[0])) {
            blanks.push(from..end);
        }
        known.push(row);
    }
    let text = bytes.to_mut();
    for range in blanks {
        text[range].iter_mut().filter(|byte| **byte != b'\n').for_each(|byte| *byte = b' ');
    }
    Ok(known)
}

fn unquoted(text: &[u8]) -> &[u8] {
    text.strip_prefix(b"\"").and_then(|text| text.strip_suffix(b"\"")).unwrap_or(text)
}

/// The text in UTF-8: it is in another encoding if it begins with the mark of UTF-16, or if the options say so.
fn decoded<'a>(
    raw: &'a [u8],
    file: &str,
    options: &ReadOptions,
    notes: &mut Vec<String>,
) -> Result<Cow<'a, [u8]>, Error> {
    let encoding = match &options.encoding {
        Some(name) => encoding_rs::Encoding::for_label(name.as_bytes()).ok_or_else(|| Error::Options {
            problem: format!("there is no encoding '{}'", excerpt(name.as_bytes())).into(),
            advice: phrase!["give ", OptionName::Encoding, " one such as utf-8, utf-16, latin1 or windows-1252"],
        })?,
        None if raw.starts_with(&[0xff, 0xfe]) => encoding_rs::UTF_16LE,
        None if raw.starts_with(&[0xfe, 0xff]) => encoding_rs::UTF_16BE,
        None => encoding_rs::UTF_8,
    };
    if encoding == encoding_rs::UTF_8 {
        return Ok(raw.into());
    }
    // No encoding takes less than a third of the bytes of UTF-8.
    check_room((raw.len() as u64).saturating_mul(3), file)?;
    let (text, found, _) = encoding.decode(raw);
    notes.push(format!("{} text", found.name()));
    Ok(text.into_owned().into_bytes().into())
}

/// Refuses what is no text, or has no lines.
fn check_lines(text: &[u8], file: &str) -> Result<(), Error> {
    if memchr::memchr(0, &text[..text.len().min(4096)]).is_some() {
        return Err(Error::unsupported(
            file,
            "is neither text nor a known binary format",
            phrase![
                "check the file, or set its format with ",
                OptionName::Format,
                ", or the text encoding with ",
                OptionName::Encoding
            ],
        ));
    }
    if memchr::memchr(b'\n', text).is_none() && memchr::memchr(b'\r', text).is_some_and(|at| at + 1 < text.len()) {
        return Err(Error::unsupported(
            file,
            "its lines end with a carriage return only (old Mac format)",
            "save it with Unix or Windows line endings",
        ));
    }
    Ok(())
}
