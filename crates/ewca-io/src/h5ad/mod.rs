//! AnnData in HDF5: `X` or a layer, with the names of observations and variables.

mod read;

pub(crate) use read::{describe, read, read_bytes};
