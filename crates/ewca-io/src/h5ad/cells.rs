//! Tables of single cells in HDF5 that are no AnnData: 10x files, of both versions, and loom.

use rust_hdf5::H5Group;

use super::read::{H5ad, has};
use crate::anndata::AnnData;
use crate::error::{another_column, counted, excerpt};
use crate::finish::{Draft, chosen_columns};
use crate::forecast::TableShape;
use crate::sparse::{Compressed, Major, natural_numbers};
use crate::tenx::{Feature, names_of, wanted_type};
use crate::{Error, ReadOptions, TextCells, Values};

/// Who wrote an HDF5 file, by the names at its root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Kind {
    AnnData,
    /// 10x: the group that has the matrix.
    TenX(Matrix),
    Loom,
}

/// The matrix of a 10x file: version 3 has one, version 2 one for each genome.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Matrix {
    place: String,
    is_new: bool,
}

impl H5ad<'_> {
    pub fn kind(&self, options: &ReadOptions) -> Result<Kind, Error> {
        let names = self.root.link_names();
        let groups = self.root.group_names().unwrap_or_default();
        if has(&names, "obs") || has(&names, "X") {
            return Ok(Kind::AnnData);
        }
        if has(&names, "row_attrs") && has(&names, "col_attrs") && has(&names, "matrix") {
            return Ok(Kind::Loom);
        }
        let holds = |group: &str, name: &str| self.root.group(group).is_ok_and(|found| has(&found.link_names(), name));
        if holds("matrix", "barcodes") {
            return Ok(Kind::TenX(Matrix { place: "matrix".into(), is_new: true }));
        }
        let genomes: Vec<String> =
            groups.iter().filter(|name| holds(name, "barcodes") && holds(name, "genes")).cloned().collect();
        let chosen = options.array.as_ref().and_then(|wanted| genomes.iter().find(|genome| *genome == wanted));
        match (chosen, &genomes[..]) {
            (Some(genome), _) => Ok(Kind::TenX(Matrix { place: genome.clone(), is_new: false })),
            (None, [genome]) if options.array.is_none() => {
                Ok(Kind::TenX(Matrix { place: genome.clone(), is_new: false }))
            }
            (None, [_, ..]) => {
                let problem = "is a 10x file with several genomes".into();
                Err(Error::Choose { file: self.name.into(), problem, known: genomes })
            }
            (None, []) => {
                let shown: Vec<String> =
                    names.unwrap_or_default().iter().take(5).map(|name| excerpt(name.as_bytes())).collect();
                let what = format!("is an HDF5 file, but not AnnData, 10x or loom (it contains {})", shown.join(", "));
                Err(Error::unsupported(self.name, what, "save the table as AnnData (.h5ad) or as CSV"))
            }
        }
    }

    /// A 10x file stores cell after cell, each as a list of genes.
    pub fn tenx(&self, matrix: &Matrix, options: &ReadOptions) -> Result<Draft, Error> {
        let place = &matrix.place;
        let list = |name: &str| {
            let path = format!("{place}/{name}");
            self.plain_texts(&self.dataset(&path)?, &path)
        };
        let (ids, symbols, kinds) = match matrix.is_new {
            true => (list("features/id")?, list("features/name")?, list("features/feature_type").unwrap_or_default()),
            false => (list("genes")?, list("gene_names")?, Vec::new()),
        };
        let cells = list("barcodes")?;
        if ids.len() != symbols.len() || !(kinds.is_empty() || kinds.len() == ids.len()) {
            return Err(self.malformed(format!("{place} has lists of features of different lengths")));
        }
        let mut kinds = kinds.into_iter();
        let features: Vec<Feature> = ids
            .into_iter()
            .zip(symbols)
            .map(|(id, symbol)| Feature { id, symbol, kind: kinds.next().unwrap_or_default() })
            .collect();
        let broken = |problem: String| self.malformed(format!("{place}: {problem}"));
        let indices = natural_numbers(self.integers(&format!("{place}/indices"))?, "indices").map_err(broken)?;
        let data = format!("{place}/data");
        let values = self.numbers(&self.dataset(&data)?, &data)?;
        let stored = Compressed {
            major: Major::Row,
            shape: [cells.len(), features.len()],
            offsets: self.offsets(place)?,
            indices,
            values,
        };
        let values = Values::Sparse(stored.into_rows().map_err(broken)?);
        let version = if matrix.is_new { "a 10x file" } else { "a 10x file of version 2" };
        let mut draft = Draft { ids: Some(cells), ..Draft::of_matrix(values) };
        draft.notes.push(version.into());
        keep_type(&mut draft, features, self.name, options)?;
        Ok(draft)
    }

    /// A loom file has genes in rows, and lists of what is known of rows and columns.
    pub fn loom(&self, options: &ReadOptions) -> Result<Draft, Error> {
        let path = options.array.as_ref().map_or("matrix".to_string(), |layer| format!("layers/{layer}"));
        let layers = self.root.group("layers").and_then(|layers| layers.link_names()).unwrap_or_default();
        if let Some(layer) = options.array.as_ref().filter(|layer| !layers.contains(layer)) {
            let problem = format!("has no layer '{}'", excerpt(layer.as_bytes()));
            return Err(Error::Choose { file: self.name.into(), problem, known: layers });
        }
        let (dataset, shape) = self.dense(&path)?;
        let [genes, cells] = shape;
        let values = self.dense_values(self.numbers(&dataset, &path)?, shape, &path)?.transposed();
        let rows = self.root.group("row_attrs").map_err(self.because("row_attrs"))?;
        let columns = self.root.group("col_attrs").map_err(self.because("col_attrs"))?;
        let symbols = self.attribute(&rows, "row_attrs", &["Gene", "gene", "var_names", "gene_names"], genes)?;
        let ids = self.attribute(&rows, "row_attrs", &["Accession", "gene_ids", "GeneID"], genes)?;
        let mut draft = Draft::of_matrix(values);
        draft.notes.push("a loom file".into());
        draft.ids = self.attribute(&columns, "col_attrs", &["CellID", "cell_id", "obs_names", "CellId"], cells)?;
        if let Some(symbols) = symbols {
            let ids = ids.unwrap_or_else(|| numbered(&symbols));
            let features = ids.into_iter().zip(symbols).map(|(id, symbol)| Feature { id, symbol, kind: String::new() });
            draft.features = Some(names_of(&features.collect::<Vec<_>>()));
        }
        let column = |wanted: &Option<String>| match wanted {
            None => Ok(None),
            Some(name) => match self.attribute(&columns, "col_attrs", &[name], cells)? {
                Some(texts) => Ok(Some(texts)),
                None => {
                    let what = format!("has no column attribute '{}'", excerpt(name.as_bytes()));
                    Err(Error::unsupported(self.name, what, another_column()))
                }
            },
        };
        draft.labels = column(&options.label)?;
        for name in &options.annotations {
            let cells = column(&Some(name.clone()))?.unwrap_or_default();
            draft.texts.push(TextCells { name: name.clone(), cells, categorical: false });
        }
        draft.ids = column(&options.id)?.or(draft.ids);
        draft.filter = column(&options.filter.as_ref().map(|(name, _)| name.clone()))?;
        Ok(draft)
    }

    /// The first list of these names that is there.
    fn attribute(
        &self,
        group: &H5Group,
        place: &str,
        names: &[&str],
        count: usize,
    ) -> Result<Option<Vec<String>>, Error> {
        let known = group.dataset_names();
        let Some(name) = names.iter().find(|name| has(&known, name)) else { return Ok(None) };
        let path = format!("{place}/{name}");
        let texts = self.plain_texts(&self.dataset(&path)?, &path)?;
        match texts.len() == count {
            true => Ok(Some(texts)),
            false => Err(self.malformed(format!(
                "{path} has {}, but there are {count} rows or columns",
                counted(texts.len(), "element")
            ))),
        }
    }

    /// The size of the table of a file that is no AnnData.
    pub fn other_shape(&self, kind: &Kind, options: &ReadOptions) -> Option<TableShape> {
        let size = |path: &str| Some(self.file.dataset(path).ok()?.shape());
        match kind {
            Kind::AnnData => None,
            Kind::Loom => {
                let path = options.array.as_ref().map_or("matrix".to_string(), |layer| format!("layers/{layer}"));
                let &[genes, cells] = &size(&path)?[..] else { return None };
                Some(TableShape::dense(cells, genes))
            }
            Kind::TenX(Matrix { place, is_new }) => {
                let features = if *is_new { "features/id" } else { "genes" };
                let count = |name: &str| size(&format!("{place}/{name}"))?.first().copied();
                Some(TableShape { rows: count("barcodes")?, columns: count(features)?, stored: count("data") })
            }
        }
    }
}

/// Features that have the same symbol, and nothing else that tells them apart, are told apart by a number.
fn numbered(symbols: &[String]) -> Vec<String> {
    symbols.iter().enumerate().map(|(at, symbol)| format!("{symbol}.{}", at + 1)).collect()
}

/// Keeps the features of the type that is wanted, and names them.
pub(crate) fn keep_type(
    draft: &mut Draft,
    features: Vec<Feature>,
    file: &str,
    options: &ReadOptions,
) -> Result<(), Error> {
    let Some(wanted) = wanted_type(&features, file, options)? else {
        draft.features = Some(names_of(&features));
        return Ok(());
    };
    let keep: Vec<usize> = (0..features.len()).filter(|&at| features[at].kind == wanted).collect();
    draft.values = chosen_columns(&draft.values, &keep);
    draft.notes.push(format!("only features of type {wanted}"));
    let features: Vec<Feature> = features.into_iter().filter(|feature| feature.kind == wanted).collect();
    draft.features = Some(names_of(&features));
    Ok(())
}
