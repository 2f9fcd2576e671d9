//! Names, cells and numbers as messages show them.

use std::path::Path;

/// A path as messages show it: on one line.
pub(crate) fn file_name(path: &Path) -> String {
    one_line(&path.to_string_lossy())
}

/// Text from a file as messages show it: on one line, and not too long.
pub(crate) fn excerpt(cell: &[u8]) -> String {
    const LONGEST: usize = 40;
    let text = String::from_utf8_lossy(&cell[..cell.len().min(4 * LONGEST + 4)]);
    let mut shown: String = text.chars().take(LONGEST).collect();
    if shown.len() < text.len() {
        shown.push_str("...");
    }
    one_line(&shown)
}

pub(crate) fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { char::REPLACEMENT_CHARACTER } else { c }).collect()
}

/// `1 cell`, `2 cells`.
pub fn counted(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}

/// A number of bytes: `1.5 GiB`.
pub fn byte_size(count: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    if count < 1024 {
        return format!("{count} bytes");
    }
    let mut size = count as f64 / 1024.0;
    let mut unit = 0;
    while size >= 1024.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    format!("{size:.1} {}", UNITS[unit])
}

/// A truth value as a label, spelt as pandas and NumPy do.
pub(crate) fn truth_name(value: bool) -> String {
    if value { "True" } else { "False" }.into()
}

/// The few of `names` that come closest to `wanted`, best first.
pub(crate) fn closest<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<String> {
    const SHOWN: usize = 5;
    let wanted = wanted.to_lowercase();
    let mut ranked: Vec<(usize, &str)> = Vec::new();
    for name in names {
        let rank = (distance(&wanted, &name.to_lowercase()), name);
        ranked.push(rank);
        if ranked.len() > 64 {
            ranked.sort_by_key(|&(distance, _)| distance);
            ranked.truncate(SHOWN);
        }
    }
    ranked.sort_by_key(|&(distance, _)| distance);
    ranked.truncate(SHOWN);
    ranked.into_iter().map(|(_, name)| excerpt(name.as_bytes())).collect()
}

/// The number of single-character changes between two names (Levenshtein), on their first 32 characters.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(32).collect();
    let b: Vec<char> = b.chars().take(32).collect();
    let mut previous: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut current = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let replaced = previous[j] + usize::from(from != to);
            current.push(replaced.min(previous[j + 1] + 1).min(current[j] + 1));
        }
        previous = current;
    }
    previous[b.len()]
}

/// The first of many names.
pub(super) fn list(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let mut text = names.iter().take(SHOWN).map(|name| one_line(name)).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_names_come_first() {
        let names = ["height", "Class", "width", "clas", "x1", "x2", "x3"];
        let found = closest("class", names.into_iter());
        assert_eq!(found[..2], ["Class", "clas"]);
        assert_eq!(found.len(), 5);
    }

    #[test]
    fn sizes_have_units() {
        assert_eq!([12, 1536, 8 << 30].map(byte_size), ["12 bytes", "1.5 KiB", "8.0 GiB"]);
    }

    #[test]
    fn excerpts_stay_on_one_short_line() {
        assert_eq!(excerpt(b"a\nb"), "a\u{fffd}b");
        assert_eq!(excerpt(&[b'x'; 100]), format!("{}...", "x".repeat(40)));
    }
}
