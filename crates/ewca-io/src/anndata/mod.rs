//! AnnData, whatever holds it: an HDF5 file (`h5ad`) or a Zarr folder (`zarr`). A holder says what its
//! groups, arrays and attributes are; what they mean is here, once. `palette` has the colours that AnnData keeps for classes.

mod palette;

use crate::error::OptionName::{Filter, Label, Transpose};
use crate::error::{closest, counted, excerpt, phrase};
use crate::finish::Draft;
use crate::forecast::TableShape;
use crate::sparse::{Compressed, Major};
use crate::{DenseValues, Error, OptionName, Palette, ReadOptions, SparseValues, TextCells, Values};

/// Groups, arrays and attributes by their paths (`obs/class/codes`), and the AnnData that they make up.
pub(crate) trait AnnData {
    /// The name of the file or folder in messages.
    fn name(&self) -> &str;

    /// The name of its format in messages.
    fn format(&self) -> &'static str;

    /// The names of what is in a group; an empty path is the group of all.
    fn members(&self, group: &str) -> Result<Vec<String>, Error>;

    fn is_group(&self, path: &str) -> bool;

    fn is_array(&self, path: &str) -> bool;

    /// An attribute of a group, if it has such a text.
    fn text_attribute(&self, group: &str, name: &str) -> Option<String>;

    /// The sizes of an array, as it says them.
    fn sizes(&self, array: &str) -> Result<Vec<usize>, Error>;

    /// An array of numbers of any type; truth values are 0 and 1.
    fn all_numbers(&self, array: &str) -> Result<Vec<f64>, Error>;

    /// An array of whole numbers from 0, which `what` names.
    fn naturals(&self, array: &str, what: &str) -> Result<Vec<u64>, Error>;

    /// An array as texts; numbers are written out, and those that are none are empty.
    fn all_texts(&self, array: &str) -> Result<Vec<String>, Error>;

    /// Whether an array holds numbers, and no truth values.
    fn holds_numbers(&self, array: &str) -> bool;

    /// The names of the fields of a frame that is a list of records.
    fn record_names(&self, _frame: &str) -> Option<Vec<String>> {
        None
    }

    /// A field of such a frame, or its index, as text.
    fn record_texts(&self, _frame: &str, _name: Option<&str>) -> Option<Result<Vec<String>, Error>> {
        None
    }

    /// Whether a field of such a frame holds numbers that are no codes of classes.
    fn is_measured_field(&self, _frame: &str, _name: &str) -> Option<bool> {
        None
    }

    /// Refuses an array that claims to hold more than its file can.
    fn check_claim(&self, _path: &str) -> Result<(), Error> {
        Ok(())
    }

    fn malformed(&self, problem: impl std::fmt::Display) -> Error {
        Error::malformed(self.name(), self.format(), problem)
    }

