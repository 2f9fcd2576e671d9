//! Bad inputs, each with the one line that it gets. To add one, add a row to the table that fits.
//!
//! `FILE` stands for the path of the file.

use std::fs;
use std::io::Write;
use std::path::Path;

use ewca_io::{Format, Missing, ReadOptions, read_table};

/// A file that cannot be read as asked.
struct Bad {
    /// What the file is called.
    file: &'static str,
    content: Vec<u8>,
    options: ReadOptions,
    message: &'static str,
}

fn bad(file: &'static str, content: impl Into<Vec<u8>>, message: &'static str) -> Bad {
    Bad { file, content: content.into(), options: ReadOptions::default(), message }
}

impl Bad {
    fn with(mut self, change: impl FnOnce(&mut ReadOptions)) -> Bad {
        change(&mut self.options);
        self
    }

    fn label(self, name: &str) -> Bad {
        self.with(|options| options.label = Some(name.into()))
    }
}

fn text_tables() -> Vec<Bad> {
    vec![
        // Nothing there.
        bad("empty.csv", "", ""),
        bad("blank.csv", "\n  \n\r\n", ""),
        bad("mark.csv", "\u{feff}", ""),
        bad("header.csv", "a,b\n", ""),
        bad("only_text.csv", "a\nx\n", "").label("a"),
        // Shape.
        bad("short.csv", "a,b,c\n1,2,3\n4,5\n", ""),
        bad("long.csv", "a,b\n1,2\n3,4,5\n", ""),
        bad("long_quoted.csv", "a,b\n1,\"2\"\n3,4,5\n", ""),
        bad("truncated.csv", "a,b\n1,2\n3,", ""),
        bad("wide_header.csv", "a,".repeat(1000) + "z\n" + &"1\n".repeat(1000), ""),
        bad("open_quote.csv", "a,b\n1,\"2\n3,4\n", ""),
        bad("open_quote_header.csv", "\"a,b\n1,2\n3,4\n", ""),
        // Cells.
        bad("text.csv", "a,class\n1,red\n", ""),
        bad("text_late.csv", "a,b\n1,2\n\n\n3,x\n", ""),
        bad("text_crlf.csv", "a,b\r\n1,2\r\n3,x\r\n", ""),
        bad("text_mark.csv", "\u{feff}a,b\n1,x\n", ""),
        bad("decimal_comma.csv", "a;b\n1,5;2,5\n", ""),
        bad("hexadecimal.csv", "a\n0x1F\n", ""),
        bad("units.csv", "a\n12 mm\n", ""),
        bad("long_cell.csv", format!("a\n{}\n", "x".repeat(100_000)), ""),
        bad("control.csv", "a\n\u{1b}[31m\n", ""),
        bad("nan.csv", "a,b\n1,NaN\n", ""),
        bad("na.csv", "a,b\n1,NA\n", ""),
        bad("hole.csv", "a,b\n1,2\n,4\n", ""),
        bad("inf.csv", "a,b\n1,inf\n", ""),
        bad("minus_inf.csv", "a,b\n1,\"-Infinity\"\n", ""),
        bad("1e400.csv", "a,b\n1,1e400\n", ""),
        bad("all_rows.csv", "a,b\n1,NA\nNA,2\n", "").with(|o| o.missing = Missing::DropRows),
        bad("all_columns.csv", "a,b\n1,NA\nNA,2\n", "").with(|o| o.missing = Missing::DropColumns),
        bad("no_mean.csv", "a,b\n1,NA\n2,NA\n", "").with(|o| o.missing = Missing::Mean),
        // Names.
        bad("twice.csv", "a,b,a\n1,2,3\n", ""),
        bad("no_header.csv", "1,2,1\n3,4,5\n", ""),
        bad("unnamed.csv", "a,,c\n1,2,3\n", ""),
        bad("trailing.csv", "a,b,\n1,2,\n", ""),
        bad("no_label.csv", "Class,a,b\nx,1,2\n", "").label("class"),
        bad("no_id.csv", "a,b\n1,2\n", "").with(|o| o.id = Some("sample".into())),
        bad("no_ignore.csv", "a,b\n1,2\n", "").with(|o| o.ignore = vec!["c".into()]),
        bad("no_match.csv", "split,a\ntrain,1\n", "").with(|o| o.filter = Some(("split".into(), "test".into()))),
        bad("empty_label.csv", "class,a\nx,1\n,2\n", "").label("class"),
        bad("no_label_row.csv", ",s1\nclasss,x\ng,1\n", "").label("class").with(|o| o.transpose = true),
        bad("twice_turned.csv", ",s1\ng,1\ng,2\n", "").with(|o| o.transpose = true),
        bad("turned_without_names.csv", "s1,s2\n1,2\n", "").label("y").with(|o| o.transpose = true),
        // Encodings and strangers.
        bad("latin1_name.csv", b"a,gr\xfcn\n1,2\n", ""),
        bad("latin1_label.csv", b"class,a\nx,1\ngr\xfcn,2\n", "").label("class"),
        bad("utf16.csv", b"\xff\xfea\0,\0b\0\n\0", ""),
        bad("mac.csv", "a,b\r1,2\r3,4\r", ""),
        bad("binary.csv", vec![0u8; 100], ""),
        bad("old_excel.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ""),
        bad("r_data.csv", gz(b"RDX3\nX\n"), ""),
        bad("delimiter.csv", "a,b\n1,2\n", "").with(|o| o.delimiter = Some(b'.')),
        bad("filter_turned.csv", "a,b\n1,2\n", "").with(|o| {
            o.transpose = true;
            o.filter = Some(("a".into(), "1".into()));
        }),
        // Compression.
        bad("cut.csv.gz", { let whole = gz(&[b'1'; 9999]); whole[..whole.len() - 9].to_vec() }, ""),
        bad("damaged.csv.gz", { let mut whole = gz(b"a,b\n1,2\n"); whole[14] ^= 0x55; whole }, ""),
        bad("empty.csv.gz", gz(b""), ""),
        bad("cut.csv.zst", b"\x28\xb5\x2f\xfd\x04", ""),
        bad("bomb.csv.gz", gz(&vec![b'1'; 10 << 20]), "").with(|o| o.max_bytes = Some(1 << 20)),
        bad("too_long.csv", "a,b\n1,2\n", "").with(|o| o.max_bytes = Some(4)),
    ]
}

fn arrays() -> Vec<Bad> {
    let header = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let mut damaged_mat = golden("compressed.mat");
    damaged_mat[160] ^= 0x55;
    vec![
        // NumPy.
        bad("text.npy", "a,b\n1,2\n", ""),
        bad("cut_header.npy", b"\x93NUMPY\x01\x00", ""),
        bad("no_shape.npy", npy("{'descr': '<f8', 'fortran_order': False}", &[]), ""),
        bad("cut.npy", golden("c.npy")[..200].to_vec(), ""),
        bad("longer.npy", [golden("c.npy"), vec![0; 3]].concat(), ""),
        bad("huge.npy", npy(&header("'<f8'", "(1000000, 1000000)"), &[0; 8]), ""),
        bad("overflow.npy", npy(&header("'<f8'", "(18446744073709551615, 2)"), &[0; 8]), ""),
        bad("huge_header.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff", ""),
        bad("vector.npy", golden("vector.npy"), ""),
        bad("complex.npy", golden("complex.npy"), ""),
        bad("records.npy", npy(&header("[('a', '<f8')]", "(1,)"), &[0; 8]), ""),
        bad("objects.npy", npy(&header("'|O'", "(1, 1)"), &[0; 8]), ""),
        bad("texts.npy", npy(&header("'<U1'", "(1, 1)"), b"a\0\0\0"), ""),
        bad("nan.npy", npy(&header("'<f8'", "(1, 2)"), &[1f64.to_le_bytes(), f64::NAN.to_le_bytes()].concat()), ""),
        bad("inf.npy", npy(&header("'<f8'", "(1, 2)"), &[1f64.to_le_bytes(), f64::INFINITY.to_le_bytes()].concat()), ""),
        bad("no_rows.npy", npy(&header("'<f8'", "(0, 2)"), &[]), ""),
        bad("no_columns.npy", npy(&header("'<f8'", "(2, 0)"), &[]), ""),
        bad("label.npy", golden("c.npy"), "").label("column9"),
        bad("several.npz", golden("several.npz"), ""),
        bad("no_array.npz", golden("several.npz"), "").with(|o| o.array = Some("Y".into())),
        bad("short_label.npz", golden("several.npz"), "").label("names").with(|o| o.array = Some("X".into())),
        bad("cut.npz", golden("several.npz")[..500].to_vec(), ""),
        bad("bomb.npz", zip_of("X.npy", &npy(&header("'|u1'", "(4096, 4096)"), &vec![0; 4096 * 4096])), "").with(|o| o.max_bytes = Some(1 << 20)),
        bad("empty.npz", zip_of("note.txt", b"hello"), ""),
        // MATLAB.
        bad("text.mat", "a,b\n1,2\n", ""),
        bad("cut_header.mat", golden("plain.mat")[..100].to_vec(), ""),
        bad("cut.mat", golden("plain.mat")[..200].to_vec(), ""),
        bad("damaged.mat", damaged_mat, ""),
        bad("hdf5.mat", b"MATLAB 7.3 MAT-file, Platform: GLNXA64", ""),
        bad("no_variable.mat", golden("compressed.mat"), "").with(|o| o.array = Some("Y".into())),
        bad("cube.mat", golden("several.mat"), "").with(|o| o.array = Some("cube".into())),
        bad("word.mat", golden("several.mat"), "").with(|o| o.array = Some("text".into())),
        // Matrix Market.
        bad("text.mtx", "a,b\n1,2\n", ""),
        bad("header.mtx", "%%MatrixMarket matrix\n", ""),
        bad("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", ""),
        bad("no_size.mtx", "%%MatrixMarket matrix coordinate real general\n% nothing\n", ""),
        bad("bad_size.mtx", "%%MatrixMarket matrix coordinate real general\n2 x 1\n", ""),
        bad("outside.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n", ""),
        bad("zero.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 5\n", ""),
        bad("word.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 x\n", ""),
        bad("inf.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e400\n", ""),
        bad("nan.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 nan\n", ""),
        bad("cut.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 5\n", ""),
        bad("huge.mtx", "%%MatrixMarket matrix coordinate real general\n99999999999 9 1\n1 1 5\n", ""),
        bad("oblong.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 5\n", ""),
    ]
}

fn columnar() -> Vec<Bad> {
    let cut = |name: &str| { let whole = golden(name); whole[..whole.len() / 2].to_vec() };
    vec![
        bad("text.parquet", "a,b\n1,2\n", ""),
        bad("cut.parquet", cut("table.parquet"), ""),
        bad("magic.parquet", "PAR1", ""),
        bad("text_column.parquet", golden("table.parquet"), ""),
        bad("hole.parquet", golden("holes.parquet"), ""),
        bad("no_label.parquet", golden("table.parquet"), "").label("klass"),
        bad("turned.parquet", golden("table.parquet"), "").label("class").with(|o| o.transpose = true),
        bad("cut.feather", cut("table.feather"), ""),
        bad("old.feather", "FEA1....", ""),
        bad("text.arrow", "a,b\n1,2\n", ""),
        bad("text.h5ad", "a,b\n1,2\n", ""),
        bad("magic.h5ad", b"\x89HDF\r\n\x1a\n", ""),
        bad("cut.h5ad", cut("csr.h5ad"), ""),
        bad("no_label.h5ad", golden("csr.h5ad"), "").label("klass"),
        bad("hole.h5ad", golden("csr.h5ad"), "").label("hole"),
        bad("no_layer.h5ad", golden("csr.h5ad"), "").with(|o| o.array = Some("raw".into())),
        bad("as_npy.csv", "a,b\n1,2\n", "").with(|o| o.format = Some(Format::Npy)),
        bad("as_csv.npy", golden("c.npy"), "").with(|o| o.format = Some(Format::Csv)),
        bad("as_folder.csv", "a,b\n1,2\n", "").with(|o| o.format = Some(Format::TenX)),
    ]
}

#[test]
fn every_bad_input_gets_its_own_line() {
    let folder = tempfile::tempdir().unwrap();
    let cases: Vec<Bad> = text_tables().into_iter().chain(arrays()).chain(columnar()).collect();
    assert!(cases.len() >= 60);
    let mut wrong = Vec::new();
    for case in cases {
        let path = folder.path().join(case.file);
        fs::write(&path, &case.content).unwrap();
        let found = message(&path, &case.options);
        if found != case.message {
            wrong.push(format!("{}\n    expected {}\n    found    {found}", case.file, case.message));
        }
        fs::remove_file(&path).unwrap();
    }
    assert!(wrong.is_empty(), "{} wrong messages:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn paths_that_are_no_files() {
    let folder = tempfile::tempdir().unwrap();
    let options = ReadOptions::default();
    let absent = folder.path().join("absent.csv");
    assert_eq!(message(&absent, &options), "FILE: cannot be read: no such file or folder; check the path");
    assert_eq!(
        message(folder.path(), &options),
        "FILE: is a folder without a matrix.mtx or matrix.mtx.gz; name a file in it, or a 10x folder"
    );
    let through_a_file = folder.path().join("file/x.csv");
    fs::write(folder.path().join("file"), "").unwrap();
    assert_eq!(message(&through_a_file, &options), "FILE: cannot be read: Not a directory (os error 20)");
}

#[cfg(unix)]
#[test]
fn files_that_may_not_be_read() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("secret.csv");
    fs::write(&path, "a\n1\n").unwrap();
    fs::set_permissions(&path, fs::Permissions::from_mode(0)).unwrap();
    // The superuser may read everything, and then there is nothing to see here.
    if fs::File::open(&path).is_err() {
        assert_eq!(
            message(&path, &ReadOptions::default()),
            "FILE: cannot be read: permission denied; check who may use the file and its folder"
        );
    }
}

#[test]
fn tenx_folders_that_do_not_fit() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
    let found = |options: &ReadOptions| {
        let error = read_table(folder.path(), options).unwrap_err().to_string();
        error.replace(&folder.path().display().to_string(), "FOLDER")
    };
    write("matrix.mtx", "%%MatrixMarket matrix coordinate integer general\n2 3 1\n1 1 5\n");
    assert_eq!(found(&ReadOptions::default()), "FOLDER/features.tsv: cannot be read: no such file or folder; check the path");
    write("genes.tsv", "g1\tA\n");
    assert_eq!(
        found(&ReadOptions::default()),
        "FOLDER/genes.tsv: is not a valid tsv file: it has 1 lines for 2 in the matrix; write it again, or name its format with --format"
    );
    write("genes.tsv", "g1\tA\ng2\tA\n");
    write("barcodes.tsv", "x\ny\nz\n");
    let table = read_table(folder.path(), &ReadOptions::default()).unwrap();
    assert_eq!(table.features, ["g1", "g2"], "symbols that come twice give way to identifiers");
    let turned = ReadOptions { transpose: true, ..ReadOptions::default() };
    assert_eq!(found(&turned), "a 10x folder always gives barcodes as samples; leave out --transpose");
}

fn message(path: &Path, options: &ReadOptions) -> String {
    let error = read_table(path, options).expect_err(&path.display().to_string()).to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    error.replace(&path.display().to_string(), "FILE")
}

fn golden(name: &str) -> Vec<u8> {
    fs::read(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)).unwrap()
}

fn gz(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn npy(header: &str, data: &[u8]) -> Vec<u8> {
    let size = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &size, header.as_bytes(), data].concat()
}

fn zip_of(name: &str, content: &[u8]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    writer.start_file(name, zip::write::SimpleFileOptions::default()).unwrap();
    writer.write_all(content).unwrap();
    writer.finish().unwrap().into_inner()
}
