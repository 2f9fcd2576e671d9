//! Development commands: `cargo xtask test` runs everything that must hold before a change lands.
#![forbid(unsafe_code)]

mod page;

use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask COMMAND

  test         formatting, lints, all tests, documentation, licences, the README's demo, and the report in a browser
  bench        the side-by-side benchmark: writes bench/RESULTS.md (takes minutes)
  report-page  builds the report's page from its TypeScript: writes crates/ewca-report/page/dist
  report-test  the tests of that page alone: types, units, and a real browser";

/// A step of `test`: what it is called, and the command.
type Step = (&'static str, &'static [&'static str]);

const STEPS: [Step; 6] = [
    ("formatting", &["cargo", "fmt", "--all", "--check"]),
    ("lints", &["cargo", "clippy", "--workspace", "--all-targets", "--release", "--locked", "--", "-D", "warnings"]),
    ("tests", &["cargo", "test", "--workspace", "--release", "--locked", "--quiet"]),
    ("documentation", &["cargo", "doc", "--workspace", "--release", "--no-deps", "--locked", "--quiet"]),
    ("licences", &["cargo", "deny", "--log-level", "error", "check", "bans", "licenses", "sources"]),
    ("the README's demo", &["cargo", "run", "--release", "--locked", "--quiet", "--", "demo", "-o", "target/demo"]),
];

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let done = match words.as_slice() {
        ["test"] => test(),
        ["report-page"] => page::build(),
        ["report-test"] => page::test(),
        ["bench"] => run(&["python3", "bench/compare.py"]),
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

/// Python with the tools that our files and numbers are checked with, in a venv of its own: see crates/ewca-io/tests/read_back.py
/// and crates/ewca-lab/tests/tsne.py.
const TEST_VENV: &str = "target/test-venv";
const TEST_REQUIREMENTS: &str = "crates/ewca-io/tests/requirements.txt";

fn test() -> Result<(), String> {
    let python = root().join(TEST_VENV).join("bin/python");
    if run_quietly(&[
        &python.to_string_lossy(),
        "-c",
        "import anndata, pandas, pyarrow, safetensors, scanpy, scipy, sklearn",
    ])
    .is_err()
    {
        eprintln!("== installing the Python packages that check our files and numbers, into {TEST_VENV}");
        run(&["python3", "-m", "venv", TEST_VENV])?;
        run(&[&python.to_string_lossy(), "-m", "pip", "install", "--quiet", "-r", TEST_REQUIREMENTS])?;
    }
    if run_quietly(&["cargo", "deny", "--version"]).is_err() {
        // Without optimisation: it builds in half the time and runs for a second.
        eprintln!("== installing cargo-deny, which checks licences");
        run(&["cargo", "install", "--locked", "--debug", "--quiet", "cargo-deny"])?;
    }
    for (name, words) in STEPS {
        eprintln!("== {name}: {}", words.join(" "));
        let clock = Instant::now();
        run(words)?;
        eprintln!("== {name}: {:.0} s", clock.elapsed().as_secs_f64());
    }
    page::test()?;
    eprintln!("== all passed");
    Ok(())
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

fn command(words: &[&str]) -> Command {
    let mut command = Command::new(words[0]);
    command
        .args(&words[1..])
        .current_dir(root())
        .env("RUSTDOCFLAGS", "-D warnings")
        .env("EWCA_PYTHON", root().join(TEST_VENV).join("bin/python"));
    command
}

fn run(words: &[&str]) -> Result<(), String> {
    match command(words).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` failed ({status})", words.join(" "))),
        Err(error) => Err(format!("`{}` could not be started: {error}", words.join(" "))),
    }
}

fn run_quietly(words: &[&str]) -> Result<(), String> {
    match command(words).output() {
        Ok(output) if output.status.success() => Ok(()),
        _ => Err(format!("`{}` failed", words.join(" "))),
    }
}
