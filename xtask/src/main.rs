//! Development commands: `cargo xtask test` runs everything that must hold before a change lands.
#![forbid(unsafe_code)]

#[cfg(test)]
mod api;
mod cluster;
#[cfg(test)]
mod licences;
mod mutants_python;
mod mutants_rust;
mod page;
mod python;
#[cfg(test)]
mod rooms;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask COMMAND

  test         formatting, lints, all tests (Rust, Python and the report's page), documentation, licences, and the README's demo
  python       the Python package alone: its wheel, and its tests
  wheel        the Python package's wheel, in target/wheels
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

/// The profile of all steps is `quick` (Cargo.toml), so that each uses what the one before it built.
const CLIPPY: [&str; 6] = ["cargo", "clippy", "--workspace", "--profile", "quick", "--locked"];
const TEST: [&str; 7] = ["cargo", "test", "--workspace", "--profile", "quick", "--locked", "--quiet"];
const DOC: [&str; 8] = ["cargo", "doc", "--workspace", "--profile", "quick", "--no-deps", "--locked", "--quiet"];
const DENY: [&str; 8] = ["cargo", "deny", "--log-level", "error", "check", "bans", "licenses", "sources"];
const DENY_WARNINGS: [&str; 3] = ["--", "-D", "warnings"];
/// What the library can do with other crates (crates/ewca/Cargo.toml), and formats that are options (crates/ewca-io/Cargo.toml), which nothing
/// else here is built with. So they are built once more for these tests, in a hurry.
const INTEROP: [&str; 2] = ["--features", "ewca/faer,ewca/linfa,ewca/nalgebra,ewca/ndarray,ewca-io/zarr"];
const INTEROP_TESTS: [&str; 4] = ["--test", "interop", "--test", "zarr"];
/// The library by itself, as others build it.
const LIBRARY: [&str; 8] = ["cargo", "clippy", "-p", "ewca", "--lib", "--profile", "quick", "--locked"];
const UNOPTIMISED: [&str; 2] = ["--config", "profile.quick.opt-level=0"];
const BUILD: [&str; 6] = ["cargo", "build", "--workspace", "--profile", "quick", "--locked"];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test(),
        ["python"] => python::prepare().and_then(|()| run(&BUILD)).and_then(|()| python::test()),
        ["wheel"] => {
            python::prepare().and_then(|()| python::wheel("release")).map(|wheel| eprintln!("== {}", wheel.display()))
        }
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
    let preparing = std::thread::spawn(python::prepare);
    step("formatting", &["cargo", "fmt", "--all", "--check"])?;
    let features = cluster::features()?;
    step("lints", &[&CLIPPY[..], &["--all-targets"], features, &DENY_WARNINGS].concat())?;
    if !features.is_empty() {
        // As most people build it.
        step("lints without MPI", &[&CLIPPY[..], &["--bin", "ewca"], &DENY_WARNINGS].concat())?;
    }
    step("lints of optional features", &[&CLIPPY[..], features, &INTEROP, &INTEROP_TESTS, &DENY_WARNINGS].concat())?;
    step("lints of the library by itself", &[&LIBRARY[..], &DENY_WARNINGS].concat())?;
    preparing.join().map_err(|_| "preparing Python failed".to_string())??;
    step("tests", &[&TEST[..], features].concat())?;
    let interop = [&TEST[..], features, &INTEROP, &UNOPTIMISED].concat();
    step("tests of optional features", &[&interop[..], &INTEROP_TESTS].concat())?;
    step("examples of optional features", &[&interop[..], &["--doc"]].concat())?;
    step("documentation", &[&DOC[..], &INTEROP].concat())?;
    // The licences are checked by a test of this crate as well: this tool takes minutes to build.
    if run_quietly(&["cargo", "deny", "--version"]).is_ok() {
        step("licences", &DENY)?;
    }
    timed("the README's demo", || run(&[&program(), "demo", "-o", "target/demo"]))?;
    timed("the report's page", || page::test(features))?;
    timed("Python package", python::test)?;
    eprintln!("== all passed");
    Ok(())
}

fn step(name: &str, words: &[&str]) -> Result<(), String> {
    timed(&format!("{name}: {}", words.join(" ")), || run(words))
}

fn timed(name: &str, job: impl FnOnce() -> Result<(), String>) -> Result<(), String> {
    eprintln!("== {name}");
    let clock = Instant::now();
    job()?;
    eprintln!("== {:.0} s", clock.elapsed().as_secs_f64());
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
        .env("EWCA_PYTHON", python::in_venv("python"));
    command
}

fn run(words: &[&str]) -> Result<(), String> {
    wait(&mut command(words))
}

fn wait(command: &mut Command) -> Result<(), String> {
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
