//! A dense matrix, and the few products and factorisations that the method needs.
//!
//! `faer` is used here and in `samples::dense`, nowhere else. Its own parallelism changes results in the last bits with the number of threads, so
//! products run sequentially inside blocks of fixed size, the blocks run in parallel, and sums over blocks are taken in order.

use std::ops::Range;

use faer::linalg::matmul::matmul;
use faer::{Accum, MatMut, MatRef, Par};

use crate::error::{Error, Result};
use crate::parallel;

/// A dense column-major matrix of `f64`.
#[derive(Debug, Clone, PartialEq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "Unchecked"))]
pub struct Matrix {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

/// A matrix as it comes from a file.
#[cfg(feature = "serde")]
#[derive(serde::Deserialize)]
struct Unchecked {
    rows: usize,
    columns: usize,
    data: Vec<f64>,
}

#[cfg(feature = "serde")]
impl TryFrom<Unchecked> for Matrix {
    type Error = Error;

    fn try_from(unchecked: Unchecked) -> Result<Self> {
        Self::from_column_major(unchecked.rows, unchecked.columns, unchecked.data)
    }
}

impl Matrix {
    /// A matrix of zeros.
    #[must_use]
    pub fn zeros(rows: usize, columns: usize) -> Self {
        Self { rows, columns, data: vec![0.0; rows * columns] }
    }

    /// The matrix whose entry (i, j) is `entry(i, j)`.
    pub fn from_fn(rows: usize, columns: usize, mut entry: impl FnMut(usize, usize) -> f64) -> Self {
        let mut data = Vec::with_capacity(rows * columns);
        for j in 0..columns {
            data.extend((0..rows).map(|i| entry(i, j)));
        }
        Self { rows, columns, data }
    }

    /// A matrix from its rows, one after the other.
    ///
    /// # Errors
    /// [`Error::Shape`] where the length is not `rows` x `columns`.
    pub fn from_row_major(rows: usize, columns: usize, data: &[f64]) -> Result<Self> {
        if rows.checked_mul(columns) != Some(data.len()) {
            return Err(Error::Shape { rows, columns, expected: rows.saturating_mul(columns), found: data.len() });
        }
        Ok(Self::from_fn(rows, columns, |i, j| data[i * columns + j]))
    }

    /// A matrix from its columns, one after the other.
    ///
    /// # Errors
    /// [`Error::Shape`] where the length is not `rows` x `columns`.
    pub fn from_column_major(rows: usize, columns: usize, data: Vec<f64>) -> Result<Self> {
        if rows.checked_mul(columns) != Some(data.len()) {
            return Err(Error::Shape { rows, columns, expected: rows.saturating_mul(columns), found: data.len() });
        }
        Ok(Self { rows, columns, data })
    }

    /// Number of rows.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Number of columns.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Entry (row, column).
    ///
    /// # Panics
    /// If it is outside the matrix.
    #[must_use]
    pub fn get(&self, row: usize, column: usize) -> f64 {
        assert!(row < self.rows && column < self.columns, "({row}, {column}) is outside the matrix");
        self.data[column * self.rows + row]
    }

    /// Sets entry (row, column).
    ///
    /// # Panics
    /// If it is outside the matrix.
    pub fn set(&mut self, row: usize, column: usize, value: f64) {
        assert!(row < self.rows && column < self.columns, "({row}, {column}) is outside the matrix");
        self.data[column * self.rows + row] = value;
    }

    /// One column.
    ///
    /// # Panics
    /// If there is no such column.
    #[must_use]
    pub fn column(&self, column: usize) -> &[f64] {
        &self.data[column * self.rows..(column + 1) * self.rows]
    }

    /// One column, to be changed.
    ///
    /// # Panics
    /// If there is no such column.
    pub fn column_mut(&mut self, column: usize) -> &mut [f64] {
        &mut self.data[column * self.rows..(column + 1) * self.rows]
    }

    /// A copy of one row.
    ///
    /// # Panics
    /// If there is no such row.
    #[must_use]
    pub fn row(&self, row: usize) -> Vec<f64> {
        (0..self.columns).map(|j| self.get(row, j)).collect()
    }

    /// All entries, column after column.
    #[must_use]
    pub fn as_column_major(&self) -> &[f64] {
        &self.data
    }

    /// All entries, column after column, without a copy.
    #[must_use]
    pub fn into_column_major(self) -> Vec<f64> {
        self.data
    }

