//! A short fuzz run without a fuzzer: every golden file, damaged in many small ways, gives a table or an
//! error of one line, and never a panic. The real targets are in fuzz/.
//!
//! `EWCA_MUTATIONS=10000` damages each file that many times.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

use ewca_io::{Missing, ReadOptions, read_table_from};

/// Numbers that counts and sizes break at.
const HARD: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff];

#[test]
fn damaged_files_never_panic() {
    let count: u64 = std::env::var("EWCA_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(40);
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut files: Vec<_> = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.is_file());
    files.sort();
    let mut failures = Vec::new();
    for path in files {
        let whole = fs::read(&path).unwrap();
        let name = path.file_name().unwrap().to_str().unwrap();
        for seed in 0..count {
            let damaged = damage(&whole, seed);
            if catch_unwind(AssertUnwindSafe(|| read(&damaged, name))).is_err() {
                failures.push(format!("{name}, seed {seed}"));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

fn read(bytes: &[u8], name: &str) {
    let options = ReadOptions {
        label: Some("class".into()),
        missing: Missing::Mean,
        max_bytes: Some(1 << 22),
        ..ReadOptions::default()
    };
    for options in [ReadOptions { label: None, array: Some("X".into()), ..options.clone() }, options] {
        if let Err(error) = read_table_from(bytes, name, &options) {
            assert!(!error.to_string().contains('\n'), "one line: {error}");
        }
    }
}

/// Flips bits, writes hard numbers, cuts and repeats.
fn damage(whole: &[u8], seed: u64) -> Vec<u8> {
    let mut bytes = whole.to_vec();
    let mut random = Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1);
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len().max(1));
        match random.below(5) {
            0 | 1 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            2 => {
                let width = [1, 2, 4, 8][random.below(4)];
                let number = HARD[random.below(HARD.len())].to_le_bytes();
                for (byte, new) in bytes.iter_mut().skip(at).zip(&number[..width]) {
                    *byte = *new;
                }
            }
            3 => bytes.truncate(at),
            _ => {
                let end = (at + random.below(16)).min(bytes.len());
                let piece = bytes[at.min(end)..end].to_vec();
                bytes.splice(at.min(end)..at.min(end), piece);
            }
        }
    }
    bytes
}

/// Xorshift: enough for this, and the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % limit.max(1) as u64) as usize
    }
}
