//! Work in blocks of fixed size, so that results do not depend on the number of threads.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rayon::prelude::*;

use crate::error::{Error, Result};

/// Below this many multiply-adds the hand-over to other threads costs more than it saves.
const WORTH_SHARING: usize = 200_000;

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
