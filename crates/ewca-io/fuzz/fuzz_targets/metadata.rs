//! Hostile metadata.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ewca_io_fuzz::run("metadata", bytes));
