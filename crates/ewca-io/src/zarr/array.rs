//! What an array of a Zarr folder says of itself.

use serde_json::{Value, json};

use super::codec::Codec;
use crate::Error;
use crate::error::{counted, excerpt};
use crate::npy;

/// An array: its sizes, and how its chunks are stored.
pub(super) struct Array {
    pub sizes: Vec<usize>,
    pub chunk: Vec<usize>,
    /// Where several chunks are in one file.
    pub shards: Option<Shards>,
    pub cells: Cells,
    /// In the order in which they were applied.
    pub codecs: Vec<Codec>,
    fill: Value,
    /// What the names of chunks start with, and what is between their numbers.
    prefix: String,
    separator: String,
}

/// Files that hold chunks side by side, and an index: for each of them, where it begins and how long it is.
pub(super) struct Shards {
    /// How many chunks a shard has in each dimension.
    chunks: Vec<usize>,
    /// Whether the index is behind the chunks, or before them.
    is_index_last: bool,
    /// The bytes of a checksum behind the index. It is not looked at: what the index says is checked by itself.
    checksum: usize,
}

/// A chunk in a shard: its first byte, its length, and which chunk of the array it is.
pub(super) struct Inside {
    pub start: u64,
    pub length: u64,
    pub at: [usize; 2],
}

impl Shards {
    /// Takes the shards apart, if the only codec is that of shards: the sizes of the chunks, and what was done to them.
    fn parse(shard: &[usize], first: &Value) -> Result<(Shards, Vec<usize>, Vec<Value>), Trouble> {
        let about = &first["configuration"];
        let (shard, chunk) = shapes(&json!(shard), &about["chunk_shape"])?;
        if shard.iter().zip(&chunk).any(|(shard, chunk)| !shard.is_multiple_of(*chunk)) {
            return Err(Trouble::Malformed(format!("it has chunks of {chunk:?} in shards of {shard:?}")));
        }
        let of_index: Vec<Value> = about["index_codecs"].as_array().cloned().unwrap_or_default();
        let checksum = match of_index.iter().map(|codec| codec["name"].as_str()).collect::<Vec<_>>()[..] {
            [Some("bytes")] => 0,
            [Some("bytes"), Some("crc32c")] => 4,
            _ => return Err(unknown("index_codecs", &about["index_codecs"])),
        };
        if of_index[0]["configuration"]["endian"] == "big" {
            return Err(unknown("index_codecs", &about["index_codecs"]));
        }
        let is_index_last = match about["index_location"].as_str() {
            None | Some("end") => true,
            Some("start") => false,
            Some(_) => return Err(unknown("index_location", &about["index_location"])),
        };
        let chunks = shard.iter().zip(&chunk).map(|(shard, chunk)| shard / chunk).collect();
        let codecs = about["codecs"].as_array().cloned().unwrap_or_default();
        Ok((Shards { chunks, is_index_last, checksum }, chunk, codecs))
    }

    /// The first byte and the length of the index in a file of `length` bytes; nothing where it does not fit in.
    pub fn index(&self, length: u64) -> Option<(u64, u64)> {
        let count = self.chunks.iter().try_fold(1u64, |product, &n| product.checked_mul(n as u64))?;
        let bytes = count.checked_mul(16)?;
        let with_checksum = bytes.checked_add(self.checksum as u64)?;
        let start = length.checked_sub(with_checksum)?;
        Some((if self.is_index_last { start } else { 0 }, bytes))
    }
}

/// What the cells of an array are.
pub(super) enum Cells {
    /// Each takes the same number of bytes, as in an array of NumPy that has the shape of a chunk.
    Fixed(npy::Header),
    /// Texts of any length.
    Texts,
}

/// What an array has no words for yet, which becomes an error with its path.
enum Trouble {
    Malformed(String),
    Unknown(String),
}

fn unknown(what: &str, value: &Value) -> Trouble {
    Trouble::Unknown(format!("{what} {}", excerpt(value.to_string().as_bytes())))
}

impl Array {
    pub fn parse(about: &Value, path: &str, file: &str) -> Result<Array, Error> {
        let parsed = match about["zarr_format"].as_u64() {
            Some(2) => Array::old(about, file),
            Some(3) => Array::new(about, file),
            _ => Err(unknown("zarr_format", &about["zarr_format"])),
        };
        parsed.map_err(|trouble| match trouble {
            Trouble::Malformed(problem) => Error::malformed(file, "zarr", format!("{path}: {problem}")),
            Trouble::Unknown(what) => Error::unsupported(
                file,
                format!("{path} is stored in a way that ewca cannot read ({what})"),
                "save it as .h5ad, or as Zarr with anndata's default settings",
            ),
        })
    }

