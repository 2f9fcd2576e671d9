//! What the caller wants from a file.

use std::sync::Arc;

use crate::Format;

/// How to read a table. Start from `ReadOptions::default()` and change what matters.
#[derive(Debug, Clone)]
pub struct ReadOptions {
    /// The column that holds the classes; it is kept out of the values.
    /// In a text table read with `transpose`, the row whose first cell is this name.
    pub label: Option<String>,
    /// Further columns of what is known of the samples; they are kept out of the values, and come as [`crate::Table::texts`].
    pub annotations: Vec<String>,
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
    /// The decimal mark of a text table, `b'.'` or `b','`; found in the text when `None`.
    pub decimal: Option<u8>,
    /// The encoding of a text table, by the name that the web has for it; UTF-8, or UTF-16 with its mark, when `None`.
    pub encoding: Option<String>,
    /// What stands for a missing number in a text table, beside the usual words.
    pub missing_values: Vec<String>,
    /// What to do with missing cells.
    pub missing: Missing,
    /// Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read where there are several.
    pub array: Option<String>,
    /// The type of features to keep of a 10x file or folder that has several; genes when `None`.
    pub feature_type: Option<String>,
    /// Whether the file has features in rows and samples in columns.
    pub transpose: bool,
    /// The format; found from the file's name and its first bytes when `None`.
    pub format: Option<Format>,
    /// What the table is wanted for, where that is known: its features are then found by name, and what else it has is kept
    /// (text) or left out (numbers).
    pub expected: Option<Arc<Expected>>,
    /// The most bytes that the file may hold once decompressed. When `None`, a compressed file may
    /// grow to 1 GiB or to 256 times its size, whichever is more, and a plain one may be any size.
    pub max_bytes: Option<u64>,
}

impl Default for ReadOptions {
    fn default() -> Self {
        ReadOptions {
            label: None,
            annotations: Vec::new(),
            id: None,
            ignore: Vec::new(),
            filter: None,
            header: true,
            delimiter: None,
            decimal: None,
            encoding: None,
            missing_values: Vec::new(),
            missing: Missing::Error,
            array: None,
            feature_type: None,
            transpose: false,
            format: None,
            expected: None,
            max_bytes: None,
        }
    }
}

/// What to do with missing cells: empty, `NA`, `N/A`, `#N/A`, `<NA>`, `NaN`, `None`, `null`, `?`, `.` or `-`.
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

/// The features of a table that a model is applied to.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Expected {
    /// Their names, in the order in which they are wanted.
    pub features: Vec<String>,
    /// What [`Missing::Mean`] puts in the place of a missing cell of each: the mean of the training data.
    pub means: Option<Vec<f64>>,
    /// Whether an array without names, with just so many columns, has them in this order.
    pub by_place: bool,
}

impl Expected {
    /// Whether columns of these names, which nobody gave them, are the features in their order.
    pub(crate) fn are_in_place(&self, names: &[String]) -> bool {
        let numbered = |(at, name): (usize, &String)| *name == format!("column{}", at + 1);
        self.by_place && names.len() == self.features.len() && names.iter().enumerate().all(numbered)
    }
}
