//! The variance of every column of a table, whole or in parts.

use crate::Values;

/// The mean of every column, and the sum of squares about it.
///
/// The first row is taken from every row before anything is summed. So a mean that is far from zero costs no digits when
/// parts are put together, and a constant column has the variance zero.
#[derive(Debug, Clone)]
pub(crate) struct Moments {
    rows: f64,
    first: Vec<f64>,
    /// The means of what is left of the rows.
    means: Vec<f64>,
    squares: Vec<f64>,
}

impl Moments {
    /// Those of a table, or of its first part.
    pub fn of(values: &Values) -> Moments {
        Moments::about(values, first_row(values))
    }

    /// Adds another part (Chan, Golub and LeVeque, 1979): of two parts with n and m rows and the means a and b, the sum of
    /// squares about the common mean is that of each about its own, and (b - a)^2 n m / (n + m).
    pub fn add(&mut self, values: &Values) {
        if values.rows() == 0 {
            return;
        }
        let part = Moments::about(values, std::mem::take(&mut self.first));
        let rows = self.rows + part.rows;
        let ours = self.means.iter_mut().zip(&mut self.squares);
        for ((mean, square), (part_mean, part_square)) in ours.zip(part.means.iter().zip(&part.squares)) {
            let apart = part_mean - *mean;
            *mean += apart * part.rows / rows;
            *square += part_square + apart * apart * self.rows * part.rows / rows;
        }
        self.rows = rows;
        self.first = part.first;
    }

    /// The variance of every column, with n - 1.
    pub fn variances(&self) -> Vec<f64> {
        self.squares.iter().map(|square| square / (self.rows - 1.0).max(1.0)).collect()
    }

    /// Mean first, then squares about it, of the rows less `first`.
    fn about(values: &Values, first: Vec<f64>) -> Moments {
        let rows = values.rows() as f64;
        let mut means = vec![0.0; values.columns()];
        let mut squares = vec![0.0; values.columns()];
        match values {
            Values::Dense(dense) => {
                let each_row = || dense.data.chunks_exact(dense.columns.max(1));
                for row in each_row() {
                    means.iter_mut().zip(row).zip(&first).for_each(|((mean, cell), first)| *mean += cell - first);
                }
                means.iter_mut().for_each(|mean| *mean /= rows);
                for row in each_row() {
                    let centres = first.iter().zip(&means);
                    squares.iter_mut().zip(row).zip(centres).for_each(|((square, cell), (first, mean))| {
                        *square += (cell - first - mean).powi(2);
                    });
                }
            }
            Values::Sparse(sparse) => {
                let each_entry = || sparse.indices.iter().map(|&column| column as usize).zip(&sparse.values);
                let mut zeros = vec![rows; sparse.columns];
                for (column, value) in each_entry() {
                    means[column] += value - first[column];
                    zeros[column] -= 1.0;
                }
                for ((mean, first), zeros) in means.iter_mut().zip(&first).zip(&zeros) {
                    *mean = (*mean - zeros * first) / rows;
                }
                for (column, value) in each_entry() {
                    squares[column] += (value - first[column] - means[column]).powi(2);
                }
                for (column, square) in squares.iter_mut().enumerate() {
                    *square += zeros[column] * (first[column] + means[column]).powi(2);
                }
            }
        }
        Moments { rows, first, means, squares }
    }
}

/// The cells of the first row; zeros if there is none.
fn first_row(values: &Values) -> Vec<f64> {
    let mut first = vec![0.0; values.columns()];
    match values {
        _ if values.rows() == 0 => {}
        Values::Dense(dense) => first.copy_from_slice(&dense.data[..dense.columns]),
        Values::Sparse(sparse) => {
            let (columns, cells) = sparse.row(0);
            columns.iter().zip(cells).for_each(|(&column, &cell)| first[column as usize] = cell);
        }
    }
    first
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::finish::chosen_rows;
    use crate::{DenseValues, SparseValues};

    /// Columns that are constant, far from zero, and mostly zero.
    fn both() -> [Values; 2] {
        let rows = 50;
        let cell = |at: usize| match (at / 3, at % 3) {
            (_, 0) => 0.1,
            (row, 1) => 1e8 + ((row * 37) % 11) as f64 / 8.0,
            (row, _) => f64::from(u8::from(row % 7 == 3)) * row as f64,
        };
        let data: Vec<f64> = (0..3 * rows).map(cell).collect();
        let stored: Vec<usize> = (0..data.len()).filter(|&at| data[at] != 0.0).collect();
        let sparse = SparseValues {
            columns: 3,
            offsets: (0..=rows).map(|row| stored.partition_point(|&at| at < 3 * row)).collect(),
            indices: stored.iter().map(|&at| (at % 3) as u32).collect(),
            values: stored.iter().map(|&at| data[at]).collect(),
        };
        [Values::Dense(DenseValues { rows, columns: 3, data }), Values::Sparse(sparse)]
    }

    #[test]
    fn parts_have_the_variances_of_the_whole() {
        let expected = Moments::of(&both()[0]).variances();
        assert_eq!(expected[0], 0.0);
        // Those numbers are exact in binary, and so is this sum.
        let cells: Vec<f64> = (0..50).map(|row| ((row * 37) % 11) as f64 / 8.0).collect();
        let mean = cells.iter().sum::<f64>() / 50.0;
        let variance = cells.iter().map(|cell| (cell - mean).powi(2)).sum::<f64>() / 49.0;
        assert!((expected[1] / variance - 1.0).abs() < 1e-14, "{} {variance}", expected[1]);
        for values in both() {
            for size in [1, 7, 49, 50] {
                let rows: Vec<usize> = (0..50).collect();
                let mut parts = rows.chunks(size).map(|rows| chosen_rows(&values, rows));
                let mut moments = Moments::of(&parts.next().unwrap());
                parts.for_each(|part| moments.add(&part));
                let found = moments.variances();
                assert!(found.iter().zip(&expected).all(|(a, b)| (a - b).abs() <= 1e-14 * b), "{found:?} {expected:?}");
            }
        }
    }
}
