//! Tables that a command gives: to a file by its extension, or to standard output as CSV.

use std::io::{self, BufWriter, ErrorKind, IsTerminal, Write};
use std::path::Path;

use ewca::Matrix;
use ewca_io::{Frame, TextColumn, write_atomically, write_csv, write_table};
use serde_json::json;

use crate::failure::Failure;
use crate::results::component_name;
use crate::terminal::{Console, printable};

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

/// The same text as in a .csv file. On a terminal, nothing that names hold may move the cursor.
fn print(frame: &Frame<'_>) -> io::Result<()> {
    let mut out = BufWriter::new(io::stdout().lock());
    if io::stdout().is_terminal() {
        let mut text = Vec::new();
        write_csv(&mut text, frame)?;
        out.write_all(printable(&String::from_utf8_lossy(&text), false).as_bytes())?;
    } else {
        write_csv(&mut out, frame)?;
    }
    out.flush()
}
