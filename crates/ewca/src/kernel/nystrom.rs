//! The kernel by landmarks: an approximation for so many points that not even their pairs can be gone through.
//!
//! With C the kernel between all points and m landmarks among them, and W that among the landmarks, K ~ C (W + ridge)^-1 C' (Nystrom).
//! A pass costs 2 n m entries of the kernel instead of n^2 / 2. It is good where neighbourhoods are wide: each should hold some
//! landmarks.
//!
//! What is missing, K - C W^-1 C', is positive semi-definite, and its diagonal could be given back exactly; but that takes n m^2
//! operations for each set of points, as much as many passes, and cures next to nothing: what is missing between a point and the
//! n / m points around it is of the same size. The diagonal matters only to a point that is far from all landmarks, whose row would
//! be empty. Such a row gets as much of its own as it takes for its sum to be no less than K_ii u_i = u_i.
//!
//! The ridge makes the approximation a smooth function of the points, and its derivative is taken exactly
//! ([`Method::apply_with_points`]): a fit finds a minimum of the approximate loss, to any tolerance.

use std::ops::Range;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::arrange::{Arrangement, LEAF};
use super::lanes::Element;
use super::tile::{Multiply, PADDING, Pair};
use super::{EXP_COST, Method, Points, exp_of_minus_all};
use crate::matrix::{Matrix, cholesky, solve_cholesky, times_cholesky};
use crate::parallel;

/// What is added to the diagonal of W. Directions of W that are smaller are lost, which is nothing beside a sum over a
/// neighbourhood; and with it W^-1 grows no rounding error beyond about 1e-12.
const RIDGE: f64 = 1e-6;
/// Points whose exact rows tell what is otherwise not known.
const WITNESSES: usize = 1024;
/// Points for each landmark among which the widest gaps are sought.
const CANDIDATES: usize = 16;
/// Sums over points are taken in so many parts, on any number of threads.
const PARTS: usize = 64;

/// Some of the points, placed a second time behind all of them.
#[derive(Debug, Clone, Default)]
struct PointSubset {
    rows: Vec<usize>,
    blocks: Vec<Range<usize>>,
}

impl PointSubset {
    fn new(rows: Vec<usize>, stride: &mut usize) -> Self {
        let block = |part: Range<usize>| {
            let start = *stride;
            *stride += part.len().next_multiple_of(PADDING);
            start..*stride
        };
        let blocks = parallel::blocks(rows.len(), LEAF).into_iter().map(block).collect();
        Self { rows, blocks }
    }

    /// Where the points of this stand: all blocks but the last are full.
    fn places(&self) -> Range<usize> {
        let start = self.blocks.first().map_or(0, |block| block.start);
        start..start + self.rows.len()
    }

    /// Puts what each point has at its place.
    fn fill(&self, arrangement: &Arrangement, values: &mut [f64]) {
        for column in values.chunks_exact_mut(arrangement.stride) {
            for (place, &row) in self.places().zip(&self.rows) {
                column[place] = column[arrangement.places[row]];
            }
        }
    }
}

/// Landmarks, and probe_rows of what they miss.
#[derive(Debug)]
pub(super) struct Landmarks {
    landmarks: PointSubset,
    probe_rows: PointSubset,
}

/// K by landmarks.
#[derive(Debug)]
pub(super) struct Nystrom {
    landmarks: PointSubset,
    probe_rows: PointSubset,
    /// The lower Cholesky factor of W + ridge.
    factor: Matrix,
}

impl Landmarks {
    /// `count` of the points `layout_points`, spread over the cloud, behind the places of `arrangement`.
    pub fn new(layout_points: &Matrix, count: usize, arrangement: &mut Arrangement) -> Self {
        let order = arrangement.neighbours(layout_points);
        let n = order.len();
        let landmarks = spread(layout_points, &order, count);
        // At random within stretches: at fixed steps they might hit landmarks more often than others do.
        let mut random = ChaCha8Rng::seed_from_u64(0);
        let probe_rows = WITNESSES.min(n);
        let mut within = |w: usize| random.random_range(w * n / probe_rows..(w + 1) * n / probe_rows);
        let probe_rows = (0..probe_rows).map(|w| order[within(w)]).collect();
        Self {
            landmarks: PointSubset::new(landmarks, &mut arrangement.stride),
            probe_rows: PointSubset::new(probe_rows, &mut arrangement.stride),
        }
    }

    pub fn count(&self) -> usize {
        self.landmarks.rows.len()
    }

