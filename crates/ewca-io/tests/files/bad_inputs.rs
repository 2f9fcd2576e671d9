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
        bad("empty.csv", "", "FILE: is empty; check that the file is complete"),
        bad("blank.csv", "\n  \n\r\n", "FILE: is empty; check that the file is complete"),
        bad("mark.csv", "\u{feff}", "FILE: is empty; check that the file is complete"),
        bad("header.csv", "a,b\n", "FILE: has no rows below its header; pass `header` = false if the first line contains data"),
        bad("only_text.csv", "a\nx\n", "FILE: has no numeric columns; check the delimiter, or pass `delimiter`").label("a"),
        // Shape.
        bad("short.csv", "a,b,c\n1,2,3\n4,5\n", "FILE, line 3: has 2 cells instead of 3; check the delimiter and the quotes on that line"),
        bad("long.csv", "a,b\n1,2\n3,4,5\n", "FILE, line 3: has 3 cells instead of 2; check the delimiter and the quotes on that line"),
        bad("long_quoted.csv", "a,b\n1,\"2\"\n3,4,5\n", "FILE, line 3: has 3 cells instead of 2; check the delimiter and the quotes on that line"),
        bad("truncated.csv", "a,b\n1,2\n3,", "FILE, line 3, column 'b': the value is missing; pass `missing` = drop-rows, drop-columns or mean, or fill it in"),
        bad("wide_header.csv", wide_header(), "FILE, line 2: has 1 cell instead of 1001; check the delimiter and the quotes on that line"),
        bad("open_quote.csv", "a,b\n1,\"2\n3,4\n", "FILE, line 2: a quote is not closed on the same line; close it"),
        bad("open_quote_header.csv", "\"a,b\n1,2\n3,4\n", "FILE, line 1: a quote is not closed on the same line; close it"),
        // Cells.
        bad("text.csv", "a,class\n1,red\n", "FILE, line 2, column 'class': 'red' is not a number; pass `label` = class or `id` = class if the column contains names or classes, `ignore` = class to leave it out, or fix the value"),
        bad("text_late.csv", "a,b\n1,2\n\n\n3,x\n", "FILE, line 5, column 'b': 'x' is not a number; pass `label` = b or `id` = b if the column contains names or classes, `ignore` = b to leave it out, or fix the value"),
        bad("text_crlf.csv", "a,b\r\n1,2\r\n3,x\r\n", "FILE, line 3, column 'b': 'x' is not a number; pass `label` = b or `id` = b if the column contains names or classes, `ignore` = b to leave it out, or fix the value"),
        bad("text_mark.csv", "\u{feff}a,b\n1,x\n", "FILE, line 2, column 'b': 'x' is not a number; pass `label` = b or `id` = b if the column contains names or classes, `ignore` = b to leave it out, or fix the value"),
        bad("thousands.csv", "a;b\n1,500;2,500\n", "FILE, line 2, column 'a': '1,500' contains a comma; pass `decimal` = , if it is a decimal comma, or remove thousands separators"),
        bad("thousands_quoted.csv", "a,b\n\"1,234,567.5\",2\n", "FILE, line 2, column 'a': '1,234,567.5' contains a comma; pass `decimal` = , if it is a decimal comma, or remove thousands separators"),
        bad("point_and_comma.csv", "a;b\n1,5;2,5\n1.234,5;1\n", "FILE, line 3, column 'a': '1.234,5' is a number with a point, although the table has decimal commas; remove that from the column, or pass `ignore` = a to leave the column out"),
        bad("percent.csv", "a,b\n1,12%\n", "FILE, line 2, column 'b': '12%' is a number with a percent sign; remove that from the column, or pass `ignore` = b to leave the column out"),
        bad("gct3.gct", "#1.3\n1\t2\t0\t1\nid\ta\tb\nage\t7\nx\t1\t2\n", "FILE, line 4: has 2 cells instead of 3; check the delimiter and the quotes on that line"),
        bad("gct3_sizes.gct", "#1.3\n1\t2\t18446744073709551615\t18446744073709551615\nid\ta\tb\nx\t1\t2\n", "FILE: has no rows below its header; pass `header` = false if the first line contains data"),
        bad("hexadecimal.csv", "a\n0x1F\n", "FILE, line 2, column 'a': '0x1F' is not a number; pass `label` = a or `id` = a if the column contains names or classes, `ignore` = a to leave it out, or fix the value"),
        bad("units.csv", "a\n12 mm\n", "FILE, line 2, column 'a': '12 mm' is a number with a unit; remove that from the column, or pass `ignore` = a to leave the column out"),
        bad("long_cell.csv", format!("a\n{}\n", "x".repeat(100_000)), "FILE, line 2, column 'a': 'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...' is not a number; pass `label` = a or `id` = a if the column contains names or classes, `ignore` = a to leave it out, or fix the value"),
        bad("control.csv", "a\n\u{1b}[31m\n", "FILE, line 2, column 'a': '�[31m' is not a number; pass `label` = a or `id` = a if the column contains names or classes, `ignore` = a to leave it out, or fix the value"),
        bad("nan.csv", "a,b\n1,NaN\n", "FILE, line 2, column 'b': the value is missing; pass `missing` = drop-rows, drop-columns or mean, or fill it in"),
        bad("na.csv", "a,b\n1,NA\n", "FILE, line 2, column 'b': the value is missing; pass `missing` = drop-rows, drop-columns or mean, or fill it in"),
        bad("hole.csv", "a,b\n1,2\n,4\n", "FILE, line 3, column 'a': the value is missing; pass `missing` = drop-rows, drop-columns or mean, or fill it in"),
        bad("inf.csv", "a,b\n1,inf\n", "FILE, line 2, column 'b': 'inf' is not a finite number; fix the value, or leave it empty and pass `missing`"),
        bad("minus_inf.csv", "a,b\n1,\"-Infinity\"\n", "FILE, line 2, column 'b': '-Infinity' is not a finite number; fix the value, or leave it empty and pass `missing`"),
        bad("1e400.csv", "a,b\n1,1e400\n", "FILE, line 2, column 'b': '1e400' is not a finite number; fix the value, or leave it empty and pass `missing`"),
        bad("all_rows.csv", "a,b\n1,NA\nNA,2\n", "FILE: every row has a missing value; choose another `missing`").with(|o| o.missing = Missing::DropRows),
        bad("all_columns.csv", "a,b\n1,NA\nNA,2\n", "FILE: every column has a missing value; choose another `missing`").with(|o| o.missing = Missing::DropColumns),
        bad("no_mean.csv", "a,b\n1,NA\n2,NA\n", "FILE, column 'b': all values are missing, so it has no mean; remove the column, or pass `missing` = drop-columns").with(|o| o.missing = Missing::Mean),
        // Names.
        bad("twice.csv", "a,b,a\n1,2,3\n", "FILE: features 1 and 3 are both called 'a'; rename one, or pass `header` = false if the first line contains data"),
        bad("no_header.csv", "1,2,1\n3,4,5\n", "FILE: features 1 and 3 are both called '1'; rename one, or pass `header` = false if the first line contains data"),
        bad("unnamed.csv", "a,,c\n1,2,3\n", "FILE: feature 2 has no name; give it one, or pass `header` = false if the first line contains data"),
        bad("trailing.csv", "a,b,\n1,2,3\n", "FILE: feature 3 has no name; give it one, or pass `header` = false if the first line contains data"),
        bad("trailing_late.csv", "a,b,\n1,2,\n3,4,5\n", "FILE: feature 3 has no name; give it one, or pass `header` = false if the first line contains data"),
        bad("trailing_later.csv", format!("a,b,\n{}3,4,5\n", "1,2,\n".repeat(70)), "FILE, line 72: has 3 cells instead of 2; check the delimiter and the quotes on that line"),
        bad("no_label.csv", "Class,a,b\nx,1,2\n", "FILE: has no column 'class' for `label`; the most similar names are Class, a, b").label("class"),
        bad("no_id.csv", "a,b\n1,2\n", "FILE: has no column 'sample' for `id`; the most similar names are a, b").with(|o| o.id = Some("sample".into())),
        bad("no_ignore.csv", "a,b\n1,2\n", "FILE: has no column 'c' for `ignore`; the most similar names are a, b").with(|o| o.ignore = vec!["c".into()]),
        bad("no_match.csv", "split,a\ntrain,1\n", "FILE: no row has 'test' in column 'split'; check `filter`; the first row has 'train'").with(|o| o.filter = Some(("split".into(), "test".into()))),
        bad("empty_label.csv", "class,a\nx,1\n,2\n", "FILE, line 3: the label is missing; fill it in, or pass `missing` = drop-rows").label("class"),
        bad("no_label_row.csv", ",s1\nclasss,x\ng,1\n", "FILE: has no column 'class' for `label`; the most similar names are classs, g").label("class").with(|o| o.transpose = true),
        bad("twice_turned.csv", ",s1\ng,1\ng,2\n", "FILE: features 1 and 2 are both called 'g'; rename one, or pass `header` = false if the first line contains data").with(|o| o.transpose = true),
        bad("turned_without_names.csv", "s1,s2\n1,2\n", "`label` is a row of the transposed table, but no column has the row names; choose the column with the row names with `id`").label("y").with(|o| o.transpose = true),
        // Encodings and strangers.
        bad("latin1_name.csv", b"a,gr\xfcn\n1,2\n", "FILE, line 1: the text is not UTF-8; pass `encoding` = latin1 if it comes from an older Windows program, or save the file as UTF-8"),
        bad("latin1_label.csv", b"class,a\nx,1\ngr\xfcn,2\n", "FILE, line 3: the text is not UTF-8; pass `encoding` = latin1 if it comes from an older Windows program, or save the file as UTF-8").label("class"),
        bad("utf16.csv", b"\xff\xfea\0,\0b\0\n\0", "FILE: has no rows below its header; pass `header` = false if the first line contains data"),
        bad("mac.csv", "a,b\r1,2\r3,4\r", "FILE: its lines end with a carriage return only (old Mac format); save it with Unix or Windows line endings"),
        bad("binary.csv", vec![0u8; 100], "FILE: is neither text nor a known binary format; check the file, or set its format with `format`, or the text encoding with `encoding`"),
        bad("old_excel.csv", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "FILE: is an old Excel workbook (.xls, before 2007); save it as .xlsx without a password, or save the sheet as CSV (in Excel: File, Save As, CSV UTF-8)"),
        bad("locked.xlsx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "FILE: is an Excel workbook with a password; save it as .xlsx without a password, or save the sheet as CSV (in Excel: File, Save As, CSV UTF-8)"),
        bad("page.xls", "<!DOCTYPE HTML><html>", "FILE: is a web page (HTML), not a table; download the table itself, or open it in Excel and save it as .xlsx"),
        bad("page.csv", "<HTML>\n1,2", "FILE: is a web page (HTML), not a table; download the table itself, or open it in Excel and save it as .xlsx"),
        bad("sheet.ods", zip_of_all(&["mimetype", "content.xml"]), "FILE: is an OpenDocument file, such as .ods; save the sheet as CSV (in LibreOffice: File, Save As, Text CSV), or as .xlsx"),
        bad("sheet.xlsb", zip_of_all(&["[Content_Types].xml", "xl/workbook.bin"]), "FILE: is a binary Excel workbook (.xlsb); save it as .xlsx, or save the sheet as CSV"),
        bad("text.docx", zip_of_all(&["[Content_Types].xml", "word/document.xml"]), "FILE: is an Office document, not a workbook; choose a table"),
        bad("sheet.numbers", zip_of_all(&["Index/Document.iwa", "preview.jpg"]), "FILE: is a Numbers document; export it as CSV (in Numbers: File, Export To, CSV)"),
        bad("no_sheets.xlsx", zip_of_all(&["[Content_Types].xml", "xl/x"]), "FILE: is not a valid xlsx file: it has no list of sheets; copy or save it again"),
        bad("r_data.csv", gz(b"RDX3\nX\n"), "FILE: is an R data file; write the table in R with write.csv"),
        bad("delimiter.csv", "a,b\n1,2\n", "'.' cannot separate numbers; give `delimiter` one of , ; tab space or |").with(|o| o.delimiter = Some(b'.')),
        bad("filter_turned.csv", "a,b\n1,2\n", "`filter` selects samples, and `transpose` turns rows into features; remove one of the two options").with(|o| {
            o.transpose = true;
            o.filter = Some(("a".into(), "1".into()));
        }),
        // Compression.
        bad(
            "cut.csv.gz",
            {
                let whole = gz(&[b'1'; 9999]);
                whole[..whole.len() - 9].to_vec()
            },
            "FILE: is not a valid gzip file: the compressed data ends too early; copy or save it again",
        ),
        bad(
            "damaged.csv.gz",
            {
                let mut whole = gz(b"a,b\n1,2\n");
                whole[14] ^= 0x55;
                whole
            },
            "FILE: is not a valid gzip file: the compressed data is damaged (corrupt gzip stream does not have a matching checksum); copy or save it again",
        ),
        bad("empty.csv.gz", gz(b""), "FILE: is empty; check that the file is complete"),
        bad("cut.csv.zst", b"\x28\xb5\x2f\xfd\x04", "FILE: is not a valid zstd file: the compressed data ends too early; copy or save it again"),
        bad("bomb.csv.gz", gz(&vec![b'1'; 10 << 20]), "FILE: is larger than 1.0 MiB when decompressed; raise `max_bytes` if that is expected").with(|o| o.max_bytes = Some(1 << 20)),
        bad("too_long.csv", "a,b\n1,2\n", "FILE: is larger than 4 bytes when decompressed; raise `max_bytes` if that is expected").with(|o| o.max_bytes = Some(4)),
    ]
}

