//! Long work away from Python: on our own threads, without the GIL, open to Ctrl-C, to a progress bar and to a callback.

use std::cell::Cell;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use ewca::{Control, Iteration, Observer, Progress};
use numpy::{PyArray1, PyArrayMethods};
use pyo3::prelude::*;
use rayon::ThreadPool;

use crate::checkpoint::Checkpoint;
use crate::data::{Table, TableView};
use crate::error::fit_error;
use crate::threads::{forget_pool, limit_threads, pool, thread_limit};

/// How often Python is asked whether a signal has come.
const LOOK_AROUND: Duration = Duration::from_millis(50);

/// Who in Python watches a fit: a progress bar, shown the latest iteration now and then, and a callback that sees all of them and may
/// stop the fit by returning True.
#[derive(Default)]
pub struct Watchers {
    pub progress: Option<Py<PyAny>>,
    pub callback: Option<Py<PyAny>>,
}

/// What the worker and the waiting thread tell each other.
#[derive(Default)]
struct Shared {
    stop: Arc<AtomicBool>,
    latest: Mutex<Option<Iteration>>,
    /// Whether there was an iteration: from then on an interrupted fit has a result.
    begun: AtomicBool,
    /// Whether the work must be waited for in any case.
    stays: AtomicBool,
}

/// One iteration, for a callback; the fit waits for the answer.
struct Report {
    iteration: Iteration,
    elapsed: Duration,
    tolerance: f64,
    answer: SyncSender<Control>,
}

/// What the work knows of who waits for it.
pub struct Watch {
    shared: Arc<Shared>,
    reports: Sender<Report>,
    has_callback: bool,
}

impl Watch {
    /// The flag that is raised when the work should end.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.shared.stop.clone()
    }

    /// An observer of a fit that reports here, stops when asked to, and keeps the state of the fit where a file is given for it.
    pub fn observer<'w>(&'w self, checkpoint: Option<&'w mut Checkpoint>) -> impl Observer + 'w {
        Reporter { watch: self, checkpoint }
    }

    /// What the callback wants; the fit goes on where there is none.
    fn asked(&self, progress: &Progress<'_>) -> Control {
        if !self.has_callback {
            return Control::Continue;
        }
        let (answer, wait) = sync_channel(1);
        let &Progress { iteration, elapsed, tolerance, .. } = progress;
        let report = Report { iteration: *iteration, elapsed, tolerance, answer };
        match self.reports.send(report) {
            Ok(()) => wait.recv().unwrap_or(Control::Stop),
            Err(_) => Control::Stop,
        }
    }
}

struct Reporter<'w> {
    watch: &'w Watch,
    checkpoint: Option<&'w mut Checkpoint>,
}

impl Observer for Reporter<'_> {
    fn observe(&mut self, progress: &Progress<'_>) -> Control {
        let shared = &self.watch.shared;
        *shared.latest.lock().unwrap_or_else(PoisonError::into_inner) = Some(*progress.iteration);
        shared.begun.store(true, Ordering::Relaxed);
        let asked = self.watch.asked(progress);
        let stops = asked == Control::Stop || shared.stop.load(Ordering::Relaxed);
        if let Some(checkpoint) = &mut self.checkpoint {
            checkpoint.keep(progress.state, stops);
        }
        if stops { Control::Stop } else { Control::Continue }
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(self.watch.flag())
    }
}

