//! Files that were made to do harm: lying lengths, bombs, holes, links, names that act on terminals.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use arrow_array::{Float64Array, RecordBatch};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, Field, Schema};
use flate2::Compression;
use rust_hdf5::{H5File, H5Group};

/// The folder of the corpus, and what was put there so far.
pub struct Corpus {
    pub folder: PathBuf,
    pub attacks: Vec<Attack>,
}

/// Something to give to the program, and what it says to it.
pub struct Attack {
    pub arguments: Vec<String>,
    /// What must be in the line that it prints.
    pub said: &'static str,
    /// A file that is written to standard input, or to the pipe of that name.
    pub fed: Option<Fed>,
}

/// What comes through a pipe.
#[derive(Clone)]
pub struct Fed {
    /// The shell's word for what is written.
    pub from: String,
    /// The named pipe; standard input if there is none.
    pub into: Option<String>,
}

impl Corpus {
    /// Makes all the files.
    pub fn make(folder: &Path) -> Corpus {
        let mut corpus = Corpus { folder: folder.into(), attacks: Vec::new() };
        corpus.write("good.csv", "a,b,c\n1,2,3\n4,5,7\n2,8,1\n9,1,4\n3,3,8\n");
        corpus.arrays();
        corpus.holes();
        corpus.bombs();
        corpus.texts();
        corpus.archives();
        corpus.workbooks();
        corpus.matlab();
        corpus.matrix_market();
        corpus.columnar();
        corpus.anndata();
        corpus.made_anndata();
        corpus.folders();
        corpus.paths();
        corpus.pipes();
        corpus.models();
        corpus.metadata();
        corpus
    }

    fn write(&self, name: &str, content: impl AsRef<[u8]>) {
        fs::write(self.folder.join(name), content).unwrap();
    }

