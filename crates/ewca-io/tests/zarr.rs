//! AnnData in Zarr folders, written by anndata and zarr (make_golden_zarr.py): the tables are those of the .h5ad files, and
//! a folder is as harmless as a file.

use std::fs;
use std::io::{Cursor, Read};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use ewca_io::{Format, ReadOptions, Table, TableFile, Values, inspect, read_table};
use serde_json::{Value, json};

fn golden(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name)
}

/// The folders of the archive, or those whose names start so, in a folder that is there until the test ends.
fn folders(start: &str) -> tempfile::TempDir {
    static PACKED: LazyLock<Vec<u8>> = LazyLock::new(|| {
        let mut packed = Vec::new();
        let file = fs::File::open(golden("zarr.zip.xz")).unwrap();
        lzma_rust2::XzReader::new(file, false).read_to_end(&mut packed).unwrap();
        packed
    });
    let mut archive = zip::ZipArchive::new(Cursor::new(&PACKED[..])).unwrap();
    let folder = tempfile::tempdir().unwrap();
    for number in 0..archive.len() {
        let mut entry = archive.by_index(number).unwrap();
        let path = folder.path().join(entry.enclosed_name().unwrap());
        if entry.name().unwrap().starts_with(start) {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::io::copy(&mut entry, &mut fs::File::create(path).unwrap()).unwrap();
        }
    }
    folder
}

