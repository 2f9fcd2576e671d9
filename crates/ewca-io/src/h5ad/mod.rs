//! AnnData in HDF5: `X` or a layer, with the names of observations and variables; also 10x and loom files (`cells`), AnnData of old
//! versions (`records`), and MATLAB files of version 7.3 (`matlab`). What AnnData means is in `crate::anndata`.
//!
//! `read` gives a table, `parts` some of its rows at a time; `write` adds results to a copy of the file. All of them open
//! it only when `guard` has seen that it keeps to itself.

mod cells;
mod guard;
mod matlab;
mod parts;
mod read;
mod records;
mod write;

pub(crate) use cells::keep_type;
pub(crate) use matlab::{describe as describe_matlab, read as read_matlab};
pub(crate) use parts::AnnDataParts;
pub(crate) use read::{describe, in_a_file, read, read_bytes, shape};
pub use write::{AnnDataResults, Parameter, stage_anndata, write_anndata};
