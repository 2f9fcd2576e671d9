//! The files of tests/golden, written by NumPy, pandas, pyarrow, SciPy and anndata (make_golden.py):
//! the same data in every format gives the same bits.

use std::path::{Path, PathBuf};

use ewca_io::{Annotation, Error, Format, Missing, ReadOptions, Table, Values, inspect, read_table};

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
        "several.npz: has several tables; choose one with `array`: X, other"
    );
    assert_eq!(
        message("several.npz", &array("Y")),
        "several.npz: has no array 'Y'; choose one with `array`: X, other, y, number, names"
    );
    assert_eq!(
        message("several.mat", &ReadOptions::default()),
        "several.mat: has several tables; choose one with `array`: X (6 x 4 double), turned (4 x 6 double), whole (4 x 3 uint8), small (6 x 4 single), flags (4 x 3 uint8), flags_sparse (4 x 3 sparse)"
    );
    assert!(
        message("several.mat", &array("cube"))
            .contains("its variable 'cube' has 3 dimensions instead of 2; choose one with `array`: X (6 x 4 double)")
    );
    assert!(message("several.mat", &array("text")).contains("its variable 'text' contains no numbers"));
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
        Some("holes.parquet, row 2, column 'f1': the value is missing")
    );
    let table = read("holes.parquet", &ReadOptions { missing: Missing::DropRows, ..ReadOptions::default() });
    assert_eq!(table.ids.unwrap(), ["s1", "s3", "s4", "s5", "s6"]);
    assert_eq!(
        message("table.parquet", &ReadOptions::default()),
        "table.parquet, row 1, column 'class': 'red' is not a number; pass `label` = class or `id` = class if the column contains names or classes, `ignore` = class to leave it out, or fix the value"
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
            format!("{name}, row 2: the label is missing; fill it in, or pass `missing` = drop-rows")
        );
        assert!(
            message(name, &labelled("clas"))
                .contains("has no column 'clas' for `label`; the most similar names are class")
        );
    }
    let small = VALUES.map(|row| row.map(|value| f64::from(value as f32)));
    assert_bits(&read("dense.h5ad", &array("small")), &small, "small");
    assert_eq!(
        message("csr.h5ad", &array("none")),
        "csr.h5ad: has no layer 'none'; choose one with `array`: X, double"
    );
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

/// What other programs write beside the cells, around them and into them is understood, and said.
#[test]
fn tables_as_people_have_them() {
    let cases = [
        ("utf16.csv", "UTF-16LE text"),
        ("decimal.csv", "decimal commas"),
        ("table.csv.bz2", ""),
        ("table.csv.xz", ""),
        ("table.csv.zip", ""),
        ("sep_line.csv", ""),
        ("trailing.csv", "a delimiter at the end of each line skipped"),
        ("comments.csv", "2 lines before the table skipped"),
    ];
    for (name, said) in cases {
        let table = read(name, &labelled("class"));
        assert_bits(&table, &VALUES, name);
        assert_eq!(table.features, FEATURES, "{name}");
        assert_eq!(
            (table.ids.unwrap(), table.labels.unwrap()),
            (IDS.map(String::from).into(), LABELS.map(String::from).into())
        );
        assert_eq!(table.notes.join(", "), said, "{name}");
        let promised = ewca_io::TableFile::at(&golden(name)).forecast(&labelled("class")).unwrap();
        // Empty rows at the end are seen when they are read.
        assert!(promised.columns == 4 && (6..9).contains(&promised.rows), "{name}: {promised:?}");
    }
    let latin1 = ReadOptions { encoding: Some("latin1".into()), ..labelled("class") };
    let table = read("latin1.csv", &latin1);
    assert_bits(&table, &VALUES, "latin1.csv");
    assert_eq!(
        (table.features, table.notes.join(", ")),
        (FEATURES.map(String::from).into(), "windows-1252 text".into())
    );
    let unknown = ReadOptions { encoding: Some("klingon".into()), ..ReadOptions::default() };
    let error = read_table(&golden("latin1.csv"), &unknown).unwrap_err().to_string();
    assert!(error.starts_with("there is no encoding 'klingon'; give `encoding` one such as"), "{error}");
    // Somebody says that the commas are no decimal ones.
    let point = ReadOptions { decimal: Some(b'.'), ..labelled("class") };
    assert!(message("decimal.csv", &point).contains("'1,0' contains a comma; pass `decimal` = ,"));
    let table = read("savetxt.txt", &ReadOptions::default());
    assert_bits(&table, &VALUES, "savetxt.txt");
    assert_eq!(table.features, ["a", "b", "c", "d"]);
}

