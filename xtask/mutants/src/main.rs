//! Mutation testing: which small faults do the tests notice?
//!
//! All mutants of the chosen files are built into one copy of the crate, each behind a switch that is read from the environment.
//! So there is one build rather than one for each mutant, and a mutant costs no more than the tests that reach it.
#![forbid(unsafe_code)]

mod build;
mod find;
mod render;
mod report;
mod run;

use std::collections::{HashMap, HashSet};
use std::hash::{DefaultHasher, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Mutex;

use serde_json::{Value, json};

use build::{Copy, Source};
use find::{Kind, Mutant, Site};
use report::{Row, Survivor};
use run::{Outcome, Runner};

const USAGE: &str = "usage: cargo xtask mutants rust [--budget SECONDS] [--longest SECONDS] [--jobs N] [--unit] [--all] [--list] [FILE or FOLDER...]

Puts small faults into the files (crates/ewca/src: fit, solvers, transport, subspace, samples when none is named), one at a time,
and runs the tests of their crate that reach them. Writes bench/MUTANTS.md. What was found is kept in target/mutants, so that an
interrupted run goes on; mutants that were missed are tried again when the tests have changed. Survivors that have a reason in
bench/MUTANTS.md, other than \"open: ...\", are taken as missed.

  --budget SECONDS   for one mutant: no further test is begun after so long (120)
  --longest SECONDS  tests that take longer are left out (900)
  --unit             only the unit tests, which are built and run sooner: what they miss, a run with all tests tries again
  --all              tries survivors with a reason too
  --list             names all mutants, and tries none
  --jobs N           so many tests at a time (one for each processor)";

const TABLE: &str = "bench/MUTANTS.md";

const DEFAULT: [&str; 5] = [
    "crates/ewca/src/fit",
    "crates/ewca/src/samples",
    "crates/ewca/src/solvers",
    "crates/ewca/src/subspace",
    "crates/ewca/src/transport",
];

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

struct Options {
    files: Vec<String>,
    budget: f64,
    longest: f64,
    jobs: usize,
    unit: bool,
    all: bool,
    list: bool,
}

fn options() -> Result<Options, String> {
    let jobs = std::thread::available_parallelism().map_or(1, |n| n.get());
    let mut options =
        Options { files: Vec::new(), budget: 120.0, longest: 900.0, jobs, unit: false, all: false, list: false };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut number = || words.next().and_then(|text| text.parse::<f64>().ok()).ok_or(USAGE.to_string());
        match word.as_str() {
            "--budget" => options.budget = number()?,
            "--longest" => options.longest = number()?,
            "--jobs" => options.jobs = (number()? as usize).max(1),
            "--unit" => options.unit = true,
            "--all" => options.all = true,
            "--list" => options.list = true,
            name if name.starts_with('-') => return Err(USAGE.to_string()),
            name => options.files.push(name.to_string()),
        }
    }
    if options.files.is_empty() {
        options.files = DEFAULT.iter().map(|name| name.to_string()).collect();
    }
    Ok(options)
}

fn run() -> Result<(), String> {
    let options = options()?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).unwrap_or(Path::new("."));
    let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
    let scratch = target.join("mutants");
    std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
    let mut paths = Vec::new();
    options.files.iter().try_for_each(|name| rust_files(root, name.trim_end_matches('/'), &mut paths))?;
    paths.sort();
    paths.dedup();
    let mut packages: Vec<&str> = paths.iter().filter_map(|path| Some(path.split_once("/src/")?.0)).collect();
    packages.dedup();
    let mut all = Vec::new();
    for package in packages {
        let inside = format!("{package}/src/");
        let own: Vec<&String> = paths.iter().filter(|path| path.starts_with(&inside)).collect();
        all.extend(try_package(root, &target, package, &own, &options)?);
    }
    if options.list { Ok(()) } else { report::write(&root.join(TABLE), &all) }
}

