//! Results out: whole files or none.

mod columnar;
mod mark;
mod npy;
mod table;
mod text;

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use crate::Error;
use crate::error::file_name;

pub use mark::{Marks, marks};
pub use npy::{stage_matrix_npy, write_matrix_npy};
pub use table::{TableWriter, stage_table};
pub(crate) use text::undefused;
pub use text::{write_csv, write_raw_text};

/// Where the bytes of a file go until it is complete.
pub type AtomicWriter<'a> = BufWriter<&'a File>;

/// How the names of files that are not complete begin and end.
const UNFINISHED: (&str, &str) = (".ewca-", ".part");

/// Writes a file so that nobody ever sees half of it: `write` fills a temporary file in the same
/// folder, which then takes the place of `path`. When anything fails the temporary file is removed
/// and what was at `path` is still there.
///
/// A path that is not a regular file (a terminal, a pipe) is written directly.
pub fn write_atomically(path: &Path, write: impl FnOnce(&mut AtomicWriter) -> io::Result<()>) -> Result<(), Error> {
    stage(path, write)?.commit()
}

/// Writes a file next to its place; [`Staged::commit`] puts it there. So several files can be complete before the first of
/// them appears.
pub fn stage(path: &Path, write: impl FnOnce(&mut AtomicWriter) -> io::Result<()>) -> Result<Staged, Error> {
    let failed = |source| Error::Write { file: file_name(path), source };
    if fs::metadata(path).is_ok_and(|existing| !existing.is_file() && !existing.is_dir()) {
        let direct = File::create(path).and_then(|file| fill(&file, write));
        return direct.map(|()| Staged { temporary: None, target: path.into() }).map_err(failed);
    }
    let staged = Staged::begin(path).map_err(failed)?;
    if let Some(temporary) = &staged.temporary {
        fill(temporary.as_file(), write).map_err(failed)?;
    }
    Ok(staged)
}

/// A complete file that is not yet in its place. Dropped, it is gone.
#[derive(Debug)]
pub struct Staged {
    /// Nothing where the bytes went directly to a device or pipe.
    temporary: Option<tempfile::NamedTempFile>,
    target: PathBuf,
}

impl Staged {
    /// Makes the temporary file, in the folder of `path`.
    pub(crate) fn begin(path: &Path) -> io::Result<Staged> {
        let existing = fs::metadata(path).ok();
        if existing.as_ref().is_some_and(|existing| existing.is_dir()) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // A link stays a link: what it points to is replaced.
        let target = if existing.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
        let mut builder = tempfile::Builder::new();
        builder.prefix(UNFINISHED.0).suffix(UNFINISHED.1);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // As for any new file; the process's mask takes away what it must.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let temporary = loop {
            let temporary = builder.tempfile_in(folder_of(&target))?;
            if claimed(&temporary) {
                break temporary;
            }
        };
        if let Some(existing) = existing {
            temporary.as_file().set_permissions(existing.permissions())?;
        }
        Ok(Staged { temporary: Some(temporary), target })
    }

    /// The file that has the bytes now; nothing where they went directly to a device or pipe.
    pub fn path(&self) -> Option<&Path> {
        self.temporary.as_ref().map(tempfile::NamedTempFile::path)
    }

    /// Puts the file, safe on disk, in its place.
    pub fn commit(self) -> Result<(), Error> {
        let file = file_name(&self.target);
        self.put().map_err(|source| Error::Write { file, source })
    }

    fn put(self) -> io::Result<()> {
        let Some(temporary) = self.temporary else { return Ok(()) };
        temporary.as_file().sync_all()?;
        temporary.persist(&self.target).map_err(|failure| failure.error)?;
        // The rename itself is safe once the folder is; not every system can sync a folder.
        if let Ok(folder) = File::open(folder_of(&self.target)) {
            let _ = folder.sync_all();
        }
        Ok(())
    }
}

