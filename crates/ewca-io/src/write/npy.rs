//! NumPy arrays, out.

use std::fmt;
use std::io::{self, Write};
use std::path::Path;

use super::{AtomicWriter, Frame, Staged, stage};
use crate::Error;

/// Writes a matrix, given row after row, as a `.npy` file of float64.
///
/// # Panics
/// If there are not `rows * columns` values.
pub fn write_matrix_npy(path: &Path, rows: usize, columns: usize, values: &[f64]) -> Result<(), Error> {
    assert_eq!(values.len(), rows * columns, "numbers of a matrix");
    stage_matrix_npy(path, rows, columns, |put| put(values))?.commit()
}

/// Writes a matrix as a `.npy` file of float64 next to its place. `fill` gives its numbers, row after row, in as many pieces as it
/// likes.
pub fn stage_matrix_npy(
    path: &Path,
    rows: usize,
    columns: usize,
    fill: impl FnOnce(&mut dyn FnMut(&[f64]) -> io::Result<()>) -> io::Result<()>,
) -> Result<Staged, Error> {
    stage(path, |out| {
        write_header(out, rows, columns)?;
        let mut left = rows.saturating_mul(columns);
        fill(&mut |values| {
            left = left.checked_sub(values.len()).ok_or_else(wrong_count)?;
            write_values(out, values)
        })?;
        if left == 0 { Ok(()) } else { Err(wrong_count()) }
    })
}

/// The rows of a table, without names.
pub(super) struct Rows<'t> {
    out: &'t mut dyn Write,
    rows: usize,
    left: usize,
}

impl<'t> Rows<'t> {
    pub fn new(out: &'t mut AtomicWriter, rows: usize) -> Rows<'t> {
        Rows { out, rows, left: rows }
    }

    pub fn add(&mut self, frame: &Frame) -> io::Result<()> {
        if self.left == self.rows {
            write_header(self.out, self.rows, frame.columns.len())?;
        }
        self.left = self.left.checked_sub(frame.rows).ok_or_else(wrong_count)?;
        write_values(self.out, frame.values)
    }

    pub fn end(self) -> io::Result<()> {
        if self.left == 0 { Ok(()) } else { Err(wrong_count()) }
    }
}

impl fmt::Debug for Rows<'_> {
    fn fmt(&self, out: &mut fmt::Formatter) -> fmt::Result {
        write!(out, "Rows({} of {} to come)", self.left, self.rows)
    }
}

fn wrong_count() -> io::Error {
    io::Error::other("there are not as many numbers as were announced")
}

fn write_header(out: &mut dyn Write, rows: usize, columns: usize) -> io::Result<()> {
    let mut header = format!("{{'descr': '<f8', 'fortran_order': False, 'shape': ({rows}, {columns}), }}");
    // The data must start at a multiple of 64 bytes, and the header ends with a new line.
    while (10 + header.len() + 1) % 64 != 0 {
        header.push(' ');
    }
    header.push('\n');
    out.write_all(b"\x93NUMPY\x01\x00")?;
    out.write_all(&(header.len() as u16).to_le_bytes())?;
    out.write_all(header.as_bytes())
}

fn write_values(out: &mut dyn Write, values: &[f64]) -> io::Result<()> {
    values.iter().try_for_each(|value| out.write_all(&value.to_le_bytes()))
}
