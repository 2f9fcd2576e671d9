//! Hostile files, folders, pipes and names, each given to the program in a process of its own, with a limit on its memory and
//! on its time: it ends with one line that says what is wrong, and the exit code of a failure.
//!
//! To add one, add a line to the part of `hostile` that fits.

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::hostile::{Attack, Corpus, Fed};

/// What a process may address, in KiB: 640 MiB.
const MEMORY: &str = "655360";
/// No attack takes a second; this is for a machine that does much else.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn every_attack_ends_with_one_line() {
    let folder = tempfile::tempdir().unwrap();
    let corpus = Corpus::make(folder.path());
    assert!(corpus.attacks.len() >= 300, "{}", corpus.attacks.len());
    let queue = Mutex::new(corpus.attacks.iter());
    let failures = Mutex::new(Vec::new());
    let workers = std::thread::available_parallelism().map_or(2, |count| count.get().clamp(2, 8));
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let Some(attack) = queue.lock().unwrap().next() else { return };
                    if let Err(problem) = repelled(attack, &corpus.folder) {
                        failures.lock().unwrap().push(format!("{:?}: {problem}", attack.arguments));
                    }
                }
            });
        }
    });
    let failures = failures.into_inner().unwrap();
    assert!(failures.is_empty(), "{} of {}:\n{}", failures.len(), corpus.attacks.len(), failures.join("\n"));
}

/// A file that is named by a wildcard may have any name, also one that looks like an argument too many.
#[test]
fn names_in_usage_errors_do_not_act_on_the_terminal() {
    let hostile = "\x1b]0;owned\x07\u{9b}31m";
    for arguments in [
        &["fit", "a.csv", hostile][..],
        &["fit", "a.csv", "-k", hostile],
        &[hostile],
        &["fit", "a.csv", "--json", hostile],
    ] {
        let run = Command::new(env!("CARGO_BIN_EXE_ewca")).args(arguments).output().unwrap();
        let text = String::from_utf8(run.stderr).unwrap();
        assert_eq!(run.status.code(), Some(2), "{text:?}");
        assert!(text.contains("31m") && !text.contains(|c: char| c.is_control() && c != '\n'), "{text:?}");
    }
}

/// Names need not be text.
#[test]
fn names_that_are_not_utf_8_are_shown_as_far_as_they_go() {
    use std::os::unix::ffi::OsStrExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(std::ffi::OsStr::from_bytes(b"x\xff\x1b[31m.csv"));
    std::fs::write(&path, "a,b\n1,x\n").unwrap();
    for command in ["fit", "inspect", "path"] {
        let run = Command::new(env!("CARGO_BIN_EXE_ewca")).arg(command).arg(&path).output().unwrap();
        let text = String::from_utf8([run.stdout, run.stderr].concat()).unwrap();
        assert!(text.contains("x\u{fffd}\u{fffd}[31m.csv") && !text.contains('\x1b'), "{text:?}");
        assert_eq!(run.status.code(), Some(i32::from(command != "inspect")), "{text}");
    }
}

/// What is wrong with how the program took it.
fn repelled(attack: &Attack, folder: &Path) -> Result<(), String> {
    let (code, out, err) = run(attack, folder)?;
    if code != Some(1) {
        return Err(format!("exit code {code:?}: {err}{}", out.chars().take(200).collect::<String>()));
    }
    let line = err.strip_suffix('\n').unwrap_or(&err);
    if !(line.starts_with("ewca: error: ") || line.starts_with("{\"code\"")) || !line.contains(attack.said) {
        return Err(format!("'{}' is not in: {line}", attack.said));
    }
    // The advice to raise it was once given by commands that do not have it.
    let without_limits = ["inspect", "transform", "reconstruct", "neighbours"];
    if without_limits.contains(&attack.arguments[0].as_str()) && line.contains("--max-memory") {
        return Err(format!("names an option that the command does not have: {line}"));
    }
    if line.contains("panicked") || line.contains(|c: char| c.is_control() || c == '\u{202e}') {
        return Err(format!("not one plain line: {line:?}"));
    }
    Ok(())
}

/// The exit code, and both streams.
fn run(attack: &Attack, folder: &Path) -> Result<(Option<i32>, String, String), String> {
    let limited = format!("ulimit -v {MEMORY}; exec \"$@\"");
    let (feeder, input) = match &attack.fed {
        None => (None, Stdio::null()),
        Some(fed) => feed(fed, folder),
    };
    let outputs = tempfile::tempdir().unwrap();
    let create = |name: &str| File::create(outputs.path().join(name)).unwrap();
    let mut child = Command::new("sh")
        .args(["-c", &limited, "sh", env!("CARGO_BIN_EXE_ewca")])
        .args(&attack.arguments)
        .current_dir(folder)
        .stdin(input)
        .stdout(create("out"))
        .stderr(create("err"))
        .spawn()
        .unwrap();
    let code = patiently(&mut child);
    if let Some(mut feeder) = feeder {
        let _ = feeder.kill();
        let _ = feeder.wait();
    }
    let text = |name: &str| {
        let mut bytes = Vec::new();
        File::open(outputs.path().join(name)).unwrap().take(1 << 20).read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    };
    Ok((code?, text("out"), text("err")))
}

/// Starts what writes to a pipe.
fn feed(fed: &Fed, folder: &Path) -> (Option<Child>, Stdio) {
    let mut command = Command::new("sh");
    command.current_dir(folder).stdin(Stdio::null()).stderr(Stdio::null());
    match &fed.into {
        Some(pipe) => {
            command.args(["-c", &format!("exec {} > '{pipe}'", fed.from)]).stdout(Stdio::null());
            (Some(command.spawn().unwrap()), Stdio::null())
        }
        None => {
            command.args(["-c", &format!("exec {}", fed.from)]).stdout(Stdio::piped());
            let mut child = command.spawn().unwrap();
            let output = child.stdout.take().unwrap();
            (Some(child), output.into())
        }
    }
}

/// Waits, but not for ever.
fn patiently(child: &mut Child) -> Result<Option<i32>, String> {
    let start = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Ok(status.code());
        }
        if start.elapsed() > PATIENCE {
            let _ = child.kill();
            let _ = child.wait();
            return Err("did not end".into());
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}