/// Makes a temporary file one that [`sweep`] leaves alone. Not if it has swept it just now.
#[cfg(unix)]
fn claimed(temporary: &tempfile::NamedTempFile) -> bool {
    use std::os::unix::fs::MetadataExt;
    // Where files cannot be locked, none are swept.
    let _ = temporary.as_file().lock();
    let identity = |about: fs::Metadata| (about.dev(), about.ino());
    let own = temporary.as_file().metadata().map(identity).ok();
    own.is_none() || fs::metadata(temporary.path()).map(identity).ok() == own
}

#[cfg(not(unix))]
fn claimed(_: &tempfile::NamedTempFile) -> bool {
    true
}

/// Removes what killed programs have left unfinished in a folder. A program that is alive holds a lock on what it writes.
pub fn sweep(folder: &Path) {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    if cfg!(not(unix)) {
        return;
    }
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let unfinished = name.starts_with(UNFINISHED.0) && name.ends_with(UNFINISHED.1);
        if !unfinished || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
            continue;
        }
        if let Ok(file) = File::options().read(true).write(true).open(entry.path())
            && file.try_lock().is_ok()
        {
            let _ = fs::remove_file(entry.path());
        }
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

    /// Gives the frame in blocks of so many rows, one after the other; one block without rows if it has none.
    pub fn in_blocks(&self, rows: usize, mut each: impl FnMut(&Frame) -> io::Result<()>) -> io::Result<()> {
        let width = self.columns.len();
        for start in (0..self.rows.max(1)).step_by(rows.max(1)) {
            let end = (start + rows.max(1)).min(self.rows);
            let texts: Vec<TextColumn> =
                self.texts.iter().map(|text| TextColumn { cells: &text.cells[start..end], ..*text }).collect();
            let values = &self.values[start * width..end * width];
            each(&Frame { rows: end - start, texts: &texts, columns: self.columns, values })?;
        }
        Ok(())
    }
}

