//! AnnData files whose data is in other files: refused, by name, before anything else is opened.
//!
//! The files of golden/elsewhere are written by h5py, in the oldest and the newest way of HDF5. What they name is beside
//! them here: a secret, and a pipe at which whoever opens it waits for ever.
#![cfg(unix)]

use std::fs;
use std::path::Path;
use std::process::Command;

use ewca_io::{ReadOptions, TableFile, TableReader, Values, inspect, read_table, readable_in_parts};

fn golden(name: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// A folder with one of the files, and what it names.
fn folder_with(name: &str) -> (tempfile::TempDir, std::path::PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    fs::copy(golden("elsewhere").join(name), &path).unwrap();
    fs::write(folder.path().join("secret.bin"), [7; 192]).unwrap();
    fs::copy(golden("dense.h5ad"), folder.path().join("secret.h5")).unwrap();
    assert!(Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap().success());
    (folder, path)
}

#[test]
fn data_elsewhere_is_refused_by_name() {
    let cases = [
        ("external_storage_earliest", "'X' is in external storage"),
        ("external_storage_latest", "'X' is in external storage"),
        ("external_link_earliest", "'X' is an external link"),
        ("external_link_latest", "'X' is an external link"),
        ("virtual_earliest", "'X' is a virtual dataset"),
        ("virtual_latest", "'X' is a virtual dataset"),
        ("virtual_unlimited_earliest", "'X' is a virtual dataset"),
        ("virtual_unlimited_latest", "'X' is a virtual dataset"),
        ("many_links_earliest", "'layers/hidden' is an external link"),
        ("many_links_latest", "'layers/hidden' is an external link"),
        ("external_names", "'obs/_index' is an external link"),
        ("external_group", "'obs' is an external link"),
        ("soft_to_external", "'deep/er/way_out' is an external link"),
        ("sparse_storage", "'X/indptr' is in external storage"),
        ("same_file_virtual", "'X' is a virtual dataset"),
    ];
    let options = ReadOptions::default();
    for (name, said) in cases {
        let (_folder, path) = folder_with(&format!("{name}.h5ad"));
        let expected =
            format!("{}: {said}: its data are not in this file; save the data inside the file itself", path.display());
        assert_eq!(read_table(&path, &options).unwrap_err().to_string(), expected);
        assert_eq!(TableReader::open(&path, &options).unwrap_err().to_string(), expected);
        assert_eq!(inspect(&path, &options).unwrap_err().to_string(), expected);
        assert!(!readable_in_parts(&path, &options) && TableFile::at(&path).forecast(&options).is_none(), "{name}");
        let bytes = fs::read(&path).unwrap();
        let error = ewca_io::read_table_from(&bytes[..], "-", &options).unwrap_err().to_string();
        assert!(error.contains(said), "{error}");
    }
}

/// Soft links, groups in themselves and many names stay within a file, and are fine.
#[test]
fn what_stays_within_the_file_is_read() {
    let expected = read_table(&golden("dense.h5ad"), &ReadOptions::default()).unwrap().values;
    for name in ["at_home_earliest.h5ad", "at_home_latest.h5ad"] {
        let (_folder, path) = folder_with(name);
        let table = read_table(&path, &ReadOptions::default()).unwrap();
        assert_eq!(table.values, expected, "{name}");
        assert!(matches!(table.values, Values::Dense(_)));
    }
}

#[test]
fn links_that_leave_a_10x_folder_are_refused() {
    use std::os::unix::fs::symlink;
    let outside = tempfile::tempdir().unwrap();
    for name in ["matrix.mtx", "genes.tsv", "barcodes.tsv"] {
        fs::copy(golden("tenx2").join(name), outside.path().join(name)).unwrap();
    }
    for leaving in ["matrix.mtx", "genes.tsv", "barcodes.tsv"] {
        let folder = tempfile::tempdir().unwrap();
        for name in ["matrix.mtx", "genes.tsv", "barcodes.tsv"] {
            fs::copy(golden("tenx2").join(name), folder.path().join(name)).unwrap();
        }
        let expected = read_table(folder.path(), &ReadOptions::default()).unwrap();
        // A link that stays is fine.
        let path = folder.path().join(leaving);
        fs::rename(&path, folder.path().join("moved")).unwrap();
        symlink("moved", &path).unwrap();
        assert_eq!(read_table(folder.path(), &ReadOptions::default()).unwrap(), expected);
        fs::remove_file(&path).unwrap();
        symlink(outside.path().join(leaving), &path).unwrap();
        let error = read_table(folder.path(), &ReadOptions::default()).unwrap_err().to_string();
        let said = "is a link to a file outside its folder; copy that file into the folder";
        assert_eq!(error, format!("{}: {said}", path.display()));
        assert!(
            inspect(folder.path(), &ReadOptions::default())
                .is_ok_and(|found| found.problem.unwrap().to_string() == error)
        );
    }
}