    /// What is known of samples is as hostile as the samples.
    fn metadata(&mut self) {
        let mut with = |name: &str, content: &[u8], said: &'static str| {
            self.write(name, content);
            self.run(&["fit", "good.csv", "--metadata", name, "-o", "out"], said);
        };
        let strange = "\u{1b}[2J\u{1b}]0;x\u{7}\u{202e}";
        with("empty_m.csv", b"", "empty_m.csv: is empty");
        with("binary_m.csv", &[b'1', 0, 255, 3], "neither text nor a known binary format");
        with("array_m.csv", b"\x93NUMPY\x01\x00", "metadata must be a text table");
        with("strange_m.csv", format!("{strange},x\n{strange},1\n").as_bytes(), "matches no sample");
        with("twice_m.csv", b"id,x\n1,a\n1,b\n", "has '1' on lines 2 and 3");
        with("columns_m.csv", format!("id,{strange},{strange}\n1,2,3\n").as_bytes(), "has two columns called");
        with("quote_m.csv", b"id,\"x\n1,2\n", "a quote is not closed");
        with("ragged_m.csv", b"id,x\n1,2,3,4\n", "has 4 cells instead of 2");
        let names: Vec<String> = (0..1_000_000).map(|at| format!("c{at}")).collect();
        let wide = format!("id,{}\n1,{}\n", names.join(","), vec!["inf"; names.len()].join(","));
        let some = format!("id,{}\n1,{}\n", names[..100_000].join(","), vec!["x"; 100_000].join(","));
        with("some_m.csv", some.as_bytes(), "has 100001 columns, and at most 200 can be used");
        with("nul_m.csv", b"id,x\n1,a\x00b\n", "neither text nor a known binary format");
        with("late_nul_m.csv", format!("id,x\n1,{}\0\n1,b\n", "a".repeat(5000)).as_bytes(), "has '1' on lines 2 and 3");
        with("long_m.csv", format!("id,x\n{},1\n", "\u{1b}".repeat(10_000_000)).as_bytes(), "matches no sample");
        with("name_m.csv", format!("id,{}\nq,1\n", "<script>".repeat(1_000_000)).as_bytes(), "matches no sample");
        with("wide_m.csv", wide.as_bytes(), "has 1000001 columns, and at most 200 can be used");
        let mut bomb = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
        let zeros = vec![b','; 1 << 20];
        (0..1100).for_each(|_| bomb.write_all(&zeros).unwrap());
        with("bomb_m.csv.gz", &bomb.finish().unwrap(), "bomb_m.csv.gz");
        self.run(&["fit", "good.csv", "--metadata", "/dev/zero", "-o", "out"], "is a character device");
        self.run(
            &["fit", "good.csv", "--metadata", ".", "-o", "out"],
            "is a folder, but metadata must be a text table",
        );
        self.run(&["inspect", "good.csv", "--metadata", "none.csv"], "none.csv");
    }

    /// A file that cannot be fitted.
    fn file(&mut self, name: &str, content: impl AsRef<[u8]>, said: &'static str) {
        self.write(name, content);
        self.fit(name, said);
    }

    /// Something there already that cannot be fitted.
    fn fit(&mut self, name: &str, said: &'static str) {
        self.run(&["fit", name, "-o", "out"], said);
    }

    fn run(&mut self, arguments: &[&str], said: &'static str) {
        let arguments = arguments.iter().map(|argument| argument.to_string()).collect();
        self.attacks.push(Attack { arguments, said, fed: None });
    }

    fn feed(&mut self, arguments: &[&str], from: &str, into: Option<&str>, said: &'static str) {
        self.run(arguments, said);
        let fed = Fed { from: from.into(), into: into.map(String::from) };
        self.attacks.last_mut().unwrap().fed = Some(fed);
    }

    /// NumPy arrays: shapes, types and lengths that cannot be.
    fn arrays(&mut self) {
        for (name, shape, said) in [
            ("zero_rows_many_columns", "(0, 18446744073709551615)", "has no rows"),
            ("zero_rows_names", "(0, 900000000)", "has no rows"),
            ("zero_columns", "(18446744073709551615, 0)", "has no numeric columns"),
            ("too_many_rows", "(18446744073709551616, 2)", "no usable 'shape'"),
            ("overflow", "(9223372036854775808, 2)", "it claims the shape"),
            ("overflow_product", "(4294967296, 4294967296)", "it claims the shape"),
            ("overflow_bytes", "(1, 2305843009213693952)", "it claims the shape"),
            ("huge", "(1000000, 1000000)", "it has 8"),
            ("negative", "(-1, 3)", "no usable 'shape'"),
            ("nested", "((1, 2), 3)", "no usable 'shape'"),
            ("words", "(one, two)", "no usable 'shape'"),
            ("fraction", "(1.5, 2)", "no usable 'shape'"),
            ("no_dimensions", "()", "is an array with 0 dimensions"),
            ("three_dimensions", "(1, 1, 1)", "3 dimensions"),
            ("thousand_dimensions", &format!("({})", "1, ".repeat(1000)), "1000 dimensions"),
            ("no_shape", "", "no usable 'shape'"),
        ] {
            let data: &[u8] = if name.starts_with("zero") { &[] } else { &[0; 8] };
            self.file(&format!("{name}.npy"), npy("<f8", shape, data), said);
        }
        self.run(
            &["inspect", "zero_rows_names.npy", "--transpose", "--json", "--format", "parquet"],
            "is not a parquet file",
        );
        self.run(&["fit", "zero_rows_names.npy", "--in-parts"], "has no rows");
        self.run(&["fit", "zero_rows_many_columns.npy", "--transpose"], "has no rows");
        for (name, descr) in [
            ("quadruple", "<f16"),
            ("objects", "|O"),
            ("void", "|V8"),
            ("long_text", "<U4294967295"),
            ("endless_text", "|S18446744073709551616"),
            ("time", "<M8[ns]"),
            ("nothing", ""),
            ("escape", "\x1b[31m\x1b]0;owned\x07"),
            ("not_ascii", "\u{fc}8"),
        ] {
            self.file(&format!("{name}.npy"), npy(descr, "(1, 1)", &[0; 8]), "");
        }
        self.file("records.npy", npy("[('a', '<f8')]", "(1,)", &[0; 8]).as_slice(), "");
        self.file("long_header.npy", b"\x93NUMPY\x02\x00\xff\xff\xff\xff{", "its header claims 4294967295 bytes");
        self.file("lying_header.npy", b"\x93NUMPY\x01\x00\xff\xff{'descr'", "it ends in the middle of its header");
        self.file("version.npy", b"\x93NUMPY\xff\xff\x00\x00\x00\x00", "");
        let good = npy("<f8", "(2, 2)", &[0; 32]);
        for at in [7, 9, 11, good.len() - 1] {
            self.file(&format!("cut{at}.npy"), &good[..at], "is not a valid npy file");
        }
    }

    /// Files that are long only by their length: nothing of them is on the disk.
    fn holes(&mut self) {
        for (name, descr, shape, length) in [
            ("hole_100gb.npy", "<f8", "(12500000, 1000)", 100_000_000_000u64),
            ("hole_wide.npy", "|u1", "(2, 900000000)", 1_800_000_000),
            ("hole_fortran.npy", "<f4", "(1000000, 1000)", 4_000_000_000),
            ("hole_tall.npy", "|b1", "(4000000000, 1)", 4_000_000_000),
        ] {
            let head = npy(descr, shape, &[]);
            let file = File::create(self.folder.join(name)).unwrap();
            (&file).write_all(&head).unwrap();
            file.set_len(head.len() as u64 + length).unwrap();
            self.run(&["inspect", name], "needs more memory than is free");
            self.run(&["transform", "no_model", name], "no_model");
        }
        for (name, head) in [
            ("hole.csv", "a,b\n1,2\n"),
            ("hole.mtx", "%%MatrixMarket matrix coordinate real general\n1000 1000 5\n1 1 1\n"),
            ("hole.parquet", "PAR1"),
            ("hole.arrow", "ARROW1\0\0"),
            ("hole.npz", "PK\x03\x04"),
            ("hole.mat", "MATLAB 5.0 MAT-file"),
            ("hole.feather", "ARROW1"),
        ] {
            let file = File::create(self.folder.join(name)).unwrap();
            (&file).write_all(head.as_bytes()).unwrap();
            file.set_len(50_000_000_000).unwrap();
            self.fit(name, "");
        }
    }

    /// A few kilobytes that become gigabytes.
    fn bombs(&mut self) {
        // Sixteen MiB of text, again and again.
        let text = "1,2\n".repeat(1 << 22);
        let gz = repeated(&gzip(text.as_bytes()), 256);
        let zst = repeated(&zstd::bulk::compress(text.as_bytes(), 1).unwrap(), 256);
        self.file("bomb.csv.gz", &gz, "");
        self.file("bomb.csv.zst", &zst, "");
        self.run(&["inspect", "bomb.csv.zst"], "");
        self.run(&["inspect", "bomb.csv.gz"], "");
        self.run(&["reconstruct", "bomb.csv.gz", "bomb.csv.gz"], "");
        self.run(&["fit", "bomb.csv.gz", "--max-memory", "50MB"], "--max-memory");
        self.file("bomb_named.npy", &gz, "");
        self.file("bomb.npz", &zst, "");
        let zeros = vec![0; 1 << 24];
        self.file("bomb_zeros.csv.gz", repeated(&gzip(&zeros), 256), "");
        let header = npy("|u1", "(4096, 1048576)", &[]);
        self.file("bomb.npy.gz", [gzip(&header), repeated(&gzip(&zeros), 256)].concat(), "");
        // The same by other programs. What comes of each of them is refused by its size, not by what it holds.
        let [bz2, xz] = ["ones.csv.bz2", "ones.csv.xz"].map(|name| repeated(&golden(name), 256));
        let zipped = zip(&[("x.csv", text.repeat(16).into_bytes())]);
        for (name, bytes) in [("bomb.csv.bz2", &bz2), ("bomb.csv.xz", &xz), ("bomb.csv.zip", &zipped)] {
            assert!(bytes.len() < 1 << 21, "{name}: {}", bytes.len());
            self.file(name, bytes, "needs more memory than is free");
            // What may come out is less here, and comes sooner.
            let said = "is larger than 47.7 MiB when decompressed; raise --max-memory";
            let limited = ["--max-memory", "50MB", "-o", "out"];
            self.run(&[&["fit", name], &limited[..]].concat(), said);
            self.run(&[&["path", name], &limited[..2]].concat(), said);
            self.run(&[&["fit", "good.csv", "--metadata", name], &limited[..]].concat(), said);
        }
        self.file("cut.csv.bz2", &bz2[..100], "ends too early");
        self.file("cut.csv.xz", &xz[..100], "is not a valid xz file");
        self.file("gz_in_gz.csv.gz", gzip(&gzip(&gzip(b"a,b\n1,2\n"))), "");
        self.file("gz_in_zst.csv.zst", zstd::bulk::compress(&gz, 1).unwrap(), "");
        self.file("empty.csv.gz", gzip(b""), "is empty");
        self.file("cut.csv.gz", &gz[..100], "ends too early");
        self.file("cut.csv.zst", &zst[..100], "ends too early");
        self.file("window.csv.zst", b"\x28\xb5\x2f\xfd\x00\xff\x00\x00\x00", "");
        self.file("content_size.csv.zst", b"\x28\xb5\x2f\xfd\xe0\xff\xff\xff\xff\xff\xff\xff\xff\x01\x00\x00", "");
        self.file("rle.csv.zst", b"\x28\xb5\x2f\xfd\x80\x58\x00\x00\x00\x40\x03\xff\xff\x00", "");
    }

    fn texts(&mut self) {
        let wide = "x,".repeat(2_000_000) + "y\n1\n2\n";
        self.file("wide.csv", wide, "");
        self.file("nul.csv", b"a,b\n1,\x00\x00\x00\n", "neither text");
        self.file("utf16.csv", b"\xff\xfea\0,\0b\0\n\0", "no rows below its header");
        self.file("latin1.csv", b"a,gr\xfcn\n1,2\n", "not UTF-8");
        self.file("quotes.csv", "\"".repeat(1_000_001), "");
        self.file("open_quote.csv", format!("a,b\n1,\"{}", "x\n".repeat(100_000)), "a quote is not closed");
        self.file("one_cell.csv", "9".repeat(1_000_000), "");
        self.file("commas.csv", ",".repeat(1_000_000), "");
        self.file("newlines.csv", "\n".repeat(3_000_000), "is empty");
        self.file("escape_name.csv", "a,\x1b]0;owned\x07b\n1,x\n", "is not a number");
        self.file("escape_cell.csv", "a,b\n1,\x1b[2J\x1b[H\u{9b}31m\n", "is not a number");
        self.file("return_cell.csv", "a,b\n1,x\rewca: fine\n", "is not a number");
        self.file("backwards.csv", "a,b\n1,\u{202e}txt\n", "is not a number");
        self.file("twice.csv", "\x1b[1mx,\x1b[1mx\n1,2\n", "both called");
        self.file("huge_number.csv", format!("a,b\n1,1{}\n", "0".repeat(400)), "finite");
        self.file("nan.csv", "a,b\nnan,nan\nnan,nan\n", "missing");
        self.run(&["fit", "good.csv", "--label", "\x1b[31mx"], "has no column");
        self.run(&["fit", "good.csv", "--where", "a=\x1b[31m\n2"], "no row has");
        self.run(&["fit", "good.csv", "--ignore", "new\nline"], "has no column");
    }

    fn archives(&mut self) {
        self.file("empty.npz", zip(&[]), "");
        self.file("nothing.npz", zip(&[("x.txt", b"hello".to_vec())]), "array with rows and columns");
        self.file("outside.npz", zip(&[("../../etc/x.npy", b"hello".to_vec())]), "");
        self.file("escape.npz", zip(&[("\x1b[31m.npy", npy("<f8", "(2, 2)", &[]))]), "");
        self.file("not_array.npz", zip(&[("x.npy", b"hello".to_vec())]), "");
        let mut bomb = npy("|u1", "(1024, 1048576)", &[]);
        bomb.resize(bomb.len() + (1 << 26), 0);
        self.file("bomb_array.npz", zip(&[("x.npy", bomb)]), "");
        let good = zip(&[("x.npy", npy("<f8", "(2, 2)", &[0; 32]))]);
        self.file("cut.npz", &good[..good.len() - 10], "is not a valid npz file");
        let mut lying = good.clone();
        // The size of the member, as its local header and the directory say it.
        for at in find_all(&good, b"PK\x01\x02") {
            lying[at + 24..at + 28].copy_from_slice(&u32::MAX.to_le_bytes());
        }
        self.file("lying_size.npz", &lying, "");
        let mut away = good.clone();
        for at in find_all(&good, b"PK\x01\x02") {
            away[at + 42..at + 46].copy_from_slice(&0x7fff_ffffu32.to_le_bytes());
        }
        self.file("member_outside.npz", &away, "is not a valid npz file");
        // Sparse matrices: 2 x 3, two entries.
        let sparse = |format: &str, shape: &[f64], offsets: &[f64], indices: &[f64], values: &[f64]| {
            let text: Vec<u8> = format.bytes().flat_map(|byte| [byte, 0, 0, 0]).collect();
            zip(&[
                ("format.npy", npy("<U3", "()", &text)),
                ("shape.npy", vector(shape)),
                ("indptr.npy", vector(offsets)),
                ("indices.npy", vector(indices)),
                ("data.npy", vector(values)),
            ])
        };
        let (shape, offsets, indices, values) = ([2.0, 3.0], [0.0, 1.0, 2.0], [0.0, 2.0], [1.0, 2.0]);
        for (name, bytes, said) in [
            ("descending", sparse("csr", &shape, &[0.0, 2.0, 1.0], &indices, &values), "offsets decrease"),
            ("late_start", sparse("csr", &shape, &[1.0, 1.0, 2.0], &indices, &values), "start at 1"),
            ("short_end", sparse("csr", &shape, &[0.0, 1.0, 1.0], &indices, &values), "its offsets say 1 entries"),
            ("long_end", sparse("csr", &shape, &[0.0, 1.0, 3.0], &indices, &values), "its offsets say 3 entries"),
            (
                "far_end",
                sparse("csr", &shape, &[0.0, 1.0, 9e15], &indices, &values),
                "its offsets say 9000000000000000",
            ),
            (
                "fraction_offset",
                sparse("csr", &shape, &[0.0, 0.5, 2.0], &indices, &values),
                "0.5 is not valid in its indptr",
            ),
            (
                "fraction_index",
                sparse("csr", &shape, &offsets, &[0.0, 1.5], &values),
                "1.5 is not valid in its indices",
            ),
            (
                "negative_index",
                sparse("csr", &shape, &offsets, &[0.0, -1.0], &values),
                "-1 is not valid in its indices",
            ),
            (
                "nan_index",
                sparse("csr", &shape, &offsets, &[0.0, f64::NAN], &values),
                "NaN is not valid in its indices",
            ),
            ("far_index", sparse("csr", &shape, &offsets, &[0.0, 3.0], &values), "in row or column 3"),
            ("infinite_index", sparse("csc", &shape, &[0.0, 1.0, 1.0, 2.0], &[0.0, f64::INFINITY], &values), "inf"),
            ("far_row", sparse("csc", &shape, &[0.0, 1.0, 1.0, 2.0], &[0.0, 2.0], &values), "in row or column 2"),
            ("few_offsets", sparse("csr", &shape, &[0.0, 2.0], &indices, &values), "2 row or column offsets"),
            ("no_offsets", sparse("csr", &shape, &[], &indices, &values), "0 row or column offsets"),
            ("huge_shape", sparse("csr", &[9e15, 9e15], &offsets, &indices, &values), "too short for that"),
            (
                "fraction_shape",
                sparse("csr", &[2.5, 3.0], &offsets, &indices, &values),
                "2.5 is not valid in its shape",
            ),
            (
                "negative_shape",
                sparse("csr", &[-2.0, 3.0], &offsets, &indices, &values),
                "-2 is not valid in its shape",
            ),
            ("three_sizes", sparse("csr", &[2.0, 3.0, 4.0], &offsets, &indices, &values), "3 sizes"),
            ("coordinates", sparse("coo", &shape, &offsets, &indices, &values), "neither CSR nor CSC"),
            ("few_values", sparse("csr", &shape, &offsets, &indices, &[1.0]), "1 values"),
        ] {
            self.file(&format!("{name}.npz"), bytes, said);
        }
        // Rows and columns that nothing is in, but that the names and the fit would pay for.
        let mut offsets = vec![0.0; 1_000_001];
        offsets[1_000_000] = 2.0;
        self.file("empty_rows.npz", sparse("csr", &[1e6, 1e6], &offsets, &[0.0, 999_999.0], &values), "");
    }

    /// Excel workbooks: cells that are far away, texts that come often, parts that are not there or that lead outside.
    fn workbooks(&mut self) {
        let far: String = (1..30_000)
            .map(|row| format!("<row r='{row}'><c r='A{row}'><v>1</v></c><c r='XFD{row}'><v>1</v></c></row>"))
            .collect();
        self.file("far.xlsx", workbook(&far, "", "one.xml"), "needs more memory than is free");
        let text = format!("<si><t>{}</t></si>", "x".repeat(32_000));
        let often: String = (0..100).map(|_| format!("<row>{}</row>", "<c t='s'><v>0</v></c>".repeat(1000))).collect();
        self.file("often.xlsx", workbook(&often, &text, "one.xml"), "needs more memory than is free");
        let texts = format!("<si><t>{}</t></si>", "x".repeat(500_000)).repeat(450);
        self.file("texts.xlsx", workbook("", &texts, "one.xml"), "needs more memory than is free");
        self.run(&["fit", "texts.xlsx", "--max-memory", "50MB"], "raise --max-memory");
        self.run(&["fit", "good.csv", "--metadata", "texts.xlsx"], "needs more memory than is free");
        let spaces = format!("<row><c><v>{}</v></c></row>", " ".repeat(1 << 26));
        self.file("spaces.xlsx", workbook(&spaces, "", "one.xml"), "too long");
        self.file("deep.xlsx", workbook(&"<x>".repeat(1 << 24), "", "one.xml"), "too deep");
        let row = "<row><c t='inlineStr'><is><t>\u{1b}]0;owned\u{7}</t></is></c></row>";
        self.file("escape.xlsx", workbook(&row.repeat(2), "", "one.xml"), "is not a number");
        for (name, target) in [("absent", "two.xml"), ("away", "../../../../etc/passwd"), ("url", "http://x/one.xml")] {
            self.file(&format!("{name}.xlsx"), workbook(row, "", target), "the sheet is not in it");
        }
        self.run(&["fit", "escape.xlsx", "--sheet", "\x1b[31m"], "has no sheet");
        let good = workbook("<row><c><v>1</v></c></row>", "", "one.xml");
        self.file("cut.xlsx", &good[..good.len() / 2], "");
        let bomb = "<!DOCTYPE x [<!ENTITY a '&b;&b;'><!ENTITY b '&c;&c;'><!ENTITY c '1111'>]>";
        self.file(
            "entities.xlsx",
            workbook(&format!("{bomb}<row><c><v>&a;</v></c></row>"), "", "one.xml"),
            "something unknown",
        );
        self.file("old.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "is an old Excel workbook");
    }

    fn matlab(&mut self) {
        let head = [b"MATLAB 5.0 MAT-file".as_slice(), &[b' '; 105], &[0, 1], b"IM"].concat();
        let file = |body: &[u8]| [&head, body].concat();
        let element = |kind: u32, data: &[u8]| {
            let mut bytes = [kind.to_le_bytes(), (data.len() as u32).to_le_bytes()].concat();
            bytes.extend(data);
            bytes.resize(bytes.len().next_multiple_of(8), 0);
            bytes
        };
        let words = |numbers: &[i32]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let doubles = |numbers: &[f64]| numbers.iter().flat_map(|number| number.to_le_bytes()).collect::<Vec<u8>>();
        let matrix = |class: i32, shape: &[u8], rest: &[Vec<u8>]| {
            let parts = [element(6, &words(&[class, 9])), shape.to_vec(), element(1, b"x")];
            element(14, &[parts.concat(), rest.concat()].concat())
        };
        let shape = element(5, &words(&[2, 3]));
        let dense = matrix(6, &shape, &[element(9, &doubles(&[0.0; 6]))]);
        self.file("header.mat", b"MATLAB 5.0 MAT-file", "shorter than its header");
        self.file("order.mat", [&head[..126], b"XX"].concat(), "byte order");
        self.file("v73.mat", b"MATLAB 7.3 MAT-file", "7.3");
        self.file("lying_length.mat", file(&[14, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]), "ends in the middle of a variable");
        for at in [8, 40, 60, dense.len() - 8] {
            self.file(&format!("cut{at}.mat"), file(&dense[..at]), "");
        }
        self.file("negative.mat", file(&matrix(6, &element(5, &words(&[-2, -3])), &[])), "");
        self.file("huge.mat", file(&matrix(6, &element(5, &words(&[i32::MAX, i32::MAX])), &[])), "");
        self.file("fraction.mat", file(&matrix(6, &element(9, &doubles(&[2.5, 3.0])), &[])), "");
        self.file("few.mat", file(&matrix(6, &shape, &[element(9, &doubles(&[1.0]))])), "has 1 values, but is 2 x 3");
        let sparse = |indices: &[f64], offsets: &[f64], values: &[f64]| {
            let lists = [indices, offsets, values].map(|numbers| element(9, &doubles(numbers)));
            file(&matrix(5, &shape, &lists))
        };
        let (indices, offsets, values) = ([0.0, 1.0], [0.0, 1.0, 1.0, 2.0], [1.0, 2.0]);
        for (name, bytes, said) in [
            ("sparse_descending", sparse(&indices, &[0.0, 2.0, 1.0, 2.0], &values), "offsets decrease"),
            ("sparse_fraction", sparse(&[0.0, 0.5], &offsets, &values), "0.5 is not valid in its list of row indices"),
            (
                "sparse_fraction_offset",
                sparse(&indices, &[0.0, 0.5, 1.0, 2.0], &values),
                "0.5 is not valid in its list of column offsets",
            ),
            ("sparse_negative", sparse(&[0.0, -1.0], &offsets, &values), "-1 is not valid in its list of row indices"),
            ("sparse_far", sparse(&[0.0, 2.0], &offsets, &values), "in row or column 2"),
            ("sparse_far_end", sparse(&indices, &[0.0, 1.0, 1.0, 1e15], &values), "its offsets say 1000000000000000"),
            ("sparse_few", sparse(&indices, &[0.0, 2.0], &values), "2 row or column offsets"),
            ("sparse_nothing", sparse(&[], &[], &[]), "0 row or column offsets"),
        ] {
            self.file(&format!("{name}.mat"), bytes, said);
        }
        let deflated = |data: &[u8]| {
            let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(data).unwrap();
            let data = encoder.finish().unwrap();
            [15u32.to_le_bytes().to_vec(), (data.len() as u32).to_le_bytes().to_vec(), data].concat()
        };
        self.file("nested.mat", file(&deflated(&deflated(&deflated(&dense)))), "");
        let mut bomb = matrix(6, &element(5, &words(&[1 << 15, 1 << 15])), &[]);
        bomb.extend([9, 0, 0, 0, 0, 0, 0, 0x70]);
        bomb.resize(bomb.len() + (1 << 26), 0);
        self.file("bomb.mat", file(&deflated(&bomb)), "");
        self.file("damaged.mat", file(&[15, 0, 0, 0, 4, 0, 0, 0, 0x78, 0x9c, 0xff, 0xff]), "damaged");
    }

    fn matrix_market(&mut self) {
        let coordinate = "%%MatrixMarket matrix coordinate real general\n";
        let array = "%%MatrixMarket matrix array real general\n";
        for (name, text, said) in [
            ("header", "%%MatrixMarket\n".into(), "5 words"),
            ("complex", "%%MatrixMarket matrix coordinate complex general\n1 1 0\n".into(), "'complex'"),
            ("no_size", format!("{coordinate}{}", "% x\n".repeat(100_000)), "before the line with its size"),
            ("size", format!("{coordinate}1 1\n"), "is not a size"),
            ("negative_size", format!("{coordinate}-1 2 0\n"), "is not a size"),
            ("rows", format!("{coordinate}4294967296 2 0\n"), "too short for that"),
            ("entries", format!("{coordinate}2 2 18446744073709551615\n1 1 1\n"), "its size line says"),
            ("more", format!("{coordinate}2 2 1\n1 1 1\n1 2 1\n"), "its size line says 1 entry"),
            ("from_zero", format!("{coordinate}2 2 1\n0 1 1\n"), "within its size"),
            ("beyond", format!("{coordinate}2 2 1\n3 1 1\n"), "within its size"),
            ("fraction", format!("{coordinate}2 2 1\n1.5 1 1\n"), "within its size"),
            ("minus", format!("{coordinate}2 2 1\n-1 1 1\n"), "within its size"),
            ("infinite", format!("{coordinate}2 2 1\n1 1 inf\n"), "finite"),
            ("words", format!("{coordinate}2 2 1\n1 1 1 1 1\n"), "within its size"),
            ("escape", format!("{coordinate}2 2 1\n\x1b[31m 1 1\n"), "within its size"),
            ("array", format!("{array}1000000 1000000\n1\n"), "its size line says 1000000000000 numbers"),
            ("array_few", format!("{array}2 2\n1\n"), "its size line says 4 numbers"),
            ("skew", "%%MatrixMarket matrix array real skew-symmetric\n2 3\n1\n".into(), "symmetric"),
            ("skew_huge", "%%MatrixMarket matrix array real skew-symmetric\n1 1\n".into(), ""),
            ("empty_matrix", format!("{coordinate}1000000 1000000 0\n"), ""),
            ("no_rows", format!("{coordinate}0 5 0\n"), "has no rows"),
        ] {
            self.file(&format!("{name}.mtx"), text, said);
        }
    }

    fn columnar(&mut self) {
        let parquet = golden("table.parquet");
        let end = parquet.len();
        self.file("magic.parquet", b"PAR1", "");
        self.file("twice.parquet", b"PAR1PAR1PAR1", "");
        for at in [end / 4, end / 2, end - 4, end - 9] {
            self.file(&format!("cut{at}.parquet"), &parquet[..at], "is not a valid parquet file");
        }
        for length in [0, 7, u32::MAX, 0x7fff_ffff, end as u32] {
            let mut lying = parquet.clone();
            lying[end - 8..end - 4].copy_from_slice(&length.to_le_bytes());
            self.file(&format!("footer{length}.parquet"), &lying, "is not a valid parquet file");
        }
        // The last page of the file: more than there is, and less than there is.
        let first = golden("zstd.parquet");
        self.file("cut_page.parquet", [&first[..60], &first[100..]].concat(), "is not a valid parquet file");
        self.file("negative.parquet", regression("negative_offset.parquet"), "outside the file");
        let arrow = golden("table.arrow");
        let end = arrow.len();
        self.file("outside.arrow", regression("buffer_outside.arrow"), "outside its batch");
        for at in [8, end / 2, end - 6, end - 10] {
            self.file(&format!("cut{at}.arrow"), &arrow[..at], "is not a valid arrow file");
        }
        for length in [0, u32::MAX, 0x7fff_ffff] {
            let mut lying = arrow.clone();
            lying[end - 10..end - 6].copy_from_slice(&length.to_le_bytes());
            self.file(&format!("footer{length}.arrow"), &lying, "is not a valid arrow file");
        }
        self.file("message.arrows", b"\xff\xff\xff\xff\xff\xff\xff\x7f", "ends in the middle of a message");
        self.file("messages.arrows", b"\x01\x00\x00\x00".repeat(1000), "");
        // Sixteen MB of zeros take 64 kB; here they come two hundred times.
        let (schema, batch) = compressed_zeros(1 << 21);
        let bomb = [schema, batch.repeat(200), vec![0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]].concat();
        assert!(bomb.len() < 40_000_000, "{}", bomb.len());
        self.file("bomb.arrows", bomb, "");
        self.run(&["inspect", "bomb.arrows"], "");
    }

    /// Files that h5py has written, and that name others.
    fn anndata(&mut self) {
        let folder = manifest().join("../ewca-io/tests/golden");
        for entry in fs::read_dir(folder.join("elsewhere")).unwrap() {
            let name = entry.unwrap().file_name().into_string().unwrap();
            if name.starts_with("at_home") {
                continue;
            }
            fs::copy(folder.join("elsewhere").join(&name), self.folder.join(&name)).unwrap();
            let kinds = ["storage", "virtual"].map(|kind| name.contains(kind));
            let said = match kinds {
                [true, _] => "external storage",
                [_, true] => "virtual dataset",
                _ => "external link",
            };
            self.fit(&name, said);
            self.run(&["inspect", &name], said);
            self.run(&["fit", &name, "--in-parts"], said);
            self.run(&["reconstruct", "no_model", &name], "no_model");
        }
        self.write("secret.bin", [7; 192]);
        fs::copy(folder.join("dense.h5ad"), self.folder.join("secret.h5")).unwrap();
        self.fifo("pipe");
        let whole = golden("dense.h5ad");
        self.file("magic.h5ad", b"\x89HDF\r\n\x1a\n", "is not a valid h5ad file");
        for part in 1..8 {
            let at = whole.len() * part / 8;
            self.file(&format!("cut{part}.h5ad"), &whole[..at], "is not a valid h5ad file");
        }
        // The superblock: version, widths, root.
        for (at, byte) in [(8, 9), (13, 3), (14, 255), (16, 255), (18, 255), (64, 255), (72, 255)] {
            let mut damaged = whole.clone();
            damaged[at] = byte;
            self.file(&format!("byte{at}.h5ad"), &damaged, "");
        }
        self.file("as.h5ad", golden("table.csv"), "is not a h5ad file");
    }

    /// AnnData files whose parts do not fit together.
    fn made_anndata(&mut self) {
        let make = |name: &str, fill: &dyn Fn(&H5File, &H5Group)| {
            let file = H5File::create(self.folder.join(name)).unwrap();
            for (frame, count) in [("obs", 2), ("var", 3)] {
                let group = file.create_group(frame).unwrap();
                group.set_attr_string("_index", "_index").unwrap();
                let names: Vec<String> = (0..count).map(|number| format!("n{number}")).collect();
                group.write_vlen_strings("_index", &names.iter().map(String::as_str).collect::<Vec<_>>()).unwrap();
            }
            let root = file.root_group();
            fill(&file, &root);
            drop(root);
            file.close().unwrap();
        };
        fn list<T: rust_hdf5::H5Type>(group: &H5Group, name: &str, numbers: &[T]) {
            group.new_dataset::<T>().shape([numbers.len()]).create(name).unwrap().write_raw(numbers).unwrap();
        }
        let sparse = |root: &H5Group, offsets: &[i64], indices: &[i64]| {
            let x = root.create_group("X").unwrap();
            x.set_attr_string("encoding-type", "csr_matrix").unwrap();
            list(&x, "data", &[1.0, 2.0]);
            list(&x, "indices", indices);
            list(&x, "indptr", offsets);
        };
        let mut made: Vec<(&str, &str)> = Vec::new();
        for (name, offsets, indices, said) in [
            ("made_descending.h5ad", &[0, 2, 1][..], &[0, 1][..], "offsets decrease"),
            ("made_late.h5ad", &[1, 1, 2], &[0, 1], "start at 1"),
            ("made_short.h5ad", &[0, 1, 1], &[0, 1], "its offsets say 1 entries"),
            ("made_far.h5ad", &[0, 1, i64::MAX], &[0, 1], "its offsets say 9223372036854775807"),
            ("made_negative_offset.h5ad", &[0, -1, 2], &[0, 1], "-1 is not valid in its indptr"),
            ("made_negative.h5ad", &[0, 1, 2], &[0, -1], "-1 is not valid in its indices"),
            ("made_index.h5ad", &[0, 1, 2], &[0, 3], "in row or column 3"),
            ("made_few.h5ad", &[0, 2], &[0, 1], "2 row or column offsets"),
            ("made_one_index.h5ad", &[0, 1, 2], &[0], "1 indices"),
        ] {
            make(name, &|_, root| sparse(root, offsets, indices));
            made.push((name, said));
        }
        make("made_fraction.h5ad", &|_, root| {
            let x = root.create_group("X").unwrap();
            x.set_attr_string("encoding-type", "csr_matrix").unwrap();
            list(&x, "data", &[1.0, 2.0]);
            list(&x, "indices", &[0.0, 1.5]);
            list(&x, "indptr", &[0i64, 1, 2]);
        });
        made.push(("made_fraction.h5ad", "X/indices"));
        make("made_no_encoding.h5ad", &|_, root| {
            root.create_group("X").unwrap();
        });
        made.push(("made_no_encoding.h5ad", "neither a csr nor a csc"));
        make("made_huge.h5ad", &|file, _| {
            let shape = [1usize << 40, 1 << 20];
            file.new_dataset::<f64>().shape(shape).chunk(&[1, 1024]).max_shape(&[None, None]).create("X").unwrap();
        });
        made.push(("made_huge.h5ad", "is larger than"));
        make("made_chunk.h5ad", &|file, _| {
            let chunk = [1usize << 14, 1 << 14];
            file.new_dataset::<f64>().shape([2usize, 3]).chunk(&chunk).max_shape(&[None, None]).create("X").unwrap();
        });
        made.push(("made_chunk.h5ad", "is larger than"));
        make("made_shape.h5ad", &|file, _| {
            file.new_dataset::<f64>().shape([3usize, 2]).create("X").unwrap().write_raw(&[0.0; 6]).unwrap();
        });
        made.push(("made_shape.h5ad", "its matrix is 3 x 2"));
        make("made_loop.h5ad", &|file, root| {
            file.create_soft_link("X", "/Y").unwrap();
            file.create_soft_link("Y", "/X").unwrap();
            let deep = (0..200).fold(root.create_group("deep").unwrap(), |group, _| group.create_group("er").unwrap());
            deep.link("up", "/deep").unwrap();
        });
        made.push(("made_loop.h5ad", ""));
        make("made_escape.h5ad", &|_, root| {
            let layers = root.create_group("layers").unwrap();
            list(&layers, "\x1b[31mred\n", &[1.0]);
        });
        made.push(("made_escape.h5ad", "has no matrix 'X'"));
        for (name, said) in made {
            // Of what the table is compared with, the words are those of the reader.
            let said: &'static str = Box::leak(said.to_string().into_boxed_str());
            self.fit(name, said);
            self.run(&["fit", name, "--in-parts"], "");
        }
        self.run(&["inspect", "made_huge.h5ad"], "save it without compression");
    }

    fn folders(&mut self) {
        let make = |corpus: &Corpus, name: &str| {
            let folder = corpus.folder.join(name);
            fs::create_dir(&folder).unwrap();
            let matrix = "%%MatrixMarket matrix coordinate integer general\n3 4 3\n1 1 5\n2 2 3\n3 4 1\n";
            for (file, text) in
                [("matrix.mtx", matrix), ("features.tsv", "g1\tA\ng2\tB\ng3\tC\n"), ("barcodes.tsv", "a\nb\nc\nd\n")]
            {
                fs::write(folder.join(file), text).unwrap();
            }
            folder
        };
        for file in ["matrix.mtx", "features.tsv", "barcodes.tsv"] {
            for (kind, target, said) in [
                ("away", "../good.csv", "is a link to a file outside its folder"),
                ("system", "/etc/passwd", "is a link to a file outside its folder"),
                ("device", "/dev/zero", "is a link to a file outside its folder"),
                ("itself", file, "cannot be read"),
                ("nothing", "absent", "cannot be read"),
            ] {
                let name = format!("folder_{kind}_{file}");
                let folder = make(self, &name);
                fs::remove_file(folder.join(file)).unwrap();
                symlink(target, folder.join(file)).unwrap();
                self.fit(&name, said);
            }
            let name = format!("folder_folder_{file}");
            let folder = make(self, &name);
            fs::remove_file(folder.join(file)).unwrap();
            fs::create_dir(folder.join(file)).unwrap();
            self.fit(&name, "is a folder, not a file");
            let name = format!("folder_pipe_{file}");
            let folder = make(self, &name);
            fs::remove_file(folder.join(file)).unwrap();
            self.fifo(&format!("{name}/{file}"));
            self.fit(&name, "is a pipe, not a file");
        }
        let folder = make(self, "folder_many_names");
        fs::write(folder.join("barcodes.tsv"), "x\n".repeat(1_000_000)).unwrap();
        self.fit("folder_many_names", "has 1000000 lines");
        let folder = make(self, "folder_bomb");
        fs::remove_file(folder.join("barcodes.tsv")).unwrap();
        let bomb = repeated(&gzip(&b"x\n".repeat(1 << 23)), 256);
        fs::write(folder.join("barcodes.tsv.gz"), bomb).unwrap();
        self.fit("folder_bomb", "");
        for (name, file) in [("cells.zarr", ".zgroup"), ("new.zarr", "zarr.json"), ("array.zarr", ".zarray")] {
            fs::create_dir(self.folder.join(name)).unwrap();
            self.write(&format!("{name}/{file}"), "{}");
            self.fit(name, "is a Zarr folder, but not AnnData (it contains no groups)");
            self.run(&["inspect", name], "is a Zarr folder");
        }
        fs::create_dir(self.folder.join("folder.csv")).unwrap();
        self.fit("folder.csv", "is a folder without a matrix.mtx");
        fs::create_dir(self.folder.join("folder.npy")).unwrap();
        self.run(&["inspect", "folder.npy"], "is a folder without a matrix.mtx");
        self.fit(".", "is a folder without a matrix.mtx");
    }

    /// Paths of what is no file.
    fn paths(&mut self) {
        for device in ["/dev/zero", "/dev/urandom", "/dev/null", "/dev/full"] {
            self.fit(device, "is a character device");
        }
        for command in [&["inspect", "/dev/zero"][..], &["path", "/dev/zero"], &["select", "/dev/urandom"]] {
            self.run(command, "is a character device");
        }
        symlink("/dev/zero", self.folder.join("zero.npy")).unwrap();
        self.fit("zero.npy", "is a character device");
        self.run(&["fit", "zero.npy", "--in-parts"], "is a character device");
        symlink("loop.csv", self.folder.join("loop.csv")).unwrap();
        self.fit("loop.csv", "cannot be read");
        symlink("absent", self.folder.join("dangling.csv")).unwrap();
        self.fit("dangling.csv", "no such file");
        // The listener is gone, and its socket stays.
        drop(std::os::unix::net::UnixListener::bind(self.folder.join("socket.csv")).unwrap());
        self.fit("socket.csv", "is a socket");
        self.file("\x1b]0;owned\x07.csv", "a,b\n1,x\n", "is not a number");
        self.file("new\nline.csv", "a,b\n1,x\n", "is not a number");
        self.file("\u{202e}vsc.csv", "a,b\n1,x\n", "is not a number");
        self.run(&["inspect", "absent\x1b[31m.csv"], "no such file");
        self.fit(&"x".repeat(300), "cannot be read");
        self.fit("good.csv/inside", "cannot be read");
        self.fit("/proc/self/mem", "");
        self.fit("/proc/self/fd", "is a folder");
    }

    /// Pipes: what they bring is read once, and no further than the memory goes.
    fn pipes(&mut self) {
        self.fifo("fifo.csv");
        self.feed(&["fit", "fifo.csv"], "cat nul.csv", Some("fifo.csv"), "neither text");
        self.fifo("fifo.npy");
        self.feed(&["inspect", "fifo.npy", "-q"], "cat bomb.csv.gz", Some("fifo.npy"), "");
        self.fifo("endless");
        self.feed(&["fit", "endless"], "cat /dev/zero", Some("endless"), "needs more memory than is free");
        self.fifo("parts.npy");
        self.run(&["fit", "parts.npy", "--in-parts"], "is a pipe and cannot be read in parts");
        self.fifo("scores");
        self.feed(&["reconstruct", "no_model", "scores"], "true", None, "no_model");
        let standard = [
            ("cat /dev/zero", "needs more memory than is free"),
            ("yes", "needs more memory than is free"),
            ("cat zero_rows_names.npy", "has no rows"),
            ("cat zero_rows_many_columns.npy", "has no rows"),
            ("cat bomb.csv.zst", ""),
            ("cat external_storage_earliest.h5ad", "external storage"),
            ("cat virtual_unlimited_latest.h5ad", "virtual dataset"),
            ("true", "is empty"),
        ];
        for (from, said) in standard {
            self.feed(&["fit", "-"], from, None, said);
            self.feed(&["inspect", "/dev/stdin", "--format", "mat"], from, None, "");
        }
        self.feed(&["fit", "/dev/stdin", "--in-parts"], "cat zero_rows_names.npy", None, "is a pipe");
        self.feed(&["fit", "-", "--in-parts"], "true", None, "cannot be read in parts");
        self.fifo("copy.h5ad");
        self.run(&["fit", "copy.h5ad", "--write-anndata", "b.h5ad"], "a pipe can be read only once");
    }

    fn models(&mut self) {
        self.run(&["transform", "/dev/zero", "good.csv"], "is a character device");
        self.run(&["neighbours", "/dev/urandom"], "is a character device");
        self.file_model("length.safetensors", &u64::MAX.to_le_bytes());
        self.file_model("long.safetensors", &[&(1u64 << 40).to_le_bytes()[..], b"{"].concat());
        let deep = [b"{\"a\":".repeat(50_000), b"1".to_vec()].concat();
        self.file_model("deep.safetensors", &[&(deep.len() as u64).to_le_bytes()[..], &deep].concat());
        self.file_model("empty.safetensors", b"");
        self.file_model("text.safetensors", b"a,b\n1,2\n");
        self.fifo("model.pipe");
        self.feed(&["transform", "model.pipe", "good.csv"], "cat nul.csv", Some("model.pipe"), "");
    }

    fn file_model(&mut self, name: &str, content: &[u8]) {
        self.write(name, content);
        self.run(&["transform", name, "good.csv"], "");
        self.run(&["neighbours", name], "");
    }

    fn fifo(&self, name: &str) {
        assert!(Command::new("mkfifo").arg(self.folder.join(name)).status().unwrap().success());
    }
}

