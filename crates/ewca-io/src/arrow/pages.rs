//! What must hold of the pages of a Parquet file before the `parquet` crate may decompress them.
//!
//! A page says in its header how many bytes come out of it. The crate makes room for whatever that is, and some of its
//! decompressors give whatever is there instead. So the headers are read here first (Thrift's compact protocol, of which two
//! numbers matter), and a page that could be a bomb is decompressed once for nothing but its length.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use bytes::Bytes;
use parquet::basic::Compression;
use parquet::file::metadata::{ColumnChunkMetaData, ParquetMetaData};

/// The most that a byte of gzip, or of LZ4, becomes.
const LARGEST_RATIO: u64 = 1040;
/// As much of a page header as is read at first, and at most: it may hold the smallest and the largest text of a page.
const HEADER: usize = 1 << 10;
const LONGEST_HEADER: usize = 1 << 24;
/// How deep a header may go: real ones have three levels.
const DEEPEST: usize = 16;

/// Where the bytes of a file come from.
pub(super) trait Bytewise {
    /// Up to `count` bytes from `start` on.
    fn get(&self, start: u64, count: usize) -> io::Result<Bytes>;
}

impl Bytewise for Bytes {
    fn get(&self, start: u64, count: usize) -> io::Result<Bytes> {
        let start = usize::try_from(start).unwrap_or(usize::MAX).min(self.len());
        Ok(self.slice(start..start.saturating_add(count).min(self.len())))
    }
}

impl Bytewise for File {
    fn get(&self, start: u64, count: usize) -> io::Result<Bytes> {
        let mut file = self;
        file.seek(SeekFrom::Start(start))?;
        let mut bytes = Vec::new();
        file.take(count as u64).read_to_end(&mut bytes)?;
        Ok(bytes.into())
    }
}

/// Refuses a file with a page that becomes more than `limit` bytes. That all columns are within the file has been checked.
pub(super) fn check(file: &impl Bytewise, metadata: &ParquetMetaData, limit: u64) -> Result<(), String> {
    for column in metadata.row_groups().iter().flat_map(|group| group.columns()) {
        check_column(file, column, limit)?;
    }
    Ok(())
}

fn check_column(file: &impl Bytewise, column: &ColumnChunkMetaData, limit: u64) -> Result<(), String> {
    let start = column.dictionary_page_offset().unwrap_or(column.data_page_offset());
    let mut at = u64::try_from(start).map_err(|_| "a column lies outside the file")?;
    let end = at.saturating_add(u64::try_from(column.compressed_size()).unwrap_or(0));
    while at < end {
        let page = header(file, at, end)?;
        let body = at + page.header;
        if body.saturating_add(page.compressed) > end {
            return Err("a page lies outside its column".into());
        }
        if page.uncompressed > limit {
            return Err(format!("a page claims {} bytes", page.uncompressed));
        }
        let grows = matches!(column.compression(), Compression::GZIP(_) | Compression::LZ4);
        if grows && page.compressed.saturating_mul(LARGEST_RATIO) > limit {
            check_length(file, body, &page, column.compression())?;
        }
        at = body + page.compressed;
    }
    Ok(())
}

/// Decompresses a page without keeping it.
fn check_length(file: &impl Bytewise, body: u64, page: &Page, compression: Compression) -> Result<(), String> {
    let failed = |error: io::Error| error.to_string();
    let bytes = file.get(body, usize::try_from(page.compressed).unwrap_or(usize::MAX)).map_err(failed)?;
    let most = page.uncompressed.saturating_add(1);
    let length = match compression {
        Compression::GZIP(_) => {
            io::copy(&mut flate2::read::MultiGzDecoder::new(&bytes[..]).take(most), &mut io::sink()).unwrap_or(0)
        }
        // Its frames are not decoded here: one that could be so large is refused.
        _ => most,
    };
    if length > page.uncompressed {
        return Err(format!("a page is larger than the {} bytes that it claims", page.uncompressed));
    }
    Ok(())
}

/// What the header of a page says.
#[derive(Debug, PartialEq)]
struct Page {
    /// The bytes of the header itself.
    header: u64,
    compressed: u64,
    uncompressed: u64,
}

