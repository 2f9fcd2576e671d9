//! One cell of a text table.

use super::layout::Layout;
use crate::error::excerpt;
use crate::write::undefused;
use crate::{Error, Missing, Place};

/// What stands for a missing number. (`NaN` in any case parses as a number that is not finite.)
const MISSING: [&[u8]; 6] = [b"", b"NA", b"N/A", b"null", b"NULL", b"n/a"];

/// The number in a cell; NaN when it is missing and that is allowed.
/// `line` is asked for only when there is something to complain about.
pub(super) fn number(cell: &[u8], column: usize, layout: &Layout, line: impl Fn() -> usize) -> Result<f64, Error> {
    let trimmed = cell.trim_ascii();
    let unsigned = trimmed.strip_prefix(b"+").filter(|rest| !rest.starts_with(b"-")).unwrap_or(trimmed);
    let parsed = fast_float2::parse::<f64, _>(unsigned).ok();
    if let Some(value) = parsed.filter(|value| value.is_finite()) {
        return Ok(value);
    }
    if layout.is_text_met(column) {
        return Ok(f64::NAN);
    }
    let place = || Place::Line(line());
    let (file, name) = (layout.file.to_string(), excerpt(layout.names[column].as_bytes()));
    if MISSING.contains(&trimmed) || parsed.is_some_and(f64::is_nan) {
        return match layout.options.missing {
            Missing::Error => Err(Error::MissingCell { file, place: place(), column: name }),
            _ => Ok(f64::NAN),
        };
    }
    let is_comma = layout.delimiter != b',' && is_decimal_comma(trimmed);
    if parsed.is_none() && !is_comma && layout.meet_text(column) {
        return Ok(f64::NAN);
    }
    let cell = excerpt(trimmed);
    if is_comma {
        return Err(Error::DecimalComma { file, place: place(), column: name, cell });
    }
    Err(match parsed {
        Some(_) => Error::NotFinite { file, place: place(), column: name, cell },
        None => Error::NotANumber { file, place: place(), column: name, cell },
    })
}

/// Whether a cell could stand in a column of numbers.
pub(super) fn is_number_or_missing(cell: &[u8]) -> bool {
    let trimmed = cell.trim_ascii();
    MISSING.contains(&trimmed) || fast_float2::parse::<f64, _>(trimmed.strip_prefix(b"+").unwrap_or(trimmed)).is_ok()
}

fn is_decimal_comma(cell: &[u8]) -> bool {
    let mut comma = cell.iter().enumerate().filter(|(_, byte)| **byte == b',').map(|(at, _)| at);
    let (Some(at), None) = (comma.next(), comma.next()) else { return false };
    let with_point = [&cell[..at], b".", &cell[at + 1..]].concat();
    fast_float2::parse::<f64, _>(with_point).is_ok()
}

/// The text in a cell.
pub(super) fn text(cell: &[u8], column: usize, layout: &Layout, line: impl Fn() -> usize) -> Result<String, Error> {
    let text = std::str::from_utf8(cell)
        .map_err(|_| Error::NotUtf8 { file: layout.file.into(), place: Place::Line(line()) })?
        .trim();
    let is_label = layout.options.label.as_deref() == Some(layout.names[column].as_str());
    if text.is_empty() && is_label && layout.options.missing != Missing::DropRows {
        return Err(Error::MissingLabel { file: layout.file.into(), place: Place::Line(line()) });
    }
    Ok(undefused(text).to_string())
}

/// The number of the line that `position` is in, from 1.
pub(super) fn line_number(text: &[u8], position: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..position]).count() + 1
}
