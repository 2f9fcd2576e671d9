//! Results out: whole files or none.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

use crate::Error;
use crate::error::file_name;

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
    let existing = fs::metadata(path).ok();
    if existing.as_ref().is_some_and(|existing| existing.is_dir()) {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if existing.as_ref().is_some_and(|existing| !existing.is_file()) {
        return fill(&File::create(path)?, write);
    }
    // A link stays a link: what it points to is replaced.
    let target = if existing.is_some() { fs::canonicalize(path)? } else { path.to_path_buf() };
    let folder = match target.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    builder.prefix(".ewca-").suffix(".part");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        // As for any new file; the process's mask takes away what it must.
        builder.permissions(fs::Permissions::from_mode(0o666));
    }
    let temporary = builder.tempfile_in(folder)?;
    if let Some(existing) = existing {
        temporary.as_file().set_permissions(existing.permissions())?;
    }
    fill(temporary.as_file(), write)?;
    temporary.as_file().sync_all()?;
    temporary.persist(&target).map_err(|failure| failure.error)?;
    // The rename itself is safe on disk once the folder is; not every system can sync a folder.
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
    Ok(())
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

/// Writes a frame as comma-separated text (tab-separated if the name says .tsv), compressed if the
/// name ends in .gz or .zst. Numbers have the fewest digits that give the same bits when read again;
/// text is quoted only where it must be.
///
/// # Panics
/// If the parts of the frame do not have the same number of rows.
pub fn write_table_csv(path: &Path, frame: &Frame) -> Result<(), Error> {
    frame.check();
    let name = path.to_string_lossy().to_ascii_lowercase();
    let delimiter = crate::format::delimiter_of(&name).unwrap_or(b',');
    write_atomically(path, |file| {
        if name.ends_with(".gz") {
            let mut encoder = flate2::write::GzEncoder::new(file, flate2::Compression::default());
            write_lines(&mut encoder, frame, delimiter)?;
            encoder.finish().map(drop)
        } else if name.ends_with(".zst") {
            let mut encoder = zstd::stream::write::Encoder::new(file, 0)?;
            write_lines(&mut encoder, frame, delimiter)?;
            encoder.finish().map(drop)
        } else {
            write_lines(file, frame, delimiter)
        }
    })
}

fn write_lines(out: &mut impl Write, frame: &Frame, delimiter: u8) -> io::Result<()> {
    let mut line = Vec::new();
    for name in frame.texts.iter().map(|text| text.name).chain(frame.columns.iter().map(String::as_str)) {
        push_text(&mut line, name, delimiter);
        line.push(delimiter);
    }
    end_line(out, &mut line)?;
    for row in 0..frame.rows {
        for text in frame.texts {
            push_text(&mut line, &text.cells[row], delimiter);
            line.push(delimiter);
        }
        for value in &frame.values[row * frame.columns.len()..][..frame.columns.len()] {
            write!(line, "{value:?}")?;
            line.push(delimiter);
        }
        end_line(out, &mut line)?;
    }
    Ok(())
}

/// Puts a line end in the place of the last delimiter.
fn end_line(out: &mut impl Write, line: &mut Vec<u8>) -> io::Result<()> {
    line.pop();
    line.push(b'\n');
    out.write_all(line)?;
    line.clear();
    Ok(())
}

fn push_text(line: &mut Vec<u8>, text: &str, delimiter: u8) {
    let must_quote = |byte: u8| byte == delimiter || matches!(byte, b'"' | b'\r' | b'\n');
    if text.is_empty() || !text.bytes().any(must_quote) && text == text.trim() {
        line.extend_from_slice(text.as_bytes());
        return;
    }
    line.push(b'"');
    line.extend_from_slice(text.replace('"', "\"\"").as_bytes());
    line.push(b'"');
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
