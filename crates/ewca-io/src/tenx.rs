//! A 10x folder: `matrix.mtx`, `features.tsv` or `genes.tsv`, and `barcodes.tsv`, each perhaps `.gz`.
//!
//! The matrix has genes in rows; here, as everywhere, samples (barcodes) come in rows. A feature is
//! called by its symbol (the second column) unless another one has the same symbol: then by its
//! identifier (the first).

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::error::{counted, excerpt, file_name, phrase};
use crate::finish::Draft;
use crate::h5ad::keep_type;
use crate::source::{self, Kind, kind_of};
use crate::{Error, OptionName, Place, ReadOptions, TableFile, mtx};

/// Reads a folder, whose matrix may be open already.
pub(crate) fn read(folder: &Path, opened: Option<Box<TableFile>>, options: &ReadOptions) -> Result<Draft, Error> {
    if options.transpose {
        return Err(Error::Options {
            problem: "in a 10x folder, barcodes are always the samples".into(),
            advice: phrase!["remove ", OptionName::Transpose],
        });
    }
    let mut matrix = match opened {
        Some(matrix) => matrix,
        None => Box::new(TableFile::at(&matrix(folder)?)),
    };
    let mut draft = mtx::read(&matrix.bytes(options)?, matrix.name())?;
    // Its bytes are not held beside what becomes of them.
    drop(matrix);
    draft.values = draft.values.transposed();
    let features = self::features(folder, &["features.tsv", "genes.tsv"], draft.values.columns(), options)?;
    draft.ids = Some(names_of(&self::features(folder, &["barcodes.tsv"], draft.values.rows(), options)?));
    keep_type(&mut draft, features, &file_name(folder), options)?;
    Ok(draft)
}

/// The file with the matrix.
pub(crate) fn matrix(folder: &Path) -> Result<PathBuf, Error> {
    find(folder, &["matrix.mtx"])?.ok_or_else(|| no_matrix(folder))
}

/// What is said of a folder that is no 10x one.
fn no_matrix(folder: &Path) -> Error {
    Error::Folder { file: file_name(folder) }
}

/// Whether a folder is one of Zarr.
pub(crate) fn is_zarr(folder: &Path) -> bool {
    [".zgroup", ".zattrs", ".zarray", "zarr.json"].iter().any(|name| folder.join(name).is_file())
}

/// The first of `files` that is there, plain or compressed. It must be a file, and in the folder: whoever makes a folder
/// could else have any file of the reader read, by a link.
fn find(folder: &Path, files: &[&str]) -> Result<Option<PathBuf>, Error> {
    let plain_or_not = files.iter().flat_map(|file| [file.to_string(), format!("{file}.gz")]);
    let Some(path) = plain_or_not.map(|file| folder.join(file)).find(|path| path.symlink_metadata().is_ok()) else {
        return Ok(None);
    };
    let file = file_name(&path);
    let failed = |source| Error::Read { file: file.clone(), source };
    let real = path.canonicalize().map_err(failed)?;
    if !real.starts_with(folder.canonicalize().map_err(failed)?) {
        let what = "is a link to a file outside its folder";
        return Err(Error::unsupported(&file, what, "copy that file into the folder"));
    }
    match kind_of(&path, &file)? {
        Kind::Regular(_) => Ok(Some(path)),
        Kind::Stream => Err(Error::NotAFile { file, kind: "pipe" }),
        Kind::Folder => Err(Error::NotAFile { file, kind: "folder" }),
    }
}

/// A feature as 10x names it; a barcode has its name for all of them.
pub(crate) struct Feature {
    pub id: String,
    pub symbol: String,
    /// Its type, such as "Gene Expression"; empty where there is none.
    pub kind: String,
}

/// What features are called: by their symbols, and by their ids where two have the same symbol.
pub(crate) fn names_of(features: &[Feature]) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for feature in features {
        *uses.entry(&feature.symbol).or_default() += 1;
    }
    let name = |feature: &Feature| if uses[&feature.symbol[..]] == 1 { &feature.symbol } else { &feature.id }.clone();
    features.iter().map(name).collect()
}

/// The type of features that is to be kept: the one that the options name, or genes where there are other types too.
pub(crate) fn wanted_type(features: &[Feature], file: &str, options: &ReadOptions) -> Result<Option<String>, Error> {
    const GENES: &str = "Gene Expression";
    let mut kinds: Vec<String> = Vec::new();
    for feature in features {
        if !feature.kind.is_empty() && !kinds.contains(&feature.kind) && kinds.len() < MOST_TYPES {
            kinds.push(feature.kind.clone());
        }
    }
    match &options.feature_type {
        Some(wanted) if !kinds.contains(wanted) => Err(Error::NoColumn {
            file: file.into(),
            role: OptionName::FeatureType,
            name: excerpt(wanted.as_bytes()),
            known: kinds.iter().map(|kind| excerpt(kind.as_bytes())).collect(),
        }),
        Some(wanted) => Ok(Some(wanted.clone())),
        None => Ok(kinds.iter().find(|kind| *kind == GENES).filter(|_| kinds.len() > 1).cloned()),
    }
}

/// Files have some types of features, not thousands.
const MOST_TYPES: usize = 64;

/// The features, or the barcodes, in a file, one per line.
fn features(folder: &Path, files: &[&str], expected: usize, options: &ReadOptions) -> Result<Vec<Feature>, Error> {
    let path = find(folder, files)?.unwrap_or_else(|| folder.join(files[0]));
    let file = file_name(&path);
    let bytes = source::load(&path, options)?.bytes;
    let text = std::str::from_utf8(&bytes).map_err(|error| {
        let line = memchr::memchr_iter(b'\n', &bytes[..error.valid_up_to()]).count() + 1;
        Error::NotUtf8 { file: file.clone(), place: Place::Line(line) }
    })?;
    let features: Vec<Feature> = text.lines().map(Feature::of_line).collect();
    if features.len() != expected {
        let what = format!("has {}, but the matrix has {expected}", counted(features.len(), "line"));
        return Err(Error::unsupported(&file, what, "use the three files of one folder"));
    }
    Ok(features)
}

impl Feature {
    fn of_line(line: &str) -> Feature {
        let mut cells = line.trim_end().split('\t');
        let id = cells.next().unwrap_or_default().to_string();
        let symbol = cells.next().map_or(id.clone(), String::from);
        Feature { id, symbol, kind: cells.next().unwrap_or_default().into() }
    }
}
