//! The copy of the tree, and its builds.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use crate::find::Found;
use crate::render::{Rendered, render, switch};

/// A package in a copy of the tree.
pub struct Copy {
    original: PathBuf,
    pub root: PathBuf,
    target: PathBuf,
    /// The folder of the package, from the root.
    pub package: String,
}

/// A source file to be changed: its path from the root, its text and what it offers.
pub struct Source {
    pub path: String,
    pub text: String,
    pub found: Found,
}

impl Copy {
    /// Copies what git knows of the tree at `root`, except what `build` writes, and leaves alone what is the same already, so that
    /// cargo builds nothing twice.
    pub fn new(root: &Path, target: &Path, package: &str, sources: &[Source]) -> Result<Self, String> {
        let root_file = format!("{package}/src/lib.rs");
        let copy = target.join("mutants/tree");
        let listed = Command::new("git")
            .args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"])
            .current_dir(root)
            .output()
            .map_err(|error| format!("git could not be started: {error}"))?;
        let names = String::from_utf8_lossy(&listed.stdout).into_owned();
        let names: HashSet<&str> = names.split('\0').filter(|name| !name.is_empty()).collect();
        for name in names.iter().filter(|name| **name != root_file && sources.iter().all(|s| s.path != **name)) {
            let (from, to) = (root.join(name), copy.join(name));
            match std::fs::read(&from) {
                Ok(bytes) => write_new(&to, &bytes)?,
                // Deleted and not yet committed.
                Err(_) => drop(std::fs::remove_file(&to)),
            }
        }
        remove_others(&copy, &copy, &names)?;
        // Not where the tree itself is built: cargo takes the copy for the tree.
        let (original, target) = (root.to_path_buf(), target.join("mutants/build"));
        Ok(Self { original, root: copy, target, package: package.to_string() })
    }

    /// Puts the mutants of all `sources` in, except those that do not compile (some are known): these are returned, with the test
    /// programs, or the one of the unit tests alone.
    pub fn build(
        &self,
        sources: &[Source],
        last: u32,
        known: HashSet<u32>,
        unit: bool,
    ) -> Result<(HashSet<u32>, Vec<PathBuf>), String> {
        let mut dropped = known;
        loop {
            let rendered: Vec<_> =
                sources.iter().map(|s| (s.path.clone(), render(&s.text, &s.found.sites, &dropped))).collect();
            self.write(&rendered, last)?;
            let messages = self.cargo(if unit { &["--lib"] } else { &["--lib", "--tests"] })?;
            let errors: Vec<&Value> = messages
                .iter()
                .filter(|m| m["reason"] == "compiler-message" && m["message"]["level"] == "error")
                .map(|m| &m["message"])
                .collect();
            if errors.is_empty() {
                return Ok((dropped, programs_of(&messages)));
            }
            let unviable = blamed(&errors, &rendered, sources);
            let before = dropped.len();
            dropped.extend(&unviable);
            eprintln!("   {} more mutants do not compile", dropped.len() - before);
            if dropped.len() == before {
                let text = errors[0]["rendered"].as_str().unwrap_or_default();
                return Err(format!("the copy does not compile, and no mutant is to blame:\n{text}"));
            }
        }
    }

    fn write(&self, rendered: &[(String, Rendered)], last: u32) -> Result<(), String> {
        let root_file = format!("{}/src/lib.rs", self.package);
        for (path, file) in rendered {
            if *path != root_file {
                write_new(&self.root.join(path), file.text.as_bytes())?;
            }
        }
        let text = match rendered.iter().find(|(path, _)| *path == root_file) {
            Some((_, file)) => file.text.clone(),
            None => {
                let at = self.original.join(&root_file);
                std::fs::read_to_string(&at).map_err(|error| format!("{}: {error}", at.display()))?
            }
        };
        write_new(&self.root.join(&root_file), (text + &switch(last + 1)).as_bytes())
    }

