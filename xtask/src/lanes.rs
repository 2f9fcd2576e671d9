//! Steps that run beside each other, so that one core is not idle while another step waits for the network, a browser or a single thread. What each
//! lane prints is kept, and shown when it has ended.

use std::cell::RefCell;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::process::Command;
use std::thread;

thread_local! {
    /// Where what this thread prints is kept, if it is a lane.
    static KEPT: RefCell<Option<File>> = const { RefCell::new(None) };
}

/// A name, and what is done.
pub type Lane<'a> = (&'static str, Box<dyn FnOnce() -> Result<(), String> + Send + 'a>);

/// Runs all lanes to their end, and gives all errors.
pub fn run(lanes: Vec<Lane<'_>>) -> Result<(), String> {
    let names: Vec<&str> = lanes.iter().map(|(name, _)| *name).collect();
    say(&format!("== at the same time: {}", names.join("; ")));
    let ends: Vec<Result<(), String>> = thread::scope(|scope| {
        let started: Vec<_> = lanes.into_iter().map(|(name, job)| (name, scope.spawn(move || kept(job)))).collect();
        let ended = started.into_iter().map(|(name, lane)| {
            let (end, printed) = lane.join().unwrap_or_else(|_| (Err(format!("{name}: it panicked")), String::new()));
            say(&format!("== {name}, done beside others:\n{}", printed.trim_end()));
            end
        });
        ended.collect()
    });
    let errors: Vec<String> = ends.into_iter().filter_map(Result::err).collect();
    if errors.is_empty() { Ok(()) } else { Err(errors.join("\n")) }
}

/// Does it in this thread, and gives what it printed.
fn kept(job: impl FnOnce() -> Result<(), String>) -> (Result<(), String>, String) {
    let file = match anonymous() {
        Ok(file) => file,
        Err(error) => return (Err(format!("nothing can be kept of what is printed: {error}")), String::new()),
    };
    KEPT.set(Some(file));
    let end = job();
    let mut printed = Vec::new();
    if let Some(mut file) = KEPT.take() {
        let _ = file.seek(SeekFrom::Start(0)).and_then(|_| file.read_to_end(&mut printed));
    }
    (end, String::from_utf8_lossy(&printed).into_owned())
}

/// A file in the target folder, which has no name once it is open.
fn anonymous() -> std::io::Result<File> {
    let folder = crate::target();
    std::fs::create_dir_all(&folder)?;
    let path = folder.join(format!("lane-{}-{:?}", std::process::id(), thread::current().id()));
    let file = File::options().read(true).append(true).create(true).open(&path)?;
    std::fs::remove_file(&path)?;
    Ok(file)
}

/// Prints a line, to the terminal or to what is kept of this lane.
pub fn say(line: &str) {
    KEPT.with_borrow_mut(|kept| match kept {
        Some(file) => drop(writeln!(file, "{line}")),
        None => eprintln!("{line}"),
    });
}

/// Has a command print to where this thread prints.
pub fn redirect(command: &mut Command) {
    KEPT.with_borrow(|kept| {
        if let Some((out, err)) = kept.as_ref().and_then(|file| Some((file.try_clone().ok()?, file.try_clone().ok()?)))
        {
            command.stdout(out).stderr(err);
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_lanes_end_and_all_errors_are_told() {
        let done = std::sync::atomic::AtomicBool::new(false);
        let lanes: Vec<Lane<'_>> = vec![
            ("one", Box::new(|| Err("it rains".into()))),
            (
                "two",
                Box::new(|| {
                    done.store(true, std::sync::atomic::Ordering::SeqCst);
                    Ok(())
                }),
            ),
            ("three", Box::new(|| Err("it snows".into()))),
        ];
        assert_eq!(run(lanes), Err("it rains\nit snows".into()));
        assert!(done.into_inner());
    }

    #[test]
    fn what_a_lane_prints_is_kept() {
        let (end, printed) = kept(|| {
            say("first");
            let mut command = Command::new("sh");
            command.args(["-c", "echo second; echo third >&2"]);
            redirect(&mut command);
            command.status().map(|_| ()).map_err(|error| error.to_string())
        });
        assert_eq!((end, printed.as_str()), (Ok(()), "first\nsecond\nthird\n"));
    }
}
