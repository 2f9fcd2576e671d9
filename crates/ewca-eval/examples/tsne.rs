//! Measures t-SNE of a table of plain numbers: how long it takes, and the divergence that is left.
//!
//! ```text
//! cargo run --release -p ewca-eval --example tsne points.csv 30
//! ```

use std::time::Instant;

use ewca::Matrix;
use ewca_eval::tsne;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [file, perplexity] = words.as_slice() else {
        return Err("usage: tsne FILE.csv PERPLEXITY".into());
    };
    let perplexity: f64 = perplexity.parse()?;
    let text = std::fs::read_to_string(file)?;
    let rows: Vec<Vec<f64>> =
        text.lines().map(|line| line.split(',').map(str::parse).collect()).collect::<Result<_, _>>()?;
    let columns = rows.first().map_or(0, Vec::len);
    let points = Matrix::from_row_major(rows.len(), columns, &rows.concat())?;
    let clock = Instant::now();
    let map = tsne::embed(&points, perplexity)?;
    let seconds = clock.elapsed().as_secs_f64();
    let divergence = tsne::divergence(&tsne::affinities(&points, perplexity), &map);
    println!("{} points: {seconds:.2} s, divergence {divergence:.4}", points.rows());
    Ok(())
}