    /// A copy of all entries, row after row.
    #[must_use]
    pub fn to_row_major(&self) -> Vec<f64> {
        (0..self.rows).flat_map(|i| (0..self.columns).map(move |j| self.get(i, j))).collect()
    }

    /// The transpose.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.columns, self.rows, |i, j| self.get(j, i))
    }

    /// The first `columns` columns.
    ///
    /// # Panics
    /// If there are fewer.
    #[must_use]
    pub fn leading_columns(&self, columns: usize) -> Self {
        Self { rows: self.rows, columns, data: self.data[..columns * self.rows].to_vec() }
    }

    /// The first `rows` rows.
    pub(crate) fn leading_rows(&self, rows: usize) -> Self {
        let mut data = Vec::with_capacity(rows * self.columns);
        (0..self.columns).for_each(|j| data.extend_from_slice(&self.column(j)[..rows]));
        Self { rows, columns: self.columns, data }
    }

    /// The same matrix with other first rows.
    pub(crate) fn with_leading_rows(&self, rows: &Self) -> Self {
        let mut out = self.clone();
        (0..self.columns).for_each(|j| out.column_mut(j)[..rows.rows].copy_from_slice(rows.column(j)));
        out
    }

    /// A matrix by blocks of `size` rows, which `part` makes in parallel when `work` is worth it.
    pub(crate) fn from_row_blocks(
        rows: usize,
        columns: usize,
        size: usize,
        work: usize,
        part: impl Fn(Range<usize>) -> Self + Sync,
    ) -> Self {
        let blocks = parallel::blocks(rows, size);
        let mut parts = parallel::map(&blocks, work, part);
        if parts.len() == 1 {
            return parts.remove(0);
        }
        let mut out = Self::zeros(rows, columns);
        for (block, part) in blocks.iter().zip(&parts) {
            for j in 0..columns {
                out.column_mut(j)[block.clone()].copy_from_slice(part.column(j));
            }
        }
        out
    }

    pub(crate) fn as_column_major_mut(&mut self) -> &mut [f64] {
        &mut self.data
    }

    /// The identity matrix.
    #[must_use]
    pub fn identity(order: usize) -> Self {
        Self::from_fn(order, order, |i, j| if i == j { 1.0 } else { 0.0 })
    }

    /// diag(factors) self.
    pub(crate) fn scale_rows(&mut self, factors: &[f64]) {
        for j in 0..self.columns {
            self.column_mut(j).iter_mut().zip(factors).for_each(|(x, s)| *x *= s);
        }
    }

    /// self diag(factors).
    pub(crate) fn scale_columns(&mut self, factors: &[f64]) {
        for (j, s) in factors.iter().enumerate() {
            self.column_mut(j).iter_mut().for_each(|x| *x *= s);
        }
    }

    /// self + factor other.
    pub(crate) fn add_scaled(&mut self, factor: f64, other: &Self) {
        self.data.iter_mut().zip(&other.data).for_each(|(x, y)| *x += factor * y);
    }

    pub(crate) fn scaled(mut self, factor: f64) -> Self {
        self.data.iter_mut().for_each(|x| *x *= factor);
        self
    }

    /// The Frobenius inner product.
    pub(crate) fn dot(&self, other: &Self) -> f64 {
        dot(&self.data, &other.data)
    }

    pub(crate) fn norm(&self) -> f64 {
        self.dot(self).sqrt()
    }

    pub(crate) fn is_finite(&self) -> bool {
        self.data.iter().all(|x| x.is_finite())
    }

