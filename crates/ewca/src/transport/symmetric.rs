//! Symmetric scaling: the potential of a self-transport, in the log domain (docs/method.md, section 3).
//!
//! With f = g / epsilon and s_i = log sum_j a_j K_ij exp(f_j), the plan has the right marginals iff the residual r = -(f + s)
//! vanishes. The step f + t r contracts by 1/3 for t = 2/3, whatever epsilon, because the plan is positive semi-definite;
//! Anderson acceleration makes it about as fast as conjugate gradients on a matrix of condition number 2.
//!
//! No row sum can vanish: K_ii = 1, and at the solution -log(a_i)/2 >= f_i >= log(min a)/2, so that exp(f) neither under- nor
//! overflows at any epsilon. Keeping f within these bounds on the way costs nothing.

use std::collections::VecDeque;

use super::Scalings;
use crate::kernel::Kernel;
use crate::matrix::{Matrix, cholesky, dot, solve_cholesky};
use crate::parallel::StopFlag;

/// How many steps Anderson acceleration remembers.
const MEMORY: usize = 5;
const STEP: f64 = 2.0 / 3.0;
/// From so many samples on a pass takes its time.
pub(crate) const MANY_SAMPLES: usize = 8192;
/// A pass makes the error about so much smaller, at the best. Among many samples, where one that carries for nothing costs more than a further pass, less is hoped for.
const NEXT_ERROR: f64 = 0.05;
const NEXT_ERROR_OF_MANY: f64 = 0.1;
/// So few columns are carried with a first pass, since a further pass may cost more.
const FEW_COLUMNS: usize = 8;
/// The step of the guard. The contraction of either step is proved near the solution only; this shorter one, taken after the
/// residual grew, has never been seen to fail.
const SAFE_STEP: f64 = 0.5;

/// Solves for potentials; remembers how residuals answered to steps, also from one subspace to the next.
#[derive(Debug, Clone, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub(crate) struct Balancer {
    /// Pairs (change of f, change of r), newest last.
    memory: VecDeque<(Vec<f64>, Vec<f64>)>,
    /// The marginal error that the last plan began with, where nothing was known of it: the next one will begin with one like that.
    last_first_error: Option<f64>,
}

/// When to be content with a plan.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    /// The marginal error that is good enough.
    pub tolerance: f64,
    /// The marginal error to begin with, where it is known.
    pub first_error: Option<f64>,
    /// The most passes over the kernel.
    pub max_passes: usize,
    /// Raised by whoever cannot wait.
    pub stop: StopFlag,
}

/// A plan whose marginals are as right as was asked for, or as they got.
#[derive(Debug, Clone)]
pub(crate) struct Balanced {
    /// f = g / epsilon.
    pub potential: Vec<f64>,
    /// The row sums of the plan.
    pub row_sums: Vec<f64>,
    /// sum_i |masses_i - a_i|.
    pub marginal_error: f64,
    /// plan * carried.
    pub carried: Matrix,
}

impl Balancer {
    /// Numbers that are held while a plan of so many samples is solved: potentials, the memory of the acceleration, and what is said of
    /// each sample.
    pub fn numbers(samples: usize) -> usize {
        samples.saturating_mul(48)
    }

