//! Evaluation of `ewca` fits: stratified splits, nearest neighbours, and the paper's protocol for choosing k and epsilon.
//!
//! As in the paper, subspaces are estimated once, on all samples and without labels; only the classifier and the choice of epsilon
//! see a split. Nothing of a test half ever reaches the choice of epsilon.
#![forbid(unsafe_code)]

mod clustering;
mod evidence;
mod kmeans;
mod neighbours;
mod select;
mod splits;
mod wilcoxon;

pub use clustering::{adjusted_rand_index, silhouette};
pub use evidence::{
    Estimate, EvidenceSet, FEWEST, GRID, Measure, Row, Summary, evidence, evidence_markdown, rows_csv, summaries,
    summaries_csv,
};
pub use kmeans::KMeans;
pub use neighbours::Neighbours;
pub use select::{Cell, Protocol, Selection, Spread, select};
pub use splits::{Labels, Split};
pub use wilcoxon::wilcoxon;
