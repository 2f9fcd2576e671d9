//! `ewca transform`: the scores of new samples.

use std::path::Path;

use ewca_io::{ModelFile, ReadOptions, is_stream, read_model, read_model_bytes, read_stream_at};

use crate::args::TransformJob;
use crate::failure::Failure;
use crate::input::Dataset;
use crate::outcome::Outcome;
use crate::output;
use crate::results::MODEL;
use crate::terminal::{Console, one_line};

/// Runs the job.
pub fn run(job: &TransformJob, console: Console) -> Result<Outcome, Failure> {
    let file = model_at(&job.model)?;
    let name = job.table.input.name();
    let data = Dataset::to_apply(job.table.read(console)?, &file.preprocessing, &name)?;
    let scores = data.scores(&file.model).map_err(|source| Failure::Fit { file: name, source })?;
    output::give_scores(&data.ids, data.table.labels.as_deref(), &scores, job.output.as_deref(), console)?;
    Ok(Outcome::Converged)
}

/// The model at a path; a folder stands for the model in it, and a pipe is read once.
pub fn model_at(path: &Path) -> Result<ModelFile, Failure> {
    if is_stream(path) {
        let bytes = read_stream_at(path, &ReadOptions::default())?;
        return Ok(read_model_bytes(&bytes, &one_line(&path.display().to_string()))?);
    }
    let inside = path.join(MODEL);
    Ok(read_model(if path.is_dir() && inside.exists() { &inside } else { path })?)
}
