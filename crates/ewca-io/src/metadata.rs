//! A table of what is known of samples, one row each, in any order: read as text, and joined to samples by their names.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::path::Path;

use bytes::Bytes;

use crate::csv::{Sheet, known};
use crate::error::{excerpt, phrase};
use crate::memory::check_room;
use crate::{Annotation, Error, Format, OptionName, ReadOptions, TableFile};

/// Columns that are joined at most, unless they are named.
const MOST_COLUMNS: usize = 200;
/// Names that a message shows.
const SHOWN: usize = 3;

/// A text table of what is known of samples.
#[derive(Debug)]
pub struct Metadata {
    file: String,
    bytes: Bytes,
    options: ReadOptions,
    names: Vec<String>,
    notes: Vec<String>,
}

/// What is known of some samples, and how it was found.
#[derive(Debug, Clone, PartialEq)]
pub struct Joined {
    /// One for each column.
    pub annotations: Vec<Annotation>,
    /// The column of the sheet that names the samples; empty where it has no name.
    pub id_column: String,
    /// Samples that have a row.
    pub samples: usize,
    /// Samples that have none: all that is known of them is missing.
    pub without_row: SomeNames,
    /// Rows that are of no sample: they are left out.
    pub without_sample: SomeNames,
}

/// How many there are, and what the first of them are called.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SomeNames {
    /// How many there are.
    pub count: usize,
    /// Some of their names, cut short and on one line each.
    pub first: Vec<String>,
}

impl SomeNames {
    fn add(&mut self, name: &str) {
        self.count += 1;
        if self.first.len() < SHOWN {
            self.first.push(excerpt(name.as_bytes()));
        }
    }

    /// `a, b, c and 7 more`.
    pub fn in_words(&self) -> String {
        let more = self.count - self.first.len();
        self.first.join(", ") + &(if more > 0 { format!(" and {more} more") } else { String::new() })
    }
}

impl Metadata {
    /// Loads the text table at `path` and looks at its header. Of the options, the words for missing cells and the most bytes count.
    pub fn open(path: &Path, options: &ReadOptions) -> Result<Metadata, Error> {
        Metadata::of(TableFile::at(path), options)
    }

    /// The same of bytes; `name` stands for the file in messages.
    pub fn of_bytes(bytes: Vec<u8>, name: &str, options: &ReadOptions) -> Result<Metadata, Error> {
        Metadata::of(TableFile::of_bytes(bytes, name), options)
    }

