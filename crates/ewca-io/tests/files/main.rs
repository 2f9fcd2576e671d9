//! All tests of the crate from outside, in one program: it is built and linked once. (Those that count all memory of their process have
//! programs of their own.)

mod anndata;
mod bad_inputs;
mod elsewhere;
mod golden;
mod metadata;
mod model;
mod mutations;
mod no_flags;
mod parts;
mod read_back;
mod regressions;
mod workbooks;
mod zarr;
