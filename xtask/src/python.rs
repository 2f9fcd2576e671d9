//! Python: the tools that our files and numbers are checked with, and the package with its tests, in two environments: the newest
//! Python and packages that there are, and the oldest that are supported.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::lanes::{self, say};
use crate::{OPTIONAL, TEST, command, program, root, run, target, tools, wait};

const UV: &str = "uv==0.13.8";

/// A venv, and what is tested in it.
struct Environment {
    folder: &'static str,
    requirements: &'static str,
    /// The first and the last minor version of Python 3 that the requirements can be installed for.
    pythons: (u32, u32),
    /// The files and folders that pytest is given.
    tests: &'static [&'static str],
    /// A test that is left out.
    except: Option<&'static str>,
}

const NEWEST: Environment = Environment {
    folder: "target/test-venv",
    requirements: "python/tests/requirements.txt",
    pythons: (11, 13),
    tests: &["python/tests"],
    except: None,
};

/// What has a lane of its own.
const DOCUMENTS: [&str; 2] = ["python/tests/test_docs.py", "python/tests/test_site.py"];

/// The program's tests that the command of the package passes, too.
const COMMAND: [&str; 3] = ["interrupt::", "messages::", "pipes::"];

/// What depends on other packages: the rest is the same in both.
const OLDEST: Environment = Environment {
    folder: "target/test-venv-oldest",
    requirements: "python/tests/requirements-oldest.txt",
    pythons: (9, 11),
    tests: &[
        "python/tests/test_estimator.py",
        "python/tests/test_input.py",
        "python/tests/test_edges.py",
        "python/tests/test_model.py",
        "python/tests/test_cells.py",
        "python/tests/test_scanpy.py",
        "python/tests/test_scanpy_arguments.py",
    ],
    // Most of a minute goes into compiling what scanpy takes for it.
    except: Some("python/tests/test_scanpy.py::test_new_cells_are_ingested"),
};

/// Makes the venvs that the tests use, unless they already have what is required.
pub fn prepare() -> Result<(), String> {
    let found = interpreters();
    NEWEST.prepare(NEWEST.among(&found).max())?;
    if let Some(python) = OLDEST.among(&found).min() {
        OLDEST.prepare(Some(python))?;
    }
    Ok(())
}

/// Tests the package as people get it: from its wheel, which [`install`] made, beside the program as it was last built.
pub fn test(wheel: &Path) -> Result<(), String> {
    let others: Vec<&str> = DOCUMENTS.iter().flat_map(|test| ["--ignore", test]).collect();
    NEWEST.test(wheel, &[NEWEST.tests, &others].concat())
}

/// What the package's documentation says: examples, notebooks, types, pages. They take two fifths of the time.
pub fn test_documents(wheel: &Path) -> Result<(), String> {
    NEWEST.test(wheel, &DOCUMENTS)
}

/// The same, with the oldest packages that are supported.
pub fn test_with_oldest(wheel: &Path) -> Result<(), String> {
    if OLDEST.among(&interpreters()).next().is_none() {
        let (first, last) = OLDEST.pythons;
        let why = format!("there is no Python 3.{first} to 3.{last} with venv and ensurepip");
        return tools::leave_out("the oldest supported packages", &why);
    }
    OLDEST.install(wheel)?;
    let except = OLDEST.except.into_iter().flat_map(|test| ["--deselect", test]);
    OLDEST.test(wheel, &OLDEST.tests.iter().copied().chain(except).collect::<Vec<_>>())
}

/// With the newest and with the oldest packages.
pub fn test_both(wheel: PathBuf) -> Result<(), String> {
    lanes::run(vec![
        ("newest packages", Box::new(|| test(&wheel))),
        ("documentation", Box::new(|| test_documents(&wheel))),
        ("oldest packages", Box::new(|| test_with_oldest(&wheel))),
    ])
}

/// The command that the wheel brings, through the program's own tests of Ctrl-C, exit codes, streams and pipes.
pub fn test_command(features: &[&str]) -> Result<(), String> {
    let tests = [&["--test", "program", "--"][..], &COMMAND].concat();
    wait(command(&[&TEST[..], features, &tests].concat()).env("EWCA_TEST_PROGRAM", in_venv("ewca")))
}

/// Builds the wheel and installs it into the venv.
pub fn install() -> Result<PathBuf, String> {
    let wheel = quick_wheel()?;
    NEWEST.install(&wheel)?;
    Ok(wheel)
}

/// Installs packages by uv, which takes a fifth of the time that pip does; or by pip, where uv cannot (it has settings of its own). What is
/// imported is compiled then: the tests import a small part of all this.
pub fn install_packages(python: &str, requirements: &str) -> Result<(), String> {
    run(&[python, "-m", "pip", "install", "--quiet", "--no-compile", UV])?;
    let to = ["--quiet", "--only-binary", ":all:", "-r", requirements];
    run(&[&[python, "-m", "uv", "pip", "install", "--python", python, "--native-tls"], &to[..]].concat()).or_else(
        |error| {
            say(&format!("== {error}: pip installs them instead"));
            run(&[&[python, "-m", "pip", "install", "--no-compile"], &to[..]].concat())
        },
    )
}

/// The wheel that is tested, of what the tests have built.
pub fn quick_wheel() -> Result<PathBuf, String> {
    wheel("quick", &["--features", OPTIONAL])
}

