//! The model file: everything that a fit leaves behind, in one safetensors file.
//!
//! | tensor | type and shape | holds |
//! |---|---|---|
//! | `components` | float64, d x k | the loadings U |
//! | `mean` | float64, d | the mean of each feature |
//! | `scores` | float64, n x k | the scores of the training samples |
//! | `weights` | float64, n | their weights |
//! | `potential` | float64, n | the potential of the plan |
//! | `features`, `features.ends` | bytes; int64 | the names of the features: UTF-8, one after the other, and where each ends |
//! | `ids`, `ids.ends` | bytes; int64, n | the names of the samples |
//! | `labels`, `labels.ends` | bytes; int64, n | their classes, where they are known |
//! | `annotations` | bytes | what else is known of them, where something is: JSON, a list of columns with classes and codes, or numbers |
//! | `kept`, `scales`, `training_means` | int64; float64 | what the preprocessing learned, where it did |
//! | `record` | bytes | all else, as JSON |
//! | `sha256` | bytes, 32 | the checksum of everything above |
//!
//! The file's metadata hold one thing, the version of the format, `ewca.model/3`, under the key `ewca`; a file of a version that is
//! not known here is refused by name. Nothing that grows with the data is in the header, which readers limit to 100 MB. (One
//! key, because the order of several is not fixed: the same model gives the same bytes.)
//!
//! The checksum is over the metadata and over the name, type, shape and bytes of every tensor, in an order that follows from the
//! names and types: another program may arrange the file anew, but not change it.
//!
//! Files of earlier versions are still read. In `ewca.model/2` the explained variances are divided by the total weight, not by n - 1; they are
//! converted. Files of the first version, `ewca.model/1`, have no checksum either, and names in the metadata.

mod tensors;

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;

use ewca::{CheckedParams, Matrix, Model, ModelParts};
use safetensors::SafeTensors;
use serde::{Deserialize, Serialize};
use serde_json::json;
use sha2::{Digest, Sha256};

use crate::error::{excerpt, file_name, one_line};
use crate::{Annotation, Error, Expected, FittedPreprocessing, Preprocessing, Staged, stage};
use tensors::{Content, Tensor};

/// The version of the format that is written here.
const MODEL_FORMAT: &str = "ewca.model/3";
/// The version with variances that are divided by the total weight.
const SECOND_FORMAT: &str = "ewca.model/2";
/// The version that has no checksum either.
const FIRST_FORMAT: &str = "ewca.model/1";
/// The tensor of what else is known of the samples.
const ANNOTATIONS: &str = "annotations";
/// The metadata key.
const KEY: &str = "ewca";

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
    /// What else is known of the training samples.
    pub annotations: Vec<Annotation>,
    /// Which columns of the training table the names and classes came from.
    pub columns: RoleColumns,
    /// The version of the program that fitted it.
    pub program: String,
    /// The checksum of the table that was fitted, after preprocessing: see [`crate::Table::checksum`].
    pub training_checksum: u64,
    /// Whether the file had a checksum when it was read; files of the first version have none. What is written always has one.
    pub has_checksum: bool,
}

/// The columns of a table that are no features, by name.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct RoleColumns {
    /// The column that held the classes, where one was named.
    pub label: Option<String>,
    /// The column that held the names of the samples, where one was named.
    pub id: Option<String>,
}

impl ModelFile {
    /// What a table must have for the model to be applied to it.
    pub fn expected(&self) -> Expected {
        // Without any step, what was fitted is what was read.
        let fallback = self.preprocessing.steps.is_nothing().then_some(self.model.mean());
        self.preprocessing.expected(fallback)
    }
}

/// What the record of the present version holds: a [`ModelFile`] without what the tensors hold.
#[derive(Serialize, Deserialize)]
struct Record {
    program: String,
    training_checksum: String,
    /// What was asked of the fit, where the model does not hold it: before the third version.
    #[serde(default, skip_serializing)]
    params: Option<CheckedParams>,
    steps: Preprocessing,
    columns: RoleColumns,
    model: ModelParts,
}

/// What the metadata of the first version hold: a [`ModelFile`] whose model has empty arrays.
#[derive(Deserialize)]
struct FirstRecord {
    program: String,
    training_checksum: String,
    params: CheckedParams,
    preprocessing: FittedPreprocessing,
    ids: Vec<String>,
    labels: Option<Vec<String>>,
    model: ModelParts,
}

