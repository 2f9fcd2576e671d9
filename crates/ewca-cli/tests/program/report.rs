//! Reports, from the outside.

use crate::common::{Workshop, clouds, exists};

/// The data that a report holds.
fn held(shop: &Workshop, file: &str) -> serde_json::Value {
    let html = shop.read(file);
    let start = r#"<script type="application/json" id="report">"#;
    let data = html.split_once(start).expect("data").1.split_once("</script>").unwrap().0;
    serde_json::from_str(data).unwrap()
}

const COLUMNS: [&str; 4] = ["--label", "kind", "--id", "name"];

#[test]
fn a_fit_and_its_model_give_the_same_report() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 6, ","));
    let fit = ["fit", "data.csv", "-k", "3", "--tsne", "--report", "a.html"];
    let run = shop.run(&[&fit[..], &COLUMNS].concat()).succeeded();
    assert!(run.out.contains("Written to a.html: report,"), "{}", run.out);
    let report = ["report", "ewca-out", "data.csv", "--tsne", "-o", "b.html"];
    let run = shop.run(&[&report[..], &COLUMNS].concat()).succeeded();
    assert!(run.out.contains("Written to b.html: report,"), "{}", run.out);
    assert!(shop.read("a.html") == shop.read("b.html"), "byte for byte");
    let data = held(&shop, "a.html");
    assert_eq!((&data["data"]["name"], &data["annotations"][0]["name"]), (&"data.csv".into(), &"kind".into()));
    assert_eq!(data["views"].as_array().unwrap().len(), 4);
    assert_eq!(data["path"], serde_json::Value::Null);
    // The model remembers names and classes; without --label the column's name is not known.
    shop.run(&["report", "ewca-out/model.safetensors", "data.csv", "--ignore", "kind", "--ignore", "name"]).succeeded();
    let data = held(&shop, "ewca-out/report.html");
    assert_eq!((&data["ids"][0], &data["annotations"][0]["values"]["names"][0]), (&"s0".into(), &"ash".into()));
}

#[test]
fn what_is_known_of_the_samples_is_there_to_colour_by() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 6, ","));
    let row = |at: usize| format!("s{at},{},{}\n", if at == 3 { "" } else { ["b0", "b1"][at % 2] }, 20 + at);
    shop.write("sheet.csv", "sample,batch,age\n".to_string() + &(0..60).rev().map(row).collect::<String>());
    let fit = ["fit", "data.csv", "--metadata", "sheet.csv", "--report", "a.html"];
    shop.run(&[&fit[..], &COLUMNS].concat()).succeeded();
    // The model remembers them.
    shop.run(&["report", "ewca-out", "data.csv", "--label", "kind", "--id", "name", "-o", "b.html"]).succeeded();
    for file in ["a.html", "b.html"] {
        let data = held(&shop, file);
        let names: Vec<&str> =
            data["annotations"].as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect();
        assert_eq!(names, ["kind", "batch", "age"], "{file}");
        assert_eq!(data["annotations"][1]["values"]["names"], serde_json::json!(["b0", "b1"]), "{file}");
        assert_eq!(data["annotations"][2]["values"]["names"], serde_json::Value::Null, "{file}");
        assert_eq!(data["covariates"].as_array().unwrap().len(), 6, "{file}");
    }
    assert!(shop.read("a.html") == shop.read("b.html"), "byte for byte");
}

#[test]
fn the_embedding_goes_to_multiqc_too() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 6, ","));
    shop.run(&[&["fit", "data.csv", "-k", "3"], &COLUMNS[..]].concat()).succeeded();
    let report = ["report", "ewca-out", "data.csv", "-o", "r.html", "--multiqc", "qc/ewca_mqc.json"];
    for _ in 0..2 {
        let run = shop.run(&[&report[..], &COLUMNS].concat()).succeeded();
        assert!(run.out.contains("Written to qc/ewca_mqc.json: embedding for MultiQC"), "{}", run.out);
    }
    let content: serde_json::Value = serde_json::from_str(&shop.read("qc/ewca_mqc.json")).unwrap();
    let scores = shop.read("ewca-out/scores.csv");
    let first: Vec<&str> = scores.lines().nth(1).unwrap().split(',').collect();
    let column = |name: &str| scores.lines().next().unwrap().split(',').position(|head| head == name).unwrap();
    let point = &content["data"]["s0"][0];
    for (axis, name) in [("x", "ewca1"), ("y", "ewca2")] {
        let written: f64 = first[column(name)].parse().unwrap();
        assert!((point[axis].as_f64().unwrap() - written).abs() < 1e-9, "{point} and {first:?}");
    }
    let named = ["report", "ewca-out", "data.csv", "-o", "r.html", "--multiqc", "ewca.json"];
    let refused = shop.run(&[&named[..], &COLUMNS].concat());
    assert_eq!(refused.code, Some(2), "{refused:?}");
    assert!(refused.err.contains("ends in _mqc.json"), "{refused:?}");
}

