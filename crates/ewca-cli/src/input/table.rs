//! Where the table comes from, and what it is once it has been read.

use std::path::PathBuf;

use ewca::{Matrix, Model, Samples};
use ewca_io::{
    Annotation, FittedPreprocessing, ModelFile, Preprocessing, ReadOptions, RoleColumns, Table, TableFile, Values,
    is_stream, read_stream, read_stream_at, readable_in_parts,
};

use crate::args::TableJob;
use crate::console::failure::Failure;
use crate::console::terminal::{Console, one_line};
use crate::input::metadata::JoinedFile;
use crate::run::interrupt;
use crate::run::progress;

/// What the user named as input.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// `-`.
    Standard,
    /// A file, or a 10x folder.
    File(PathBuf),
}

impl Input {
    /// The input that the user means by a path.
    pub fn named(path: PathBuf) -> Self {
        if path.as_os_str() == "-" { Self::Standard } else { Self::File(path) }
    }

    /// The name in messages: what the user typed, on one line.
    pub fn name(&self) -> String {
        match self {
            Self::Standard => "standard input".into(),
            Self::File(path) => one_line(&path.display().to_string()),
        }
    }

    /// Whether it can be read only once: standard input, a named pipe, or what a shell gives for `<(command)`.
    pub fn is_stream(&self) -> bool {
        match self {
            Self::Standard => true,
            Self::File(path) => is_stream(path),
        }
    }

    /// All the bytes of what can be read only once, for those who need them twice.
    pub fn stream(&self, options: &ReadOptions) -> Result<Vec<u8>, ewca_io::Error> {
        match self {
            Self::Standard => read_stream(std::io::stdin().lock(), &self.name(), options),
            Self::File(path) => read_stream_at(path, options),
        }
    }

    /// What the user typed.
    pub fn typed(&self) -> String {
        match self {
            Self::Standard => "-".into(),
            Self::File(path) => path.display().to_string(),
        }
    }

    /// The name in the summary: without folders, so that the same data give the same summary on every machine.
    pub fn short_name(&self) -> String {
        match self {
            Self::Standard => "-".into(),
            Self::File(path) => path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned(),
        }
    }

    /// The table that is there, to be read. Standard input is read now.
    pub fn open(&self, options: &ReadOptions) -> Result<TableFile, ewca_io::Error> {
        match self {
            Self::Standard => Ok(TableFile::of_bytes(self.stream(options)?, &self.name())),
            Self::File(path) => Ok(TableFile::at(path)),
        }
    }
}

impl TableJob {
    /// Whether some rows can be read without the others.
    pub fn is_readable_in_parts(&self) -> bool {
        let options = ReadOptions { max_bytes: None, ..self.read.clone() };
        matches!(&self.input, Input::File(path) if readable_in_parts(path, &options))
    }

    /// Reads the table, with something that moves on the terminal if it takes long.
    pub fn read(&self, console: Console) -> Result<Table, Failure> {
        progress::while_reading(&self.input.name(), console, || {
            let table = self.input.open(&self.read).and_then(|mut file| file.read(&self.read));
            interrupt::check()?;
            Ok(table?)
        })
    }
}

/// A table as a fit takes it: preprocessed, and every sample has a name.
#[derive(Debug)]
pub struct Dataset {
    /// The numbers, the features and the classes. Its ids are moved to `ids`.
    pub table: Table,
    /// One name per row: the file's, or the row's number from 1.
    pub ids: Vec<String>,
    /// What was done to the table.
    pub preprocessing: FittedPreprocessing,
    /// Where not all of the table is here: its rows, and its checksum.
    elsewhere: Option<(usize, u64)>,
    /// What is known of the samples beside the classes of the table.
    pub annotations: Vec<Annotation>,
    /// The first column that --label names.
    pub label: Option<String>,
    /// How metadata were joined.
    pub joined: Option<JoinedFile>,
    /// What each sample weighs, or how many samples it stands for.
    weights: Option<(Meaning, Vec<f64>)>,
}

/// A column of weights.
#[derive(Debug, Clone, PartialEq)]
pub struct Weighting {
    /// Its name.
    pub column: String,
    /// What its numbers mean.
    pub meaning: Meaning,
}

/// What weights mean.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Meaning {
    /// A distribution over the samples: their scale does not matter.
    Weights,
    /// A sample stands for so many samples.
    Counts,
}

impl Dataset {
    /// The same as [`Dataset::to_fit`], with the weights that a column holds.
    pub fn to_fit_weighted(
        mut table: Table,
        weighting: Option<&Weighting>,
        steps: &Preprocessing,
        file: &str,
    ) -> Result<Self, Failure> {
        let Some(Weighting { column, meaning }) = weighting else { return Ok(Self::to_fit(table, steps, file)?) };
        let Some(weights) = table.take_feature(column) else {
            let problem = format!(
                "has no numeric column '{column}' for the weights; check the name given to --weights or --counts"
            );
            return Err(Failure::Unfit { file: file.into(), problem });
        };
        Ok(Self { weights: Some((*meaning, weights)), ..Self::to_fit(table, steps, file)? })
    }