    /// Improves `potential` until the marginal error is at most the tolerance, and carries the points of the kernel, `carried`, with
    /// the plan.
    pub fn balance(
        &mut self,
        kernel: &Kernel,
        weights: &[f64],
        potential: Vec<f64>,
        carried: &Matrix,
        limits: &Limits,
    ) -> Balanced {
        let bounds = Bounds::new(weights);
        let next_error = if weights.len() < MANY_SAMPLES { NEXT_ERROR } else { NEXT_ERROR_OF_MANY };
        let mut f = potential;
        bounds.clamp(&mut f);
        let mut previous: Option<(Vec<f64>, Vec<f64>)> = None;
        let mut best: Option<(f64, Vec<f64>, Vec<f64>)> = None;
        let mut failures = 0;
        let first_pass = kernel.passes();
        loop {
            // Carrying costs several columns more; it is left out while the plan is likely not good enough yet.
            let last_error = best.as_ref().map(|(error, ..)| *error).or(limits.first_error);
            let is_good = match (last_error, self.last_first_error) {
                (Some(error), _) => next_error * error <= limits.tolerance,
                (None, Some(error)) => carried.columns() <= FEW_COLUMNS || error <= limits.tolerance,
                (None, None) => true,
            };
            let carry = carried.columns() == 0 || is_good;
            let (r, carried_now) = residual(kernel, weights, &f, carry.then_some(carried));
            let error = marginal_error(weights, &r);
            if best.is_none() && limits.first_error.is_none() {
                self.last_first_error = Some(error);
            }
            let out_of_passes =
                kernel.passes() - first_pass >= limits.max_passes || failures >= 8 || limits.stop.is_raised();
            if error <= limits.tolerance || out_of_passes {
                if let (true, Some((best_error, best_f, _))) = (out_of_passes, &best)
                    && *best_error < error
                {
                    return finish(kernel, weights, best_f.clone(), carried);
                }
                return match carried_now {
                    Some(carried) => balanced(weights, f, &r, carried),
                    None => finish(kernel, weights, f, carried),
                };
            }
            let improved = best.as_ref().is_none_or(|(best_error, ..)| error < *best_error);
            if improved {
                if let Some((f_before, r_before)) = &previous {
                    self.remember(difference(&f, f_before), difference(&r, r_before));
                }
                let next = self.accelerated(weights, &f, &r);
                best = Some((error, f.clone(), r.clone()));
                previous = Some((f, r));
                f = next;
            } else {
                // The guard: forget, and take a plain step from the best point seen.
                failures += 1;
                self.memory.clear();
                previous = None;
                if let Some((_, best_f, best_r)) = &best {
                    let step = SAFE_STEP / failures as f64;
                    f = best_f.iter().zip(best_r).map(|(f, r)| f + step * r).collect();
                }
            }
            bounds.clamp(&mut f);
        }
    }

    /// The marginal error that a plan of which nothing is known is likely to begin with.
    pub fn last_first_error(&self) -> Option<f64> {
        self.last_first_error
    }

    /// Whether what is remembered is of so many samples: it may come from a file.
    pub fn belongs_to(&self, samples: usize) -> bool {
        let fits = |change: &Vec<f64>| change.len() == samples && change.iter().all(|x| x.is_finite());
        self.last_first_error.is_none_or(|error| error >= 0.0)
            && self.memory.len() <= MEMORY
            && self.memory.iter().all(|(df, dr)| fits(df) && fits(dr))
    }

    fn remember(&mut self, df: Vec<f64>, dr: Vec<f64>) {
        if self.memory.len() == MEMORY {
            self.memory.pop_front();
        }
        self.memory.push_back((df, dr));
    }

    /// f + t r - sum_j c_j (df_j + t dr_j), c the least-squares solution of sum_j c_j dr_j = r.
    fn accelerated(&self, weights: &[f64], f: &[f64], r: &[f64]) -> Vec<f64> {
        let mut next: Vec<f64> = f.iter().zip(r).map(|(f, r)| f + STEP * r).collect();
        if let Some(coefficients) = least_squares(weights, self.memory.iter().map(|(_, dr)| dr.as_slice()), r) {
            for ((df, dr), c) in self.memory.iter().zip(coefficients) {
                for ((x, df), dr) in next.iter_mut().zip(df).zip(dr) {
                    *x -= c * (df + STEP * dr);
                }
            }
        }
        next
    }
}

/// Bounds of the potential at the solution: of all samples together, so that repeated samples and one of their total weight go
/// the same way.
struct Bounds {
    lower: f64,
    upper: f64,
}

