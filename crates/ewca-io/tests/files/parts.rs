//! Tables that are read some rows at a time are those that are read whole, bit for bit; what cannot be read so is refused,
//! and damaged files never panic.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, Int32Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use ewca_io::{
    Checksum, DenseValues, Missing, Preprocessing, ReadOptions, SparseValues, Table, TableReader, Values, read_table,
    readable_in_parts, write_matrix_npy,
};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use rust_hdf5::{H5Dataset, H5File, H5Type};
use tempfile::TempDir;

const ROWS: usize = 100;
const COLUMNS: usize = 5;

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

fn labelled(label: &str) -> ReadOptions {
    ReadOptions { label: Some(label.into()), ..ReadOptions::default() }
}

/// Numbers of many sizes, some of them zero.
fn cell(at: usize) -> f64 {
    let mixed = (at as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 11;
    if mixed.is_multiple_of(3) { 0.0 } else { mixed as f64 / (1u64 << 50) as f64 + (at % COLUMNS) as f64 }
}

fn cells() -> Vec<f64> {
    (0..ROWS * COLUMNS).map(cell).collect()
}

fn names(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|at| format!("{prefix}{at}")).collect()
}

/// The parts of a table, put together.
fn joined(parts: Vec<Table>) -> Table {
    let mut parts = parts.into_iter();
    let mut all = parts.next().unwrap();
    for part in parts {
        assert_eq!(part.features, all.features);
        match (&mut all.values, part.values) {
            (Values::Dense(all), Values::Dense(part)) => {
                all.rows += part.rows;
                all.data.extend(part.data);
            }
            (Values::Sparse(all), Values::Sparse(part)) => {
                let end = all.indices.len();
                all.offsets.extend(part.offsets[1..].iter().map(|offset| end + offset));
                all.indices.extend(part.indices);
                all.values.extend(part.values);
            }
            _ => panic!("some parts are sparse and some are not"),
        }
        for (all, part) in [(&mut all.ids, part.ids), (&mut all.labels, part.labels)] {
            assert_eq!(all.is_some(), part.is_some());
            all.iter_mut().for_each(|all| all.extend(part.clone().unwrap()));
        }
    }
    all
}

fn bits(table: &Table) -> Vec<u64> {
    table.values.stored().iter().map(|value| value.to_bits()).collect()
}

fn in_parts(reader: &TableReader, size: usize) -> Vec<Table> {
    let parts = (0..reader.rows()).step_by(size).map(|start| start..reader.rows().min(start + size));
    parts.map(|rows| reader.read(rows).unwrap_or_else(|error| panic!("{error}"))).collect()
}

/// Reads a file whole and in parts of several sizes.
#[track_caller]
fn same_in_parts(path: &Path, options: &ReadOptions) -> TableReader {
    let whole = read_table(path, options).unwrap_or_else(|error| panic!("{error}"));
    let reader = TableReader::open(path, options).unwrap_or_else(|error| panic!("{error}"));
    assert!(readable_in_parts(path, options), "{}", path.display());
    assert_eq!((reader.rows(), reader.columns()), (whole.rows(), whole.columns()), "{}", path.display());
    assert_eq!(reader.features(), whole.features);
    assert_eq!(reader.is_sparse(), matches!(whole.values, Values::Sparse(_)));
    for size in [1, 3, 7, 64, whole.rows()] {
        let parts = in_parts(&reader, size);
        let mut sum = Checksum::of_table_with(reader.rows(), reader.features());
        parts.iter().enumerate().for_each(|(at, part)| sum.add_rows(at * size, &part.values));
        assert_eq!(sum.value(), whole.checksum());
        let joined = joined(parts);
        assert_eq!(bits(&joined), bits(&whole), "{} by {size}", path.display());
        assert_eq!(joined, whole, "{} by {size}", path.display());
    }
    for at in [0, 1, whole.rows()] {
        let nothing = reader.read(at..at).unwrap();
        assert_eq!((nothing.rows(), nothing.columns(), &nothing.features), (0, whole.columns(), &whole.features));
        assert_eq!(nothing.ids.is_some(), whole.ids.is_some());
        assert_eq!(nothing.labels.is_some(), whole.labels.is_some());
    }
    assert!(reader.read(0..whole.rows() + 1).unwrap_err().to_string().contains("request rows within the table"));
    #[expect(clippy::reversed_empty_ranges, reason = "a mistake that a caller may make")]
    let backwards = 1..0;
    assert!(reader.read(backwards).is_err());
    reader
}

