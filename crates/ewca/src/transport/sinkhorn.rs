//! Alternating Sinkhorn for any cost matrix and any two histograms: the paper's scaling form, and the log domain.

use crate::error::{Error, Result};
use crate::matrix::Matrix;

/// A transport plan between two histograms, with what it took.
#[derive(Debug, Clone)]
#[non_exhaustive]
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
///
/// # Errors
/// Where the weights do not fit the matrix or are not positive, have different sums, a cost is not finite, or epsilon is out of range; [`Error::Underflow`] where a row or a column of the kernel vanishes.
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
///
/// # Errors
/// Where the weights do not fit the matrix or are not positive, have different sums, a cost is not finite, or epsilon is out of range.
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

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: SinkhornLimits = SinkhornLimits { tolerance: 1e-10, max_iterations: 10_000 };

    fn problem() -> (Matrix, [f64; 3], [f64; 4]) {
        let cost = Matrix::from_fn(3, 4, |i, j| ((i as f64) - 0.6 * j as f64).powi(2) + 0.1 * j as f64);
        (cost, [0.2, 0.5, 0.3], [0.1, 0.4, 0.3, 0.2])
    }

    #[test]
    fn a_coupling_is_what_its_potentials_say() {
        let (cost, a, b) = problem();
        let epsilon = 0.3;
        for solve in [sinkhorn_knopp, sinkhorn_log] {
            let coupling = solve(&cost, &a, &b, epsilon, LIMITS).unwrap();
            let Coupling { plan, row_potential: f, column_potential: g, .. } = &coupling;
            for (i, j) in (0..3).flat_map(|i| (0..4).map(move |j| (i, j))) {
                let wanted = a[i] * b[j] * (f[i] + g[j] - cost.get(i, j) / epsilon).exp();
                assert!((plan.get(i, j) - wanted).abs() < 1e-14);
            }
            let error: f64 = (0..3).map(|i| (plan.row(i).iter().sum::<f64>() - a[i]).abs()).sum();
            assert!((error - coupling.marginal_error).abs() < 1e-14 && error <= 1e-10);
            for (j, b) in b.iter().enumerate() {
                assert!((plan.column(j).iter().sum::<f64>() - b).abs() < 1e-14);
            }
            assert!(coupling.converged && coupling.iterations > 3 && coupling.iterations < 1000);
        }
    }

    #[test]
    fn iterations_are_counted_and_end_at_the_limit() {
        let (cost, a, b) = problem();
        for max_iterations in [1, 2, 5] {
            let limits = SinkhornLimits { tolerance: 1e-12, max_iterations };
            let knopp = sinkhorn_knopp(&cost, &a, &b, 0.3, limits).unwrap();
            let log = sinkhorn_log(&cost, &a, &b, 0.3, limits).unwrap();
            for coupling in [&knopp, &log] {
                assert!(!coupling.converged && coupling.iterations == max_iterations);
                let sums = (0..3).map(|i| (coupling.plan.row(i).iter().sum::<f64>() - a[i]).abs());
                let error: f64 = sums.sum();
                assert!((error - coupling.marginal_error).abs() < 1e-14 && error > 1e-12);
            }
        }
        // One iteration by hand: u = a / (K v) first, then v = b / (K'u); v begins with 1, or with b in the log domain.
        let kernel = |i: usize, j: usize| (-cost.get(i, j) / 0.3).exp();
        let limits = SinkhornLimits { tolerance: 1e-12, max_iterations: 1 };
        let knopp = sinkhorn_knopp(&cost, &a, &b, 0.3, limits).unwrap();
        let log = sinkhorn_log(&cost, &a, &b, 0.3, limits).unwrap();
        for (once, first) in [(knopp, [1.0; 4]), (log, b)] {
            let u: Vec<f64> = (0..3).map(|i| a[i] / (0..4).map(|j| kernel(i, j) * first[j]).sum::<f64>()).collect();
            for (j, mass) in b.iter().enumerate() {
                let v = mass / (0..3).map(|i| kernel(i, j) * u[i]).sum::<f64>();
                assert!((once.column_potential[j] - (v / mass).ln()).abs() < 1e-13);
                (0..3).for_each(|i| assert!((once.plan.get(i, j) - u[i] * kernel(i, j) * v).abs() < 1e-15));
            }
        }
    }

    #[test]
    fn what_is_no_problem_is_refused() {
        let (cost, a, b) = problem();
        for solve in [sinkhorn_knopp, sinkhorn_log] {
            for epsilon in [0.0, -1.0, f64::NAN, f64::INFINITY] {
                let error = solve(&cost, &a, &b, epsilon, LIMITS).unwrap_err();
                assert!(matches!(error, Error::Parameter { name: "epsilon", .. }));
            }
            let error = solve(&cost, &a[..2], &b, 1.0, LIMITS).unwrap_err();
            assert_eq!(error, Error::WeightCount { expected: 3, found: 2 });
            let error = solve(&cost, &a, &b[..3], 1.0, LIMITS).unwrap_err();
            assert_eq!(error, Error::WeightCount { expected: 4, found: 3 });
            for bad in [0.0, -0.3, f64::INFINITY] {
                let error = solve(&cost, &a, &[0.1, 0.4, bad, 0.2], 1.0, LIMITS).unwrap_err();
                assert_eq!(error, Error::Weight { row: 2, value: bad });
            }
            // Masses need not be 1, but must agree, to rounding.
            let double = |x: &[f64]| x.iter().map(|x| 2.0 * x).collect::<Vec<_>>();
            assert!(solve(&cost, &double(&a), &double(&b), 1.0, LIMITS).unwrap().converged);
            for (mass, good) in [(1.0, false), (1.0 + 1e-8, false), (1.0 - 1e-8, false), (1.0 + 4e-10, true)] {
                let other: Vec<f64> = b.iter().map(|x| 20.0 * mass * x).collect();
                let ten: Vec<f64> = a.iter().map(|x| if mass == 1.0 { 10.0 * x } else { 20.0 * x }).collect();
                let limits = SinkhornLimits { tolerance: 1e-9, ..LIMITS };
                assert_eq!(solve(&cost, &ten, &other, 1.0, limits).is_ok(), good, "{mass}");
            }
            let mut wrong = cost.clone();
            wrong.set(1, 3, f64::NEG_INFINITY);
            let error = solve(&wrong, &a, &b, 1.0, LIMITS).unwrap_err();
            assert_eq!(error, Error::NotFinite { row: 1, column: 3, value: f64::NEG_INFINITY });
        }
    }

    #[test]
    fn entries_that_vanished_are_harmless_where_they_carry_nothing() {
        // Two pairs, far from each other, of equal mass: nothing crosses, and exp(-1000) may be 0.
        let cost = Matrix::from_row_major(2, 2, &[0.0, 1000.0, 1000.0, 0.0]).unwrap();
        let even = sinkhorn_knopp(&cost, &[0.5, 0.5], &[0.5, 0.5], 1.0, LIMITS).unwrap();
        assert!(even.converged && even.plan.get(0, 1) == 0.0);
        // Scalings that make up for the kernel's underflow would give the entry (1, 0) mass.
        let (u, v) = ([1.0, 1e250], [1e200, 1.0]);
        let lost = check_lost_entries(&cost, 1.0, &u, &v, 7).unwrap_err();
        assert_eq!(lost, Error::Underflow { line: "row", index: 1, iteration: 7 });
        assert!(check_lost_entries(&cost, 1.0, &[1.0, 1e200], &[1e200, 1.0], 7).is_ok());
        let near = Matrix::from_row_major(2, 2, &[0.0, 400.0, 400.0, 0.0]).unwrap();
        assert!(check_lost_entries(&near, 0.5, &[1.0, 1e200], &[1e150, 1.0], 7).is_err());
        // With twice the epsilon nothing is lost.
        assert!(check_lost_entries(&cost, 2.0, &u, &v, 7).is_ok());
    }
}
