//! The cells of a sheet, put where they belong.

use super::Trouble;
use super::parts::{Reading, Strings, Styles, not_calculated};
use super::xml::{LONGEST, Piece};
use crate::Error;
use crate::limit::Limit;
use crate::memory::make_room;

/// The size of a sheet in Excel.
const MOST_ROWS: u32 = 1 << 20;
const MOST_COLUMNS: u32 = 1 << 14;
/// A row with one cell is a title in front of a table of so many columns.
const WIDE: u32 = 3;

/// The cells of a sheet, as its XML gives them.
pub(super) struct Cells<'a> {
    strings: &'a Strings,
    styles: &'a Styles,
    limit: Limit,
    file: &'a str,
    grid: Grid,
    formulas: usize,
    row: u32,
    cell: Cell,
}

/// The cell that is being read.
#[derive(Default)]
struct Cell {
    column: u32,
    kind: String,
    style: usize,
    value: String,
    in_value: bool,
    reading: Reading,
    is_formula: bool,
}

impl<'a> Cells<'a> {
    pub fn new(strings: &'a Strings, styles: &'a Styles, limit: Limit, file: &'a str) -> Cells<'a> {
        let (grid, cell) = (Grid::default(), Cell::default());
        Cells { strings, styles, limit, file, grid, formulas: 0, row: 0, cell }
    }

    pub fn finish(self) -> (Grid, usize) {
        (self.grid, self.formulas)
    }

    /// Takes a piece of the sheet; whether there are more.
    pub fn take(&mut self, piece: Piece<'_>) -> Result<bool, Trouble> {
        match piece {
            Piece::Start("row", element) => self.begin_row(element.number("r")?.unwrap_or(self.row + 1))?,
            Piece::Start("c", element) => {
                let column = match element.get("r")? {
                    Some(place) => column_of(&place).ok_or("a cell has no position")?,
                    None => self.cell.column + 1,
                };
                self.begin_cell(column)?;
                self.cell.kind = element.get("t")?.unwrap_or_default();
                self.cell.style = element.number("s")?.unwrap_or(0);
            }
            Piece::Start("v", _) => self.cell.in_value = true,
            Piece::End("v") => self.cell.in_value = false,
            Piece::Start("f", _) => self.cell.is_formula = true,
            Piece::Text(text) if self.cell.in_value || self.cell.reading.is_text() => {
                self.cell.value.push_str(text);
                if self.cell.value.len() > LONGEST {
                    return Err(Trouble::Broken("a cell is too long".into()));
                }
            }
            Piece::End("c") => self.end_cell()?,
            Piece::End("sheetData") => return Ok(false),
            piece => self.cell.reading.follow(&piece),
        }
        Ok(true)
    }

    fn begin_row(&mut self, row: u32) -> Result<(), Trouble> {
        if row <= self.row || row > MOST_ROWS {
            return Err(Trouble::Broken(format!("row {row} is out of order")));
        }
        self.row = row;
        self.cell.column = 0;
        Ok(())
    }

    fn begin_cell(&mut self, column: u32) -> Result<(), Trouble> {
        if column <= self.cell.column || column > MOST_COLUMNS || self.row == 0 {
            return Err(Trouble::Broken(format!("a cell of row {} is out of order", self.row)));
        }
        let value = std::mem::take(&mut self.cell.value);
        self.cell = Cell { column, value, ..Cell::default() };
        self.cell.value.clear();
        Ok(())
    }

    fn end_cell(&mut self) -> Result<(), Trouble> {
        let value = self.cell.value.trim();
        self.formulas += usize::from(self.cell.is_formula);
        let text = match &self.cell.kind[..] {
            "s" => {
                let at = value.parse().map_err(|_| "a cell refers to no text".to_string())?;
                self.strings.get(at).ok_or("a cell refers to a text that does not exist")?.trim()
            }
            "b" if value == "1" => "TRUE",
            "b" if value == "0" => "FALSE",
            "" | "n" if value.is_empty() && self.cell.is_formula => {
                let cell = format!("{}{}", letters(self.cell.column), self.row);
                return Err(not_calculated(&cell, self.file).into());
            }
            "" | "n" => {
                let date = value.parse().ok().and_then(|number| self.styles.date(self.cell.style, number));
                if let Some(date) = date {
                    self.grid.put(self.row, self.cell.column, &date, self.limit, self.file)?;
                    return Ok(());
                }
                value
            }
            _ => value,
        };
        if !text.is_empty() {
            self.grid.put(self.row, self.cell.column, text, self.limit, self.file)?;
        }
        Ok(())
    }
}

/// The column, from 1, of a cell such as `AB12`.
fn column_of(place: &str) -> Option<u32> {
    let mut column = 0u32;
    for letter in place.bytes().take_while(u8::is_ascii_alphabetic) {
        column = column.checked_mul(26)?.checked_add(u32::from(letter.to_ascii_uppercase() - b'A') + 1)?;
    }
    (column > 0).then_some(column)
}

/// The letters of a column.
fn letters(mut column: u32) -> String {
    let mut letters = Vec::new();
    while column > 0 {
        letters.push(char::from(b'A' + ((column - 1) % 26) as u8));
        column = (column - 1) / 26;
    }
    letters.iter().rev().collect()
}

/// The rows of a sheet that have something in them.
#[derive(Default)]
pub(super) struct Grid {
    /// Their cells from the first to the last, with tabs between them, row after row.
    body: Vec<u8>,
    rows: Vec<Row>,
}

struct Row {
    number: u32,
    first: u32,
    last: u32,
    cells: u32,
    end: usize,
}

impl Grid {
    /// Adds a cell behind all others.
    fn put(&mut self, number: u32, column: u32, text: &str, limit: Limit, file: &str) -> Result<(), Error> {
        if self.rows.last().is_none_or(|row| row.number != number) {
            make_room(&mut self.rows, 1, file)?;
            self.rows.push(Row { number, first: column, last: column, cells: 0, end: self.body.len() });
        }
        let Some(row) = self.rows.last_mut() else { return Ok(()) };
        let tabs = (column - row.last) as usize;
        // Each quote may come twice.
        make_room(&mut self.body, tabs + 2 * text.len() + 2, file)?;
        self.body.resize(self.body.len() + tabs, b'\t');
        add_text(&mut self.body, text);
        (row.last, row.end) = (column, self.body.len());
        row.cells += 1;
        if self.body.len() as u64 > limit.bytes { Err(limit.exceeded(file)) } else { Ok(()) }
    }

