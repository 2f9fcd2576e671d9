//! What can be done with a model: `transform`, `reconstruct`, `neighbours`, `inspect`.

mod common;

use common::{Workshop, clouds, exists, numbers};

/// A folder with a fit of 60 samples of three kinds.
fn fitted(more: &[&str]) -> Workshop {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 5, ","));
    shop.run(&[&["fit", "data.csv", "-k", "3", "--label", "kind", "--id", "name"], more].concat()).succeeded();
    shop
}

fn cells(line: &str) -> Vec<f64> {
    line.split(',').filter_map(|cell| cell.parse().ok()).collect()
}

/// The table with its columns in another order.
fn shuffled(table: &str, order: &[usize]) -> String {
    let line = |line: &str| {
        let cells: Vec<&str> = line.split(',').collect();
        order.iter().map(|&at| cells[at]).collect::<Vec<_>>().join(",") + "\n"
    };
    table.lines().map(line).collect()
}

#[test]
fn the_training_data_transform_to_their_scores() {
    for steps in [&[][..], &["--scale", "unit-variance", "--top-variable", "4"]] {
        let shop = fitted(steps);
        let table = ["--label", "kind", "--id", "name"];
        let run = shop.run(&[&["transform", "ewca-out", "data.csv"], &table[..]].concat()).succeeded();
        let expected = shop.read("ewca-out/scores.csv");
        assert_eq!(run.out.lines().next(), expected.lines().next());
        for (found, expected) in run.out.lines().zip(expected.lines()).skip(1) {
            assert_eq!(found.split(',').take(2).collect::<Vec<_>>(), expected.split(',').take(2).collect::<Vec<_>>());
            let close = cells(found).iter().zip(cells(expected)).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close, "{found} {expected}");
        }
        // Features are matched by name: their order does not matter, to the last bit.
        shop.write("turned.csv", shuffled(&shop.read("data.csv"), &[6, 2, 0, 4, 3, 1, 5]));
        let model = "ewca-out/model.safetensors";
        shop.run(&[&["transform", model, "turned.csv", "-o", "new.csv"], &table[..]].concat()).succeeded();
        assert_eq!(shop.read("new.csv"), run.out);
    }
}

#[test]
fn missing_and_extra_features_are_named() {
    let shop = fitted(&[]);
    let table = shop.read("data.csv");
    shop.write("less.csv", shuffled(&table, &[0, 2, 4, 5, 6]));
    let arguments = |file| ["transform", "ewca-out", file, "--id", "name", "-o", "new.csv"];
    shop.run(&arguments("less.csv")).failed_saying(&["less.csv", "lacks 1 feature", "(x2)"]);
    shop.write("more.csv", table.replace("x3", "x33"));
    shop.run(&[&arguments("more.csv")[..], &["--label", "kind"]].concat())
        .failed_saying(&["lacks 1 feature that the model needs (x3) and has 1 that it does not know (x33)"]);
    assert!(!exists(&shop.path("new.csv")));
}

#[test]
fn bad_models_are_refused_in_one_line() {
    let shop = fitted(&[]);
    let model = shop.bytes("ewca-out/model.safetensors");
    shop.write("short.safetensors", &model[..model.len() / 2]);
    let at = model.windows(12).position(|window| window == b"ewca.model/1").unwrap();
    let mut future = model.clone();
    future[at + 11] = b'2';
    shop.write("future.safetensors", future);
    for (file, parts) in [
        ("short.safetensors", &["short.safetensors", "not a valid model", "ends too early"][..]),
        ("future.safetensors", &["ewca.model/2", "newer version"]),
        ("data.csv", &["data.csv", "no safetensors file"]),
        ("nothing", &["nothing", "no such file"]),
        (".", &["folder"]),
    ] {
        shop.run(&["transform", file, "data.csv"]).failed_saying(parts);
        shop.run(&["neighbours", file]).failed_saying(parts);
    }
}

