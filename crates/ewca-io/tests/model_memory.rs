//! Reading a model takes no more memory than its bytes justify, whatever they claim.

mod forged;

use ewca_io::{model_bytes, read_model_bytes};
use forged::Parts;
use peak_alloc::PeakAlloc;

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// A safetensors file with this header and so many bytes of zeros.
fn safetensors(header: &str, bytes: usize) -> Vec<u8> {
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend(header.as_bytes());
    file.resize(file.len() + bytes, 0);
    file
}

/// How many times the file's own size is taken while it is read.
fn growth(file: &[u8]) -> f64 {
    MEMORY.reset_peak_usage();
    let before = MEMORY.current_usage();
    let outcome = read_model_bytes(file, "hostile");
    let peak = MEMORY.peak_usage() - before;
    assert!(outcome.is_err());
    peak as f64 / file.len() as f64
}

#[test]
fn hostile_files_take_little() {
    let tensor =
        |rows: u64, end: u64| format!(r#"{{"scores":{{"dtype":"F64","shape":[{rows},1],"data_offsets":[0,{end}]}}}}"#);
    // Sizes that are not there cost nothing.
    for rows in [1 << 20, 1 << 40, u64::MAX / 8] {
        assert!(growth(&safetensors(&tensor(rows, rows.wrapping_mul(8)), 1 << 16)) < 2.0);
    }
    // Many small things: names, numbers, tensors. Each byte of them may cost some, in proportion.
    let golden = format!("{}/tests/golden/model_v1.safetensors", env!("CARGO_MANIFEST_DIR"));
    let model = model_bytes(&ewca_io::read_model(std::path::Path::new(&golden)).unwrap()).unwrap();
    let many = vec![""; 200_000];
    let numbers = vec![0.0; 200_000];
    for what in ["ids", "labels", "features", "scales", "training_means", "mean", "history"] {
        let mut parts = Parts::of(&model);
        match what {
            "ids" | "labels" | "features" => parts.put_names(what, &many),
            "history" => {
                let values = vec!["0"; 200_000].join(",");
                parts.change_record("\"explained_variance\":[", &format!("\"explained_variance\":[{values},"));
            }
            _ => parts.put_numbers(what, &[numbers.len()], &numbers),
        }
        let growth = growth(&parts.signed());
        assert!(growth < 25.0, "{what}: {growth} times the size of the file");
    }
}
