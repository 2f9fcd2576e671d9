//! Nothing is lost: inputs are never replaced, nor what others wrote, and a folder of results is of one run.

use std::fs;

use crate::common::{Run, Workshop, clouds, exists, numbers};

const COLUMNS: [&str; 4] = ["--label", "kind", "--id", "name"];

/// A table, and a model of it.
fn fitted() -> Workshop {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(30, 5, ","));
    shop.run(&[&["fit", "data.csv", "-q"], &COLUMNS[..]].concat()).succeeded();
    shop
}

/// Every file in the folder and below, with its content.
fn everything(shop: &Workshop) -> Vec<(String, Vec<u8>)> {
    let mut files = Vec::new();
    let mut folders = vec![shop.path("")];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if entry.is_dir() {
                folders.push(entry);
            } else {
                let content = fs::read(&entry).unwrap_or_default();
                files.push((entry.display().to_string(), content));
            }
        }
    }
    files.sort();
    files
}

#[test]
fn an_output_that_is_an_input_is_refused_by_every_command() {
    let shop = fitted();
    fs::create_dir(shop.path("in")).unwrap();
    shop.write("in/scores.csv", shop.read("data.csv"));
    fs::copy(shop.path("ewca-out/scores.csv"), shop.path("z.csv")).unwrap();
    fs::copy(shop.path("data.csv"), shop.path("data.html")).unwrap();
    fs::copy(shop.path("data.csv"), shop.path("data.part")).unwrap();
    fs::copy(shop.path("data.csv"), shop.path("data_mqc.json")).unwrap();
    fs::copy(shop.path("ewca-out/model.safetensors"), shop.path("model.csv")).unwrap();
    shop.run(
        &[&["fit", "data.csv", "-q", "-o", "x", "--checkpoint", "state", "--checkpoint-every", "0"], &COLUMNS[..]]
            .concat(),
    )
    .succeeded();
    fs::remove_dir_all(shop.path("x")).unwrap();
    let before = everything(&shop);
    let table = [
        (&["fit", "data.csv", "--scores", "data.csv"][..], "--scores would replace the input data.csv"),
        (&["fit", "data.csv", "--loadings", "data.csv"], "--loadings would replace"),
        (&["fit", "data.csv", "--plan", "./data.csv"], "--plan would replace"),
        (&["fit", "data.csv", "--checkpoint", "data.csv"], "--checkpoint would replace"),
        (&["fit", "data.part", "--checkpoint", "data"], "--checkpoint would replace the input data.part"),
        (&["fit", "data.csv", "--resume", "state", "--scores", "new/../data.csv"], "--scores would replace"),
        (&["fit", "data.html", "--report", "data.html"], "--report would replace"),
        (&["fit", "in/scores.csv", "-o", "in"], "-o would replace the input in/scores.csv; choose another folder"),
        (&["fit", "in/scores.csv", "-o", "new/../in"], "-o would replace the input in/scores.csv"),
        (&["transform", "ewca-out", "data.csv", "-o", "data.csv"], "-o would replace the input data.csv"),
        (&["transform", "model.csv", "data.csv", "-o", "model.csv"], "-o would replace the input model.csv"),
        (&["reconstruct", "ewca-out", "z.csv", "-o", "z.csv"], "-o would replace the input z.csv"),
        (&["neighbours", "ewca-out", "data.csv", "-o", "data.csv"], "-o would replace the input data.csv"),
        (&["neighbours", "model.csv", "-o", "model.csv"], "-o would replace the input model.csv"),
        (&["report", "ewca-out", "data.html", "-o", "data.html"], "-o would replace the input data.html"),
        (
            &["report", "ewca-out", "data_mqc.json", "--multiqc", "data_mqc.json"],
            "--multiqc would replace the input data_mqc.json",
        ),
        (&["path", "data.csv", "-o", "data.csv"], "-o would replace the input data.csv"),
        (&["path", "data.html", "--report", "data.html"], "--report would replace the input data.html"),
        (&["select", "data.csv", "-o", "data.csv"], "-o would replace the input data.csv"),
    ];
    for (arguments, part) in table {
        let columns: &[&str] = if arguments[0] == "reconstruct" { &[] } else { &COLUMNS };
        // Not even with --overwrite.
        for more in [&[][..], &["--overwrite"]] {
            let run = shop.run(&[arguments, columns, more].concat());
            run.failed_saying(&[part]);
            assert!(everything(&shop) == before, "{arguments:?}");
        }
    }
    // The state that a fit goes on from may take its next states.
    let on = ["fit", "data.csv", "-q", "-o", "x", "--resume", "state", "--checkpoint", "state"];
    shop.run(&[&on[..], &COLUMNS].concat()).succeeded();
}