fn header(file: &impl Bytewise, at: u64, end: u64) -> Result<Page, String> {
    let mut size = HEADER;
    loop {
        let most = usize::try_from(end - at).unwrap_or(usize::MAX).min(size);
        let bytes = file.get(at, most).map_err(|error| error.to_string())?;
        if let Some(page) = parse(&bytes) {
            return Ok(page);
        }
        if size >= LONGEST_HEADER || most < size {
            return Err("the header of a page is damaged".into());
        }
        size *= 16;
    }
}

/// Field 2 of a page header is its size uncompressed, field 3 compressed.
fn parse(bytes: &[u8]) -> Option<Page> {
    let mut thrift = Thrift { bytes, at: 0 };
    let (mut sizes, mut field) = ([None; 2], 0);
    while let Some(kind) = thrift.field(&mut field)? {
        match (field, kind) {
            (2 | 3, 5) => sizes[field as usize - 2] = Some(u64::try_from(thrift.number()?).ok()?),
            _ => thrift.skip(kind, 0)?,
        }
    }
    let [uncompressed, compressed] = sizes;
    Some(Page { header: thrift.at as u64, compressed: compressed?, uncompressed: uncompressed? })
}

/// Goes through a struct of Thrift's compact protocol. `None` is: not one, or not all of it.
struct Thrift<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Thrift<'_> {
    fn byte(&mut self) -> Option<u8> {
        let byte = *self.bytes.get(self.at)?;
        self.at += 1;
        Some(byte)
    }

    fn varint(&mut self) -> Option<u64> {
        let mut value = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            value |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// A signed number, small ones in few bytes.
    fn number(&mut self) -> Option<i64> {
        let value = self.varint()?;
        Some((value >> 1) as i64 ^ -((value & 1) as i64))
    }

    /// The type of the next field, whose number goes to `field`; nothing at the end of the struct.
    fn field(&mut self, field: &mut i64) -> Option<Option<u8>> {
        let byte = self.byte()?;
        if byte == 0 {
            return Some(None);
        }
        *field = match byte >> 4 {
            0 => self.number()?,
            more => field.checked_add(i64::from(more))?,
        };
        Some(Some(byte & 0x0f))
    }

    fn skip(&mut self, kind: u8, depth: usize) -> Option<()> {
        if depth > DEEPEST {
            return None;
        }
        match kind {
            // A truth value is its type.
            1 | 2 => {}
            3 => self.at += 1,
            4..=6 => self.varint().map(|_| ())?,
            7 => self.at += 8,
            8 => {
                let length = usize::try_from(self.varint()?).ok()?;
                self.at = self.at.checked_add(length)?;
            }
            9 | 10 => {
                let head = self.byte()?;
                let count = if head >> 4 == 15 { self.varint()? } else { u64::from(head >> 4) };
                for _ in 0..count {
                    // In a list a truth value takes a byte.
                    match head & 0x0f {
                        1 | 2 => self.at += 1,
                        kind => self.skip(kind, depth + 1)?,
                    }
                    if self.at > self.bytes.len() {
                        return None;
                    }
                }
            }
            12 => {
                let mut field = 0;
                while let Some(kind) = self.field(&mut field)? {
                    self.skip(kind, depth + 1)?;
                }
            }
            _ => return None,
        }
        (self.at <= self.bytes.len()).then_some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_parsed_whatever_else_they_hold() {
        // type 0, sizes 300 and 7, then a struct with a text, a list of two truths and a struct, then field 20.
        let bytes = [
            0x15, 0x00, 0x15, 0xd8, 0x04, 0x15, 0x0e, 0x2c, 0x18, 0x02, b'h', b'i', 0x19, 0x21, 1, 2, 0x1c, 0x00, 0x00,
            0x05, 0x28, 0x02, 0x00, 0xaa,
        ];
        assert_eq!(parse(&bytes), Some(Page { header: 23, compressed: 7, uncompressed: 300 }));
        for at in 0..23 {
            assert_eq!(parse(&bytes[..at]), None, "{at}");
        }
        assert_eq!(parse(&[0x15, 0x00, 0x15, 0x01, 0x15, 0x0e, 0x00]), None, "a negative size");
        assert_eq!(parse(&[0x1c].repeat(100)), None, "structs in structs");
    }
}
