//! Tables that a command gives: to a file by its extension, or to standard output as CSV.

use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use ewca::Matrix;
use ewca_io::{Frame, Staged, TextColumn, stage_table, sweep, write_atomically};
use serde_json::json;

use crate::failure::Failure;
use crate::interrupt;
use crate::results::component_name;
use crate::terminal::Console;

/// Rows that are written between two looks at whether the user wants to stop.
const BLOCK: usize = 4096;

/// Makes sure that a file can be written, before the work that it is for. An atomic write that is given up before its end
/// touches nothing, but meets every obstacle that a real one would. What killed runs have left in its folder is swept.
pub fn rehearse(path: &Path) -> Result<(), Failure> {
    path.parent().iter().for_each(|folder| sweep(folder));
    let mut could_write = false;
    let outcome = write_atomically(path, |_| {
        could_write = true;
        Err(ErrorKind::Interrupted.into())
    });
    if could_write { Ok(()) } else { Ok(outcome?) }
}

/// Gives a table to the file that was named, and says so; or to standard output.
pub fn give(frame: &Frame<'_>, file: Option<&Path>, console: Console) -> Result<(), Failure> {
    match file {
        Some(path) => {
            stopping(path, stage_frame(path, frame, interrupt::requested))?.commit()?;
            let (rows, columns) = (frame.rows, frame.texts.len() + frame.columns.len());
            console.say(&format!("Written to {}: {rows} rows x {columns} columns\n", path.display()));
            console.report(&json!({ "event": "written", "file": path, "rows": rows, "columns": columns }));
            Ok(())
        }
        None => print(frame).map_err(|source| Failure::Print { source }),
    }
}

/// Writes a table next to its place, unless it is told to stop.
pub fn stage_frame(path: &Path, frame: &Frame<'_>, stop: impl Fn() -> bool) -> Result<Staged, ewca_io::Error> {
    stage_table(path, frame.rows, |table| {
        frame.in_blocks(BLOCK, |block| {
            go_on(&stop)?;
            table.add(block)
        })
    })
}

/// An error where the user wants to stop.
pub fn go_on(stop: impl Fn() -> bool) -> io::Result<()> {
    // The kind `Interrupted` would make writers try again.
    if stop() { Err(io::Error::other(Stopped)) } else { Ok(()) }
}

/// The user wants to stop.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
struct Stopped;

/// What was staged, or why not: because the user stopped it, or because it failed.
pub fn stopping(path: &Path, staged: Result<Staged, ewca_io::Error>) -> Result<Staged, Failure> {
    staged.map_err(|error| match &error {
        ewca_io::Error::Write { source, .. } if source.get_ref().is_some_and(|inner| inner.is::<Stopped>()) => {
            Failure::Interrupted { file: path.into() }
        }
        _ => error.into(),
    })
}

/// Gives scores: ids, labels where there are some, and one column per component.
pub fn give_scores(
    ids: &[String],
    labels: Option<&[String]>,
    scores: &Matrix,
    file: Option<&Path>,
    console: Console,
) -> Result<(), Failure> {
    let texts = id_columns(ids, labels);
    let columns: Vec<String> = (0..scores.columns()).map(component_name).collect();
    let values = scores.to_row_major();
    give(&Frame { rows: scores.rows(), texts: &texts, columns: &columns, values: &values }, file, console)
}

/// The text columns that name samples.
pub fn id_columns<'a>(ids: &'a [String], labels: Option<&'a [String]>) -> Vec<TextColumn<'a>> {
    let mut texts = vec![TextColumn { name: "id", cells: ids }];
    texts.extend(labels.map(|cells| TextColumn { name: "label", cells }));
    texts
}

/// The same text as in a .csv file: numbers have the fewest digits that give the same bits when read again.
fn print(frame: &Frame<'_>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    let names = frame.texts.iter().map(|text| text.name).chain(frame.columns.iter().map(String::as_str));
    writeln!(out, "{}", names.map(quoted).collect::<Vec<_>>().join(","))?;
    for row in 0..frame.rows {
        let texts = frame.texts.iter().map(|text| quoted(&text.cells[row]));
        let values = &frame.values[row * frame.columns.len()..][..frame.columns.len()];
        let cells: Vec<String> = texts.chain(values.iter().map(|value| format!("{value:?}"))).collect();
        writeln!(out, "{}", cells.join(","))?;
    }
    out.flush()
}

/// A cell of text, in quotes where it must be.
fn quoted(text: &str) -> String {
    match text.contains([',', '"', '\n', '\r']) || text != text.trim() {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text.into(),
    }
}
