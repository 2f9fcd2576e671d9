//! The bytes of a safetensors file, written as they go by, with a checksum over all that the file says.
//!
//! The header holds names and sizes alone, so that nothing in it grows with the samples: readers refuse headers above 100 MB.

use std::io::{self, Write};

use ewca::Matrix;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

/// The tensor that holds the checksum of everything else.
pub const CHECKSUM: &str = "sha256";
/// The bytes of a SHA-256.
const CHECKSUM_BYTES: usize = 32;
/// What is handed on at a time.
const PIECE: usize = 1 << 16;

/// What a tensor holds.
pub enum Content<'a> {
    Vector(&'a [f64]),
    Matrix(&'a Matrix),
    Places(&'a [usize]),
    Bytes(&'a [u8]),
    /// The texts of names, one after the other.
    Names(&'a [String]),
    /// Where each of the names ends.
    Ends(&'a [String]),
}

/// A tensor to write.
pub struct Tensor<'a> {
    pub name: &'static str,
    pub content: Content<'a>,
}

impl Tensor<'_> {
    fn dtype(&self) -> Dtype {
        match self.content {
            Content::Vector(_) | Content::Matrix(_) => Dtype::F64,
            Content::Places(_) | Content::Ends(_) => Dtype::I64,
            Content::Bytes(_) | Content::Names(_) => Dtype::U8,
        }
    }

    fn shape(&self) -> Vec<usize> {
        match self.content {
            Content::Vector(values) => vec![values.len()],
            Content::Matrix(matrix) => vec![matrix.rows(), matrix.columns()],
            Content::Places(places) => vec![places.len()],
            Content::Ends(names) => vec![names.len()],
            Content::Bytes(bytes) => vec![bytes.len()],
            Content::Names(names) => vec![names.iter().map(String::len).sum()],
        }
    }

    fn bytes(&self) -> usize {
        self.shape().iter().product::<usize>() * (self.dtype().bitsize() / 8)
    }

    fn write(&self, out: &mut Pieces<'_>) -> io::Result<()> {
        match self.content {
            Content::Vector(values) => values.iter().try_for_each(|value| out.add(&value.to_le_bytes())),
            Content::Matrix(matrix) => (0..matrix.rows()).try_for_each(|row| {
                (0..matrix.columns()).try_for_each(|column| out.add(&matrix.get(row, column).to_le_bytes()))
            }),
            Content::Places(places) => places.iter().try_for_each(|&place| out.add(&(place as i64).to_le_bytes())),
            Content::Bytes(bytes) => out.add(bytes),
            Content::Names(names) => names.iter().try_for_each(|name| out.add(name.as_bytes())),
            Content::Ends(names) => {
                let mut end = 0;
                names.iter().try_for_each(|name| {
                    end += name.len() as i64;
                    out.add(&end.to_le_bytes())
                })
            }
        }
    }
}

/// Writes a file with these tensors, whose metadata hold `text` under `key`, and a tensor with the checksum of it all.
pub fn write(out: &mut dyn Write, key: &str, text: &str, mut tensors: Vec<Tensor<'_>>) -> io::Result<()> {
    tensors.sort_by_key(|tensor| order(tensor.name, tensor.dtype()));
    let header = header(key, text, &tensors);
    out.write_all(&(header.len() as u64).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    let mut pieces = Pieces { out, sum: begun(text), held: Vec::with_capacity(PIECE) };
    for tensor in &tensors {
        announce(&mut pieces.sum, tensor.name, tensor.dtype(), &tensor.shape());
        tensor.write(&mut pieces)?;
        pieces.hand_on()?;
    }
    let Pieces { out, sum, .. } = pieces;
    out.write_all(&sum.finalize())
}

/// Whether the checksum of a file is that of what it says; `text` is that of its metadata. A fuzzer, which could not find one, is not asked
/// for it: what lies behind must stand files that somebody has signed anew.
pub fn is_whole(text: &str, tensors: &SafeTensors<'_>) -> bool {
    let mut all = tensors.tensors();
    let Some(at) = all.iter().position(|(name, _)| name == CHECKSUM) else { return false };
    let (_, checksum) = all.swap_remove(at);
    all.sort_by_key(|(name, view)| order(name, view.dtype()));
    let mut sum = begun(text);
    for (name, view) in &all {
        announce(&mut sum, name, view.dtype(), view.shape());
        sum.update(view.data());
    }
    cfg!(fuzzing) || checksum.data() == &sum.finalize()[..]
}

/// Wide numbers first, so that each begins at a multiple of its size; then by name.
fn order(name: &str, dtype: Dtype) -> (std::cmp::Reverse<usize>, String) {
    (std::cmp::Reverse(dtype.bitsize()), name.into())
}

fn begun(text: &str) -> Sha256 {
    let mut sum = Sha256::new();
    add_text(&mut sum, text);
    sum
}

/// Adds what a tensor is, before its bytes.
fn announce(sum: &mut Sha256, name: &str, dtype: Dtype, shape: &[usize]) {
    add_text(sum, name);
    add_text(sum, &dtype.to_string());
    sum.update((shape.len() as u64).to_le_bytes());
    shape.iter().for_each(|&size| sum.update((size as u64).to_le_bytes()));
}

fn add_text(sum: &mut Sha256, text: &str) {
    sum.update((text.len() as u64).to_le_bytes());
    sum.update(text.as_bytes());
}

/// The header, padded so that the tensors begin at a multiple of 8 bytes.
fn header(key: &str, text: &str, tensors: &[Tensor<'_>]) -> String {
    let mut entries = Map::new();
    entries.insert("__metadata__".into(), json!({ key: text }));
    let mut start = 0;
    let mut entry = |name: &str, dtype: Dtype, shape: Vec<usize>, bytes: usize| {
        let entry = json!({ "dtype": dtype.to_string(), "shape": shape, "data_offsets": [start, start + bytes] });
        start += bytes;
        entries.insert(name.into(), entry);
    };
    for tensor in tensors {
        entry(tensor.name, tensor.dtype(), tensor.shape(), tensor.bytes());
    }
    entry(CHECKSUM, Dtype::U8, vec![CHECKSUM_BYTES], CHECKSUM_BYTES);
    let mut header = Value::Object(entries).to_string();
    while !header.len().is_multiple_of(8) {
        header.push(' ');
    }
    header
}

/// Bytes on their way to the file, and through the checksum.
struct Pieces<'a> {
    out: &'a mut dyn Write,
    sum: Sha256,
    held: Vec<u8>,
}

impl Pieces<'_> {
    fn add(&mut self, bytes: &[u8]) -> io::Result<()> {
        if self.held.len() + bytes.len() > PIECE {
            self.hand_on()?;
        }
        if bytes.len() > PIECE {
            self.sum.update(bytes);
            return self.out.write_all(bytes);
        }
        self.held.extend_from_slice(bytes);
        Ok(())
    }

    fn hand_on(&mut self) -> io::Result<()> {
        self.sum.update(&self.held);
        self.out.write_all(&self.held)?;
        self.held.clear();
        Ok(())
    }
}

/// A tensor of finite float64 numbers.
pub fn numbers(tensors: &SafeTensors<'_>, name: &str, dimensions: usize) -> Result<(Vec<usize>, Vec<f64>), String> {
    let tensor = typed(tensors, name, Dtype::F64, dimensions)?;
    let values: Vec<f64> = tensor.data().as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(format!("the tensor '{name}' has {} at position {at}", values[at])),
        None => Ok((tensor.shape().to_vec(), values)),
    }
}

/// A vector of float64 numbers, where there is one.
pub fn optional_numbers(tensors: &SafeTensors<'_>, name: &str) -> Result<Option<Vec<f64>>, String> {
    let there = tensors.tensor(name).is_ok();
    there.then(|| numbers(tensors, name, 1).map(|(_, values)| values)).transpose()
}

/// A vector of places, where there is one.
pub fn optional_places(tensors: &SafeTensors<'_>, name: &str) -> Result<Option<Vec<usize>>, String> {
    let there = tensors.tensor(name).is_ok();
    there.then(|| places(tensors, name)).transpose()
}

fn places(tensors: &SafeTensors<'_>, name: &str) -> Result<Vec<usize>, String> {
    let tensor = typed(tensors, name, Dtype::I64, 1)?;
    let place = |&bytes: &[u8; 8]| {
        usize::try_from(i64::from_le_bytes(bytes)).map_err(|_| format!("the tensor '{name}' has a negative number"))
    };
    tensor.data().as_chunks::<8>().0.iter().map(place).collect()
}

/// The bytes of a tensor.
pub fn bytes<'a>(tensors: &SafeTensors<'a>, name: &str) -> Result<&'a [u8], String> {
    Ok(typed(tensors, name, Dtype::U8, 1)?.data())
}

