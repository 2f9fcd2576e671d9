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
                "{file}: what was written does not come back from the disk as it was; check the disk, and run this again"
            )
            .into(),
            Error::NotAFile { file, kind } => {
                format!("{file}: is a {kind}, not a file; name a file, or give what it brings through a pipe").into()
            }
            Error::Folder { file, is_zarr: true } => format!(
                "{file}: is a Zarr folder, which is read only where ewca was built with cargo's feature `zarr` (the README says \
                 how); build it so, or write the folder as .h5ad (in Python: anndata.read_zarr(FOLDER).write_h5ad(FILE))"
            )
            .into(),
            Error::Folder { file, is_zarr: false } => format!(
                "{file}: is a folder without a matrix.mtx or matrix.mtx.gz; name a file in it, or a 10x folder"
            )
            .into(),
            Error::Empty { file } => format!("{file}: is empty; check that it was written to the end").into(),
            Error::TooLarge { file, limit, is_wish: true } => phrase![
                format!("{file}: holds more than {} once decompressed; raise ", byte_size(*limit)),
                MaxBytes,
                " if that is expected"
            ],
            Error::TooLarge { file, limit, is_wish: false } => format!(
                "{file}: holds more than {} once decompressed, which is unusual for its size; save it without compression if that is \
                 expected",
                byte_size(*limit)
            )
            .into(),
            Error::NoRoom { file, bytes } => format!(
                "{file}: needs more memory than is free: {} or more; close other programs, or take fewer rows or columns",
                byte_size(*bytes)
            )
            .into(),
            // Its format.
            Error::Malformed { file, format, problem } => {
                format!("{file}: is not a valid {format} file: {problem}; copy or write it again").into()
            }
            Error::WrongFormat { file, expected, found } => phrase![
                format!("{file}: is not a {expected} file: it starts as {found}; rename it, or name its format with "),
                Format
            ],
            Error::Unsupported { file, what, advice } => phrase![format!("{file}: {what}; "), advice],
            Error::NotUtf8 { file, place } => phrase![
                format!("{file}, {place}: the text is not UTF-8; pass "),
                Encoding.set_to("latin1"),
                " if it comes from an older Windows program, or save the file with the UTF-8 encoding"
            ],
            Error::ModelVersion { file, found, known } => format!(
                "{file}: is a model of the format '{found}', and this program reads '{known}'; use a newer version of ewca"
            )
            .into(),
            Error::Changed { file } => format!(
                "{file}: the file was changed or damaged after it was written (its checksum does not hold); copy it again, or fit again"
            )
            .into(),
            // Its lines and cells.
            Error::Ragged { file, line, found, expected } => format!(
                "{file}, line {line}: has {} where {expected} are expected; check the delimiter and the quotes of that line",
                counted(*found, "cell")
            )
            .into(),
            Error::OpenQuote { file, line } => {
                format!("{file}, line {line}: a quote is opened there and not closed on the same line; close it").into()
            }
            Error::BadLine { file, place, line, expected } => {
                format!("{file}, {place}: '{line}' is not {expected}; mend the line").into()
            }
            Error::NotANumber { file, place, column, cell } => phrase![
                format!("{file}, {place}, column '{column}': '{cell}' is not a number; pass "),
                Label.set_to(column),
                " or ",
                Id.set_to(column),
                " if that column holds names, ",
                Ignore.set_to(column),
                " to leave it out, or mend the cell"
            ],
            Error::DecimalComma { file, place, column, cell } => phrase![
                format!("{file}, {place}, column '{column}': '{cell}' has a comma; pass "),
                Decimal.set_to(","),
                " if it is a decimal comma, or take out commas between thousands"
            ],
            Error::NotBare { file, place, column, cell, what } => phrase![
                format!("{file}, {place}, column '{column}': '{cell}' is a number with {what}; take that out of the column, or pass "),
                Ignore.set_to(column),
                " to leave it out"
            ],
            Error::NotFinite { file, place, column, cell } => phrase![
                format!("{file}, {place}, column '{column}': '{cell}' is not a finite number; mend the cell, or empty it and pass "),
                Missing
            ],
            Error::Negative { file, place, what, step } => {
                phrase![format!("{file}, {place}: {what} is negative; "), *step, " is for counts"]
            }
            // What is missing.
            Error::MissingCell { file, place, column } => phrase![
                format!("{file}, {place}, column '{column}': the cell is missing; pass "),
                Missing.set_to("drop-rows"),
                ", drop-columns or mean, or fill it"
            ],
            Error::AllMissing { file, what } => {
                phrase![format!("{file}: every {what} has a missing cell; choose another "), Missing]
            }
            Error::NoMean { file, column } => phrase![
                format!("{file}, column '{column}': every cell is missing, so it has no mean; remove the column, or pass "),
                Missing.set_to("drop-columns")
            ],
            Error::MissingLabel { file, place } => phrase![
                format!("{file}, {place}: the label is missing; fill it, or pass "),
                Missing.set_to("drop-rows")
            ],
            Error::Nothing { file, what, advice } => phrase![format!("{file}: has no {what}; "), advice],
            Error::NoMatch { file, column, text, first } => phrase![
                format!("{file}: no row has '{text}' in column '{column}'; check "),
                Filter,
                format!(", the first row has '{first}'")
            ],
            // Names, and what was asked for by name.
            Error::EmptyName { file, position } => {
                let problem = format!("{file}: feature {position} has an empty name; name it, or ");
                phrase![problem, &without_header()]
            }
            Error::DuplicateName { file, name, first, second } => {
                let problem = format!("{file}: features {first} and {second} are both called '{name}'; rename one, or ");
                phrase![problem, &without_header()]
            }
            Error::NoColumn { file, role: FeatureType, name, known } => phrase![
                format!("{file}: has no features of the type '{name}' for "),
                FeatureType,
                match &known[..] {
                    [] => "; it has no types".to_string(),
                    known => format!("; it has {}", list(known)),
                }
            ],
            Error::NoColumn { file, role, name, known } => {
                phrase![format!("{file}: has no column '{name}' for "), *role, format!("; {}", suggestion(known))]
            }
            Error::Choose { file, problem, known } => {
                phrase![format!("{file}: {problem}; name one with "), Array, format!(": {}", list(known))]
            }
            Error::Features { file, missing, extra } => {
                format!("{file}: {}; give it the features of the training data", features(missing, extra)).into()
            }
            Error::Options { problem, advice } => phrase![problem, "; ", advice],
        }
    }
}

/// What to do where an array of names does not fit.
pub(crate) fn another_column() -> Phrase {
    phrase!["name another with ", OptionName::Label, " or ", OptionName::Id]
}

/// What to do where data were taken for names.
pub(crate) fn without_header() -> Phrase {
    phrase!["pass ", OptionName::Header.set_to("false"), " if the first line holds data"]
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
