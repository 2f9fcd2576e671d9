//! What the crates that we build with are licensed by: deny.toml says what is allowed. `cargo deny` checks the same and more where it is
//! installed; building it takes longer than many tests.

use std::process::Command;

use serde_json::Value;

/// Whether a licence expression can be met by what is allowed.
fn is_allowed(expression: &str, allowed: &[String]) -> bool {
    // "/" is an old sign for OR.
    let spaced = expression.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ").replace(" WITH ", "_WITH_");
    let words: Vec<String> = spaced.split_whitespace().map(|word| word.replace("_WITH_", " WITH ")).collect();
    let mut words = words.iter().map(String::as_str).peekable();
    let met = any(&mut words, allowed);
    met && words.next().is_none()
}

type Words<'a, I> = std::iter::Peekable<I>;

fn any<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>, allowed: &[String]) -> bool {
    let mut met = all(words, allowed);
    while words.next_if_eq(&"OR").is_some() {
        met |= all(words, allowed);
    }
    met
}

fn all<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>, allowed: &[String]) -> bool {
    let mut met = one(words, allowed);
    while words.next_if_eq(&"AND").is_some() {
        met &= one(words, allowed);
    }
    met
}

fn one<'a, I: Iterator<Item = &'a str>>(words: &mut Words<'a, I>, allowed: &[String]) -> bool {
    match words.next() {
        Some("(") => any(words, allowed) && words.next() == Some(")"),
        Some(name) => allowed.iter().any(|licence| licence == name),
        None => false,
    }
}

fn allowed() -> Vec<String> {
    let file = std::fs::read_to_string(crate::root().join("deny.toml")).unwrap();
    let list = file.lines().find_map(|line| line.strip_prefix("allow = [")).unwrap();
    let names = list.trim_end_matches(']').split(',').map(|name| name.trim().trim_matches('"').to_string());
    names.collect()
}

#[test]
fn every_dependency_has_a_licence_that_is_allowed_and_comes_from_the_registry() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--format-version", "1", "--locked", "--all-features"]).current_dir(crate::root());
    let metadata: Value = serde_json::from_slice(&cargo.output().unwrap().stdout).unwrap();
    let (allowed, mut seen) = (allowed(), 0);
    for package in metadata["packages"].as_array().unwrap() {
        let Some(source) = package["source"].as_str() else { continue };
        let (name, licence) = (&package["name"], package["license"].as_str().unwrap_or_default());
        assert!(source.starts_with("registry+"), "{name} comes from {source}");
        assert!(is_allowed(licence, &allowed), "{name} is licensed by {licence:?}, which deny.toml does not allow");
        seen += 1;
    }
    assert!(seen > 100, "{seen} packages");
}

#[test]
fn licence_expressions_are_understood() {
    let allowed = ["MIT", "Zlib", "Apache-2.0 WITH LLVM-exception"].map(String::from);
    for (expression, met) in [
        ("MIT", true),
        ("GPL-3.0", false),
        ("GPL-3.0 OR MIT", true),
        ("Unlicense/MIT", true),
        ("GPL-3.0 AND MIT", false),
        ("MIT AND Zlib", true),
        ("(GPL-3.0 OR MIT) AND Zlib", true),
        ("(GPL-3.0 OR MIT) AND BSD-3-Clause", false),
        ("GPL-3.0 OR MIT AND Zlib", true),
        ("MIT OR Zlib AND GPL-3.0", true),
        ("Apache-2.0 WITH LLVM-exception", true),
        ("Apache-2.0", false),
        ("(MIT", false),
        ("MIT)", false),
        ("MIT Zlib", false),
        ("", false),
    ] {
        assert_eq!(is_allowed(expression, &allowed), met, "{expression}");
    }
}
