//! What is known of samples beside their features: columns of the table, and a table of its own that is joined by their names.

use std::path::PathBuf;

use ewca_io::{Annotation, Joined, Known, Metadata, ModelFile, ReadOptions, TextCells};
use serde::Serialize;

use crate::args::TableJob;
use crate::console::failure::Failure;
use crate::console::terminal::one_line;
use crate::console::text::{count, wrapped};
use crate::input::table::Dataset;

/// A table of what is known of samples.
#[derive(Debug)]
pub struct MetadataJob {
    /// The file.
    pub file: PathBuf,
    opened: Option<Metadata>,
    /// Its columns that --label names.
    wanted: Vec<String>,
}

impl MetadataJob {
    /// The one that the user named.
    pub fn named(file: PathBuf) -> Self {
        Self { file, opened: None, wanted: Vec::new() }
    }
}

impl TableJob {
    /// Opens the metadata. Labels that are columns of theirs are not looked for in the table.
    pub fn open_metadata(&mut self) -> Result<(), Failure> {
        let Some(job) = &mut self.metadata else { return Ok(()) };
        let opened = Metadata::open(&job.file, &self.read)?;
        job.wanted = self.labels.iter().filter(|label| opened.has(label)).cloned().collect();
        let is_elsewhere = |label: &String| job.wanted.contains(label);
        self.read.label = self.read.label.take().filter(|label| !is_elsewhere(label));
        self.read.annotations.retain(|label| !is_elsewhere(label));
        job.opened = Some(opened);
        Ok(())
    }
}

/// How metadata were joined.
#[derive(Debug, Clone, Serialize)]
pub struct JoinedFile {
    /// The file, without folders.
    pub file: String,
    /// Its column that names the samples; empty where it has no name.
    pub id: String,
    /// The columns that were taken.
    pub columns: usize,
    /// Samples that have a row.
    pub samples: usize,
    /// Samples that have none.
    pub samples_without_row: usize,
    /// Rows that are of no sample.
    pub rows_without_sample: usize,
    #[serde(skip)]
    words: String,
}

impl JoinedFile {
    fn new(file: String, joined: &Joined, notes: &[String]) -> Self {
        let Joined { annotations, id_column, samples, without_row, without_sample } = joined;
        let by = match &id_column[..] {
            "" => "its first column".into(),
            name => format!("'{}'", one_line(name)),
        };
        let notes = if notes.is_empty() { String::new() } else { format!(" ({})", notes.join(", ")) };
        let (columns, joined) = (count(annotations.len(), "column"), count(*samples, "sample"));
        let mut lines = vec![format!("Matched {columns} of {file} to {joined} by {by}{notes}")];
        if without_row.count > 0 {
            let without = count(without_row.count, "sample");
            lines.push(format!("{without} not in {file}: {}", without_row.in_words()));
        }
        if without_sample.count > 0 {
            let without = count(without_sample.count, "row");
            lines.push(format!(
                "{without} of {file} not used, since the table has no such sample: {}",
                without_sample.in_words()
            ));
        }
        let words = lines.iter().map(|line| wrapped(line, 2) + "\n").collect();
        Self {
            file,
            id: id_column.clone(),
            columns: annotations.len(),
            samples: *samples,
            samples_without_row: without_row.count,
            rows_without_sample: without_sample.count,
            words,
        }
    }

    /// The same for people: a line, and one for samples and for rows that have no partner.
    pub fn in_words(&self) -> &str {
        &self.words
    }
}

impl Dataset {
    /// Takes in what the table and the metadata say of the samples, where the samples' names are here: the columns that --label names
    /// in their order, then the others. The first is the label, if all samples have one and it is no number.
    pub fn annotate(&mut self, job: &TableJob) -> Result<(), Failure> {
        self.annotate_as_read(job, &job.read)
    }

