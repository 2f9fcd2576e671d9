//! `ewca fit`, from the outside.

use std::io::Write;

use crate::common::{Run, Workshop, clouds, exists, gzipped, noise, numbers};
use serde_json::Value;

const FILES: [&str; 4] = ["loadings.csv", "model.safetensors", "scores.csv", "summary.json"];

fn floats(value: &Value) -> Vec<f64> {
    value.as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
}

/// The numeric cells of a table, below its header and right of its `texts` first columns.
fn cells(table: &str, texts: usize) -> Vec<Vec<f64>> {
    table.lines().skip(1).map(|line| line.split(',').skip(texts).map(|cell| cell.parse().unwrap()).collect()).collect()
}

#[test]
fn a_bare_fit_works_and_says_what_it_did() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 7));
    let run = shop.run(&["fit", "data.csv"]).succeeded();
    for part in [
        "Read data.csv: 60 samples x 7 features\n",
        "Fit OK: the fit has converged (relative gradient ",
        "epsilon",
        "5.0",
        "total",
        "ewca-out",
    ] {
        assert!(run.out.contains(part), "no '{part}' in:\n{}", run.out);
    }
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    assert!(!run.out.contains('\x1b'), "colour in a pipe");
    assert_eq!(shop.list("ewca-out"), FILES);
    assert_eq!(shop.read("ewca-out/scores.csv").lines().next(), Some("id,ewca1,ewca2"));
    assert!(shop.read("ewca-out/scores.csv").lines().nth(1).unwrap().starts_with("1,"));
}

#[test]
fn the_summary_has_every_promised_key_with_a_sound_value() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 7, ","));
    shop.run(&["fit", "data.csv", "-k", "3", "--epsilon", "0.5", "--label", "kind", "--id", "name"]).succeeded();
    let summary = shop.summary("ewca-out");
    let keys = "schema n_samples n_features rank n_components solver epsilon perplexity loss explained_variance \
                explained_variance_ratio certificate termination iterations kernel_passes seconds";
    for key in keys.split_whitespace() {
        assert!(!summary[key].is_null(), "{key}");
    }
    assert_eq!(summary["schema"], "ewca.summary/1");
    assert_eq!(summary["input"], "data.csv");
    assert_eq!((&summary["n_samples"], &summary["n_features"]), (&60.into(), &7.into()));
    assert_eq!((&summary["rank"], &summary["n_components"]), (&7.into(), &3.into()));
    assert_eq!((&summary["epsilon"], &summary["solver"]), (&0.5.into(), &"lbfgs".into()));
    assert_eq!((&summary["termination"], &summary["converged"]), (&"converged".into(), &true.into()));
    let number = |value: &Value| value.as_f64().unwrap();

    let perplexity = &summary["perplexity"];
    let [min, median, overall, max] = ["min", "median", "overall", "max"].map(|key| number(&perplexity[key]));
    assert!(1.0 < min && min < overall && overall < max && max < 60.0, "{perplexity}");
    assert!(min <= median && median <= max && perplexity["wanted"].is_null(), "{perplexity}");

    let certificate = &summary["certificate"];
    assert!(number(&certificate["relative_gradient"]) <= 1e-6);
    assert!(number(&certificate["marginal_error"]) <= 1e-8);
    assert!(number(&certificate["duality_gap"]) >= 0.0);
    assert!(number(&certificate["eigen_deficit"]).abs() <= 1e-8);
    assert_eq!(certificate["collapsed"], false);
    assert_eq!(floats(&certificate["eigenvalues"]).len(), 3);

    let seconds = &summary["seconds"];
    let (read, fit, total) = (number(&seconds["read"]), number(&seconds["fit"]), number(&seconds["total"]));
    assert!(read > 0.0 && fit > 0.0 && total >= read + fit, "{seconds}");
    assert!(summary["iterations"].as_u64().unwrap() >= 1);
    assert!(summary["kernel_passes"].as_u64() > summary["iterations"].as_u64());
}

