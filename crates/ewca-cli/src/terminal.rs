//! The two streams of a terminal. Neither makes the program fail when nobody listens any more.

use std::io::{IsTerminal, Write};

/// Whether the account may use bold and colour: on a terminal, unless `NO_COLOR` is set to anything.
pub fn styled() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    std::io::stdout().is_terminal() && !forbidden && !dumb
}

/// Prints to standard output. A reader that has gone away (`ewca demo | head`) is no error: the results are in their files.
pub fn say(text: &str) {
    let mut out = std::io::stdout().lock();
    let _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// Prints one line to standard error, with the program's name before it.
pub fn complain(text: &str) {
    let _ = writeln!(std::io::stderr(), "ewca: {text}");
}