/// MATLAB 7.3 keeps a sparse matrix as a group of lists.
#[test]
fn sparse_matrices_of_matlab_7_3() {
    let table = read("sparse73.mat", &ReadOptions { array: Some("X".into()), ..labelled("y") });
    let mut expected = VALUES.to_vec();
    expected.push([0.0; 4]);
    assert_bits(&table, &expected, "sparse73.mat");
    assert!(matches!(table.values, Values::Sparse(_)));
    assert_eq!(table.labels.unwrap(), ["0", "1", "2", "3", "4", "5", "6"]);
    let nothing = read("sparse73.mat", &array("nothing"));
    assert_eq!((nothing.rows(), nothing.columns(), nothing.values.stored().len()), (3, 2, 0));
    assert_eq!(
        message("sparse73.mat", &ReadOptions::default()),
        "sparse73.mat: has several tables; choose one with `array`: y (1 x 7 double), X (7 x 4 sparse), nothing (3 x 2 sparse)"
    );
    let found = inspect(&golden("sparse73.mat"), &ReadOptions::default()).unwrap();
    assert!(found.arrays.iter().any(|array| array.name == "X" && array.shape == [7, 4]), "{:?}", found.arrays);
}

/// R writes row names without a name above them, and spaces between cells.
#[test]
fn tables_of_r() {
    for (name, said) in [("r_csv2.csv", "decimal commas"), ("r_table.txt", "cells separated by spaces")] {
        let table = read(name, &ReadOptions { missing: Missing::Mean, ..labelled("class") });
        assert_eq!(dense(&table), [1.0, 0.5, 0.0, (0.5 - 2.25e-10) / 2.0, 3.0, -2.25e-10], "{name}");
        assert_eq!(table.features, ["f1", "f 2"], "{name}");
        assert_eq!(table.ids.unwrap(), ["s1", "s 2", "s3"], "{name}");
        assert_eq!(table.labels.unwrap(), ["red", "dark blue", "red"], "{name}");
        assert_eq!(table.notes, [said], "{name}");
    }
}

/// Genes in rows: `inspect` finds the way to read them.
#[test]
fn tables_of_genes_are_seen_to_be_turned() {
    for (name, id) in [("table.gct", "Name"), ("series_matrix.txt", "ID_REF"), ("counts.txt", "Geneid")] {
        let found = inspect(&golden(name), &ReadOptions::default()).unwrap();
        // Four genes of six samples are too few to be sure.
        assert_eq!((found.read.transpose, found.problem), (false, None), "{name}");
        assert_eq!(found.facts[0].name, id);
        assert!(found.facts[0].is_distinct, "{name}");
        let ignore = match name {
            "table.gct" => vec!["Description"],
            "counts.txt" => vec!["Chr", "Start", "End", "Strand", "Length"],
            _ => vec![],
        };
        let ignore = ignore.into_iter().map(String::from).collect();
        let options = ReadOptions { transpose: true, id: Some(id.into()), ignore, ..ReadOptions::default() };
        let table = read(name, &options);
        assert_bits(&table, &VALUES, name);
        assert_eq!(table.features, FEATURES, "{name}");
        assert_eq!(table.ids.unwrap(), IDS, "{name}");
    }
}

