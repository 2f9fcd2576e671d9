//! How large the numbers are, and that they are numbers.

use std::ops::Range;

use super::Scalar;
use crate::error::{Error, Result};
use crate::parallel;

/// Squares of magnitudes beyond these leave the range of f64 once they are summed or multiplied by one another.
const MAGNITUDES: Range<f64> = 1e-140..1e140;

/// Refuses data whose squares leave the range of f64.
pub(super) fn check_range(magnitude: f64) -> Result<()> {
    if magnitude == 0.0 || MAGNITUDES.contains(&magnitude) { Ok(()) } else { Err(Error::Range { magnitude }) }
}

/// The largest magnitude of `values`; an error if one is not finite, with its `place` (row and column).
pub(super) fn magnitude<T: Scalar>(values: &[T], place: impl Fn(usize) -> (usize, usize)) -> Result<f64> {
    largest_magnitude(values).ok_or_else(|| {
        let entry = values.iter().position(|&x| !x.into().is_finite()).unwrap_or(0);
        let (row, column) = place(entry);
        Error::NotFinite { row, column, value: values[entry].into() }
    })
}

/// The largest magnitude, or none if a value is not finite.
pub(super) fn largest_magnitude<T: Scalar>(values: &[T]) -> Option<f64> {
    let parts = parallel::map(&parallel::blocks(values.len(), 1 << 18), values.len(), |block| {
        // A NaN fails every comparison, so `not (|x| <= max)` catches it; no branch, so that the loop vectorises.
        let mut finite = true;
        let mut lanes = [0.0f64; 8];
        for chunk in values[block].chunks(8) {
            for (lane, &x) in lanes.iter_mut().zip(chunk) {
                let size = x.into().abs();
                finite &= size <= f64::MAX;
                *lane = if size > *lane { size } else { *lane };
            }
        }
        finite.then(|| lanes.into_iter().fold(0.0, f64::max))
    });
    parts.into_iter().try_fold(0.0f64, |a, b| b.map(|b| a.max(b)))
}