    /// The points whose rows are looked at exactly.
    pub fn probe_rows(&self) -> &[usize] {
        &self.probe_rows.rows
    }

    /// Numbers that `count` landmarks take, with what a pass of some columns holds for them.
    pub fn numbers(count: usize, columns: usize) -> usize {
        let parts = (count + WITNESSES).saturating_mul(columns + 2).saturating_mul(PARTS);
        count.saturating_mul(count).saturating_mul(2).saturating_add(parts)
    }

    /// Completes the scaled coordinates of the points.
    pub fn place(&self, arrangement: &Arrangement, scaled: &mut [f64]) {
        self.landmarks.fill(arrangement, scaled);
        self.probe_rows.fill(arrangement, scaled);
    }
}

/// `count` of the points, which stand in an `order` of neighbours: half of them where the points are, the others where these leave the
/// widest gaps. Measured on seven cases of 4000 and 10,000 points: without the gaps the error is up to a thousand times as large, and
/// with them alone up to twice, where landmarks are few.
fn spread(points: &Matrix, order: &[usize], count: usize) -> Vec<usize> {
    let evenly = |count: usize| (0..count).map(move |at| order[(2 * at + 1) * order.len() / (2 * count)]);
    let mut spread: Vec<usize> = evenly(count.div_ceil(2)).collect();
    let candidates: Vec<usize> = evenly(order.len().min(CANDIDATES * count)).collect();
    let columns: Vec<Vec<f64>> =
        (0..points.columns()).map(|c| candidates.iter().map(|&i| points.get(i, c)).collect()).collect();
    let mut gaps = vec![f64::INFINITY; candidates.len()];
    let mut distances = vec![0.0; candidates.len()];
    for at in 0..count {
        if at == spread.len() {
            let widest = (0..gaps.len()).fold(0, |widest, i| if gaps[i] > gaps[widest] { i } else { widest });
            spread.push(candidates[widest]);
        }
        distances.fill(0.0);
        for (c, column) in columns.iter().enumerate() {
            let x = points.get(spread[at], c);
            distances.iter_mut().zip(column).for_each(|(sum, y)| *sum += (x - y).powi(2));
        }
        gaps.iter_mut().zip(&distances).for_each(|(gap, &distance)| *gap = gap.min(distance));
    }
    spread
}

impl Nystrom {
    /// Of these points: factors W + ridge.
    pub fn new(landmarks: &Landmarks, points: &Points) -> Self {
        let Landmarks { landmarks, probe_rows } = landmarks;
        let (places, m) = (landmarks.places(), landmarks.rows.len());
        let blocks = parallel::blocks(m, 64);
        let strips = parallel::map(&blocks, parallel::work(&[m, m, EXP_COST]), |strip| {
            let mut part = Matrix::zeros(m, strip.len());
            for (j, l) in strip.enumerate() {
                let line = part.column_mut(j);
                for coordinate in points.scaled.chunks_exact(points.shared.arrangement.stride) {
                    let coordinate = &coordinate[places.clone()];
                    line.iter_mut().zip(coordinate).for_each(|(sum, x)| *sum += (x - coordinate[l]).powi(2));
                }
                exp_of_minus_all(line);
                line[l] += RIDGE;
            }
            part
        });
        let columns = strips.iter().flat_map(|strip| strip.as_column_major().iter().copied()).collect();
        let mut factor = Matrix::from_column_major(m, m, columns).unwrap_or_default();
        cholesky(&mut factor);
        Self { landmarks: landmarks.clone(), probe_rows: probe_rows.clone(), factor }
    }
}

impl Method for Nystrom {
    /// K `right` by the landmarks, plus a diagonal: where the sum over row i of K diag(u) is below u_i, which is what the point itself
    /// has in it, the row's own entry is raised until it is not.
    fn apply(&self, points: &Points, right: &Matrix, u: &[f64]) -> Matrix {
        let count = right.columns();
        let with_u = count > 0 && right.column(0) == u;
        let columns = (0..count).map(|c| right.column(c)).chain((!with_u).then_some(u));
        let columns: Vec<&[f64]> = columns.collect();
        let mut placed = points.shared.arrangement.scattered(columns.iter().copied(), |x| x);
        let onto = points.sums_at(&self.landmarks, &placed, columns.len(), false);
        let weights = solve_cholesky(&self.factor, onto);
        let mut out = points.over_landmarks(&self.landmarks, &weights, &mut placed);
        let sums = out.column(if with_u { 0 } else { count }).to_vec();
        out = if with_u { out } else { out.leading_columns(count) };
        raise_rows(&mut out, &sums, right, u);
        out
    }

