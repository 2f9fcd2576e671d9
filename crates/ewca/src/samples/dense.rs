//! Dense data, borrowed or owned, by rows or by columns, centred strip by strip.

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
    pub data: Lines<'a, T>,
    pub rows: usize,
    pub columns: usize,
}

/// Where the rows are.
#[derive(Debug, Clone)]
pub(super) enum Lines<'a, T: Scalar> {
    /// One behind the other.
    Whole(Cow<'a, [T]>),
    /// Each somewhere else.
    Apart(Vec<&'a [T]>),
    /// Columns, each somewhere, with a value of a row every `step`.
    Columns { columns: Vec<&'a [T]>, step: usize },
}

impl<T: Scalar> Dense<'_, T> {
    /// Calls `each` with each of these rows (by number, in order) and its values in `range`. Where rows do not lie in one piece, some
    /// are put together at a time.
    fn each_line(&self, rows: impl Iterator<Item = usize>, range: Range<usize>, mut each: impl FnMut(usize, &[T])) {
        match &self.data {
            Lines::Whole(data) => rows.for_each(|i| each(i, &data[i * self.columns..][range.clone()])),
            Lines::Apart(lines) => rows.for_each(|i| each(i, &lines[i][range.clone()])),
            Lines::Columns { columns, step } => {
                let (columns, width) = (&columns[range.clone()], range.len());
                let size = parallel::lines_of(width, GATHERED, 8..=64);
                let (mut rows, mut some, mut gathered) = (rows.peekable(), Vec::new(), Vec::new());
                while rows.peek().is_some() {
                    some.clear();
                    some.extend(rows.by_ref().take(size));
                    gathered.resize(some.len() * width, columns[0][0]);
                    for (j, column) in columns.iter().enumerate() {
                        let out = gathered[j..].iter_mut().step_by(width);
                        some.iter().zip(out).for_each(|(&i, out)| *out = column[i * step]);
                    }
                    some.iter().zip(gathered.chunks_exact(width)).for_each(|(&i, line)| each(i, line));
                }
            }
        }
    }

    /// Some values of one row.
    fn part_of_row(&self, row: usize, range: Range<usize>) -> Vec<f64> {
        let mut values = Vec::new();
        self.each_line([row].into_iter(), range, |_, line| values.extend(line.iter().map(|&x| x.into())));
        values
    }
}

impl<T: Scalar> Rows for Dense<'_, T> {
    fn row(&self, row: usize) -> Vec<f64> {
        self.part_of_row(row, 0..self.columns)
    }

    fn magnitude(&self, start: usize) -> Result<f64> {
        match &self.data {
            Lines::Whole(data) => magnitude(data, |entry| (start + entry / self.columns, entry % self.columns)),
            Lines::Apart(lines) => lines.iter().enumerate().try_fold(0.0f64, |largest, (row, line)| {
                Ok(largest.max(magnitude(line, |column| (start + row, column))?))
            }),
            Lines::Columns { .. } => {
                let blocks = parallel::blocks(self.rows, parallel::lines_of(self.columns, BLOCK, 8..=usize::MAX));
                let parts = parallel::map(&blocks, parallel::work(&[self.rows, self.columns]), |block| {
                    let mut largest = Ok(0.0f64);
                    self.each_line(block, 0..self.columns, |row, line| {
                        if let Ok(most) = largest {
                            largest = magnitude(line, |column| (start + row, column)).map(|new| most.max(new));
                        }
                    });
                    largest
                });
                parts.into_iter().try_fold(0.0f64, |a, b| b.map(|b| a.max(b)))
            }
        }
    }

    fn total_variance(&self, weights: &[f64], mean: &[f64]) -> f64 {
        let blocks = parallel::blocks(self.rows, parallel::lines_of(self.columns, BLOCK, 1..=usize::MAX));
        let parts = parallel::map(&blocks, parallel::work(&[self.rows, self.columns]), |block| {
            let mut sum = 0.0;
            self.each_line(block, 0..self.columns, |i, line| {
                sum += weights[i] * line.iter().zip(mean).map(|(&x, m)| (x.into() - m).powi(2)).sum::<f64>();
            });
            sum
        });
        parts.into_iter().sum()
    }

    /// Sum of a_i (x_i - x_0), added to x_0: exact for constant columns, and accurate far from the origin.
    ///
    /// Wide data are cut into strips of columns, whose sums stay in the cache; others into blocks of rows.
    fn weighted_mean(&self, weights: &[f64]) -> Vec<f64> {
        let (rows, columns) = if self.columns > 4096 {
            (parallel::blocks(self.rows, self.rows), parallel::blocks(self.columns, 2048))
        } else {
            let size = parallel::lines_of(self.columns, BLOCK, 1..=usize::MAX);
            (parallel::blocks(self.rows, size), parallel::blocks(self.columns, self.columns))
        };
        let tiles = parallel::blocks(rows.len() * columns.len(), 1);
        let parts = parallel::map(&tiles, parallel::work(&[self.rows, self.columns]), |tile| {
            let (rows, columns) = (&rows[tile.start / columns.len()], &columns[tile.start % columns.len()]);
            let origin = self.part_of_row(0, columns.clone());
            let mut sum = vec![0.0; columns.len()];
            self.each_line(rows.clone(), columns.clone(), |i, line| {
                let weight = weights[i];
                for ((s, &x), x0) in sum.iter_mut().zip(line).zip(&origin) {
                    *s += weight * (x.into() - x0);
                }
            });
            sum
        });
        let mut mean = self.part_of_row(0, 0..self.columns);
        for (tile, part) in parts.into_iter().enumerate() {
            mean[columns[tile % columns.len()].clone()].iter_mut().zip(part).for_each(|(m, p)| *m += p);
        }
        mean
    }

    fn transpose_times(&self, rows: &[usize], mean: &[f64], columns: &Matrix) -> Matrix {
        (self as &dyn Centred).transpose_times(rows, mean, columns)
    }

    fn gram(&self, active: &[usize], weights: &[f64], mean: &[f64], side: Side) -> Matrix {
        (self as &dyn Centred).gram(active, weights, mean, side)
    }

    fn project(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Matrix {
        (self as &dyn Centred).project(rows, mean, loadings)
    }

    fn lift(&self, active: &[usize], mean: &[f64], combination: &Matrix) -> (Matrix, Matrix) {
        (self as &dyn Centred).lift(active, mean, combination)
    }
}

/// Dense rows of any type: all that needs to know the type are these.
trait Centred: Sync {
    fn rows(&self) -> usize;

    fn columns(&self) -> usize;

    /// Writes the rows `rows` (their numbers), features `columns`, less the mean, into `panel`, row after row, each times
    /// the root of its weight, where there are weights.
    fn fill_centred(
        &self,
        rows: &[usize],
        columns: Range<usize>,
        mean: &[f64],
        weights: Option<&[f64]>,
        panel: &mut [f64],
    );
}

impl<T: Scalar> Centred for Dense<'_, T> {
    fn rows(&self) -> usize {
        self.rows
    }

    fn columns(&self) -> usize {
        self.columns
    }

    fn fill_centred(
        &self,
        rows: &[usize],
        columns: Range<usize>,
        mean: &[f64],
        weights: Option<&[f64]>,
        panel: &mut [f64],
    ) {
        let mean = &mean[columns.clone()];
        let mut panel = panel.chunks_exact_mut(columns.len());
        self.each_line(rows.iter().copied(), columns, |i, values| {
            let out = panel.next().unwrap_or_default().iter_mut().zip(values).zip(mean);
            match weights {
                None => out.for_each(|((o, &x), &m)| *o = x.into() - m),
                Some(weights) => {
                    let factor = weights[i].sqrt();
                    out.for_each(|((o, &x), &m)| *o = factor * (x.into() - m));
                }
            }
        });
    }
}

