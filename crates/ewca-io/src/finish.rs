//! From what a file says to a table that can be trusted: turned, chosen from, completed and checked.

use std::collections::{HashMap, HashSet};

use rayon::prelude::*;

use crate::columns::column;
use crate::error::{excerpt, phrase};
use crate::memory::check_room;
use crate::{
    DenseValues, Error, Expected, Missing, OptionName, Palette, Place, ReadOptions, Settled, SparseValues, Table,
    TextCells, Values,
};

/// What a reader found. Missing cells are NaN; rows are the file's rows.
pub(crate) struct Draft {
    pub values: Values,
    /// Names of the columns, if the file has them.
    pub features: Option<Vec<String>>,
    /// Names of the rows, if the file has them.
    pub ids: Option<Vec<String>>,
    /// Classes of the samples (which are columns, if the table is to be transposed).
    pub labels: Option<Vec<String>>,
    /// Further columns of text: what is no expected feature.
    pub texts: Vec<TextCells>,
    /// The names of columns that were not read, since they are no expected features.
    pub left_out: Vec<String>,
    /// The file's own colours for classes.
    pub palettes: Vec<Palette>,
    /// The cells of the column that chooses rows.
    pub filter: Option<Vec<String>>,
    /// Whether the options may still name columns of numbers as label, id, filter or to be ignored.
    pub roles_open: bool,
    /// What is unusual about how the file is written, for people.
    pub notes: Vec<String>,
}

impl Draft {
    /// A matrix without any names.
    pub fn of_matrix(values: Values) -> Draft {
        let (texts, left_out, notes) = (Vec::new(), Vec::new(), Vec::new());
        Draft {
            values,
            features: None,
            ids: None,
            labels: None,
            texts,
            left_out,
            palettes: Vec::new(),
            filter: None,
            roles_open: true,
            notes,
        }
    }
}

/// Turns a draft into a table.
pub(crate) fn finish(draft: Draft, file: &str, options: &ReadOptions) -> Result<Table, Error> {
    // Before any names are made: what has no rows may claim any number of columns.
    check_not_empty(draft.values.rows(), draft.values.columns(), file)?;
    let table = arranged(draft, file, options)?;
    check_not_empty(table.rows(), table.columns(), file)?;
    check_names(&table.features, file)?;
    checked_cells(table, file, options)
}

/// Turns a draft of some rows of a file, or of none, into a part of its table. The names of the features are those of
/// the whole table, which have been checked.
pub(crate) fn finish_part(draft: Draft, file: &str, options: &ReadOptions) -> Result<Table, Error> {
    checked_cells(arranged(draft, file, options)?, file, options)
}

/// A table with its rows, columns and names where they belong.
fn arranged(mut draft: Draft, file: &str, options: &ReadOptions) -> Result<Table, Error> {
    if options.transpose {
        draft.values = draft.values.transposed();
        std::mem::swap(&mut draft.features, &mut draft.ids);
    }
    let columns = draft.values.columns();
    let mut features = match draft.features.take() {
        Some(features) => features,
        None => numbered_names(columns, file)?,
    };
    if draft.roles_open {
        features = take_columns(&mut draft, features, file, options)?;
    }
    keep_matching(&mut draft, file, options)?;
    let Draft { values, ids, labels, texts, left_out, palettes, notes, .. } = draft;
    let settled = Settled::default();
    let table = Table { values, features, ids, labels, texts, left_out, palettes, settled, notes };
    match &options.expected {
        Some(expected) => as_expected(table, expected, file),
        None => Ok(table),
    }
}

/// The table with just the features that are expected, in their order.
fn as_expected(table: Table, expected: &Expected, file: &str) -> Result<Table, Error> {
    if expected.are_in_place(&table.features) {
        return Ok(Table { features: expected.features.clone(), ..table });
    }
    // Of two columns with the name of a feature, neither is the feature.
    let wanted: HashSet<&str> = expected.features.iter().map(String::as_str).collect();
    let features: Vec<String> = table.features.iter().filter(|name| wanted.contains(name.as_str())).cloned().collect();
    check_names(&features, file)?;
    table.with_features(&expected.features, file)
}

