//! How many threads the work gets, and the pool that it runs in.

use std::cell::Cell;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::run::is_nested;

/// What says how many threads a library may start: rayon's own word, and the one that joblib sets in its worker processes, so that they
/// do not all take all cores.
const LIMITS: [&str; 2] = ["RAYON_NUM_THREADS", "OMP_NUM_THREADS"];
/// How often somebody who holds the lock for an instant is waited for. A process that was forked in that instant would wait for ever.
const PATIENCE: usize = 10_000;

thread_local! {
    /// The number of threads of calls from this one that name none.
    static USUAL: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The number of cores that this process may use, by its affinity and its control group.
#[pyfunction]
pub fn available_cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// The bytes of memory that are free; as many as can be where the system does not tell.
#[pyfunction]
pub fn available_memory() -> u64 {
    ewca_io::available_memory().unwrap_or(u64::MAX)
}

/// Sets the number of threads of calls from this thread that name none (None: as many as there are cores, or as the environment allows),
/// and returns what it was.
#[pyfunction]
#[pyo3(signature = (threads=None))]
pub fn limit_threads(threads: Option<usize>) -> Option<usize> {
    USUAL.replace(threads.map(|count| count.clamp(1, available_cores())))
}

/// What [`limit_threads`] was last told in this thread.
pub fn thread_limit() -> Option<usize> {
    USUAL.get()
}

/// The number of threads where nobody names one.
#[pyfunction]
pub fn usual_threads() -> usize {
    let from_environment = LIMITS.iter().filter_map(|name| limit_of(&std::env::var(name).ok()?));
    let allowed = from_environment.fold(available_cores(), usize::min);
    USUAL.get().unwrap_or(allowed)
}

/// The first number of a list such as `4,2`, where it is one.
fn limit_of(words: &str) -> Option<usize> {
    words.split(',').next()?.trim().parse().ok().filter(|count| *count > 0)
}

/// The pool that was last asked for, and the process it lives in: threads do not survive a fork.
struct Kept {
    process: u32,
    threads: usize,
    pool: Arc<ThreadPool>,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

/// The lock, which is held for an instant at a time; None in a process that was forked just then.
fn kept() -> Option<MutexGuard<'static, Option<Kept>>> {
    for _ in 0..PATIENCE {
        match KEPT.try_lock() {
            Ok(kept) => return Some(kept),
            Err(TryLockError::Poisoned(kept)) => return Some(PoisonError::into_inner(kept)),
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
    None
}

/// A pool of so many threads: the last one where it has as many, so that fits in several threads of Python share it.
pub fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let threads = threads.map_or_else(usual_threads, |count| count.clamp(1, available_cores()));
    if is_nested() {
        return build(threads).map(Arc::new);
    }
    let process = std::process::id();
    let found = |kept: &Option<Kept>| {
        let kept = kept.as_ref().filter(|kept| (kept.process, kept.threads) == (process, threads))?;
        Some(kept.pool.clone())
    };
    if let Some(pool) = kept().and_then(|kept| found(&kept)) {
        return Ok(pool);
    }
    let made = Arc::new(build(threads)?);
    let Some(mut kept) = kept() else { return Ok(made) };
    // Two threads may have built one at the same time: the first stays.
    if let Some(pool) = found(&kept) {
        return Ok(pool);
    }
    let old = kept.replace(Kept { process, threads, pool: made.clone() });
    drop(kept);
    if let Some(old) = old.filter(|old| old.process != process) {
        // Its threads are gone; so nothing may wait for them.
        std::mem::forget(old);
    }
    Ok(made)
}

/// Sees to it that nobody gets this pool again: something still runs in it.
pub fn forget_pool(pool: &Arc<ThreadPool>) {
    if let Some(mut kept) = kept()
        && kept.as_ref().is_some_and(|kept| Arc::ptr_eq(&kept.pool, pool))
    {
        *kept = None;
    }
}

/// A pool that nobody else has.
pub fn own_pool() -> PyResult<ThreadPool> {
    build(usual_threads())
}

fn build(threads: usize) -> PyResult<ThreadPool> {
    let pool = ThreadPoolBuilder::new().num_threads(threads).thread_name(|i| format!("ewca-{i}")).build();
    let words = |error| format!("n_jobs: {threads} threads could not be started ({error}); ask for fewer");
    pool.map_err(|error| PyValueError::new_err(words(error)))
}