fn manifest() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn golden(name: &str) -> Vec<u8> {
    fs::read(manifest().join("../ewca-io/tests/golden").join(name)).unwrap()
}

fn regression(name: &str) -> Vec<u8> {
    fs::read(manifest().join("../ewca-io/tests/regressions").join(name)).unwrap()
}

/// An array with this type, this shape and these bytes.
fn npy(descr: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let fortran = if descr == "<f4" { "True" } else { "False" };
    let descr = if descr.starts_with('[') { descr.into() } else { format!("'{descr}'") };
    let shape = if shape.is_empty() { String::new() } else { format!("'shape': {shape}, ") };
    let header = format!("{{'descr': {descr}, 'fortran_order': {fortran}, {shape}}}");
    let size = (header.len() as u16).to_le_bytes();
    [b"\x93NUMPY\x01\x00".as_slice(), &size, header.as_bytes(), data].concat()
}

/// A list of numbers as an array.
fn vector(numbers: &[f64]) -> Vec<u8> {
    let data: Vec<u8> = numbers.iter().flat_map(|number| number.to_le_bytes()).collect();
    npy("<f8", &format!("({},)", numbers.len()), &data)
}

fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(bytes).unwrap();
    encoder.finish().unwrap()
}

fn repeated(bytes: &[u8], times: usize) -> Vec<u8> {
    bytes.repeat(times)
}

