//! Data made from a seed.

use ewca_eval::EncodedLabels;
use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

/// Samples with their classes.
pub struct Synthetic {
    pub data: Vec<f64>,
    pub rows: usize,
    pub columns: usize,
    pub labels: EncodedLabels,
}

/// Normal numbers from a seed.
fn normals(seed: u64, stream: u64) -> impl FnMut() -> f64 {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    random.set_stream(stream);
    move || StandardNormal.sample(&mut random)
}

/// Gaussian clusters around `centres`, `each` samples a cluster, with the same standard deviations in all of them.
pub fn clusters(centres: &[Vec<f64>], deviations: &[f64], each: usize, seed: u64, stream: u64) -> Synthetic {
    let mut normal = normals(seed, stream);
    let columns = deviations.len();
    let mut data = Vec::with_capacity(centres.len() * each * columns);
    for centre in centres {
        for _ in 0..each {
            data.extend(centre.iter().zip(deviations).map(|(c, s)| c + s * normal()));
        }
    }
    let names: Vec<String> = (0..centres.len() * each).map(|i| format!("cluster {}", 1 + i / each)).collect();
    Synthetic { data, rows: names.len(), columns, labels: EncodedLabels::new(&names) }
}

/// A matrix in the shape of the breast data set (151 samples of 6 types x 54675 genes): types differ in their means, ten hidden
/// factors make genes move together, and the rest is noise.
pub fn expression(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    const TYPES: usize = 6;
    const FACTORS: usize = 10;
    let mut normal = normals(seed, 77);
    let factors: Vec<f64> = (0..rows * FACTORS).map(|_| normal()).collect();
    let loadings: Vec<f64> = (0..columns * FACTORS).map(|_| 0.3 * normal()).collect();
    let means: Vec<f64> = (0..columns * TYPES).map(|_| 0.5 * normal()).collect();
    let mut data = Vec::with_capacity(rows * columns);
    for i in 0..rows {
        for j in 0..columns {
            let (own, gene) = (&factors[i * FACTORS..][..FACTORS], &loadings[j * FACTORS..][..FACTORS]);
            let hidden: f64 = own.iter().zip(gene).map(|(f, l)| f * l).sum();
            data.push(means[j * TYPES + i % TYPES] + hidden + normal());
        }
    }
    data
}
