//! A transport plan, held as what it is made of.

use super::Scalings;
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::matrix::Matrix;

/// The self-transport plan pi_ij = a_i a_j exp((g_i + g_j - |z_i - z_j|^2) / epsilon) of scores z with weights a.
///
/// It holds the scores and one potential, O(n k); an n x n matrix is made only by [`Plan::dense`].
#[derive(Debug)]
pub struct Plan {
    scores: Matrix,
    weights: Vec<f64>,
    /// f = g / epsilon.
    scaled_potential: Vec<f64>,
    epsilon: f64,
    /// The sum of the counts, where samples have counts.
    total_count: Option<f64>,
    u: Scalings,
    kernel: Kernel,
}

impl Plan {
    pub(crate) fn new(
        scores: Matrix,
        weights: Vec<f64>,
        scaled_potential: Vec<f64>,
        epsilon: f64,
        total_count: Option<f64>,
    ) -> Self {
        let u = Scalings::new(&weights, &scaled_potential);
        let kernel = Kernel::of(&scores, epsilon);
        Self { scores, weights, scaled_potential, epsilon, total_count, u, kernel }
    }

    /// Number of samples n.
    #[must_use]
    pub fn len(&self) -> usize {
        self.weights.len()
    }

    /// Whether there are no samples (there always are).
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.weights.is_empty()
    }

    /// The regularisation epsilon.
    #[must_use]
    pub fn epsilon(&self) -> f64 {
        self.epsilon
    }

    /// The potential g, in units of the cost.
    #[must_use]
    pub fn potential(&self) -> Vec<f64> {
        self.scaled_potential.iter().map(|f| f * self.epsilon).collect()
    }

    /// The weights a: what the marginals should be.
    #[must_use]
    pub fn weights(&self) -> &[f64] {
        &self.weights
    }

    /// The row sums of the plan (and column sums: it is symmetric): what the marginals are. One pass over the kernel.
    #[must_use]
    pub fn marginals(&self) -> Vec<f64> {
        self.apply_vector(&vec![1.0; self.len()])
    }

    /// pi v.
    ///
    /// # Panics
    /// If v does not have n entries.
    #[must_use]
    pub fn apply_vector(&self, vector: &[f64]) -> Vec<f64> {
        assert_eq!(vector.len(), self.len(), "the vector's length is not the number of samples");
        self.apply(&Matrix::from_fn(self.len(), 1, |i, _| vector[i])).column(0).to_vec()
    }

    /// pi W, for W with n rows. One pass over the kernel, without storing it.
    ///
    /// # Panics
    /// If W does not have n rows.
    #[must_use]
    pub fn apply(&self, columns: &Matrix) -> Matrix {
        assert_eq!(columns.rows(), self.len(), "the matrix' rows are not the number of samples");
        let mut carried = columns.clone();
        carried.scale_rows(&self.u);
        let mut carried = self.kernel.apply(&carried, &self.u);
        carried.scale_rows(&self.u);
        carried
    }

    /// Row i of the plan; it sums to a_i.
    ///
    /// # Panics
    /// If there is no sample i.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<f64> {
        self.kernel.row(row).iter().zip(&*self.u).map(|(k, u)| k * (self.u[row] * u)).collect()
    }

    /// The `count` strongest partners of sample i, itself included: (sample, share of i's mass), strongest first.
    ///
    /// # Panics
    /// If there is no sample i.
    #[must_use]
    pub fn partners(&self, row: usize, count: usize) -> Vec<(usize, f64)> {
        strongest(&self.shares(&self.scores.row(row)), count)
    }

    /// How a point with the given scores spreads over the samples: shares that sum to 1, proportional to
    /// a_j exp((g_j - |z - z_j|^2) / epsilon). For a sample of the fit this is its row of the plan, divided by its weight; for a
    /// new sample it is the row that the fitted potentials give it.
    ///
    /// # Panics
    /// If the point does not have k coordinates.
    #[must_use]
    pub fn shares(&self, point: &[f64]) -> Vec<f64> {
        assert_eq!(point.len(), self.scores.columns(), "the point's length is not the number of components");
        let logs: Vec<f64> = (0..self.len())
            .map(|j| {
                if self.u[j] == 0.0 {
                    return f64::NEG_INFINITY;
                }
                let d: f64 = point.iter().enumerate().map(|(l, z)| (z - self.scores.get(j, l)).powi(2)).sum();
                self.weights[j].ln() + self.scaled_potential[j] - d / self.epsilon
            })
            .collect();
        let largest = logs.iter().fold(f64::NEG_INFINITY, |m: f64, &x| m.max(x));
        let mut shares: Vec<f64> = logs.iter().map(|x| (x - largest).exp()).collect();
        let sum: f64 = shares.iter().sum();
        shares.iter_mut().for_each(|x| *x /= sum);
        shares
    }

    /// The perplexity of each row: exp of the entropy of its shares, the number of samples it spreads over, from 1 to n. Where samples
    /// have counts, sample j counts as so many.
    pub fn perplexities(&self) -> Vec<f64> {
        let mut entropies = row_entropies(&self.kernel, &self.u, &self.weights, self.total_count);
        for (i, entropy) in entropies.iter_mut().enumerate().filter(|(i, _)| self.weights[*i] == 0.0) {
            let shares = self.shares(&self.scores.row(i));
            let surprise = |(q, a): (&f64, &f64)| -q * (q / self.total_count.map_or(1.0, |count| a * count)).ln();
            *entropy = shares.iter().zip(&self.weights).filter(|(q, _)| **q > 0.0).map(surprise).sum::<f64>();
        }
        entropies.into_iter().map(f64::exp).collect()
    }

    /// The scores of each sample averaged over its partners: diag(a)^-1 pi Z (n pi Z for uniform weights).
    #[must_use]
    pub fn barycentric_scores(&self) -> Matrix {
        let k = self.scores.columns();
        let mut columns = Matrix::from_fn(self.len(), k + 1, |i, j| if j < k { self.scores.get(i, j) } else { 1.0 });
        columns = self.apply(&columns);
        let mut out = columns.leading_columns(k);
        let row_sums: Vec<f64> = columns.column(k).iter().map(|m| if *m > 0.0 { 1.0 / m } else { 0.0 }).collect();
        out.scale_rows(&row_sums);
        for i in (0..self.len()).filter(|&i| self.weights[i] == 0.0) {
            let shares = self.shares(&self.scores.row(i));
            for j in 0..k {
                out.set(i, j, crate::matrix::dot(&shares, self.scores.column(j)));
            }
        }
        out
    }

    /// The plan as an n x n matrix, if it takes at most `max_bytes`.
    ///
    /// # Errors
    /// [`Error::Memory`] where it would take more.
    pub fn dense(&self, max_bytes: usize) -> Result<Matrix> {
        let needed = self.len().saturating_mul(self.len()).saturating_mul(8);
        if needed > max_bytes {
            return Err(Error::Memory { needed, budget: max_bytes, cause: "samples" });
        }
        let mut dense = Matrix::zeros(self.len(), self.len());
        for i in 0..self.len() {
            dense.column_mut(i).copy_from_slice(&self.row(i));
        }
        Ok(dense)
    }
}