/// As much of the metadata as every version has.
#[derive(Serialize, Deserialize)]
struct Version {
    format: String,
}

/// Writes a model file, whole or not at all, and reads it back: what is on the disk is what was meant, and can be opened.
pub fn write_model(path: &Path, file: &ModelFile) -> Result<(), Error> {
    stage_model(path, file)?.commit()
}

/// Writes a model next to its place, and reads it back: what will be renamed is what was meant.
pub fn stage_model(path: &Path, file: &ModelFile) -> Result<Staged, Error> {
    let name = file_name(path);
    let record = record(file).map_err(|problem| cannot_write(&name, &problem))?;
    let mut sum = Sha256::new();
    let staged = stage(path, |out| write_to(&mut Summing { out, sum: &mut sum }, file, &record))?;
    if let Some(written) = staged.path() {
        read_back(written, &sum.finalize(), &name)?;
    }
    Ok(staged)
}

/// The bytes of a model file: what [`read_model_bytes`] reads.
pub fn model_bytes(file: &ModelFile) -> Result<Vec<u8>, Error> {
    let failed = |problem: String| cannot_write("model", &problem);
    let mut bytes = Vec::new();
    write_to(&mut bytes, file, &record(file).map_err(failed)?).map_err(|error| failed(error.to_string()))?;
    Ok(bytes)
}

fn cannot_write(name: &str, problem: &str) -> Error {
    Error::Options {
        problem: format!("{name}: the model cannot be written: {}", one_line(problem)).into(),
        advice: "report this, with the command and the data".into(),
    }
}

/// Makes sure that the file at `path` has this checksum.
fn read_back(path: &Path, expected: &[u8], name: &str) -> Result<(), Error> {
    let failed = |source| Error::Read { file: name.into(), source };
    let mut opened = File::open(path).map_err(failed)?;
    let mut sum = Sha256::new();
    io::copy(&mut opened, &mut Summing { out: &mut io::sink(), sum: &mut sum }).map_err(failed)?;
    if sum.finalize()[..] == *expected { Ok(()) } else { Err(Error::NotAsWritten { file: name.into() }) }
}

/// A writer that takes the checksum of what goes by.
struct Summing<'a, W: Write> {
    out: &'a mut W,
    sum: &'a mut Sha256,
}

impl<W: Write> Write for Summing<'_, W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.sum.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

/// Reads a model file, and checks that its parts fit together.
pub fn read_model(path: &Path) -> Result<ModelFile, Error> {
    let name = file_name(path);
    let failed = |source| Error::Read { file: name.clone(), source };
    let about = fs::metadata(path).map_err(failed)?;
    if about.is_dir() {
        return Err(Error::unsupported(&name, "is a folder", "choose the model.safetensors in it"));
    }
    if !about.is_file() {
        return Err(Error::unsupported(&name, "is not a regular file", "save the model to a file first"));
    }
    let mut bytes = Vec::new();
    // The file may be growing; what was there at first is all that counts.
    let opened = File::open(path).map_err(failed)?;
    bytes.try_reserve_exact(usize::try_from(about.len()).unwrap_or(usize::MAX)).map_err(|_| too_large(&name))?;
    opened.take(about.len()).read_to_end(&mut bytes).map_err(failed)?;
    read_model_bytes(&bytes, &name)
}

fn too_large(file: &str) -> Error {
    Error::unsupported(file, "is larger than the free memory", "open it on a machine with more memory")
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
        return Err(malformed("it is not a safetensors file".into()));
    }
    let (_, header) = SafeTensors::read_metadata(bytes).map_err(|error| malformed(header_problem(&error)))?;
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| malformed(header_problem(&error)))?;
    let text = header
        .metadata()
        .as_ref()
        .and_then(|metadata| metadata.get(KEY))
        .ok_or_else(|| malformed("it is a safetensors file, but not a model of ewca".into()))?;
    let Version { format } = parsed(text, "metadata").map_err(malformed)?;
    let loose = match format.as_str() {
        FIRST_FORMAT => of_first_version(text),
        SECOND_FORMAT | MODEL_FORMAT if !tensors::is_whole(text, &tensors) => {
            return Err(Error::Changed { file: file.into() });
        }
        SECOND_FORMAT | MODEL_FORMAT => of_this_version(&tensors),
        other => {
            let found = excerpt(other.as_bytes());
            return Err(Error::ModelVersion { file: file.into(), found, known: MODEL_FORMAT });
        }
    };
    loose.and_then(|loose| assembled(loose, &tensors, format == MODEL_FORMAT)).map_err(malformed)
}

