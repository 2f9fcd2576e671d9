//! A kernel that is stored once per subspace beside one that is computed in every pass: `stored-kernel` prints a table.
#![forbid(unsafe_code)]

use std::time::Instant;

use ewca::{KernelLayout, KernelOptions, Matrix};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

const DIMENSIONS: usize = 10;
const PASSES: usize = 6;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("| n | stored | memory | computed | computed / stored |\n|---|---|---|---|---|");
    for n in [250, 500, 1000, 2000, 4000, 8000, 12_000] {
        let noise = ChaCha8Rng::seed_from_u64(1).sample_iter::<f64, _>(StandardNormal);
        let points: Vec<f64> = noise.take(n * DIMENSIONS).collect();
        let points = Matrix::from_row_major(n, DIMENSIONS, &points)?;
        let u = vec![1.0 / n as f64; n];
        let right = Matrix::from_fn(n, DIMENSIONS + 1, |i, c| if c == 0 { u[i] } else { u[i] * points.get(i, c - 1) });
        let best = |store: bool| {
            let options = KernelOptions { store, keep_far_pairs: true, ..KernelOptions::default() };
            let mut layout = KernelLayout::new(&points, options);
            let subspace = |at: usize| {
                // Other points each time: what was stored does not serve.
                let clock = Instant::now();
                let kernel = layout.at(&points, 1.0 + 0.1 * at as f64);
                (0..PASSES).for_each(|_| drop(kernel.apply(&right, &u)));
                clock.elapsed().as_secs_f64()
            };
            (0..3).map(subspace).fold(f64::INFINITY, f64::min)
        };
        let (stored, computed) = (best(true), best(false));
        let memory = KernelLayout::bytes(n, DIMENSIONS, true) >> 20;
        let (a, b) = (1e3 * stored, 1e3 * computed);
        println!("| {n} | {a:.1} ms | {memory} MiB | {b:.1} ms | {:.1} |", b / a);
    }
    Ok(())
}