/// A folder with the same table in every format that is read in parts.
struct Files {
    folder: TempDir,
}

impl Files {
    fn new() -> Files {
        Files { folder: tempfile::tempdir().unwrap() }
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn npy(&self) -> PathBuf {
        let path = self.path("table.npy");
        write_matrix_npy(&path, ROWS, COLUMNS, &cells()).unwrap();
        path
    }

    /// Row groups of 16 rows, pages of 5, an id, a label, and whole numbers among the columns.
    fn parquet(&self) -> PathBuf {
        let path = self.path("table.parquet");
        let numbers = cells();
        let classes = (0..ROWS).map(|row| ["red", "green", "blue"][row % 3]);
        let mut fields = vec![Field::new("name", DataType::Utf8, false), Field::new("class", DataType::Utf8, false)];
        let mut columns: Vec<ArrayRef> = vec![
            Arc::new(StringArray::from_iter_values(names("s", ROWS))),
            Arc::new(StringArray::from_iter_values(classes)),
        ];
        for column in 0..COLUMNS {
            fields.push(Field::new(format!("f{column}"), DataType::Float64, false));
            let cells = numbers.iter().skip(column).step_by(COLUMNS).copied();
            columns.push(Arc::new(Float64Array::from_iter_values(cells)));
        }
        fields.push(Field::new("count", DataType::Int32, false));
        columns.push(Arc::new(Int32Array::from_iter_values((0..ROWS as i32).map(|row| row - 50))));
        let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
        let properties = WriterProperties::builder()
            .set_max_row_group_row_count(Some(16))
            .set_data_page_row_count_limit(5)
            .set_write_batch_size(5)
            .build();
        let mut writer = ArrowWriter::try_new(File::create(&path).unwrap(), batch.schema(), Some(properties)).unwrap();
        writer.write(&batch).unwrap();
        writer.close().unwrap();
        path
    }

    /// An AnnData file whose matrix `write` puts there.
    fn h5ad(&self, name: &str, write: impl FnOnce(&H5File)) -> PathBuf {
        let path = self.path(name);
        let file = H5File::create(&path).unwrap();
        for (frame, names) in [("obs", names("cell", ROWS)), ("var", names("gene", COLUMNS))] {
            let group = file.create_group(frame).unwrap();
            group.set_attr_string("_index", "_index").unwrap();
            let names: Vec<&str> = names.iter().map(String::as_str).collect();
            group.write_vlen_strings("_index", &names).unwrap();
        }
        let classes: Vec<&str> = (0..ROWS).map(|row| ["a", "b"][row % 2]).collect();
        file.root_group().group("obs").unwrap().write_vlen_strings("class", &classes).unwrap();
        write(&file);
        file.close().unwrap();
        path
    }

    fn dense(&self, name: &str, chunk: Option<[usize; 2]>) -> PathBuf {
        self.h5ad(name, |file| dense(file, &cells(), chunk))
    }

    fn sparse(&self, name: &str, encoding: &str) -> PathBuf {
        self.h5ad(name, |file| {
            let entries = entries();
            let group = file.create_group("X").unwrap();
            group.set_attr_string("encoding-type", encoding).unwrap();
            let list = |name: &str| format!("X/{name}");
            let indptr: Vec<i64> = entries.offsets.iter().map(|&offset| offset as i64).collect();
            write(file.new_dataset::<i64>().shape([indptr.len()]).create(&list("indptr")).unwrap(), &indptr);
            let indices: Vec<i32> = entries.indices.iter().map(|&index| index as i32).collect();
            let chunked = file.new_dataset::<i32>().shape([indices.len()]).chunk(&[11]).deflate(4);
            write(chunked.create(&list("indices")).unwrap(), &indices);
            let values: Vec<f32> = entries.values.iter().map(|&value| value as f32).collect();
            write(file.new_dataset::<f32>().shape([values.len()]).create(&list("data")).unwrap(), &values);
        })
    }
}

fn write<T: H5Type>(dataset: H5Dataset, data: &[T]) {
    dataset.write_raw(data).unwrap();
}

fn dense<T: H5Type>(file: &H5File, data: &[T], chunk: Option<[usize; 2]>) {
    let dataset = file.new_dataset::<T>().shape([ROWS, COLUMNS]);
    let dataset = match chunk {
        Some(chunk) => dataset.chunk(&chunk).deflate(4),
        None => dataset,
    };
    write(dataset.create("X").unwrap(), data);
}

/// The same cells, sparse: some rows are empty, some have their columns backwards, and one has an entry twice.
fn entries() -> SparseValues {
    let mut sparse = SparseValues { columns: COLUMNS, offsets: vec![0], indices: Vec::new(), values: Vec::new() };
    let cells = cells();
    for row in 0..ROWS {
        let mut columns: Vec<usize> = (0..COLUMNS).filter(|column| cells[row * COLUMNS + column] != 0.0).collect();
        match row % 10 {
            0 => columns.clear(),
            1 => columns.reverse(),
            2 => columns.push(columns[0]),
            _ => {}
        }
        sparse.indices.extend(columns.iter().map(|&column| column as u32));
        sparse.values.extend(columns.iter().map(|column| cells[row * COLUMNS + column]));
        sparse.offsets.push(sparse.indices.len());
    }
    sparse
}

#[test]
fn arrays() {
    for kind in ["f2", "f4", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8"] {
        same_in_parts(&golden(&format!("whole_{kind}.npy")), &ReadOptions::default());
    }
    for name in ["c.npy", "big_endian.npy", "bool.npy"] {
        same_in_parts(&golden(name), &ReadOptions::default());
    }
    let options = ReadOptions { id: Some("column3".into()), ignore: vec!["column1".into()], ..labelled("column2") };
    same_in_parts(&golden("c.npy"), &options);
    let files = Files::new();
    let reader = same_in_parts(&files.npy(), &ReadOptions::default());
    assert_eq!((reader.rows_in(0), reader.rows_in(8 * COLUMNS * 9 + 1), reader.rows_in(1 << 30)), (1, 9, ROWS));
}

#[test]
fn parquet_files() {
    for name in ["table.parquet", "zstd.parquet", "categories.parquet"] {
        same_in_parts(&golden(name), &labelled("class"));
    }
    same_in_parts(&golden("types.parquet"), &ReadOptions::default());
    let files = Files::new();
    let path = files.parquet();
    let options = ReadOptions { id: Some("name".into()), ..labelled("class") };
    same_in_parts(&path, &options);
    same_in_parts(
        &path,
        &ReadOptions { ignore: vec!["name".into(), "f2".into()], ..labelled("count") }.ignoring("class"),
    );
}

trait Ignoring {
    fn ignoring(self, column: &str) -> ReadOptions;
}

impl Ignoring for ReadOptions {
    fn ignoring(mut self, column: &str) -> ReadOptions {
        self.ignore.push(column.into());
        self
    }
}

#[test]
fn anndata_files() {
    for name in ["dense.h5ad", "csr.h5ad"] {
        for label in ["class", "flag", "text", "number"] {
            same_in_parts(&golden(name), &labelled(label));
        }
        same_in_parts(&golden(name), &ReadOptions { id: Some("text".into()), ..labelled("number") }.ignoring("f2"));
        same_in_parts(&golden(name), &ReadOptions { array: Some("double".into()), ..ReadOptions::default() });
    }
    same_in_parts(&golden("dense.h5ad"), &ReadOptions { array: Some("small".into()), ..ReadOptions::default() });
    let files = Files::new();
    same_in_parts(&files.dense("contiguous.h5ad", None), &labelled("class"));
    let reader = same_in_parts(&files.dense("chunked.h5ad", Some([7, 2])), &labelled("class"));
    // Whole chunks, if a part holds one.
    assert_eq!((reader.rows_in(8 * COLUMNS * 5), reader.rows_in(8 * COLUMNS * 20)), (5, 14));
    same_in_parts(&files.dense("one_chunk.h5ad", Some([ROWS, COLUMNS])), &ReadOptions::default());
    let whole: Vec<u64> = (0..(ROWS * COLUMNS) as u64).map(|at| u64::MAX - at * 12345).collect();
    same_in_parts(&files.h5ad("u64.h5ad", |file| dense(file, &whole, Some([7, 2]))), &ReadOptions::default());
    let small: Vec<i16> = (0..(ROWS * COLUMNS) as i16).map(|at| at - 200).collect();
    same_in_parts(&files.h5ad("i16.h5ad", |file| dense(file, &small, None)), &ReadOptions::default());
    let reader = same_in_parts(&files.sparse("csr.h5ad", "csr_matrix"), &labelled("class").ignoring("gene3"));
    let row = (12 * entries().values.len() + 8 * ROWS) / ROWS;
    assert!(reader.rows_in(10 * row).abs_diff(10) <= 1);
}

#[test]
fn many_threads_read_at_once() {
    let files = Files::new();
    let readers =
        [(files.parquet(), labelled("class").ignoring("name")), (files.sparse("csr.h5ad", "csr"), labelled("class"))];
    for (path, options) in readers {
        let whole = read_table(&path, &options).unwrap();
        let reader = TableReader::open(&path, &options).unwrap();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| assert_eq!(joined(in_parts(&reader, 9)), whole));
            }
        });
    }
}

