//! Ctrl-C: once finishes the iteration and keeps the best result, twice quits at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, OnceLock};

use crate::outcome::INTERRUPTED;

static REQUESTED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);
/// Set once there is a result worth keeping: what tells the user that the fit will stop.
static ANSWER: OnceLock<Box<dyn Fn() + Send + Sync>> = OnceLock::new();

/// Listens to Ctrl-C (and to the polite signals by which systems end programs) from now on.
pub fn watch() {
    // Without a handler a signal ends the program at once, which is what the second Ctrl-C does anyway.
    let _ = ctrlc::set_handler(|| {
        let again = REQUESTED.swap(true, Ordering::SeqCst);
        match ANSWER.get() {
            Some(answer) if !again => answer(),
            _ => std::process::exit(INTERRUPTED.into()),
        }
    });
}

/// From now on there is a result worth keeping: the first Ctrl-C no longer ends the program, it only calls `answer`.
pub fn keep_results(answer: impl Fn() + Send + Sync + 'static) {
    // A program fits once; a second call would change nothing.
    let _ = ANSWER.set(Box::new(answer));
}

/// Whether the user has asked the fit to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}

/// The flag that tells it, for long work to look at.
pub fn flag() -> Arc<AtomicBool> {
    REQUESTED.clone()
}
