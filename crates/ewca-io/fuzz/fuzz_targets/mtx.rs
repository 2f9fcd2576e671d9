//! Hostile mtx files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ewca_io_fuzz::run("mtx", bytes));