/// What `open` says, without the path.
fn refusal(path: &Path, options: &ReadOptions) -> String {
    let error = TableReader::open(path, options).map(|_| ()).expect_err(&path.to_string_lossy());
    error.to_string().replace(&*path.to_string_lossy(), "FILE")
}

#[test]
fn what_cannot_be_read_in_parts_is_refused() {
    let plain = ReadOptions::default();
    let convert = "cannot be read in parts; convert it to .npy, Parquet or .h5ad";
    for name in ["table.csv", "several.npz", "plain.mat", "coordinate.mtx", "table.arrow", "table.feather", "tenx2"] {
        let message = refusal(&golden(name), &plain);
        assert!(message.starts_with("FILE: is ") && message.ends_with(convert), "{name}: {message}");
        assert!(!readable_in_parts(&golden(name), &plain), "{name}");
    }
    let files = Files::new();
    let slow = |file: &H5File| {
        let dataset = file.new_dataset::<f64>().shape([ROWS, COLUMNS]).chunk(&[1 << 14, 1 << 13]).resizable();
        drop(dataset.create("X").unwrap());
    };
    for (path, message) in [
        (golden("table.csv.gz"), "is compressed as a whole and cannot be read in parts; decompress it first"),
        (golden("table.csv.zst"), "is compressed as a whole and cannot be read in parts; decompress it first"),
        (
            golden("fortran.npy"),
            "is stored by columns (Fortran order), so it cannot be read in parts; save it in C order: np.save(file, np.ascontiguousarray(array))",
        ),
        (golden("vector.npy"), "is an array with 1 dimension instead of 2"),
        (golden("complex.npy"), "has elements of the type '<c16'"),
        (golden("csc.h5ad"), "X is stored by columns (CSC) and cannot be read in parts; store it by rows"),
        (
            files.h5ad("chunks.h5ad", slow),
            "X has chunks of 16384 rows (1073741824 bytes), too large to be read in parts; save it again with fewer rows per chunk",
        ),
    ] {
        let found = refusal(&path, &plain);
        assert!(found.contains(message), "{found}");
        assert!(!readable_in_parts(&path, &plain));
    }
    for (options, message) in [
        (
            ReadOptions { transpose: true, ..plain.clone() },
            "`transpose` does not work with a table that is read in parts; save the table with samples in rows, or load the whole table",
        ),
        (
            ReadOptions { filter: Some(("a".into(), "b".into())), ..plain.clone() },
            "`filter` does not work with a table that is read in parts; save the rows you need to a separate file, or load the whole table",
        ),
        (
            ReadOptions { missing: Missing::Mean, ..plain.clone() },
            "`missing` does not work with a table that is read in parts; fill in the missing values in the file, or load the whole table",
        ),
    ] {
        assert_eq!(refusal(&golden("c.npy"), &options), message);
        assert!(!readable_in_parts(&golden("c.npy"), &options));
    }
    // As of a whole table.
    for (name, options) in [
        ("c.npy", labelled("column9")),
        ("table.parquet", plain.clone()),
        ("table.parquet", labelled("clas")),
        ("csr.h5ad", labelled("clas")),
        ("dense.h5ad", ReadOptions { array: Some("none".into()), ..plain.clone() }),
        ("c.npy", ReadOptions { max_bytes: Some(100), ..plain.clone() }),
        ("dense.h5ad", ReadOptions { max_bytes: Some(100), ..plain.clone() }),
        ("absent.npy", plain.clone()),
    ] {
        let whole = read_table(&golden(name), &options).unwrap_err().to_string();
        assert_eq!(TableReader::open(&golden(name), &options).unwrap_err().to_string(), whole);
    }
    let empty = files.path("empty.npy");
    fs::write(&empty, "").unwrap();
    assert_eq!(refusal(&empty, &plain), "FILE: is empty; check that the file is complete");
    write_matrix_npy(&empty, 0, 3, &[]).unwrap();
    assert_eq!(refusal(&empty, &plain), "FILE: has no rows; check that the file is complete");
    write_matrix_npy(&empty, 3, 0, &[]).unwrap();
    assert_eq!(refusal(&empty, &plain), "FILE: has no numeric columns; check that the file is complete");
}

