//! What can be done with a model: `transform`, `reconstruct`, `neighbours`, `inspect`.

use crate::common::{Workshop, clouds, exists, numbers};

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

/// A table of new samples needs the features of the model, in any order. Other columns of text come along; numbers do not.
#[test]
fn only_the_features_of_the_model_are_needed() {
    for (steps, note) in [(&[][..], "1 column"), (&["--top-variable", "4", "--scale", "unit-variance"], "1 column")] {
        let shop = fitted(steps);
        let expected = shop.read("ewca-out/scores.csv");
        let mut lines = Vec::new();
        for (row, line) in shop.read("data.csv").lines().enumerate() {
            // Columns `batch` (text, in quotes), `age` (numbers, one missing and one infinite), `id` (text), and the features.
            let more = match row {
                0 => "batch,age,id,".to_string(),
                1 => "\"a, b\",,x,".to_string(),
                2 => "c,inf,y,".to_string(),
                _ => format!("c,{row},y,"),
            };
            lines.push(more + line);
        }
        shop.write("more.csv", lines.join("\n"));
        // The columns of --id and --label are those of the fit.
        let run = shop.run(&["transform", "ewca-out", "more.csv"]);
        assert_eq!(run.code, Some(0), "{}", run.err);
        assert!(
            run.err.starts_with(&format!("ewca: note: Left out {note} that the model does not use: age")),
            "{}",
            run.err
        );
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
        let mut found = run.out.lines();
        assert_eq!(found.next(), Some("id,label,batch,input_id,ewca1,ewca2,ewca3"));
        for (found, expected) in found.zip(expected.lines().skip(1)) {
            assert_eq!(found.split(',').take(2).collect::<Vec<_>>(), expected.split(',').take(2).collect::<Vec<_>>());
            let close = cells(found).iter().zip(cells(expected)).all(|(a, b)| (a - b).abs() < 1e-12);
            assert!(close, "{found} {expected}");
        }
        assert!(run.out.lines().nth(1).unwrap().starts_with("s0,oak,\"a, b\",x,"), "{}", run.out);
        // Scores with further columns lead back to samples, which bring them along.
        let back = shop.run_with(&["reconstruct", "ewca-out", "-"], &run.out);
        assert_eq!(back.code, Some(0), "{}", back.err);
        assert!(back.out.starts_with("id,label,batch,input_id,x"), "{}", back.out);
        // As JSON, and to a file.
        let run = shop.run(&["transform", "ewca-out", "more.csv", "-o", "s.parquet", "--json"]);
        let event: serde_json::Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
        assert_eq!((&event["event"], &event["carried"][0]), (&"read".into(), &"batch".into()));
        assert!(run.err.contains(r#""level":"note""#), "{}", run.err);
        assert_eq!(shop.run(&["transform", "ewca-out", "more.csv", "-q"]).err, "");
    }
    // Samples whose class is not known yet, and samples without names.
    let shop = fitted(&[]);
    shop.write("new.csv", "kind,x5,x4,x3,x2,x1\n,1,2,3,4,5\noak,1,2,3,4,5\n");
    let run = shop.run(&["transform", "ewca-out", "new.csv"]).succeeded();
    assert!(run.out.starts_with("id,kind,ewca1,ewca2,ewca3\n1,,") && run.out.contains("\n2,oak,"), "{}", run.out);
    shop.write("other.csv", "a,b\n1,2\n");
    shop.run(&["transform", "ewca-out", "other.csv"])
        .failed_saying(&["other.csv", "does not have 5 features that the model needs (x1, x2, x3, x4, x5)"]);
}

/// What stands for a missing cell is the mean of the training data: one new row is enough.
#[test]
fn missing_cells_get_the_means_of_the_training_data() {
    for steps in [&[][..], &["--scale", "unit-variance"], &["--log1p", "--top-variable", "4"]] {
        let shop = Workshop::new();
        // All of it positive, for the logarithm; one cell missing.
        let shifted = |cell: &str| cell.parse::<f64>().map_or(cell.to_string(), |x| (x + 3.0).to_string());
        let line = |line: &str| line.split(',').map(shifted).collect::<Vec<String>>().join(",");
        let table: Vec<String> = numbers(60, 5).lines().map(line).collect();
        let mut holes = table.clone();
        holes[7] = holes[7].split_once(',').map(|(_, rest)| format!("NA,{rest}")).unwrap();
        shop.write("holes.csv", holes.join("\n"));
        let run = shop.run(&[&["fit", "holes.csv", "--missing", "mean"], steps].concat()).succeeded();
        assert!(run.out.contains("Missing values: filled 1 value with means"), "{}", run.out);
        let missing = &shop.summary("ewca-out")["missing"];
        assert_eq!((&missing["how"], &missing["filled_cells"]), (&"mean".into(), &1.into()));

        let mean = |column: usize, skip: usize| {
            let cell = |line: &String| line.split(',').nth(column).unwrap().parse::<f64>().unwrap();
            let cells: Vec<f64> =
                table.iter().enumerate().skip(1).filter(|(row, _)| *row != skip).map(|(_, line)| cell(line)).collect();
            cells.iter().sum::<f64>() / cells.len() as f64
        };
        // By hand: the mean of the 59 cells that are there, and that of the other columns.
        shop.write("one.csv", "x1,x2,x3,x4,x5\n,,1,2,3\n");
        shop.write("by_hand.csv", format!("x1,x2,x3,x4,x5\n{},{},1,2,3\n", mean(0, 7), mean(1, 0)));
        let filled = shop.run(&["transform", "ewca-out", "one.csv", "--missing", "mean"]);
        assert!(filled.err.contains("filled 2 values with means of the training data"), "{}", filled.err);
        let by_hand = shop.run(&["transform", "ewca-out", "by_hand.csv"]).succeeded();
        let (filled, by_hand) = (cells(filled.out.lines().nth(1).unwrap()), cells(by_hand.out.lines().nth(1).unwrap()));
        assert!(filled.iter().zip(&by_hand).all(|(a, b)| (a - b).abs() < 1e-9), "{filled:?} {by_hand:?}");
        shop.run(&["transform", "ewca-out", "one.csv", "--missing", "drop-columns"])
            .failed_saying(&["drop-columns", "features that the model needs"]);
    }
    let shop = Workshop::new();
    shop.write("holes.csv", "a,b,c\n1,,3\n2,5,1\n4,4,4\n9,7,5\n0,1,2\n");
    let run = shop.run(&["fit", "holes.csv", "--missing", "drop-rows", "--allow-unconverged", "-o", "rows"]);
    assert!(run.out.contains("Missing values: left out 1 sample"), "{}", run.out);
    assert_eq!(shop.summary("rows")["missing"]["dropped_rows"], 1);
    let run = shop.run(&["fit", "holes.csv", "--missing", "drop-columns", "--allow-unconverged", "-o", "columns"]);
    assert!(run.out.contains("Missing values: left out 1 feature"), "{}", run.out);
    assert_eq!(shop.summary("columns")["missing"]["dropped_features"], 1);
}

/// Models of the first version have no checksum: they open, with a note.
#[test]
fn old_models_open_with_a_note() {
    let shop = Workshop::new();
    let old = concat!(env!("CARGO_MANIFEST_DIR"), "/../ewca-io/tests/golden/model_v1.safetensors");
    let run = shop.run(&["inspect", old]);
    assert_eq!(run.code, Some(0));
    assert!(run.err.starts_with("ewca: note: ") && run.err.contains("without a checksum"), "{}", run.err);
    shop.write("new.csv", "f1,f2,gène 3,\"f,4\"\n1,2,3,4\n");
    assert_eq!(shop.run(&["transform", old, "new.csv"]).code, Some(0));
    shop.write("holes.csv", "f1,f2,gène 3,\"f,4\"\n1,2,,4\n");
    shop.run(&["transform", old, "holes.csv", "--missing", "mean", "-q"])
        .failed_saying(&["means of the training data", "fit the model again"]);
}

#[test]
fn missing_and_extra_features_are_named() {
    let shop = fitted(&[]);
    let table = shop.read("data.csv");
    shop.write("less.csv", shuffled(&table, &[0, 2, 4, 5, 6]));
    let arguments = |file| ["transform", "ewca-out", file, "--id", "name", "-o", "new.csv"];
    shop.run(&arguments("less.csv")).failed_saying(&["less.csv", "does not have 1 feature", "(x2)"]);
    shop.write("more.csv", table.replace("x3", "x33"));
    shop.run(&[&arguments("more.csv")[..], &["--label", "kind"]].concat()).failed_saying(&[
        "does not have 1 feature that the model needs (x3) and has 1 that the model does not use (x33)",
    ]);
    assert!(!exists(&shop.path("new.csv")));
}

#[test]
fn bad_models_are_refused_in_one_line() {
    let shop = fitted(&[]);
    let model = shop.bytes("ewca-out/model.safetensors");
    shop.write("short.safetensors", &model[..model.len() / 2]);
    let at = model.windows(12).position(|window| window == b"ewca.model/3").unwrap();
    let mut future = model.clone();
    future[at + 11] = b'4';
    let mut changed = model.clone();
    changed[model.len() / 2] ^= 1;
    shop.write("changed.safetensors", changed);
    shop.write("future.safetensors", future);
    for (file, parts) in [
        ("short.safetensors", &["short.safetensors", "not a valid model", "too short or too long"][..]),
        ("future.safetensors", &["ewca.model/4", "newer version"]),
        ("changed.safetensors", &["changed.safetensors", "changed or damaged"]),
        ("data.csv", &["data.csv", "not a safetensors file"]),
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
    assert!(run.err.contains("units of the data after preprocessing"), "{}", run.err);
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
        "0 values",
        "ewca fit data.csv --id name --label kind",
    ] {
        assert!(run.out.contains(part), "no '{part}' in:\n{}", run.out);
    }
    // What it suggests works.
    shop.run_printed(&run.out, " -o again").succeeded();

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

/// What `inspect` prints can be pasted, whatever the names are, and repeats what was given.
#[cfg(unix)]
#[test]
fn what_inspect_suggests_can_be_pasted() {
    let shop = Workshop::new();
    let table = clouds(30, 4, ";").replacen("name;kind", "it's a name;$kind of \"tree\"", 1);
    shop.write("my 'odd' data.txt", table.replace('\n', ";here\n").replacen(";here", ";place", 1));
    let given = ["--delimiter", ";", "--where", "place=here", "--missing", "drop-rows", "--ignore", "x2"];
    let run = shop.run(&[&["inspect", "my 'odd' data.txt"], &given[..]].concat()).succeeded();
    for part in ["--delimiter", "--where place=here", "--missing drop-rows", "--ignore x2", "\\"] {
        assert!(run.out.contains(part), "no {part} in {}", run.out);
    }
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    shop.run_printed(&run.out, "").succeeded();
    let summary = shop.summary("ewca-out");
    assert_eq!((&summary["label"], &summary["id"]), (&"$kind of \"tree\"".into(), &"it's a name".into()));
    assert_eq!(summary["n_features"], 3);
    // A model in a folder with a strange name.
    std::fs::rename(shop.path("ewca-out"), shop.path("a model")).unwrap();
    let run = shop.run(&["inspect", "a model"]).succeeded();
    let lines: Vec<&str> = run.out.lines().rev().take(1).collect();
    assert_eq!(lines, ["  ewca neighbours 'a model'"]);
    shop.run_printed(&run.out, " -m 1").succeeded();
    // Without --delimiter it is found, and --transpose is repeated.
    shop.write("turned.csv", "gene,s1,s2,s3,s4\na,1,2,3,9\nb,4,5,6,1\nc,7,9,8,3\n");
    let run = shop.run(&["inspect", "turned.csv", "--transpose", "--id", "gene"]).succeeded();
    assert!(run.out.ends_with("  ewca fit turned.csv --id gene --transpose\n"), "{}", run.out);
}

#[test]
fn data_on_standard_output_need_a_reader_only_as_long_as_it_wants() {
    let shop = fitted(&[]);
    for arguments in [&["neighbours", "ewca-out", "-m", "50"][..], &["completions", "bash"], &["man"]] {
        let run = shop.run_unread(arguments);
        assert_eq!((run.code, run.err.as_str()), (Some(141), ""), "{arguments:?}");
    }
    // A full disk is another matter.
    #[cfg(target_os = "linux")]
    {
        let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let mut command = shop.command(&["neighbours", "ewca-out", "-m", "50"]);
        let run = crate::common::Run::from(command.stdout(full).output().unwrap());
        run.failed_saying(&["standard output", "disk is full"]);
    }
}
