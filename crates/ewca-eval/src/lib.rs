//! Evaluation of `ewca` fits: stratified splits, nearest neighbours, the paper's protocol for choosing k and epsilon, parallel
//! analysis, measures of clusters, a paired test, and t-SNE.
//!
//! As in the paper, subspaces are estimated once, on all samples and without labels; only the classifier and the choice of epsilon
//! see a split. Nothing of a test half ever reaches the choice of epsilon. [`strict`] fits the subspaces on the train halves alone.
#![forbid(unsafe_code)]

mod clustering;
pub mod covariates;
mod distance;
mod kmeans;
mod neighbours;
mod protocol;
mod ranks;
mod scree;
mod select;
mod splits;
mod spread;
mod strict;
pub mod tsne;
mod wilcoxon;

pub use clustering::{adjusted_rand_index, silhouette, silhouettes};
pub use distance::squared_distance;
pub use kmeans::KMeans;
pub use neighbours::{Neighbours, errors_of_new, nearest_others};
pub use protocol::Protocol;
pub use ranks::spearman;
pub use scree::{ParallelAnalysis, Scree};
pub use select::{Candidates, Cell, Method, Recommendation, Selection, select, select_until};
pub use splits::{EncodedLabels, Split};
pub use spread::Spread;
pub use strict::{StrictCell, strict};
pub use wilcoxon::wilcoxon;