#[test]
fn scores_and_loadings_belong_together() {
    let shop = Workshop::new();
    let table = clouds(40, 5, ",");
    shop.write("data.csv", &table);
    shop.run(&["fit", "data.csv", "-k", "2", "--label", "kind", "--id", "name"]).succeeded();
    let (scores, loadings) = (shop.read("ewca-out/scores.csv"), shop.read("ewca-out/loadings.csv"));
    assert_eq!(scores.lines().next(), Some("id,label,ewca1,ewca2"));
    assert_eq!(loadings.lines().next(), Some("feature,ewca1,ewca2"));
    assert!(scores.lines().nth(2).unwrap().starts_with("s1,elm,"), "{scores}");
    assert!(loadings.lines().nth(5).unwrap().starts_with("x5,"), "{loadings}");

    let (data, scores, loadings) = (cells(&table, 2), cells(&scores, 2), cells(&loadings, 1));
    let mean: Vec<f64> = (0..5).map(|j| data.iter().map(|row| row[j]).sum::<f64>() / 40.0).collect();
    let mut variance = [0.0; 2];
    for (row, score) in data.iter().zip(&scores) {
        for component in 0..2 {
            let expected: f64 = (0..5).map(|j| (row[j] - mean[j]) * loadings[j][component]).sum();
            assert!((score[component] - expected).abs() < 1e-12, "{} {expected}", score[component]);
            variance[component] += expected * expected / 39.0;
        }
    }
    let said = floats(&shop.summary("ewca-out")["explained_variance"]);
    assert!(said.iter().zip(variance).all(|(said, found)| (said - found).abs() < 1e-12), "{said:?} {variance:?}");
}

#[test]
fn every_text_format_gives_the_same_results() {
    let shop = Workshop::new();
    let (comma, tab) = (clouds(50, 6, ","), clouds(50, 6, "\t"));
    shop.write("data.csv", &comma);
    shop.write("data.tsv", &tab);
    shop.write("data.csv.gz", gzipped(&comma));
    shop.write("data.tsv.gz", gzipped(&tab));
    let mut seen: Option<String> = None;
    for name in ["data.csv", "data.tsv", "data.csv.gz", "data.tsv.gz", "-"] {
        let arguments = ["fit", name, "--label", "kind", "--id", "name", "-o", "out"];
        let mut child = shop.command(&arguments).spawn().unwrap();
        if name == "-" {
            child.stdin.as_mut().unwrap().write_all(comma.as_bytes()).unwrap();
        }
        drop(child.stdin.take());
        Run::from(child.wait_with_output().unwrap()).succeeded();
        let scores = shop.read("out/scores.csv");
        assert_eq!(shop.summary("out")["input"], name);
        assert_eq!(*seen.get_or_insert_with(|| scores.clone()), scores, "{name}");
    }
}

#[test]
fn the_number_of_threads_does_not_change_a_byte() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(700, 40));
    let scores: Vec<String> = ["1", "2", "8"]
        .map(|threads| {
            shop.run(&["fit", "data.csv", "-k", "3", "--perplexity", "12", "--threads", threads, "-q"]).succeeded();
            shop.read("ewca-out/scores.csv")
        })
        .to_vec();
    assert!(scores[0].lines().count() == 701 && scores[0] == scores[1] && scores[0] == scores[2]);
}

#[test]
fn the_solvers_agree_and_keep_their_names() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(50, 6));
    let mut losses = Vec::new();
    for (name, solver) in [
        ("lbfgs", &["--solver", "auto"][..]),
        ("bcd", &["--solver", "bcd"]),
        (
            "mm",
            &[
                "--solver",
                "mm",
                "--mm-inner-steps",
                "3",
                "--mm-bound",
                "gershgorin",
                "--mm-orthonormalisation",
                "polar",
            ],
        ),
    ] {
        shop.run(&[&["fit", "data.csv", "--epsilon", "1"], solver].concat()).succeeded();
        let summary = shop.summary("ewca-out");
        assert_eq!(summary["solver"], name);
        losses.push(summary["loss"].as_f64().unwrap());
    }
    assert!(losses.iter().all(|loss| (loss / losses[0] - 1.0).abs() < 1e-8), "{losses:?}");
}

#[test]
fn verbose_tells_passes_and_times() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 7));
    let run = shop.run(&["fit", "data.csv", "-v", "--restarts", "2", "--seed", "5"]).succeeded();
    let passes = shop.summary("ewca-out")["kernel_passes"].to_string();
    let line = run.out.lines().find(|line| line.contains("kernel passes")).expect("a line on kernel passes");
    assert!(line.contains(&format!(" {passes} at ")) && line.ends_with("s each"), "{line}");
    for part in ["lbfgs", "starts", "reading", "reduction", "iterations", "checks"] {
        assert!(run.out.contains(part), "no '{part}' in:\n{}", run.out);
    }
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    assert_eq!(shop.summary("ewca-out")["seed"], 5);
}

