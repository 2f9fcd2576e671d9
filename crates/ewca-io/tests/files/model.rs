//! The model file: written, read again, damaged in every way.

#[path = "../forged/mod.rs"]
mod forged;

use std::path::Path;

use ewca::{Ewca, Model, ModelParts, Samples};
use ewca_io::{
    Annotation, DenseValues, Error, Known, ModelFile, Preprocessing, RoleColumns, SparseValues, Table, Values,
    model_bytes, read_model, read_model_bytes, write_model,
};
use forged::Parts;

/// A fit of 7 samples with 4 features, scaled.
fn small() -> ModelFile {
    let data: Vec<f64> = (0..28).map(|i| f64::from(i * i * 31 % 23) / 7.0 - 1.5).collect();
    let features = ["height", "width", "a \"quoted\" näme", "x"].map(String::from).to_vec();
    let table = Table::new(Values::Dense(DenseValues { rows: 7, columns: 4, data }), features);
    let steps = Preprocessing { unit_variance: true, top_variable: Some(3), ..Preprocessing::default() };
    let (preprocessing, table) = steps.fit(table, "small").unwrap();
    let Values::Dense(dense) = &table.values else { unreachable!() };
    let params = Ewca::params(2).epsilon(0.5).seed(3);
    let model = params.fit(&Samples::new(&dense.data, 7, 3).unwrap()).unwrap();
    ModelFile {
        model,
        preprocessing,
        ids: (1..=7).map(|i| format!("s{i}")).collect(),
        labels: Some(["oak", "elm", "oak", "elm", "oak", "elm", "ash"].map(String::from).to_vec()),
        annotations: annotations(),
        columns: RoleColumns { label: Some("kind of tree".into()), id: None },
        program: "0.0.0".into(),
        training_checksum: table.checksum(),
        has_checksum: true,
    }
}

/// Classes and numbers, with missing ones and strange names.
fn annotations() -> Vec<Annotation> {
    let classes = vec!["a \"q\"".into(), "b\u{7}\n\u{202e}".into()];
    let codes = vec![Some(0), None, Some(1), Some(1), None, Some(0), Some(0)];
    let numbers = vec![Some(0.1 + 0.2), None, Some(-1e308), Some(3.0), Some(f64::MIN_POSITIVE), Some(0.0), Some(-0.5)];
    vec![
        Annotation {
            name: "batch\t1".into(),
            known: Known::Classes { classes, codes },
            colours: ["#1f77b4", "#00ff00"].map(String::from).to_vec(),
        },
        Annotation { name: String::new(), known: Known::Numbers { numbers }, colours: Vec::new() },
    ]
}

/// Files without metadata are what they were before there were any, and are still read: the golden files of all versions are.
#[test]
fn metadata_that_contradict_the_samples_are_refused() {
    let good = small();
    assert_eq!(read_model_bytes(&written(&good), "m").unwrap().annotations, annotations());
    let none = ModelFile { annotations: Vec::new(), ..good.clone() };
    let bytes = written(&none);
    assert!(!bytes.windows(11).any(|window| window == b"annotations"));
    assert!(read_model_bytes(&bytes, "m").unwrap().annotations.is_empty());
    let with = |known: Known, colours: &[&str]| {
        let colours = colours.iter().map(|colour| colour.to_string()).collect();
        ModelFile { annotations: vec![Annotation { name: "x".into(), known, colours }], ..good.clone() }
    };
    let classes = |codes: Vec<Option<u32>>| Known::Classes { classes: vec!["a".into()], codes };
    for (known, why) in [
        (classes(vec![Some(0); 6]), "6 values of metadata instead of 7"),
        (classes(vec![Some(1); 7]), "a class without a name"),
        (Known::Numbers { numbers: vec![Some(f64::INFINITY); 7] }, "a number that is not finite"),
    ] {
        let error = model_bytes(&with(known, &[])).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
    }
    let seven = || classes(vec![Some(0); 7]);
    assert!(model_bytes(&with(seven(), &["#123456"])).is_ok());
    for wrong in [&["#1234567"][..], &["red"], &["</script>"], &["#123"], &["#1f77b4", "#1f77b4"]] {
        let error = model_bytes(&with(seven(), wrong)).unwrap_err().to_string();
        assert!(error.contains("invalid colours, or not one per class"), "{wrong:?}: {error}");
    }
}

