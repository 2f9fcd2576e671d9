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
    for name in ["v2_zlib_by_columns", "v2_slashes_big_endian", "v3_gzip_chunks", "v3_blosc_chunks", "v3_shards"] {
        assert_same(&read(&folder.path().join(format!("{name}.zarr")), &options(Some("class"), None)), &expected);
    }
}

/// A table of 6 x 4 in shards of 4 x 4 with chunks of 2 x 2, not compressed: the index before the chunks or behind, with a chunk that is not
/// there, and with chunks beyond the end of the table.
#[test]
fn shards_are_taken_apart_by_their_index() {
    let folder = folders("v3_dense");
    let zarr = folder.path().join("v3_dense.zarr");
    let none = ReadOptions::default();
    let mut expected = read(&zarr, &none);
    let Values::Dense(dense) = &mut expected.values else { panic!("dense") };
    let cell = |row: usize, column: usize| (10 * row + column) as f64;
    dense.data = (0..24).map(|at| cell(at / 4, at % 4)).collect();
    // The chunk of rows 2 and 3, columns 0 and 1, is not stored: its cells are the fill value.
    for at in [8, 9, 12, 13] {
        dense.data[at] = 0.5;
    }
    let shard = |top: usize, is_last: bool| {
        let (mut index, mut chunks): (Vec<u8>, Vec<u8>) = Default::default();
        for number in 0..4 {
            let (row, column) = (top + number / 2 * 2, number % 2 * 2);
            let start = (chunks.len() + if is_last { 0 } else { 64 }) as u64;
            let is_missing = (row, column) == (2, 0) || row >= 6;
            let place = if is_missing { [u64::MAX; 2] } else { [start, 32] };
            index.extend(place.iter().flat_map(|x| x.to_le_bytes()));
            if !is_missing {
                let cells = [(0, 0), (0, 1), (1, 0), (1, 1)].map(|(i, j)| cell(row + i, column + j));
                chunks.extend(cells.iter().flat_map(|x| x.to_le_bytes()));
            }
        }
        if is_last { [chunks, index, vec![0; 4]].concat() } else { [index, chunks].concat() }
    };
    let configure = |is_last: bool| {
        let bytes = json!({"name": "bytes", "configuration": {"endian": "little"}});
        let index = if is_last { json!([bytes, {"name": "crc32c"}]) } else { json!([bytes]) };
        let location = if is_last { "end" } else { "start" };
        let inner =
            json!({"chunk_shape": [2, 2], "codecs": [bytes], "index_codecs": index, "index_location": location});
        change(&zarr.join("X/zarr.json"), |about| {
            about["data_type"] = json!("float64");
            about["fill_value"] = json!(0.5);
            about["chunk_grid"]["configuration"]["chunk_shape"] = json!([4, 4]);
            about["codecs"] = json!([{"name": "sharding_indexed", "configuration": inner}]);
        });
    };
    let file = |number: usize| zarr.join(format!("X/c/{number}/0"));
    for is_last in [true, false] {
        configure(is_last);
        for number in 0..2 {
            fs::create_dir_all(file(number).parent().unwrap()).unwrap();
            fs::write(file(number), shard(4 * number, is_last)).unwrap();
        }
        assert_same(&read(&zarr, &none), &expected);
    }
    // What an index claims is not believed.
    let whole = fs::read(file(0)).unwrap();
    let mut beyond = whole.clone();
    beyond[8..16].copy_from_slice(&1000u64.to_le_bytes());
    let mut huge = whole.clone();
    huge[..8].copy_from_slice(&(u64::MAX - 1).to_le_bytes());
    let mut short = whole.clone();
    short[8..16].copy_from_slice(&31u64.to_le_bytes());
    for (bytes, wanted) in [
        (&beyond[..], "its shard c/0/0: its index names bytes 64 to 1064 of 160"),
        (&huge[..], "its index names bytes 18446744073709551614 to 18446744073709551615 of 160"),
        (&short[..], "it has 31 bytes instead of 32"),
        (&whole[..63], "its shard c/0/0: 63 bytes are not enough for its index"),
    ] {
        fs::write(file(0), bytes).unwrap();
        let found = message(&zarr, &none);
        assert!(found.contains(wanted), "{found}");
    }
    for (key, value, wanted) in [
        ("chunk_shape", json!([3, 2]), "it has chunks of [3, 2] in shards of [4, 4]"),
        ("chunk_shape", json!([0, 2]), "it has chunks of [0, 2]"),
        ("index_location", json!("middle"), "index_location \"middle\""),
        ("index_codecs", json!([{"name": "gzip"}]), "index_codecs [{\"name\":\"gzip\"}]"),
        ("codecs", json!([]), "it has no codecs"),
        ("codecs", json!([{"name": "sharding_indexed"}]), "codec \"sharding_indexed\""),
    ] {
        configure(false);
        change(&zarr.join("X/zarr.json"), |about| about["codecs"][0]["configuration"][key] = value);
        let found = message(&zarr, &none);
        assert!(found.contains(wanted), "{key}: {found}");
    }
}

