//! `--checkpoint` and `--resume`: killed at any moment, a fit loses nothing but time.
#![cfg(unix)]

use std::time::Duration;

use crate::common::{Run, Workshop, exists, interrupt, noise, numbers};

const RESULTS: [&str; 3] = ["scores.csv", "loadings.csv", "model.safetensors"];
/// A fit that takes long enough to be killed several times: many iterations, in several attempts.
const FIT: [&str; 13] = [
    "fit",
    "data.csv",
    "-k",
    "3",
    "--perplexity",
    "15",
    "--solver",
    "bcd",
    "--tolerance",
    "1e-9",
    "--restarts",
    "6",
    "-q",
];

fn results(shop: &Workshop, folder: &str) -> Vec<Vec<u8>> {
    RESULTS.iter().map(|name| shop.bytes(&format!("{folder}/{name}"))).collect()
}

/// The loss, iterations and passes: what a resumed fit must share with one that was not interrupted.
fn numbers_of(shop: &Workshop, folder: &str) -> Vec<String> {
    let summary = shop.summary(folder);
    ["loss", "epsilon", "iterations", "kernel_passes", "attempt", "certificate"]
        .map(|key| summary[key].to_string())
        .to_vec()
}

#[test]
fn killed_again_and_again_it_ends_with_the_same_bits() {
    killed(8, 11);
}

#[test]
fn killed_fifty_times_it_ends_with_the_same_bits() {
    (0..7).for_each(|seed| killed(8, seed));
}

fn killed(times: usize, seed: u64) {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(300, 8));
    shop.run(&[&FIT[..], &["-o", "whole"]].concat());
    let mut noise = noise(seed);
    let checkpoint = ["-o", "parts", "--checkpoint", "state", "--checkpoint-every", "0"];
    let (mut kills, mut resumed) = (0, 0);
    loop {
        let going_on = exists(&shop.path("state"));
        let resume: &[&str] = if going_on { &["--resume", "state"] } else { &[] };
        resumed += usize::from(going_on);
        let mut child = shop.command(&[&FIT[..], &checkpoint, resume].concat()).spawn().unwrap();
        if kills == times {
            let run = Run::from(child.wait_with_output().unwrap());
            assert!(run.code == Some(0) || run.code == Some(3), "{run:?}");
            break;
        }
        // The first one gets as far as its first state.
        while !exists(&shop.path("state")) && child.try_wait().unwrap().is_none() {
            std::thread::sleep(Duration::from_millis(1));
        }
        std::thread::sleep(Duration::from_secs_f64(0.06 * (1.0 + noise())));
        // SIGKILL, unless it has come to its end.
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
        assert!(!exists(&shop.path("parts/summary.json")) || exists(&shop.path("parts/model.safetensors")));
    }
    assert_eq!(resumed, times, "all but the first go on from a state");
    assert_eq!(shop.list("."), ["data.csv", "parts", "state", "whole"], "nothing unfinished is left");
    assert_eq!(results(&shop, "parts"), results(&shop, "whole"));
    assert_eq!(numbers_of(&shop, "parts"), numbers_of(&shop, "whole"));
}

#[test]
fn ctrl_c_keeps_the_last_state() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(300, 8));
    shop.run(&[&FIT[..], &["-o", "whole"]].concat());
    // Where it was stopped before its iterations began, it is given more time, and less where it had ended.
    let mut time = Duration::from_millis(10);
    for attempt in 0..50 {
        let parts = format!("parts{attempt}");
        let child = shop.command(&[&FIT[..], &["--checkpoint", "state", "-o", &parts]].concat()).spawn().unwrap();
        while !exists(&shop.path(&parts)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        std::thread::sleep(time);
        interrupt(child.id());
        let run = Run::from(child.wait_with_output().unwrap());
        if run.err.contains("before its first iteration") {
            time *= 2;
            continue;
        }
        if [Some(0), Some(3)].contains(&run.code) {
            time /= 3;
            continue;
        }
        // A minute has not passed, so a state is there only because of the signal.
        assert_eq!((run.code, exists(&shop.path("state"))), (Some(130), true), "{run:?}");
        shop.run(&[&FIT[..], &["--resume", "state", "-o", &parts]].concat());
        assert_eq!(results(&shop, &parts), results(&shop, "whole"));
        return;
    }
    panic!("it was never stopped during its iterations");
}

#[test]
fn states_of_other_fits_are_refused() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 5));
    shop.write("other.csv", numbers(61, 5));
    let save = ["--checkpoint", "state", "--checkpoint-every", "0"];
    shop.run(&[&["fit", "data.csv", "--epsilon", "1"], &save[..]].concat()).succeeded();
    let resume = |arguments: &[&str]| shop.run(&[&["fit"], arguments, &["--resume", "state", "-o", "new"]].concat());
    resume(&["data.csv", "--epsilon", "1"]).succeeded();
    std::fs::remove_dir_all(shop.path("new")).unwrap();
    resume(&["other.csv", "--epsilon", "1"]).failed_saying(&[
        "state",
        "other data or options",
        "the same data and options",
    ]);
    resume(&["data.csv", "--epsilon", "1", "--scale", "unit-variance"]).failed_saying(&["other data or options"]);
    resume(&["data.csv", "--epsilon", "2"]).failed_saying(&["--resume", "other data or options"]);
    let state = shop.bytes("state");
    shop.write("state", &state[..state.len() - 9]);
    resume(&["data.csv", "--epsilon", "1"]).failed_saying(&["state", "damaged"]);
    shop.write("state", "a,b\n1,2\n");
    resume(&["data.csv", "--epsilon", "1"]).failed_saying(&["state", "is not a checkpoint"]);
    std::fs::remove_file(shop.path("state")).unwrap();
    resume(&["data.csv", "--epsilon", "1"]).failed_saying(&["state", "no such file"]);
    assert!(!exists(&shop.path("new")));
}
