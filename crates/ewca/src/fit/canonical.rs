//! The canonical form of a subspace: uncorrelated scores in the order of their variances, and signs that do not depend on the way there.

use crate::error::Result;
use crate::matrix::Matrix;
use crate::samples::{Data, Span};
use crate::subspace::{Orthonormalisation, canonical_signs, polar_correction, principal_rotation};

/// A subspace in canonical form, in the data's own features.
pub(super) struct Canonical {
    pub components: Matrix,
    pub scores: Matrix,
    /// Of the scores, with weights that sum to 1.
    pub variances: Vec<f64>,
    /// What turns the frame into its canonical form.
    pub turn: Matrix,
}

/// The canonical form of the subspace of `frame`.
pub(super) fn canonical(samples: &Data<'_>, span: &Span<'_>, frame: &Matrix) -> Result<Canonical> {
    let (mut loadings, mut scores) = span.loadings(samples, frame)?;
    match polar_correction(&loadings)? {
        Some(correction) => (loadings, scores) = (loadings.times(&correction), scores.times(&correction)),
        None => {
            // Directions that the squaring of the data has blurred.
            loadings = Orthonormalisation::Qr.of(&loadings)?;
            scores = samples.project(samples.mean(), &loadings)?;
        }
    }
    let (variances, mut turn) = principal_rotation(&scores, samples.weights())?;
    let mut components = loadings.times(&turn);
    let signs = canonical_signs(&components);
    components.scale_columns(&signs);
    turn.scale_columns(&signs);
    Ok(Canonical { components, scores: scores.times(&turn), variances, turn })
}
