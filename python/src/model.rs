//! Fitted models.

use std::path::PathBuf;

use ewca::{Matrix, Model};
use ewca_io::{
    Annotation, Checksum, DenseValues, FittedPreprocessing, ModelFile, Preprocessing, RoleColumns, SparseValues, Table,
    Values,
};
use numpy::{IntoPyArray, PyArray1, PyArray2, PyReadonlyArray2};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use crate::arrays::{by_rows, transposed, vector};
use crate::data::{self, Lines, Rows, matrix};
use crate::error::{file_error, fit_error};
use crate::plan::PyPlan;
use crate::run::detached;

/// A fit, with what a model file holds beside it.
#[pyclass(frozen, name = "Model", module = "ewca._ewca")]
pub struct PyModel {
    model: Model,
    /// What came with a model that was loaded. A fit of arrays has none of it.
    origin: Option<Origin>,
}

#[derive(Clone)]
struct Origin {
    preprocessing: FittedPreprocessing,
    ids: Vec<String>,
    labels: Option<Vec<String>>,
    annotations: Vec<Annotation>,
    columns: RoleColumns,
    program: String,
    training_checksum: u64,
}

impl PyModel {
    pub fn new(model: Model) -> Self {
        Self { model, origin: None }
    }

    /// The steps before the fit, where there are any.
    fn steps(&self) -> Option<&FittedPreprocessing> {
        self.origin.as_ref().map(|origin| &origin.preprocessing).filter(|steps| !steps.steps.is_nothing())
    }

    /// What goes into a model file. Given names of features replace those that nobody gave.
    fn file(&self, features: Option<Vec<String>>) -> PyResult<ModelFile> {
        let mut origin = self.origin.clone().unwrap_or_else(|| self.no_origin());
        if let (Some(names), None) = (features, self.steps()) {
            let mut sorted: Vec<&String> = names.iter().collect();
            sorted.sort_unstable();
            if let Some(pair) = sorted.windows(2).find(|pair| pair[0] == pair[1]) {
                return Err(PyValueError::new_err(format!("two features are named {:?}: rename one", pair[0])));
            }
            origin.preprocessing.features = names;
        }
        let Origin { preprocessing, ids, labels, annotations, columns, program, training_checksum } = origin;
        let (model, has_checksum) = (self.model.clone(), true);
        Ok(ModelFile {
            model,
            preprocessing,
            ids,
            labels,
            annotations,
            columns,
            program,
            training_checksum,
            has_checksum,
        })
    }

    /// What is said of a fit of arrays: samples and features are named as the program names those without names.
    fn no_origin(&self) -> Origin {
        let features = numbered("column", self.model.n_features());
        Origin {
            preprocessing: FittedPreprocessing {
                steps: Preprocessing::default(),
                features,
                kept: None,
                scales: None,
                means: None,
            },
            ids: numbered("", self.model.n_samples()),
            labels: None,
            annotations: Vec::new(),
            columns: RoleColumns::default(),
            program: env!("CARGO_PKG_VERSION").into(),
            training_checksum: 0,
        }
    }
}

fn numbered(stem: &str, count: usize) -> Vec<String> {
    (1..=count).map(|number| format!("{stem}{number}")).collect()
}

impl From<ModelFile> for PyModel {
    fn from(file: ModelFile) -> Self {
        let ModelFile { model, preprocessing, ids, labels, annotations, columns, program, training_checksum, .. } =
            file;
        let origin = Origin { preprocessing, ids, labels, annotations, columns, program, training_checksum };
        Self { model, origin: Some(origin) }
    }
}

