//! Results added to a copy of an AnnData file, where scanpy looks for them.

use std::collections::HashMap;
use std::fs::File;
use std::io;
use std::path::Path;

use rust_hdf5::{DatatypeMessage, H5Dataset, H5File, H5Group, Hdf5Error, VarLenUnicode};

use super::read::H5ad;
use crate::anndata::AnnData;
use crate::error::{excerpt, file_name};
use crate::write::Staged;
use crate::{Error, ReadOptions, SparseValues};

/// What is added to an AnnData file.
#[derive(Debug, Clone, Copy)]
pub struct AnnDataResults<'a> {
    /// The number of components.
    pub components: usize,
    /// The names of the samples, as the table had them. Needed only if some observations were left out.
    pub ids: Option<&'a [String]>,
    /// The scores of the samples, row after row: becomes `obsm["X_ewca"]`, in single precision as scanpy has it for PCA.
    /// Observations that were left out get NaN.
    pub scores: &'a [f64],
    /// The names of the features that the components are made of.
    pub features: &'a [String],
    /// The components, one row per feature: becomes `varm["EWCs"]`. Other variables get zeros.
    pub loadings: &'a [f64],
    /// The mean of each feature, which scores are taken from: becomes `varm["ewca_mean"]`. Other variables get NaN, so that
    /// it also says which ones the components are made of.
    pub means: &'a [f64],
    /// The plan between the samples: becomes `obsp["ewca_plan"]`.
    pub plan: Option<&'a SparseValues>,
    /// What else is worth keeping: becomes `uns["ewca"]`.
    pub parameters: &'a [(String, Parameter)],
}

/// A value in `uns["ewca"]`.
#[derive(Debug, Clone, PartialEq)]
pub enum Parameter {
    /// A number.
    Number(f64),
    /// A whole number.
    Integer(i64),
    /// A text.
    Text(String),
    /// A list of numbers.
    Numbers(Vec<f64>),
    /// Yes or no.
    Flag(bool),
    /// Values with names of their own: a dictionary.
    Group(Vec<(String, Parameter)>),
}

/// Copies `source`, an AnnData file, to `target` with results added; those of an earlier run are
/// replaced. The target appears whole or not at all, and may be the source.
///
/// # Panics
/// If the parts of the results do not fit together.
pub fn write_anndata(source: &Path, target: &Path, results: &AnnDataResults) -> Result<(), Error> {
    stage_anndata(source, target, results)?.commit()
}

/// The same next to its place: [`Staged::commit`] puts it there.
///
/// # Panics
/// If the parts of the results do not fit together.
pub fn stage_anndata(source: &Path, target: &Path, results: &AnnDataResults) -> Result<Staged, Error> {
    let places = Places::find(source, results)?;
    let written = |source| Error::Write { file: file_name(target), source };
    let staged = Staged::begin(target).map_err(written)?;
    let mut original = File::open(source).map_err(|error| Error::Read { file: file_name(source), source: error })?;
    if let Some(path) = staged.path() {
        let mut copy = File::options().write(true).open(path).map_err(written)?;
        io::copy(&mut original, &mut copy).map_err(written)?;
        add(path, results, &places).map_err(|error| match error {
            Hdf5Error::Io(source) => written(source),
            other => written(io::Error::other(other)),
        })?;
    }
    Ok(staged)
}

/// Where samples and features are among the observations and variables of the file.
struct Places {
    observations: usize,
    samples: Vec<usize>,
    variables: usize,
    features: Vec<usize>,
    existing: Existing,
}

/// What the file has where results go. (A file that is open for writing does not list its empty groups,
/// so this is found before.)
#[derive(Default)]
struct Existing {
    /// Of `obsm`, `varm`, `obsp` and `uns`, those that are there.
    groups: Vec<&'static str>,
    /// What an earlier run has left: its path, and whether it is a group.
    leftovers: Vec<(String, bool)>,
}

/// Where results go.
const RESULTS: [(&str, &str); 5] =
    [("obsm", "X_ewca"), ("varm", "EWCs"), ("varm", "ewca_mean"), ("obsp", "ewca_plan"), ("uns", "ewca")];

