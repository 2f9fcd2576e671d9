//! MATLAB files of version 7.3: HDF5 behind 512 bytes of MATLAB's own.

use std::path::Path;

use rust_hdf5::H5Dataset;

use super::read::{H5ad, in_a_file};
use crate::anndata::AnnData;
use crate::error::{excerpt, phrase};
use crate::finish::Draft;
use crate::source::contained;
use crate::sparse::{Compressed, Major, natural_numbers};
use crate::{Error, OptionName, ReadOptions, TextCells, Values};

/// What MATLAB puts in front of the HDF5 file.
const FRONT: usize = 512;

/// Reads one variable; the label may be a variable of its own, a list of numbers.
pub(crate) fn read(bytes: &[u8], file: &str, options: &ReadOptions) -> Result<Draft, Error> {
    without_front(bytes, file, |path| {
        let mat = H5ad::open(path, file, options)?;
        let known = variables(&mat);
        let chosen = choose(&mat, &known, options)?;
        let mut draft = Draft::of_matrix(values(&mat, chosen)?);
        let samples = if options.transpose { draft.values.columns() } else { draft.values.rows() };
        let texts = |name: &String| {
            let fits = |variable: &&Variable| {
                variable.name == *name
                    && variable.class != "sparse"
                    && variable.rows.checked_mul(variable.columns) == Some(samples)
            };
            let found = known.iter().find(fits);
            found.map(|found| mat.plain_texts(&mat.dataset(&found.name)?, &found.name)).transpose()
        };
        draft.labels = options.label.as_ref().map(texts).transpose()?.flatten();
        for name in &options.annotations {
            let cells = texts(name)?;
            draft.texts.extend(cells.map(|cells| TextCells { name: name.clone(), cells, categorical: false }));
        }
        Ok(draft)
    })
}

/// What is in a file: name, shape and class of each variable.
pub(crate) fn describe(
    bytes: &[u8],
    file: &str,
    options: &ReadOptions,
) -> Result<Vec<(String, Vec<usize>, String)>, Error> {
    without_front(bytes, file, |path| {
        let known = variables(&H5ad::open(path, file, options)?).into_iter();
        Ok(known.map(|v| (v.name, vec![v.rows, v.columns], v.class)).collect())
    })
}

/// Puts the HDF5 file into a file of its own for a while. What MATLAB says about its end counts the bytes in front.
fn without_front<T>(bytes: &[u8], file: &str, use_it: impl FnOnce(&Path) -> Result<T, Error>) -> Result<T, Error> {
    let Some((front, inside)) = bytes.split_at_checked(FRONT) else {
        return Err(Error::malformed(file, "MATLAB 7.3", "it is shorter than its header"));
    };
    let padded = [inside, &vec![0; front.len()]].concat();
    contained(file, "MATLAB 7.3", || in_a_file(&padded, file, use_it))?
}

/// A matrix of numbers.
struct Variable {
    name: String,
    rows: usize,
    columns: usize,
    class: String,
}

fn variables(mat: &H5ad) -> Vec<Variable> {
    const NUMBERS: [&str; 11] =
        ["double", "single", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "logical"];
    let class = |dataset: &H5Dataset| dataset.attr("MATLAB_class").and_then(|class| class.read_string());
    let mut found = Vec::new();
    for name in mat.root.dataset_names().unwrap_or_default() {
        let Ok(dataset) = mat.file.dataset(&name) else { continue };
        // MATLAB stores column after column.
        let (&[columns, rows], Ok(class)) = (&dataset.shape()[..], class(&dataset)) else { continue };
        if NUMBERS.contains(&class.as_str()) {
            found.push(Variable { name, rows, columns, class });
        }
    }
    for name in mat.root.group_names().unwrap_or_default() {
        let rows = mat.sparse_rows.get(&name).and_then(|rows| usize::try_from(*rows).ok());
        let ends = mat.file.dataset(&format!("{name}/jc")).ok().and_then(|ends| ends.shape().first().copied());
        if let (Some(rows), Some(ends @ 1..)) = (rows, ends) {
            found.push(Variable { name, rows, columns: ends - 1, class: "sparse".into() });
        }
    }
    found
}

/// The variable that is asked for, or the only one that is a table.
fn choose<'v>(mat: &H5ad, known: &'v [Variable], options: &ReadOptions) -> Result<&'v Variable, Error> {
    let describe = |v: &Variable| format!("{} ({} x {} {})", excerpt(v.name.as_bytes()), v.rows, v.columns, v.class);
    let several =
        |problem| Error::Choose { file: mat.name.into(), problem, known: known.iter().map(describe).collect() };
    if let Some(name) = &options.array {
        let found = known.iter().find(|variable| variable.name == *name);
        return found.ok_or_else(|| several(format!("has no matrix of numbers '{}'", excerpt(name.as_bytes()))));
    }
    let tables: Vec<&Variable> = known.iter().filter(|variable| variable.rows > 1 && variable.columns > 1).collect();
    match &tables[..] {
        [only] => Ok(only),
        [] => Err(Error::Nothing {
            file: mat.name.into(),
            what: "numeric matrix",
            advice: phrase!["save one, or choose one with ", OptionName::Array],
        }),
        _ => Err(several("has several tables".into())),
    }
}

fn values(mat: &H5ad, variable: &Variable) -> Result<Values, Error> {
    let name = &variable.name;
    if variable.class == "sparse" {
        return sparse(mat, variable);
    }
    let (dataset, shape) = mat.dense(name)?;
    Ok(mat.dense_values(mat.numbers(&dataset, name)?, shape, name)?.transposed())
}

/// Column after column: where each starts (`jc`), the rows of its entries (`ir`) and what they are. A matrix of zeros has no entries.
fn sparse(mat: &H5ad, Variable { name, rows, columns, .. }: &Variable) -> Result<Values, Error> {
    let broken = |problem: String| mat.malformed(format!("{}: {problem}", excerpt(name.as_bytes())));
    let list = |part: &str| natural_numbers(mat.integers(&format!("{name}/{part}"))?, part).map_err(broken);
    let has_entries = mat.file.dataset(&format!("{name}/ir")).is_ok();
    let (indices, values) = match has_entries {
        true => (list("ir")?, mat.numbers(&mat.dataset(&format!("{name}/data"))?, name)?),
        false => (Vec::new(), Vec::new()),
    };
    let stored = Compressed { major: Major::Column, shape: [*rows, *columns], offsets: list("jc")?, indices, values };
    Ok(Values::Sparse(stored.into_rows().map_err(broken)?))
}
