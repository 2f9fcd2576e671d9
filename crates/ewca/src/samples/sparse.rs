//! Sparse data: compressed rows, never made dense. The centring is done on paper.

use std::borrow::Cow;

use super::{Rows, Scalar, Side, magnitude};
use crate::error::{Error, Result};
use crate::matrix::{Matrix, dot};
use crate::parallel;

/// Compressed sparse rows, with the same matrix by columns.
#[derive(Debug, Clone)]
pub(super) struct Sparse<'a, T: Scalar> {
    by_row: Compressed<'a, T>,
    by_column: Compressed<'static, T>,
}

/// Lines (rows or columns) of a sparse matrix: where each begins, and the position and value of each entry.
#[derive(Debug, Clone)]
struct Compressed<'a, T: Scalar> {
    offsets: Cow<'a, [usize]>,
    positions: Cow<'a, [u32]>,
    values: Cow<'a, [T]>,
}

impl<T: Scalar> Compressed<'_, T> {
    fn lines(&self) -> usize {
        self.offsets.len() - 1
    }

    fn line(&self, line: usize) -> impl Iterator<Item = (usize, f64)> {
        let range = self.offsets[line]..self.offsets[line + 1];
        self.positions[range.clone()].iter().zip(&self.values[range]).map(|(&p, &v)| (p as usize, v.into()))
    }

    /// The sum of the lines of `table` at the positions of a line, times its values, in the first `sums.len()` columns.
    fn combine(&self, line: usize, table: &ColumnGroups, sums: &mut [f64]) {
        for (at, sums) in sums.chunks_mut(WIDTH).enumerate() {
            let mut partial = [0.0; WIDTH];
            for (position, value) in self.line(line) {
                let entries = &table.groups[at * table.lines + position];
                partial.iter_mut().zip(entries).for_each(|(sum, x)| *sum += value * x);
            }
            sums.iter_mut().zip(partial).for_each(|(sum, x)| *sum = x);
        }
    }
}

/// Columns that are summed side by side, in registers.
const WIDTH: usize = 8;

/// A matrix, so many columns after the other: all lines of the first ones, then all of the next.
struct ColumnGroups {
    groups: Vec<[f64; WIDTH]>,
    lines: usize,
}

impl ColumnGroups {
    fn new(lines: usize, columns: usize) -> Self {
        Self { groups: vec![[0.0; WIDTH]; lines * columns.div_ceil(WIDTH)], lines }
    }

    fn set(&mut self, line: usize, column: usize, value: f64) {
        self.groups[column / WIDTH * self.lines + line][column % WIDTH] = value;
    }
}

impl<'a, T: Scalar> Sparse<'a, T> {
    /// Checks the structure: offsets that rise from 0 to the number of entries, positions that rise within a row and exist.
    pub fn new(offsets: &'a [usize], positions: &'a [u32], values: &'a [T], columns: usize) -> Result<Self> {
        let wrong = |what: String| Error::Sparse { what };
        let rows = offsets.len().saturating_sub(1);
        if offsets.first() != Some(&0) || offsets.last() != Some(&values.len()) || positions.len() != values.len() {
            return Err(wrong(format!(
                "row offsets must run from 0 to the number of entries ({} values, {} column indices)",
                values.len(),
                positions.len()
            )));
        }
        if let Some(row) = (0..rows).find(|&i| offsets[i] > offsets[i + 1]) {
            return Err(wrong(format!("the offsets fall after row {row}")));
        }
        for row in 0..rows {
            let line = &positions[offsets[row]..offsets[row + 1]];
            if line.windows(2).any(|w| w[0] >= w[1]) {
                return Err(wrong(format!("the column indices of row {row} are not in ascending order")));
            }
            if line.last().is_some_and(|&last| last as usize >= columns) {
                return Err(wrong(format!("row {row} has a column index beyond the {columns} columns")));
            }
        }
        let by_row = Compressed {
            offsets: Cow::Borrowed(offsets),
            positions: Cow::Borrowed(positions),
            values: Cow::Borrowed(values),
        };
        let by_column = transposed(&by_row, columns);
        Ok(Self { by_row, by_column })
    }

    fn values(&self) -> &[T] {
        &self.by_row.values
    }

    /// The row and column of an entry.
    fn place(&self, entry: usize) -> (usize, usize) {
        let row = self.by_row.offsets.partition_point(|&offset| offset <= entry) - 1;
        (row, self.by_row.positions[entry] as usize)
    }

    /// A symmetric matrix by rows of its lower triangle: `add(position, value, row)` for each entry of the line.
    fn lower_products<I: Iterator<Item = (usize, f64)>>(
        &self,
        order: usize,
        line: impl Fn(usize) -> I + Sync,
        add: impl Fn(usize, f64, &mut [f64]) + Sync,
    ) -> Matrix {
        let mut gram = Matrix::zeros(order, order);
        let work = parallel::work(&[self.values().len(), self.values().len().div_ceil(order.max(1))]);
        // Column j of the result is row j of the triangle; mirrored below.
        parallel::for_chunks(gram.as_column_major_mut(), order, work, |j, out| {
            line(j).for_each(|(position, value)| add(position, value, &mut out[..=j]));
        });
        gram.mirror_upper();
        gram
    }
}

