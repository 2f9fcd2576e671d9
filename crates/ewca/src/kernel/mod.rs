//! The Gaussian kernel of the scores, K_ij = exp(-|z_i - z_j|^2 / epsilon), as passes over tiles.
//!
//! A *pass* is one application of the n x n kernel to a few columns. The kernel is either stored (small n) or computed anew,
//! tile by tile, in every pass; both give the same bits. This is the only module with `unsafe` code: calls of functions that
//! were compiled for an instruction set, behind the test that the processor has it.

mod simd;

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use faer::{Accum, MatMut, MatRef};

use crate::matrix::{Matrix, multiply};
use crate::parallel;
use simd::LANES;

/// Rows of a tile: a task of the parallel loops.
const TILE_ROWS: usize = 32;
/// Columns of a tile: with its rows it fits into the second-level cache.
const TILE_COLUMNS: usize = 512;
/// From this many columns on, a matrix product is faster than dot products.
const PRODUCT_COLUMNS: usize = 8;
/// Multiply-adds that an exponential is worth.
const EXP_COST: usize = 14;

/// The kernel between n points.
#[derive(Debug, Default)]
pub(crate) struct Kernel {
    points: usize,
    /// The number of points, padded with zeros to a multiple of the lanes.
    stride: usize,
    dimensions: usize,
    /// Coordinates divided by sqrt(epsilon), coordinate by coordinate, `stride` apart.
    scaled: Vec<f64>,
    /// K itself, row after row, `stride` apart, when it is stored.
    stored: Option<Vec<f64>>,
    passes: AtomicUsize,
}

impl Kernel {
    /// A kernel without points; `store` says whether K is to be kept in memory.
    pub fn new(store: bool) -> Self {
        Self { stored: store.then(Vec::new), ..Self::default() }
    }

    /// Bytes that a kernel between n points in k dimensions takes.
    pub fn bytes(points: usize, dimensions: usize, store: bool) -> usize {
        let stride = points.next_multiple_of(LANES);
        let stored = if store { points.saturating_mul(stride) } else { 0 };
        stored.saturating_add(stride.saturating_mul(dimensions)).saturating_mul(8)
    }

    /// Takes the rows of `scores` as the points. Does nothing when they are the points already.
    pub fn set_points(&mut self, scores: &Matrix, epsilon: f64) {
        let stride = scores.rows().next_multiple_of(LANES);
        let scale = 1.0 / epsilon.sqrt();
        let mut scaled = vec![0.0; stride * scores.columns()];
        for (j, out) in scaled.chunks_exact_mut(stride).enumerate() {
            out.iter_mut().zip(scores.column(j)).for_each(|(o, z)| *o = z * scale);
        }
        if scaled == self.scaled && scores.rows() == self.points {
            return;
        }
        (self.points, self.dimensions, self.stride, self.scaled) = (scores.rows(), scores.columns(), stride, scaled);
        if let Some(mut stored) = self.stored.take() {
            stored.resize(self.points * self.stride, 0.0);
            let work = stored.len() * (self.dimensions + EXP_COST);
            parallel::for_chunks(&mut stored, TILE_ROWS * self.stride, work, |chunk, out| {
                let rows = chunk * TILE_ROWS..chunk * TILE_ROWS + out.len() / self.stride;
                self.distances(rows, 0, out);
                simd::exp_of_minus(out);
            });
            self.stored = Some(stored);
        }
    }

    /// Number of passes so far.
    pub fn passes(&self) -> usize {
        self.passes.load(Ordering::Relaxed)
    }

    /// One pass: K `rhs`.
    pub fn apply(&self, rhs: &Matrix) -> Matrix {
        let columns = rhs.columns();
        let padded = self.pad(rhs);
        let compute = if self.stored.is_some() { 0 } else { self.dimensions + EXP_COST };
        self.pass(columns, columns + compute, |rows, out| match &self.stored {
            Some(stored) => {
                let tile = &stored[rows.start * self.stride..rows.end * self.stride];
                for strip in parallel::blocks(self.stride, TILE_COLUMNS) {
                    let first = strip.start;
                    self.add_product(&tile[first..], self.stride, strip, &padded, out, columns);
                }
            }
            None => {
                let mut tile = vec![0.0; rows.len() * TILE_COLUMNS.min(self.stride)];
                for strip in parallel::blocks(self.stride, TILE_COLUMNS) {
                    let (first, width) = (strip.start, strip.len());
                    let tile = &mut tile[..rows.len() * width];
                    self.distances(rows.clone(), first, tile);
                    simd::exp_of_minus(tile);
                    self.add_product(tile, width, strip, &padded, out, columns);
                }
            }
        })
    }

    /// One pass: the entropy of each row of the distribution q_ij proportional to u_j K_ij.
    pub fn row_entropies(&self, u: &[f64]) -> Vec<f64> {
        // With D = -log K and t_i = sum_j u_j K_ij:  H_i = log t_i - sum_j u_j K_ij (log u_j - D_ij) / t_i.
        let logs = |u: f64| if u > 0.0 { u * u.ln() } else { 0.0 };
        let masses = self.pad(&Matrix::from_fn(self.points, 2, |j, c| if c == 0 { u[j] } else { logs(u[j]) }));
        let sums = self.pass(3, self.dimensions + EXP_COST, |rows, out| {
            let width = TILE_COLUMNS.min(self.stride);
            let mut distances = vec![0.0; rows.len() * width];
            let mut kernel = distances.clone();
            let (mut by_kernel, mut by_cost) = (vec![0.0; rows.len() * 2], vec![0.0; rows.len()]);
            for strip in parallel::blocks(self.stride, TILE_COLUMNS) {
                let (first, width) = (strip.start, strip.len());
                let (distances, kernel) = (&mut distances[..rows.len() * width], &mut kernel[..rows.len() * width]);
                self.distances(rows.clone(), first, distances);
                kernel.copy_from_slice(distances);
                simd::exp_of_minus(kernel);
                distances.iter_mut().zip(kernel.iter()).for_each(|(d, k)| *d *= k);
                simd::add_product(kernel, width, width, &masses, self.stride, first, &mut by_kernel, 2);
                simd::add_product(distances, width, width, &masses, self.stride, first, &mut by_cost, 1);
            }
            for ((out, sums), cost) in out.chunks_exact_mut(3).zip(by_kernel.chunks_exact(2)).zip(&by_cost) {
                out.copy_from_slice(&[sums[0], sums[1], *cost]);
            }
        });
        (0..self.points)
            .map(|i| {
                let total = sums.get(i, 0);
                (total.ln() - (sums.get(i, 1) - sums.get(i, 2)) / total).max(0.0)
            })
            .collect()
    }

