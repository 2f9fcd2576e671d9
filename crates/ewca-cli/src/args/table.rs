//! Options of every command that reads a table.

use std::collections::HashSet;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use ewca_io::{Format, Missing, Preprocessing, ReadOptions};

use super::job::TableJob;
use super::values;
use crate::input::metadata::MetadataJob;
use crate::input::table::{Input, Meaning, Weighting};

#[derive(Debug, Args)]
#[command(next_help_heading = "The table")]
pub struct TableArgs {
    /// A column that describes the samples, such as their class or batch; not used as a feature. Can be given several times: the
    /// first one sets the colours, and the classes in reports and `ewca select`
    #[arg(long, value_name = "COLUMN")]
    label: Vec<String>,

    /// The column with the sample names; not used as a feature [default: the row names of the file, or row numbers from 1]
    #[arg(long, value_name = "COLUMN")]
    id: Option<String>,

    /// A column to leave out; can be given several times
    #[arg(long, value_name = "COLUMN")]
    ignore: Vec<String>,

    /// Use only the rows that have this text in this column; the column is not used as a feature
    #[arg(long = "where", value_name = "COLUMN=TEXT", value_parser = values::condition)]
    only: Option<(String, String)>,

    /// What to do with missing values (empty, NA, N/A, #N/A, NaN, None, null, ? . or -)
    #[arg(long, value_name = "HOW", default_value = "error")]
    missing: MissingArg,

    /// Another word or number that means a missing value in a text table, such as -999; can be given several times
    #[arg(long, value_name = "WORD", allow_hyphen_values = true)]
    missing_values: Vec<String>,

    /// The file has features in rows and samples in columns
    #[arg(long)]
    transpose: bool,

    /// Which array (.npz), variable (.mat), layer (.h5ad, Zarr) or sheet (.xlsx) to read
    #[arg(long, value_name = "NAME", visible_aliases = ["variable", "layer", "sheet"])]
    array: Option<String>,

    /// The type of features to keep from a 10x file or folder that has several [default: Gene Expression]
    #[arg(long, value_name = "TYPE")]
    feature_type: Option<String>,

    /// The format: csv npy npz parquet arrow mat mtx 10x h5ad [default: detected]
    #[arg(long, value_name = "NAME", value_parser = values::format)]
    format: Option<Format>,

    /// The first line of a text table contains data, not column names
    #[arg(long)]
    no_header: bool,

    /// What separates the columns of a text table: , ; | tab or space [default: detected]
    #[arg(long, value_name = "CHARACTER", value_parser = values::delimiter)]
    delimiter: Option<u8>,

    /// The decimal mark of a text table: . or , [default: detected]
    #[arg(long, value_name = "MARK", value_parser = values::decimal)]
    decimal: Option<u8>,

    /// The encoding of a text table, such as latin1 or utf-16 [default: UTF-8, or UTF-16 if the file starts with its byte-order mark]
    #[arg(long, value_name = "NAME")]
    encoding: Option<String>,
}

/// Annotations of the samples, in a file of its own.
#[derive(Debug, Args)]
#[command(next_help_heading = "The table")]
pub struct MetadataArgs {
    /// A table that describes the samples (.csv, .tsv or .xlsx, also compressed): one row per sample, in any order, matched by
    /// the sample names. All its columns are used in the results; --label can name some of them
    #[arg(long, value_name = "FILE", value_parser = values::metadata_file)]
    metadata: Option<PathBuf>,
}

/// Options of commands that fit.
#[derive(Debug, Args)]
#[command(next_help_heading = "The table")]
pub struct WeightArgs {
    /// The column with the weight of each sample, in any unit; not used as a feature. Perplexity counts each sample once
    #[arg(long, value_name = "COLUMN", visible_alias = "weight", conflicts_with = "counts")]
    weights: Option<String>,

    /// The column that says how many samples each row stands for; not used as a feature. Perplexity counts each row that many times
    #[arg(long, value_name = "COLUMN")]
    counts: Option<String>,
}

