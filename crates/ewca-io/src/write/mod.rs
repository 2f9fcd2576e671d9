//! Results out: whole files or none.

mod columnar;
mod npy;
mod text;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::error::file_name;
use crate::format::extension;

pub use npy::write_matrix_npy;
pub(crate) use text::undefused;
pub use text::{write_csv, write_raw_text, write_table_csv};

/// Where the bytes of a file go until it is complete.
pub type AtomicWriter<'a> = BufWriter<&'a File>;

/// Writes a file so that nobody ever sees half of it: `write` fills a temporary file in the same
/// folder, which then takes the place of `path`. When anything fails the temporary file is removed
/// and what was at `path` is still there.
///
/// A path that is not a regular file (a terminal, a pipe) is written directly.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut AtomicWriter) -> io::Result<()>) -> Result<(), Error> {
    try_write(path, write).map_err(|source| Error::Write { file: file_name(path), source })
}

fn try_write(path: &Path, write: impl FnOnce(&mut AtomicWriter) -> io::Result<()>) -> io::Result<()> {
    if fs::metadata(path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir()) {
        return fill(&File::create(path)?, write);
    }
    let replacement = Replacement::begin(path)?;
    fill(replacement.temporary.as_file(), write)?;
    replacement.commit()
}

/// A temporary file that will take the place of another; dropped, it is gone.
pub(crate) struct Replacement {
    pub temporary: tempfile::NamedTempFile,
    target: PathBuf,
}

impl Replacement {
    /// Makes the temporary file, in the folder of `path`.
    pub fn begin(path: &Path) -> io::Result<Replacement> {
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|existing| existing.is_dir()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // A link stays a link: what it points to is replaced.
        let target = if existing.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
        let mut builder = tempfile::Builder::new();
        builder.prefix(".ewca-").suffix(".part");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As for any new file; the process's mask takes away what it must.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = builder.tempfile_in(folder_of(&target))?;
        if let Some(existing) = existing {
            temporary.as_file().set_permissions(existing.permissions())?;
        }
        Ok(Replacement { temporary, target })
    }

    /// Puts the temporary file, safe on disk, in its place.
    pub fn commit(self) -> io::Result<()> {
        self.temporary.as_file().sync_all()?;
        self.temporary.persist(&self.target).map_err(|failure| failure.error)?;
        // The rename itself is safe once the folder is; not every system can sync a folder.
        if let Ok(folder) = File::open(folder_of(&self.target)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

fn fill(file: &File, write: impl FnOnce(&mut AtomicWriter) -> io::Result<()>) -> io::Result<()> {
    let mut writer = BufWriter::with_capacity(1 << 16, file);
    let outcome = write(&mut writer).and_then(|()| writer.flush());
    // What is left in the buffer of a failed write must not be tried again.
    let _ = writer.into_parts();
    outcome
}

/// A table to write: text columns first, then numbers.
#[derive(Debug, Clone, Copy)]
pub struct Frame<'a> {
    /// The number of rows.
    pub rows: usize,
    /// The leading columns of text, such as ids and labels; each has `rows` cells.
    pub texts: &'a [TextColumn<'a>],
    /// The names of the numeric columns.
    pub columns: &'a [String],
    /// The numbers, row after row: `rows * columns.len()` of them.
    pub values: &'a [f64],
}

/// One column of text in a [`Frame`].
#[derive(Debug, Clone, Copy)]
pub struct TextColumn<'a> {
    /// The name of the column.
    pub name: &'a str,
    /// One cell per row.
    pub cells: &'a [String],
}

impl Frame<'_> {
    /// Panics unless every part has `rows` rows: a mistake of the caller, not of a file.
    pub(crate) fn check(&self) {
        assert_eq!(self.values.len(), self.rows * self.columns.len(), "numbers of a frame");
        for text in self.texts {
            assert_eq!(text.cells.len(), self.rows, "cells of column {}", text.name);
        }
    }
}

/// Writes a frame in the format that the extension of `path` names: `.csv` or `.tsv` (with `.gz` or
/// `.zst` compressed), `.parquet`, `.arrow` or `.feather`, or `.npy` (the numbers alone, without names).
///
/// # Panics
/// If the parts of the frame do not have the same number of rows.
pub fn write_table(path: &Path, frame: &Frame) -> Result<(), Error> {
    frame.check();
    let file = file_name(path);
    let compressed = [".gz", ".zst"].iter().any(|end| file.to_ascii_lowercase().ends_with(end));
    match (extension(&file).as_deref(), compressed) {
        (Some("csv" | "tsv" | "tab" | "txt"), _) => write_table_csv(path, frame),
        (Some("parquet" | "pq"), false) => write_atomically(path, |out| columnar::write_parquet(out, frame)),
        (Some("arrow" | "feather"), false) => write_atomically(path, |out| columnar::write_ipc(out, frame)),
        (Some("npy"), false) => write_matrix_npy(path, frame.rows, frame.columns.len(), frame.values),
        _ => Err(Error::Options {
            problem: format!("{file}: its extension names no format that is written here"),
            advice: "end it in .csv, .tsv, .csv.gz, .csv.zst, .parquet, .arrow or .npy".into(),
        }),
    }
}