/// The entropy of the shares q of each row (or of each witness, where the kernel has some) of the plan with scalings `u`. Where samples
/// have counts, which sum to `total_count`, sample j is a_j times that many samples with an equal part of its share each:
/// -sum_j q_j log(q_j / count_j).
pub(crate) fn row_entropies(kernel: &Kernel, u: &[f64], weights: &[f64], total_count: Option<f64>) -> Vec<f64> {
    let mut entropies = kernel.row_entropies(u);
    if let Some(count) = total_count {
        let logs = |j: usize| if u[j] > 0.0 { u[j] * (weights[j] * count).ln() } else { 0.0 };
        let sums = kernel.exact(&Matrix::from_fn(u.len(), 2, |j, c| if c == 0 { u[j] } else { logs(j) }), u);
        for (i, entropy) in entropies.iter_mut().enumerate() {
            *entropy += sums.get(i, 1) / sums.get(i, 0);
        }
    }
    entropies
}

/// The `count` largest shares with their positions, largest first; ties in order of position.
pub(crate) fn strongest(shares: &[f64], count: usize) -> Vec<(usize, f64)> {
    let mut order: Vec<usize> = (0..shares.len()).collect();
    let by_share = |&i: &usize, &j: &usize| shares[j].total_cmp(&shares[i]).then(i.cmp(&j));
    let count = count.min(order.len());
    if count == 0 {
        return Vec::new();
    }
    order.select_nth_unstable_by(count - 1, by_share);
    order.truncate(count);
    order.sort_by(by_share);
    order.into_iter().map(|i| (i, shares[i])).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transport::self_transport;
    use crate::{Ewca, Samples};

    const N: usize = 9;
    const EPSILON: f64 = 0.4;

    fn scores() -> Matrix {
        Matrix::from_fn(N, 2, |i, j| ((i * (2 + j)) as f64 * 0.7).sin() * (1.0 + j as f64))
    }

    fn weights() -> Vec<f64> {
        (1..=N).map(|i| i as f64 / 45.0).collect()
    }

    fn plan() -> Plan {
        self_transport(&scores(), &weights(), EPSILON, 1e-13).unwrap().0
    }

    /// a_i a_j exp((g_i + g_j - |z_i - z_j|^2) / epsilon)
    fn entry(plan: &Plan, i: usize, j: usize) -> f64 {
        let (z, a, g) = (scores(), weights(), plan.potential());
        let distance: f64 = (0..2).map(|l| (z.get(i, l) - z.get(j, l)).powi(2)).sum();
        a[i] * a[j] * ((g[i] + g[j] - distance) / EPSILON).exp()
    }

    fn close(x: f64, y: f64) {
        assert!((x - y).abs() < 1e-12 * (1.0 + y.abs()), "{x}, by hand {y}");
    }

    #[test]
    fn products_rows_and_marginals() {
        let plan = plan();
        assert_eq!((plan.len(), plan.is_empty(), plan.epsilon()), (N, false, EPSILON));
        assert_eq!(plan.weights(), weights());
        let columns = Matrix::from_fn(N, 3, |i, j| ((i + 5 * j) as f64).cos());
        let (product, marginals, dense) = (plan.apply(&columns), plan.marginals(), plan.dense(8 * N * N).unwrap());
        let vector = plan.apply_vector(columns.column(1));
        for (i, marginal) in marginals.into_iter().enumerate() {
            let row = plan.row(i);
            let mut sum = 0.0;
            for (j, &found) in row.iter().enumerate() {
                let by_hand = entry(&plan, i, j);
                close(found, by_hand);
                close(dense.get(i, j), by_hand);
                sum += by_hand;
            }
            close(marginal, sum);
            close(sum, weights()[i]);
            for c in 0..3 {
                close(product.get(i, c), (0..N).map(|j| row[j] * columns.get(j, c)).sum());
            }
        }
        assert_eq!(vector, product.column(1));
        let error = plan.dense(8 * N * N - 1).unwrap_err();
        assert!(matches!(error, Error::Memory { needed: 648, budget: 647, .. }), "{error}");
    }

    #[test]
    fn shares_and_partners() {
        let plan = plan();
        let (z, a, g) = (scores(), weights(), plan.potential());
        // A point that is no sample.
        let point = [0.3, -0.4];
        let parts: Vec<f64> = (0..N)
            .map(|j| {
                let distance: f64 = (0..2).map(|l| (point[l] - z.get(j, l)).powi(2)).sum();
                a[j] * ((g[j] - distance) / EPSILON).exp()
            })
            .collect();
        let total: f64 = parts.iter().sum();
        plan.shares(&point).iter().zip(&parts).for_each(|(x, y)| close(*x, y / total));
        for (i, a) in a.iter().enumerate() {
            let shares = plan.shares(&z.row(i));
            (0..N).for_each(|j| close(shares[j], entry(&plan, i, j) / a));
            let partners = plan.partners(i, 4);
            assert_eq!(partners.len(), 4);
            let mut order: Vec<usize> = (0..N).collect();
            order.sort_by(|p, q| shares[*q].total_cmp(&shares[*p]));
            assert_eq!(partners.iter().map(|p| p.0).collect::<Vec<_>>(), order[..4]);
            partners.iter().for_each(|(j, share)| assert_eq!(*share, shares[*j]));
        }
        assert!(plan.partners(0, 0).is_empty());
        assert_eq!(plan.partners(0, 100).len(), N);
        // Equal shares stand in order.
        let even = self_transport(&Matrix::zeros(6, 1), &[1.0 / 6.0; 6], 1.0, 1e-12).unwrap().0;
        assert_eq!(even.partners(3, 3).iter().map(|p| p.0).collect::<Vec<_>>(), [0, 1, 2]);
        even.perplexities().iter().for_each(|p| close(*p, 6.0));
    }

    #[test]
    fn perplexities_and_averages() {
        let plan = plan();
        let (z, a) = (scores(), weights());
        let (perplexities, averages) = (plan.perplexities(), plan.barycentric_scores());
        for (i, &perplexity) in perplexities.iter().enumerate() {
            let shares: Vec<f64> = (0..N).map(|j| entry(&plan, i, j) / a[i]).collect();
            let entropy: f64 = shares.iter().filter(|q| **q > 0.0).map(|q| -q * q.ln()).sum();
            close(perplexity, entropy.exp());
            for l in 0..2 {
                close(averages.get(i, l), (0..N).map(|j| shares[j] * z.get(j, l)).sum());
            }
        }
        assert!(perplexities.iter().all(|p| (1.0..=N as f64).contains(p)) && perplexities[0] > 1.2);
    }

    #[test]
    fn samples_without_weight_have_rows_by_the_potentials() {
        let data: Vec<f64> = (0..20 * 3).map(|at| ((at * at) as f64 * 0.37).sin() + (at % 3) as f64).collect();
        // Not whole, so that they are no repetitions.
        let weights: Vec<f64> = (0..20).map(|i| if i % 4 == 1 { 0.0 } else { 0.5 + 0.3 * (i % 3) as f64 }).collect();
        let samples = Samples::new(&data, 20, 3).unwrap().with_weights(&weights).unwrap();
        let model = Ewca::params(2).epsilon(0.3).fit(&samples).unwrap();
        let plan = model.plan();
        let (perplexities, averages) = (plan.perplexities(), plan.barycentric_scores());
        for i in (0..20).filter(|i| i % 4 == 1) {
            let shares = plan.shares(&model.scores().row(i));
            assert!(shares.iter().zip(&weights).all(|(q, w)| (*q == 0.0) == (*w == 0.0)));
            close(shares.iter().sum(), 1.0);
            let entropy: f64 = shares.iter().filter(|q| **q > 0.0).map(|q| -q * q.ln()).sum();
            close(perplexities[i], entropy.exp());
            for l in 0..2 {
                close(averages.get(i, l), (0..20).map(|j| shares[j] * model.scores().get(j, l)).sum());
            }
            assert!(plan.row(i).iter().all(|p| *p == 0.0));
            // Its potential is the one by which its shares sum to 1.
            let g = model.potential();
            let mass: f64 = (0..20)
                .filter(|&j| weights[j] > 0.0)
                .map(|j| {
                    let distance: f64 =
                        (0..2).map(|l| (model.scores().get(i, l) - model.scores().get(j, l)).powi(2)).sum();
                    model.weights()[j] * ((g[i] + g[j] - distance) / model.epsilon()).exp()
                })
                .sum();
            close(mass, 1.0);
        }
    }

    #[test]
    fn counts_are_samples_that_share_a_place() {
        let data: Vec<f64> = (0..12 * 2).map(|at| ((at * at) as f64 * 0.41).sin()).collect();
        let counts: Vec<f64> = (0..12).map(|i| if i == 5 { 0.0 } else { 1.0 + 0.75 * (i % 4) as f64 }).collect();
        let samples = Samples::new(&data, 12, 2).unwrap().with_counts(&counts).unwrap();
        let model = Ewca::params(1).epsilon(0.2).fit(&samples).unwrap();
        let plan = model.plan();
        for (i, perplexity) in plan.perplexities().into_iter().enumerate() {
            let shares = plan.shares(&model.scores().row(i));
            let surprise = |(q, count): (&f64, &f64)| if *q > 0.0 { -q * (q / count).ln() } else { 0.0 };
            let entropy: f64 = shares.iter().zip(&counts).map(surprise).sum();
            assert!((perplexity / entropy.exp() - 1.0).abs() < 1e-6, "{i}: {perplexity}, by hand {}", entropy.exp());
        }
        assert_eq!(plan.marginals().len(), 12);
    }
}
