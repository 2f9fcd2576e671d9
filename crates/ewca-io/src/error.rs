//! Everything that can go wrong with a file, each with one line that says what, where and what to do.

use std::fmt;
use std::io;
use std::path::Path;

/// Why a file could not be read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The operating system refused to read.
    #[error("{file}: cannot be read: {}", io_reason(source))]
    Read {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// The operating system refused to write; nothing was left behind.
    #[error("{file}: cannot be written: {}; no file was left behind", io_reason(source))]
    Write {
        /// The file.
        file: String,
        /// What the system said.
        source: io::Error,
    },
    /// A folder was named, and it is not a 10x one.
    #[error("{file}: is a folder without a matrix.mtx or matrix.mtx.gz; name a file in it, or a 10x folder")]
    Folder {
        /// The folder.
        file: String,
    },
    /// There is nothing in the file.
    #[error("{file}: is empty; check that it was written to the end")]
    Empty {
        /// The file.
        file: String,
    },
    /// The table has no samples, or no features.
    #[error("{file}: has no {what}; {advice}")]
    Nothing {
        /// The file.
        file: String,
        /// What is absent: "rows", "numeric columns".
        what: &'static str,
        /// What to do.
        advice: &'static str,
    },
    /// The bytes are not those of the format.
    #[error("{file}: is not a valid {format} file: {problem}; copy or write it again")]
    Malformed {
        /// The file.
        file: String,
        /// The format that was expected.
        format: &'static str,
        /// What is wrong with it.
        problem: String,
    },
    /// The first bytes are not those of the format that the name of the file, or `--format`, says.
    #[error("{file}: is not a {expected} file: it starts as {found}; rename it, or name its format with --format")]
    WrongFormat {
        /// The file.
        file: String,
        /// The format that was expected.
        expected: &'static str,
        /// What it looks like.
        found: &'static str,
    },
    /// The file is fine, and holds something that is not read here.
    #[error("{file}: {what}; {advice}")]
    Unsupported {
        /// The file.
        file: String,
        /// What it holds.
        what: String,
        /// What to do.
        advice: String,
    },
    /// The file is larger, once decompressed, than was allowed.
    #[error("{file}: holds more than {limit} bytes once decompressed; raise --max-bytes if that is expected")]
    TooLarge {
        /// The file.
        file: String,
        /// The most that was allowed.
        limit: u64,
    },
    /// Reading the file takes more memory than there is.
    #[error(
        "{file}: needs more memory than is free: {bytes} bytes, or more; close other programs, or take fewer rows or columns"
    )]
    NoRoom {
        /// The file.
        file: String,
        /// What it takes at least.
        bytes: u64,
    },
    /// What is at the path is no file that can be read to its end.
    #[error("{file}: is a {kind}, not a file; name a file, or give what it brings through a pipe")]
    NotAFile {
        /// The path.
        file: String,
        /// What it is: "character device", "socket".
        kind: &'static str,
    },
    /// A row has more or fewer cells than the header.
    #[error("{file}, line {line}: has {} where {expected} are expected; check the delimiter and the quotes of that line", counted(*found, "cell"))]
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
    #[error("{file}, {place}, column '{column}': '{cell}' is not a number; pass --label {word} or --id {word} if that column holds names, --ignore {word} to leave it out, or mend the cell", word = shell_word(column))]
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
    /// A cell has a decimal comma.
    #[error("{file}, {place}, column '{column}': '{cell}' has a decimal comma; save the table with decimal points")]
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
    /// A quote is opened and, it seems, never closed.
    #[error("{file}, line {line}: a quote is opened there and not closed on the same line; close it")]
    OpenQuote {
        /// The file.
        file: String,
        /// The line, from 1.
        line: usize,
    },
    /// A line of text is not what it should be.
    #[error("{file}, {place}: '{line}' is not {expected}; mend the line")]
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
    #[error(
        "{file}, {place}, column '{column}': '{cell}' is not a finite number; mend the cell, or empty it and pass --missing"
    )]
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
    #[error(
        "{file}, {place}, column '{column}': the cell is missing; pass --missing drop-rows, drop-columns or mean, or fill it"
    )]
    MissingCell {
        /// The file.
        file: String,
        /// Where the cell is.
        place: Place,
        /// The name of its column.
        column: String,
    },
    /// Leaving out what has missing cells leaves nothing.
    #[error("{file}: every {what} has a missing cell; choose another --missing")]
    AllMissing {
        /// The file.
        file: String,
        /// "row" or "column".
        what: &'static str,
    },
    /// A whole column is missing, so it has no mean.
    #[error(
        "{file}, column '{column}': every cell is missing, so it has no mean; remove the column, or pass --missing drop-columns"
    )]
    NoMean {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// No sample has the text that the filter asks for.
    #[error("{file}: no row has '{text}' in column '{column}'; check --where, the first row has '{first}'")]
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
    #[error("{file}, {place}: the label is missing; fill it, or pass --missing drop-rows")]
    MissingLabel {
        /// The file.
        file: String,
        /// Where the label should be.
        place: Place,
    },
    /// A feature has no name.
    #[error("{file}: feature {position} has an empty name; name it, or pass --no-header if the first line holds data")]
    EmptyName {
        /// The file.
        file: String,
        /// Which feature, from 1.
        position: usize,
    },
    /// Two features have the same name.
    #[error(
        "{file}: features {first} and {second} are both called '{name}'; rename one, or pass --no-header if the first line holds data"
    )]
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
    #[error("{file}, {place}: the text is not UTF-8; save the file with the UTF-8 encoding")]
    NotUtf8 {
        /// The file.
        file: String,
        /// Where.
        place: Place,
    },
    /// A column that was asked for by name is not there.
    #[error("{file}: has no column '{name}' for --{role}; {}", suggestion(known))]
    NoColumn {
        /// The file.
        file: String,
        /// What the column was wanted for.
        role: Role,
        /// The name that was asked for.
        name: String,
        /// The names that come closest.
        known: Vec<String>,
    },
    /// There are several arrays, variables or layers, or none with the name asked for.
    #[error("{file}: {problem}; name one with --array: {}", list(known))]
    Choose {
        /// The file.
        file: String,
        /// Why a choice is needed.
        problem: String,
        /// What there is to choose from.
        known: Vec<String>,
    },
    /// A table does not have the features of the training data.
    #[error("{file}: {}; give it the features of the training data", features(missing, extra))]
    Features {
        /// The file.
        file: String,
        /// Features that it should have.
        missing: Vec<String>,
        /// Features that it should not have.
        extra: Vec<String>,
    },
    /// A model file of a version that is not known here.
    #[error(
        "{file}: is a model of the format '{found}', and this program reads '{known}'; use a newer version of ewca"
    )]
    ModelVersion {
        /// The file.
        file: String,
        /// The version that it names.
        found: String,
        /// The version that is known.
        known: &'static str,
    },
    /// A model file whose checksum does not hold.
    #[error(
        "{file}: the file was changed or damaged after it was written (its checksum does not hold); copy it again, or fit again"
    )]
    Changed {
        /// The file.
        file: String,
    },
    /// A file that was written, and is not on the disk as it was meant.
    #[error("{file}: what was written does not come back from the disk as it was; check the disk, and run this again")]
    NotAsWritten {
        /// The file.
        file: String,
    },
    /// A step of the preprocessing met a negative number.
    #[error("{file}, {place}: {what} is negative; {step} is for counts")]
    Negative {
        /// The file.
        file: String,
        /// Where.
        place: Place,
        /// What is negative.
        what: &'static str,
        /// The step.
        step: &'static str,
    },
    /// Options that make no sense, or not together.
    #[error("{problem}; {advice}")]
    Options {
        /// What is wrong with them.
        problem: String,
        /// What to do.
        advice: String,
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

    pub(crate) fn unsupported(file: &str, what: impl Into<String>, advice: impl Into<String>) -> Error {
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

/// What a column was asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// The classes of the samples.
    Label,
    /// The names of the samples.
    Id,
    /// Which samples to keep.
    Filter,
    /// Nothing: it is left out.
    Ignore,
}

impl fmt::Display for Role {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        out.write_str(match self {
            Role::Label => "label",
            Role::Id => "id",
            Role::Filter => "where",
            Role::Ignore => "ignore",
        })
    }
}

