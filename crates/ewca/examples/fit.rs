//! Fits two components and reads the result: `cargo run --release -p ewca --example fit`.

use ewca::{Ewca, Samples};

/// Three groups of 20 samples with 5 features, row after row.
fn groups() -> Vec<f64> {
    let noise = |at: usize| ((at * at) as f64 * 0.618).sin();
    let centre = |group: usize, feature: usize| if feature == group { 4.0 } else { 0.0 };
    (0..60 * 5).map(|at| centre(at / 5 / 20, at % 5) + noise(at)).collect()
}

/// Fits, and says what came of it.
pub fn main() -> Result<(), ewca::Error> {
    let data = groups();
    let samples = Samples::new(&data, 60, 5)?;
    let model = Ewca::params(2).epsilon(1.0).fit(&samples)?;

    println!("{} after {} iterations, loss {:.4}", model.termination(), model.iterations(), model.loss());
    for (j, share) in model.explained_variance_ratio().iter().enumerate() {
        let loadings: Vec<String> = model.components().column(j).iter().map(|u| format!("{u:6.3}")).collect();
        println!("component {}: {:4.1} % of the variance, loadings {}", j + 1, 100.0 * share, loadings.join(" "));
    }
    println!("sample 0 is at {:.3?}", model.scores().row(0));

    // The certificate holds whatever the solver did.
    let certificate = model.certificate();
    println!(
        "plan accurate to {:.0e}, components to {:.0e}",
        certificate.marginal_error, certificate.relative_gradient
    );
    assert!(model.converged() && !certificate.collapsed);
    Ok(())
}
