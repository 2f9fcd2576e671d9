//! Tables that a command gives: to a file by its extension, or to standard output as CSV.

use std::collections::HashSet;
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use ewca::Matrix;
use ewca_io::{Frame, Table, TextCells, TextColumn, write_atomically, write_table};
use serde_json::json;

use crate::failure::Failure;
use crate::results::component_name;
use crate::terminal::Console;

/// Makes sure that a file can be written, before the work that it is for. An atomic write that is given up before its end
/// touches nothing, but meets every obstacle that a real one would.
pub fn rehearse(path: &Path) -> Result<(), Failure> {
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
            write_table(path, frame)?;
            let (rows, columns) = (frame.rows, frame.texts.len() + frame.columns.len());
            console.say(&format!("Written to {}: {rows} rows x {columns} columns\n", path.display()));
            console.report(&json!({ "event": "written", "file": path, "rows": rows, "columns": columns }));
            Ok(())
        }
        None => match print(frame) {
            // Whoever read the start of the table has seen enough.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            other => other.map_err(|source| Failure::Print { source }),
        },
    }
}

/// Gives the scores of a table's samples: ids, labels where there are some, its other columns of text, and one column per component.
pub fn give_scores(
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
    give(&Frame { rows: scores.rows(), texts: &texts, columns: &columns, values: &values }, file, console)
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
