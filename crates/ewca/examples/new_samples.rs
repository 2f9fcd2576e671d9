//! Places new samples in a fitted subspace: `cargo run --release -p ewca --example new_samples`.

use ewca::{Ewca, Samples};

fn noise(at: usize) -> f64 {
    ((at * at) as f64 * 0.618).sin()
}

/// Fits two groups of 25, and finds to which of them three new samples belong.
pub fn main() -> Result<(), ewca::Error> {
    let data: Vec<f64> = (0..50 * 3).map(|at| noise(at) + if at / 3 < 25 { 0.0 } else { 5.0 }).collect();
    let model = Ewca::params(2).perplexity(5.0).fit(&Samples::new(&data, 50, 3)?)?;

    let new = [0.1, 0.2, -0.3, 5.2, 4.7, 5.0, 4.9, 5.5, 4.6];
    let scores = model.transform(&new, 3)?;
    let rows = model.plan_rows(&Samples::new(&new, 3, 3)?)?;
    for i in 0..3 {
        let share: f64 = rows.row(i)[..25].iter().sum();
        println!("new sample {i}: scores {:.3?}, {:.0} % in the first group", scores.row(i), 100.0 * share);
        assert!(if i == 0 { share > 0.99 } else { share < 0.01 });
    }

    // From scores back to features: what two components keep of the samples.
    let back = model.inverse_transform(&scores)?;
    println!("sample 1 was {:?} and is {:.2?}", &new[3..6], back.row(1));
    Ok(())
}