#[test]
fn quiet_is_silent() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 7));
    assert_eq!(shop.run(&["fit", "data.csv", "-q"]).succeeded().out, "");
    assert_eq!(shop.list("ewca-out"), FILES);
}

#[test]
fn a_fit_that_does_not_converge_is_written_and_exits_with_3() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 7));
    let arguments = ["fit", "data.csv", "--epsilon", "3", "--max-iterations", "1"];
    let run = shop.run(&arguments);
    assert_eq!((run.code, run.err.as_str()), (Some(3), ""));
    let warning = run.out.find("Warning: not converged after 1 iteration").expect("a warning");
    assert!(warning < run.out.find("component").unwrap() && run.out.contains("--max-iterations"), "{}", run.out);
    assert!(
        run.out.contains("\nThe fit has not converged (relative gradient ") && !run.out.contains("Fit OK"),
        "{}",
        run.out
    );
    assert_eq!(shop.list("ewca-out"), FILES);
    assert_eq!(shop.summary("ewca-out")["termination"], "max_iterations");
    assert_eq!(shop.summary("ewca-out")["converged"], false);

    // Quiet keeps the account away, but not the warning.
    let quiet = shop.run(&[&arguments[..], &["-q"]].concat());
    assert_eq!((quiet.code, quiet.out.as_str()), (Some(3), ""));
    assert!(quiet.err.starts_with("ewca: warning: not converged"), "{}", quiet.err);
}

#[test]
fn an_approximate_fit_says_so_everywhere() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(900, 7));
    let arguments = ["fit", "data.csv", "--perplexity", "150", "--report", "page.html"];
    let run = shop.run(&[&arguments[..], &["--approximate", "200"]].concat()).succeeded();
    for part in [
        "Fit OK: the approximate fit (200 landmarks) has converged",
        "sums (checked on exact rows):",
        "200 landmarks; checked on",
    ] {
        assert!(run.out.replace("\n  ", " ").contains(part), "no '{part}' in:\n{}", run.out);
    }
    assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    assert!(!run.out.contains("Warning"), "{}", run.out);
    let near = &shop.summary("ewca-out")["certificate"]["approximation"];
    assert_eq!((&near["landmarks"], &near["rows"]), (&200.into(), &900.into()));
    assert!(near["marginal_error"].as_f64().unwrap() < 1e-3, "{near}");
    let inspected = shop.run(&["inspect", "ewca-out"]).succeeded();
    assert!(inspected.out.contains("approximate (200 landmarks)"), "{}", inspected.out);
    assert!(shop.read("page.html").contains("Approximate fit (200 landmarks)"));

    // Too few: the estimate warns.
    let run = shop.run(&["fit", "data.csv", "--perplexity", "5", "--approximate", "10", "--tolerance", "1e-2"]);
    assert!(run.out.contains("Warning: the approximation is poor") && run.out.contains("--perplexity"), "{}", run.out);

    // Without landmarks, or with no fewer than samples, nothing is approximate.
    for exact in [&[][..], &["--approximate", "900"]] {
        let run = shop.run(&[&["fit", "data.csv", "--perplexity", "150"], exact].concat()).succeeded();
        assert!(!run.out.contains("approximate") && !shop.read("ewca-out/summary.json").contains("approximation"));
    }
    assert_eq!(shop.run(&["fit", "data.csv", "--approximate", "1"]).code, Some(2));
}

#[test]
fn a_collapsed_fit_says_so_first() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 7));
    let run = shop.run(&["fit", "data.csv", "--epsilon", "1e6"]);
    assert_eq!(shop.summary("ewca-out")["certificate"]["collapsed"], true);
    let warning = run.out.find("Warning: collapsed: smoothing is too strong").expect("a warning");
    assert!(
        run.out.contains("\nThe fit has converged (relative gradient ") && !run.out.contains("Fit OK"),
        "{}",
        run.out
    );
    assert!(run.out.split_whitespace().collect::<Vec<_>>().join(" ").contains(", but has collapsed. "), "{}", run.out);
    assert!(warning < run.out.find("component").unwrap() && run.out.contains("--perplexity"), "{}", run.out);
}

