//! What every fuzz target does: read the bytes in several ways, and check what comes out.
//!
//! tests/files/mutations.rs runs the same code, without a fuzzer.

use std::fs;
use std::io::Write;
use std::path::Path;

use ewca_io::{
    DenseValues, Error, Format, Known, Metadata, Missing, ReadOptions, Table, TableFile, TableReader, Values, inspect,
    read_model, read_model_bytes, read_table, read_table_from,
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
        "xlsx" => read_all_ways(&workbook(bytes), Format::Csv),
        "metadata" => join_metadata(bytes),
        "model" => read_model_and_use(bytes),
        "path" => read_by_path(bytes),
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
        let _ = TableFile::at(file.path()).forecast(options);
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

/// A workbook of these parts: what is in the sheet, the texts that cells share, the styles, and the list of sheets. They are not compressed, so
/// that what a fuzzer changes is what is read.
fn workbook(bytes: &[u8]) -> Vec<u8> {
    let mut archive = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    let plain = zip::write::SimpleFileOptions::default().compression_method(zip::CompressionMethod::Stored);
    let relation = |kind: &str, target: &str| format!("<Relationship Id='{kind}' Type='/{kind}' Target='{target}'/>");
    let relations = [("worksheet", "sheet.xml"), ("sharedStrings", "strings.xml"), ("styles", "styles.xml")]
        .map(|(kind, target)| relation(kind, target))
        .concat();
    let mut add = |name: &str, content: &[u8]| {
        archive.start_file(name, plain).expect("a member");
        archive.write_all(content).expect("room for a member");
    };
    add("[Content_Types].xml", b"");
    add("xl/_rels/workbook.xml.rels", format!("<r>{relations}</r>").as_bytes());
    let mut rest = bytes;
    for name in ["xl/sheet.xml", "xl/strings.xml", "xl/styles.xml", "xl/workbook.xml"] {
        let end = rest.windows(PART.len()).position(|window| window == PART).unwrap_or(rest.len());
        add(name, &rest[..end]);
        rest = rest.get(end + PART.len()..).unwrap_or_default();
    }
    archive.finish().expect("an archive").into_inner()
}

/// Joins the bytes to samples, some of which have names that come from them.
fn join_metadata(bytes: &[u8]) {
    let options =
        ReadOptions { max_bytes: Some(MOST_BYTES), missing_values: vec!["gone".into()], ..ReadOptions::default() };
    let metadata = match Metadata::of_bytes(bytes.to_vec(), "fuzz", &options) {
        Ok(metadata) => metadata,
        Err(error) => return one_line(&error),
    };
    assert!(!metadata.notes().iter().any(|note| note.contains(char::is_control)), "{:?}", metadata.notes());
    let text = String::from_utf8_lossy(bytes);
    let words = text.split([',', '\t', ';', '\n']).map(|word| word.trim().to_string());
    let mut ids: Vec<String> = words.filter(|word| !word.is_empty()).take(40).collect();
    ids.extend(["s1", "s2", "1"].map(String::from));
    ids.sort();
    ids.dedup();
    for (id, wanted) in [(None, vec![]), (Some("sample"), vec!["batch".to_string()])] {
        let joined = match metadata.join(&ids, id, &wanted) {
            Ok(joined) => joined,
            Err(error) => return one_line(&error),
        };
        assert_eq!(joined.samples + joined.without_row.count, ids.len());
        assert!(!joined.without_sample.in_words().contains(char::is_control));
        for annotation in &joined.annotations {
            assert_eq!((annotation.len(), annotation.texts().len()), (ids.len(), ids.len()));
            match &annotation.known {
                Known::Classes { classes, codes } => {
                    assert!(codes.iter().flatten().all(|&code| (code as usize) < classes.len()));
                }
                Known::Numbers { numbers } => assert!(numbers.iter().flatten().all(|number| number.is_finite())),
            }
        }
    }
}

/// What files are called.
const EXTENSIONS: [&str; 18] = [
    "csv",
    "tsv",
    "npy",
    "npz",
    "parquet",
    "arrow",
    "feather",
    "mat",
    "mtx",
    "h5ad",
    "csv.gz",
    "csv.zst",
    "xlsx",
    "gct",
    "safetensors",
    "txt",
    "",
    "\u{1b}[31m.csv",
];

/// Puts the bytes somewhere, and reads what is there by its path, as the program does. The first byte says what the place is
/// (a file, a link, a pipe, a folder), the second how it is called, and the rest is what it holds.
fn read_by_path(bytes: &[u8]) {
    let &[kind, name, ref content @ ..] = bytes else { return };
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join(format!("x.{}", EXTENSIONS[usize::from(name) % EXTENSIONS.len()]));
    match kind % 8 {
        0 => {
            fs::write(&path, content).expect("a temporary file");
            read_in_every_way(&path);
        }
        #[cfg(unix)]
        1 => {
            fs::write(folder.path().join("real"), content).expect("a temporary file");
            std::os::unix::fs::symlink("real", &path).expect("a link");
            read_in_every_way(&path);
        }
        #[cfg(unix)]
        2 => {
            // A link to itself, or to nothing.
            std::os::unix::fs::symlink(if content.is_empty() { "x" } else { "absent" }, &path).expect("a link");
            read_in_every_way(&path);
        }
        #[cfg(unix)]
        3 => read_pipe(content),
        4 => {
            fs::create_dir(&path).expect("a folder");
            fill_folder(&path, name, content);
            read_in_every_way(&path);
        }
        5 => {
            // A folder where a file is expected, with files in it that the bytes name.
            fs::create_dir(&path).expect("a folder");
            fs::write(path.join("model.safetensors"), content).expect("a temporary file");
            read_in_every_way(&path);
        }
        6 => {
            // A file with a hole.
            let file = fs::File::create(&path).expect("a temporary file");
            (&file).write_all(content).expect("room for a temporary file");
            file.set_len(content.len() as u64 + (u64::from(name) << 20)).expect("a hole");
            read_in_every_way(&path);
        }
        _ => {
            for device in ["/dev/null", "/dev/zero", "/dev/full", "/proc/self/mem", "/proc/self/fd"] {
                read_in_every_way(Path::new(device));
            }
        }
    }
}

/// A 10x folder whose files may be links: those that leave it are never followed.
fn fill_folder(folder: &Path, links: u8, content: &[u8]) {
    let mut rest = content;
    for (at, name) in ["matrix.mtx", "features.tsv", "barcodes.tsv"].into_iter().enumerate() {
        let end = rest.windows(PART.len()).position(|window| window == PART).unwrap_or(rest.len());
        let path = folder.join(name);
        match links >> (2 * at) & 3 {
            #[cfg(unix)]
            1 => std::os::unix::fs::symlink("/proc/self/environ", &path).expect("a link"),
            2 => fs::create_dir(&path).expect("a folder"),
            #[cfg(unix)]
            3 => {
                fs::write(folder.join(format!("real{at}")), &rest[..end]).expect("a temporary file");
                std::os::unix::fs::symlink(format!("real{at}"), &path).expect("a link");
            }
            _ => fs::write(&path, &rest[..end]).expect("a temporary file"),
        }
        rest = rest.get(end + PART.len()..).unwrap_or_default();
    }
}

/// Reads the bytes from a pipe, by the path that a shell gives to `<(command)`.
#[cfg(unix)]
fn read_pipe(content: &[u8]) {
    use std::os::fd::AsRawFd;
    let options = ReadOptions { max_bytes: Some(MOST_BYTES), ..ReadOptions::default() };
    for inspected in [false, true] {
        let (reader, mut writer) = std::io::pipe().expect("a pipe");
        let path = format!("/proc/self/fd/{}", reader.as_raw_fd());
        let content = content.to_vec();
        let writing = std::thread::spawn(move || writer.write_all(&content));
        match inspected {
            true => inspected_or_one_line(Path::new(&path), &options),
            false => table_or_one_line(read_table(Path::new(&path), &options)),
        }
        drop(reader);
        let _ = writing.join();
    }
}

fn read_in_every_way(path: &Path) {
    let options = ReadOptions { max_bytes: Some(MOST_BYTES), ..ReadOptions::default() };
    let _ = TableFile::at(path).forecast(&options);
    table_or_one_line(read_table(path, &options));
    inspected_or_one_line(path, &options);
    read_in_parts(path, &options);
    if path.is_file()
        && let Err(error) = read_model(path)
    {
        one_line(&error);
    }
}

fn inspected_or_one_line(path: &Path, options: &ReadOptions) {
    match inspect(path, options) {
        Ok(found) => assert!(found.table.is_some() != found.problem.is_some()),
        Err(error) => one_line(&error),
    }
}

/// Reads `bytes` as a model file, and does with the model what the program does.
fn read_model_and_use(bytes: &[u8]) {
    let file = match read_model_bytes(bytes, "fuzz") {
        Ok(file) => file,
        Err(error) => return one_line(&error),
    };
    let (n, d, k) = (file.model.n_samples(), file.model.n_features(), file.model.n_components());
    assert_eq!((file.ids.len(), file.model.mean().len(), file.model.explained_variance().len()), (n, d, k));
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
    assert!(!error.to_string().contains(char::is_control), "one line, and nothing that acts on a terminal: {error:?}");
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
