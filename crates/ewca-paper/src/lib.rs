//! The experiments of the EWCA paper with their figures, and how EWCA does on many more sets.
#![forbid(unsafe_code)]

mod error;
mod evidence;
pub mod experiments;
mod figures;

pub use error::{Error, Result};
pub use evidence::{
    Estimate, EvidenceSet, EvidenceSummary, FEWEST, GRID, Measure, Row, evidence, evidence_figures, evidence_markdown,
    rows_csv, summaries, summaries_csv,
};
pub use figures::Figure;