    /// The same for `right` = [u, diag(u) Z] where Z are the points: the first column is that of `apply`; the others are
    /// what K diag(u) Z is to the derivative of u'Ku by the points.
    ///
    /// With t = C'u and y = (W + ridge)^-1 t,  d(u'C (W + ridge)^-1 C'u) = 2 y'dC'u - y'dW y.  For K itself the derivative by z_i is
    /// -(4 / epsilon) u_i ((K u)_i z_i - (K diag(u) Z)_i); here, what stands for K diag(u) Z is C diag(y) Z at the landmarks, and
    /// row l of a landmark has y_l / u_l (C' diag(u) Z - (W + ridge) diag(y) Z)_l more.
    fn apply_with_points(&self, points: &Points, right: &Matrix, u: &[f64]) -> Matrix {
        let count = right.columns();
        let rows = &self.landmarks.rows;
        let mut placed = points.shared.arrangement.scattered((0..count).map(|c| right.column(c)), |x| x);
        let mut onto = points.sums_at(&self.landmarks, &placed, count, false);
        let y = solve_cholesky(&self.factor, onto.leading_columns(1));
        let y = y.column(0);
        let at_landmarks = |l: usize, c: usize| right.get(rows[l], c) / right.get(rows[l], 0);
        let moved = Matrix::from_fn(rows.len(), count, |l, c| y[l] * at_landmarks(l, c));
        let mut out = points.over_landmarks(&self.landmarks, &moved, &mut placed);
        let sums = out.column(0).to_vec();
        onto.add_scaled(-1.0, &times_cholesky(&self.factor, &moved));
        for c in 1..count {
            for (l, &row) in rows.iter().enumerate() {
                let more = y[l] / right.get(row, 0) * onto.get(l, c);
                out.column_mut(c)[row] += more;
            }
        }
        raise_rows(&mut out, &sums, right, u);
        out
    }

    fn exact(&self, points: &Points, right: &Matrix, _u: &[f64], with_cost: bool) -> Matrix {
        let columns = (0..right.columns()).map(|c| right.column(c));
        let placed = points.shared.arrangement.scattered(columns, |x| x);
        points.sums_at(&self.probe_rows, &placed, right.columns(), with_cost)
    }
}

impl Points {
    /// The exact rows of K of a `few` times placed columns.
    fn sums_at(&self, few: &PointSubset, placed: &[f64], count: usize, with_cost: bool) -> Matrix {
        let (m, columns) = (few.rows.len(), count + usize::from(with_cost));
        let own = self.own_blocks();
        let parts = parallel::blocks(own.len(), own.len().div_ceil(PARTS).max(1));
        let work = self.pass_work(m, columns);
        let parts = parallel::map(&parts, work, |part| {
            let mut sums: Vec<Vec<f64>> = few.blocks.iter().map(|block| vec![0.0; block.len() * columns]).collect();
            for &block in &own[part] {
                for (rows, sums) in few.blocks.iter().zip(&mut sums) {
                    self.multiply(rows, &self.shared.arrangement.blocks[block], placed, count, with_cost, sums);
                }
            }
            sums
        });
        let mut all = Matrix::zeros(m, columns);
        for sums in parts {
            for ((rows, sums), block) in parallel::blocks(m, LEAF).into_iter().zip(&sums).zip(&few.blocks) {
                for (c, sums) in sums.chunks_exact(block.len()).enumerate() {
                    all.column_mut(c)[rows.clone()].iter_mut().zip(sums).for_each(|(sum, x)| *sum += x);
                }
            }
        }
        self.shared.member.summed(all)
    }

    /// C `weights`, a row for every point; `placed` has room for as many columns.
    fn over_landmarks(&self, landmarks: &PointSubset, weights: &Matrix, placed: &mut [f64]) -> Matrix {
        let count = weights.columns();
        for (c, column) in placed.chunks_exact_mut(self.shared.arrangement.stride).enumerate() {
            column[landmarks.places()].copy_from_slice(weights.column(c));
        }
        let own: Vec<Range<usize>> = self.own_blocks().into_iter().map(|block| block..block + 1).collect();
        let work = self.pass_work(landmarks.rows.len(), count);
        let parts = parallel::map(&own, work, |block| {
            let rows = &self.shared.arrangement.blocks[block.start];
            let mut sums = vec![0.0; rows.len() * count];
            for columns in &landmarks.blocks {
                self.multiply(rows, columns, placed, count, false, &mut sums);
            }
            sums
        });
        let mut all = vec![Vec::new(); self.shared.arrangement.blocks.len()];
        own.iter().zip(parts).for_each(|(block, sums)| all[block.start] = sums);
        self.counts.add_pass(0, 0, 0.0);
        self.shared.member.summed(self.shared.arrangement.rows_of(&all, count))
    }

