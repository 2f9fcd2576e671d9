//! The bytes of a file: loaded, and decompressed as they arrive.

use std::borrow::Cow;
use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::error::file_name;
use crate::format::extension;
use crate::limit::Limit;
use crate::memory::check_room;
use crate::{Error, ReadOptions, xlsx};

/// What there is at a path that can be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A regular file of this length, which may be opened again and again.
    Regular(u64),
    /// A pipe, which gives what it holds once.
    Stream,
    /// A folder.
    Folder,
}

/// What is at `path`. Nothing is opened: a named pipe would wait for its writer. Devices and sockets are refused, since
/// they have no end.
pub(crate) fn kind_of(path: &Path, file: &str) -> Result<Kind, Error> {
    let about = fs::metadata(path).map_err(|source| Error::Read { file: file.into(), source })?;
    if about.is_file() {
        return Ok(Kind::Regular(about.len()));
    }
    if about.is_dir() {
        return Ok(Kind::Folder);
    }
    match special_kind(about.file_type()) {
        None => Ok(Kind::Stream),
        Some(kind) => Err(Error::NotAFile { file: file.into(), kind }),
    }
}

/// What is neither a file, nor a folder, nor a pipe.
#[cfg(unix)]
fn special_kind(found: fs::FileType) -> Option<&'static str> {
    use std::os::unix::fs::FileTypeExt;
    match found {
        found if found.is_char_device() => Some("character device"),
        found if found.is_block_device() => Some("block device"),
        found if found.is_socket() => Some("socket"),
        _ => None,
    }
}

#[cfg(not(unix))]
fn special_kind(_: fs::FileType) -> Option<&'static str> {
    None
}

/// What is in a file.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub bytes: Vec<u8>,
    /// What was done to come to it, for people.
    pub note: Option<String>,
}

impl From<Vec<u8>> for Loaded {
    fn from(bytes: Vec<u8>) -> Loaded {
        Loaded { bytes, note: None }
    }
}

/// The bytes of the file or pipe at `path`, decompressed.
pub(crate) fn load(path: &Path, options: &ReadOptions) -> Result<Loaded, Error> {
    let file = file_name(path);
    let length = match kind_of(path, &file)? {
        Kind::Regular(length) => length,
        Kind::Stream => 0,
        Kind::Folder => return Err(Error::Read { file, source: io::ErrorKind::IsADirectory.into() }),
    };
    let opened = OpenFile::open(path, length).map_err(|source| Error::Read { file: file.clone(), source })?;
    opened.load(&file, options)
}

#[cfg(test)]
thread_local! {
    /// How often a file or a pipe was loaded.
    pub(crate) static LOADS: Cell<usize> = const { Cell::new(0) };
}