impl Places {
    fn find(source: &Path, results: &AnnDataResults) -> Result<Places, Error> {
        let k = results.components.max(1);
        let samples = results.scores.len() / k;
        assert_eq!(results.scores.len(), samples * results.components, "scores");
        assert_eq!(results.loadings.len(), results.features.len() * results.components, "loadings");
        assert_eq!(results.means.len(), results.features.len(), "means");
        if let Some(plan) = results.plan {
            assert_eq!((plan.rows(), plan.columns), (samples, samples), "plan");
        }
        let file = file_name(source);
        let h5ad = H5ad::open(source, &file, &ReadOptions::default())?;
        let (obs, var) = (h5ad.index("obs")?, h5ad.index("var")?);
        let samples = match results.ids {
            _ if samples == obs.len() => (0..samples).collect(),
            Some(ids) => places(ids, &obs, "observation", &file)?,
            None => {
                let problem =
                    format!("{file}: has {} observations, but the model has {samples} samples", obs.len()).into();
                let advice = "use the file that the model was fitted on".into();
                return Err(Error::Options { problem, advice });
            }
        };
        let features = places(results.features, &var, "variable", &file)?;
        let existing = Existing::find(&h5ad.root).map_err(|error| Error::malformed(&file, "h5ad", error))?;
        Ok(Places { observations: obs.len(), samples, variables: var.len(), features, existing })
    }
}

/// The place of each of `names` in `known`.
fn places(names: &[String], known: &[String], what: &str, file: &str) -> Result<Vec<usize>, Error> {
    let all: HashMap<&str, usize> = known.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
    let place = |name: &String| {
        all.get(name.as_str()).copied().ok_or_else(|| Error::Options {
            problem: format!("{file}: has no {what} '{}'", excerpt(name.as_bytes())).into(),
            advice: "use the file that the model was fitted on".into(),
        })
    };
    names.iter().map(place).collect()
}

impl Existing {
    fn find(root: &H5Group) -> rust_hdf5::Result<Existing> {
        let mut existing = Existing::default();
        let top = root.group_names()?;
        for (parent, name) in RESULTS.into_iter().filter(|(parent, _)| top.iter().any(|known| known == parent)) {
            if !existing.groups.contains(&parent) {
                existing.groups.push(parent);
            }
            let group = root.group(parent)?;
            if group.link_names()?.iter().any(|known| known == name) {
                let is_group = group.group_names()?.iter().any(|known| known == name);
                existing.leftovers.push((format!("{parent}/{name}"), is_group));
            }
        }
        Ok(existing)
    }
}

fn add(path: &Path, results: &AnnDataResults, places: &Places) -> rust_hdf5::Result<()> {
    let k = results.components;
    let file = H5File::options().no_locking().open_rw(path)?;
    for (path, is_group) in &places.existing.leftovers {
        match is_group {
            true => file.delete_group(path)?,
            false => file.delete_dataset(path)?,
        }
    }
    let root = file.root_group();
    let open = |name: &str| match places.existing.groups.contains(&name) {
        true => root.group(name),
        false => dictionary(&root, name),
    };
    let scores = spread(results.scores, k, &places.samples, places.observations, f64::NAN);
    let shape = [places.observations, k];
    let obsm = open("obsm")?;
    // What is too large for single precision would become infinite.
    match scores.iter().any(|score| score.abs() > f64::from(f32::MAX)) {
        true => array(&obsm, "X_ewca", &shape, &scores)?,
        false => array(&obsm, "X_ewca", &shape, &scores.iter().map(|&score| score as f32).collect::<Vec<_>>())?,
    }
    let varm = open("varm")?;
    let loadings = spread(results.loadings, k, &places.features, places.variables, 0.0);
    array(&varm, "EWCs", &[places.variables, k], &loadings)?;
    let means = spread(results.means, 1, &places.features, places.variables, f64::NAN);
    array(&varm, "ewca_mean", &[places.variables, 1], &means)?;
    if let Some(plan) = results.plan {
        sparse(&open("obsp")?, "ewca_plan", plan, places)?;
    }
    write_parameters(&open("uns")?, "ewca", results.parameters)?;
    file.close()
}

fn write_parameters(parent: &H5Group, name: &str, parameters: &[(String, Parameter)]) -> rust_hdf5::Result<()> {
    let group = dictionary(parent, name)?;
    for (name, parameter) in parameters {
        // A slash would make a group.
        let name = &name.replace('/', "_");
        match parameter {
            Parameter::Number(value) => scalar(&group, name, *value)?,
            Parameter::Integer(value) => scalar(&group, name, *value)?,
            Parameter::Text(text) => write_text(&group, name, text)?,
            Parameter::Numbers(values) => array(&group, name, &[values.len()], values)?,
            Parameter::Flag(value) => {
                let dataset = group.new_dataset::<u8>().datatype(DatatypeMessage::bool_type()).scalar().create(name)?;
                dataset.write_raw_bytes(&[u8::from(*value)])?;
                encoded_dataset(&dataset, "numeric-scalar")?;
            }
            Parameter::Group(parameters) => write_parameters(&group, name, parameters)?,
        }
    }
    Ok(())
}

