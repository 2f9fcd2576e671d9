//! Small data for unit tests, and what they share with the tests of whole fits.

use std::sync::{Arc, Barrier, Mutex};

use rand::SeedableRng;
use rand_chacha::ChaCha8Rng;
use rand_distr::{Distribution, StandardNormal};

use crate::Team;

/// The checker of whole fits, by plain loops: one for all tests.
#[path = "../tests/suite/common.rs"]
#[allow(dead_code)]
pub(crate) mod suite;

/// Row-major standard normal data; column j is multiplied by 1 / (1 + j / 4).
pub(crate) fn gaussian(rows: usize, columns: usize, seed: u64) -> Vec<f64> {
    let mut random = ChaCha8Rng::seed_from_u64(seed);
    let normal = |random: &mut ChaCha8Rng| -> f64 { StandardNormal.sample(random) };
    (0..rows * columns).map(|i| normal(&mut random) / (1.0 + (i % columns) as f64 / 4.0)).collect()
}

/// Samples in four groups, row-major: off the origin, in units in which the largest deviation is far from 1.
pub(crate) fn groups(rows: usize, columns: usize) -> Vec<f64> {
    let noise = gaussian(rows, columns, 77);
    let centre = |i: usize, j: usize| 2.0 * (i % 4) as f64 * (1.0 + j as f64).cos();
    noise.iter().enumerate().map(|(at, x)| 5.0 * (x + centre(at / columns, at % columns)) + 3.0).collect()
}

/// What each of two processes gives to either.
type Given = [Vec<Vec<f64>>; 2];

/// Two threads that stand for processes, and leave their numbers on a common board.
#[derive(Debug)]
pub(crate) struct Two {
    rank: usize,
    board: Arc<(Barrier, Mutex<Given>)>,
}

impl Two {
    /// The one and the other.
    pub fn pair() -> [Arc<Self>; 2] {
        let board = Arc::new((Barrier::new(2), Mutex::default()));
        [0, 1].map(|rank| Arc::new(Self { rank, board: board.clone() }))
    }
}

impl Team for Two {
    fn rank(&self) -> usize {
        self.rank
    }
    fn size(&self) -> usize {
        2
    }
    fn gather(&self, own: &[f64]) -> Vec<Vec<f64>> {
        self.exchange(&[own, own])
    }
    fn exchange(&self, parts: &[&[f64]]) -> Vec<Vec<f64>> {
        let (barrier, numbers) = &*self.board;
        numbers.lock().unwrap()[self.rank] = parts.iter().map(|part| part.to_vec()).collect();
        barrier.wait();
        let own = numbers.lock().unwrap().iter().map(|from| from[self.rank].clone()).collect();
        barrier.wait();
        own
    }
}
