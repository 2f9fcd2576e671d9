//! Dense data: a row-major matrix, borrowed or owned, centred strip by strip.

use std::borrow::Cow;
use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::linalg::matmul::triangular::{self, BlockStructure};
use faer::{Accum, MatMut, MatRef, Par};

use super::{Scalar, Side};
use crate::matrix::Matrix;
use crate::parallel;

#[derive(Debug, Clone)]
pub(super) struct Dense<'a, T: Scalar> {
    pub data: Cow<'a, [T]>,
    pub rows: usize,
    pub columns: usize,
}

impl<T: Scalar> Dense<'_, T> {
    pub fn row(&self, row: usize) -> &[T] {
        &self.data[row * self.columns..(row + 1) * self.columns]
    }

    /// Blocks of rows of about a quarter of a million values, whatever the number of threads.
    fn row_blocks(&self) -> Vec<Range<usize>> {
        parallel::blocks(self.rows, ((1 << 18) / self.columns).clamp(1, 4096))
    }

    /// Sum of a_i (x_i - x_0), added to x_0: exact for constant columns, and accurate far from the origin.
    pub fn weighted_mean(&self, weights: &[f64]) -> Vec<f64> {
        let parts = parallel::map(&self.row_blocks(), self.data.len(), |block| {
            let mut sum = vec![0.0; self.columns];
            for i in block {
                let weight = weights[i];
                for ((s, &x), &x0) in sum.iter_mut().zip(self.row(i)).zip(self.row(0)) {
                    *s += weight * (x.into() - x0.into());
                }
            }
            sum
        });
        let mut mean: Vec<f64> = self.row(0).iter().map(|&x| x.into()).collect();
        for part in parts {
            mean.iter_mut().zip(part).for_each(|(m, p)| *m += p);
        }
        mean
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
            let values = &self.row(i)[columns.clone()];
            for ((o, &x), &m) in out.iter_mut().zip(values).zip(mean) {
                *o = factor * (x.into() - m);
            }
        }
    }

    /// The Gram matrix of diag(a)^1/2 (X - mean) over the `active` rows, between samples or between features.
    pub fn gram(&self, active: &[usize], weights: &[f64], mean: &[f64], side: Side) -> Matrix {
        let (order, length) = match side {
            Side::Samples => (active.len(), self.columns),
            Side::Features => (self.columns, active.len()),
        };
        let mut gram = Matrix::zeros(order, order);
        let tiles = Tiles::of_lower_triangle(order);
        let root = |i: usize| weights[i].sqrt();
        let width = ((1 << 18) / order).clamp(256, 4096);
        let mut panel = vec![0.0; order * width.min(length)];
        for strip in parallel::blocks(length, width) {
            let panel = &mut panel[..order * strip.len()];
            let work = panel.len() * order / 2;
            // Both ways the panel holds rows of the centred data one after the other; only the reading of it differs.
            let (rows_at_once, line) = match side {
                Side::Samples => (16, strip.len()),
                Side::Features => (64, order),
            };
            parallel::for_chunks(panel, rows_at_once * line, 4 * work, |chunk, out| {
                let (first, columns) = match side {
                    Side::Samples => (0, strip.clone()),
                    Side::Features => (strip.start, 0..order),
                };
                let rows = &active[first + chunk * rows_at_once..][..out.len() / line];
                self.fill_centred(rows, columns, mean, root, out);
            });
            let lines = match side {
                Side::Samples => MatRef::from_row_major_slice(panel, order, strip.len()),
                Side::Features => MatRef::from_column_major_slice(panel, order, strip.len()),
            };
            let parts = parallel::map(&tiles.numbers, work, |tile| {
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
        gram.mirror_lower();
        gram
    }

    /// (X - mean) `loadings`, for the given rows.
    pub fn project(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Matrix {
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
                matmul(part.view_mut(), Accum::Add, left, right, 1.0, Par::Seq);
            }
            part
        })
    }

    /// (X - mean)' `combination`, over the `active` rows: features as combinations of samples.
    pub fn combine(&self, active: &[usize], mean: &[f64], combination: &Matrix) -> Matrix {
        let components = combination.columns();
        let work = active.len() * self.columns * components;
        Matrix::from_row_blocks(self.columns, components, 1024, work, |strip| {
            let mut panel = vec![0.0; active.len() * strip.len()];
            self.fill_centred(active, strip.clone(), mean, |_| 1.0, &mut panel);
            let left = MatRef::from_row_major_slice(&panel, active.len(), strip.len()).transpose();
            let mut part = Matrix::zeros(strip.len(), components);
            matmul(part.view_mut(), Accum::Replace, left, combination.view(), 1.0, Par::Seq);
            part
        })
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
        let size = if order <= 96 { order } else { order.div_ceil(4).clamp(48, 384) };
        let lines = parallel::blocks(order, size);
        let pairs: Vec<_> = (0..lines.len()).flat_map(|i| (0..=i).map(move |j| (i, j))).collect();
        let numbers = parallel::blocks(pairs.len(), 1);
        Self { lines, pairs, numbers }
    }

    fn at(&self, tile: usize) -> (Range<usize>, Range<usize>) {
        let (row, column) = self.pairs[tile];
        (self.lines[row].clone(), self.lines[column].clone())
    }
}

fn multiply_tile(out: MatMut<'_, f64>, left: MatRef<'_, f64>, right: MatRef<'_, f64>, diagonal: bool) {
    if diagonal {
        use BlockStructure::{Rectangular, TriangularLower};
        triangular::matmul(out, TriangularLower, Accum::Add, left, Rectangular, right, Rectangular, 1.0, Par::Seq);
    } else {
        matmul(out, Accum::Add, left, right, 1.0, Par::Seq);
    }
}
