//! What is in a file, for people who want to know before they read it.

use std::path::Path;

use crate::finish::Draft;
use crate::{Error, Format, Missing, Phrase, ReadOptions, TableFile, Values, arrow, csv, h5ad, mat, npy, npz};

/// With more columns of text than this it is no table.
const MOST_TEXT_COLUMNS: usize = 64;

/// What is in a file.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Inspection {
    /// The format.
    pub format: Format,
    /// The arrays, variables or layers of a file that can have several.
    pub arrays: Vec<ArrayInfo>,
    /// The columns that hold no numbers: labels, ids. For AnnData, all the columns of obs.
    pub text_columns: Vec<String>,
    /// The table, if there is one to be read with the same options.
    pub table: Option<TableSummary>,
    /// Why there is none.
    pub problem: Option<Phrase>,
}

/// One array of a file.
#[derive(Debug, Clone, PartialEq)]
pub struct ArrayInfo {
    /// Its name.
    pub name: String,
    /// Its size along each dimension; empty where only reading it would tell.
    pub shape: Vec<usize>,
    /// The type of its elements, as the tool that wrote it calls it; may be empty.
    pub element: String,
}

/// A table in a few numbers.
#[derive(Debug, Clone, PartialEq)]
pub struct TableSummary {
    /// The number of rows, as they are in the file.
    pub rows: usize,
    /// The number of columns of numbers, as they are in the file.
    pub columns: usize,
    /// How many numbers are stored, if the table is sparse.
    pub stored: Option<usize>,
    /// The names of the columns of numbers, if they have names.
    pub features: Option<Vec<String>>,
    /// Whether the rows have names.
    pub has_ids: bool,
    /// The number of missing cells.
    pub missing: usize,
    /// The number of cells that are infinite.
    pub infinite: usize,
    /// The smallest and the largest finite number; zero counts if a sparse table has one.
    pub range: Option<(f64, f64)>,
}

/// Looks into a file, or a pipe, which is read once. Options are used where they say how to read (header, delimiter,
/// array).
pub fn inspect(path: &Path, options: &ReadOptions) -> Result<Inspection, Error> {
    TableFile::at(path).inspect(options)
}

impl TableFile {
    /// Looks into the file. Options are used where they say how to read (header, delimiter, array).
    pub fn inspect(&mut self, options: &ReadOptions) -> Result<Inspection, Error> {
        let given = options.ignore.len();
        let mut options = ReadOptions { missing: Missing::Mean, ..options.clone() };
        let (format, draft) = match self.numbers(&mut options) {
            Ok((format, draft)) => (format, Ok(draft)),
            Err(
                error @ (Error::Read { .. }
                | Error::Folder { .. }
                | Error::Empty { .. }
                | Error::TooLarge { .. }
                | Error::NoRoom { .. }
                | Error::NotAFile { .. }),
            ) => return Err(error),
            Err(error) => (self.format(&options)?, Err(error)),
        };
        let mut text_columns = options.ignore.split_off(given);
        let mut arrays = Vec::new();
        match format {
            Format::H5ad => {
                let (matrices, columns) = self.anndata(&options)?;
                arrays = matrices
                    .into_iter()
                    .map(|name| ArrayInfo { name, shape: Vec::new(), element: String::new() })
                    .collect();
                text_columns = columns;
            }
            Format::Npy | Format::Npz | Format::Mat => arrays = describe_arrays(self, format, &options)?,
            _ => {}
        }
        Ok(Inspection {
            format,
            arrays,
            text_columns,
            problem: draft.as_ref().err().map(Error::message),
            table: draft.ok().map(summary),
        })
    }

    /// What is in the file, as it is there, but for columns of text that nobody has named: they are added to those that the
    /// options leave out.
    fn numbers(&mut self, options: &mut ReadOptions) -> Result<(Format, Draft), Error> {
        if let Some(streamed) = self.streamed(options)? {
            return Ok(streamed);
        }
        let bytes = self.bytes(options)?;
        let most = options.ignore.len() + MOST_TEXT_COLUMNS;
        match Format::detect(&bytes, self.name(), options)? {
            Format::Csv => {
                // Most of them show in the first lines, and take no memory then.
                let (found, _) = csv::read_numbers(csv::beginning(&bytes), self.name(), options);
                options.ignore.extend(found);
                while options.ignore.len() <= most {
                    let (found, draft) = csv::read_numbers(&bytes, self.name(), options);
                    // What is wrong may be in a column of text.
                    let is_last = draft.is_ok() || found.is_empty();
                    options.ignore.extend(found);
                    if is_last && options.ignore.len() <= most {
                        return Ok((Format::Csv, draft?));
                    }
                }
            }
            format @ (Format::Parquet | Format::Arrow) => {
                options.ignore.extend(arrow::text_columns(&bytes, format, self.name(), options));
            }
            _ => {}
        }
        options.ignore.truncate(most);
        self.draft(options)
    }

