//! How much memory reading a file will take, told from its beginning.

use crate::read::HEAD;
use crate::source::{self, Compression, Kind, OpenFile, is_gzip, is_zstd};
use crate::{Format, ReadOptions, TableFile, arrow, csv, h5ad, mat, mtx, npy, npz};

/// As much text as is looked at: some lines of a table of a hundred thousand columns.
const SAMPLE: usize = 1 << 22;
/// What the parquet crate holds while it reads, beside the bytes and the batch, as measured on tables of 40 to 54675 columns:
/// always, for each column, and for each that is compressed with zstd.
const PARQUET: usize = 2 << 20;
const PARQUET_COLUMN: usize = 10 << 10;
const PARQUET_ZSTD_COLUMN: usize = 28 << 10;
/// Of a column's page, as much as was measured to count.
const PARQUET_PAGE: usize = 1 << 14;

/// What a file promises to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Forecast {
    /// The number of samples; an estimate where only reading the whole text would tell.
    pub rows: usize,
    /// The number of features.
    pub columns: usize,
    /// How many numbers are stored, if the table is sparse.
    pub stored: Option<usize>,
    /// The most bytes that are held at once while the file is read.
    pub reading: usize,
}

/// The size of a table as the file has it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TableShape {
    pub rows: usize,
    pub columns: usize,
    pub stored: Option<usize>,
}

impl TableShape {
    pub fn dense(rows: usize, columns: usize) -> TableShape {
        TableShape { rows, columns, stored: None }
    }

    /// The bytes of the numbers, held so many times.
    fn times(&self, copies: usize) -> usize {
        let bytes = match self.stored {
            None => self.rows.saturating_mul(self.columns).saturating_mul(8),
            Some(stored) => stored.saturating_mul(12).saturating_add(self.rows.saturating_mul(8)),
        };
        bytes.saturating_mul(copies)
    }

    fn turned(self) -> TableShape {
        TableShape { rows: self.columns, columns: self.rows, ..self }
    }
}

impl Forecast {
    /// The bytes of the table once it has been read.
    pub fn table(&self) -> usize {
        let shape = TableShape { rows: self.rows, columns: self.columns, stored: self.stored };
        shape.times(1).saturating_add(name_bytes(self.rows, self.columns))
    }
}

/// About the bytes that the names of a table take: short texts, held by the table, by what was done to it, and
/// while results are written.
pub fn name_bytes(rows: usize, columns: usize) -> usize {
    rows.saturating_add(columns).saturating_mul(256)
}

impl TableFile {
    /// What reading the file will take; nothing where its beginning does not tell, or where it cannot be read. A plain text is
    /// looked at no further than its first lines; archives, Arrow and MATLAB files are loaded, and kept for the reading.
    pub fn forecast(&mut self, options: &ReadOptions) -> Option<Forecast> {
        forecast(self, options)
    }
}