/// A path as messages show it: on one line.
pub(crate) fn file_name(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// Text from a file as messages show it: on one line, and not too long.
pub(crate) fn excerpt(cell: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&cell[..cell.len().min(4 * LONGEST + 4)]);
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    one_line(&shown)
}

pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// `1 cell`, `2 cells`.
pub(crate) fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A name as a shell takes it: in quotes, if it needs them.
fn shell_word(name: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "_-.:/@%+=".contains(c);
    if !name.is_empty() && name.chars().all(is_plain) {
        return name.into();
    }
    format!("'{}'", name.replace('\'', "'\\''"))
}

/// A truth value as a label, spelt as pandas and NumPy do.
pub(crate) fn truth_name(value: bool) -> String {
    if value { "True" } else { "False" }.into()
}

/// The few of `names` that come closest to `wanted`, best first.
pub(crate) fn closest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const SHOWN: usize = 5;
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let rank = (distance(&wanted, &name.to_lowercase()), name);
        ranked.push(rank);
        if ranked.len() > 64 {
            ranked.sort_by_key(|&(distance, _)| distance);
            ranked.truncate(SHOWN);
        }
    }
    ranked.sort_by_key(|&(distance, _)| distance);
    ranked.truncate(SHOWN);
    ranked.into_iter().map(|(_, name)| excerpt(name.as_bytes())).collect()
}

