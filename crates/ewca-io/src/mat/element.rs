//! The elements that a MATLAB file is made of: a tag with a type and a length, then data.

use std::io::Read;

use crate::memory::has_room;

/// The problem of a variable that is larger than the memory.
pub(super) const NO_ROOM: &str = "a variable needs more memory than is free";

/// The type of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Int8,
    Uint8,
    Int16,
    Uint16,
    Int32,
    Uint32,
    Single,
    Double,
    Int64,
    Uint64,
    Matrix,
    Compressed,
    Utf8,
    Utf16,
    Utf32,
    Other,
}

impl Kind {
    fn of(code: u32) -> Kind {
        match code {
            1 => Kind::Int8,
            2 => Kind::Uint8,
            3 => Kind::Int16,
            4 => Kind::Uint16,
            5 => Kind::Int32,
            6 => Kind::Uint32,
            7 => Kind::Single,
            9 => Kind::Double,
            12 => Kind::Int64,
            13 => Kind::Uint64,
            14 => Kind::Matrix,
            15 => Kind::Compressed,
            16 => Kind::Utf8,
            17 => Kind::Utf16,
            18 => Kind::Utf32,
            _ => Kind::Other,
        }
    }
}

/// Goes through elements, one after the other.
pub(super) struct Elements<'a> {
    bytes: &'a [u8],
    big_endian: bool,
}

impl<'a> Elements<'a> {
    pub fn new(bytes: &'a [u8], big_endian: bool) -> Elements<'a> {
        Elements { bytes, big_endian }
    }

    /// The data of a matrix element of which only the beginning is there.
    pub fn beginning(bytes: &'a [u8], big_endian: bool) -> Option<&'a [u8]> {
        let elements = Elements { bytes, big_endian };
        (Kind::of(elements.word(0)?) == Kind::Matrix).then(|| &bytes[8.min(bytes.len())..])
    }

    fn word(&self, at: usize) -> Option<u32> {
        let word = self.bytes.get(at..at + 4)?.try_into().ok()?;
        Some(if self.big_endian { u32::from_be_bytes(word) } else { u32::from_le_bytes(word) })
    }

    fn take(&mut self) -> Result<(Kind, &'a [u8]), String> {
        let ends = || "it ends in the middle of a variable".to_string();
        let first = self.word(0).ok_or_else(ends)?;
        // A short element has its length in the upper half of the first word, and its data in the second.
        if first >> 16 != 0 {
            let length = (first >> 16) as usize;
            let data = self.bytes.get(4..4 + length).filter(|_| length <= 4).ok_or_else(ends)?;
            self.bytes = self.bytes.get(8..).unwrap_or_default();
            return Ok((Kind::of(first & 0xffff), data));
        }
        let kind = Kind::of(first);
        let length = self.word(4).ok_or_else(ends)? as usize;
        let data = self.bytes.get(8..).and_then(|rest| rest.get(..length)).ok_or_else(ends)?;
        // Everything but compressed data is filled up to a multiple of 8 bytes; the last one may not be.
        let padded = if kind == Kind::Compressed { length } else { length.next_multiple_of(8) };
        self.bytes = self.bytes.get(8 + padded..).unwrap_or_default();
        Ok((kind, data))
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Result<(Kind, &'a [u8]), String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.bytes.is_empty() {
            return None;
        }
        let element = self.take();
        if element.is_err() {
            self.bytes = &[];
        }
        Some(element)
    }
}

/// At most `limit` bytes of what compressed data holds.
pub(super) fn inflate(bytes: &[u8], limit: u64) -> Result<Vec<u8>, String> {
    let mut inflated = Vec::new();
    let outcome = flate2::read::ZlibDecoder::new(bytes).take(limit).read_to_end(&mut inflated);
    outcome.map_err(|_| "a compressed variable is damaged".to_string())?;
    Ok(inflated)
}

/// The numbers of an element, whatever their type.
pub(super) fn numbers(kind: Kind, bytes: &[u8], big_endian: bool) -> Result<Vec<f64>, String> {
    macro_rules! convert {
        ($type:ty, $size:literal) => {{
            let convert = |b: &[u8; $size]| {
                (if big_endian { <$type>::from_be_bytes(*b) } else { <$type>::from_le_bytes(*b) }) as f64
            };
            bytes.as_chunks::<$size>().0.iter().map(convert).collect()
        }};
    }
    if !has_room(8 * bytes.len() as u64) {
        return Err(NO_ROOM.into());
    }
    Ok(match kind {
        Kind::Int8 => convert!(i8, 1),
        Kind::Uint8 | Kind::Utf8 => convert!(u8, 1),
        Kind::Int16 => convert!(i16, 2),
        Kind::Uint16 | Kind::Utf16 => convert!(u16, 2),
        Kind::Int32 => convert!(i32, 4),
        Kind::Uint32 | Kind::Utf32 => convert!(u32, 4),
        Kind::Single => convert!(f32, 4),
        Kind::Double => convert!(f64, 8),
        Kind::Int64 => convert!(i64, 8),
        Kind::Uint64 => convert!(u64, 8),
        Kind::Matrix | Kind::Compressed | Kind::Other => {
            return Err("a variable contains no numbers".into());
        }
    })
}