/// Names: their texts in one tensor, and where each ends in another.
pub fn names(tensors: &SafeTensors<'_>, name: &str, ends: &str) -> Result<Vec<String>, String> {
    let text = bytes(tensors, name)?;
    let ends = places(tensors, ends)?;
    let broken = || format!("the tensor '{name}' contains no names");
    if ends.last().copied().unwrap_or(0) != text.len() {
        return Err(broken());
    }
    let mut start = 0;
    let mut next = |end: usize| {
        let name = text.get(start..end).and_then(|bytes| std::str::from_utf8(bytes).ok()).ok_or_else(broken)?;
        start = end;
        Ok(name.to_string())
    };
    ends.into_iter().map(&mut next).collect()
}

/// The same, where there are some.
pub fn optional_names(tensors: &SafeTensors<'_>, name: &str, ends: &str) -> Result<Option<Vec<String>>, String> {
    let there = tensors.tensor(name).is_ok() || tensors.tensor(ends).is_ok();
    there.then(|| names(tensors, name, ends)).transpose()
}

fn typed<'a>(tensors: &SafeTensors<'a>, name: &str, dtype: Dtype, dimensions: usize) -> Result<TensorView<'a>, String> {
    let tensor = tensors.tensor(name).map_err(|_| format!("it has no tensor '{name}'"))?;
    if tensor.dtype() != dtype || tensor.shape().len() != dimensions {
        let kind = if dtype == Dtype::F64 { "float64".into() } else { dtype.to_string() };
        return Err(format!("the tensor '{name}' is not {kind} with {dimensions} dimensions"));
    }
    Ok(tensor)
}