fn zip(members: &[(&str, Vec<u8>)]) -> Vec<u8> {
    let mut writer = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    for (name, content) in members {
        writer.start_file(*name, zip::write::SimpleFileOptions::default()).unwrap();
        writer.write_all(content).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A workbook whose only sheet has these rows and shared texts. Its part is `xl/one.xml`, and `target` is where it is said to be.
fn workbook(rows: &str, texts: &str, target: &str) -> Vec<u8> {
    let relation = |kind: &str, target: &str| format!("<Relationship Id='{kind}' Type='x/{kind}' Target='{target}'/>");
    let relations = format!("<r>{}{}</r>", relation("worksheet", target), relation("sharedStrings", "texts.xml"));
    zip(&[
        ("[Content_Types].xml", Vec::new()),
        ("xl/_rels/workbook.xml.rels", relations.into_bytes()),
        ("xl/workbook.xml", b"<workbook><sheet name='\x1b[2Jone' r:id='worksheet'/></workbook>".to_vec()),
        ("xl/one.xml", format!("<worksheet><sheetData>{rows}</sheetData></worksheet>").into_bytes()),
        ("xl/texts.xml", format!("<sst uniqueCount='4611686018427387904'>{texts}</sst>").into_bytes()),
    ])
}

fn find_all(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    (0..bytes.len().saturating_sub(wanted.len())).filter(|&at| bytes[at..].starts_with(wanted)).collect()
}

/// The messages of an Arrow stream: the schema, and one batch of so many zeros, compressed.
fn compressed_zeros(rows: usize) -> (Vec<u8>, Vec<u8>) {
    let schema = Arc::new(Schema::new(vec![Field::new("x", DataType::Float64, false)]));
    let options = IpcWriteOptions::default().try_with_compression(Some(CompressionType::LZ4_FRAME)).unwrap();
    let mut writer = StreamWriter::try_new_with_options(Vec::new(), &schema, options).unwrap();
    let head = writer.get_ref().clone();
    let batch = RecordBatch::try_new(schema, vec![Arc::new(Float64Array::from(vec![0.0; rows]))]).unwrap();
    writer.write(&batch).unwrap();
    let both = writer.get_ref().clone();
    (head.clone(), both[head.len()..].to_vec())
}
