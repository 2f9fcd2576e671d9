//! How fast a table is read: `cargo run --release -p ewca-io --example read_speed -- FILE`.
//!
//! Prints the best of five runs, in megabytes of file per second.

use std::path::Path;
use std::time::Instant;

use ewca_io::{Error, ReadOptions, read_table};

fn main() -> Result<(), Error> {
    for name in std::env::args().skip(1) {
        let path = Path::new(&name);
        let mut best = f64::INFINITY;
        let mut shape = (0, 0);
        for _ in 0..5 {
            let start = Instant::now();
            let table = read_table(path, &ReadOptions::default())?;
            best = best.min(start.elapsed().as_secs_f64());
            shape = (table.rows(), table.columns());
        }
        let megabytes = std::fs::metadata(path).map_or(0, |file| file.len()) as f64 / 1e6;
        println!(
            "{name}: {} x {}, {megabytes:.1} MB in {:.0} ms, {:.0} MB/s",
            shape.0,
            shape.1,
            best * 1e3,
            megabytes / best
        );
    }
    Ok(())
}