    /// The table that the options ask for.
    fn draft(&self, options: &ReadOptions) -> Result<Draft, Error> {
        let features = self.index("var")?;
        let index = self.index("obs")?;
        let values = self.matrix(options.array.as_deref(), [index.len(), features.len()])?;
        let rows = values.rows();
        self.check_size([rows, values.columns()], [index.len(), features.len()])?;
        let (ids, labels) = self.names_of_rows(index, options)?;
        let filter = options.filter.as_ref().map(|(name, _)| self.obs_column(name, OptionName::Filter, rows));
        Ok(Draft {
            texts: self.annotations(rows, options)?,
            left_out: Vec::new(),
            palettes: self.palettes(options),
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

    /// The size of the table that the options ask for, as its arrays say it.
    fn table_shape(&self, options: &ReadOptions) -> Option<TableShape> {
        let matrix = options.array.as_ref().map_or("X".to_string(), |layer| format!("layers/{layer}"));
        if let Ok(sizes) = self.sizes(&matrix) {
            let &[rows, columns] = &sizes[..] else { return None };
            return Some(TableShape::dense(rows, columns));
        }
        let length = |path: &str| self.sizes(path).ok()?.first().copied();
        let names = |frame: &str| match self.record_names(frame) {
            Some(_) => length(frame),
            None if !self.is_group(frame) => None,
            None => length(&format!("{frame}/{}", self.index_name(frame))),
        };
        let stored = length(&format!("{matrix}/data"))?;
        Some(TableShape { rows: names("obs")?, columns: names("var")?, stored: Some(stored) })
    }

    /// The matrices, and the columns of obs with their texts; without, where they cannot be read.
    fn described(&self) -> Result<(Vec<String>, Vec<TextCells>), Error> {
        let rows = self.length("obs", &self.index_name("obs"));
        let texts = |name: String| {
            let is_column = self.length("obs", &name) == rows;
            let cells = if is_column { self.frame_texts("obs", &name).unwrap_or_default() } else { Vec::new() };
            TextCells { name, cells, categorical: true }
        };
        Ok((self.matrices(), self.columns("obs")?.into_iter().map(texts).collect()))
    }

    /// The names of the matrices: `X`, then the layers.
    fn matrices(&self) -> Vec<String> {
        let mut names: Vec<String> = self.members("").unwrap_or_default();
        names.retain(|name| name == "X");
        names.extend(self.members("layers").unwrap_or_default());
        names
    }

    /// Where the matrix is, and whether it is sparse.
    fn place(&self, layer: Option<&str>) -> Result<(String, bool), Error> {
        let wanted = layer.unwrap_or("X");
        let known = self.matrices();
        if !known.iter().any(|name| name == wanted) {
            let what = if layer.is_some() { "layer" } else { "matrix" };
            let problem = format!("has no {what} '{}'", excerpt(wanted.as_bytes()));
            return Err(Error::Choose { file: self.name().into(), problem, known });
        }
        let path = if wanted == "X" { "X".to_string() } else { format!("layers/{wanted}") };
        let is_sparse = self.is_group(&path);
        Ok((path, is_sparse))
    }

    /// The matrix, which should have one row per name in obs and one column per name in var.
    fn matrix(&self, layer: Option<&str>, shape: [usize; 2]) -> Result<Values, Error> {
        let (path, is_sparse) = self.place(layer)?;
        if is_sparse {
            return Ok(Values::Sparse(self.sparse(&path, shape)?));
        }
        let found = self.rows_and_columns(&self.sizes(&path)?, &path)?;
        // Known before room is made for what the file claims.
        self.check_claim(&path)?;
        self.check_size(found, shape)?;
        self.dense_values(self.all_numbers(&path)?, found, &path)
    }

    fn rows_and_columns(&self, sizes: &[usize], path: &str) -> Result<[usize; 2], Error> {
        <[usize; 2]>::try_from(sizes)
            .map_err(|_| self.malformed(format!("{path} has {} instead of 2", counted(sizes.len(), "dimension"))))
    }

    fn dense_values(&self, data: Vec<f64>, [rows, columns]: [usize; 2], path: &str) -> Result<Values, Error> {
        if Some(data.len()) != rows.checked_mul(columns) {
            return Err(self.malformed(format!("{path} has {} values, but is {rows} x {columns}", data.len())));
        }
        Ok(Values::Dense(DenseValues { rows, columns, data }))
    }

    /// Refuses a matrix that has not one row per name in obs and one column per name in var.
    fn check_size(&self, [rows, columns]: [usize; 2], [obs, var]: [usize; 2]) -> Result<(), Error> {
        if [rows, columns] == [obs, var] {
            return Ok(());
        }
        Err(self.malformed(format!("its matrix is {rows} x {columns}, with {obs} names in obs and {var} in var")))
    }

    /// Whether a sparse matrix stores its rows or its columns one after the other.
    fn major(&self, path: &str) -> Result<Major, Error> {
        let said = self.text_attribute(path, "encoding-type").or_else(|| self.text_attribute(path, "h5sparse_format"));
        match said.as_deref() {
            Some("csr_matrix" | "csr") => Ok(Major::Row),
            Some("csc_matrix" | "csc") => Ok(Major::Column),
            _ => Err(self.malformed(format!("{path} is neither a csr nor a csc matrix"))),
        }
    }

    /// Where the rows, or columns, of a sparse matrix start.
    fn offsets(&self, path: &str) -> Result<Vec<u64>, Error> {
        self.naturals(&format!("{path}/indptr"), "indptr")
    }

    /// A sparse matrix is a group with `data`, `indices` and `indptr`. It also says its shape, but the
    /// names are what counts.
    fn sparse(&self, path: &str, shape: [usize; 2]) -> Result<SparseValues, Error> {
        let major = self.major(path)?;
        let offsets = self.offsets(path)?;
        let indices = self.naturals(&format!("{path}/indices"), "indices")?;
        let values = self.all_numbers(&format!("{path}/data"))?;
        let stored = Compressed { major, shape, offsets, indices, values };
        stored.into_rows().map_err(|problem| self.malformed(format!("{path}: {problem}")))
    }

    /// The ids, which are the names in obs (`index`) unless the options say otherwise, and the labels.
    fn names_of_rows(
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

    /// The name of the column that names the rows of `obs` or `var`.
    fn index_name(&self, frame: &str) -> String {
        self.text_attribute(frame, "_index").unwrap_or_else(|| "_index".into())
    }

    /// The names of the observations or of the variables.
    fn index(&self, frame: &str) -> Result<Vec<String>, Error> {
        match self.record_texts(frame, None) {
            Some(texts) => texts,
            None => self.texts(frame, &self.index_name(frame)),
        }
    }

    /// The names of the columns of `obs` or `var`.
    fn columns(&self, frame: &str) -> Result<Vec<String>, Error> {
        if let Some(names) = self.record_names(frame) {
            return Ok(names);
        }
        let index = self.index_name(frame);
        let mut names = self.members(frame)?;
        names.retain(|name| *name != index && name != "__categories");
        Ok(names)
    }

    /// The columns of obs that the options name, beside the label.
    fn annotations(&self, rows: usize, options: &ReadOptions) -> Result<Vec<TextCells>, Error> {
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
        let column = format!("obs/{name}");
        if self.is_array(&format!("obs/__categories/{name}")) || self.is_array(&format!("{column}/codes")) {
            return false;
        }
        self.holds_numbers(&if self.is_group(&column) { format!("{column}/values") } else { column })
    }

    fn obs_column(&self, name: &str, role: OptionName, rows: usize) -> Result<Vec<String>, Error> {
        let known = self.columns("obs")?;
        if !known.iter().any(|column| column == name) {
            return Err(Error::NoColumn {
                file: self.name().into(),
                role,
                name: excerpt(name.as_bytes()),
                known: closest(name, known.iter().map(String::as_str)),
            });
        }
        let checked = |length: usize| match length == rows {
            true => Ok(()),
            false => {
                let (name, found) = (excerpt(name.as_bytes()), counted(length, "element"));
                Err(self.malformed(format!("obs/{name} has {found}, but the table has {rows} rows")))
            }
        };
        // Known before room is made for what the file claims.
        checked(self.length("obs", name).unwrap_or(rows))?;
        let texts = self.frame_texts("obs", name)?;
        checked(texts.len())?;
        Ok(texts)
    }

    /// How many cells a column of a frame has, as its array says; nothing where the frame is a list of records.
    fn length(&self, frame: &str, name: &str) -> Option<usize> {
        let path = format!("{frame}/{name}");
        let list = match self.is_group(&path) {
            true => {
                ["codes", "values"].map(|part| format!("{path}/{part}")).into_iter().find(|list| self.is_array(list))?
            }
            false => path,
        };
        self.sizes(&list).ok()?.first().copied()
    }

    /// A column of a frame, of either kind.
    fn frame_texts(&self, frame: &str, name: &str) -> Result<Vec<String>, Error> {
        match self.record_texts(frame, Some(name)) {
            Some(texts) => texts,
            None => self.texts(frame, name),
        }
    }

    /// A column as text; what is missing is empty.
    fn texts(&self, frame: &str, name: &str) -> Result<Vec<String>, Error> {
        let path = format!("{frame}/{name}");
        if self.is_group(&path) {
            return self.encoded_texts(&path);
        }
        // Before version 0.7, categories were kept beside the columns.
        let words = format!("{frame}/__categories/{name}");
        if self.is_array(&words) {
            return Ok(pick(&self.all_numbers(&path)?, &self.all_texts(&words)?));
        }
        self.all_texts(&path)
    }

    /// A categorical column (`codes`, `categories`), or one with missing values.
    fn encoded_texts(&self, path: &str) -> Result<Vec<String>, Error> {
        let codes = format!("{path}/codes");
        if !self.is_array(&codes) {
            return self.masked_texts(path);
        }
        let categories = format!("{path}/categories");
        // A damaged file may have a group in itself: categories are never looked for in categories.
        let words = match self.is_group(&categories) {
            true => self.masked_texts(&categories)?,
            false => self.all_texts(&categories)?,
        };
        Ok(pick(&self.all_numbers(&codes)?, &words))
    }

    /// A column with missing values: `values`, and a `mask` that tells which are.
    fn masked_texts(&self, path: &str) -> Result<Vec<String>, Error> {
        let (values, mask) = (format!("{path}/values"), format!("{path}/mask"));
        if !self.is_array(&values) || !self.is_array(&mask) {
            return Err(self.malformed(format!("{path} is neither a list nor categories")));
        }
        let mut texts = self.all_texts(&values)?;
        let mask = self.all_numbers(&mask)?;
        for (text, _) in texts.iter_mut().zip(mask).filter(|(_, missing)| *missing != 0.0) {
            text.clear();
        }
        Ok(texts)
    }

    /// The colours of the columns that the options name. What is no colour is passed over: the table does not depend on it.
    fn palettes(&self, options: &ReadOptions) -> Vec<Palette> {
        let columns = options.label.iter().chain(&options.annotations);
        columns.filter_map(|column| palette::of(self, column)).collect()
    }
}

/// Refuses options that name columns of obs where samples are made of var.
pub(crate) fn check_turned(options: &ReadOptions) -> Result<(), Error> {
    if !options.transpose || options.label.is_none() && options.filter.is_none() && options.annotations.is_empty() {
        return Ok(());
    }
    Err(Error::Options {
        problem: phrase![
            Label,
            " and ",
            Filter,
            " are columns of obs (samples), and ",
            Transpose,
            " uses var as samples"
        ],
        advice: "remove one of the two options".into(),
    })
}

/// A number as text; one that is none is missing.
pub(crate) fn number_text(number: f64) -> String {
    if number.is_nan() { String::new() } else { number.to_string() }
}

/// The word of each code; a code outside the words (-1) is missing.
pub(crate) fn pick(codes: &[f64], words: &[String]) -> Vec<String> {
    let word = |code: &f64| {
        if *code >= 0.0 { words.get(*code as usize).cloned() } else { None }
    };
    codes.iter().map(|code| word(code).unwrap_or_default()).collect()
}
