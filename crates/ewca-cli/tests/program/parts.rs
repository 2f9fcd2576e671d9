//! Tables that are read part by part: the same results as from the whole table.

use crate::common::{Workshop, clouds, numbers};
use ewca_io::{Frame, TextColumn, write_table};
use serde_json::Value;

/// Three clouds as CSV, .npy and Parquet; the latter with names and classes.
fn tables(shop: &Workshop, rows: usize, features: usize) {
    shop.write("named.csv", clouds(rows, features, ","));
    let text = numbers(rows, features);
    shop.write("plain.csv", &text);
    let values: Vec<f64> =
        text.lines().skip(1).flat_map(|line| line.split(',').map(|cell| cell.parse().unwrap())).collect();
    let columns: Vec<String> = (1..=features).map(|j| format!("x{j}")).collect();
    let texts: Vec<Vec<String>> = (0..2)
        .map(|at| {
            let cell = |line: &str| line.split(',').nth(at).unwrap().to_string();
            clouds(rows, features, ",").lines().skip(1).map(cell).collect()
        })
        .collect();
    let names = [TextColumn { name: "name", cells: &texts[0] }, TextColumn { name: "kind", cells: &texts[1] }];
    write_table(&shop.path("named.parquet"), &Frame { rows, texts: &names, columns: &columns, values: &values })
        .unwrap();
    write_table(&shop.path("plain.npy"), &Frame { rows, texts: &[], columns: &columns, values: &values }).unwrap();
}

#[track_caller]
fn alike(one: &Value, other: &Value) {
    for key in ["loss", "epsilon"] {
        let (x, y) = (one[key].as_f64().unwrap(), other[key].as_f64().unwrap());
        assert!((x / y - 1.0).abs() < 1e-9, "{key}: {x} {y}");
    }
    assert_eq!(one["converged"], true);
    assert_eq!(other["converged"], true);
}

/// A column of a table of results.
fn column(text: &str, name: &str) -> Vec<String> {
    let mut lines = text.lines();
    let at = lines.next().unwrap().split(',').position(|head| head == name).unwrap_or_else(|| panic!("{name}"));
    lines.map(|line| line.split(',').nth(at).unwrap().to_string()).collect()
}

#[test]
fn parts_give_what_the_whole_gives() {
    let shop = Workshop::new();
    tables(&shop, 700, 9);
    let steps =
        ["--scale", "unit-variance", "--top-variable", "7", "-k", "2", "--perplexity", "12", "--tolerance", "1e-9"];
    let named = [&["fit", "named.parquet", "--id", "name", "--label", "kind", "-q"], &steps[..]].concat();
    shop.run(&[&named[..], &["-o", "whole"]].concat()).succeeded();
    shop.run(&[&named[..], &["-o", "parts", "--in-parts"]].concat()).succeeded();
    alike(&shop.summary("whole"), &shop.summary("parts"));
    let (whole, parts) = (shop.read("whole/scores.csv"), shop.read("parts/scores.csv"));
    for name in ["id", "label"] {
        assert_eq!(column(&whole, name), column(&parts, name));
    }
    for (x, y) in column(&whole, "ewca1").iter().zip(column(&parts, "ewca1")) {
        let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
        assert!((x - y).abs() < 1e-6, "{x} {y}");
    }
    // The model is as good as the other: it belongs to the same table.
    let args = |folder| ["report", folder, "named.parquet", "--id", "name", "--label", "kind", "-o", "r.html", "-q"];
    shop.run(&args("parts")).succeeded();
    // And a state that one left serves the other.
    let state = ["--checkpoint", "state", "--checkpoint-every", "0", "--max-iterations", "1", "-o", "short"];
    assert_eq!(shop.run(&[&named[..], &state, &["--in-parts"]].concat()).code, Some(3));
    shop.run(&[&named[..], &["--resume", "state", "-o", "on"]].concat()).succeeded();
    alike(&shop.summary("whole"), &shop.summary("on"));
}

#[test]
fn it_is_said_that_parts_are_read_and_what_cannot_be() {
    let shop = Workshop::new();
    tables(&shop, 60, 5);
    let run = shop.run(&["fit", "plain.npy", "--in-parts"]).succeeded();
    assert!(run.out.starts_with("Read plain.npy: 60 samples x 5 features, in parts\n"), "{}", run.out);
    let run = shop.run(&["fit", "plain.csv", "--in-parts"]);
    run.failed_saying(&["plain.csv", "cannot be read in parts", ".npy, Parquet or .h5ad"]);
    let run = shop.run_with(&["fit", "-", "--in-parts"], "a,b\n1,2\n");
    run.failed_saying(&["standard input cannot be read in parts"]);
}

#[cfg(not(feature = "mpi"))]
#[test]
fn without_mpi_there_is_nothing_to_share() {
    let shop = Workshop::new();
    tables(&shop, 60, 5);
    shop.run(&["fit", "plain.npy", "--distributed"]).failed_saying(&["built without MPI", "--features mpi"]);
}