fn forecast(table: &mut TableFile, options: &ReadOptions) -> Option<Forecast> {
    let path = table.path()?.to_path_buf();
    let (path, file) = (path.as_path(), table.name().to_string());
    if let Kind::Folder = source::kind_of(path, &file).ok()? {
        if crate::tenx::is_zarr(path) {
            let shape = crate::zarr::shape(path, &file, options)?;
            let is_empty = shape.rows == 0 || shape.columns == 0;
            return (!is_empty).then(|| summed(shape, shape.times(2), options));
        }
        let matrix = table.matrix().ok()??;
        let file = matrix.name().to_string();
        // The matrix has genes in rows.
        let (shape, held) = text_shape(matrix.opened().ok()??, &file, options)?;
        let shape = shape.turned();
        return Some(summed(shape, held.saturating_add(shape.times(2)), options));
    }
    // Whoever looks at the beginning of a pipe takes it away from who reads it.
    let opened = table.opened().ok()??;
    let length = usize::try_from(opened.length).ok()?;
    let head = &opened.head(HEAD).ok()?.to_vec()[..];
    if is_gzip(head) || is_zstd(head) {
        return text_shape(opened, &file, options).map(|(shape, held)| summed(shape, held, options));
    }
    if matches!(Compression::of(head), Some(Compression::Bzip2 | Compression::Xz | Compression::Zip)) {
        let bytes = table.bytes(options).ok()?;
        if Format::detect(&bytes, &file, options).ok()? == Format::Csv {
            let shape = csv::shape(&bytes, bytes.len(), &file, options)?;
            return Some(summed(shape, bytes.len().saturating_add(shape.times(1)), options));
        }
    }
    let format = Format::detect(head, &file, options).ok()?;
    // How often the table is held while it is read, and what else is.
    let (shape, copies, beside) = match format {
        Format::Csv | Format::Mtx => {
            let (shape, held) = text_shape(table.opened().ok()??, &file, options)?;
            (shape, 0, held)
        }
        Format::Npy => {
            let header = npy::Header::read(&mut table.opened().ok()??.reader_from_start(), &file).ok()?;
            (header.table_shape()?, if header.fortran { 2 } else { 1 }, 0)
        }
        // A batch is held beside the rows that it becomes, and is often the whole file.
        Format::Parquet => {
            let (shape, zstd) = arrow::parquet_shape(path, &file, options)?;
            let each = if zstd { PARQUET_ZSTD_COLUMN } else { PARQUET_COLUMN };
            // Dictionary, page, and what both are decompressed to.
            let each = each.saturating_add(shape.rows.saturating_mul(8).min(PARQUET_PAGE).saturating_mul(4));
            (shape, 2, shape.columns.saturating_mul(each).saturating_add(length).saturating_add(PARQUET))
        }
        Format::Arrow => (arrow::ipc_shape(&table.bytes(options).ok()?, &file, options)?, 2, length),
        Format::Npz => {
            let (shape, fortran) = npz::shape(&table.bytes(options).ok()?, &file, options)?;
            (shape, if fortran || shape.stored.is_some() { 2 } else { 1 }, length)
        }
        Format::Mat => (mat::shape(&table.bytes(options).ok()?, &file, options)?, 3, length),
        Format::H5ad => (h5ad::shape(path, &file, options)?, 2, 0),
        Format::TenX => return None,
    };
    // What has no cells is refused when it is read, and its other side may be any number.
    if shape.rows == 0 || shape.columns == 0 {
        return None;
    }
    Some(summed(shape, shape.times(copies).saturating_add(beside), options))
}

/// `held` bytes are held while the file is read; after that a table may have to be turned.
fn summed(shape: TableShape, held: usize, options: &ReadOptions) -> Forecast {
    let (turned, copies) = if options.transpose { (shape.turned(), 2) } else { (shape, 1) };
    let reading = held.max(shape.times(copies)).saturating_add(name_bytes(shape.rows, shape.columns));
    Forecast { rows: turned.rows, columns: turned.columns, stored: turned.stored, reading }
}

/// The shape of a text table or Matrix Market file, plain or compressed, and the bytes that are held while it is read.
fn text_shape(opened: &mut OpenFile, file: &str, options: &ReadOptions) -> Option<(TableShape, usize)> {
    let sample = opened.text(SAMPLE)?;
    let shape = match Format::detect(&sample.text, file, options).ok()? {
        Format::Csv => csv::shape(&sample.text, sample.whole, file, options)?,
        Format::Mtx => mtx::shape(&sample.text, file)?,
        _ => return None,
    };
    // Entries of a Matrix Market file are kept as (row, column, value), in lists that grow, until all of them are known.
    let entries = shape.stored.unwrap_or(0).saturating_mul(32);
    let parsed = shape.times(1).saturating_add(entries);
    Some((shape, sample.whole.saturating_add(parsed.max(sample.compressed))))
}
