//! `ewca transform`: the scores of new samples.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ewca_io::{ModelFile, ReadOptions, Settled, Table, is_stream, read_model, read_model_bytes, read_stream_at};
use serde_json::json;

use crate::args::{TableJob, TransformJob};
use crate::console::failure::Failure;
use crate::console::fit_summary::settled_in_words;
use crate::console::outcome::Outcome;
use crate::console::terminal::{Console, one_line};
use crate::console::text::{count, some_names};
use crate::input::remember::read_remembering;
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
            "{}: was written by an older version of ewca without a checksum, so damage to the file cannot be detected",
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
    let table = progress::while_reading(&job.input.name(), console, || {
        let mut opened = job.input.open(&job.read)?;
        read_remembering(&mut opened, &file.columns, Some(file.expected()), &job.read)
    })?;
    // Features that the fit left out, for their small variance, are no surprise.
    let known: HashSet<&String> = file.preprocessing.features.iter().collect();
    let unknown: Vec<String> = table.left_out.iter().filter(|name| !known.contains(name)).cloned().collect();
    if !unknown.is_empty() {
        let columns = count(unknown.len(), "column");
        console.note(&format!("Left out {columns} that the model does not use: {}", some_names(&unknown)));
    }
    if let Some(words) = settled_in_words(&table.settled, "means of the training data") {
        console.note(&words);
    }
    Ok(table)
}
