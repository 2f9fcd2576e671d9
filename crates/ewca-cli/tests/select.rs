//! `ewca select`.

mod common;

use common::{Workshop, clouds, numbers};

#[test]
fn labels_choose_k_and_epsilon() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(45, 6, ","));
    let words =
        ["select", "data.csv", "--id", "name", "--label", "kind", "-k", "1..3", "--splits", "20", "--seed", "3"];
    let run = shop.run(&words).succeeded();
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    // Three clouds in a plane: one component mixes them, two do not, and the smaller of equal numbers wins.
    assert!(run.out.contains("ewca fit data.csv -k 2 --epsilon"), "{}", run.out);
    let table = shop.read("ewca-out/select.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("method,k,mean,q1,median,q3,epsilon"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    assert_eq!(rows.len(), 9);
    assert_eq!(rows.iter().map(|row| row[0]).collect::<Vec<_>>(), ["raw", "pca", "ewca"].repeat(3));
    let mean = |row: usize| rows[row][2].parse::<f64>().unwrap();
    assert!(mean(2) > 5.0 && mean(5) < 1.0, "{table}");
    // The same seed, the same table; on any number of threads.
    let again = shop.run(&[&words[..], &["--threads", "1", "-o", "again.csv"]].concat()).succeeded();
    assert_eq!(table, shop.read("again.csv"), "{}", again.out);
}

#[test]
fn without_labels_a_rule_of_thumb_is_named_as_such() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(45, 6));
    let run = shop.run(&["select", "data.csv", "-k", "1..4"]).succeeded();
    assert!(run.out.contains("Suggested: -k 2 --perplexity 5"), "{}", run.out);
    assert!(run.out.contains("rule of thumb"), "{}", run.out);
}

#[test]
fn what_cannot_be_judged() {
    let shop = Workshop::new();
    shop.write("one.csv", "x,y,kind\n1,2,a\n3,4,a\n5,7,a\n");
    shop.run(&["select", "one.csv", "--label", "kind", "-k", "1"])
        .failed_saying(&["all samples have the label 'a'", "2 classes"]);
    shop.write("data.csv", numbers(20, 3));
    shop.run(&["select", "data.csv", "-k", "9"]).failed_saying(&["choose -k from 1 to 3"]);
    let run = shop.run(&["select", "data.csv", "-k", "5..2"]);
    assert!(run.code == Some(2) && run.err.contains("4..12"), "{}", run.err);
}