/// Writes a frame in the format that the extension of `path` names: `.csv` or `.tsv` (with `.gz` or
/// `.zst` compressed), `.parquet`, `.arrow` or `.feather`, or `.npy` (the numbers alone, without names).
///
/// In text, numbers have the fewest digits that give the same bits when read again; text is quoted only where it must be, and
/// what a spreadsheet would run as a formula gets an apostrophe in front (see [`write_raw_text`]).
///
/// # Panics
/// If the parts of the frame do not have the same number of rows.
pub fn write_table(path: &Path, frame: &Frame) -> Result<(), Error> {
    stage_table(path, frame.rows, |table| table.add(frame))?.commit()
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

/// Adds partners to a long table with the columns `sample`, `partner` and `weight`. Samples are called by their ids, or else by
/// their row from 1.
///
/// # Panics
/// If a partner is outside the ids.
pub fn add_partners(table: &mut TableWriter, partners: &[Partner], ids: Option<&[String]>) -> io::Result<()> {
    let name = |row: usize| ids.map_or_else(|| (row + 1).to_string(), |ids| ids[row].clone());
    let samples: Vec<String> = partners.iter().map(|pair| name(pair.sample)).collect();
    let others: Vec<String> = partners.iter().map(|pair| name(pair.partner)).collect();
    let weights: Vec<f64> = partners.iter().map(|pair| pair.weight).collect();
    let texts = [TextColumn { name: "sample", cells: &samples }, TextColumn { name: "partner", cells: &others }];
    table.add(&Frame { rows: partners.len(), texts: &texts, columns: &["weight".into()], values: &weights })
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
            write_table(&path, &frame).unwrap();
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
            assert!(error.to_string().contains("ewca cannot write this format"), "{error}");
        }
    }

    #[test]
    fn partners_are_a_long_table() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("plan.csv");
        let partners =
            [Partner { sample: 0, partner: 1, weight: 0.5 }, Partner { sample: 1, partner: 0, weight: 0.25 }];
        let write = |ids: Option<&[String]>| {
            stage_table(&path, 2, |table| add_partners(table, &partners, ids)).unwrap().commit().unwrap();
        };
        write(None);
        assert_eq!(fs::read_to_string(&path).unwrap(), "sample,partner,weight\n1,2,0.5\n2,1,0.25\n");
        write(Some(&strings(&["x", "y"])));
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

    #[test]
    fn a_table_in_parts_is_the_table_whole() {
        let folder = tempfile::tempdir().unwrap();
        let ids: Vec<String> = (0..10).map(|row| format!("s{row}")).collect();
        let values: Vec<f64> = (0..20).map(|at| f64::from(at) / 7.0).collect();
        let columns = strings(&["ewca1", "ewca2"]);
        let texts = [TextColumn { name: "id", cells: &ids }];
        let frame = Frame { rows: 10, texts: &texts, columns: &columns, values: &values };
        for name in ["t.csv", "t.tsv.zst", "t.parquet", "t.arrow", "t.npy"] {
            let (whole, parts) = (folder.path().join(name), folder.path().join(format!("parts-{name}")));
            write_table(&whole, &frame).unwrap();
            let staged = stage_table(&parts, 10, |table| frame.in_blocks(3, |block| table.add(block))).unwrap();
            assert!(!parts.exists(), "{name}: not before it is put there");
            staged.commit().unwrap();
            let id = (name != "t.npy").then(|| "id".to_string());
            let options = ReadOptions { id, ..ReadOptions::default() };
            let (whole, parts) = (read_table(&whole, &options).unwrap(), read_table(&parts, &options).unwrap());
            assert_eq!((whole.ids, whole.features), (parts.ids, parts.features), "{name}");
            assert_eq!((whole.values.stored(), parts.values.stored()), (&values[..], &values[..]), "{name}");
        }
    }

    #[test]
    fn own_tables_are_told_from_others() {
        let folder = tempfile::tempdir().unwrap();
        let columns = strings(&["g1", "g2"]);
        let frame = Frame { rows: 1, texts: &[], columns: &columns, values: &[1.0, 2.0] };
        for (name, marked) in [("t.csv.gz", false), ("t.tsv", false), ("t.parquet", true), ("t.arrow", true)] {
            let path = folder.path().join(name);
            write_table(&path, &frame).unwrap();
            let found = marks(&path);
            assert_eq!(found.stamped, marked, "{name}");
            assert_eq!(found.columns, if marked { Vec::new() } else { columns.clone() }, "{name}");
        }
        for (name, content) in [("t.parquet", &b"PAR1 of someone else PAR1"[..]), ("t.csv", b"\xff\x00"), ("t.gz", b"")]
        {
            let path = folder.path().join(name);
            fs::write(&path, content).unwrap();
            assert!(!marks(&path).stamped, "{name}");
        }
        assert_eq!(marks(&folder.path().join("nothing.csv")), Marks::default());
    }

    /// A program that is killed leaves what it was writing; one that is alive still needs it.
    #[cfg(unix)]
    #[test]
    fn only_what_the_dead_have_left_is_swept() {
        let folder = tempfile::tempdir().unwrap();
        let names = || {
            let mut names: Vec<String> =
                fs::read_dir(folder.path()).unwrap().map(|e| e.unwrap().file_name().into_string().unwrap()).collect();
            names.sort();
            names
        };
        for name in [".ewca-dead00.part", "own.part", ".ewca-notes", "data.csv"] {
            fs::write(folder.path().join(name), "x").unwrap();
        }
        let alive = stage(&folder.path().join("scores.csv"), |out| out.write_all(b"id\n")).unwrap();
        assert_eq!(names().len(), 5);
        sweep(folder.path());
        assert_eq!(names().len(), 4, "{:?}", names());
        alive.commit().unwrap();
        assert_eq!(names(), [".ewca-notes", "data.csv", "own.part", "scores.csv"]);
        // Many at once, some of which sweep: nobody loses what is being written.
        std::thread::scope(|scope| {
            for at in 0..4 {
                let folder = folder.path();
                scope.spawn(move || {
                    for round in 0..50 {
                        sweep(folder);
                        write_atomically(&folder.join(format!("{at}-{round}")), |out| out.write_all(b"x")).unwrap();
                    }
                });
            }
        });
        assert_eq!(names().len(), 4 + 200);
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