/// Rows of `k` numbers put in their places among `count` rows.
fn spread(values: &[f64], k: usize, places: &[usize], count: usize, rest: f64) -> Vec<f64> {
    let mut spread = vec![rest; count * k];
    for (row, &place) in values.chunks_exact(k.max(1)).zip(places) {
        spread[place * k..][..k].copy_from_slice(row);
    }
    spread
}

fn dictionary(parent: &H5Group, name: &str) -> rust_hdf5::Result<H5Group> {
    let group = parent.create_group(name)?;
    encoded(&group, "dict", "0.1.0")?;
    Ok(group)
}

fn array<T: rust_hdf5::H5Type>(group: &H5Group, name: &str, shape: &[usize], values: &[T]) -> rust_hdf5::Result<()> {
    let dataset = group.new_dataset::<T>().shape(shape).create(name)?;
    dataset.write_raw(values)?;
    encoded_dataset(&dataset, "array")
}

fn scalar<T: rust_hdf5::H5Type>(group: &H5Group, name: &str, value: T) -> rust_hdf5::Result<()> {
    let dataset = group.new_dataset::<T>().scalar().create(name)?;
    dataset.write_raw(&[value])?;
    encoded_dataset(&dataset, "numeric-scalar")
}

fn write_text(group: &H5Group, name: &str, text: &str) -> rust_hdf5::Result<()> {
    // A text of a fixed length; HDF5 has none of length 0, so an empty one is a single zero byte.
    let mut bytes = text.as_bytes().to_vec();
    if bytes.is_empty() {
        bytes.push(0);
    }
    let kind = DatatypeMessage::fixed_string_utf8(bytes.len() as u32);
    let dataset = group.new_dataset::<u8>().datatype(kind).scalar().create(name)?;
    dataset.write_raw_bytes(&bytes)?;
    encoded_dataset(&dataset, "string")
}

/// The plan, with the samples in their places among the observations.
fn sparse(group: &H5Group, name: &str, plan: &SparseValues, places: &Places) -> rust_hdf5::Result<()> {
    let count = places.observations;
    let mut sample_at = vec![None; count];
    for (sample, &place) in places.samples.iter().enumerate() {
        sample_at[place] = Some(sample);
    }
    let (mut offsets, mut indices, mut values) = (vec![0i64], Vec::new(), Vec::new());
    for sample in sample_at {
        if let Some(sample) = sample {
            let (columns, row) = plan.row(sample);
            let mut entries: Vec<(i64, f64)> = columns
                .iter()
                .zip(row)
                .map(|(&column, &value)| (places.samples[column as usize] as i64, value))
                .collect();
            entries.sort_by_key(|&(column, _)| column);
            indices.extend(entries.iter().map(|&(column, _)| column));
            values.extend(entries.iter().map(|&(_, value)| value));
        }
        offsets.push(indices.len() as i64);
    }
    let matrix = group.create_group(name)?;
    encoded(&matrix, "csr_matrix", "0.1.0")?;
    matrix.set_attr_array_numeric("shape", &[count as i64, count as i64])?;
    matrix.new_dataset::<f64>().shape([values.len()]).create("data")?.write_raw(&values)?;
    // SciPy wants both of one type, and takes 32 bits where they are enough.
    let most = offsets.iter().chain(&indices).max().copied().unwrap_or(0);
    match i32::try_from(most) {
        Ok(_) => {
            let narrow = |numbers: &[i64]| numbers.iter().map(|&number| number as i32).collect::<Vec<_>>();
            list(&matrix, "indices", &narrow(&indices))?;
            list(&matrix, "indptr", &narrow(&offsets))
        }
        Err(_) => {
            list(&matrix, "indices", &indices)?;
            list(&matrix, "indptr", &offsets)
        }
    }
}

fn list<T: rust_hdf5::H5Type>(group: &H5Group, name: &str, numbers: &[T]) -> rust_hdf5::Result<()> {
    group.new_dataset::<T>().shape([numbers.len()]).create(name)?.write_raw(numbers)
}

/// What AnnData calls the encoding of an element.
fn encoded(group: &H5Group, kind: &str, version: &str) -> rust_hdf5::Result<()> {
    group.set_attr_string("encoding-type", kind)?;
    group.set_attr_string("encoding-version", version)
}

fn encoded_dataset(dataset: &H5Dataset, kind: &str) -> rust_hdf5::Result<()> {
    for (name, value) in [("encoding-type", kind), ("encoding-version", "0.2.0")] {
        dataset.new_attr::<VarLenUnicode>().shape(()).create(name)?.write_string(value)?;
    }
    Ok(())
}
