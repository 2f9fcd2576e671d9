//! NumPy arrays: `.npy`, and the members of `.npz`.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::{counted, truth_name};
use crate::finish::{Draft, check_not_empty};
use crate::forecast::TableShape;
use crate::memory::{make_room, zeros};
use crate::parts::Parts;
use crate::table::transpose_into;
use crate::{DenseValues, Error, ReadOptions, Values};

/// NumPy itself refuses headers over 10000 bytes.
const LONGEST_HEADER: usize = 1 << 16;

/// Reads a two-dimensional array of numbers. `length` is the number of bytes that there are, if known.
pub(crate) fn read(mut reader: impl Read, length: Option<u64>, file: &str) -> Result<Draft, Error> {
    let header = Header::read(&mut reader, file)?;
    Ok(Draft::of_matrix(Values::Dense(header.matrix(reader, length, file)?)))
}

/// An array in a file of which some rows are read at a time.
#[derive(Debug)]
pub(crate) struct ArrayParts {
    path: PathBuf,
    header: Header,
    rows: usize,
    columns: usize,
}

impl ArrayParts {
    pub fn open(path: &Path, file: &str) -> Result<ArrayParts, Error> {
        let failed = |source| Error::Read { file: file.into(), source };
        let mut opened = File::open(path).map_err(failed)?;
        let length = opened.metadata().map_err(failed)?.len();
        let header = Header::read(&mut opened, file)?;
        let [rows, columns] = header.rows_and_columns(file)?;
        header.check_numbers(file)?;
        header.checked_count(Some(length), file)?;
        check_not_empty(rows, columns, file)?;
        if header.fortran {
            return Err(Error::unsupported(
                file,
                "is stored by columns (Fortran order), so it cannot be read in parts",
                "save it in C order: np.save(file, np.ascontiguousarray(array))",
            ));
        }
        Ok(ArrayParts { path: path.into(), header, rows, columns })
    }
}

impl Parts for ArrayParts {
    fn rows(&self) -> usize {
        self.rows
    }

    fn bytes(&self) -> usize {
        self.rows.saturating_mul(self.columns).saturating_mul(8)
    }

    fn draft(&self, rows: Range<usize>, file: &str, _: &ReadOptions) -> Result<Draft, Error> {
        let failed = |source| Error::Read { file: file.into(), source };
        let mut opened = File::open(&self.path).map_err(failed)?;
        // That none of this is too large was checked when the file was opened.
        let start = (rows.start * self.columns * self.header.element.size()) as u64;
        opened.seek(SeekFrom::Start(self.header.bytes + start)).map_err(failed)?;
        let count = rows.len() * self.columns;
        let mut data = Vec::new();
        make_room(&mut data, count, file)?;
        self.header.elements(opened, count, file, |bytes| {
            self.header.push_numbers(bytes, &mut data);
            Ok(())
        })?;
        Ok(Draft::of_matrix(Values::Dense(DenseValues { rows: rows.len(), columns: self.columns, data })))
    }
}

/// What the beginning of an array says.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub element: Element,
    big_endian: bool,
    pub fortran: bool,
    pub shape: Vec<usize>,
    /// The bytes that the header itself takes.
    bytes: u64,
}

/// The type of an element. Numbers have a size in bytes, texts a number of characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Element {
    Bool,
    Float(usize),
    Signed(usize),
    Unsigned(usize),
    Unicode(usize),
    Bytes(usize),
}

impl Element {
    pub fn size(self) -> usize {
        match self {
            Element::Bool => 1,
            Element::Float(size) | Element::Signed(size) | Element::Unsigned(size) => size,
            Element::Unicode(characters) => 4 * characters,
            Element::Bytes(bytes) => bytes,
        }
    }

    pub fn is_number(self) -> bool {
        !matches!(self, Element::Unicode(_) | Element::Bytes(_))
    }

    /// As people call it: `float64`, `uint8`, `text`.
    pub fn name(self) -> String {
        match self {
            Element::Bool => "bool".into(),
            Element::Float(size) => format!("float{}", 8 * size),
            Element::Signed(size) => format!("int{}", 8 * size),
            Element::Unsigned(size) => format!("uint{}", 8 * size),
            Element::Unicode(_) | Element::Bytes(_) => "text".into(),
        }
    }
}