fn read(path: &Path, options: &ReadOptions) -> Table {
    read_table(path, options).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// What is said of a folder, without what is before its name.
fn message(path: &Path, options: &ReadOptions) -> String {
    let error = read_table(path, options).expect_err("an error").to_string();
    assert!(!error.contains('\n'), "{error}");
    error.split_once(".zarr: ").unwrap_or_else(|| panic!("{error}")).1.to_string()
}

fn options(label: Option<&str>, array: Option<&str>) -> ReadOptions {
    ReadOptions { label: label.map(Into::into), array: array.map(Into::into), ..ReadOptions::default() }
}

#[track_caller]
fn assert_same(zarr: &Table, h5ad: &Table) {
    let bits = |table: &Table| match &table.values {
        Values::Dense(dense) => (None, dense.data.iter().map(|value| value.to_bits()).collect::<Vec<_>>()),
        Values::Sparse(sparse) => (
            Some((sparse.offsets.clone(), sparse.indices.clone())),
            sparse.values.iter().map(|value| value.to_bits()).collect(),
        ),
    };
    assert_eq!(bits(zarr), bits(h5ad));
    assert_eq!((zarr.rows(), zarr.columns()), (h5ad.rows(), h5ad.columns()));
    assert_eq!((&zarr.features, &zarr.ids), (&h5ad.features, &h5ad.ids));
    assert_eq!((&zarr.labels, &zarr.palettes), (&h5ad.labels, &h5ad.palettes));
    assert_eq!(zarr.texts, h5ad.texts);
}

#[test]
fn folders_give_the_tables_of_the_same_h5ad_files() {
    let folder = folders("v");
    for version in ["v2", "v3"] {
        for name in ["dense", "csr", "csc"] {
            let [zarr, h5ad] = [folder.path().join(format!("{version}_{name}.zarr")), golden(&format!("{name}.h5ad"))];
            let small = (name == "dense").then_some(Some("small"));
            for array in [None, Some("double")].into_iter().chain(small) {
                // Texts, categories with and without holes, numbers and truth values.
                for label in [None, Some("class"), Some("text"), Some("number"), Some("flag")] {
                    let options = options(label, array);
                    assert_same(&read(&zarr, &options), &read(&h5ad, &options));
                }
            }
            let all = ["hole", "number", "flag"].map(String::from).to_vec();
            let filter = Some(("class".into(), "red".into()));
            for options in [
                ReadOptions { annotations: all, ..options(Some("class"), None) },
                ReadOptions { filter, id: Some("text".into()), ..ReadOptions::default() },
                ReadOptions { transpose: true, ..ReadOptions::default() },
            ] {
                assert_same(&read(&zarr, &options), &read(&h5ad, &options));
            }
            let [found, expected] = [&zarr, &h5ad].map(|path| inspect(path, &ReadOptions::default()).unwrap());
            assert_eq!((found.format, &found.arrays), (Format::H5ad, &expected.arrays));
            assert_eq!((&found.text_columns, &found.facts), (&expected.text_columns, &expected.facts));
            assert_eq!((&found.table, &found.problem), (&expected.table, &expected.problem));
            assert_eq!(found.notes, ["AnnData in a Zarr folder"]);
            let [found, expected] =
                [&zarr, &h5ad].map(|path| TableFile::at(path).forecast(&ReadOptions::default()).unwrap());
            assert_eq!(found, expected);
        }
        let columns = ["text", "few", "words", "transparent", "many"].map(String::from).to_vec();
        let options = ReadOptions { annotations: columns, ..options(Some("class"), None) };
        let table = read(&folder.path().join(format!("{version}_colours.zarr")), &options);
        assert_eq!(table.palettes.len(), 3);
        assert_same(&table, &read(&golden("colours.h5ad"), &options));
    }
}

/// Chunks that are filled up, or not there because they hold zeros; columns first; bytes the other way round; names of one length.
#[test]
fn chunks_are_put_together_however_they_are_stored() {
    let folder = folders("v");
    let expected = read(&golden("dense.h5ad"), &options(Some("class"), None));
    for name in ["v2_zlib_by_columns", "v2_slashes_big_endian", "v3_gzip_chunks", "v3_blosc_chunks"] {
        assert_same(&read(&folder.path().join(format!("{name}.zarr")), &options(Some("class"), None)), &expected);
    }
    let shards = message(&folder.path().join("v3_shards.zarr"), &ReadOptions::default());
    assert_eq!(
        shards,
        "X is stored in a way that is not read here (codec \"sharding_indexed\"); write it as .h5ad, or as Zarr with the settings \
         that anndata has by itself"
    );
}

#[test]
fn what_is_not_there_is_named() {
    let folder = folders("v3_dense");
    let zarr = folder.path().join("v3_dense.zarr");
    assert_eq!(
        message(&zarr, &options(None, Some("none"))),
        "has no layer 'none'; name one with `array`: X, double, small"
    );
    let column = message(&zarr, &options(Some("clas"), None));
    assert!(column.contains("'clas'") && column.contains("class"), "{column}");
    let other = folder.path().join("other.zarr");
    fs::create_dir(&other).unwrap();
    fs::write(other.join(".zgroup"), "{}").unwrap();
    assert_eq!(
        message(&other, &ReadOptions::default()),
        "is a Zarr folder that is no AnnData (it has no groups); name the folder that has obs, var and X in it"
    );
}

/// Changes the JSON of an array or a group.
fn change(path: &Path, change: impl FnOnce(&mut Value)) {
    let mut about: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    change(&mut about);
    fs::write(path, about.to_string()).unwrap();
}

/// What the metadata claims is not believed: neither room nor time is spent on chunks that are not there.
#[test]
fn claims_without_files_are_refused() {
    let most = u64::MAX;
    let grid = |shape: Value, chunk: Value| {
        move |about: &mut Value| {
            about["shape"] = shape;
            about["chunk_grid"]["configuration"]["chunk_shape"] = chunk;
        }
    };
    type Change = Box<dyn FnOnce(&mut Value)>;
    let cases: Vec<(&str, Change, &str)> = vec![
        ("X", Box::new(grid(json!([most, most]), json!([6, 4]))), "its matrix is "),
        ("X", Box::new(grid(json!([6, 4]), json!([most, most]))), "it claims chunks of"),
        ("X", Box::new(grid(json!([6, 4]), json!([1u64 << 40, 1]))), "holds more than 1.0 GiB"),
        ("X", Box::new(grid(json!([6, 4]), json!([0, 4]))), "it has chunks of [0, 4]"),
        ("X", Box::new(grid(json!([6, 4]), json!([6]))), "it has chunks of [6]"),
        ("X", Box::new(grid(json!([6, 4]), json!([3, 4]))), "it holds more than 96 bytes once decompressed"),
        ("X", Box::new(grid(json!([6, 4]), json!([12, 4]))), "it has 192 bytes and should have 384"),
        ("X", Box::new(grid(json!([6, 4, 1]), json!([6, 4, 1]))), "it has 3 dimensions"),
        ("X", Box::new(grid(json!([]), json!([]))), "it has 0 dimensions"),
        ("X", Box::new(grid(json!([-6, 4]), json!([6, 4]))), "it has no usable shape"),
        ("X", Box::new(|about| about["fill_value"] = json!("much")), "X has no usable fill_value"),
        ("X", Box::new(|about| about["data_type"] = json!("complex128")), "elements of type \"complex128\""),
        ("X", Box::new(|about| about["codecs"] = json!([])), "it has no codecs"),
        ("X", Box::new(|about| about["codecs"][1]["name"] = json!("lzma")), "codec \"lzma\""),
        ("X", Box::new(|about| about["codecs"][1]["name"] = json!("blosc")), "X, chunk [0, 0]: "),
        (
            "X",
            Box::new(|about| about["chunk_key_encoding"]["configuration"]["separator"] = json!("..")),
            "names of an unknown kind",
        ),
        ("X", Box::new(|about| about["zarr_format"] = json!(4)), "zarr_format 4"),
        ("X", Box::new(|about| *about = json!("array")), "X is neither a csr nor a csc matrix"),
        ("X", Box::new(|about| *about = json!([1])), "X is neither a csr nor a csc matrix"),
        ("obs/_index", Box::new(grid(json!([1u64 << 40]), json!([1]))), "holds more than 1.0 GiB"),
        ("obs/_index", Box::new(grid(json!([6]), json!([3]))), "it has 6 elements and should have 3"),
        (
            "obs/class/codes",
            Box::new(grid(json!([1u64 << 27]), json!([6]))),
            "obs/class has 134217728 elements for 6 rows",
        ),
        ("obs", Box::new(|about| about["attributes"]["_index"] = json!("../../secret")), "is no name of an array"),
        ("obs", Box::new(|about| about["attributes"]["_index"] = json!("/etc")), "is no name of an array"),
        ("obs", Box::new(|about| about["attributes"]["_index"] = json!("")), "is no name of an array"),
        ("obs", Box::new(|about| about["attributes"]["_index"] = json!("nowhere")), "it has no array 'obs/nowhere'"),
    ];
    for (place, make, expected) in cases {
        let folder = folders("v3_dense");
        let zarr = folder.path().join("v3_dense.zarr");
        change(&zarr.join(place).join("zarr.json"), make);
        let found = message(&zarr, &options(Some("class"), None));
        assert!(found.contains(expected), "{place}: {found}\n{expected}");
        // It may say what is wrong, or pass over it; it comes back.
        let _ = (inspect(&zarr, &ReadOptions::default()), TableFile::at(&zarr).forecast(&ReadOptions::default()));
    }
}

/// Texts of any length, as they are without compression: how many, then the length and the bytes of each.
#[test]
fn broken_texts_are_refused() {
    let folder = folders("v3_dense");
    let zarr = folder.path().join("v3_dense.zarr");
    change(&zarr.join("obs/_index/zarr.json"), |about| about["codecs"] = json!([{ "name": "vlen-utf8" }]));
    let texts = ["a", "", "b\u{e9}", "c", "dd", "e"];
    let mut whole = 6u32.to_le_bytes().to_vec();
    for text in texts {
        whole.extend((text.len() as u32).to_le_bytes());
        whole.extend(text.as_bytes());
    }
    let chunk = zarr.join("obs/_index/c/0");
    fs::write(&chunk, &whole).unwrap();
    assert_eq!(read(&zarr, &ReadOptions::default()).ids.unwrap(), texts);
    for end in 0..whole.len() {
        fs::write(&chunk, &whole[..end]).unwrap();
        let found = message(&zarr, &ReadOptions::default());
        assert!(found.contains("obs/_index: it ends within its texts"), "{end}: {found}");
    }
    for (at, byte, expected) in [
        (3, 0xff, "it ends within its texts"),
        (7, 0xff, "it ends within its texts"),
        (8, 0xff, "not UTF-8"),
        (0, 5, "5 elements"),
    ] {
        let mut broken = whole.clone();
        broken[at] = byte;
        fs::write(&chunk, broken).unwrap();
        let found = message(&zarr, &ReadOptions::default());
        assert!(found.contains(expected), "{at}: {found}");
    }
}

/// Every file of a folder, cut short or damaged, gives a table or one line.
#[test]
fn damaged_files_give_one_line() {
    for start in ["v2_csr", "v3_csc"] {
        let folder = folders(start);
        let zarr = folder.path().join(format!("{start}.zarr"));
        let mut open = vec![zarr.clone()];
        let (mut files, mut refused) = (0, 0);
        while let Some(path) = open.pop() {
            if path.is_dir() {
                open.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
                continue;
            }
            let whole = fs::read(&path).unwrap();
            files += 1;
            for (cut, at, flip) in [
                (0, 0, 0),
                (whole.len() / 2, 0, 0),
                (whole.len(), 0, 0x55),
                (whole.len(), 4, 0xff),
                (whole.len(), whole.len() - 1, 0x80),
            ] {
                let mut bytes = whole[..cut].to_vec();
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= flip;
                }
                fs::write(&path, bytes).unwrap();
                for label in [None, Some("class"), Some("hole")] {
                    if let Err(error) = read_table(&zarr, &options(label, None)) {
                        assert!(!error.to_string().contains('\n'), "{error}");
                        assert!(!error.to_string().contains("contradict"), "{}: a panic: {error}", path.display());
                        refused += 1;
                    }
                }
            }
            fs::write(&path, whole).unwrap();
        }
        assert!(files > 40 && refused > 100, "{files} files, {refused} refusals");
        read(&zarr, &options(Some("class"), None));
    }
}

