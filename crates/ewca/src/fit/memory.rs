//! What a fit will need, known before it starts.

use crate::error::{Error, Result};
use crate::kernel::KernelLayout;
use crate::samples::{ALL_AXES, Data, LARGEST_GRAM, SpanShape, is_whole};
use crate::solvers::{State, most_columns};
use crate::transport::{Balancer, MANY_SAMPLES};

use super::perplexity_search::rows_of_first_guess;

/// The most bytes of a kernel that are kept while points stay, and the most samples for which that is worth it.
const MOST_KEPT: usize = 1 << 30;
const MOST_SAMPLES_KEPT: usize = 1 << 16;

/// Axes to begin with where the data have more: so many, or by the number of components. Samples that have to be read are looked at less
/// often, and in more of them; so are those of very many features.
const LEADING_AXES: usize = 64;
const MANY_LEADING_AXES: usize = 256;
/// Of more samples than this, coordinates in all axes are made only where there are no more axes than this: they cost more than all else.
const MANY_COORDINATES: usize = 4096;
const FEW_AXES: usize = 128;

/// What of a fit decides its memory.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shape {
    /// Samples, and how many of them this process has.
    pub samples: usize,
    pub own: usize,
    pub features: usize,
    pub components: usize,
    /// By which the kernel is approximated.
    pub landmarks: Option<usize>,
    /// Whether samples are not all in the memory of this process.
    pub not_in_memory: bool,
    pub streamed: bool,
}

impl Shape {
    pub fn of(samples: &Data<'_>, components: usize, landmarks: Option<usize>) -> Self {
        let streamed = samples.is_streamed();
        let not_in_memory = streamed || !samples.member().is_alone();
        let (own, features) = (samples.rows(), samples.columns());
        let active = samples.active().len();
        let components = components.min(active).min(features);
        Self { samples: active, own: own.min(active), features, components, landmarks, not_in_memory, streamed }
    }

    /// The number of landmarks, where there are fewer than samples.
    fn few_landmarks(&self) -> Option<usize> {
        self.landmarks.filter(|&landmarks| landmarks < self.samples)
    }

    /// The order of the Gram matrix.
    fn order(&self) -> usize {
        if self.not_in_memory { self.features } else { self.samples.min(self.features) }
    }
}

/// The memory that a fit takes, and the most axes that it works with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    /// What it needs.
    pub bytes: usize,
    /// What it may take beside that, to keep what is computed of a kernel while points stay.
    pub kept_bytes: usize,
    pub axes: usize,
}

/// Plans a fit, or refuses it.
pub(crate) fn plan(shape: &Shape, budget: Option<usize>) -> Result<MemoryPlan> {
    let (n, k, order) = (shape.samples, shape.components, shape.order());
    let limit = budget.unwrap_or(usize::MAX);
    let is_huge = shape.not_in_memory || order > LARGEST_GRAM;
    let leading = if is_huge { MANY_LEADING_AXES.max(4 * k) } else { LEADING_AXES.max(4 * k + 24) };
    let all = match shape.not_in_memory {
        true => LARGEST_GRAM,
        false if n > MANY_COORDINATES => FEW_AXES,
        false => ALL_AXES,
    };
    let mut axes = if order <= all && !shape.streamed { order } else { leading.min(order) };
    let need = |axes| most_at_once(shape, axes).saturating_mul(8);
    // Fewer axes are better than none; but a subspace needs room to turn.
    while shape.streamed && need(axes) > limit && axes > 2 * k {
        axes = (axes * 3 / 4).max(2 * k);
    }
    let bytes = need(axes);
    if bytes > limit {
        let cause = if shape.features > n { "samples or features" } else { "features" };
        return Err(Error::Memory { needed: bytes, budget: limit, cause });
    }
    let kept_bytes = kept_bytes(n, shape.landmarks, limit - bytes);
    // No limit where all are wanted: the rank of the data decides.
    let axes = if axes == order { usize::MAX } else { axes };
    Ok(MemoryPlan { bytes, kept_bytes, axes })
}

/// How many of the bytes that are `left` may be taken to keep what is computed of a kernel.
pub(crate) fn kept_bytes(samples: usize, landmarks: Option<usize>, left: usize) -> usize {
    let is_exact = landmarks.is_none_or(|landmarks| landmarks >= samples);
    let is_kept = is_exact && samples <= MOST_SAMPLES_KEPT;
    if is_kept { KernelLayout::most_kept(samples).min(MOST_KEPT).min(left) } else { 0 }
}

