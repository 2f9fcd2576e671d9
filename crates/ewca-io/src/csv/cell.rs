//! One cell of a text table.

use super::layout::Layout;
use super::text::{is_decimal_comma, may_be_thousands, with_point};
use crate::error::excerpt;
use crate::write::undefused;
use crate::{Error, Missing, Place};

/// What stands for a missing number, beside the words of the options. (`NaN` in any case parses as a number that is not finite.)
const MISSING: [&[u8]; 12] =
    [b"", b"NA", b"N/A", b"n/a", b"#N/A", b"<NA>", b"null", b"NULL", b"None", b"?", b".", b"-"];

/// The number in a cell; NaN when it is missing and that is allowed.
/// `line` is asked for only when there is something to complain about.
pub(super) fn number(cell: &[u8], column: usize, layout: &Layout, line: impl Fn() -> usize) -> Result<f64, Error> {
    let trimmed = cell.trim_ascii();
    let is_missing = is_missing(trimmed, &layout.options.missing_values);
    let parsed = if layout.decimal_comma { parsed_with_comma(trimmed) } else { parsed(trimmed) };
    if let Some(value) = parsed.filter(|value| value.is_finite() && !is_missing) {
        return Ok(value);
    }
    if layout.is_text_met(column) {
        return Ok(f64::NAN);
    }
    let place = || Place::Line(line());
    let (file, name) = (layout.file.to_string(), excerpt(layout.names[column].as_bytes()));
    if is_missing || parsed.is_some_and(f64::is_nan) {
        return match layout.options.missing {
            Missing::Error => Err(Error::MissingCell { file, place: place(), column: name }),
            _ => Ok(f64::NAN),
        };
    }
    let is_comma = !layout.decimal_comma && (is_decimal_comma(trimmed) || may_be_thousands(trimmed));
    if parsed.is_none() && !is_comma && layout.meet_text(column) {
        return Ok(f64::NAN);
    }
    let cell = excerpt(trimmed);
    if is_comma {
        return Err(Error::DecimalComma { file, place: place(), column: name, cell });
    }
    if let Some(what) = beside_number(trimmed, layout.decimal_comma).filter(|_| parsed.is_none()) {
        return Err(Error::NotBare { file, place: place(), column: name, cell, what });
    }
    Err(match parsed {
        Some(_) => Error::NotFinite { file, place: place(), column: name, cell },
        None => Error::NotANumber { file, place: place(), column: name, cell },
    })
}

fn parsed(cell: &[u8]) -> Option<f64> {
    let unsigned = cell.strip_prefix(b"+").filter(|rest| !rest.starts_with(b"-")).unwrap_or(cell);
    fast_float2::parse(unsigned).ok()
}

/// A point would separate thousands, or be a mistake: nobody can tell.
fn parsed_with_comma(cell: &[u8]) -> Option<f64> {
    match with_point(cell) {
        _ if cell.contains(&b'.') => None,
        Some(cell) => parsed(&cell),
        None => parsed(cell),
    }
}

/// What stands beside a number, if a cell is one but for that.
fn beside_number(cell: &[u8], decimal_comma: bool) -> Option<&'static str> {
    const LONGEST_UNIT: usize = 12;
    if let Some(rest) = cell.strip_suffix(b"%") {
        return parsed(rest.trim_ascii()).map(|_| "a percent sign");
    }
    if let Some(rest) = cell.strip_prefix(b"$") {
        return parsed(rest.trim_ascii()).map(|_| "a currency");
    }
    if decimal_comma && cell.contains(&b'.') {
        let without: Vec<u8> = cell.iter().copied().filter(|&byte| byte != b'.').collect();
        return parsed_with_comma(&without).map(|_| "a point, although the table has decimal commas");
    }
    let (_, length) = fast_float2::parse_partial::<f64, _>(cell).ok().filter(|(value, _)| value.is_finite())?;
    let unit = cell[length..].trim_ascii();
    let is_letter = |byte: &u8| byte.is_ascii_alphabetic() || !byte.is_ascii();
    let is_unit =
        unit.len() <= LONGEST_UNIT && unit.first().is_some_and(is_letter) && !unit.iter().any(u8::is_ascii_digit);
    is_unit.then_some("a unit")
}

/// A cell of what is known of samples: nothing where it is missing.
pub(crate) fn known<'a>(cell: &'a str, missing_values: &[String]) -> Option<&'a str> {
    let cell = cell.trim();
    let is_missing = is_missing(cell.as_bytes(), missing_values) || cell.eq_ignore_ascii_case("nan");
    (!is_missing).then_some(cell)
}

/// The number in such a cell; one that is not finite is none that could be compared.
pub(crate) fn measured(cell: &str, decimal_comma: bool) -> Option<f64> {
    if decimal_comma { parsed_with_comma(cell.as_bytes()) } else { parsed(cell.as_bytes()) }
}

fn is_missing(cell: &[u8], more: &[String]) -> bool {
    MISSING.contains(&cell) || more.iter().any(|word| word.as_bytes() == cell)
}

/// Whether a cell could stand in a column of numbers.
pub(super) fn is_number_or_missing(cell: &[u8], missing_values: &[String]) -> bool {
    let trimmed = cell.trim_ascii();
    is_missing(trimmed, missing_values) || parsed(trimmed).is_some() || is_decimal_comma(trimmed)
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
