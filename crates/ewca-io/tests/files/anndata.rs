//! What is written to AnnData files is of the types that their readers want.

use std::path::Path;

use ewca_io::{AnnDataResults, SparseValues, write_anndata};
use rust_hdf5::{DatatypeMessage, H5File};

/// SciPy 1.17 refuses a matrix with indices of 32 bits and offsets of 64.
#[test]
fn the_plan_has_integers_of_one_type() {
    let folder = tempfile::tempdir().unwrap();
    let target = folder.path().join("out.h5ad");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/dense.h5ad");
    let plan = SparseValues {
        columns: 6,
        offsets: (0..=6).collect(),
        indices: (0..6).rev().collect(),
        values: vec![1.0 / 6.0; 6],
    };
    let features = ["f1", "f2", "g\u{e8}ne 3", "f,4"].map(String::from);
    let results = AnnDataResults {
        components: 1,
        ids: None,
        scores: &[0.0; 6],
        features: &features,
        loadings: &[0.0; 4],
        means: &[0.0; 4],
        plan: Some(&plan),
        parameters: &[],
    };
    write_anndata(&source, &target, &results).unwrap();
    let file = H5File::open(&target).unwrap();
    let list = |name: &str| file.dataset(&format!("obsp/ewca_plan/{name}")).unwrap();
    let [indices, offsets] = ["indices", "indptr"].map(|name| list(name).datatype().unwrap());
    assert!(matches!(indices, DatatypeMessage::FixedPoint { size: 4, .. }), "{indices:?}");
    assert_eq!(indices, offsets);
    assert_eq!(list("indices").read_raw::<i32>().unwrap(), [5, 4, 3, 2, 1, 0]);
    assert_eq!(list("indptr").read_raw::<i32>().unwrap(), [0, 1, 2, 3, 4, 5, 6]);
}
