//! Files that once broke a reader, each with its story.

use std::path::Path;

use ewca_io::{ReadOptions, read_table};

fn message(name: &str, label: Option<&str>) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/regressions").join(name);
    let options = ReadOptions { label: label.map(String::from), ..ReadOptions::default() };
    let error = read_table(&path, &options).expect_err(name).to_string();
    error.rsplit_once("regressions/").expect("a path").1.to_string()
}

/// The categories of a column were the column itself, and looking for words in it never ended.
#[test]
fn categories_in_themselves() {
    assert_eq!(
        message("categories_in_themselves.h5ad", Some("class")),
        "categories_in_themselves.h5ad: is not a valid h5ad file: obs/class/categories is neither a list nor categories; copy or save it again"
    );
}

/// A buffer started far outside the file, and arrow-ipc panicked.
#[test]
fn buffer_outside() {
    assert_eq!(
        message("buffer_outside.arrow", None),
        "buffer_outside.arrow: is not a valid arrow file: a buffer lies outside its batch; copy or save it again"
    );
}

/// A column chunk started before the file, and the parquet crate panicked.
#[test]
fn negative_offset() {
    assert_eq!(
        message("negative_offset.parquet", None),
        "negative_offset.parquet: is not a valid parquet file: a column lies outside the file; copy or save it again"
    );
}
