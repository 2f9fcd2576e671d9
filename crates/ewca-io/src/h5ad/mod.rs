//! AnnData in HDF5: `X` or a layer, with the names of observations and variables.
//!
//! `read` gives a table; `write` adds results to a copy of the file.

mod read;
mod write;

pub(crate) use read::{describe, read, read_bytes, shape};
pub use write::{AnnDataResults, Parameter, write_anndata};
