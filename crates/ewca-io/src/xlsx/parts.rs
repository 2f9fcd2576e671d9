//! What the cells of a sheet refer to: texts that are shared, and the formats of numbers.

use std::collections::HashSet;

use super::Trouble;
use super::dates::{is_date_format, written};
use super::xml::{Element, Piece};
use crate::Error;
use crate::memory::make_room;

/// A part that another one names.
pub(super) struct Relation {
    pub id: String,
    /// The last word of its type: `worksheet`, `styles`.
    pub kind: String,
    /// Its place in the archive.
    pub path: String,
}

impl Relation {
    /// The target is relative to the `folder` of the part that names it.
    pub fn of(element: &Element<'_>, folder: &str) -> Result<Option<Relation>, String> {
        let (Some(id), Some(kind), Some(target)) = (element.get("Id")?, element.get("Type")?, element.get("Target")?)
        else {
            return Ok(None);
        };
        let kind = kind.rsplit('/').next().unwrap_or_default().to_string();
        let mut path: Vec<&str> = if target.starts_with('/') { Vec::new() } else { folder.split('/').collect() };
        for step in target.split('/') {
            match step {
                "" | "." => {}
                ".." => drop(path.pop()),
                step => path.push(step),
            }
        }
        path.retain(|step| !step.is_empty());
        Ok(Some(Relation { id, kind, path: path.join("/") }))
    }
}

/// The texts that cells share, one behind the other.
#[derive(Default)]
pub(super) struct Strings {
    text: Vec<u8>,
    ends: Vec<usize>,
    is_open: bool,
    reading: Reading,
}

impl Strings {
    pub fn take(&mut self, piece: Piece<'_>, file: &str) -> Result<(), Trouble> {
        match piece {
            Piece::Start("si", _) => self.is_open = true,
            Piece::End("si") if self.is_open => {
                self.is_open = false;
                make_room(&mut self.ends, 1, file)?;
                self.ends.push(self.text.len());
            }
            Piece::Text(text) if self.is_open && self.reading.is_text() => {
                make_room(&mut self.text, text.len(), file)?;
                self.text.extend_from_slice(text.as_bytes());
            }
            piece => self.reading.follow(&piece),
        }
        Ok(())
    }

    pub fn get(&self, at: usize) -> Option<&str> {
        let start = if at == 0 { 0 } else { *self.ends.get(at - 1)? };
        std::str::from_utf8(self.text.get(start..*self.ends.get(at)?)?).ok()
    }
}

/// Where in a text with parts of several looks, and perhaps its pronunciation, one is.
#[derive(Default)]
pub(super) struct Reading {
    in_text: bool,
    in_sound: bool,
}

impl Reading {
    /// Whether what comes is a part of the text.
    pub fn is_text(&self) -> bool {
        self.in_text && !self.in_sound
    }

    pub fn follow(&mut self, piece: &Piece<'_>) {
        match piece {
            Piece::Start("t", _) => self.in_text = true,
            Piece::End("t") => self.in_text = false,
            Piece::Start("rPh", _) => self.in_sound = true,
            Piece::End("rPh") => self.in_sound = false,
            _ => {}
        }
    }
}

/// Which numbers are dates, by their style.
pub(super) struct Styles {
    from_1904: bool,
    /// Formats of the workbook's own that are of dates.
    own: HashSet<u32>,
    /// Whether each style is one of dates.
    dates: Vec<bool>,
    in_styles: bool,
}

impl Styles {
    pub fn new(from_1904: bool) -> Styles {
        Styles { from_1904, own: HashSet::new(), dates: Vec::new(), in_styles: false }
    }

    pub fn take(&mut self, piece: Piece<'_>) -> Result<(), Trouble> {
        match piece {
            Piece::Start("numFmt", element) => {
                let code = element.get("formatCode")?.unwrap_or_default();
                if let Some(id) = element.number("numFmtId")?.filter(|_| is_date_format(&code)) {
                    self.own.insert(id);
                }
            }
            Piece::Start("cellXfs", _) => self.in_styles = true,
            Piece::End("cellXfs") => self.in_styles = false,
            Piece::Start("xf", element) if self.in_styles => {
                let id = element.number("numFmtId")?.unwrap_or(0);
                // Those that are not written down.
                let is_known = matches!(id, 14..=22 | 27..=36 | 45..=47 | 50..=58);
                self.dates.push(is_known || self.own.contains(&id));
            }
            _ => {}
        }
        Ok(())
    }

    /// The date that a number of this style stands for, if it is one.
    pub fn date(&self, style: usize, number: f64) -> Option<String> {
        let is_date = self.dates.get(style).copied().unwrap_or(false);
        is_date.then(|| written(number, self.from_1904)).flatten()
    }
}

/// What is said of a formula that no program has calculated.
pub(super) fn not_calculated(cell: &str, file: &str) -> Error {
    let what = format!("has a formula without a value in cell {cell}");
    Error::unsupported(file, what, "open the workbook in Excel or LibreOffice, which calculates it, and save it again")
}
