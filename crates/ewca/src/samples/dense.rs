//! Dense data: a row-major matrix, borrowed or owned, centred strip by strip.

use std::borrow::Cow;
use std::ops::Range;

use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

use super::{Rows, Scalar, Side, magnitude};
use crate::error::Result;
use crate::matrix::{Matrix, multiply, sum_in_order};
use crate::parallel;

#[derive(Debug, Clone)]
pub(super) struct Dense<'a, T: Scalar> {
    pub data: Cow<'a, [T]>,
    pub rows: usize,
    pub columns: usize,
}

impl<T: Scalar> Dense<'_, T> {
    fn line(&self, row: usize) -> &[T] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// Writes the rows `rows` (their numbers), features `columns`, less the mean, into `panel`, row after row, each times
    /// `scale(row)`.
    fn fill_centred(
        &self,
        rows: &[usize],
        columns: Range<usize>,
        mean: &[f64],
        scale: impl Fn(usize) -> f64,
        panel: &mut [f64],
    ) {
        let mean = &mean[columns.clone()];
        for (&i, out) in rows.iter().zip(panel.chunks_exact_mut(columns.len())) {
            let factor = scale(i);
            let values = &self.line(i)[columns.clone()];
            for ((o, &x), &m) in out.iter_mut().zip(values).zip(mean) {
                *o = factor * (x.into() - m);
            }
        }
    }
}

