//! Files that are written here are read by the tools that people use (read_back.py).
//!
//! The environment variable `EWCA_PYTHON` names a Python with numpy, pandas, pyarrow, scipy and
//! anndata. Without it the files are still written, and read again here.

use std::path::Path;
use std::process::Command;

use ewca_io::{
    AnnDataResults, Frame, Parameter, ReadOptions, SparseValues, Table, TextColumn, Values, read_table, write_anndata,
    write_table,
};

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn values(table: &Table) -> Vec<f64> {
    match &table.values {
        Values::Dense(dense) => dense.data.clone(),
        Values::Sparse(sparse) => sparse.to_dense().data,
    }
}

#[test]
fn what_we_write_is_read_elsewhere() {
    let folder = tempfile::tempdir().unwrap();
    write_frames(folder.path());
    write_results(folder.path());
    let Ok(python) = std::env::var("EWCA_PYTHON") else {
        eprintln!("EWCA_PYTHON is not set: not read back with Python");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/read_back.py");
    let output = Command::new(python).arg(script).arg(folder.path()).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

fn write_frames(folder: &Path) {
    let options = ReadOptions { label: Some("class".into()), ..ReadOptions::default() };
    let table = read_table(&golden("table.csv"), &options).unwrap();
    let ids = table.ids.clone().unwrap();
    let texts = [TextColumn { name: "id", cells: &ids }];
    let frame = Frame { rows: 6, texts: &texts, columns: &table.features, values: &values(&table) };
    for name in ["table.csv", "table.tsv", "table.csv.gz", "table.parquet", "table.feather", "table.npy"] {
        write_table(&folder.join(name), &frame).unwrap();
    }
}

fn write_results(folder: &Path) {
    let table = read_table(&golden("c.npy"), &ReadOptions::default()).unwrap();
    let two: Vec<f64> = values(&table).chunks(4).flat_map(|row| [row[0], row[1]]).collect();
    let features = ["f1", "f2", "gène 3", "f,4"].map(String::from);
    let plan = SparseValues {
        columns: 6,
        offsets: vec![0, 1, 2, 2, 2, 2, 3],
        indices: vec![1, 0, 5],
        values: vec![0.25, 0.25, 1.0 / 3.0],
    };
    let parameters = [
        ("epsilon".to_string(), Parameter::Number(0.1)),
        ("k".to_string(), Parameter::Integer(2)),
        ("version".to_string(), Parameter::Text("première".into())),
        ("nothing".to_string(), Parameter::Text(String::new())),
        ("certificate".to_string(), Parameter::Numbers(vec![1.0, 0.5])),
        (
            "params".to_string(),
            Parameter::Group(vec![
                ("yes".to_string(), Parameter::Flag(true)),
                ("no".to_string(), Parameter::Flag(false)),
            ]),
        ),
    ];
    let results = AnnDataResults {
        components: 2,
        ids: None,
        scores: &two,
        features: &features,
        loadings: &two[..8],
        means: &two[..4],
        plan: Some(&plan),
        parameters: &parameters,
    };
    for name in ["dense.h5ad", "csr.h5ad", "csc.h5ad", "again.h5ad"] {
        let target = folder.join(name);
        write_anndata(&golden(name), &target, &results).unwrap();
        // In its own place, and once more.
        write_anndata(&target, &target, &results).unwrap();
        let options = ReadOptions { label: Some("class".into()), ..ReadOptions::default() };
        let before = read_table(&golden(name), &options).unwrap();
        assert_eq!(read_table(&target, &options).unwrap(), before, "{name}");
    }
    let ids = ["s3", "s1"].map(String::from);
    let plan = SparseValues { columns: 2, offsets: vec![0, 1, 1], indices: vec![1], values: vec![0.5] };
    let part = AnnDataResults {
        ids: Some(&ids),
        scores: &[1.0, 2.0, 3.0, 4.0],
        features: &features[1..2],
        loadings: &[1.0, 2.0],
        means: &[7.0],
        plan: Some(&plan),
        ..results
    };
    write_anndata(&golden("csr.h5ad"), &folder.join("part.h5ad"), &part).unwrap();
    let strangers = ["nobody", "s1"].map(String::from);
    let error =
        write_anndata(&golden("csr.h5ad"), &folder.join("no.h5ad"), &AnnDataResults { ids: Some(&strangers), ..part });
    assert!(error.unwrap_err().to_string().contains("has no observation 'nobody'"));
    assert!(!folder.join("no.h5ad").exists());
}
