//! Tables as people have them, and the options that say how to read them, from the outside.

use crate::common::{Workshop, noise};
use serde_json::json;

fn golden(name: &str) -> String {
    format!("{}/../ewca-io/tests/golden/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// Rows of numbers that go with nothing.
fn rows(count: usize, columns: usize) -> Vec<Vec<String>> {
    let mut noise = noise(11);
    (0..count).map(|_| (0..columns).map(|_| format!("{:.3}", noise())).collect()).collect()
}

/// The scores of a fit with these arguments, as they were written.
fn scores(shop: &Workshop, arguments: &[&str]) -> String {
    let all = [&["fit"], arguments, &["--epsilon", "0.5", "-k", "1", "-q", "-o", "out"]].concat();
    shop.run(&all).succeeded();
    shop.read("out/scores.csv")
}

/// Every word that stands for a missing cell does, and those that are given do too.
#[test]
fn words_for_missing_cells() {
    let shop = Workshop::new();
    let table = |word: &str| {
        let mut rows = rows(12, 3);
        rows[4][1] = word.into();
        "a,b,c\n".to_string() + &rows.iter().map(|row| row.join(",") + "\n").collect::<String>()
    };
    shop.write("empty.csv", table(""));
    let expected = scores(&shop, &["empty.csv", "--missing", "mean"]);
    for word in ["NA", "N/A", "n/a", "#N/A", "<NA>", "NaN", "nan", "None", "null", "NULL", "?", ".", "-"] {
        shop.write("word.csv", table(word));
        assert_eq!(scores(&shop, &["word.csv", "--missing", "mean"]), expected, "{word}");
        shop.run(&["fit", "word.csv"]).failed_saying(&["line 6, column 'b': the value is missing", "--missing"]);
    }
    for (word, number) in [("gone", false), ("-99", true)] {
        shop.write("word.csv", table(word));
        let given = ["word.csv", "--missing", "mean", "--missing-values", "none of them", "--missing-values", word];
        assert_eq!(scores(&shop, &given), expected, "{word}");
        match number {
            true => assert_ne!(scores(&shop, &["word.csv", "--missing", "mean"]), expected, "{word}"),
            false => shop.run(&["fit", "word.csv"]).failed_saying(&["line 6, column 'b': 'gone' is not a number"]),
        }
    }
}

/// Lines that begin with any of the usual marks, in front of the table.
#[test]
fn comments_are_skipped_whatever_they_begin_with() {
    let shop = Workshop::new();
    let body = "a,b,c\n".to_string() + &rows(12, 3).iter().map(|row| row.join(",") + "\n").collect::<String>();
    shop.write("plain.csv", &body);
    let expected = scores(&shop, &["plain.csv"]);
    for mark in ["#", "!", "%", "%%"] {
        shop.write("marked.csv", format!("{mark} by hand\n{mark}more, with \"quotes\n\n{body}"));
        assert_eq!(scores(&shop, &["marked.csv"]), expected, "{mark}");
        let run = shop.run(&["inspect", "marked.csv"]).succeeded();
        assert!(run.out.contains("2 lines before the table skipped"), "{}", run.out);
    }
}

/// What is found by itself can be said, and the other way around.
#[test]
fn encodings_and_decimal_marks_are_found_or_given() {
    let shop = Workshop::new();
    let with = |name: &str, more: &[&str]| {
        let file = golden(name);
        let all = [&["fit", &file, "--label", "class", "--scale", "unit-variance", "--epsilon", "0.5", "-q"], more];
        shop.run(&all.concat()).succeeded();
        shop.read("ewca-out/scores.csv")
    };
    let expected = with("table.csv", &[]);
    assert_eq!(with("utf16.csv", &[]), expected);
    assert_eq!(with("utf16.csv", &["--encoding", "utf-16le"]), expected);
    assert_eq!(with("latin1.csv", &["--encoding", "latin1"]), expected);
    assert_eq!(with("decimal.csv", &[]), expected);
    assert_eq!(with("decimal.csv", &["--decimal", ",", "--delimiter", ";"]), expected);
    let label = ["--label", "class"];
    let file = golden("latin1.csv");
    shop.run(&[&["fit", &file], &label[..]].concat()).failed_saying(&["the text is not UTF-8; pass --encoding latin1"]);
    let file = golden("decimal.csv");
    shop.run(&[&["fit", &file, "--decimal", "."], &label[..]].concat())
        .failed_saying(&["'1,0' contains a comma", "--decimal ,"]);
}

/// A label is never a text that differs in every row, and numbers that are names or classes are pointed out before they become features.
#[test]
fn inspect_points_out_what_is_no_feature() {
    let shop = Workshop::new();
    let row = |(at, numbers): (usize, &Vec<String>)| {
        let known = format!("s{at},of {at},{},{},{}", at % 3, at + 100, 1000 + 7 * at);
        format!("{known},{}\n", numbers.join(","))
    };
    let body: String = rows(30, 3).iter().enumerate().map(row).collect();
    shop.write("odd.csv", format!("sample,patient,cluster,#,id,a,b,c\n{body}"));
    let run = shop.run(&["inspect", "odd.csv"]).succeeded();
    let words: Vec<&str> = run.out.split_whitespace().filter(|word| *word != "\\").collect();
    let words = words.join(" ");
    for part in [
        "Column 'cluster' has only 3 different whole numbers. If these are classes rather than a feature",
        "Column '#' has a different whole number in every row. If these are sample names rather than a feature, use --id",
        "Column 'id' has a different whole number in every row",
        "ewca fit odd.csv --id sample --label cluster --ignore patient --ignore '#' --ignore id",
    ] {
        assert!(words.contains(part), "no '{part}' in {words}");
    }
    shop.run_printed(&run.out, " -q").succeeded();
    let summary = shop.summary("ewca-out");
    assert_eq!(
        (&summary["n_samples"], &summary["n_features"], &summary["label"]),
        (&json!(30), &json!(3), &json!("cluster"))
    );
}

/// A folder of Cell Ranger with genes and antibodies: genes, unless the others are wanted.
#[test]
fn features_of_one_type_of_a_folder() {
    let shop = Workshop::new();
    std::fs::create_dir(shop.path("cells")).unwrap();
    let cells = 12;
    let mut entries = Vec::new();
    for cell in 1..=cells {
        for feature in 1..=5 {
            entries.push(format!("{feature} {cell} {}", (feature * cell * 7) % 11 + 1));
        }
    }
    let count = entries.len();
    let matrix =
        format!("%%MatrixMarket matrix coordinate integer general\n5 {cells} {count}\n{}\n", entries.join("\n"));
    shop.write("cells/matrix.mtx", matrix);
    let kinds = ["Gene Expression", "Gene Expression", "Gene Expression", "Antibody Capture", "Antibody Capture"];
    let features: String = kinds.iter().enumerate().map(|(at, kind)| format!("id{at}\tf{at}\t{kind}\n")).collect();
    shop.write("cells/features.tsv", features);
    shop.write("cells/barcodes.tsv", (1..=cells).map(|cell| format!("cell{cell}\n")).collect::<String>());
    let features = |more: &[&str]| {
        shop.run(&[&["fit", "cells", "-k", "1", "-q"], more].concat()).succeeded();
        let table = shop.read("ewca-out/loadings.csv");
        table.lines().skip(1).map(|line| line.split(',').next().unwrap().to_string()).collect::<Vec<_>>()
    };
    assert_eq!(features(&[]), ["f0", "f1", "f2"]);
    assert_eq!(features(&["--feature-type", "Antibody Capture"]), ["f3", "f4"]);
    shop.run(&["fit", "cells", "--feature-type", "Peaks"]).failed_saying(&[
        "has no features of type 'Peaks' for --feature-type",
        "it has Gene Expression, Antibody Capture",
    ]);
}

/// Weights are the histogram that samples are transported by: a sample that weighs three is three samples.
#[test]
fn a_path_takes_weights() {
    let shop = Workshop::new();
    let rows = rows(14, 3);
    let times = |at: usize| 1 + at % 3;
    let weighted = rows.iter().enumerate().map(|(at, row)| format!("{},{}\n", row.join(","), times(at)));
    shop.write("weighted.csv", "a,b,c,w\n".to_string() + &weighted.collect::<String>());
    let repeated = rows.iter().enumerate().map(|(at, row)| (row.join(",") + "\n").repeat(times(at)));
    shop.write("repeated.csv", "a,b,c\n".to_string() + &repeated.collect::<String>());
    let path = |more: &[&str]| -> Vec<f64> {
        shop.run(&[&["path"], more, &["-k", "1", "--epsilons", "0.2,0.8", "-o", "p.csv", "-q"]].concat()).succeeded();
        let table = shop.read("p.csv");
        let at = table.lines().next().unwrap().split(',').position(|name| name == "loss").unwrap();
        table.lines().skip(1).map(|line| line.split(',').nth(at).unwrap().parse().unwrap()).collect()
    };
    let losses = path(&["repeated.csv"]);
    for option in ["--weight", "--weights"] {
        for (found, expected) in path(&["weighted.csv", option, "w"]).iter().zip(&losses) {
            assert!((found / expected - 1.0).abs() < 1e-6, "{found} {expected}");
        }
    }
    let without = path(&["weighted.csv", "--ignore", "w"]);
    assert!(
        without.iter().zip(&losses).all(|(other, loss)| (other / loss - 1.0).abs() > 1e-3),
        "{without:?} {losses:?}"
    );
}
