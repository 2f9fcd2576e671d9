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
    assert!(run.out.contains("ewca fit data.csv --id name --label kind -k 2 --epsilon"), "{}", run.out);
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

/// The weights of the samples count in the subspaces, and in the command that goes on.
#[test]
fn weights_are_taken_and_repeated() {
    let shop = Workshop::new();
    let table = clouds(45, 6, ",");
    let with = |weight: fn(usize) -> usize| {
        let lines = table.lines().enumerate();
        lines
            .map(|(at, line)| format!("{line},{}\n", if at == 0 { "w".into() } else { weight(at).to_string() }))
            .collect::<String>()
    };
    shop.write("equal.csv", with(|_| 3));
    shop.write("other.csv", with(|at| 1 + 40 * usize::from(at < 9)));
    shop.write("plain.csv", &table);
    let run = |file: &str, more: &[&str]| {
        let words =
            ["select", file, "--id", "name", "--label", "kind", "-k", "1..2", "--splits", "10", "--epsilons", "1,5"];
        shop.run(&[&words[..], more].concat()).succeeded().out
    };
    let tables = [("plain.csv", &[][..]), ("equal.csv", &["--weight", "w"][..]), ("other.csv", &["--weights", "w"])];
    let [plain, equal, other] = tables.map(|(file, more)| {
        let said = run(file, more);
        assert_eq!(said.contains("--weights w"), !more.is_empty(), "{said}");
        shop.run_printed(&said, " -q").succeeded();
        shop.read("ewca-out/select.csv")
    });
    assert_eq!(plain, equal);
    assert_ne!(plain, other);
}

#[test]
fn without_labels_a_rule_of_thumb_is_named_as_such() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(45, 6));
    let run = shop.run(&["select", "data.csv", "-k", "1..4"]).succeeded();
    assert!(run.out.contains("Suggested: -k 2 --perplexity 5"), "{}", run.out);
    assert!(run.out.replace('\n', " ").contains("rule of thumb"), "{}", run.out);
    shop.run_printed(&run.out, "").succeeded();
}

/// Two classes that differ along the axis of largest variance, and noise beside it: from some epsilon on everything collapses,
/// and nearest neighbours may not mind.
fn two_classes(rows: usize) -> String {
    let mut noise = common::noise(11);
    let mut text = String::from("my id,a,b,c,d,it's a kind\n");
    for row in 0..rows {
        let class = row % 2;
        let a = if class == 0 { -6.0 } else { 6.0 };
        text.push_str(&format!("s{row},{},{},{},{},{}\n", a + noise(), noise(), 0.9 * noise(), 0.8 * noise(), class));
    }
    text
}

/// What collapses is not recommended, and the command that is printed works when it is pasted, with all that was given.
#[cfg(unix)]
#[test]
fn what_is_recommended_stands_and_can_be_pasted() {
    let shop = Workshop::new();
    shop.write("some data.csv", two_classes(40));
    let words = [
        &[
            "select",
            "some data.csv",
            "--id",
            "my id",
            "--label",
            "it's a kind",
            "--scale",
            "unit-variance",
            "-k",
            "2..3",
        ][..],
        &["--ignore", "d", "--splits", "10", "--inner-splits", "5", "--threads", "1", "--max-memory", "1GiB"],
    ]
    .concat();
    for epsilons in ["0.01:0.3:5", "0.01:300:9", "200,300"] {
        let run = shop.run(&[&words[..], &["--epsilons", epsilons]].concat()).succeeded();
        assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
        let better = ["equally good here", "is better here, by", "collapses at all of these"];
        assert!(better.iter().any(|words| run.out.contains(words)), "{}", run.out);
        if epsilons == "200,300" {
            assert!(run.out.contains("EWCA collapses at all of these epsilons, so PCA is left"), "{}", run.out);
        }
        // Exit code 0: converged, and not collapsed.
        shop.run_printed(&run.out, " -o fitted").succeeded();
        let summary = shop.summary("fitted");
        assert_eq!((&summary["label"], &summary["id"]), (&"it's a kind".into(), &"my id".into()));
        assert_eq!((&summary["n_features"], &summary["preprocessing"]["unit_variance"]), (&3.into(), &true.into()));
        assert_eq!(summary["certificate"]["collapsed"], false);
        let run = shop.run(&[&words[..], &["--epsilons", epsilons, "--json"]].concat()).succeeded();
        let event: serde_json::Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
        assert_eq!(event["recommended"]["k"], summary["n_components"]);
        assert!(event["command"].as_str().unwrap().starts_with("ewca fit 'some data.csv' --id 'my id'"), "{event}");
    }
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
