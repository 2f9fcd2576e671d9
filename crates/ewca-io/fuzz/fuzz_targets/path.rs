//! Hostile files, links, pipes and folders, read by their path.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ewca_io_fuzz::run("path", bytes));