#[test]
fn messages_count_rows_from_the_start_of_the_file() {
    let files = Files::new();
    let mut data = cells();
    data[40 * COLUMNS + 2] = f64::NAN;
    data[60 * COLUMNS + 1] = f64::INFINITY;
    let path = files.path("holes.npy");
    write_matrix_npy(&path, ROWS, COLUMNS, &data).unwrap();
    let dense = files.h5ad("holes.h5ad", |file| dense(file, &data, Some([7, 2])));
    for (path, columns) in [(path, ["column3", "column2"]), (dense, ["gene2", "gene1"])] {
        let reader = TableReader::open(&path, &ReadOptions::default()).unwrap();
        assert!(reader.read(0..40).is_ok());
        let message = |rows| reader.read(rows).unwrap_err().to_string();
        assert!(message(35..45).contains(&format!(", row 41, column '{}': the value is missing", columns[0])));
        assert!(message(60..61).contains(&format!(", row 61, column '{}': 'inf' is not a finite number", columns[1])));
    }
    let reader = TableReader::open(&golden("dense.h5ad"), &labelled("hole")).unwrap();
    let message = reader.read(1..3).unwrap_err().to_string();
    assert!(message.contains(", row 2: the label is missing"), "{message}");
    let reader = TableReader::open(&golden("holes.parquet"), &ReadOptions::default()).unwrap();
    let message = reader.read(1..3).unwrap_err().to_string();
    assert!(message.contains(", row 2, column 'f1': the value is missing"), "{message}");
}