    /// One row of K.
    pub fn row(&self, row: usize) -> Vec<f64> {
        let mut line = vec![0.0; self.stride];
        self.distances(row..row + 1, 0, &mut line);
        simd::exp_of_minus(&mut line);
        line.truncate(self.points);
        line
    }

    /// Blocks of rows, in parallel; `each(rows, out)` adds to `out`, rows x `columns`, row after row.
    fn pass(&self, columns: usize, work_per_entry: usize, each: impl Fn(Range<usize>, &mut [f64]) + Sync) -> Matrix {
        self.passes.fetch_add(1, Ordering::Relaxed);
        let mut sums = vec![0.0; self.points * columns];
        let work = self.points * self.points * work_per_entry;
        parallel::for_chunks(&mut sums, TILE_ROWS * columns, work, |chunk, out| {
            each(chunk * TILE_ROWS..chunk * TILE_ROWS + out.len() / columns, out);
        });
        Matrix::from_fn(self.points, columns, |i, j| sums[i * columns + j])
    }

    /// `out` += tile * (the rows `strip` of the right-hand side): our own loops for a few columns, a matrix product for more.
    fn add_product(
        &self,
        tile: &[f64],
        tile_stride: usize,
        strip: Range<usize>,
        rhs: &[f64],
        out: &mut [f64],
        columns: usize,
    ) {
        let (first, width, rows) = (strip.start, strip.len(), out.len() / columns);
        if columns < PRODUCT_COLUMNS {
            simd::add_product(tile, tile_stride, width, rhs, self.stride, first, out, columns);
            return;
        }
        let tile = MatRef::from_row_major_slice_with_stride(
            &tile[..(rows - 1) * tile_stride + width],
            rows,
            width,
            tile_stride,
        );
        let rhs = MatRef::from_column_major_slice(rhs, self.stride, columns).subrows(first, width);
        let out = MatMut::from_row_major_slice_mut(out, rows, columns);
        multiply(out, Accum::Add, tile, rhs);
    }

    /// |z_i - z_j|^2 / epsilon between `rows` and the points from `first` on, as many as `out` has room for.
    fn distances(&self, rows: Range<usize>, first: usize, out: &mut [f64]) {
        simd::squared_distances(&self.scaled, self.stride, rows, first, out);
    }

    fn pad(&self, columns: &Matrix) -> Vec<f64> {
        let mut padded = vec![0.0; self.stride * columns.columns()];
        for (j, out) in padded.chunks_exact_mut(self.stride).enumerate() {
            out[..self.points].copy_from_slice(columns.column(j));
        }
        padded
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn scores(points: usize, dimensions: usize) -> Matrix {
        Matrix::from_row_major(points, dimensions, &testing::gaussian(points, dimensions, 5)).unwrap()
    }

    fn definition(scores: &Matrix, epsilon: f64, i: usize, j: usize) -> f64 {
        let d: f64 = (0..scores.columns()).map(|l| (scores.get(i, l) - scores.get(j, l)).powi(2)).sum();
        (-d / epsilon).exp()
    }

    #[test]
    fn stored_and_streamed_give_the_same_bits_and_the_definition() {
        for (points, dimensions) in [(1, 1), (2, 3), (17, 2), (63, 5), (600, 3)] {
            let scores = scores(points, dimensions);
            let rhs = Matrix::from_fn(points, 6, |i, j| ((i + 2 * j) as f64).sin());
            let [stored, streamed] = [true, false].map(|store| {
                let mut kernel = Kernel::new(store);
                kernel.set_points(&scores, 0.7);
                kernel.apply(&rhs)
            });
            assert_eq!(stored, streamed);
            for (i, c) in [(0, 0), (points - 1, 5), (points / 2, 3)] {
                let want: f64 = (0..points).map(|j| definition(&scores, 0.7, i, j) * rhs.get(j, c)).sum();
                assert!((stored.get(i, c) - want).abs() < 1e-12 * points as f64);
            }
        }
    }

    #[test]
    fn entropies_agree_with_the_definition() {
        let scores = scores(40, 2);
        let u: Vec<f64> = (0..40).map(|i| 0.1 + i as f64).collect();
        for epsilon in [1e-9, 0.1, 1.0, 1e9] {
            let mut kernel = Kernel::new(true);
            kernel.set_points(&scores, epsilon);
            for (i, entropy) in kernel.row_entropies(&u).into_iter().enumerate() {
                let mass: Vec<f64> = (0..40).map(|j| u[j] * definition(&scores, epsilon, i, j)).collect();
                let total: f64 = mass.iter().sum();
                let want: f64 = mass.iter().map(|m| m / total).filter(|&q| q > 0.0).map(|q: f64| -q * q.ln()).sum();
                assert!((entropy - want).abs() < 1e-12, "{entropy} {want}");
            }
        }
    }
}