/// Builds the wheel with maturin.
pub fn wheel(profile: &str, features: &[&str]) -> Result<PathBuf, String> {
    let folder = target().join("wheels");
    // Wheels of earlier versions would be in the way of finding this one.
    let _ = fs::remove_dir_all(&folder);
    let (maturin, python, out) = (in_venv("maturin"), in_venv("python"), folder.to_string_lossy());
    let words = ["build", "--profile", profile, "--locked", "--quiet", "--interpreter", &python, "--out", &out];
    run(&[&[&*maturin], &words[..], features].concat())?;
    let found = fs::read_dir(&folder).map_err(|error| format!("{out}: {error}"))?;
    let wheel = found.flatten().map(|entry| entry.path()).find(|path| path.extension().is_some_and(|e| e == "whl"));
    wheel.ok_or_else(|| format!("{out}: maturin left no wheel there"))
}

/// A program of the venv with the newest packages.
pub fn in_venv(program: &str) -> String {
    NEWEST.program(program)
}

/// A Python that can make venvs; ordered by its version.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Interpreter {
    minor: u32,
    program: PathBuf,
}

/// Those that can be called by their version, those that pyenv has, and `python3`.
fn interpreters() -> Vec<Interpreter> {
    let mut programs: Vec<PathBuf> = (9..=13).map(|minor| format!("python3.{minor}").into()).collect();
    let pyenv = std::env::var_os("PYENV_ROOT").map(|folder| PathBuf::from(folder).join("versions"));
    let versions = pyenv.and_then(|folder| fs::read_dir(folder).ok());
    programs.extend(versions.into_iter().flatten().flatten().map(|version| version.path().join("bin/python3")));
    programs.push("python3".into());
    programs.into_iter().filter_map(|program| Some(Interpreter { minor: minor_version(&program)?, program })).collect()
}

/// The second number of its version, if it is a Python 3 with what makes venvs. (Debian has that in a package of its own.)
fn minor_version(program: &Path) -> Option<u32> {
    let code = "import ensurepip, sys, venv; print(sys.version_info[1] if sys.version_info[0] == 3 else '')";
    let told = Command::new(program).args(["-c", code]).stderr(Stdio::null()).output().ok()?;
    String::from_utf8(told.stdout).ok()?.trim().parse().ok()
}

impl Environment {
    /// The interpreters that it can be made with.
    fn among<'a>(&self, found: &'a [Interpreter]) -> impl Iterator<Item = &'a Interpreter> + use<'a> {
        let (first, last) = self.pythons;
        found.iter().filter(move |python| (first..=last).contains(&python.minor))
    }

    fn program(&self, program: &str) -> String {
        root().join(self.folder).join("bin").join(program).to_string_lossy().into_owned()
    }

    fn prepare(&self, python: Option<&Interpreter>) -> Result<(), String> {
        let (first, last) = self.pythons;
        let python =
            python.ok_or_else(|| format!("there is no Python 3.{first} to 3.{last} with venv and ensurepip"))?;
        let (folder, requirements) = (self.folder, self.requirements);
        let wanted =
            fs::read_to_string(root().join(requirements)).map_err(|error| format!("{requirements}: {error}"))?;
        let made_with = format!("Python 3.{}\n", python.minor);
        // Written when the installation ended well.
        let installed = root().join(folder).join("installed.txt");
        let before = fs::read_to_string(&installed).unwrap_or_default();
        if before == format!("{made_with}{wanted}") {
            return Ok(());
        }
        say(&format!("== installing the Python packages of {requirements} into {folder}"));
        let anew = if before.starts_with(&made_with) { "--upgrade" } else { "--clear" };
        run(&[&python.program.to_string_lossy(), "-m", "venv", anew, folder])?;
        install_packages(&self.program("python"), requirements)?;
        fs::write(&installed, made_with + &wanted).map_err(|error| format!("{}: {error}", installed.display()))
    }

    fn install(&self, wheel: &Path) -> Result<(), String> {
        let (python, wheel) = (self.program("python"), wheel.to_string_lossy());
        run(&[&python, "-m", "pip", "install", "--quiet", "--force-reinstall", "--no-deps", &wheel])
    }

    /// Runs pytest with these words.
    fn test(&self, wheel: &Path, words: &[&str]) -> Result<(), String> {
        say(&format!("== Python tests with the packages of {}: pytest {}", self.requirements, words.join(" ")));
        let mut pytest = command(&[&[&*self.program("python"), "-m", "pytest"], words].concat());
        wait(pytest.env("EWCA_WHEEL", wheel).env("EWCA_BINARY", program()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn environments_take_the_pythons_that_their_packages_are_for() {
        let found = [13, 9, 11, 8, 14].map(|minor| Interpreter { minor, program: "python3".into() });
        assert_eq!(NEWEST.among(&found).max().map(|python| python.minor), Some(13));
        assert_eq!(OLDEST.among(&found).min().map(|python| python.minor), Some(9));
        assert_eq!(OLDEST.among(&found[..1]).min(), None);
    }

    #[test]
    fn what_is_no_python_is_none() {
        assert_eq!(minor_version(Path::new("no-such-python")), None);
        assert_eq!(minor_version(Path::new("true")), None);
    }

    /// Every test that an environment names is there.
    #[test]
    fn tests_exist() {
        for test in NEWEST.tests.iter().chain(OLDEST.tests).chain(&DOCUMENTS) {
            assert!(root().join(test).exists(), "{test}");
        }
        // A filter that fits nothing runs nothing, and is no error.
        for module in COMMAND {
            let file = format!("crates/ewca-cli/tests/program/{}.rs", module.trim_end_matches("::"));
            assert!(fs::read_to_string(root().join(&file)).unwrap().contains("#[test]"), "{file}");
        }
        let (file, name) = OLDEST.except.and_then(|test| test.split_once("::")).unwrap();
        assert!(fs::read_to_string(root().join(file)).unwrap().contains(&format!("def {name}(")), "{name}");
    }
}