fn rust_files(root: &Path, name: &str, out: &mut Vec<String>) -> Result<(), String> {
    let path = root.join(name);
    if !path.is_dir() {
        if !path.is_file() || !name.ends_with(".rs") || !name.contains("/src/") {
            return Err(format!("{name}: not a Rust file of a crate"));
        }
        out.push(name.to_string());
        return Ok(());
    }
    let entries = std::fs::read_dir(&path).map_err(|error| format!("{name}: {error}"))?;
    for entry in entries.flatten() {
        let inner = format!("{name}/{}", entry.file_name().to_string_lossy());
        let is_code = inner.ends_with(".rs") && !inner.ends_with("/tests.rs");
        if entry.path().is_dir() || is_code {
            rust_files(root, &inner, out)?;
        }
    }
    Ok(())
}

/// Tries all mutants of some files of one package.
fn try_package(
    root: &Path,
    target: &Path,
    package: &str,
    paths: &[&String],
    options: &Options,
) -> Result<Vec<Row>, String> {
    let mut last = 0;
    let mut sources = Vec::new();
    for path in paths {
        let text = std::fs::read_to_string(root.join(path)).map_err(|error| format!("{path}: {error}"))?;
        let mut next = last + 1;
        let found = find::find(&text, &mut next).map_err(|error| format!("{path}: {error}"))?;
        last = next - 1;
        sources.push(Source { path: path.to_string(), text, found });
    }
    if options.list {
        sources.iter().flat_map(names).for_each(|(_, _, name)| println!("{name}"));
        return Ok(Vec::new());
    }
    eprintln!("== {last} mutants in {} files of {package}", sources.len());
    let scratch = target.join("mutants");
    let mut cache = Cache::open(&scratch.join("results.jsonl"))?;
    let keys: HashMap<u32, String> = sources.iter().flat_map(keys).collect();
    let known: HashSet<u32> =
        keys.iter().filter(|(_, key)| cache.get(key) == Some(&Outcome::Unviable)).map(|(id, _)| *id).collect();
    let copy = Copy::new(root, target, package, &sources)?;
    let (unviable, programs) = copy.build(&sources, last, known, options.unit)?;
    unviable.iter().for_each(|id| cache.put(keys[id].clone(), Outcome::Unviable));
    let &Options { jobs, budget, longest, .. } = options;
    let runner = Runner { folder: copy.root.join(package), scratch, jobs, budget, longest };
    let (tests, print) = runner.record(&programs)?;
    cache.forget_missed_unless(&print);

    let explained = if options.all { HashSet::new() } else { report::explained(&root.join(TABLE)) };
    let mut todo = Vec::new();
    for source in &sources {
        for (site, mutant, name) in names(source) {
            if !explained.contains(&name) && cache.get(&keys[&mutant.id]).is_none() {
                todo.push((mutant.id, format!("{} {}", source.path, site.function)));
            }
        }
    }
    eprintln!("== {} mutants to try, {} at a time; {} do not compile", todo.len(), options.jobs, unviable.len());
    let found = Mutex::new(&mut cache);
    runner.try_all(&tests, &todo, |id, outcome| {
        let mut cache = found.lock().unwrap_or_else(|error| error.into_inner());
        cache.put(keys[&id].clone(), outcome.clone());
    });

    let mut rows = Vec::new();
    for source in &sources {
        let mut row = Row { path: source.path.clone(), ..Row::default() };
        for (site, mutant, name) in names(source) {
            let line = site.line;
            match cache.get(&keys[&mutant.id]) {
                Some(Outcome::Unviable) => row.unviable += 1,
                _ if explained.contains(&name) => {
                    row.missed.push(Survivor { name, line, tests: 0, all: false, explained: true });
                }
                Some(Outcome::Caught { in_time, .. }) => {
                    row.caught += 1;
                    row.too_late += usize::from(!in_time);
                }
                Some(&Outcome::Missed { tests, all }) => {
                    row.missed.push(Survivor { name, line, tests, all, explained: false });
                }
                None => row.untried += 1,
            }
        }
        rows.push(row);
    }
    Ok(rows)
}

/// What the result of a mutant belongs to: the file as it is, but for its tests, and the change.
fn keys(source: &Source) -> Vec<(u32, String)> {
    let mut hasher = DefaultHasher::new();
    hasher.write(source.found.code.as_bytes());
    let code = hasher.finish();
    let all = source.found.sites.iter().flat_map(|site| site.mutants.iter().map(move |mutant| (site, mutant)));
    let key =
        |site: &Site, mutant: &Mutant| format!("{} {code:016x} {:?} {}", source.path, site.range, mutant.replacement);
    all.map(|(site, mutant)| (mutant.id, key(site, mutant))).collect()
}

