//! Conversions from and to the matrices of other crates, and linfa's traits: each behind a feature of its name.
//!
//! Samples are rows. Views are borrowed where the values of each row, or those of each column, lie side by side, whatever lies between one
//! and the next; otherwise a row-major copy is made. A [`Matrix`](crate::Matrix) is column-major and whole, so that
//! it is seen by all of these crates without a copy.

#[cfg(feature = "faer")]
mod faer;
#[cfg(feature = "linfa")]
pub mod linfa;
#[cfg(feature = "nalgebra")]
mod nalgebra;
#[cfg(feature = "ndarray")]
mod ndarray;
