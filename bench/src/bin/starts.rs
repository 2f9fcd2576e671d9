//! How many starts does a small fit need? `starts [ROWS COLUMNS FILE]...` prints bench/STARTS.md.
//!
//! Data without structure are the hardest (they have the most optima): normal ones of several shapes; FILEs hold little-endian f64, row
//! after row. At each of several perplexities the lowest loss that any fit found, among them one of 42 starts (PCA, continuation, 40 random),
//! is taken as the best, and for fits of fewer starts it is counted how often they miss it, and what they cost. Each is a fit of its own: what a
//! start costs, and where it ends, depends on the others (starts are rough, one that comes to a known end stops, and the best goes on).
#![forbid(unsafe_code)]

use ewca::{Ewca, Samples};
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;
use rand_distr::StandardNormal;

const RANDOM: usize = 40;
/// A loss that is higher by more than this part is another optimum.
const SAME: f64 = 1e-6;

struct Set {
    name: String,
    data: Vec<f64>,
    rows: usize,
    columns: usize,
    components: [usize; 3],
}

/// How many random starts a fit makes besides those from PCA and by continuation; `None` is PCA alone.
const CHOICES: [Option<usize>; 7] = [None, Some(0), Some(1), Some(2), Some(3), Some(5), Some(10)];

fn name(choice: Option<usize>) -> String {
    match choice {
        None => "PCA".to_string(),
        Some(0) => "PCA, continuation".to_string(),
        Some(random) => format!("PCA, continuation, {random} random"),
    }
}

fn sets(words: &[String]) -> Result<Vec<Set>, Box<dyn std::error::Error>> {
    let mut sets = Vec::new();
    for given in words.chunks(3) {
        let [rows, columns, file] = given else { return Err("usage: starts [ROWS COLUMNS FILE]...".into()) };
        let bytes = std::fs::read(file)?;
        let data = bytes.as_chunks::<8>().0.iter().map(|b| f64::from_le_bytes(*b)).collect();
        let name = std::path::Path::new(file).file_stem().unwrap_or_default().to_string_lossy().into_owned();
        sets.push(Set { name, data, rows: rows.parse()?, columns: columns.parse()?, components: [2, 5, 8] });
    }
    for (rows, columns) in [(40, 300), (60, 20), (100, 10), (150, 30), (30, 9), (200, 50)] {
        for seed in 0..2 {
            let noise = ChaCha8Rng::seed_from_u64(seed).sample_iter::<f64, _>(StandardNormal);
            let data = noise.take(rows * columns).collect();
            let name = format!("normal {rows} x {columns}, {seed}");
            sets.push(Set { name, data, rows, columns, components: [2, 4, 6] });
        }
    }
    Ok(sets)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let mut missed = vec![0; CHOICES.len()];
    let mut worst = vec![0.0f64; CHOICES.len()];
    let mut passes = vec![0; CHOICES.len()];
    let (mut settings, mut names) = (0, Vec::new());
    for set in sets(&words)? {
        let samples = Samples::new(&set.data, set.rows, set.columns)?;
        for k in set.components {
            for perplexity in [2.0, 4.0, 8.0, 15.0].into_iter().filter(|p| *p < 0.4 * set.rows as f64) {
                let epsilon = Ewca::params(k).perplexity(perplexity).single_start().fit(&samples)?.epsilon();
                let params = || Ewca::params(k).epsilon(epsilon);
                let mut best = params().restarts(RANDOM).fit(&samples)?.loss();
                let mut losses = Vec::new();
                for (at, choice) in CHOICES.into_iter().enumerate() {
                    let model = match choice {
                        None => params().single_start(),
                        Some(random) => params().restarts(random),
                    }
                    .fit(&samples)?;
                    passes[at] += model.kernel_passes();
                    losses.push(model.loss());
                    best = best.min(model.loss());
                }
                settings += 1;
                for (at, loss) in losses.into_iter().enumerate() {
                    if loss > best + SAME * best.abs() {
                        missed[at] += 1;
                        worst[at] = worst[at].max(loss / best - 1.0);
                    }
                }
            }
        }
        names.push(set.name);
    }
    println!("# How many starts does a small fit need?\n");
    println!(
        "Made by `python3 bench/starts.py`. {settings} settings: {}; three numbers of components each,",
        names.join("; ")
    );
    println!(
        "at perplexities of 2, 4, 8 and 15. Each row tells of whole fits with these starts. An optimum is missed where another of these fits, or one\n\
         with {} starts, found a loss lower by more than 1e-6 of it.\n",
        RANDOM + 2
    );
    println!("| starts | optima missed | loss too high by at most | kernel passes of a fit |");
    println!("| --- | --- | --- | --- |");
    for (at, choice) in CHOICES.into_iter().enumerate() {
        println!(
            "| {} | {} | {:.2} % | {:.0} |",
            name(choice),
            missed[at],
            100.0 * worst[at],
            passes[at] as f64 / settings as f64
        );
    }
    Ok(())
}
