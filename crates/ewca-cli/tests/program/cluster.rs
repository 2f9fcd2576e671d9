//! `mpirun -n 4 ewca fit --distributed`: what one process finds, whoever dies.
#![cfg(all(feature = "mpi", target_os = "linux"))]

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use crate::common::{Run, Workshop, exists, noise};
use ewca_io::{Frame, write_table};

/// `mpirun` with so many processes of the program.
fn shared(shop: &Workshop, processes: usize, arguments: &[&str]) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["-n", &processes.to_string(), env!("CARGO_BIN_EXE_ewca")]).args(arguments);
    command.args(["--distributed", "--threads", "1"]).current_dir(shop.path("."));
    // More processes than cores, and possibly as root: neither is a matter of the tests.
    command.envs([
        ("OMPI_ALLOW_RUN_AS_ROOT", "1"),
        ("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"),
        ("OMPI_MCA_rmaps_base_oversubscribe", "1"),
        ("OMPI_MCA_mpi_yield_when_idle", "1"),
        ("OMPI_MCA_btl_vader_single_copy_mechanism", "none"),
    ]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn run(shop: &Workshop, processes: usize, arguments: &[&str]) -> Run {
    Run::from(shared(shop, processes, arguments).output().expect("mpirun (Open MPI) is needed"))
}

/// Clouds in an array.
fn table(shop: &Workshop, rows: usize, columns: usize) {
    let mut noise = noise(3);
    let value = |at: usize| 2.0 * noise() + ((at / columns % 5) * (at % columns % 7)) as f64;
    let values: Vec<f64> = (0..rows * columns).map(value).collect();
    let features: Vec<String> = (0..columns).map(|column| format!("column{}", column + 1)).collect();
    for file in ["table.npy", "table.parquet", "table.csv"] {
        let frame = Frame { rows, texts: &[], columns: &features, values: &values };
        write_table(&shop.path(file), &frame).unwrap();
    }
}

fn numbers(text: &str) -> Vec<f64> {
    text.lines().skip(1).flat_map(|line| line.split(',').skip(1).map(|cell| cell.parse::<f64>().unwrap())).collect()
}

#[track_caller]
fn same_to_rounding(shop: &Workshop, one: &str, other: &str, tolerance: f64) {
    same_numbers(shop, one, other, &["loss", "epsilon"], tolerance);
    let (a, b) = (shop.read(&format!("{one}/scores.csv")), shop.read(&format!("{other}/scores.csv")));
    assert_eq!(a.lines().count(), b.lines().count());
    for (x, y) in numbers(&a).iter().zip(numbers(&b)) {
        assert!((x - y).abs() < 1e-5, "{x} {y}");
    }
}

#[track_caller]
fn same_numbers(shop: &Workshop, one: &str, other: &str, keys: &[&str], tolerance: f64) {
    let (a, b) = (shop.summary(one), shop.summary(other));
    for key in keys {
        let (x, y) = (a[key].as_f64().unwrap(), b[key].as_f64().unwrap());
        assert!((x / y - 1.0).abs() < tolerance, "{key}: {x} {y}");
    }
}

const FIT: [&str; 8] = ["-k", "2", "--epsilon", "0.16", "--tolerance", "1e-9", "--seed", "1"];

#[test]
fn four_processes_find_what_one_finds() {
    let shop = Workshop::new();
    table(&shop, 1100, 6);
    shop.run(&[&["fit", "table.npy", "-q", "-o", "alone"], &FIT[..]].concat()).succeeded();
    for (folder, more) in [("four", vec![]), ("again", vec![]), ("parts", vec!["--in-parts"])] {
        let run = run(&shop, 4, &[&["fit", "table.npy", "-o", folder], &FIT[..], &more].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        assert!(run.out.contains("Shared by 4 processes"), "{run:?}");
        // One process talks.
        assert_eq!(run.out.matches("Fit OK").count(), 1, "{}", run.out);
        same_to_rounding(&shop, "alone", folder, 1e-9);
    }
    // A search for a perplexity ends within 0.8% of it, wherever rounding leads: neither epsilon nor the loss are closer than that.
    let search = ["-q", "-k", "2", "--perplexity", "15"];
    shop.run(&[&["fit", "table.npy", "-o", "searched"], &search[..]].concat()).succeeded();
    let shared = run(&shop, 4, &[&["fit", "table.npy", "-o", "searched4"], &search[..]].concat());
    assert_eq!(shared.code, Some(0), "{shared:?}");
    same_numbers(&shop, "searched", "searched4", &["loss", "epsilon"], 1.6e-2);
    for file in ["scores.csv", "loadings.csv", "model.safetensors"] {
        assert_eq!(shop.bytes(&format!("four/{file}")), shop.bytes(&format!("again/{file}")), "{file}: other bits");
    }
    // Steps that need the whole table, and formats of which every process reads its own rows or all.
    for (at, file) in ["table.parquet", "table.csv"].into_iter().enumerate() {
        let steps = [&["--scale", "unit-variance", "--top-variable", "4"], &FIT[..]].concat();
        let (alone, shared) = (format!("alone{at}"), format!("shared{at}"));
        shop.run(&[&["fit", file, "-q", "-o", &alone], &steps[..]].concat()).succeeded();
        assert_eq!(run(&shop, 3, &[&["fit", file, "-q", "-o", &shared], &steps[..]].concat()).code, Some(0));
        same_to_rounding(&shop, &alone, &shared, 1e-9);
    }
}

#[test]
fn what_is_wrong_is_said_once() {
    let shop = Workshop::new();
    table(&shop, 40, 6);
    for (arguments, said) in [
        (vec!["fit", "missing.npy"], "missing.npy: cannot be read"),
        (vec!["fit", "table.npy", "-k", "9"], "-k 9 is too large"),
        (vec!["fit", "table.npy", "-o", "table.csv"], "table.csv: cannot create the output folder"),
    ] {
        let run = run(&shop, 4, &arguments);
        assert_ne!(run.code, Some(0));
        assert_eq!(run.err.matches("ewca: error").count(), 1, "{}", run.err);
        assert!(run.err.contains(said), "{}", run.err);
    }
    let too_many = run(&shop, 24, &["fit", "table.npy"]);
    assert!(too_many.err.contains("40 samples are too few for 24 processes"), "{}", too_many.err);
}

/// The process of this rank, of the job that was started in this folder.
fn process_of(shop: &Workshop, rank: usize) -> Option<u32> {
    let folder = std::fs::canonicalize(shop.path(".")).unwrap();
    let wanted = format!("OMPI_COMM_WORLD_RANK={rank}");
    std::fs::read_dir("/proc").unwrap().flatten().find_map(|entry| {
        let process: u32 = entry.file_name().to_str()?.parse().ok()?;
        let variables = std::fs::read(entry.path().join("environ")).ok()?;
        let its_own = variables.split(|&byte| byte == 0).any(|variable| variable == wanted.as_bytes());
        (its_own && std::fs::read_link(entry.path().join("cwd")).ok()? == folder).then_some(process)
    })
}

/// Waits until a file is there.
fn wait_for(shop: &Workshop, file: &str, child: &mut Child) {
    let clock = Instant::now();
    while !exists(&shop.path(file)) {
        assert!(child.try_wait().unwrap().is_none(), "the job ended before {file} was there");
        assert!(clock.elapsed() < Duration::from_secs(120), "no {file}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn a_process_that_dies_ends_the_job_and_any_number_goes_on() {
    let shop = Workshop::new();
    table(&shop, 5000, 6);
    let fit = [&["fit", "table.npy"], &FIT[..]].concat();
    shop.run(&[&fit[..], &["-q", "-o", "alone"]].concat()).succeeded();
    let state = ["-o", "killed", "--checkpoint", "state", "--checkpoint-every", "0"];
    let mut child = shared(&shop, 4, &[&fit[..], &state].concat()).spawn().unwrap();
    wait_for(&shop, "state", &mut child);
    let victim = process_of(&shop, 2).expect("process 2 of the job");
    assert!(Command::new("kill").args(["-KILL", &victim.to_string()]).status().unwrap().success());
    let ended = Run::from(child.wait_with_output().unwrap());
    assert_ne!(ended.code, Some(0));
    assert!(ended.err.contains("the job is being stopped"), "{}", ended.err);
    assert!(ended.err.contains("--resume state"), "{}", ended.err);
    assert!(!exists(&shop.path("killed/summary.json")), "a job that died has no results");
    for (processes, folder) in [(2, "two"), (1, "one")] {
        let run = run(&shop, processes, &[&fit[..], &["--resume", "state", "-o", folder]].concat());
        assert_eq!(run.code, Some(0), "{run:?}");
        same_to_rounding(&shop, "alone", folder, 1e-6);
    }
}
