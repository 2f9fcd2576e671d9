//! Messages for programs, completions, manual pages, and the help of every command.

use crate::common::{Workshop, numbers};
use serde_json::Value;

const COMMANDS: [&str; 12] = [
    "fit",
    "transform",
    "reconstruct",
    "neighbours",
    "report",
    "path",
    "select",
    "reproduce",
    "inspect",
    "demo",
    "completions",
    "man",
];

fn json(line: &str) -> Value {
    serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))
}

#[test]
fn every_message_can_be_json() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(40, 4));
    let run = shop.run(&["fit", "data.csv", "--json", "--scores", "s.npy"]).succeeded();
    assert_eq!(run.out.lines().count(), 1, "{}", run.out);
    let account = json(&run.out);
    assert_eq!((&account["event"], &account["folder"]), (&"fit".into(), &"ewca-out".into()));
    assert_eq!((&account["files"][0], &account["n_samples"]), (&"s.npy".into(), &40.into()));
    assert_eq!(shop.run(&["fit", "data.csv", "--json", "-q"]).succeeded().out, "");

    let run = shop.run(&["fit", "data.csv", "--json", "--epsilon", "3", "--max-iterations", "1"]);
    assert_eq!((run.code, &json(&run.out)["converged"]), (Some(3), &false.into()));
    let warning = json(&run.err);
    assert_eq!(warning["level"], "warning");
    assert!(warning["message"].as_str().unwrap().starts_with("not converged"), "{warning}");

    let run = shop.run(&["--json", "fit", "nowhere.csv"]);
    let error = json(&run.err);
    assert_eq!(
        (run.code, run.out.as_str(), &error["level"], &error["code"]),
        (Some(1), "", &"error".into(), &1.into())
    );
    assert!(error["message"].as_str().unwrap().contains("nowhere.csv"), "{error}");

    for arguments in
        [&["fit", "data.csv", "-k", "0", "--json"][..], &["fit", "data.csv", "--mm-bound", "zero", "--json"]]
    {
        let run = shop.run(arguments);
        let error = json(&run.err);
        assert_eq!((run.code, run.err.lines().count(), &error["code"]), (Some(2), 1, &2.into()), "{}", run.err);
    }

    let run = shop.run(&["transform", "ewca-out", "data.csv", "-o", "t.parquet", "--json"]).succeeded();
    assert_eq!((&json(&run.out)["file"], &json(&run.out)["rows"]), (&"t.parquet".into(), &40.into()));
}

#[test]
fn every_command_has_help_with_examples() {
    let shop = Workshop::new();
    for command in COMMANDS {
        let run = shop.run(&[command, "--help"]).succeeded();
        for part in ["Usage: ewca", "Examples:\n", &format!("\n  ewca {command}"), "--json"] {
            assert!(run.out.contains(part), "{command}: no '{part}' in:\n{}", run.out);
        }
        assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    }
}

#[test]
fn shells_and_man_know_every_command() {
    let shop = Workshop::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = shop.run(&["completions", shell]).succeeded().out;
        assert!(COMMANDS.iter().all(|command| script.contains(command)), "{shell}");
    }
    let page = shop.run(&["man"]).succeeded().out;
    assert!(page.contains(".TH ewca 1"), "{page}");
    assert!(shop.run(&["man", "-o", "pages/man1"]).succeeded().out.contains("13 pages"));
    let mut expected: Vec<String> = COMMANDS.iter().map(|command| format!("ewca-{command}.1")).collect();
    expected.push("ewca.1".into());
    expected.sort();
    assert_eq!(shop.list("pages/man1"), expected);
    assert!(shop.read("pages/man1/ewca-fit.1").contains("perplexity"));
}
