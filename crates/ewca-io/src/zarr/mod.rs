//! AnnData in a Zarr folder, of version 2 or 3: groups and arrays are folders, what is known of them is JSON, and chunks of arrays are
//! files. `array` has what an array says of itself, and `codec` what was done to its chunks.
//!
//! Nothing outside the folder is read: names that lead out of it, and links, are refused. Only chunks that are there are read,
//! so that a folder of few files costs little, whatever it claims.

mod array;
mod codec;

use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Component, Path, PathBuf};

use serde_json::Value;

use crate::anndata::{AnnData, check_turned, number_text};
use crate::error::{counted, excerpt, truth_name};
use crate::finish::Draft;
use crate::forecast::TableShape;
use crate::limit::Limit;
use crate::memory::{check_room, make_room};
use crate::npy;
use crate::source::contained;
use crate::sparse::whole_numbers;
use crate::{Error, ReadOptions, TextCells};

use array::{Array, Cells, Inside, Shards};

/// What is known of a group or an array takes some kilobytes.
const MOST_METADATA: u64 = 1 << 24;
/// The files that make a folder a group or an array.
const MARKS: [&str; 3] = ["zarr.json", ".zgroup", ".zarray"];

/// Reads `X`, or the layer that the options name.
pub(crate) fn read(folder: &Path, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    check_turned(options)?;
    opened(folder, file, options, |zarr| {
        let mut draft = zarr.draft(options)?;
        draft.notes.push("AnnData in a Zarr folder".into());
        Ok(draft)
    })
}

/// The shape of the matrix that is asked for, as its arrays say it.
pub(crate) fn shape(folder: &Path, file: &str, options: &ReadOptions) -> Option<TableShape> {
    opened(folder, file, options, |zarr| Ok(zarr.table_shape(options))).ok()?
}

/// The matrices, and the columns of obs with their texts; without, where they cannot be read.
pub(crate) fn describe(
    folder: &Path,
    file: &str,
    options: &ReadOptions,
) -> Result<(Vec<String>, Vec<TextCells>), Error> {
    opened(folder, file, options, |zarr| zarr.described())
}

fn opened<T>(
    root: &Path,
    name: &str,
    options: &ReadOptions,
    use_it: impl FnOnce(&Zarr) -> Result<T, Error>,
) -> Result<T, Error> {
    contained(name, "zarr", || {
        let zarr = Zarr { root, name, options };
        zarr.check_kind()?;
        use_it(&zarr)
    })?
}

struct Zarr<'a> {
    root: &'a Path,
    name: &'a str,
    options: &'a ReadOptions,
}

/// A group or an array.
struct Node {
    folder: PathBuf,
    /// What an array says of itself.
    array: Option<Value>,
    attributes: Value,
}

/// A part of an array that is there.
struct Chunk {
    path: PathBuf,
    /// Its first byte in the file, and its length.
    start: u64,
    length: u64,
    /// Which one it is, in each dimension.
    at: [usize; 2],
}