impl<T: Scalar> Rows for Dense<'_, T> {
    fn row(&self, row: usize) -> Vec<f64> {
        self.line(row).iter().map(|&x| x.into()).collect()
    }

    fn magnitude(&self, start: usize) -> Result<f64> {
        magnitude(&self.data, |entry| (start + entry / self.columns, entry % self.columns))
    }

    fn total_variance(&self, weights: &[f64], mean: &[f64]) -> f64 {
        let blocks = parallel::blocks(self.rows, ((1 << 18) / self.columns).max(1));
        let parts = parallel::map(&blocks, self.data.len(), |block| {
            let square = |i: usize| self.line(i).iter().zip(mean).map(|(&x, m)| (x.into() - m).powi(2)).sum::<f64>();
            block.map(|i| weights[i] * square(i)).sum::<f64>()
        });
        parts.into_iter().sum()
    }

    fn pull(&self, rows: &[usize], mean: &[f64], columns: &Matrix) -> Matrix {
        // At most 8 blocks, since each brings a sum of its own.
        let blocks = parallel::blocks(rows.len(), rows.len().div_ceil(8).max(64));
        let parts = parallel::map(&blocks, rows.len() * self.columns * columns.columns(), |block| {
            let mut out = Matrix::zeros(self.columns, columns.columns());
            let mut panel = Vec::new();
            for some in parallel::blocks(block.len(), 64) {
                let some = block.start + some.start..block.start + some.end;
                panel.resize(some.len() * self.columns, 0.0);
                self.fill_centred(&rows[some.clone()], 0..self.columns, mean, |_| 1.0, &mut panel);
                let left = MatRef::from_row_major_slice(&panel, some.len(), self.columns);
                let right = columns.view().subrows(some.start, some.len());
                multiply(out.view_mut(), Accum::Add, left.transpose(), right);
            }
            out
        });
        sum_in_order(parts).unwrap_or_else(|| Matrix::zeros(self.columns, columns.columns()))
    }

    /// Sum of a_i (x_i - x_0), added to x_0: exact for constant columns, and accurate far from the origin.
    ///
    /// Wide data are cut into strips of columns, whose sums stay in the cache; others into blocks of rows.
    fn weighted_mean(&self, weights: &[f64]) -> Vec<f64> {
        let (rows, columns) = if self.columns > 4096 {
            (parallel::blocks(self.rows, self.rows), parallel::blocks(self.columns, 2048))
        } else {
            (parallel::blocks(self.rows, (1 << 18) / self.columns), parallel::blocks(self.columns, self.columns))
        };
        let tiles = parallel::blocks(rows.len() * columns.len(), 1);
        let parts = parallel::map(&tiles, self.data.len(), |tile| {
            let (rows, columns) = (&rows[tile.start / columns.len()], &columns[tile.start % columns.len()]);
            let origin = &self.line(0)[columns.clone()];
            let mut sum = vec![0.0; columns.len()];
            for i in rows.clone() {
                let weight = weights[i];
                for ((s, &x), &x0) in sum.iter_mut().zip(&self.line(i)[columns.clone()]).zip(origin) {
                    *s += weight * (x.into() - x0.into());
                }
            }
            sum
        });
        let mut mean: Vec<f64> = self.line(0).iter().map(|&x| x.into()).collect();
        for (tile, part) in parts.into_iter().enumerate() {
            mean[columns[tile % columns.len()].clone()].iter_mut().zip(part).for_each(|(m, p)| *m += p);
        }
        mean
    }

    fn gram(&self, active: &[usize], weights: &[f64], mean: &[f64], side: Side) -> Matrix {
        let (order, length) = match side {
            Side::Samples => (active.len(), self.columns),
            Side::Features => (self.columns, active.len()),
        };
        let strips = parallel::blocks(length, ((1 << 17) / order).clamp(128, 4096));
        let panels = Panels { data: self, active, weights, mean, side };
        let mut gram = if order <= SMALL_GRAM {
            // Every thread sums matrices of its own; their number is fixed, and so is the order in which they are added.
            let shares = parallel::blocks(strips.len(), strips.len().div_ceil(8).max(1));
            let parts = parallel::map(&shares, order * order / 2 * length, |share| {
                let mut part = Matrix::zeros(order, order);
                let mut panel = Vec::new();
                for strip in &strips[share] {
                    let lines = panels.fill(strip.clone(), order, &mut panel);
                    multiply_tile(part.view_mut(), lines, lines.transpose(), true);
                }
                part
            });
            sum_in_order(parts).unwrap_or_else(|| Matrix::zeros(order, order))
        } else {
            // Threads share the tiles of one matrix.
            let mut gram = Matrix::zeros(order, order);
            let tiles = Tiles::of_lower_triangle(order);
            let mut panel = Vec::new();
            for strip in strips {
                let lines = panels.fill(strip.clone(), order, &mut panel);
                let parts = parallel::map(&tiles.numbers, order * order / 2 * strip.len(), |tile| {
                    let (rows, columns) = tiles.at(tile.start);
                    let mut part = Matrix::zeros(rows.len(), columns.len());
                    let left = lines.subrows(rows.start, rows.len());
                    let right = lines.subrows(columns.start, columns.len()).transpose();
                    multiply_tile(part.view_mut(), left, right, rows == columns);
                    part
                });
                for (tile, part) in parts.iter().enumerate() {
                    let (rows, columns) = tiles.at(tile);
                    for (j, column) in columns.enumerate() {
                        let out = &mut gram.column_mut(column)[rows.clone()];
                        out.iter_mut().zip(part.column(j)).for_each(|(o, p)| *o += p);
                    }
                }
            }
            gram
        };
        gram.mirror_lower();
        gram
    }

    fn project(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Matrix {
        let components = loadings.columns();
        let work = rows.len() * self.columns * components;
        Matrix::from_row_blocks(rows.len(), components, 64, work, |block| {
            let mut part = Matrix::zeros(block.len(), components);
            let mut panel = Vec::new();
            for strip in parallel::blocks(self.columns, 1024) {
                panel.resize(block.len() * strip.len(), 0.0);
                self.fill_centred(&rows[block.clone()], strip.clone(), mean, |_| 1.0, &mut panel);
                let left = MatRef::from_row_major_slice(&panel, block.len(), strip.len());
                let right = loadings.view().subrows(strip.start, strip.len());
                multiply(part.view_mut(), Accum::Add, left, right);
            }
            part
        })
    }

    /// In one walk over the data.
    fn combine(&self, active: &[usize], mean: &[f64], combination: &Matrix) -> (Matrix, Matrix) {
        let components = combination.columns();
        let work = 2 * self.rows * self.columns * components;
        // Samples that are not active have no part in the combination.
        let mut all = Matrix::zeros(self.rows, components);
        for (place, &i) in active.iter().enumerate() {
            (0..components).for_each(|c| all.set(i, c, combination.get(place, c)));
        }
        let rows: Vec<usize> = (0..self.rows).collect();
        // At most 64 strips, since each brings scores of all samples.
        let width = ((1 << 18) / self.rows).clamp(64, 1024).max(self.columns.div_ceil(64));
        let strips = parallel::blocks(self.columns, width);
        let parts = parallel::map(&strips, work, |strip| {
            let mut panel = vec![0.0; self.rows * strip.len()];
            self.fill_centred(&rows, strip.clone(), mean, |_| 1.0, &mut panel);
            let panel = MatRef::from_row_major_slice(&panel, self.rows, strip.len());
            let mut loadings = Matrix::zeros(strip.len(), components);
            multiply(loadings.view_mut(), Accum::Replace, panel.transpose(), all.view());
            let mut scores = Matrix::zeros(self.rows, components);
            multiply(scores.view_mut(), Accum::Replace, panel, loadings.view());
            (loadings, scores)
        });
        let (mut loadings, mut scores) =
            (Matrix::zeros(self.columns, components), Matrix::zeros(self.rows, components));
        for (strip, (part, sum)) in strips.iter().zip(&parts) {
            for j in 0..components {
                loadings.column_mut(j)[strip.clone()].copy_from_slice(part.column(j));
            }
            scores.add_scaled(1.0, sum);
        }
        (loadings, scores)
    }
}