impl<T: Scalar> Rows for Sparse<'_, T> {
    fn magnitude(&self, start: usize) -> Result<f64> {
        magnitude(self.values(), |entry| {
            let (row, column) = self.place(entry);
            (start + row, column)
        })
    }

    /// |x - m|^2 = |m|^2 + sum over the entries of (x_j - m_j)^2 - m_j^2.
    fn total_variance(&self, weights: &[f64], mean: &[f64]) -> f64 {
        let square = dot(mean, mean);
        let of_row = |i: usize| square + self.by_row.line(i).map(|(j, x)| x * (x - 2.0 * mean[j])).sum::<f64>();
        weights.iter().enumerate().map(|(i, a)| a * of_row(i)).sum()
    }

    fn transpose_times(&self, active: &[usize], mean: &[f64], combination: &Matrix) -> Matrix {
        let components = combination.columns();
        let mut by_sample = ColumnGroups::new(self.by_row.lines(), components);
        for c in 0..components {
            active.iter().zip(combination.column(c)).for_each(|(&i, &x)| by_sample.set(i, c, x));
        }
        let totals: Vec<f64> = (0..components).map(|c| combination.column(c).iter().sum()).collect();
        let work = parallel::work(&[self.values().len(), components]);
        Matrix::from_row_blocks(mean.len(), components, 256, work, |block| {
            let mut part = Matrix::zeros(block.len(), components);
            let mut sums = vec![0.0; components];
            for (at, j) in block.enumerate() {
                self.by_column.combine(j, &by_sample, &mut sums);
                (0..components).for_each(|c| part.set(at, c, sums[c] - mean[j] * totals[c]));
            }
            part
        })
    }

    fn row(&self, row: usize) -> Vec<f64> {
        let mut dense = vec![0.0; self.by_column.lines()];
        for (column, value) in self.by_row.line(row) {
            dense[column] = value;
        }
        dense
    }

    fn weighted_mean(&self, weights: &[f64]) -> Vec<f64> {
        let columns = self.by_column.lines();
        (0..columns).map(|j| self.by_column.line(j).map(|(i, v)| weights[i] * v).sum()).collect()
    }

    /// That of X, less what the mean takes away.
    fn gram(&self, active: &[usize], weights: &[f64], mean: &[f64], side: Side) -> Matrix {
        match side {
            Side::Samples => {
                let mut at = vec![usize::MAX; self.by_row.lines()];
                active.iter().enumerate().for_each(|(place, &i)| at[i] = place);
                let mut gram = self.lower_products(
                    active.len(),
                    |line| self.by_row.line(active[line]),
                    |column, value, sums| {
                        for (i, v) in self.by_column.line(column) {
                            if let Some(sum) = sums.get_mut(at[i]) {
                                *sum += value * v;
                            }
                        }
                    },
                );
                // (x_i - m).(x_j - m) = x_i.x_j - x_i.m - x_j.m + m.m
                let with_mean: Vec<f64> =
                    active.iter().map(|&i| self.by_row.line(i).map(|(j, v)| v * mean[j]).sum()).collect();
                let square = dot(mean, mean);
                let root: Vec<f64> = active.iter().map(|&i| weights[i].sqrt()).collect();
                for j in 0..active.len() {
                    for (i, out) in gram.column_mut(j).iter_mut().enumerate() {
                        *out = (*out - with_mean[i] - with_mean[j] + square) * root[i] * root[j];
                    }
                }
                gram
            }
            Side::Features => {
                let mut gram = self.lower_products(
                    mean.len(),
                    |line| self.by_column.line(line),
                    |row, value, sums| {
                        let weighted = weights[row] * value;
                        for (j, v) in self.by_row.line(row) {
                            let Some(sum) = sums.get_mut(j) else { break };
                            *sum += weighted * v;
                        }
                    },
                );
                // sum a (x - m)(x - m)' = sum a x x' - s m' - m s' + w m m', with the sums s of a x and w of a.
                let sums = self.weighted_mean(weights);
                let weight: f64 = weights.iter().sum();
                for j in 0..mean.len() {
                    for (i, out) in gram.column_mut(j).iter_mut().enumerate() {
                        *out += weight * mean[i] * mean[j] - sums[i] * mean[j] - mean[i] * sums[j];
                    }
                }
                gram
            }
        }
    }

    fn project(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Matrix {
        let components = loadings.columns();
        let mut by_feature = ColumnGroups::new(loadings.rows(), components);
        for c in 0..components {
            loadings.column(c).iter().enumerate().for_each(|(j, &x)| by_feature.set(j, c, x));
        }
        let offset: Vec<f64> = (0..components).map(|c| dot(mean, loadings.column(c))).collect();
        let work = parallel::work(&[self.values().len(), components]);
        Matrix::from_row_blocks(rows.len(), components, 256, work, |block| {
            let mut part = Matrix::zeros(block.len(), components);
            let mut sums = vec![0.0; components];
            for (at, &i) in rows[block].iter().enumerate() {
                self.by_row.combine(i, &by_feature, &mut sums);
                (0..components).for_each(|c| part.set(at, c, sums[c] - offset[c]));
            }
            part
        })
    }

    fn lift(&self, active: &[usize], mean: &[f64], combination: &Matrix) -> (Matrix, Matrix) {
        let loadings = self.transpose_times(active, mean, combination);
        let rows: Vec<usize> = (0..self.by_row.lines()).collect();
        let scores = self.project(&rows, mean, &loadings);
        (loadings, scores)
    }
}

