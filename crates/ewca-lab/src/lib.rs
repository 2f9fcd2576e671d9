//! Evaluation of `ewca` fits: stratified splits, nearest neighbours, the paper's protocol for choosing k and epsilon, and the
//! paper's experiments with their figures.
//!
//! As in the paper, subspaces are estimated once, on all samples and without labels; only the classifier and the choice of epsilon
//! see a split. Nothing of a test half ever reaches the choice of epsilon. [`strict`] fits the subspaces on the train halves alone.
#![forbid(unsafe_code)]

mod error;
pub mod experiments;
mod figures;
mod neighbours;
mod select;
mod splits;
mod strict;
pub mod tsne;

pub use error::{Error, Result};
pub use figures::Figure;
pub use neighbours::Neighbours;
pub use select::{Cell, Protocol, Selection, Spread, select};
pub use splits::{Labels, Split};
pub use strict::{StrictCell, strict};
