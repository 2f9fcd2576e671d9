//! Times whole fits of a raw matrix, in process: `ewca-bench DATA ROWS COLUMNS K epsilon|perplexity VALUE REPEATS [TOLERANCE]`.
//!
//! DATA is a file of little-endian f64, row after row; or, for a sparse matrix, a folder with the files `offsets` (u64, where each row
//! begins), `positions` (u32, columns) and `values` (f64). Prints one JSON object. `compare.py` and `price.py` call it next to peers.
#![forbid(unsafe_code)]

use std::path::Path;
use std::time::Instant;

use ewca::{Ewca, Model, Params, Samples, Simd};

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> Result<()> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [data, rows, columns, k, knob, value, repeats, rest @ ..] = words.as_slice() else {
        return Err("usage: ewca-bench DATA ROWS COLUMNS K epsilon|perplexity VALUE REPEATS [TOLERANCE]".into());
    };
    let tolerance: f64 = rest.first().map_or(Ok(1e-6), |t| t.parse())?;
    let (rows, columns, value) = (rows.parse()?, columns.parse()?, value.parse()?);
    let params = Ewca::params(k.parse()?).tolerance(tolerance);
    let params = if knob == "epsilon" { params.epsilon(value) } else { params.perplexity(value) };
    let (data, repeats) = (Path::new(data), repeats.parse()?);
    if data.is_dir() {
        let offsets = numbers(&data.join("offsets"), |bytes| u64::from_le_bytes(bytes) as usize)?;
        let positions = numbers(&data.join("positions"), u32::from_le_bytes)?;
        let values = numbers(&data.join("values"), f64::from_le_bytes)?;
        report(&params, repeats, || Ok(Samples::sparse(&offsets, &positions, &values, columns)?))
    } else {
        let values = numbers(data, f64::from_le_bytes)?;
        report(&params, repeats, || Ok(Samples::new(&values, rows, columns)?))
    }
}

fn numbers<const N: usize, T>(file: &Path, of_bytes: fn([u8; N]) -> T) -> Result<Vec<T>> {
    Ok(std::fs::read(file)?.as_chunks::<N>().0.iter().map(|bytes| of_bytes(*bytes)).collect())
}

/// Fits again and again, from raw numbers to a model, and prints what there is to say of the times and of the fastest fit.
fn report<'a>(params: &Params, repeats: usize, samples: impl Fn() -> Result<Samples<'a>>) -> Result<()> {
    let mut seconds: Vec<f64> = Vec::new();
    let mut fastest = None;
    for _ in 0..repeats {
        let clock = Instant::now();
        let model = params.clone().fit(&samples()?)?;
        let time = clock.elapsed().as_secs_f64();
        if seconds.iter().all(|other| time < *other) {
            fastest = Some(model);
        }
        seconds.push(time);
    }
    let Some(model) = fastest else { return Err("REPEATS must be at least 1".into()) };
    println!("{}", summary(&model, &seconds));
    Ok(())
}

fn summary(model: &Model, seconds: &[f64]) -> serde_json::Value {
    let (timings, certificate) = (model.timings(), model.certificate());
    serde_json::json!({
        "seconds": seconds,
        "loss": model.loss(),
        "epsilon": model.epsilon(),
        "perplexity": model.perplexity().overall,
        "iterations": model.iterations(),
        "kernel_passes": model.kernel_passes(),
        "kernel_share": model.kernel_share(),
        "relative_gradient": certificate.relative_gradient,
        "termination": model.termination().name(),
        "reduction": timings.reduction.as_secs_f64(),
        "iterating": timings.iterations.as_secs_f64(),
        "finish": timings.finish.as_secs_f64(),
        "kernel": timings.kernel.as_secs_f64(),
        "simd": Simd::chosen().map_or("none", Simd::name),
    })
}
