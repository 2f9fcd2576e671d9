//! What was done to the bytes of a chunk, and how it is undone.

use std::io::Read;

use rust_hdf5::format::messages::filter::{FILTER_BLOSC, Filter, FilterPipeline, reverse_filters_masked_bounded};

use crate::memory::make_room;

/// A way of compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Codec {
    Blosc,
    Gzip,
    Zlib,
    Zstd,
}

impl Codec {
    pub fn named(name: &str) -> Option<Codec> {
        match name {
            // Zarr of version 3 takes the compressions of version 2 under this name.
            "blosc" | "numcodecs.blosc" => Some(Codec::Blosc),
            "gzip" | "numcodecs.gzip" => Some(Codec::Gzip),
            "zlib" | "numcodecs.zlib" => Some(Codec::Zlib),
            "zstd" | "numcodecs.zstd" => Some(Codec::Zstd),
            _ => None,
        }
    }

    /// The bytes before they were compressed, which may be `most`.
    pub fn undo(self, bytes: &[u8], most: u64) -> Result<Vec<u8>, String> {
        match self {
            Codec::Blosc => {
                // HDF5 has the same frames, and the crate that reads it their decoder.
                let blosc = Filter { id: FILTER_BLOSC, flags: 0, cd_values: Vec::new() };
                let most = usize::try_from(most).unwrap_or(usize::MAX);
                reverse_filters_masked_bounded(&FilterPipeline { filters: vec![blosc] }, bytes, 0, most)
                    .map_err(|error| error.to_string())
            }
            Codec::Gzip => at_most(flate2::read::MultiGzDecoder::new(bytes), most),
            Codec::Zlib => at_most(flate2::read::ZlibDecoder::new(bytes), most),
            Codec::Zstd => {
                at_most(zstd::stream::read::Decoder::with_buffer(bytes).map_err(|error| error.to_string())?, most)
            }
        }
    }
}

fn at_most(reader: impl Read, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    reader.take(most.saturating_add(1)).read_to_end(&mut bytes).map_err(|error| error.to_string())?;
    if bytes.len() as u64 > most {
        return Err(format!("it is larger than {most} bytes when decompressed"));
    }
    Ok(bytes)
}

/// Texts of any length (`vlen-utf8`): how many there are, then the length and the bytes of each.
pub(super) fn texts(bytes: &[u8], file: &str) -> Result<Vec<String>, String> {
    let ended = || "it ends in the middle of its texts".to_string();
    let number = |bytes: &mut &[u8]| -> Result<usize, String> {
        let (head, rest) = bytes.split_first_chunk::<4>().ok_or_else(ended)?;
        *bytes = rest;
        Ok(u32::from_le_bytes(*head) as usize)
    };
    let mut rest = bytes;
    let count = number(&mut rest)?;
    // Each has its length before it.
    if count > rest.len() / 4 {
        return Err(ended());
    }
    let mut texts = Vec::new();
    make_room(&mut texts, count, file).map_err(|error| error.to_string())?;
    for _ in 0..count {
        let length = number(&mut rest)?;
        let (text, after) = rest.split_at_checked(length).ok_or_else(ended)?;
        texts.push(std::str::from_utf8(text).map_err(|_| "it has text that is not UTF-8".to_string())?.to_string());
        rest = after;
    }
    Ok(texts)
}
