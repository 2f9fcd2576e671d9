//! Ctrl-C: once finishes the iteration and keeps the best result, twice quits at once.

use std::io::IsTerminal;
use std::sync::atomic::{AtomicBool, Ordering};

use crate::outcome::INTERRUPTED;
use crate::terminal;

static REQUESTED: AtomicBool = AtomicBool::new(false);
static SOMETHING_TO_KEEP: AtomicBool = AtomicBool::new(false);

/// Listens to Ctrl-C (and to the polite signals by which systems end programs) from now on.
pub fn watch() {
    // Without a handler a signal ends the program at once, which is what the second Ctrl-C does anyway.
    let _ = ctrlc::set_handler(|| {
        let again = REQUESTED.swap(true, Ordering::SeqCst);
        if again || !SOMETHING_TO_KEEP.load(Ordering::SeqCst) {
            std::process::exit(INTERRUPTED.into());
        }
        if std::io::stderr().is_terminal() {
            terminal::complain("stopping after this iteration; press Ctrl-C again to quit at once");
        }
    });
}

/// From now on there is a result worth keeping: the first Ctrl-C no longer ends the program.
pub fn keep_results() {
    SOMETHING_TO_KEEP.store(true, Ordering::SeqCst);
}

/// Whether the user has asked the fit to stop.
pub fn requested() -> bool {
    REQUESTED.load(Ordering::SeqCst)
}
