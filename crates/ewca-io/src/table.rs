//! What a file holds once it has been read.

use serde::Serialize;
use std::cmp::Ordering;

/// Samples in rows, features in columns.
#[derive(Debug, Clone, PartialEq)]
pub struct Table {
    /// The numbers, every one of them finite.
    pub values: Values,
    /// One distinct, non-empty name per column.
    pub features: Vec<String>,
    /// One name per row, where the file has them.
    pub ids: Option<Vec<String>>,
    /// One class per row, when a label column was asked for.
    pub labels: Option<Vec<String>>,
    /// Further columns that are no features: those of [`crate::ReadOptions::annotations`]; and all others of text, where the features
    /// were known before: see [`crate::ReadOptions::expected`].
    pub texts: Vec<TextCells>,
    /// The names of columns that were left out because they are no expected features.
    pub left_out: Vec<String>,
    /// The file's own colours for classes of the label and of annotations.
    pub palettes: Vec<Palette>,
    /// What became of missing cells.
    pub settled: Settled,
    /// What is unusual about how the file is written, and was found by itself: "decimal commas".
    pub notes: Vec<String>,
}

/// A column of text.
#[derive(Debug, Clone, PartialEq)]
pub struct TextCells {
    /// The name of the column.
    pub name: String,
    /// One cell per row; a missing one is empty.
    pub cells: Vec<String>,
    /// Whether the file says that they are classes, also where they look like numbers.
    pub categorical: bool,
}

/// The colours that a file has for the classes of a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Palette {
    /// The name of the column.
    pub column: String,
    /// Each class with its colour, as `#rrggbb`.
    pub colours: Vec<(String, String)>,
}

impl TextCells {
    /// Some of the rows.
    pub(crate) fn rows(&self, rows: std::ops::Range<usize>) -> TextCells {
        TextCells { name: self.name.clone(), cells: self.cells[rows].to_vec(), categorical: self.categorical }
    }
}

/// What became of missing cells when a table was read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize)]
pub struct Settled {
    /// Samples that were left out, for a missing cell or a missing label.
    pub dropped_rows: usize,
    /// Features that were left out.
    pub dropped_features: usize,
    /// Cells that a mean was put into.
    pub filled_cells: usize,
}

impl Table {
    /// Numbers with the names of their features, and nothing else.
    pub fn new(values: Values, features: Vec<String>) -> Table {
        let (texts, left_out, notes, settled) = (Vec::new(), Vec::new(), Vec::new(), Settled::default());
        Table { values, features, ids: None, labels: None, texts, left_out, palettes: Vec::new(), settled, notes }
    }

    /// The number of samples.
    pub fn rows(&self) -> usize {
        self.values.rows()
    }

    /// The number of features.
    pub fn columns(&self) -> usize {
        self.values.columns()
    }

    /// Takes a feature out of the table, and returns its values; none if there is no such feature.
    pub fn take_feature(&mut self, name: &str) -> Option<Vec<f64>> {
        let at = self.features.iter().position(|feature| feature == name)?;
        self.features.remove(at);
        Some(self.values.take_column(at))
    }
}

/// A matrix of numbers, stored as the file had it.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Every cell is stored.
    Dense(DenseValues),
    /// Only the cells that the file lists are stored; the others are zero.
    Sparse(SparseValues),
}

impl Values {
    /// Takes a column out, and returns it.
    fn take_column(&mut self, column: usize) -> Vec<f64> {
        match self {
            Values::Dense(dense) => {
                let width = dense.columns;
                let taken = dense.data.iter().skip(column).step_by(width).copied().collect();
                let mut at = 0;
                dense.data.retain(|_| {
                    at += 1;
                    (at - 1) % width != column
                });
                dense.columns -= 1;
                taken
            }
            Values::Sparse(sparse) => {
                let mut taken = vec![0.0; sparse.rows()];
                let (mut indices, mut values, mut offsets) = (Vec::new(), Vec::new(), vec![0]);
                for (row, ends) in sparse.offsets.windows(2).enumerate() {
                    for at in ends[0]..ends[1] {
                        match (sparse.indices[at] as usize).cmp(&column) {
                            Ordering::Equal => taken[row] += sparse.values[at],
                            order => {
                                indices.push(sparse.indices[at] - u32::from(order == Ordering::Greater));
                                values.push(sparse.values[at]);
                            }
                        }
                    }
                    offsets.push(values.len());
                }
                *sparse = SparseValues { columns: sparse.columns - 1, offsets, indices, values };
                taken
            }
        }
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        match self {
            Values::Dense(dense) => dense.rows,
            Values::Sparse(sparse) => sparse.rows(),
        }
    }

