//! `ewca inspect`: what is in a file, and how to go on.

use std::fmt::Write;
use std::io::Read;
use std::path::Path;

use ewca_io::{
    Format, Inspection, Missing, ModelFile, Preprocessing, ReadOptions, TableFile, TableSummary, inspect, is_model,
    read_model_bytes,
};
use serde_json::json;

use crate::args::TableJob;
use crate::commands::transform::{any_model_at, model_file};
use crate::console::command_line::CommandLine;
use crate::console::failure::Failure;
use crate::console::flags::in_flags;
use crate::console::outcome::Outcome;
use crate::console::terminal::{Console, one_line};
use crate::console::text::{classes, count, number, percent, some_names, wrapped};
use crate::input::table::Input;
use crate::output::results::{MODEL, mixture};

/// Runs the job.
pub fn run(job: &TableJob, console: Console) -> Result<Outcome, Failure> {
    match look(job, console)? {
        Found::Model(file) => {
            warn_of_mixture(&job.input, console);
            console.say(&about_model(&job.input, &file));
            console.report(&model_record(&job.input, &file));
        }
        Found::Table(inspection) => {
            let suggestion = suggestion(job, &inspection);
            console.say(&about_table(&job.input, &inspection, &suggestion.in_lines(2)));
            console.report(&table_record(&job.input, &inspection, &suggestion.on_one_line()));
        }
    }
    Ok(Outcome::Success)
}

/// What a file turned out to be.
enum Found {
    Model(Box<ModelFile>),
    Table(Inspection),
}

/// Looks into a file. What can be read only once is read once.
fn look(job: &TableJob, console: Console) -> Result<Found, Failure> {
    match &job.input {
        Input::File(path) if !job.input.is_stream() => match holds_model(path) {
            true => Ok(Found::Model(Box::new(any_model_at(path, console)?))),
            false => Ok(Found::Table(inspect(path, &job.read)?)),
        },
        stream => {
            let bytes = stream.stream(&job.read)?;
            match is_model(&bytes) {
                true => Ok(Found::Model(Box::new(read_model_bytes(&bytes, &stream.name())?))),
                false => Ok(Found::Table(TableFile::of_bytes(bytes, &stream.name()).inspect(&job.read)?)),
            }
        }
    }
}

/// Says where a model does not belong to the files beside it.
fn warn_of_mixture(input: &Input, console: Console) {
    let Input::File(path) = input else { return };
    let model = model_file(path);
    let Some(folder) = model.parent().filter(|_| model.file_name().is_some_and(|name| name == MODEL)) else { return };
    for problem in mixture(folder, None) {
        console.warn(&format!("{}: {problem}", folder.display()));
    }
}

/// Whether the file is a model, or a folder with one.
fn holds_model(path: &Path) -> bool {
    if path.is_dir() {
        return path.join(MODEL).is_file();
    }
    let mut head = [0; 9];
    std::fs::File::open(path).and_then(|mut file| file.read_exact(&mut head)).is_ok() && is_model(&head)
}

fn about_model(input: &Input, file: &ModelFile) -> String {
    let model = &file.model;
    let mut text = format!("{}: a model, fitted by ewca {}\n\n", input.name(), one_line(&file.program));
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<18}{value}");
    };
    let classes = file.labels.as_ref().map_or(String::new(), |labels| format!(", {}", classes(labels)));
    line(
        "fitted on",
        format!("{} x {}", count(model.n_samples(), "sample"), count(file.preprocessing.features.len(), "feature"))
            + &classes,
    );
    line("components", model.n_components().to_string());
    line("epsilon", number(model.epsilon()));
    line("perplexity", number(model.perplexity().overall));
    line("explained", percent(model.explained_variance_ratio().iter().sum()));
    line("ended", format!("{} (relative gradient {:.0e})", model.termination(), model.certificate().relative_gradient));
    if let Some(near) = &model.certificate().approximation {
        let landmarks = count(near.landmarks, "landmark");
        line("kernel", format!("approximate ({landmarks}); plan off by {:.0e} by exact rows", near.marginal_error));
    }
    line("collapsed", if model.certificate().collapsed { "yes" } else { "no" }.into());
    line("preprocessing", steps(file));
    line("features", some_names(&file.preprocessing.features));
    line("training data", format!("checksum {:016x}", file.training_checksum));
    let typed = input.typed();
    let path = Path::new(&typed);
    let transform = CommandLine::of("transform").path(path).path(Path::new("new.csv")).in_lines(2);
    let neighbours = CommandLine::of("neighbours").path(path).in_lines(2);
    let _ = write!(text, "\nGo on with:\n{transform}\n{neighbours}\n");
    text
}

