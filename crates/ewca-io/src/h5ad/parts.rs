//! AnnData files of which some rows are read at a time.

use std::ops::Range;
use std::path::{Path, PathBuf};

use rust_hdf5::H5Dataset;

use crate::anndata::AnnData;
use crate::error::counted;
use crate::finish::Draft;
use crate::parts::Parts;
use crate::source::contained;
use crate::sparse::{Major, check_shape, checked_offsets, natural_numbers, some_rows};
use crate::{Error, Palette, ReadOptions, TextCells, Values};

use super::cells::Kind;
use super::read::{H5ad, Part};

/// The most bytes of chunks that may have to be read for a single row. What h5py chooses by itself is below this for
/// tables of a hundred thousand columns.
const LARGEST_CHUNKS: usize = 1 << 29;

/// A matrix in an AnnData file, and the names of its rows and columns.
#[derive(Debug)]
pub(crate) struct AnnDataParts {
    path: PathBuf,
    stored: Stored,
    features: Vec<String>,
    ids: Vec<String>,
    labels: Option<Vec<String>>,
    texts: Vec<TextCells>,
    palettes: Vec<Palette>,
}

/// How the matrix is stored, and where in the file it is.
#[derive(Debug)]
enum Stored {
    /// Every cell; `rows_together` is the height of a chunk.
    Dense { place: String, rows_together: usize },
    /// Compressed sparse rows, which start at these offsets.
    Rows { place: String, offsets: Vec<usize> },
}

impl AnnDataParts {
    pub fn open(path: &Path, file: &str, options: &ReadOptions) -> Result<AnnDataParts, Error> {
        contained(file, "h5ad", || {
            let h5ad = H5ad::open(path, file, options)?;
            if h5ad.kind(options)? != Kind::AnnData {
                let what = "is not an AnnData file, so it cannot be read in parts";
                return Err(Error::unsupported(file, what, "save it as AnnData (.h5ad)"));
            }
            let features = h5ad.index("var")?;
            let index = h5ad.index("obs")?;
            let stored = stored(&h5ad, file, options, [index.len(), features.len()])?;
            let (ids, labels) = h5ad.names_of_rows(index, options)?;
            let texts = h5ad.annotations(ids.len(), options)?;
            let palettes = h5ad.palettes(options);
            Ok(AnnDataParts { path: path.into(), stored, features, ids, labels, texts, palettes })
        })?
    }

    /// Whether the layout of the matrix lets its rows be read apart from each other.
    pub fn has_rows_apart(path: &Path, file: &str, options: &ReadOptions) -> bool {
        let found = contained(file, "h5ad", || layout(&H5ad::open(path, file, options)?, file, options));
        matches!(found, Ok(Ok(_)))
    }

    fn values(&self, h5ad: &H5ad, rows: Range<usize>) -> Result<Values, Error> {
        let columns = self.features.len();
        match &self.stored {
            Stored::Dense { place, .. } => {
                let (dataset, shape) = h5ad.dense(place)?;
                h5ad.check_size(shape, [self.ids.len(), columns])?;
                let shape = [rows.len(), columns];
                let part = Part { starts: &[rows.start, 0], counts: &shape };
                h5ad.dense_values(h5ad.some_numbers(&dataset, &part, place)?, shape, place)
            }
            Stored::Rows { place, offsets } => {
                let offsets = &offsets[rows.start..=rows.end];
                let (start, end) = (offsets[0], offsets[rows.len()]);
                let part = Part { starts: &[start], counts: &[end - start] };
                let [(indices, indices_place), (data, data_place)] = entries(h5ad, place)?;
                let indices = h5ad.some_integers(&indices, &part, &indices_place)?;
                let values = h5ad.some_numbers(&data, &part, &data_place)?;
                let values = natural_numbers(indices, "indices")
                    .and_then(|indices| some_rows(columns, offsets, indices, values));
                Ok(Values::Sparse(values.map_err(|problem| h5ad.malformed(format!("{place}: {problem}")))?))
            }
        }
    }
}

impl Parts for AnnDataParts {
    fn rows(&self) -> usize {
        self.ids.len()
    }

    fn bytes(&self) -> usize {
        match &self.stored {
            Stored::Dense { .. } => self.ids.len().saturating_mul(self.features.len()).saturating_mul(8),
            Stored::Rows { offsets, .. } => {
                offsets[offsets.len() - 1].saturating_mul(12).saturating_add(8 * self.ids.len())
            }
        }
    }

