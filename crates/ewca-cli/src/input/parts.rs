//! Tables that are not held whole: read part by part, or each process its own rows.

use std::error::Error;
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use ewca::Part;
use ewca_io::{
    Checksum, ColumnSums, DenseValues, FittedPreprocessing, Palette, Preprocessing, ReadOptions, Table, TableReader,
    TextCells, Values,
};

use crate::console::failure::Failure;
use crate::input::table::Dataset;
use crate::run::interrupt;

/// The bytes of a part, where the memory allows it.
const PART: usize = 32 << 20;

/// A table on disk, some rows of which are read at a time.
#[derive(Debug)]
pub struct StreamedTable {
    reader: TableReader,
    preprocessing: FittedPreprocessing,
    file: String,
    /// The rows that are of interest here.
    own: Range<usize>,
    part_rows: usize,
    seen: Mutex<Seen>,
}

/// What was learned of the rows that went by.
#[derive(Debug)]
struct Seen {
    /// The first row that did not.
    next: usize,
    checksum: Checksum,
    ids: Option<Vec<String>>,
    labels: Option<Vec<String>>,
    texts: Vec<TextCells>,
    palettes: Vec<Palette>,
    /// The sums of all columns before the steps, up to this row.
    sums: ColumnSums,
    summed: usize,
}

impl StreamedTable {
    /// Opens the table at `path`, of which share `rank` of `size` is of interest here. Steps that depend on the whole table learn
    /// from it in a pass of their own.
    pub fn open(
        path: &Path,
        options: &ReadOptions,
        steps: &Preprocessing,
        (rank, size): (usize, usize),
        max_memory: Option<usize>,
    ) -> Result<Self, Failure> {
        let file = path.display().to_string();
        // The limit is for what is held, not for what goes by.
        let reader = TableReader::open(path, &ReadOptions { max_bytes: None, ..options.clone() })?;
        let part_rows = reader.rows_in(max_memory.map_or(PART, |most| (most / 16).min(PART)));
        let preprocessing = steps.fit_parts(&reader, part_rows, &file)?;
        let rows = reader.rows();
        let own = rows * rank / size..rows * (rank + 1) / size;
        let checksum = Checksum::of_table_with(rows, &preprocessing.output_features());
        let seen = Mutex::new(Seen::new(checksum));
        Ok(Self { reader, preprocessing, file, own, part_rows, seen })
    }

    /// Whether all rows are of interest here.
    pub fn is_whole(&self) -> bool {
        self.own.len() == self.all_rows()
    }

    /// The rows of the whole table.
    pub fn all_rows(&self) -> usize {
        self.reader.rows()
    }

    /// The bytes that reading takes at a time: three parts, what becomes of one, and what an open file holds.
    pub fn bytes(&self) -> usize {
        let row = self.reader.columns().saturating_mul(size_of::<f64>());
        self.part_rows.saturating_mul(row).saturating_mul(4).saturating_add(self.reader.open_bytes())
    }

    /// Some rows of the whole table, preprocessed.
    fn read_rows(&self, rows: Range<usize>) -> Result<Table, ewca_io::Error> {
        let start = rows.start;
        let table = self.reader.read(rows)?;
        self.add_means(start, &table.values);
        let table = self.preprocessing.apply(table, &self.file).map_err(|error| error.after_rows(start))?;
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if seen.next == start {
            seen.add(&table);
        }
        Ok(table)
    }

    /// Adds rows, as they are before the steps, to what their means are taken from; without steps a fit takes the same means.
    fn add_means(&self, start: usize, values: &Values) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.preprocessing.steps.is_nothing() && seen.summed == start {
            seen.sums.add(values);
            seen.summed += values.rows();
        }
    }

    /// The rows of this process, in memory.
    pub fn own_rows(&self) -> Result<Table, Failure> {
        interrupt::check()?;
        Ok(self.read_rows(self.own.clone())?)
    }

    /// Reads everything for the sake of names, classes and the checksum.
    pub fn look_over(&self) -> Result<(), Failure> {
        let checksum = Checksum::of_table_with(self.all_rows(), &self.preprocessing.output_features());
        *self.seen.lock().unwrap_or_else(PoisonError::into_inner) = Seen::new(checksum);
        for start in (0..self.all_rows()).step_by(self.part_rows) {
            interrupt::check()?;
            self.read_rows(start..(start + self.part_rows).min(self.all_rows()))?;
        }
        Ok(())
    }

    /// What is known of the table beside its values, once all of it has gone by; `values` are those that are in memory.
    pub fn dataset(&self, values: Option<Values>) -> Dataset {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let features = self.preprocessing.output_features();
        let nothing = Values::Dense(DenseValues { rows: 0, columns: features.len(), data: Vec::new() });
        let numbered = || (1..=self.all_rows()).map(|row| row.to_string()).collect();
        let (ids, labels, texts) = match seen.next == self.all_rows() {
            true => (seen.ids.take().unwrap_or_else(numbered), seen.labels.take(), std::mem::take(&mut seen.texts)),
            false => (Vec::new(), None, Vec::new()),
        };
        let palettes = std::mem::take(&mut seen.palettes);
        let table = Table { labels, texts, palettes, ..Table::new(values.unwrap_or(nothing), features) };
        let means = if seen.summed == self.all_rows() { seen.sums.means() } else { None };
        let preprocessing = FittedPreprocessing { means, ..self.preprocessing.clone() };
        Dataset::in_parts(table, ids, preprocessing, (self.all_rows(), seen.checksum.value()))
    }
}

impl Seen {
    fn new(checksum: Checksum) -> Self {
        let (texts, palettes, sums) = (Vec::new(), Vec::new(), ColumnSums::default());
        Self { next: 0, checksum, ids: None, labels: None, texts, palettes, sums, summed: 0 }
    }

    fn add(&mut self, table: &Table) {
        self.checksum.add_rows(self.next, &table.values);
        self.next += table.rows();
        for (all, some) in [(&mut self.ids, &table.ids), (&mut self.labels, &table.labels)] {
            if let Some(some) = some {
                all.get_or_insert_default().extend_from_slice(some);
            }
        }
        self.palettes.clone_from(&table.palettes);
        match self.texts.is_empty() {
            true => self.texts.clone_from(&table.texts),
            false => {
                self.texts.iter_mut().zip(&table.texts).for_each(|(all, some)| all.cells.extend_from_slice(&some.cells))
            }
        }
    }
}

impl ewca::Source for StreamedTable {
    fn rows(&self) -> usize {
        self.own.len()
    }

    fn columns(&self) -> usize {
        self.preprocessing.kept.as_ref().map_or(self.reader.columns(), Vec::len)
    }

    fn part_rows(&self) -> usize {
        self.part_rows
    }

    fn read(&self, rows: Range<usize>) -> Result<Part, Box<dyn Error + Send + Sync>> {
        let rows = self.own.start + rows.start..self.own.start + rows.end;
        let table = self.read_rows(rows).map_err(Failure::from)?;
        Ok(match table.values {
            Values::Dense(dense) => Part::Dense(dense.data),
            Values::Sparse(sparse) => {
                Part::Sparse { offsets: sparse.offsets, positions: sparse.indices, values: sparse.values }
            }
        })
    }
}