/// The names of columns that have none.
fn numbered_names(columns: usize, file: &str) -> Result<Vec<String>, Error> {
    // Each is a string, and a piece of memory of its own.
    check_room((columns as u64).saturating_mul(2 * size_of::<String>() as u64), file)?;
    Ok((1..=columns).map(|number| format!("column{number}")).collect())
}

/// The same table, with every number finite and every label there.
fn checked_cells(mut table: Table, file: &str, options: &ReadOptions) -> Result<Table, Error> {
    check_finite(&table, file)?;
    settle_missing(&mut table, file, options)?;
    Ok(table)
}

/// Takes the columns that have a role out of the numbers, where the reader has not found them elsewhere.
fn take_columns(
    draft: &mut Draft,
    features: Vec<String>,
    file: &str,
    options: &ReadOptions,
) -> Result<Vec<String>, Error> {
    let mut taken = Vec::new();
    let mut take = |name: &str, role: OptionName| {
        let at = column(&features, name, role, file)?;
        taken.push(at);
        Ok::<Vec<String>, Error>(column_texts(&draft.values, at))
    };
    let label = options.label.as_ref().filter(|_| draft.labels.is_none());
    let labels = label.map(|name| take(name, OptionName::Label)).transpose()?;
    let id = options.id.as_ref().filter(|_| draft.ids.is_none());
    let ids = id.map(|name| take(name, OptionName::Id)).transpose()?;
    let filter = options.filter.as_ref().filter(|_| draft.filter.is_none());
    let filter = filter.map(|(name, _)| take(name, OptionName::Filter)).transpose()?;
    let is_open = |name: &&String| !draft.texts.iter().any(|text| text.name == **name);
    let mut annotations = Vec::new();
    for name in options.annotations.iter().filter(is_open) {
        annotations.push(TextCells { name: name.clone(), cells: take(name, OptionName::Label)?, categorical: false });
    }
    for name in &options.ignore {
        take(name, OptionName::Ignore)?;
    }
    draft.texts.extend(annotations);
    draft
        .texts
        .sort_by_key(|text| options.annotations.iter().position(|name| *name == text.name).unwrap_or(usize::MAX));
    draft.labels = draft.labels.take().or(labels);
    draft.ids = draft.ids.take().or(ids);
    draft.filter = draft.filter.take().or(filter);
    if taken.is_empty() {
        return Ok(features);
    }
    let keep: Vec<usize> = (0..features.len()).filter(|at| !taken.contains(at)).collect();
    draft.values = chosen_columns(&draft.values, &keep);
    Ok(keep.into_iter().map(|at| features[at].clone()).collect())
}

/// The numbers of a column, written out; a missing one is empty.
fn column_texts(values: &Values, column: usize) -> Vec<String> {
    let cell = |row: usize| match values {
        Values::Dense(dense) => dense.data[row * dense.columns + column],
        Values::Sparse(sparse) => {
            let (columns, values) = sparse.row(row);
            columns.binary_search(&(column as u32)).map_or(0.0, |at| values[at])
        }
    };
    let text = |value: f64| {
        if value.is_nan() { String::new() } else { value.to_string() }
    };
    (0..values.rows()).map(|row| text(cell(row))).collect()
}

/// Keeps the rows that the filter chooses.
fn keep_matching(draft: &mut Draft, file: &str, options: &ReadOptions) -> Result<(), Error> {
    let (Some((column, wanted)), Some(cells)) = (&options.filter, &draft.filter) else {
        return Ok(());
    };
    let keep: Vec<usize> = (0..cells.len()).filter(|&row| &cells[row] == wanted).collect();
    if keep.is_empty() {
        return Err(Error::NoMatch {
            file: file.into(),
            column: excerpt(column.as_bytes()),
            text: excerpt(wanted.as_bytes()),
            first: excerpt(cells.first().map_or("", |cell| cell).as_bytes()),
        });
    }
    draft.values = chosen_rows(&draft.values, &keep);
    choose(&mut draft.ids, &keep);
    choose(&mut draft.labels, &keep);
    draft.texts.iter_mut().for_each(|text| choose_cells(&mut text.cells, &keep));
    Ok(())
}

