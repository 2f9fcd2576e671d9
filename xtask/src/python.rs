//! Python: the tools that our files and numbers are checked with, and the package with its tests.

use std::path::PathBuf;

use crate::{command, program, root, run, target, wait};

const VENV: &str = "target/test-venv";
const REQUIREMENTS: &str = "python/tests/requirements.txt";

/// Makes the venv that the tests use, unless it already has what is required.
pub fn prepare() -> Result<(), String> {
    let wanted = root().join(REQUIREMENTS);
    let wanted = std::fs::read_to_string(&wanted).map_err(|error| format!("{}: {error}", wanted.display()))?;
    // Written when the installation ended well.
    let installed = root().join(VENV).join("installed.txt");
    if std::fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    eprintln!("== installing the Python packages of {REQUIREMENTS} into {VENV}");
    run(&["python3", "-m", "venv", VENV])?;
    run(&[&in_venv("python"), "-m", "pip", "install", "--quiet", "--only-binary", ":all:", "-r", REQUIREMENTS])?;
    std::fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))
}

/// Tests the package as people get it: from its wheel, beside the program as it was last built.
pub fn test() -> Result<(), String> {
    let wheel = install()?;
    eprintln!("== Python tests: pytest python/tests");
    let mut tests = command(&[&in_venv("python"), "-m", "pytest", "python/tests"]);
    wait(tests.env("EWCA_WHEEL", &wheel).env("EWCA_BINARY", program()))
}

/// Builds the wheel and installs it into the venv.
pub fn install() -> Result<PathBuf, String> {
    let wheel = wheel("quick")?;
    let name = wheel.to_string_lossy();
    run(&[&in_venv("python"), "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", &name])?;
    Ok(wheel)
}

/// Builds the wheel with maturin.
pub fn wheel(profile: &str) -> Result<PathBuf, String> {
    let folder = target().join("wheels");
    // Wheels of earlier versions would be in the way of finding this one.
    let _ = std::fs::remove_dir_all(&folder);
    let (maturin, python, out) = (in_venv("maturin"), in_venv("python"), folder.to_string_lossy());
    run(&[&maturin, "build", "--profile", profile, "--locked", "--quiet", "--interpreter", &python, "--out", &out])?;
    let found = std::fs::read_dir(&folder).map_err(|error| format!("{out}: {error}"))?;
    let wheel = found.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
    wheel.ok_or_else(|| format!("{out}: maturin left no wheel there"))
}

/// A program of the venv.
pub fn in_venv(program: &str) -> String {
    root().join(VENV).join("bin").join(program).to_string_lossy().into_owned()
}
