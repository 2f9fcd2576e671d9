//! Matrix Market text.
//!
//! A coordinate file becomes a sparse matrix (entries that come twice are added up), an array file a
//! dense one. Lines are parsed in parallel pieces, put together in the order of the file.

use rayon::prelude::*;

use crate::error::excerpt;
use crate::finish::Draft;
use crate::forecast::TableShape;
use crate::memory::{check_room, zeros};
use crate::sparse::{check_shape, from_entries};
use crate::table::transpose_into;
use crate::{DenseValues, Error, Place, Values};

/// About this many bytes of text make one piece of work.
const PIECE: usize = 1 << 20;

/// Reads a whole file.
pub(crate) fn read(text: &[u8], file: &str) -> Result<Draft, Error> {
    let market = Market::open(text, file)?;
    let values = if market.header.coordinate { market.coordinate()? } else { market.array()? };
    Ok(Draft::of_matrix(values))
}

/// The shape that the beginning of a file promises.
pub(crate) fn shape(head: &[u8], file: &str) -> Option<TableShape> {
    let market = Market::open(head, file).ok()?;
    let [rows, columns, entries] = market.size.map(|size| usize::try_from(size).unwrap_or(usize::MAX));
    let both_sides = if market.header.symmetry == Symmetry::General { 1 } else { 2 };
    let stored = market.header.coordinate.then(|| entries.saturating_mul(both_sides));
    Some(TableShape { rows, columns, stored })
}

/// What the first line says.
pub(crate) struct Header {
    pub coordinate: bool,
    pattern: bool,
    symmetry: Symmetry,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Symmetry {
    General,
    Symmetric,
    Skew,
}

/// A file whose header and size have been read.
struct Market<'a> {
    file: &'a str,
    text: &'a [u8],
    header: Header,
    /// Rows, columns and, for coordinates, entries.
    size: [u64; 3],
    /// Where the entries start.
    body: usize,
}

