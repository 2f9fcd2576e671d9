//! A 10x folder: `matrix.mtx`, `features.tsv` or `genes.tsv`, and `barcodes.tsv`, each perhaps `.gz`.
//!
//! The matrix has genes in rows; here, as everywhere, samples (barcodes) come in rows. A feature is
//! called by its symbol (the second column) unless another one has the same symbol: then by its
//! identifier (the first).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::{counted, file_name, phrase};
use crate::finish::Draft;
use crate::source::{self, Kind, kind_of};
use crate::{Error, OptionName, Place, ReadOptions, TableFile, mtx};

/// Reads a folder, whose matrix may be open already.
pub(crate) fn read(folder: &Path, opened: Option<Box<TableFile>>, options: &ReadOptions) -> Result<Draft, Error> {
    if options.transpose {
        return Err(Error::Options {
            problem: "a 10x folder always gives barcodes as samples".into(),
            advice: phrase!["leave out ", OptionName::Transpose],
        });
    }
    let mut matrix = match opened {
        Some(matrix) => matrix,
        None => Box::new(TableFile::at(&matrix(folder)?)),
    };
    let mut draft = mtx::read(&matrix.bytes(options)?, matrix.name())?;
    // Its bytes are not held beside what becomes of them.
    drop(matrix);
    draft.values = draft.values.transposed();
    draft.features = Some(names(folder, &["features.tsv", "genes.tsv"], draft.values.columns(), options)?);
    draft.ids = Some(names(folder, &["barcodes.tsv"], draft.values.rows(), options)?);
    Ok(draft)
}

/// The file with the matrix.
pub(crate) fn matrix(folder: &Path) -> Result<PathBuf, Error> {
    find(folder, &["matrix.mtx"])?.ok_or_else(|| Error::Folder { file: file_name(folder) })
}

/// The first of `files` that is there, plain or compressed. It must be a file, and in the folder: whoever makes a folder
/// could else have any file of the reader read, by a link.
fn find(folder: &Path, files: &[&str]) -> Result<Option<PathBuf>, Error> {
    let plain_or_not = files.iter().flat_map(|file| [file.to_string(), format!("{file}.gz")]);
    let Some(path) = plain_or_not.map(|file| folder.join(file)).find(|path| path.symlink_metadata().is_ok()) else {
        return Ok(None);
    };
    let file = file_name(&path);
    let failed = |source| Error::Read { file: file.clone(), source };
    let real = path.canonicalize().map_err(failed)?;
    if !real.starts_with(folder.canonicalize().map_err(failed)?) {
        let what = "is a link to a file outside its folder";
        return Err(Error::unsupported(&file, what, "copy that file into the folder"));
    }
    match kind_of(&path, &file)? {
        Kind::Regular(_) => Ok(Some(path)),
        Kind::Stream => Err(Error::NotAFile { file, kind: "pipe" }),
        Kind::Folder => Err(Error::NotAFile { file, kind: "folder" }),
    }
}

/// The names in a file, one per line.
fn names(folder: &Path, files: &[&str], expected: usize, options: &ReadOptions) -> Result<Vec<String>, Error> {
    let path = find(folder, files)?.unwrap_or_else(|| folder.join(files[0]));
    let file = file_name(&path);
    let bytes = source::load(&path, options)?;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() + 1;
        Error::NotUtf8 { file: file.clone(), place: Place::Line(line) }
    })?;
    let lines: Vec<Vec<&str>> = text.lines().map(|line| line.trim_end().split('\t').collect()).collect();
    if lines.len() != expected {
        let what = format!("has {} where the matrix has {expected}", counted(lines.len(), "line"));
        return Err(Error::unsupported(&file, what, "take the three files of a folder together"));
    }
    let symbol = |cells: &Vec<&str>| cells.get(1).copied().unwrap_or(cells[0]).to_string();
    let mut uses: HashMap<String, usize> = HashMap::new();
    for cells in &lines {
        *uses.entry(symbol(cells)).or_default() += 1;
    }
    let name = |cells: &Vec<&str>| match uses[&symbol(cells)] {
        1 => symbol(cells),
        _ => cells[0].to_string(),
    };
    Ok(lines.iter().map(name).collect())
}