fn parsed<'a, T: Deserialize<'a>>(text: &'a str, what: &str) -> Result<T, String> {
    serde_json::from_str(text).map_err(|error| format!("its {what}: {error}"))
}

/// What a file holds beside the arrays, not yet put together.
struct Loose {
    record: Record,
    features: Vec<String>,
    kept: Option<Vec<usize>>,
    scales: Option<Vec<f64>>,
    means: Option<Vec<f64>>,
    ids: Vec<String>,
    labels: Option<Vec<String>>,
    annotations: Vec<Annotation>,
    has_checksum: bool,
}

fn of_this_version(tensors: &SafeTensors<'_>) -> Result<Loose, String> {
    let record = std::str::from_utf8(tensors::bytes(tensors, "record")?).map_err(|_| "its record is not text")?;
    Ok(Loose {
        record: parsed(record, "record")?,
        features: tensors::names(tensors, "features", "features.ends")?,
        kept: tensors::optional_places(tensors, "kept")?,
        scales: tensors::optional_numbers(tensors, "scales")?,
        means: tensors::optional_numbers(tensors, "training_means")?,
        ids: tensors::names(tensors, "ids", "ids.ends")?,
        labels: tensors::optional_names(tensors, "labels", "labels.ends")?,
        annotations: annotations(tensors)?,
        has_checksum: true,
    })
}

/// What else is known of the samples; nothing in files of before it was kept.
fn annotations(tensors: &SafeTensors<'_>) -> Result<Vec<Annotation>, String> {
    if tensors.tensor(ANNOTATIONS).is_err() {
        return Ok(Vec::new());
    }
    let text = std::str::from_utf8(tensors::bytes(tensors, ANNOTATIONS)?).map_err(|_| "its metadata are not text")?;
    parsed(text, "metadata of samples")
}

fn of_first_version(text: &str) -> Result<Loose, String> {
    let first: FirstRecord = parsed(text, "metadata")?;
    let FirstRecord { program, training_checksum, params, preprocessing, ids, labels, model } = first;
    let FittedPreprocessing { steps, features, kept, scales, means } = preprocessing;
    let (params, columns) = (Some(params), RoleColumns::default());
    let record = Record { program, training_checksum, params, steps, columns, model };
    Ok(Loose { record, features, kept, scales, means, ids, labels, annotations: Vec::new(), has_checksum: false })
}

/// A message of a library on hostile bytes: not too long.
fn excerpt_of(problem: &str) -> String {
    problem.chars().take(160).collect()
}

fn header_problem(error: &safetensors::SafeTensorError) -> String {
    use safetensors::SafeTensorError::*;
    match error {
        MetadataIncompleteBuffer | InvalidHeaderLength => "it is too short or too long".into(),
        other => other.to_string(),
    }
}

/// The record of a file, as JSON, once it is known that what is written can be read again.
fn record(file: &ModelFile) -> Result<String, String> {
    check(file)?;
    let mut model = file.model.clone().into_parts();
    (model.components, model.scores) = (Matrix::default(), Matrix::default());
    (model.mean, model.weights, model.potential) = (Vec::new(), Vec::new(), Vec::new());
    let record = Record {
        program: file.program.clone(),
        training_checksum: format!("{:016x}", file.training_checksum),
        params: None,
        steps: file.preprocessing.steps.clone(),
        columns: file.columns.clone(),
        model,
    };
    let text = serde_json::to_string(&record).map_err(|error| error.to_string())?;
    // JSON has no word for numbers that are not finite: what they become is not read again.
    parsed::<Record>(&text, "record").map(|_| text)
}

