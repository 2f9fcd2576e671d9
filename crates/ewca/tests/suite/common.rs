//! What the tests share: reference data, and `check_fit`, which every test runs on every fit.

use std::io::Read;
use std::path::PathBuf;

use ewca::{Matrix, Model, Samples, Termination};

/// A small data set with reference optima.
pub struct Fixture {
    pub data: Vec<f64>,
    pub rows: usize,
    pub columns: usize,
    pub weights: Option<Vec<f64>>,
    pub cases: Vec<Case>,
}

/// One reference optimum.
pub struct Case {
    pub k: usize,
    pub epsilon: f64,
    pub loss: f64,
    pub explained_variance: Vec<f64>,
    pub eigenvalues: Vec<f64>,
    pub mean_perplexity: f64,
    pub min_perplexity: f64,
    pub max_perplexity: f64,
    pub distance_to_pca: f64,
    /// d x k
    pub components: Matrix,
    pub potential: Vec<f64>,
}

impl Fixture {
    pub fn samples(&self) -> Samples<'_, f64> {
        let samples = Samples::new(&self.data, self.rows, self.columns).unwrap();
        match &self.weights {
            Some(weights) => samples.with_weights(weights).unwrap(),
            None => samples,
        }
    }
}

pub const FIXTURES: [&str; 6] = ["gauss5", "khan2001", "toy20", "two_blobs", "weighted20", "wide3000"];

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures").join(name)
}

pub fn fixture(name: &'static str) -> Fixture {
    let folder = folder(name);
    let text = std::fs::read_to_string(folder.join("cases.json")).unwrap();
    let json: serde_json::Value = serde_json::from_str(&text).unwrap();
    let (data, rows, columns) = if name == "khan2001" {
        khan2001_train()
    } else {
        let x = read_npy(&folder.join("X.npy"));
        (x.to_row_major(), x.rows(), x.columns())
    };
    let weights = folder.join("weights.npy");
    let weights = weights.exists().then(|| read_npy(&weights).column(0).to_vec());
    let list = |case: &serde_json::Value, key: &str| -> Vec<f64> {
        case[key].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect()
    };
    let cases = json["cases"]
        .as_array()
        .unwrap()
        .iter()
        .map(|case| {
            let number = |key: &str| case[key].as_f64().unwrap();
            let (k, epsilon) = (number("k") as usize, number("epsilon"));
            let tag = if epsilon < 1e-4 {
                format!("k{k}_eps{epsilon:e}").replace("e-", "e-0")
            } else {
                format!("k{k}_eps{epsilon}")
            };
            Case {
                k,
                epsilon,
                loss: number("loss"),
                explained_variance: list(case, "explained_variance"),
                eigenvalues: list(case, "leading_eigenvalues_of_M"),
                mean_perplexity: number("mean_perplexity"),
                min_perplexity: number("min_perplexity"),
                max_perplexity: number("max_perplexity"),
                distance_to_pca: number("grassmann_distance_to_pca"),
                components: read_npy(&folder.join(format!("U_{tag}.npy"))),
                potential: read_npy(&folder.join(format!("potential_{tag}.npy"))).column(0).to_vec(),
            }
        })
        .collect();
    Fixture { data, rows, columns, weights, cases }
}

/// The 63 training samples of khan2001, row-major.
pub fn khan2001_train() -> (Vec<f64>, usize, usize) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../data/khan2001.csv.gz");
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let mut data = Vec::new();
    let mut rows = 0;
    for line in text.lines().skip(1).filter(|line| line.split(',').nth(1) == Some("train")) {
        data.extend(line.split(',').skip(3).map(|cell| cell.parse::<f64>().unwrap()));
        rows += 1;
    }
    let columns = data.len() / rows;
    (data, rows, columns)
}