    /// Adds K `placed` between two blocks to the sums of the rows.
    fn multiply(
        &self,
        rows: &Range<usize>,
        columns: &Range<usize>,
        placed: &[f64],
        count: usize,
        with_cost: bool,
        row_sums: &mut [f64],
    ) {
        let (rows, columns) = (rows.clone(), columns.clone());
        let pair = Pair { points: &self.scaled, stride: self.shared.arrangement.stride, rows, columns };
        let (column_sums, reach, computed) = (None, None, &mut 0);
        let right = placed;
        let kept = None;
        f64::dispatch(Multiply { pair, right, count, with_cost, row_sums, column_sums, reach, kept, computed });
    }

    /// The blocks of points that this process goes through.
    fn own_blocks(&self) -> Vec<usize> {
        (0..self.shared.arrangement.blocks.len())
            .skip(self.shared.member.rank())
            .step_by(self.shared.member.size())
            .collect()
    }

    fn pass_work(&self, rows: usize, columns: usize) -> usize {
        self.shared.arrangement.places.len() * rows * (columns + self.dimensions + EXP_COST) / self.shared.member.size()
    }
}

/// Adds a diagonal times `right` to `out`, so that `sums`, its column for u, is nowhere below u.
fn raise_rows(out: &mut Matrix, sums: &[f64], right: &Matrix, u: &[f64]) {
    for (row, (&sum, &u)) in sums.iter().zip(u).enumerate().filter(|(_, (sum, u))| *sum < *u) {
        let own = 1.0 - sum / u;
        for c in 0..out.columns() {
            let value = out.get(row, c) + own * right.get(row, c);
            out.set(row, c, value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernel::{Kernel, KernelLayout, KernelOptions};
    use crate::testing;

    fn points(n: usize, dimensions: usize) -> Matrix {
        Matrix::from_row_major(n, dimensions, &testing::gaussian(n, dimensions, 5)).unwrap()
    }

    fn near(points: &Matrix, landmarks: usize) -> KernelLayout {
        KernelLayout::new(points, KernelOptions { landmarks: Some(landmarks), ..KernelOptions::default() })
    }

    fn landmark_rows(layout: &KernelLayout) -> Vec<usize> {
        layout.shared.landmarks.as_ref().unwrap().landmarks.rows.clone()
    }

    fn entry(points: &Matrix, epsilon: f64, i: usize, j: usize) -> f64 {
        let d: f64 = (0..points.columns()).map(|l| (points.get(i, l) - points.get(j, l)).powi(2)).sum();
        (-d / epsilon).exp()
    }

    /// C (W + ridge)^-1 C' as a matrix.
    fn dense(points: &Matrix, rows: &[usize], epsilon: f64) -> Matrix {
        let n = points.rows();
        let mut gram = Matrix::from_fn(rows.len(), rows.len(), |l, p| {
            entry(points, epsilon, rows[l], rows[p]) + if l == p { RIDGE } else { 0.0 }
        });
        let between = Matrix::from_fn(n, rows.len(), |i, l| entry(points, epsilon, i, rows[l]));
        cholesky(&mut gram);
        between.times(&solve_cholesky(&gram, between.transposed()))
    }

    #[test]
    fn a_pass_is_that_of_the_dense_approximation() {
        for (n, m) in [(50, 7), (700, 300), (5000, 40)] {
            let points = points(n, 3);
            let epsilon = 4.0;
            let mut layout = near(&points, m);
            let dense = dense(&points, &landmark_rows(&layout), epsilon);
            let kernel = layout.at(&points, epsilon);
            let u: Vec<f64> = (0..n).map(|i| 1.0 + (i as f64).sin().abs()).collect();
            let right = Matrix::from_fn(n, 4, |i, c| if c == 0 { u[i] } else { ((i * c) as f64).cos() });
            let others = Matrix::from_fn(n, 3, |i, c| right.get(i, c + 1));
            let whole = kernel.apply(&right, &u);
            let alone = kernel.apply(&others, &u);
            let sums = dense.times(&Matrix::from_fn(n, 1, |i, _| u[i]));
            let want = dense.times(&right);
            for (i, &u) in u.iter().enumerate() {
                let own = (1.0 - sums.get(i, 0) / u).max(0.0);
                for c in 0..4 {
                    let want = want.get(i, c) + own * right.get(i, c);
                    assert!((whole.get(i, c) - want).abs() < 1e-9 * n as f64, "{} {want}", whole.get(i, c));
                    assert!(c == 0 || (alone.get(i, c - 1) - want).abs() < 1e-9 * n as f64);
                }
                assert!(whole.get(i, 0) >= u * (1.0 - 1e-12));
            }
        }
    }

    #[test]
    fn with_wide_neighbourhoods_it_is_the_kernel() {
        let points = points(3000, 3);
        let u = vec![1.0 / 3000.0; 3000];
        let right = Matrix::from_fn(3000, 1, |i, _| u[i]);
        let exact = Kernel::of(&points, 8.0).apply(&right, &u);
        for (m, close) in [(30, 0.2), (200, 1e-3), (800, 1e-5)] {
            let sums = near(&points, m).at(&points, 8.0).apply(&right, &u);
            let error = (0..3000).map(|i| (sums.get(i, 0) / exact.get(i, 0) - 1.0).abs()).sum::<f64>() / 3000.0;
            assert!(error < close, "{m}: {error}");
        }
    }

    #[test]
    fn witnesses_know_their_rows_exactly() {
        let points = points(5000, 2);
        let mut layout = near(&points, 10);
        let kernel = layout.at(&points, 0.5);
        let probe_rows = kernel.probe_rows().unwrap();
        let right = Matrix::from_fn(5000, 2, |i, c| ((i + c) as f64).sin());
        let sums = kernel.method.exact(&kernel.points, &right, &[], true);
        assert_eq!((sums.rows(), sums.columns(), probe_rows.len()), (WITNESSES, 3, WITNESSES));
        for w in [0, 500, WITNESSES - 1] {
            let row = probe_rows[w];
            let k: Vec<f64> = (0..5000).map(|j| entry(&points, 0.5, row, j)).collect();
            let want: f64 = (0..5000).map(|j| k[j] * right.get(j, 1)).sum();
            assert!((sums.get(w, 1) - want).abs() < 1e-10);
            let cost: f64 = (0..5000).map(|j| if k[j] > 0.0 { -k[j] * k[j].ln() * right.get(j, 0) } else { 0.0 }).sum();
            assert!((sums.get(w, 2) - cost).abs() < 1e-10);
        }
    }

    #[test]
    fn columns_with_the_points_are_the_derivative() {
        let (n, m, epsilon) = (300, 60, 3.0);
        let points = points(n, 2);
        let u: Vec<f64> = (0..n).map(|i| 0.1 + 0.02 * (i as f64).sin()).collect();
        let columns =
            |points: &Matrix| Matrix::from_fn(n, 3, |i, c| u[i] * if c == 0 { 1.0 } else { points.get(i, c - 1) });
        let mut layout = near(&points, m);
        let out = layout.at(&points, epsilon).apply_with_points(&columns(&points), &u);
        let landmark = landmark_rows(&layout)[17];
        for row in [landmark, landmark + 1, 5] {
            for l in 0..2 {
                let mut total = |step: f64| {
                    let mut moved = points.clone();
                    moved.set(row, l, points.get(row, l) + step);
                    let out = layout.at(&moved, epsilon).apply(&columns(&moved), &u);
                    crate::matrix::dot(out.column(0), &u)
                };
                let h = 1e-3;
                let numeric = (8.0 * (total(h) - total(-h)) - (total(2.0 * h) - total(-2.0 * h))) / (12.0 * h);
                let derivative = -4.0 / epsilon * u[row] * (out.get(row, 0) * points.get(row, l) - out.get(row, l + 1));
                assert!((numeric - derivative).abs() < 1e-8 * derivative.abs().max(1.0), "{numeric} {derivative}");
            }
        }
    }

    #[test]
    fn threads_do_not_change_bits() {
        let points = points(5000, 3);
        let u = vec![1.0; 5000];
        let sums = [1, 2, 8].map(|threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| near(&points, 500).at(&points, 2.0).apply(&points, &u))
        });
        assert!(sums[0] == sums[1] && sums[1] == sums[2]);
    }
}