pub(crate) fn check_not_empty(rows: usize, columns: usize, file: &str) -> Result<(), Error> {
    let advice = "check that the file is complete";
    if rows == 0 {
        return Err(Error::Nothing { file: file.into(), what: "rows", advice: advice.into() });
    }
    if columns == 0 {
        return Err(Error::Nothing { file: file.into(), what: "numeric columns", advice: advice.into() });
    }
    Ok(())
}

pub(crate) fn check_names(names: &[String], file: &str) -> Result<(), Error> {
    let mut seen: HashMap<&str, usize> = HashMap::with_capacity(names.len());
    for (index, name) in names.iter().enumerate() {
        if name.is_empty() {
            return Err(Error::EmptyName { file: file.into(), position: index + 1 });
        }
        if let Some(first) = seen.insert(name, index) {
            return Err(Error::DuplicateName {
                file: file.into(),
                name: excerpt(name.as_bytes()),
                first: first + 1,
                second: index + 1,
            });
        }
    }
    Ok(())
}

fn check_finite(table: &Table, file: &str) -> Result<(), Error> {
    match first(table.values.stored(), |value| value.is_infinite()) {
        None => Ok(()),
        Some(at) => {
            let (row, column) = position(&table.values, at);
            Err(Error::NotFinite {
                file: file.into(),
                place: Place::Row(row + 1),
                column: excerpt(table.features[column].as_bytes()),
                cell: table.values.stored()[at].to_string(),
            })
        }
    }
}

/// The position of the first value that `is_wanted`. Whole pieces are looked at without stopping early,
/// which the compiler turns into a few instructions for many values.
fn first(values: &[f64], is_wanted: impl Fn(f64) -> bool + Sync) -> Option<usize> {
    const PIECE: usize = 1 << 13;
    let has_one = |piece: &[f64]| piece.iter().fold(false, |found, &value| found | is_wanted(value));
    let piece = values.par_chunks(PIECE).position_first(has_one)?;
    let start = piece * PIECE;
    values[start..].iter().position(|&value| is_wanted(value)).map(|at| start + at)
}

/// The row and the column of a stored value.
fn position(values: &Values, at: usize) -> (usize, usize) {
    match values {
        Values::Dense(dense) => (at / dense.columns, at % dense.columns),
        Values::Sparse(sparse) => {
            let row = sparse.offsets.partition_point(|&start| start <= at) - 1;
            (row, sparse.indices[at] as usize)
        }
    }
}

/// Deals with NaN and with empty labels; afterwards there are none.
fn settle_missing(table: &mut Table, file: &str, options: &ReadOptions) -> Result<(), Error> {
    let missing = options.missing;
    let unlabelled =
        |table: &Table| table.labels.as_ref().and_then(|labels| labels.iter().position(|label| label.is_empty()));
    if missing == Missing::DropRows && (unlabelled(table).is_some() || first_missing(&table.values).is_some()) {
        drop_rows(table, file)?;
    }
    if let Some(row) = unlabelled(table) {
        return Err(Error::MissingLabel { file: file.into(), place: Place::Row(row + 1) });
    }
    let Some(at) = first_missing(&table.values) else {
        return Ok(());
    };
    match missing {
        Missing::Error => {
            let (row, column) = position(&table.values, at);
            Err(Error::MissingCell {
                file: file.into(),
                place: Place::Row(row + 1),
                column: excerpt(table.features[column].as_bytes()),
            })
        }
        Missing::DropRows => Ok(()),
        Missing::DropColumns if options.expected.is_some() => Err(Error::Options {
            problem: phrase![
                format!("{file}: "),
                OptionName::Missing.set_to("drop-columns"),
                " would drop features that the model needs"
            ],
            advice: phrase!["pass ", OptionName::Missing.set_to("mean"), " or drop-rows"],
        }),
        Missing::DropColumns => drop_columns(table, file),
        Missing::Mean => match &options.expected {
            Some(expected) => fill_with(table, training_means(expected, file)?),
            None => means_of(table, file).and_then(|means| fill_with(table, &means)),
        },
    }
}

fn first_missing(values: &Values) -> Option<usize> {
    first(values.stored(), |value| value.is_nan())
}

