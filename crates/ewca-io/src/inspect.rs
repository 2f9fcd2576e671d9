//! What is in a file, for people who want to know before they read it.

use std::collections::HashSet;
use std::path::Path;
use std::sync::Arc;

use crate::finish::Draft;
use crate::{
    DenseValues, Error, Expected, Format, Missing, Phrase, ReadOptions, TableFile, TextCells, Values, arrow, csv, h5ad,
    mat, npy, npz,
};

/// With more columns of text than this it is no table.
const MOST_TEXT_COLUMNS: usize = 64;

/// What is in a file.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Inspection {
    /// The format.
    pub format: Format,
    /// The arrays, variables or layers of a file that can have several.
    pub arrays: Vec<ArrayInfo>,
    /// The columns that hold no numbers: labels, ids. For AnnData, all the columns of obs.
    pub text_columns: Vec<String>,
    /// What is known of those columns, and of the first one.
    pub facts: Vec<ColumnFacts>,
    /// The options that the table is best read with: those that were given, and what was found out.
    pub read: ReadOptions,
    /// What is unusual about how the file is written, and was found by itself.
    pub notes: Vec<String>,
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

/// What a column holds.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ColumnFacts {
    /// Its name; empty if it has none.
    pub name: String,
    /// How many different texts it has.
    pub distinct: usize,
    /// Whether no text comes twice.
    pub is_distinct: bool,
    /// Whether some cells are empty.
    pub has_empty: bool,
    /// Whether some cells are no numbers.
    pub is_text: bool,
    /// Whether most texts are identifiers of genes or probes.
    pub names_genes: bool,
}

impl ColumnFacts {
    /// Of a column that has been read.
    fn of(TextCells { name, cells, .. }: TextCells) -> ColumnFacts {
        let distinct = cells.iter().collect::<HashSet<_>>().len();
        let has_empty = cells.iter().any(String::is_empty);
        ColumnFacts {
            name,
            distinct,
            is_distinct: distinct == cells.len(),
            has_empty,
            is_text: true,
            names_genes: false,
        }
    }

    /// Whether the rows that it names are features: the table has samples in columns.
    fn names_features(&self) -> bool {
        const WORDS: [&str; 12] = [
            "gene",
            "probe",
            "feature",
            "transcript",
            "ensembl",
            "symbol",
            "id_ref",
            "protein",
            "otu id",
            "taxon",
            "metabolite",
            "orf",
        ];
        let name = self.name.to_lowercase();
        self.names_genes || WORDS.iter().any(|word| name.contains(word))
    }
}

/// A column of numbers that may be none of the features.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct OddColumn {
    /// Its name.
    pub name: String,
    /// How many different numbers it has.
    pub distinct: usize,
    /// Whether no number comes twice: then it may name the samples. Otherwise it may be a class.
    pub is_distinct: bool,
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
    /// The columns that have no number at all.
    pub empty: Vec<String>,
    /// Columns of numbers whose name says that they are a class, a batch or the name of a sample.
    pub odd: Vec<OddColumn>,
    /// The column that has most of the variance of all, and its share, if it has more than nine tenths.
    pub leading: Option<(String, f64)>,
}

/// Looks into a file, or a pipe, which is read once. Options are used where they say how to read (header, delimiter,
/// array).
pub fn inspect(path: &Path, options: &ReadOptions) -> Result<Inspection, Error> {
    TableFile::at(path).inspect(options)
}

