//! Comma-, semicolon- and tab-separated text.
//!
//! The first line that is neither blank nor a comment is the header (unless there is none); encoding, delimiter and decimal mark
//! are found in the text (`text`). A first column without a
//! name, as pandas and R write the row index, holds the ids; so does the extra first cell of each row
//! where the header is one cell short, as R's `write.table` does. Blank lines are skipped, and white
//! space around a cell does not count.
//!
//! A body without quotes takes the fast way (`plain`): numbers are parsed in place, lines in parallel.
//! A body with quotes goes through the `csv` crate (`quoted`). Both use the same cells (`cell`).

mod cell;
mod facts;
mod layout;
mod plain;
mod quoted;
mod sheet;
mod text;

use crate::error::{closest, phrase, without_header};
use crate::finish::{Draft, check_names};
use crate::forecast::TableShape;
use crate::{DenseValues, Error, OptionName, ReadOptions, TextCells, Values};
pub(crate) use facts::{begins_with_data, facts};
use layout::Layout;
pub(crate) use sheet::Sheet;
use text::Text;

/// A cell of what is known of samples, nothing where it is missing; and the number in it.
pub(crate) use cell::{known, measured};

/// Reads a whole text table.
pub(crate) fn read(text: &[u8], file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    let text = Text::find(text, file, options)?;
    let (own, options) = &text.known_apart(options);
    let (layout, body) = Layout::find(&text, file, options)?;
    let known = known_of_samples(&text, &layout, own);
    let mut draft = read_rows(&text.bytes, body, &layout)?.into_draft(layout, text.notes)?;
    draft.texts.extend(known);
    Ok(draft)
}

/// What the file says of the columns that are samples, of what is wanted.
fn known_of_samples(text: &Text, layout: &Layout, wanted: &[String]) -> Vec<TextCells> {
    let samples: Vec<usize> = (0..layout.width()).filter(|&column| !layout.columns.is_text(column)).collect();
    let of_samples = |name: &String| {
        let cells = text.known.iter().find(|cells| cells[0] == *name)?;
        let cells = samples.iter().map(|&column| cells[column].clone()).collect();
        Some(TextCells { name: name.clone(), cells, categorical: false })
    };
    wanted.iter().filter_map(of_samples).collect()
}

/// Reads a text table without its columns of text, whoever has not named them. Gives the names of those that were met, also
/// beside an error: it may be one in such a column.
pub(crate) fn read_numbers(text: &[u8], file: &str, options: &ReadOptions) -> (Vec<String>, Result<Draft, Error>) {
    let text = match Text::find(text, file, options) {
        Ok(text) => text,
        Err(error) => return (Vec::new(), Err(error)),
    };
    let (_, options) = &text.known_apart(options);
    let (mut layout, body) = match Layout::find(&text, file, options) {
        Ok(found) => found,
        Err(error) => return (Vec::new(), Err(error)),
    };
    layout.watch_for_texts();
    let rows = read_rows(&text.bytes, body, &layout);
    let texts = layout.texts_met();
    let ignore = [&options.ignore[..], &texts].concat();
    let draft = rows.and_then(|rows| {
        let narrower = ReadOptions { ignore, ..options.clone() };
        let (narrow, _) = Layout::find(&text, file, &narrower)?;
        rows.narrowed(&layout, &narrow).into_draft(narrow, text.notes)
    });
    (texts, draft)
}

/// The first lines of a text.
pub(crate) fn beginning(text: &[u8]) -> &[u8] {
    const LINES: usize = 64;
    memchr::memchr_iter(b'\n', text).nth(LINES).map_or(text, |end| &text[..=end])
}

fn read_rows(text: &[u8], body: usize, layout: &Layout) -> Result<Rows, Error> {
    if layout.options.header && !layout.options.transpose {
        // Before the cells, so that a column is never complained about without its name.
        check_names(&layout.columns.numeric_names(layout.names.clone()), layout.file)?;
    }
    let rows = without_empty_rows(&text[body..], layout.delimiter);
    match memchr::memchr(b'"', rows) {
        None => plain::read(rows, body, text, layout),
        Some(_) => quoted::read(rows, body, text, layout),
    }
}

