//! Mutation testing of the Python package: bench/mutants, with the package's own tests.

use crate::{BUILD, command, program, python, run, wait};

/// Tries the mutants of the named files, or of all.
pub fn test(words: &[&str]) -> Result<(), String> {
    python::prepare()?;
    // The tests compare with the program.
    run(&BUILD)?;
    let wheel = python::install()?;
    let mut tool = command(&[&[&python::in_venv("python"), "bench/mutants"], words].concat());
    wait(tool.env("EWCA_WHEEL", &wheel).env("EWCA_BINARY", program()))
}
