//! `ewca reproduce`.

use crate::common::{Workshop, noise};

/// A table in the form of the CuMiDa collection: columns `samples` and `type`, then genes.
fn cumida(rows: usize, genes: usize) -> String {
    let mut noise = noise(5);
    let names: Vec<String> = (0..genes).map(|g| format!("{}_at", 1007 + g)).collect();
    let mut text = format!("samples,type,{}\n", names.join(","));
    for row in 0..rows {
        let kind = row % 3;
        let cells: Vec<String> =
            (0..genes).map(|g| (8.0 + if g % 3 == kind { 1.5 } else { 0.0 } + noise()).to_string()).collect();
        text.push_str(&format!("{},{},{}\n", 84 + row, ["basal", "HER", "luminal_A"][kind], cells.join(",")));
    }
    text
}

const SMALL: [&str; 8] = ["--epsilons", "0.1:5:4", "--splits", "10", "--inner-splits", "5", "-k", "2..4"];

#[test]
fn accuracy_of_a_cumida_table() {
    let shop = Workshop::new();
    shop.write("Mini_GSE1.csv", cumida(42, 12));
    let words = [&["reproduce", "accuracy", "--data", "Mini_GSE1.csv", "-o", "out"][..], &SMALL].concat();
    let run = shop.run(&words).succeeded();
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    assert!(run.out.contains("42 samples x 12 features") && run.out.contains("strict: PCA"), "{}", run.out);
    let names = ["accuracy", "accuracy-boxes", "accuracy-epsilon", "accuracy-strict"];
    let mut files: Vec<String> =
        names.iter().flat_map(|name| ["csv", "png", "svg"].map(|kind| format!("{name}.{kind}"))).collect();
    files.push("SHA256SUMS".into());
    files.sort();
    assert_eq!(shop.list("out"), files);

    let table = shop.read("out/accuracy.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("k,method,mean,q1,q3,median,splits"));
    let rows: Vec<Vec<&str>> = lines.map(|line| line.split(',').collect()).collect();
    let keys: Vec<(&str, &str)> = rows.iter().map(|row| (row[0], row[1])).collect();
    let all = ["2", "3", "4"].map(|k| ["raw", "pca", "ewca"].map(|method| (k, method)));
    assert_eq!(keys, all.concat());
    for row in &rows {
        let [mean, q1, q3] = [2, 3, 4].map(|at| row[at].parse::<f64>().unwrap());
        assert!((0.0..=100.0).contains(&mean) && q1 <= q3, "{row:?}");
    }
}

#[test]
fn the_same_seed_gives_the_same_bytes_on_any_number_of_threads() {
    let shop = Workshop::new();
    shop.write("mini.csv", cumida(42, 12));
    for (what, names) in [
        ("accuracy", &["accuracy", "accuracy-boxes", "accuracy-epsilon", "accuracy-strict"][..]),
        ("embedding", &["embedding"]),
        ("illustration", &["illustration"]),
    ] {
        for (folder, threads) in [("one", "1"), ("two", "2")] {
            let words = ["reproduce", what, "--data", "mini.csv", "-o", folder, "--threads", threads];
            shop.run(&[&words[..], &SMALL].concat()).succeeded();
        }
        for name in names.iter().flat_map(|name| ["svg", "png", "csv"].map(|kind| format!("{name}.{kind}"))) {
            assert!(shop.bytes(&format!("one/{name}")) == shop.bytes(&format!("two/{name}")), "{name}");
        }
    }
}

#[test]
fn everything_on_one_page() {
    let shop = Workshop::new();
    shop.write("mini.csv", cumida(42, 12));
    let words = ["reproduce", "all", "--data", "mini.csv", "-o", "out", "--repeats", "2", "--json"];
    let run = shop.run(&[&words[..], &SMALL].concat()).succeeded();
    let report: serde_json::Value = serde_json::from_str(run.out.lines().last().unwrap()).unwrap();
    assert_eq!(report["event"], "reproduce");
    let page = shop.read("out/index.html");
    let listed = shop.list("out");
    for name in [
        "illustration",
        "accuracy",
        "accuracy-strict",
        "accuracy-boxes",
        "accuracy-epsilon",
        "plan",
        "embedding",
        "timing",
        "sensitivity",
        "complexity",
        "example-20d",
        "example-2d",
        "example-3d",
    ] {
        assert!(page.contains(&format!("src=\"{name}.svg\"")), "{name} is not on the page");
        for kind in ["svg", "png", "csv"] {
            let file = format!("{name}.{kind}");
            assert!(listed.contains(&file) && !shop.bytes(&format!("out/{file}")).is_empty(), "{file}");
        }
    }
    assert!(page.contains("for d up to about 2000"), "the published numbers are beside ours");
    // All that was written is told.
    assert_eq!(report["files"].as_array().unwrap().len(), listed.len());
}

#[test]
fn the_map_of_when_to_use_it() {
    let shop = Workshop::new();
    let words = ["reproduce", "when", "--repeats", "1", "--seed", "3", "-o"];
    let run = shop.run(&[&words[..], &["out"]].concat()).succeeded();
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    assert!(
        run.out.contains("25 samples in each cluster") && run.out.contains("100 samples in each cluster"),
        "{}",
        run.out
    );
    assert_eq!(shop.list("out"), ["SHA256SUMS", "when.csv", "when.png", "when.svg"]);
    let table = shop.read("out/when.csv");
    let mut lines = table.lines();
    assert_eq!(lines.next(), Some("samples_per_cluster,ratio,perplexity,data_set,pca_error,ewca_error"));
    // 11 ratios at 5 perplexities, and at 7 among more samples.
    assert_eq!(lines.count(), 11 * 5 + 11 * 7);
    shop.run(&[&words[..], &["again", "--threads", "1"]].concat()).succeeded();
    assert_eq!(table, shop.read("again/when.csv"));
    assert!(shop.bytes("out/when.png") == shop.bytes("again/when.png"));
}

#[test]
fn what_cannot_be_reproduced() {
    let shop = Workshop::new();
    shop.write("mini.csv", cumida(42, 12));
    let run = shop.run(&["reproduce", "plan", "--data", "mini.csv", "--label", "kind", "--id", "samples"]);
    run.failed_saying(&["mini.csv", "kind"]);
    shop.write("one.csv", "samples,type,a,b\n1,x,1,2\n2,x,3,1\n3,x,2,2\n");
    shop.run(&["reproduce", "plan", "--data", "one.csv"]).failed_saying(&["at least 2 classes", "--label"]);
    let run = shop.run(&["reproduce", "everything"]);
    assert!(run.code == Some(2) && run.err.contains("illustration"), "{}", run.err);
}
