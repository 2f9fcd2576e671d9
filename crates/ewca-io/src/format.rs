//! Which format a file has: its first bytes say, and its name where they leave a doubt.

use std::path::Path;
use std::str::FromStr;

use crate::error::one_line;
use crate::{Error, ReadOptions};

/// A file format that is read here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// Comma-, semicolon- or tab-separated text, or a sheet of an Excel workbook.
    Csv,
    /// One NumPy array.
    Npy,
    /// A zip archive of NumPy arrays.
    Npz,
    /// Apache Parquet.
    Parquet,
    /// Apache Arrow IPC, as a file (also called Feather) or as a stream.
    Arrow,
    /// MATLAB, version 5 to 7.
    Mat,
    /// Matrix Market.
    Mtx,
    /// A folder with a Matrix Market file, and the names of features and barcodes.
    TenX,
    /// AnnData in HDF5 or in a Zarr folder.
    H5ad,
}

const ALL: [Format; 9] = [
    Format::Csv,
    Format::Npy,
    Format::Npz,
    Format::Parquet,
    Format::Arrow,
    Format::Mat,
    Format::Mtx,
    Format::TenX,
    Format::H5ad,
];

impl Format {
    /// The name of the format, as messages show it and programs take it.
    pub fn name(self) -> &'static str {
        match self {
            Format::Csv => "csv",
            Format::Npy => "npy",
            Format::Npz => "npz",
            Format::Parquet => "parquet",
            Format::Arrow => "arrow",
            Format::Mat => "mat",
            Format::Mtx => "mtx",
            Format::TenX => "10x",
            Format::H5ad => "h5ad",
        }
    }

    /// The format that the name of a file implies.
    fn of_name(file: &str) -> Option<Format> {
        match extension(file)?.as_str() {
            "csv" | "tsv" | "tab" | "txt" | "gct" | "xlsx" | "xlsm" => Some(Format::Csv),
            "npy" => Some(Format::Npy),
            "npz" => Some(Format::Npz),
            "parquet" | "pq" => Some(Format::Parquet),
            "arrow" | "arrows" | "feather" | "ipc" => Some(Format::Arrow),
            "mat" => Some(Format::Mat),
            "mtx" => Some(Format::Mtx),
            "h5ad" | "h5" | "hdf5" => Some(Format::H5ad),
            _ => None,
        }
    }

    /// The format that the first bytes of a file show.
    fn of_bytes(head: &[u8]) -> Option<Format> {
        const MAGIC: [(&[u8], Format); 7] = [
            (b"\x93NUMPY", Format::Npy),
            (b"PK\x03\x04", Format::Npz),
            (b"PAR1", Format::Parquet),
            (b"ARROW1", Format::Arrow),
            (b"MATLAB ", Format::Mat),
            (b"%%MatrixMarket", Format::Mtx),
            (b"\x89HDF\r\n\x1a\n", Format::H5ad),
        ];
        MAGIC.iter().find(|(magic, _)| head.starts_with(magic)).map(|&(_, format)| format)
    }

    /// The format of a file with this name and these first bytes.
    pub(crate) fn detect(head: &[u8], file: &str, options: &ReadOptions) -> Result<Format, Error> {
        refuse_strangers(head, file)?;
        let shown = Format::of_bytes(head);
        let format = options.format.or(shown).or(Format::of_name(file)).unwrap_or(Format::Csv);
        // An Arrow stream and a text table have no first bytes of their own.
        let has_magic = !matches!(format, Format::Csv | Format::Arrow | Format::TenX);
        if (has_magic || shown.is_some()) && shown != Some(format) {
            let found = shown.map_or("something else", Format::name);
            return Err(Error::WrongFormat { file: file.into(), expected: format.name(), found });
        }
        Ok(format)
    }
}

impl FromStr for Format {
    type Err = Error;

    fn from_str(name: &str) -> Result<Format, Error> {
        let known = match name {
            "tsv" => Some(Format::Csv),
            "feather" => Some(Format::Arrow),
            _ => ALL.into_iter().find(|format| format.name() == name),
        };
        known.ok_or_else(|| Error::Options {
            problem: format!("there is no format '{}'", one_line(name)).into(),
            advice: format!("choose one of {}", ALL.map(Format::name).join(", ")).into(),
        })
    }
}

/// Files that people try, and that hold no table that is read here.
fn refuse_strangers(head: &[u8], file: &str) -> Result<(), Error> {
    let r_data = "is an R data file";
    let excel = match extension(file).as_deref() {
        Some("xlsx" | "xlsm") => "is an Excel workbook with a password",
        _ => "is an old Excel workbook (.xls, before 2007)",
    };
    let as_text = "save it as .xlsx without a password, or save the sheet as CSV (in Excel: File, Save As, CSV UTF-8)";
    let page =
        ("is a web page (HTML), not a table", "download the table itself, or open it in Excel and save it as .xlsx");
    let strangers: [(&[u8], &str, &str); 7] = [
        (b"\xd0\xcf\x11\xe0", excel, as_text),
        (b"<!doctype html", page.0, page.1),
        (b"<html", page.0, page.1),
        (b"RDX", r_data, "write the table in R with write.csv"),
        (b"X\n\x00\x00", r_data, "write the table in R with write.csv"),
        (b"FEA1", "is a Feather file of version 1", "save it as Feather version 2"),
        (b"%PDF", "is a PDF document", "choose a table"),
    ];
    let begins = |magic: &[u8]| head.get(..magic.len()).is_some_and(|head| head.eq_ignore_ascii_case(magic));
    match strangers.iter().find(|(magic, ..)| begins(magic)) {
        Some((_, what, advice)) => Err(Error::unsupported(file, *what, *advice)),
        None => Ok(()),
    }
}

/// The extension of a file, in small letters, without that of a compression.
pub(crate) fn extension(file: &str) -> Option<String> {
    let file = file.to_ascii_lowercase();
    let plain = [".gz", ".zst", ".bz2", ".xz", ".zip"].iter().find_map(|end| file.strip_suffix(end)).unwrap_or(&file);
    Some(Path::new(plain).extension()?.to_str()?.to_string())
}

/// The byte between cells that the name of a file implies.
pub(crate) fn delimiter_of(file: &str) -> Option<u8> {
    matches!(extension(file)?.as_str(), "tsv" | "tab" | "gct").then_some(b'\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_formats_are_read_back() {
        for format in ALL {
            assert_eq!(format.name().parse::<Format>().unwrap(), format);
        }
        let error = "xls".parse::<Format>().unwrap_err().to_string();
        assert!(error.starts_with("there is no format 'xls'; choose one of csv, npy,"), "{error}");
    }

    #[test]
    fn bytes_count_more_than_the_name() {
        let options = ReadOptions::default();
        let detect = |head: &[u8], file| Format::detect(head, file, &options);
        assert_eq!(detect(b"\x93NUMPY\x01", "x.csv").unwrap(), Format::Npy);
        assert_eq!(detect(b"a,b", "x.CSV.gz").unwrap(), Format::Csv);
        assert_eq!(detect(b"a,b", "-").unwrap(), Format::Csv);
        assert!(detect(b"a,b", "x.npy").is_err());
        assert!(detect(b"\xd0\xcf\x11\xe0", "x.csv").is_err());
    }
}
