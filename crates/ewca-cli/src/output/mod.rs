//! Files that are written: may they be, what is in them, and all of one run or none.

pub mod covariates;
pub mod emit;
pub mod exports;
pub mod files;
pub mod results;
pub mod summary;