impl WeightArgs {
    pub fn into_weighting(self) -> Option<Weighting> {
        let weights = self.weights.map(|column| Weighting { column, meaning: Meaning::Weights });
        weights.or(self.counts.map(|column| Weighting { column, meaning: Meaning::Counts }))
    }
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum MissingArg {
    /// Stop, and show the first missing value
    Error,
    /// Leave out rows (samples) with missing values
    DropRows,
    /// Leave out columns (features) with missing values
    DropColumns,
    /// Replace them with the mean of the column; for new samples, with its mean in the training data
    Mean,
}

impl TableArgs {
    /// The table at `input`, with annotations of its samples from elsewhere.
    pub fn into_job_with(self, metadata: MetadataArgs, input: PathBuf, max_memory: Option<usize>) -> TableJob {
        let metadata = metadata.metadata.map(MetadataJob::named);
        TableJob { metadata, ..self.into_job(input, max_memory) }
    }

    /// The table at `input`, which may be `-`.
    pub fn into_job(self, input: PathBuf, max_memory: Option<usize>) -> TableJob {
        let missing = match self.missing {
            MissingArg::Error => Missing::Error,
            MissingArg::DropRows => Missing::DropRows,
            MissingArg::DropColumns => Missing::DropColumns,
            MissingArg::Mean => Missing::Mean,
        };
        let mut labels = self.label;
        let mut seen = HashSet::new();
        labels.retain(|label| seen.insert(label.clone()));
        let read = ReadOptions {
            label: labels.first().cloned(),
            annotations: labels.iter().skip(1).cloned().collect(),
            id: self.id,
            ignore: self.ignore,
            filter: self.only,
            header: !self.no_header,
            delimiter: self.delimiter,
            decimal: self.decimal,
            encoding: self.encoding,
            missing_values: self.missing_values,
            missing,
            array: self.array,
            feature_type: self.feature_type,
            transpose: self.transpose,
            format: self.format,
            expected: None,
            max_bytes: max_memory.map(|bytes| bytes as u64),
        };
        TableJob { input: Input::named(input), read, labels, metadata: None }
    }

    /// A labelled table, by default in the form of the CuMiDa collection: columns `samples` and `type` beside the features.
    pub fn into_labelled_job(mut self, input: PathBuf, max_memory: Option<usize>) -> TableJob {
        if self.label.is_empty() && self.id.is_none() {
            self.id = Some("samples".into());
        }
        if self.label.is_empty() {
            self.label.push("type".into());
        }
        self.into_job(input, max_memory)
    }

    /// Whether the file is read as AnnData, as far as the arguments tell.
    pub fn says_anndata(&self, input: &std::path::Path) -> bool {
        let extension = input.extension().map(|extension| extension.to_ascii_lowercase());
        let by_name = extension.is_some_and(|extension| ["h5ad", "h5", "hdf5"].iter().any(|known| extension == *known));
        // AnnData in a Zarr folder is read, and never added to.
        !self.transpose && !input.is_dir() && self.format.map_or(by_name, |format| format == Format::H5ad)
    }
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Preprocessing (in this order; saved in the model)")]
pub struct PreprocessingArgs {
    /// Scale every sample to this total, such as 1e4
    #[arg(long, value_name = "TOTAL", value_parser = values::positive, allow_negative_numbers = true)]
    normalize_total: Option<f64>,

    /// Take ln(1 + x) of every value
    #[arg(long)]
    log1p: bool,

    /// Keep only the N features with the largest variance
    #[arg(long, value_name = "N", value_parser = values::at_least_one)]
    top_variable: Option<usize>,

    /// Divide every feature by its standard deviation
    #[arg(long, value_name = "HOW")]
    scale: Option<ScaleArg>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum ScaleArg {
    /// Every feature has variance 1
    UnitVariance,
}

impl PreprocessingArgs {
    pub fn into_steps(self) -> Preprocessing {
        Preprocessing {
            normalize_total: self.normalize_total,
            log1p: self.log1p,
            top_variable: self.top_variable,
            unit_variance: self.scale.is_some(),
        }
    }
}
