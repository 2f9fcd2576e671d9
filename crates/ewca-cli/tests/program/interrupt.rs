//! Ctrl-C at every stage of a run.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::process::Child;
use std::time::{Duration, Instant};

use crate::common::{Run, Workshop, exists, interrupt, numbers, signal};

/// Far longer than anything here takes; a run that is still alive then hangs.
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts a command, and waits until its iterations have begun: a state of the fit is on the disk.
fn iterating(shop: &Workshop, arguments: &[&str]) -> Child {
    let kept = ["--checkpoint", "state", "--checkpoint-every", "0"];
    let mut child = shop.command(&[arguments, &kept].concat()).spawn().unwrap();
    let clock = Instant::now();
    while !exists(&shop.path("state")) {
        assert!(child.try_wait().unwrap().is_none() && clock.elapsed() < PATIENCE, "it should still be at work");
        std::thread::sleep(Duration::from_millis(1));
    }
    child
}

#[test]
fn once_writes_the_best_result_and_exits_with_130() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(80, 6));
    // So many attempts that the run surely lasts until it is stopped.
    let mut child = iterating(&shop, &["fit", "data.csv", "--restarts", "1000000000"]);
    let mut out = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    out.read_line(&mut line).unwrap();
    assert!(line.starts_with("Read data.csv"), "{line}");

    interrupt(child.id());
    let mut rest = String::new();
    out.read_to_string(&mut rest).unwrap();
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (Some(130), ""));
    assert!(rest.contains("Warning: interrupted after"), "{rest}");
    assert_eq!(shop.list("ewca-out"), ["loadings.csv", "model.safetensors", "scores.csv", "summary.json"]);
    assert_eq!(shop.summary("ewca-out")["termination"], "interrupted");
    assert_eq!(shop.read("ewca-out/scores.csv").lines().count(), 81);
}

#[test]
fn a_path_keeps_the_fits_that_it_has() {
    // A path tells nobody when its iterations begin: where it was stopped before them, it is given more time.
    for doubled in 0..12 {
        let shop = Workshop::new();
        shop.write("data.csv", numbers(80, 6));
        let arguments = ["path", "data.csv", "--epsilons", "0.5:5:3", "--restarts", "1000000000"];
        let mut child = shop.command(&arguments).spawn().unwrap();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut String::new()).unwrap();
        std::thread::sleep(Duration::from_millis(10 << doubled));
        interrupt(child.id());
        let mut rest = String::new();
        out.read_to_string(&mut rest).unwrap();
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{run:?}");
        if run.err.contains("before its first iteration") {
            continue;
        }
        assert_eq!(run.err, "");
        assert!(rest.contains("?: interrupted after 1 fit"), "{rest}");
        assert_eq!(shop.read("ewca-out/path.csv").lines().count(), 2);
        return;
    }
    panic!("the iterations never began");
}

#[test]
fn twice_quits_at_once() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(20_000, 4));
    let child = iterating(&shop, &["fit", "data.csv"]);
    // Both are heard at once; two of a kind might be taken for one. What the first asks for, the certificate of so many samples, takes its time.
    for name in ["STOP", "INT", "TERM", "CONT"] {
        signal(child.id(), name);
    }
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!(run.code, Some(130));
    assert!(!exists(&shop.path("ewca-out/summary.json")));
}

#[test]
fn before_the_fit_there_is_nothing_to_keep() {
    let shop = Workshop::new();
    let mut child = shop.command(&["fit", "-"]).spawn().unwrap();
    // More than a pipe holds: once it is written, the program is reading, and it waits for more.
    child.stdin.as_mut().unwrap().write_all(numbers(20_000, 4).as_bytes()).unwrap();
    interrupt(child.id());
    let status = child.wait().unwrap();
    assert_eq!(status.code(), Some(130));
    assert!(!exists(&shop.path("ewca-out")));
}

/// The results are safe, and a large plan is being written: once is enough, and what was begun goes away.
#[test]
fn once_stops_the_writing_of_a_large_plan() {
    for plan in [&["--dense-plan", "plan.npy"][..], &["--plan", "plan.csv", "--partners", "5000"]] {
        let shop = Workshop::new();
        shop.write("data.csv", numbers(5000, 3));
        let arguments = ["fit", "data.csv", "--epsilon", "1", "--tolerance", "0.5", "-q"];
        let mut child = shop.command(&[&arguments[..], plan].concat()).spawn().unwrap();
        let clock = Instant::now();
        while !exists(&shop.path("ewca-out/summary.json")) && clock.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(1));
            assert!(child.try_wait().unwrap().is_none(), "it should still be at work");
        }
        interrupt(child.id());
        let run = Run::from(child.wait_with_output().unwrap());
        assert_eq!(run.code, Some(130), "{run:?}");
        assert_eq!(run.err, format!("ewca: error: {}: interrupted before it was written\n", plan[1]));
        assert_eq!(shop.list("."), ["data.csv", "ewca-out"]);
        assert_eq!(shop.list("ewca-out"), ["loadings.csv", "model.safetensors", "scores.csv", "summary.json"]);
        assert_eq!(shop.run(&["inspect", "ewca-out"]).err, "");
    }
}

#[test]
fn once_stops_a_table_that_is_given() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(4000, 3));
    shop.run(&["fit", "data.csv", "--epsilon", "1", "--tolerance", "0.5", "-q"]);
    let arguments = ["neighbours", "ewca-out", "-m", "3999", "-o", "near.csv"];
    let mut child = shop.command(&arguments).spawn().unwrap();
    let clock = Instant::now();
    while !shop.list(".").iter().any(|name| name.ends_with(".part")) && clock.elapsed() < PATIENCE {
        std::thread::sleep(Duration::from_millis(1));
        assert!(child.try_wait().unwrap().is_none(), "it should still be at work");
    }
    interrupt(child.id());
    let run = Run::from(child.wait_with_output().unwrap());
    assert_eq!((run.code, run.err.as_str()), (Some(130), "ewca: error: near.csv: interrupted before it was written\n"));
    assert_eq!(shop.list("."), ["data.csv", "ewca-out"]);
}

/// Reading a pipe that stays open: nobody waits for its end.
#[test]
fn reading_is_left_at_once_by_every_command() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 4));
    shop.run(&["fit", "data.csv", "-q"]).succeeded();
    for arguments in
        [&["path", "-"][..], &["select", "-"], &["transform", "ewca-out", "-"], &["reconstruct", "ewca-out", "-"]]
    {
        let mut child = shop.command(arguments).spawn().unwrap();
        let mut stdin = child.stdin.take().unwrap();
        stdin.write_all(numbers(20_000, 4).as_bytes()).unwrap();
        let clock = Instant::now();
        interrupt(child.id());
        let code = child.wait().unwrap().code();
        assert_eq!(code, Some(130), "{arguments:?}");
        assert!(clock.elapsed() < PATIENCE);
        drop(stdin);
    }
    assert_eq!(shop.list("."), ["data.csv", "ewca-out"]);
}