impl dyn Centred + '_ {
    /// `pull` for wide data: a strip of features after the other, each by one thread.
    fn pull_by_strips(&self, rows: &[usize], mean: &[f64], columns: &Matrix) -> Matrix {
        let width = parallel::lines_of(rows.len(), PANEL, 64..=1024);
        let strips = parallel::blocks(self.columns(), width);
        let parts = parallel::map(&strips, parallel::work(&[rows.len(), self.columns(), columns.columns()]), |strip| {
            let mut panel = vec![0.0; rows.len() * strip.len()];
            self.fill_centred(rows, strip.clone(), mean, None, &mut panel);
            let panel = MatRef::from_row_major_slice(&panel, rows.len(), strip.len());
            let mut part = Matrix::zeros(strip.len(), columns.columns());
            multiply(part.view_mut(), Accum::Replace, panel.transpose(), columns.view());
            part
        });
        let mut out = Matrix::zeros(self.columns(), columns.columns());
        for (strip, part) in strips.iter().zip(&parts) {
            (0..columns.columns()).for_each(|j| out.column_mut(j)[strip.clone()].copy_from_slice(part.column(j)));
        }
        out
    }

    fn transpose_times(&self, rows: &[usize], mean: &[f64], columns: &Matrix) -> Matrix {
        if self.columns() > rows.len() {
            return self.pull_by_strips(rows, mean, columns);
        }
        // At most 8 blocks, since each brings a sum of its own.
        let blocks = parallel::blocks(rows.len(), rows.len().div_ceil(8).max(64));
        let parts = parallel::map(&blocks, parallel::work(&[rows.len(), self.columns(), columns.columns()]), |block| {
            let mut out = Matrix::zeros(self.columns(), columns.columns());
            let mut panel = Vec::new();
            for some in parallel::blocks(block.len(), 64) {
                let some = block.start + some.start..block.start + some.end;
                panel.resize(some.len() * self.columns(), 0.0);
                self.fill_centred(&rows[some.clone()], 0..self.columns(), mean, None, &mut panel);
                let left = MatRef::from_row_major_slice(&panel, some.len(), self.columns());
                let right = columns.view().subrows(some.start, some.len());
                multiply(out.view_mut(), Accum::Add, left.transpose(), right);
            }
            out
        });
        sum_in_order(parts).unwrap_or_else(|| Matrix::zeros(self.columns(), columns.columns()))
    }

    fn gram(&self, active: &[usize], weights: &[f64], mean: &[f64], side: Side) -> Matrix {
        let (order, length) = match side {
            Side::Samples => (active.len(), self.columns()),
            Side::Features => (self.columns(), active.len()),
        };
        let strips = parallel::blocks(length, strip_width(order));
        let panels = Panels { data: self, active, weights, mean, side };
        let mut gram = if order <= SMALL_GRAM {
            // Every thread sums matrices of its own; their number is fixed, and so is the order in which they are added.
            let shares = parallel::blocks(strips.len(), strips.len().div_ceil(8).max(1));
            let parts = parallel::map(&shares, parallel::work(&[order, order.div_ceil(2), length]), |share| {
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
                let work = parallel::work(&[order, order.div_ceil(2), strip.len()]);
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
            gram
        };
        gram.mirror_lower();
        gram
    }

    fn project(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Matrix {
        let components = loadings.columns();
        let work = parallel::work(&[rows.len(), self.columns(), components]);
        Matrix::from_row_blocks(rows.len(), components, 64, work, |block| {
            let mut part = Matrix::zeros(block.len(), components);
            let mut panel = Vec::new();
            for strip in parallel::blocks(self.columns(), 1024) {
                panel.resize(block.len() * strip.len(), 0.0);
                self.fill_centred(&rows[block.clone()], strip.clone(), mean, None, &mut panel);
                let left = MatRef::from_row_major_slice(&panel, block.len(), strip.len());
                let right = loadings.view().subrows(strip.start, strip.len());
                multiply(part.view_mut(), Accum::Add, left, right);
            }
            part
        })
    }

    /// In one walk over the data.
    fn lift(&self, active: &[usize], mean: &[f64], combination: &Matrix) -> (Matrix, Matrix) {
        let components = combination.columns();
        let work = parallel::work(&[2, self.rows(), self.columns(), components]);
        // Samples that are not active have no part in the combination.
        let mut all = Matrix::zeros(self.rows(), components);
        for (place, &i) in active.iter().enumerate() {
            (0..components).for_each(|c| all.set(i, c, combination.get(place, c)));
        }
        let rows: Vec<usize> = (0..self.rows()).collect();
        // At most 64 strips, since each brings scores of all samples.
        let width = parallel::lines_of(self.rows(), BLOCK, 64..=1024).max(self.columns().div_ceil(64));
        let strips = parallel::blocks(self.columns(), width);
        let parts = parallel::map(&strips, work, |strip| {
            let mut panel = vec![0.0; self.rows() * strip.len()];
            self.fill_centred(&rows, strip.clone(), mean, None, &mut panel);
            let panel = MatRef::from_row_major_slice(&panel, self.rows(), strip.len());
            let mut loadings = Matrix::zeros(strip.len(), components);
            multiply(loadings.view_mut(), Accum::Replace, panel.transpose(), all.view());
            let mut scores = Matrix::zeros(self.rows(), components);
            multiply(scores.view_mut(), Accum::Replace, panel, loadings.view());
            (loadings, scores)
        });
        let (mut loadings, mut scores) =
            (Matrix::zeros(self.columns(), components), Matrix::zeros(self.rows(), components));
        for (strip, (part, sum)) in strips.iter().zip(&parts) {
            for j in 0..components {
                loadings.column_mut(j)[strip.clone()].copy_from_slice(part.column(j));
            }
            scores.add_scaled(1.0, sum);
        }
        (loadings, scores)
    }
}

/// Numbers in a block of rows, and in a centred strip: so many stay in the cache.
const BLOCK: usize = 1 << 18;
const PANEL: usize = 1 << 17;
/// Numbers of rows that are put together from their columns.
const GATHERED: usize = 1 << 15;

/// How many rows or features a Gram matrix of this order takes at a time.
pub(super) fn strip_width(order: usize) -> usize {
    parallel::lines_of(order, PANEL, 128..=4096)
}

/// Gram matrices up to this order are summed by each thread on its own.
pub(super) const SMALL_GRAM: usize = 512;

/// Strips of the weighted, centred data, as the lines of a Gram matrix.
struct Panels<'a> {
    data: &'a dyn Centred,
    active: &'a [usize],
    weights: &'a [f64],
    mean: &'a [f64],
    side: Side,
}

impl Panels<'_> {
    /// The `strip` of the side that is summed over: order x strip.
    fn fill<'p>(&self, strip: Range<usize>, order: usize, panel: &'p mut Vec<f64>) -> MatRef<'p, f64> {
        panel.resize(order * strip.len(), 0.0);
        // Both ways the panel holds rows of the centred data one after the other; only the reading of it differs.
        let (rows, columns) = match self.side {
            Side::Samples => (self.active, strip.clone()),
            Side::Features => (&self.active[strip.clone()], 0..order),
        };
        let line = columns.len();
        parallel::for_chunks(panel, 64 * line, parallel::work(&[order, strip.len()]), |chunk, out| {
            let rows = &rows[chunk * 64..][..out.len() / line];
            self.data.fill_centred(rows, columns.clone(), self.mean, Some(self.weights), out);
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

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::error::Error;
    use crate::testing;

    /// Shapes that are cut into strips, blocks and tiles in all ways.
    const SHAPES: [(usize, usize); 7] = [(7, 5), (5, 7), (600, 300), (70, 2100), (300, 600), (3, 5000), (34000, 9)];

    fn close(name: &str, found: &Matrix, wanted: impl Fn(usize, usize) -> f64, shape: (usize, usize)) {
        assert_eq!((found.rows(), found.columns()), shape, "{name}");
        let scale = found.norm() / (shape.0 as f64 * shape.1 as f64).sqrt();
        for (i, j) in (0..shape.0).flat_map(|i| (0..shape.1).map(move |j| (i, j))) {
            let (x, y) = (found.get(i, j), wanted(i, j));
            assert!((x - y).abs() <= 1e-10 * (scale + y.abs()), "{name} ({i}, {j}): {x}, by hand {y}");
        }
    }

    /// Every operation on `rows` against plain loops over the same `data`, about a point that is not their mean.
    pub fn check_operations(rows: &dyn Rows, data: &[f64], columns: usize) {
        let n = data.len() / columns;
        let mean: Vec<f64> = (0..columns).map(|j| 0.1 * (j % 7) as f64 - 0.2).collect();
        let total: f64 = (0..n).map(|i| (i % 5) as f64).sum();
        let weights: Vec<f64> = (0..n).map(|i| (i % 5) as f64 / total).collect();
        let active: Vec<usize> = (0..n).filter(|i| i % 5 > 0).collect();
        let x = |i: usize, j: usize| data[i * columns + j];
        let centred = |i: usize, j: usize| x(i, j) - mean[j];

        assert_eq!(rows.row(n - 1), &data[(n - 1) * columns..]);
        let largest = data.iter().fold(0.0, |m: f64, x| m.max(x.abs()));
        assert_eq!(rows.magnitude(0).unwrap(), largest);
        let average = Matrix::from_column_major(columns, 1, rows.weighted_mean(&weights)).unwrap();
        close("mean", &average, |j, _| (0..n).map(|i| weights[i] * x(i, j)).sum(), (columns, 1));
        let by_hand: f64 = (0..n).map(|i| weights[i] * (0..columns).map(|j| centred(i, j).powi(2)).sum::<f64>()).sum();
        let variance = rows.total_variance(&weights, &mean);
        assert!((variance - by_hand).abs() < 1e-11 * by_hand, "{variance} {by_hand}");

        let loadings = Matrix::from_fn(columns, 11, |j, c| ((3 * j + c) as f64).sin());
        let some: Vec<usize> = (0..n).filter(|i| i % 3 != 1).collect();
        let project = |i: usize, c: usize| (0..columns).map(|j| centred(i, j) * loadings.get(j, c)).sum();
        let projected = rows.project(&some, &mean, &loadings);
        close("project", &projected, |i, c| project(some[i], c), (some.len(), 11));
        let combination = Matrix::from_fn(active.len(), 10, |i, c| ((2 * i + c) as f64).cos() / (1.0 + i as f64));
        let pulled = Matrix::from_fn(columns, 10, |j, c| {
            active.iter().enumerate().map(|(at, &i)| centred(i, j) * combination.get(at, c)).sum()
        });
        let pull = rows.transpose_times(&active, &mean, &combination);
        close("pull", &pull, |j, c| pulled.get(j, c), (columns, 10));
        assert_eq!(rows.transpose_times(&[], &mean, &Matrix::zeros(0, 10)), Matrix::zeros(columns, 10));
        let (loadings, scores) = rows.lift(&active, &mean, &combination);
        close("combine", &loadings, |j, c| pulled.get(j, c), (columns, 10));
        let project = |i: usize, c: usize| (0..columns).map(|j| centred(i, j) * pulled.get(j, c)).sum();
        close("combined scores", &scores, project, (n, 10));

        // Some entries of large matrices, which reach every tile.
        let entry = |between: Side, i: usize, j: usize| -> f64 {
            match between {
                Side::Samples => {
                    let (i, j) = (active[i], active[j]);
                    (weights[i] * weights[j]).sqrt() * (0..columns).map(|l| centred(i, l) * centred(j, l)).sum::<f64>()
                }
                Side::Features => active.iter().map(|&l| weights[l] * centred(l, i) * centred(l, j)).sum(),
            }
        };
        for (side, order) in [(Side::Samples, active.len()), (Side::Features, columns)] {
            if order > 1000 {
                continue;
            }
            let gram = rows.gram(&active, &weights, &mean, side);
            assert_eq!((gram.rows(), gram.columns()), (order, order));
            let step = order / 40 + 1;
            let scale = (0..order).map(|i| gram.get(i, i)).fold(0.0, f64::max);
            for (i, j) in (0..order).step_by(step).flat_map(|i| (0..order).step_by(step).map(move |j| (i, j))) {
                let (found, wanted) = (gram.get(i, j), entry(side, i, j));
                assert!((found - wanted).abs() < 1e-12 * scale, "{side:?} ({i}, {j}): {found}, by hand {wanted}");
            }
        }
    }

    #[test]
    fn operations_are_those_of_plain_loops() {
        for (rows, columns) in SHAPES {
            let data = testing::gaussian(rows, columns, 5);
            check_operations(&Dense { data: Lines::Whole(Cow::Borrowed(&data[..])), rows, columns }, &data, columns);
            if rows > 500 {
                continue;
            }
            let lines = data.chunks_exact(columns).collect();
            check_operations(&Dense { data: Lines::Apart(lines), rows, columns }, &data, columns);
            let slices = (0..columns).map(|j| &data[j..]).collect();
            let by_columns = Lines::Columns { columns: slices, step: columns };
            check_operations(&Dense { data: by_columns, rows, columns }, &data, columns);
        }
    }

    /// However they lie, the same numbers give the same bits.
    #[test]
    fn columns_give_the_bits_of_rows() {
        for (rows, columns) in SHAPES {
            let data: Vec<f32> = testing::gaussian(rows, columns, 5).iter().map(|&x| x as f32).collect();
            let fortran: Vec<f32> = (0..rows * columns).map(|at| data[at % rows * columns + at / rows]).collect();
            let by_rows = Dense { data: Lines::Whole(Cow::Borrowed(&data[..])), rows, columns };
            let slices = fortran.chunks_exact(rows).collect();
            let by_columns = Dense { data: Lines::Columns { columns: slices, step: 1 }, rows, columns };
            let weights: Vec<f64> = (0..rows).map(|i| (i % 5) as f64 / (2 * rows) as f64).collect();
            let active: Vec<usize> = (0..rows).filter(|i| i % 5 > 0).collect();
            let operations = |dense: &Dense<'_, f32>| {
                let mean = dense.weighted_mean(&weights);
                let numbers = [dense.magnitude(0).unwrap(), dense.total_variance(&weights, &mean)].map(f64::to_bits);
                let combination = Matrix::from_fn(active.len(), 2, |i, c| ((2 * i + c) as f64).cos());
                let loadings = dense.transpose_times(&active, &mean, &combination);
                let mut matrices = vec![dense.project(&active, &mean, &loadings), loadings];
                matrices.extend(<[Matrix; 2]>::from(dense.lift(&active, &mean, &combination)));
                for (side, order) in [(Side::Samples, active.len()), (Side::Features, columns)] {
                    if order <= 1000 {
                        matrices.push(dense.gram(&active, &weights, &mean, side));
                    }
                }
                let bits = |values: &[f64]| values.iter().map(|x| x.to_bits()).collect::<Vec<_>>();
                let matrices: Vec<_> = matrices.iter().map(|matrix| bits(matrix.as_column_major())).collect();
                (dense.row(rows - 1), numbers, bits(&mean), matrices)
            };
            assert!(operations(&by_rows) == operations(&by_columns), "{rows} x {columns}");
        }
    }

    #[test]
    fn what_is_no_number_is_named_by_its_place() {
        let mut data = testing::gaussian(6, 4, 1);
        data[4 * 4 + 3] = f64::NAN;
        // A later one in an earlier column: the first by rows is named.
        data[5 * 4] = f64::INFINITY;
        let by_columns = Lines::Columns { columns: (0..4).map(|j| &data[j..]).collect(), step: 4 };
        for data in [Lines::Whole(Cow::Borrowed(&data[..])), Lines::Apart(data.chunks_exact(4).collect()), by_columns] {
            let dense = Dense { data, rows: 6, columns: 4 };
            assert!(matches!(dense.magnitude(100), Err(Error::NotFinite { row: 104, column: 3, .. })));
        }
    }
}