#[test]
fn a_feature_that_dominates_is_named_with_what_to_do() {
    let shop = Workshop::new();
    let rows: Vec<String> = (0..40).map(|i| format!("{},{},{}", i % 7, 1000 * (i * i % 31), i % 5)).collect();
    shop.write("data.csv", format!("size,proline,ash\n{}\n", rows.join("\n")));
    let run = shop.run(&["fit", "data.csv"]).succeeded();
    let said = "Note: one feature, 'proline', dominates the first component";
    let flat = run.out.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(flat.contains(said) && flat.contains("--scale unit-variance"), "{}", run.out);
    let findings = &shop.summary("ewca-out")["findings"];
    assert_eq!((&findings[0]["kind"], &findings[0]["feature"]), (&"dominant_feature".into(), &1.into()));
    assert!(findings[0]["variance"].as_f64().unwrap() > 0.99);
    let run = shop.run(&["fit", "data.csv", "--scale", "unit-variance"]).succeeded();
    assert!(!run.out.contains("Note:"), "{}", run.out);
    assert_eq!(shop.summary("ewca-out")["findings"], serde_json::json!([]));
}

#[test]
fn wrong_usage_exits_with_2() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(10, 3));
    for (arguments, part) in [
        (&[][..], "Usage"),
        (&["fit"], "<INPUT>"),
        (&["fot", "data.csv"], "fit"),
        (&["fit", "data.csv", "-k", "0"], "at least 1"),
        (&["fit", "data.csv", "-k", "two"], "whole number"),
        (&["fit", "data.csv", "--epsilon", "-1"], "a positive number"),
        (&["fit", "data.csv", "--epsilon", "1", "--perplexity", "3"], "cannot be used with"),
        (&["fit", "data.csv", "--solver", "newton"], "lbfgs"),
        (&["fit", "data.csv", "--mm-bound", "zero"], "--solver mm"),
        (&["fit", "data.csv", "--tolerance", "2"], "between 0 and 1"),
        (&["fit", "data.csv", "--max-memory", "lots"], "8GiB"),
        (&["fit", "data.csv", "--scores", "s.xlsx"], ".parquet"),
        (&["fit", "data.csv", "--write-anndata", "o.h5ad"], "the input must be an AnnData file"),
        (&["fit", "data.csv", "--format", "xls"], "choose one of csv"),
        (&["path", "data.csv", "--epsilons", "5:1"], "FROM:TO:COUNT"),
        (&["path", "data.csv", "--perplexities", "1"], "above 1"),
        (&["transform", "model"], "<INPUT>"),
        (&["completions", "dos"], "bash"),
    ] {
        let run = shop.run(arguments);
        assert_eq!((run.code, run.out.as_str()), (Some(2), ""), "{arguments:?}");
        assert!(run.err.contains(part), "{arguments:?}: no '{part}' in: {}", run.err);
    }
    assert_eq!(shop.list("."), ["data.csv"]);
}

#[test]
fn bad_inputs_get_one_clear_line_and_leave_nothing() {
    let table = [
        ("a,b,c\n1,x7,3\n2,y8,5\n", &[][..], &["data.csv", "line 2", "'b'", "--label b", "--id b"][..]),
        ("a,b\n1,2\n3\n4,5\n", &[], &["line 3", "1 cell instead of 2"]),
        ("a,b\n1,2\n3,\n4,5\n", &[], &["line 3", "'b'", "missing"]),
        ("a,b\n1,2\n3,1e999\n4,5\n", &[], &["line 3", "'b'", "finite"]),
        ("a,b\n1,2\n3,4\n5,7\n", &["-k", "3"], &["-k 3", "have 2 dimensions", "from 1 to 2"]),
        ("a,b\n1,2\n2,4\n3,6\n", &["-k", "2"], &["-k 2", "have 1 dimension;"]),
        ("a,b\n1,2\n", &[], &["1 row of data", "at least 2"]),
        ("a,b\n1,2\n1,2\n1,2\n", &[], &["all samples are identical"]),
        ("a,b\n1,1e200\n3,4\n5,7\n", &[], &["1e200", "rescale"]),
        ("a,b\n", &[], &["no rows"]),
        ("", &[], &["empty"]),
        ("a,b\n1,2\n3,4\n5,7\n", &["--label", "kind"], &["no column 'kind' for --label"]),
        ("a,b\n1,2\n3,4\n5,7\n", &["--perplexity", "30"], &["--perplexity 30", "number of samples, 3"]),
        ("a,b\n1,2\n3,4\n5,7\n", &["--max-memory", "30"], &["30 bytes", "--max-memory"]),
        ("a,b\n1,2\n3,4\n5,7\n", &["--max-memory", "1MiB"], &["may need 8.", "more than --max-memory 1.0 MiB"]),
        ("a,b\n1,2\n3,4\n5,7\n", &["-o", "data.csv/out"], &["data.csv/out", "folder", "-o"]),
        ("a,b\n1,2\n3,4\n5,7\n", &["-o", "data.csv"], &["data.csv", "a file with this name exists"]),
    ];
    for (content, options, parts) in table {
        let shop = Workshop::new();
        shop.write("data.csv", content);
        let output: &[&str] = if options.contains(&"-o") { &[] } else { &["-o", "new/deep"] };
        let run = shop.run(&[&["fit", "data.csv"], output, options].concat());
        run.failed_saying(parts);
        assert_eq!(shop.list("."), ["data.csv"], "{content:?} {options:?}");
    }
}

