//! What tells tables that were written here from others: a file in the place of a result is replaced only if it is one itself.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::Path;

use crate::TableFile;
use crate::format::{delimiter_of, extension};

/// What Parquet and Arrow files hold beside their tables.
pub(super) const STAMP: &str = "written by ewca";
/// The names of the columns of a text table are looked for in so many bytes.
const HEADER: usize = 1 << 22;
/// The stamp is looked for in so many bytes at the beginning of an Arrow file, and at the end of a Parquet file.
const STAMPED: u64 = 1 << 23;

/// What a file shows of its origin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Marks {
    /// Whether it says that it was written here. Only Parquet and Arrow files can.
    pub stamped: bool,
    /// The names of the columns, if it is a text table.
    pub columns: Vec<String>,
}

/// What the table at `path` shows of its origin; nothing if there is none, or in another format than its name says.
pub fn marks(path: &Path) -> Marks {
    let name = path.to_string_lossy();
    match extension(&name).as_deref() {
        Some("csv" | "tsv" | "tab" | "txt") => Marks { columns: header(path).unwrap_or_default(), stamped: false },
        Some("parquet" | "pq" | "arrow" | "feather") => {
            Marks { stamped: is_stamped(path).unwrap_or(false), columns: Vec::new() }
        }
        _ => Marks::default(),
    }
}

fn header(path: &Path) -> Option<Vec<String>> {
    let mut file = TableFile::at(path);
    let text = file.opened().ok()??.text(HEADER)?.text;
    let line = text.split(|byte| *byte == b'\n').next()?;
    let line = std::str::from_utf8(line).ok()?.trim_end_matches('\r');
    let delimiter = delimiter_of(&path.to_string_lossy()).unwrap_or(b',');
    Some(line.split(char::from(delimiter)).map(String::from).collect())
}

fn is_stamped(path: &Path) -> Option<bool> {
    let mut file = File::open(path).ok()?;
    let length = file.metadata().ok().filter(|about| about.is_file())?.len();
    let mut found = false;
    for (magic, start) in [(&b"PAR1"[..], length.saturating_sub(STAMPED)), (b"ARROW1", 0)] {
        let mut head = vec![0; magic.len()];
        file.seek(SeekFrom::Start(0)).ok()?;
        if file.read_exact(&mut head).is_err() || head != magic {
            continue;
        }
        let mut bytes = Vec::new();
        file.seek(SeekFrom::Start(start)).ok()?;
        file.by_ref().take(STAMPED).read_to_end(&mut bytes).ok()?;
        found |= memchr::memmem::find(&bytes, STAMP.as_bytes()).is_some();
    }
    Some(found)
}
