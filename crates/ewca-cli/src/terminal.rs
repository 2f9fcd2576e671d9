//! The two streams of a terminal, for people and for programs. Neither makes the program fail when nobody listens any more.

use std::io::{IsTerminal, Write};

use serde::Serialize;
use serde_json::json;

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// The account.
    Normal,
    /// The account, and where the time went.
    Verbose,
}

/// How much to say, and in which form.
#[derive(Debug, Clone, Copy)]
pub struct Console {
    /// How much.
    pub verbosity: Verbosity,
    /// As JSON, one object per line, instead of text.
    pub json: bool,
}

impl Console {
    /// Whether there is text for people: an account, a moving bar.
    pub fn talks(self) -> bool {
        self.verbosity > Verbosity::Quiet && !self.json
    }

    /// Text for people, on standard output.
    pub fn say(self, text: &str) {
        if self.talks() {
            say(text);
        }
    }

    /// Text for people beside data on standard output.
    pub fn remark(self, text: &str) {
        if self.talks() {
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }

    /// The account for programs, on standard output. Nothing, unless it was asked for.
    pub fn report(self, account: &impl Serialize) {
        if self.json
            && self.verbosity > Verbosity::Quiet
            && let Ok(line) = serde_json::to_string(account)
        {
            say(&(line + "\n"));
        }
    }

    /// What may be good to know, on standard error; nothing where silence was asked for.
    pub fn note(self, text: &str) {
        match self.json {
            _ if self.verbosity == Verbosity::Quiet => {}
            true => complain_line(&json!({ "level": "note", "message": text }).to_string()),
            false => complain_line(&format!("ewca: note: {text}")),
        }
    }

    /// A warning, on standard error.
    pub fn warn(self, text: &str) {
        match self.json {
            true => complain_line(&json!({ "level": "warning", "message": text }).to_string()),
            false => complain_line(&format!("ewca: warning: {text}")),
        }
    }

    /// Why the program ends without results, on standard error.
    pub fn fail(self, code: u8, text: &str) {
        match self.json {
            true => complain_line(&json!({ "level": "error", "code": code, "message": text }).to_string()),
            false => complain_line(&format!("ewca: error: {text}")),
        }
    }
}

/// Whether the account may use bold and colour: on a terminal, unless `NO_COLOR` is set to anything.
pub fn styled() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    std::io::stdout().is_terminal() && !forbidden && !dumb
}

/// Prints to standard output. A reader that has gone away (`ewca demo | head`) is no error: the results are in their files.
fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

fn complain_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}