    fn rows_together(&self) -> usize {
        match &self.stored {
            Stored::Dense { rows_together, .. } => *rows_together,
            Stored::Rows { .. } => 1,
        }
    }

    fn draft(&self, rows: Range<usize>, file: &str, options: &ReadOptions) -> Result<Draft, Error> {
        let values = contained(file, "h5ad", || {
            let h5ad = H5ad::open(&self.path, file, options)?;
            self.values(&h5ad, rows.clone())
        })??;
        Ok(Draft {
            texts: self.texts.iter().map(|text| text.rows(rows.clone())).collect(),
            left_out: Vec::new(),
            palettes: self.palettes.clone(),
            values,
            features: Some(self.features.clone()),
            ids: Some(self.ids[rows.clone()].to_vec()),
            labels: self.labels.as_ref().map(|labels| labels[rows.clone()].to_vec()),
            filter: None,
            // Variables may still be ignored by name.
            roles_open: true,
            notes: Vec::new(),
        })
    }
}

/// How the matrix that the options name is stored; everything that can be checked without its values is.
fn stored(h5ad: &H5ad, file: &str, options: &ReadOptions, shape: [usize; 2]) -> Result<Stored, Error> {
    let (place, rows_together) = layout(h5ad, file, options)?;
    if let Some(rows_together) = rows_together {
        let (_, found) = h5ad.dense(&place)?;
        h5ad.check_size(found, shape)?;
        return Ok(Stored::Dense { place, rows_together });
    }
    let offsets = h5ad.offsets(&place)?;
    let sizes = entries(h5ad, &place)?.map(|(dataset, _)| dataset.shape()[0]);
    let [rows, columns] = shape.map(|size| size as u64);
    let offsets = check_shape(rows, columns, (sizes[0] as u64 + offsets.len() as u64).saturating_mul(8))
        .and_then(|()| checked_offsets(offsets, shape[0], sizes))
        .map_err(|problem| h5ad.malformed(format!("{place}: {problem}")))?;
    Ok(Stored::Rows { place, offsets })
}

/// Where the matrix is, and how many rows are stored together if it is dense. It is refused if its rows cannot be read
/// apart from each other.
fn layout(h5ad: &H5ad, file: &str, options: &ReadOptions) -> Result<(String, Option<usize>), Error> {
    let (place, is_sparse) = h5ad.place(options.array.as_deref())?;
    if !is_sparse {
        let (dataset, _) = h5ad.dense(&place)?;
        let rows_together = rows_together(&dataset, &place, file)?;
        return Ok((place, Some(rows_together)));
    }
    if h5ad.major(&place)? == Major::Column {
        return Err(Error::unsupported(
            file,
            format!("{place} is stored by columns (CSC) and cannot be read in parts"),
            "store it by rows: run adata.X = scipy.sparse.csr_matrix(adata.X) in Python, and save the file again",
        ));
    }
    for (dataset, path) in entries(h5ad, &place)? {
        rows_together(&dataset, &path, file)?;
    }
    Ok((place, None))
}

/// The columns and the values of the entries of a sparse matrix, each with its path.
fn entries(h5ad: &H5ad, place: &str) -> Result<[(H5Dataset, String); 2], Error> {
    let list = |name: &str| {
        let path = format!("{place}/{name}");
        let dataset = h5ad.dataset(&path)?;
        if dataset.ndims() != 1 {
            let found = counted(dataset.ndims(), "dimension");
            return Err(h5ad.malformed(format!("{path} has {found} instead of 1")));
        }
        Ok((dataset, path))
    };
    Ok([list("indices")?, list("data")?])
}

/// How many rows of a dataset are stored together. A layout of which all must be read for a few rows is refused.
fn rows_together(dataset: &H5Dataset, path: &str, file: &str) -> Result<usize, Error> {
    let refused = |what: String, advice: &'static str| Err(Error::unsupported(file, format!("{path} {what}"), advice));
    let Some(chunk) = dataset.chunk_dims() else { return Ok(1) };
    let wide = dataset.shape().into_iter().zip(&chunk).skip(1);
    let width = wide.map(|(size, &chunk)| size.div_ceil(chunk.max(1)).saturating_mul(chunk));
    let rows = chunk.first().copied().unwrap_or(1).max(1);
    let bytes = width.fold(rows, usize::saturating_mul).saturating_mul(dataset.element_size().max(1));
    if bytes > LARGEST_CHUNKS {
        let what = format!("has chunks of {rows} rows ({bytes} bytes), too large to be read in parts");
        return refused(what, "save it again with fewer rows per chunk");
    }
    Ok(rows)
}