impl Bounds {
    fn new(weights: &[f64]) -> Self {
        let smallest = weights.iter().fold(1.0, |m: f64, &a| m.min(a));
        Self { lower: 0.5 * smallest.ln(), upper: -0.5 * smallest.ln() }
    }

    fn clamp(&self, f: &mut [f64]) {
        for f in f.iter_mut() {
            *f = if f.is_finite() { f.clamp(self.lower, self.upper) } else { self.upper };
        }
    }
}

/// One pass: r, and plan * carried where it is wanted: the points, for which an approximate kernel has columns of its own.
fn residual(kernel: &Kernel, weights: &[f64], f: &[f64], carried: Option<&Matrix>) -> (Vec<f64>, Option<Matrix>) {
    let u = Scalings::new(weights, f);
    let columns = carried.map_or(0, Matrix::columns);
    let rhs = u.beside(carried.unwrap_or(&Matrix::zeros(u.len(), 0)));
    let sums = if columns > 0 { kernel.apply_with_points(&rhs, &u) } else { kernel.apply(&rhs, &u) };
    let r = sums.column(0).iter().zip(f).map(|(s, f)| -(f + s.ln())).collect();
    let carried = carried.map(|_| {
        let mut out = Matrix::zeros(u.len(), columns);
        for j in 0..columns {
            out.column_mut(j).iter_mut().zip(&*u).zip(sums.column(j + 1)).for_each(|((o, u), s)| *o = u * s);
        }
        out
    });
    (r, carried)
}

fn finish(kernel: &Kernel, weights: &[f64], f: Vec<f64>, carried: &Matrix) -> Balanced {
    let (r, carried) = residual(kernel, weights, &f, Some(carried));
    balanced(weights, f, &r, carried.unwrap_or_default())
}

fn balanced(weights: &[f64], f: Vec<f64>, r: &[f64], carried: Matrix) -> Balanced {
    let row_sums = weights.iter().zip(r).map(|(a, r)| a * (-r).exp()).collect();
    Balanced { potential: f, row_sums, marginal_error: marginal_error(weights, r), carried }
}

/// sum_i |a_i exp(-r_i) - a_i|.
fn marginal_error(weights: &[f64], r: &[f64]) -> f64 {
    weights.iter().zip(r).map(|(a, r)| a * (-r).exp_m1().abs()).sum()
}

fn difference(x: &[f64], y: &[f64]) -> Vec<f64> {
    x.iter().zip(y).map(|(x, y)| x - y).collect()
}

