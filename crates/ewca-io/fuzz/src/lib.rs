//! What every fuzz target does: read the bytes in several ways, and check what comes out.
//!
//! tests/mutations.rs runs the same code, without a fuzzer.

use std::fs;
use std::io::Write;
use std::path::Path;

use ewca_io::{
    DenseValues, Error, Format, Missing, ReadOptions, Table, TableReader, Values, forecast, read_model_bytes,
    read_table, read_table_from,
};

/// No input of the fuzzer may grow beyond this.
const MOST_BYTES: u64 = 1 << 24;

/// What lies between the matrix, the features and the barcodes of a 10x folder in one input.
const PART: &[u8] = b"\n--\n";

/// What the target of that name does with the bytes.
pub fn run(target: &str, bytes: &[u8]) {
    count_only_what_escapes();
    match target {
        "csv" => read_all_ways(bytes, Format::Csv),
        "npy" => read_all_ways(bytes, Format::Npy),
        "npz" => read_all_ways(bytes, Format::Npz),
        "parquet" => read_all_ways(bytes, Format::Parquet),
        "arrow" => read_all_ways(bytes, Format::Arrow),
        "mat" => read_all_ways(bytes, Format::Mat),
        "mtx" => read_all_ways(bytes, Format::Mtx),
        "h5ad" => read_all_ways(bytes, Format::H5ad),
        "tenx" => read_folder(bytes),
        "model" => read_model_and_use(bytes),
        _ => panic!("there is no target '{target}'"),
    }
}

/// The fuzzer's own hook ends the process at any panic. Those of other crates' decoders are caught
/// and become errors, and must not count; one that is not caught still ends the run.
fn count_only_what_escapes() {
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
}

/// Reads `bytes` as `format`, plainly and with most options set.
fn read_all_ways(bytes: &[u8], format: Format) {
    let plain = ReadOptions { format: Some(format), max_bytes: Some(MOST_BYTES), ..ReadOptions::default() };
    let named = ReadOptions {
        label: Some("class".into()),
        missing: Missing::DropRows,
        array: Some("X".into()),
        ..plain.clone()
    };
    let turned = ReadOptions { transpose: true, header: false, missing: Missing::Mean, ..plain.clone() };
    let columns = ReadOptions { missing: Missing::DropColumns, ignore: vec!["class".into()], ..plain.clone() };
    let mut file = tempfile::NamedTempFile::new().expect("a temporary file");
    file.write_all(bytes).expect("room for a temporary file");
    for options in [&plain, &named, &turned, &columns] {
        let _ = forecast(file.path(), options);
        table_or_one_line(read_table_from(bytes, "fuzz", options));
    }
    read_in_parts(file.path(), &plain);
    read_in_parts(file.path(), &ReadOptions { missing: Missing::Error, ..named });
}

/// Reads the file some rows at a time, where it can be.
fn read_in_parts(path: &Path, options: &ReadOptions) {
    let reader = match TableReader::open(path, options) {
        Ok(reader) => reader,
        Err(error) => return one_line(&error),
    };
    // A file may claim more rows than a fuzzer has time for.
    for start in (0..reader.rows()).step_by(3).take(8) {
        table_or_one_line(reader.read(start..reader.rows().min(start + 3)));
    }
}

/// Reads the parts of `bytes` as the files of a 10x folder.
fn read_folder(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut rest = bytes;
    for name in ["matrix.mtx", "features.tsv", "barcodes.tsv"] {
        let end = rest.windows(PART.len()).position(|window| window == PART).unwrap_or(rest.len());
        fs::write(folder.path().join(name), &rest[..end]).expect("a temporary file");
        rest = rest.get(end + PART.len()..).unwrap_or_default();
    }
    let options = ReadOptions { max_bytes: Some(MOST_BYTES), ..ReadOptions::default() };
    table_or_one_line(read_table(folder.path(), &options));
}

/// Reads `bytes` as a model file, and does with the model what the program does.
fn read_model_and_use(bytes: &[u8]) {
    let file = match read_model_bytes(bytes, "fuzz") {
        Ok(file) => file,
        Err(error) => return one_line(&error),
    };
    let (n, d, k) = (file.model.n_samples(), file.model.n_features(), file.model.n_components());
    assert_eq!((file.ids.len(), file.model.mean.len(), file.model.explained_variance.len()), (n, d, k));
    let features = file.preprocessing.features.clone();
    let data: Vec<f64> = (0..2 * features.len()).map(|at| (at % 7) as f64).collect();
    let values = Values::Dense(DenseValues { rows: 2, columns: features.len(), data });
    let table = match file.preprocessing.apply(Table::new(values, features), "fuzz") {
        Ok(table) => table,
        Err(error) => return one_line(&error),
    };
    let Values::Dense(dense) = table.values else { panic!("a dense table stays dense") };
    if let Ok(scores) = file.model.transform(&dense.data, 2) {
        assert_eq!((scores.rows(), scores.columns()), (2, k));
        let _ = file.model.inverse_transform(&scores);
    }
    if let Ok(row) = file.model.plan_row(&dense.data[..d]) {
        assert_eq!(row.len(), n);
    }
    assert!(file.model.plan().partners(0, 3).len() <= 3);
}

fn table_or_one_line(read: Result<Table, Error>) {
    match read {
        Ok(table) => check(&table),
        Err(error) => one_line(&error),
    }
}

fn one_line(error: &Error) {
    assert!(!error.to_string().contains('\n'), "one line: {error}");
}

/// What every table promises.
fn check(table: &Table) {
    let (rows, columns) = (table.rows(), table.columns());
    assert!(rows > 0 && columns > 0);
    assert_eq!(table.features.len(), columns);
    assert!(table.ids.as_ref().is_none_or(|ids| ids.len() == rows));
    assert!(table.labels.as_ref().is_none_or(|labels| labels.len() == rows));
    assert!(table.values.stored().iter().all(|value| value.is_finite()));
    match &table.values {
        Values::Dense(dense) => assert_eq!(dense.data.len(), rows * columns),
        Values::Sparse(sparse) => {
            assert_eq!(sparse.indices.len(), sparse.values.len());
            assert_eq!(sparse.offsets[rows], sparse.values.len());
            for row in 0..rows {
                let (indices, _) = sparse.row(row);
                assert!(indices.is_sorted_by(|a, b| a < b));
                assert!(indices.iter().all(|&column| (column as usize) < columns));
            }
        }
    }
}