/// Gram matrices up to this order are summed by each thread on its own.
pub(crate) const SMALL_GRAM: usize = 512;

/// Strips of the weighted, centred data, as the lines of a Gram matrix.
struct Panels<'a, T: Scalar> {
    data: &'a Dense<'a, T>,
    active: &'a [usize],
    weights: &'a [f64],
    mean: &'a [f64],
    side: Side,
}

impl<T: Scalar> Panels<'_, T> {
    /// The `strip` of the side that is summed over: order x strip.
    fn fill<'p>(&self, strip: Range<usize>, order: usize, panel: &'p mut Vec<f64>) -> MatRef<'p, f64> {
        panel.resize(order * strip.len(), 0.0);
        // Both ways the panel holds rows of the centred data one after the other; only the reading of it differs.
        let (rows, columns) = match self.side {
            Side::Samples => (self.active, strip.clone()),
            Side::Features => (&self.active[strip.clone()], 0..order),
        };
        let line = columns.len();
        parallel::for_chunks(panel, 64 * line, order * strip.len(), |chunk, out| {
            let rows = &rows[chunk * 64..][..out.len() / line];
            self.data.fill_centred(rows, columns.clone(), self.mean, |i| self.weights[i].sqrt(), out);
        });
        match self.side {
            Side::Samples => MatRef::from_row_major_slice(panel, order, strip.len()),
            Side::Features => MatRef::from_column_major_slice(panel, order, strip.len()),
        }
    }
}

/// The tiles of a lower triangle.
struct Tiles {
    lines: Vec<Range<usize>>,
    pairs: Vec<(usize, usize)>,
    /// A range of length 1 per tile: what `parallel::map` goes over.
    numbers: Vec<Range<usize>>,
}

impl Tiles {
    fn of_lower_triangle(order: usize) -> Self {
        let lines = parallel::blocks(order, 256);
        let pairs: Vec<_> = (0..lines.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
        let numbers = parallel::blocks(pairs.len(), 1);
        Self { lines, pairs, numbers }
    }

    fn at(&self, tile: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) = self.pairs[tile];
        (self.lines[row].clone(), self.lines[column].clone())
    }
}

/// Not generic, like `multiply`.
#[inline(never)]
fn multiply_tile(out: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>, diagonal: bool) {
    if diagonal {
        use BlockStructure::{Rectangular, TriangularLower};
        triangular::matmul(out, TriangularLower, Accum::Add, left, Rectangular, right, Rectangular, 1.0, Par::Seq);
    } else {
        multiply(out, Accum::Add, left, right);
    }
}
