//! Reading a large table in parts takes the memory of a part, not that of the table.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, Float64Array, RecordBatch};
use arrow_schema::{DataType, Field, Schema};
use ewca_io::{Preprocessing, ReadOptions, TableReader, write_matrix_npy};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;
use peak_alloc::PeakAlloc;
use rust_hdf5::H5File;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

const MB: usize = 1 << 20;
const COLUMNS: usize = 16;

fn cells(rows: usize) -> Vec<f64> {
    (0..rows * COLUMNS).map(|at| at as f64).collect()
}

fn write_npy(path: &Path, rows: usize) {
    write_matrix_npy(path, rows, COLUMNS, &cells(rows)).unwrap();
}

/// Row groups of 8 MB.
fn write_parquet(path: &Path, rows: usize) {
    let group = 8 * MB / 8 / COLUMNS;
    let fields: Vec<Field> = (0..COLUMNS).map(|at| Field::new(format!("f{at}"), DataType::Float64, false)).collect();
    let schema = Arc::new(Schema::new(fields));
    let properties = WriterProperties::builder().set_dictionary_enabled(false).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), schema.clone(), Some(properties)).unwrap();
    for start in (0..rows).step_by(group) {
        let column = |column: usize| -> ArrayRef {
            Arc::new(Float64Array::from_iter_values((start..start + group).map(|row| (row * COLUMNS + column) as f64)))
        };
        let batch = RecordBatch::try_new(schema.clone(), (0..COLUMNS).map(column).collect()).unwrap();
        writer.write(&batch).unwrap();
        writer.flush().unwrap();
    }
    writer.close().unwrap();
}

/// Chunks of 0.5 MB.
fn write_h5ad(path: &Path, rows: usize) {
    let file = H5File::create(path).unwrap();
    for (frame, count) in [("obs", rows), ("var", COLUMNS)] {
        let group = file.create_group(frame).unwrap();
        let index: Vec<i64> = (0..count as i64).collect();
        group.set_attr_string("_index", "_index").unwrap();
        let names = file.new_dataset::<i64>().shape([count]).create(&format!("{frame}/_index")).unwrap();
        names.write_raw(&index).unwrap();
    }
    let x = file.new_dataset::<f64>().shape([rows, COLUMNS]).chunk(&[4096, COLUMNS]).create("X").unwrap();
    x.write_raw(&cells(rows)).unwrap();
    drop(x);
    file.close().unwrap();
}

/// One test, so that nothing else takes memory meanwhile.
#[test]
fn a_large_table_takes_the_memory_of_a_part() {
    let folder = tempfile::tempdir().unwrap();
    // Each with the memory that a part of 1 MB may take: beside the part, Parquet holds a page of each column, and AnnData
    // the names of the rows and the bytes of the part.
    for (name, size, write, most) in [
        ("table.npy", 64 * MB, write_npy as fn(&Path, usize), 3 * MB),
        ("table.parquet", 64 * MB, write_parquet, 8 * MB),
        ("table.h5ad", 16 * MB, write_h5ad, 10 * MB),
    ] {
        let path = folder.path().join(name);
        let rows = size / 8 / COLUMNS;
        write(&path, rows);
        assert!(std::fs::metadata(&path).unwrap().len() as usize >= size);

        MEMORY.reset_peak_usage();
        let before = MEMORY.current_usage();
        let reader = TableReader::open(&path, &ReadOptions::default()).unwrap();
        let part = reader.rows_in(MB);
        assert!((4096..=8192).contains(&part), "{name}: {part}");
        let mut next = 0.0;
        for start in (0..rows).step_by(part) {
            let table = reader.read(start..rows.min(start + part)).unwrap();
            for &value in table.values.stored() {
                assert_eq!(value, next);
                next += 1.0;
            }
        }
        assert_eq!(next as usize, rows * COLUMNS);
        let read = MEMORY.peak_usage() - before;
        let steps = Preprocessing { unit_variance: true, ..Preprocessing::default() };
        steps.fit_parts(&reader, part, name).unwrap();
        let learned = MEMORY.peak_usage() - before;
        assert!(read.max(learned) < most, "{name}: {read} and {learned} bytes for parts of 1 MB");
    }
}
