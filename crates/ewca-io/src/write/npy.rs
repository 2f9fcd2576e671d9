//! NumPy arrays, out.

use std::io::{self, Write};
use std::path::Path;

use super::write_atomically;
use crate::Error;

/// Writes a matrix, given row after row, as a `.npy` file of float64.
///
/// # Panics
/// If there are not `rows * columns` values.
pub fn write_matrix_npy(path: &Path, rows: usize, columns: usize, values: &[f64]) -> Result<(), Error> {
    assert_eq!(values.len(), rows * columns, "numbers of a matrix");
    write_atomically(path, |out| write_npy(out, rows, columns, values))
}

pub(super) fn write_npy(out: &mut impl Write, rows: usize, columns: usize, values: &[f64]) -> io::Result<()> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // The data must start at a multiple of 64 bytes, and the header ends with a new line.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())?;
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}