#[test]
fn a_file_that_changes_is_noticed() {
    let files = Files::new();
    let path = files.npy();
    let reader = TableReader::open(&path, &ReadOptions::default()).unwrap();
    write_matrix_npy(&path, ROWS + 1, COLUMNS, &vec![1.0; (ROWS + 1) * COLUMNS]).unwrap();
    let message = reader.read(0..1).unwrap_err().to_string();
    assert!(message.contains("has changed since its first part was read"), "{message}");
    fs::remove_file(&path).unwrap();
    assert!(reader.read(0..1).unwrap_err().to_string().contains("no such file"));
}

/// Reads as much of a damaged file as there is; gives whether all of it was.
fn survives(path: &Path, options: &ReadOptions) -> bool {
    let one_line = |error: ewca_io::Error| assert!(!error.to_string().contains('\n'), "{error}");
    let _ = readable_in_parts(path, options);
    let reader = match TableReader::open(path, options) {
        Ok(reader) => reader,
        Err(error) => {
            one_line(error);
            return false;
        }
    };
    let mut whole = true;
    for start in (0..reader.rows()).step_by(23).take(8) {
        let rows = start..reader.rows().min(start + 23);
        match reader.read(rows.clone()) {
            Ok(part) => assert_eq!((part.rows(), part.columns()), (rows.len(), reader.columns())),
            Err(error) => {
                one_line(error);
                whole = false;
            }
        }
    }
    whole
}