impl<'a> Market<'a> {
    fn open(text: &'a [u8], file: &'a str) -> Result<Market<'a>, Error> {
        let first_end = memchr::memchr(b'\n', text).unwrap_or(text.len());
        let header = parse_header(&text[..first_end], file)?;
        let mut at = (first_end + 1).min(text.len());
        loop {
            let line = line_at(text, at);
            if at >= text.len() {
                return Err(Error::malformed(file, "mtx", "it ends before the line with its size"));
            }
            if !line.starts_with(b"%") && !line.trim_ascii().is_empty() {
                let size = parse_size(line, header.coordinate).ok_or_else(|| {
                    let line_number = line_number(text, at);
                    Error::malformed(file, "mtx", format!("line {line_number} is not a size: '{}'", excerpt(line)))
                })?;
                let body = (at + line.len() + 1).min(text.len());
                return Ok(Market { file, text, header, size, body });
            }
            at += line.len() + 1;
        }
    }

    fn malformed(&self, problem: impl std::fmt::Display) -> Error {
        Error::malformed(self.file, "mtx", problem)
    }

    fn check_size(&self) -> Result<(usize, usize), Error> {
        let [rows, columns, _] = self.size;
        check_shape(rows, columns, self.text.len() as u64).map_err(|problem| self.malformed(problem))?;
        if self.header.symmetry != Symmetry::General && rows != columns {
            return Err(self.malformed(format!("it is symmetric, with {rows} rows and {columns} columns")));
        }
        Ok((rows as usize, columns as usize))
    }

    fn coordinate(&self) -> Result<Values, Error> {
        let (rows, columns) = self.check_size()?;
        let sides = if self.header.symmetry == Symmetry::General { 1 } else { 2 };
        let lines = memchr::memchr_iter(b'\n', &self.text[self.body..]).count() + 1;
        // In lists that grow, and then in order.
        let entry = 2 * size_of::<(u32, u32, f64)>() + size_of::<u32>() + size_of::<f64>();
        check_room((lines as u64).saturating_mul((sides * entry) as u64), self.file)?;
        let pieces = self.parse(|line, entries: &mut Vec<(u32, u32, f64)>| self.parse_entry(line, entries))?;
        let found: usize = pieces.iter().map(|(lines, _)| lines).sum();
        if found as u64 != self.size[2] {
            return Err(self.malformed(format!("its size line says {}, but it has {found}", entries(self.size[2]))));
        }
        let entries: Vec<_> = pieces.into_iter().map(|(_, entries)| entries).collect();
        Ok(Values::Sparse(from_entries(rows, columns, &entries)))
    }

    /// `row column value`, both from 1; a pattern has no value, and stands for ones.
    fn parse_entry(&self, line: &[u8], entries: &mut Vec<(u32, u32, f64)>) -> Option<()> {
        let mut cells = line.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty());
        let mut index = |size: u64| {
            let index: u64 = std::str::from_utf8(cells.next()?).ok()?.parse().ok()?;
            (1..=size).contains(&index).then(|| (index - 1) as u32)
        };
        let (row, column) = (index(self.size[0])?, index(self.size[1])?);
        let value = if self.header.pattern { 1.0 } else { parse_number(cells.next()?)? };
        if cells.next().is_some() {
            return None;
        }
        entries.push((row, column, value));
        if row != column {
            match self.header.symmetry {
                Symmetry::General => {}
                Symmetry::Symmetric => entries.push((column, row, value)),
                Symmetry::Skew => entries.push((column, row, -value)),
            }
        }
        Some(())
    }

    fn array(&self) -> Result<Values, Error> {
        let (rows, columns) = self.check_size()?;
        let pieces = self.parse(|line, numbers: &mut Vec<f64>| {
            for cell in line.split(u8::is_ascii_whitespace).filter(|cell| !cell.is_empty()) {
                numbers.push(parse_number(cell)?);
            }
            Some(())
        })?;
        let count: usize = pieces.iter().map(|(_, numbers)| numbers.len()).sum();
        check_room(8 * count as u64, self.file)?;
        let numbers: Vec<f64> = pieces.into_iter().flat_map(|(_, numbers)| numbers).collect();
        let size = rows as u128;
        let expected = match self.header.symmetry {
            Symmetry::General => size * columns as u128,
            Symmetry::Symmetric => size * (size + 1) / 2,
            Symmetry::Skew => size * size.saturating_sub(1) / 2,
        };
        if numbers.len() as u128 != expected {
            return Err(self.malformed(format!("its size line says {expected} numbers, but it has {}", numbers.len())));
        }
        // A skew matrix may have fewer numbers than cells.
        let cells = rows.checked_mul(columns).ok_or_else(|| self.malformed("its size is too large"))?;
        let mut data = zeros(cells, self.file)?;
        if self.header.symmetry == Symmetry::General {
            transpose_into(&numbers, columns, rows, &mut data);
        } else {
            // The part below the diagonal, column after column; a skew one has no diagonal.
            let skew = self.header.symmetry == Symmetry::Skew;
            let below =
                (0..columns).flat_map(|column| (column + usize::from(skew)..rows).map(move |row| (row, column)));
            for ((row, column), number) in below.zip(numbers) {
                data[row * columns + column] = number;
                data[column * columns + row] = if skew { -number } else { number };
            }
        }
        Ok(Values::Dense(DenseValues { rows, columns, data }))
    }

    /// Parses the lines of the body with `parse_line`, which says `None` when it cannot.
    /// Gives the number of lines and what they hold, piece by piece.
    fn parse<T: Send>(
        &self,
        parse_line: impl Fn(&[u8], &mut Vec<T>) -> Option<()> + Sync,
    ) -> Result<Vec<(usize, Vec<T>)>, Error> {
        let pieces: Vec<Result<(usize, Vec<T>), Error>> = self
            .pieces()
            .into_par_iter()
            .map(|(start, end)| {
                let (mut lines, mut found) = (0, Vec::new());
                let mut at = start;
                while at < end {
                    let line = line_at(self.text, at);
                    if !line.starts_with(b"%") && !line.trim_ascii().is_empty() {
                        parse_line(line, &mut found).ok_or_else(|| self.bad_line(at))?;
                        lines += 1;
                    }
                    at += line.len() + 1;
                }
                Ok((lines, found))
            })
            .collect();
        pieces.into_iter().collect()
    }

    /// Pieces of the body that start and end with whole lines.
    fn pieces(&self) -> Vec<(usize, usize)> {
        let mut pieces = Vec::new();
        let mut start = self.body;
        while start < self.text.len() {
            let aim = (start + PIECE).min(self.text.len());
            let end = memchr::memchr(b'\n', &self.text[aim..]).map_or(self.text.len(), |length| aim + length + 1);
            pieces.push((start, end));
            start = end;
        }
        pieces
    }

    fn bad_line(&self, at: usize) -> Error {
        let line = line_at(self.text, at);
        Error::BadLine {
            file: self.file.into(),
            place: Place::Line(line_number(self.text, at)),
            line: excerpt(line.trim_ascii()),
            expected: match (self.header.coordinate, self.header.pattern) {
                (true, true) => "a row and a column within its size",
                (true, false) => "a row and a column within its size, and a finite number",
                (false, _) => "finite numbers",
            },
        }
    }
}

