//! Alternating Sinkhorn for any cost matrix and any two histograms: the paper's scaling form, and the log domain.

use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// A transport plan between two histograms, with what it took.
#[derive(Debug, Clone)]
pub struct Coupling {
    /// The plan, n x m.
    pub plan: Matrix,
    /// The potential of the rows, divided by epsilon: plan_ij = a_i b_j exp(row_i + column_j - cost_ij / epsilon).
    pub row_potential: Vec<f64>,
    /// The potential of the columns, divided by epsilon.
    pub column_potential: Vec<f64>,
    /// Number of iterations; each updates both sides.
    pub iterations: usize,
    /// sum_i |(plan 1)_i - a_i|; the column sums are exact.
    pub marginal_error: f64,
    /// Whether the marginal error fell to the tolerance.
    pub converged: bool,
}

/// When to stop an alternating iteration.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SinkhornLimits {
    /// The marginal error that is good enough.
    pub tolerance: f64,
    /// The largest number of iterations.
    pub max_iterations: usize,
}

impl Default for SinkhornLimits {
    fn default() -> Self {
        Self { tolerance: 1e-9, max_iterations: 10_000 }
    }
}

/// Sinkhorn-Knopp in scaling form: u <- a / (K v), v <- b / (K'u), K = exp(-cost / epsilon).
///
/// K underflows when epsilon is small against the costs. Then this returns [`Error::Underflow`], both when a whole row or
/// column vanishes and when an entry that would carry mass was lost, rather than a plan of another problem.
///
/// ```
/// use ewca::{Matrix, SinkhornLimits, sinkhorn_knopp};
/// let cost = Matrix::from_row_major(2, 2, &[0.0, 1.0, 1.0, 0.0])?;
/// let coupling = sinkhorn_knopp(&cost, &[0.5, 0.5], &[0.5, 0.5], 1.0, SinkhornLimits::default())?;
/// assert!(coupling.converged);
/// assert!(coupling.plan.get(0, 0) > coupling.plan.get(0, 1));
/// # Ok::<(), ewca::Error>(())
/// ```
pub fn sinkhorn_knopp(cost: &Matrix, a: &[f64], b: &[f64], epsilon: f64, limits: SinkhornLimits) -> Result<Coupling> {
    check(cost, a, b, epsilon)?;
    let kernel = Matrix::from_fn(cost.rows(), cost.columns(), |i, j| (-cost.get(i, j) / epsilon).exp());
    let transposed = kernel.transposed();
    let mut u = vec![1.0; a.len()];
    let mut v = vec![1.0; b.len()];
    let mut sums = product(&kernel, &v);
    let mut iterations = 0;
    loop {
        iterations += 1;
        u = scaling(a, &sums, "row", iterations)?;
        v = scaling(b, &product(&transposed, &u), "column", iterations)?;
        sums = product(&kernel, &v);
        let error: f64 = u.iter().zip(&sums).zip(a).map(|((u, s), a)| (u * s - a).abs()).sum();
        let converged = error <= limits.tolerance;
        if converged || iterations >= limits.max_iterations {
            check_lost_entries(cost, epsilon, &u, &v, iterations)?;
            let plan = Matrix::from_fn(a.len(), b.len(), |i, j| u[i] * kernel.get(i, j) * v[j]);
            let potential = |x: &[f64], w: &[f64]| x.iter().zip(w).map(|(x, w)| (x / w).ln()).collect::<Vec<_>>();
            let (row_potential, column_potential) = (potential(&u, a), potential(&v, b));
            return Ok(Coupling {
                plan,
                row_potential,
                column_potential,
                iterations,
                marginal_error: error,
                converged,
            });
        }
    }
}

