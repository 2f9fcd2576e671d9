//! What the tests share: reference data, and `check_fit`, which every test runs on every fit.

use std::io::Read;
use std::path::PathBuf;

use ewca::{Matrix, Model, Samples, Termination};
use proptest::test_runner::{Config as ProptestConfig, RngSeed};

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
pub fn read_npy(path: &std::path::Path) -> Matrix {
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

/// Data of `fixtures/audit`, row-major, and their shape.
pub fn audited(name: &str) -> (Vec<f64>, usize, usize) {
    let x = read_npy(&folder("audit").join(format!("{name}.npy")));
    (x.to_row_major(), x.rows(), x.columns())
}

/// How a property test runs: always on the same cases, so that no commit fails for what another one did;
/// `PROPTEST_RNG_SEED=7` looks at others.
pub fn cases(cases: u32) -> ProptestConfig {
    let default = ProptestConfig { cases, ..ProptestConfig::default() };
    match default.rng_seed {
        RngSeed::Random => ProptestConfig { rng_seed: RngSeed::Fixed(1), ..default },
        RngSeed::Fixed(_) => default,
    }
}

pub fn product(a: &Matrix, b: &Matrix) -> Matrix {
    let mut sums = vec![0.0; a.rows() * b.columns()];
    for (j, sums) in sums.chunks_mut(a.rows().max(1)).enumerate() {
        for (l, factor) in b.column(j).iter().enumerate() {
            sums.iter_mut().zip(a.column(l)).for_each(|(sum, x)| *sum += x * factor);
        }
    }
    Matrix::from_column_major(a.rows(), b.columns(), sums).unwrap()
}

/// Frobenius distance of the projectors divided by sqrt(2): equal to the Grassmann distance for small angles, and computed
/// independently of the library.
pub fn subspace_distance(a: &Matrix, b: &Matrix) -> f64 {
    // b - a a'b has the sines of the principal angles as its singular values.
    let inside = product(a, &product(&a.transposed(), b));
    let outside = b.as_column_major().iter().zip(inside.as_column_major()).map(|(x, y)| (x - y).powi(2));
    outside.sum::<f64>().sqrt()
}

/// The variances of the scores, with weights that sum to 1: what the loss is made of, and the fixtures hold.
pub fn weighted_variances(model: &Model) -> Vec<f64> {
    let (a, z) = (model.weights(), model.scores());
    (0..model.n_components()).map(|j| (0..a.len()).map(|i| a[i] * z.get(i, j).powi(2)).sum()).collect()
}

/// Checks everything about a fit that must hold whatever the data: recomputed here from the definitions, in plain loops.
pub fn check_fit(samples: &Samples<'_, f64>, model: &Model) {
    let (n, d, k) = (samples.rows(), samples.columns(), model.n_components());
    assert_eq!((model.n_samples(), model.n_features()), (n, d));
    let (scores, u, epsilon, a) = (model.scores(), model.components(), model.epsilon(), samples.weights());
    let every = [
        scores.as_column_major(),
        u.as_column_major(),
        model.mean(),
        model.potential(),
        model.explained_variance(),
        model.explained_variance_ratio(),
        &model.certificate().eigenvalues,
        &[model.loss(), model.epsilon(), model.perplexity().overall, model.perplexity().median],
        &[model.perplexity().min, model.perplexity().max],
        &model.certificate().residuals,
        &model.certificate().rounding,
        &model.certificate().angles,
        &[model.certificate().marginal_error, model.certificate().duality_gap, model.certificate().relative_gradient],
        &[model.certificate().eigen_deficit, model.distance_to_pca()],
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
        .map(|i| a[i] * samples.row(i).unwrap().iter().zip(model.mean()).map(|(x, m)| (x - m).powi(2)).sum::<f64>())
        .sum();
    let size = total.sqrt();
    for i in 0..n {
        let row = samples.row(i).unwrap();
        for j in 0..k {
            let want: f64 = row.iter().zip(model.mean()).zip(u.column(j)).map(|((x, mean), u)| (x - mean) * u).sum();
            assert!((scores.get(i, j) - want).abs() < 1e-10 * size * (n as f64).sqrt(), "score ({i}, {j})");
        }
    }
    // Divided by n - 1, or what stands for it where samples have weights.
    let divisor = match model.total_count().filter(|count| *count >= 2.0) {
        Some(count) => 1.0 - 1.0 / count,
        None => 1.0 - a.iter().map(|a| a * a).sum::<f64>(),
    };
    let variances: Vec<f64> = model.explained_variance().iter().map(|v| v * divisor).collect();
    for (i, &variance) in variances.iter().enumerate() {
        for j in 0..k {
            let moment: f64 = (0..n).map(|s| a[s] * scores.get(s, i) * scores.get(s, j)).sum();
            let want = if i == j { variance } else { 0.0 };
            assert!((moment - want).abs() < 1e-10 * total, "moment ({i}, {j}) = {moment}, not {want}");
        }
        let largest = u.column(i).iter().fold(0.0f64, |m, x| if x.abs() > m.abs() { *x } else { m });
        assert!(largest > 0.0, "sign of component {i}");
    }
    assert!(model.explained_variance().windows(2).all(|w| w[0] >= w[1] - 1e-12 * total));
    for (v, ratio) in variances.iter().zip(model.explained_variance_ratio()) {
        assert!((v / total - ratio).abs() < 1e-10);
    }

    // The plan from its potentials: marginals, primal value, entropies, and what it carries.
    let plan = recomputed_plan(model, a);
    let certificate = model.certificate();
    let marginal_error = plan.marginal_error;
    assert!(
        (marginal_error - certificate.marginal_error).abs() <= 1e-10 + 0.01 * marginal_error,
        "marginal error {marginal_error}, said {}",
        certificate.marginal_error
    );
    let kept: f64 = variances.iter().sum();
    let primal = total - kept + plan.cost + epsilon * plan.entropy;
    let scale = total + certificate.duality_gap;
    // At a perfect plan primal = dual = loss; otherwise they differ by no more than the marginal error lets them, and by what
    // rounding leaves of the entropy.
    let slack = 1e-9 * scale + 1e-15 * epsilon + 10.0 * marginal_error * (scale + epsilon * (n as f64).ln());
    assert!((primal - model.loss()).abs() <= slack, "primal {primal}, dual {}", model.loss());
    assert!(certificate.duality_gap >= 0.0);
    check_perplexity(samples, model, &plan);
    check_residuals(samples, model, &plan);
    if n <= SMALL {
        check_gap(model, a, &plan);
        check_eigenvalues(samples, model);
    }
    if model.termination() == Termination::Converged {
        assert!(certificate.relative_gradient <= 1e-5, "converged at gradient {}", certificate.relative_gradient);
        assert!(certificate.marginal_error <= 1e-5, "converged at marginal error {}", certificate.marginal_error);
    }
    assert!(model.agreeing_starts() >= 1 && model.agreeing_starts() <= model.starts());

    // History: passes grow; the loss falls within an attempt at fixed epsilon (up to the accuracy of early plans).
    assert!(model.history().windows(2).all(|w| w[0].kernel_passes <= w[1].kernel_passes));
    for w in model.history().windows(2).filter(|w| w[0].attempt == w[1].attempt && w[0].epsilon == w[1].epsilon) {
        let noise = 1e-9 * scale + (w[0].marginal_error + w[1].marginal_error) * (scale + epsilon * (n as f64).ln());
        assert!(w[1].loss <= w[0].loss + noise, "loss rose from {} to {}", w[0].loss, w[1].loss);
    }
}

/// Up to so many samples check_fit also computes what takes the square of them in memory, and M.
const SMALL: usize = 400;

/// What the potentials of a model say of its plan.
struct RecomputedPlan {
    marginal_error: f64,
    cost: f64,
    entropy: f64,
    /// Of each sample that carries weight: its number, and the entropy of its row.
    entropies: Vec<(usize, f64)>,
    /// pi Z.
    carried: Matrix,
}

/// How far sample i is from each sample, squared.
fn squared_distances(scores: &Matrix, i: usize) -> Vec<f64> {
    let mut squares = vec![0.0; scores.rows()];
    for column in (0..scores.columns()).map(|l| scores.column(l)) {
        squares.iter_mut().zip(column).for_each(|(square, x)| *square += (x - column[i]).powi(2));
    }
    squares
}

/// Row i of the plan; samples without weight have no part in it.
fn plan_row(model: &Model, a: &[f64], i: usize, squares: &[f64]) -> Vec<f64> {
    let g = model.potential();
    let entry = |j: usize| match (g[i] + g[j] - squares[j]) / model.epsilon() {
        // What is below exp(-100) adds nothing to any sum here, and takes time.
        exponent if a[i] > 0.0 && a[j] > 0.0 && exponent > -100.0 => a[i] * a[j] * exponent.exp(),
        _ => 0.0,
    };
    (0..a.len()).map(entry).collect()
}

/// How many samples sample j stands for.
fn count_of(model: &Model, a: &[f64], j: usize) -> f64 {
    model.total_count().map_or(1.0, |count| a[j] * count)
}

fn recomputed_plan(model: &Model, a: &[f64]) -> RecomputedPlan {
    let (n, k) = (model.n_samples(), model.n_components());
    let (mut marginal_error, mut cost, mut entropy) = (0.0, 0.0, 0.0);
    let (mut entropies, mut carried) = (Vec::new(), Matrix::zeros(n, k));
    // The logarithms that do not change from row to row.
    let shares: Vec<f64> = (0..n).map(|j| (a[j] / count_of(model, a, j)).ln()).collect();
    for i in (0..n).filter(|&i| a[i] > 0.0) {
        let squares = squared_distances(model.scores(), i);
        let row = plan_row(model, a, i, &squares);
        let mass: f64 = row.iter().sum();
        marginal_error += (mass - a[i]).abs();
        let (mut h, own) = (0.0, (a[i] / mass).ln());
        for (j, &p) in row.iter().enumerate().filter(|(_, p)| **p > 0.0) {
            let log = (p / (a[i] * a[j])).ln();
            cost += p * squares[j];
            entropy += p * log;
            // The logarithm of (p / mass) / count.
            h -= p / mass * (log + own + shares[j]);
        }
        for l in 0..k {
            carried.set(i, l, row.iter().zip(model.scores().column(l)).map(|(p, z)| p * z).sum());
        }
        entropies.push((i, h));
    }
    RecomputedPlan { marginal_error, cost, entropy, entropies, carried }
}

/// The perplexity of the plan, and of its rows.
fn check_perplexity(samples: &Samples<'_, f64>, model: &Model, plan: &RecomputedPlan) {
    let (a, said) = (samples.weights(), &model.perplexity());
    let overall = plan.entropies.iter().map(|&(i, h)| a[i] * h).sum::<f64>().exp();
    assert!((overall / said.overall - 1.0).abs() < 1e-6, "perplexity {overall}, said {}", said.overall);
    let mut rows: Vec<(f64, f64)> = plan.entropies.iter().map(|&(i, h)| (h.exp(), a[i])).collect();
    rows.sort_by(|x, y| x.0.total_cmp(&y.0));
    let (least, most) = (rows[0].0, rows[rows.len() - 1].0);
    assert!((least / said.min - 1.0).abs() < 1e-6 && (most / said.max - 1.0).abs() < 1e-6, "{said:?}: {least} {most}");
    // Half of the weight lies at or below the median, half at or above, up to one sample.
    let below: f64 = rows.iter().filter(|row| row.0 < said.median * (1.0 - 1e-6)).map(|row| row.1).sum();
    let above: f64 = rows.iter().filter(|row| row.0 > said.median * (1.0 + 1e-6)).map(|row| row.1).sum();
    assert!(below <= 0.5 + 1e-9 && above <= 0.5 + 1e-9, "median {}: {below} below, {above} above", said.median);
    let count: f64 = (0..a.len()).filter(|&i| a[i] > 0.0).map(|i| count_of(model, a, i)).sum();
    assert!((count / samples.count() - 1.0).abs() < 1e-12 && said.max <= count * (1.0 + 1e-9));
    if let Some(floor) = said.floor {
        assert!(floor <= said.overall, "{said:?}");
    }
}

/// M u_j by the definition, M = X'(2 pi - diag(a))X, and what of it leaves the subspace: relative to each component.
fn check_residuals(samples: &Samples<'_, f64>, model: &Model, plan: &RecomputedPlan) {
    let (n, d, k) = (samples.rows(), samples.columns(), model.n_components());
    let (a, u, certificate) = (samples.weights(), model.components(), model.certificate());
    let mut image = vec![0.0; d * k];
    for i in (0..n).filter(|&i| a[i] > 0.0) {
        let row = samples.row(i).unwrap();
        for (j, image) in image.chunks_mut(d).enumerate() {
            let factor = 2.0 * plan.carried.get(i, j) - a[i] * model.scores().get(i, j);
            for ((sum, x), mean) in image.iter_mut().zip(&*row).zip(model.mean()) {
                *sum += factor * (x - mean);
            }
        }
    }
    let image = Matrix::from_column_major(d, k, image).unwrap();
    let variances = weighted_variances(model);
    let total = variances[0] / model.explained_variance_ratio()[0];
    let inside = product(&u.transposed(), &image);
    let symmetric = Matrix::from_fn(k, k, |i, j| 0.5 * (inside.get(i, j) + inside.get(j, i)));
    let (values, turn) = jacobi(&symmetric);
    let back = product(u, &inside);
    let leaving = Matrix::from_fn(d, k, |i, j| image.get(i, j) - back.get(i, j));
    let leaving = product(&leaving, &turn);
    assert_eq!(certificate.residuals.len(), k);
    // An approximate kernel has another gradient; the exact one is tested by its own numbers.
    if certificate.approximation.is_some() {
        return;
    }
    for (j, value) in values.iter().enumerate() {
        let against = value.abs().max(variances[j]);
        // Divided first: squares of tiny numbers are nothing.
        let ours = leaving.column(j).iter().map(|x| (x / against).powi(2)).sum::<f64>().sqrt();
        let said = certificate.residuals[j];
        let slack = 1e-12 + 10.0 * certificate.rounding[j] + (1e-12 + 40.0 * plan.marginal_error) * (total / against);
        assert!((ours - said).abs() <= 0.01 * ours + slack, "component {j}: residual {ours:e}, said {said:e}");
    }
    let most = certificate.residuals.iter().fold(0.0, |m: f64, x| m.max(*x));
    assert_eq!(certificate.relative_gradient, most);
    assert!(certificate.angles.len() == k && certificate.angles.iter().all(|angle| (0.0..=90.0).contains(angle)));
}

/// The gap between the loss and the cost of a feasible plan, pair by pair.
fn check_gap(model: &Model, a: &[f64], plan: &RecomputedPlan) {
    let n = model.n_samples();
    if model.certificate().approximation.is_some() {
        return;
    }
    let squares: Vec<Vec<f64>> = (0..n).map(|i| squared_distances(model.scores(), i)).collect();
    let pi: Vec<Vec<f64>> = squares.iter().enumerate().map(|(i, squares)| plan_row(model, a, i, squares)).collect();
    let rows: Vec<f64> = pi.iter().map(|row| row.iter().sum()).collect();
    let x: Vec<f64> = (0..n).map(|i| if rows[i] > 0.0 { (a[i] / rows[i]).min(1.0) } else { 0.0 }).collect();
    let lacking: Vec<f64> =
        (0..n).map(|i| (a[i] - x[i] * (0..n).map(|j| pi[i][j] * x[j]).sum::<f64>()).max(0.0)).collect();
    let t: f64 = lacking.iter().sum();
    let (mut cost, mut entropy) = (0.0, 0.0);
    for i in 0..n {
        for j in 0..n {
            let extra = if t > 0.0 { lacking[i] * lacking[j] / t } else { 0.0 };
            let p = x[i] * pi[i][j] * x[j] + extra;
            if p > 0.0 {
                cost += p * squares[i][j];
                entropy += p * (p / (a[i] * a[j])).ln();
            }
        }
    }
    let feasible = cost + model.epsilon() * entropy;
    let kept: f64 = weighted_variances(model).iter().sum();
    let total = kept / model.explained_variance_ratio().iter().sum::<f64>();
    let gap = feasible - (model.loss() - (total - kept));
    let said = model.certificate().duality_gap;
    let noise = 1e-9 * (total + model.epsilon() * 1e-5) + 1e-13 * model.epsilon();
    assert!(gap <= said + noise, "gap {gap:e}, said {said:e}");
    let most = noise + 1e3 * gap.max(0.0) + 10.0 * plan.marginal_error * (total + model.epsilon() * (n as f64).ln());
    assert!(said <= most, "gap {gap:e}, said {said:e}");
}

/// The eigenvalues of M in the span of the data, and what is said of them.
pub fn check_eigenvalues(samples: &Samples<'_, f64>, model: &Model) {
    let (n, k, a) = (samples.rows(), model.n_components(), samples.weights());
    let certificate = model.certificate();
    assert_eq!(certificate.eigenvalues.len(), k);
    assert!(certificate.eigenvalues.windows(2).all(|w| w[0] >= w[1]));
    assert_eq!(certificate.collapsed, certificate.eigenvalues.iter().any(|x| *x <= 0.0));
    assert!(certificate.eigen_deficit >= 0.0);
    if certificate.approximation.is_some() || certificate.omitted_variance > 0.0 {
        return;
    }
    let centred = Matrix::from_row_major(
        n,
        samples.columns(),
        &(0..n)
            .flat_map(|i| samples.row(i).unwrap().iter().zip(model.mean()).map(|(x, m)| x - m).collect::<Vec<_>>())
            .collect::<Vec<_>>(),
    )
    .unwrap();
    let basis = row_space(&centred, a);
    let y = product(&centred, &basis);
    let r = basis.columns();
    let mut weighted = Matrix::zeros(n, r);
    for i in (0..n).filter(|&i| a[i] > 0.0) {
        let plan = plan_row(model, a, i, &squared_distances(model.scores(), i));
        for l in 0..r {
            let carried: f64 = plan.iter().zip(y.column(l)).map(|(p, y)| p * y).sum();
            weighted.set(i, l, 2.0 * carried - a[i] * y.get(i, l));
        }
    }
    let m = product(&y.transposed(), &weighted);
    let (values, _) = jacobi(&Matrix::from_fn(r, r, |i, j| 0.5 * (m.get(i, j) + m.get(j, i))));
    let largest = values.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
    let slack = (1e-9 + 4.0 * certificate.marginal_error) * largest;
    let said = certificate.eigenvalues.iter().chain(&certificate.next_eigenvalue);
    for (at, (ours, said)) in values.iter().zip(said).enumerate() {
        assert!((ours - said).abs() <= slack, "eigenvalue {at} of M: {ours}, said {said}");
    }
    // The deficit: what the leading eigenvectors of M would still win.
    let frame = product(&basis.transposed(), model.components());
    let trace: f64 =
        product(&frame.transposed(), &product(&m, &frame)).as_column_major().iter().step_by(k + 1).sum::<f64>();
    let sum: f64 = values[..k].iter().sum();
    let deficit = (sum - trace).max(0.0);
    let said = certificate.eigen_deficit * if sum.abs() > 0.0 { sum.abs() } else { largest };
    assert!((deficit - said).abs() <= k as f64 * slack, "deficit {deficit:e}, said {said:e}");
}

/// An orthonormal basis of the rows that carry weight, by Gram and Schmidt, twice; the longest row that is left comes first.
fn row_space(centred: &Matrix, a: &[f64]) -> Matrix {
    let mut rows: Vec<Vec<f64>> = (0..centred.rows()).filter(|&i| a[i] > 0.0).map(|i| centred.row(i)).collect();
    let square = |row: &Vec<f64>| row.iter().map(|x| x * x).sum::<f64>();
    let largest = rows.iter().map(square).fold(0.0, f64::max);
    let mut basis: Vec<Vec<f64>> = Vec::new();
    while basis.len() < centred.columns() && !rows.is_empty() {
        let at = (0..rows.len()).max_by(|&i, &j| square(&rows[i]).total_cmp(&square(&rows[j]))).unwrap();
        let mut next = rows.swap_remove(at);
        for _ in 0..2 {
            for b in &basis {
                let along: f64 = next.iter().zip(b).map(|(x, y)| x * y).sum();
                next.iter_mut().zip(b).for_each(|(x, y)| *x -= along * y);
            }
        }
        let length = square(&next).sqrt();
        if length * length <= 1e-20 * largest {
            break;
        }
        next.iter_mut().for_each(|x| *x /= length);
        for row in &mut rows {
            let along: f64 = row.iter().zip(&next).map(|(x, y)| x * y).sum();
            row.iter_mut().zip(&next).for_each(|(x, y)| *x -= along * y);
        }
        basis.push(next);
    }
    Matrix::from_fn(centred.columns(), basis.len(), |i, j| basis[j][i])
}

/// Eigenvalues, descending, and eigenvectors of a symmetric matrix, by Jacobi's rotations.
pub fn jacobi(matrix: &Matrix) -> (Vec<f64>, Matrix) {
    let n = matrix.rows();
    // In units of the largest entry, so that squares neither vanish nor overflow.
    let unit = matrix.as_column_major().iter().fold(f64::MIN_POSITIVE, |m: f64, x| m.max(x.abs()));
    // Column after column. Rotations of columns go along them, those of rows across.
    let mut m: Vec<f64> = matrix.as_column_major().iter().map(|x| x / unit).collect();
    let mut v = vec![0.0; n * n];
    v.iter_mut().step_by(n + 1).for_each(|x| *x = 1.0);
    for _ in 0..60 {
        let off: f64 = (0..n).flat_map(|j| &m[j * n + j + 1..(j + 1) * n]).map(|x| x * x).sum();
        let on: f64 = m.iter().step_by(n + 1).map(|x| x * x).sum();
        if off <= 1e-32 * on || off == 0.0 {
            break;
        }
        for p in 0..n {
            for q in p + 1..n {
                let across = m[q * n + p];
                if across == 0.0 {
                    continue;
                }
                let theta = (m[q * n + q] - m[p * n + p]) / (2.0 * across);
                let t = theta.signum() / (theta.abs() + (theta * theta + 1.0).sqrt());
                let t = if theta == 0.0 { 1.0 } else { t };
                let c = 1.0 / (t * t + 1.0).sqrt();
                let s = t * c;
                let rotate = |x: &mut f64, y: &mut f64| (*x, *y) = (c * *x - s * *y, s * *x + c * *y);
                for columns in [&mut m, &mut v] {
                    let (before, after) = columns.split_at_mut(q * n);
                    before[p * n..][..n].iter_mut().zip(&mut after[..n]).for_each(|(x, y)| rotate(x, y));
                }
                for column in m.chunks_exact_mut(n) {
                    let (before, after) = column.split_at_mut(q);
                    rotate(&mut before[p], &mut after[0]);
                }
            }
        }
    }
    let value = |i: usize| m[i * n + i];
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| value(j).total_cmp(&value(i)));
    let vectors = order.iter().flat_map(|&i| v[i * n..(i + 1) * n].iter().copied()).collect();
    (order.iter().map(|&i| unit * value(i)).collect(), Matrix::from_column_major(n, n, vectors).unwrap())
}
