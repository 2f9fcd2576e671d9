//! Numbers and paragraphs for people.

use std::collections::BTreeSet;
use std::time::Duration;

use crate::console::terminal::one_line;

/// `1 sample`, `2 samples`.
pub use ewca_io::counted as count;
pub use ewca_report::{accuracy, number};

/// The width that everything printed stays within.
pub const WIDTH: usize = 80;

/// How many classes there are: `1 class`, `2 classes`.
pub fn classes(labels: &[String]) -> String {
    let distinct: BTreeSet<&String> = labels.iter().collect();
    format!("{} class{}", distinct.len(), if distinct.len() == 1 { "" } else { "es" })
}

/// The first few of many names, each on one line.
pub fn some_names(names: &[String]) -> String {
    const SHOWN: usize = 6;
    let shown: Vec<String> = names.iter().take(SHOWN).map(|name| one_line(name)).collect();
    let more = if names.len() > SHOWN { format!(" .. ({} in all)", names.len()) } else { String::new() };
    shown.join(", ") + &more
}

/// A fraction as a percentage.
pub fn percent(fraction: f64) -> String {
    format!("{:.1}%", 100.0 * fraction)
}

/// A time with three significant digits and its unit.
pub fn time(duration: Duration) -> String {
    let seconds = duration.as_secs_f64();
    let (value, unit) = match seconds {
        s if s < 1e-6 => (s * 1e9, "ns"),
        s if s < 1e-3 => (s * 1e6, "us"),
        s if s < 1.0 => (s * 1e3, "ms"),
        s if s < 120.0 => (s, "s"),
        s => (s / 60.0, "min"),
    };
    let decimals = if value < 10.0 { 2 } else { usize::from(value < 100.0) };
    format!("{value:.decimals$} {unit}")
}

/// A number of bytes: `1.5 GiB`.
pub fn bytes(count: usize) -> String {
    ewca_io::byte_size(count as u64)
}

/// A paragraph broken into lines of at most [`WIDTH`] characters; every line but the first is indented.
pub fn wrapped(text: &str, indent: usize) -> String {
    flowed(text.split_whitespace(), (0, indent), "")
}

/// Words in lines of at most [`WIDTH`] characters. The first line and the others are indented so far, and every line but the last
/// ends with `continued`.
pub fn flowed<'w>(words: impl Iterator<Item = &'w str>, (first, others): (usize, usize), continued: &str) -> String {
    let mut text = " ".repeat(first);
    let mut column = first;
    for (at, word) in words.enumerate() {
        let length = word.chars().count();
        if at > 0 && column + 1 + length + continued.len() > WIDTH {
            text.push_str(continued);
            text.push('\n');
            text.push_str(&" ".repeat(others));
            column = others;
        } else if at > 0 {
            text.push(' ');
            column += 1;
        }
        text.push_str(word);
        column += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units() {
        let shown: Vec<String> = [3e-9, 1.25e-5, 0.0421, 7.0, 300.0].map(|s| time(Duration::from_secs_f64(s))).to_vec();
        assert_eq!(shown, ["3.00 ns", "12.5 us", "42.1 ms", "7.00 s", "5.00 min"]);
    }

    #[test]
    fn paragraphs_stay_within_the_width() {
        let text = wrapped(&"words and more ".repeat(20), 4);
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert!(text.lines().skip(1).all(|line| line.starts_with("    ") && !line.starts_with("     ")));
        assert_eq!(text.split_whitespace().count(), 60);
    }
}
