//! Work in blocks of fixed size, so that results do not depend on the number of threads.

use std::ops::{Range, RangeInclusive};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Below this many multiply-adds the hand-over to other threads costs more than it saves.
const WORTH_SHARING: usize = 2_000_000;

/// A flag that somebody may raise to stop long work, or none.
#[derive(Debug, Clone, Default)]
pub(crate) struct StopFlag(pub Option<Arc<AtomicBool>>);

impl StopFlag {
    pub fn is_raised(&self) -> bool {
        self.0.as_ref().is_some_and(|flag| flag.load(Ordering::Relaxed))
    }

    /// An error where it is raised.
    pub fn check(&self) -> Result<()> {
        if self.is_raised() { Err(Error::Stopped) } else { Ok(()) }
    }
}

/// 0..length cut into ranges of `size` (the last may be shorter).
pub(crate) fn blocks(length: usize, size: usize) -> Vec<Range<usize>> {
    (0..length).step_by(size).map(|start| start..(start + size).min(length)).collect()
}

/// How many lines of `length` numbers make a block of about `size` numbers, within `limits`.
pub(crate) fn lines_of(length: usize, size: usize, limits: RangeInclusive<usize>) -> usize {
    (size / length.max(1)).clamp(*limits.start(), *limits.end())
}

/// The multiply-adds of a product with these dimensions.
pub(crate) fn work(dimensions: &[usize]) -> usize {
    dimensions.iter().fold(1, |product, &count| product.saturating_mul(count))
}

/// `each` for every block, in parallel when `work` (multiply-adds in all) is worth it; results in the blocks' order.
pub(crate) fn map<T: Send>(blocks: &[Range<usize>], work: usize, each: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    if blocks.len() < 2 || work < WORTH_SHARING || rayon::current_num_threads() == 1 {
        blocks.iter().cloned().map(each).collect()
    } else {
        blocks.par_iter().map(|block| each(block.clone())).collect()
    }
}

/// `each` for every chunk of `size` items of `data`, with the chunk's number.
pub(crate) fn for_chunks<T: Send>(data: &mut [T], size: usize, work: usize, each: impl Fn(usize, &mut [T]) + Sync) {
    if data.len() <= size || work < WORTH_SHARING || rayon::current_num_threads() == 1 {
        data.chunks_mut(size).enumerate().for_each(|(i, chunk)| each(i, chunk));
    } else {
        data.par_chunks_mut(size).enumerate().for_each(|(i, chunk)| each(i, chunk));
    }
}

/// Runs `job` on a pool of `threads` threads, or on the global pool.
pub(crate) fn with_threads<T: Send>(threads: Option<usize>, job: impl FnOnce() -> T + Send) -> Result<T> {
    match threads {
        None => Ok(job()),
        Some(count) => {
            rayon::ThreadPoolBuilder::new().num_threads(count).build().map(|pool| pool.install(job)).map_err(|error| {
                Error::Parameter {
                    name: "threads",
                    value: count.to_string(),
                    expected: format!("the pool could not be started ({error})"),
                }
            })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_hold_about_as_many_numbers_as_were_asked_for() {
        assert_eq!(lines_of(100, 1 << 18, 1..=usize::MAX), 2621);
        assert_eq!(lines_of(100, 1 << 18, 1..=1024), 1024);
        assert_eq!(lines_of(100, 1 << 18, 4096..=5000), 4096);
        // A line that is longer than a block is a block; and nothing at all has room everywhere.
        assert_eq!(lines_of(1 << 20, 1 << 18, 1..=usize::MAX), 1);
        assert_eq!(lines_of(0, 1 << 18, 64..=1024), 1024);
    }

    #[test]
    fn work_is_the_product_of_the_dimensions_and_never_overflows() {
        assert_eq!(work(&[3, 5, 7]), 105);
        assert_eq!(work(&[usize::MAX / 2, 3]), usize::MAX);
        assert_eq!((work(&[3, 0]), work(&[])), (0, 1));
    }

    #[test]
    fn results_come_in_the_order_of_the_blocks() {
        let blocks = blocks(10, 4);
        assert_eq!(blocks, [0..4, 4..8, 8..10]);
        for work in [0, WORTH_SHARING] {
            let shared = with_threads(Some(2), || map(&blocks, work, |block| block.sum::<usize>())).unwrap();
            assert_eq!(shared, [6, 22, 17]);
            let mut data = [0; 10];
            with_threads(Some(2), || for_chunks(&mut data, 4, work, |i, chunk| chunk.fill(i))).unwrap();
            assert_eq!(data, [0, 0, 0, 0, 1, 1, 1, 1, 2, 2]);
        }
    }
}
