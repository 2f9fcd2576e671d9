//! The model file: everything that a fit leaves behind, in one safetensors file.
//!
//! The arrays are float64 tensors, which any safetensors reader can load:
//!
//! | tensor | shape | holds |
//! |---|---|---|
//! | `components` | d x k | the loadings U |
//! | `mean` | d | the mean of each feature |
//! | `scores` | n x k | the scores of the training samples |
//! | `weights` | n | their weights |
//! | `potential` | n | the potential of the plan |
//!
//! All else is JSON, under the key `ewca` of the file's metadata. It starts with the version of the format, `ewca.model/1`;
//! a file of a version that is not known here is refused by name. (One key, because the order of several is not fixed: the
//! same model gives the same bytes.)

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

use ewca::{Matrix, Model, Params};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::error::{excerpt, file_name, one_line};
use crate::{Error, FittedPreprocessing, write_atomically};

/// The version of the format that is written here.
pub const MODEL_FORMAT: &str = "ewca.model/1";
/// The metadata key of everything that is no array.
const RECORD: &str = "ewca";
/// How far the components may be from orthonormal: far beyond rounding, far below any other matrix.
const ORTHONORMAL: f64 = 1e-6;

/// A model with all that is needed to use it on other tables.
#[derive(Debug, Clone)]
pub struct ModelFile {
    /// The fit.
    pub model: Model,
    /// What was done to the table before the fit. Holds the names of its features.
    pub preprocessing: FittedPreprocessing,
    /// The name of each training sample.
    pub ids: Vec<String>,
    /// The class of each training sample, where they were known.
    pub labels: Option<Vec<String>>,
    /// What was asked of the fit.
    pub params: Params,
    /// The version of the program that fitted it.
    pub program: String,
    /// The checksum of the table that was fitted, after preprocessing: see [`crate::Table::checksum`].
    pub training_checksum: u64,
}

/// What the metadata hold: a [`ModelFile`] whose model has empty arrays.
#[derive(Serialize, Deserialize)]
struct Record {
    format: String,
    program: String,
    training_checksum: String,
    params: Params,
    preprocessing: FittedPreprocessing,
    ids: Vec<String>,
    labels: Option<Vec<String>>,
    model: Model,
}

/// As much of the record as every version has.
#[derive(Deserialize)]
struct Version {
    format: String,
}

/// Writes a model file, whole or not at all.
pub fn write_model(path: &Path, file: &ModelFile) -> Result<(), Error> {
    let bytes = named_bytes(file, &file_name(path))?;
    write_atomically(path, |out| out.write_all(&bytes))
}

/// The bytes of a model file: what [`read_model_bytes`] reads.
pub fn model_bytes(file: &ModelFile) -> Result<Vec<u8>, Error> {
    named_bytes(file, "model")
}

fn named_bytes(file: &ModelFile, name: &str) -> Result<Vec<u8>, Error> {
    to_bytes(file).map_err(|problem| Error::Options {
        problem: format!("{name}: the model cannot be written: {}", one_line(&problem)),
        advice: "shorten the names of samples and features, or report this".into(),
    })
}

/// Reads a model file, and checks that its parts fit together.
pub fn read_model(path: &Path) -> Result<ModelFile, Error> {
    let name = file_name(path);
    let failed = |source| Error::Read { file: name.clone(), source };
    let about = fs::metadata(path).map_err(failed)?;
    if about.is_dir() {
        return Err(Error::unsupported(&name, "is a folder", "name the model.safetensors in it"));
    }
    let mut bytes = Vec::new();
    File::open(path).and_then(|mut opened| opened.read_to_end(&mut bytes)).map_err(failed)?;
    read_model_bytes(&bytes, &name)
}

/// Whether bytes look like those of a safetensors file: the length of a JSON header, and its start.
pub fn is_model(head: &[u8]) -> bool {
    let plausible = |length: [u8; 8]| (2..100_000_000).contains(&u64::from_le_bytes(length));
    head.len() > 8 && head[8] == b'{' && head.first_chunk().copied().is_some_and(plausible)
}