/// The preprocessing in the words of the command line.
fn steps(file: &ModelFile) -> String {
    let line = CommandLine::of("fit").preprocessing(&file.preprocessing.steps).on_one_line();
    line.strip_prefix("ewca fit ").unwrap_or("none").into()
}

fn model_record(input: &Input, file: &ModelFile) -> serde_json::Value {
    let model = &file.model;
    json!({
        "event": "model",
        "file": input.typed(),
        "version": file.program,
        "n_samples": model.n_samples(),
        "n_features": model.n_features(),
        "n_components": model.n_components(),
        "epsilon": model.epsilon(),
        "perplexity": model.perplexity(),
        "explained_variance_ratio": model.explained_variance_ratio(),
        "certificate": model.certificate(),
        "termination": model.termination().name(),
        "preprocessing": file.preprocessing.steps,
        "training_checksum": format!("{:016x}", file.training_checksum),
    })
}

fn about_table(input: &Input, found: &Inspection, suggestion: &str) -> String {
    let mut text = format!("{}: {}\n\n", input.name(), described(found.format));
    for array in &found.arrays {
        let shape: Vec<String> = array.shape.iter().map(usize::to_string).collect();
        let parts = [one_line(&array.name), shape.join(" x "), array.element.clone()];
        let parts: Vec<String> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        let kind = if found.format == Format::H5ad { "matrix" } else { "array" };
        let _ = writeln!(text, "  {kind:<18}{}", parts.join(", "));
    }
    let mut line = |name: &str, value: String| {
        let _ = writeln!(text, "  {name:<18}{value}");
    };
    if !found.text_columns.is_empty() {
        let kind = if found.format == Format::H5ad { "columns of obs" } else { "text columns" };
        line(kind, some_names(&found.text_columns));
    }
    if let Some(table) = &found.table {
        line("shape", format!("{} x {}", count(table.rows, "row"), count(table.columns, "numeric column")));
        if let Some(stored) = table.stored {
            let share = stored as f64 / (table.rows as f64 * table.columns as f64).max(1.0);
            line("sparse", format!("{stored} numbers stored, {}", percent(share)));
        }
        line("columns", table.features.as_ref().map_or("without names".into(), |features| some_names(features)));
        line("row names", if table.has_ids { "yes" } else { "no" }.into());
        line("missing", count(table.missing, "cell"));
        if table.infinite > 0 {
            line("infinite", count(table.infinite, "cell"));
        }
        if let Some((low, high)) = table.range {
            line("range", format!("{} to {}", number(low), number(high)));
        }
    }
    if let Some(problem) = &found.problem {
        let _ = writeln!(text, "\n{}", wrapped(&format!("Cannot be read as it is: {}.", in_flags(problem)), 2));
    }
    let _ = write!(text, "\nGo on with:\n{suggestion}\n");
    text
}

fn described(format: Format) -> &'static str {
    match format {
        Format::Csv => "a text table",
        Format::Npy => "a NumPy array",
        Format::Npz => "an archive of NumPy arrays",
        Format::Parquet => "a Parquet table",
        Format::Arrow => "an Arrow table",
        Format::Mat => "a MATLAB file",
        Format::Mtx => "a Matrix Market file",
        Format::TenX => "a 10x folder",
        Format::H5ad => "an AnnData file",
        other => other.name(),
    }
}

