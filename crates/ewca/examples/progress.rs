//! Watches a fit, stops it, and goes on; then follows a path along epsilon: `cargo run --release -p ewca --example progress`.

use ewca::{Control, Ewca, FitState, Progress, Samples, Termination, Unobserved, geometric};

/// Fits 80 samples with 6 features under the eyes of a closure.
pub fn main() -> Result<(), ewca::Error> {
    let data: Vec<f64> = (0..80 * 6).map(|at| ((at * at) as f64 * 0.618).sin() * (1 + at % 6) as f64).collect();
    let samples = Samples::new(&data, 80, 6)?;
    let params = Ewca::params(2).epsilon(2.0).check()?;

    // Prints every iteration, keeps the state, and stops after the third.
    let mut kept: Option<FitState> = None;
    let mut observer = |progress: &Progress<'_>| {
        let now = progress.iteration;
        println!("iteration {}: loss {:.6}, relative gradient {:.0e}", now.iteration, now.loss, now.relative_gradient);
        kept = Some(progress.state.clone());
        if now.iteration < 3 { Control::Continue } else { Control::Stop }
    };
    let stopped = params.fit_observed(&samples, &mut observer)?;
    assert_eq!(stopped.termination(), Termination::Interrupted);

    // A state goes on to the same bits as a fit that nobody stopped.
    if let Some(state) = kept {
        let model = params.resume(&samples, state, &mut Unobserved)?;
        println!("{} after {} iterations", model.termination(), model.iterations());
        assert_eq!(model.scores(), params.fit(&samples)?.scores());
    }

    // Each epsilon from its smaller neighbour's result.
    for model in params.path(&samples, &geometric(0.1, 10.0, 5))? {
        let share: f64 = model.explained_variance_ratio().iter().sum();
        let (epsilon, spread) = (model.epsilon(), model.perplexity().overall);
        println!("epsilon {epsilon:7.3}: perplexity {spread:5.2}, {:.1} % of the variance", 100.0 * share);
    }
    Ok(())
}