/// All the bytes of a stream, for those who need them more than once: no more than the options allow, or the memory
/// holds. Compressed ones come out plain. `name` stands for the stream in messages.
pub fn read_stream(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Vec<u8>, Error> {
    Ok(load_rest(Vec::new(), reader, 0, name, options)?.bytes)
}

/// The bytes that were read already, and those that `reader` gives, decompressed; `length` is how many there should be, or 0.
fn load_rest(
    seen: Vec<u8>,
    reader: impl Read,
    length: u64,
    file: &str,
    options: &ReadOptions,
) -> Result<Loaded, Error> {
    #[cfg(test)]
    LOADS.set(LOADS.get() + 1);
    let bytes = take(seen, reader, Limit::of_plain(options), length, file)?;
    if bytes.is_empty() {
        return Err(Error::Empty { file: file.into() });
    }
    decompressed(bytes, file, options)
}

/// Refuses a plain file that is too long.
pub(crate) fn check_length(length: u64, file: &str, options: &ReadOptions) -> Result<(), Error> {
    Limit::of_plain(options).check(length, file)
}

/// What `bytes` hold: the first bytes tell compressed files from the rest, whatever they are called. Of a workbook, a sheet as text.
fn decompressed(bytes: Vec<u8>, file: &str, options: &ReadOptions) -> Result<Loaded, Error> {
    let limit = Limit::of_compressed(bytes.len() as u64, options);
    let Some(format) = Compression::of(&bytes) else { return Ok(bytes.into()) };
    let inside = match format {
        Compression::Gzip => take(Vec::new(), flate2::read::MultiGzDecoder::new(&bytes[..]), limit, 0, file),
        Compression::Zstd => zstd::stream::read::Decoder::with_buffer(&bytes[..])
            .map_err(|source| Error::Read { file: file.into(), source })
            .and_then(|decoder| take(Vec::new(), decoder, limit, 0, file)),
        Compression::Bzip2 => take(Vec::new(), bzip2::read::MultiBzDecoder::new(&bytes[..]), limit, 0, file),
        Compression::Xz => contained(file, format.name(), || {
            let decoder = lzma_rust2::XzReader::new_mem_limit(&bytes[..], true, XZ_MEMORY);
            take(Vec::new(), decoder, limit, 0, file)
        })?,
        Compression::Zip => match contained(file, format.name(), || only_member(&bytes, limit, file, options))? {
            Ok(None) => return Ok(bytes.into()),
            Ok(Some(Loaded { bytes, note: None })) => Ok(bytes),
            Ok(Some(sheet)) => return Ok(sheet),
            Err(error) => Err(error),
        },
    };
    match inside {
        Ok(inside) if inside.is_empty() => Err(Error::Empty { file: file.into() }),
        Ok(inside) => Ok(inside.into()),
        Err(Error::Read { source, .. }) => Err(Error::malformed(file, format.name(), compressed_problem(&source))),
        Err(error) => Err(error),
    }
}

/// What `xz -9` needs to be read, in KiB. A file may ask for much more.
const XZ_MEMORY: u32 = 80 << 10;

/// The table in an archive that has one, or in a workbook. Nothing where it is an archive of arrays.
fn only_member(bytes: &[u8], limit: Limit, file: &str, options: &ReadOptions) -> Result<Option<Loaded>, Error> {
    if extension(file).is_some_and(|extension| extension == "npz") {
        return Ok(None);
    }
    let Ok(mut archive) = zip::ZipArchive::new(io::Cursor::new(bytes)) else { return Ok(None) };
    let is_file =
        |name: &String| !name.ends_with('/') && !name.starts_with("__MACOSX/") && !name.ends_with(".DS_Store");
    let names: Vec<String> = archive.file_names().flatten().map(String::from).filter(is_file).collect();
    if names.iter().any(|name| name.ends_with(".npy")) {
        return Ok(None);
    }
    if let Some((what, advice)) = xlsx::stranger(&names) {
        return Err(Error::unsupported(file, what, advice));
    }
    if xlsx::is_workbook(&names) {
        return xlsx::load(archive, limit, file, options).map(Some);
    }
    let [name] = &names[..] else {
        let what = match &names[..] {
            [] => "is an empty archive".into(),
            several => format!("is an archive of {} files", several.len()),
        };
        return Err(Error::unsupported(file, what, "unpack it, and use the table itself"));
    };
    let member = archive.by_name(name).map_err(|error| Error::malformed(file, "zip", error))?;
    take(Vec::new(), member, limit, 0, file).map(|bytes| Some(bytes.into()))
}

/// A way of making files smaller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Compression {
    Gzip,
    Zstd,
    Bzip2,
    Xz,
    Zip,
}

impl Compression {
    /// The one that the first bytes of a file show.
    pub fn of(head: &[u8]) -> Option<Compression> {
        match head {
            _ if is_gzip(head) => Some(Compression::Gzip),
            _ if is_zstd(head) => Some(Compression::Zstd),
            [b'B', b'Z', b'h', b'1'..=b'9', 0x31, 0x41, 0x59, 0x26, ..] => Some(Compression::Bzip2),
            _ if head.starts_with(b"\xfd7zXZ\0") => Some(Compression::Xz),
            _ if head.starts_with(b"PK\x03\x04") => Some(Compression::Zip),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstd => "zstd",
            Compression::Bzip2 => "bzip2",
            Compression::Xz => "xz",
            Compression::Zip => "zip",
        }
    }
}

/// Whether these are the first bytes of a gzip file.
pub(crate) fn is_gzip(head: &[u8]) -> bool {
    head.starts_with(&[0x1f, 0x8b])
}

/// Whether these are the first bytes of a zstd file.
pub(crate) fn is_zstd(head: &[u8]) -> bool {
    head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd])
}

/// A file that was opened to be looked at. What was read of it is kept: it is not read again.
#[derive(Debug)]
pub(crate) struct OpenFile {
    inner: File,
    pub length: u64,
    /// The bytes that were read, from the start on.
    seen: Vec<u8>,
}

impl OpenFile {
    pub fn open(path: &Path, length: u64) -> io::Result<OpenFile> {
        Ok(OpenFile { inner: File::open(path)?, length, seen: Vec::new() })
    }

    /// The first bytes: so many, if there are so many.
    pub fn head(&mut self, count: usize) -> io::Result<&[u8]> {
        let more = count.saturating_sub(self.seen.len());
        self.inner.by_ref().take(more as u64).read_to_end(&mut self.seen)?;
        Ok(&self.seen[..count.min(self.seen.len())])
    }