fn arrays() -> Vec<Bad> {
    let header = |descr: &str, shape: &str| format!("{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}");
    let mut damaged_mat = golden("compressed.mat");
    damaged_mat[160] ^= 0x55;
    vec![
        // NumPy.
        bad("text.npy", "a,b\n1,2\n", "FILE: is not a npy file: it starts like something else; rename it, or set its format with `format`"),
        bad("cut_header.npy", b"\x93NUMPY\x01\x00", "FILE: is not a valid npy file: it ends in the middle of its header; copy or save it again"),
        bad("no_shape.npy", npy("{'descr': '<f8', 'fortran_order': False}", &[]), "FILE: is not a valid npy file: its header has no usable 'shape'; copy or save it again"),
        bad("cut.npy", golden("c.npy")[..200].to_vec(), "FILE: is not a valid npy file: its shape [6, 4] needs 192 bytes, but it has 72; copy or save it again"),
        bad("longer.npy", [golden("c.npy"), vec![0; 3]].concat(), "FILE: is not a valid npy file: its shape [6, 4] needs 192 bytes, but it has 195; copy or save it again"),
        bad("huge.npy", npy(&header("'<f8'", "(1000000, 1000000)"), &[0; 8]), "FILE: is not a valid npy file: its shape [1000000, 1000000] needs 8000000000000 bytes, but it has 8; copy or save it again"),
        bad("overflow.npy", npy(&header("'<f8'", "(18446744073709551615, 2)"), &[0; 8]), "FILE: is not a valid npy file: it claims the shape [18446744073709551615, 2]; copy or save it again"),
        bad("huge_header.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff", "FILE: is not a valid npy file: its header claims 4294967295 bytes; copy or save it again"),
        bad("vector.npy", golden("vector.npy"), "FILE: is an array with 1 dimension instead of 2; save it with rows and columns"),
        bad("complex.npy", golden("complex.npy"), "FILE: has elements of the type '<c16'; save it as float64"),
        bad("records.npy", npy(&header("[('a', '<f8')]", "(1,)"), &[0; 8]), "FILE: is an array of records; save its columns as one plain array"),
        bad("objects.npy", npy(&header("'|O'", "(1, 1)"), &[0; 8]), "FILE: has elements of the type '|O'; save it as float64"),
        bad("texts.npy", npy(&header("'<U1'", "(1, 1)"), b"a\0\0\0"), "FILE: is an array of text; use an array of numbers"),
        bad("nan.npy", npy(&header("'<f8'", "(1, 2)"), &[1f64.to_le_bytes(), f64::NAN.to_le_bytes()].concat()), "FILE, row 1, column 'column2': the value is missing; pass `missing` = drop-rows, drop-columns or mean, or fill it in"),
        bad(
            "inf.npy",
            npy(&header("'<f8'", "(1, 2)"), &[1f64.to_le_bytes(), f64::INFINITY.to_le_bytes()].concat()),
            "FILE, row 1, column 'column2': 'inf' is not a finite number; fix the value, or leave it empty and pass `missing`",
        ),
        bad("no_rows.npy", npy(&header("'<f8'", "(0, 2)"), &[]), "FILE: has no rows; check that the file is complete"),
        bad("no_rows_names.npy", npy(&header("'<f8'", "(0, 900000000)"), &[]), "FILE: has no rows; check that the file is complete"),
        bad("no_rows_panic.npy", npy(&header("'<f8'", "(0, 18446744073709551615)"), &[]), "FILE: has no rows; check that the file is complete"),
        bad("no_columns.npy", npy(&header("'<f8'", "(2, 0)"), &[]), "FILE: has no numeric columns; check that the file is complete"),
        bad("label.npy", golden("c.npy"), "FILE: has no column 'column9' for `label`; the most similar names are column1, column2, column3, column4").label("column9"),
        bad("several.npz", golden("several.npz"), "FILE: has several tables; choose one with `array`: X, other"),
        bad("no_array.npz", golden("several.npz"), "FILE: has no array 'Y'; choose one with `array`: X, other, y, number, names").with(|o| o.array = Some("Y".into())),
        bad("short_label.npz", golden("several.npz"), "FILE: its array 'names' has 4 elements, but there are 6 samples; choose another with `label` or `id`").label("names").with(|o| o.array = Some("X".into())),
        bad("cut.npz", golden("several.npz")[..500].to_vec(), "FILE: is not a valid npz file: invalid Zip archive: Could not find EOCD; copy or save it again"),
        bad("bomb.npz", zip_of("X.npy", &npy(&header("'|u1'", "(4096, 4096)"), &vec![0; 4096 * 4096])), "FILE: is larger than 1.0 MiB when decompressed; raise `max_bytes` if that is expected")
            .with(|o| o.max_bytes = Some(1 << 20)),
        bad("empty.npz", zip_of("note.txt", b"hello"), "FILE: has no array with rows and columns; save one with numpy.savez"),
        // MATLAB.
        bad("text.mat", "a,b\n1,2\n", "FILE: is not a mat file: it starts like something else; rename it, or set its format with `format`"),
        bad("cut_header.mat", golden("plain.mat")[..100].to_vec(), "FILE: is not a valid mat file: it is shorter than its header; copy or save it again"),
        bad("cut.mat", golden("plain.mat")[..200].to_vec(), "FILE: is not a valid mat file: it ends in the middle of a variable; copy or save it again"),
        bad("damaged.mat", damaged_mat, "FILE: is not a valid mat file: a compressed variable is damaged; copy or save it again"),
        bad("hdf5.mat", b"MATLAB 7.3 MAT-file, Platform: GLNXA64", "FILE: is not a valid MATLAB 7.3 file: it is shorter than its header; copy or save it again"),
        bad("no_variable.mat", golden("compressed.mat"), "FILE: has no variable 'Y'; choose one with `array`: X (6 x 4 double)").with(|o| o.array = Some("Y".into())),
        bad("cube.mat", golden("several.mat"), "FILE: its variable 'cube' has 3 dimensions instead of 2; choose one with `array`: X (6 x 4 double), turned (4 x 6 double), whole (4 x 3 uint8), small (6 x 4 single), flags (4 x 3 uint8), flags_sparse (4 x 3 sparse)").with(|o| o.array = Some("cube".into())),
        bad("word.mat", golden("several.mat"), "FILE: its variable 'text' contains no numbers; choose one with `array`: X (6 x 4 double), turned (4 x 6 double), whole (4 x 3 uint8), small (6 x 4 single), flags (4 x 3 uint8), flags_sparse (4 x 3 sparse)").with(|o| o.array = Some("text".into())),
        // Matrix Market.
        bad("text.mtx", "a,b\n1,2\n", "FILE: is not a mtx file: it starts like something else; rename it, or set its format with `format`"),
        bad("header.mtx", "%%MatrixMarket matrix\n", "FILE: is not a valid mtx file: its first line is not '%%MatrixMarket matrix ...' with 5 words; copy or save it again"),
        bad("complex.mtx", "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 0\n", "FILE: is a Matrix Market file with 'complex'; save it as a general matrix of real numbers"),
        bad("no_size.mtx", "%%MatrixMarket matrix coordinate real general\n% nothing\n", "FILE: is not a valid mtx file: it ends before the line with its size; copy or save it again"),
        bad("bad_size.mtx", "%%MatrixMarket matrix coordinate real general\n2 x 1\n", "FILE: is not a valid mtx file: line 2 is not a size: '2 x 1'; copy or save it again"),
        bad("outside.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n3 1 5\n", "FILE, line 3: '3 1 5' is not a row and a column within its size, and a finite number; fix the line"),
        bad("zero.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n0 1 5\n", "FILE, line 3: '0 1 5' is not a row and a column within its size, and a finite number; fix the line"),
        bad("word.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 x\n", "FILE, line 3: '1 1 x' is not a row and a column within its size, and a finite number; fix the line"),
        bad("inf.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e400\n", "FILE, line 3: '1 1 1e400' is not a row and a column within its size, and a finite number; fix the line"),
        bad("nan.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 1\n2 1 nan\n", "FILE, row 2, column 'column1': the value is missing; pass `missing` = drop-rows, drop-columns or mean, or fill it in"),
        bad("cut.mtx", "%%MatrixMarket matrix coordinate real general\n2 2 3\n1 1 5\n", "FILE: is not a valid mtx file: its size line says 3 entries, but it has 1; copy or save it again"),
        bad("huge.mtx", "%%MatrixMarket matrix coordinate real general\n99999999999 9 1\n1 1 5\n", "FILE: is not a valid mtx file: it claims 99999999999 rows and 9 columns, but is too short for that; copy or save it again"),
        bad("oblong.mtx", "%%MatrixMarket matrix coordinate real symmetric\n2 3 1\n1 1 5\n", "FILE: is not a valid mtx file: it is symmetric, with 2 rows and 3 columns; copy or save it again"),
    ]
}

