//! A short run of every fuzz target without a fuzzer: each file of its corpus, damaged in many small ways, gives a table
//! or an error of one line, and never a panic.
//!
//! `EWCA_MUTATIONS=10000` damages each file that many times, and `EWCA_TARGET=path` only those of that target.

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;

#[path = "../../fuzz/src/lib.rs"]
mod fuzz;

/// Numbers that counts and sizes break at.
const HARD: [u64; 8] = [0, 1, 0x7f, 0xff, 0x7fff_ffff, 0xffff_ffff, 0x7fff_ffff_ffff_ffff, 0xffff_ffff_ffff_ffff];

#[test]
fn damaged_files_never_panic() {
    let count: u64 = std::env::var("EWCA_MUTATIONS").ok().and_then(|count| count.parse().ok()).unwrap_or(60);
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus");
    let targets = sorted(&corpus);
    assert_eq!(targets.len(), 13, "a corpus for each target");
    let only = std::env::var("EWCA_TARGET").ok();
    let chosen = targets.iter().filter(|target| only.as_ref().is_none_or(|only| only == *target));
    let mut failures = Vec::new();
    for (target, file) in
        chosen.flat_map(|target| sorted(&corpus.join(target)).into_iter().map(move |file| (target, file)))
    {
        let whole = fs::read(corpus.join(target).join(&file)).unwrap();
        for seed in 0..count {
            let damaged = damage(&whole, seed);
            if catch_unwind(AssertUnwindSafe(|| fuzz::run(target, &damaged))).is_err() {
                failures.push(format!("{target}/{file}, seed {seed}"));
            }
        }
    }
    assert!(failures.is_empty(), "{failures:#?}");
}

fn sorted(folder: &Path) -> Vec<String> {
    let names = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
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