impl Zarr<'_> {
    fn failed(&self) -> impl Fn(io::Error) -> Error {
        let file = self.name.to_string();
        move |source| Error::Read { file: file.clone(), source }
    }

    fn check_kind(&self) -> Result<(), Error> {
        let names = self.members("")?;
        if names.iter().any(|name| name == "obs" || name == "X") {
            return Ok(());
        }
        let shown: Vec<String> = names.iter().take(5).map(|name| excerpt(name.as_bytes())).collect();
        let has = if shown.is_empty() { "no groups".into() } else { shown.join(", ") };
        let what = format!("is a Zarr folder, but not AnnData (it contains {has})");
        Err(Error::unsupported(self.name, what, "choose the folder that contains obs, var and X"))
    }

    fn link(&self, path: &Path) -> Error {
        let place = path.strip_prefix(self.root).unwrap_or(path).to_string_lossy();
        let what = format!("'{}' is a link", excerpt(place.as_bytes()));
        Error::unsupported(self.name, what, "copy its target into the folder")
    }

    /// The folder of a group or an array, if there is one.
    fn folder(&self, path: &str) -> Result<Option<PathBuf>, Error> {
        let mut folder = self.root.to_path_buf();
        if path.is_empty() {
            return Ok(Some(folder));
        }
        for part in path.split('/') {
            let mut components = Path::new(part).components();
            let is_name = matches!(components.next(), Some(Component::Normal(name)) if name == part);
            if !is_name || components.next().is_some() {
                return Err(self.malformed(format!("'{}' is not the name of an array", excerpt(path.as_bytes()))));
            }
            folder.push(part);
            match folder.symlink_metadata() {
                Ok(about) if about.is_symlink() => return Err(self.link(&folder)),
                Ok(about) if about.is_dir() => {}
                _ => return Ok(None),
            }
        }
        Ok(Some(folder))
    }

    /// A file of a folder as JSON, if it is there.
    fn json(&self, folder: &Path, name: &str) -> Result<Option<Value>, Error> {
        let path = folder.join(name);
        let Ok(about) = path.symlink_metadata() else { return Ok(None) };
        let place = path.strip_prefix(self.root).unwrap_or(&path).display().to_string();
        if about.is_symlink() {
            return Err(self.link(&path));
        }
        // A pipe would wait for its writer.
        if !about.is_file() || about.len() > MOST_METADATA {
            return Err(self.malformed(format!("{place} is not a file of at most {MOST_METADATA} bytes")));
        }
        let mut text = Vec::new();
        File::open(&path).map_err(self.failed())?.take(MOST_METADATA).read_to_end(&mut text).map_err(self.failed())?;
        serde_json::from_slice(&text).map(Some).map_err(|error| self.malformed(format!("{place}: {error}")))
    }

    fn node(&self, path: &str) -> Result<Option<Node>, Error> {
        let Some(folder) = self.folder(path)? else { return Ok(None) };
        if let Some(mut about) = self.json(&folder, "zarr.json")? {
            let attributes = about.get_mut("attributes").map(Value::take).unwrap_or_default();
            let array = (about["node_type"] == "array").then_some(about);
            return Ok(Some(Node { folder, array, attributes }));
        }
        let array = self.json(&folder, ".zarray")?;
        if array.is_none() && self.json(&folder, ".zgroup")?.is_none() {
            return Ok(None);
        }
        let attributes = self.json(&folder, ".zattrs")?.unwrap_or_default();
        Ok(Some(Node { folder, array, attributes }))
    }

    fn array(&self, path: &str) -> Result<(PathBuf, Array), Error> {
        let node = self.node(path)?;
        let Some(Node { folder, array: Some(about), .. }) = node else {
            return Err(self.malformed(format!("it has no array '{}'", excerpt(path.as_bytes()))));
        };
        Ok((folder, Array::parse(&about, path, self.name)?))
    }

    /// The chunks of an array that are there, and the bytes of all their files. Which there should be is never counted: an array may
    /// claim any number of them.
    fn chunks(&self, folder: &Path, array: &Array) -> Result<(Vec<Chunk>, u64), Error> {
        let (mut chunks, mut total) = (Vec::new(), 0u64);
        let mut open = vec![(folder.to_path_buf(), String::new(), 0)];
        while let Some((folder, start, depth)) = open.pop() {
            for entry in fs::read_dir(&folder).map_err(self.failed())? {
                let entry = entry.map_err(self.failed())?;
                let Ok(name) = entry.file_name().into_string() else { continue };
                let key = format!("{start}{name}");
                let about = entry.path().symlink_metadata().map_err(self.failed())?;
                if about.is_dir() {
                    // `c`, and a folder for each dimension but the last.
                    if depth <= array.sizes.len() {
                        open.push((entry.path(), format!("{key}/"), depth + 1));
                    }
                    continue;
                }
                if about.is_symlink() {
                    return Err(self.link(&entry.path()));
                }
                let Some(at) = array.position(&key) else { continue };
                if !about.is_file() {
                    return Err(self.malformed(format!("its chunk {key} is not a file")));
                }
                total = total.saturating_add(about.len());
                let file = Chunk { path: entry.path(), start: 0, length: about.len(), at };
                match &array.shards {
                    None => chunks.push(file),
                    Some(shards) => chunks.extend(self.inside(array, shards, &file, &key)?),
                }
            }
        }
        Ok((chunks, total))
    }

    /// The chunks in a shard.
    fn inside(&self, array: &Array, shards: &Shards, file: &Chunk, key: &str) -> Result<Vec<Chunk>, Error> {
        let broken = |problem: String| self.malformed(format!("its shard {key}: {problem}"));
        let (start, length) = shards
            .index(file.length)
            .ok_or_else(|| broken(format!("{} bytes are not enough for its index", file.length)))?;
        let index = self.bytes(&Chunk { path: file.path.clone(), start, length, at: file.at })?;
        let inside = array.inside(shards, file.at, &index, file.length).map_err(broken)?;
        let chunk = |Inside { start, length, at }| Chunk { path: file.path.clone(), start, length, at };
        Ok(inside.into_iter().map(chunk).collect())
    }

    /// The bytes of a chunk as they are in the file.
    fn bytes(&self, chunk: &Chunk) -> Result<Vec<u8>, Error> {
        check_room(chunk.length, self.name)?;
        let mut bytes = Vec::new();
        let mut file = File::open(&chunk.path).map_err(self.failed())?;
        file.seek(SeekFrom::Start(chunk.start)).map_err(self.failed())?;
        file.take(chunk.length).read_to_end(&mut bytes).map_err(self.failed())?;
        Ok(bytes)
    }

    /// All cells of an array; `decode` makes those of a chunk from its bytes.
    fn cells<T: Clone>(
        &self,
        path: &str,
        (folder, array): &(PathBuf, Array),
        fill: T,
        decode: impl Fn(&[u8]) -> Result<Vec<T>, Error>,
    ) -> Result<Vec<T>, Error> {
        let [rows, columns] = array.in_two(&array.sizes);
        let chunk = array.in_two(&array.chunk);
        let (chunks, length) = self.chunks(folder, array)?;
        let limit = Limit::of_claims(length, self.options);
        let each = size_of::<T>().max(array.element_size());
        let count = |[rows, columns]: [usize; 2]| {
            let count = rows.checked_mul(columns).ok_or_else(|| limit.exceeded(self.name))?;
            let bytes = (count as u64).saturating_mul(each as u64);
            if bytes > limit.bytes {
                return Err(limit.exceeded(self.name));
            }
            check_room(bytes, self.name)?;
            Ok(count)
        };
        let (count, expected) = (count([rows, columns])?, count(chunk)?);
        let mut cells = Vec::new();
        make_room(&mut cells, count, self.name)?;
        cells.resize(count, fill);
        for found in chunks {
            let broken = |problem: String| self.malformed(format!("{path}, chunk {:?}: {problem}", found.at));
            let bytes = self.decompressed(&found, array, limit, &broken)?;
            let part = decode(&bytes)?;
            if part.len() != expected {
                return Err(broken(format!("it has {} instead of {expected}", counted(part.len(), "element"))));
            }
            array.put(&part, found.at, &mut cells);
        }
        Ok(cells)
    }

    /// The bytes of a chunk, as they were before they were compressed.
    fn decompressed(
        &self,
        chunk: &Chunk,
        array: &Array,
        limit: Limit,
        broken: &dyn Fn(String) -> Error,
    ) -> Result<Vec<u8>, Error> {
        let most = array.chunk_bytes().map_or(limit.bytes, |bytes| bytes as u64);
        let mut bytes = self.bytes(chunk)?;
        for codec in array.codecs.iter().rev() {
            bytes = codec.undo(&bytes, most).map_err(broken)?;
        }
        match array.chunk_bytes() {
            Some(expected) if expected != bytes.len() => {
                Err(broken(format!("it has {} bytes instead of {expected}", bytes.len())))
            }
            _ => Ok(bytes),
        }
    }
}