/// All mutants of a file, each with a name of its own.
fn names(source: &Source) -> Vec<(&Site, &Mutant, String)> {
    let mut seen: HashMap<String, usize> = HashMap::new();
    let all = source.found.sites.iter().flat_map(|site| site.mutants.iter().map(move |mutant| (site, mutant)));
    all.map(|(site, mutant)| {
        let name = format!("{} {}", source.path, name_of(&source.text, site, &mutant.replacement));
        let count = seen.entry(name.clone()).or_default();
        *count += 1;
        (site, mutant, if *count > 1 { format!("{name} ({count})") } else { name })
    })
    .collect()
}

/// A change in words that stay the same while lines move.
fn name_of(source: &str, site: &Site, replacement: &str) -> String {
    let short = |text: &str, from_end: bool| {
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let count = text.chars().count();
        match (count > 32, from_end) {
            (false, _) => text,
            (true, false) => text.chars().take(30).collect::<String>() + "..",
            (true, true) => "..".to_string() + &text.chars().skip(count - 30).collect::<String>(),
        }
    };
    let change = match &site.kind {
        Kind::Binary { left, operator, right } => {
            let (left, right) = (short(&source[left.clone()], true), short(&source[right.clone()], false));
            format!("`{left} {operator} {right}` with `{replacement}`")
        }
        Kind::Unary { operator, operand } => {
            format!("`{operator}{}` without `{operator}`", short(&source[operand.clone()], false))
        }
        Kind::Guard => format!("guard `{}` replaced by `{replacement}`", short(&source[site.range.clone()], false)),
        Kind::Body => format!("returns `{}` at once", if replacement.is_empty() { "()" } else { replacement }),
    };
    format!("`{}`: {change}", site.function)
}

/// What was found before, one JSON object a line.
struct Cache {
    file: std::fs::File,
    /// The test programs that the results are of.
    print: String,
    known: HashMap<String, (Outcome, String)>,
}

impl Cache {
    fn open(path: &Path) -> Result<Self, String> {
        let mut known = HashMap::new();
        for line in std::fs::read_to_string(path).unwrap_or_default().lines() {
            let Ok(value) = serde_json::from_str::<Value>(line) else { continue };
            let text = |key: &str| value[key].as_str().unwrap_or_default().to_string();
            let outcome = match text("outcome").as_str() {
                "caught" => Outcome::Caught { by: text("by"), in_time: value["in_time"] == true },
                "missed" => {
                    let tests = value["tests"].as_u64().unwrap_or(0) as usize;
                    Outcome::Missed { tests, all: value["all"] == true }
                }
                "unviable" => Outcome::Unviable,
                _ => continue,
            };
            known.insert(text("mutant"), (outcome, text("programs")));
        }
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(|error| format!("{}: {error}", path.display()))?;
        Ok(Self { file, print: String::new(), known })
    }

    /// Other tests may catch what was missed.
    fn forget_missed_unless(&mut self, print: &str) {
        self.print = print.to_string();
        self.known.retain(|_, (outcome, of)| !matches!(outcome, Outcome::Missed { .. }) || of == print);
    }

    fn get(&self, key: &str) -> Option<&Outcome> {
        self.known.get(key).map(|(outcome, _)| outcome)
    }

    fn put(&mut self, key: String, outcome: Outcome) {
        let mut line = match &outcome {
            Outcome::Caught { by, in_time } => json!({"outcome": "caught", "by": by, "in_time": in_time}),
            Outcome::Missed { tests, all } => json!({"outcome": "missed", "tests": tests, "all": all}),
            Outcome::Unviable => json!({"outcome": "unviable"}),
        };
        line["mutant"] = json!(key);
        line["programs"] = json!(self.print);
        // A result that cannot be kept is found again by the next run.
        let _ = self.file.write_all(format!("{line}\n").as_bytes());
        self.known.insert(key, (outcome, self.print.clone()));
    }
}
