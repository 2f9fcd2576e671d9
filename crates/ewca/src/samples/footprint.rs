//! How much the reduction to the span holds in memory, in numbers of 8 bytes.

use super::dense::{SMALL_GRAM, strip_width};
use super::span::is_whole;

/// What a matrix product holds for each thread at the most.
const PRODUCT_ROOM: usize = 1 << 19;

/// What of the data decides it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanShape {
    /// Samples, and how many of them this process has.
    pub samples: usize,
    pub own: usize,
    pub features: usize,
    /// The order of the Gram matrix.
    pub order: usize,
    /// Axes that are kept at the most.
    pub axes: usize,
    /// Whether samples are not all in the memory of this process.
    pub not_in_memory: bool,
}

/// Numbers that are held.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SpanFootprint {
    /// While the data are reduced.
    pub reducing: usize,
    /// While a matrix in the axes is taken apart into eigenvectors: it, them, and three times as much for faer to work in.
    pub eigen: usize,
    /// From then on.
    pub basis: usize,
    pub coordinates: usize,
    /// What products of matrices hold, at any time.
    pub products: usize,
}

impl SpanShape {
    pub fn footprint(&self) -> SpanFootprint {
        let times = usize::saturating_mul;
        let &Self { samples, own, features, order, axes, not_in_memory } = self;
        let whole = is_whole(order, axes, not_in_memory);
        let coordinates = times(own, axes);
        let threads = rayon::current_num_threads();
        let eigen = if whole { times(times(order, order), 5) } else { times(times(axes, axes), 5) };
        // Strips of the data are centred one after the other, on each thread where Gram matrices are small.
        let (width, length) = (strip_width(order), samples.max(features));
        // Threads sum small Gram matrices on their own, eight at the most; and each product has room of its own for blocks.
        let (partial, panels) = match whole {
            true if order <= SMALL_GRAM => (times(times(order, order), length.div_ceil(width).min(8) + 1), threads),
            true => (times(order, order), 1),
            false => (times(times(features, axes), 10), 1),
        };
        let strips = if whole { times(times(order, width.min(length)), panels) } else { times(axes, 4096) };
        let twice = if samples >= features || !whole { times(coordinates, 2) } else { 0 };
        SpanFootprint {
            reducing: partial.max(eigen).saturating_add(strips).saturating_add(twice),
            eigen,
            basis: if whole { times(order, order) } else { times(features, axes) },
            coordinates,
            products: times(order, 1024).min(PRODUCT_ROOM).saturating_mul(threads + 1),
        }
    }
}