#[cfg(unix)]
#[test]
fn links_hide_no_input() {
    let shop = fitted();
    std::os::unix::fs::symlink("data.csv", shop.path("soft.csv")).unwrap();
    fs::hard_link(shop.path("data.csv"), shop.path("hard.csv")).unwrap();
    std::os::unix::fs::symlink(".", shop.path("here")).unwrap();
    let before = everything(&shop).len();
    for (input, output) in [
        ("data.csv", "soft.csv"),
        ("soft.csv", "data.csv"),
        ("data.csv", "hard.csv"),
        ("hard.csv", "soft.csv"),
        ("data.csv", "here/data.csv"),
        ("here/here/soft.csv", "hard.csv"),
    ] {
        let run = shop.run(&[&["transform", "ewca-out", input, "-o", output], &COLUMNS[..]].concat());
        run.failed_saying(&[output, "would replace the input"]);
        let run = shop.run(&[&["path", input, "-o", output, "--overwrite"], &COLUMNS[..]].concat());
        run.failed_saying(&[output, "would replace the input"]);
    }
    assert_eq!((everything(&shop).len(), shop.read("data.csv")), (before, clouds(30, 5, ",")));
    // A link to a device takes everything, twice.
    std::os::unix::fs::symlink("/dev/null", shop.path("null.csv")).unwrap();
    let nowhere = ["fit", "data.csv", "-q", "--scores", "null.csv", "--loadings", "null.csv"];
    shop.run(&[&nowhere[..], &COLUMNS].concat()).succeeded();
}

#[test]
fn files_of_a_10x_folder_are_inputs() {
    let shop = Workshop::new();
    fs::create_dir(shop.path("cells")).unwrap();
    let entries: String = (0..40).map(|at| format!("{} {} {}\n", at % 5 + 1, at / 5 + 1, (at * 7) % 11 + 1)).collect();
    shop.write("cells/matrix.mtx", format!("%%MatrixMarket matrix coordinate integer general\n5 8 40\n{entries}"));
    shop.write("cells/features.tsv", (1..=5).map(|g| format!("G{g}\tg{g}\n")).collect::<String>());
    shop.write("cells/barcodes.tsv", (1..=8).map(|c| format!("c{c}\n")).collect::<String>());
    let run = shop.run(&["fit", "cells", "--scores", "cells/barcodes.tsv", "--overwrite"]);
    run.failed_saying(&["cells/barcodes.tsv", "would replace the input"]);
    shop.run(&["fit", "cells", "-o", "cells", "-q"]).succeeded();
}

#[test]
fn two_outputs_in_one_place_are_refused() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(30, 4));
    for (arguments, part) in [
        (&["--scores", "a.csv", "--loadings", "a.csv"][..], "--loadings and --scores would go to the same file"),
        (&["--scores", "a.csv", "--plan", "new/../a.csv"], "--plan and --scores would go to the same file"),
        (&["--scores", "ewca-out/scores.csv"], "--scores and -o would go to the same file"),
        (&["--report", "a.html", "--checkpoint", "./a.html"], "--checkpoint and --report"),
    ] {
        shop.run(&[&["fit", "data.csv", "--overwrite"], arguments].concat()).failed_saying(&[part]);
        assert_eq!(shop.list("."), ["data.csv"]);
    }
}