impl TableFile {
    /// Looks into the file. Options are used where they say how to read (header, delimiter, array).
    pub fn inspect(&mut self, options: &ReadOptions) -> Result<Inspection, Error> {
        let mut read = options.clone();
        let (mut format, mut draft, mut text_columns) = self.look(&read)?;
        for change in [other_encoding, without_header, turned] {
            let Some(changed) = change(self, &read, format, &draft, &text_columns) else { continue };
            let second = self.look(&changed)?;
            if second.1.is_ok() {
                (format, draft, text_columns) = second;
                read = changed;
            }
        }
        let mut arrays = Vec::new();
        let mut facts = Vec::new();
        match format {
            Format::H5ad => {
                let (matrices, columns) = self.anndata(&read)?;
                arrays = matrices
                    .into_iter()
                    .map(|name| ArrayInfo { name, shape: Vec::new(), element: String::new() })
                    .collect();
                text_columns = columns.iter().map(|column| column.name.clone()).collect();
                facts = columns.into_iter().map(ColumnFacts::of).collect();
            }
            Format::Npy | Format::Npz | Format::Mat => arrays = describe_arrays(self, format, &read)?,
            Format::Csv => facts = self.text_facts(&read, &text_columns),
            Format::Parquet | Format::Arrow => {
                if let Ok(Draft { features: Some(features), .. }) = &draft {
                    let expected = Expected { features: features.clone(), ..Expected::default() };
                    let whole =
                        ReadOptions { expected: Some(Arc::new(expected)), missing: Missing::Mean, ..read.clone() };
                    let texts = self.draft(&whole).map_or(Vec::new(), |(_, draft)| draft.texts);
                    facts = texts.into_iter().map(ColumnFacts::of).collect();
                }
            }
            _ => {}
        }
        Ok(Inspection {
            format,
            arrays,
            text_columns,
            facts,
            read,
            notes: draft.as_ref().map_or(Vec::new(), |draft| draft.notes.clone()),
            problem: draft.as_ref().err().map(Error::message),
            table: draft.ok().map(summary),
        })
    }

    /// What is in the file, and its columns of text. It is an error only if nothing can be said about it.
    fn look(&mut self, options: &ReadOptions) -> Result<Look, Error> {
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
        Ok((format, draft, options.ignore.split_off(given)))
    }

    /// What is known of the first column of a text table, and of those of these names.
    fn text_facts(&mut self, options: &ReadOptions, names: &[String]) -> Vec<ColumnFacts> {
        let Ok(bytes) = self.bytes(options) else { return Vec::new() };
        let plain = ReadOptions { label: None, id: None, ignore: Vec::new(), filter: None, ..options.clone() };
        csv::facts(&bytes, self.name(), &plain, names).unwrap_or_default()
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
                        let mut draft = draft?;
                        draft.notes.splice(0..0, self.note().cloned());
                        return Ok((Format::Csv, draft));
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
            Some(path) if crate::tenx::is_zarr(path) => Ok(Format::H5ad),
            Some(path) if path.is_dir() => Ok(Format::TenX),
            _ => Format::detect(&self.bytes(options)?, self.name(), options),
        }
    }

    /// The path, if there is a file that may be opened again.
    fn regular_path(&self) -> Option<&Path> {
        self.path().filter(|path| path.is_file())
    }

    /// The matrices of an AnnData file, and the columns of obs with their texts.
    fn anndata(&mut self, options: &ReadOptions) -> Result<(Vec<String>, Vec<TextCells>), Error> {
        if let Some(path) = self.path().filter(|path| crate::tenx::is_zarr(path)) {
            return crate::zarr::describe(path, self.name(), options);
        }
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

/// The format, the numbers or why there are none, and the columns of text.
type Look = (Format, Result<Draft, Error>, Vec<String>);

/// A text that is not UTF-8 was written by a program of old, most often on Windows.
fn other_encoding(
    _: &mut TableFile,
    read: &ReadOptions,
    _: Format,
    draft: &Result<Draft, Error>,
    _: &[String],
) -> Option<ReadOptions> {
    let wants = matches!(draft, Err(Error::NotUtf8 { .. })) && read.encoding.is_none();
    wants.then(|| ReadOptions { encoding: Some("latin1".into()), ..read.clone() })
}

/// The first line may be data.
fn without_header(
    table: &mut TableFile,
    read: &ReadOptions,
    format: Format,
    _: &Result<Draft, Error>,
    _: &[String],
) -> Option<ReadOptions> {
    let is_open = format == Format::Csv && read.header && !read.transpose && read.id.is_none() && read.label.is_none();
    let bytes = if is_open { table.bytes(read).ok()? } else { return None };
    csv::begins_with_data(&bytes, table.name(), read).then(|| ReadOptions { header: false, ..read.clone() })
}

/// A text table may have features in rows: its first column names genes; or names of columns come again, as those of samples do.
fn turned(
    table: &mut TableFile,
    read: &ReadOptions,
    format: Format,
    draft: &Result<Draft, Error>,
    texts: &[String],
) -> Option<ReadOptions> {
    let is_open = format == Format::Csv && read.header && !read.transpose && read.label.is_none();
    if !is_open || read.filter.is_some() {
        return None;
    }
    let repeats = matches!(draft, Err(Error::DuplicateName { .. }));
    let whole = ReadOptions { transpose: true, ..read.clone() };
    let first = table.text_facts(&whole, texts).into_iter().next()?;
    let is_high = draft.as_ref().is_ok_and(|draft| {
        let (rows, columns) = (draft.values.rows(), draft.values.columns());
        columns > 2 && rows > columns && first.distinct > rows / 2
    });
    // GCT has genes in rows by definition.
    let is_gct = table.bytes(read).is_ok_and(|bytes| bytes.starts_with(b"#1.2") || bytes.starts_with(b"#1.3"));
    let wants =
        (repeats && first.is_text && first.is_distinct) || ((repeats || is_high) && (first.names_features() || is_gct));
    wants.then_some(whole)
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
        empty: Vec::new(),
        odd: Vec::new(),
        leading: None,
    };
    let has_zeros =
        summary.stored.is_some_and(|count| (count as u128) < summary.rows as u128 * summary.columns as u128);
    let zero = has_zeros.then_some(0.0);
    for value in stored.iter().copied().filter(|value| value.is_finite()).chain(zero) {
        let (low, high) = summary.range.unwrap_or((value, value));
        summary.range = Some((low.min(value), high.max(value)));
    }
    let names = draft.features.unwrap_or_default();
    if let Values::Dense(dense) = &draft.values
        && names.len() == dense.columns
    {
        let column = |at: usize| dense.data.iter().skip(at).step_by(dense.columns).copied();
        let (counts, spreads) = spreads(dense);
        summary.empty = (0..names.len()).filter(|&at| counts[at] == 0).map(|at| names[at].clone()).collect();
        let says = |at: &usize| says_no_feature(&names[*at]);
        summary.odd = (0..names.len()).filter(says).filter_map(|at| odd_column(&names[at], column(at))).collect();
        let others = |at: &usize| !summary.odd.iter().any(|odd| odd.name == names[*at]);
        let spreads: Vec<(usize, f64)> = (0..names.len()).filter(others).map(|at| (at, spreads[at])).collect();
        let whole: f64 = spreads.iter().map(|(_, spread)| spread).sum();
        let largest = spreads.iter().copied().max_by(|x, y| x.1.total_cmp(&y.1)).filter(|_| spreads.len() > 2);
        let share = largest.map(|(at, spread)| (names[at].clone(), spread / whole));
        summary.leading = share.filter(|(_, share)| *share > MOST_VARIANCE);
    }
    summary.features = (!names.is_empty()).then_some(names);
    summary
}

