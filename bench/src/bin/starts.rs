//! How many starts does a small fit need? `starts [ROWS COLUMNS FILE]...` prints bench/STARTS.md.
//!
//! Data without structure are the hardest (they have the most optima): normal ones of several shapes; FILEs hold little-endian f64, row
//! after row. At each of several perplexities the lowest loss of 42 starts (PCA, continuation, 40 random) is taken as the best, and
//! for sets of fewer starts it is counted how often they miss it, and what they cost.
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

/// Which of the starts a fit makes: attempt 0 is PCA, 1 to 40 are random, the last is continuation.
fn choices() -> Vec<(String, Vec<usize>)> {
    let continuation = RANDOM + 1;
    let with = |random: usize| (0..=random).chain([continuation]).collect::<Vec<_>>();
    let mut choices = vec![("PCA".to_string(), vec![0]), ("PCA, continuation".to_string(), with(0))];
    choices.extend([1, 2, 3, 5, 10].map(|random| (format!("PCA, continuation, {random} random"), with(random))));
    choices
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
    let choices = choices();
    let mut missed = vec![0; choices.len()];
    let mut worst = vec![0.0f64; choices.len()];
    let mut passes = vec![0; choices.len()];
    let (mut settings, mut names) = (0, Vec::new());
    for set in sets(&words)? {
        let samples = Samples::new(&set.data, set.rows, set.columns)?;
        for k in set.components {
            for perplexity in [2.0, 4.0, 8.0, 15.0].into_iter().filter(|p| *p < 0.4 * set.rows as f64) {
                let epsilon = Ewca::params(k).perplexity(perplexity).single_start().fit(&samples)?.epsilon();
                let model = Ewca::params(k).epsilon(epsilon).restarts(RANDOM).fit(&samples)?;
                let end = |start: usize| {
                    let mut of = model.history().iter().filter(|iteration| iteration.attempt == start);
                    let (first, last) = (of.next(), of.next_back());
                    let passes = |i: Option<&ewca::Iteration>| i.map_or(0, |i| i.kernel_passes);
                    (last.or(first).map_or(f64::INFINITY, |i| i.loss), passes(last).saturating_sub(passes(first)))
                };
                settings += 1;
                for (at, (_, starts)) in choices.iter().enumerate() {
                    let ends: Vec<(f64, usize)> = starts.iter().map(|&start| end(start)).collect();
                    let lowest = ends.iter().fold(f64::INFINITY, |m, end| m.min(end.0));
                    passes[at] += ends.iter().map(|end| end.1).sum::<usize>();
                    if lowest > model.loss() + SAME * model.loss().abs() {
                        missed[at] += 1;
                        worst[at] = worst[at].max(lowest / model.loss() - 1.0);
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
        "at perplexities of 2, 4, 8 and 15. An optimum is missed where {} starts found a loss lower by more than 1e-6 of it.\n",
        RANDOM + 2
    );
    println!("| starts | optima missed | loss too high by at most | kernel passes of a fit |");
    println!("| --- | --- | --- | --- |");
    for (at, (name, _)) in choices.iter().enumerate() {
        println!(
            "| {name} | {} | {:.2} % | {:.0} |",
            missed[at],
            100.0 * worst[at],
            passes[at] as f64 / settings as f64
        );
    }
    Ok(())
}
