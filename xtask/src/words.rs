//! Plain words in all that users read: help, messages, the report and the Python package. Phrases that had to be decoded do not come back.

use std::fs;
use std::path::{Path, PathBuf};

/// What is not said any more, in lower case, with what is said instead.
const CLUMSY: [(&str, &str); 41] = [
    ("no turn of the subspace", "the fit has converged"),
    ("over whom", "which samples it is matched with"),
    ("who is near whom", "how strongly each sample is matched with every other"),
    ("whom", "which samples"),
    ("it is no feature", "not used as a feature"),
    ("are no features", "not used as features"),
    ("from being a plan", "error in the plan's row and column sums"),
    ("mend the", "fix the value"),
    ("sound.", "Fit OK"),
    ("is sound", "Fit OK"),
    ("shrink the data", "smoothing is too strong: the components no longer reflect the data"),
    ("across and up", "X axis and Y axis"),
    ("mass spreads", "how many neighbours each sample is matched with"),
    ("mass goes", "is matched with"),
    ("each one spreads", "how many neighbours each sample is matched with on average"),
    ("each sample spreads", "each sample is matched with about 5 neighbours"),
    ("what is known of", "annotations"),
    ("is known of", "is missing for"),
    ("goes with", "is associated with"),
    ("go on with", "next, or continue"),
    ("goes on from", "continues from"),
    ("may serve", "say what to do"),
    ("anew", "again"),
    ("if need be", "if needed"),
    ("in its way", "a file with this name exists"),
    ("knob", "setting"),
    ("that can be had", "the smallest possible"),
    ("what lies between", "in between"),
    ("for the sake of", "for compatibility with"),
    ("whatever epsilon is", "always"),
    ("finer than rounding", "below rounding error"),
    ("has the first component to itself", "dominates the first component"),
    ("than chance gives", "than chance"),
    ("stands out", "explains more variance than chance"),
    ("stand out from chance", "explain more variance than chance"),
    ("walked over", "read"),
    ("whole or not at all", "never left half written"),
    ("is no anndata", "is not an AnnData"),
    ("once decompressed", "when decompressed"),
    ("is there already", "already exists"),
    ("prove about itself", "how accurate the fit is"),
];

/// Where people read, and how it is written there.
const PLACES: [(&str, &str, Kind); 9] = [
    ("crates/ewca-cli/src/args", "rs", Kind::Help),
    ("crates/ewca-cli/src", "rs", Kind::Rust),
    ("crates/ewca-io/src", "rs", Kind::Rust),
    ("crates/ewca/src", "rs", Kind::Rust),
    ("crates/ewca-report/src", "rs", Kind::Rust),
    ("python/src", "rs", Kind::Rust),
    ("python/ewca", "py", Kind::Python),
    ("crates/ewca-report/page/src", "ts", Kind::Page),
    ("crates/ewca-report/page/src", "html", Kind::Page),
];

#[derive(Clone, Copy)]
enum Kind {
    /// Comments on arguments are what `--help` shows.
    Help,
    /// Strings, but not those of unit tests.
    Rust,
    /// Strings and docstrings: all but comments.
    Python,
    /// All but comments.
    Page,
}

fn files(folder: &Path, extension: &str, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, extension, found);
        } else if path.extension().is_some_and(|own| own == extension) && !path.ends_with("tests.rs") {
            found.push(path);
        }
    }
}

/// The strings of Rust code before its unit tests, each on one line.
fn strings(source: &str) -> Vec<String> {
    let source = source.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
    let code = source.lines().filter(|line| !line.trim_start().starts_with("//")).collect::<Vec<_>>().join("\n");
    // What is left of quotes begins or ends a string.
    let quotes = code.replace("\\\"", "'").replace("'\"'", "");
    let inside = quotes.split('"').skip(1).step_by(2);
    inside.map(|text| text.replace("\\\n", "").split_whitespace().collect::<Vec<_>>().join(" ")).collect()
}

/// What is on lines that satisfy a condition, as one text with single spaces.
fn lines(source: &str, wanted: impl Fn(&str) -> bool) -> String {
    source
        .lines()
        .map(str::trim)
        .filter(|line| wanted(line))
        .flat_map(str::split_whitespace)
        .collect::<Vec<_>>()
        .join(" ")
}

fn texts(source: &str, kind: Kind) -> Vec<String> {
    match kind {
        // Other files hold the values of arguments, not their help.
        Kind::Help if !source.contains("use clap::") => Vec::new(),
        Kind::Help => vec![lines(source, |line| line.starts_with("///")).replace("/// ", "")],
        Kind::Rust => strings(source),
        Kind::Python => vec![lines(source, |line| !line.starts_with('#')).replace("\" \"", "").replace("\" f\"", "")],
        Kind::Page => {
            vec![lines(source, |line| !line.starts_with("//") && !line.starts_with('*') && !line.starts_with("/*"))]
        }
    }
}

fn clumsy(source: &str, kind: Kind) -> Vec<String> {
    let said = texts(source, kind).join("\n").to_lowercase();
    let said = |(phrase, better): &(&str, &str)| said.contains(phrase).then(|| format!("'{phrase}': say '{better}'"));
    CLUMSY.iter().filter_map(said).collect()
}

#[test]
fn users_read_plain_words() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let mut problems = Vec::new();
    for (folder, extension, kind) in PLACES {
        let mut found = Vec::new();
        files(&root.join(folder), extension, &mut found);
        assert!(!found.is_empty(), "{folder} has no .{extension}");
        for file in found {
            let words = clumsy(&fs::read_to_string(&file).unwrap(), kind);
            problems.extend(words.into_iter().map(|words| format!("{}: {words}", file.display())));
        }
    }
    assert!(problems.is_empty(), "{}", problems.join("\n"));
}

/// The test above would notice: each kind of text, also over the end of a line, and neither comments nor unit tests.
#[test]
fn clumsy_words_are_found_where_users_read() {
    let found = |source: &str, kind| clumsy(source, kind).len();
    assert_eq!(found("use clap::Args;\n    /// A column; it is\n    /// no feature\n    id: String,\n", Kind::Help), 1);
    assert_eq!(found("let a = \"it is \\\n    no feature\";\n", Kind::Rust), 1);
    assert_eq!(found("const A: &str = \"say \\\"mend the cell\\\"\";\n", Kind::Rust), 1);
    assert_eq!(
        found("// it is no feature\nlet a = 1;\n#[cfg(test)]\nmod tests { \"is no feature\" }\n", Kind::Rust),
        0
    );
    assert_eq!(found("raise ValueError(\n    f\"it is no \"\n    \"feature\"\n)\n", Kind::Python), 1);
    assert_eq!(found("    \"\"\"Over\n    whom it spreads.\"\"\"\n# mend the cell\n", Kind::Python), 2);
    assert_eq!(found("el('p', {}, 'It is sound.')\n// mend the cell\n", Kind::Page), 2);
}
