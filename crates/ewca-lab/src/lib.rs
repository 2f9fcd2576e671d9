//! Evaluation of `ewca` fits: stratified splits, nearest neighbours, and the paper's protocol for choosing k and epsilon.
//!
//! As in the paper, subspaces are estimated once, on all samples and without labels; only the classifier and the choice of epsilon
//! see a split. Nothing of a test half ever reaches the choice of epsilon.
#![forbid(unsafe_code)]

mod neighbours;
mod select;
mod splits;

pub use neighbours::Neighbours;
pub use select::{Cell, Protocol, Selection, Spread, select};
pub use splits::{Labels, Split};
