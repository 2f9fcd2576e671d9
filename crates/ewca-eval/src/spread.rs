//! Mean and quartiles.

use serde::Serialize;

/// How an error (in percent) varies over the splits.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The lower quartile.
    pub q1: f64,
    /// The median.
    pub median: f64,
    /// The upper quartile.
    pub q3: f64,
}

impl Spread {
    /// Mean and quartiles (interpolated between order statistics).
    pub fn of(values: &[f64]) -> Self {
        let mut sorted = values.to_vec();
        sorted.sort_by(f64::total_cmp);
        let quantile = |p: f64| quantile(&sorted, p);
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        Self { mean, q1: quantile(0.25), median: quantile(0.5), q3: quantile(0.75) }
    }
}

/// A quantile of ascending values, interpolated between them.
pub(crate) fn quantile(sorted: &[f64], part: f64) -> f64 {
    let at = part * (sorted.len() - 1) as f64;
    let (low, high) = (sorted[at.floor() as usize], sorted[at.ceil() as usize]);
    low + (at - at.floor()) * (high - low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quartiles_interpolate() {
        let spread = Spread::of(&[4.0, 1.0, 2.0, 3.0]);
        assert_eq!((spread.mean, spread.q1, spread.median, spread.q3), (2.5, 1.75, 2.5, 3.25));
    }
}
