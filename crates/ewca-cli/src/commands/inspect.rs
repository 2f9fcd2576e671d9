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
use crate::input::metadata::{AnnotationFacts, MetadataJob, described as described_annotation};
use crate::input::table::{Dataset, Input};
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
            let (suggestion, read) = suggestion(job, &inspection);
            let joined = job.metadata.as_ref().map(|_| joined(job, &read));
            console.say(&about_table(job, &inspection, joined.as_ref(), &suggestion.in_lines(2)));
            console.report(&table_record(&job.input, &inspection, joined.as_ref(), &suggestion.on_one_line()));
        }
    }
    Ok(Outcome::Success)
}

/// What a file turned out to be.
enum Found {
    Model(Box<ModelFile>),
    Table(Box<Inspection>),
}

/// Looks into a file. What can be read only once is read once.
fn look(job: &TableJob, console: Console) -> Result<Found, Failure> {
    match &job.input {
        Input::File(path) if !job.input.is_stream() => match holds_model(path) {
            true => Ok(Found::Model(Box::new(any_model_at(path, console)?))),
            false => Ok(Found::Table(Box::new(inspect(path, &job.read)?))),
        },
        stream => {
            let bytes = stream.stream(&job.read)?;
            match is_model(&bytes) {
                true => Ok(Found::Model(Box::new(read_model_bytes(&bytes, &stream.name())?))),
                false => Ok(Found::Table(Box::new(TableFile::of_bytes(bytes, &stream.name()).inspect(&job.read)?))),
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
    line("fit", format!("{} (relative gradient {:.0e})", model.termination(), model.certificate().relative_gradient));
    if let Some(near) = &model.certificate().approximation {
        let landmarks = count(near.landmarks, "landmark");
        line("kernel", format!("approximate ({landmarks}); error of the plan about {:.0e}", near.marginal_error));
    }
    line("collapsed", if model.certificate().collapsed { "yes" } else { "no" }.into());
    line("preprocessing", steps(file));
    line("features", some_names(&file.preprocessing.features));
    if !file.annotations.is_empty() {
        let known: Vec<String> = file.annotations.iter().map(described_annotation).collect();
        line("annotations", some_names(&known));
    }
    line("training data", format!("checksum {:016x}", file.training_checksum));
    let typed = input.typed();
    let path = Path::new(&typed);
    let transform = CommandLine::of("transform").path(path).path(Path::new("new.csv")).in_lines(2);
    let neighbours = CommandLine::of("neighbours").path(path).in_lines(2);
    let _ = write!(text, "\nNext:\n{transform}\n{neighbours}\n");
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
        "annotations": file.annotations.iter().map(AnnotationFacts::of).collect::<Vec<_>>(),
        "preprocessing": file.preprocessing.steps,
        "training_checksum": format!("{:016x}", file.training_checksum),
    })
}

/// The table as it would be read, with its metadata; or why it cannot be.
fn joined(job: &TableJob, read: &ReadOptions) -> Result<Dataset, Failure> {
    let name = job.input.name();
    if job.input.is_stream() {
        let problem =
            "is a pipe and can be read only once, so metadata cannot be matched here; save it to a file first".into();
        return Err(Failure::Unfit { file: name, problem });
    }
    let table = job.input.open(read)?.read(read)?;
    let mut data = Dataset::to_fit(table, &Preprocessing::default(), &name)?;
    data.annotate_as_read(job, read)?;
    Ok(data)
}

/// What metadata say of the samples.
fn about_metadata(joined: &Result<Dataset, Failure>) -> String {
    match joined {
        Err(failure) => wrapped(&format!("The metadata do not match: {failure}."), 2) + "\n",
        Ok(data) => {
            let mut text = data.joined.as_ref().map_or(String::new(), |joined| joined.in_words().into());
            for annotation in data.all_annotations() {
                let _ = writeln!(text, "  {}", described_annotation(&annotation));
            }
            text
        }
    }
}

fn about_table(
    job: &TableJob,
    found: &Inspection,
    joined: Option<&Result<Dataset, Failure>>,
    suggestion: &str,
) -> String {
    let kind = match found.notes.first() {
        Some(kind) if found.format == Format::H5ad => kind,
        _ => described(found.format),
    };
    let mut text = format!("{}: {kind}\n\n", job.input.name());
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
    if !found.notes.is_empty() {
        line("read as", found.notes.join(", "));
    }
    if !found.text_columns.is_empty() {
        let kind = if found.format == Format::H5ad { "columns of obs" } else { "text columns" };
        line(kind, some_names(&found.text_columns));
    }
    if let Some(table) = &found.table {
        line("shape", format!("{} x {}", count(table.rows, "row"), count(table.columns, "numeric column")));
        if let Some(stored) = table.stored {
            let share = stored as f64 / (table.rows as f64 * table.columns as f64).max(1.0);
            line("sparse", format!("{stored} values stored, {}", percent(share)));
        }
        line("columns", table.features.as_ref().map_or("no names".into(), |features| some_names(features)));
        line("row names", if table.has_ids { "yes" } else { "no" }.into());
        line("missing", count(table.missing, "value"));
        if table.infinite > 0 {
            line("infinite", count(table.infinite, "value"));
        }
        if let Some((low, high)) = table.range {
            line("range", format!("{} to {}", number(low), number(high)));
        }
    }
    for word in words_of_warning(found, &job.read) {
        let _ = writeln!(text, "\n{}", wrapped(&word, 2));
    }
    if let Some(problem) = &found.problem {
        let _ = writeln!(
            text,
            "\n{}",
            wrapped(&format!("This file cannot be read without more options: {}.", in_flags(problem)), 2)
        );
    }
    if let Some(joined) = joined {
        let _ = write!(text, "\n{}", about_metadata(joined));
    }
    let _ = write!(text, "\nNext:\n{suggestion}\n");
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

fn table_record(
    input: &Input,
    found: &Inspection,
    joined: Option<&Result<Dataset, Failure>>,
    suggestion: &str,
) -> serde_json::Value {
    let metadata = joined.map(|joined| match joined {
        Err(failure) => json!({ "problem": failure.to_string() }),
        Ok(data) => {
            let annotations: Vec<AnnotationFacts> = data.all_annotations().iter().map(AnnotationFacts::of).collect();
            json!({ "joined": data.joined, "annotations": annotations })
        }
    });
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
        "read_as": found.notes,
        "text_columns": found.text_columns,
        "table": table,
        "metadata": metadata,
        "problem": found.problem.as_ref().map(in_flags),
        "suggestion": suggestion,
    })
}

