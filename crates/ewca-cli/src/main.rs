//! The `ewca` program.
fn main() {}
