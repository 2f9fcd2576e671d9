//! The door: from a path, or a stream of bytes, to a table.

use std::fs;
use std::io::{BufReader, Read};
use std::path::{Path, PathBuf};

use bytes::Bytes;

use crate::error::{file_name, one_line};
use crate::finish::{Draft, finish};
use crate::source::{Kind, OpenFile, kind_of};
use crate::{Error, Format, ReadOptions, Table, arrow, csv, h5ad, mat, mtx, npy, npz, source, tenx};

/// Enough of a file to know its format.
pub(crate) const HEAD: usize = 128;

/// Reads the table at `path`: a file, a 10x folder, or a pipe, which is read once, to its end.
pub fn read_table(path: &Path, options: &ReadOptions) -> Result<Table, Error> {
    TableFile::at(path).read(options)
}

/// Reads a table from a stream, such as the standard input. `name` stands for the file in messages,
/// and its extension counts where the bytes leave a doubt.
pub fn read_table_from(reader: impl Read, name: &str, options: &ReadOptions) -> Result<Table, Error> {
    TableFile::of_bytes(source::read_stream(reader, name, options)?, name).read(options)
}

/// A table that is about to be read. What was loaded to look into it, or by a reading that failed, is kept for the next
/// reading: nothing is read twice.
#[derive(Debug)]
pub struct TableFile {
    path: Option<PathBuf>,
    /// The name in messages.
    file: String,
    /// The file, once its beginning has been looked at.
    opened: Option<OpenFile>,
    loaded: Option<Bytes>,
    /// What was done to load it, for people.
    note: Option<String>,
    /// The matrix of a 10x folder, once its beginning has been looked at.
    matrix: Option<Box<TableFile>>,
}

impl TableFile {
    /// The file, the 10x folder or the pipe at `path`. Nothing is opened yet.
    pub fn at(path: &Path) -> TableFile {
        TableFile {
            path: Some(path.into()),
            file: file_name(path),
            opened: None,
            loaded: None,
            note: None,
            matrix: None,
        }
    }

    /// Bytes that are here already, and plain. `name` stands for the file in messages.
    pub fn of_bytes(bytes: Vec<u8>, name: &str) -> TableFile {
        let (file, loaded) = (one_line(name), Some(bytes.into()));
        TableFile { path: None, file, opened: None, loaded, note: None, matrix: None }
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
        if let Some(streamed) = self.streamed(options)? {
            return Ok(streamed);
        }
        let (format, mut draft) = read_bytes(self.bytes(options)?, &self.file, options)?;
        draft.notes.splice(0..0, self.note.clone());
        Ok((format, draft))
    }

    /// What was done to load the file, for people.
    pub(crate) fn note(&self) -> Option<&String> {
        self.note.as_ref()
    }

    /// Reads what need not be loaded whole: a 10x folder, AnnData, or a plain array. Nothing where it is something else.
    pub(crate) fn streamed(&mut self, options: &ReadOptions) -> Result<Option<(Format, Draft)>, Error> {
        let Some(path) = self.path.clone().filter(|_| self.loaded.is_none()) else { return Ok(None) };
        if kind_of(&path, &self.file)? == Kind::Folder {
            if tenx::is_zarr(&path) {
                return Ok(Some((Format::H5ad, crate::zarr::read(&path, &self.file, options)?)));
            }
            return Ok(Some((Format::TenX, tenx::read(&path, self.matrix.take(), options)?)));
        }
        let file = self.file.clone();
        let Some(opened) = self.opened()? else { return Ok(None) };
        let head = opened.head(HEAD).map_err(|source| Error::Read { file: file.clone(), source })?;
        if head.starts_with(b"\x89HDF") && Format::detect(head, &file, options)? == Format::H5ad {
            return Ok(Some((Format::H5ad, h5ad::read(&path, &file, options)?)));
        }
        if head.starts_with(b"\x93NUMPY") && Format::detect(head, &file, options)? == Format::Npy {
            let length = opened.length;
            source::check_length(length, &file, options)?;
            // A plain array is read as it streams by: its bytes are never held beside its numbers.
            let reader = self.opened.take().map(|opened| BufReader::with_capacity(1 << 18, opened.into_reader()));
            return reader.map(|reader| Ok((Format::Npy, npy::read(reader, Some(length), &file)?))).transpose();
        }
        Ok(None)
    }