/// What one should know before the columns become features.
fn words_of_warning(found: &Inspection, given: &ReadOptions) -> Vec<String> {
    let Some(table) = &found.table else { return Vec::new() };
    let mut words = Vec::new();
    if found.read.transpose && !given.transpose {
        words.push("Rows look like features and columns like samples: use --transpose.".into());
    }
    if !found.read.header && given.header {
        words.push("The first line looks like data, not column names: use --no-header.".into());
    }
    for odd in table.odd.iter().filter(|_| !found.read.transpose) {
        let (column, values) = (one_line(&odd.name), odd.distinct);
        words.push(match odd.is_distinct {
            true => format!(
                "Column '{column}' has a different whole number in every row. If these are sample names rather than a feature, \
                 use --id."
            ),
            false => format!(
                "Column '{column}' has only {values} different whole numbers. If these are classes rather than a feature, use \
                 --label, or --ignore to leave it out."
            ),
        });
    }
    if let Some((name, share)) = table.leading.as_ref().filter(|_| !found.read.transpose) {
        words.push(format!(
            "Column '{}' has {} of the total variance. To give all features the same weight, use --scale unit-variance.",
            one_line(name),
            percent(*share)
        ));
    }
    words
}

/// The command to go on with: what was given, and guesses, by the names of the columns, where the file leaves a choice.
fn suggestion(job: &TableJob, found: &Inspection) -> (CommandLine, ReadOptions) {
    let mut read = found.read.clone();
    if found.table.is_none() && read.array.is_none() {
        read.array = largest_matrix(found).map(String::from);
    }
    let roles = roles(found, &read);
    read.id = read.id.or(roles.id);
    let mut labels = job.labels.clone();
    if let Some(label) = roles.label {
        // The first label is one of the metadata: this one is another.
        match labels.is_empty() {
            true => read.label = Some(label.clone()),
            false => read.annotations.push(label.clone()),
        }
        labels.push(label);
    }
    read.ignore.extend(roles.ignore);
    let mut steps = Preprocessing::default();
    let mut components = None;
    if let Some(table) = &found.table {
        if table.missing > 0 && read.missing == Missing::Error {
            read.missing = Missing::Mean;
        }
        if wants_counts(table, found.format) {
            steps = Preprocessing { normalize_total: Some(1e4), log1p: true, ..steps };
        }
        steps.unit_variance = table.leading.is_some() && !read.transpose;
        let taken =
            |name: &String| read.ignore.contains(name) || labels.contains(name) || read.id.as_ref() == Some(name);
        let left =
            table.features.as_ref().map_or(table.columns, |names| names.iter().filter(|name| !taken(name)).count());
        components = (left == 1 && !read.transpose).then_some(1);
    }
    let metadata = job.metadata.as_ref().map(|metadata| MetadataJob::named(metadata.file.clone()));
    let table = TableJob { input: job.input.clone(), read, labels, metadata };
    let line = CommandLine::of("fit").table(&table).option("-k", components).preprocessing(&steps);
    (line, table.read)
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

/// What each column is good for that is no feature.
#[derive(Default)]
struct Roles {
    id: Option<String>,
    label: Option<String>,
    ignore: Vec<String>,
}

/// Guesses for the columns of text that the options do not name, and for columns of numbers that are seldom features.
fn roles(found: &Inspection, read: &ReadOptions) -> Roles {
    if read.transpose {
        return roles_of_rows(found, read);
    }
    let filter = read.filter.as_ref().map(|(column, _)| column);
    let named = |name: &String| [read.id.as_ref(), read.label.as_ref(), filter].contains(&Some(name));
    let is_open = |name: &&String| !named(name) && !read.ignore.contains(name) && !read.annotations.contains(name);
    let open: Vec<&String> = found.text_columns.iter().filter(is_open).collect();
    let facts = |name: &String| found.facts.iter().find(|facts| facts.name == *name);
    let table = found.table.as_ref();
    let has_ids = table.is_some_and(|table| table.has_ids);
    let is_id = |name: &&&String| {
        let lower = name.to_lowercase();
        let is_named = lower == "id" || says(&lower, &["sample", "name", "barcode", "_id"]);
        is_named && facts(name).is_none_or(|facts| facts.is_distinct || facts.distinct > MOST_CLASSES)
    };
    let odd = || table.iter().flat_map(|table| &table.odd).filter(|odd| is_open(&&odd.name));
    let is_first =
        |name: &&&String| found.facts.first().is_some_and(|facts| facts.name == ***name && facts.is_distinct);
    let by_text = open.iter().find(is_id).or(open.iter().find(is_first)).copied();
    let by_number = odd().find(|odd| odd.is_distinct).map(|odd| &odd.name);
    let id = by_text.or(by_number).filter(|_| read.id.is_none() && !has_ids);
    let others: Vec<&String> = open.into_iter().filter(|name| Some(*name) != id).collect();
    let kinds = ["label", "class", "type", "group", "kind", "cluster", "species", "diagnosis"];
    // A text that is another one in every row is no class, and a sample without a class is in the way.
    let rows = table.map_or(usize::MAX, |table| table.rows);
    let is_class = |name: &&&String| {
        facts(name).is_none_or(|facts| facts.distinct > 1 && facts.distinct <= (rows / 2).max(2) && !facts.has_empty)
    };
    let by_number =
        odd().find(|odd| !odd.is_distinct && says(&odd.name, &["label", "class", "cluster"])).map(|odd| &odd.name);
    let label = others.iter().filter(is_class).find(|name| says(name, &kinds)).copied().or(by_number);
    let first = others.iter().find(is_class).filter(|_| found.format != Format::H5ad).copied();
    let label = label.or(first).filter(|_| read.label.is_none());
    let empty = table.iter().flat_map(|table| &table.empty).filter(is_open);
    let numbers = odd().filter(|odd| odd.is_distinct).map(|odd| &odd.name);
    let ignore = others
        .into_iter()
        .chain(empty)
        .chain(numbers)
        .filter(|name| Some(*name) != label && Some(*name) != id)
        .cloned();
    // An AnnData file names its samples itself, and its columns of obs are no features anyway.
    match found.format {
        Format::H5ad => Roles { label: label.cloned(), ..Roles::default() },
        _ => Roles { id: id.cloned(), label: label.cloned(), ignore: ignore.collect() },
    }
}

/// The same where rows are features: one column names them, if no name comes twice, and the others are notes on them.
fn roles_of_rows(found: &Inspection, read: &ReadOptions) -> Roles {
    const NOTES: [&str; 12] = [
        "chr",
        "chrom",
        "chromosome",
        "start",
        "end",
        "strand",
        "length",
        "width",
        "position",
        "entrezid",
        "gweight",
        "gorder",
    ];
    let has_ids = found.table.as_ref().is_some_and(|table| table.has_ids);
    let id = found.facts.iter().find(|facts| facts.is_distinct && !facts.has_empty && !facts.name.is_empty());
    let id = id.map(|facts| &facts.name).filter(|_| read.id.is_none() && !has_ids);
    let names = found.table.iter().flat_map(|table| table.features.iter().flatten());
    let notes = names.filter(|name| NOTES.contains(&name.to_lowercase().as_str()));
    // The first column names the rows, even if it does not do it well.
    let first = found.facts.first().map(|facts| &facts.name).filter(|name| !name.is_empty());
    let mut ignore: Vec<String> = Vec::new();
    for name in found.text_columns.iter().chain(notes).chain(first) {
        let is_taken = Some(name) == id || Some(name) == read.id.as_ref() || read.ignore.contains(name);
        if !is_taken && !ignore.contains(name) {
            ignore.push(name.clone());
        }
    }
    Roles { id: id.cloned(), label: None, ignore }
}

/// More different texts than this are no classes.
const MOST_CLASSES: usize = 50;

fn says(name: &str, words: &[&str]) -> bool {
    words.iter().any(|word| name.to_lowercase().contains(word))
}

/// Whether the numbers look like counts of molecules: sparse, not negative, and large.
fn wants_counts(table: &TableSummary, format: Format) -> bool {
    let sparse = table.stored.is_some() || format == Format::TenX;
    sparse && table.range.is_some_and(|(low, high)| low >= 0.0 && high >= 50.0 && high.fract() == 0.0)
}
