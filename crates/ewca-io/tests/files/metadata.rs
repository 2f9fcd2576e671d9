//! What is known of samples: columns of tables, and text tables of their own, joined by the samples' names.

use std::io::Write;
use std::path::Path;

use ewca_io::{
    Annotation, Error, Joined, Known, Metadata, ReadOptions, Table, TableReader, read_table, read_table_from,
};

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| name.to_string()).collect()
}

fn open(bytes: &[u8]) -> Result<Metadata, Error> {
    Metadata::of_bytes(bytes.to_vec(), "m.csv", &ReadOptions::default())
}

fn join(text: &str, ids: &[&str]) -> Result<Joined, Error> {
    open(text.as_bytes())?.join(&names(ids), None, &[])
}

fn texts(annotations: &[Annotation]) -> Vec<String> {
    annotations.iter().map(|column| format!("{}: {}", column.name, column.texts().join(" "))).collect()
}

const SHEET: &str = "sample,batch,age,note\ns3,one,31.5,NA\ns1,two,40.25,x\ns2,one,,y\n";

#[test]
fn rows_are_joined_by_name_in_any_order() {
    let found = join(SHEET, &["s1", "s2", "s3"]).unwrap();
    assert_eq!(texts(&found.annotations), ["batch: two one one", "age: 40.25  31.5", "note: x y "]);
    assert!(matches!(found.annotations[1].known, Known::Numbers { .. }));
    assert_eq!((found.id_column.as_str(), found.samples), ("sample", 3));
    assert_eq!((found.without_row.count, found.without_sample.count), (0, 0));
    // Wanted columns come first.
    let wanted = open(SHEET.as_bytes()).unwrap().join(&names(&["s1"]), None, &names(&["note"])).unwrap();
    assert_eq!(texts(&wanted.annotations), ["note: x", "batch: two", "age: 40.25"]);
}

#[test]
fn the_column_of_names_is_found_wherever_it_is() {
    let last = "batch,who\na,s2\nb,s1\n";
    assert_eq!(join(last, &["s1", "s2"]).unwrap().id_column, "who");
    // As pandas and R write row names.
    for text in [",batch\ns1,a\ns2,b\n", "batch\ns1,a\ns2,b\n"] {
        let found = join(text, &["s2", "s1"]).unwrap();
        assert_eq!((found.id_column.as_str(), texts(&found.annotations)), ("", vec!["batch: b a".to_string()]));
    }
    // Numbers of rows are looked for in the first column alone.
    assert!(join("batch,x\nu,1\nv,2\n", &["1", "2"]).unwrap_err().to_string().contains("matches no sample"));
    assert_eq!(join("row,batch\n2,1\n1,7\n", &["1", "2"]).unwrap().annotations[0].texts(), ["7", "1"]);
    // The one that is named counts, even if another has more names.
    let two = open(b"a,b,c\ns1,s2,x\nzz,s1,y\n").unwrap();
    let found = two.join(&names(&["s1", "s2"]), Some("a"), &[]).unwrap();
    assert_eq!(texts(&found.annotations), ["b: s2 ", "c: x "]);
}

#[test]
fn mismatches_are_named_and_counted() {
    let found = join(&SHEET.replace("s1", "t1"), &["s1", "s2", "s3", "s4", "s5", "s6"]).unwrap();
    assert_eq!((found.samples, found.without_row.count, found.without_sample.count), (2, 4, 1));
    assert_eq!(found.without_row.in_words(), "s1, s4, s5 and 1 more");
    assert_eq!(found.without_sample.in_words(), "t1");
    assert_eq!(found.annotations[0].missing(), 4);
    let error = join(SHEET, &["x1", "x2"]).unwrap_err().to_string();
    let wanted = "m.csv: matches no sample: column 'sample' has s3, s1, s2, but the samples are called x1, x2";
    assert!(error.starts_with(wanted) && error.contains("`id`"), "{error}");
}

#[test]
fn names_that_come_twice_are_refused() {
    for (text, ids, why) in [
        ("id,x\na,1\nb,2\na,3\n", vec!["a", "b"], "has 'a' on lines 2 and 4; keep one row per sample"),
        ("id,x\na,1\nb,2\nb,3\n", vec!["a"], "has 'b' on lines 3 and 4"),
        ("id,x\na,1\n,2\n,3\n", vec!["a"], "has a sample without a name on lines 3 and 4"),
        ("id,x\na,1\n", vec!["a", "a"], "samples 1 and 2 of the table are both called 'a'"),
        ("id,x,x\na,1,2\n", vec!["a"], "has two columns called 'x'; rename one"),
        ("id\na\n", vec!["a"], "has no columns other than the sample names"),
        ("id,x\na,1,2,3\n", vec!["a"], "line 2: has 4 cells instead of 2"),
        ("id,x\n", vec!["a"], "has no rows below its header"),
    ] {
        let error = join(text, &ids).unwrap_err().to_string();
        assert!(error.contains(why), "{text}: {error}");
    }
}

