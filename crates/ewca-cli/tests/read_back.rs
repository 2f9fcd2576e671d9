//! Python writes an AnnData file, `ewca` fits it, and scanpy, pandas and safetensors open what comes out (read_back.py).
//!
//! The environment variable `EWCA_PYTHON` names a Python with these packages: `cargo xtask test` sets it.

mod common;

use std::process::Command;

use common::Workshop;

#[test]
fn results_open_in_the_tools_that_people_have() {
    let Ok(python) = std::env::var("EWCA_PYTHON") else {
        eprintln!("EWCA_PYTHON is not set: nothing was opened with Python; `cargo xtask test` does it");
        return;
    };
    let shop = Workshop::new();
    let script = |name: &str| {
        let script = format!("{}/tests/{name}", env!("CARGO_MANIFEST_DIR"));
        let output = Command::new(&python).arg(script).arg(shop.path("")).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    };
    script("make_cells.py");
    let steps = ["--normalize-total", "1e4", "--log1p"];
    let fixed = ["fit", "in.h5ad", "-k", "3", "--label", "kind", "--partners", "60", "--write-anndata", "out.h5ad"];
    shop.run(&[&fixed[..], &steps].concat()).succeeded();
    script("read_back.py");
    // What Python wrote again is still the model.
    for model in ["ewca-out/model.safetensors", "copy.safetensors"] {
        shop.run(&["transform", model, "in.h5ad", "-o", &format!("{}.csv", model.len())]).succeeded();
    }
    assert_eq!(shop.read("26.csv"), shop.read("16.csv"));
}
