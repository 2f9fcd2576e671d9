//! The report's page: built from TypeScript, committed, and held to its source by tests in a real browser.

use std::path::{Path, PathBuf};
use std::{env, fs};

use crate::lanes::{redirect, say};
use crate::{BUILD, TEST, command, program, root, run, run_quietly, target, tools, wait};

const PAGE: &str = "crates/ewca-report/page";
const BUILT: [&str; 3] = ["page.js", "page.css", "LICENCES.txt"];
const CHROMIUM: &str = "/usr/bin/chromium";

/// Makes the types of the page's data anew, to be committed.
pub fn types(features: &[&str]) -> Result<(), String> {
    let test = [&TEST[..], features, &["--lib", "types::the_page_knows_the_types_of_its_data"]].concat();
    wait(command(&test).env("EWCA_WRITE_TYPES", "1"))
}

/// Builds the page anew, to be committed.
pub fn build() -> Result<(), String> {
    install()?;
    node(&["scripts/build.mjs"], &[])
}

/// Types, unit tests, that what is committed is what the source gives, and the tests in a browser.
pub fn test(features: &[&str]) -> Result<(), String> {
    if run_quietly(&["npm", "--version"]).is_err() {
        return tools::leave_out(
            "the tests of the report's page",
            "Node.js 20 or later, with npm, is missing: install it",
        );
    }
    install()?;
    let fresh = target().join("report-page");
    node(&["scripts/build.mjs", "--out", &fresh.to_string_lossy()], &[])?;
    for name in BUILT {
        let read = |folder: &Path| fs::read(folder.join(name)).map_err(|error| format!("{name}: {error}"));
        if read(&fresh)? != read(&root().join(PAGE).join("dist"))? {
            return Err(format!("{PAGE}/dist/{name} is not what its source gives: run `cargo xtask report-page`"));
        }
    }
    node(&["node_modules/typescript/bin/tsc", "--noEmit"], &[])?;
    node(&["scripts/tests.mjs", "unit"], &[])?;
    if let Err(why) = browser()? {
        return tools::leave_out("the tests of the report's page in a browser", &why);
    }
    // The program, as `cargo test` has built it, and what makes pages of any data.
    run(&[&BUILD[..], &["--quiet", "--bin", "ewca", "--example", "made"], features].concat())?;
    let paths = [
        ("EWCA", program().into()),
        ("EWCA_MADE", target().join("quick/examples/made")),
        ("EWCA_VIEWS", target().join("report-views")),
    ];
    node(&["scripts/tests.mjs", "browser"], &paths)
}

fn node(words: &[&str], paths: &[(&str, PathBuf)]) -> Result<(), String> {
    let mut node = command(&["node"]);
    node.args(words).current_dir(root().join(PAGE)).envs(paths.iter().map(|(name, path)| (name, path)));
    redirect(&mut node);
    match node.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`node {}` in {PAGE} failed ({status})", words.join(" "))),
        Err(error) => Err(format!("`node` could not be started: {error}; install Node.js 20 or later, with npm")),
    }
}

/// The packages of the lock file, unless they are there already.
fn install() -> Result<(), String> {
    let changed = |file: &str| fs::metadata(root().join(PAGE).join(file)).and_then(|about| about.modified()).ok();
    if changed("node_modules/.package-lock.json") > changed("package-lock.json") {
        return Ok(());
    }
    say("== installing the packages that build and test the report's page");
    let mut npm = command(&["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"]);
    wait(npm.current_dir(root().join(PAGE)))
}

/// Whether there is a Chromium, installed where that is allowed, or why not. An error if the one that was named is missing.
fn browser() -> Result<Result<(), String>, String> {
    if let Some(given) = env::var_os("CHROMIUM").map(PathBuf::from) {
        let missing = format!("CHROMIUM names {}, which is missing", given.display());
        return if given.exists() { Ok(Ok(())) } else { Err(missing) };
    }
    if Path::new(CHROMIUM).exists() {
        return Ok(Ok(()));
    }
    let installed = tools::install("testing the report's page in a browser", &["chromium"]);
    let missing = |why: String| format!("{CHROMIUM} is missing ({why}): install one, or name another in CHROMIUM");
    Ok(match installed {
        Ok(()) if !Path::new(CHROMIUM).exists() => Err(missing("its package did not bring it".into())),
        done => done.map_err(missing),
    })
}
