//! What a fit will need, known before it starts.

use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::samples::SMALL_GRAM;

/// Up to this many samples the kernel is stored, at most 134 MB: at 2000 samples a stored pass was measured to be faster than
/// computing the kernel anew.
const STORED_SAMPLES: usize = 4096;

/// The memory that a fit takes, and whether its kernel is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct MemoryPlan {
    pub bytes: usize,
    pub store_kernel: bool,
}

/// Plans a fit of n samples x d features with k components, or refuses it.
pub(crate) fn plan(n: usize, d: usize, k: usize, budget: Option<usize>) -> Result<MemoryPlan> {
    let order = n.min(d);
    // Threads sum small Gram matrices on their own, eight at the most.
    let partial = if order <= SMALL_GRAM { 8 } else { 0 };
    let values = [
        order.saturating_mul(order).saturating_mul(partial),
        order.saturating_mul(order).saturating_mul(5), // Gram matrix, its eigenvectors (twice), scratch; later M and its own
        n.saturating_mul(order).saturating_mul(2),     // coordinates in the span, and carried by the plan
        order.saturating_mul(4096),                    // strips of centred data
        d.saturating_mul(k).saturating_mul(3),         // loadings
        n.saturating_mul(k).saturating_mul(8),         // scores and what is carried with them
        n.saturating_mul(16),                          // potentials and the memory of the acceleration
        order.saturating_mul(k).saturating_mul(24),    // frames, gradients and the memory of L-BFGS
    ];
    let base = values.iter().fold(0usize, |sum, v| sum.saturating_add(*v)).saturating_mul(8);
    let need = |store| base.saturating_add(Kernel::bytes(n, k, store));
    let budget = budget.unwrap_or(usize::MAX);
    let store_kernel = n <= STORED_SAMPLES && need(true) <= budget;
    let bytes = need(store_kernel);
    if bytes > budget {
        let cause = if d > n { "samples or features" } else { "features" };
        return Err(Error::Memory { needed: bytes, budget, cause });
    }
    Ok(MemoryPlan { bytes, store_kernel })
}
