//! AnnData in HDF5: `X` or a layer, with the names of observations and variables.
//!
//! `read` gives a table, `parts` some of its rows at a time; `write` adds results to a copy of the file. All of them open
//! it only when `guard` has seen that it keeps to itself.

mod guard;
mod parts;
mod read;
mod write;

pub(crate) use parts::AnnDataParts;
pub(crate) use read::{describe, in_a_file, read, read_bytes, shape};
pub use write::{AnnDataResults, Parameter, stage_anndata, write_anndata};
