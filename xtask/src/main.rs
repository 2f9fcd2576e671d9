//! Development commands: `cargo xtask test` runs everything that must hold before a change lands.
#![forbid(unsafe_code)]

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::Instant;

const USAGE: &str = "usage: cargo xtask COMMAND

  test     formatting, lints, all Rust tests, documentation, licences, and the README's demo
  python   the Python package: its wheel, and its tests in a venv of their own
  wheel    the Python package's wheel, in target/wheels
  bench    the side-by-side benchmark: writes bench/RESULTS.md (takes minutes)";

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
        ["python"] => python(),
        ["wheel"] => wheel().map(|wheel| eprintln!("== {}", wheel.display())),
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
    eprintln!("== all passed");
    Ok(())
}

/// Python with the peers that the package is tested beside.
const PYTHON_VENV: &str = "target/python-venv";
const PYTHON_REQUIREMENTS: &str = "python/tests/requirements.txt";
const PYTHON_IMPORTS: &str =
    "import autograd, igraph, leidenalg, matplotlib, mypy, ot, pandas, polars, pymanopt, pytest, scanpy, sklearn, tqdm";

/// Tests the Python package as people get it: from its wheel.
fn python() -> Result<(), String> {
    let clock = Instant::now();
    let wheel = wheel()?;
    let python = in_venv("python");
    let name = wheel.to_string_lossy();
    run(&[&python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", &name])?;
    run(&["cargo", "build", "--release", "--locked", "--quiet", "--package", "ewca-cli"])?;
    eprintln!("== Python tests: pytest python/tests");
    let words = [&python, "-m", "pytest", "python/tests"];
    let mut tests = command(&words);
    tests.env("EWCA_WHEEL", &wheel).env("EWCA_BINARY", target().join("release/ewca"));
    match tests.status() {
        Ok(status) if status.success() => {}
        Ok(status) => return Err(format!("`{}` failed ({status})", words.join(" "))),
        Err(error) => return Err(format!("`{}` could not be started: {error}", words.join(" "))),
    }
    eprintln!("== Python package: {:.0} s", clock.elapsed().as_secs_f64());
    Ok(())
}

/// Builds the wheel with the maturin of the Python tests.
fn wheel() -> Result<PathBuf, String> {
    let python = in_venv("python");
    if run_quietly(&[&python, "-c", PYTHON_IMPORTS]).is_err() {
        eprintln!("== installing what the Python package is tested with, into {PYTHON_VENV}");
        run(&["python3", "-m", "venv", PYTHON_VENV])?;
        run(&[&python, "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "-r", PYTHON_REQUIREMENTS])?;
    }
    let folder = target().join("wheels");
    // Wheels of earlier versions would be in the way of finding this one.
    let _ = std::fs::remove_dir_all(&folder);
    let out = folder.to_string_lossy();
    run(&[&in_venv("maturin"), "build", "--release", "--locked", "--quiet", "--interpreter", &python, "--out", &out])?;
    let found = std::fs::read_dir(&folder).map_err(|error| format!("{out}: {error}"))?;
    let wheel = found.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
    wheel.ok_or_else(|| format!("{out}: maturin left no wheel there"))
}

fn in_venv(program: &str) -> String {
    root().join(PYTHON_VENV).join("bin").join(program).to_string_lossy().into_owned()
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root().join("target"), PathBuf::from)
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
