//! `ewca reproduce evidence`: EWCA beside PCA on many labelled sets, from the folder that a script fills.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use ewca_io::{ReadOptions, TableFile, Values};
use ewca_paper::{
    EvidenceSet, EvidenceSummary, Measure, Row, evidence, evidence_figures, evidence_markdown, rows_csv, summaries,
    summaries_csv,
};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::args::EvidenceJob;
use crate::commands::fit::start_threads;
use crate::console::failure::Failure;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;
use crate::console::text::{count, wrapped};
use crate::output::emit::check_writable;
use crate::output::results::ResultsFolder;
use crate::run::interrupt;
use crate::run::progress::counter;

const LIST: &str = "sets.csv";
const SCRIPT: &str = "crates/ewca-paper/evidence/fetch.py";
const TABLES: &str = "evidence.md";

/// Runs the job.
pub fn run(job: &EvidenceJob, console: Console) -> Result<Outcome, Failure> {
    start_threads(job.threads)?;
    let sets = read_sets(&job.data)?;
    console.say(&format!("{}: {}\n", job.data.display(), count(sets.len(), "set")));
    let mut folder = ResultsFolder::make_for_figures(&job.output)?;
    check_writable(&job.output.join(TABLES))?;
    let bar = counter("sets and numbers of components", console);
    let found = evidence(&sets, &job.components, job.protocol, &|done, parts| {
        bar.set_length(parts as u64);
        bar.set_position(done as u64);
        !interrupt::requested()
    });
    bar.finish_and_clear();
    let file = job.data.display().to_string();
    let Some(rows) = found.map_err(|source| Failure::Fit { file: file.clone(), source })? else {
        return Ok(Outcome::Interrupted);
    };
    if rows.is_empty() {
        let problem = "no data set has more dimensions than components; choose a smaller -k".into();
        return Err(Failure::Unfit { file, problem });
    }
    let summaries = summaries(&rows);
    let mut files = write(&mut folder, &sets, &rows, &summaries, &file)?;
    files.push(folder.commit_figures(job.overwrite)?);
    console.say(&console_summary(&summaries, sets.len()));
    console.say(&format!("\nWritten to {}: {}\n", job.output.display(), count(files.len(), "file")));
    let all: Vec<&EvidenceSummary> = summaries.iter().filter(|s| s.k.is_none()).collect();
    console.report(&json!({ "event": "evidence", "folder": job.output, "files": files, "summary": all }));
    Ok(Outcome::Success)
}

/// The sets of the folder's list, each checked against its sum there.
fn read_sets(folder: &Path) -> Result<Vec<EvidenceSet>, Failure> {
    let list = folder.join(LIST);
    let wrong = |problem: String| Failure::Unfit { file: list.display().to_string(), problem };
    let again = format!("download the data sets with: python3 {SCRIPT} {}", folder.display());
    let text = fs::read_to_string(&list).map_err(|error| match error.kind() {
        ErrorKind::NotFound => wrong(format!("does not exist; {again}")),
        _ => wrong(format!("cannot be read: {error}")),
    })?;
    let mut lines = text.lines();
    if lines.next() != Some("name,study,samples,features,sha256") {
        return Err(wrong(format!("is not a list of data sets; {again}")));
    }
    lines
        .enumerate()
        .map(|(at, line)| match line.split(',').collect::<Vec<_>>()[..] {
            [name, study, _, _, sum] => read_set(folder, name, study, sum, &again),
            _ => Err(wrong(format!("line {}: expected 5 columns; {again}", at + 2))),
        })
        .collect()
}

fn read_set(folder: &Path, name: &str, study: &str, sum: &str, again: &str) -> Result<EvidenceSet, Failure> {
    let path = folder.join(format!("{name}.csv"));
    let wrong = |problem: String| Failure::Unfit { file: path.display().to_string(), problem };
    let bytes = fs::read(&path).map_err(|error| wrong(format!("cannot be read: {error}; {again}")))?;
    let found: String = Sha256::digest(&bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    if found != sum {
        return Err(wrong(format!("is not the file listed in {LIST}: its SHA-256 is {found}; {again}")));
    }
    let options = ReadOptions { label: Some("label".into()), ..ReadOptions::default() };
    let table = TableFile::of_bytes(bytes, &path.display().to_string()).read(&options)?;
    let (Values::Dense(values), Some(labels)) = (&table.values, &table.labels) else {
        return Err(wrong(format!("has no labels; {again}")));
    };
    let set = EvidenceSet::new(name, study, &values.data, values.columns, labels);
    match set.labels.names.len() {
        0 | 1 => Err(wrong("needs at least 2 classes with 4 samples each".into())),
        _ => Ok(set),
    }
}

/// Writes tables and figures; returns the names of the files.
fn write(
    folder: &mut ResultsFolder,
    sets: &[EvidenceSet],
    rows: &[Row],
    summaries: &[EvidenceSummary],
    file: &str,
) -> Result<Vec<String>, Failure> {
    let mut files = Vec::new();
    for figure in evidence_figures(rows, summaries) {
        files.extend(folder.add_figure(&figure, file)?);
    }
    let tables = [
        ("evidence.csv", rows_csv(rows)),
        ("evidence-summary.csv", summaries_csv(summaries)),
        (TABLES, evidence_markdown(sets, rows, summaries)),
    ];
    for (name, text) in tables {
        folder.add_bytes(name, text.as_bytes())?;
        files.push(name.into());
    }
    Ok(files)
}

fn console_summary(summaries: &[EvidenceSummary], sets: usize) -> String {
    let mut text = format!("\nEWCA compared with PCA on {}, over all k:\n", count(sets, "set"));
    for rule in ["perplexity 5", "nested", "oracle"] {
        for measure in Measure::ALL {
            let own =
                |s: &&EvidenceSummary| s.k.is_none() && s.method == "ewca" && s.rule == rule && s.measure == measure;
            if let Some(s) = summaries.iter().find(own) {
                let line = format!(
                    "  {}, epsilon by {rule}: gain over PCA {:+.1} points, {} wins, {} ties, {} losses, p = {:.3}",
                    measure.title(),
                    s.gain,
                    s.wins,
                    s.ties,
                    s.losses,
                    s.p_studies
                );
                text.push_str(&format!("{}\n", wrapped(&line, 6)));
            }
        }
    }
    text
}