/// GCT 1.3 says what is known of genes, in columns, and of samples, in rows.
#[test]
fn what_a_gct_file_knows_of_its_samples_is_read() {
    let turned = ReadOptions { transpose: true, id: Some("id".into()), ..labelled("class") };
    let table = read("notes.gct", &ReadOptions { annotations: vec!["dose".into()], ..turned.clone() });
    assert_bits(&table, &VALUES, "notes.gct");
    assert_eq!(
        (&table.features[..], &table.ids.unwrap()[..]),
        (&FEATURES.map(String::from)[..], &IDS.map(String::from)[..])
    );
    assert_eq!(table.labels.unwrap(), LABELS);
    assert_eq!((table.texts[0].name.as_str(), table.texts[0].cells.join(" ")), ("dose", "0.5 1 NA 2 2.5 3".into()));
    assert_eq!(table.notes, ["a GCT file with class, dose for its samples", "2 lines before the table skipped"]);
    // The other way around; samples that are left out take what is known of them along.
    let first = ReadOptions { label: Some("dose".into()), annotations: vec!["class".into()], ..turned.clone() };
    let table = read("notes.gct", &ReadOptions { ignore: vec!["s2".into()], ..first });
    assert_eq!(table.labels.unwrap().join(" "), "0.5 NA 2 2.5 3");
    assert_eq!(table.texts[0].cells, ["red", "red", "green", "blue", "red"]);
    let both = ReadOptions { annotations: vec!["dose".into()], ..turned.clone() };
    assert_eq!(inspect(&golden("notes.gct"), &both).unwrap().problem, None);
    let unknown = ReadOptions { annotations: vec!["batch".into()], ..turned };
    let error = read_table(&golden("notes.gct"), &unknown).unwrap_err().to_string();
    assert!(error.contains("can have only one `label`, and 'batch' is a second one"), "{error}");
    // Genes as samples: their columns may be named, and what is known of the others is left out.
    let genes = read("notes.gct", &ReadOptions { id: Some("id".into()), ..labelled("Description") });
    assert_eq!((genes.rows(), genes.columns(), &genes.labels.unwrap()[3][..]), (4, 6, "gene 3"));
    let found = inspect(&golden("notes.gct"), &ReadOptions::default()).unwrap();
    assert_eq!((found.problem, found.text_columns), (None, vec!["id".to_string()]));
}

/// Single cells in the files of other programs.
#[test]
fn cells_of_other_programs() {
    let two = |file: &str, label: Option<&str>| {
        read(file, &ReadOptions { label: label.map(Into::into), ..ReadOptions::default() })
    };
    for (name, label, said) in [
        ("tenx2.h5", None, "a 10x file of version 2"),
        ("cells.loom", Some("class"), "a loom file"),
        ("old.h5ad", Some("class"), ""),
    ] {
        let table = two(name, label);
        assert_bits(&table, &VALUES, name);
        assert_eq!(table.features, FEATURES, "{name}");
        assert_eq!(table.ids.unwrap(), IDS, "{name}");
        assert_eq!(table.labels, label.map(|_| LABELS.map(String::from).to_vec()), "{name}");
        assert_eq!(table.notes.join(", "), said, "{name}");
        let promised = ewca_io::TableFile::at(&golden(name)).forecast(&ReadOptions::default()).unwrap();
        assert_eq!((promised.rows, promised.columns), (6, 4), "{name}");
        let bytes = std::fs::read(golden(name)).unwrap();
        let streamed = ewca_io::read_table_from(&bytes[..], name, &ReadOptions::default()).unwrap();
        assert_bits(&streamed, &VALUES, name);
    }
    // Numbers of obs are read as text, and categories by their words.
    let sizes = two("old.h5ad", Some("size")).labels.unwrap();
    assert_eq!(sizes, ["1", "0", "3", "0", "5", "0.25"]);
    for name in ["zstd.h5ad", "blosc.h5ad", "lz4.h5ad", "bzip2.h5ad"] {
        assert_bits(&two(name, None), &VALUES, name);
    }
    // Not as damaged, but for what it is.
    let unknown = message("zfp.h5ad", &ReadOptions::default());
    assert!(unknown.starts_with("zfp.h5ad: X is stored in a way that ewca cannot read"), "{unknown}");
    assert!(unknown.ends_with("; save the file again with gzip compression, or without compression"), "{unknown}");
    let table = two("v73.mat", Some("y"));
    assert_bits(&table, &VALUES, "v73.mat");
    assert_eq!(table.labels.unwrap(), ["0", "1", "2", "3", "4", "5"]);
    let found = inspect(&golden("v73.mat"), &ReadOptions::default()).unwrap();
    assert!(found.arrays.iter().any(|array| array.name == "X" && array.shape == [6, 4]), "{:?}", found.arrays);
}

