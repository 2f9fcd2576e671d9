//! The files of tests/golden, written by NumPy, pandas, pyarrow, SciPy and anndata (make_golden.py):
//! the same data in every format gives the same bits.

use std::path::{Path, PathBuf};

use ewca_io::{Error, Format, Missing, ReadOptions, Table, Values, inspect, read_table};

/// The table of make_golden.py.
const VALUES: [[f64; 4]; 6] = [
    [1.0, 0.0, 1.0 / 3.0, -2.5],
    [0.0, 0.1, 0.0, 1e-300],
    [3.0, 0.0, 0.0, 0.0],
    [0.0, 123456789.125, 2.0 / 3.0, 0.0],
    [5.0, 0.0, 0.0, -0.7],
    [0.25, 1e22, 0.0, 4.0],
];
const WHOLE: [[f64; 3]; 4] = [[1.0, 0.0, 3.0], [0.0, 250.0, 0.0], [7.0, 0.0, 9.0], [0.0, 11.0, 0.0]];
const FEATURES: [&str; 4] = ["f1", "f2", "gène 3", "f,4"];
const NUMBERED: [&str; 4] = ["column1", "column2", "column3", "column4"];
const IDS: [&str; 6] = ["s1", "s2", "s3", "s4", "s5", "s6"];
const LABELS: [&str; 6] = ["red", "blue", "red", "green", "blue", "red"];

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn read(name: &str, options: &ReadOptions) -> Table {
    read_table(&golden(name), options).unwrap_or_else(|error| panic!("{error}"))
}

fn message(name: &str, options: &ReadOptions) -> String {
    let error: Error = read_table(&golden(name), options).expect_err(name);
    error.to_string().rsplit_once("golden/").expect("a path").1.to_string()
}

fn dense(table: &Table) -> Vec<f64> {
    match &table.values {
        Values::Dense(dense) => dense.data.clone(),
        Values::Sparse(sparse) => sparse.to_dense().data,
    }
}

#[track_caller]
fn assert_bits<const N: usize>(table: &Table, expected: &[[f64; N]], name: &str) {
    let found: Vec<u64> = dense(table).iter().map(|value| value.to_bits()).collect();
    let expected: Vec<u64> = expected.iter().flatten().map(|value| value.to_bits()).collect();
    assert_eq!(found, expected, "{name}");
}

fn labelled(label: &str) -> ReadOptions {
    ReadOptions { label: Some(label.into()), ..ReadOptions::default() }
}

fn array(name: &str) -> ReadOptions {
    ReadOptions { array: Some(name.into()), ..ReadOptions::default() }
}

#[test]
fn tables_with_names_in_every_format() {
    let text = [
        "table.csv",
        "crlf.csv",
        "semicolon.csv",
        "table.tsv",
        "quoted.csv",
        "mark.csv",
        "table.csv.gz",
        "table.csv.zst",
    ];
    let arrow =
        ["table.parquet", "zstd.parquet", "categories.parquet", "table.feather", "table.arrow", "stream.arrows"];
    let anndata = ["dense.h5ad", "csr.h5ad", "csc.h5ad"];
    for name in text.into_iter().chain(arrow).chain(anndata) {
        let table = read(name, &labelled("class"));
        assert_bits(&table, &VALUES, name);
        assert_eq!(table.features, FEATURES, "{name}");
        assert_eq!(table.ids.as_ref().unwrap(), &IDS, "{name}");
        assert_eq!(table.labels.as_ref().unwrap(), &LABELS, "{name}");
    }
    let table = read("transposed.csv", &ReadOptions { transpose: true, ..labelled("class") });
    assert_bits(&table, &VALUES, "transposed.csv");
    assert_eq!(
        (&table.features[..], &table.ids.unwrap()[..], &table.labels.unwrap()[..]),
        (&FEATURES.map(String::from)[..], &IDS.map(String::from)[..], &LABELS.map(String::from)[..])
    );
}

#[test]
fn matrices_without_names_in_every_format() {
    for name in [
        "c.npy",
        "fortran.npy",
        "big_endian.npy",
        "one.npz",
        "scipy_csr.npz",
        "scipy_csc.npz",
        "plain.mat",
        "compressed.mat",
        "sparse.mat",
        "coordinate.mtx",
        "coordinate.mtx.gz",
        "array.mtx",
    ] {
        let table = read(name, &ReadOptions::default());
        assert_bits(&table, &VALUES, name);
        assert_eq!(table.features, NUMBERED, "{name}");
        assert_eq!((table.ids, table.labels), (None, None), "{name}");
        let is_sparse = name.contains("scipy") || name.contains("sparse") || name.contains("coordinate");
        assert_eq!(matches!(table.values, Values::Sparse(_)), is_sparse, "{name}");
    }
    let turned = read("coordinate_turned.mtx", &ReadOptions { transpose: true, ..ReadOptions::default() });
    assert_bits(&turned, &VALUES, "turned");
}