#[test]
fn damaged_files_never_panic() {
    // Panics of other crates' decoders are caught and become errors; they need not be shown.
    std::panic::set_hook(Box::new(|panic| {
        if panic.location().is_some_and(|location| location.file().contains("ewca-io")) {
            eprintln!("{panic}");
        }
    }));
    let files = Files::new();
    let named = labelled("class");
    let cases = [
        (files.npy(), ReadOptions::default(), true),
        (files.parquet(), named.clone().ignoring("name"), true),
        (files.dense("chunked.h5ad", Some([7, 2])), named.clone(), false),
        (files.sparse("csr.h5ad", "csr_matrix"), named, false),
    ];
    for (path, options, cut_is_seen) in cases {
        let whole = fs::read(&path).unwrap();
        let damaged = files.path("damaged");
        assert!(survives(&path, &options));
        for length in (0..whole.len()).step_by(whole.len() / 41 + 1) {
            fs::write(&damaged, &whole[..length]).unwrap();
            assert!(!survives(&damaged, &options) || !cut_is_seen, "{} cut at {length}", path.display());
        }
        for at in (0..whole.len()).step_by(whole.len() / 67 + 1) {
            for mask in [0xff, 1 << (at % 8)] {
                let mut bytes = whole.clone();
                bytes[at] ^= mask;
                fs::write(&damaged, &bytes).unwrap();
                survives(&damaged, &options);
            }
        }
    }
}

#[test]
fn what_headers_claim_is_checked() {
    let files = Files::new();
    let path = files.npy();
    let whole = fs::read(&path).unwrap();
    let text = String::from_utf8_lossy(&whole[..128]).into_owned();
    for (shape, message) in [
        ("(900, 5)", "its shape [900, 5] needs 36000 bytes, but it has 4000"),
        ("(10, 5)", "its shape [10, 5] needs 400 bytes, but it has 4000"),
        ("(4611686018427387904, 5)", "it claims the shape [4611686018427387904, 5]"),
    ] {
        let header = text.replace(&format!("({ROWS}, {COLUMNS})"), shape);
        let header = text_of_length(&header[..header.len() - 1], text.len());
        let mut bytes = whole.clone();
        bytes.splice(10..128, header.bytes().skip(header.len() - 118));
        fs::write(&path, &bytes).unwrap();
        let found = refusal(&path, &ReadOptions::default());
        assert!(found.contains(message), "{found}");
    }
    // Offsets of rows that go beyond the entries, and entries in columns that are not there.
    for (change, message) in [("indptr", "row or column offsets"), ("indices", "an entry is in row or column")] {
        let path = files.h5ad("lies.h5ad", |file| {
            let group = file.create_group("X").unwrap();
            group.set_attr_string("encoding-type", "csr_matrix").unwrap();
            let mut indptr: Vec<i64> = (0..=ROWS as i64).collect();
            let mut indices = vec![0i64; ROWS];
            match change {
                "indptr" => indptr[50] = 1 << 40,
                _ => indices[50] = COLUMNS as i64,
            }
            write(file.new_dataset::<i64>().shape([ROWS + 1]).create("X/indptr").unwrap(), &indptr);
            write(file.new_dataset::<i64>().shape([ROWS]).create("X/indices").unwrap(), &indices);
            write(file.new_dataset::<f64>().shape([ROWS]).create("X/data").unwrap(), &[1.0; ROWS]);
        });
        let read = TableReader::open(&path, &ReadOptions::default()).and_then(|reader| reader.read(45..55));
        let found = read.unwrap_err().to_string();
        assert!(found.contains(message), "{found}");
    }
}

/// A header of the same length, filled up with blanks before the line's end.
fn text_of_length(header: &str, length: usize) -> String {
    let body = header.trim_end();
    format!("{body}{}\n", " ".repeat((length - 1).saturating_sub(body.len())))
}

