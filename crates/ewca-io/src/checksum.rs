//! Checksums that tell damage and mix-ups; they are no proof against forgery.

use crate::{Table, Values};

const START: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// A 64-bit checksum, fed piece by piece: FNV-1a over words, folded after each so that high bits reach low ones.
#[derive(Debug, Clone, Copy)]
pub struct Checksum(u64);

impl Default for Checksum {
    fn default() -> Self {
        Self(START)
    }
}

impl Checksum {
    /// The checksum of some bytes.
    pub fn of(bytes: &[u8]) -> u64 {
        let mut sum = Self::default();
        sum.add_bytes(bytes);
        sum.value()
    }

    /// Adds a word.
    pub fn add(&mut self, word: u64) {
        let mixed = (self.0 ^ word).wrapping_mul(PRIME);
        self.0 = mixed ^ (mixed >> 32);
    }

    /// Adds bytes, and how many there are.
    pub fn add_bytes(&mut self, bytes: &[u8]) {
        self.add(bytes.len() as u64);
        for chunk in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            self.add(u64::from_le_bytes(word));
        }
    }

    /// The beginning of the checksum of a table with so many rows and these features; its rows are still to be added.
    /// When all of them have been, in order, the value is that of [`Table::checksum`].
    pub fn of_table_with(rows: usize, features: &[String]) -> Self {
        let mut sum = Self::default();
        sum.add(rows as u64);
        sum.add(features.len() as u64);
        features.iter().for_each(|name| sum.add_bytes(name.as_bytes()));
        sum
    }

    /// Adds some rows of a table, of which `first` come before. A sparse table and a dense one with the same numbers add
    /// the same: zeros do not count.
    pub fn add_rows(&mut self, first: usize, values: &Values) {
        for row in 0..values.rows() {
            self.add((first + row) as u64);
            let mut add = |column: usize, value: f64| {
                if value != 0.0 {
                    self.add(column as u64);
                    self.add(value.to_bits());
                }
            };
            match values {
                Values::Dense(dense) => {
                    let cells = &dense.data[row * dense.columns..][..dense.columns];
                    cells.iter().enumerate().for_each(|(column, &value)| add(column, value));
                }
                Values::Sparse(sparse) => {
                    let (columns, values) = sparse.row(row);
                    columns.iter().zip(values).for_each(|(&column, &value)| add(column as usize, value));
                }
            }
        }
    }

    /// The checksum of everything so far.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl Table {
    /// A checksum of the numbers and the names of the features. A sparse table and a dense one with the same numbers have the
    /// same: zeros do not count.
    pub fn checksum(&self) -> u64 {
        let mut sum = Checksum::of_table_with(self.rows(), &self.features);
        sum.add_rows(0, &self.values);
        sum.value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::SparseValues;

    #[test]
    fn sparse_and_dense_agree_and_every_change_shows() {
        let sparse = SparseValues {
            columns: 3,
            offsets: vec![0, 2, 2, 3],
            indices: vec![0, 2, 1],
            values: vec![1.0, -2.0, 0.5],
        };
        let features: Vec<String> = ["a", "b", "c"].map(String::from).to_vec();
        let dense = sparse.to_dense();
        let table = |values| Table::new(values, features.clone());
        let sum = table(Values::Sparse(sparse)).checksum();
        assert_eq!(sum, table(Values::Dense(dense.clone())).checksum());
        let mut seen = vec![sum];
        for at in 0..dense.data.len() {
            let mut changed = dense.clone();
            changed.data[at] += 1.0;
            seen.push(table(Values::Dense(changed)).checksum());
        }
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), 10);
    }

    #[test]
    fn bytes_of_different_lengths_differ() {
        assert_ne!(Checksum::of(b""), Checksum::of(b"\0"));
        assert_ne!(Checksum::of(b"abc"), Checksum::of(b"abc\0"));
    }
}