#[test]
fn every_element_type_of_numpy() {
    for kind in ["f2", "f4", "i2", "i4", "i8", "u1", "u2", "u4", "u8"] {
        let name = format!("whole_{kind}.npy");
        assert_bits(&read(&name, &ReadOptions::default()), &WHOLE, &name);
    }
    let small = WHOLE.map(|row| row.map(|value| value.min(120.0)));
    assert_bits(&read("whole_i1.npy", &ReadOptions::default()), &small, "i1");
    let flags = WHOLE.map(|row| row.map(|value| f64::from(value > 0.0)));
    assert_bits(&read("bool.npy", &ReadOptions::default()), &flags, "bool");
}

#[test]
fn arrays_and_their_labels_by_name() {
    let options = ReadOptions { array: Some("X".into()), id: Some("number".into()), ..labelled("y") };
    let table = read("several.npz", &options);
    assert_bits(&table, &VALUES, "several.npz");
    assert_eq!(table.labels.unwrap(), LABELS);
    assert_eq!(table.ids.unwrap(), ["0", "1", "2", "3", "4", "5"]);
    for label in ["classes", "letters"] {
        let table =
            read("several.mat", &ReadOptions { array: Some("X".into()), id: Some("y".into()), ..labelled(label) });
        assert_bits(&table, &VALUES, "several.mat");
        assert_eq!(table.labels.unwrap(), LABELS);
        assert_eq!(table.ids.unwrap()[5], "5");
    }
    assert_bits(&read("several.mat", &ReadOptions { transpose: true, ..array("turned") }), &VALUES, "turned");
    assert_bits(&read("several.mat", &array("whole")), &WHOLE, "whole");
    let flags = WHOLE.map(|row| row.map(|value| f64::from(value > 0.0)));
    assert_bits(&read("several.mat", &array("flags")), &flags, "flags");
    assert_bits(&read("several.mat", &array("flags_sparse")), &flags, "flags");
    let small = VALUES.map(|row| row.map(|value| f64::from(value as f32)));
    assert_bits(&read("several.mat", &array("small")), &small, "small");
}

#[test]
fn ambiguous_and_unknown_arrays_are_listed() {
    assert_eq!(
        message("several.npz", &ReadOptions::default()),
        "several.npz: has several tables; name one with `array`: X, other"
    );
    assert_eq!(
        message("several.npz", &array("Y")),
        "several.npz: has no array 'Y'; name one with `array`: X, other, y, number, names"
    );
    assert_eq!(
        message("several.mat", &ReadOptions::default()),
        "several.mat: has several tables; name one with `array`: X (6 x 4 double), turned (4 x 6 double), whole (4 x 3 uint8), small (6 x 4 single), flags (4 x 3 uint8), flags_sparse (4 x 3 sparse)"
    );
    assert!(
        message("several.mat", &array("cube")).contains(
            "its variable 'cube' has 3 dimensions where a table has 2; name one with `array`: X (6 x 4 double)"
        )
    );
    assert!(message("several.mat", &array("text")).contains("its variable 'text' holds no numbers"));
}

#[test]
fn a_column_of_a_matrix_can_be_the_label() {
    let table = read("whole_i4.npy", &labelled("column2"));
    assert_eq!(table.labels.as_ref().unwrap(), &["0", "250", "0", "11"]);
    assert_eq!(table.features, ["column1", "column3"]);
    assert_bits(&table, &WHOLE.map(|[a, _, c]| [a, c]), "label");
}

#[test]
fn columns_of_every_type() {
    let table = read("types.parquet", &ReadOptions::default());
    for (found, whole) in dense(&table).chunks(11).zip(WHOLE) {
        assert_eq!(found[..10], [whole[0]; 10]);
        assert_eq!(found[10], f64::from(whole[1] > 0.0));
    }
    assert_eq!(
        message("holes.parquet", &ReadOptions::default()).split(';').next(),
        Some("holes.parquet, row 2, column 'f1': the cell is missing")
    );
    let table = read("holes.parquet", &ReadOptions { missing: Missing::DropRows, ..ReadOptions::default() });
    assert_eq!(table.ids.unwrap(), ["s1", "s3", "s4", "s5", "s6"]);
    assert_eq!(
        message("table.parquet", &ReadOptions::default()),
        "table.parquet, row 1, column 'class': 'red' is not a number; pass `label` = class or `id` = class if that column holds names, `ignore` = class to leave it out, or mend the cell"
    );
}

