//! What is measured of points with classes, once per split.

use ewca::Matrix;
use ewca_eval::{KMeans, Neighbours, Split, adjusted_rand_index, silhouette};
use rayon::prelude::*;
use serde::Serialize;

use super::mean;

/// Starts of k-means.
const STARTS: usize = 10;

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The error of the nearest neighbour, in percent: the train half knows, the test half asks.
    Error,
    /// The adjusted Rand index of k-means in the test half, with as many clusters as classes, times 100.
    Ari,
    /// The mean silhouette of the classes in the test half, times 100.
    Silhouette,
}

impl Measure {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Error, Self::Ari, Self::Silhouette];

    /// The name in tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Ari => "ari",
            Self::Silhouette => "silhouette",
        }
    }

    /// The name in headings.
    pub fn title(self) -> &'static str {
        match self {
            Self::Error => "Error of the nearest neighbour (%)",
            Self::Ari => "Adjusted Rand index of k-means (%)",
            Self::Silhouette => "Silhouette of the classes (%)",
        }
    }

    /// 1 where more is better, -1 where less is.
    pub fn sign(self) -> f64 {
        if self == Self::Error { -1.0 } else { 1.0 }
    }
}

/// One value per split, of each measure.
#[derive(Debug, Clone)]
pub struct Measured([Vec<f64>; 3]);

impl Measured {
    /// Measures the rows of `points`.
    pub fn new(points: &Matrix, neighbours: &Neighbours, splits: &[Split], classes: &[usize], seed: u64) -> Self {
        let values: Vec<[f64; 3]> = splits
            .par_iter()
            .map(|split| {
                let half = Matrix::from_fn(split.test.len(), points.columns(), |i, j| points.get(split.test[i], j));
                let truth: Vec<usize> = split.test.iter().map(|&i| classes[i]).collect();
                let count = truth.iter().max().map_or(0, |m| m + 1);
                let errors = neighbours.errors(&split.train, &split.test, classes);
                let found = KMeans::new(&half, count, STARTS, seed);
                [
                    100.0 * errors as f64 / split.test.len() as f64,
                    100.0 * adjusted_rand_index(&found.clusters, &truth),
                    100.0 * silhouette(&half, &truth),
                ]
            })
            .collect();
        Self([0, 1, 2].map(|m| values.iter().map(|v| v[m]).collect()))
    }

    /// From what each split chose among `candidates`.
    pub fn picked(candidates: &[&Self], picks: &[usize]) -> Self {
        Self([0, 1, 2].map(|m| picks.iter().enumerate().map(|(split, &pick)| candidates[pick].0[m][split]).collect()))
    }

    /// The values of one measure.
    pub fn of(&self, measure: Measure) -> &[f64] {
        &self.0[measure as usize]
    }

    /// The mean of one measure.
    pub fn mean(&self, measure: Measure) -> f64 {
        mean(self.of(measure))
    }
}

/// A mean over splits with its 95% interval.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// The mean.
    pub mean: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}

impl Estimate {
    /// Splits share samples, so that their spread alone makes the mean look too sure: the variance of the mean of J half-half
    /// splits is s^2 (1/J + 1), after Nadeau and Bengio (2003).
    pub fn of(values: &[f64]) -> Self {
        let n = values.len() as f64;
        let mean = mean(values);
        let variance = values.iter().map(|v| (v - mean) * (v - mean)).sum::<f64>() / (n - 1.0).max(1.0);
        let half = 1.96 * (variance * (1.0 / n + 1.0)).sqrt();
        Self { mean, low: mean - half, high: mean + half }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_allow_for_shared_samples() {
        let estimate = Estimate::of(&[1.0, 3.0]);
        // Variance 2, times 1/2 + 1.
        let half = 1.96 * 3f64.sqrt();
        assert!((estimate.mean - 2.0).abs() < 1e-15 && (estimate.high - 2.0 - half).abs() < 1e-12);
        assert!((estimate.low - 2.0 + half).abs() < 1e-12);
    }
}
