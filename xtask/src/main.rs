//! Development commands: `cargo xtask test` runs everything that must hold before a change lands.
#![forbid(unsafe_code)]

#[cfg(test)]
mod api;
mod check;
mod cluster;
mod dist;
mod docs;
mod lanes;
#[cfg(test)]
mod licences;
mod mutants_python;
mod mutants_rust;
mod page;
mod publish;
mod python;
#[cfg(test)]
mod rooms;
mod tools;
#[cfg(test)]
mod words;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

use lanes::{redirect, say};

const USAGE: &str = "usage: cargo xtask COMMAND

  test         formatting, lints, all tests (Rust, Python and the report's page), documentation, the site, licences, and the README's demo
  check        while you edit: formatting, lints, and the unit tests of the crates that differ from main
  python       the Python package alone: its wheel, and its tests
  docs         the site, in target/docs/html: its code blocks and notebooks are run, warnings and broken links are errors
  figures [--made FILE...]
               lists tables and figures that are older than the code they measure; or notes that some were made just now
  wheel        the Python package's wheel, in target/wheels
  dist [TARGET...]
               program archives and wheels for all platforms, or for some, with checksums, in target/dist: see docs/install.md
  manual       manual pages and completions as the Python package brings them: writes python/ewca.data
  publish-check
               what would be published, without publishing it: crates, Python package, recipe, containers, workflows, documents
  release-check TAG
               whether tag, version, changelog, citation and addresses agree (release.yml runs it)
  report-types the types of the report's data in TypeScript, from those in Rust: writes crates/ewca-report/page/src/report.ts
  report-page  builds the report's page from its TypeScript: writes crates/ewca-report/page/dist
  report-test  the tests of that page alone: types, units, and a real browser
  mutants python [FILE...]
               small faults put into python/ewca, and whether its tests notice: writes bench/MUTANTS.md (takes an hour)
  mutants rust [FILE...]
               small faults put into the Rust code, and whether its tests notice: writes bench/MUTANTS.md (takes long)
  tables [NAME=PROGRAM...]
               the commands that `ewca inspect` suggests, on 441 real tables: writes bench/TABLES.md (needs R; takes minutes)
  bench        the side-by-side benchmarks: writes bench/RESULTS.md and bench/PRICE.md (takes half an hour)";

/// What the library can do with other crates (crates/ewca/Cargo.toml). The program and the Python package need none of it; but with it everywhere,
/// all steps share what is built.
const OPTIONAL: &str = "ewca/faer,ewca/linfa,ewca/nalgebra,ewca/ndarray";
/// The profile of all steps is `quick` (Cargo.toml), so that each uses what the one before it built.
const CLIPPY: [&str; 6] = ["cargo", "clippy", "--workspace", "--profile", "quick", "--locked"];
const TEST: [&str; 9] =
    ["cargo", "test", "--workspace", "--profile", "quick", "--locked", "--quiet", "--features", OPTIONAL];
const BUILD: [&str; 8] = ["cargo", "build", "--workspace", "--profile", "quick", "--locked", "--features", OPTIONAL];
const DOC: [&str; 10] =
    ["cargo", "doc", "--workspace", "--profile", "quick", "--no-deps", "--locked", "--quiet", "--features", OPTIONAL];
const DENY: [&str; 8] = ["cargo", "deny", "--log-level", "error", "check", "bans", "licenses", "sources"];
const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];
/// The library by itself, as others build it.
const LIBRARY: [&str; 8] = ["cargo", "clippy", "-p", "ewca", "--lib", "--profile", "quick", "--locked"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test(),
        ["check"] => check::run(),
        ["python"] => {
            python::prepare().and_then(|()| run(&BUILD)).and_then(|()| python::install()).and_then(python::test_both)
        }
        ["docs"] => {
            python::prepare().and_then(|()| run(&BUILD)).and_then(|()| python::install()).and_then(|_| docs::build())
        }
        ["figures", words @ ..] => docs::figures(words),
        ["dist", targets @ ..] => dist::make(targets),
        ["manual"] => wait(command(&[&TEST[..], &["--test", "program", "manual::"]].concat()).env("EWCA_UPDATE", "1")),
        ["wheel"] => python::prepare()
            .and_then(|()| python::wheel("shipped", &[]))
            .map(|wheel| eprintln!("== {}", wheel.display())),
        ["publish-check"] => python::prepare()
            .and_then(|()| run(&BUILD))
            .and_then(|()| python::quick_wheel())
            .and_then(|_| publish::test()),
        ["release-check", tag] => publish::release_check(tag),
        ["report-types"] => cluster::features().and_then(page::types),
        ["report-page"] => page::build(),
        ["report-test"] => page::test(&[]),
        ["mutants", "python", words @ ..] => mutants_python::test(words),
        ["mutants", "rust", words @ ..] => mutants_rust::test(words),
        ["tables", words @ ..] => run(&[&BUILD[..], &["--bin", "ewca"]].concat())
            .and_then(|()| run(&[&["python3", "bench/tables"], words].concat())),
        ["bench"] => run(&["python3", "bench/compare.py"]).and_then(|()| run(&["python3", "bench/price.py"])),
        _ => Err(USAGE.to_string()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}

fn test() -> Result<(), String> {
    // Downloads wait for the network; the lints need the processor.
    let preparing = std::thread::spawn(|| python::prepare().and_then(|()| publish::prepare()));
    step("formatting", &["cargo", "fmt", "--all", "--check"])?;
    let features = cluster::features()?;
    step("lints", &[&CLIPPY[..], &["--all-targets", "--features", OPTIONAL], features, &DENY_WARNINGS].concat())?;
    // As most people build it.
    step("lints of the program", &[&CLIPPY[..], &["--bin", "ewca"], &DENY_WARNINGS].concat())?;
    let tests = [&TEST[..], features, &["--tests"]].concat();
    step("building the tests", &[&tests[..], &["--no-run"]].concat())?;
    // The tests have built it, but cargo notes what it was made from, which the checks of what is published read, only where it is asked for.
    step("the program", &[&BUILD[..], features, &["--bin", "ewca"]].concat())?;
    timed("the README's demo", || run(&[&program(), "demo", "-o", "target/demo"]))?;
    preparing.join().map_err(|_| "preparing Python failed".to_string())??;
    let mut wheel = PathBuf::new();
    timed("the wheel", || python::install().map(|made| wheel = made))?;
    // None of these lanes has two cores busy all the time. Cargo builds for one of them at a time.
    lanes::run(vec![
        ("tests", Box::new(|| step("tests", &tests))),
        ("Python package", Box::new(|| timed("Python package", || python::test(&wheel)))),
        ("Python's documentation and the site", Box::new(|| test_site(&wheel))),
        ("report's page, documentation, library", Box::new(|| test_documents(features))),
        ("oldest packages, Python's command, what is published", Box::new(|| test_wheel(features, &wheel))),
    ])?;
    timed("figures that are older than their code (a list, not an error)", || docs::figures(&[]))?;
    for what in tools::left_out() {
        say(&format!("== left out: {what}"));
    }
    eprintln!("== {} passed", if tools::left_out().is_empty() { "all" } else { "all others" });
    Ok(())
}

/// What documents the Python package, and the site.
fn test_site(wheel: &Path) -> Result<(), String> {
    timed("Python's documentation", || python::test_documents(wheel))?;
    // It shows what its code blocks printed when the tests ran them.
    timed("the site", docs::build)
}

/// The report's page, the documentation, and the library as others get it.
fn test_documents(features: &[&str]) -> Result<(), String> {
    timed("the report's page", || page::test(features))?;
    step("examples of the documentation", &[&TEST[..], features, &["--doc"]].concat())?;
    step("documentation", &[&DOC[..], features].concat())?;
    step("lints of the library by itself", &[&LIBRARY[..], &DENY_WARNINGS].concat())?;
    // The licences are checked by a test of this crate as well: this tool takes minutes to build.
    if run_quietly(&["cargo", "deny", "--version"]).is_ok() {
        step("licences", &DENY)
    } else {
        tools::note("cargo deny, which is not installed (a test checks licences and sources)");
        Ok(())
    }
}

/// What the wheel is good for beside the tests of the package.
fn test_wheel(features: &[&str], wheel: &Path) -> Result<(), String> {
    timed("Python package with the oldest packages", || python::test_with_oldest(wheel))?;
    timed("the command of the Python package", || python::test_command(features))?;
    timed("what is published", publish::test)
}

fn step(name: &str, words: &[&str]) -> Result<(), String> {
    timed(&format!("{name}: {}", words.join(" ")), || run(words))
}

fn timed(name: &str, job: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    say(&format!("== {name}"));
    let clock = Instant::now();
    job()?;
    say(&format!("== {:.0} s", clock.elapsed().as_secs_f64()));
    Ok(())
}

/// The program as the tests built it. (`cargo run` would build the program alone, with other features of some crates.)
fn program() -> String {
    target().join("quick/ewca").to_string_lossy().into_owned()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .current_dir(root())
        .env("RUSTDOCFLAGS", "-D warnings")
        .env("EWCA_PYTHON", python::in_venv("python"))
        // Hundreds of processes import the same packages: what Python compiles is kept, and beside what cargo builds.
        .env_remove("PYTHONDONTWRITEBYTECODE")
        .env("PYTHONPYCACHEPREFIX", target().join("pycache"));
    command
}

fn run(words: &[&str]) -> Result<(), String> {
    wait(&mut command(words))
}

fn wait(command: &mut Command) -> Result<(), String> {
    redirect(command);
    let status = command.status();
    let words: Vec<_> = std::iter::once(command.get_program()).chain(command.get_args()).collect();
    let words = words.join(" ".as_ref()).to_string_lossy().into_owned();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{words}` failed ({status})")),
        Err(error) => Err(format!("`{words}` could not be started: {error}")),
    }
}

fn run_quietly(words: &[&str]) -> Result<(), String> {
    match command(words).output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(format!("`{}` failed", words.join(" "))),
    }
}