impl AnnData for Zarr<'_> {
    fn name(&self) -> &str {
        self.name
    }

    fn format(&self) -> &'static str {
        "zarr"
    }

    fn members(&self, group: &str) -> Result<Vec<String>, Error> {
        let Some(folder) = self.folder(group)? else {
            return Err(self.malformed(format!("it has no group '{}'", excerpt(group.as_bytes()))));
        };
        let mut names = Vec::new();
        for entry in fs::read_dir(&folder).map_err(self.failed())? {
            let entry = entry.map_err(self.failed())?;
            let has_mark = || MARKS.iter().any(|mark| entry.path().join(mark).symlink_metadata().is_ok());
            let kind = entry.file_type().map_err(self.failed())?;
            // A link is refused when it is followed, by its name.
            if kind.is_symlink() || kind.is_dir() && has_mark() {
                names.extend(entry.file_name().into_string());
            }
        }
        names.sort_unstable();
        Ok(names)
    }

    fn is_group(&self, path: &str) -> bool {
        matches!(self.node(path), Ok(Some(Node { array: None, .. })))
    }

    fn is_array(&self, path: &str) -> bool {
        matches!(self.node(path), Ok(Some(Node { array: Some(_), .. })))
    }

    fn text_attribute(&self, group: &str, name: &str) -> Option<String> {
        Some(self.node(group).ok()??.attributes[name].as_str()?.to_string())
    }

    fn sizes(&self, array: &str) -> Result<Vec<usize>, Error> {
        Ok(self.array(array)?.1.sizes)
    }

    fn all_numbers(&self, path: &str) -> Result<Vec<f64>, Error> {
        let found = self.array(path)?;
        let Cells::Fixed(header) = &found.1.cells else {
            return Err(self.malformed(format!("{path} contains text instead of numbers")));
        };
        let fill = found.1.fill_number().ok_or_else(|| self.malformed(format!("{path} has no usable fill_value")))?;
        self.cells(path, &found, fill, |bytes| header.numbers(bytes, None, self.name))
    }

    fn naturals(&self, array: &str, what: &str) -> Result<Vec<u64>, Error> {
        whole_numbers(self.all_numbers(array)?, what).map_err(|problem| self.malformed(format!("{array}: {problem}")))
    }

    fn all_texts(&self, path: &str) -> Result<Vec<String>, Error> {
        let found = self.array(path)?;
        let fill = found.1.fill_text();
        match &found.1.cells {
            Cells::Texts => self.cells(path, &found, fill, |bytes| {
                codec::texts(bytes, self.name).map_err(|problem| self.malformed(format!("{path}: {problem}")))
            }),
            Cells::Fixed(header) if !header.element.is_number() => {
                self.cells(path, &found, fill, |bytes| header.texts(bytes, self.name))
            }
            Cells::Fixed(header) if header.element == npy::Element::Bool => {
                Ok(self.all_numbers(path)?.into_iter().map(|number| truth_name(number != 0.0)).collect())
            }
            Cells::Fixed(_) => Ok(self.all_numbers(path)?.into_iter().map(number_text).collect()),
        }
    }

    fn holds_numbers(&self, array: &str) -> bool {
        let is_number = |element: npy::Element| element.is_number() && element != npy::Element::Bool;
        matches!(self.array(array), Ok((_, Array { cells: Cells::Fixed(header), .. })) if is_number(header.element))
    }
}
