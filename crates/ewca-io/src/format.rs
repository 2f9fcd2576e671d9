//! Which format a file has.

use std::path::Path;
use std::str::FromStr;

use crate::Error;

/// A file format that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-, semicolon- or tab-separated text; also compressed.
    Csv,
}

impl Format {
    /// The name of the format, as messages show it and `--format` takes it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
        }
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format, Error> {
        match name {
            "csv" | "tsv" => Ok(Format::Csv),
            _ => Err(Error::Options {
                problem: format!("there is no format '{}'", crate::error::one_line(name)),
                advice: "choose csv".into(),
            }),
        }
    }
}

/// The byte between cells that the name of a file implies.
pub(crate) fn delimiter_of(file: &str) -> Option<u8> {
    let plain = file.strip_suffix(".gz").or(file.strip_suffix(".zst")).unwrap_or(file);
    let extension = Path::new(plain).extension()?.to_str()?.to_ascii_lowercase();
    (extension == "tsv" || extension == "tab").then_some(b'\t')
}
