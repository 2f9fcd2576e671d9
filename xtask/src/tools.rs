//! Programs of the system that some tests need. They are installed only where that is allowed, and after it was said; where one stays
//! missing, what is left out is named, at once and at the end.

use std::io::{IsTerminal, stdin};
use std::process::Command;
use std::sync::Mutex;

use crate::lanes::say;
use crate::{command, run_quietly};

/// Set to anything, makes it an error to leave something out: for CI.
const STRICT: &str = "EWCA_LEAVE_NOTHING_OUT";

static LEFT_OUT: Mutex<Vec<String>> = Mutex::new(Vec::new());

/// Notes that something is not tested, and why. An error where nothing may be left out.
pub fn leave_out(what: &str, why: &str) -> Result<(), String> {
    if std::env::var_os(STRICT).is_some() {
        return Err(format!("{what} would be left out ({STRICT} is set, so this is an error): {why}"));
    }
    note(&format!("{what}: {why}"));
    Ok(())
}

/// Notes that something is not tested because that was asked for, or because another test covers it.
pub fn note(what: &str) {
    say(&format!("== left out: {what}"));
    LEFT_OUT.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).push(what.to_string());
}

/// All that was left out so far.
pub fn left_out() -> Vec<String> {
    LEFT_OUT.lock().unwrap_or_else(|poisoned| poisoned.into_inner()).clone()
}

/// Installs packages of Debian and its relatives: as root after saying so, as anyone else through sudo after asking. The error says what to do
/// by hand.
pub fn install(purpose: &str, packages: &[&str]) -> Result<(), String> {
    let names = packages.join(" ");
    if run_quietly(&["apt-get", "--version"]).is_err() {
        return Err(format!(
            "{purpose} needs what Debian calls {names}: install it with your system's package manager"
        ));
    }
    let by_hand = format!("as root, `apt-get install {names}` installs what {purpose} needs");
    let before: &[&str] = match may_install(&names, purpose) {
        Permission::Root => &[],
        Permission::Sudo => &["sudo"],
        Permission::None => return Err(by_hand),
    };
    let install = [before, &["apt-get", "install", "--yes", "--no-install-recommends"], packages].concat();
    say(&format!("== {purpose} needs {names}, so this is run now: apt-get update; {}", install.join(" ")));
    let update = [before, &["apt-get", "update"]].concat();
    run_quietly(&update).and_then(|()| run_quietly(&install)).map_err(|error| format!("{error}; {by_hand}"))
}

enum Permission {
    Root,
    Sudo,
    None,
}

fn may_install(names: &str, purpose: &str) -> Permission {
    let user = Command::new("id").arg("-u").output();
    if user.is_ok_and(|output| output.stdout.trim_ascii() == b"0") {
        return Permission::Root;
    }
    if !stdin().is_terminal() || command(&["sudo", "--version"]).output().is_err() {
        return Permission::None;
    }
    eprint!("== {purpose} needs {names}. Install with `sudo apt-get install`? [y/N] ");
    let mut answer = String::new();
    match stdin().read_line(&mut answer) {
        Ok(_) if answer.trim().eq_ignore_ascii_case("y") => Permission::Sudo,
        _ => Permission::None,
    }
}

#[test]
fn what_is_left_out_is_named_at_the_end() {
    note("the tests of the moon: it is day");
    assert!(left_out().contains(&"the tests of the moon: it is day".to_string()));
}
