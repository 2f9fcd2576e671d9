//! Asks for a perplexity and looks at the plan: `cargo run --release -p ewca --example perplexity`.

use ewca::{Ewca, Samples};

/// Two groups, of 30 and of 10 samples, on a plane.
fn groups() -> Vec<f64> {
    let noise = |at: usize| ((at * at) as f64 * 0.618).sin();
    (0..40 * 2).map(|at| if at / 2 < 30 { noise(at) } else { 6.0 + noise(at) }).collect()
}

/// Fits so that each sample spreads over about six, and asks over which.
pub fn main() -> Result<(), ewca::Error> {
    let data = groups();
    let model = Ewca::params(1).perplexity(6.0).fit(&Samples::new(&data, 40, 2)?)?;
    let spread = &model.perplexity();
    println!("perplexity {:.2} (rows from {:.2} to {:.2})", spread.overall, spread.min, spread.max);
    println!("by epsilon {:.4}", model.epsilon());

    let plan = model.plan();
    for sample in [0, 35] {
        let partners = plan.partners(sample, 3);
        let words: Vec<String> = partners.iter().map(|(j, share)| format!("{j} ({:.0} %)", 100.0 * share)).collect();
        println!("sample {sample} is nearest to {}", words.join(", "));
        // Nobody shares mass with the other group.
        assert!(partners.iter().all(|(j, _)| (*j < 30) == (sample < 30)));
    }
    assert!(!spread.is_missed());
    Ok(())
}