fn parse_header(line: &[u8], file: &str) -> Result<Header, Error> {
    let line = String::from_utf8_lossy(&line[..line.len().min(200)]).to_lowercase();
    let words: Vec<&str> = line.split_whitespace().collect();
    let &["%%matrixmarket", "matrix", layout, field, symmetry] = &words[..] else {
        return Err(Error::malformed(file, "mtx", "its first line is not '%%MatrixMarket matrix ...' with 5 words"));
    };
    let unknown = |word: &str| {
        let what = format!("is a Matrix Market file with '{}'", excerpt(word.as_bytes()));
        Error::unsupported(file, what, "save it as a general matrix of real numbers")
    };
    let coordinate = match layout {
        "coordinate" => true,
        "array" => false,
        _ => return Err(unknown(layout)),
    };
    let pattern = match field {
        "real" | "double" | "integer" | "unsigned-integer" => false,
        "pattern" if coordinate => true,
        _ => return Err(unknown(field)),
    };
    let symmetry = match symmetry {
        "general" => Symmetry::General,
        "symmetric" => Symmetry::Symmetric,
        "skew-symmetric" => Symmetry::Skew,
        _ => return Err(unknown(symmetry)),
    };
    Ok(Header { coordinate, pattern, symmetry })
}

fn parse_size(line: &[u8], coordinate: bool) -> Option<[u64; 3]> {
    let line = std::str::from_utf8(line).ok()?;
    let sizes: Option<Vec<u64>> = line.split_whitespace().map(|size| size.parse().ok()).collect();
    match (&sizes?[..], coordinate) {
        (&[rows, columns, entries], true) => Some([rows, columns, entries]),
        (&[rows, columns], false) => Some([rows, columns, 0]),
        _ => None,
    }
}

fn entries(count: u64) -> String {
    if count == 1 { "1 entry".into() } else { format!("{count} entries") }
}

fn parse_number(cell: &[u8]) -> Option<f64> {
    // NaN stands for a missing cell, which is settled later.
    fast_float2::parse::<f64, _>(cell).ok().filter(|value| !value.is_infinite())
}

fn line_at(text: &[u8], at: usize) -> &[u8] {
    let rest = text.get(at..).unwrap_or_default();
    &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())]
}

fn line_number(text: &[u8], at: usize) -> usize {
    memchr::memchr_iter(b'\n', &text[..at]).count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    fn dense(text: &str) -> Result<Vec<f64>, String> {
        match read(text.as_bytes(), "t.mtx").map_err(|error| error.to_string())?.values {
            Values::Dense(dense) => Ok(dense.data),
            Values::Sparse(sparse) => Ok(sparse.to_dense().data),
        }
    }

    #[test]
    fn all_kinds_of_matrices() {
        let general = "%%MatrixMarket matrix coordinate real general\n% note\n\n2 2 2\n1 2 0.5\n2 1 -1\n";
        assert_eq!(dense(general).unwrap(), [0.0, 0.5, -1.0, 0.0]);
        let pattern = "%%MatrixMarket matrix coordinate pattern symmetric\r\n2 2 2\r\n2 1\r\n2 2\r\n";
        assert_eq!(dense(pattern).unwrap(), [0.0, 1.0, 1.0, 1.0]);
        let array = "%%MatrixMarket matrix array integer general\n2 2\n1\n2\n3\n4";
        assert_eq!(dense(array).unwrap(), [1.0, 3.0, 2.0, 4.0]);
        let skew = "%%MatrixMarket matrix array real skew-symmetric\n2 2\n5\n";
        assert_eq!(dense(skew).unwrap(), [0.0, -5.0, 5.0, 0.0]);
    }

    #[test]
    fn faults_are_named() {
        let head = "%%MatrixMarket matrix coordinate real general\n2 2 1\n";
        let error = dense(&format!("{head}3 1 1\n")).unwrap_err();
        assert!(error.starts_with("t.mtx, line 3: '3 1 1' is not a row and a column within its size"), "{error}");
        assert!(
            dense(&format!("{head}1 1 1\n1 2 1\n")).unwrap_err().contains("its size line says 1 entry, but it has 2")
        );
        let huge = "%%MatrixMarket matrix coordinate real general\n99999999999 2 0\n";
        assert!(dense(huge).unwrap_err().contains("too short for that"));
        let huge = "%%MatrixMarket matrix array real general\n999999 999999\n1\n";
        assert!(dense(huge).unwrap_err().contains("its size line says 999998000001 numbers, but it has 1"));
    }
}
