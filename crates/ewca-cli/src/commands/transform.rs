//! `ewca transform`: the scores of new samples.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ewca_io::{
    Error, Expected, ModelFile, OptionName, ReadOptions, RoleColumns, Settled, Table, is_stream, read_model,
    read_model_bytes, read_stream_at,
};
use serde_json::json;

use crate::args::{TableJob, TransformJob};
use crate::console::failure::Failure;
use crate::console::fit_summary::{settled_in_words, some_names};
use crate::console::outcome::Outcome;
use crate::console::terminal::{Console, one_line};
use crate::console::text::count;
use crate::input::table::Dataset;
use crate::output::emit;
use crate::output::results::{MODEL, check_model};
use crate::run::progress;

/// Runs the job.
pub fn run(job: &TransformJob, console: Console) -> Result<Outcome, Failure> {
    let file = model_at(&job.model, console)?;
    let name = job.table.input.name();
    let data = Dataset::to_apply(table_for(&file, &job.table, console)?, &file.preprocessing, &name)?;
    let scores = data.scores(&file.model).map_err(|source| Failure::Fit { file: name, source })?;
    let output = job.output.as_deref();
    emit::emit_scores(&data.ids, &data.table, &scores, output, console)?;
    let Table { texts, left_out, settled, .. } = &data.table;
    let is_plain = texts.is_empty() && left_out.is_empty() && *settled == Settled::default();
    if output.is_some() && !is_plain {
        console.report(&json!({
            "event": "read",
            "file": job.table.input.name(),
            "rows": data.rows(),
            "missing": settled,
            "carried": texts.iter().map(|text| &text.name).collect::<Vec<_>>(),
            "left_out": left_out,
        }));
    }
    Ok(Outcome::Success)
}

/// The model at a path; a folder stands for the model in it. One that does not belong to the summary beside it is refused.
pub fn model_at(path: &Path, console: Console) -> Result<ModelFile, Failure> {
    let model = any_model_at(path, console)?;
    if !is_stream(path) {
        check_model(&model_file(path))?;
    }
    Ok(model)
}

/// The same, whatever is beside it.
pub fn any_model_at(path: &Path, console: Console) -> Result<ModelFile, Failure> {
    let file = match is_stream(path) {
        // A pipe is read once.
        true => {
            let bytes = read_stream_at(path, &ReadOptions::default())?;
            read_model_bytes(&bytes, &one_line(&path.display().to_string()))?
        }
        false => read_model(&model_file(path))?,
    };
    if !file.has_checksum {
        console.note(&format!(
            "{}: was written by an earlier version of ewca, without a checksum: damage to it would not be noticed",
            path.display()
        ));
    }
    Ok(file)
}

/// The file of the model at a path.
pub fn model_file(path: &Path) -> PathBuf {
    let inside = path.join(MODEL);
    if path.is_dir() && inside.exists() { inside } else { path.into() }
}

/// A table that a model is applied to: its features, found by name; what else it has is carried along or left out, and said.
pub fn table_for(file: &ModelFile, job: &TableJob, console: Console) -> Result<Table, Failure> {
    let table = read_remembering(&file.columns, Some(file.expected()), job, console)?;
    // Features that the fit left out, for their small variance, are no surprise.
    let known: HashSet<&String> = file.preprocessing.features.iter().collect();
    let unknown: Vec<String> = table.left_out.iter().filter(|name| !known.contains(name)).cloned().collect();
    if !unknown.is_empty() {
        let columns = count(unknown.len(), "column");
        console.note(&format!("Left out {columns} that the model does not know: {}", some_names(&unknown)));
    }
    if let Some(words) = settled_in_words(&table.settled, "means of the training data") {
        console.note(&words);
    }
    Ok(table)
}

/// Reads a table, with the columns that named samples and classes when the model was fitted, unless others were named now, or
/// the table does not have them.
pub fn read_remembering(
    columns: &RoleColumns,
    expected: Option<Expected>,
    job: &TableJob,
    console: Console,
) -> Result<Table, Failure> {
    let given = &job.read;
    let options = ReadOptions {
        id: given.id.clone().or(columns.id.clone()),
        label: given.label.clone().or(columns.label.clone()),
        expected: expected.map(Arc::new),
        ..given.clone()
    };
    let spinner = progress::spinner(format!("reading {}", job.input.name()), console);
    progress::turn(&spinner);
    let table = job.input.read_trying(options, |error, options| without_the_remembered(error, given, options));
    spinner.finish_and_clear();
    Ok(table?)
}

/// Takes back a column that nobody asked for, if it was the trouble. Says whether there is anything else to try.
fn without_the_remembered(error: &Error, given: &ReadOptions, options: &mut ReadOptions) -> bool {
    let mut forget_id = || given.id.is_none() && options.id.take().is_some();
    match error {
        Error::NoColumn { role: OptionName::Id, .. } => forget_id(),
        Error::NoColumn { role: OptionName::Label, .. } | Error::MissingLabel { .. } => {
            given.label.is_none() && options.label.take().is_some()
        }
        // Not every format can have both a label and samples in columns.
        Error::Options { .. } => {
            let forgot_id = forget_id();
            (given.label.is_none() && options.label.take().is_some()) || forgot_id
        }
        _ => false,
    }
}