#[test]
fn missing_files_and_folders_are_named() {
    let shop = Workshop::new();
    shop.run(&["fit", "nowhere.csv"]).failed_saying(&["nowhere.csv", "no such file"]);
    shop.run(&["fit", "."]).failed_saying(&["is a folder without a matrix.mtx"]);
    shop.write("bad.csv.gz", &gzipped(&numbers(30, 3))[..40]);
    shop.run(&["fit", "bad.csv.gz"]).failed_saying(&["bad.csv.gz", "gzip", "ends too early"]);
    shop.write("image.png", [0x89, b'P', b'N', b'G', 0, 0, 0, 13]);
    shop.run(&["fit", "image.png"]).failed_saying(&["image.png", "neither text"]);
    assert!(!exists(&shop.path("ewca-out")));
}

#[test]
fn a_folder_that_cannot_take_the_results_is_refused_before_the_fit() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(30, 3));
    std::fs::create_dir_all(shop.path("out/summary.json")).unwrap();
    shop.run(&["fit", "data.csv", "-o", "out"]).failed_saying(&["summary.json", "folder"]);
    assert_eq!(shop.list("out"), ["summary.json"]);
}

#[test]
fn old_results_are_replaced_whole() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(30, 5));
    shop.run(&["fit", "data.csv", "-k", "3"]).succeeded();
    shop.run(&["fit", "data.csv", "-k", "1"]).succeeded();
    assert_eq!(shop.list("ewca-out"), FILES);
    assert_eq!(shop.summary("ewca-out")["n_components"], 1);
    assert_eq!(shop.read("ewca-out/scores.csv").lines().next(), Some("id,ewca1"));
}

#[test]
fn rows_and_columns_can_be_left_out() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 4, ","));
    shop.run(&["fit", "data.csv", "--where", "kind=oak", "--ignore", "name", "--ignore", "x4"]).succeeded();
    let summary = shop.summary("ewca-out");
    assert_eq!((&summary["n_samples"], &summary["n_features"]), (&20.into(), &3.into()));
}

#[test]
fn a_reader_that_goes_away_does_no_harm_to_the_results() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(60, 7));
    for arguments in [&["fit", "data.csv", "-v"][..], &["demo", "-o", "demo"], &["fit", "--help"]] {
        let run = shop.run_unread(arguments);
        // 128 + SIGPIPE, in silence, as any program in a pipe.
        assert_eq!((run.code, run.err.as_str()), (Some(141), ""), "{arguments:?}");
    }
    assert!(exists(&shop.path("ewca-out/summary.json")) && exists(&shop.path("demo/summary.json")));
    // What the fit has to say for itself is more than that nobody listened.
    let run = shop.run_unread(&["fit", "data.csv", "--epsilon", "3", "--max-iterations", "1"]);
    assert_eq!(run.code, Some(3));
}

#[test]
fn help_explains_epsilon_and_perplexity_with_examples() {
    let shop = Workshop::new();
    for arguments in [&["--help"][..], &["fit", "--help"], &["demo", "--help"], &["path", "--help"]] {
        let run = shop.run(arguments).succeeded();
        for part in ["erplexity is how many neighbours", "psilon sets the same thing", "\n  ewca "] {
            // Words may be on two lines.
            let spaced = |text: &str| text.replace("\n", " ");
            let found = run.out.contains(part) || spaced(&run.out).contains(part);
            assert!(found, "{arguments:?}: no '{part}' in:\n{}", run.out);
        }
        assert!(run.out.lines().all(|line| line.chars().count() <= 80), "{}", run.out);
    }
    let fit = shop.run(&["fit", "--help"]).out;
    assert!(fit.contains("How strong the smoothing is") && fit.contains("How many neighbours"), "{fit}");
    assert_eq!(shop.run(&["--version"]).succeeded().out, concat!("ewca ", env!("CARGO_PKG_VERSION"), "\n"));
}

