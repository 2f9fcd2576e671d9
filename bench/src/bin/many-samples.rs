//! A whole fit of many samples in clusters: `many-samples N D K PERPLEXITY CLUSTERS SKIP(0/1) COARSE(0/1) [LANDMARKS]` prints one
//! JSON object. With landmarks the kernel is approximate.
//!
//! Samples lie around centres that differ in 12 directions (standard deviation 4 each), with noise of standard deviation 1 in all D.
#![forbid(unsafe_code)]

use std::time::Instant;

use ewca::{Ewca, Samples};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let ([n, d, k, perplexity, clusters, skip, coarse], landmarks) = match words.split_first_chunk::<7>() {
        Some((first, [])) => (first, None),
        Some((first, [landmarks])) => (first, Some(landmarks)),
        _ => return Err("usage: many-samples N D K PERPLEXITY CLUSTERS SKIP(0/1) COARSE(0/1) [LANDMARKS]".into()),
    };
    let (n, d, clusters): (usize, usize, usize) = (n.parse()?, d.parse()?, clusters.parse()?);
    let mut noise = ChaCha8Rng::seed_from_u64(1).sample_iter::<f64, _>(StandardNormal);
    let mut next = || noise.next().unwrap_or_default();
    let directions: Vec<f64> = (0..12 * d).map(|_| next() / (d as f64).sqrt()).collect();
    let centres: Vec<Vec<f64>> = (0..clusters)
        .map(|_| {
            let at: Vec<f64> = (0..12).map(|_| 4.0 * next()).collect();
            (0..d).map(|j| (0..12).map(|l| at[l] * directions[l * d + j]).sum()).collect()
        })
        .collect();
    let data: Vec<f64> = (0..n * d).map(|at| centres[at / d % clusters][at % d] + next()).collect();
    let mut params = Ewca::params(k.parse()?).perplexity(perplexity.parse()?);
    if let Some(landmarks) = landmarks {
        params = params.landmarks(landmarks.parse()?);
    }
    let clock = Instant::now();
    let model = params.skip_far_pairs(skip == "1").coarse_to_fine(coarse == "1").fit(&Samples::new(&data, n, d)?)?;
    let seconds = clock.elapsed().as_secs_f64();
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap_or("").trim().to_string();
    let certificate = model.certificate();
    let summary = serde_json::json!({
        "n": n, "d": d, "k": model.n_components(), "seconds": seconds, "peak": peak,
        "termination": model.termination().name(),
        "epsilon": model.epsilon(), "perplexity": model.perplexity().overall, "loss": model.loss(),
        "iterations": model.iterations(), "kernel_passes": model.kernel_passes(), "kernel_share": model.kernel_share(),
        "marginal_error": certificate.marginal_error, "duality_gap": certificate.duality_gap,
        "relative_gradient": certificate.relative_gradient, "eigen_deficit": certificate.eigen_deficit,
        "skipped_mass": certificate.skipped_mass, "approximation": certificate.approximation,
        "reduction": model.timings().reduction.as_secs_f64(),
        "iterating": model.timings().iterations.as_secs_f64(),
        "finish": model.timings().finish.as_secs_f64(),
    });
    println!("{summary}");
    Ok(())
}