impl Header {
    pub fn read(reader: &mut impl Read, file: &str) -> Result<Header, Error> {
        let problem = |error: io::Error| match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::malformed(file, "npy", "it ends in the middle of its header"),
            _ => Error::malformed(file, "npy", error),
        };
        let mut start = [0; 8];
        reader.read_exact(&mut start).map_err(problem)?;
        if &start[..6] != b"\x93NUMPY" {
            return Err(Error::WrongFormat { file: file.into(), expected: "npy", found: "something else" });
        }
        let width = if start[6] == 1 { 2 } else { 4 };
        let mut size = [0; 4];
        reader.read_exact(&mut size[..width]).map_err(problem)?;
        let size = u32::from_le_bytes(size) as usize;
        if size > LONGEST_HEADER {
            return Err(Error::malformed(file, "npy", format!("its header claims {size} bytes")));
        }
        let mut text = vec![0; size];
        reader.read_exact(&mut text).map_err(problem)?;
        let text = String::from_utf8_lossy(&text);
        let mut header = Header::parse(&text, file)?;
        header.bytes = (8 + width + size) as u64;
        Ok(header)
    }

    /// The header is a Python dictionary: `{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4), }`.
    fn parse(text: &str, file: &str) -> Result<Header, Error> {
        let broken = |what: &str| Error::malformed(file, "npy", format!("its header has no usable '{what}'"));
        let after = |key: &'static str| {
            let at = text.find(&format!("'{key}':")).ok_or_else(|| broken(key))?;
            Ok::<&str, Error>(text[at + key.len() + 3..].trim_start())
        };
        let descr = after("descr")?;
        if descr.starts_with('[') {
            return Err(Error::unsupported(file, "is an array of records", "save its columns as one plain array"));
        }
        let descr = descr.strip_prefix('\'').and_then(|rest| rest.split('\'').next());
        let descr = descr.ok_or_else(|| broken("descr"))?;
        let (element, big_endian) = parse_element(descr, file)?;
        let fortran = after("fortran_order")?.starts_with("True");
        let shape = after("shape")?.strip_prefix('(').and_then(|rest| rest.split(')').next());
        let shape = shape.ok_or_else(|| broken("shape"))?;
        let sizes = shape.split(',').map(str::trim).filter(|size| !size.is_empty());
        let shape: Result<Vec<usize>, _> = sizes.map(|size| size.trim_end_matches('L').parse()).collect();
        let shape = shape.map_err(|_| broken("shape"))?;
        Ok(Header { element, big_endian, fortran, shape, bytes: 0 })
    }

    /// What stands before an array that is a chunk of a larger one, and of elements such as `<f8`.
    pub fn of_chunk(descr: &str, shape: Vec<usize>, fortran: bool, file: &str) -> Result<Header, Error> {
        let (element, big_endian) = parse_element(descr, file)?;
        Ok(Header { element, big_endian, fortran, shape, bytes: 0 })
    }

    /// Rows and columns, if this is a table.
    pub fn table_shape(&self) -> Option<TableShape> {
        match self.shape[..] {
            [rows, columns] => Some(TableShape::dense(rows, columns)),
            _ => None,
        }
    }

    /// The number of elements, if memory can hold them at all.
    pub fn count(&self) -> Option<usize> {
        let count = self.shape.iter().try_fold(1usize, |count, &size| count.checked_mul(size))?;
        count.checked_mul(self.element.size().max(8)).map(|_| count)
    }

    fn checked_count(&self, length: Option<u64>, file: &str) -> Result<usize, Error> {
        let count = self
            .count()
            .ok_or_else(|| Error::malformed(file, "npy", format!("it claims the shape {:?}", self.shape)))?;
        let expected = (count * self.element.size()) as u64;
        match length.map(|length| length.saturating_sub(self.bytes)) {
            Some(found) if found != expected => Err(Error::malformed(
                file,
                "npy",
                format!("its shape {:?} needs {expected} bytes, but it has {found}", self.shape),
            )),
            _ => Ok(count),
        }
    }

    fn rows_and_columns(&self, file: &str) -> Result<[usize; 2], Error> {
        <[usize; 2]>::try_from(&self.shape[..]).map_err(|_| {
            Error::unsupported(
                file,
                format!("is an array with {} instead of 2", counted(self.shape.len(), "dimension")),
                "save it with rows and columns",
            )
        })
    }

    fn check_numbers(&self, file: &str) -> Result<(), Error> {
        if self.element.is_number() {
            return Ok(());
        }
        Err(Error::unsupported(file, "is an array of text", "use an array of numbers"))
    }

    /// The rest of the file as a matrix.
    pub fn matrix(&self, reader: impl Read, length: Option<u64>, file: &str) -> Result<DenseValues, Error> {
        let [rows, columns] = self.rows_and_columns(file)?;
        self.checked_count(length, file)?;
        check_not_empty(rows, columns, file)?;
        let data = self.numbers(reader, length, file)?;
        if !self.fortran {
            return Ok(DenseValues { rows, columns, data });
        }
        let mut turned = zeros(data.len(), file)?;
        transpose_into(&data, columns, rows, &mut turned);
        Ok(DenseValues { rows, columns, data: turned })
    }

    /// The rest of the file as numbers, in the order of the file. Room is made as the bytes come,
    /// unless `length` says that they are there.
    pub fn numbers(&self, reader: impl Read, length: Option<u64>, file: &str) -> Result<Vec<f64>, Error> {
        self.check_numbers(file)?;
        let count = self.checked_count(length, file)?;
        let mut numbers = Vec::new();
        make_room(&mut numbers, if length.is_some() { count } else { 0 }, file)?;
        self.elements(reader, count, file, |bytes| {
            make_room(&mut numbers, bytes.len() / self.element.size(), file)?;
            self.push_numbers(bytes, &mut numbers);
            Ok(())
        })?;
        Ok(numbers)
    }

    /// The rest of the file as texts; numbers are written out.
    pub fn texts(&self, reader: impl Read, file: &str) -> Result<Vec<String>, Error> {
        if self.element.is_number() {
            let numbers = self.numbers(reader, None, file)?;
            if self.element == Element::Bool {
                return Ok(numbers.into_iter().map(|number| truth_name(number != 0.0)).collect());
            }
            return Ok(numbers.into_iter().map(|number| number.to_string()).collect());
        }
        let count = self.checked_count(None, file)?;
        let mut texts = Vec::new();
        self.elements(reader, count, file, |bytes| {
            make_room(&mut texts, bytes.len() / self.element.size(), file)?;
            texts.extend(bytes.chunks_exact(self.element.size()).map(|text| self.text(text)));
            Ok(())
        })?;
        Ok(texts)
    }

    /// Gives all elements to `take`, some at a time.
    fn elements(
        &self,
        mut reader: impl Read,
        count: usize,
        file: &str,
        mut take: impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Error> {
        const PIECE: usize = 1 << 18;
        let size = self.element.size();
        let mut left = count;
        let mut buffer = vec![0; size.max(PIECE / size.max(1) * size).min(count * size)];
        while left > 0 {
            let now = left.min(buffer.len() / size.max(1)).max(1);
            let bytes = &mut buffer[..now * size];
            reader.read_exact(bytes).map_err(|error| match error.kind() {
                io::ErrorKind::UnexpectedEof => {
                    Error::malformed(file, "npy", format!("it ends before the {count} elements of its shape"))
                }
                _ => Error::malformed(file, "npy", error),
            })?;
            take(bytes)?;
            left -= now;
        }
        Ok(())
    }

    fn push_numbers(&self, bytes: &[u8], numbers: &mut Vec<f64>) {
        macro_rules! push {
            ($type:ty, $size:literal, $convert:expr) => {
                if self.big_endian {
                    numbers.extend(bytes.as_chunks::<$size>().0.iter().map(|b| $convert(<$type>::from_be_bytes(*b))))
                } else {
                    numbers.extend(bytes.as_chunks::<$size>().0.iter().map(|b| $convert(<$type>::from_le_bytes(*b))))
                }
            };
        }
        match self.element {
            Element::Bool => numbers.extend(bytes.iter().map(|&byte| f64::from(u8::from(byte != 0)))),
            Element::Float(2) => push!(u16, 2, half_to_f64),
            Element::Float(4) => push!(f32, 4, f64::from),
            Element::Float(_) => push!(f64, 8, f64::from),
            Element::Signed(1) => push!(i8, 1, f64::from),
            Element::Signed(2) => push!(i16, 2, f64::from),
            Element::Signed(4) => push!(i32, 4, f64::from),
            Element::Signed(_) => push!(i64, 8, |number| number as f64),
            Element::Unsigned(1) => push!(u8, 1, f64::from),
            Element::Unsigned(2) => push!(u16, 2, f64::from),
            Element::Unsigned(4) => push!(u32, 4, f64::from),
            Element::Unsigned(_) => push!(u64, 8, |number| number as f64),
            Element::Unicode(_) | Element::Bytes(_) => {}
        }
    }

    fn text(&self, bytes: &[u8]) -> String {
        let text = match self.element {
            Element::Unicode(_) => bytes
                .as_chunks::<4>()
                .0
                .iter()
                .map(|&code| if self.big_endian { u32::from_be_bytes(code) } else { u32::from_le_bytes(code) })
                .map(|code| char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER))
                .collect(),
            _ => String::from_utf8_lossy(bytes).into_owned(),
        };
        text.trim_end_matches('\0').to_string()
    }
}