fn drop_rows(table: &mut Table, file: &str) -> Result<(), Error> {
    let complete = |row: usize| match &table.values {
        Values::Dense(dense) => dense.data[row * dense.columns..][..dense.columns].iter().all(|value| !value.is_nan()),
        Values::Sparse(sparse) => sparse.row(row).1.iter().all(|value| !value.is_nan()),
    };
    let labelled = |row: usize| table.labels.as_ref().is_none_or(|labels| !labels[row].is_empty());
    let keep: Vec<usize> = (0..table.rows()).filter(|&row| complete(row) && labelled(row)).collect();
    if keep.is_empty() {
        return Err(Error::AllMissing { file: file.into(), what: "row" });
    }
    table.settled.dropped_rows = table.rows() - keep.len();
    table.values = chosen_rows(&table.values, &keep);
    choose(&mut table.ids, &keep);
    choose(&mut table.labels, &keep);
    table.texts.iter_mut().for_each(|text| choose_cells(&mut text.cells, &keep));
    Ok(())
}

fn drop_columns(table: &mut Table, file: &str) -> Result<(), Error> {
    let mut complete = vec![true; table.columns()];
    for (at, _) in table.values.stored().iter().enumerate().filter(|(_, value)| value.is_nan()) {
        complete[position(&table.values, at).1] = false;
    }
    let keep: Vec<usize> = (0..complete.len()).filter(|&column| complete[column]).collect();
    if keep.is_empty() {
        return Err(Error::AllMissing { file: file.into(), what: "column" });
    }
    table.settled.dropped_features = table.columns() - keep.len();
    table.values = chosen_columns(&table.values, &keep);
    table.features = keep.iter().map(|&column| std::mem::take(&mut table.features[column])).collect();
    Ok(())
}

/// The means of the training data.
fn training_means<'a>(expected: &'a Expected, file: &str) -> Result<&'a [f64], Error> {
    expected.means.as_deref().ok_or_else(|| Error::Options {
        problem: phrase![
            format!("{file}: "),
            OptionName::Missing.set_to("mean"),
            " needs the means of the training data, and this model does not have them"
        ],
        advice: "fit the model again with this version of ewca, or fill in the values".into(),
    })
}

/// The mean of a column is that of its cells that are not missing; the zeros of a sparse one count.
fn means_of(table: &Table, file: &str) -> Result<Vec<f64>, Error> {
    let (rows, columns) = (table.rows(), table.columns());
    let mut sums = vec![0.0; columns];
    let mut missing = vec![0usize; columns];
    let mut add = |column: usize, value: f64| {
        if value.is_nan() {
            missing[column] += 1;
        } else {
            sums[column] += value;
        }
    };
    match &table.values {
        Values::Dense(dense) => dense
            .data
            .chunks_exact(columns)
            .for_each(|row| row.iter().enumerate().for_each(|(column, &value)| add(column, value))),
        Values::Sparse(sparse) => {
            sparse.indices.iter().zip(&sparse.values).for_each(|(&column, &value)| add(column as usize, value));
        }
    }
    if let Some(column) = missing.iter().position(|&count| count == rows) {
        let column = excerpt(table.features[column].as_bytes());
        return Err(Error::NoMean { file: file.into(), column });
    }
    Ok(sums.iter().zip(missing).map(|(sum, missing)| sum / (rows - missing) as f64).collect())
}

/// Puts the mean of its feature in the place of each missing cell.
fn fill_with(table: &mut Table, means: &[f64]) -> Result<(), Error> {
    let columns = table.columns();
    let mut filled = 0;
    let mut fill = |column: usize, value: &mut f64| {
        if value.is_nan() {
            *value = means[column];
            filled += 1;
        }
    };
    match &mut table.values {
        Values::Dense(dense) => dense
            .data
            .chunks_exact_mut(columns)
            .for_each(|row| row.iter_mut().enumerate().for_each(|(column, value)| fill(column, value))),
        Values::Sparse(SparseValues { indices, values, .. }) => {
            indices.iter().zip(values).for_each(|(&column, value)| fill(column as usize, value));
        }
    }
    table.settled.filled_cells = filled;
    Ok(())
}

fn choose(names: &mut Option<Vec<String>>, keep: &[usize]) {
    if let Some(names) = names {
        choose_cells(names, keep);
    }
}

