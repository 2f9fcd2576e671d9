//! The door: from a path, or a stream of bytes, to a table.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::Path;

use bytes::Bytes;

use crate::error::file_name;
use crate::finish::{Draft, finish};
use crate::source::Kind;
use crate::{Error, Format, ReadOptions, Table, arrow, csv, h5ad, mat, mtx, npy, npz, source, tenx};

/// Enough of a file to know its format.
pub(crate) const HEAD: u64 = 64;

/// Reads the table at `path`: a file, a 10x folder, or a pipe, which is read once, to its end.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    finish(read_draft(path, options)?.1, &file_name(path), options)
}

/// Reads a table from a stream, such as the standard input. `name` stands for the file in messages,
/// and its extension counts where the bytes leave a doubt.
pub fn read_table_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Table, Error> {
    let bytes = source::load_from(reader, 0, name, options)?;
    finish(read_bytes(bytes.into(), name, options)?.1, name, options)
}

/// Whether what is at `path` gives its bytes only once, as a named pipe does, or the `/dev/fd/63` of a shell.
pub fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// All the bytes of a stream, for those who need them more than once: no more than the options allow, or the memory
/// holds. Compressed ones come out plain.
pub fn read_stream(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Vec<u8>, Error> {
    source::load_from(reader, 0, name, options)
}

/// The same of the stream at a path. Devices and sockets, which have no end, are refused.
pub fn read_stream_at(path: &Path, options: &ReadOptions) -> Result<Vec<u8>, Error> {
    source::load(path, options)
}

/// Reads what is at `path`, as it is there.
pub(crate) fn read_draft(path: &Path, options: &ReadOptions) -> Result<(Format, Draft), Error> {
    let file = file_name(path);
    let length = match source::kind_of(path, &file)? {
        Kind::Folder => return Ok((Format::TenX, tenx::read(path, options)?)),
        Kind::Stream => return read_bytes(source::load(path, options)?.into(), &file, options),
        Kind::Regular(length) => length,
    };
    let failed = |source| Error::Read { file: file.clone(), source };
    let mut opened = File::open(path).map_err(failed)?;
    let mut head = Vec::new();
    opened.by_ref().take(HEAD).read_to_end(&mut head).map_err(failed)?;
    if head.starts_with(b"\x89HDF") && Format::detect(&head, &file, options)? == Format::H5ad {
        return Ok((Format::H5ad, h5ad::read(path, &file, options)?));
    }
    // A plain array is read as it streams by: its bytes are never held beside its numbers.
    if head.starts_with(b"\x93NUMPY") && Format::detect(&head, &file, options)? == Format::Npy {
        source::check_length(length, &file, options)?;
        let reader = BufReader::with_capacity(1 << 18, (&head[..]).chain(opened));
        return Ok((Format::Npy, npy::read(reader, Some(length), &file)?));
    }
    let bytes = source::load_from((&head[..]).chain(opened), length, &file, options)?;
    read_bytes(bytes.into(), &file, options)
}

pub(crate) fn read_bytes(bytes: Bytes, file: &str, options: &ReadOptions) -> Result<(Format, Draft), Error> {
    let format = Format::detect(&bytes, file, options)?;
    let draft = match format {
        Format::Csv => csv::read(&bytes, file, options)?,
        Format::Npy => npy::read(&bytes[..], Some(bytes.len() as u64), file)?,
        Format::Npz => npz::read(&bytes, file, options)?,
        Format::Parquet => arrow::read_parquet(bytes, file, options)?,
        Format::Arrow => arrow::read_ipc(&bytes, file, options)?,
        Format::Mat => mat::read(&bytes, file, options)?,
        Format::Mtx => mtx::read(&bytes, file)?,
        Format::H5ad => h5ad::read_bytes(&bytes, file, options)?,
        Format::TenX => {
            let what = "is a file where a 10x folder is expected";
            return Err(Error::unsupported(file, what, "name the folder"));
        }
    };
    Ok((format, draft))
}
