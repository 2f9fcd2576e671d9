//! Where the table comes from.

use std::path::PathBuf;

use ewca_io::{DenseValues, ReadOptions, Table, Values};

/// What the user named as input.
#[derive(Debug, Clone, PartialEq)]
pub enum Input {
    /// `-`.
    Standard,
    /// A file.
    File(PathBuf),
}

impl Input {
    /// The name in messages: what the user typed.
    pub fn name(&self) -> String {
        match self {
            Self::Standard => "standard input".into(),
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

    /// Reads the table.
    pub fn read(&self, options: &ReadOptions) -> Result<Dataset, ewca_io::Error> {
        let table = match self {
            Self::Standard => ewca_io::read_table_from(std::io::stdin().lock(), &self.name(), options)?,
            Self::File(path) => ewca_io::read_table(path, options)?,
        };
        Ok(Dataset::from(table))
    }
}

/// A table as the fit takes it: dense, and every sample has a name.
#[derive(Debug)]
pub struct Dataset {
    /// The numbers, row after row.
    pub values: DenseValues,
    /// One name per column.
    pub features: Vec<String>,
    /// One name per row: the file's, or the row's number from 1.
    pub ids: Vec<String>,
    /// One class per row, where a label column was named.
    pub labels: Option<Vec<String>>,
}

impl From<Table> for Dataset {
    fn from(table: Table) -> Self {
        let Table { values, features, ids, labels } = table;
        let values = match values {
            Values::Dense(dense) => dense,
            Values::Sparse(sparse) => sparse.to_dense(),
        };
        let ids = ids.unwrap_or_else(|| (1..=values.rows).map(|row| row.to_string()).collect());
        Self { values, features, ids, labels }
    }
}
