//! A kernel of which the first pass keeps what it computes, beside one that is computed in every pass: `kept-kernel` prints a table.
#![forbid(unsafe_code)]

use std::time::Instant;

use ewca::{KernelLayout, KernelOptions, Matrix};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

const DIMENSIONS: usize = 10;
const PASSES: usize = 6;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    println!("| n | kept | computed | computed / kept |\n|---|---|---|---|");
    for n in [250, 500, 1000, 2000, 4000, 8000, 12_000] {
        let noise = ChaCha8Rng::seed_from_u64(1).sample_iter::<f64, _>(StandardNormal);
        let points: Vec<f64> = noise.take(n * DIMENSIONS).collect();
        let points = Matrix::from_row_major(n, DIMENSIONS, &points)?;
        let u = vec![1.0 / n as f64; n];
        let right = Matrix::from_fn(n, DIMENSIONS + 1, |i, c| if c == 0 { u[i] } else { u[i] * points.get(i, c - 1) });
        let best = |kept_bytes: usize| {
            let options = KernelOptions { keep_far_pairs: true, kept_bytes, ..KernelOptions::default() };
            let mut layout = KernelLayout::new(&points, options);
            let subspace = |at: usize| {
                // Other points each time: what was kept does not serve.
                let clock = Instant::now();
                let kernel = layout.at(&points, 1.0 + 0.1 * at as f64);
                (0..PASSES).for_each(|_| drop(kernel.apply(&right, &u)));
                clock.elapsed().as_secs_f64()
            };
            (0..3).map(subspace).fold(f64::INFINITY, f64::min)
        };
        let (kept, computed) = (1e3 * best(1 << 30), 1e3 * best(0));
        println!("| {n} | {kept:.1} ms | {computed:.1} ms | {:.1} |", computed / kept);
    }
    Ok(())
}
