//! What is said of an error: what is wrong, where, and what to do.

use std::fmt;
use std::io;

use super::text::{byte_size, counted, list, one_line};
use super::{Error, OptionName, Phrase, phrase};

impl fmt::Display for Error {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        self.message().fmt(out)
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Error::Read { source, .. } | Error::Write { source, .. } => Some(source),
            _ => None,
        }
    }
}

impl Error {
    /// The message, for whoever has words of their own for the options that it names.
    pub fn message(&self) -> Phrase {
        use OptionName::*;
        match self {
            // The file as a whole.
            Error::Read { file, source } => format!("{file}: cannot be read: {}", io_reason(source)).into(),
            Error::Write { file, source } => {
                format!("{file}: cannot be written: {}; no file was left behind", io_reason(source)).into()
            }
            Error::NotAsWritten { file } => format!(
                "{file}: the file on disk differs from what was written; check the disk, and run this again"
            )
            .into(),
            Error::NotAFile { file, kind } => {
                format!("{file}: is a {kind}, not a file; use a file, or pass the data through a pipe").into()
            }
            Error::Folder { file } => format!(
                "{file}: is a folder without a matrix.mtx or matrix.mtx.gz; choose a file in it, or a 10x folder"
            )
            .into(),
            Error::Empty { file } => format!("{file}: is empty; check that the file is complete").into(),
            Error::TooLarge { file, limit, is_wish: true } => phrase![
                format!("{file}: is larger than {} when decompressed; raise ", byte_size(*limit)),
                MaxBytes,
                " if that is expected"
            ],
            Error::TooLarge { file, limit, is_wish: false } => format!(
                "{file}: is larger than {} when decompressed, which is unusual for its size; save it without compression if \
                 that is expected",
                byte_size(*limit)
            )
            .into(),
            Error::NoRoom { file, bytes } => format!(
                "{file}: needs more memory than is free: {} or more; close other programs, or use fewer rows or columns",
                byte_size(*bytes)
            )
            .into(),
            // Its format.
            Error::Malformed { file, format, problem } => {
                format!("{file}: is not a valid {format} file: {problem}; copy or save it again").into()
            }
            Error::WrongFormat { file, expected, found } => phrase![
                format!("{file}: is not a {expected} file: it starts like {found}; rename it, or set its format with "),
                Format
            ],
            Error::Unsupported { file, what, advice } => phrase![format!("{file}: {what}; "), advice],
            Error::NotUtf8 { file, place } => phrase![
                format!("{file}, {place}: the text is not UTF-8; pass "),
                Encoding.set_to("latin1"),
                " if it comes from an older Windows program, or save the file as UTF-8"
            ],
            Error::ModelVersion { file, found, known } => format!(
                "{file}: is a model in the format '{found}', but this version reads '{known}'; use a newer version of ewca"
            )
            .into(),
            Error::Changed { file } => format!(
                "{file}: the file was changed or damaged after it was written (its checksum is wrong); copy it again, or fit again"
            )
            .into(),
            // Its lines and cells.
            Error::Ragged { file, line, found, expected } => format!(
                "{file}, line {line}: has {} instead of {expected}; check the delimiter and the quotes on that line",
                counted(*found, "cell")
            )
            .into(),
            Error::OpenQuote { file, line } => {
                format!("{file}, line {line}: a quote is not closed on the same line; close it").into()
            }
            Error::BadLine { file, place, line, expected } => {
                format!("{file}, {place}: '{line}' is not {expected}; fix the line").into()
            }
            Error::NotANumber { file, place, column, cell } => phrase![
                format!("{file}, {place}, column '{column}': '{cell}' is not a number; pass "),
                Label.set_to(column),
                " or ",
                Id.set_to(column),
                " if the column contains names or classes, ",
                Ignore.set_to(column),
                " to leave it out, or fix the value"
            ],
            Error::DecimalComma { file, place, column, cell } => phrase![
                format!("{file}, {place}, column '{column}': '{cell}' contains a comma; pass "),
                Decimal.set_to(","),
                " if it is a decimal comma, or remove thousands separators"
            ],
            Error::NotBare { file, place, column, cell, what } => phrase![
                format!("{file}, {place}, column '{column}': '{cell}' is a number with {what}; remove that from the column, or \
                         pass "),
                Ignore.set_to(column),
                " to leave the column out"
            ],
            Error::NotFinite { file, place, column, cell } => phrase![
                format!("{file}, {place}, column '{column}': '{cell}' is not a finite number; fix the value, or leave it empty \
                         and pass "),
                Missing
            ],
            Error::Negative { file, place, what, step } => {
                phrase![format!("{file}, {place}: {what} is negative; "), *step, " is for counts, which cannot be negative"]
            }
            // What is missing.
            Error::MissingCell { file, place, column } => phrase![
                format!("{file}, {place}, column '{column}': the value is missing; pass "),
                Missing.set_to("drop-rows"),
                ", drop-columns or mean, or fill it in"
            ],
            Error::AllMissing { file, what } => {
                phrase![format!("{file}: every {what} has a missing value; choose another "), Missing]
            }
            Error::NoMean { file, column } => phrase![
                format!("{file}, column '{column}': all values are missing, so it has no mean; remove the column, or pass "),
                Missing.set_to("drop-columns")
            ],
            Error::MissingLabel { file, place } => phrase![
                format!("{file}, {place}: the label is missing; fill it in, or pass "),
                Missing.set_to("drop-rows")
            ],
            Error::Nothing { file, what, advice } => phrase![format!("{file}: has no {what}; "), advice],
            Error::NoMatch { file, column, text, first } => phrase![
                format!("{file}: no row has '{text}' in column '{column}'; check "),
                Filter,
                format!("; the first row has '{first}'")
            ],
            // Names, and what was asked for by name.
            Error::EmptyName { file, position } => {
                let problem = format!("{file}: feature {position} has no name; give it one, or ");
                phrase![problem, &without_header()]
            }
            Error::DuplicateName { file, name, first, second } => {
                let problem = format!("{file}: features {first} and {second} are both called '{name}'; rename one, or ");
                phrase![problem, &without_header()]
            }
            Error::NoColumn { file, role: FeatureType, name, known } => phrase![
                format!("{file}: has no features of type '{name}' for "),
                FeatureType,
                match &known[..] {
                    [] => "; its features have no types".to_string(),
                    known => format!("; it has {}", list(known)),
                }
            ],
            Error::NoColumn { file, role, name, known } => {
                phrase![format!("{file}: has no column '{name}' for "), *role, format!("; {}", suggestion(known))]
            }
            Error::Choose { file, problem, known } => {
                phrase![format!("{file}: {problem}; choose one with "), Array, format!(": {}", list(known))]
            }
            Error::Features { file, missing, extra } => {
                format!("{file}: {}; use a table with the features of the training data", features(missing, extra)).into()
            }
            Error::Options { problem, advice } => phrase![problem, "; ", advice],
        }
    }
}