/// Whoever makes a folder could else have any file of the reader read, or make it wait for ever.
#[cfg(unix)]
#[test]
fn links_and_pipes_are_refused() {
    use std::os::unix::fs::symlink;
    let secret = tempfile::tempdir().unwrap();
    for place in ["X/c/0/0", "X/zarr.json", "X", "obs", "obs/_index/c/0", "layers/double"] {
        let folder = folders("v3_dense");
        let zarr = folder.path().join("v3_dense.zarr");
        let (inside, outside) = (zarr.join(place), secret.path().join(place.replace('/', "_")));
        fs::rename(&inside, &outside).unwrap();
        symlink(&outside, &inside).unwrap();
        let found = message(&zarr, &options(None, place.starts_with("layers").then_some("double")));
        assert!(found.contains("' is a link; copy what it leads to into the folder"), "{place}: {found}");
    }
    for (place, expected) in [("X/c/0/0", "its chunk c/0/0 is no file"), ("X/zarr.json", "X/zarr.json is no file")] {
        let folder = folders("v3_dense");
        let zarr = folder.path().join("v3_dense.zarr");
        fs::remove_file(zarr.join(place)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(zarr.join(place)).status().unwrap().success());
        let found = message(&zarr, &ReadOptions::default());
        assert!(found.contains(expected), "{found}");
    }
}