fn write_to(out: &mut dyn Write, file: &ModelFile, record: &str) -> io::Result<()> {
    let ModelFile { model, preprocessing, ids, labels, annotations, .. } = file;
    let annotations = match annotations.is_empty() {
        true => None,
        false => Some(serde_json::to_vec(annotations)?),
    };
    let mut tensors = Vec::new();
    let mut add = |name, content| tensors.push(Tensor { name, content });
    add("components", Content::Matrix(model.components()));
    add("mean", Content::Vector(model.mean()));
    add("scores", Content::Matrix(model.scores()));
    add("weights", Content::Vector(model.weights()));
    add("potential", Content::Vector(model.potential()));
    add("features", Content::Names(&preprocessing.features));
    add("features.ends", Content::Ends(&preprocessing.features));
    add("ids", Content::Names(ids));
    add("ids.ends", Content::Ends(ids));
    if let Some(labels) = labels {
        add("labels", Content::Names(labels));
        add("labels.ends", Content::Ends(labels));
    }
    if let Some(annotations) = &annotations {
        add(ANNOTATIONS, Content::Bytes(annotations));
    }
    if let Some(kept) = &preprocessing.kept {
        add("kept", Content::Places(kept));
    }
    if let Some(scales) = &preprocessing.scales {
        add("scales", Content::Vector(scales));
    }
    if let Some(means) = &preprocessing.means {
        add("training_means", Content::Vector(means));
    }
    add("record", Content::Bytes(record.as_bytes()));
    let version = json!({ "format": MODEL_FORMAT }).to_string();
    tensors::write(out, KEY, &version, tensors)
}

/// The parts put together, once they are known to fit. Variances that are not `unbiased` are divided by the total weight.
fn assembled(loose: Loose, tensors: &SafeTensors<'_>, unbiased: bool) -> Result<ModelFile, String> {
    let Loose { record, features, kept, scales, means, ids, labels, annotations, has_checksum } = loose;
    let Record { program, training_checksum, params, steps, columns, mut model } = record;
    let matrix = |name: &str| {
        let (shape, values) = tensors::numbers(tensors, name, 2)?;
        Matrix::from_row_major(shape[0], shape[1], &values).map_err(|error| error.to_string())
    };
    let vector = |name: &str| tensors::numbers(tensors, name, 1).map(|(_, values)| values);
    (model.components, model.scores) = (matrix("components")?, matrix("scores")?);
    (model.mean, model.weights, model.potential) = (vector("mean")?, vector("weights")?, vector("potential")?);
    if let Some(params) = params {
        model.params = params;
    }
    if !unbiased {
        let divisor = model.variance_divisor();
        model.explained_variance.iter_mut().for_each(|variance| *variance /= divisor);
    }
    let preprocessing = FittedPreprocessing { steps, features, kept, scales, means };
    let training_checksum =
        u64::from_str_radix(&training_checksum, 16).map_err(|_| "the checksum of the training data is not valid")?;
    let model = Model::from_parts(model).map_err(|error| match error {
        ewca::Error::Model { what } => what,
        other => other.to_string(),
    })?;
    let file =
        ModelFile { model, preprocessing, ids, labels, annotations, columns, program, training_checksum, has_checksum };
    check(&file).map(|()| file)
}

/// What must hold of every model file, before it is written and after it was read.
fn check(file: &ModelFile) -> Result<(), String> {
    let ModelFile { model, preprocessing, ids, labels, annotations, .. } = file;
    let (n, d) = (model.n_samples(), model.n_features());
    let expect = |what: &str, found: usize, expected: usize| match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: {found} instead of {expected}")),
    };
    expect("names of samples", ids.len(), n)?;
    labels.as_ref().map_or(Ok(()), |labels| expect("labels", labels.len(), n))?;
    annotations.iter().find_map(|annotation| annotation.problem(n)).map_or(Ok(()), Err)?;
    check_preprocessing(preprocessing, d)?;
    expect("names of features", preprocessing.output_count(), d)
}

fn check_preprocessing(fitted: &FittedPreprocessing, features: usize) -> Result<(), String> {
    let sound = |scale: &f64| scale.is_finite() && *scale > 0.0;
    let scales_fit = fitted.scales.as_ref().is_none_or(|scales| scales.len() == features && scales.iter().all(sound));
    let mut names: Vec<&String> = fitted.features.iter().collect();
    names.sort_unstable();
    let distinct = names.windows(2).all(|pair| pair[0] != pair[1]);
    let sound = scales_fit && distinct && fitted.check().is_ok();
    if sound { Ok(()) } else { Err("its preprocessing contradicts itself".into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_come_back_from_the_disk_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("model.safetensors");
        fs::write(&path, "what was meant").unwrap();
        let expected = Sha256::digest("what was meant");
        assert!(read_back(&path, &expected, "m").is_ok());
        fs::write(&path, "what was meanT").unwrap();
        let error = read_back(&path, &expected, "m").unwrap_err();
        assert!(matches!(error, Error::NotAsWritten { .. }) && error.to_string().contains("check the disk"), "{error}");
        fs::remove_file(&path).unwrap();
        assert!(read_back(&path, &expected, "m").is_err());
    }
}
