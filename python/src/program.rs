//! The `ewca` command: the program itself, in this module.

use std::ffi::OsString;

use pyo3::prelude::*;

/// Runs the program on these words, of which the first is its name, and gives its exit code. It takes the whole process: standard output and error,
/// and Ctrl-C, which Python no longer hears.
#[pyfunction]
pub fn run_program(py: Python<'_>, words: Vec<OsString>) -> u8 {
    py.detach(|| ewca_cli::main(words))
}
