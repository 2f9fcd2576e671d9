//! Tables that a command gives: to a file by its extension, or to standard output as CSV.

use std::collections::HashSet;
use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;

use ewca::Matrix;
use ewca_io::{Frame, Staged, Table, TextCells, TextColumn, stage_table, sweep, write_atomically, write_csv};
use serde_json::json;

use crate::console::failure::Failure;
use crate::console::terminal::{Console, printable};
use crate::output::results::component_name;
use crate::run::interrupt;

/// Rows that are written between two looks at whether the user wants to stop.
const BLOCK: usize = 4096;

/// Makes sure that a file can be written, before the work that it is for. An atomic write that is given up before its end
/// touches nothing, but meets every obstacle that a real one would. What killed runs have left in its folder is swept.
pub fn check_writable(path: &Path) -> Result<(), Failure> {
    path.parent().iter().for_each(|folder| sweep(folder));
    let mut could_write = false;
    let outcome = write_atomically(path, |_| {
        could_write = true;
        Err(ErrorKind::Interrupted.into())
    });
    if could_write { Ok(()) } else { Ok(outcome?) }
}

/// Gives a table to the file that was named, and says so; or to standard output.
pub fn emit_table(frame: &Frame<'_>, file: Option<&Path>, console: Console) -> Result<(), Failure> {
    emit_blocks(frame.rows, file, console, |put| frame.in_blocks(BLOCK, put))
}

/// The same for a table of so many rows that is made while it is given: `make` puts frame after frame.
pub fn emit_blocks(
    rows: usize,
    file: Option<&Path>,
    console: Console,
    make: impl FnOnce(&mut dyn FnMut(&Frame<'_>) -> io::Result<()>) -> io::Result<()>,
) -> Result<(), Failure> {
    let Some(path) = file else {
        let mut out = Printer { out: BufWriter::new(io::stdout().lock()), begun: false };
        let printed = make(&mut |frame| go_on(interrupt::requested).and_then(|()| out.print(frame)));
        return match printed.and_then(|()| out.out.flush()) {
            Err(source) if is_stopped(&source) => Err(Failure::Stopped),
            other => other.map_err(|source| Failure::Print { source }),
        };
    };
    let mut columns = 0;
    let staged = stage_table(path, rows, |table| {
        make(&mut |frame| {
            go_on(interrupt::requested)?;
            columns = frame.texts.len() + frame.columns.len();
            table.add(frame)
        })
    });
    stopping(path, staged)?.commit()?;
    console.say(&format!("Written to {}: {rows} rows x {columns} columns\n", path.display()));
    console.report(&json!({ "event": "written", "file": path, "rows": rows, "columns": columns }));
    Ok(())
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
        ewca_io::Error::Write { source, .. } if is_stopped(source) => Failure::Interrupted { file: path.into() },
        _ => error.into(),
    })
}

fn is_stopped(error: &io::Error) -> bool {
    error.get_ref().is_some_and(|inner| inner.is::<Stopped>())
}

/// Gives the scores of a table's samples: ids, labels where there are some, its other columns of text, and one column per component.
pub fn emit_scores(
    ids: &[String],
    table: &Table,
    scores: &Matrix,
    file: Option<&Path>,
    console: Console,
) -> Result<(), Failure> {
    let columns: Vec<String> = (0..scores.columns()).map(component_name).collect();
    let names = names_beside(&table.texts, &columns);
    let texts = text_columns(ids, table, &names);
    let values = scores.to_row_major();
    emit_table(&Frame { rows: scores.rows(), texts: &texts, columns: &columns, values: &values }, file, console)
}

/// The names of further columns of text in a result: their own, unless it has another column of that name.
pub fn names_beside(texts: &[TextCells], columns: &[String]) -> Vec<String> {
    let mut taken: HashSet<String> = columns.iter().cloned().chain(["id".into(), "label".into()]).collect();
    let mut names = Vec::new();
    for text in texts {
        let mut name = text.name.clone();
        while !taken.insert(name.clone()) {
            name = format!("input_{name}");
        }
        names.push(name);
    }
    names
}

/// All text columns of a result: ids, labels where there are some, and those that are carried along under these names.
pub fn text_columns<'a>(ids: &'a [String], table: &'a Table, names: &'a [String]) -> Vec<TextColumn<'a>> {
    let mut texts = id_columns(ids, table.labels.as_deref());
    texts.extend(names.iter().zip(&table.texts).map(|(name, text)| TextColumn { name, cells: &text.cells }));
    texts
}

/// The text columns that name samples.
pub fn id_columns<'a>(ids: &'a [String], labels: Option<&'a [String]>) -> Vec<TextColumn<'a>> {
    let mut texts = vec![TextColumn { name: "id", cells: ids }];
    texts.extend(labels.map(|cells| TextColumn { name: "label", cells }));
    texts
}

/// Standard output.
struct Printer {
    out: BufWriter<io::StdoutLock<'static>>,
    begun: bool,
}

impl Printer {
    /// The same text as in a .csv file. On a terminal, nothing that names hold may move the cursor.
    fn print(&mut self, frame: &Frame<'_>) -> io::Result<()> {
        let header = !std::mem::replace(&mut self.begun, true);
        if !io::stdout().is_terminal() {
            return write_csv(&mut self.out, frame, header);
        }
        let mut text = Vec::new();
        write_csv(&mut text, frame, header)?;
        self.out.write_all(printable(&String::from_utf8_lossy(&text), false).as_bytes())
    }
}
