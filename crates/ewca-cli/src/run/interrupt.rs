//! Ctrl-C: while there is a result worth keeping, once keeps it, and twice quits at once; otherwise once is enough.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use crate::console::failure::Failure;
use crate::console::outcome::INTERRUPTED;

/// The time that work gets to end by itself, and to leave nothing unfinished behind, before the program ends.
const GRACE: Duration = Duration::from_millis(500);

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Set while there is a result worth keeping: what tells the user that it is being kept.
static ANSWER: Mutex<Option<Box<dyn Fn() + Send>>> = Mutex::new(None);

/// Listens to Ctrl-C (and to the polite signals by which systems end programs) from now on.
pub fn watch() {
    // Without a handler a signal ends the program at once, which is what the second Ctrl-C does anyway.
    let _ = ctrlc::set_handler(|| {
        if REQUESTED.swap(true, Ordering::SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
        match &*ANSWER.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(answer) => answer(),
            None => drop(std::thread::spawn(|| {
                std::thread::sleep(GRACE);
                std::process::exit(INTERRUPTED.into());
            })),
        }
    });
}

/// From now on there is a result worth keeping: the first Ctrl-C no longer ends the program, it only calls `answer`.
pub fn keep_results(answer: impl Fn() + Send + 'static) {
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(answer));
}

/// The result is safe: from now on the first Ctrl-C ends the program again.
pub fn results_are_safe() {
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = None;
}

/// Ends work that has nothing to keep yet, if the user has asked the program to stop.
pub fn check() -> Result<(), Failure> {
    if requested() { Err(Failure::Stopped) } else { Ok(()) }
}

/// Whether the user has asked the program to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// The flag that tells it, for long work to look at.
pub fn flag() -> Arc<AtomicBool> {
    REQUESTED.clone()
}
