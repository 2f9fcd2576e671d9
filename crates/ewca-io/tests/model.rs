//! The model file: written, read again, damaged in every way.

use std::path::Path;

use ewca::{Ewca, Samples};
use ewca_io::{DenseValues, Error, ModelFile, Preprocessing, Table, Values, read_model, read_model_bytes, write_model};

/// A fit of 7 samples with 4 features, scaled.
fn small() -> ModelFile {
    let data: Vec<f64> = (0..28).map(|i| f64::from(i * i * 31 % 23) / 7.0 - 1.5).collect();
    let table = Table {
        values: Values::Dense(DenseValues { rows: 7, columns: 4, data }),
        features: ["height", "width", "a \"quoted\" näme", "x"].map(String::from).to_vec(),
        ids: None,
        labels: None,
    };
    let steps = Preprocessing { unit_variance: true, top_variable: Some(3), ..Preprocessing::default() };
    let (preprocessing, table) = steps.fit(table, "small").unwrap();
    let Values::Dense(dense) = &table.values else { unreachable!() };
    let params = Ewca::params(2).epsilon(0.5).seed(3);
    let model = params.clone().fit(&Samples::new(&dense.data, 7, 3).unwrap()).unwrap();
    ModelFile {
        model,
        preprocessing,
        ids: (1..=7).map(|i| format!("s{i}")).collect(),
        labels: Some(["oak", "elm", "oak", "elm", "oak", "elm", "ash"].map(String::from).to_vec()),
        params,
        program: "0.0.0".into(),
        training_checksum: table.checksum(),
    }
}

fn written(file: &ModelFile) -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("model.safetensors");
    write_model(&path, file).unwrap();
    std::fs::read(path).unwrap()
}

fn header_length(bytes: &[u8]) -> usize {
    u64::from_le_bytes(bytes[..8].try_into().unwrap()) as usize
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
        file.model.timings = Default::default();
        format!("{file:?}")
    };
    assert_eq!(shown(&read), shown(&file));
    assert_eq!(written(&file), written(&read), "the same model, the same bytes");
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
fn changed_bytes_are_refused_or_give_a_model_that_works() {
    let bytes = written(&small());
    let mut refused = 0;
    for at in 0..bytes.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut changed = bytes.clone();
            changed[at] ^= change;
            match read_model_bytes(&changed, "m") {
                Err(error) => {
                    refused += 1;
                    assert!(!error.to_string().contains('\n'), "{error}");
                }
                Ok(file) => {
                    let d = file.model.n_features();
                    file.model.transform(&vec![0.5; d], 1).unwrap();
                    file.model.plan().partners(0, 3);
                }
            }
        }
    }
    assert!(refused > bytes.len(), "{refused} of {}", 3 * bytes.len());
}

#[test]
fn headers_that_lie_about_sizes_are_refused() {
    let bytes = written(&small());
    for lie in [0u64, 1, 7, 1 << 20, 1 << 40, u64::MAX, u64::MAX - 7] {
        let mut changed = bytes.clone();
        changed[..8].copy_from_slice(&lie.to_le_bytes());
        assert!(read_model_bytes(&changed, "m").is_err(), "{lie}");
    }
    let header = std::str::from_utf8(&bytes[8..8 + header_length(&bytes)]).unwrap();
    for (from, to) in [
        ("\"shape\":[3,2]", "\"shape\":[2,3]"),
        ("\"shape\":[7,2]", "\"shape\":[2,7]"),
        ("\"shape\":[7,2]", "\"shape\":[9999999999,9999999999]"),
        ("\"dtype\":\"F64\"", "\"dtype\":\"F32\""),
        ("\"mean\"", "\"mood\""),
        ("\"mean\"", "\"scores\""),
        ("\"ewca\"", "\"ewco\""),
        ("\\\"s1\\\",", ""),
        ("\\\"oak\\\",", ""),
        ("\\\"height\\\",", ""),
        ("\\\"rank\\\":3", "\\\"rank\\\":-3"),
        ("\\\"epsilon\\\":0.5,\\\"perplexity", "\\\"epsilon\\\":-0.5,\\\"perplexity"),
    ] {
        let changed = header.replacen(from, to, 1);
        assert_ne!(changed, header, "no {from} in {header}");
        let mut lying = (changed.len() as u64).to_le_bytes().to_vec();
        lying.extend(changed.as_bytes());
        lying.extend(&bytes[8 + header_length(&bytes)..]);
        let error = read_model_bytes(&lying, "m").expect_err(to);
        assert!(matches!(error, Error::Malformed { .. }), "{to}: {error}");
    }
}

#[test]
fn numbers_that_no_fit_gives_are_refused() {
    let good = small();
    let refused = |change: &dyn Fn(&mut ModelFile), part: &str| {
        let mut file = good.clone();
        change(&mut file);
        let error = read_model_bytes(&written(&file), "m").expect_err(part).to_string();
        assert!(error.contains(part), "no '{part}' in: {error}");
    };
    refused(&|file| file.model.mean[1] = f64::NAN, "'mean' has NaN at place 1");
    refused(&|file| file.model.scores.set(0, 0, f64::INFINITY), "'scores' has inf");
    refused(&|file| file.model.components.set(0, 0, 7.0), "orthonormal");
    refused(&|file| file.model.weights[0] = 0.9, "weights");
    refused(&|file| file.model.weights[0] = -0.1, "weights");
    refused(&|file| file.ids.truncate(6), "names of samples: 6 where 7");
    refused(&|file| file.model.potential.truncate(6), "potential: 6 where 7");
    refused(&|file| file.preprocessing.kept = Some(vec![2, 1, 0]), "preprocessing");
    refused(&|file| file.preprocessing.scales = Some(vec![0.0; 3]), "preprocessing");
}

#[test]
fn future_versions_are_refused_by_name() {
    let bytes = written(&small());
    let at = bytes.windows(12).position(|window| window == b"ewca.model/1").unwrap();
    let mut future = bytes;
    future[at + 11] = b'9';
    let error = read_model_bytes(&future, "m.safetensors").unwrap_err();
    assert!(matches!(error, Error::ModelVersion { .. }));
    assert!(error.to_string().contains("m.safetensors: is a model of the format 'ewca.model/9'"), "{error}");
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
    assert_eq!(file.labels.unwrap(), ["red", "blue", "red", "green", "blue", "red"]);
    assert_eq!((file.program.as_str(), file.model.epsilon), ("0.1.0", 0.5));
    assert!(file.model.converged());
}

#[test]
fn strangers_are_told_from_models() {
    for (bytes, part) in [
        (&b""[..], "is empty"),
        (b"a,b\n1,2\n", "no safetensors file"),
        (b"\x93NUMPY\x01\x00v\x00{'descr'", "no safetensors file"),
        (b"\x02\0\0\0\0\0\0\0{}", "of something else"),
    ] {
        let error = read_model_bytes(bytes, "m").unwrap_err().to_string();
        assert!(error.contains(part), "{error}");
    }
    let error = read_model(Path::new("nowhere.safetensors")).unwrap_err().to_string();
    assert!(error.contains("no such file"), "{error}");
    assert!(read_model(Path::new(".")).unwrap_err().to_string().contains("is a folder"));
}
