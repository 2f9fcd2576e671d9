//! What every fuzz target does: read the bytes in several ways, and check what comes out.

use ewca_io::{Format, Missing, ReadOptions, Table, Values, read_table_from};

/// No input of the fuzzer may grow beyond this.
const MOST_BYTES: u64 = 1 << 24;

/// Reads `bytes` as `format`, plainly and with most options set.
pub fn read_all_ways(bytes: &[u8], format: Format) {
    // The fuzzer's own hook ends the process at any panic. Those of other crates' decoders are caught
    // and become errors, and must not count; one that is not caught still ends the run.
    static QUIET: std::sync::Once = std::sync::Once::new();
    QUIET.call_once(|| std::panic::set_hook(Box::new(|panic| eprintln!("{panic}"))));
    let plain =
        ReadOptions { format: Some(format), max_bytes: Some(MOST_BYTES), ..ReadOptions::default() };
    let named = ReadOptions {
        label: Some("class".into()),
        missing: Missing::DropRows,
        array: Some("X".into()),
        ..plain.clone()
    };
    let turned = ReadOptions { transpose: true, header: false, missing: Missing::Mean, ..plain.clone() };
    let columns = ReadOptions { missing: Missing::DropColumns, ignore: vec!["class".into()], ..plain.clone() };
    for options in [plain, named, turned, columns] {
        match read_table_from(bytes, "fuzz", &options) {
            Ok(table) => check(&table),
            Err(error) => assert!(!error.to_string().contains('\n'), "one line: {error}"),
        }
    }
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