/// Alternating Sinkhorn in the log domain: slower than the scaling form, and safe at any epsilon.
pub fn sinkhorn_log(cost: &Matrix, a: &[f64], b: &[f64], epsilon: f64, limits: SinkhornLimits) -> Result<Coupling> {
    check(cost, a, b, epsilon)?;
    let scaled = cost.clone().scaled(1.0 / epsilon);
    let transposed = scaled.transposed();
    let mut f = vec![0.0; a.len()];
    let mut g = vec![0.0; b.len()];
    let mut sums = log_sums(&transposed, b, &g);
    let mut iterations = 0;
    loop {
        iterations += 1;
        f.iter_mut().zip(&sums).for_each(|(f, s)| *f = -s);
        g.iter_mut().zip(log_sums(&scaled, a, &f)).for_each(|(g, s)| *g = -s);
        sums = log_sums(&transposed, b, &g);
        let error: f64 = f.iter().zip(&sums).zip(a).map(|((f, s), a)| a * (f + s).exp_m1().abs()).sum();
        let converged = error <= limits.tolerance;
        if converged || iterations >= limits.max_iterations {
            let plan = Matrix::from_fn(a.len(), b.len(), |i, j| a[i] * b[j] * (f[i] + g[j] - scaled.get(i, j)).exp());
            return Ok(Coupling {
                plan,
                row_potential: f,
                column_potential: g,
                iterations,
                marginal_error: error,
                converged,
            });
        }
    }
}

fn check(cost: &Matrix, a: &[f64], b: &[f64], epsilon: f64) -> Result<()> {
    if !(epsilon > 0.0 && epsilon.is_finite()) {
        return Err(Error::Parameter {
            name: "epsilon",
            value: epsilon.to_string(),
            expected: "it must be positive and finite".into(),
        });
    }
    for (histogram, length) in [(a, cost.rows()), (b, cost.columns())] {
        if histogram.len() != length {
            return Err(Error::WeightCount { expected: length, found: histogram.len() });
        }
        if let Some((row, &value)) = histogram.iter().enumerate().find(|(_, x)| !(x.is_finite() && **x > 0.0)) {
            return Err(Error::Weight { row, value });
        }
    }
    let (mass_a, mass_b): (f64, f64) = (a.iter().sum(), b.iter().sum());
    if (mass_a - mass_b).abs() > 1e-9 * mass_a {
        return Err(Error::Parameter {
            name: "b",
            value: format!("a histogram of mass {mass_b}"),
            expected: format!("both histograms need the same mass, and a has {mass_a}"),
        });
    }
    match cost.as_column_major().iter().position(|x| !x.is_finite()) {
        Some(at) => {
            Err(Error::NotFinite { row: at % cost.rows(), column: at / cost.rows(), value: cost.as_column_major()[at] })
        }
        None => Ok(()),
    }
}

fn product(matrix: &Matrix, vector: &[f64]) -> Vec<f64> {
    let mut out = vec![0.0; matrix.rows()];
    for (j, v) in vector.iter().enumerate() {
        out.iter_mut().zip(matrix.column(j)).for_each(|(o, m)| *o += m * v);
    }
    out
}

fn scaling(histogram: &[f64], sums: &[f64], line: &'static str, iteration: usize) -> Result<Vec<f64>> {
    let scaled: Vec<f64> = histogram.iter().zip(sums).map(|(h, s)| h / s).collect();
    match scaled.iter().position(|x| !(x.is_normal() && *x > 0.0)) {
        Some(index) => Err(Error::Underflow { line, index, iteration }),
        None => Ok(scaled),
    }
}

/// An entry of K that underflowed is harmless only if the scalings give it no mass.
fn check_lost_entries(cost: &Matrix, epsilon: f64, u: &[f64], v: &[f64], iteration: usize) -> Result<()> {
    let smallest_log = f64::MIN_POSITIVE.ln();
    for (j, v) in v.iter().enumerate() {
        for (index, (c, u)) in cost.column(j).iter().zip(u).enumerate() {
            let exponent = -c / epsilon;
            if exponent < smallest_log && u.ln() + v.ln() + exponent > -30.0 {
                return Err(Error::Underflow { line: "row", index, iteration });
            }
        }
    }
    Ok(())
}

/// log sum_i w_i exp(p_i - c_ij), for each column j of c.
fn log_sums(scaled: &Matrix, weights: &[f64], potential: &[f64]) -> Vec<f64> {
    (0..scaled.columns())
        .map(|j| {
            let terms = || scaled.column(j).iter().zip(weights).zip(potential).map(|((c, w), p)| w.ln() + p - c);
            let largest = terms().fold(f64::NEG_INFINITY, f64::max);
            largest + terms().map(|t| (t - largest).exp()).sum::<f64>().ln()
        })
        .collect()
}