/// A little-endian f64 array of one or two dimensions (one dimension becomes a column).
fn read_npy(path: &std::path::Path) -> Matrix {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let length = u16::from_le_bytes([bytes[8], bytes[9]]) as usize;
    let header = std::str::from_utf8(&bytes[10..10 + length]).unwrap();
    assert!(header.contains("'<f8'"), "{header}");
    let shape = header.split('(').nth(1).unwrap().split(')').next().unwrap();
    let shape: Vec<usize> = shape.split(',').filter_map(|x| x.trim().parse().ok()).collect();
    let values: Vec<f64> =
        bytes[10 + length..].chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect();
    let (rows, columns) = (shape[0], shape.get(1).copied().unwrap_or(1));
    if header.contains("'fortran_order': True") {
        Matrix::from_column_major(rows, columns, values).unwrap()
    } else {
        Matrix::from_row_major(rows, columns, &values).unwrap()
    }
}

pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    Matrix::from_fn(a.rows(), b.columns(), |i, j| (0..a.columns()).map(|l| a.get(i, l) * b.get(l, j)).sum())
}

/// Frobenius distance of the projectors divided by sqrt(2): equal to the Grassmann distance for small angles, and computed
/// independently of the library.
pub fn subspace_distance(a: &Matrix, b: &Matrix) -> f64 {
    // b - a a'b has the sines of the principal angles as its singular values.
    let inside = product(a, &product(&a.transposed(), b));
    let outside = b.as_column_major().iter().zip(inside.as_column_major()).map(|(x, y)| (x - y).powi(2));
    outside.sum::<f64>().sqrt()
}