#[test]
fn scores_lead_back_to_samples() {
    let shop = Workshop::new();
    // As many components as dimensions: nothing is lost.
    shop.write("data.csv", numbers(30, 3));
    shop.run(&["fit", "data.csv", "-k", "3", "--scores", "s.npy"]).succeeded();
    let data = shop.read("data.csv");
    let check = |out: &str| {
        assert_eq!(out.lines().next(), Some("id,x1,x2,x3"));
        for (found, expected) in out.lines().zip(data.lines()).skip(1) {
            let close = cells(found)[1..].iter().zip(cells(expected)).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close, "{found} {expected}");
        }
        assert_eq!(out.lines().count(), 31);
    };
    check(&shop.run(&["reconstruct", "ewca-out", "ewca-out/scores.csv"]).succeeded().out);
    check(&shop.run(&["reconstruct", "ewca-out", "s.npy"]).succeeded().out);
    check(&shop.run_with(&["reconstruct", "ewca-out", "-"], &shop.read("ewca-out/scores.csv")).succeeded().out);
    shop.run(&["reconstruct", "ewca-out", "data.csv"]).failed_saying(&["data.csv", "ewca1 to ewca3"]);

    let shop = fitted(&["--scale", "unit-variance"]);
    let run = shop.run(&["reconstruct", "ewca-out", "ewca-out/scores.csv"]);
    assert_eq!((run.code, run.out.lines().next()), (Some(0), Some("id,label,x1,x2,x3,x4,x5")));
    assert!(run.err.contains("units of the fit"), "{}", run.err);
}

#[test]
fn neighbours_are_of_the_same_kind() {
    let shop = fitted(&["--perplexity", "5"]);
    let run = shop.run(&["neighbours", "ewca-out", "-m", "3"]).succeeded();
    assert_eq!(run.out.lines().next(), Some("sample,partner,label,share"));
    assert_eq!(run.out.lines().count(), 1 + 3 * 60);
    let kinds = ["oak", "elm", "ash"];
    for line in run.out.lines().skip(1) {
        let cells: Vec<&str> = line.split(',').collect();
        let sample: usize = cells[0][1..].parse().unwrap();
        assert_ne!(cells[0], cells[1]);
        assert_eq!(cells[2], kinds[sample % 3], "{line}");
    }
    // A training sample as a new one has itself as its strongest partner.
    let lines: Vec<String> = shop.read("data.csv").lines().take(3).map(String::from).collect();
    shop.write("new.csv", lines.join("\n"));
    let arguments = ["neighbours", "ewca-out", "new.csv", "--id", "name", "--label", "kind", "-o", "near.csv"];
    shop.run(&arguments).succeeded();
    let near = shop.read("near.csv");
    assert_eq!(near.lines().count(), 1 + 5 * 2);
    assert!(near.lines().nth(1).unwrap().starts_with("s0,s0,oak,"), "{near}");
}

#[test]
fn inspect_tells_tables_and_models() {
    let shop = fitted(&["--scale", "unit-variance"]);
    let run = shop.run(&["inspect", "data.csv"]).succeeded();
    for part in [
        "a text table",
        "60 rows x 5 numeric columns",
        "name, kind",
        "0 cells",
        "ewca fit data.csv --id name --label kind",
    ] {
        assert!(run.out.contains(part), "no '{part}' in:\n{}", run.out);
    }
    // What it suggests works.
    let suggestion = run.out.lines().last().unwrap().trim().strip_prefix("ewca ").unwrap();
    shop.run(&suggestion.split(' ').chain(["-o", "again"]).collect::<Vec<_>>()).succeeded();

    for name in ["ewca-out", "ewca-out/model.safetensors"] {
        let run = shop.run(&["inspect", name]).succeeded();
        for part in ["a model", "60 samples x 5 features, 3 classes", "--scale unit-variance", "ewca transform"] {
            assert!(run.out.contains(part), "no '{part}' in:\n{}", run.out);
        }
        assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    }
    shop.write("holes.csv", "a,b\n1,\n2,3\nNA,5\n");
    let run = shop.run(&["inspect", "holes.csv", "--json"]).succeeded();
    let record: serde_json::Value = serde_json::from_str(&run.out).unwrap();
    assert_eq!((&record["table"]["missing"], &record["format"]), (&2.into(), &"csv".into()));
    assert_eq!(record["suggestion"], "ewca fit holes.csv --missing mean");
    shop.run(&["inspect", "nothing.csv"]).failed_saying(&["nothing.csv", "no such file"]);
    shop.run(&["inspect", "-"]).failed_saying(&["standard input", "is empty"]);
}

#[test]
fn data_on_standard_output_need_a_reader_only_as_long_as_it_wants() {
    let shop = fitted(&[]);
    for arguments in [&["neighbours", "ewca-out", "-m", "50"][..], &["completions", "bash"], &["man"]] {
        let mut child = shop.command(arguments).spawn().unwrap();
        drop(child.stdout.take());
        let run = common::Run::from(child.wait_with_output().unwrap());
        assert_eq!((run.code, run.err.as_str()), (Some(0), ""), "{arguments:?}");
    }
    // A full disk is another matter.
    #[cfg(target_os = "linux")]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = shop.command(&["neighbours", "ewca-out", "-m", "50"]);
        let run = common::Run::from(command.stdout(full).output().unwrap());
        run.failed_saying(&["standard output", "disk is full"]);
    }
}