fn table_record(input: &Input, found: &Inspection, suggestion: &str) -> serde_json::Value {
    let arrays: Vec<_> = found
        .arrays
        .iter()
        .map(|array| json!({ "name": array.name, "shape": array.shape, "element": array.element }))
        .collect();
    let table = found.table.as_ref().map(|table| {
        json!({
            "rows": table.rows,
            "columns": table.columns,
            "stored": table.stored,
            "missing": table.missing,
            "infinite": table.infinite,
            "range": table.range,
            "row_names": table.has_ids,
        })
    });
    json!({
        "event": "table",
        "file": input.typed(),
        "format": found.format.name(),
        "arrays": arrays,
        "text_columns": found.text_columns,
        "table": table,
        "problem": found.problem.as_ref().map(in_flags),
        "suggestion": suggestion,
    })
}

/// The command to go on with: what was given, and guesses, by the names of the columns, where the file leaves a choice.
fn suggestion(job: &TableJob, found: &Inspection) -> CommandLine {
    let mut read = job.read.clone();
    if found.table.is_none() && read.array.is_none() {
        read.array = largest_matrix(found).map(String::from);
    }
    let roles = roles(found, &read);
    read.id = read.id.or(roles.id);
    read.label = read.label.or(roles.label);
    read.ignore.extend(roles.ignore);
    let mut steps = Preprocessing::default();
    if let Some(table) = &found.table {
        if table.missing > 0 && read.missing == Missing::Error {
            read.missing = Missing::Mean;
        }
        if wants_counts(table, found.format) {
            steps = Preprocessing { normalize_total: Some(1e4), log1p: true, ..steps };
        }
    }
    CommandLine::of("fit").table(&TableJob { input: job.input.clone(), read }).preprocessing(&steps)
}

/// The name of the largest array that could be a table; the first of equals.
fn largest_matrix(found: &Inspection) -> Option<&str> {
    const NO_NUMBERS: [&str; 4] = ["text", "char", "cell", "other"];
    let mut best: Option<(usize, &str)> = None;
    for array in found.arrays.iter().filter(|array| !NO_NUMBERS.contains(&array.element.as_str())) {
        if let [rows, columns] = array.shape[..]
            && rows > 1
            && best.is_none_or(|(cells, _)| rows.saturating_mul(columns) > cells)
        {
            best = Some((rows.saturating_mul(columns), &array.name));
        }
    }
    best.map(|(_, name)| name)
}

/// What each column of text is good for.
struct Roles {
    id: Option<String>,
    label: Option<String>,
    ignore: Vec<String>,
}

/// Guesses for the columns of text that the options do not name.
fn roles(found: &Inspection, read: &ReadOptions) -> Roles {
    let says = |name: &str, words: &[&str]| words.iter().any(|word| name.to_lowercase().contains(word));
    let filter = read.filter.as_ref().map(|(column, _)| column);
    let named = |name: &String| [read.id.as_ref(), read.label.as_ref(), filter].contains(&Some(name));
    let open: Vec<&String> =
        found.text_columns.iter().filter(|name| !named(name) && !read.ignore.contains(name)).collect();
    let is_id = |name: &&&String| {
        let name = name.to_lowercase();
        name == "id" || says(&name, &["sample", "name", "barcode", "_id"])
    };
    let id = open.iter().find(is_id).filter(|_| read.id.is_none()).copied();
    let others: Vec<&String> = open.into_iter().filter(|name| Some(*name) != id).collect();
    let kinds = ["label", "class", "type", "group", "kind", "cluster", "species", "diagnosis"];
    let label = others.iter().find(|name| says(name, &kinds));
    let label = label.or(others.first().filter(|_| found.format != Format::H5ad)).copied();
    let label = label.filter(|_| read.label.is_none());
    let ignore = others.into_iter().filter(|name| Some(*name) != label).cloned();
    // An AnnData file names its samples itself, and its columns of obs are no features anyway.
    match found.format {
        Format::H5ad => Roles { id: None, label: label.cloned(), ignore: Vec::new() },
        _ => Roles { id: id.cloned(), label: label.cloned(), ignore: ignore.collect() },
    }
}

/// Whether the numbers look like counts of molecules: sparse, not negative, and large.
fn wants_counts(table: &TableSummary, format: Format) -> bool {
    let sparse = table.stored.is_some() || format == Format::TenX;
    sparse && table.range.is_some_and(|(low, high)| low >= 0.0 && high >= 50.0 && high.fract() == 0.0)
}
