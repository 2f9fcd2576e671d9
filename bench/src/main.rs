//! Times whole fits of a raw matrix, in process: `ewca-bench FILE ROWS COLUMNS K epsilon|perplexity VALUE REPEATS [TOLERANCE]`.
//!
//! FILE holds little-endian f64, row after row. Prints one JSON object. `compare.py` calls it next to its peers.
#![forbid(unsafe_code)]

use std::time::Instant;

use ewca::{Ewca, Samples};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, rows, columns, k, knob, value, repeats, rest @ ..] = words.as_slice() else {
        return Err("usage: ewca-bench FILE ROWS COLUMNS K epsilon|perplexity VALUE REPEATS [TOLERANCE]".into());
    };
    let tolerance: f64 = rest.first().map_or(Ok(1e-6), |t| t.parse())?;
    let bytes = std::fs::read(file)?;
    let data: Vec<f64> = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
    drop(bytes);
    let (rows, columns, value) = (rows.parse()?, columns.parse()?, value.parse()?);
    let mut params = Ewca::params(k.parse()?).tolerance(tolerance);
    params = if knob == "epsilon" { params.epsilon(value) } else { params.perplexity(value) };
    let mut seconds = Vec::new();
    let mut last = None;
    for _ in 0..repeats.parse()? {
        let clock = Instant::now();
        let model = params.clone().fit(&Samples::new(&data, rows, columns)?)?;
        seconds.push(clock.elapsed().as_secs_f64());
        last = Some(model);
    }
    let Some(model) = last else { return Err("REPEATS must be at least 1".into()) };
    let summary = serde_json::json!({
        "seconds": seconds,
        "loss": model.loss(),
        "epsilon": model.epsilon(),
        "perplexity": model.perplexity().overall,
        "iterations": model.iterations(),
        "kernel_passes": model.kernel_passes(),
        "relative_gradient": model.certificate().relative_gradient,
        "termination": model.termination().name(),
        "reduction": model.timings().reduction.as_secs_f64(),
        "iterating": model.timings().iterations.as_secs_f64(),
        "finish": model.timings().finish.as_secs_f64(),
    });
    println!("{summary}");
    Ok(())
}
