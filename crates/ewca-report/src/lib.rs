//! One self-contained HTML file that shows what EWCA found: it opens from disk, without a network or a server.
//!
//! A [`Subject`] (the fit, and where they are at hand the data, PCA beside it and a path of fits along epsilon) becomes a [`Report`], plain data that
//! serde can write; [`Report::to_html`] puts them into the page. Everything that takes work over pairs of samples is done here
//! and row by row: strongest partners, block means of the plan, nearest neighbours, silhouettes. The page only draws.
//!
//! The page itself is TypeScript, in `page/` of this crate; what is built from it is committed in `page/dist`, so that building
//! this crate needs no Node. `cargo xtask report-page` builds it anew, and `cargo xtask test` holds the two equal. The types of
//! its data, `page/src/report.ts`, are made from those of this crate by `cargo xtask report-types`.
//!
//! Names of samples, classes and features come from files of strangers. In the page they are only ever text, and its
//! content-security policy allows the page's own script and style by their hashes, and no network at all.
//!
//! The same subject gives the same bytes.
#![forbid(unsafe_code)]

mod annotation;
mod arrays;
mod classes;
mod error;
mod make;
mod multiqc;
mod page;
mod plan;
mod report;
mod sample;
#[cfg(test)]
mod types;
mod words;

pub use annotation::{Annotation, AnnotationValues};
pub use arrays::Column;
pub use error::{Error, Result};
pub use make::{MOST_TSNE_SAMPLES, Subject, page_bytes};
pub use multiqc::multiqc;
pub use page::is_report;
pub use report::{
    Chance, Classes, Component, Confusion, Convergence, Covariate, Data, Fact, Feature, HeatMap, HeatMapOrder,
    Loadings, Partners, Path, Report, ShownAnnotation, ShownClasses, ShownNumbers, ShownValues, Silhouette, Square,
    Step, View, ViewKey,
};
pub use sample::{MOST_SAMPLES, SampleRows, shown_samples};
pub use words::{accuracy, number};
