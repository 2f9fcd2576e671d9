//! `--metadata` and `--label` several times, from the outside.

use crate::common::{Workshop, clouds};
use serde_json::{Value, json};

/// What is known of the samples of `clouds`, in another order than theirs: `batch` has three values, `age` is a number, and both have holes.
fn sheet(rows: usize) -> String {
    let row = |at: usize| {
        let batch = if at == 4 { "NA".to_string() } else { format!("b{}", at % 2) };
        let age = if at == 5 { String::new() } else { format!("{}.5", 20 + at) };
        format!("{batch},s{at},{age},\"{}\"\n", if at.is_multiple_of(3) { "x 'y'" } else { "z" })
    };
    "batch,sample,age,note\n".to_string() + &(0..rows).rev().map(row).collect::<String>()
}

fn shop() -> Workshop {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(30, 6, ","));
    shop.write("sheet.csv", sheet(30));
    shop
}

const FIT: [&str; 6] = ["fit", "data.csv", "--id", "name", "--label", "kind"];

fn with<'a>(first: &[&'a str], more: &[&'a str]) -> Vec<&'a str> {
    [first, more].concat()
}

/// The cells of a scores file, row by row, without the scores.
fn texts(scores: &str) -> Vec<Vec<String>> {
    let rows: Vec<Vec<&str>> = scores.lines().map(|line| line.split(',').collect()).collect();
    let width = rows[0].iter().position(|name| *name == "ewca1").unwrap();
    rows.iter().map(|row| row.iter().take(width).map(|cell| cell.to_string()).collect()).collect()
}

#[test]
fn all_columns_travel_to_scores_summary_and_model() {
    let shop = shop();
    let run = shop.run(&with(&FIT, &["--metadata", "sheet.csv"])).succeeded();
    assert!(run.out.contains("Matched 3 columns of sheet.csv to 30 samples by 'sample'\n"), "{}", run.out);
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    let rows = texts(&shop.read("ewca-out/scores.csv"));
    assert_eq!(rows[0], ["id", "label", "batch", "age", "note"]);
    assert_eq!(rows[1], ["s0", "oak", "b0", "20.5", "x 'y'"]);
    assert_eq!(rows[5], ["s4", "elm", "", "24.5", "z"]);
    assert_eq!(rows[6], ["s5", "ash", "b1", "", "z"]);
    let summary = shop.summary("ewca-out");
    assert_eq!(summary["label"], "kind");
    assert_eq!(
        summary["annotations"],
        json!([
            { "name": "kind", "kind": "classes", "classes": 3, "missing": 0 },
            { "name": "batch", "kind": "classes", "classes": 2, "missing": 1 },
            { "name": "age", "kind": "numbers", "missing": 1 },
            { "name": "note", "kind": "classes", "classes": 2, "missing": 0 },
        ])
    );
    assert_eq!(
        summary["metadata"],
        json!({ "file": "sheet.csv", "id": "sample", "columns": 3, "samples": 30, "samples_without_row": 0, "rows_without_sample": 0 })
    );
    let model = shop.run(&["inspect", "ewca-out"]).succeeded();
    let known = "annotations       batch (2 classes, 1 missing), age (numbers, 1 missing), note (2 classes)";
    assert!(model.out.contains(known), "{}", model.out);
    // A second run may replace what the first one wrote, and the model is applied as before.
    shop.run(&with(&FIT, &["--metadata", "sheet.csv", "--scores", "s.csv"])).succeeded();
    shop.run(&with(&FIT, &["--metadata", "sheet.csv", "--scores", "s.csv"])).succeeded();
    let transformed = shop.run(&["transform", "ewca-out", "data.csv"]).succeeded();
    assert!(transformed.out.starts_with("id,label,ewca1,ewca2\n"), "{}", transformed.out);
}

#[test]
fn labels_are_of_the_table_or_of_the_metadata_and_the_first_counts() {
    let shop = shop();
    let first = ["fit", "data.csv", "--id", "name", "--metadata", "sheet.csv"];
    shop.run(&with(&first, &["--label", "note", "--label", "kind", "--label", "age"])).succeeded();
    assert_eq!(texts(&shop.read("ewca-out/scores.csv"))[0], ["id", "label", "kind", "age", "batch"]);
    assert_eq!(texts(&shop.read("ewca-out/scores.csv"))[1][1], "x 'y'");
    assert_eq!(shop.summary("ewca-out")["label"], "note");
    // A label with holes, or of numbers, is no class of every sample; it still comes first.
    shop.run(&with(&first, &["--label", "age", "--label", "kind"])).succeeded();
    assert_eq!(texts(&shop.read("ewca-out/scores.csv"))[0], ["id", "age", "kind", "batch", "note"]);
    assert_eq!(shop.summary("ewca-out")["label"], "age");
    // Several of the table alone; the column of a feature is none then.
    shop.run(&with(&FIT, &["--label", "x2", "--label", "kind"])).succeeded();
    assert_eq!(texts(&shop.read("ewca-out/scores.csv"))[0], ["id", "label", "x2"]);
    assert_eq!(shop.summary("ewca-out")["n_features"], 5);
    shop.run(&with(&first, &["--label", "kine"])).failed_saying(&["data.csv: has no column 'kine' for --label"]);
}

#[test]
fn columns_with_names_of_results_are_renamed() {
    let shop = shop();
    shop.write(
        "odd.csv",
        "name,id,label,ewca1\n".to_string() + &(0..30).map(|at| format!("s{at},i,l,e\n")).collect::<String>(),
    );
    shop.run(&with(&FIT, &["--metadata", "odd.csv"])).succeeded();
    assert_eq!(texts(&shop.read("ewca-out/scores.csv"))[0], ["id", "label", "input_id", "input_label", "input_ewca1"]);
}

#[test]
fn mismatches_are_said_and_counted() {
    let shop = shop();
    shop.write("part.csv", sheet(40).replace("s3,", "q3,"));
    let run = shop.run(&with(&FIT, &["--metadata", "part.csv"])).succeeded();
    assert!(run.out.contains("1 sample not in part.csv: s3\n"), "{}", run.out);
    assert!(
        run.out.contains(
            "11 rows of part.csv not used, since the table has no such sample: s39, s38, s37\n  and 8 more\n"
        ),
        "{}",
        run.out
    );
    let metadata = &shop.summary("ewca-out")["metadata"];
    assert_eq!((&metadata["samples_without_row"], &metadata["rows_without_sample"]), (&json!(1), &json!(11)));
    shop.write("none.csv", sheet(30).replace(",s", ",t"));
    shop.run(&with(&FIT, &["--metadata", "none.csv"])).failed_saying(&[
        "none.csv: matches no sample",
        "column 'batch' has b1, b0, b1 and 27 more",
        "called s0",
    ]);
    shop.run(&with(&FIT, &["--metadata", "sheet.csv", "-o", "x", "--scores", "sheet.csv"]))
        .failed_saying(&["--scores would replace the input sheet.csv"]);
    shop.run(&["fit", "data.csv", "--id", "kind", "--ignore", "name", "--metadata", "sheet.csv"])
        .failed_saying(&["samples 1 and 4 of the table are both called 'oak'", "--id"]);
    // Samples without names are numbered.
    shop.run(&["fit", "data.csv", "--ignore", "name", "--ignore", "kind", "--metadata", "sheet.csv"])
        .failed_saying(&["the samples are called 1, 2, 3 and 27 more", "--id"]);
    let standard = shop.run(&with(&FIT, &["--metadata", "-"]));
    assert_eq!(standard.code, Some(2), "{standard:?}");
}

#[test]
fn inspect_says_what_would_be_joined_and_its_command_works() {
    let shop = shop();
    let run = shop.run(&["inspect", "data.csv", "--metadata", "sheet.csv", "--label", "batch"]).succeeded();
    for part in [
        "Matched 3 columns of sheet.csv to 30 samples by 'sample'\n",
        "  batch (2 classes, 1 missing)\n",
        "  kind (3 classes)\n",
        "  age (numbers, 1 missing)\n",
        "--metadata sheet.csv",
    ] {
        assert!(run.out.contains(part), "no '{part}' in {}", run.out);
    }
    shop.run_printed(&run.out, "").succeeded();
    assert_eq!(shop.summary("ewca-out")["metadata"]["samples"], 30);
    assert_eq!(texts(&shop.read("ewca-out/scores.csv"))[0], ["id", "batch", "kind", "age", "note"]);
    let json = shop.run(&["inspect", "data.csv", "--metadata", "sheet.csv", "--json"]).succeeded();
    let record: Value = serde_json::from_str(json.out.lines().next().unwrap()).unwrap();
    assert_eq!(record["metadata"]["joined"]["samples"], 30);
    shop.write("none.csv", "a,b\n1,2\n");
    let none = shop.run(&["inspect", "data.csv", "--metadata", "none.csv"]).succeeded();
    assert!(none.out.contains("The metadata do not match: none.csv: matches no sample"), "{}", none.out);
}

#[test]
fn select_path_and_report_take_metadata() {
    let shop = shop();
    let table = ["data.csv", "--id", "name", "--ignore", "kind", "--metadata", "sheet.csv"];
    let select = with(&["select"], &table);
    let judged = with(&select, &["-k", "2", "--splits", "3", "--inner-splits", "2"]);
    let run = shop.run(&with(&judged, &["--label", "note"])).succeeded();
    assert!(run.out.contains("--label note") && run.out.contains("--metadata sheet.csv"), "{}", run.out);
    shop.run(&with(&judged, &["--label", "batch"]))
        .failed_saying(&["'batch' is missing for 1 sample", "choose another column"]);
    shop.run(&with(&judged, &["--label", "age"])).failed_saying(&["'age' holds numbers, not classes"]);
    let path = shop.run(&with(&with(&["path"], &table), &["--epsilons", "1,2"])).succeeded();
    assert!(path.out.contains("Matched 3 columns of sheet.csv"), "{}", path.out);
    shop.run(&with(&["fit"], &table)).succeeded();
    let report = ["report", "ewca-out", "data.csv", "--id", "name", "--ignore", "kind"];
    shop.run(&report).succeeded();
    shop.run(&with(&report, &["--metadata", "sheet.csv", "--label", "batch"])).succeeded();
}

/// In `clouds` the kind decides on the components; `batch` and `age` go with the order of the rows, which they do not know.
#[test]
fn what_goes_with_a_component_is_said_and_written() {
    let shop = shop();
    let run = shop.run(&with(&FIT, &["--metadata", "sheet.csv"])).succeeded();
    assert!(run.out.contains("ewca1 is associated with kind: eta squared 0."), "{}", run.out);
    assert!(run.out.contains("corrected p = 0.001\n"), "{}", run.out);
    assert!(
        run.out.contains("  covariates.csv     which annotations are associated with which component\n"),
        "{}",
        run.out
    );
    assert!(!run.out.contains("associated with batch") && !run.out.contains("associated with age"), "{}", run.out);
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    let table = shop.read("ewca-out/covariates.csv");
    assert_eq!(table.lines().next(), Some("component,column,measure,samples,effect,p,p_corrected"));
    // Two components by four columns.
    assert_eq!(table.lines().count(), 9);
    let covariates = &shop.summary("ewca-out")["covariates"];
    assert_eq!((&covariates["permutations"], &covariates["permuted_samples"]), (&json!(999), &json!(30)));
    let tests = covariates["tests"].as_array().unwrap();
    let lines: Vec<String> = tests
        .iter()
        .map(|test| {
            let text = |key: &str| test[key].as_str().unwrap().to_string();
            let number = |key: &str| format!("{:?}", test[key].as_f64().unwrap());
            let samples = test["samples"].as_u64().unwrap().to_string();
            let texts = [text("component"), text("column"), text("measure"), samples];
            [&texts[..], &["effect", "p", "p_corrected"].map(number)].concat().join(",")
        })
        .collect();
    assert_eq!(lines, table.lines().skip(1).collect::<Vec<_>>());
    let first = &tests[0];
    // Eta squared from the scores that were written.
    let rows: Vec<Vec<String>> = shop
        .read("ewca-out/scores.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(String::from).collect())
        .collect();
    let (kinds, scores): (Vec<&str>, Vec<f64>) =
        rows.iter().map(|row| (&row[1][..], row[5].parse::<f64>().unwrap())).unzip();
    let mean = |values: &[f64]| values.iter().sum::<f64>() / values.len() as f64;
    let all = mean(&scores);
    let between: f64 = ["oak", "elm", "ash"]
        .iter()
        .map(|kind| {
            let own: Vec<f64> =
                kinds.iter().zip(&scores).filter(|(own, _)| *own == kind).map(|(_, score)| *score).collect();
            own.len() as f64 * (mean(&own) - all).powi(2)
        })
        .sum();
    let eta = between / scores.iter().map(|score| (score - all).powi(2)).sum::<f64>();
    assert_eq!((&first["column"], &first["measure"]), (&json!("kind"), &json!("eta squared")));
    assert!((first["effect"].as_f64().unwrap() - eta).abs() < 1e-9, "{first} {eta}");
    assert!(first["p_corrected"].as_f64().unwrap() <= 0.05);
    // What cannot be compared is said.
    let names: String = (0..30).map(|at| format!("s{at},t{at},one\n")).collect();
    shop.write("odd.csv", format!("name,each,same\n{names}"));
    let run = shop.run(&with(&FIT, &["--metadata", "odd.csv"])).succeeded();
    assert!(run.out.contains("Not tested, because the value differs for every sample: each\n"), "{}", run.out);
    assert!(run.out.contains("Not tested, because the value is the same for all samples: same\n"), "{}", run.out);
    let skipped = &shop.summary("ewca-out")["covariates"]["skipped"];
    assert_eq!(
        skipped,
        &json!([{ "column": "each", "why": "all_different" }, { "column": "same", "why": "one_value" }])
    );
}

#[test]
fn the_report_has_all_columns() {
    let shop = shop();
    shop.run(&with(&FIT, &["--metadata", "sheet.csv", "--report", "report.html"])).succeeded();
    let page = shop.read("report.html");
    for part in ["\"batch\"", "\"age\"", "\"note\"", "\"eta squared\"", "\"rank correlation\""] {
        assert!(page.contains(part), "{part}");
    }
    // The model knows them: the report of a model needs no sheet.
    shop.run(&["report", "ewca-out", "data.csv", "--id", "name", "--label", "kind", "-o", "again.html"]).succeeded();
    assert!(shop.read("again.html").contains("\"batch\""));
}

/// Runs with and without something to compare follow each other in one folder, and a file of the user's stays.
#[test]
fn a_run_without_columns_leaves_no_table_of_another() {
    let shop = shop();
    let plain = ["fit", "data.csv", "--id", "name", "--ignore", "kind"];
    shop.run(&FIT).succeeded();
    assert!(crate::common::exists(&shop.path("ewca-out/covariates.csv")));
    shop.run(&plain).succeeded();
    assert!(!crate::common::exists(&shop.path("ewca-out/covariates.csv")));
    shop.run(&FIT).succeeded();
    shop.write("ewca-out/covariates.csv", "mine\n");
    shop.run(&plain).succeeded();
    assert_eq!(shop.read("ewca-out/covariates.csv"), "mine\n");
    shop.run(&FIT).failed_saying(&["covariates.csv", "--overwrite"]);
    assert_eq!(shop.read("ewca-out/covariates.csv"), "mine\n");
}
