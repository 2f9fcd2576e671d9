//! Long work away from Python: on our own threads, without the GIL, open to Ctrl-C and to a progress bar.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use ewca::{Control, Iteration, Observer, Progress};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};

/// How often Python is asked whether a signal has come.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// What the worker and the waiting thread tell each other.
#[derive(Default)]
pub struct Watch {
    stop: Arc<AtomicBool>,
    latest: Mutex<Option<Iteration>>,
}

impl Watch {
    /// Whether the work should end.
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// An observer of a fit that reports here and stops when asked to.
    pub fn observer(&self) -> impl Observer + '_ {
        Reporter(self)
    }
}

struct Reporter<'w>(&'w Watch);

impl Observer for Reporter<'_> {
    fn observe(&mut self, progress: &Progress<'_>) -> Control {
        *self.0.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(*progress.iteration);
        if self.0.stopped() { Control::Stop } else { Control::Continue }
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(self.0.stop.clone())
    }
}

/// Runs `job` on `threads` threads (all by default) while this one waits and looks around for signals. An exception from there
/// (Ctrl-C, or one of the progress callback) stops the job, and is returned beside what the job made until then.
pub fn watched<T: Send>(
    py: Python<'_>,
    threads: Option<usize>,
    progress: Option<Py<PyAny>>,
    job: impl FnOnce(&Watch) -> T + Send,
) -> PyResult<(Option<T>, Option<PyErr>)> {
    let pool = pool(threads)?;
    let watch = Watch::default();
    Ok(py.detach(|| {
        let (mut made, mut raised) = (None, None);
        let (done, wait) = channel::<()>();
        pool.in_place_scope(|scope| {
            let (made, watch) = (&mut made, &watch);
            scope.spawn(move |_| {
                // Dropped at the end or by a panic: either way the wait ends.
                let _done = done;
                *made = Some(job(watch));
            });
            while let Err(RecvTimeoutError::Timeout) = wait.recv_timeout(LOOK_AROUND) {
                if raised.is_none() {
                    raised = Python::attach(|py| look_around(py, watch, progress.as_ref())).err();
                    watch.stop.store(raised.is_some(), Ordering::Relaxed);
                }
            }
        });
        (made, raised)
    }))
}

/// Runs `job` on `threads` threads without the GIL: for work that is too short to be interrupted.
pub fn detached<T: Send>(py: Python<'_>, threads: Option<usize>, job: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool(threads)?;
    Ok(py.detach(|| pool.install(job)))
}

fn look_around(py: Python<'_>, watch: &Watch, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let latest = watch.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(progress), Some(now)) = (progress, latest) {
        progress.call1(py, (now.attempt, now.iteration, now.epsilon, now.loss, now.relative_gradient))?;
    }
    Ok(())
}

/// The pool that was last asked for, and the process it lives in: threads do not survive a fork.
struct Kept {
    process: u32,
    threads: Option<usize>,
    pool: Arc<ThreadPool>,
}

static KEPT: Mutex<Option<Kept>> = Mutex::new(None);

fn pool(threads: Option<usize>) -> PyResult<Arc<ThreadPool>> {
    let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
    let process = std::process::id();
    if let Some(kept) = &*kept
        && (kept.process, kept.threads) == (process, threads)
    {
        return Ok(kept.pool.clone());
    }
    let pool = ThreadPoolBuilder::new().num_threads(threads.unwrap_or(0)).build();
    let pool = Arc::new(pool.map_err(|error| {
        PyValueError::new_err(format!("n_jobs: the threads could not be started ({error}); ask for fewer"))
    })?);
    if let Some(old) = kept.replace(Kept { process, threads, pool: pool.clone() })
        && old.process != process
    {
        // Its threads are gone; so nothing may wait for them.
        std::mem::forget(old);
    }
    Ok(pool)
}