    fn format(&mut self, options: &ReadOptions) -> Result<Format, Error> {
        match self.path() {
            Some(path) if path.is_dir() => Ok(Format::TenX),
            _ => Format::detect(&self.bytes(options)?, self.name(), options),
        }
    }

    /// The path, if there is a file that may be opened again.
    fn regular_path(&self) -> Option<&Path> {
        self.path().filter(|path| path.is_file())
    }

    /// The matrices of an AnnData file, and the columns of obs.
    fn anndata(&mut self, options: &ReadOptions) -> Result<(Vec<String>, Vec<String>), Error> {
        if let Some(path) = self.regular_path() {
            return h5ad::describe(path, self.name(), options);
        }
        let bytes = self.bytes(options)?;
        h5ad::in_a_file(&bytes, self.name(), |path| h5ad::describe(path, self.name(), options))
    }

    /// The header of an array.
    fn header(&mut self, options: &ReadOptions) -> Result<npy::Header, Error> {
        let file = self.name().to_string();
        match self.opened()? {
            Some(opened) => npy::Header::read(&mut opened.reader_from_start(), &file),
            None => npy::Header::read(&mut &self.bytes(options)?[..], &file),
        }
    }
}

fn describe_arrays(table: &mut TableFile, format: Format, options: &ReadOptions) -> Result<Vec<ArrayInfo>, Error> {
    if format == Format::Npy {
        // A compressed one has been read whole already; its type is not worth another time.
        let Ok(header) = table.header(options) else {
            return Ok(Vec::new());
        };
        return Ok(vec![ArrayInfo {
            name: String::new(),
            shape: header.shape.clone(),
            element: header.element.name(),
        }]);
    }
    let bytes = table.bytes(options)?;
    Ok(match format {
        Format::Npz => npz::describe(&bytes, table.name(), options)?
            .into_iter()
            .map(|(name, header)| ArrayInfo { name, shape: header.shape.clone(), element: header.element.name() })
            .collect(),
        _ => mat::describe(&bytes, table.name(), options)?
            .into_iter()
            .map(|(name, shape, element)| ArrayInfo { name, shape, element })
            .collect(),
    })
}

fn summary(draft: Draft) -> TableSummary {
    let stored = draft.values.stored();
    let mut summary = TableSummary {
        rows: draft.values.rows(),
        columns: draft.values.columns(),
        stored: matches!(draft.values, Values::Sparse(_)).then_some(stored.len()),
        has_ids: draft.ids.is_some(),
        missing: stored.iter().filter(|value| value.is_nan()).count(),
        infinite: stored.iter().filter(|value| value.is_infinite()).count(),
        range: None,
        features: None,
    };
    let has_zeros =
        summary.stored.is_some_and(|count| (count as u128) < summary.rows as u128 * summary.columns as u128);
    let zero = has_zeros.then_some(0.0);
    for value in stored.iter().copied().filter(|value| value.is_finite()).chain(zero) {
        let (low, high) = summary.range.unwrap_or((value, value));
        summary.range = Some((low.min(value), high.max(value)));
    }
    summary.features = draft.features;
    summary
}

#[cfg(test)]
mod tests {
    use super::*;

    fn look(text: &str) -> Inspection {
        TableFile::of_bytes(text.into(), "t.csv").inspect(&ReadOptions::default()).unwrap()
    }

    /// Each column of text once took a parsing of its own.
    #[test]
    fn columns_of_text_are_found_wherever_their_text_is() {
        let mut text = "a,b,x,c,y\n".to_string();
        for row in 0..200 {
            let (b, c) = match row {
                150 => ("", "inf"),
                199 => ("late", "word"),
                _ => ("", "word"),
            };
            text += &format!("t,{b},{row},{c},{}\n", -row);
        }
        for text in [&text, &text.replace("t,", "\"t\",")] {
            let found = look(text);
            assert_eq!((found.text_columns.join(" "), found.problem), ("a c b".into(), None));
            let table = found.table.unwrap();
            assert_eq!((table.rows, table.columns, table.missing), (200, 2, 0));
            assert_eq!((table.features.unwrap().join(" "), table.range), ("x y".into(), Some((-199.0, 199.0))));
        }
    }

    #[test]
    fn what_is_no_text_stays_a_problem() {
        let found = look("a;b;c\nx;1,5;z\ny;2,5;z\n");
        assert_eq!(found.text_columns, ["a"]);
        assert!(found.problem.unwrap().to_string().contains("'1,5' has a decimal comma"));
        let names: Vec<String> = (0..70).map(|at| format!("t{at}")).collect();
        let found = look(&format!("{}\n{}\n", names.join(","), ["word"; 70].join(",")));
        assert_eq!(found.text_columns, names[..MOST_TEXT_COLUMNS]);
        assert!(found.problem.unwrap().to_string().contains("column 't64': 'word' is not a number"));
        let found = look("a,b\nx,y\n");
        assert!(found.problem.unwrap().to_string().contains("no numeric columns"));
    }
}