fn columnar() -> Vec<Bad> {
    let cut = |name: &str| {
        let whole = golden(name);
        whole[..whole.len() / 2].to_vec()
    };
    vec![
        bad(
            "text.parquet",
            "a,b\n1,2\n",
            "FILE: is not a parquet file: it starts like something else; rename it, or set its format with `format`",
        ),
        bad(
            "cut.parquet",
            cut("table.parquet"),
            "FILE: is not a valid parquet file: Parquet error: Invalid Parquet file. Corrupt footer; copy or save it again",
        ),
        bad(
            "magic.parquet",
            "PAR1",
            "FILE: is not a valid parquet file: EOF: Parquet file too small. Size is 4 but need 8; copy or save it again",
        ),
        bad(
            "text_column.parquet",
            golden("table.parquet"),
            "FILE, row 1, column 'class': 'red' is not a number; pass `label` = class or `id` = class if the column contains names or classes, `ignore` = class to leave it out, or fix the value",
        ),
        bad(
            "hole.parquet",
            golden("holes.parquet"),
            "FILE, row 2, column 'f1': the value is missing; pass `missing` = drop-rows, drop-columns or mean, or fill it in",
        ),
        bad(
            "no_label.parquet",
            golden("table.parquet"),
            "FILE: has no column 'klass' for `label`; the most similar names are class, f1, f2, f,4, gène 3",
        )
        .label("klass"),
        bad(
            "turned.parquet",
            golden("table.parquet"),
            "`label` is a column, and `transpose` turns columns into samples; remove one of the two options",
        )
        .label("class")
        .with(|o| o.transpose = true),
        bad(
            "cut.feather",
            cut("table.feather"),
            "FILE: is not a valid arrow file: its end is missing; copy or save it again",
        ),
        bad("old.feather", "FEA1....", "FILE: is a Feather file of version 1; save it as Feather version 2"),
        bad(
            "text.arrow",
            "a,b\n1,2\n",
            "FILE: is not a valid arrow file: it ends in the middle of a message; copy or save it again",
        ),
        bad(
            "text.h5ad",
            "a,b\n1,2\n",
            "FILE: is not a h5ad file: it starts like something else; rename it, or set its format with `format`",
        ),
        bad(
            "magic.h5ad",
            b"\x89HDF\r\n\x1a\n",
            "FILE: is not a valid h5ad file: buffer too short: need 9 bytes, have 8; copy or save it again",
        ),
        bad("cut.h5ad", cut("csr.h5ad"), "FILE: is not a valid h5ad file: it ends too early; copy or save it again"),
        bad(
            "no_label.h5ad",
            golden("csr.h5ad"),
            "FILE: has no column 'klass' for `label`; the most similar names are class, flag, hole, text, number",
        )
        .label("klass"),
        bad(
            "hole.h5ad",
            golden("csr.h5ad"),
            "FILE, row 2: the label is missing; fill it in, or pass `missing` = drop-rows",
        )
        .label("hole"),
        bad("no_layer.h5ad", golden("csr.h5ad"), "FILE: has no layer 'raw'; choose one with `array`: X, double")
            .with(|o| o.array = Some("raw".into())),
        bad(
            "as_npy.csv",
            "a,b\n1,2\n",
            "FILE: is not a npy file: it starts like something else; rename it, or set its format with `format`",
        )
        .with(|o| o.format = Some(Format::Npy)),
        bad(
            "as_csv.npy",
            golden("c.npy"),
            "FILE: is not a csv file: it starts like npy; rename it, or set its format with `format`",
        )
        .with(|o| o.format = Some(Format::Csv)),
        bad("as_folder.csv", "a,b\n1,2\n", "FILE: is a file, not a 10x folder; choose the folder")
            .with(|o| o.format = Some(Format::TenX)),
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
        "FILE: is a folder without a matrix.mtx or matrix.mtx.gz; choose a file in it, or a 10x folder"
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
    fs::set_permissions(&path, fs::Permissions::from_mode(0o000)).unwrap();
    // The superuser may read everything, and then there is nothing to see here.
    if fs::File::open(&path).is_err() {
        assert_eq!(
            message(&path, &ReadOptions::default()),
            "FILE: cannot be read: permission denied; check the permissions of the file and its folder"
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
    assert_eq!(
        found(&ReadOptions::default()),
        "FOLDER/features.tsv: cannot be read: no such file or folder; check the path"
    );
    write("genes.tsv", "g1\tA\n");
    assert_eq!(
        found(&ReadOptions::default()),
        "FOLDER/genes.tsv: has 1 line, but the matrix has 2; use the three files of one folder"
    );
    write("genes.tsv", "g1\tA\ng2\tA\n");
    write("barcodes.tsv", "x\ny\nz\n");
    let table = read_table(folder.path(), &ReadOptions::default()).unwrap();
    assert_eq!(table.features, ["g1", "g2"], "symbols that come twice give way to identifiers");
    let turned = ReadOptions { transpose: true, ..ReadOptions::default() };
    assert_eq!(found(&turned), "in a 10x folder, barcodes are always the samples; remove `transpose`");
}

fn message(path: &Path, options: &ReadOptions) -> String {
    let error = read_table(path, options).expect_err(&path.display().to_string()).to_string();
    assert!(!error.contains('\n'), "one line: {error}");
    error.replace(&path.display().to_string(), "FILE")
}

/// Many columns over many short lines: a shape that must not be believed.
fn wide_header() -> String {
    let names: String = (0..1000).map(|number| format!("g{number},")).collect();
    names + "z\n" + &"1\n".repeat(1000)
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

/// An archive of files with these names.
fn zip_of_all(names: &[&str]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for name in names {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(b"x").unwrap();
    }
    writer.finish().unwrap().into_inner()
}
