//! `ewca select`.

use crate::common::{Workshop, clouds, numbers};

#[test]
fn labels_choose_k_and_epsilon() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(45, 6, ","));
    let words =
        ["select", "data.csv", "--id", "name", "--label", "kind", "-k", "1..3", "--splits", "20", "--seed", "3"];
    let run = shop.run(&words).succeeded();
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    // Three clouds in a plane: the first principal component tells them apart, EWCA's does not. PCA needs no more than EWCA's two, so PCA
    // it is, and the smaller of equal numbers wins.
    assert!(run.out.contains("PCA is as good as EWCA here, and simpler: 0.0% wrong with k = 1"), "{}", run.out);
    assert!(run.out.contains("ewca fit data.csv --id name --label kind -k 1 --epsilon"), "{}", run.out);
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
    let said = run.out.replace('\n', " ");
    assert!(
        said.contains("rule of thumb") && said.contains("than chance (20 tables with shuffled features), so k = 2."),
        "{said}"
    );
    shop.run_printed(&run.out, "").succeeded();
}

/// Two classes that differ along the axis of largest variance, and noise beside it: from some epsilon on everything collapses,
/// and nearest neighbours may not mind.
#[cfg(unix)]
fn two_classes(rows: usize) -> String {
    let mut noise = crate::common::noise(11);
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
        // Two classes far apart: all methods tell them, so the simplest will do.
        let said = run.out.replace('\n', " ");
        let verdict = match epsilons {
            "200,300" => "EWCA collapses at all of these epsilons (smoothing is too strong), so use PCA: ",
            _ => "PCA is as good as EWCA here, and simpler: ",
        };
        assert!(said.contains(verdict), "{said}");
        assert_eq!(said.contains("such as --epsilons 0.2000:200.0:20"), epsilons == "200,300", "{said}");
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

/// On khan2001 with seven components EWCA has about three points fewer errors than PCA (tests/khan2001.rs of ewca-eval): the program says
/// so, from its own table, and names the fit that the table is of.
#[test]
fn ewca_is_recommended_where_it_is_better() {
    let shop = Workshop::new();
    let data = concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/khan2001.csv.gz");
    let words = ["select", data, "--where", "split=train", "--label", "class", "--id", "sample", "-k", "7"];
    let words = [&words[..], &["--epsilons", "5:400:16", "--splits", "100"]].concat();
    let run = shop.run(&words).succeeded();
    let means: Vec<f64> = shop
        .read("ewca-out/select.csv")
        .lines()
        .skip(1)
        .map(|line| line.split(',').nth(2).unwrap().parse().unwrap())
        .collect();
    let [_, pca, ewca] = means[..] else { panic!("{means:?}") };
    assert!(pca - ewca > 1.0, "{pca} {ewca}");
    let said = run.out.replace('\n', " ");
    let verdict = format!(
        "EWCA is better than PCA here, by {:.1} points: {ewca:.1}% wrong with k = 7, compared with {pca:.1}% for PCA with k = 7; better in ",
        pca - ewca
    );
    assert!(said.contains(&verdict), "{said}");
    let json = shop.run(&[&words[..], &["--json", "-o", "again.csv"]].concat()).succeeded();
    let event: serde_json::Value = serde_json::from_str(json.out.lines().last().unwrap()).unwrap();
    let recommended = &event["recommended"];
    assert_eq!((&recommended["method"], &recommended["k"]), (&"ewca".into(), &7.into()));
    // What is recommended is what one gets: the perplexity, and no collapse; of the largest epsilons it is said that they do.
    assert!(said.contains("The fit collapses from epsilon "), "{said}");
    shop.run_printed(&run.out, " -q -o fitted").succeeded();
    let summary = shop.summary("fitted");
    let (found, promised) = (summary["perplexity"]["overall"].as_f64(), recommended["perplexity"].as_f64());
    assert!((found.unwrap() / promised.unwrap() - 1.0).abs() < 0.01, "{found:?} {promised:?}");
    assert_eq!(summary["certificate"]["collapsed"], false);
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
