//! From an AnnData file to a table.

use std::io::Write;
use std::path::Path;

use rust_hdf5::{DatatypeMessage, H5Dataset, H5File, H5Group, Hdf5Error, ReadNumeric};

use crate::error::OptionName::{Filter, Label, Transpose};
use crate::error::{closest, counted, excerpt, one_line, phrase, truth_name};
use crate::finish::Draft;
use crate::forecast::TableShape;
use crate::limit::Limit;
use crate::memory::check_room;
use crate::source::contained;
use crate::sparse::{Compressed, Major, natural_numbers};
use crate::{DenseValues, Error, OptionName, ReadOptions, SparseValues, TextCells, Values};

use super::cells::Kind;
use super::guard;

/// Reads `X`, or the layer that the options name.
pub(crate) fn read(path: &Path, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    contained(file, "h5ad", || decode(path, file, options))?
}

fn decode(path: &Path, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    if options.transpose && (options.label.is_some() || options.filter.is_some() || !options.annotations.is_empty()) {
        return Err(Error::Options {
            problem: phrase![Label, " and ", Filter, " name columns of obs, and ", Transpose, " makes samples of var"],
            advice: "leave out one of the two".into(),
        });
    }
    let h5ad = H5ad::open(path, file, options)?;
    match h5ad.kind(options)? {
        Kind::AnnData => {}
        _ if options.transpose => {
            let problem = "a 10x or loom file always gives cells as samples".into();
            return Err(Error::Options { problem, advice: phrase!["leave out ", Transpose] });
        }
        Kind::TenX(matrix) => return h5ad.tenx(&matrix, options),
        Kind::Loom => return h5ad.loom(options),
    }
    let features = h5ad.index("var")?;
    let index = h5ad.index("obs")?;
    let values = h5ad.matrix(options.array.as_deref(), [index.len(), features.len()])?;
    let (rows, columns) = (values.rows(), values.columns());
    h5ad.check_size([rows, columns], [index.len(), features.len()])?;
    let (ids, labels) = h5ad.names_of_rows(index, options)?;
    let filter = options.filter.as_ref().map(|(name, _)| h5ad.obs_column(name, OptionName::Filter, rows));
    Ok(Draft {
        texts: h5ad.annotations(rows, options)?,
        left_out: Vec::new(),
        palettes: h5ad.palettes(options),
        values,
        features: Some(features),
        ids: Some(ids),
        labels,
        filter: filter.transpose()?,
        // Variables may still be ignored by name.
        roles_open: true,
        notes: Vec::new(),
    })
}

/// Reads a file that is in memory: HDF5 needs to jump about, so it goes to a temporary file first.
pub(crate) fn read_bytes(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    in_a_file(bytes, file, |path| read(path, file, options))
}

/// Puts the bytes of a file into a temporary one for a while.
pub(crate) fn in_a_file<T>(
    bytes: &[u8],
    file: &str,
    use_it: impl FnOnce(&Path) -> Result<T, Error>,
) -> Result<T, Error> {
    let failed = |source| Error::Read { file: file.into(), source };
    let mut temporary = tempfile::NamedTempFile::new().map_err(failed)?;
    temporary.write_all(bytes).map_err(failed)?;
    use_it(temporary.path())
}

/// The shape of the matrix that is asked for, as its datasets say it.
pub(crate) fn shape(path: &Path, file: &str, options: &ReadOptions) -> Option<TableShape> {
    let promised = contained(file, "h5ad", || {
        let h5ad = H5ad::open(path, file, options).ok()?;
        let kind = h5ad.kind(options).ok()?;
        if kind != Kind::AnnData {
            return h5ad.other_shape(&kind, options);
        }
        let matrix = options.array.as_ref().map_or("X".to_string(), |layer| format!("layers/{layer}"));
        let size = |path: String| h5ad.file.dataset(&path).ok().map(|dataset| dataset.shape());
        if let Some(shape) = size(matrix.clone()) {
            let &[rows, columns] = &shape[..] else { return None };
            return Some(TableShape::dense(rows, columns));
        }
        let names = |frame: &str| {
            if h5ad.record_names(frame).is_some() {
                return size(frame.into())?.first().copied();
            }
            let index = h5ad.frame(frame).ok()?.attr_string("_index").unwrap_or_else(|_| "_index".into());
            size(format!("{frame}/{index}"))?.first().copied()
        };
        let stored = size(format!("{matrix}/data"))?.first().copied();
        Some(TableShape { rows: names("obs")?, columns: names("var")?, stored })
    });
    promised.ok()?
}

