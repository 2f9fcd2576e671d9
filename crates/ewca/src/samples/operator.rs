//! Samples as an operator: X U, X'W, the Gram matrix and the variance, part by part where they are read, summed over processes.

use std::ops::Range;

use super::span::LARGEST_GRAM;
use super::{Data, EachPart, Side, Storage};
use crate::error::Result;
use crate::matrix::Matrix;

/// Products with centred, active samples that are in memory.
pub(crate) trait Product: Sync {
    /// (X - mean) `loadings`.
    fn times(&self, loadings: &Matrix) -> Matrix;

    /// (X - mean)' `columns`.
    fn transpose_times(&self, columns: &Matrix) -> Matrix;
}

impl std::fmt::Debug for dyn Product + '_ {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("samples")
    }
}

impl Product for Data<'_> {
    fn times(&self, loadings: &Matrix) -> Matrix {
        match &self.values {
            Storage::InMemory(all) => all.rows().project(&self.own_active(), &self.mean, loadings),
            Storage::Streamed(_) => unreachable!("samples that are read are never gone through without a way to fail"),
        }
    }

    fn transpose_times(&self, columns: &Matrix) -> Matrix {
        match &self.values {
            Storage::InMemory(all) => all.rows().transpose_times(&self.own_active(), &self.mean, columns),
            Storage::Streamed(_) => unreachable!("samples that are read are never gone through without a way to fail"),
        }
    }
}

impl Data<'_> {
    /// Calls `each` with every part of this process's rows and where it stands among them. What is in memory is one part.
    pub(super) fn each_part(&self, each: &mut EachPart<'_>) -> Result<()> {
        match &self.values {
            Storage::InMemory(all) => each(0..self.rows, all.rows()),
            Storage::Streamed(streamed) => streamed.each_part(each),
        }
    }

    /// (X - mean) `loadings`, for the given rows of this process, in ascending order.
    pub(super) fn project_own(&self, rows: &[usize], mean: &[f64], loadings: &Matrix) -> Result<Matrix> {
        let mut out = Matrix::zeros(rows.len(), loadings.columns());
        self.each_part(&mut |range, part| {
            let (places, local) = within(rows, &range);
            let projected = part.project(&local, mean, loadings);
            if local.len() == rows.len() {
                out = projected;
            } else {
                for j in 0..loadings.columns() {
                    out.column_mut(j)[places.clone()].copy_from_slice(projected.column(j));
                }
            }
            Ok(())
        })?;
        Ok(out)
    }

    /// (X - mean) `loadings`, for all rows of all processes.
    pub(crate) fn project(&self, mean: &[f64], loadings: &Matrix) -> Result<Matrix> {
        let all: Vec<usize> = (0..self.rows).collect();
        Ok(self.member.gathered_rows(self.project_own(&all, mean, loadings)?))
    }

    /// (X - mean)' `columns`, over the active rows; `columns` has a row for each of them, of all processes.
    pub(crate) fn transpose_times(&self, columns: &Matrix) -> Result<Matrix> {
        let active = self.own_active();
        let before = self.weights[..self.start].iter().filter(|a| **a > 0.0).count();
        let mut out = Matrix::zeros(self.columns, columns.columns());
        self.each_part(&mut |range, part| {
            let (places, local) = within(&active, &range);
            let own =
                Matrix::from_fn(places.len(), columns.columns(), |i, j| columns.get(before + places.start + i, j));
            out.add_scaled(1.0, &part.transpose_times(&local, &self.mean, &own));
            Ok(())
        })?;
        Ok(self.member.summed(out))
    }

    /// Sigma `basis`, with Sigma the covariance.
    pub(super) fn covariance_times(&self, basis: &Matrix) -> Result<Matrix> {
        let active = self.own_active();
        let weights = &self.weights[self.own()];
        let mut out = Matrix::zeros(self.columns, basis.columns());
        self.each_part(&mut |range, part| {
            let (_, local) = within(&active, &range);
            // Some thousand rows at a time: their coordinates need not be held for all.
            for some in local.chunks(4096) {
                let mut projected = part.project(some, &self.mean, basis);
                projected.scale_rows(&some.iter().map(|&i| weights[range.start + i]).collect::<Vec<_>>());
                out.add_scaled(1.0, &part.transpose_times(some, &self.mean, &projected));
            }
            Ok(())
        })?;
        Ok(self.member.summed(out))
    }

    /// The sum of all features' variances: sum_i a_i |x_i - mean|^2.
    pub(crate) fn total_variance(&self) -> Result<f64> {
        let weights = &self.weights[self.own()];
        let mut sum = 0.0;
        self.each_part(&mut |range, part| {
            sum += part.total_variance(&weights[range], &self.mean);
            Ok(())
        })?;
        let mut total = [sum];
        self.member.sum(&mut total);
        Ok(total[0])
    }

    pub(super) fn weighted_mean(&mut self) -> Result<Vec<f64>> {
        let own = &self.weights[self.start..self.start + self.rows];
        let weight: f64 = own.iter().sum();
        let alone = self.member.is_alone();
        let shares: Vec<f64> = match (alone, weight > 0.0) {
            (true, _) => own.to_vec(),
            (false, true) => own.iter().map(|a| a / weight).collect(),
            (false, false) => vec![0.0; own.len()],
        };
        let mean = match &mut self.values {
            Storage::InMemory(all) => all.rows().weighted_mean(&shares),
            Storage::Streamed(streamed) => {
                streamed.first_pass(&self.weights[self.start..self.start + self.rows], self.columns <= LARGEST_GRAM)?
            }
        };
        if alone {
            return Ok(mean);
        }
        let mut mean: Vec<f64> = mean.into_iter().map(|m| m * weight).collect();
        self.member.sum(&mut mean);
        Ok(mean)
    }

    /// The Gram matrix of the weighted, centred active rows, between samples (of one process) or between features (of all).
    pub(super) fn gram(&self, side: Side) -> Result<Matrix> {
        let (active, weights) = (self.own_active(), &self.weights[self.own()]);
        let gram = match &self.values {
            Storage::InMemory(all) => all.rows().gram(&active, weights, &self.mean, side),
            Storage::Streamed(streamed) => match streamed.gram(&self.mean) {
                Some(gram) => gram,
                None => {
                    let mut gram = Matrix::zeros(self.columns, self.columns);
                    self.each_part(&mut |range, part| {
                        let (_, local) = within(&active, &range);
                        gram.add_scaled(1.0, &part.gram(&local, &weights[range], &self.mean, Side::Features));
                        Ok(())
                    })?;
                    gram
                }
            },
        };
        Ok(self.member.summed(gram))
    }

    /// Features as combinations of the `active` rows, U = (X - mean)' `combination`, and the scores (X - mean) U of all rows.
    pub(super) fn lift(&self, combination: &Matrix) -> Result<(Matrix, Matrix)> {
        match &self.values {
            Storage::InMemory(all) if self.member.is_alone() => {
                Ok(all.rows().lift(&self.own_active(), &self.mean, combination))
            }
            _ => {
                let loadings = self.transpose_times(combination)?;
                let scores = self.project(&self.mean, &loadings)?;
                Ok((loadings, scores))
            }
        }
    }
}

/// Which places of `rows` (ascending) lie in `range`, and these rows, counted from its start.
pub(super) fn within(rows: &[usize], range: &Range<usize>) -> (Range<usize>, Vec<usize>) {
    let places = rows.partition_point(|&i| i < range.start)..rows.partition_point(|&i| i < range.end);
    let local = rows[places.clone()].iter().map(|i| i - range.start).collect();
    (places, local)
}
