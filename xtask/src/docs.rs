//! The site: `docs/`, built by Sphinx in the venv of the tests, from the program and the Python package as they were last built.

use crate::{command, program, python, run, wait};

/// Runs the site's code blocks and notebooks (unless the tests of the Python package have run them), and builds it; warnings and links that
/// lead nowhere are errors.
pub fn build() -> Result<(), String> {
    wait(command(&[&python::in_venv("python"), "docs/tools/build.py"]).env("EWCA_BINARY", program()))
}

/// Lists figures that are older than the code they measure, or notes that some were made anew.
pub fn figures(words: &[&str]) -> Result<(), String> {
    run(&[&["python3", "docs/tools/figures.py"], words].concat())
}