#[test]
fn preprocessing_learns_the_same_from_parts() {
    let files = Files::new();
    let tables = [
        (files.npy(), ReadOptions::default()),
        (files.parquet(), labelled("class").ignoring("name").ignoring("count")),
        (files.dense("chunked.h5ad", Some([7, 2])), ReadOptions::default()),
        (files.sparse("csr.h5ad", "csr_matrix"), labelled("class")),
    ];
    let none = Preprocessing::default();
    let all = Preprocessing { normalize_total: Some(1e4), log1p: true, top_variable: Some(3), unit_variance: true };
    let steps = [
        all.clone(),
        Preprocessing { unit_variance: true, ..none.clone() },
        Preprocessing { top_variable: Some(2), ..none.clone() },
        Preprocessing { top_variable: Some(COLUMNS), ..none.clone() },
        Preprocessing { log1p: true, ..none.clone() },
        none.clone(),
    ];
    for (path, options) in tables {
        let reader = TableReader::open(&path, &options).unwrap();
        for steps in &steps {
            let whole = read_table(&path, &options).unwrap();
            let (expected, processed) = steps.fit(whole, "t").unwrap();
            for size in [1, 7, ROWS, usize::MAX] {
                let fitted = steps.fit_parts(&reader, size, "t").unwrap();
                assert_eq!((&fitted.steps, &fitted.features), (&expected.steps, &expected.features));
                assert_eq!(fitted.kept, expected.kept);
                close(fitted.scales.as_deref(), expected.scales.as_deref());
                // A part is changed as the whole table is.
                let part = expected.apply(reader.read(20..40).unwrap(), "t").unwrap();
                let rows = |table: &Table| match &table.values {
                    Values::Dense(DenseValues { data, columns, .. }) => data[20 * columns..40 * columns].to_vec(),
                    Values::Sparse(sparse) => sparse.values[sparse.offsets[20]..sparse.offsets[40]].to_vec(),
                };
                assert_eq!(part.values.stored(), rows(&processed));
            }
        }
    }
}

#[track_caller]
fn close(found: Option<&[f64]>, expected: Option<&[f64]>) {
    let (Some(found), Some(expected)) = (found, expected) else {
        return assert_eq!(found, expected);
    };
    assert_eq!(found.len(), expected.len());
    assert!(found.iter().zip(expected).all(|(a, b)| (a / b - 1.0).abs() < 1e-12), "{found:?} {expected:?}");
}

#[test]
fn preprocessing_of_hard_columns_and_of_wrong_cells() {
    let files = Files::new();
    let path = files.path("hard.npy");
    let rows = 1000;
    // A constant that is not exact, a mean a million times the deviation, a single cell that is not zero, small and large.
    let row = |row: usize| {
        let wave = (row as f64 * 0.7).sin();
        [0.1, 1e6 + wave, f64::from(u8::from(row == 700)), 1e-12 * wave, 1e12 * wave]
    };
    let data: Vec<f64> = (0..rows).flat_map(row).collect();
    write_matrix_npy(&path, rows, 5, &data).unwrap();
    let reader = TableReader::open(&path, &ReadOptions::default()).unwrap();
    let steps = Preprocessing { unit_variance: true, ..Preprocessing::default() };
    let (expected, _) = steps.fit(read_table(&path, &ReadOptions::default()).unwrap(), "t").unwrap();
    assert_eq!(expected.scales.as_ref().unwrap()[0], 1.0, "a constant feature is left alone");
    for size in [1, 64, 333] {
        close(steps.fit_parts(&reader, size, "t").unwrap().scales.as_deref(), expected.scales.as_deref());
    }
    let total = Preprocessing { normalize_total: Some(1.0), ..steps.clone() };
    // The wave is negative from row 6 on.
    let error = total.fit_parts(&reader, 3, "t").unwrap_err().to_string();
    assert_eq!(error, "t, row 6: its total is negative; `normalize_total` is for counts, which cannot be negative");
    let log = Preprocessing { log1p: true, ..steps };
    let error = log.fit_parts(&reader, 64, "t").unwrap_err().to_string();
    assert!(error.starts_with("t, row 6, column 'column5': 'ln(1 + "), "{error}");
}
