//! One variable of a MATLAB file: flags, shape, name, then data.

use super::element::{Elements, Kind, NO_ROOM, numbers};
use crate::memory::zeros;
use crate::sparse::{Compressed, Major, whole_numbers};
use crate::table::transpose_into;
use crate::{DenseValues, Values};

/// What a variable is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Class {
    Cell,
    Char,
    Sparse,
    Numeric(&'static str),
    Other,
}

impl Class {
    fn of(code: u32) -> Class {
        match code {
            1 => Class::Cell,
            4 => Class::Char,
            5 => Class::Sparse,
            6 => Class::Numeric("double"),
            7 => Class::Numeric("single"),
            8 => Class::Numeric("int8"),
            9 => Class::Numeric("uint8"),
            10 => Class::Numeric("int16"),
            11 => Class::Numeric("uint16"),
            12 => Class::Numeric("int32"),
            13 => Class::Numeric("uint32"),
            14 => Class::Numeric("int64"),
            15 => Class::Numeric("uint64"),
            _ => Class::Other,
        }
    }
}

/// What the beginning of a variable says.
pub(super) struct Header {
    pub name: String,
    pub shape: Vec<usize>,
    pub class: Class,
    pub complex: bool,
    /// How many entries of a sparse matrix there is room for.
    pub room: usize,
}

impl Header {
    /// Also gives the elements that hold the data.
    pub fn parse(bytes: &[u8], big_endian: bool) -> Result<(Header, Elements<'_>), String> {
        let mut elements = Elements::new(bytes, big_endian);
        let mut next = || elements.next().unwrap_or(Err("a variable is too short".into()));
        let (kind, flags) = next()?;
        let flags = numbers(kind, flags, big_endian)?;
        let room = flags.get(1).map_or(0, |&room| room as usize);
        let flags = flags.first().copied().unwrap_or(0.0) as u32;
        let (kind, shape) = next()?;
        let shape = whole_numbers(numbers(kind, shape, big_endian)?, "shape")?;
        let shape = shape.into_iter().map(|size| usize::try_from(size).unwrap_or(usize::MAX)).collect();
        let (_, name) = next()?;
        let name = String::from_utf8_lossy(name).into_owned();
        Ok((Header { name, shape, class: Class::of(flags & 0xff), complex: flags & 0x800 != 0, room }, elements))
    }

    /// Rows and columns.
    fn matrix_shape(&self) -> Result<[usize; 2], String> {
        match self.shape[..] {
            [rows, columns] => Ok([rows, columns]),
            _ => Err(format!("the variable '{}' has {} dimensions instead of 2", self.shown(), self.shape.len())),
        }
    }

    fn shown(&self) -> String {
        crate::error::excerpt(self.name.as_bytes())
    }
}

/// A variable with all its bytes.
pub(super) struct Body {
    pub bytes: Vec<u8>,
    pub big_endian: bool,
}

impl Body {
    /// The variable as a matrix of numbers.
    pub fn values(&self) -> Result<Values, String> {
        let (header, mut elements) = Header::parse(&self.bytes, self.big_endian)?;
        let [rows, columns] = header.matrix_shape()?;
        if header.complex {
            return Err(format!("the variable '{}' contains complex numbers", header.shown()));
        }
        match header.class {
            Class::Numeric(_) => {
                let data = self.numbers(&mut elements)?;
                if Some(data.len()) != rows.checked_mul(columns) {
                    return Err(format!(
                        "the variable '{}' has {} values, but is {rows} x {columns}",
                        header.shown(),
                        data.len()
                    ));
                }
                let mut turned = zeros(data.len(), "").map_err(|_| NO_ROOM.to_string())?;
                transpose_into(&data, columns, rows, &mut turned);
                Ok(Values::Dense(DenseValues { rows, columns, data: turned }))
            }
            Class::Sparse => {
                let mut indices = self.numbers(&mut elements)?;
                let offsets = whole_numbers(self.numbers(&mut elements)?, "list of column offsets")?;
                let mut values = self.numbers(&mut elements)?;
                // MATLAB may write more room than there are entries.
                let entries = offsets.last().map_or(0, |&last| usize::try_from(last).unwrap_or(usize::MAX));
                indices.truncate(entries);
                let indices = whole_numbers(indices, "list of row indices")?;
                values.truncate(entries);
                let matrix = Compressed { major: Major::Column, shape: [rows, columns], offsets, indices, values };
                Ok(Values::Sparse(matrix.into_rows()?))
            }
            _ => Err(format!("the variable '{}' contains no numbers", header.shown())),
        }
    }

    /// The variable as texts: the numbers of a vector, the rows of a char matrix, or the texts of a cell.
    pub fn texts(&self) -> Result<Vec<String>, String> {
        let (header, mut elements) = Header::parse(&self.bytes, self.big_endian)?;
        match header.class {
            Class::Numeric(_) => Ok(self.numbers(&mut elements)?.iter().map(f64::to_string).collect()),
            Class::Char => self.rows_of_text(&header, &mut elements),
            Class::Cell => {
                let mut texts = Vec::new();
                for cell in elements {
                    let (_, bytes) = cell?;
                    let cell = Body { bytes: bytes.to_vec(), big_endian: self.big_endian };
                    // A cell inside a cell is not text, and looking into it could go on for long.
                    let (header, mut elements) = Header::parse(&cell.bytes, self.big_endian)?;
                    texts.push(match header.class {
                        Class::Char => cell.rows_of_text(&header, &mut elements)?.concat(),
                        Class::Numeric(_) => {
                            cell.numbers(&mut elements)?.first().map(f64::to_string).unwrap_or_default()
                        }
                        _ => return Err(format!("the values of '{}' are not text", header.shown())),
                    });
                }
                Ok(texts)
            }
            _ => Err(format!("the variable '{}' is neither numbers nor text", header.shown())),
        }
    }

    /// The rows of a char matrix, which is stored column after column.
    fn rows_of_text(&self, header: &Header, elements: &mut Elements) -> Result<Vec<String>, String> {
        let [rows, columns] = header.matrix_shape()?;
        if rows == 0 || columns == 0 {
            return Ok(vec![String::new(); rows.min(1)]);
        }
        let codes = match elements.next() {
            // Characters of more than one byte are the reason to decode before counting.
            Some(Ok((Kind::Utf8, bytes))) => {
                String::from_utf8_lossy(bytes).chars().map(|character| f64::from(u32::from(character))).collect()
            }
            Some(element) => {
                let (kind, bytes) = element?;
                numbers(kind, bytes, self.big_endian)?
            }
            None => Vec::new(),
        };
        if rows.checked_mul(columns) != Some(codes.len()) {
            return Err(format!(
                "the text '{}' has {} characters, but is {rows} x {columns}",
                header.shown(),
                codes.len()
            ));
        }
        let character = |code: f64| char::from_u32(code as u32).unwrap_or(char::REPLACEMENT_CHARACTER);
        let row = |row: usize| (0..columns).map(|column| character(codes[column * rows + row])).collect::<String>();
        Ok((0..rows).map(|at| row(at).trim_end().to_string()).collect())
    }

    fn numbers(&self, elements: &mut Elements) -> Result<Vec<f64>, String> {
        let (kind, bytes) = elements.next().unwrap_or(Err("a variable has no data".into()))?;
        numbers(kind, bytes, self.big_endian)
    }
}