/// The matrices of a file, and the columns of obs with their texts; without, where they cannot be read.
pub(crate) fn describe(path: &Path, file: &str, options: &ReadOptions) -> Result<(Vec<String>, Vec<TextCells>), Error> {
    contained(file, "h5ad", || {
        let h5ad = H5ad::open(path, file, options)?;
        if h5ad.kind(options)? != Kind::AnnData {
            return Ok((Vec::new(), Vec::new()));
        }
        let texts = |name: String| {
            let cells = h5ad.frame_texts("obs", &name).unwrap_or_default();
            TextCells { name, cells, categorical: true }
        };
        Ok((h5ad.matrices(), h5ad.columns("obs")?.into_iter().map(texts).collect()))
    })?
}

pub(super) struct H5ad<'a> {
    pub file: H5File,
    pub root: H5Group,
    pub name: &'a str,
    /// The most bytes that a dataset may take.
    limit: Limit,
    /// How many rows each sparse matrix of MATLAB has.
    pub sparse_rows: guard::SparseRows,
}

impl<'a> H5ad<'a> {
    pub fn open(path: &Path, name: &'a str, options: &ReadOptions) -> Result<H5ad<'a>, Error> {
        let length = std::fs::metadata(path).map_err(|source| Error::Read { file: name.into(), source })?.len();
        let sparse_rows = guard::check(path, name)?;
        let file = H5File::options().best_effort_locking().open(path);
        let file = file.map_err(|error| Error::malformed(name, "h5ad", error))?;
        Ok(H5ad { root: file.root_group(), file, name, limit: Limit::of_claims(length, options), sparse_rows })
    }

    pub fn malformed(&self, problem: impl std::fmt::Display) -> Error {
        Error::malformed(self.name, "h5ad", problem)
    }

    pub fn because(&self, path: &str) -> impl Fn(Hdf5Error) -> Error {
        let (name, path) = (self.name.to_string(), path.to_string());
        move |error| {
            let error = error.to_string();
            // An unknown filter is one of several layers' errors; all of them say this.
            if error.contains("unsupported feature") {
                let what = format!("{path} is stored in a way that is not read here ({})", one_line(&error));
                return Error::unsupported(&name, what, "write the file again with gzip, or without compression");
            }
            Error::malformed(&name, "h5ad", format!("{path}: {error}"))
        }
    }

    /// The names of the matrices: `X`, then the layers.
    fn matrices(&self) -> Vec<String> {
        let mut names: Vec<String> = self.root.link_names().unwrap_or_default();
        names.retain(|name| name == "X");
        let layers = self.root.group("layers").and_then(|layers| layers.link_names());
        names.extend(layers.unwrap_or_default());
        names
    }

    /// Where the matrix is, and its group if it is sparse.
    pub fn place(&self, layer: Option<&str>) -> Result<(String, Option<H5Group>), Error> {
        let wanted = layer.unwrap_or("X");
        let known = self.matrices();
        if !known.iter().any(|name| name == wanted) {
            let what = if layer.is_some() { "layer" } else { "matrix" };
            let problem = format!("has no {what} '{}'", excerpt(wanted.as_bytes()));
            return Err(Error::Choose { file: self.name.into(), problem, known });
        }
        let (parent, path) = match wanted {
            "X" => (self.file.root_group(), "X".to_string()),
            layer => (self.root.group("layers").map_err(self.because("layers"))?, format!("layers/{layer}")),
        };
        if has(&parent.group_names(), wanted) {
            let group = parent.group(wanted).map_err(self.because(&path))?;
            return Ok((path, Some(group)));
        }
        Ok((path, None))
    }

    /// The matrix, which should have one row per name in obs and one column per name in var.
    fn matrix(&self, layer: Option<&str>, shape: [usize; 2]) -> Result<Values, Error> {
        let (path, group) = self.place(layer)?;
        if let Some(group) = group {
            return Ok(Values::Sparse(self.sparse(&group, &path, shape)?));
        }
        let (dataset, [rows, columns]) = self.dense(&path)?;
        let data = self.numbers(&dataset, &path)?;
        self.dense_values(data, [rows, columns], &path)
    }

    /// A matrix with every cell stored, and its rows and columns.
    pub fn dense(&self, path: &str) -> Result<(H5Dataset, [usize; 2]), Error> {
        let dataset = self.dataset(path)?;
        match <[usize; 2]>::try_from(&dataset.shape()[..]) {
            Ok(shape) => Ok((dataset, shape)),
            Err(_) => {
                Err(self.malformed(format!("{path} has {} where a table has 2", counted(dataset.ndims(), "dimension"))))
            }
        }
    }

    pub fn dense_values(&self, data: Vec<f64>, [rows, columns]: [usize; 2], path: &str) -> Result<Values, Error> {
        if Some(data.len()) != rows.checked_mul(columns) {
            return Err(self.malformed(format!("{path} has {} numbers for {rows} x {columns}", data.len())));
        }
        Ok(Values::Dense(DenseValues { rows, columns, data }))
    }

    /// Refuses a matrix that has not one row per name in obs and one column per name in var.
    pub fn check_size(&self, [rows, columns]: [usize; 2], [obs, var]: [usize; 2]) -> Result<(), Error> {
        if [rows, columns] == [obs, var] {
            return Ok(());
        }
        Err(self.malformed(format!("its matrix is {rows} x {columns}, with {obs} names in obs and {var} in var")))
    }

    /// The ids, which are the names in obs (`index`) unless the options say otherwise, and the labels.
    pub fn names_of_rows(
        &self,
        index: Vec<String>,
        options: &ReadOptions,
    ) -> Result<(Vec<String>, Option<Vec<String>>), Error> {
        let rows = index.len();
        let ids = match &options.id {
            Some(name) => self.obs_column(name, OptionName::Id, rows)?,
            None => index,
        };
        let labels = options.label.as_ref().map(|name| self.obs_column(name, OptionName::Label, rows));
        Ok((ids, labels.transpose()?))
    }

    /// Whether a sparse matrix stores its rows or its columns one after the other.
    pub fn major(&self, group: &H5Group, path: &str) -> Result<Major, Error> {
        match group.attr_string("encoding-type").or(group.attr_string("h5sparse_format")).as_deref() {
            Ok("csr_matrix" | "csr") => Ok(Major::Row),
            Ok("csc_matrix" | "csc") => Ok(Major::Column),
            _ => Err(self.malformed(format!("{path} is neither a csr nor a csc matrix"))),
        }
    }

    /// Where the rows, or columns, of a sparse matrix start.
    pub fn offsets(&self, path: &str) -> Result<Vec<u64>, Error> {
        let offsets = self.integers(&format!("{path}/indptr"))?;
        natural_numbers(offsets, "indptr").map_err(|problem| self.malformed(format!("{path}: {problem}")))
    }

    /// A sparse matrix is a group with `data`, `indices` and `indptr`. It also says its shape, but the
    /// names are what counts.
    fn sparse(&self, group: &H5Group, path: &str, shape: [usize; 2]) -> Result<SparseValues, Error> {
        let major = self.major(group, path)?;
        let offsets = self.offsets(path)?;
        let broken = |problem: String| self.malformed(format!("{path}: {problem}"));
        let indices = natural_numbers(self.integers(&format!("{path}/indices"))?, "indices").map_err(broken)?;
        let data = format!("{path}/data");
        let values = self.numbers(&self.dataset(&data)?, &data)?;
        Compressed { major, shape, offsets, indices, values }.into_rows().map_err(broken)
    }

    pub fn dataset(&self, path: &str) -> Result<H5Dataset, Error> {
        let dataset = self.file.dataset(path).map_err(self.because(path))?;
        if bytes_of(&dataset, &dataset.shape()) > self.limit.bytes {
            return Err(self.limit.exceeded(self.name));
        }
        Ok(dataset)
    }

    /// Refuses to read what memory cannot hold: so many elements of a dataset, and its chunks, which are held whole and may be
    /// larger than what they are a part of.
    pub fn check_room(&self, dataset: &H5Dataset, counts: &[usize]) -> Result<(), Error> {
        let chunk = dataset.chunk_dims().map_or(0, |chunk| bytes_of(dataset, &chunk));
        if chunk > self.limit.bytes {
            return Err(self.limit.exceeded(self.name));
        }
        check_room(bytes_of(dataset, counts).max(chunk), self.name)
    }

    pub fn numbers(&self, dataset: &H5Dataset, path: &str) -> Result<Vec<f64>, Error> {
        self.check_room(dataset, &dataset.shape())?;
        numbers(dataset, None).map_err(self.because(path))
    }

    /// The numbers of a part of a dataset.
    pub fn some_numbers(&self, dataset: &H5Dataset, part: &Part, path: &str) -> Result<Vec<f64>, Error> {
        if part.counts.contains(&0) {
            return Ok(Vec::new());
        }
        self.check_room(dataset, part.counts)?;
        numbers(dataset, Some(part)).map_err(self.because(path))
    }

    /// The integers of a part of a dataset.
    pub fn some_integers(&self, dataset: &H5Dataset, part: &Part, path: &str) -> Result<Vec<i64>, Error> {
        if part.counts.contains(&0) {
            return Ok(Vec::new());
        }
        self.check_room(dataset, part.counts)?;
        numeric(dataset, Some(part)).map_err(self.because(path))
    }

    pub fn integers(&self, path: &str) -> Result<Vec<i64>, Error> {
        let dataset = self.dataset(path)?;
        self.check_room(&dataset, &dataset.shape())?;
        dataset.read_numeric_as::<i64>().map_err(self.because(path))
    }

    /// The group `obs` or `var`.
    fn frame(&self, frame: &str) -> Result<H5Group, Error> {
        self.root.group(frame).map_err(self.because(frame))
    }

    /// The names of the observations or of the variables.
    pub fn index(&self, frame: &str) -> Result<Vec<String>, Error> {
        if let Some(texts) = self.record_texts(frame, None) {
            return texts;
        }
        let group = self.frame(frame)?;
        let name = group.attr_string("_index").unwrap_or_else(|_| "_index".into());
        self.texts(&group, &name, frame)
    }

    /// The names of the columns of `obs` or `var`.
    fn columns(&self, frame: &str) -> Result<Vec<String>, Error> {
        if let Some(names) = self.record_names(frame) {
            return Ok(names);
        }
        let group = self.frame(frame)?;
        let index = group.attr_string("_index").unwrap_or_else(|_| "_index".into());
        let mut names = group.link_names().map_err(self.because(frame))?;
        names.retain(|name| *name != index && name != "__categories");
        Ok(names)
    }

    /// The columns of obs that the options name, beside the label.
    pub fn annotations(&self, rows: usize, options: &ReadOptions) -> Result<Vec<TextCells>, Error> {
        let column = |name: &String| {
            let cells = self.obs_column(name, OptionName::Label, rows)?;
            Ok(TextCells { name: name.clone(), cells, categorical: !self.is_measured(name) })
        };
        options.annotations.iter().map(column).collect()
    }

    /// Whether a column of obs holds numbers that are no codes of classes.
    fn is_measured(&self, name: &str) -> bool {
        if let Some(is_measured) = self.is_measured_field("obs", name) {
            return is_measured;
        }
        let Ok(obs) = self.frame("obs") else { return false };
        let is_old = obs.group("__categories").is_ok_and(|old| has(&old.dataset_names(), name));
        let path = match obs.group(name) {
            Ok(column) if has(&column.dataset_names(), "codes") => return false,
            Ok(_) => format!("obs/{name}/values"),
            Err(_) => format!("obs/{name}"),
        };
        let is_number =
            |kind| matches!(kind, DatatypeMessage::FixedPoint { .. } | DatatypeMessage::FloatingPoint { .. });
        !is_old && self.file.dataset(&path).and_then(|dataset| dataset.datatype()).is_ok_and(is_number)
    }

    fn obs_column(&self, name: &str, role: OptionName, rows: usize) -> Result<Vec<String>, Error> {
        let known = self.columns("obs")?;
        if !known.iter().any(|column| column == name) {
            return Err(Error::NoColumn {
                file: self.name.into(),
                role,
                name: excerpt(name.as_bytes()),
                known: closest(name, known.iter().map(String::as_str)),
            });
        }
        let texts = self.frame_texts("obs", name)?;
        if texts.len() != rows {
            let name = excerpt(name.as_bytes());
            return Err(self.malformed(format!("obs/{name} has {} for {rows} rows", counted(texts.len(), "element"))));
        }
        Ok(texts)
    }

    /// A column of a frame, of either kind.
    fn frame_texts(&self, frame: &str, name: &str) -> Result<Vec<String>, Error> {
        match self.record_texts(frame, Some(name)) {
            Some(texts) => texts,
            None => self.texts(&self.frame(frame)?, name, frame),
        }
    }

    /// A column as text; what is missing is empty.
    fn texts(&self, group: &H5Group, name: &str, frame: &str) -> Result<Vec<String>, Error> {
        let path = format!("{frame}/{name}");
        if has(&group.group_names(), name) {
            let column = group.group(name).map_err(self.because(&path))?;
            return self.encoded_texts(&column, &path);
        }
        let dataset = self.dataset(&path)?;
        // Before version 0.7, categories were kept beside the columns.
        let is_old = group.group("__categories").is_ok_and(|old| has(&old.dataset_names(), name));
        if is_old {
            let words = format!("{frame}/__categories/{name}");
            let words = self.plain_texts(&self.dataset(&words)?, &words)?;
            return Ok(pick(&self.numbers(&dataset, &path)?, &words));
        }
        self.plain_texts(&dataset, &path)
    }

    /// A categorical column (`codes`, `categories`), or one with missing values.
    fn encoded_texts(&self, column: &H5Group, path: &str) -> Result<Vec<String>, Error> {
        if !has(&column.dataset_names(), "codes") {
            return self.masked_texts(column, path);
        }
        let categories = format!("{path}/categories");
        // A damaged file may have a group in itself: categories are never looked for in categories.
        let words = match column.group("categories") {
            Ok(group) => self.masked_texts(&group, &categories)?,
            Err(_) => self.plain_texts(&self.dataset(&categories)?, &categories)?,
        };
        let codes = format!("{path}/codes");
        Ok(pick(&self.numbers(&self.dataset(&codes)?, &codes)?, &words))
    }

    /// A column with missing values: `values`, and a `mask` that tells which are.
    fn masked_texts(&self, column: &H5Group, path: &str) -> Result<Vec<String>, Error> {
        let names = column.dataset_names();
        if !has(&names, "values") || !has(&names, "mask") {
            return Err(self.malformed(format!("{path} is neither a list nor categories")));
        }
        let (values, mask) = (format!("{path}/values"), format!("{path}/mask"));
        let mut texts = self.plain_texts(&self.dataset(&values)?, &values)?;
        let flags = self.dataset(&mask)?;
        self.check_room(&flags, &flags.shape())?;
        let mask = flags.read_raw_bytes().map_err(self.because(&mask))?;
        for (text, _) in texts.iter_mut().zip(mask).filter(|(_, missing)| *missing != 0) {
            text.clear();
        }
        Ok(texts)
    }

    pub fn plain_texts(&self, dataset: &H5Dataset, path: &str) -> Result<Vec<String>, Error> {
        self.check_room(dataset, &dataset.shape())?;
        match numbers(dataset, None) {
            Ok(numbers) if is_truth(dataset) => Ok(numbers.iter().map(|&number| truth_name(number != 0.0)).collect()),
            Ok(numbers) => {
                let text = |number: &f64| {
                    if number.is_nan() { String::new() } else { number.to_string() }
                };
                Ok(numbers.iter().map(text).collect())
            }
            Err(_) => {
                dataset.read_strings().or_else(|error| fixed_texts(dataset).ok_or(error)).map_err(self.because(path))
            }
        }
    }
}

/// Texts of one length. Some programs say that they are ASCII, and write others.
fn fixed_texts(dataset: &H5Dataset) -> Option<Vec<String>> {
    let DatatypeMessage::FixedString { size, .. } = dataset.datatype().ok()? else { return None };
    let bytes = dataset.read_raw_bytes().ok()?;
    let text = |cell: &[u8]| {
        let end = memchr::memchr(0, cell).unwrap_or(cell.len());
        String::from_utf8_lossy(&cell[..end]).into_owned()
    };
    Some(bytes.chunks_exact((size as usize).max(1)).map(text).collect())
}

/// The bytes of so many elements along each dimension, as numbers of 8 bytes at least.
fn bytes_of(dataset: &H5Dataset, counts: &[usize]) -> u64 {
    let element = dataset.element_size().max(8) as u64;
    counts.iter().fold(element, |bytes, &count| bytes.saturating_mul(count as u64))
}

/// A part of a dataset: where it starts and how long it is, in each dimension.
pub(super) struct Part<'a> {
    pub starts: &'a [usize],
    pub counts: &'a [usize],
}

