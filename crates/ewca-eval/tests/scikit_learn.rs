//! Nearest neighbours, k-means, the adjusted Rand index, the silhouette, Spearman's correlation and Wilcoxon's test give what scikit-learn and scipy give,
//! computed by them in this very run (scikit_learn.py).
//!
//! The environment variable `EWCA_PYTHON` names a Python with scikit-learn; `cargo xtask test` sets it.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use ewca::Matrix;
use ewca_eval::{KMeans, Neighbours, adjusted_rand_index, silhouette, spearman, wilcoxon};
use serde::Deserialize;

#[derive(Deserialize)]
struct Theirs {
    cases: Vec<Case>,
    spearman: Vec<Correlated>,
    wilcoxon: Vec<Paired>,
}

#[derive(Deserialize)]
struct Correlated {
    x: Vec<f64>,
    y: Vec<f64>,
    rho: f64,
}

#[derive(Deserialize)]
struct Case {
    points: Vec<Vec<f64>>,
    classes: Vec<usize>,
    test: Vec<usize>,
    errors: usize,
    silhouette: f64,
    clusters: BTreeMap<String, Clusters>,
}

#[derive(Deserialize)]
struct Clusters {
    labels: Vec<usize>,
    inertia: f64,
    ari: f64,
    silhouette: f64,
}

#[derive(Deserialize)]
struct Paired {
    differences: Vec<f64>,
    p: f64,
}

fn close(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() <= 1e-10 * theirs.abs().max(1.0), "{ours} is not {theirs}");
}

#[test]
fn scikit_learn_and_scipy_agree() {
    let Ok(python) = std::env::var("EWCA_PYTHON") else {
        eprintln!("EWCA_PYTHON is not set: not compared with scikit-learn");
        return;
    };
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/scikit_learn.py");
    let output = Command::new(python).arg(script).env("OMP_NUM_THREADS", "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let theirs: Theirs = serde_json::from_slice(&output.stdout).unwrap();
    theirs.cases.iter().for_each(compare);
    for pair in &theirs.spearman {
        close(spearman(&pair.x, &pair.y), pair.rho);
    }
    for paired in &theirs.wilcoxon {
        close(wilcoxon(&paired.differences), paired.p);
    }
}

fn compare(case: &Case) {
    let (rows, columns) = (case.points.len(), case.points[0].len());
    let points = Matrix::from_row_major(rows, columns, &case.points.concat()).unwrap();
    let train: Vec<usize> = (0..rows).filter(|i| !case.test.contains(i)).collect();
    assert_eq!(Neighbours::new(&points).errors(&train, &case.test, &case.classes), case.errors);
    close(silhouette(&points, &case.classes), case.silhouette);
    for (count, clusters) in &case.clusters {
        close(adjusted_rand_index(&case.classes, &clusters.labels), clusters.ari);
        close(silhouette(&points, &clusters.labels), clusters.silhouette);
        // Both look for the least inertia; with many starts both find it, and there the clusters are the same.
        let ours = KMeans::new(&points, count.parse().unwrap(), 50, 0);
        close(ours.inertia, clusters.inertia);
        assert_eq!(adjusted_rand_index(&ours.clusters, &clusters.labels), 1.0, "{count} clusters");
    }
}