/// The same from bytes; `file` stands for them in messages.
pub fn read_model_bytes(bytes: &[u8], file: &str) -> Result<ModelFile, Error> {
    if bytes.is_empty() {
        return Err(Error::Empty { file: file.into() });
    }
    let malformed = |problem: String| Error::malformed(file, "model", excerpt_of(&problem));
    if !is_model(bytes) {
        return Err(malformed("it is no safetensors file".into()));
    }
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| malformed(header_problem(&error)))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| malformed(header_problem(&error)))?;
    let record = header
        .metadata()
        .as_ref()
        .and_then(|metadata| metadata.get(RECORD))
        .ok_or_else(|| malformed("it is a safetensors file of something else".into()))?;
    let json = |error: serde_json::Error| malformed(format!("its metadata: {error}"));
    let Version { format } = serde_json::from_str(record).map_err(json)?;
    if format != MODEL_FORMAT {
        return Err(Error::ModelVersion { file: file.into(), found: excerpt(format.as_bytes()), known: MODEL_FORMAT });
    }
    let record: Record = serde_json::from_str(record).map_err(json)?;
    assembled(record, &tensors).map_err(malformed)
}

/// A message of a library on hostile bytes: not too long.
fn excerpt_of(problem: &str) -> String {
    problem.chars().take(160).collect()
}

fn header_problem(error: &safetensors::SafeTensorError) -> String {
    use safetensors::SafeTensorError::*;
    match error {
        MetadataIncompleteBuffer | InvalidHeaderLength => "it ends too early, or has bytes too many".into(),
        other => other.to_string(),
    }
}

fn to_bytes(file: &ModelFile) -> Result<Vec<u8>, String> {
    let mut model = file.model.clone();
    let (components, scores) = (std::mem::take(&mut model.components), std::mem::take(&mut model.scores));
    let vectors = [&mut model.mean, &mut model.weights, &mut model.potential].map(std::mem::take);
    let record = Record {
        format: MODEL_FORMAT.into(),
        program: file.program.clone(),
        training_checksum: format!("{:016x}", file.training_checksum),
        params: file.params.clone(),
        preprocessing: file.preprocessing.clone(),
        ids: file.ids.clone(),
        labels: file.labels.clone(),
        model,
    };
    let record = serde_json::to_string(&record).map_err(|error| error.to_string())?;
    let [mean, weights, potential] = vectors.map(|values| (vec![values.len()], bytes_of(&values)));
    let matrix = |matrix: Matrix| (vec![matrix.rows(), matrix.columns()], bytes_of(&matrix.to_row_major()));
    let arrays = [
        ("components", matrix(components)),
        ("mean", mean),
        ("potential", potential),
        ("scores", matrix(scores)),
        ("weights", weights),
    ];
    let mut views = Vec::new();
    for (name, (shape, bytes)) in &arrays {
        views.push((*name, TensorView::new(Dtype::F64, shape.clone(), bytes).map_err(|error| error.to_string())?));
    }
    let metadata = HashMap::from([(RECORD.to_string(), record)]);
    safetensors::serialize(views, Some(metadata)).map_err(|error| error.to_string())
}