#[test]
fn what_others_wrote_stays_without_overwrite() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(30, 5, ","));
    fs::create_dir(shop.path("out")).unwrap();
    for name in ["scores.csv", "loadings.csv", "model.safetensors", "summary.json"] {
        shop.write(&format!("out/{name}"), "precious");
        let fit = [&["fit", "data.csv", "-o", "out", "-q"], &COLUMNS[..]].concat();
        shop.run(&fit).failed_saying(&[name, "was not written by this program", "--overwrite"]);
        assert_eq!((shop.list("out"), shop.read(&format!("out/{name}"))), (vec![name.into()], "precious".into()));
        fs::remove_file(shop.path(&format!("out/{name}"))).unwrap();
    }
    // Its own results are replaced; those that somebody has changed are not.
    let fit = [&["fit", "data.csv", "-o", "out", "-q"], &COLUMNS[..]].concat();
    shop.run(&fit).succeeded();
    shop.run(&fit).succeeded();
    shop.write("out/scores.csv", shop.read("out/scores.csv") + "a note of mine\n");
    shop.run(&fit).failed_saying(&["out/scores.csv", "has been changed since this program wrote it", "--overwrite"]);
    assert!(shop.read("out/scores.csv").ends_with("a note of mine\n"));
    shop.run(&[&fit[..], &["--overwrite"]].concat()).succeeded();
    assert!(!shop.read("out/scores.csv").contains("a note"));

    // Files of their own.
    shop.write("theirs.csv", "a,b\n1,2\n");
    shop.write("theirs.html", "<!doctype html><title>thesis</title>");
    shop.write("theirs.npy", "array");
    shop.write("theirs.state", "state");
    let before = everything(&shop);
    for arguments in [
        &["fit", "data.csv", "-o", "out", "--scores", "theirs.csv"][..],
        &["fit", "data.csv", "-o", "out", "--dense-plan", "theirs.npy"],
        &["fit", "data.csv", "-o", "out", "--report", "theirs.html"],
        &["fit", "data.csv", "-o", "out", "--checkpoint", "theirs.state"],
        &["transform", "out", "data.csv", "-o", "theirs.csv"],
        &["neighbours", "out", "-o", "theirs.csv"],
        &["path", "data.csv", "-o", "theirs.csv"],
        &["select", "data.csv", "-o", "theirs.csv"],
        &["report", "out", "data.csv", "-o", "theirs.html"],
        &["transform", "out", "data.csv", "-o", "out/scores.csv"],
    ] {
        let run = shop.run(&[arguments, &COLUMNS].concat());
        run.failed_saying(&["--overwrite to replace it"]);
        assert!(everything(&shop) == before, "{arguments:?}");
    }
    let run = shop.run(&[&["transform", "out", "data.csv", "-o", "theirs.csv", "--overwrite"], &COLUMNS[..]].concat());
    run.succeeded();
    assert!(shop.read("theirs.csv").starts_with("id,label,ewca1"));
}

#[test]
fn results_of_every_kind_can_be_made_again() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(30, 5, ","));
    let table = [
        "fit data.csv --scores s.parquet --loadings l.tsv.gz --plan p.arrow --report r.html --checkpoint state",
        "fit data.csv --plan ewca-out/p.csv --dense-plan ewca-out/d.npy --report ewca-out/report.html",
        "transform ewca-out data.csv -o new.csv.zst",
        "neighbours ewca-out -o near.csv",
        "neighbours ewca-out data.csv -o near.tsv",
        "path data.csv --epsilons 1,2 -o path.csv --report path.html",
        "select data.csv -k 1..2 --splits 4 --inner-splits 2 --epsilons 1,2 -o select.csv",
        "report ewca-out data.csv -o again.html",
    ];
    for line in table {
        for _ in 0..2 {
            let words: Vec<&str> = line.split(' ').chain(COLUMNS).collect();
            let run = shop.run(&words);
            assert!(run.code == Some(0) || run.code == Some(3), "{line}: {run:?}");
        }
    }
    for _ in 0..2 {
        shop.run(&["reconstruct", "ewca-out", "ewca-out/scores.csv", "-o", "smooth.parquet"]).succeeded();
        shop.run(&["man", "-o", "pages"]).succeeded();
        shop.run(&["reproduce", "illustration", "-o", "figures"]).succeeded();
    }
    // Samples as text or array cannot be told from data.
    shop.run(&["reconstruct", "ewca-out", "ewca-out/scores.csv", "-o", "smooth.csv"]).succeeded();
    let again = shop.run(&["reconstruct", "ewca-out", "ewca-out/scores.csv", "-o", "smooth.csv"]);
    again.failed_saying(&["smooth.csv", "does not look like a result"]);
    shop.write("figures/illustration.csv", "mine");
    let figures = shop.run(&["reproduce", "illustration", "-o", "figures"]);
    figures.failed_saying(&["figures/illustration.csv", "has been changed"]);
}