/// From this part of the variance on one feature is all that a fit sees.
const MOST_VARIANCE: f64 = 0.9;

/// How many numbers of each column are finite, and the sum of their squares about their mean.
fn spreads(values: &DenseValues) -> (Vec<usize>, Vec<f64>) {
    let (mut counts, mut means) = (vec![0; values.columns], vec![0.0; values.columns]);
    let rows = || values.data.chunks_exact(values.columns.max(1));
    for row in rows() {
        for ((count, sum), value) in counts.iter_mut().zip(&mut means).zip(row).filter(|(_, value)| value.is_finite()) {
            *count += 1;
            *sum += value;
        }
    }
    means.iter_mut().zip(&counts).for_each(|(sum, &count)| *sum /= count.max(1) as f64);
    let mut squares = vec![0.0; values.columns];
    for row in rows() {
        for ((square, mean), value) in squares.iter_mut().zip(&means).zip(row).filter(|(_, value)| value.is_finite()) {
            *square += (value - mean).powi(2);
        }
    }
    (counts, squares)
}

/// Whether a column of this name is seldom a feature.
fn says_no_feature(name: &str) -> bool {
    const WORDS: [&str; 12] = [
        "id",
        "class",
        "label",
        "cluster",
        "batch",
        "sample",
        "#",
        "index",
        "subject",
        "patient",
        "rownames",
        "unnamed: 0",
    ];
    let name = name.trim().to_lowercase();
    WORDS.contains(&name.as_str())
        || ["_id", ".id", " id", "_label", "_class", "_cluster", "_batch"].iter().any(|end| name.ends_with(end))
}

