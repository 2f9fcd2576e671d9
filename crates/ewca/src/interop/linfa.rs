//! EWCA as an algorithm of [linfa](https://docs.rs/linfa) (feature `linfa`).
//!
//! [`EwcaParams`] has linfa's `Fit` for datasets, whose weights it heeds, and the [`EwcaModel`] that it makes has `Transformer`, for
//! arrays and for datasets. Both answer with a `Result`, since a new sample may be wrong.
//!
//! ```
//! use ewca::{Ewca, linfa::EwcaParams};
//! use linfa::DatasetBase;
//! use linfa::traits::{Fit, Transformer};
//! # use linfa_ndarray::array;
//! // use ndarray::array, of ndarray 0.16, which linfa has.
//!
//! let dataset = DatasetBase::from(array![[0.0, 0.1, 5.0], [0.2, 0.0, 1.0], [4.0, 4.1, 2.0], [4.2, 4.0, 4.0]]);
//! let model = EwcaParams::from(Ewca::params(1).epsilon(1.0)).fit(&dataset)?;
//! assert!(model.converged());
//! let reduced = model.transform(dataset)?;
//! assert_eq!(reduced.records.dim(), (4, 1));
//! # Ok::<(), ewca::linfa::Error>(())
//! ```

use std::borrow::Cow;
use std::ops::Deref;

use ::linfa::dataset::{DatasetBase, Float};
use ::linfa::traits::{Fit, Transformer};
use ::linfa_ndarray::{Array2, ArrayBase, Data, Ix2, ShapeBuilder};

use crate::fit::{Model, Params};
use crate::samples::{Samples, Scalar};

/// What may go wrong: in EWCA, or in linfa.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// EWCA refused the parameters or the data.
    #[error(transparent)]
    Ewca(#[from] crate::Error),
    /// linfa refused them.
    #[error(transparent)]
    Linfa(#[from] ::linfa::Error),
}

/// Parameters with linfa's `Fit`; made from [`Params`], which are checked when they are used.
#[derive(Debug, Clone, PartialEq)]
pub struct EwcaParams(Params);

impl From<Params> for EwcaParams {
    fn from(params: Params) -> Self {
        Self(params)
    }
}

/// A [`Model`] with linfa's `Transformer`.
#[derive(Debug, Clone)]
pub struct EwcaModel(Model);

impl EwcaModel {
    /// The model itself.
    #[must_use]
    pub fn into_inner(self) -> Model {
        self.0
    }
}

impl Deref for EwcaModel {
    type Target = Model;

    fn deref(&self) -> &Model {
        &self.0
    }
}

impl<F: Scalar + Float, D: Data<Elem = F>, T> Fit<ArrayBase<D, Ix2>, T, Error> for EwcaParams {
    type Object = EwcaModel;

    fn fit(&self, dataset: &DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<EwcaModel, Error> {
        let (rows, columns) = dataset.records.dim();
        let data = row_major(&dataset.records);
        let mut samples = Samples::new(&data, rows, columns)?;
        if !dataset.weights.is_empty() {
            samples = samples.with_weights(&dataset.weights.iter().map(|&w| w.into()).collect::<Vec<f64>>())?;
        }
        Ok(EwcaModel(self.0.clone().fit(&samples)?))
    }
}

/// The scores of new samples.
impl<F: Scalar + Float, D: Data<Elem = F>> Transformer<&ArrayBase<D, Ix2>, Result<Array2<f64>, Error>> for EwcaModel {
    fn transform(&self, records: &ArrayBase<D, Ix2>) -> Result<Array2<f64>, Error> {
        let scores = self.0.transform(&row_major(records), records.nrows())?;
        let shape = (scores.rows(), scores.columns()).f();
        Ok(Array2::from_shape_vec(shape, scores.into_column_major()).map_err(::linfa::Error::from)?)
    }
}

/// The scores in place of the records; targets and weights stay.
impl<F: Scalar + Float, D: Data<Elem = F>, T>
    Transformer<DatasetBase<ArrayBase<D, Ix2>, T>, Result<DatasetBase<Array2<f64>, T>, Error>> for EwcaModel
{
    fn transform(&self, dataset: DatasetBase<ArrayBase<D, Ix2>, T>) -> Result<DatasetBase<Array2<f64>, T>, Error> {
        let scores = self.transform(&dataset.records)?;
        let DatasetBase { targets, weights, .. } = dataset;
        Ok(DatasetBase::new(scores, targets).with_weights(weights))
    }
}

/// The values row after row, copied where they are not so.
fn row_major<F: Scalar, D: Data<Elem = F>>(records: &ArrayBase<D, Ix2>) -> Cow<'_, [F]> {
    records.as_slice().map_or_else(|| Cow::Owned(records.iter().copied().collect()), Cow::Borrowed)
}