    pub(crate) fn view(&self) -> MatRef<'_, f64> {
        MatRef::from_column_major_slice(&self.data, self.rows, self.columns)
    }

    pub(crate) fn view_mut(&mut self) -> MatMut<'_, f64> {
        MatMut::from_column_major_slice_mut(&mut self.data, self.rows, self.columns)
    }

    /// self * other, in parallel over blocks of rows.
    pub(crate) fn times(&self, other: &Self) -> Self {
        let work = parallel::work(&[self.rows, self.columns, other.columns]);
        Self::from_row_blocks(self.rows, other.columns, ROWS_PER_BLOCK, work, |block| {
            let mut part = Self::zeros(block.len(), other.columns);
            let rows = self.view().subrows(block.start, block.len());
            multiply(part.view_mut(), Accum::Replace, rows, other.view());
            part
        })
    }

    /// self' * other, in parallel over blocks of rows, summed in order.
    pub(crate) fn transposed_times(&self, other: &Self) -> Self {
        let work = parallel::work(&[self.rows, self.columns, other.columns]);
        let blocks = parallel::blocks(self.rows, ROWS_PER_BLOCK);
        let parts = parallel::map(&blocks, work, |block| {
            let mut part = Self::zeros(self.columns, other.columns);
            let left = self.view().subrows(block.start, block.len()).transpose();
            let right = other.view().subrows(block.start, block.len());
            multiply(part.view_mut(), Accum::Replace, left, right);
            part
        });
        sum_in_order(parts).unwrap_or_else(|| Self::zeros(self.columns, other.columns))
    }

    /// Copies the lower triangle over the upper one.
    pub(crate) fn mirror_lower(&mut self) {
        for j in 0..self.columns {
            for i in j + 1..self.rows {
                self.data[i * self.rows + j] = self.data[j * self.rows + i];
            }
        }
    }

    /// Copies the upper triangle over the lower one.
    pub(crate) fn mirror_upper(&mut self) {
        for j in 0..self.columns {
            for i in j + 1..self.rows {
                self.data[j * self.rows + i] = self.data[i * self.rows + j];
            }
        }
    }

    /// Makes the matrix exactly symmetric: (self + self') / 2.
    pub(crate) fn symmetrise(&mut self) {
        for j in 0..self.columns {
            for i in j + 1..self.rows {
                let mean = 0.5 * (self.get(i, j) + self.get(j, i));
                self.set(i, j, mean);
                self.set(j, i, mean);
            }
        }
    }
}

/// Columns beside columns.
pub(crate) fn hstack(left: &Matrix, right: &Matrix) -> Matrix {
    let data = [left.data.as_slice(), &right.data].concat();
    Matrix { rows: left.rows, columns: left.columns + right.columns, data }
}

/// An orthonormal basis of what of some `directions` lies beside an orthonormal `basis`; none where that is rounding alone.
pub(crate) fn orthonormal_beside(basis: &Matrix, directions: Matrix) -> Option<Matrix> {
    let mut fresh = qr_factor(&directions);
    // Twice: the first time is accurate beside the directions, not beside what is left of them.
    for _ in 0..2 {
        fresh.add_scaled(-1.0, &basis.times(&basis.transposed_times(&fresh)));
        // A direction that was rounding alone lies in the basis for the most part: what is left of it is not orthogonal to it.
        let kept: Vec<usize> = (0..fresh.columns()).filter(|&j| dot(fresh.column(j), fresh.column(j)) > 1e-8).collect();
        if kept.is_empty() {
            return None;
        }
        fresh = qr_factor(&Matrix::from_fn(fresh.rows(), kept.len(), |i, j| fresh.get(i, kept[j])));
    }
    Some(fresh)
}

const ROWS_PER_BLOCK: usize = 2048;

pub(crate) fn sum_in_order(parts: Vec<Matrix>) -> Option<Matrix> {
    parts.into_iter().reduce(|mut sum, part| {
        sum.add_scaled(1.0, &part);
        sum
    })
}

/// out = left * right, or added to it. Not generic, so that faer's product is built once, in this crate.
#[inline(never)]
pub(crate) fn multiply(out: MatMut<'_, f64>, add: Accum, left: MatRef<'_, f64>, right: MatRef<'_, f64>) {
    matmul(out, add, left, right, 1.0, Par::Seq);
}

pub(crate) fn dot(x: &[f64], y: &[f64]) -> f64 {
    // Eight partial sums: lets the compiler use vector registers, and rounds better than one running sum.
    let mut partial = [0.0; 8];
    let (x8, y8) = (x.chunks_exact(8), y.chunks_exact(8));
    let tail: f64 = x8.remainder().iter().zip(y8.remainder()).map(|(a, b)| a * b).sum();
    for (a, b) in x8.zip(y8) {
        for lane in 0..8 {
            partial[lane] += a[lane] * b[lane];
        }
    }
    partial.iter().sum::<f64>() + tail
}