    /// The bytes from the start on; those that come out are kept.
    pub fn reader_from_start(&mut self) -> FromStart<'_> {
        FromStart { file: self, at: 0 }
    }

    /// All bytes as they stream by: nothing is kept.
    pub fn into_reader(self) -> impl Read {
        io::Cursor::new(self.seen).chain(self.inner)
    }

    /// All bytes, decompressed.
    pub fn load(self, file: &str, options: &ReadOptions) -> Result<Loaded, Error> {
        load_rest(self.seen, self.inner, self.length, file, options)
    }

    /// Up to `most` bytes of the text that it holds, decompressed.
    pub fn text(&mut self, most: usize) -> Option<Sample<'_>> {
        let length = usize::try_from(self.length).ok()?;
        let head = self.head(4).ok()?;
        let (gzip, zstd) = (is_gzip(head), is_zstd(head));
        if !gzip && !zstd {
            return Some(Sample { text: self.head(most).ok()?.into(), whole: length, compressed: 0 });
        }
        let (mut text, mut bytes) = (Vec::new(), self.reader_from_start());
        if gzip {
            flate2::read::MultiGzDecoder::new(&mut bytes).take(most as u64).read_to_end(&mut text).ok()?;
        } else {
            zstd::stream::read::Decoder::new(&mut bytes).ok()?.take(most as u64).read_to_end(&mut text).ok()?;
        }
        // As the beginning grew, so will the rest.
        let grown = text.len() as f64 * (length as f64 / bytes.at.max(1) as f64);
        let whole = if text.len() < most { text.len() } else { grown as usize };
        Some(Sample { text: text.into(), whole, compressed: length })
    }
}

/// Reads a file from its start, and keeps what it reads.
pub(crate) struct FromStart<'f> {
    file: &'f mut OpenFile,
    at: usize,
}

impl Read for FromStart<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let OpenFile { inner, seen, .. } = &mut *self.file;
        let read = match &seen[self.at..] {
            [] => {
                let read = inner.read(buffer)?;
                seen.extend_from_slice(&buffer[..read]);
                read
            }
            mut again => again.read(buffer)?,
        };
        self.at += read;
        Ok(read)
    }
}

/// The beginning of a text.
pub(crate) struct Sample<'f> {
    pub text: Cow<'f, [u8]>,
    /// The length of the whole text; of a compressed one that does not end within the sample, an estimate.
    pub whole: usize,
    /// The bytes of the file, if it is compressed.
    pub compressed: usize,
}

/// Everything that `reader` gives, after the first `bytes`, unless it is more than the limit. The buffer grows as bytes come; room
/// for the `length` of a file that is there is made at once, where it can be.
fn take(mut bytes: Vec<u8>, reader: impl Read, limit: Limit, length: u64, file: &str) -> Result<Vec<u8>, Error> {
    limit.check(length, file)?;
    check_room(length, file)?;
    let _ = bytes.try_reserve_exact(usize::try_from(length).unwrap_or(0).saturating_sub(bytes.len()));
    let most = limit.bytes.saturating_add(1).saturating_sub(bytes.len() as u64);
    reader.take(most).read_to_end(&mut bytes).map_err(|source| match source.kind() {
        io::ErrorKind::OutOfMemory => Error::NoRoom { file: file.into(), bytes: limit.bytes },
        _ => Error::Read { file: file.into(), source },
    })?;
    if bytes.len() as u64 > limit.bytes {
        return Err(limit.exceeded(file));
    }
    Ok(bytes)
}

fn compressed_problem(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::UnexpectedEof => "the compressed data ends too early".into(),
        _ => format!("the compressed data is damaged ({error})"),
    }
}

thread_local! {
    /// How many decoders of other crates this thread is inside of.
    static INSIDE: Cell<usize> = const { Cell::new(0) };
}

/// Runs a decoder of another crate. Some of them panic on damaged files that they should refuse (a Parquet
/// page that needs a dictionary which is not there, say); that, too, is an error of the file. Nothing of
/// the decoder is used afterwards.
pub(crate) fn contained<T>(file: &str, format: &'static str, decode: impl FnOnce() -> T) -> Result<T, Error> {
    INSIDE.set(INSIDE.get() + 1);
    let outcome = std::panic::catch_unwind(std::panic::AssertUnwindSafe(decode));
    INSIDE.set(INSIDE.get() - 1);
    outcome.map_err(|_| Error::malformed(file, format, "its parts contradict each other"))
}

/// Whether a panic of this thread, just now, is one of a decoder that becomes an [`Error`]: a panic hook need not print
/// it.
pub fn is_contained_panic() -> bool {
    INSIDE.get() > 0
}

/// Gives at most `limit` bytes of a reader, and remembers if there were more.
pub(crate) struct Bounded<R> {
    inner: R,
    left: u64,
    exhausted: bool,
}

impl<R: Read> Bounded<R> {
    pub fn new(inner: R, limit: u64) -> Bounded<R> {
        Bounded { inner, left: limit, exhausted: false }
    }

    pub fn exhausted(&self) -> bool {
        self.exhausted
    }
}

impl<R: Read> Read for Bounded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        if self.left == 0 && !buffer.is_empty() {
            self.exhausted = true;
            return Ok(0);
        }
        let most = buffer.len().min(usize::try_from(self.left).unwrap_or(usize::MAX));
        let read = self.inner.read(&mut buffer[..most])?;
        self.left -= read as u64;
        Ok(read)
    }
}