/// Numbers of any type, all of them or a part; truth values, which HDF5 keeps as an enumeration, are 0 and 1.
fn numbers(dataset: &H5Dataset, part: Option<&Part>) -> rust_hdf5::Result<Vec<f64>> {
    if is_truth(dataset) {
        let bytes = match part {
            None => dataset.read_raw_bytes()?,
            Some(part) => dataset.read_slice(part.starts, part.counts)?,
        };
        return Ok(bytes.into_iter().map(f64::from).collect());
    }
    if let Ok(numbers) = numeric::<f64>(dataset, part) {
        return Ok(numbers);
    }
    if let Ok(integers) = numeric::<i64>(dataset, part) {
        return Ok(integers.into_iter().map(|integer| integer as f64).collect());
    }
    let integers = numeric::<u64>(dataset, part)?;
    Ok(integers.into_iter().map(|integer| integer as f64).collect())
}

fn numeric<T: ReadNumeric>(dataset: &H5Dataset, part: Option<&Part>) -> rust_hdf5::Result<Vec<T>> {
    match part {
        None => dataset.read_numeric_as(),
        Some(part) => dataset.read_numeric_slice_as(part.starts, part.counts),
    }
}

fn is_truth(dataset: &H5Dataset) -> bool {
    dataset.element_size() == 1 && matches!(dataset.datatype(), Ok(DatatypeMessage::Enum { .. }))
}

/// The word of each code; a code outside the words (-1) is missing.
pub(super) fn pick(codes: &[f64], words: &[String]) -> Vec<String> {
    let word = |code: &f64| {
        if *code >= 0.0 { words.get(*code as usize).cloned() } else { None }
    };
    codes.iter().map(|code| word(code).unwrap_or_default()).collect()
}

pub(super) fn has(names: &rust_hdf5::Result<Vec<String>>, name: &str) -> bool {
    names.as_ref().is_ok_and(|names| names.iter().any(|known| known == name))
}