/// Eigenvalues (descending) and eigenvectors (columns, in that order) of a symmetric matrix; only the lower triangle is read.
pub(crate) fn symmetric_eigen(matrix: &Matrix) -> Result<(Vec<f64>, Matrix)> {
    use faer::diag::Diag;
    use faer::dyn_stack::{MemBuffer, MemStack};
    use faer::linalg::evd::{ComputeEigenvectors, self_adjoint_evd, self_adjoint_evd_scratch};
    let order = matrix.rows();
    let mut values = Diag::<f64>::zeros(order);
    let mut vectors = Matrix::zeros(order, order);
    let scratch = self_adjoint_evd_scratch::<f64>(order, ComputeEigenvectors::Yes, Par::Seq, Default::default());
    self_adjoint_evd(
        matrix.view(),
        values.as_mut(),
        Some(vectors.view_mut()),
        Par::Seq,
        MemStack::new(&mut MemBuffer::new(scratch)),
        Default::default(),
    )
    .map_err(|_| Error::Eigen { order })?;
    let values: Vec<f64> = (0..order).rev().map(|i| values.column_vector()[i]).collect();
    if !values.iter().all(|x| x.is_finite()) || !vectors.is_finite() {
        return Err(Error::Eigen { order });
    }
    let mut descending = Matrix::zeros(order, order);
    for j in 0..order {
        descending.column_mut(j).copy_from_slice(vectors.column(order - 1 - j));
    }
    Ok((values, descending))
}

/// Q of a thin QR factorisation by Householder reflections.
pub(crate) fn qr_factor(matrix: &Matrix) -> Matrix {
    let q = matrix.view().qr().compute_thin_Q();
    Matrix::from_fn(matrix.rows(), matrix.columns(), |i, j| q[(i, j)])
}

/// The lower Cholesky factor L of a positive definite matrix (only its lower triangle is read) in its place, zeros above it. Numbers
/// that are not finite stay so.
pub(crate) fn cholesky(matrix: &mut Matrix) {
    use faer::dyn_stack::{MemBuffer, MemStack};
    use faer::linalg::cholesky::llt::factor::{cholesky_in_place, cholesky_in_place_scratch};
    let order = matrix.rows();
    let scratch = cholesky_in_place_scratch::<f64>(order, Par::Seq, Default::default());
    let mut buffer = MemBuffer::new(scratch);
    let stack = MemStack::new(&mut buffer);
    if cholesky_in_place(matrix.view_mut(), Default::default(), Par::Seq, stack, Default::default()).is_err() {
        matrix.data.fill(f64::NAN);
    }
    for j in 1..order {
        matrix.column_mut(j)[..j].fill(0.0);
    }
}

/// The solution of L L' x = right.
pub(crate) fn solve_cholesky(factor: &Matrix, mut right: Matrix) -> Matrix {
    use faer::linalg::triangular_solve::{solve_lower_triangular_in_place, solve_upper_triangular_in_place};
    solve_lower_triangular_in_place(factor.view(), right.view_mut(), Par::Seq);
    solve_upper_triangular_in_place(factor.view().transpose(), right.view_mut(), Par::Seq);
    right
}

/// L L' right.
pub(crate) fn times_cholesky(factor: &Matrix, right: &Matrix) -> Matrix {
    factor.times(&factor.transposed_times(right))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rows: usize, columns: usize) -> Matrix {
        Matrix::from_fn(rows, columns, |i, j| ((i * 7 + j * 3) % 11) as f64 - 5.0 + 0.1 * i as f64)
    }

    #[test]
    fn products_agree_with_the_definition_across_blocks() {
        let (a, b) = (sample(2 * ROWS_PER_BLOCK + 5, 3), sample(3, 2));
        let ab = a.times(&b);
        for i in [0, ROWS_PER_BLOCK - 1, ROWS_PER_BLOCK, 2 * ROWS_PER_BLOCK + 4] {
            for j in 0..2 {
                let want: f64 = (0..3).map(|l| a.get(i, l) * b.get(l, j)).sum();
                assert!((ab.get(i, j) - want).abs() < 1e-9 * want.abs().max(1.0));
            }
        }
        let ata = a.transposed_times(&a);
        for i in 0..3 {
            for j in 0..3 {
                let want: f64 = a.column(i).iter().zip(a.column(j)).map(|(x, y)| x * y).sum();
                assert!((ata.get(i, j) - want).abs() < 1e-12 * want.abs().max(1.0));
            }
        }
    }

    #[test]
    fn eigen_and_qr_reproduce_their_matrix() {
        let mut a = sample(6, 6);
        a.symmetrise();
        let (values, vectors) = symmetric_eigen(&a).unwrap();
        assert!(values.windows(2).all(|w| w[0] >= w[1]));
        let mut left = vectors.clone();
        left.scale_columns(&values);
        let mut back = left.times(&vectors.transposed());
        back.add_scaled(-1.0, &a);
        assert!(back.norm() < 1e-12 * a.norm());
        let q = qr_factor(&sample(9, 3));
        let mut gram = q.transposed_times(&q);
        gram.add_scaled(-1.0, &Matrix::identity(3));
        assert!(gram.norm() < 1e-14);
    }
}