    fn of(mut table: TableFile, options: &ReadOptions) -> Result<Metadata, Error> {
        let mut options = ReadOptions {
            missing_values: options.missing_values.clone(),
            max_bytes: options.max_bytes,
            ..ReadOptions::default()
        };
        if table.path().is_some_and(Path::is_dir) {
            let what = "is a folder, but metadata must be a text table";
            return Err(Error::unsupported(table.name(), what, "use a .csv or .tsv file"));
        }
        let bytes = table.bytes(&options)?;
        let file = table.name().to_string();
        let format = Format::detect(&bytes, &file, &options)?;
        if format != Format::Csv {
            let what = format!("is in the format {}, but metadata must be a text table", format.name());
            return Err(Error::unsupported(&file, what, "save it as .csv or .tsv"));
        }
        let has_mark = bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]);
        if !has_mark && std::str::from_utf8(&bytes).is_err() {
            // A text that is not UTF-8 was written by a program of old, most often on Windows.
            options.encoding = Some("latin1".into());
        }
        let (names, notes) = {
            let sheet = Sheet::open(&bytes, &file, &options)?;
            sheet.check_rows()?;
            (sheet.names.clone(), table.note().into_iter().chain(sheet.notes()).cloned().collect())
        };
        let mut seen = HashSet::new();
        if let Some(twin) = names.iter().find(|name| !name.is_empty() && !seen.insert(*name)) {
            let what = format!("has two columns called '{}'", excerpt(twin.as_bytes()));
            return Err(Error::unsupported(&file, what, "rename one"));
        }
        Ok(Metadata { file, bytes, options, names, notes })
    }

    /// The name in messages.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// What is unusual about how the file is written, and was found by itself.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    /// Whether there is a column of this name.
    pub fn has(&self, name: &str) -> bool {
        !name.is_empty() && self.names.iter().any(|known| known == name)
    }

    /// Joins the rows to the samples with these names. The samples are named by the column `id`, where there is one of that name;
    /// otherwise by the one that has the most of their names, or by the first, where the samples are numbered from 1. `wanted` columns come first; the others follow in their order, unless
    /// they are very many.
    pub fn join(&self, ids: &[String], id: Option<&str>, wanted: &[String]) -> Result<Joined, Error> {
        let places = self.places(ids)?;
        let sheet = Sheet::open(&self.bytes, &self.file, &self.options)?;
        let rows = sheet.check_rows()?;
        // The names of rows that are of no sample are held, to see whether one comes twice.
        check_room((rows as u64).saturating_mul(64), &self.file)?;
        let id_column = match id.and_then(|id| self.names.iter().position(|name| name == id)) {
            Some(column) => column,
            None => self.best_id(&sheet, &places, ids)?,
        };
        let columns = self.chosen(id_column, wanted)?;
        // What comes out has an entry for each sample, whether it has a row or not.
        let held = (rows.min(ids.len()) as u64).saturating_mul(64) + (ids.len() as u64).saturating_mul(16);
        check_room(held.saturating_mul(columns.len() as u64), &self.file)?;
        let mut cells: Vec<Vec<String>> = vec![Vec::new(); columns.len()];
        // The line of each sample in the file, and its row among the cells.
        let mut found: Vec<Option<(usize, usize)>> = vec![None; ids.len()];
        let (mut strangers, mut without_sample) = (HashMap::new(), SomeNames::default());
        sheet.for_each(|line, record| {
            let name = sheet.cell(&record[id_column], line)?;
            let Some(&sample) = places.get(name) else {
                match strangers.insert(name.to_string(), line) {
                    Some(before) => return Err(self.twice(name, before, line)),
                    None => without_sample.add(name),
                }
                return Ok(());
            };
            let row = cells.first().map_or(0, Vec::len);
            if let Some((before, _)) = found[sample].replace((line, row)) {
                return Err(self.twice(name, before, line));
            }
            for (column, &at) in cells.iter_mut().zip(&columns) {
                column.push(sheet.cell(&record[at], line)?.to_string());
            }
            Ok(())
        })?;
        let mut without_row = SomeNames::default();
        found.iter().zip(ids).filter(|(row, _)| row.is_none()).for_each(|(_, id)| without_row.add(id));
        let samples = ids.len() - without_row.count;
        if samples == 0 {
            return Err(self.strange(id_column, &without_sample, &without_row));
        }
        let annotation = |(cells, at): (&Vec<String>, &usize)| {
            let of_sample = found.iter().map(|row| row.map_or("", |(_, row)| cells[row].as_str()));
            let comma = sheet.has_decimal_commas();
            Annotation::read(&self.names[*at], of_sample, false, comma, &self.options.missing_values)
        };
        let annotations = cells.iter().zip(&columns).map(annotation).collect();
        let id_column = self.names[id_column].clone();
        Ok(Joined { annotations, id_column, samples, without_row, without_sample })
    }

    /// The sample of each name.
    fn places<'i>(&self, ids: &'i [String]) -> Result<HashMap<&'i str, usize>, Error> {
        let mut places = HashMap::with_capacity(ids.len());
        for (at, id) in ids.iter().enumerate() {
            if let Some(first) = places.insert(id.trim(), at) {
                let what = format!(
                    "cannot be matched: samples {} and {} of the table are both called '{}'",
                    first + 1,
                    at + 1,
                    excerpt(id.as_bytes())
                );
                let advice = phrase!["choose a column with a different name in every row with ", OptionName::Id];
                return Err(Error::unsupported(&self.file, what, advice));
            }
        }
        Ok(places)
    }

    /// The column that has the most names of samples; the first of equals.
    fn best_id(&self, sheet: &Sheet<'_>, places: &HashMap<&str, usize>, ids: &[String]) -> Result<usize, Error> {
        let mut counts = vec![0usize; self.names.len()];
        let mut rows = SomeNames::default();
        let is_name = |cell: &Cow<'_, [u8]>, line| sheet.cell(cell, line).is_ok_and(|text| places.contains_key(text));
        sheet.for_each(|line, record| {
            counts.iter_mut().zip(record).for_each(|(count, cell)| *count += usize::from(is_name(cell, line)));
            rows.add(sheet.cell(&record[0], line)?);
            Ok(())
        })?;
        // Numbers that nobody gave are found in any column of numbers.
        let is_numbered = ids.iter().enumerate().all(|(at, id)| *id == (at + 1).to_string());
        counts.truncate(if is_numbered { 1 } else { usize::MAX });
        let most = counts.iter().copied().max().unwrap_or(0);
        if most == 0 {
            let mut samples = SomeNames::default();
            ids.iter().for_each(|id| samples.add(id));
            return Err(self.strange(0, &rows, &samples));
        }
        Ok(counts.iter().position(|&count| count == most).unwrap_or(0))
    }

    /// The columns to join: those that are wanted, and the others, if they are not too many.
    fn chosen(&self, id_column: usize, wanted: &[String]) -> Result<Vec<usize>, Error> {
        let place = |name: &String| self.names.iter().position(|known| known == name);
        let mut columns: Vec<usize> = wanted.iter().filter_map(place).collect();
        let is_other = |at: &usize| *at != id_column && !self.names[*at].is_empty() && !columns.contains(at);
        let others: Vec<usize> = (0..self.names.len()).filter(is_other).take(MOST_COLUMNS + 1).collect();
        if columns.len() + others.len() <= MOST_COLUMNS {
            columns.extend(others);
        } else if columns.is_empty() {
            let what = format!("has {} columns, and at most {MOST_COLUMNS} can be used", self.names.len());
            return Err(Error::unsupported(
                &self.file,
                what,
                phrase!["choose the ones you need with ", OptionName::Label],
            ));
        }
        if columns.is_empty() {
            let what = "has no columns other than the sample names";
            return Err(Error::unsupported(&self.file, what, "check the delimiter, or add columns"));
        }
        Ok(columns)
    }

    fn twice(&self, name: &str, first: usize, second: usize) -> Error {
        let name = known(name, &[])
            .map_or("a sample without a name".to_string(), |name| format!("'{}'", excerpt(name.as_bytes())));
        let what = format!("has {name} on lines {first} and {second}");
        Error::unsupported(&self.file, what, "keep one row per sample")
    }

    fn strange(&self, id_column: usize, rows: &SomeNames, samples: &SomeNames) -> Error {
        let column = match &self.names[id_column][..] {
            "" => "the first column".to_string(),
            name => format!("column '{}'", excerpt(name.as_bytes())),
        };
        let what = format!(
            "matches no sample: {column} has {}, but the samples are called {}",
            rows.in_words(),
            samples.in_words()
        );
        let advice = phrase!["choose the column of the table with the sample names with ", OptionName::Id];
        Error::unsupported(&self.file, what, advice)
    }
}