/// The most numbers that are held at once: during the reduction, or at the end, when M is made and taken apart.
fn most_at_once(shape: &Shape, axes: usize) -> usize {
    let times = usize::saturating_mul;
    let &Shape { samples: n, own, features: d, components: k, .. } = shape;
    let (order, not_in_memory) = (shape.order(), shape.not_in_memory);
    let span = SpanShape { samples: n, own, features: d, order, axes, not_in_memory }.footprint();
    let held = [span.basis, span.coordinates];
    // When M is taken apart, what the plan carried is gone.
    let carried = times(if n < MANY_SAMPLES { own } else { n }, times(most_columns(n, axes, k), 4));
    let landmarks = shape.few_landmarks().map_or(0, |few| KernelLayout::landmark_bytes(few, k.max(axes.min(48))) / 8);
    let finish = [carried.max(span.eigen), KernelLayout::bytes(n, k) / 8, landmarks];
    // Rows of distances by which the first epsilon is guessed.
    let guess = [times(n, rows_of_first_guess(n))];
    // The fit of a fifth of the samples that comes first: its data, its coordinates, its kernel.
    let few = if n < MANY_SAMPLES { 0 } else { n.div_ceil(5) };
    let kernel = KernelLayout::bytes(few, k) / 8;
    let coarse = [times(times(few, axes), 6), if few > 0 { kernel } else { 0 }];
    let always = [
        span.products,
        times(times(d, k), 3), // loadings
        times(times(n, k), 9), // scores, what is carried with them, and those of an end to come back to
        Balancer::numbers(n),
        State::numbers(if is_whole(order, axes, not_in_memory) { axes } else { d }, k),
    ];
    let sum = |numbers: &[usize]| numbers.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
    let later = [sum(&guess), sum(&coarse), sum(&finish)].into_iter().max().unwrap_or(0);
    sum(&always).saturating_add(span.reducing.max(sum(&held).saturating_add(later)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::samples::Samples;

    fn shape(samples: usize, features: usize, components: usize) -> Shape {
        let (landmarks, not_in_memory, streamed) = (None, false, false);
        Shape { samples, own: samples, features, components, landmarks, not_in_memory, streamed }
    }

    fn numbers(shape: &Shape) -> usize {
        plan(shape, None).unwrap().bytes / 8
    }

    /// What products hold for each thread.
    fn rooms() -> usize {
        rayon::current_num_threads() + 1
    }

    #[test]
    fn numbers_that_are_held_at_once_are_counted() {
        // Most at the end, for so few: basis, coordinates five times, and the kernel; beside them loadings, scores, what is kept of each
        // sample, and frames.
        let kernel = KernelLayout::bytes(100, 2) / 8;
        let always = 20 * 1024 * rooms() + 3 * 40 + 9 * 200 + 48 * 100 + 40 * 40;
        assert_eq!(numbers(&shape(100, 20, 2)), always + 400 + 5 * 2000 + kernel);
        // Most at the end: basis, coordinates five times, and the kernel.
        let kernel = KernelLayout::bytes(4000, 3) / 8;
        let always = 30 * 1024 * rooms() + 3 * 90 + 9 * 12_000 + 48 * 4000 + 40 * 90;
        assert_eq!(numbers(&shape(4000, 30, 3)), always + 900 + 5 * 120_000 + kernel);
        // More features than samples: the Gram matrix is between samples, and coordinates come with its eigenvectors.
        let threads = rooms() - 1;
        let always = 200 * 1024 * rooms() + 3 * 20_000 + 9 * 800 + 48 * 200 + 40 * 800;
        assert_eq!(numbers(&shape(200, 5000, 4)), always + 9 * 40_000 + 200 * 655 * threads);
        // A larger Gram matrix is one for all threads; its eigenvectors take five times as much.
        let kernel = KernelLayout::bytes(1000, 5) / 8;
        let always = 512 * 1024 * rooms() + 3 * 2560 + 9 * 5000 + 48 * 1000 + 40 * 2560;
        assert_eq!(numbers(&shape(1000, 512, 5)), always + 512 * 512 + 512_000 + 4 * 512_000 + kernel);
        // Many of both: 256 axes, ten times a basis, strips, and coordinates twice; then steps in all features.
        let always = (1 << 19) * rooms() + 3 * 30_000 + 9 * 60_000 + 48 * 20_000 + 40 * 30_000;
        let many = shape(20_000, 10_000, 3);
        assert_eq!(numbers(&many), always + 10 * 2_560_000 + 256 * 4096 + 2 * 5_120_000);
        assert_eq!(plan(&many, None).unwrap().axes, 256);
        assert_eq!(plan(&shape(20_000, 10_000, 100), None).unwrap().axes, 400);
        assert_eq!(plan(&shape(20_000, 2000, 10), None).unwrap().axes, 64);
        assert_eq!(plan(&shape(20_000, 2000, 50), None).unwrap().axes, 224);
        // With many samples a fit of a fifth of them comes first: six times its coordinates, and its kernel.
        for n in [20_000, 40_000] {
            let always = 100 * 1024 * rooms() + 3 * 200 + 9 * 2 * n + 48 * n + 40 * 200;
            let kernel = KernelLayout::bytes(n / 5, 2) / 8;
            assert_eq!(numbers(&shape(n, 100, 2)), always + 10_000 + 100 * n + 6 * 100 * (n / 5) + kernel);
        }
        // Where M is made whole, by 48 columns at a time, the end takes more.
        let always = 48 * 1024 * rooms() + 3 * 96 + 9 * 2 * 40_000 + 48 * 40_000 + 40 * 96;
        let kernel = KernelLayout::bytes(40_000, 2) / 8;
        assert_eq!(numbers(&shape(40_000, 48, 2)), always + 48 * 48 + 48 * 40_000 + 4 * 48 * 40_000 + kernel);
    }

    #[test]
    fn what_is_computed_is_kept_where_there_is_room() {
        let of = |shape: &Shape, budget| plan(shape, budget).unwrap();
        let many = shape(5000, 30, 2);
        let MemoryPlan { bytes, kept_bytes, .. } = of(&many, None);
        assert_eq!(kept_bytes, KernelLayout::most_kept(5000));
        // As much as the budget leaves; and nothing rather than no fit.
        for (left, kept) in [(kept_bytes, kept_bytes), (kept_bytes - 1, kept_bytes - 1), (0, 0)] {
            let planned = of(&many, Some(bytes + left));
            assert_eq!((planned.bytes, planned.kept_bytes), (bytes, kept));
        }
        assert!(plan(&many, Some(bytes - 1)).is_err());
        assert_eq!(of(&shape(MOST_SAMPLES_KEPT, 30, 2), None).kept_bytes, MOST_KEPT);
        assert_eq!(of(&shape(MOST_SAMPLES_KEPT + 1, 30, 2), None).kept_bytes, 0);
        let landmarks = |count: usize| of(&Shape { landmarks: Some(count), ..many }, None).kept_bytes;
        assert_eq!((landmarks(4999), landmarks(5000)), (0, kept_bytes));
    }

    #[test]
    fn landmarks_take_room_of_their_own() {
        // Where the end takes the most.
        let few = Shape { landmarks: Some(800), ..shape(5000, 30, 2) };
        let taken = KernelLayout::landmark_bytes(800, 30) / 8;
        assert_eq!(numbers(&few), numbers(&shape(5000, 30, 2)) + taken);
    }

    #[test]
    fn streamed_samples_make_do_with_fewer_axes() {
        let streamed = Shape { not_in_memory: true, streamed: true, ..shape(1000, 300, 10) };
        let whole = plan(&streamed, None).unwrap();
        assert_eq!((whole.axes, plan(&shape(1000, 300, 10), None).unwrap().axes), (256, usize::MAX));
        let axes = |budget| plan(&streamed, Some(budget)).map(|plan| plan.axes);
        let needed = |axes| 8 * most_at_once(&streamed, axes);
        assert_eq!(axes(needed(256)), Ok(256));
        assert_eq!(axes(needed(256) - 1), Ok(192));
        assert_eq!(axes(needed(192) - 1), Ok(144));
        assert_eq!(axes(needed(20)), Ok(20));
        let refused = axes(needed(20) - 1).unwrap_err();
        assert_eq!(refused, Error::Memory { needed: needed(20), budget: needed(20) - 1, cause: "features" });
        // Samples in memory are not reduced further: they are refused, and more features than samples are named too.
        let refused = plan(&shape(100, 3000, 2), Some(1000)).unwrap_err();
        assert!(matches!(refused, Error::Memory { cause: "samples or features", budget: 1000, .. }));
    }

    #[test]
    fn a_process_of_a_team_counts_its_own_samples() {
        let data = crate::testing::gaussian(12, 5, 1);
        let weights: Vec<f64> = (0..12).map(|i| (i % 3) as f64).collect();
        let samples = Samples::new(&data, 12, 5).unwrap().with_weights(&weights).unwrap();
        let Shape { samples: n, own, features, components, not_in_memory, streamed, .. } =
            Shape::of(&samples.data, 9, None);
        assert_eq!((n, own, features, components, not_in_memory, streamed), (8, 8, 5, 5, false, false));
        // Order by the features, as in a team, and coordinates of its own samples.
        let shared = Shape { own: 100, not_in_memory: true, ..shape(1000, 2000, 2) };
        let always = (1 << 19) * rooms() + 3 * 4000 + 9 * 2000 + 48 * 1000 + 40 * 4000;
        let kernel = KernelLayout::bytes(1000, 2) / 8;
        assert_eq!(numbers(&shared), always + 4_000_000 + 200_000 + 5 * 4_000_000 + kernel);
    }
}
