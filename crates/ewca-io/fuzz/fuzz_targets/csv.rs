//! Hostile csv files.
#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| ewca_io_fuzz::read_all_ways(bytes, ewca_io::Format::Csv));
