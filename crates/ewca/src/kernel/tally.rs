//! What passes are counted by.

use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

/// The time that something took, in all.
#[derive(Debug, Default)]
pub(super) struct Clock {
    nanoseconds: AtomicU64,
}

/// While it lives, the clock runs.
pub(super) struct Running<'a> {
    clock: &'a Clock,
    since: Instant,
}

impl Clock {
    #[must_use]
    pub fn run(&self) -> Running<'_> {
        Running { clock: self, since: Instant::now() }
    }

    pub fn elapsed(&self) -> Duration {
        Duration::from_nanos(self.nanoseconds.load(Ordering::Relaxed))
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.clock.nanoseconds.fetch_add(self.since.elapsed().as_nanos() as u64, Ordering::Relaxed);
    }
}

/// Counts of all passes over the kernels of a layout.
#[derive(Debug, Default)]
pub(super) struct Counts {
    passes: AtomicUsize,
    /// Pairs of tiles of points in all passes, and those that were computed.
    pairs: AtomicUsize,
    computed: AtomicUsize,
    /// The bits of the share of mass that the last pass may have left out.
    left_out: AtomicU64,
}

/// The counts, kept in a saved fit, so that a resumed one reports the same.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Tally {
    pub passes: usize,
    /// Pairs of tiles in all passes, and those that were computed.
    pairs: usize,
    computed: usize,
    left_out: f64,
}

/// What the passes of a kernel took.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Work {
    /// Applications of the whole kernel.
    pub passes: usize,
    /// The part of all pairs of points that passes went over; the others were left out.
    pub computed: f64,
    /// A bound of the share of a plan's mass that the last pass left out.
    pub left_out: f64,
}

impl Counts {
    pub fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// One more, over so many pairs of tiles, of which some were computed; the others have at most this share of mass.
    pub fn add_pass(&self, pairs: usize, computed: usize, left_out: f64) {
        self.passes.fetch_add(1, Ordering::Relaxed);
        self.pairs.fetch_add(pairs, Ordering::Relaxed);
        self.computed.fetch_add(computed, Ordering::Relaxed);
        let left_out = if computed < pairs { left_out } else { 0.0 };
        self.left_out.store(left_out.to_bits(), Ordering::Relaxed);
    }

    pub fn tally(&self) -> Tally {
        Tally {
            passes: self.passes(),
            pairs: self.pairs.load(Ordering::Relaxed),
            computed: self.computed.load(Ordering::Relaxed),
            left_out: f64::from_bits(self.left_out.load(Ordering::Relaxed)),
        }
    }

    pub fn set(&self, tally: Tally) {
        self.passes.store(tally.passes, Ordering::Relaxed);
        self.pairs.store(tally.pairs, Ordering::Relaxed);
        self.computed.store(tally.computed, Ordering::Relaxed);
        self.left_out.store(tally.left_out.max(0.0).to_bits(), Ordering::Relaxed);
    }
}

impl Tally {
    pub fn work(self) -> Work {
        let Self { passes, pairs, computed, left_out } = self;
        Work { passes, computed: if pairs > 0 { computed as f64 / pairs as f64 } else { 1.0 }, left_out }
    }
}
