//! `ewca reproduce evidence`, on a small folder of the form that the script fills.

use std::fs;

use crate::common::{Workshop, clouds};
use sha2::{Digest, Sha256};

/// Two sets of three clouds, and the list that vouches for them.
fn filled() -> Workshop {
    let shop = Workshop::new();
    fs::create_dir(shop.path("sets")).unwrap();
    let mut list = "name,study,samples,features,sha256\n".to_string();
    for (name, rows) in [("first", 36), ("second", 42)] {
        // Without the column of names, and with the label first.
        let table: String = clouds(rows, 6, ",")
            .lines()
            .enumerate()
            .map(|(at, line)| {
                let (_, rest) = line.split_once(',').unwrap();
                let (kind, values) = rest.split_once(',').unwrap();
                format!("{},{values}\n", if at == 0 { "label" } else { kind })
            })
            .collect();
        let sum: String = Sha256::digest(table.as_bytes()).iter().map(|byte| format!("{byte:02x}")).collect();
        list.push_str(&format!("{name},study of {name},{rows},6,{sum}\n"));
        shop.write(&format!("sets/{name}.csv"), table);
    }
    shop.write("sets/sets.csv", list);
    shop
}

const WORDS: [&str; 11] =
    ["reproduce", "evidence", "--data", "sets", "-k", "2,3", "--splits", "6", "--inner-splits", "3", "-o"];

#[test]
fn tables_and_figures_are_written_the_same_on_any_number_of_threads() {
    let shop = filled();
    let run = shop.run(&[&WORDS[..], &["out"]].concat()).succeeded();
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    assert!(run.out.contains("EWCA compared with PCA on 2 sets"), "{}", run.out);
    let figures = ["evidence-epsilon", "evidence-sets"];
    let mut expected: Vec<String> =
        figures.iter().flat_map(|name| ["csv", "png", "svg"].map(|kind| format!("{name}.{kind}"))).collect();
    expected.extend(["SHA256SUMS", "evidence-summary.csv", "evidence.csv", "evidence.md"].map(String::from));
    expected.sort();
    assert_eq!(shop.list("out"), expected);
    let rows = shop.read("out/evidence.csv");
    for method in ["raw", "pca", "ewca", "barycentric"] {
        assert!(rows.contains(&format!("first,study of first,2,{method},")), "{method}");
    }
    assert!(shop.read("out/evidence.md").contains("| second | 42 | 6 | 3 |"));
    shop.run(&[&WORDS[..], &["again", "--threads", "1"]].concat()).succeeded();
    assert_eq!(rows, shop.read("again/evidence.csv"));
}

#[test]
fn a_folder_that_is_not_there_or_not_whole_names_the_script() {
    let shop = filled();
    let script = "python3 crates/ewca-paper/evidence/fetch.py";
    shop.run(&["reproduce", "evidence", "--data", "nowhere"]).failed_saying(&["sets.csv", "does not exist", script]);
    shop.run(&["reproduce", "evidence"]).failed_saying(&["target/evidence", script]);
    let first = shop.read("sets/first.csv");
    shop.write("sets/first.csv", first.replacen('1', "2", 1));
    shop.run(&[&WORDS[..], &["out"]].concat()).failed_saying(&["first.csv", "SHA-256", script]);
    fs::remove_file(shop.path("sets/first.csv")).unwrap();
    shop.run(&[&WORDS[..], &["out"]].concat()).failed_saying(&["first.csv", "cannot be read", script]);
    shop.write("sets/sets.csv", "something else\n");
    shop.run(&[&WORDS[..], &["out"]].concat()).failed_saying(&["sets.csv", "is not a list of data sets", script]);
}