/// Genes and antibodies are not mixed unless somebody wants it.
#[test]
fn features_of_one_type_are_kept() {
    let typed = |wanted: Option<&str>| ReadOptions { feature_type: wanted.map(Into::into), ..ReadOptions::default() };
    let table = read("tenx3.h5", &typed(None));
    assert_eq!(table.features, FEATURES[..3]);
    assert_eq!(table.notes, ["a 10x file", "only features of type Gene Expression"]);
    let genes: Vec<f64> = VALUES.iter().flat_map(|row| row[..3].to_vec()).collect();
    assert_eq!(dense(&table), genes);
    let table = read("tenx3.h5", &typed(Some("Antibody Capture")));
    assert_eq!((table.features[0].as_str(), dense(&table)), ("f,4", VALUES.map(|row| row[3]).to_vec()));
    assert_eq!(
        message("tenx3.h5", &typed(Some("Peaks"))),
        "tenx3.h5: has no features of type 'Peaks' for `feature_type`; it has Gene Expression, Antibody Capture"
    );
    // A folder with one type is as it was.
    assert_eq!(read("tenx3", &typed(None)).features, FEATURES);
    assert_eq!(read("tenx3", &typed(Some("Gene Expression"))).features, FEATURES);
}

/// AnnData keeps colours for classes in `uns`, in the order of the categories. What is no colour, or not enough, is as if it were not there.
#[test]
fn colours_of_classes_are_those_of_anndata() {
    let columns = ["text", "few", "words", "script", "transparent", "many"];
    let options = ReadOptions { annotations: columns.map(String::from).to_vec(), ..labelled("class") };
    let table = read("colours.h5ad", &options);
    let found: Vec<String> = table
        .palettes
        .iter()
        .map(|palette| {
            let colours = palette.colours.iter().map(|(class, colour)| format!(" {class}={colour}"));
            palette.column.clone() + &colours.collect::<String>()
        })
        .collect();
    let pairs = |colours: [&str; 3]| format!(" red={} green={} blue={}", colours[0], colours[1], colours[2]);
    assert_eq!(
        found,
        [
            "class".to_string() + &pairs(["#d62728", "#2ca02c", "#1f77b4"]),
            "transparent".to_string() + &pairs(["#ff0000", "#00ff00", "#112233"]),
            "many".to_string() + &pairs(["#000001", "#000002", "#000003"]),
        ]
    );
    let reader = ewca_io::TableReader::open(&golden("colours.h5ad"), &options).unwrap();
    assert_eq!(reader.read(2..4).unwrap().palettes, table.palettes);
    // By class, however the classes are sorted; and only where each class has one.
    let cells = || LABELS.iter().copied();
    let annotation = Annotation::of_texts("class", cells(), true, &[]).with_palette(&table.palettes);
    assert_eq!(annotation.colours, ["#1f77b4", "#2ca02c", "#d62728"]);
    assert!(Annotation::of_texts("other", cells(), true, &[]).with_palette(&table.palettes).colours.is_empty());
    let more = Annotation::of_texts("class", cells().chain(["violet"]), true, &[]);
    assert!(more.with_palette(&table.palettes).colours.is_empty());
    let numbers = Annotation::of_texts("class", ["0.5"].into_iter(), false, &[]);
    assert!(numbers.with_palette(&table.palettes).colours.is_empty());
}
