//! What moves on the terminal while the program works. Nothing is drawn unless standard error is a terminal.

use std::time::Duration;

use ewca::{Control, Observer, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::interrupt;

/// Steps of the bar: finer than any terminal shows.
const STEPS: u64 = 1000;
/// What is done within a moment needs no bar.
const MOMENT: Duration = Duration::from_millis(300);

/// A spinner with a message, for work whose end is not known. It appears with [`turn`].
pub fn spinner(message: String, quiet: bool) -> ProgressBar {
    let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr() };
    let bar = ProgressBar::with_draw_target(Some(STEPS), target).with_message(message);
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg}") {
        bar.set_style(style);
    }
    bar
}

/// Shows the bar once the work has taken a moment, and lets it move on its own from then on, so that a long iteration does
/// not look like a dead program.
pub fn turn(bar: &ProgressBar) {
    if bar.is_hidden() {
        return;
    }
    let bar = bar.clone();
    std::thread::spawn(move || {
        std::thread::sleep(MOMENT);
        if !bar.is_finished() {
            bar.enable_steady_tick(Duration::from_millis(120));
        }
    });
}

/// Watches a fit: draws its progress and stops it when the user asks.
pub struct Watcher {
    bar: ProgressBar,
    attempts: usize,
    attempt: usize,
    /// The relative gradient at the start of the attempt.
    first_gradient: f64,
}

impl Watcher {
    /// A watcher of a fit with so many attempts (1 + restarts).
    pub fn new(attempts: usize, quiet: bool) -> Self {
        Self { bar: spinner("preparing the fit".into(), quiet), attempts, attempt: usize::MAX, first_gradient: 1.0 }
    }

    /// Puts the bar on the terminal.
    pub fn start(&self) {
        turn(&self.bar);
    }

    /// What tells the user, above the bar, that Ctrl-C has been heard.
    pub fn stop_notice(&self) -> impl Fn() + Send + Sync + 'static {
        let bar = self.bar.clone();
        move || bar.println("Stopping after this iteration; press Ctrl-C again to quit at once.")
    }

    /// Takes the bar off the terminal.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn begin_attempt(&mut self, attempt: usize, gradient: f64) {
        (self.attempt, self.first_gradient) = (attempt, gradient);
        if let Ok(style) = ProgressStyle::with_template("{spinner} fitting [{bar:20}] {msg}") {
            self.bar.set_style(style.progress_chars("=> "));
        }
        self.bar.set_position(0);
    }
}

impl Observer for Watcher {
    fn observe(&mut self, progress: &Progress<'_>) -> Control {
        if interrupt::requested() {
            return Control::Stop;
        }
        if self.bar.is_hidden() || progress.elapsed < MOMENT {
            return Control::Continue;
        }
        let now = progress.iteration;
        if now.attempt != self.attempt {
            self.begin_attempt(now.attempt, now.relative_gradient);
        }
        // The gradient falls by about the same factor in every iteration, so its logarithm tells how far the fit is. It rises
        // again when epsilon moves during a search; the bar stays where it was.
        let way = (self.first_gradient / progress.tolerance).ln();
        let done = (self.first_gradient / now.relative_gradient).ln() / way;
        if done.is_finite() {
            let position = (done.clamp(0.0, 1.0) * STEPS as f64) as u64;
            self.bar.set_position(self.bar.position().max(position));
        }
        let which = if self.attempts > 1 {
            format!("attempt {} of {}, ", now.attempt + 1, self.attempts)
        } else {
            String::new()
        };
        self.bar.set_message(format!(
            "{which}iteration {}, gradient {:.1e} (until {:.0e})",
            now.iteration, now.relative_gradient, progress.tolerance
        ));
        Control::Continue
    }
}