#[test]
fn compressed_sheets_and_other_encodings_are_read() {
    let wanted = join("id;Größe\na;1,5\nb;2,25\n", &["a", "b"]).unwrap();
    assert_eq!(wanted.annotations[0].known, Known::Numbers { numbers: vec![Some(1.5), Some(2.25)] });
    let text = "id;Größe\na;1,5\nb;2,25\n";
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let latin1: Vec<u8> = text.chars().map(|c| c as u32 as u8).collect();
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(text.as_bytes()).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for (name, bytes) in [("m.csv", utf16), ("l.csv", latin1), ("m.csv.gz", gzip.finish().unwrap())] {
        let path = folder.path().join(name);
        std::fs::write(&path, bytes).unwrap();
        let found = Metadata::open(&path, &ReadOptions::default()).unwrap().join(&names(&["a", "b"]), None, &[]);
        assert_eq!(found.unwrap(), wanted, "{name}");
    }
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/plain.mat");
    let error = Metadata::open(&golden, &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("metadata must be a text table; save it as .csv"), "{error}");
    let error = Metadata::open(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
    assert!(error.contains("is a folder"), "{error}");
}

/// A million columns are named or refused, and rows without samples take no more room than their bytes justify.
#[test]
fn hostile_sheets_are_harmless() {
    let wide: Vec<String> = (0..1_000_000).map(|at| format!("c{at}")).collect();
    let text = format!("id,{}\na,{}\n", wide.join(","), vec!["1.5"; wide.len()].join(","));
    let sheet = open(text.as_bytes()).unwrap();
    let ids = names(&["a"]);
    let error = sheet.join(&ids, None, &[]).unwrap_err().to_string();
    assert!(
        error.contains("has 1000001 columns, and at most 200 can be used; choose the ones you need with `label`"),
        "{error}"
    );
    let found = sheet.join(&ids, None, &names(&["c999999", "c3"])).unwrap();
    assert_eq!(texts(&found.annotations), ["c999999: 1.5", "c3: 1.5"]);

    let strange =
        "id,\"a\u{7}\u{1b}[2J\n\u{202e}b\",n\ns\u{1b}[1m,\"c\n\u{1b}]0;x\u{7}\",inf\nt,=cmd(),-1e999\nu,'=x,nan\n";
    let found = join(strange, &["t", "u", "s\u{1b}[1m"]).unwrap();
    assert_eq!(found.annotations[0].texts(), ["=cmd()", "=x", "c\n\u{1b}]0;x\u{7}"]);
    assert_eq!(found.annotations[1].known, Known::Numbers { numbers: vec![None, None, None] });
    let error = join(strange, &["none\u{1b}[2J"]).unwrap_err().to_string();
    assert!(!error.contains('\u{1b}') && !error.contains('\n'), "{error:?}");

    for bytes in [
        &b""[..],
        b"\n\n",
        b"id",
        b"\"",
        b"id,x\n\"",
        b"id,x\n\"a,1\n",
        b"\0\0\0",
        b"id,x\n\xff\xfe,1\n",
        b"\xff\xfe",
        b"#\n#\n",
    ] {
        // Refused or joined: no panic.
        let _ = open(bytes).and_then(|sheet| sheet.join(&ids, None, &[]));
    }
    let many: String = (0..200_000).map(|at| format!("r{at},1\n")).collect();
    let found = join(&format!("id,x\na,2\n{many}"), &["a"]).unwrap();
    assert_eq!((found.without_sample.count, found.without_sample.first.len()), (200_000, 3));
}

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn annotated(table: &Table) -> Vec<Annotation> {
    let of = |text: &ewca_io::TextCells| {
        Annotation::of_texts(&text.name, text.cells.iter().map(String::as_str), text.categorical, &[])
    };
    table.texts.iter().map(of).collect()
}

/// The columns of obs are as `make_golden.py` wrote them with anndata.
#[test]
fn columns_of_obs_are_classes_or_numbers_as_anndata_has_them() {
    let annotations = names(&["number", "hole", "flag", "text"]);
    let options = ReadOptions { label: Some("class".into()), annotations, ..ReadOptions::default() };
    for name in ["dense.h5ad", "csr.h5ad", "csc.h5ad"] {
        let table = read_table(&golden(name), &options).unwrap();
        let found = annotated(&table);
        assert_eq!(
            texts(&found)[..3],
            ["number: 0 1 2 3 4 5", "hole: a  b a a b", "flag: True False True False True True"]
        );
        assert_eq!(found[3].texts(), table.labels.unwrap());
        assert!(!table.texts[0].categorical && table.texts[1..].iter().all(|text| text.categorical), "{name}");
        assert_eq!(found[1].missing(), 1);
    }
    let reader = TableReader::open(&golden("csr.h5ad"), &options).unwrap();
    assert_eq!(texts(&annotated(&reader.read(2..4).unwrap()))[..2], ["number: 2 3", "hole: b a"]);
    let old = ReadOptions { annotations: names(&["size", "class"]), ..ReadOptions::default() };
    let table = read_table(&golden("old.h5ad"), &old).unwrap();
    assert_eq!((table.texts[0].categorical, table.texts[1].categorical), (false, true));
    let loom = ReadOptions { annotations: names(&["class"]), ..ReadOptions::default() };
    assert_eq!(read_table(&golden("cells.loom"), &loom).unwrap().texts[0].cells, table.texts[1].cells);
    let error = read_table(&golden("csr.h5ad"), &ReadOptions { annotations: names(&["hol"]), ..old }).unwrap_err();
    assert!(error.to_string().contains("has no column 'hol' for `label`"), "{error}");
}

#[test]
fn columns_of_a_table_are_kept_out_of_its_numbers() {
    let text = "name,x,batch,y,age\na,1,u,2,30\nb,3,,4,31\n";
    let options =
        ReadOptions { id: Some("name".into()), annotations: names(&["age", "batch"]), ..ReadOptions::default() };
    for text in [text, &text.replace("u", "\"u\"")] {
        let table = read_table_from(text.as_bytes(), "t.csv", &options).unwrap();
        assert_eq!(
            (table.features.join(" "), texts(&annotated(&table))),
            ("x y".into(), names(&["age: 30 31", "batch: u "]))
        );
    }
    let turned = ReadOptions { transpose: true, ..options };
    let error = read_table_from(text.as_bytes(), "t.csv", &turned).unwrap_err().to_string();
    assert!(error.contains("samples in columns can have only one `label`") && error.contains("`metadata`"), "{error}");
}