    /// A table to learn from. `file` stands for it in messages.
    pub fn to_fit(table: Table, steps: &Preprocessing, file: &str) -> Result<Self, ewca_io::Error> {
        let (preprocessing, table) = steps.fit(table, file)?;
        Ok(Self::new(table, preprocessing))
    }

    /// A table to apply a model to: its features are matched by name.
    pub fn to_apply(table: Table, preprocessing: &FittedPreprocessing, file: &str) -> Result<Self, ewca_io::Error> {
        Ok(Self::new(preprocessing.apply(table, file)?, preprocessing.clone()))
    }

    fn new(mut table: Table, preprocessing: FittedPreprocessing) -> Self {
        let ids = table.ids.take().unwrap_or_else(|| (1..=table.rows()).map(|row| row.to_string()).collect());
        let (annotations, elsewhere, weights) = (Vec::new(), None, None);
        Self { table, ids, preprocessing, elsewhere, annotations, label: None, joined: None, weights }
    }

    /// A table of so many rows, not all of which are here.
    pub fn in_parts(
        table: Table,
        ids: Vec<String>,
        preprocessing: FittedPreprocessing,
        rows_and_checksum: (usize, u64),
    ) -> Self {
        let elsewhere = Some(rows_and_checksum);
        Self { ids, elsewhere, ..Self::new(table, preprocessing) }
    }

    /// The rows of one process, with the names of all.
    pub fn share(mut self, (rank, size): (usize, usize)) -> Self {
        let rows = self.table.rows();
        self.elsewhere = Some((rows, self.table.checksum()));
        self.table.values = self.table.values.rows_of(rows * rank / size..rows * (rank + 1) / size);
        self
    }

    /// Whether all samples are here.
    pub fn is_whole(&self) -> bool {
        self.elsewhere.is_none()
    }

    /// The number of samples, wherever they are.
    pub fn rows(&self) -> usize {
        self.elsewhere.map_or_else(|| self.table.rows(), |(rows, _)| rows)
    }

    /// The checksum of the whole table.
    pub fn checksum(&self) -> u64 {
        self.elsewhere.map_or_else(|| self.table.checksum(), |(_, checksum)| checksum)
    }

    /// A model of this table, as it is kept. The checksum of the table is given, since not every process that shares it knows it.
    pub fn model_file(&self, model: Model, columns: RoleColumns, training_checksum: u64) -> ModelFile {
        ModelFile {
            model,
            preprocessing: self.preprocessing.clone(),
            ids: self.ids.clone(),
            labels: self.table.labels.clone(),
            annotations: self.annotations.clone(),
            columns,
            program: env!("CARGO_PKG_VERSION").into(),
            training_checksum,
            has_checksum: true,
        }
    }

    /// The number of features.
    pub fn columns(&self) -> usize {
        self.table.columns()
    }

    /// The classes, or nothing.
    pub fn labels(&self) -> &[String] {
        self.table.labels.as_deref().unwrap_or_default()
    }

    /// The samples as the library takes them: sparse ones stay sparse.
    pub fn samples(&self) -> ewca::Result<Samples<'_>> {
        let samples = match &self.table.values {
            Values::Dense(dense) => Samples::new(&dense.data, dense.rows, dense.columns),
            Values::Sparse(sparse) => Samples::sparse(&sparse.offsets, &sparse.indices, &sparse.values, sparse.columns),
        }?;
        match &self.weights {
            None => Ok(samples),
            Some((Meaning::Weights, weights)) => samples.with_weights(weights),
            Some((Meaning::Counts, counts)) => samples.with_counts(counts),
        }
    }

    /// The scores of the samples under a model.
    pub fn scores(&self, model: &Model) -> ewca::Result<Matrix> {
        match &self.table.values {
            Values::Dense(dense) => model.transform(&dense.data, dense.rows),
            Values::Sparse(sparse) => model.transform_sparse(&sparse.offsets, &sparse.indices, &sparse.values),
        }
    }

    /// The bytes that the table takes; sparse numbers are held by row and by column.
    pub fn bytes(&self) -> usize {
        let names = ewca_io::name_bytes(self.rows(), self.columns());
        let known = self.annotations.len().saturating_mul(self.rows()).saturating_mul(16);
        names
            + known
            + match &self.table.values {
                Values::Dense(dense) => size_of_val(&dense.data[..]),
                Values::Sparse(sparse) => {
                    2 * (size_of_val(&sparse.values[..]) + size_of_val(&sparse.indices[..]))
                        + size_of_val(&sparse.offsets[..])
                }
            }
    }
}