/// The number of single-character changes between two names (Levenshtein), on their first 32 characters.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(32).collect();
    let b: Vec<char> = b.chars().take(32).collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut current = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = previous[j] + usize::from(from != to);
            current.push(replaced.min(previous[j + 1] + 1).min(current[j] + 1));
        }
        previous = current;
    }
    previous[b.len()]
}

fn suggestion(known: &[String]) -> String {
    match known {
        [] => "it has no columns to choose from".into(),
        known => format!("the closest are {}", list(known)),
    }
}

fn features(missing: &[String], extra: &[String]) -> String {
    let lacks = || format!("lacks {} that the model needs ({})", counted(missing.len(), "feature"), list(missing));
    let has = || format!("has {} that it does not know ({})", extra.len(), list(extra));
    match (missing, extra) {
        (_, []) => lacks(),
        ([], _) => format!("has {} that the model does not know ({})", counted(extra.len(), "feature"), list(extra)),
        _ => format!("{} and {}", lacks(), has()),
    }
}

fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut text = names.iter().take(SHOWN).map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

fn io_reason(error: &io::Error) -> String {
    use io::ErrorKind::*;
    match error.kind() {
        NotFound => "no such file or folder; check the path".into(),
        PermissionDenied => "permission denied; check who may use the file and its folder".into(),
        StorageFull => "the disk is full; free some space or choose another folder".into(),
        BrokenPipe => "the program that reads this output has ended".into(),
        IsADirectory => "it is a folder; name a file".into(),
        _ => one_line(&error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_come_first() {
        let names = ["height", "Class", "width", "clas", "x1", "x2", "x3"];
        let found = closest("class", names.into_iter());
        assert_eq!(found[..2], ["Class", "clas"]);
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn excerpts_stay_on_one_short_line() {
        assert_eq!(excerpt(b"a\nb"), "a\u{fffd}b");
        assert_eq!(excerpt(&[b'x'; 100]), format!("{}...", "x".repeat(40)));
    }
}
