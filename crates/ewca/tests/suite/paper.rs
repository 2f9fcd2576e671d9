//! The first iterates of `bcd` and `mm` are those of the paper, computed here by its formulas in all d dimensions.

use crate::common::{check_fit, product, subspace_distance};
use ewca::{
    EigenvalueBound, Ewca, Matrix, MmParams, Orthonormalisation, Samples, SinkhornLimits, Solver, sinkhorn_log,
};

const N: usize = 24;
const D: usize = 7;
const K: usize = 2;
const EPSILON: f64 = 1.5;

/// Centred data in three groups, n x d.
fn centred() -> Matrix {
    let raw = Matrix::from_fn(N, D, |i, j| {
        let wave = ((i * 37 + j * 101) % 53) as f64 / 53.0 - 0.5;
        (2.0 * ((i % 3) as f64 - 1.0) * ((j + 1) as f64).cos() + 2.0 * wave) / (1.0 + 0.3 * j as f64)
    });
    let mean: Vec<f64> = (0..D).map(|j| raw.column(j).iter().sum::<f64>() / N as f64).collect();
    Matrix::from_fn(N, D, |i, j| raw.get(i, j) - mean[j])
}

/// Eigenvalues (descending) and eigenvectors by Jacobi rotations.
fn jacobi(matrix: &Matrix) -> (Vec<f64>, Matrix) {
    let n = matrix.rows();
    let mut a = matrix.clone();
    let mut v = Matrix::from_fn(n, n, |i, j| if i == j { 1.0 } else { 0.0 });
    for _ in 0..100 {
        for p in 0..n {
            for q in p + 1..n {
                let off = a.get(p, q);
                if off.abs() < 1e-300 {
                    continue;
                }
                let theta = 0.5 * (2.0 * off).atan2(a.get(q, q) - a.get(p, p));
                let (s, c) = theta.sin_cos();
                let turn = Matrix::from_fn(n, n, |i, j| match (i, j) {
                    (i, j) if (i, j) == (p, p) || (i, j) == (q, q) => c,
                    (i, j) if (i, j) == (p, q) => s,
                    (i, j) if (i, j) == (q, p) => -s,
                    (i, j) => f64::from(u8::from(i == j)),
                });
                a = product(&turn.transposed(), &product(&a, &turn));
                v = product(&v, &turn);
            }
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a.get(j, j).total_cmp(&a.get(i, i)));
    (order.iter().map(|&i| a.get(i, i)).collect(), Matrix::from_fn(n, n, |i, j| v.get(i, order[j])))
}

fn combination(parts: &[(f64, &Matrix)]) -> Matrix {
    let first = parts[0].1;
    Matrix::from_fn(first.rows(), first.columns(), |i, j| parts.iter().map(|(c, m)| c * m.get(i, j)).sum())
}

fn gram_schmidt(a: &Matrix) -> Matrix {
    let mut q = a.clone();
    for j in 0..a.columns() {
        for _ in 0..2 {
            for l in 0..j {
                let dot: f64 = q.column(l).iter().zip(q.column(j)).map(|(x, y)| x * y).sum();
                for i in 0..a.rows() {
                    q.set(i, j, q.get(i, j) - dot * q.get(i, l));
                }
            }
        }
        let norm = q.column(j).iter().map(|x| x * x).sum::<f64>().sqrt();
        for i in 0..a.rows() {
            q.set(i, j, q.get(i, j) / norm);
        }
    }
    q
}

/// The plan of the paper's problem: cost |x_i - UU'x_j|^2 in d dimensions.
fn plan(x: &Matrix, u: &Matrix) -> Matrix {
    let projected = product(&product(x, u), &u.transposed());
    let cost = Matrix::from_fn(N, N, |i, j| (0..D).map(|l| (x.get(i, l) - projected.get(j, l)).powi(2)).sum());
    let a = [1.0 / N as f64; N];
    let limits = SinkhornLimits { tolerance: 1e-14, max_iterations: 100_000 };
    let plan = sinkhorn_log(&cost, &a, &a, EPSILON, limits).unwrap().plan;
    combination(&[(0.5, &plan), (0.5, &plan.transposed())])
}

fn pca(x: &Matrix) -> (f64, Matrix) {
    let (values, vectors) = jacobi(&product(&x.transposed(), x));
    (values[0] / N as f64, vectors.leading_columns(K))
}

fn library_iterate(x: &Matrix, solver: Solver, iterations: usize) -> Matrix {
    let rows = x.to_row_major();
    let samples = Samples::new(&rows, N, D).unwrap();
    let params = Ewca::params(K).epsilon(EPSILON).solver(solver).tolerance(1e-13).max_iterations(iterations);
    let model = params.fit(&samples).unwrap();
    check_fit(&samples, &model);
    assert_eq!(model.iterations(), iterations);
    model.into_parts().components
}

#[test]
fn bcd_follows_algorithm_1() {
    let x = centred();
    let (_, mut u) = pca(&x);
    for iteration in 1..=4 {
        let pi = plan(&x, &u);
        let weights = Matrix::from_fn(N, N, |i, j| 2.0 * pi.get(i, j) - if i == j { 1.0 / N as f64 } else { 0.0 });
        let m = product(&x.transposed(), &product(&weights, &x));
        let next = jacobi(&m).1.leading_columns(K);
        assert!(subspace_distance(&u, &next) > 1e-3, "the iterates must move for this test to mean anything");
        u = next;
        let ours = library_iterate(&x, Solver::Bcd, iteration);
        let distance = subspace_distance(&u, &ours);
        assert!(distance < 1e-8, "iteration {iteration}: {distance}");
    }
}

#[test]
fn mm_follows_algorithm_2() {
    let x = centred();
    let n = N as f64;
    for bound in [EigenvalueBound::Exact, EigenvalueBound::Gershgorin, EigenvalueBound::Zero] {
        let (lambda_max, mut u) = pca(&x);
        let sigma = combination(&[(1.0 / n, &product(&x.transposed(), &x))]);
        for iteration in 1..=3 {
            let pi = plan(&x, &u);
            let lambda = match bound {
                EigenvalueBound::Exact => jacobi(&pi).0[N - 1],
                EigenvalueBound::Gershgorin => -1.0 / n,
                EigenvalueBound::Zero => 0.0,
                other => panic!("the paper has no {other:?}"),
            };
            let alpha = 1.0 - 2.0 * n * lambda;
            let before = u.clone();
            for _ in 0..4 {
                // P U = alpha [Sigma U - 1(alpha > 0) lambda_max U] - 2 X'(pi - lambda I)(X U)
                let xu = product(&x, &u);
                let shift = if alpha > 0.0 { lambda_max } else { 0.0 };
                let first = combination(&[(1.0, &product(&sigma, &u)), (-shift, &u)]);
                let second = product(&x.transposed(), &combination(&[(1.0, &product(&pi, &xu)), (-lambda, &xu)]));
                u = gram_schmidt(&combination(&[(-alpha, &first), (2.0, &second)]));
            }
            assert!(subspace_distance(&before, &u) > 1e-3);
            for orthonormalisation in [Orthonormalisation::Qr, Orthonormalisation::Polar] {
                let solver = Solver::Mm(MmParams { inner_steps: 4, bound, orthonormalisation });
                let distance = subspace_distance(&u, &library_iterate(&x, solver, iteration));
                assert!(distance < 1e-8, "{bound:?} {orthonormalisation:?} iteration {iteration}: {distance}");
            }
        }
    }
}
