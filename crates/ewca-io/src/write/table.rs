//! Tables, out, in the format that a file's name asks for; some rows after the other, so that not all must be there at once.

use std::io;
use std::path::Path;

use super::{Frame, Staged, columnar, npy, stage, text};
use crate::Error;
use crate::error::file_name;
use crate::format::extension;

/// A table that is being written.
#[derive(Debug)]
pub struct TableWriter<'t> {
    kind: Kind<'t>,
}

#[derive(Debug)]
enum Kind<'t> {
    Text(text::Lines<'t>),
    Parquet(columnar::Parquet<'t>),
    Ipc(columnar::Ipc<'t>),
    Npy(npy::Rows<'t>),
}

impl TableWriter<'_> {
    /// Adds rows. All frames of a table have the same columns; the first one's names count.
    ///
    /// # Panics
    /// If the parts of the frame do not have the same number of rows.
    pub fn add(&mut self, frame: &Frame) -> io::Result<()> {
        frame.check();
        match &mut self.kind {
            Kind::Text(lines) => lines.add(frame),
            Kind::Parquet(parquet) => parquet.add(frame),
            Kind::Ipc(ipc) => ipc.add(frame),
            Kind::Npy(rows) => rows.add(frame),
        }
    }

    fn end(self) -> io::Result<()> {
        match self.kind {
            Kind::Text(lines) => lines.end(),
            Kind::Parquet(parquet) => parquet.end(),
            Kind::Ipc(ipc) => ipc.end(),
            Kind::Npy(rows) => rows.end(),
        }
    }
}

/// Writes a table of so many rows next to its place, in the format that the extension of `path` names: see
/// [`write_table`](super::write_table). `fill` adds the rows, in as many frames as it likes, but at least one.
pub fn stage_table(
    path: &Path,
    rows: usize,
    fill: impl FnOnce(&mut TableWriter) -> io::Result<()>,
) -> Result<Staged, Error> {
    let file = file_name(path);
    let name = file.to_ascii_lowercase();
    let compressed = [".gz", ".zst"].iter().any(|end| name.ends_with(end));
    let written = match (extension(&file).as_deref(), compressed) {
        (Some("csv" | "tsv" | "tab" | "txt"), _) => Written::Text,
        (Some("parquet" | "pq"), false) => Written::Parquet,
        (Some("arrow" | "feather"), false) => Written::Ipc,
        (Some("npy"), false) => Written::Npy,
        _ => {
            return Err(Error::Options {
                problem: format!("{file}: ewca cannot write this format").into(),
                advice: "use a name that ends in .csv, .tsv, .csv.gz, .csv.zst, .parquet, .arrow or .npy".into(),
            });
        }
    };
    stage(path, |out| {
        let kind = match written {
            Written::Text => Kind::Text(text::Lines::new(out, &name)?),
            Written::Parquet => Kind::Parquet(columnar::Parquet::new(out)),
            Written::Ipc => Kind::Ipc(columnar::Ipc::new(out)),
            Written::Npy => Kind::Npy(npy::Rows::new(out, rows)),
        };
        let mut table = TableWriter { kind };
        fill(&mut table)?;
        table.end()
    })
}

/// The formats that are written here.
#[derive(Clone, Copy)]
enum Written {
    Text,
    Parquet,
    Ipc,
    Npy,
}