/// What a folder of results holds: the components of each file, and whether `inspect` finds fault with them.
fn components(shop: &Workshop, folder: &str) -> (Vec<Option<usize>>, Run) {
    let header = |name: &str| {
        let table = fs::read_to_string(shop.path(&format!("{folder}/{name}"))).ok()?;
        Some(table.lines().next()?.matches("ewca").count())
    };
    let inspected = shop.run(&["inspect", folder, "--json"]);
    let model = serde_json::from_str(&inspected.out).ok();
    let model = model.and_then(|record: serde_json::Value| record["n_components"].as_u64());
    let summary = fs::read_to_string(shop.path(&format!("{folder}/summary.json"))).ok();
    let summary =
        summary.and_then(|text| serde_json::from_str::<serde_json::Value>(&text).unwrap()["n_components"].as_u64());
    let all = [header("scores.csv"), header("loadings.csv"), model.map(|k| k as usize), summary.map(|k| k as usize)];
    (all.to_vec(), inspected)
}

#[cfg(unix)]
#[test]
fn killed_at_any_moment_a_folder_is_of_one_run_or_says_that_it_is_not() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(300, 6));
    let fit =
        |k: &str| shop.command(&["fit", "data.csv", "-k", k, "-o", "out", "-q", "--epsilon", "0.2"]).spawn().unwrap();
    let clock = std::time::Instant::now();
    assert!(fit("2").wait().unwrap().success());
    let whole = clock.elapsed();
    let mut noise = crate::common::noise(3);
    let mut unfinished = 0;
    for round in 0..40 {
        let mut child = fit(["3", "2"][round % 2]);
        // The end of a run is where it writes.
        std::thread::sleep(whole.mul_f64(0.75 + 0.4 * noise()));
        child.kill().unwrap();
        child.wait().unwrap();
        let (found, inspected) = components(&shop, "out");
        let same = found.iter().all(|k| k.is_some() && *k == found[0]);
        let transformed = shop.run(&["transform", "out", "data.csv"]);
        if found[3].is_some() {
            assert!(same && inspected.err.is_empty() && transformed.code == Some(0), "{found:?} {inspected:?}");
        } else {
            unfinished += 1;
            assert!(inspected.err.contains("not complete"), "{found:?} {inspected:?}");
            transformed.failed_saying(&["model.safetensors", "not complete", "fit again"]);
        }
        let parts = shop.list("out").into_iter().filter(|name| name.ends_with(".part")).count();
        assert!(parts <= 5, "the next run sweeps what the last one left: {:?}", shop.list("out"));
    }
    println!("{unfinished} of 40 were not complete");
    assert!(fit("3").wait().unwrap().success());
    assert_eq!(shop.list("out"), ["loadings.csv", "model.safetensors", "scores.csv", "summary.json"]);
    assert_eq!(components(&shop, "out").0, [Some(3); 4]);
}

#[test]
fn two_runs_at_once_do_not_mix() {
    let shop = Workshop::new();
    shop.write("data.csv", numbers(120, 6));
    let mut refused = 0;
    for _ in 0..40 {
        let fits = ["2", "3"].map(|k| shop.command(&["fit", "data.csv", "-k", k, "-o", "out", "-q"]).spawn().unwrap());
        let runs = fits.map(|child| Run::from(child.wait_with_output().unwrap()));
        for run in runs.iter().filter(|run| run.code != Some(0)) {
            run.failed_saying(&["out: another run is writing its results there", "-o"]);
            refused += 1;
        }
        assert!(runs.iter().any(|run| run.code == Some(0)), "{runs:?}");
        let (found, inspected) = components(&shop, "out");
        assert!(
            found.iter().all(|k| k.is_some() && *k == found[0]) && inspected.err.is_empty(),
            "{found:?} {inspected:?}"
        );
        assert_eq!(shop.list("out").len(), 4, "{:?}", shop.list("out"));
    }
    println!("{refused} of 80 were refused");
}