#[test]
fn what_is_not_there_is_named() {
    let folder = folders("v3_dense");
    let zarr = folder.path().join("v3_dense.zarr");
    assert_eq!(
        message(&zarr, &options(None, Some("none"))),
        "has no layer 'none'; choose one with `array`: X, double, small"
    );
    let column = message(&zarr, &options(Some("clas"), None));
    assert!(column.contains("'clas'") && column.contains("class"), "{column}");
    let other = folder.path().join("other.zarr");
    fs::create_dir(&other).unwrap();
    fs::write(other.join(".zgroup"), "{}").unwrap();
    assert_eq!(
        message(&other, &ReadOptions::default()),
        "is a Zarr folder, but not AnnData (it contains no groups); choose the folder that contains obs, var and X"
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
        ("X", Box::new(grid(json!([6, 4]), json!([1u64 << 40, 1]))), "is larger than 1.0 GiB"),
        ("X", Box::new(grid(json!([6, 4]), json!([0, 4]))), "it has chunks of [0, 4]"),
        ("X", Box::new(grid(json!([6, 4]), json!([6]))), "it has chunks of [6]"),
        ("X", Box::new(grid(json!([6, 4]), json!([3, 4]))), "it is larger than 96 bytes when decompressed"),
        ("X", Box::new(grid(json!([6, 4]), json!([12, 4]))), "it has 192 bytes instead of 384"),
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
            "names in an unknown format",
        ),
        ("X", Box::new(|about| about["zarr_format"] = json!(4)), "zarr_format 4"),
        ("X", Box::new(|about| *about = json!("array")), "X is neither a csr nor a csc matrix"),
        ("X", Box::new(|about| *about = json!([1])), "X is neither a csr nor a csc matrix"),
        ("obs/_index", Box::new(grid(json!([1u64 << 40]), json!([1]))), "is larger than 1.0 GiB"),
        ("obs/_index", Box::new(grid(json!([6]), json!([3]))), "it has 6 elements instead of 3"),
        (
            "obs/class/codes",
            Box::new(grid(json!([1u64 << 27]), json!([6]))),
            "obs/class has 134217728 elements, but the table has 6 rows",
        ),
        ("obs", Box::new(|about| about["attributes"]["_index"] = json!("../../secret")), "is not the name of an array"),
        ("obs", Box::new(|about| about["attributes"]["_index"] = json!("/etc")), "is not the name of an array"),
        ("obs", Box::new(|about| about["attributes"]["_index"] = json!("")), "is not the name of an array"),
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
        assert!(found.contains("obs/_index: it ends in the middle of its texts"), "{end}: {found}");
    }
    for (at, byte, expected) in [
        (3, 0xff, "it ends in the middle of its texts"),
        (7, 0xff, "it ends in the middle of its texts"),
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
        assert!(found.contains("' is a link; copy its target into the folder"), "{place}: {found}");
    }
    for (place, expected) in
        [("X/c/0/0", "its chunk c/0/0 is not a file"), ("X/zarr.json", "X/zarr.json is not a file")]
    {
        let folder = folders("v3_dense");
        let zarr = folder.path().join("v3_dense.zarr");
        fs::remove_file(zarr.join(place)).unwrap();
        assert!(std::process::Command::new("mkfifo").arg(zarr.join(place)).status().unwrap().success());
        let found = message(&zarr, &ReadOptions::default());
        assert!(found.contains(expected), "{found}");
    }
}
