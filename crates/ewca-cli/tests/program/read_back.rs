//! Python writes an AnnData file, `ewca` fits it, and scanpy, pandas and safetensors open what comes out (read_back.py).
//!
//! The environment variable `EWCA_PYTHON` names a Python with these packages: `cargo xtask test` sets it.

use std::process::Command;

use crate::common::Workshop;
use serde_json::json;

/// A folder with what the script makes there; nothing where there is no Python.
fn made() -> Option<(Workshop, impl Fn(&Workshop, &str))> {
    let Ok(python) = std::env::var("EWCA_PYTHON") else {
        eprintln!("EWCA_PYTHON is not set: nothing was opened with Python; `cargo xtask test` does it");
        return None;
    };
    let script = move |shop: &Workshop, name: &str| {
        let script = format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(&python).arg(script).arg(shop.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    let shop = Workshop::new();
    script(&shop, "make_cells.py");
    Some((shop, script))
}

#[test]
fn results_open_in_the_tools_that_people_have() {
    let Some((shop, script)) = made() else { return };
    let steps = ["--normalize-total", "1e4", "--log1p"];
    let fixed = ["fit", "in.h5ad", "-k", "3", "--label", "kind", "--partners", "60", "--write-anndata", "out.h5ad"];
    shop.run(&[&fixed[..], &steps].concat()).succeeded();
    script(&shop, "read_back.py");
    // What Python wrote again is still the model.
    for model in ["ewca-out/model.safetensors", "copy.safetensors"] {
        shop.run(&["transform", model, "in.h5ad", "-o", &format!("{}.csv", model.len())]).succeeded();
    }
    assert_eq!(shop.read("26.csv"), shop.read("16.csv"));
}

/// Columns of obs, of classes and of numbers, go to scores, summary, model and report; colours in uns go to the report.
#[test]
fn columns_of_obs_travel_with_their_colours() {
    let Some((shop, _)) = made() else { return };
    let labels = ["--label", "kind", "--label", "depth", "--label", "batch"];
    for parts in [&[][..], &["--in-parts"]] {
        let fit = [&["fit", "in.h5ad", "--report", "report.html", "--overwrite"][..], &labels, parts].concat();
        shop.run(&fit).succeeded();
        let scores = shop.read("ewca-out/scores.csv");
        assert!(scores.starts_with("id,label,depth,batch,ewca1,"), "{scores}");
        for (at, line) in scores.lines().skip(1).enumerate() {
            let depth = if at == 7 { String::new() } else { (at as f64 * 0.5 + 0.25).to_string() };
            let known = format!("cell{at},type {},{depth},{},", at % 3, at % 2);
            assert!(line.starts_with(&known), "{line} is not of {known}");
        }
        let summary = shop.summary("ewca-out");
        assert_eq!(
            summary["annotations"],
            json!([
                { "name": "kind", "kind": "classes", "classes": 3, "missing": 0 },
                { "name": "depth", "kind": "numbers", "missing": 1 },
                { "name": "batch", "kind": "classes", "classes": 2, "missing": 0 },
            ])
        );
        let page = shop.read("report.html");
        // Classes are sorted, and each has the colour of its category.
        let own = "\"names\":[\"type 0\",\"type 1\",\"type 2\"]";
        let colours = "\"colours\":[\"#00000a\",\"#11111b\",\"#222222\"]";
        for part in [own, colours, "\"depth\"", "\"batch\""] {
            assert!(page.contains(part), "{parts:?}: {part}");
        }
        assert!(!page.contains("alert(1)") && !page.contains("#123456"), "{parts:?}");
    }
    let model = shop.run(&["inspect", "ewca-out"]).succeeded();
    assert!(model.out.contains("depth (numbers, 1 missing), batch (2 classes)"), "{}", model.out);
    // The model remembers them: the report of a model needs no options.
    shop.run(&["report", "ewca-out", "in.h5ad", "-o", "again.html"]).succeeded();
    let again = shop.read("again.html");
    assert!(again.contains("#11111b") && again.contains("\"depth\"") && !again.contains("alert(1)"));
    // Nor does another label take the colours away: they go into the model with their column.
    let other = ["fit", "in.h5ad", "--label", "batch", "--label", "kind", "-o", "other"];
    shop.run(&other).succeeded();
    assert!(String::from_utf8_lossy(&shop.bytes("other/model.safetensors")).contains("#11111b"));
}

/// The file that comes with scanpy, of a version of AnnData of before 0.7.
#[test]
fn an_old_file_of_scanpy_is_read_with_its_colours() {
    let Some((shop, script)) = made() else { return };
    script(&shop, "find_old_cells.py");
    shop.run(&["fit", "old.h5ad", "--label", "bulk_labels", "--label", "n_counts", "--report", "report.html"])
        .succeeded();
    let expected: serde_json::Value = serde_json::from_str(&shop.read("expected.json")).unwrap();
    let summary = shop.summary("ewca-out");
    assert_eq!((&summary["n_samples"], &summary["n_features"]), (&expected["samples"], &expected["features"]));
    let mut rows = csv_rows(&shop.read("ewca-out/scores.csv"));
    assert_eq!(rows.remove(0)[..3], ["id", "label", "n_counts"]);
    for (row, known) in rows.iter().zip(expected["cells"].as_array().unwrap()) {
        assert_eq!((&json!(row[0]), &json!(row[1])), (&known["id"], &known["label"]));
        let (found, counts) = (row[2].parse::<f64>().unwrap(), known["n_counts"].as_f64().unwrap());
        assert!((found / counts - 1.0).abs() < 1e-6, "{row:?} {counts}");
    }
    let page = shop.read("report.html");
    assert!(page.contains(&format!("\"colours\":{}", expected["colours"])), "{}", expected["colours"]);
}

/// The cells of a table whose texts have no quotes within.
fn csv_rows(table: &str) -> Vec<Vec<String>> {
    table.lines().map(|line| line.split(',').map(|cell| cell.trim_matches('"').to_string()).collect()).collect()
}