    /// The number of columns.
    pub fn columns(&self) -> usize {
        match self {
            Values::Dense(dense) => dense.columns,
            Values::Sparse(sparse) => sparse.columns,
        }
    }

    /// The numbers that are stored: all of them (dense), or those that the file lists (sparse).
    pub fn stored(&self) -> &[f64] {
        match self {
            Values::Dense(dense) => &dense.data,
            Values::Sparse(sparse) => &sparse.values,
        }
    }

    /// Some of the rows.
    pub fn rows_of(&self, rows: std::ops::Range<usize>) -> Values {
        crate::finish::chosen_rows(self, &rows.collect::<Vec<_>>())
    }

    /// Rows become columns.
    pub(crate) fn transposed(self) -> Values {
        match self {
            Values::Dense(dense) => Values::Dense(dense.transposed()),
            Values::Sparse(sparse) => Values::Sparse(sparse.transposed()),
        }
    }
}

/// A matrix with every cell stored, row after row.
#[derive(Debug, Clone, PartialEq)]
pub struct DenseValues {
    /// The number of rows.
    pub rows: usize,
    /// The number of columns.
    pub columns: usize,
    /// Cell (i, j) is `data[i * columns + j]`.
    pub data: Vec<f64>,
}

impl DenseValues {
    fn transposed(self) -> DenseValues {
        let (rows, columns) = (self.rows, self.columns);
        let mut data = vec![0.0; self.data.len()];
        transpose_into(&self.data, rows, columns, &mut data);
        DenseValues { rows: columns, columns: rows, data }
    }
}

/// Writes the transpose of `from` (rows x columns, row after row) to `to`.
/// Tiles of 32 x 32 keep both sides in the cache.
pub(crate) fn transpose_into(from: &[f64], rows: usize, columns: usize, to: &mut [f64]) {
    const TILE: usize = 32;
    for row_tile in (0..rows).step_by(TILE) {
        for column_tile in (0..columns).step_by(TILE) {
            for row in row_tile..(row_tile + TILE).min(rows) {
                for column in column_tile..(column_tile + TILE).min(columns) {
                    to[column * rows + row] = from[row * columns + column];
                }
            }
        }
    }
}

/// A matrix in compressed sparse rows.
///
/// The entries of row i are those from `offsets[i]` to `offsets[i + 1]`; within a row the column
/// indices increase, and none comes twice.
#[derive(Debug, Clone, PartialEq)]
pub struct SparseValues {
    /// The number of columns.
    pub columns: usize,
    /// Where each row starts, and where the last one ends: one more than there are rows.
    pub offsets: Vec<usize>,
    /// The column of each entry.
    pub indices: Vec<u32>,
    /// The value of each entry.
    pub values: Vec<f64>,
}

impl SparseValues {
    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// The columns and values of one row.
    pub fn row(&self, row: usize) -> (&[u32], &[f64]) {
        let range = self.offsets[row]..self.offsets[row + 1];
        (&self.indices[range.clone()], &self.values[range])
    }

    /// The same matrix with every cell stored.
    pub fn to_dense(&self) -> DenseValues {
        let mut data = vec![0.0; self.rows() * self.columns];
        for (row, cells) in data.chunks_exact_mut(self.columns.max(1)).enumerate() {
            let (columns, values) = self.row(row);
            for (&column, &value) in columns.iter().zip(values) {
                cells[column as usize] = value;
            }
        }
        DenseValues { rows: self.rows(), columns: self.columns, data }
    }

    /// A counting sort by column: the rows of the result come out in order.
    pub(crate) fn transposed(&self) -> SparseValues {
        let mut offsets = vec![0usize; self.columns + 1];
        for &column in &self.indices {
            offsets[column as usize + 1] += 1;
        }
        for column in 0..self.columns {
            offsets[column + 1] += offsets[column];
        }
        let mut next = offsets.clone();
        let mut indices = vec![0u32; self.indices.len()];
        let mut values = vec![0.0; self.values.len()];
        for row in 0..self.rows() {
            let (columns, row_values) = self.row(row);
            for (&column, &value) in columns.iter().zip(row_values) {
                let slot = &mut next[column as usize];
                indices[*slot] = row as u32;
                values[*slot] = value;
                *slot += 1;
            }
        }
        SparseValues { columns: self.rows(), offsets, indices, values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transposing_dense_and_sparse_agrees() {
        let sparse = SparseValues {
            columns: 40,
            offsets: vec![0, 2, 2, 5],
            indices: vec![1, 39, 0, 1, 2],
            values: vec![1.0, 2.0, 3.0, 4.0, 5.0],
        };
        let turned = sparse.transposed();
        assert_eq!(turned.to_dense(), sparse.to_dense().transposed());
        assert_eq!(turned.transposed(), sparse);
    }
}
