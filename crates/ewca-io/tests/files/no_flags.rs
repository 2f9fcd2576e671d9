//! Programs have flags, Python has keywords: a library of formats knows neither.

use std::fs;
use std::path::Path;

/// Some 34 messages once named options of the `ewca` program, one of which never existed.
#[test]
fn no_source_names_a_flag_of_a_program() {
    let mut folders = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("src")];
    let mut files = 0;
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
                continue;
            }
            files += 1;
            for (at, line) in fs::read_to_string(&path).unwrap().lines().enumerate() {
                let flag =
                    line.match_indices("--").any(|(at, _)| line[at + 2..].starts_with(|c: char| c.is_lowercase()));
                assert!(!flag, "{}, line {}: {line}", path.display(), at + 1);
            }
        }
    }
    assert!(files > 40);
}
