//! What a contributor runs while editing: formatting, lints, and the unit tests of the crates that differ from main.

use std::collections::BTreeSet;
use std::process::Command;

use crate::{CLIPPY, DENY_WARNINGS, OPTIONAL, lanes, root, step};

/// Folders, and the packages in them. Longer paths come before those that they lie in.
const PACKAGES: [(&str, &str); 9] = [
    ("crates/ewca-cli/", "ewca-cli"),
    ("crates/ewca-eval/", "ewca-eval"),
    ("crates/ewca-io/", "ewca-io"),
    ("crates/ewca-paper/", "ewca-paper"),
    ("crates/ewca-report/", "ewca-report"),
    ("crates/ewca/", "ewca"),
    ("python/", "ewca-python"),
    ("bench/", "ewca-bench"),
    ("xtask/", "xtask"),
];

/// Checks what was changed. Whatever depends on it is linted too: cargo knows.
pub fn run() -> Result<(), String> {
    step("formatting", &["cargo", "fmt", "--all", "--check"])?;
    step("lints", &[&CLIPPY[..], &["--all-targets", "--features", OPTIONAL], &DENY_WARNINGS].concat())?;
    let packages = changed_packages(&changed_files()?);
    if packages.is_empty() {
        lanes::say("== no crate differs from main: no tests were run");
        return Ok(());
    }
    let names: Vec<&str> = packages.iter().flat_map(|package| ["-p", package]).collect();
    // Those of the program as well; whole runs of it are for `cargo xtask test`.
    let words = ["cargo", "test", "--profile", "quick", "--locked", "--quiet", "--lib", "--bins"];
    step("unit tests", &[&words[..], &names].concat())
}

/// All files that differ from where this branch left main, and new ones.
fn changed_files() -> Result<Vec<String>, String> {
    // In a clone without a branch main, from the last commit.
    let base = git(&["merge-base", "HEAD", "main"]).unwrap_or_else(|_| "HEAD".into());
    let changed = git(&["diff", "--name-only", base.trim()])?;
    let new = git(&["ls-files", "--others", "--exclude-standard"])?;
    Ok(changed.lines().chain(new.lines()).map(str::to_string).collect())
}

fn git(words: &[&str]) -> Result<String, String> {
    let output = Command::new("git").args(words).current_dir(root()).output();
    match output {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => {
            Err(format!("`git {}` failed: {}", words.join(" "), String::from_utf8_lossy(&output.stderr).trim()))
        }
        Err(error) => Err(format!("`git` could not be started: {error}")),
    }
}

/// The packages whose unit tests a change concerns. (The extension module has none: Python tests it.)
fn changed_packages(files: &[String]) -> BTreeSet<&'static str> {
    let concerns_all = files.iter().any(|file| ["Cargo.toml", "Cargo.lock"].contains(&file.as_str()));
    let has_changed = |folder: &str| files.iter().any(|file| file.starts_with(folder));
    let packages = PACKAGES.iter().filter(|(folder, _)| concerns_all || has_changed(folder));
    packages.map(|(_, package)| *package).filter(|package| !["ewca-python", "ewca-bench"].contains(package)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_are_those_of_the_changed_files() {
        let changed = |files: &[&str]| {
            let files: Vec<String> = files.iter().map(|file| file.to_string()).collect();
            Vec::from_iter(changed_packages(&files))
        };
        assert_eq!(changed(&["README.md", "docs/method.md", "python/ewca/plot.py"]), [""; 0]);
        assert_eq!(changed(&["crates/ewca/src/lib.rs"]), ["ewca"]);
        assert_eq!(changed(&["crates/ewca-io/src/mtx.rs", "xtask/src/main.rs"]), ["ewca-io", "xtask"]);
        assert_eq!(changed(&["Cargo.lock"]).len(), 7);
    }

    /// Every member of the workspace is in the list, under its own name.
    #[test]
    fn no_package_is_forgotten() {
        let crates = std::fs::read_dir(root().join("crates")).unwrap();
        let crates = crates.map(|entry| format!("crates/{}/", entry.unwrap().file_name().to_string_lossy()));
        for folder in crates.chain(["python/", "bench/", "xtask/"].map(String::from)) {
            let (_, package) = PACKAGES.iter().find(|(known, _)| **known == folder).expect(&folder);
            let manifest = std::fs::read_to_string(root().join(folder).join("Cargo.toml")).unwrap();
            assert!(manifest.contains(&format!("name = \"{package}\"")), "{package}");
        }
    }
}
