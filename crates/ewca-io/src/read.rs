//! The door: from a path, or a stream of bytes, to a table.

use std::fs::{self, File};
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::{file_name, one_line};
use crate::finish::{Draft, finish};
use crate::source::Kind;
use crate::{Error, Format, ReadOptions, Table, arrow, csv, h5ad, mat, mtx, npy, npz, source, tenx};

/// Enough of a file to know its format.
pub(crate) const HEAD: u64 = 64;

/// Reads the table at `path`: a file, a 10x folder, or a pipe, which is read once, to its end.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    TableFile::at(path).read(options)
}

/// Reads a table from a stream, such as the standard input. `name` stands for the file in messages,
/// and its extension counts where the bytes leave a doubt.
pub fn read_table_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Table, Error> {
    TableFile::of_stream(reader, name, options)?.read(options)
}

/// A table that is about to be read. What was loaded to look into it, or by a reading that failed, is kept for the next
/// reading: nothing is read twice.
#[derive(Debug)]
pub struct TableFile {
    path: Option<PathBuf>,
    /// The name in messages.
    file: String,
    loaded: Option<Bytes>,
}

impl TableFile {
    /// The file, the 10x folder or the pipe at `path`. Nothing is opened yet.
    pub fn at(path: &Path) -> TableFile {
        TableFile { path: Some(path.into()), file: file_name(path), loaded: None }
    }

    /// What a stream brings, to its end. `name` stands for the file in messages.
    pub fn of_stream(reader: impl Read, name: &str, options: &ReadOptions) -> Result<TableFile, Error> {
        let bytes = source::load_from(reader, 0, name, options)?;
        Ok(TableFile::of_bytes(bytes, name))
    }

    /// The same of bytes that are here already, and plain.
    pub fn of_bytes(bytes: Vec<u8>, name: &str) -> TableFile {
        TableFile { path: None, file: one_line(name), loaded: Some(bytes.into()) }
    }

    /// The path, if there is one.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The name in messages.
    pub(crate) fn name(&self) -> &str {
        &self.file
    }

    /// Reads the table.
    pub fn read(&mut self, options: &ReadOptions) -> Result<Table, Error> {
        let (_, draft) = self.draft(options)?;
        // The bytes are not held beside what becomes of the draft.
        self.loaded = None;
        finish(draft, &self.file, options)
    }

    /// What is in the file, as it is there.
    pub(crate) fn draft(&mut self, options: &ReadOptions) -> Result<(Format, Draft), Error> {
        if self.loaded.is_none()
            && let Some(path) = &self.path
            && let Some(streamed) = read_streaming(path, &self.file, options)?
        {
            return Ok(streamed);
        }
        read_bytes(self.bytes(options)?, &self.file, options)
    }

    /// All bytes of the file, decompressed.
    pub(crate) fn bytes(&mut self, options: &ReadOptions) -> Result<Bytes, Error> {
        match (&self.loaded, &self.path) {
            (Some(loaded), _) => Ok(loaded.clone()),
            (None, Some(path)) => Ok(self.loaded.insert(source::load(path, options)?.into()).clone()),
            (None, None) => Err(Error::Empty { file: self.file.clone() }),
        }
    }
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

/// Reads what need not be loaded whole: a 10x folder, AnnData, or a plain array. Nothing where it is something else.
fn read_streaming(path: &Path, file: &str, options: &ReadOptions) -> Result<Option<(Format, Draft)>, Error> {
    let length = match source::kind_of(path, file)? {
        Kind::Folder => return Ok(Some((Format::TenX, tenx::read(path, options)?))),
        Kind::Stream => return Ok(None),
        Kind::Regular(length) => length,
    };
    let failed = |source| Error::Read { file: file.into(), source };
    let mut opened = File::open(path).map_err(failed)?;
    let mut head = Vec::new();
    opened.by_ref().take(HEAD).read_to_end(&mut head).map_err(failed)?;
    if head.starts_with(b"\x89HDF") && Format::detect(&head, file, options)? == Format::H5ad {
        return Ok(Some((Format::H5ad, h5ad::read(path, file, options)?)));
    }
    // A plain array is read as it streams by: its bytes are never held beside its numbers.
    if head.starts_with(b"\x93NUMPY") && Format::detect(&head, file, options)? == Format::Npy {
        source::check_length(length, file, options)?;
        let reader = BufReader::with_capacity(1 << 18, (&head[..]).chain(opened));
        return Ok(Some((Format::Npy, npy::read(reader, Some(length), file)?)));
    }
    Ok(None)
}

fn read_bytes(bytes: Bytes, file: &str, options: &ReadOptions) -> Result<(Format, Draft), Error> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::LOADS;
    use crate::{Missing, inspect};

    /// How often files were loaded in this thread during some work.
    fn loads(work: impl FnOnce()) -> usize {
        let before = LOADS.get();
        work();
        LOADS.get() - before
    }

    fn golden(name: &str) -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
    }

    /// Archives, MATLAB and Arrow files were once loaded for their forecast, and again for their table.
    #[test]
    fn what_a_forecast_loads_is_not_loaded_again() {
        for (path, label) in [("one.npz", None), ("plain.mat", None), ("table.arrow", Some("class"))] {
            let path = golden(path);
            let read = || {
                let mut table = TableFile::at(&path);
                let options = ReadOptions { label: label.map(Into::into), ..ReadOptions::default() };
                let promised = table.forecast(&options).unwrap();
                let found = table.read(&options).unwrap();
                assert_eq!((found.rows(), found.columns()), (promised.rows, promised.columns));
            };
            assert_eq!(loads(read), 1, "{}", path.display());
        }
    }

    /// Each column of text was once found by reading the file from its start.
    #[test]
    fn a_file_is_inspected_in_one_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("texts.csv");
        fs::write(&path, "a,b,c,d,x\nu,v,w,t,1\nu,v,w,t,2\n").unwrap();
        let look = || assert_eq!(inspect(&path, &ReadOptions::default()).unwrap().text_columns, ["a", "b", "c", "d"]);
        assert_eq!(loads(look), 1);
    }

    /// The same where options turn out not to fit.
    #[test]
    fn a_second_try_needs_no_second_reading() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        fs::write(&path, "x,y\n1,2\n3,4\n").unwrap();
        let read = || {
            let mut table = TableFile::at(&path);
            let with = |label: Option<&str>| ReadOptions {
                label: label.map(Into::into),
                missing: Missing::DropRows,
                ..ReadOptions::default()
            };
            assert!(table.read(&with(Some("class"))).is_err());
            assert_eq!(table.read(&with(None)).unwrap().rows(), 2);
        };
        assert_eq!(loads(read), 1);
    }
}