/// Work on a table, and what it works with: free of Python.
pub trait Work<T>: FnOnce(TableView<'_>, Option<&[f64]>, &Watch) -> ewca::Result<T> + Send + 'static {}
impl<T, F: FnOnce(TableView<'_>, Option<&[f64]>, &Watch) -> ewca::Result<T> + Send + 'static> Work<T> for F {}

/// A table and weights, as Python has them.
pub struct Given {
    pub table: Py<PyAny>,
    pub weights: Option<Py<PyArray1<f64>>>,
}

/// Runs `work` on `threads` threads (the usual number by default) while this one waits and looks around for signals. An exception
/// from there (Ctrl-C, or one of a watcher) stops the work, and is returned beside what was made until then.
///
/// The work has a thread of its own, which holds on to the arrays. So it need not be waited for where an exception comes before there is
/// anything to return, or once more: it is left to end by itself, as soon as it sees that it should.
pub fn watched<T: Send + 'static>(
    py: Python<'_>,
    threads: Option<usize>,
    watchers: Watchers,
    given: Given,
    work: impl Work<T>,
) -> PyResult<(T, Option<PyErr>)> {
    let pool = pool(threads)?;
    let shared = Arc::new(Shared::default());
    let (reports, wait) = channel();
    let watch = Watch { shared: shared.clone(), reports, has_callback: watchers.callback.is_some() };
    let (done, result) = sync_channel(1);
    let (own, limit) = (pool.clone(), thread_limit());
    let body = move || {
        limit_threads(limit);
        let made = catch_unwind(AssertUnwindSafe(|| carried_out(given, &own, &watch, work)));
        // Whoever waits hears first that there are no more reports.
        drop(watch);
        let _ = done.send(made);
    };
    std::thread::Builder::new().name("work of ewca".into()).spawn(body).map_err(PyErr::from)?;
    let (raised, result) = py.detach(move || {
        let (raised, left) = attend(&wait, &shared, &watchers);
        if left {
            forget_pool(&pool);
            return (raised, None);
        }
        (raised, result.recv().ok())
    });
    match (result, raised) {
        (Some(Err(panic)), _) => resume_unwind(panic),
        (Some(Ok(Ok(made))), raised) => Ok((made, raised)),
        // Stopped before there was anything to show.
        (_, Some(raised)) => Err(raised),
        (Some(Ok(Err(error))), None) => Err(error),
        (None, None) => Err(lost()),
    }
}

/// The work, in its own thread.
fn carried_out<T: Send>(given: Given, pool: &ThreadPool, watch: &Watch, work: impl Work<T>) -> PyResult<T> {
    let mut coming = None;
    let slot = &mut coming;
    let made = Python::attach(move |py| {
        let table: Table<'_> = given.table.extract(py)?;
        let weights = given.weights.as_ref().map(|weights| weights.bind(py).try_readonly()).transpose()?;
        let weights = weights.as_ref().map(|weights| weights.as_slice()).transpose()?;
        let values = table.values()?;
        if let TableView::Streamed(source) = values {
            // It ends by itself, once its next part is asked for.
            source.stop_with(watch.flag());
            watch.shared.stays.store(true, Ordering::Relaxed);
        }
        let (made, coming) = py.detach(|| (pool.install(|| work(values, weights, watch)), exit::Coming::back()));
        *slot = Some(coming);
        made.map_err(|error| table.failure().unwrap_or_else(|| fit_error(error)))
    });
    drop(coming);
    made
}

/// Threads that nobody waits for must not come back to a Python that is being taken down.
pub mod exit {
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
    use std::time::Duration;

    use pyo3::prelude::*;

    static ENDS: AtomicBool = AtomicBool::new(false);
    /// The threads that are on their way back.
    static COMING: AtomicUsize = AtomicUsize::new(0);

    /// A thread on its way back to Python, until it has left it again.
    pub struct Coming(());

    impl Coming {
        /// Waits for ever once Python ends.
        pub fn back() -> Self {
            COMING.fetch_add(1, Ordering::SeqCst);
            let coming = Self(());
            if ENDS.load(Ordering::SeqCst) {
                drop(coming);
                loop {
                    std::thread::park();
                }
            }
            coming
        }
    }

    impl Drop for Coming {
        fn drop(&mut self) {
            COMING.fetch_sub(1, Ordering::SeqCst);
        }
    }

    /// Python is about to end: lets no more threads in, and those that are in come out. A process that was forked waits for some that it
    /// does not have, but not for long.
    #[pyfunction]
    pub fn python_ends(py: Python<'_>) {
        ENDS.store(true, Ordering::SeqCst);
        py.detach(|| {
            for _ in 0..200 {
                if COMING.load(Ordering::SeqCst) == 0 {
                    return;
                }
                std::thread::sleep(Duration::from_millis(1));
            }
        });
    }
}

/// Runs `job`, which is soon done or looks at the flag, while this thread waits and looks around for signals.
pub fn attended<T: Send>(py: Python<'_>, job: impl FnOnce(&Watch) -> T + Send) -> PyResult<(Option<T>, Option<PyErr>)> {
    let pool = pool(None)?;
    let shared = Arc::new(Shared { stays: AtomicBool::new(true), ..Shared::default() });
    let (reports, wait) = channel();
    let watch = Watch { shared: shared.clone(), reports, has_callback: false };
    Ok(py.detach(move || {
        let (mut made, mut raised) = (None, None);
        pool.in_place_scope(|scope| {
            let made = &mut made;
            scope.spawn(move |_| {
                // Dropped at the end or by a panic: either way the wait ends.
                let watch = watch;
                *made = Some(job(&watch));
            });
            raised = attend(&wait, &shared, &Watchers::default()).0;
        });
        (made, raised)
    }))
}

/// Waits for the end of the work, looks around meanwhile, and answers for the callback. Returns the first exception, if there is one, and
/// whether the work is left alone.
fn attend(wait: &Receiver<Report>, shared: &Shared, watchers: &Watchers) -> (Option<PyErr>, bool) {
    let (mut raised, mut looked) = (None, Instant::now());
    loop {
        let report = match wait.recv_timeout(LOOK_AROUND.saturating_sub(looked.elapsed())) {
            Ok(report) => Some(report),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => return (raised, false),
        };
        let due = looked.elapsed() >= LOOK_AROUND;
        let progress = watchers.progress.as_ref().filter(|_| raised.is_none());
        let callback = watchers.callback.as_ref().filter(|_| raised.is_none());
        let answer = Python::attach(|py| {
            if due {
                look_around(py, shared, progress)?;
            }
            report.as_ref().map_or(Ok(Control::Continue), |report| ask(py, report, callback))
        });
        if due {
            looked = Instant::now();
        }
        let mut leave = false;
        let control = answer.unwrap_or_else(|error| {
            let again = raised.replace(error).is_some();
            leave = (again || !shared.begun.load(Ordering::Relaxed)) && !shared.stays.load(Ordering::Relaxed);
            Control::Stop
        });
        if control == Control::Stop {
            shared.stop.store(true, Ordering::Relaxed);
        }
        if let Some(report) = report {
            // Who no longer waits for the answer has ended.
            let _ = report.answer.send(control);
        }
        if leave {
            return (raised, true);
        }
    }
}

fn look_around(py: Python<'_>, shared: &Shared, progress: Option<&Py<PyAny>>) -> PyResult<()> {
    py.check_signals()?;
    let latest = shared.latest.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let (Some(progress), Some(now)) = (progress, latest) {
        nested(|| progress.call1(py, (now.attempt, now.iteration, now.epsilon, now.loss, now.relative_gradient)))?;
    }
    Ok(())
}

/// Shows an iteration to the callback, which may answer True: stop.
fn ask(py: Python<'_>, report: &Report, callback: Option<&Py<PyAny>>) -> PyResult<Control> {
    let Some(callback) = callback else { return Ok(Control::Continue) };
    let Report { iteration: now, elapsed, tolerance, .. } = report;
    let words = (
        now.attempt,
        now.iteration,
        now.epsilon,
        now.loss,
        now.relative_gradient,
        now.marginal_error,
        now.kernel_passes,
        elapsed.as_secs_f64(),
        *tolerance,
    );
    let answer = nested(|| callback.call1(py, words))?;
    Ok(if answer.is_truthy(py)? { Control::Stop } else { Control::Continue })
}

/// Runs `job` on `threads` threads without the GIL: for work that is too short to be interrupted.
pub fn detached<T: Send>(py: Python<'_>, threads: Option<usize>, job: impl FnOnce() -> T + Send) -> PyResult<T> {
    let pool = pool(threads)?;
    Ok(py.detach(|| pool.install(job)))
}

/// Runs a job that owns what it works on, and that may not be one to end early: when a signal comes, its exception is raised at once,
/// and the job is left to end by itself, on threads that nobody else uses from then on. The flag that it gets is raised then.
pub fn left_alone_on_signal<T: Send + 'static>(
    py: Python<'_>,
    job: impl FnOnce(&AtomicBool) -> T + Send + 'static,
) -> PyResult<T> {
    let pool = pool(None)?;
    let stop = Arc::new(AtomicBool::new(false));
    let (done, wait) = channel();
    let flag = stop.clone();
    pool.spawn(move || {
        let made = catch_unwind(AssertUnwindSafe(|| job(&flag)));
        // Nobody waits for what was left alone.
        let _ = done.send(made);
    });
    py.detach(move || {
        loop {
            match wait.recv_timeout(LOOK_AROUND) {
                Ok(Ok(made)) => return Ok(made),
                Ok(Err(panic)) => resume_unwind(panic),
                Err(RecvTimeoutError::Timeout) => {
                    if let Err(raised) = Python::attach(|py| py.check_signals()) {
                        stop.store(true, Ordering::Relaxed);
                        forget_pool(&pool);
                        return Err(raised);
                    }
                }
                Err(RecvTimeoutError::Disconnected) => return Err(lost()),
            }
        }
    })
}

pub fn lost() -> PyErr {
    pyo3::exceptions::PyRuntimeError::new_err("the work ended without a result")
}

thread_local! {
    /// Whether this thread runs Python code that a fit waits for.
    static NESTED: Cell<bool> = const { Cell::new(false) };
}

/// Runs Python code that a fit waits for. What it asks of this module needs threads of its own: those of the fit may all be waiting.
pub fn nested<T>(code: impl FnOnce() -> T) -> T {
    let before = NESTED.replace(true);
    let result = code();
    NESTED.set(before);
    result
}

/// Whether a fit waits for this thread.
pub fn is_nested() -> bool {
    NESTED.get()
}
