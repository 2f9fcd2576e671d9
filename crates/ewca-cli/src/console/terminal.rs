//! The two streams of a terminal, for people and for programs. Where one takes no more, the work goes on; the end of the program tells.

use std::io::{self, IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

use serde::Serialize;
use serde_json::json;

/// How much to say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verbosity {
    /// Warnings and errors.
    Quiet,
    /// The summary.
    Normal,
    /// The summary, and where the time went.
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
    /// Whether there is text for people: a summary, a moving bar.
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
            let _ = std::io::stderr().write_all(printable(text, false).as_bytes());
        }
    }

    /// The record for programs, on standard output. Nothing, unless it was asked for.
    pub fn report(self, record: &impl Serialize) {
        if self.json
            && self.verbosity > Verbosity::Quiet
            && let Ok(line) = serde_json::to_string(record)
        {
            say(&(plain_json(&line) + "\n"));
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
            true => complain_line(&plain_json(&json!({ "level": "warning", "message": text }).to_string())),
            false => complain_line(&format!("ewca: warning: {}", one_line(text))),
        }
    }

    /// Why the program ends without results, on standard error.
    pub fn fail(self, code: u8, text: &str) {
        match self.json {
            true => complain_line(&plain_json(&json!({ "level": "error", "code": code, "message": text }).to_string())),
            false => complain_line(&format!("ewca: error: {}", one_line(text))),
        }
    }
}

/// Whether the summary may use bold and colour: on a terminal, unless `NO_COLOR` is set to anything.
pub fn styled() -> bool {
    let forbidden = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = std::env::var_os("TERM").is_some_and(|value| value == "dumb");
    std::io::stdout().is_terminal() && !forbidden && !dumb
}

/// Why standard output took no more.
static TROUBLE: Mutex<Option<io::Error>> = Mutex::new(None);

/// Prints to standard output. If that fails (`ewca demo | head -0`, a full disk), the results are in their files all the same; but
/// the exit code will tell.
fn say(text: &str) {
    let mut trouble = TROUBLE.lock().unwrap_or_else(PoisonError::into_inner);
    if trouble.is_none() {
        let mut out = io::stdout().lock();
        *trouble = out.write_all(printable(text, styled()).as_bytes()).and_then(|()| out.flush()).err();
    }
}

/// Why standard output took no more, if that is so.
pub fn trouble() -> Option<io::Error> {
    TROUBLE.lock().unwrap_or_else(PoisonError::into_inner).take()
}

/// Whether a character would act on a terminal instead of being shown, or change the order in which others are shown.
fn acts(c: char) -> bool {
    c.is_control() || matches!(c, '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Text from a file, or its name, as messages quote it: on one line, and nothing but shown.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if acts(c) { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// Text of several lines, without anything that would act on a terminal but bold and colour, where these are `styled`.
pub fn printable(text: &str, styled: bool) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let length = if styled { style_length(rest) } else { 0 };
        if length > 0 {
            out.push_str(&rest[..length]);
            rest = &rest[length..];
            continue;
        }
        out.push(if acts(c) && c != '\n' { char::REPLACEMENT_CHARACTER } else { c });
        rest = &rest[c.len_utf8()..];
    }
    out
}

/// The length of the style that a text begins with, such as `\x1b[1;32m`; 0 if it does not.
fn style_length(text: &str) -> usize {
    let Some(inside) = text.strip_prefix("\x1b[") else { return 0 };
    let digits = inside.bytes().take_while(|byte| byte.is_ascii_digit() || *byte == b';').count();
    if inside.as_bytes().get(digits) == Some(&b'm') { 2 + digits + 1 } else { 0 }
}

/// JSON in which what serde leaves as it is, and a terminal does not, is escaped too.
fn plain_json(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for c in line.chars() {
        match acts(c) {
            true => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            false => out.push(c),
        }
    }
    out
}

fn complain_line(text: &str) {
    let _ = writeln!(std::io::stderr(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_acts_on_the_terminal() {
        assert_eq!(one_line("a\x1b[31mb\nc\u{9b}d\u{202e}e\x7f"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\u{fffd}e\u{fffd}");
        assert_eq!(printable("a\nb\r\x1b[2J", false), "a\nb\u{fffd}\u{fffd}[2J");
        assert_eq!(printable("\x1b[1;32mok\x1b[0m \x1b[2J", true), "\x1b[1;32mok\x1b[0m \u{fffd}[2J");
        let line = plain_json(&json!({ "name": "a\u{9b}b\x7f\n" }).to_string());
        assert_eq!(line, r#"{"name":"a\u009bb\u007f\n"}"#);
        assert_eq!(serde_json::from_str::<serde_json::Value>(&line).unwrap()["name"], "a\u{9b}b\x7f\n");
    }
}