/// Coefficients of the combination of `columns` that is nearest to `target` in the weighted norm, by ridged normal equations.
pub(crate) fn least_squares<'a>(
    weights: &[f64],
    columns: impl Iterator<Item = &'a [f64]>,
    target: &[f64],
) -> Option<Vec<f64>> {
    let columns: Vec<&[f64]> = columns.collect();
    let m = columns.len();
    let weighted: Vec<Vec<f64>> = columns.iter().map(|c| c.iter().zip(weights).map(|(c, a)| c * a).collect()).collect();
    let mut normal = Matrix::from_fn(m, m, |i, j| dot(&weighted[i], columns[j]));
    for i in 0..m {
        let ridged = normal.get(i, i) * (1.0 + 1e-12);
        normal.set(i, i, ridged);
    }
    cholesky(&mut normal);
    let right = Matrix::from_fn(m, 1, |i, _| dot(&weighted[i], target));
    let solution = solve_cholesky(&normal, right).into_column_major();
    solution.iter().all(|x| x.is_finite()).then_some(solution)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn limits(tolerance: f64, max_passes: usize) -> Limits {
        Limits { tolerance, first_error: None, max_passes, stop: StopFlag::default() }
    }

    #[test]
    fn least_squares_finds_a_known_combination() {
        let columns: [Vec<f64>; 3] = [0, 1, 2].map(|c| (0..8).map(|i| ((i * (c + 1)) as f64 + 0.3).sin()).collect());
        let weights: Vec<f64> = (0..8).map(|i| 0.05 + 0.01 * i as f64).collect();
        let wanted = [0.7, -1.3, 2.1];
        let exact: Vec<f64> = (0..8).map(|i| (0..3).map(|c| wanted[c] * columns[c][i]).sum()).collect();
        let found = least_squares(&weights, columns.iter().map(Vec::as_slice), &exact).unwrap();
        found.iter().zip(wanted).for_each(|(x, y)| assert!((x - y).abs() < 1e-9, "{found:?}"));
        // What is left of any target is orthogonal to all columns, by the weights.
        let target: Vec<f64> = (0..8).map(|i| (i as f64).cos()).collect();
        let found = least_squares(&weights, columns.iter().map(Vec::as_slice), &target).unwrap();
        for column in &columns {
            let rest = |i: usize| target[i] - (0..3).map(|c| found[c] * columns[c][i]).sum::<f64>();
            let product: f64 = (0..8).map(|i| weights[i] * column[i] * rest(i)).sum();
            assert!(product.abs() < 1e-10, "{product}");
        }
    }

    #[test]
    fn least_squares_refuses_what_has_no_answer() {
        let zero = [0.0; 4];
        let one = [1.0, 2.0, 3.0, 4.0];
        assert_eq!(least_squares(&one, std::iter::once(&zero[..]), &one), None);
        assert_eq!(least_squares(&one, std::iter::once(&[f64::NAN, 0.0, 0.0, 0.0][..]), &one), None);
        assert_eq!(least_squares(&one, std::iter::once(&one[..]), &[f64::INFINITY, 0.0, 0.0, 0.0]), None);
        assert_eq!(least_squares(&one, std::iter::empty(), &one), Some(Vec::new()));
        // The same column twice has many answers, of which the ridge takes one.
        let shared = least_squares(&one, [&one[..], &one[..]].into_iter(), &one).unwrap();
        assert!((shared[0] + shared[1] - 1.0).abs() < 1e-3, "{shared:?}");
    }

    #[test]
    fn bounds_keep_the_potential_where_its_solution_is() {
        let bounds = Bounds::new(&[0.01, 0.5, 0.49]);
        let mut f = [-9.0, -1.0, 0.0, 1.0, 9.0, f64::NAN, f64::NEG_INFINITY, f64::INFINITY];
        bounds.clamp(&mut f);
        let most = 0.1f64.ln().abs();
        for (x, wanted) in f.iter().zip([-most, -1.0, 0.0, 1.0, most, most, most, most]) {
            assert!((x - wanted).abs() < 1e-15, "{f:?}");
        }
    }

    #[test]
    fn nothing_to_carry_takes_no_pass_of_its_own() {
        let n = 25;
        let scores = Matrix::from_row_major(n, 2, &testing::gaussian(n, 2, 3)).unwrap();
        let (weights, kernel) = (vec![1.0 / n as f64; n], Kernel::of(&scores, 0.4));
        let nothing = Matrix::zeros(n, 0);
        let solved = Balancer::default().balance(&kernel, &weights, vec![0.0; n], &nothing, &limits(1e-12, 1000));
        // A good potential that is thought to be a bad one: points are carried in a second pass.
        for (carried, passes) in [(&nothing, 1), (&scores, 2)] {
            let (before, limits) = (kernel.passes(), Limits { first_error: Some(1.0), ..limits(1e-6, 1000) });
            let again = Balancer::default().balance(&kernel, &weights, solved.potential.clone(), carried, &limits);
            assert_eq!(kernel.passes() - before, passes);
            assert!(again.marginal_error <= 1e-6 && again.carried.columns() == carried.columns());
        }
    }

    #[test]
    fn points_are_carried_at_once_only_where_plans_usually_begin_well() {
        let n = 25;
        let scores = Matrix::from_row_major(n, 9, &testing::gaussian(n, 9, 3)).unwrap();
        let (weights, kernel) = (vec![1.0 / n as f64; n], Kernel::of(&scores, 4.0));
        let mut balancer = Balancer::default();
        let solved = balancer.balance(&kernel, &weights, vec![0.0; n], &scores, &limits(1e-12, 1000));
        let began = balancer.last_first_error().unwrap();
        assert!(began > 1e-3, "{began}");
        // A good potential of which nothing is known: what the last plan began with tells whether it is carried at once.
        for (tolerance, passes) in [(1e-6, 2), (1.01 * began, 1)] {
            balancer.last_first_error = Some(began);
            let before = kernel.passes();
            let again =
                balancer.balance(&kernel, &weights, solved.potential.clone(), &scores, &limits(tolerance, 1000));
            assert_eq!(kernel.passes() - before, passes, "{tolerance}");
            assert!(balancer.last_first_error().unwrap() <= 1e-12);
            assert_eq!(again.carried, solved.carried);
        }
        // Of few columns always.
        balancer.last_first_error = Some(began);
        let (before, few) = (kernel.passes(), scores.leading_columns(FEW_COLUMNS));
        let _ = balancer.balance(&kernel, &weights, solved.potential.clone(), &few, &limits(1e-6, 1000));
        assert_eq!(kernel.passes() - before, 1);
        // What was known beforehand says nothing of the next one.
        let known = Limits { first_error: Some(1e-3), ..limits(1e-6, 1000) };
        balancer.last_first_error = Some(0.25);
        let _ = balancer.balance(&kernel, &weights, solved.potential.clone(), &scores, &known);
        assert_eq!(balancer.last_first_error(), Some(0.25));
        assert!(balancer.belongs_to(n));
        balancer.last_first_error = Some(f64::NAN);
        assert!(!balancer.belongs_to(n));
    }

    #[test]
    fn a_balanced_plan_is_what_it_says() {
        let n = 25;
        let scores = Matrix::from_row_major(n, 2, &testing::gaussian(n, 2, 3)).unwrap();
        let weights: Vec<f64> = (1..=n).map(|i| 2.0 * i as f64 / (n * (n + 1)) as f64).collect();
        let epsilon = 0.4;
        let kernel = Kernel::of(&scores, epsilon);
        let distance = |i: usize, j: usize| (0..2).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum::<f64>();
        // Loose, tight, and stopped early.
        for (tolerance, passes) in [(1e-2, 1000), (1e-12, 1000), (1e-12, 3), (1e-12, 1)] {
            let before = kernel.passes();
            let plan =
                Balancer::default().balance(&kernel, &weights, vec![0.0; n], &scores, &limits(tolerance, passes));
            let f = &plan.potential;
            let entry = |i: usize, j: usize| weights[i] * weights[j] * (f[i] + f[j] - distance(i, j) / epsilon).exp();
            let mut error = 0.0;
            for (i, a) in weights.iter().enumerate() {
                let mass: f64 = (0..n).map(|j| entry(i, j)).sum();
                assert!((mass - plan.row_sums[i]).abs() < 1e-14);
                error += (mass - a).abs();
                for l in 0..2 {
                    let carried: f64 = (0..n).map(|j| entry(i, j) * scores.get(j, l)).sum();
                    assert!((carried - plan.carried.get(i, l)).abs() < 1e-14);
                }
            }
            assert!((error - plan.marginal_error).abs() < 1e-14);
            if passes == 1000 {
                assert!(error <= tolerance);
            } else {
                // One more, to carry what was not carried on the way.
                let made = kernel.passes() - before;
                assert!(error > tolerance && (passes..=passes + 1).contains(&made), "{made} passes of {passes}");
            }
        }
    }

    #[test]
    fn acceleration_saves_passes() {
        let n = 60;
        let scores = Matrix::from_row_major(n, 2, &testing::gaussian(n, 2, 8)).unwrap();
        let weights = vec![1.0 / n as f64; n];
        let kernel = Kernel::of(&scores, 0.5);
        let none = Matrix::zeros(n, 0);
        let passes = |balancer: &mut Balancer, start: Vec<f64>, tolerance: f64| {
            let before = kernel.passes();
            let plan = balancer.balance(&kernel, &weights, start, &none, &limits(tolerance, 1000));
            assert!(plan.marginal_error <= tolerance);
            (kernel.passes() - before, plan.potential)
        };
        // The plain step contracts by 3 at best: 1e-12 would take 25 of them.
        let mut balancer = Balancer::default();
        let (first, potential) = passes(&mut balancer, vec![0.0; n], 1e-12);
        assert!(first <= 20, "{first} passes");
        assert!((2..=MEMORY).contains(&balancer.memory.len()));
        // From the solution one pass is enough, and nothing is learnt.
        assert_eq!(passes(&mut balancer, potential, 1e-12).0, 1);
    }

    #[test]
    fn a_step_that_makes_it_worse_is_taken_back_and_forgotten() {
        let n = 20;
        let scores = Matrix::from_row_major(n, 2, &testing::gaussian(n, 2, 3)).unwrap();
        let weights = vec![1.0 / n as f64; n];
        let kernel = Kernel::of(&scores, 0.4);
        let (r, _) = residual(&kernel, &weights, &vec![0.0; n], None);
        // A memory that says: go far to the wrong side.
        let misled = || {
            let df: Vec<f64> = (0..n).map(|i| if i % 2 == 0 { 3.0 } else { -3.0 }).collect();
            Balancer { memory: [(df, r.clone())].into(), last_first_error: None }
        };
        let balance = |balancer: &mut Balancer, passes: usize| {
            let before = kernel.passes();
            let plan = balancer.balance(&kernel, &weights, vec![0.0; n], &scores, &limits(1e-12, passes));
            (plan, kernel.passes() - before)
        };
        // With no pass left the better of the two is returned, and carried by one more.
        let first = marginal_error(&weights, &r);
        let (plan, made) = balance(&mut misled(), 2);
        assert_eq!((plan.marginal_error, plan.potential, made), (first, vec![0.0; n], 3));
        // With one more, half a step from there.
        let mut balancer = misled();
        let (plan, _) = balance(&mut balancer, 3);
        let wanted: Vec<f64> = r.iter().map(|r| 0.5 * r).collect();
        assert!(plan.marginal_error < first && balancer.memory.is_empty());
        plan.potential.iter().zip(&wanted).for_each(|(x, y)| assert!((x - y).abs() < 1e-15));
        // And from there on as ever.
        let (plan, made) = balance(&mut misled(), 1000);
        assert!(plan.marginal_error <= 1e-12 && made <= 22, "{made}");
    }

    #[test]
    fn memories_of_other_samples_do_not_belong() {
        let pair = |n: usize| (vec![0.5; n], vec![0.25; n]);
        let of = |pairs: Vec<(Vec<f64>, Vec<f64>)>| Balancer { memory: pairs.into(), last_first_error: None };
        assert!(of(vec![pair(7); MEMORY]).belongs_to(7) && Balancer::default().belongs_to(7));
        assert!(!of(vec![pair(7); MEMORY + 1]).belongs_to(7));
        assert!(!of(vec![pair(7), pair(6)]).belongs_to(7));
        assert!(!of(vec![(vec![0.5; 7], vec![0.25; 6])]).belongs_to(7));
        assert!(!of(vec![(vec![0.5; 8], vec![0.25; 7])]).belongs_to(7));
        assert!(!of(vec![(vec![0.5; 7], vec![f64::NAN; 7])]).belongs_to(7));
        assert!(!of(vec![(vec![f64::INFINITY; 7], vec![0.25; 7])]).belongs_to(7));
    }
}
