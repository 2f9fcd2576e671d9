//! Our t-SNE beside scikit-learn's (tsne.py): the same affinities, the same divergence of the same map, and a map as good as its own.
//!
//! The environment variable `EWCA_PYTHON` names a Python with scikit-learn. `cargo xtask test` sets it.

use std::fs;
use std::path::Path;
use std::process::Command;

use ewca::Matrix;
use ewca_eval::tsne;

fn read(path: &Path) -> Matrix {
    let text = fs::read_to_string(path).unwrap();
    let rows: Vec<Vec<f64>> =
        text.lines().map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect()).collect();
    Matrix::from_fn(rows.len(), rows[0].len(), |i, j| rows[i][j])
}

fn write(path: &Path, matrix: &Matrix) {
    let line = |i: usize| matrix.row(i).iter().map(f64::to_string).collect::<Vec<_>>().join(",") + "\n";
    fs::write(path, (0..matrix.rows()).map(line).collect::<String>()).unwrap();
}

#[test]
fn agrees_with_scikit_learn() {
    let Ok(python) = std::env::var("EWCA_PYTHON") else {
        eprintln!("EWCA_PYTHON is not set: t-SNE is not compared with scikit-learn's");
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/tsne.py");
    let run = |what: &str| {
        let output = Command::new(&python).arg(&script).arg(what).arg(folder.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        eprintln!("{}", String::from_utf8_lossy(&output.stdout));
    };
    run("points");
    for (name, perplexity) in [("iris", 20.0), ("digits", 30.0)] {
        let file = |suffix: &str| folder.path().join(format!("{name}{suffix}"));
        let points = read(&file(".csv"));
        let affinities = tsne::affinities(&points, perplexity);
        let map = tsne::embed(&points, perplexity).unwrap();
        write(&file("-affinities.csv"), &affinities);
        write(&file("-map.csv"), &map);
        fs::write(file("-divergence.txt"), tsne::divergence(&affinities, &map).to_string()).unwrap();
    }
    run("check");
}
