//! Mutation testing of the Rust crates: xtask/mutants, a workspace of its own, since only this command needs it.

use crate::{run, target};

/// Tries the mutants of the named files, or of the core.
pub fn test(words: &[&str]) -> Result<(), String> {
    let folder = target().join("mutants/tool");
    let begin = ["cargo", "run", "--quiet", "--locked", "--manifest-path", "xtask/mutants/Cargo.toml", "--target-dir"];
    run(&[&begin[..], &[&folder.to_string_lossy(), "--"], words].concat())
}
