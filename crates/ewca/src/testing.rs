//! Small data for unit tests.

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Row-major standard normal data; column j is multiplied by 1 / (1 + j / 4).
pub(crate) fn gaussian(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let normal = |random: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(random) };
    (0..rows * columns).map(|i| normal(&mut random) / (1.0 + (i % columns) as f64 / 4.0)).collect()
}