    /// All rows as lines, each with as many cells. Titles in front of the table become comments.
    pub fn into_text(self, limit: Limit, file: &str) -> Result<Vec<u8>, Error> {
        let (Some(first), Some(last)) =
            (self.rows.iter().map(|row| row.first).min(), self.rows.iter().map(|row| row.last).max())
        else {
            return Err(Error::Nothing {
                file: file.into(),
                what: "cells in its sheet",
                advice: "choose another sheet, or check the workbook".into(),
            });
        };
        let titles = match self.rows.iter().position(|row| row.cells > 1) {
            Some(titles) if last - first + 1 >= WIDE => titles,
            _ => 0,
        };
        let lines = self.rows.last().map_or(0, |row| u64::from(row.number));
        let blanks: u64 = self.rows.iter().map(|row| u64::from(row.first - first + last - row.last)).sum();
        let size = self.body.len() as u64 + lines + blanks + 2 * titles as u64;
        if size > limit.bytes {
            return Err(limit.exceeded(file));
        }
        let mut text = Vec::new();
        make_room(&mut text, size as usize, file)?;
        let (mut line, mut start) = (1, 0);
        for (at, row) in self.rows.iter().enumerate() {
            text.resize(text.len() + (row.number - line) as usize, b'\n');
            let (before, behind) = if at < titles { (0, 0) } else { (row.first - first, last - row.last) };
            text.extend_from_slice(if at < titles { b"# " } else { b"" });
            text.resize(text.len() + before as usize, b'\t');
            text.extend_from_slice(&self.body[start..row.end]);
            text.resize(text.len() + behind as usize, b'\t');
            (line, start) = (row.number, row.end);
        }
        text.push(b'\n');
        Ok(text)
    }
}

/// Adds a cell, in quotes where something in it could be taken for what is between cells. A cell is never more than one line.
fn add_text(body: &mut Vec<u8>, text: &str) {
    let is_quoted = text.bytes().any(|byte| b"\t ,;|\"\r\n".contains(&byte));
    body.extend_from_slice(if is_quoted { b"\"" } else { b"" });
    for byte in text.bytes() {
        match byte {
            b'\r' | b'\n' => body.push(b' '),
            b'"' => body.extend_from_slice(b"\"\""),
            byte => body.push(byte),
        }
    }
    body.extend_from_slice(if is_quoted { b"\"" } else { b"" });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_have_letters() {
        for (column, name) in [(1, "A"), (26, "Z"), (27, "AA"), (702, "ZZ"), (703, "AAA"), (16_384, "XFD")] {
            assert_eq!((letters(column).as_str(), column_of(&format!("{name}7"))), (name, Some(column)));
        }
        for wrong in ["", "7", "AAAAAAAAA1"] {
            assert_eq!(column_of(wrong), None);
        }
    }
}
