//! What moves on the terminal while the program works. Nothing is drawn unless standard error is a terminal.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ewca::{Control, Observer, Phase, Progress};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::console::terminal::{Console, one_line};
use crate::console::text;
use crate::run::checkpoint::CheckpointWriter;
use crate::run::interrupt;

/// Steps of the bar: finer than any terminal shows.
const STEPS: u64 = 1000;
/// Work whose end is not known, and iterations.
const SPINNER: &str = "{spinner} {msg}";
const FITTING: &str = "{spinner} fitting [{bar:20}] {msg}";
/// What is done within a moment needs no bar.
const MOMENT: Duration = Duration::from_millis(300);

/// A spinner with a message, for work whose end is not known. It appears with [`turn`].
fn spinner(message: String, console: Console) -> ProgressBar {
    let target = if console.talks() { ProgressDrawTarget::stderr() } else { ProgressDrawTarget::hidden() };
    let bar = ProgressBar::with_draw_target(Some(STEPS), target).with_message(one_line(&message));
    if let Ok(style) = ProgressStyle::with_template(SPINNER) {
        bar.set_style(style);
    }
    bar
}

/// Shows the bar once the work has taken a moment, and lets it move on its own from then on, so that a long iteration does
/// not look like a dead program.
fn turn(bar: &ProgressBar) {
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

/// A spinner that tells what the program is at, from now on.
pub fn phase(words: &str, console: Console) -> ProgressBar {
    let bar = spinner(words.into(), console);
    turn(&bar);
    bar
}

/// A bar for work of which some parts are done, as soon as it has a length and a position.
pub fn counter(message: &'static str, console: Console) -> ProgressBar {
    let bar = phase(message, console);
    if let Ok(style) = ProgressStyle::with_template("{spinner} [{bar:20}] {pos}/{len} {msg}") {
        bar.set_style(style.progress_chars("=> "));
    }
    bar
}

/// Reads a file, with something that moves on the terminal if it takes long.
pub fn while_reading<T>(file: &str, console: Console, read: impl FnOnce() -> T) -> T {
    let bar = phase(&format!("reading {file}"), console);
    let outcome = read();
    bar.finish_and_clear();
    outcome
}

/// What tells the user, above the bar, that Ctrl-C has been heard.
pub fn notice(bar: &ProgressBar, words: &'static str) -> impl Fn() + Send + use<> {
    let bar = bar.clone();
    move || bar.println(words)
}

/// The fits that are watched.
#[derive(Debug, Clone, Copy)]
pub enum WatchedFits {
    /// One fit with so many attempts (1 + restarts).
    Attempts(usize),
    /// A path of so many fits.
    Steps(usize),
}

/// Watches a fit: draws its progress, keeps its state and stops it when the user asks.
pub struct Watcher {
    bar: ProgressBar,
    fits: WatchedFits,
    checkpoint_writer: Option<CheckpointWriter>,
    /// The attempt or step that is drawn, from 1.
    current: usize,
    /// The relative gradient at its start.
    first_gradient: f64,
    /// What the fit is at, where that is no iteration.
    phase: String,
    /// Whether somebody else answers to Ctrl-C.
    is_silent: bool,
}

impl Watcher {
    /// A watcher of these fits.
    pub fn new(fits: WatchedFits, console: Console) -> Self {
        let bar = spinner(Phase::Reduction.to_string(), console);
        Self {
            bar,
            fits,
            checkpoint_writer: None,
            current: 0,
            first_gradient: 1.0,
            phase: String::new(),
            is_silent: false,
        }
    }

    /// The same watcher, which also keeps the state of the fit.
    pub fn keeping(self, checkpoint_writer: Option<CheckpointWriter>) -> Self {
        Self { checkpoint_writer, ..self }
    }

    /// The same watcher, which leaves it to others to answer to Ctrl-C.
    pub fn silent(self) -> Self {
        Self { is_silent: true, ..self }
    }

    /// Puts the bar on the terminal.
    pub fn start(&self) {
        turn(&self.bar);
    }

    /// What tells the user, above the bar, that Ctrl-C has been heard.
    fn stop_notice(&self) -> impl Fn() + Send + use<> {
        notice(&self.bar, "Stopping; press Ctrl-C again to quit at once.")
    }

    /// Shows what the fit is at, where it has no iterations to show. Tells whether it should go on.
    fn enter(&mut self, phase: &str) -> Control {
        if self.phase != phase {
            self.phase = phase.into();
            if let Ok(style) = ProgressStyle::with_template(SPINNER) {
                self.bar.set_style(style);
            }
            self.bar.set_message(self.phase.clone());
        }
        if interrupt::requested() { Control::Stop } else { Control::Continue }
    }

    /// Takes the bar off the terminal.
    pub fn finish(self) {
        self.bar.finish_and_clear();
    }

    fn draw(&mut self, progress: &Progress<'_>) {
        let now = progress.iteration;
        let begins = match self.fits {
            WatchedFits::Attempts(_) => now.attempt + 1 != self.current,
            WatchedFits::Steps(_) => now.iteration == 0 && now.attempt == 0,
        };
        if begins {
            self.current += 1;
            self.first_gradient = now.relative_gradient;
            self.bar.set_position(0);
        }
        if begins || !self.phase.is_empty() {
            self.phase.clear();
            if let Ok(style) = ProgressStyle::with_template(FITTING) {
                self.bar.set_style(style.progress_chars("=> "));
            }
        }
        if self.bar.is_hidden() || progress.elapsed < MOMENT {
            return;
        }
        // The gradient falls by about the same factor in every iteration, so its logarithm tells how far the fit is. It rises
        // again when epsilon moves during a search; the bar stays where it was.
        let way = (self.first_gradient / progress.tolerance).ln();
        let done = (self.first_gradient / now.relative_gradient).ln() / way;
        if done.is_finite() {
            let position = (done.clamp(0.0, 1.0) * STEPS as f64) as u64;
            self.bar.set_position(self.bar.position().max(position));
        }
        let which = match self.fits {
            WatchedFits::Attempts(1) => String::new(),
            WatchedFits::Attempts(_) => format!("attempt {}, ", now.attempt + 1),
            WatchedFits::Steps(steps) => {
                format!("{} of {steps}, epsilon {}, ", self.current, text::number(now.epsilon))
            }
        };
        self.bar.set_message(format!(
            "{which}iteration {}, gradient {:.1e} (target {:.0e})",
            now.iteration, now.relative_gradient, progress.tolerance
        ));
    }
}

impl Observer for Watcher {
    fn observe(&mut self, progress: &Progress<'_>) -> Control {
        let stop = interrupt::requested();
        if let Some(checkpoint_writer) = &mut self.checkpoint_writer {
            checkpoint_writer.observe(progress, stop);
        }
        if stop {
            return Control::Stop;
        }
        self.draw(progress);
        Control::Continue
    }

    fn phase(&mut self, phase: Phase) {
        if phase != Phase::Iterations {
            self.enter(&phase.to_string());
        } else if !self.is_silent {
            // From here on there is something to keep.
            interrupt::keep_results(self.stop_notice());
        }
    }

    fn stop_flag(&self) -> Option<Arc<AtomicBool>> {
        Some(interrupt::flag())
    }
}

#[cfg(test)]
mod tests {
    use ewca::{Ewca, Samples};

    use super::*;
    use crate::console::terminal::Verbosity;

    #[test]
    fn the_bar_tells_the_phase() {
        let console = Console { verbosity: Verbosity::Quiet, json: false };
        let mut watcher = Watcher::new(WatchedFits::Attempts(1), console);
        for words in ["finding the principal axes", "finding the principal axes", "fitting 400 of 10000 samples first"]
        {
            assert_eq!(watcher.enter(words), Control::Continue);
            assert_eq!((watcher.bar.message(), watcher.phase.as_str()), (words.to_string(), words));
        }
        // Iterations take its place, and leave it for the next phase.
        let data: Vec<f64> = (0..40).map(|i| f64::from(i * i % 17)).collect();
        let samples = Samples::new(&data, 10, 4).unwrap();
        Ewca::params(2).check().unwrap().fit_observed(&samples, &mut watcher).unwrap();
        assert_eq!(watcher.phase, Phase::Finish.to_string());
        watcher.enter("finishing");
        assert_eq!(watcher.bar.message(), "finishing");
    }
}