/// The same matrix by its other lines: a counting sort.
fn transposed<T: Scalar>(matrix: &Compressed<'_, T>, lines: usize) -> Compressed<'static, T> {
    let mut offsets = vec![0usize; lines + 1];
    matrix.positions.iter().for_each(|&p| offsets[p as usize + 1] += 1);
    for line in 0..lines {
        offsets[line + 1] += offsets[line];
    }
    let mut next = offsets.clone();
    let mut positions = vec![0u32; matrix.positions.len()];
    let mut values = matrix.values.to_vec();
    for line in 0..matrix.lines() {
        for entry in matrix.offsets[line]..matrix.offsets[line + 1] {
            let at = &mut next[matrix.positions[entry] as usize];
            positions[*at] = line as u32;
            values[*at] = matrix.values[entry];
            *at += 1;
        }
    }
    Compressed { offsets: Cow::Owned(offsets), positions: Cow::Owned(positions), values: Cow::Owned(values) }
}

#[cfg(test)]
mod tests {
    use super::super::dense::tests::check_operations;
    use super::*;
    use crate::testing;

    /// Random data, of which every value below `least` becomes 0, with their compressed rows. The third row and column stay empty.
    fn thinned(rows: usize, columns: usize, least: f64) -> (Vec<f64>, Vec<usize>, Vec<u32>, Vec<f64>) {
        let mut data = testing::gaussian(rows, columns, 9);
        let (mut offsets, mut positions, mut values) = (vec![0], Vec::new(), Vec::new());
        for (i, row) in data.chunks_exact_mut(columns).enumerate() {
            for (j, x) in row.iter_mut().enumerate() {
                if *x < least || i == 2 || j == 2 {
                    *x = 0.0;
                } else {
                    positions.push(j as u32);
                    values.push(*x);
                }
            }
            offsets.push(values.len());
        }
        (data, offsets, positions, values)
    }

    #[test]
    fn operations_are_those_of_plain_loops() {
        for (rows, columns) in [(7, 5), (5, 7), (700, 90), (90, 700), (600, 1)] {
            let (data, offsets, positions, values) = thinned(rows, columns, 0.1);
            check_operations(&Sparse::new(&offsets, &positions, &values, columns).unwrap(), &data, columns);
        }
    }

    #[test]
    fn what_is_no_number_is_named_by_its_place() {
        // Rows of one, none, three and one entries.
        let (offsets, positions) = ([0, 1, 1, 4, 5], [1, 0, 2, 3, 1]);
        for (entry, place) in [(0, (10, 1)), (1, (12, 0)), (3, (12, 3)), (4, (13, 1))] {
            let mut values = [1.0; 5];
            values[entry] = f64::INFINITY;
            let error = Sparse::new(&offsets, &positions, &values, 4).unwrap().magnitude(10).unwrap_err();
            assert_eq!(error, Error::NotFinite { row: place.0, column: place.1, value: f64::INFINITY });
        }
    }

    #[test]
    fn offsets_may_stay_and_indices_may_be_the_last() {
        let sparse = Sparse::new(&[0, 0, 2, 2], &[1, 2], &[4.0, 5.0], 3).unwrap();
        assert_eq!([sparse.row(0), sparse.row(1), sparse.row(2)], [[0.0; 3], [0.0, 4.0, 5.0], [0.0; 3]]);
    }

    #[test]
    fn structures_that_are_none() {
        let error = |offsets: &[usize], positions: &[u32], count: usize| {
            Sparse::new(offsets, positions, &vec![1.0; count], 3).unwrap_err().to_string()
        };
        assert!(error(&[1, 1, 2], &[0, 1], 2).contains("run from 0"));
        assert!(error(&[0, 1, 3], &[0, 1], 2).contains("run from 0"));
        assert!(error(&[0, 1, 2], &[0, 1, 2], 2).contains("run from 0"));
        assert!(error(&[0, 3, 1, 2], &[0, 1], 2).contains("fall after row 1"));
        assert!(error(&[0, 0, 2], &[1, 0], 2).contains("row 1 are not in ascending order"));
        assert!(error(&[0, 0, 1], &[3], 1).contains("row 1 has a column index beyond"));
    }
}