/// `<f8` and the like: byte order, kind, size.
fn parse_element(descr: &str, file: &str) -> Result<(Element, bool), Error> {
    let unknown = || {
        let what = format!("has elements of the type '{}'", crate::error::excerpt(descr.as_bytes()));
        Error::unsupported(file, what, "save it as float64")
    };
    let big_endian = descr.starts_with('>');
    let kind = descr.trim_start_matches(['<', '>', '|', '=']);
    let size: usize = kind.get(1..).and_then(|size| size.parse().ok()).ok_or_else(unknown)?;
    let element = match (&kind[..1], size) {
        ("b", 1) => Element::Bool,
        ("f", 2 | 4 | 8) => Element::Float(size),
        ("i", 1 | 2 | 4 | 8) => Element::Signed(size),
        ("u", 1 | 2 | 4 | 8) => Element::Unsigned(size),
        ("U", 1..=LONGEST_HEADER) => Element::Unicode(size),
        ("S", 1..=LONGEST_HEADER) => Element::Bytes(size),
        _ => return Err(unknown()),
    };
    Ok((element, big_endian))
}

/// IEEE half precision: 1 sign bit, 5 of exponent, 10 of fraction.
fn half_to_f64(bits: u16) -> f64 {
    let sign = if bits >> 15 == 1 { -1.0 } else { 1.0 };
    let exponent = i32::from(bits >> 10 & 0x1f);
    let fraction = f64::from(bits & 0x3ff) / 1024.0;
    sign * match exponent {
        0 => fraction * 2f64.powi(-14),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1.0 + fraction) * 2f64.powi(exponent - 15),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_parsed() {
        let header = Header::parse("{'descr': '>i2', 'fortran_order': True, 'shape': (3, 4), }", "t").unwrap();
        assert_eq!((header.element, header.big_endian, header.fortran), (Element::Signed(2), true, true));
        assert_eq!(header.shape, [3, 4]);
        assert!(Header::parse("{'descr': '<c16', 'fortran_order': True, 'shape': (3, 4), }", "t").is_err());
        assert!(Header::parse("{'descr': '<é', 'fortran_order': True, 'shape': (3, 4), }", "t").is_err());
        assert!(Header::parse("{'descr': '', 'fortran_order': True, 'shape': (3, 4), }", "t").is_err());
    }

    #[test]
    fn halves_have_the_values_of_the_standard() {
        let known =
            [(0x3c00, 1.0), (0xc000, -2.0), (0x7bff, 65504.0), (0x0001, 2f64.powi(-24)), (0x3555, 0.333251953125)];
        for (bits, value) in known {
            assert_eq!(half_to_f64(bits), value);
        }
        assert!(half_to_f64(0x7e00).is_nan());
    }

    #[test]
    fn a_huge_shape_asks_for_no_memory() {
        let mut file = b"\x93NUMPY\x01\x00".to_vec();
        let header = "{'descr': '<f8', 'fortran_order': False, 'shape': (1000000, 1000000), }\n";
        file.extend((header.len() as u16).to_le_bytes());
        file.extend(header.bytes());
        for length in [None, Some(file.len() as u64)] {
            assert!(read(&file[..], length, "t.npy").is_err());
        }
    }
}