    /// The same of a table that was read with other options than were given.
    pub fn annotate_as_read(&mut self, job: &TableJob, read: &ReadOptions) -> Result<(), Failure> {
        if self.ids.len() != self.rows() {
            return Ok(());
        }
        let texts = std::mem::take(&mut self.table.texts);
        let (own, others): (Vec<TextCells>, Vec<TextCells>) =
            texts.into_iter().partition(|text| read.annotations.contains(&text.name));
        self.table.texts = others;
        let of_texts = |text: &TextCells| {
            let cells = text.cells.iter().map(String::as_str);
            let annotation = Annotation::of_texts(&text.name, cells, text.categorical, &read.missing_values);
            annotation.with_palette(&self.table.palettes)
        };
        self.annotations = own.iter().map(of_texts).collect();
        if let Some(MetadataJob { file, opened: Some(metadata), wanted }) = &job.metadata {
            let joined = metadata.join(&self.ids, read.id.as_deref(), wanted)?;
            let name = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
            self.joined = Some(JoinedFile::new(one_line(&name), &joined, metadata.notes()));
            self.annotations.extend(joined.annotations);
        }
        let order = |annotation: &Annotation| job.labels.iter().position(|label| *label == annotation.name);
        self.annotations.sort_by_key(|annotation| order(annotation).unwrap_or(usize::MAX));
        self.label = job.labels.first().cloned();
        if self.label.is_some() && read.label.is_none() {
            // Those of a column that the fit knew, while another is named now.
            self.table.labels = None;
        }
        if self.table.labels.is_none()
            && let Some(first) = self.annotations.first()
            && self.label.as_ref() == Some(&first.name)
            && let Some(classes) = first.classes()
        {
            self.table.labels = Some(classes);
            self.annotations.remove(0);
        }
        Ok(())
    }

    /// Takes in what a model knows of its samples, where neither its table nor metadata have said it now.
    pub fn remember(&mut self, file: &ModelFile) {
        let known: Vec<&String> =
            self.annotations.iter().map(|annotation| &annotation.name).chain(&self.label).collect();
        let is_new = |name: &String| !known.contains(&name);
        let own = file.annotations.iter().filter(|annotation| is_new(&annotation.name)).cloned();
        let mut own: Vec<Annotation> = own.collect();
        match (&self.label, &file.labels) {
            // Nobody has named a label: that of the fit is the label.
            (None, labels) => {
                self.table.labels = self.table.labels.take().or_else(|| labels.clone());
                self.label.clone_from(&file.columns.label);
            }
            (Some(_), Some(labels)) => {
                let name = file.columns.label.as_deref().unwrap_or("label");
                if is_new(&name.into()) {
                    let cells = labels.iter().map(String::as_str);
                    own.insert(0, Annotation::of_texts(name, cells, true, &[]).with_palette(&self.table.palettes));
                }
            }
            (Some(_), None) => {}
        }
        self.annotations.extend(own);
    }

    /// All that is known of the samples, the label first.
    pub fn all_annotations(&self) -> Vec<Annotation> {
        let label = self.table.labels.as_ref().map(|labels| {
            let name = self.label.as_deref().unwrap_or("label");
            let annotation = Annotation::of_texts(name, labels.iter().map(String::as_str), true, &[]);
            annotation.with_palette(&self.table.palettes)
        });
        label.into_iter().chain(self.annotations.iter().cloned()).collect()
    }

    /// Why there is no label, though one was named.
    pub fn why_no_label(&self) -> Option<String> {
        let name = self.label.as_ref().filter(|_| self.table.labels.is_none())?;
        let annotation = self.annotations.iter().find(|annotation| annotation.name == *name)?;
        Some(match annotation.known {
            Known::Numbers { .. } => format!("the label '{}' holds numbers, not classes", one_line(name)),
            Known::Classes { .. } => {
                format!("the label '{}' is missing for {}", one_line(name), count(annotation.missing(), "sample"))
            }
        })
    }
}

/// A column in a few words: `batch (3 classes)`, `age (numbers, 2 missing)`.
pub fn described(annotation: &Annotation) -> String {
    let kind = match &annotation.known {
        Known::Numbers { .. } => "numbers".into(),
        Known::Classes { classes, .. } if classes.len() == 1 => "1 class".into(),
        Known::Classes { classes, .. } => format!("{} classes", classes.len()),
    };
    let missing = match annotation.missing() {
        0 => String::new(),
        missing => format!(", {missing} missing"),
    };
    format!("{} ({kind}{missing})", one_line(&annotation.name))
}

/// A column for programs.
#[derive(Debug, Serialize)]
pub struct AnnotationFacts {
    name: String,
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    classes: Option<usize>,
    missing: usize,
}

impl AnnotationFacts {
    /// What there is to say of a column without its cells.
    pub fn of(annotation: &Annotation) -> Self {
        let (kind, classes) = match &annotation.known {
            Known::Numbers { .. } => ("numbers", None),
            Known::Classes { classes, .. } => ("classes", Some(classes.len())),
        };
        Self { name: annotation.name.clone(), kind, classes, missing: annotation.missing() }
    }
}
