//! `ewca demo`, from the outside.

use crate::common::Workshop;

#[test]
fn the_demonstration_shows_what_it_promises() {
    let shop = Workshop::new();
    let run = shop.run(&["demo"]).succeeded();
    for part in [
        "63 tumour samples",
        "2308 genes",
        "5 components, converged",
        "1 (PCA)",
        "(this fit)",
        "B BL, E EWS, N NB, R RMS",
        "train_01 EWS train_02 EWS",
        "of all matching is within a class",
        "Written to ewca-out/demo",
        "Open in a browser: ewca-out/demo/report.html",
        "To run the same fit yourself:",
    ] {
        assert!(run.out.contains(part), "no '{part}' in:\n{}", run.out);
    }
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    let files = shop.list("ewca-out/demo");
    assert_eq!(
        files,
        ["khan2001.csv.gz", "loadings.csv", "model.safetensors", "report.html", "scores.csv", "summary.json"]
    );
    let summary = shop.summary("ewca-out/demo");
    assert_eq!((&summary["n_samples"], &summary["n_features"]), (&63.into(), &2308.into()));
    assert_eq!(summary["termination"], "converged");
}

#[test]
fn the_table_of_spreads_begins_with_pca() {
    let shop = Workshop::new();
    let out = shop.run(&["demo", "-o", "first"]).succeeded().out;
    let row = |name: &str| -> Vec<f64> {
        let line = out.lines().find(|line| line.trim_start().starts_with(name)).expect(name);
        line.split_whitespace().filter_map(|word| word.trim_end_matches('%').parse().ok()).collect()
    };
    // Explained variance, wrong neighbours, right classes: what NumPy's SVD gives for PCA.
    assert_eq!(row("1 (PCA)")[1..], [48.3, 1.0, 15.0]);
    let ratios = shop.summary("first")["explained_variance_ratio"].as_array().unwrap().clone();
    let total: f64 = ratios.iter().map(|ratio| ratio.as_f64().unwrap()).sum();
    let this = out.lines().find(|line| line.contains("(this fit)")).unwrap();
    assert!(this.contains(&format!("{:.1}%", 100.0 * total)), "{this}");
}

#[test]
fn the_command_that_it_suggests_gives_the_same_scores() {
    let shop = Workshop::new();
    let out = shop.run(&["demo"]).succeeded().out;
    let suggestion = out.split_once("  ewca fit ").expect("a suggestion").1.replace("\\\n", " ");
    let arguments: Vec<&str> = ["fit"].into_iter().chain(suggestion.split_whitespace()).collect();
    shop.run(&arguments).succeeded();
    assert_eq!(shop.read("ewca-out/scores.csv"), shop.read("ewca-out/demo/scores.csv"));
    assert_eq!(shop.read("ewca-out/loadings.csv"), shop.read("ewca-out/demo/loadings.csv"));
}
