//! Everything that can go wrong with a file, each with one line that says what, where and what to do.

mod message;
mod phrase;
mod text;

use std::fmt;
use std::io;

pub(crate) use message::{another_column, without_header};
pub use phrase::{OptionName, Phrase};
pub(crate) use phrase::{Piece, phrase};
pub use text::{byte_size, counted};
pub(crate) use text::{closest, excerpt, file_name, one_line, truth_name};

/// Why a file could not be read or written.
#[derive(Debug)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read.
    Read {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The operating system refused to write; nothing was left behind.
    Write {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// A folder was named, and it is not a 10x one.
    Folder {
        /// The folder.
        file: String,
    },
    /// There is nothing in the file.
    Empty {
        /// The file.
        file: String,
    },
    /// The table has no samples, or no features.
    Nothing {
        /// The file.
        file: String,
        /// What is absent: "rows", "numeric columns".
        what: &'static str,
        /// What to do.
        advice: Phrase,
    },
    /// The bytes are not those of the format.
    Malformed {
        /// The file.
        file: String,
        /// The format that was expected.
        format: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The first bytes are not those of the format that the name of the file, or the options, say.
    WrongFormat {
        /// The file.
        file: String,
        /// The format that was expected.
        expected: &'static str,
        /// What it looks like.
        found: &'static str,
    },
    /// The file is fine, and holds something that is not read here.
    Unsupported {
        /// The file.
        file: String,
        /// What it holds.
        what: String,
        /// What to do.
        advice: Phrase,
    },
    /// The file is larger, once decompressed, than was allowed.
    TooLarge {
        /// The file.
        file: String,
        /// The most that was allowed.
        limit: u64,
        /// Whether the options say so; otherwise it is what files of its size usually grow to.
        is_wish: bool,
    },
    /// Reading the file takes more memory than there is.
    NoRoom {
        /// The file.
        file: String,
        /// What it takes at least.
        bytes: u64,
    },
    /// What is at the path is no file that can be read to its end.
    NotAFile {
        /// The path.
        file: String,
        /// What it is: "character device", "socket".
        kind: &'static str,
    },
    /// A row has more or fewer cells than the header.
    Ragged {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
        /// The cells it has.
        found: usize,
        /// The cells it should have.
        expected: usize,
    },
    /// A cell holds text where a number is expected.
    NotANumber {
        /// The file.
        file: String,
        /// Where the cell is.
        place: Place,
        /// The name of its column.
        column: String,
        /// What it holds.
        cell: String,
    },
    /// A cell has a comma: a decimal one, or one between thousands.
    DecimalComma {
        /// The file.
        file: String,
        /// Where the cell is.
        place: Place,
        /// The name of its column.
        column: String,
        /// What it holds.
        cell: String,
    },
    /// A cell holds a number and something else: a percent sign, a unit.
    NotBare {
        /// The file.
        file: String,
        /// Where the cell is.
        place: Place,
        /// The name of its column.
        column: String,
        /// What it holds.
        cell: String,
        /// What stands beside the number.
        what: &'static str,
    },
    /// A quote is opened and, it seems, never closed.
    OpenQuote {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// A line of text is not what it should be.
    BadLine {
        /// The file.
        file: String,
        /// Where the line is.
        place: Place,
        /// What it holds.
        line: String,
        /// What it should hold.
        expected: &'static str,
    },
    /// A cell is infinite, or too large for a 64-bit float.
    NotFinite {
        /// The file.
        file: String,
        /// Where the cell is.
        place: Place,
        /// The name of its column.
        column: String,
        /// What it holds.
        cell: String,
    },
    /// A cell is missing, and nothing was said about missing cells.
    MissingCell {
        /// The file.
        file: String,
        /// Where the cell is.
        place: Place,
        /// The name of its column.
        column: String,
    },
    /// Leaving out what has missing cells leaves nothing.
    AllMissing {
        /// The file.
        file: String,
        /// "row" or "column".
        what: &'static str,
    },
    /// A whole column is missing, so it has no mean.
    NoMean {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// No sample has the text that the filter asks for.
    NoMatch {
        /// The file.
        file: String,
        /// The column of the filter.
        column: String,
        /// The text it looks for.
        text: String,
        /// What the first row has there.
        first: String,
    },
    /// A sample has no label.
    MissingLabel {
        /// The file.
        file: String,
        /// Where the label should be.
        place: Place,
    },
    /// A feature has no name.
    EmptyName {
        /// The file.
        file: String,
        /// Which feature, from 1.
        position: usize,
    },
    /// Two features have the same name.
    DuplicateName {
        /// The file.
        file: String,
        /// The name.
        name: String,
        /// The first of the two, from 1.
        first: usize,
        /// The second of the two, from 1.
        second: usize,
    },
    /// Text that is not UTF-8.
    NotUtf8 {
        /// The file.
        file: String,
        /// Where.
        place: Place,
    },
    /// A column that was asked for by name is not there.
    NoColumn {
        /// The file.
        file: String,
        /// What the column was wanted for.
        role: OptionName,
        /// The name that was asked for.
        name: String,
        /// The names that come closest.
        known: Vec<String>,
    },
    /// There are several arrays, variables or layers, or none with the name asked for.
    Choose {
        /// The file.
        file: String,
        /// Why a choice is needed.
        problem: String,
        /// What there is to choose from.
        known: Vec<String>,
    },
    /// A table does not have the features of the training data.
    Features {
        /// The file.
        file: String,
        /// Features that it should have.
        missing: Vec<String>,
        /// Features that it should not have.
        extra: Vec<String>,
    },
    /// A model file of a version that is not known here.
    ModelVersion {
        /// The file.
        file: String,
        /// The version that it names.
        found: String,
        /// The version that is known.
        known: &'static str,
    },
    /// A model file whose checksum does not hold.
    Changed {
        /// The file.
        file: String,
    },
    /// A file that was written, and is not on the disk as it was meant.
    NotAsWritten {
        /// The file.
        file: String,
    },
    /// A step of the preprocessing met a negative number.
    Negative {
        /// The file.
        file: String,
        /// Where.
        place: Place,
        /// What is negative.
        what: &'static str,
        /// The step.
        step: OptionName,
    },
    /// Options that make no sense, or not together.
    Options {
        /// What is wrong with them.
        problem: Phrase,
        /// What to do.
        advice: Phrase,
    },
}

impl Error {
    pub(crate) fn malformed(file: &str, format: &'static str, problem: impl fmt::Display) -> Error {
        Error::Malformed { file: file.into(), format, problem: one_line(&problem.to_string()) }
    }

    /// The same error, if it was met in a part of a table that begins after so many rows: rows are counted from the
    /// start of the whole table.
    pub fn after_rows(mut self, rows: usize) -> Error {
        if let Error::NotANumber { place, .. }
        | Error::DecimalComma { place, .. }
        | Error::NotBare { place, .. }
        | Error::BadLine { place, .. }
        | Error::NotFinite { place, .. }
        | Error::MissingCell { place, .. }
        | Error::MissingLabel { place, .. }
        | Error::NotUtf8 { place, .. }
        | Error::Negative { place, .. } = &mut self
            && let Place::Row(row) = place
        {
            *row += rows;
        }
        self
    }

    pub(crate) fn unsupported(file: &str, what: impl Into<String>, advice: impl Into<Phrase>) -> Error {
        Error::Unsupported { file: file.into(), what: what.into(), advice: advice.into() }
    }
}

/// Where in a file: text has lines, other formats have rows. Both count from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A line of text; the header is one too.
    Line(usize),
    /// A row of the table.
    Row(usize),
}

impl fmt::Display for Place {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Place::Line(line) => write!(out, "line {line}"),
            Place::Row(row) => write!(out, "row {row}"),
        }
    }
}