#[test]
fn kinds_of_matrix_market() {
    let flags = WHOLE.map(|row| row.map(|value| f64::from(value > 0.0)));
    assert_bits(&read("integer.mtx", &ReadOptions::default()), &WHOLE, "integer");
    assert_bits(&read("pattern.mtx", &ReadOptions::default()), &flags, "pattern");
    let symmetric = dense(&read("symmetric.npy", &ReadOptions::default()));
    for name in ["symmetric.mtx", "symmetric_array.mtx"] {
        assert_eq!(dense(&read(name, &ReadOptions::default())), symmetric, "{name}");
    }
    assert_eq!(dense(&read("skew.mtx", &ReadOptions::default())), dense(&read("skew.npy", &ReadOptions::default())));
}

#[test]
fn tenx_folders_have_samples_in_rows() {
    for name in ["tenx2", "tenx3"] {
        let table = read(name, &ReadOptions::default());
        assert_bits(&table, &VALUES, name);
        assert_eq!(table.features, FEATURES);
        assert_eq!(table.ids.as_ref().unwrap(), &IDS);
        assert!(matches!(table.values, Values::Sparse(_)));
    }
}

#[test]
fn layers_and_columns_of_anndata() {
    for name in ["dense.h5ad", "csr.h5ad", "csc.h5ad"] {
        let double = VALUES.map(|row| row.map(|value| 2.0 * value));
        assert_bits(&read(name, &array("double")), &double, name);
        assert_eq!(read(name, &labelled("flag")).labels.unwrap()[..2], ["True", "False"]);
        assert_eq!(read(name, &labelled("text")).labels.unwrap(), LABELS);
        assert_eq!(read(name, &labelled("number")).labels.unwrap(), ["0", "1", "2", "3", "4", "5"]);
        assert_eq!(
            message(name, &labelled("hole")),
            format!("{name}, row 2: the label is missing; fill it, or pass `missing` = drop-rows")
        );
        assert!(message(name, &labelled("clas")).contains("has no column 'clas' for `label`; the closest are class"));
    }
    let small = VALUES.map(|row| row.map(|value| f64::from(value as f32)));
    assert_bits(&read("dense.h5ad", &array("small")), &small, "small");
    assert_eq!(message("csr.h5ad", &array("none")), "csr.h5ad: has no layer 'none'; name one with `array`: X, double");
}

#[test]
fn files_are_inspected() {
    let look = |name: &str| inspect(&golden(name), &ReadOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    for name in ["table.csv", "table.parquet", "table.feather"] {
        let found = look(name);
        assert_eq!(found.text_columns, ["class"], "{name}");
        let table = found.table.unwrap();
        assert_eq!((table.rows, table.columns, table.missing, table.has_ids), (6, 4, 0, true), "{name}");
        assert_eq!(table.range, Some((-2.5, 1e22)));
        assert_eq!(table.features.unwrap(), FEATURES);
    }
    assert_eq!(look("holes.parquet").table.unwrap().missing, 1);
    let found = look("several.mat");
    assert_eq!(found.format, Format::Mat);
    assert!(found.table.is_none() && found.problem.unwrap().to_string().contains("has several tables"));
    assert!(
        found.arrays.iter().any(|array| array.name == "whole" && array.shape == [4, 3] && array.element == "uint8")
    );
    let found = look("several.npz");
    assert!(found.arrays.iter().any(|array| array.name == "y" && array.shape == [6] && array.element == "text"));
    assert_eq!(look("whole_u1.npy").arrays[0].element, "uint8");
    let found = look("csr.h5ad");
    assert_eq!(found.arrays.iter().map(|array| array.name.as_str()).collect::<Vec<_>>(), ["X", "double"]);
    assert_eq!(found.text_columns, ["class", "flag", "hole", "number", "text"]);
    assert_eq!(found.table.unwrap().stored, Some(13));
    let found = look("tenx3");
    assert_eq!((found.format, found.table.unwrap().range), (Format::TenX, Some((-2.5, 1e22))));
    assert!(inspect(&golden("absent.csv"), &ReadOptions::default()).is_err());
}