#[test]
fn a_path_comes_with_its_report() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 6, ","));
    let path = ["path", "data.csv", "-k", "2", "--report", "path.html"];
    let run = shop.run(&[&path[..], &COLUMNS].concat()).succeeded();
    assert!(run.out.contains("Written to path.html: report,"), "{}", run.out);
    let data = held(&shop, "path.html");
    let steps = data["path"]["steps"].as_array().unwrap();
    assert!(steps.len() >= 20);
    assert_eq!((&steps[0]["collapsed"], &steps[steps.len() - 1]["collapsed"]), (&false.into(), &true.into()));
    // It begins with a fit of the path that has not collapsed.
    let current = data["path"]["current"].as_u64().unwrap() as usize;
    assert_eq!(steps[current]["epsilon"], data["epsilon"]);
    assert_eq!(steps[current]["collapsed"], false);
    // A model can be given a path afterwards.
    shop.run(&[&["fit", "data.csv"], &COLUMNS[..]].concat()).succeeded();
    shop.run(&[&["report", "ewca-out", "data.csv", "--path", "-o", "b.html"], &COLUMNS[..]].concat()).succeeded();
    assert!(held(&shop, "b.html")["path"]["steps"].as_array().unwrap().len() >= 20);
}

#[test]
fn the_demo_has_twenty_epsilons_and_the_same_bytes_every_time() {
    let shop = Workshop::new();
    shop.run(&["demo", "-q"]).succeeded();
    shop.run(&["demo", "-q", "-o", "again", "--report", "again.html"]).succeeded();
    assert!(shop.read("ewca-out/demo/report.html") == shop.read("again.html"), "byte for byte");
    assert!(!exists(&shop.path("again/report.html")));
    let data = held(&shop, "again.html");
    let steps = data["path"]["steps"].as_array().unwrap();
    assert_eq!(steps.len(), 20);
    assert_eq!((&steps[0]["collapsed"], &steps[19]["collapsed"]), (&false.into(), &true.into()));
    assert!(shop.read("again.html").len() < 1_000_000);
}

#[test]
fn hostile_names_come_through_as_text() {
    let shop = Workshop::new();
    let table = clouds(30, 4, ",")
        .replace("oak", "<script>alert(1)</script>")
        .replace("s1,", "=cmd(),")
        .replace("x2", "</style>&");
    shop.write("<b>.csv", table);
    shop.run(&[&["fit", "<b>.csv", "--report", "r.html"], &COLUMNS[..]].concat()).succeeded();
    let html = shop.read("r.html");
    assert!(!html.contains("<script>alert") && !html.contains("<b>"));
    assert!(html.contains("<title>&lt;b&gt;.csv"));
    let data = held(&shop, "r.html");
    assert_eq!(data["annotations"][0]["values"]["names"][0], "<script>alert(1)</script>");
    assert_eq!(data["ids"][1], "=cmd()");
    assert!(data["loadings"]["features"].as_array().unwrap().contains(&"</style>&".into()));
}

#[test]
fn what_cannot_be_reported_is_told_before_the_work() {
    let shop = Workshop::new();
    shop.write("data.csv", clouds(60, 6, ","));
    shop.write("other.csv", clouds(61, 6, ","));
    shop.run(&[&["fit", "data.csv", "-q"], &COLUMNS[..]].concat()).succeeded();
    let other = shop.run(&[&["report", "ewca-out", "other.csv"], &COLUMNS[..]].concat());
    other.failed_saying(&["other.csv: is not the table that ewca-out was fitted on", "fit this table with --report"]);
    shop.write("long.csv", crate::common::numbers(3001, 2));
    let large = shop.run(&["fit", "long.csv", "--report", "r.html", "--tsne", "-o", "long"]);
    large.failed_saying(&["r.html: --tsne works for up to 3000 samples, and there are 3001; remove --tsne"]);
    let nowhere = shop.run(&[&["fit", "data.csv", "-o", "new", "--report", "data.csv/r.html"], &COLUMNS[..]].concat());
    assert_eq!(nowhere.code, Some(1), "{nowhere:?}");
    assert!(!exists(&shop.path("new")) && !exists(&shop.path("long")));
    assert_eq!(shop.run(&["fit", "data.csv", "--report", "r.txt"]).code, Some(2));
    assert_eq!(shop.run(&["fit", "data.csv", "--tsne"]).code, Some(2));
}

#[test]
fn the_peak_of_memory_is_predicted_with_a_report() {
    let shop = Workshop::new();
    // Peak and expectation, in MiB, with what is kept of the kernel: here all pairs of samples matter.
    let peaks = |file: &str, rows: usize| {
        shop.write(file, crate::common::numbers(rows, 40));
        let arguments = ["fit", file, "-k", "5", "--epsilon", "20", "--max-iterations", "1", "--threads", "2", "-v"];
        let run = shop.run(&[&arguments[..], &["--report", "r.html", "-o", &file[..2]]].concat());
        let (peak, expected, kept) = crate::common::memory_told(&run.out);
        (peak, expected + kept)
    };
    // As in memory.rs: what a program without optimisation takes more on the least of tables is forgiven.
    let (least, expected) = peaks("least.csv", 20);
    let surplus = (least - expected).clamp(0.0, 12.0);
    let (peak, expected) = peaks("data.csv", 4000);
    assert!((expected / (peak - surplus) - 1.0).abs() < 0.25, "{peak} MiB, {expected} expected, {surplus} forgiven");
}