    /// The matrix of the 10x folder at the path, which is kept for the reading.
    pub(crate) fn matrix(&mut self) -> Result<Option<&mut TableFile>, Error> {
        if self.matrix.is_none()
            && let Some(folder) = &self.path
        {
            self.matrix = Some(Box::new(TableFile::at(&tenx::matrix(folder)?)));
        }
        Ok(self.matrix.as_deref_mut())
    }

    /// The file at the path, opened once; nothing where there is none that may be opened again.
    pub(crate) fn opened(&mut self) -> Result<Option<&mut OpenFile>, Error> {
        if self.opened.is_none()
            && let Some(path) = &self.path
            && let Kind::Regular(length) = kind_of(path, &self.file)?
        {
            let opened = OpenFile::open(path, length);
            self.opened = Some(opened.map_err(|source| Error::Read { file: self.file.clone(), source })?);
        }
        Ok(self.opened.as_mut())
    }

    /// All bytes of the file, decompressed.
    pub(crate) fn bytes(&mut self, options: &ReadOptions) -> Result<Bytes, Error> {
        if let Some(loaded) = &self.loaded {
            return Ok(loaded.clone());
        }
        let loaded = match (self.opened.take(), &self.path) {
            (Some(opened), _) => opened.load(&self.file, options)?,
            (None, Some(path)) => source::load(path, options)?,
            (None, None) => return Err(Error::Empty { file: self.file.clone() }),
        };
        self.note = loaded.note;
        Ok(self.loaded.insert(loaded.bytes.into()).clone())
    }
}

/// Whether what is at `path` gives its bytes only once, as a named pipe does, or the `/dev/fd/63` of a shell.
pub fn is_stream(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|about| !about.is_file() && !about.is_dir())
}

/// All the bytes of the stream at a path: see [`read_stream`](crate::read_stream). Devices and sockets, which have no end, are refused.
pub fn read_stream_at(path: &Path, options: &ReadOptions) -> Result<Vec<u8>, Error> {
    Ok(source::load(path, options)?.bytes)
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
            let what = "is a file, not a 10x folder";
            return Err(Error::unsupported(file, what, "choose the folder"));
        }
    };
    Ok((format, draft))
}

#[cfg(test)]
mod tests {
    use std::io::Write;

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

    /// The beginning of a text was once read for its forecast, and again for its table.
    #[cfg(unix)]
    #[test]
    fn what_a_forecast_looks_at_is_what_is_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("t.csv");
        let text = "x,y\n1,2\n3,4\n";
        let gzip = {
            let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            encoder.write_all(text.as_bytes()).unwrap();
            encoder.finish().unwrap()
        };
        for bytes in [text.as_bytes(), &gzip] {
            fs::write(&path, bytes).unwrap();
            let mut table = TableFile::at(&path);
            assert_eq!(table.forecast(&ReadOptions::default()).unwrap().rows, 2);
            fs::remove_file(&path).unwrap();
            fs::write(&path, "other,table\n5,6\n").unwrap();
            let found = table.read(&ReadOptions::default()).unwrap();
            assert_eq!((found.features.join(" "), found.values.stored()), ("x y".into(), &[1.0, 2.0, 3.0, 4.0][..]));
        }
    }

    /// The same of the matrix in a 10x folder.
    #[cfg(unix)]
    #[test]
    fn the_matrix_of_a_folder_is_opened_once() {
        for name in ["tenx2", "tenx3"] {
            let folder = tempfile::tempdir().unwrap();
            for file in fs::read_dir(golden(name)).unwrap().map(|file| file.unwrap().path()) {
                fs::copy(&file, folder.path().join(file.file_name().unwrap())).unwrap();
            }
            let wanted = TableFile::at(&golden(name)).read(&ReadOptions::default()).unwrap();
            let mut table = TableFile::at(folder.path());
            assert_eq!(table.forecast(&ReadOptions::default()).unwrap().rows, wanted.rows());
            fs::remove_file(tenx::matrix(folder.path()).unwrap()).unwrap();
            let found = table.read(&ReadOptions::default()).unwrap();
            assert_eq!((&found.features, found.values.stored()), (&wanted.features, wanted.values.stored()));
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