    /// Builds the package with its tests and returns cargo's messages.
    fn cargo(&self, programs: &[&str]) -> Result<Vec<Value>, String> {
        eprintln!("== cargo test --no-run {} in the copy", programs.join(" "));
        let output = Command::new("cargo")
            .args(["test", "--no-run"])
            .args(programs)
            .args(["--profile", "quick", "--locked", "--message-format", "json"])
            .current_dir(self.root.join(&self.package))
            .env("CARGO_TARGET_DIR", &self.target)
            .stderr(Stdio::piped())
            .output()
            .map_err(|error| format!("cargo could not be started: {error}"))?;
        let messages: Vec<Value> = output
            .stdout
            .split(|&byte| byte == b'\n')
            .filter(|line| !line.is_empty())
            .filter_map(|line| serde_json::from_slice(line).ok())
            .collect();
        let failed = messages.iter().any(|m| m["message"]["level"] == "error");
        if !output.status.success() && !failed {
            return Err(String::from_utf8_lossy(&output.stderr).into_owned());
        }
        Ok(messages)
    }
}

/// Writes a file, unless it holds just these bytes.
fn write_new(path: &Path, bytes: &[u8]) -> Result<(), String> {
    if std::fs::read(path).is_ok_and(|now| now == bytes) {
        return Ok(());
    }
    let wrong = |error| format!("{}: {error}", path.display());
    std::fs::create_dir_all(path.parent().unwrap_or(path)).map_err(wrong)?;
    std::fs::write(path, bytes).map_err(wrong)
}

/// Removes files of the copy that the tree does not have, and folders that are empty then.
fn remove_others(folder: &Path, copy: &Path, names: &HashSet<&str>) -> Result<(), String> {
    let entries = std::fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            remove_others(&path, copy, names)?;
            // Succeeds where nothing is left in it.
            let _ = std::fs::remove_dir(&path);
        } else if let Ok(name) = path.strip_prefix(copy)
            && !names.contains(&*name.to_string_lossy())
        {
            std::fs::remove_file(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        }
    }
    Ok(())
}

fn programs_of(messages: &[Value]) -> Vec<PathBuf> {
    let tests = messages.iter().filter(|m| m["reason"] == "compiler-artifact" && m["profile"]["test"] == true);
    tests.filter_map(|m| m["executable"].as_str()).map(PathBuf::from).collect()
}

/// The mutants that errors point at: those whose branch an error is in, or else those of the innermost site around it.
fn blamed(errors: &[&Value], rendered: &[(String, Rendered)], sources: &[Source]) -> HashSet<u32> {
    let mut unviable = HashSet::new();
    for error in errors {
        let mut spans = Vec::new();
        collect_spans(error, &mut spans);
        let spans: Vec<(&Rendered, Range<usize>)> = spans
            .into_iter()
            .filter_map(|(name, range)| {
                let place = rendered.iter().position(|(path, _)| path.ends_with(&name) || name.ends_with(path))?;
                debug_assert_eq!(sources[place].path, rendered[place].0);
                Some((&rendered[place].1, range))
            })
            .collect();
        let in_branch = |(file, at): &(&Rendered, Range<usize>)| {
            let holds = |range: &Range<usize>| range.start <= at.start && at.end <= range.end;
            file.branches.iter().find(|(_, range)| holds(range)).map(|(id, _)| *id)
        };
        let found: Vec<u32> = spans.iter().filter_map(in_branch).collect();
        if !found.is_empty() {
            unviable.extend(found);
            continue;
        }
        for (file, at) in &spans {
            let around = file.sites.iter().filter(|(_, range)| range.start <= at.start && at.end <= range.end);
            if let Some((ids, _)) = around.min_by_key(|(_, range)| range.len()) {
                unviable.extend(ids);
            }
        }
    }
    unviable
}

/// The spans of a message: file and bytes, the primary ones first.
fn collect_spans(message: &Value, out: &mut Vec<(String, Range<usize>)>) {
    let mut spans: Vec<&Value> = message["spans"].as_array().map(|spans| spans.iter().collect()).unwrap_or_default();
    spans.sort_by_key(|span| span["is_primary"] != true);
    for span in spans {
        if let (Some(name), Some(start), Some(end)) =
            (span["file_name"].as_str(), span["byte_start"].as_u64(), span["byte_end"].as_u64())
        {
            out.push((name.to_string(), start as usize..end as usize));
        }
    }
}
