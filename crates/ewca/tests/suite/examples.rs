//! The programs of `examples/` run, and find what they say they find.

#[path = "../../examples/fit.rs"]
mod fit;
#[path = "../../examples/new_samples.rs"]
mod new_samples;
#[path = "../../examples/perplexity.rs"]
mod perplexity;
#[path = "../../examples/progress.rs"]
mod progress;

#[test]
fn examples_run() {
    fit::main().unwrap();
    perplexity::main().unwrap();
    new_samples::main().unwrap();
    progress::main().unwrap();
}