/// A fit that has collapsed is no result to go on with: exit code 3, with what to do, unless that was allowed.
#[test]
fn a_collapsed_fit_says_so_and_ends_with_3() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 5, ","));
    let words = ["fit", "data.csv", "--label", "kind", "--id", "name", "-k", "3", "--perplexity", "55"];
    let run = shop.run(&words);
    assert_eq!(run.code, Some(3), "{run:?}");
    assert!(run.out.contains("Warning: collapsed") && run.out.contains("smaller --perplexity"), "{}", run.out);
    assert_eq!(shop.summary("ewca-out")["certificate"]["collapsed"], true);
    let run = shop.run(&[&words[..], &["-q"]].concat());
    assert!(run.code == Some(3) && run.err.contains("collapsed") && run.err.contains("smaller --epsilon"), "{run:?}");
    let run = shop.run(&[&words[..], &["-q", "--allow-unconverged"]].concat());
    assert!(run.code == Some(0) && run.err.contains("collapsed"), "{run:?}");
    // Too few iterations are the same.
    let few =
        ["fit", "data.csv", "--label", "kind", "--id", "name", "--max-iterations", "1", "--tolerance", "1e-12", "-q"];
    assert_eq!(shop.run(&few).code, Some(3));
    assert_eq!(shop.run(&[&few[..], &["--allow-unconverged"]].concat()).code, Some(0));
    let path = ["path", "data.csv", "--label", "kind", "--id", "name", "-k", "2", "--epsilons", "0.1,0.5"];
    let few = [&path[..], &["--max-iterations", "1", "--tolerance", "1e-12", "-q", "-o", "path.csv"]].concat();
    assert_eq!(shop.run(&few).code, Some(3));
    assert_eq!(shop.run(&[&few[..], &["--allow-unconverged"]].concat()).code, Some(0));
}

/// The paper's weights, and samples that stand for several, by name.
#[test]
fn weights_and_counts_are_columns() {
    let shop = Workshop::new();
    let mut noise = noise(5);
    let rows: Vec<(Vec<String>, usize)> =
        (0..40).map(|i| ((0..4).map(|_| format!("{}", noise() + (i % 4) as f64)).collect(), 1 + i % 3)).collect();
    let head = "a,b,c,d";
    let table = |with: &dyn Fn(usize) -> String| -> String {
        rows.iter().map(|(row, count)| format!("{},{}\n", row.join(","), with(*count))).collect()
    };
    let repeated: String =
        rows.iter().flat_map(|(row, count)| std::iter::repeat_n(row.join(",") + "\n", *count)).collect();
    shop.write("counted.csv", format!("{head},w\n{}", table(&|count| count.to_string())));
    shop.write("scaled.csv", format!("{head},w\n{}", table(&|count| format!("{}e150", count))));
    shop.write("repeated.csv", format!("{head}\n{repeated}"));
    let epsilon = |arguments: &[&str]| {
        shop.run(&[&["fit", "-q", "--perplexity", "6", "--overwrite", "-o", "out"], arguments].concat()).succeeded();
        shop.summary("out")["epsilon"].as_f64().unwrap()
    };
    let close = |x: f64, y: f64| (x / y - 1.0).abs() < 1e-6;
    let (counted, repeated) = (epsilon(&["counted.csv", "--counts", "w"]), epsilon(&["repeated.csv"]));
    assert!(close(counted, repeated), "{counted} {repeated}");
    let (weighted, scaled) = (epsilon(&["counted.csv", "--weights", "w"]), epsilon(&["scaled.csv", "--weights", "w"]));
    assert!(close(weighted, scaled) && !close(weighted, counted), "{weighted} {scaled} {counted}");
    let run = shop.run(&["fit", "counted.csv", "--counts", "v", "-o", "other"]);
    assert_eq!(run.code, Some(1));
    assert!(run.err.contains("counted.csv: has no numeric column 'v' for the weights"), "{}", run.err);
    let run = shop.run(&["fit", "counted.csv", "--counts", "w", "--weights", "w"]);
    assert_eq!(run.code, Some(2));
}