/// The rows without those at the end that have delimiters and nothing else, as spreadsheets leave them.
fn without_empty_rows(mut rows: &[u8], delimiter: u8) -> &[u8] {
    while let Some(start) = memchr::memrchr(b'\n', rows.strip_suffix(b"\n").unwrap_or(rows))
        && rows[start + 1..].iter().all(|byte| *byte == delimiter || byte.is_ascii_whitespace())
    {
        rows = &rows[..=start];
    }
    rows
}

/// The shape of a table of `whole` bytes, from its beginning: rows are taken to be as long as those that are there.
pub(crate) fn shape(head: &[u8], whole: usize, file: &str, options: &ReadOptions) -> Option<TableShape> {
    let is_beginning = head.len() < whole;
    let text = Text::find(head, file, options).ok()?;
    // Another encoding may take more bytes, or fewer.
    let whole = (whole as f64 * (text.bytes.len() as f64 / head.len().max(1) as f64)) as usize;
    let (layout, body) = Layout::find(&text, file, options).ok()?;
    let rest = &text.bytes[body..];
    let rows = if is_beginning {
        let lines = memchr::memchr_iter(b'\n', rest).count();
        let end = memchr::memrchr(b'\n', rest)? + 1;
        (whole.saturating_sub(body) as f64 * lines as f64 / end as f64).round() as usize
    } else {
        memchr::memchr_iter(b'\n', rest.trim_ascii()).count() + 1
    };
    Some(TableShape::dense(rows, layout.numeric_columns()))
}

/// The body of a table.
struct Rows {
    /// The numbers, row after row; a missing cell is NaN.
    numbers: Vec<f64>,
    /// The text cells that the layout wants, row after row.
    texts: Vec<String>,
    /// The cells of the row that holds the labels (transposed tables only).
    label_row: Option<Vec<String>>,
}

impl Rows {
    /// Without the numbers of columns that are text in another layout of the same table.
    fn narrowed(mut self, wide: &Layout, narrow: &Layout) -> Rows {
        let numeric = (0..wide.width()).filter(|&column| !wide.columns.is_text(column));
        let kept: Vec<bool> = numeric.map(|column| !narrow.columns.is_text(column)).collect();
        let mut column = kept.iter().cycle();
        self.numbers.retain(|_| column.next().is_some_and(|kept| *kept));
        self
    }

    fn into_draft(self, layout: Layout, notes: Vec<String>) -> Result<Draft, Error> {
        let columns = layout.numeric_columns();
        if columns == 0 {
            return Err(Error::Nothing {
                file: layout.file.into(),
                what: "numeric columns",
                advice: phrase!["check the delimiter, or pass ", OptionName::Delimiter],
            });
        }
        let rows = self.numbers.len() / columns;
        if rows == 0 {
            return Err(Error::Nothing {
                file: layout.file.into(),
                what: "rows below its header",
                advice: without_header(),
            });
        }
        if let (Some(label), true, None) = (&layout.options.label, layout.options.transpose, &self.label_row) {
            return Err(Error::NoColumn {
                file: layout.file.into(),
                role: OptionName::Label,
                name: label.clone(),
                known: closest(label, self.texts.iter().map(String::as_str)),
            });
        }
        let slots = layout.columns.slots();
        let column = |slot: Option<usize>| {
            slot.map(|slot| self.texts.iter().skip(slot).step_by(slots.stride).cloned().collect())
        };
        let name = |column: &usize| layout.names[*column].clone();
        let others = layout.columns.others.iter().zip(&slots.others);
        let texts = others.map(|(at, &slot)| TextCells {
            name: name(at),
            cells: column(Some(slot)).unwrap_or_default(),
            categorical: false,
        });
        Ok(Draft {
            texts: texts.collect(),
            left_out: layout.columns.left_out.iter().map(name).collect(),
            palettes: Vec::new(),
            ids: column(slots.id),
            labels: self.label_row.clone().or_else(|| column(slots.label)),
            filter: column(slots.filter),
            roles_open: false,
            notes,
            features: layout.into_feature_names(),
            values: Values::Dense(DenseValues { rows, columns, data: self.numbers }),
        })
    }
}

#[cfg(test)]
mod tests;
