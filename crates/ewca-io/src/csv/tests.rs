use crate::{Error, Missing, ReadOptions, Table, Values, read_table_from};

fn read(text: &str, options: &ReadOptions) -> Result<Table, Error> {
    read_table_from(text.as_bytes(), "t.csv", options)
}

fn data(table: &Table) -> &[f64] {
    match &table.values {
        Values::Dense(dense) => &dense.data,
        Values::Sparse(_) => panic!("text tables are dense"),
    }
}

fn message(text: &str, options: &ReadOptions) -> String {
    read(text, options).unwrap_err().to_string()
}

fn labelled(name: &str) -> ReadOptions {
    ReadOptions { label: Some(name.into()), ..ReadOptions::default() }
}

#[test]
fn labels_and_ids_are_kept_out_of_the_values() {
    let options = ReadOptions { id: Some("s".into()), ..labelled("class") };
    for text in ["s,a,class,b\nx,1,red,2\ny,3,blue,4\n", "\"s\",a,\"class\",b\r\nx,1,\"red\",2\r\ny,3,blue,4"] {
        let table = read(text, &options).unwrap();
        assert_eq!(table.features, ["a", "b"]);
        assert_eq!(table.ids.as_ref().unwrap(), &["x", "y"]);
        assert_eq!(table.labels.as_ref().unwrap(), &["red", "blue"]);
        assert_eq!(data(&table), [1.0, 2.0, 3.0, 4.0]);
    }
}

#[test]
fn delimiters_are_found() {
    for text in
        ["a,b\n1,2\n", "a;b\n1;2\n", "a\tb\n1\t2\n", "\u{feff}a,b\r\n1,2\r\n", "\n\na,b\n\n 1 , 2 \n\n", "a,b\n+1,2e0"]
    {
        let table = read(text, &ReadOptions::default()).unwrap();
        assert_eq!((data(&table), table.features.join(" ")), (&[1.0, 2.0][..], "a b".to_string()), "{text:?}");
    }
}

#[test]
fn a_first_column_without_a_name_holds_the_ids() {
    for text in [",a,b\n0,1,2\n1,3,4\n", "\"\",\"a\",\"b\"\n\"0\",1,2\n\"1\",3,4\n", "a b\n0 1 2\n1 3 4\n"] {
        let delimiter = text.contains(' ').then_some(b' ');
        let table = read(text, &ReadOptions { delimiter, ..ReadOptions::default() }).unwrap();
        assert_eq!(table.ids.as_ref().unwrap(), &["0", "1"]);
        assert_eq!(data(&table), [1.0, 2.0, 3.0, 4.0]);
    }
}

#[test]
fn without_a_header_columns_get_numbers() {
    let options = ReadOptions { header: false, ..labelled("column1") };
    let table = read("x,1,2\ny,3,4\n", &options).unwrap();
    assert_eq!(table.features, ["column2", "column3"]);
    assert_eq!(table.labels.as_ref().unwrap(), &["x", "y"]);
    assert_eq!(data(&table), [1.0, 2.0, 3.0, 4.0]);
}

#[test]
fn rows_can_be_chosen_and_columns_left_out() {
    let options = ReadOptions {
        filter: Some(("split".into(), "train".into())),
        ignore: vec!["note".into()],
        ..ReadOptions::default()
    };
    let table = read("split,a,note\ntrain,1,x\ntest,2,y\ntrain,3,z\n", &options).unwrap();
    assert_eq!(data(&table), [1.0, 3.0]);
    assert_eq!(table.features, ["a"]);
}

#[test]
fn a_transposed_table_has_features_in_rows_and_perhaps_a_row_of_labels() {
    let options = ReadOptions { transpose: true, ..labelled("class") };
    for text in [",s1,s2,s3\nclass,x,y,x\ng1,1,2,3\ng2,4,5,6\n", ",s1,s2,s3\ng1,1,2,3\n\"class\",x,y,x\ng2,4,5,6\n"] {
        let table = read(text, &options).unwrap();
        assert_eq!(table.features, ["g1", "g2"]);
        assert_eq!(table.ids.as_ref().unwrap(), &["s1", "s2", "s3"]);
        assert_eq!(table.labels.as_ref().unwrap(), &["x", "y", "x"]);
        assert_eq!(data(&table), [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
    }
}

#[test]
fn missing_cells_are_named_or_settled() {
    for cell in ["", "NA", "nan", "NaN", " N/A ", "null", "\"\"", "-nan"] {
        let text = format!("a,b\n1,2\n\n3,{cell}\n");
        assert_eq!(
            message(&text, &ReadOptions::default()),
            "t.csv, line 4, column 'b': the value is missing; pass `missing` = drop-rows, drop-columns or mean, or fill it in"
        );
        let table = read(&text, &ReadOptions { missing: Missing::Mean, ..ReadOptions::default() }).unwrap();
        assert_eq!(data(&table), [1.0, 2.0, 3.0, 2.0]);
    }
}

#[test]
fn faults_are_named_by_line_and_column() {
    let plain = ReadOptions::default();
    assert_eq!(
        message("a,b\n1,2\n3\n", &plain),
        "t.csv, line 3: has 1 cell instead of 2; check the delimiter and the quotes on that line"
    );
    assert_eq!(
        message("a,b\n1,2\n3,\"4\",5\n", &plain).split(';').next(),
        Some("t.csv, line 3: has 3 cells instead of 2")
    );
    for (cell, reason) in [
        ("inf", "finite"),
        ("1e400", "finite"),
        ("-Infinity", "finite"),
        ("x", "a number"),
        ("0x1", "a number"),
        ("1 2", "a number"),
    ] {
        for quote in ["", "\""] {
            let text = format!("a,b\n1,{quote}{cell}{quote}\n");
            let error = message(&text, &plain);
            assert!(error.starts_with(&format!("t.csv, line 2, column 'b': '{cell}' is not ")), "{error}");
            assert!(error.contains(reason), "{error}");
        }
    }
}

#[test]
fn a_wide_header_over_short_lines_does_not_ask_for_memory() {
    let mut text = "a,".repeat(50_000) + "a\n";
    text.push_str(&"1\n".repeat(50_000));
    let error = message(&text, &ReadOptions { header: false, ..ReadOptions::default() });
    assert!(error.starts_with("t.csv, line 2: has 1 cell instead of 50001"), "{error}");
}

#[test]
fn the_bits_do_not_depend_on_the_threads() {
    let mut text = "a,b,c\n".to_string();
    for row in 0..50_000 {
        text.push_str(&format!("{},{:e},{}\n", row as f64 / 7.0, (row as f64).exp2(), row));
    }
    text.truncate(text.find("inf").map_or(text.len(), |at| text[..at].rfind('\n').unwrap()));
    let bits = |threads| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            data(&read(&text, &ReadOptions::default()).unwrap()).iter().map(|x| x.to_bits()).collect::<Vec<_>>()
        })
    };
    assert_eq!(bits(1), bits(3));
}
