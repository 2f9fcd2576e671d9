//! Who may know whom: the crates, and the rooms of the method. ARCHITECTURE.md draws it.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// What each crate may depend on, of this workspace.
const CRATES: [(&str, &[&str]); 8] = [
    // Itself for its tests, with features.
    ("crates/ewca", &["ewca"]),
    ("crates/ewca-io", &["ewca"]),
    ("crates/ewca-eval", &["ewca"]),
    ("crates/ewca-paper", &["ewca", "ewca-eval"]),
    ("crates/ewca-report", &["ewca", "ewca-eval"]),
    ("crates/ewca-cli", &["ewca", "ewca-eval", "ewca-io", "ewca-paper", "ewca-report"]),
    // The program too, for the `ewca` command that comes with it.
    ("python", &["ewca", "ewca-cli", "ewca-eval", "ewca-io", "ewca-report"]),
    ("bench", &["ewca"]),
];

/// What each room of `crates/ewca/src` may use.
const ROOMS: [(&str, &[&str]); 12] = [
    ("error", &[]),
    ("simd", &["error"]),
    ("parallel", &["error"]),
    ("matrix", &["error", "parallel"]),
    ("team", &["matrix", "parallel", "simd"]),
    ("subspace", &["error", "matrix"]),
    ("kernel", &["error", "matrix", "parallel", "simd", "team"]),
    ("samples", &["error", "matrix", "parallel", "subspace", "team"]),
    ("transport", &["error", "kernel", "matrix", "parallel"]),
    ("solvers", &["error", "kernel", "matrix", "parallel", "samples", "subspace", "transport"]),
    ("fit", &["error", "kernel", "matrix", "parallel", "samples", "simd", "solvers", "subspace", "team", "transport"]),
    ("interop", &["error", "fit", "matrix", "samples"]),
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

#[test]
fn crates_depend_on_those_below_them_alone() {
    for (folder, allowed) in CRATES {
        let manifest = fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
        let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_string();
        let used = manifest.lines().map(name).filter(|name| *name == "ewca" || name.starts_with("ewca-"));
        for used in used {
            assert!(allowed.contains(&&used[..]), "{folder} must not depend on {used}");
        }
    }
}

#[test]
fn rooms_use_those_below_them_alone() {
    let source = root().join("crates/ewca/src");
    let names: BTreeSet<&str> = ROOMS.iter().map(|(room, _)| *room).collect();
    for entry in fs::read_dir(&source).unwrap() {
        let name = entry.unwrap().file_name().into_string().unwrap();
        let room = name.trim_end_matches(".rs");
        assert!(names.contains(room) || ["lib", "testing"].contains(&room), "{room} is in no list");
    }
    for (room, allowed) in ROOMS {
        for file in files(&source, room) {
            let text = fs::read_to_string(&file).unwrap();
            for (_, after) in text.match_indices("crate::").map(|(at, found)| text.split_at(at + found.len())) {
                let used: String = after.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect();
                let known = !names.contains(&used[..]) || used == room || allowed.contains(&&used[..]);
                assert!(known, "{} must not use {used}", file.display());
            }
        }
    }
}

#[test]
fn the_walk_leads_through_files_that_exist_each_once() {
    let document = fs::read_to_string(root().join("ARCHITECTURE.md")).unwrap();
    let (_, walk) = document.split_once("## The walk of").unwrap();
    let walk = walk.split_once("\n\n").unwrap().1.split("\n## ").next().unwrap();
    let (mut folder, mut seen) = ("", BTreeSet::new());
    for line in walk.lines() {
        let named = || line.split('`').skip(1).step_by(2);
        if let Some(crate_folder) = named().find(|name| name.starts_with("crates/")) {
            folder = crate_folder;
        }
        let folder = match line {
            _ if line.contains("(io)") => "crates/ewca-io/src",
            _ if line.contains("(ewca)") => "crates/ewca/src",
            _ => folder,
        };
        let numbered = line.starts_with(|c: char| c.is_ascii_digit());
        for path in named().filter(|name| numbered && name.ends_with(".rs")).map(|name| format!("{folder}/{name}")) {
            assert!(root().join(&path).is_file(), "the walk names {path}, which does not exist");
            assert!(seen.insert(path.clone()), "the walk names {path} twice");
        }
    }
    // All of it was understood: the program, files and the method.
    assert!(seen.len() > 30, "{seen:#?}");
}

/// The files of a room: one, or those of a folder and of the folders in it.
fn files(source: &Path, room: &str) -> Vec<PathBuf> {
    let folder = source.join(room);
    if !folder.is_dir() {
        return vec![source.join(format!("{room}.rs"))];
    }
    let (mut found, mut folders) = (Vec::new(), vec![folder]);
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { found.push(path) }
        }
    }
    found
}
