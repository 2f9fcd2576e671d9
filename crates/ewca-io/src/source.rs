//! The bytes of a file: loaded, and decompressed as they arrive.

use std::cell::Cell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use crate::error::file_name;
use crate::limit::Limit;
use crate::memory::check_room;
use crate::{Error, ReadOptions};

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

/// The bytes of the file or pipe at `path`, decompressed.
pub(crate) fn load(path: &Path, options: &ReadOptions) -> Result<Vec<u8>, Error> {
    let file = file_name(path);
    let length = match kind_of(path, &file)? {
        Kind::Regular(length) => length,
        Kind::Stream => 0,
        Kind::Folder => return Err(Error::Read { file, source: io::ErrorKind::IsADirectory.into() }),
    };
    let opened = File::open(path).map_err(|source| Error::Read { file: file.clone(), source })?;
    load_from(opened, length, &file, options)
}

#[cfg(test)]
thread_local! {
    /// How often a file or a pipe was loaded.
    pub(crate) static LOADS: Cell<usize> = const { Cell::new(0) };
}

/// The bytes that `reader` gives, decompressed; `length` is how many there should be, or 0.
pub(crate) fn load_from(reader: impl Read, length: u64, file: &str, options: &ReadOptions) -> Result<Vec<u8>, Error> {
    #[cfg(test)]
    LOADS.set(LOADS.get() + 1);
    let bytes = take(reader, Limit::of_plain(options), length, file)?;
    if bytes.is_empty() {
        return Err(Error::Empty { file: file.into() });
    }
    decompressed(bytes, file, options)
}

/// Refuses a plain file that is too long.
pub(crate) fn check_length(length: u64, file: &str, options: &ReadOptions) -> Result<(), Error> {
    Limit::of_plain(options).check(length, file)
}

/// What `bytes` hold: the first bytes tell gzip and zstd from the rest, whatever the file is called.
pub(crate) fn decompressed(bytes: Vec<u8>, file: &str, options: &ReadOptions) -> Result<Vec<u8>, Error> {
    let limit = Limit::of_compressed(bytes.len() as u64, options);
    let inside = if is_gzip(&bytes) {
        take(flate2::read::MultiGzDecoder::new(&bytes[..]), limit, 0, file).map_err(|error| (error, "gzip"))
    } else if is_zstd(&bytes) {
        zstd::stream::read::Decoder::with_buffer(&bytes[..])
            .map_err(|source| Error::Read { file: file.into(), source })
            .and_then(|decoder| take(decoder, limit, 0, file))
            .map_err(|error| (error, "zstd"))
    } else {
        return Ok(bytes);
    };
    match inside {
        Ok(inside) if inside.is_empty() => Err(Error::Empty { file: file.into() }),
        Ok(inside) => Ok(inside),
        Err((Error::Read { source, .. }, format)) => Err(Error::malformed(file, format, compressed_problem(&source))),
        Err((error, _)) => Err(error),
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

/// The beginning of a text.
pub(crate) struct Sample {
    pub text: Vec<u8>,
    /// The length of the whole text; of a compressed one that does not end within the sample, an estimate.
    pub whole: usize,
    /// The bytes of the file, if it is compressed.
    pub compressed: usize,
}

/// Up to `most` bytes of the text at `path`, decompressed.
pub(crate) fn sample(path: &Path, most: u64) -> Option<Sample> {
    let Ok(Kind::Regular(length)) = kind_of(path, "") else { return None };
    let mut opened = File::open(path).ok()?;
    let mut head = Vec::new();
    opened.by_ref().take(4).read_to_end(&mut head).ok()?;
    let (gzip, zstd) = (is_gzip(&head), is_zstd(&head));
    let mut counted = Counted { inner: io::Cursor::new(head).chain(opened), count: 0 };
    let mut text = Vec::new();
    if gzip {
        flate2::read::MultiGzDecoder::new(&mut counted).take(most).read_to_end(&mut text).ok()?;
    } else if zstd {
        zstd::stream::read::Decoder::new(&mut counted).ok()?.take(most).read_to_end(&mut text).ok()?;
    } else {
        counted.by_ref().take(most).read_to_end(&mut text).ok()?;
        return Some(Sample { text, whole: usize::try_from(length).ok()?, compressed: 0 });
    }
    // As the beginning grew, so will the rest.
    let grown = text.len() as f64 * (length as f64 / counted.count.max(1) as f64);
    let whole = if (text.len() as u64) < most { text.len() } else { grown as usize };
    Some(Sample { text, whole, compressed: usize::try_from(length).ok()? })
}

/// Counts the bytes that have been read.
struct Counted<R> {
    inner: R,
    count: u64,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.count += read as u64;
        Ok(read)
    }
}

/// Everything that `reader` gives, unless it is more than the limit. The buffer grows as bytes come; room for
/// the `length` of a file that is there is made at once, where it can be.
fn take(reader: impl Read, limit: Limit, length: u64, file: &str) -> Result<Vec<u8>, Error> {
    limit.check(length, file)?;
    check_room(length, file)?;
    let mut bytes = Vec::new();
    let _ = bytes.try_reserve_exact(usize::try_from(length).unwrap_or(0));
    reader.take(limit.bytes.saturating_add(1)).read_to_end(&mut bytes).map_err(|source| match source.kind() {
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