/// The model with something changed.
fn changed(file: &ModelFile, change: &dyn Fn(&mut ModelParts)) -> ewca::Result<Model> {
    let mut parts = file.model.clone().into_parts();
    change(&mut parts);
    Model::from_parts(parts)
}

fn written(file: &ModelFile) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write_model(&path, file).unwrap();
    std::fs::read(path).unwrap()
}

#[test]
fn everything_comes_back_with_the_same_bits() {
    let file = small();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write_model(&path, &file).unwrap();
    let read = read_model(&path).unwrap();
    // Debug shows every field, and every float with all its digits; only the times are not kept.
    let shown = |file: &ModelFile| {
        let mut file = file.clone();
        file.model = changed(&file, &|parts| parts.timings = Default::default()).unwrap();
        format!("{file:?}")
    };
    assert_eq!(shown(&read), shown(&file));
    assert_eq!(written(&file), written(&read), "the same model, the same bytes");
    assert_eq!(written(&file), model_bytes(&file).unwrap());
    // As another program arranges it, with a checksum by its description.
    let parts = Parts::of(&written(&file));
    assert_eq!(parts.checksum(), parts.tensors["sha256"].2);
    let again = parts.unsigned();
    assert_eq!(shown(&read_model_bytes(&again, "m").unwrap()), shown(&file));
    // Wide numbers are where those who map the file into memory can use them.
    let length = u64::from_le_bytes(*written(&file).first_chunk().unwrap());
    assert!(length.is_multiple_of(8) && length < 4000, "{length}");
}

#[test]
fn a_file_cut_anywhere_is_refused() {
    let bytes = written(&small());
    for length in 0..bytes.len() {
        let error = read_model_bytes(&bytes[..length], "m").expect_err("half a model");
        let text = error.to_string();
        assert!(text.starts_with("m: is ") && !text.contains('\n'), "{length}: {text}");
    }
    let mut longer = bytes.clone();
    longer.push(0);
    assert!(read_model_bytes(&longer, "m").is_err());
}

#[test]
fn every_changed_byte_is_noticed() {
    let bytes = written(&small());
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            let error = read_model_bytes(&changed, "m").expect_err("a changed model").to_string();
            assert!(!error.contains('\n'), "{error}");
        }
    }
    let mut changed = bytes.clone();
    let at = changed.windows(6).position(|window| window == b"height").unwrap();
    changed[at] = b'w';
    let error = read_model_bytes(&changed, "m").unwrap_err();
    assert!(matches!(error, Error::Changed { .. }) && error.to_string().contains("changed or damaged"), "{error}");
}

#[test]
fn a_file_without_its_checksum_is_refused() {
    let mut parts = Parts::of(&written(&small()));
    parts.tensors.remove("sha256");
    assert!(matches!(read_model_bytes(&parts.unsigned(), "m"), Err(Error::Changed { .. })));
    let mut parts = Parts::of(&written(&small()));
    parts.put_numbers("more", &[1], &[1.0]);
    assert!(matches!(read_model_bytes(&parts.unsigned(), "m"), Err(Error::Changed { .. })));
}

#[test]
fn headers_that_lie_about_sizes_are_refused() {
    let bytes = written(&small());
    for lie in [0u64, 1, 7, 1 << 20, 1 << 40, u64::MAX, u64::MAX - 7] {
        let mut changed = bytes.clone();
        changed[..8].copy_from_slice(&lie.to_le_bytes());
        assert!(read_model_bytes(&changed, "m").is_err(), "{lie}");
    }
    let end = 8 + u64::from_le_bytes(*bytes.first_chunk().unwrap()) as usize;
    let header = std::str::from_utf8(&bytes[8..end]).unwrap();
    for (from, to) in [
        ("\"shape\":[7,2]", "\"shape\":[9999999999,9999999999]"),
        ("\"shape\":[7,2]", "\"shape\":[2,7]"),
        ("\"dtype\":\"F64\"", "\"dtype\":\"F32\""),
        ("\"dtype\":\"F64\"", "\"dtype\":\"I64\""),
        ("\"mean\"", "\"mood\""),
        ("\"mean\"", "\"scores\""),
        ("\"ewca\"", "\"ewco\""),
    ] {
        let changed = header.replacen(from, to, 1);
        assert_ne!(changed, header, "no {from} in {header}");
        let mut lying = (changed.len() as u64).to_le_bytes().to_vec();
        lying.extend(changed.as_bytes());
        lying.extend(&bytes[end..]);
        read_model_bytes(&lying, "m").expect_err(to);
    }
}