/// A sample, one of its partners in the plan, and how much they exchange.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Partner {
    /// The row of the sample.
    pub sample: usize,
    /// The row of its partner.
    pub partner: usize,
    /// The mass that the plan moves between them.
    pub weight: f64,
}

/// Writes partners as a long table with the columns `sample`, `partner` and `weight`, in the format
/// that the extension of `path` names. Samples are called by their ids, or else by their row from 1.
///
/// # Panics
/// If a partner is outside the ids.
pub fn write_partners(path: &Path, partners: &[Partner], ids: Option<&[String]>) -> Result<(), Error> {
    let name = |row: usize| ids.map_or_else(|| (row + 1).to_string(), |ids| ids[row].clone());
    let samples: Vec<String> = partners.iter().map(|pair| name(pair.sample)).collect();
    let others: Vec<String> = partners.iter().map(|pair| name(pair.partner)).collect();
    let weights: Vec<f64> = partners.iter().map(|pair| pair.weight).collect();
    let texts = [TextColumn { name: "sample", cells: &samples }, TextColumn { name: "partner", cells: &others }];
    let frame = Frame { rows: partners.len(), texts: &texts, columns: &["weight".into()], values: &weights };
    write_table(path, &frame)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, Values, read_table};

    fn strings(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| name.to_string()).collect()
    }

    #[test]
    fn what_is_written_is_read_again_with_the_same_bits() {
        let folder = tempfile::tempdir().unwrap();
        let ids = strings(&["a, b", "say \"hi\"", "two\nlines"]);
        let columns = strings(&["EWC1", "EWC2"]);
        let values = [0.1, -0.0, 1e-300, f64::MAX, 5e-324, 1.0 / 3.0];
        let texts = [TextColumn { name: "id", cells: &ids }];
        let frame = Frame { rows: 3, texts: &texts, columns: &columns, values: &values };
        for name in ["t.csv", "t.tsv", "t.csv.gz", "t.csv.zst"] {
            let path = folder.path().join(name);
            write_table_csv(&path, &frame).unwrap();
            let options = ReadOptions { id: Some("id".into()), ..ReadOptions::default() };
            let table = read_table(&path, &options).unwrap();
            assert_eq!(table.ids.unwrap(), ids);
            assert_eq!(table.features, columns);
            let Values::Dense(read) = table.values else { panic!("dense") };
            assert!(read.data.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()), "{name}");
        }
    }

    #[test]
    fn the_extension_chooses_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let columns = strings(&["EWC1", "EWC2"]);
        let ids = strings(&["a", "b"]);
        let values = [1.5, -2.0, 1.0 / 3.0, 4.0];
        let texts = [TextColumn { name: "id", cells: &ids }];
        let frame = Frame { rows: 2, texts: &texts, columns: &columns, values: &values };
        for name in ["t.csv", "t.tsv.gz", "t.parquet", "t.arrow", "t.feather", "t.npy"] {
            let path = folder.path().join(name);
            write_table(&path, &frame).unwrap();
            let id = (name != "t.npy").then(|| "id".to_string());
            let table = read_table(&path, &ReadOptions { id, ..ReadOptions::default() }).unwrap();
            let Values::Dense(read) = table.values else { panic!("dense") };
            assert_eq!(read.data, values, "{name}");
        }
        for name in ["t.xlsx", "t", "t.parquet.gz"] {
            let error = write_table(&folder.path().join(name), &frame).unwrap_err();
            assert!(error.to_string().contains("its extension names no format"), "{error}");
        }
    }

    #[test]
    fn partners_are_a_long_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.csv");
        let partners =
            [Partner { sample: 0, partner: 1, weight: 0.5 }, Partner { sample: 1, partner: 0, weight: 0.25 }];
        write_partners(&path, &partners, None).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "sample,partner,weight\n1,2,0.5\n2,1,0.25\n");
        write_partners(&path, &partners, Some(&strings(&["x", "y"]))).unwrap();
        assert_eq!(fs::read_to_string(&path).unwrap(), "sample,partner,weight\nx,y,0.5\ny,x,0.25\n");
    }

    #[test]
    fn a_failed_write_leaves_the_old_file_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("scores.csv");
        fs::write(&path, "old").unwrap();
        let error = write_atomically(&path, |file| {
            file.write_all(b"half")?;
            Err(io::ErrorKind::StorageFull.into())
        })
        .unwrap_err();
        assert!(error.to_string().contains("the disk is full"), "{error}");
        assert_eq!(fs::read_to_string(&path).unwrap(), "old");
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn links_and_permissions_are_kept() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let (real, link) = (folder.path().join("real"), folder.path().join("link"));
        fs::write(&real, "old").unwrap();
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        std::os::unix::fs::symlink(&real, &link).unwrap();
        write_atomically(&link, |file| file.write_all(b"new")).unwrap();
        assert_eq!(fs::read_to_string(&real).unwrap(), "new");
        assert!(fs::symlink_metadata(&link).unwrap().is_symlink());
        assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    }

    #[cfg(unix)]
    #[test]
    fn a_full_device_is_reported() {
        if Path::new("/dev/full").exists() {
            let error = write_atomically(Path::new("/dev/full"), |file| file.write_all(b"x")).unwrap_err();
            assert!(error.to_string().contains("the disk is full"), "{error}");
        }
    }
}
