//! Sparse matrices as files have them, checked and turned into rows.

use crate::SparseValues;

/// Rows and columns that a file may claim beyond what its bytes show: real sparse tables have empty
/// rows and columns, and an empty one costs memory here.
const FREE_SIZE: u64 = 1 << 20;

/// Whether a matrix stores its rows or its columns one after the other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Major {
    Row,
    Column,
}

/// A compressed sparse matrix as a file tells it; nothing in it is trusted.
pub(crate) struct Compressed {
    pub major: Major,
    /// Rows and columns.
    pub shape: [usize; 2],
    pub offsets: Vec<u64>,
    pub indices: Vec<u64>,
    pub values: Vec<f64>,
}

impl Compressed {
    /// The same matrix by rows, with increasing columns and no entry twice (those are added up).
    pub fn into_rows(self) -> Result<SparseValues, String> {
        let [rows, columns] = self.shape;
        check_shape(rows as u64, columns as u64, 8 * (self.indices.len() + self.offsets.len()) as u64)?;
        let (majors, minors) = match self.major {
            Major::Row => (rows, columns),
            Major::Column => (columns, rows),
        };
        let offsets = checked_offsets(self.offsets, majors, [self.indices.len(), self.values.len()])?;
        let indices = checked_indices(self.indices, minors)?;
        let stored = SparseValues { columns: minors, offsets, indices, values: self.values };
        Ok(match self.major {
            Major::Row => ordered(stored),
            // Turning sorts, so only doubles are left to add up.
            Major::Column => ordered(stored.transposed()),
        })
    }
}

/// Offsets or indices that a file has as numbers of any type, if they are whole and none is negative. `what` names them.
pub(crate) fn whole_numbers(numbers: Vec<f64>, what: &str) -> Result<Vec<u64>, String> {
    /// From here on a float stands for more than one whole number.
    const INEXACT: f64 = (1u64 << 53) as f64;
    let is_whole = |number: f64| number.fract() == 0.0 && (0.0..INEXACT).contains(&number);
    if let Some(number) = numbers.iter().find(|&&number| !is_whole(number)) {
        return Err(format!("{number} is not valid in its {what}: expected whole numbers from 0"));
    }
    Ok(numbers.into_iter().map(|number| number as u64).collect())
}

/// The same of numbers that the file has as integers.
pub(crate) fn natural_numbers(numbers: Vec<i64>, what: &str) -> Result<Vec<u64>, String> {
    if let Some(number) = numbers.iter().find(|&&number| number < 0) {
        return Err(format!("{number} is not valid in its {what}: expected whole numbers from 0"));
    }
    Ok(numbers.into_iter().map(|number| number as u64).collect())
}

/// Some rows of a matrix in compressed sparse rows; its shape and its offsets have been checked. `offsets` are those of
/// these rows, as they are in the whole matrix, and `indices` and `values` the entries between the first and the last.
pub(crate) fn some_rows(
    columns: usize,
    offsets: &[usize],
    indices: Vec<u64>,
    values: Vec<f64>,
) -> Result<SparseValues, String> {
    let start = offsets.first().copied().unwrap_or(0);
    let majors = offsets.len().saturating_sub(1);
    let offsets = offsets.iter().map(|offset| (offset - start) as u64).collect();
    let offsets = checked_offsets(offsets, majors, [indices.len(), values.len()])?;
    Ok(ordered(SparseValues { columns, offsets, indices: checked_indices(indices, columns)?, values }))
}

/// Refuses offsets that are not those of so many rows or columns, and of as many entries as there are indices and values.
pub(crate) fn checked_offsets(offsets: Vec<u64>, majors: usize, found: [usize; 2]) -> Result<Vec<usize>, String> {
    if Some(offsets.len()) != majors.checked_add(1) {
        return Err(format!("it has {} row or column offsets instead of {}", offsets.len(), majors.saturating_add(1)));
    }
    if offsets[0] != 0 {
        return Err(format!("its row or column offsets start at {} instead of 0", offsets[0]));
    }
    if !offsets.is_sorted() {
        return Err("its row or column offsets decrease".into());
    }
    let entries = offsets[majors];
    if found.map(|found| found as u64) != [entries; 2] {
        let [indices, values] = found;
        return Err(format!("its offsets say {entries} entries, but it has {indices} indices and {values} values"));
    }
    // None is larger than the last one, which is a length.
    Ok(offsets.into_iter().map(|offset| offset as usize).collect())
}

/// The columns, or rows, of entries, each of them below `minors`.
fn checked_indices(indices: Vec<u64>, minors: usize) -> Result<Vec<u32>, String> {
    if let Some(index) = indices.iter().find(|&&index| index >= minors as u64) {
        return Err(format!("an entry is in row or column {index} (counted from 0), but there are {minors}"));
    }
    Ok(indices.into_iter().map(|index| index as u32).collect())
}