/// What pickle keeps: the function that reads a model again, and its arguments.
type Reduced<'py> = (Bound<'py, PyAny>, (Bound<'py, PyBytes>, u64));

#[pymethods]
impl PyModel {
    /// k x d, as scikit-learn has it.
    #[getter]
    fn components<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        transposed(py, self.model.components())
    }

    #[getter]
    fn mean<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.model.mean())
    }

    #[getter]
    fn scores<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        by_rows(py, self.model.scores())
    }

    #[getter]
    fn weights<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.model.weights())
    }

    #[getter]
    fn potential<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.model.potential())
    }

    #[getter]
    fn explained_variance<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.model.explained_variance())
    }

    #[getter]
    fn explained_variance_ratio<'py>(&self, py: Python<'py>) -> Bound<'py, PyArray1<f64>> {
        vector(py, self.model.explained_variance_ratio())
    }

    #[getter]
    fn epsilon(&self) -> f64 {
        self.model.epsilon()
    }

    #[getter]
    fn perplexity(&self) -> f64 {
        self.model.perplexity().overall
    }

    #[getter]
    fn loss(&self) -> f64 {
        self.model.loss()
    }

    #[getter]
    fn rank(&self) -> usize {
        self.model.rank()
    }

    #[getter]
    fn distance_to_pca(&self) -> f64 {
        self.model.distance_to_pca()
    }

    #[getter]
    fn n_iter(&self) -> usize {
        self.model.iterations()
    }

    #[getter]
    fn solver(&self) -> &'static str {
        self.model.solver().name()
    }

    #[getter]
    fn n_components(&self) -> usize {
        self.model.n_components()
    }

    /// How many features a table must have; with preprocessing more than the components have.
    #[getter]
    fn n_features(&self) -> usize {
        self.steps().map_or(self.model.n_features(), |steps| steps.features.len())
    }

    /// How many samples the weights stand for.
    #[getter]
    fn count(&self) -> f64 {
        self.model.sample_count()
    }

    #[getter]
    fn n_samples(&self) -> usize {
        self.model.n_samples()
    }

    /// The names of the features, where somebody gave them.
    #[getter]
    fn feature_names(&self) -> Option<&[String]> {
        let names = &self.origin.as_ref()?.preprocessing.features;
        (*names != numbered("column", names.len())).then_some(names)
    }

    /// The steps before the fit, in words, where there are any.
    #[getter]
    fn preprocessing(&self) -> Option<String> {
        let steps = &self.steps()?.steps;
        let mut words = Vec::new();
        words.extend(steps.normalize_total.map(|total| format!("normalize_total={total}")));
        words.extend(steps.log1p.then(|| "log1p".to_string()));
        words.extend(steps.top_variable.map(|count| format!("top_variable={count}")));
        words.extend(steps.unit_variance.then(|| "unit_variance".to_string()));
        Some(words.join(", "))
    }

    #[getter]
    fn certificate<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let certificate = self.model.certificate();
        let words = PyDict::new(py);
        words.set_item("converged", self.model.converged())?;
        words.set_item("termination", self.model.termination().name())?;
        words.set_item("marginal_error", certificate.marginal_error)?;
        words.set_item("duality_gap", certificate.duality_gap)?;
        words.set_item("relative_gradient", certificate.relative_gradient)?;
        words.set_item("residuals", vector(py, &certificate.residuals))?;
        words.set_item("rounding", vector(py, &certificate.rounding))?;
        words.set_item("angles", vector(py, &certificate.angles))?;
        words.set_item("eigen_deficit", certificate.eigen_deficit)?;
        words.set_item("skipped_mass", certificate.skipped_mass)?;
        words.set_item("omitted_variance", certificate.omitted_variance)?;
        words.set_item("eigenvalues", vector(py, &certificate.eigenvalues))?;
        words.set_item("next_eigenvalue", certificate.next_eigenvalue)?;
        words.set_item("collapsed", certificate.collapsed)?;
        let approximation = certificate.approximation.map(|near| {
            let words = PyDict::new(py);
            words.set_item("landmarks", near.landmarks)?;
            words.set_item("rows", near.rows)?;
            words.set_item("marginal_error", near.marginal_error)?;
            words.set_item("worst_row", near.worst_row)?;
            words.set_item("relative_gradient", near.relative_gradient)?;
            PyResult::Ok(words)
        });
        words.set_item("approximation", approximation.transpose()?)?;
        let findings =
            serde_json::to_string(&self.model.findings()).map_err(|e| PyRuntimeError::new_err(e.to_string()))?;
        words.set_item("findings", findings)?;
        Ok(words)
    }

    #[getter]
    fn history<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let history = self.model.history();
        let columns = PyDict::new(py);
        let count = |values: Vec<i64>| values.into_pyarray(py);
        columns.set_item("attempt", count(history.iter().map(|it| it.attempt as i64).collect()))?;
        columns.set_item("iteration", count(history.iter().map(|it| it.iteration as i64).collect()))?;
        let number = |values: Vec<f64>| values.into_pyarray(py);
        columns.set_item("epsilon", number(history.iter().map(|it| it.epsilon).collect()))?;
        columns.set_item("loss", number(history.iter().map(|it| it.loss).collect()))?;
        columns.set_item("relative_gradient", number(history.iter().map(|it| it.relative_gradient).collect()))?;
        columns.set_item("marginal_error", number(history.iter().map(|it| it.marginal_error).collect()))?;
        columns.set_item("kernel_passes", count(history.iter().map(|it| it.kernel_passes as i64).collect()))?;
        Ok(columns)
    }

    fn transform<'py>(&self, py: Python<'py>, table: data::Table<'py>) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let values = table.values()?;
        let scores = detached(py, None, || match self.steps() {
            Some(steps) => {
                let done = steps.apply(owned(values, &steps.features), "X").map_err(file_error)?;
                match &done.values {
                    Values::Dense(x) => self.model.transform(&x.data, x.rows),
                    Values::Sparse(x) => self.model.transform_sparse(&x.offsets, &x.indices, &x.values),
                }
                .map_err(fit_error)
            }
            None => match values {
                data::TableView::Dense64(x) => x.scores(&self.model),
                data::TableView::Dense32(x) => x.scores(&self.model),
                data::TableView::Sparse64(x) => self.model.transform_sparse(x.offsets, x.positions, x.values),
                data::TableView::Sparse32(x) => self.model.transform_sparse(x.offsets, x.positions, x.values),
            }
            .map_err(fit_error),
        })??;
        by_rows(py, &scores)
    }

    fn inverse_transform<'py>(
        &self,
        py: Python<'py>,
        scores: PyReadonlyArray2<'_, f64>,
    ) -> PyResult<Bound<'py, PyArray2<f64>>> {
        let scores = matrix(&scores);
        let samples: Matrix = detached(py, None, || self.model.inverse_transform(&scores))?.map_err(fit_error)?;
        by_rows(py, &samples)
    }

    fn plan(&self) -> PyPlan {
        let certificate = self.model.certificate();
        // The plan is that of the exact kernel.
        let marginal_error = certificate.approximation.map_or(certificate.marginal_error, |near| near.marginal_error);
        PyPlan { plan: self.model.plan(), marginal_error }
    }

    #[pyo3(signature = (path, features=None))]
    fn save(&self, py: Python<'_>, path: PathBuf, features: Option<Vec<String>>) -> PyResult<()> {
        let file = self.file(features)?;
        py.detach(|| ewca_io::write_model(&path, &file)).map_err(file_error)
    }

    #[staticmethod]
    fn load(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        py.detach(|| ewca_io::read_model(&path)).map(Self::from).map_err(file_error)
    }

    /// The bytes of a model file.
    #[pyo3(signature = (features=None))]
    fn to_bytes<'py>(&self, py: Python<'py>, features: Option<Vec<String>>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &ewca_io::model_bytes(&self.file(features)?).map_err(file_error)?))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        ewca_io::read_model_bytes(bytes, "the saved model").map(Self::from).map_err(file_error)
    }

    /// A pickle holds the bytes of the model file and their checksum.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<Reduced<'py>> {
        let bytes = self.to_bytes(py, None)?;
        let sum = Checksum::of(bytes.as_bytes());
        Ok((py.get_type::<Self>().getattr("_unpickled")?, (bytes, sum)))
    }

    #[staticmethod]
    fn _unpickled(bytes: &[u8], sum: u64) -> PyResult<Self> {
        match Checksum::of(bytes) == sum {
            true => Self::from_bytes(bytes),
            false => Err(PyValueError::new_err("the pickled model is damaged: its checksum differs")),
        }
    }
}

/// A copy for the steps to work on.
fn owned(values: data::TableView<'_>, features: &[String]) -> Table {
    fn dense<T: Copy + Into<f64>>(x: Lines<'_, T>) -> Values {
        let Lines { data, rows, columns, row_stride, column_stride } = x;
        let row = |i: usize| (0..columns).map(move |j| data[i * row_stride + j * column_stride].into());
        Values::Dense(DenseValues { rows, columns, data: (0..rows).flat_map(row).collect() })
    }
    fn sparse<T: Copy + Into<f64>>(x: Rows<'_, T>) -> Values {
        Values::Sparse(SparseValues {
            columns: x.columns,
            offsets: x.offsets.to_vec(),
            indices: x.positions.to_vec(),
            values: x.values.iter().map(|&x| x.into()).collect(),
        })
    }
    let values = match values {
        data::TableView::Dense64(x) => dense(x),
        data::TableView::Dense32(x) => dense(x),
        data::TableView::Sparse64(x) => sparse(x),
        data::TableView::Sparse32(x) => sparse(x),
    };
    Table::new(values, features.to_vec())
}
