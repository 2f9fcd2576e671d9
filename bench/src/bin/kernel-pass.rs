//! One pass over the Gaussian kernel: `kernel-pass POINTS DIMENSIONS COLUMNS SINGLE REPEATS < scores.f64` prints JSON with seconds of
//! each repeat, the row sums' checksum, the vectors that were used and the machine's peak. Scores come as little-endian f64, row by row.

use std::io::Read;
use std::time::Instant;

use ewca::{Accuracy, KernelLayout, KernelOptions, Matrix, Peak, Simd};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<usize> = std::env::args().skip(1).map(|word| word.parse()).collect::<Result<_, _>>()?;
    let [points, dimensions, columns, single, repeats] = words[..] else {
        return Err("usage: kernel-pass POINTS DIMENSIONS COLUMNS SINGLE(0/1) REPEATS < scores.f64".into());
    };
    let mut bytes = vec![0; points * dimensions * 8];
    std::io::stdin().read_exact(&mut bytes)?;
    let values: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|x| f64::from_le_bytes(*x)).collect();
    let scores = Matrix::from_row_major(points, dimensions, &values)?;
    let all = KernelOptions { keep_far_pairs: true, ..KernelOptions::default() };
    let mut layout = KernelLayout::new(&scores, all);
    let kernel = layout.with_accuracy(&scores, 1.0, Accuracy { single: single == 1, ..Accuracy::default() });
    // [u, u Z]: what a fit asks of a pass.
    let u = vec![1.0 / points as f64; points];
    let right =
        Matrix::from_fn(points, columns, |i, c| u[i] * if c == 0 { 1.0 } else { scores.get(i, (c - 1) % dimensions) });
    let mut seconds = Vec::new();
    let mut sum = 0.0;
    for _ in 0..repeats {
        let clock = Instant::now();
        let sums = kernel.apply(&right, &u);
        seconds.push(clock.elapsed().as_secs_f64());
        sum = sums.column(0).iter().sum();
    }
    // All cores at once, as in a pass.
    let threads = std::thread::available_parallelism()?.get();
    let peaks: Vec<Peak> = std::thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(|| Peak::measure(single == 1))).collect();
        running.into_iter().filter_map(|thread| thread.join().ok()).collect()
    });
    let multiply_adds: f64 = peaks.iter().map(|peak| peak.multiply_adds).sum();
    let exponentials: f64 = peaks.iter().map(|peak| peak.exponentials).sum();
    let simd = Simd::chosen().map_or("none", Simd::name);
    println!(
        "{}",
        serde_json::json!({
            "seconds": seconds, "sum": sum, "simd": simd, "multiply_adds": multiply_adds, "exponentials": exponentials
        })
    );
    Ok(())
}