/// Refuses shapes that `bytes` of file do not justify.
pub(crate) fn check_shape(rows: u64, columns: u64, bytes: u64) -> Result<(), String> {
    let most = FREE_SIZE.saturating_add(bytes.saturating_mul(64)).min(u64::from(u32::MAX));
    if rows > most || columns > most {
        return Err(format!("it claims {rows} rows and {columns} columns, but is too short for that"));
    }
    Ok(())
}

/// A matrix from its entries (row, column, value), in any order; entries that come twice are added up.
pub(crate) fn from_entries(rows: usize, columns: usize, entries: &[Vec<(u32, u32, f64)>]) -> SparseValues {
    let mut offsets = vec![0usize; rows + 1];
    for &(row, ..) in entries.iter().flatten() {
        offsets[row as usize + 1] += 1;
    }
    for row in 0..rows {
        offsets[row + 1] += offsets[row];
    }
    let mut next = offsets.clone();
    let mut indices = vec![0u32; offsets[rows]];
    let mut values = vec![0.0; offsets[rows]];
    for &(row, column, value) in entries.iter().flatten() {
        let slot = &mut next[row as usize];
        indices[*slot] = column;
        values[*slot] = value;
        *slot += 1;
    }
    ordered(SparseValues { columns, offsets, indices, values })
}

/// Sorts each row by column and adds up entries that come twice. Most files need neither.
fn ordered(mut matrix: SparseValues) -> SparseValues {
    let is_ordered = |row: usize| {
        matrix.indices[matrix.offsets[row]..matrix.offsets[row + 1]].windows(2).all(|pair| pair[0] < pair[1])
    };
    if (0..matrix.rows()).all(is_ordered) {
        return matrix;
    }
    let mut kept = 0;
    let mut start = 0;
    for row in 0..matrix.rows() {
        let end = matrix.offsets[row + 1];
        let mut entries: Vec<(u32, f64)> = (start..end).map(|at| (matrix.indices[at], matrix.values[at])).collect();
        entries.sort_by_key(|&(column, _)| column);
        let row_start = kept;
        for (column, value) in entries {
            if kept > row_start && matrix.indices[kept - 1] == column {
                matrix.values[kept - 1] += value;
            } else {
                matrix.indices[kept] = column;
                matrix.values[kept] = value;
                kept += 1;
            }
        }
        start = end;
        matrix.offsets[row + 1] = kept;
    }
    matrix.indices.truncate(kept);
    matrix.values.truncate(kept);
    matrix
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_in_any_order_are_sorted_and_added_up() {
        let entries = vec![vec![(1, 2, 1.0), (0, 1, 2.0)], vec![(1, 0, 3.0), (1, 2, 4.0)]];
        let matrix = from_entries(3, 3, &entries);
        assert_eq!(matrix.offsets, [0, 1, 3, 3]);
        assert_eq!(matrix.indices, [1, 0, 2]);
        assert_eq!(matrix.values, [2.0, 3.0, 5.0]);
    }

    #[test]
    fn only_whole_numbers_are_offsets_and_indices() {
        assert_eq!(whole_numbers(vec![0.0, 3.0, -0.0], "indptr").unwrap(), [0, 3, 0]);
        for bad in [0.5, -1.0, f64::NAN, f64::INFINITY, 9_007_199_254_740_992.0, 1e300] {
            let problem = whole_numbers(vec![1.0, bad], "indices").unwrap_err();
            assert_eq!(problem, format!("{bad} is not valid in its indices: expected whole numbers from 0"));
        }
    }

    #[test]
    fn what_a_file_claims_is_checked() {
        let base = || Compressed {
            major: Major::Row,
            shape: [2, 2],
            offsets: vec![0, 1, 2],
            indices: vec![1, 0],
            values: vec![1.0, 2.0],
        };
        assert!(base().into_rows().is_ok());
        assert!(Compressed { offsets: vec![0, 2], ..base() }.into_rows().is_err());
        assert!(Compressed { offsets: vec![0, 2, 1], ..base() }.into_rows().is_err());
        assert!(Compressed { offsets: vec![1, 1, 2], ..base() }.into_rows().is_err());
        assert!(Compressed { offsets: vec![0, 1, 1], ..base() }.into_rows().is_err());
        assert!(Compressed { offsets: vec![0, 1, u64::MAX], ..base() }.into_rows().is_err());
        assert!(Compressed { indices: vec![1, 2], ..base() }.into_rows().is_err());
        assert!(Compressed { indices: vec![1, u64::MAX], ..base() }.into_rows().is_err());
        assert!(Compressed { shape: [usize::MAX, 2], ..base() }.into_rows().is_err());
    }
}