/// A checksum keeps damage out, not a forger: what is inside is checked all the same.
#[test]
fn forged_files_are_refused() {
    let good = written(&small());
    assert!(read_model_bytes(&Parts::of(&good).signed(), "m").is_ok());
    let refused = |change: &dyn Fn(&mut Parts), part: &str| {
        let mut parts = Parts::of(&good);
        change(&mut parts);
        let error = read_model_bytes(&parts.signed(), "m").expect_err(part);
        assert!(matches!(error, Error::Malformed { .. }), "{part}: {error}");
        assert!(error.to_string().contains(part), "no '{part}' in: {error}");
    };
    let record = |from: &'static str, to: &'static str| move |parts: &mut Parts| parts.change_record(from, to);
    refused(&|p| p.put_numbers("mean", &[3], &[0.0, f64::NAN, 0.0]), "'mean' has NaN at position 1");
    refused(&|p| p.put_numbers("scores", &[7, 2], &[f64::INFINITY; 14]), "'scores' has inf");
    refused(&|p| p.put_numbers("components", &[3, 2], &[7.0; 6]), "orthonormal");
    refused(&|p| p.put_numbers("components", &[2, 3], &[0.5; 6]), "no model has");
    refused(&|p| p.put_numbers("components", &[3, 0], &[]), "no model has");
    refused(&|p| p.put_numbers("scores", &[0, 2], &[]), "no model has");
    refused(&|p| p.put_numbers("scores", &[2, 7], &[0.5; 14]), "columns of the scores");
    refused(&|p| p.put_numbers("weights", &[7], &[0.9; 7]), "weights");
    refused(&|p| p.put_numbers("weights", &[7], &[-1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0]), "weights");
    refused(&|p| p.put_numbers("potential", &[6], &[0.0; 6]), "potential: 6 instead of 7");
    refused(&|p| p.put_numbers("scales", &[3], &[0.0; 3]), "preprocessing");
    refused(&|p| p.put_numbers("scales", &[1], &[1.0]), "preprocessing");
    refused(&|p| p.put_numbers("training_means", &[3], &[1.0; 3]), "preprocessing");
    refused(&|p| p.put_names("ids", &["s"; 6]), "names of samples: 6 instead of 7");
    refused(&|p| p.put_names("labels", &["oak"]), "labels: 1 instead of 7");
    refused(&|p| p.put_names("features", &["a", "a", "b", "c"]), "preprocessing");
    refused(&|p| p.put_names("features", &["a"]), "preprocessing");
    refused(&|p| drop(p.tensors.remove("ids.ends")), "no tensor 'ids.ends'");
    refused(&|p| drop(p.tensors.remove("labels")), "no tensor 'labels'");
    refused(&|p| p.tensors.get_mut("ids").unwrap().2[0] = 0xff, "contains no names");
    refused(&|p| p.tensors.get_mut("ids.ends").unwrap().2[0] = 99, "contains no names");
    refused(&|p| p.tensors.get_mut("ids.ends").unwrap().2[7] = 0x80, "negative");
    refused(&|p| p.tensors.get_mut("kept").unwrap().2[0] = 200, "preprocessing");
    refused(&|p| p.tensors.get_mut("record").unwrap().2[0] = 0xff, "not text");
    refused(&record("\"rank\":3", "\"rank\":-3"), "its record");
    refused(&record("\"epsilon\":0.5,\"perplexity", "\"epsilon\":-0.5,\"perplexity"), "epsilon is -0.5");
    refused(&record("\"epsilon\":0.5,\"perplexity", "\"epsilon\":1e-310,\"perplexity"), "epsilon is");
    refused(&record("\"threads\":null", "\"threads\":1000000000"), "threads is 1000000000");
    refused(&record("\"threads\":null", "\"threads\":0"), "its parameters");
    refused(&record("\"components\":2", "\"components\":3"), "its parameters ask for 3 components");
    refused(&record("\"tolerance\":1e-6", "\"tolerance\":-1"), "its parameters");
    refused(&record("\"top_variable\":3", "\"top_variable\":0"), "preprocessing");
    refused(&record("\"explained_variance\":[", "\"explained_variance\":[1,"), "explained variances: 3 instead of 2");
    // Of one sample there is no variance to convert.
    let one = |p: &mut Parts| {
        p.version = p.version.replace("model/3", "model/2");
        p.put_numbers("weights", &[7], &[1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    };
    refused(&one, "'explained_variance' has inf at position 0");
}

/// What could not be read again is not written.
#[test]
fn numbers_that_no_fit_gives_are_not_written() {
    let good = small();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    let refused = |change: &dyn Fn(&mut ModelFile), part: &str| {
        let mut file = good.clone();
        change(&mut file);
        let error = write_model(&path, &file).expect_err(part).to_string();
        assert!(error.contains("cannot be written") && error.contains(part), "no '{part}' in: {error}");
        assert!(!path.exists());
    };
    refused(&|file| file.ids.truncate(6), "names of samples: 6 instead of 7");
    refused(&|file| file.preprocessing.kept = Some(vec![2, 1, 0]), "preprocessing");
    // What has no word in JSON.
    let infinite = |file: &mut ModelFile| {
        file.model = changed(file, &|parts| parts.certificate.relative_gradient = f64::NAN).unwrap();
    };
    refused(&infinite, "record");
    // Nor is there a model of such parts.
    let no_model = |change: &dyn Fn(&mut ModelParts), part: &str| {
        let error = changed(&good, change).expect_err(part).to_string();
        assert!(
            error.starts_with("these parts do not form a valid model: ") && error.contains(part),
            "no '{part}' in: {error}"
        );
    };
    no_model(&|parts| parts.mean[1] = f64::NAN, "'mean' has NaN at position 1");
    no_model(&|parts| parts.components.set(0, 0, 7.0), "orthonormal");
    no_model(&|parts| parts.weights[0] = 0.9, "weights");
    // Epsilons far below anything are no numbers that a plan can be made with.
    no_model(&|parts| parts.epsilon = 1.4e-308, "epsilon is");
    no_model(&|parts| parts.loss = f64::INFINITY, "the loss is inf");
}

/// Names of a fit of 8.7 million samples did not fit the header, which is limited to 100 MB.
#[test]
fn names_may_take_more_than_the_header_may() {
    let rows = 110_000;
    let mut file = small();
    file.ids = (0..rows).map(|row| format!("{row:0>1000}")).collect();
    file.labels = None;
    file.annotations.clear();
    let many = |parts: &mut ModelParts| {
        parts.scores = ewca::Matrix::from_fn(rows, 2, |row, column| (row * 2 + column) as f64);
        parts.weights = vec![1.0 / rows as f64; rows];
        parts.potential = vec![0.0; rows];
    };
    file.model = changed(&file, &many).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write_model(&path, &file).unwrap();
    assert!(std::fs::metadata(&path).unwrap().len() > 110_000_000);
    let read = read_model(&path).unwrap();
    assert_eq!((read.ids.len(), &read.ids[rows - 1]), (rows, &file.ids[rows - 1]));
}

#[test]
fn future_versions_are_refused_by_name() {
    let bytes = written(&small());
    let at = bytes.windows(12).position(|window| window == b"ewca.model/3").unwrap();
    let mut future = bytes;
    future[at + 11] = b'9';
    let error = read_model_bytes(&future, "m.safetensors").unwrap_err();
    assert!(matches!(error, Error::ModelVersion { .. }));
    assert!(error.to_string().contains("m.safetensors: is a model in the format 'ewca.model/9'"), "{error}");
}

/// A file that an early version wrote: it stays readable.
#[test]
fn the_first_version_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/model_v1.safetensors");
    let file = read_model(&path).unwrap();
    assert_eq!((file.model.n_samples(), file.model.n_features(), file.model.n_components()), (6, 4, 2));
    assert_eq!(file.preprocessing.features, ["f1", "f2", "gène 3", "f,4"]);
    assert!(file.preprocessing.steps.unit_variance);
    assert_eq!(file.ids, ["s1", "s2", "s3", "s4", "s5", "s6"]);
    assert_eq!(file.labels.clone().unwrap(), ["red", "blue", "red", "green", "blue", "red"]);
    assert_eq!((file.program.as_str(), file.model.epsilon()), ("0.1.0", 0.5));
    assert!(file.model.converged());
    assert!(!file.has_checksum && file.columns == RoleColumns::default());
    has_the_variances_of_its_scores(&file);
    // Written again, it has one.
    let again = read_model_bytes(&model_bytes(&file).unwrap(), "m").unwrap();
    assert_eq!((again.has_checksum, again.ids, again.model.loss()), (true, file.ids, file.model.loss()));
}

/// The variances of equally weighted scores, divided by n - 1: as they are now, whatever the version of the file.
fn has_the_variances_of_its_scores(file: &ModelFile) {
    let (n, scores) = (file.model.n_samples(), file.model.scores());
    for (j, said) in file.model.explained_variance().iter().enumerate() {
        let variance = scores.column(j).iter().map(|z| z * z).sum::<f64>() / (n - 1) as f64;
        assert!((said / variance - 1.0).abs() < 1e-12, "component {j}: {variance}, said {said}");
    }
}

/// In the second version variances were divided by n.
#[test]
fn the_second_version_is_read() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/model_v2.safetensors");
    let file = read_model(&path).unwrap();
    assert_eq!((file.model.n_samples(), file.model.n_features(), file.model.n_components()), (6, 3, 2));
    assert!(file.has_checksum && file.model.converged());
    assert_eq!(file.columns, RoleColumns { label: Some("kind".into()), id: Some("id".into()) });
    assert!((file.model.explained_variance()[0] / 1.1725125829888934 - 6.0 / 5.0).abs() < 1e-12);
    has_the_variances_of_its_scores(&file);
    // Written again, they are not converted once more.
    let again = read_model_bytes(&model_bytes(&file).unwrap(), "m").unwrap();
    assert_eq!(again.model.explained_variance(), file.model.explained_variance());
    has_the_variances_of_its_scores(&small());
}