fn bytes_of(values: &[f64]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

/// The parts put together, once they are known to fit.
fn assembled(record: Record, tensors: &SafeTensors<'_>) -> Result<ModelFile, String> {
    let Record { program, training_checksum, params, preprocessing, ids, labels, mut model, .. } = record;
    let (shape, components) = array(tensors, "components", 2)?;
    let (d, k) = (shape[0], shape[1]);
    let (shape, scores) = array(tensors, "scores", 2)?;
    let n = shape[0];
    let expect = |what: &str, found: usize, expected: usize| match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found} where {expected} are expected")),
    };
    if k == 0 || k > d || n == 0 {
        return Err(format!("no model has {n} samples, {d} features and {k} components"));
    }
    expect("columns of the scores", shape[1], k)?;
    let vector = |name: &str, length: usize| {
        let (shape, values) = array(tensors, name, 1)?;
        expect(name, shape[0], length).map(|()| values)
    };
    model.mean = vector("mean", d)?;
    model.weights = vector("weights", n)?;
    model.potential = vector("potential", n)?;
    model.components = Matrix::from_row_major(d, k, &components).map_err(|error| error.to_string())?;
    model.scores = Matrix::from_row_major(n, k, &scores).map_err(|error| error.to_string())?;
    expect("names of samples", ids.len(), n)?;
    labels.as_ref().map_or(Ok(()), |labels| expect("labels", labels.len(), n))?;
    expect("names of features", preprocessing.output_features().len(), d)?;
    check_preprocessing(&preprocessing, d)?;
    expect("explained variances", model.explained_variance.len(), k)?;
    expect("explained variance ratios", model.explained_variance_ratio.len(), k)?;
    expect("eigenvalues", model.certificate.eigenvalues.len(), k)?;
    check_numbers(&model)?;
    let training_checksum =
        u64::from_str_radix(&training_checksum, 16).map_err(|_| "the checksum of the training data is none")?;
    Ok(ModelFile { model, preprocessing, ids, labels, params, program, training_checksum })
}

/// A tensor of finite float64 numbers.
fn array(tensors: &SafeTensors<'_>, name: &str, dimensions: usize) -> Result<(Vec<usize>, Vec<f64>), String> {
    let tensor = tensors.tensor(name).map_err(|_| format!("it has no tensor '{name}'"))?;
    if tensor.dtype() != Dtype::F64 || tensor.shape().len() != dimensions {
        return Err(format!("the tensor '{name}' is not float64 with {dimensions} dimensions"));
    }
    let values: Vec<f64> = tensor.data().as_chunks::<8>().0.iter().map(|&bytes| f64::from_le_bytes(bytes)).collect();
    match values.iter().position(|value| !value.is_finite()) {
        Some(at) => Err(format!("the tensor '{name}' has {} at place {at}", values[at])),
        None => Ok((tensor.shape().to_vec(), values)),
    }
}

fn check_preprocessing(fitted: &FittedPreprocessing, features: usize) -> Result<(), String> {
    let sound = |scale: &f64| scale.is_finite() && *scale > 0.0;
    let scales_fit = fitted.scales.as_ref().is_none_or(|scales| scales.len() == features && scales.iter().all(sound));
    let in_order = fitted.kept.as_ref().is_none_or(|kept| kept.is_sorted_by(|a, b| a < b) && kept.len() == features);
    let mut names: Vec<&String> = fitted.features.iter().collect();
    names.sort_unstable();
    let distinct = names.windows(2).all(|pair| pair[0] != pair[1]);
    if scales_fit && in_order && distinct { Ok(()) } else { Err("its preprocessing contradicts itself".into()) }
}

fn check_numbers(model: &Model) -> Result<(), String> {
    if !(model.epsilon.is_normal() && model.epsilon > 0.0) {
        return Err(format!("epsilon is {}", model.epsilon));
    }
    if let Some(count) = model.total_count.filter(|count| !(count.is_finite() && *count > 0.0)) {
        return Err(format!("the weights stand for {count} samples"));
    }
    let total: f64 = model.weights.iter().sum();
    if model.weights.iter().any(|&weight| weight < 0.0) || (total - 1.0).abs() > ORTHONORMAL {
        return Err("the weights are negative, or do not sum to 1".into());
    }
    // Each component against itself and the one before it: enough to tell damage, in time that the file's size bounds.
    let u = &model.components;
    let dot = |i: usize, j: usize| -> f64 { u.column(i).iter().zip(u.column(j)).map(|(x, y)| x * y).sum() };
    let off = |value: f64, expected: f64| (value - expected).abs().is_nan() || (value - expected).abs() > ORTHONORMAL;
    let wrong = |j: usize| off(dot(j, j), 1.0) || (j > 0 && off(dot(j - 1, j), 0.0));
    match (0..u.columns()).find(|&j| wrong(j)) {
        Some(j) => Err(format!("component {} is not orthonormal to the others", j + 1)),
        None => Ok(()),
    }
}