    /// Version 2: `.zarray`.
    fn old(about: &Value, file: &str) -> Result<Array, Trouble> {
        let (sizes, chunk) = shapes(&about["shape"], &about["chunks"])?;
        let mut codecs = Vec::new();
        if !about["compressor"].is_null() {
            codecs.push(codec(&about["compressor"], "id")?);
        }
        let filters = about["filters"].as_array().map_or(&[][..], |filters| filters);
        let cells = match (about["dtype"].as_str(), filters) {
            (Some("|O"), [only]) if only["id"] == "vlen-utf8" => Cells::Texts,
            (Some(kind), []) if kind != "|O" => {
                let fortran = about["order"] == "F";
                let header = npy::Header::of_chunk(kind, chunk.clone(), fortran, file);
                Cells::Fixed(header.map_err(|_| unknown("elements of type", &about["dtype"]))?)
            }
            (_, []) => return Err(unknown("elements of type", &about["dtype"])),
            (_, [first, ..]) => return Err(unknown("filter", &first["id"])),
        };
        let separator = about["dimension_separator"].as_str().unwrap_or(".").to_string();
        Array {
            sizes,
            chunk,
            shards: None,
            cells,
            codecs,
            fill: about["fill_value"].clone(),
            prefix: String::new(),
            separator,
        }
        .checked()
    }

    /// Version 3: `zarr.json`.
    fn new(about: &Value, file: &str) -> Result<Array, Trouble> {
        let grid = &about["chunk_grid"];
        if grid["name"] != "regular" {
            return Err(unknown("chunk_grid", &grid["name"]));
        }
        let (sizes, chunk) = shapes(&about["shape"], &grid["configuration"]["chunk_shape"])?;
        if about["storage_transformers"].as_array().is_some_and(|list| !list.is_empty()) {
            return Err(unknown("storage_transformers", &about["storage_transformers"]));
        }
        let outer = about["codecs"].as_array().cloned().unwrap_or_default();
        let (shards, chunk, codecs) = match &outer[..] {
            [only] if only["name"] == "sharding_indexed" => {
                let (shards, chunk, codecs) = Shards::parse(&chunk, only)?;
                (Some(shards), chunk, codecs)
            }
            _ => (None, chunk, outer),
        };
        let Some([first, others @ ..]) = codecs.get(..) else {
            return Err(Trouble::Malformed("it has no codecs".into()));
        };
        let kind = &about["data_type"];
        let cells = match (first["name"].as_str(), kind.as_str()) {
            (Some("vlen-utf8"), Some("string")) => Cells::Texts,
            (Some("bytes"), Some(name)) => {
                let order = if first["configuration"]["endian"] == "big" { '>' } else { '<' };
                let code = type_code(name).ok_or_else(|| unknown("elements of type", kind))?;
                let header = npy::Header::of_chunk(&format!("{order}{code}"), chunk.clone(), false, file);
                Cells::Fixed(header.map_err(|_| unknown("elements of type", kind))?)
            }
            (Some("bytes" | "vlen-utf8"), _) => return Err(unknown("elements of type", kind)),
            _ => return Err(unknown("codec", &first["name"])),
        };
        let codecs = others.iter().map(|about| codec(about, "name")).collect::<Result<_, _>>()?;
        let keys = &about["chunk_key_encoding"];
        let said = keys["configuration"]["separator"].as_str();
        let (prefix, separator) = match keys["name"].as_str() {
            Some("default") => (format!("c{}", said.unwrap_or("/")), said.unwrap_or("/").to_string()),
            Some("v2") => (String::new(), said.unwrap_or(".").to_string()),
            _ => return Err(unknown("chunk_key_encoding", &keys["name"])),
        };
        Array { sizes, chunk, shards, cells, codecs, fill: about["fill_value"].clone(), prefix, separator }.checked()
    }

    fn checked(self) -> Result<Array, Trouble> {
        if !["/", "."].contains(&self.separator.as_str()) {
            return Err(Trouble::Malformed("its chunks have names in an unknown format".into()));
        }
        if let Cells::Fixed(header) = &self.cells
            && header.count().is_none()
        {
            return Err(Trouble::Malformed(format!("it claims chunks of {:?}", self.chunk)));
        }
        Ok(self)
    }

    /// Which chunk has this name, if it is one of the array; of shards, which of these.
    pub fn position(&self, key: &str) -> Option<[usize; 2]> {
        let mut at = [0; 2];
        let mut numbers = key.strip_prefix(&self.prefix)?.split(&self.separator);
        for (dimension, place) in at.iter_mut().take(self.sizes.len()).enumerate() {
            let text = numbers.next()?;
            *place = text.parse().ok()?;
            // No chunk has two names.
            let inside = self.shards.as_ref().map_or(1, |shards| shards.chunks[dimension]);
            let is_there = *place < self.sizes[dimension].div_ceil(self.chunk[dimension]).div_ceil(inside);
            if !is_there || place.to_string() != text {
                return None;
            }
        }
        numbers.next().is_none().then_some(at)
    }