/// A model takes its features out of a larger table, whatever their order, dense or sparse.
#[test]
fn other_features_are_left_out_of_dense_and_sparse_tables() {
    let names = |names: &[&str]| names.iter().map(|name| name.to_string()).collect::<Vec<_>>();
    let sparse = SparseValues {
        columns: 5,
        offsets: vec![0, 3, 4, 6],
        indices: vec![0, 2, 4, 1, 0, 3],
        values: vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    };
    let features = names(&["other", "a", "more", "b", "c"]);
    let dense = Table::new(Values::Dense(sparse.to_dense()), features.clone());
    let sparse = Table::new(Values::Sparse(sparse), features);
    let wanted = names(&["c", "a", "b"]);
    let expected = [3.0, 0.0, 0.0, 0.0, 4.0, 0.0, 0.0, 0.0, 6.0];
    for table in [dense, sparse] {
        let found = table.clone().with_features(&wanted, "t").unwrap();
        assert_eq!((&found.features, found.left_out), (&wanted, names(&["other", "more"])));
        let values = match found.values {
            Values::Dense(dense) => dense.data,
            Values::Sparse(sparse) => sparse.to_dense().data,
        };
        assert_eq!(values, expected);
        // What is kept is all that is needed, unless samples are scaled to a total.
        let training = Table::new(table.values.clone(), names(&["p", "q", "r", "s", "t"]));
        let steps = Preprocessing { top_variable: Some(2), unit_variance: true, ..Preprocessing::default() };
        let (fitted, out) = steps.fit(training.clone(), "t").unwrap();
        assert_eq!(fitted.needed_features(), out.features);
        let kept = training.clone().with_features(&out.features, "t").unwrap();
        assert_eq!(fitted.apply(kept, "t").unwrap().values, out.values);
        let (fitted, _) = Preprocessing { normalize_total: Some(1.0), ..steps }.fit(training, "t").unwrap();
        assert_eq!(fitted.needed_features().len(), 5);
    }
}

#[test]
fn strangers_are_told_from_models() {
    for (bytes, part) in [
        (&b""[..], "is empty"),
        (b"a,b\n1,2\n", "not a safetensors file"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "not a safetensors file"),
        (b"\x02\0\0\0\0\0\0\0{}", "but not a model of ewca"),
    ] {
        let error = read_model_bytes(bytes, "m").unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let error = read_model(Path::new("nowhere.safetensors")).unwrap_err().to_string();
    assert!(error.contains("no such file"), "{error}");
    assert!(read_model(Path::new(".")).unwrap_err().to_string().contains("is a folder"));
    // Devices have no end.
    #[cfg(unix)]
    assert!(read_model(Path::new("/dev/zero")).unwrap_err().to_string().contains("not a regular file"));
}
