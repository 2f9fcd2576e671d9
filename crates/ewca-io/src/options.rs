//! What the caller wants from a file.

use crate::Format;

/// How to read a table. Start from `ReadOptions::default()` and change what matters.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The column that holds the classes; it is kept out of the values.
    /// In a text table read with `transpose`, the row whose first cell is this name.
    pub label: Option<String>,
    /// The column that holds the names of the samples; it is kept out of the values.
    /// With `transpose`, rows are features, and this column names them.
    pub id: Option<String>,
    /// Columns to leave out.
    pub ignore: Vec<String>,
    /// Keep only the samples that have this text in this column: `(column, text)`.
    /// The column is kept out of the values.
    pub filter: Option<(String, String)>,
    /// Whether the first line of a text table holds names. Without one, columns are called
    /// `column1`, `column2`, and so on.
    pub header: bool,
    /// The byte between the cells of a text table; found in the text when `None`.
    pub delimiter: Option<u8>,
    /// What to do with missing cells.
    pub missing: Missing,
    /// Which array (.npz), variable (.mat) or layer (.h5ad) to read where there are several.
    pub array: Option<String>,
    /// Whether the file has features in rows and samples in columns.
    pub transpose: bool,
    /// The format; found from the file's name and its first bytes when `None`.
    pub format: Option<Format>,
    /// The most bytes that the file may hold once decompressed. When `None`, a compressed file may
    /// grow to 1 GiB or to 256 times its size, whichever is more, and a plain one may be any size.
    pub max_bytes: Option<u64>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            label: None,
            id: None,
            ignore: Vec::new(),
            filter: None,
            header: true,
            delimiter: None,
            missing: Missing::Error,
            array: None,
            transpose: false,
            format: None,
            max_bytes: None,
        }
    }
}

/// What to do with missing cells: empty, `NA`, `N/A`, `NaN`, `nan` or `null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Missing {
    /// Refuse the table, and name the first missing cell.
    #[default]
    Error,
    /// Leave out the samples that have a missing cell.
    DropRows,
    /// Leave out the features that have a missing cell.
    DropColumns,
    /// Put the mean of the feature's other cells in the place of each missing one.
    Mean,
}