/// Checks everything about a fit that must hold whatever the data: recomputed here from the definitions, in plain loops.
pub fn check_fit(samples: &Samples<'_, f64>, model: &Model) {
    let (n, d, k) = (samples.rows(), samples.columns(), model.n_components());
    assert_eq!((model.n_samples(), model.n_features()), (n, d));
    let (scores, u, epsilon, a) = (&model.scores, &model.components, model.epsilon, samples.weights());
    let every = [
        scores.as_column_major(),
        u.as_column_major(),
        &model.mean,
        &model.potential,
        &model.explained_variance,
        &model.explained_variance_ratio,
        &model.certificate.eigenvalues,
        &[model.loss, model.epsilon, model.perplexity.mean, model.perplexity.min, model.perplexity.max],
        &[model.certificate.marginal_error, model.certificate.duality_gap, model.certificate.relative_gradient],
        &[model.certificate.eigen_deficit, model.distance_to_pca],
    ];
    assert!(every.iter().all(|values| values.iter().all(|x| x.is_finite())), "something is not finite");

    // Orthonormal loadings, the scores they give, and the canonical frame.
    let gram = product(&u.transposed(), u);
    for i in 0..k {
        for j in 0..k {
            let want = if i == j { 1.0 } else { 0.0 };
            assert!((gram.get(i, j) - want).abs() < 1e-10, "U'U({i}, {j}) = {}", gram.get(i, j));
        }
    }
    let total: f64 = (0..n)
        .map(|i| a[i] * samples.row(i).unwrap().iter().zip(&model.mean).map(|(x, m)| (x - m).powi(2)).sum::<f64>())
        .sum();
    let size = total.sqrt();
    for i in 0..n {
        let row = samples.row(i).unwrap();
        for j in 0..k {
            let want: f64 = (0..d).map(|l| (row[l] - model.mean[l]) * u.get(l, j)).sum();
            assert!((scores.get(i, j) - want).abs() < 1e-10 * size * (n as f64).sqrt(), "score ({i}, {j})");
        }
    }
    for i in 0..k {
        for j in 0..k {
            let moment: f64 = (0..n).map(|s| a[s] * scores.get(s, i) * scores.get(s, j)).sum();
            let want = if i == j { model.explained_variance[i] } else { 0.0 };
            assert!((moment - want).abs() < 1e-10 * total, "moment ({i}, {j}) = {moment}, not {want}");
        }
        let largest = u.column(i).iter().fold(0.0f64, |m, x| if x.abs() > m.abs() { *x } else { m });
        assert!(largest > 0.0, "sign of component {i}");
    }
    assert!(model.explained_variance.windows(2).all(|w| w[0] >= w[1] - 1e-12 * total));
    for (v, ratio) in model.explained_variance.iter().zip(&model.explained_variance_ratio) {
        assert!((v / total - ratio).abs() < 1e-10);
    }

    // The plan from its potentials: marginals, primal value, perplexity.
    let distance = |i: usize, j: usize| -> f64 { (0..k).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum() };
    let g = &model.potential;
    let (mut marginal_error, mut cost, mut entropy) = (0.0, 0.0, 0.0);
    let mut perplexities = Vec::new();
    for i in (0..n).filter(|&i| a[i] > 0.0) {
        // What is below exp(-100) adds nothing to any sum here, and takes time.
        let entry = |j: usize| match (g[i] + g[j] - distance(i, j)) / epsilon {
            exponent if a[j] > 0.0 && exponent > -100.0 => a[i] * a[j] * exponent.exp(),
            _ => 0.0,
        };
        let row: Vec<f64> = (0..n).map(entry).collect();
        let mass: f64 = row.iter().sum();
        marginal_error += (mass - a[i]).abs();
        for (j, &p) in row.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            cost += p * distance(i, j);
            entropy += p * (p / (a[i] * a[j])).ln();
        }
        // A sample of whole weight w is w samples, which share what it gets.
        let samples_at = |j: usize| model.repeated.map_or(1.0, |count| (a[j] * count).round());
        let h: f64 =
            (0..n).filter(|&j| row[j] > 0.0).map(|j| -(row[j] / mass) * (row[j] / mass / samples_at(j)).ln()).sum();
        perplexities.push((h.exp(), samples_at(i)));
    }
    let certificate = &model.certificate;
    assert!(
        (marginal_error - certificate.marginal_error).abs() <= 1e-10 + 0.01 * marginal_error,
        "marginal error {marginal_error}"
    );
    let kept: f64 = model.explained_variance.iter().sum();
    let primal = total - kept + cost + epsilon * entropy;
    let scale = total + certificate.duality_gap;
    // At a perfect plan primal = dual = loss; otherwise they differ by no more than the marginal error lets them.
    let slack = 1e-9 * scale + 1e-12 * epsilon + 10.0 * marginal_error * (scale + epsilon * (n as f64).ln());
    assert!((primal - model.loss).abs() <= slack, "primal {primal}, dual {}", model.loss);
    assert!(certificate.duality_gap >= 0.0);
    let count: f64 = perplexities.iter().map(|(_, samples)| samples).sum();
    assert_eq!(count, samples.count());
    let mean = perplexities.iter().map(|(perplexity, samples)| perplexity * samples).sum::<f64>() / count;
    assert!((mean - model.perplexity.mean).abs() < 1e-6 * mean, "perplexity {mean}, said {}", model.perplexity.mean);
    assert!(
        model.perplexity.min <= model.perplexity.mean + 1e-9 && model.perplexity.mean <= model.perplexity.max + 1e-9
    );
    assert!(model.perplexity.min >= 1.0 - 1e-9 && model.perplexity.max <= count * (1.0 + 1e-9));

    // The eigenvalues of M and what is said of them.
    assert_eq!(certificate.eigenvalues.len(), k);
    assert!(certificate.eigenvalues.windows(2).all(|w| w[0] >= w[1]));
    assert_eq!(certificate.collapsed, certificate.eigenvalues.iter().any(|x| *x <= 0.0));
    assert!(certificate.eigen_deficit >= 0.0);
    if model.termination == Termination::Converged {
        assert!(certificate.relative_gradient <= 1e-5, "converged at gradient {}", certificate.relative_gradient);
        assert!(certificate.marginal_error <= 1e-5, "converged at marginal error {}", certificate.marginal_error);
    }

    // History: passes grow; the loss falls within an attempt at fixed epsilon (up to the accuracy of early plans).
    assert!(model.history.windows(2).all(|w| w[0].kernel_passes <= w[1].kernel_passes));
    for w in model.history.windows(2).filter(|w| w[0].attempt == w[1].attempt && w[0].epsilon == w[1].epsilon) {
        let noise = 1e-9 * scale + (w[0].marginal_error + w[1].marginal_error) * (scale + epsilon * (n as f64).ln());
        assert!(w[1].loss <= w[0].loss + noise, "loss rose from {} to {}", w[0].loss, w[1].loss);
    }
}
