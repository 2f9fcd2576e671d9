//! What a fit will need, known before it starts.

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::samples::SMALL_GRAM;

use super::coarse::MANY;

/// Up to this many samples the kernel is stored, at most 134 MB: at 2000 samples a stored pass was measured to be faster than
/// computing the kernel anew.
const STORED_SAMPLES: usize = 4096;

/// What a matrix product holds for each thread, in numbers.
const PRODUCT_ROOM: usize = 1 << 19;

/// The memory that a fit takes, and whether its kernel is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    pub bytes: usize,
    pub store_kernel: bool,
}

/// Plans a fit of n samples x d features with k components, or refuses it.
pub(crate) fn plan(n: usize, d: usize, k: usize, budget: Option<usize>) -> Result<MemoryPlan> {
    let need = |store| most_at_once(n, d, k, store).saturating_mul(8);
    let budget = budget.unwrap_or(usize::MAX);
    let store_kernel = n <= STORED_SAMPLES && need(true) <= budget;
    let bytes = need(store_kernel);
    if bytes > budget {
        let cause = if d > n { "samples or features" } else { "features" };
        return Err(Error::Memory { needed: bytes, budget, cause });
    }
    Ok(MemoryPlan { bytes, store_kernel })
}

/// The most numbers that are held at once: during the reduction, or at the end, when M is made and taken apart.
fn most_at_once(n: usize, d: usize, k: usize, store_kernel: bool) -> usize {
    let times = usize::saturating_mul;
    let order = n.min(d);
    let square = times(order, order);
    let coordinates = times(n, order);
    // A matrix, its eigenvectors, and three times as much for faer to work in.
    let eigen = times(square, 5);
    // Threads sum small Gram matrices on their own, eight at the most; and each product has room of its own for blocks.
    let partial = if order <= SMALL_GRAM { times(square, 9) } else { square };
    let strips = times(order, 4096);
    let products = times(order, 1024).min(PRODUCT_ROOM).saturating_mul(rayon::current_num_threads() + 1);
    let reduction = [partial.max(eigen), strips, if n >= d { times(coordinates, 2) } else { 0 }];
    // The coordinates, and four times as many while the plan carries them; when M is taken apart they are gone.
    let finish = [square, coordinates, times(coordinates, 4).max(eigen), Kernel::bytes(n, k, store_kernel) / 8];
    // Rows of distances by which the first epsilon is guessed.
    let guess = if n < MANY { times(n, 16) } else { times(n, 16).max(1 << 22) };
    let always = [
        guess,
        products,
        times(times(d, k), 3),      // loadings
        times(times(n, k), 8),      // scores and what is carried with them
        times(n, 48),               // potentials, the memory of the acceleration, and what is said of each sample
        times(times(order, k), 24), // frames, gradients and the memory of L-BFGS
    ];
    let sum = |numbers: &[usize]| numbers.iter().fold(0usize, |sum, &count| sum.saturating_add(count));
    sum(&always).saturating_add(sum(&reduction).max(sum(&finish)))
}