/// A column of whole numbers, few of them or each once.
fn odd_column(name: &str, column: impl Iterator<Item = f64>) -> Option<OddColumn> {
    const FEW: usize = 20;
    let (mut seen, mut rows) = (HashSet::new(), 0);
    for value in column.filter(|value| !value.is_nan()) {
        if value.fract() != 0.0 {
            return None;
        }
        rows += 1;
        seen.insert(value.to_bits());
    }
    let (distinct, is_distinct) = (seen.len(), seen.len() == rows);
    (is_distinct || (2..=FEW).contains(&distinct)).then(|| OddColumn { name: name.into(), distinct, is_distinct })
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
        assert_eq!(found.text_columns, ["a", "c"]);
        assert_eq!((found.problem, found.notes), (None, vec!["decimal commas".to_string()]));
        let found = look("a;b;c\nx;1,500;z\ny;2,500;z\n");
        assert!(found.problem.unwrap().to_string().contains("'1,500' contains a comma"));
        let names: Vec<String> = (0..70).map(|at| format!("t{at}")).collect();
        let found = look(&format!("{}\n{}\n", names.join(","), ["word"; 70].join(",")));
        assert_eq!(found.text_columns, names[..MOST_TEXT_COLUMNS]);
        assert!(found.problem.unwrap().to_string().contains("column 't64': 'word' is not a number"));
        let found = look("a,b\nx,y\n");
        assert!(found.problem.unwrap().to_string().contains("no numeric columns"));
    }
    #[test]
    fn features_in_rows_are_seen_by_the_first_column_or_by_names_that_come_again() {
        let rows: String = (0..9).map(|row| format!("r{row},{row},1,2\n")).collect();
        for (header, is_turned) in [
            ("gene,a,b,c", true),
            ("ID_REF,a,b,c", true),
            (",x,x,y", true),
            ("model,x,x,y", true),
            (",a,b,c", false),
            ("model,a,b,c", false),
        ] {
            let found = look(&format!("{header}\n{rows}"));
            assert_eq!((found.read.transpose, found.problem), (is_turned, None), "{header}");
        }
        // Prices, not genes.
        assert!(!look("symbol,a,b,c\nx,1,2,3\nx,1,2,4\nx,2,2,3\nx,3,2,3\ny,2,3,4\n").read.transpose);
        let probes: String = (0..9).map(|row| format!("{row}_at,{row},1,2\n")).collect();
        assert!(look(&format!(",a,b,c\n{probes}")).read.transpose);
    }

    #[test]
    fn a_first_line_of_data_is_no_header() {
        for (text, has_header) in [
            ("5.1,3.5,setosa\n4.9,3.0,setosa\n", false),
            ("2 6 1\n2 6 1\n2 7 0\n", false),
            ("0,0,5\n0,1,2\n", false),
            ("x,2001,2002\na,1,2\nb,3,4\n", true),
            ("gene_id,0,7,14\na,1,2,3\n", true),
            ("0,1,2\n5,6,7\n", true),
        ] {
            assert_eq!(look(text).read.header, has_header, "{text}");
        }
    }

    #[test]
    fn columns_that_are_seldom_features_are_pointed_out() {
        let rows: String = (0..40).map(|row| format!("{row},{},{},{}.5,\n", row % 3, row % 7, row)).collect();
        let table = look(&format!("id,class,x,cluster,none\n{rows}")).table.unwrap();
        let odd: Vec<(&str, usize, bool)> =
            table.odd.iter().map(|odd| (&odd.name[..], odd.distinct, odd.is_distinct)).collect();
        // Halves are no clusters.
        assert_eq!(odd, [("id", 40, true), ("class", 3, false)]);
        assert_eq!(table.empty, ["none"]);
        assert_eq!(table.leading.unwrap().0, "cluster");
        let even: String = (0..40).map(|row| format!("{row},{},{}\n", 40 - row, row)).collect();
        assert_eq!(look(&format!("x,y,z\n{even}")).table.unwrap().leading, None);
    }

    #[test]
    fn texts_that_differ_in_every_row_are_known() {
        let found = look("name,kind,x\na,u,1\nb,u,2\nc,,3\n");
        let facts: Vec<(&str, usize, bool, bool)> =
            found.facts.iter().map(|f| (&f.name[..], f.distinct, f.is_distinct, f.has_empty)).collect();
        assert_eq!(facts, [("name", 3, true, false), ("kind", 2, false, true)]);
    }

    #[test]
    fn another_encoding_is_tried() {
        let text = b"class,x\ngr\xfcn,1\nrot,2\n".to_vec();
        let options = ReadOptions { label: Some("class".into()), ..ReadOptions::default() };
        let found = TableFile::of_bytes(text, "t.csv").inspect(&options).unwrap();
        assert_eq!((found.read.encoding.as_deref(), found.problem), (Some("latin1"), None));
    }
}