/// What to do where an array of names does not fit.
pub(crate) fn another_column() -> Phrase {
    phrase!["choose another with ", OptionName::Label, " or ", OptionName::Id]
}

/// What to do where data were taken for names.
pub(crate) fn without_header() -> Phrase {
    phrase!["pass ", OptionName::Header.set_to("false"), " if the first line contains data"]
}

fn suggestion(known: &[String]) -> String {
    match known {
        [] => "the file has no such columns".into(),
        known => format!("the most similar names are {}", list(known)),
    }
}

fn features(missing: &[String], extra: &[String]) -> String {
    let lacks =
        || format!("does not have {} that the model needs ({})", counted(missing.len(), "feature"), list(missing));
    let has = || format!("has {} that the model does not use ({})", extra.len(), list(extra));
    match (missing, extra) {
        (_, []) => lacks(),
        ([], _) => format!("has {} that the model does not use ({})", counted(extra.len(), "feature"), list(extra)),
        _ => format!("{} and {}", lacks(), has()),
    }
}

fn io_reason(error: &io::Error) -> String {
    use io::ErrorKind::*;
    match error.kind() {
        NotFound => "no such file or folder; check the path".into(),
        PermissionDenied => "permission denied; check the permissions of the file and its folder".into(),
        StorageFull => "the disk is full; free some space or choose another folder".into(),
        BrokenPipe => "the program that reads this output has ended".into(),
        IsADirectory => "it is a folder; choose a file".into(),
        _ => one_line(&error.to_string()),
    }
}