    /// The chunks of a shard, by its index; or what is wrong with that. Those beyond the ends of the array, or of which nothing is stored,
    /// are left out.
    pub fn inside(&self, shards: &Shards, at: [usize; 2], index: &[u8], length: u64) -> Result<Vec<Inside>, String> {
        let [high, wide] = self.in_two(&shards.chunks);
        let chunks = [0, 1].map(|d| self.in_two(&self.sizes)[d].div_ceil(self.in_two(&self.chunk)[d]));
        let mut inside = Vec::new();
        for (number, entry) in index.chunks_exact(16).enumerate() {
            let [start, bytes] =
                [&entry[..8], &entry[8..]].map(|x| x.iter().rev().fold(0, |n, &b| n << 8 | u64::from(b)));
            let at = [at[0] * high + number / wide, at[1] * wide + number % wide];
            if (start, bytes) == (u64::MAX, u64::MAX) || at[0] >= chunks[0] || at[1] >= chunks[1] {
                continue;
            }
            if start.checked_add(bytes).is_none_or(|end| end > length) {
                return Err(format!("its index names bytes {start} to {} of {length}", start.saturating_add(bytes)));
            }
            inside.push(Inside { start, length: bytes, at });
        }
        Ok(inside)
    }

    /// The sizes of a list or a table as those of a table.
    pub fn in_two(&self, sizes: &[usize]) -> [usize; 2] {
        [sizes[0], sizes.get(1).copied().unwrap_or(1)]
    }

    /// The bytes of one cell, where that is known; at least those of what it becomes.
    pub fn element_size(&self) -> usize {
        match &self.cells {
            Cells::Fixed(header) => header.element.size(),
            Cells::Texts => 0,
        }
    }

    /// The bytes of a chunk, where they are always as many.
    pub fn chunk_bytes(&self) -> Option<usize> {
        match &self.cells {
            Cells::Fixed(header) => Some(header.count()?.saturating_mul(header.element.size())),
            Cells::Texts => None,
        }
    }

    /// Puts the cells of a chunk in their places; those beyond the ends of the array are padding.
    pub fn put<T: Clone>(&self, part: &[T], at: [usize; 2], cells: &mut [T]) {
        let [rows, columns] = self.in_two(&self.sizes);
        let [high, wide] = self.in_two(&self.chunk);
        let [top, left] = [at[0] * high, at[1] * wide];
        let is_turned = matches!(&self.cells, Cells::Fixed(header) if header.fortran);
        let width = wide.min(columns - left);
        for row in 0..high.min(rows - top) {
            let start = (top + row) * columns + left;
            let line = &mut cells[start..start + width];
            if is_turned {
                for (column, cell) in line.iter_mut().enumerate() {
                    *cell = part[column * high + row].clone();
                }
            } else {
                line.clone_from_slice(&part[row * wide..row * wide + width]);
            }
        }
    }

    /// What stands in the cells of chunks that are not there.
    pub fn fill_number(&self) -> Option<f64> {
        match &self.fill {
            Value::Null => Some(0.0),
            Value::Bool(truth) => Some(f64::from(u8::from(*truth))),
            Value::Number(number) => number.as_f64(),
            Value::String(text) => match text.as_str() {
                "NaN" => Some(f64::NAN),
                "Infinity" => Some(f64::INFINITY),
                "-Infinity" => Some(f64::NEG_INFINITY),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn fill_text(&self) -> String {
        self.fill.as_str().unwrap_or_default().to_string()
    }
}

/// The sizes of an array, and of its chunks: one or two.
fn shapes(sizes: &Value, chunk: &Value) -> Result<(Vec<usize>, Vec<usize>), Trouble> {
    let list = |value: &Value| -> Option<Vec<usize>> {
        let size = |size: &Value| usize::try_from(size.as_u64()?).ok();
        value.as_array()?.iter().map(size).collect()
    };
    let (Some(sizes), Some(chunk)) = (list(sizes), list(chunk)) else {
        return Err(Trouble::Malformed("it has no usable shape".into()));
    };
    if ![1, 2].contains(&sizes.len()) {
        let found = counted(sizes.len(), "dimension");
        return Err(Trouble::Malformed(format!("it has {found} instead of 1 (for a list) or 2 (for a table)")));
    }
    if chunk.len() != sizes.len() || chunk.contains(&0) {
        return Err(Trouble::Malformed(format!("it has chunks of {chunk:?} and a shape of {sizes:?}")));
    }
    Ok((sizes, chunk))
}

fn codec(about: &Value, key: &str) -> Result<Codec, Trouble> {
    about[key].as_str().and_then(Codec::named).ok_or_else(|| unknown("codec", &about[key]))
}

/// The types of version 3 as NumPy writes them.
fn type_code(name: &str) -> Option<&'static str> {
    const TYPES: [(&str, &str); 12] = [
        ("bool", "b1"),
        ("int8", "i1"),
        ("int16", "i2"),
        ("int32", "i4"),
        ("int64", "i8"),
        ("uint8", "u1"),
        ("uint16", "u2"),
        ("uint32", "u4"),
        ("uint64", "u8"),
        ("float16", "f2"),
        ("float32", "f4"),
        ("float64", "f8"),
    ];
    TYPES.iter().find(|(known, _)| *known == name).map(|&(_, code)| code)
}