#[test]
fn a_mixture_is_noticed() {
    let shop = fitted();
    shop.run(&[&["fit", "data.csv", "-q", "-k", "1", "-o", "other"], &COLUMNS[..]].concat()).succeeded();
    fs::copy(shop.path("other/model.safetensors"), shop.path("ewca-out/model.safetensors")).unwrap();
    for name in ["ewca-out", "ewca-out/model.safetensors"] {
        let inspected = shop.run(&["inspect", name]);
        assert_eq!(inspected.code, Some(0));
        assert!(inspected.err.contains("model.safetensors does not belong to the same run as"), "{inspected:?}");
        for command in
            [&["transform", name, "data.csv"][..], &["neighbours", name], &["report", name, "data.csv", "-o", "r.html"]]
        {
            let columns: &[&str] = if command.len() > 2 { &COLUMNS } else { &[] };
            shop.run(&[command, columns].concat()).failed_saying(&[
                "model.safetensors",
                "does not belong to the same run",
                "fit again",
            ]);
        }
    }
    // On its own it is a model like any other.
    fs::create_dir(shop.path("moved")).unwrap();
    fs::rename(shop.path("ewca-out/model.safetensors"), shop.path("moved/model.safetensors")).unwrap();
    shop.run(&[&["transform", "moved", "data.csv"], &COLUMNS[..]].concat()).succeeded();
    let inspected = shop.run(&["inspect", "other"]);
    assert_eq!(inspected.err, "");
    fs::remove_file(shop.path("other/scores.csv")).unwrap();
    assert!(shop.run(&["inspect", "other"]).err.contains("scores.csv is missing"));
}

#[test]
fn checksums_are_in_the_summary() {
    let shop = fitted();
    let sums = shop.summary("ewca-out")["checksums"].clone();
    let names: Vec<&String> = sums.as_object().unwrap().keys().collect();
    assert_eq!(names, ["covariates.csv", "loadings.csv", "model.safetensors", "scores.csv"]);
    let lines: String =
        sums.as_object().unwrap().iter().map(|(name, sum)| format!("{}  {name}\n", sum.as_str().unwrap())).collect();
    shop.write("ewca-out/sums", lines);
    let checked =
        std::process::Command::new("sha256sum").args(["-c", "sums"]).current_dir(shop.path("ewca-out")).output();
    if let Ok(checked) = checked {
        assert!(checked.status.success(), "{checked:?}");
    }
    assert!(exists(&shop.path("ewca-out/scores.csv")));
}

/// Every command that prints, on a full disk and with nobody reading.
#[cfg(target_os = "linux")]
#[test]
fn words_that_do_not_arrive_are_an_error() {
    let shop = fitted();
    for arguments in [
        &["fit", "data.csv", "-o", "f"][..],
        &["fit", "data.csv", "-o", "f", "--json"],
        &["transform", "ewca-out", "data.csv"],
        &["transform", "ewca-out", "data.csv", "-o", "new.csv"],
        &["neighbours", "ewca-out"],
        &["path", "data.csv", "--epsilons", "1"],
        &["select", "data.csv", "-k", "1", "--splits", "2", "--inner-splits", "2", "--epsilons", "1"],
        &["report", "ewca-out", "data.csv"],
        &["reconstruct", "ewca-out", "ewca-out/scores.csv"],
        &["reproduce", "illustration"],
        &["inspect", "ewca-out"],
        &["inspect", "data.csv"],
        &["demo"],
        &["completions", "bash"],
        &["man"],
        &["man", "-o", "pages"],
        &["--help"],
        &["fit", "--help"],
        &["--version"],
    ] {
        let takes_columns =
            ["fit", "transform", "path", "select", "report"].contains(&arguments[0]) && arguments.len() > 2;
        let columns: &[&str] = if takes_columns { &COLUMNS } else { &[] };
        let words = [arguments, columns].concat();
        let full = fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
        let run = Run::from(shop.command(&words).stdout(full).output().unwrap());
        assert_eq!((run.code, run.err.lines().count()), (Some(1), 1), "{words:?}: {run:?}");
        assert!(run.err.contains("standard output") && run.err.contains("the disk is full"), "{words:?}: {run:?}");

        let run = shop.run_unread(&words);
        assert_eq!((run.code, run.err.as_str()), (Some(141), ""), "{words:?}");
    }
    assert!(exists(&shop.path("f/summary.json")), "the results are there all the same");
}