fn choose_cells(cells: &mut Vec<String>, keep: &[usize]) {
    *cells = keep.iter().map(|&row| std::mem::take(&mut cells[row])).collect();
}

/// The rows `keep` (increasing) of `values`.
pub(crate) fn chosen_rows(values: &Values, keep: &[usize]) -> Values {
    match values {
        Values::Dense(dense) => {
            let mut data = Vec::with_capacity(keep.len() * dense.columns);
            for &row in keep {
                data.extend_from_slice(&dense.data[row * dense.columns..][..dense.columns]);
            }
            Values::Dense(DenseValues { rows: keep.len(), columns: dense.columns, data })
        }
        Values::Sparse(sparse) => {
            let mut chosen =
                SparseValues { columns: sparse.columns, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
            for &row in keep {
                let (columns, values) = sparse.row(row);
                chosen.indices.extend_from_slice(columns);
                chosen.values.extend_from_slice(values);
                chosen.offsets.push(chosen.indices.len());
            }
            Values::Sparse(chosen)
        }
    }
}

/// The columns `keep` of `values`; increasing, if the values are sparse.
pub(crate) fn chosen_columns(values: &Values, keep: &[usize]) -> Values {
    match values {
        Values::Dense(dense) => {
            let mut data = Vec::with_capacity(keep.len() * dense.rows);
            for row in dense.data.chunks_exact(dense.columns) {
                data.extend(keep.iter().map(|&column| row[column]));
            }
            Values::Dense(DenseValues { rows: dense.rows, columns: keep.len(), data })
        }
        Values::Sparse(sparse) => {
            let mut place = vec![None; sparse.columns];
            for (new, &old) in keep.iter().enumerate() {
                place[old] = Some(new as u32);
            }
            let mut chosen =
                SparseValues { columns: keep.len(), offsets: vec![0], indices: Vec::new(), values: Vec::new() };
            for row in 0..sparse.rows() {
                let (columns, values) = sparse.row(row);
                for (&column, &value) in columns.iter().zip(values) {
                    if let Some(new) = place[column as usize] {
                        chosen.indices.push(new);
                        chosen.values.push(value);
                    }
                }
                chosen.offsets.push(chosen.indices.len());
            }
            Values::Sparse(chosen)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both() -> [Values; 2] {
        let dense = DenseValues { rows: 3, columns: 3, data: vec![1.0, 2.0, 0.0, 3.0, f64::NAN, 0.0, 5.0, 6.0, 0.0] };
        let sparse = SparseValues {
            columns: 3,
            offsets: vec![0, 2, 4, 6],
            indices: vec![0, 1, 0, 1, 0, 1],
            values: vec![1.0, 2.0, 3.0, f64::NAN, 5.0, 6.0],
        };
        [Values::Dense(dense), Values::Sparse(sparse)]
    }

    fn settled(values: Values, missing: Missing) -> Result<(Vec<f64>, Vec<String>), Error> {
        let draft = Draft::of_matrix(values);
        let options = ReadOptions { missing, ..ReadOptions::default() };
        let table = finish(draft, "t", &options)?;
        let data = match table.values {
            Values::Dense(dense) => dense.data,
            Values::Sparse(sparse) => sparse.to_dense().data,
        };
        Ok((data, table.features))
    }

    #[test]
    fn missing_cells_are_settled_the_same_in_dense_and_sparse() {
        for values in both() {
            let (data, _) = settled(values.clone(), Missing::DropRows).unwrap();
            assert_eq!(data, [1.0, 2.0, 0.0, 5.0, 6.0, 0.0]);
            let (data, features) = settled(values.clone(), Missing::DropColumns).unwrap();
            assert_eq!(data, [1.0, 0.0, 3.0, 0.0, 5.0, 0.0]);
            assert_eq!(features, ["column1", "column3"]);
            let (data, _) = settled(values.clone(), Missing::Mean).unwrap();
            assert_eq!(data[4], 4.0);
            let error = settled(values, Missing::Error).unwrap_err();
            assert!(error.to_string().starts_with("t, row 2, column 'column2': the value is missing"), "{error}");
        }
    }
}
