//! Tables in, results out: the file formats of the `ewca` program.
//!
//! Everything that is read becomes a [`Table`]: samples in rows, features in columns, with names.
//!
//! ```
//! use ewca_io::{ReadOptions, Values, read_table_from};
//!
//! let csv = b"class,height,width\noak,3.5,1\nelm,2,0.25\n";
//! let options = ReadOptions { label: Some("class".into()), ..ReadOptions::default() };
//! let table = read_table_from(&csv[..], "trees.csv", &options)?;
//!
//! assert_eq!(table.features, ["height", "width"]);
//! assert_eq!(table.labels.unwrap(), ["oak", "elm"]);
//! let Values::Dense(values) = table.values else { unreachable!() };
//! assert_eq!(values.data, [3.5, 1.0, 2.0, 0.25]);
//! # Ok::<(), ewca_io::Error>(())
//! ```
//!
//! Data flows one way: a file's bytes (`source`) go to the reader of its format (`csv`, ...), which
//! makes a `Draft`; `finish` turns, completes and checks the draft, and what comes out is a [`Table`].
//! A table that is larger than the memory, or of which each process of a cluster takes its own rows, is read some rows at
//! a time with a [`TableReader`].
//! Every file is taken as hostile: a reader returns an [`Error`] and neither panics nor allocates
//! more than the bytes it has seen justify.
#![forbid(unsafe_code)]

mod anndata;
mod annotation;
mod arrow;
mod checkpoint;
mod checksum;
mod columns;
mod csv;
mod error;
mod finish;
mod forecast;
mod format;
mod h5ad;
mod inspect;
mod limit;
mod mat;
mod memory;
mod metadata;
mod model;
mod moments;
mod mtx;
mod npy;
mod npz;
mod options;
mod parts;
mod preprocess;
mod read;
mod source;
mod sparse;
mod table;
mod tenx;
mod write;
mod xlsx;
mod zarr;

pub use annotation::{Annotation, Known};
pub use checkpoint::{checkpoint_bytes, checkpoint_state, replace_checkpoint, unfinished_checkpoint};
pub use checksum::Checksum;
pub use error::{Error, OptionName, Phrase, Place, byte_size, counted};
pub use forecast::{Forecast, name_bytes};
pub use format::Format;
pub use h5ad::{AnnDataResults, Parameter, stage_anndata, write_anndata};
pub use inspect::{ArrayInfo, ColumnFacts, Inspection, OddColumn, TableSummary, inspect};
pub use memory::available_memory;
pub use metadata::{Joined, Metadata, SomeNames};
pub use model::{
    ModelFile, RoleColumns, is_model, model_bytes, read_model, read_model_bytes, stage_model, write_model,
};
pub use options::{Expected, Missing, ReadOptions};
pub use parts::{TableReader, readable_in_parts};
pub use preprocess::{ColumnSums, FittedPreprocessing, Preprocessing};
pub use read::{TableFile, is_stream, read_stream_at, read_table, read_table_from};
pub use source::{is_contained_panic, read_stream};
pub use table::{DenseValues, Palette, Settled, SparseValues, Table, TextCells, Values};
pub use write::{
    AtomicWriter, Frame, Marks, Partner, Staged, TableWriter, TextColumn, add_partners, marks, stage, stage_matrix_npy,
    stage_table, sweep, write_atomically, write_csv, write_matrix_npy, write_raw_text, write_table,
};
