//! Results of a fit in further places and formats.

use std::path::{Path, PathBuf};

use ewca::{Model, Plan};
use ewca_io::{
    AnnDataResults, Frame, Parameter, Partner, SparseValues, TextColumn, write_anndata, write_matrix_npy,
    write_partners, write_table,
};
use rayon::prelude::*;
use serde_json::json;

use crate::failure::Failure;
use crate::input::{Dataset, Input};
use crate::output::{id_columns, rehearse};
use crate::results::component_name;
use crate::terminal::Console;
use crate::text::count;

/// The files that were asked for.
#[derive(Debug)]
pub struct Exports {
    /// For the scores.
    pub scores: Option<PathBuf>,
    /// For the loadings.
    pub loadings: Option<PathBuf>,
    /// For the strongest partners.
    pub plan: Option<PathBuf>,
    /// How many of them each sample has.
    pub partners: usize,
    /// For the whole plan.
    pub dense_plan: Option<PathBuf>,
    /// For a copy of the AnnData input with the results.
    pub anndata: Option<PathBuf>,
}

/// A file that was written, and what it holds.
#[derive(Debug)]
pub struct Written {
    /// The file.
    pub file: PathBuf,
    /// What it holds, in a few words.
    pub what: String,
}

impl Written {
    /// Says so.
    pub fn say(&self, console: Console) {
        console.say(&format!("Written to {}: {}\n", self.file.display(), self.what));
        console.report(&json!({ "event": "written", "file": self.file }));
    }
}

impl Exports {
    /// Makes sure that what is to be copied can be read again.
    pub fn check_input(&self, input: &Input) -> Result<(), Failure> {
        match self.anndata.is_some() && input.is_stream() {
            true => Err(Failure::Unfit {
                file: input.name(),
                problem: "cannot be copied for --write-anndata: it can be read only once; name a file".into(),
            }),
            false => Ok(()),
        }
    }

    /// Makes sure that all of them can be written: a long fit should not find out at its end.
    pub fn rehearse(&self) -> Result<(), Failure> {
        let files = [&self.scores, &self.loadings, &self.plan, &self.dense_plan, &self.anndata];
        files.into_iter().flatten().try_for_each(|file| rehearse(file))
    }

    /// Writes all of them.
    pub fn write(
        &self,
        input: &Input,
        data: &Dataset,
        model: &Model,
        max_memory: Option<usize>,
    ) -> Result<Vec<Written>, Failure> {
        let mut written = Vec::new();
        let mut done = |file: &Path, what: String| written.push(Written { file: file.into(), what });
        let k = count(model.n_components(), "component");
        if let Some(file) = &self.scores {
            write_scores(file, data, model)?;
            done(file, format!("{} x {k}", count(model.n_samples(), "sample")));
        }
        if let Some(file) = &self.loadings {
            write_loadings(file, data, model)?;
            done(file, format!("{} x {k}", count(model.n_features(), "feature")));
        }
        if self.plan.is_none() && self.dense_plan.is_none() && self.anndata.is_none() {
            return Ok(written);
        }
        let plan = model.plan();
        if let Some(file) = &self.dense_plan {
            let refused = |source| Failure::Fit { file: input.name(), source };
            let dense = plan.dense(max_memory.unwrap_or(usize::MAX)).map_err(refused)?;
            write_matrix_npy(file, plan.len(), plan.len(), dense.as_column_major())?;
            done(file, format!("the whole plan, {} x {}", plan.len(), plan.len()));
        }
        if self.plan.is_none() && self.anndata.is_none() {
            return Ok(written);
        }
        let partners = strongest(&plan, self.partners);
        if let Some(file) = &self.plan {
            write_partners(file, &partners, Some(&data.ids))?;
            done(file, format!("{} of each sample", count(self.partners.min(plan.len()), "strongest partner")));
        }
        if let (Some(file), Input::File(source)) = (&self.anndata, input) {
            let (scores, loadings) = (model.scores.to_row_major(), model.components.to_row_major());
            let results = AnnDataResults {
                components: model.n_components(),
                ids: Some(&data.ids),
                scores: &scores,
                features: &data.table.features,
                loadings: &loadings,
                plan: Some(&as_sparse(&partners, plan.len())),
                parameters: &parameters(model),
            };
            write_anndata(source, file, &results)?;
            done(file, "obsm X_ewca, varm EWCs, obsp ewca_plan, uns ewca".into());
        }
        Ok(written)
    }
}

/// Writes the scores in the format of the file's extension.
pub fn write_scores(file: &Path, data: &Dataset, model: &Model) -> Result<(), Failure> {
    write_matrix(file, &id_columns(&data.ids, data.table.labels.as_deref()), &model.scores)
}

/// Writes the loadings in the format of the file's extension.
pub fn write_loadings(file: &Path, data: &Dataset, model: &Model) -> Result<(), Failure> {
    write_matrix(file, &[TextColumn { name: "feature", cells: &data.table.features }], &model.components)
}

fn write_matrix(file: &Path, texts: &[TextColumn<'_>], matrix: &ewca::Matrix) -> Result<(), Failure> {
    let columns: Vec<String> = (0..matrix.columns()).map(component_name).collect();
    let values = matrix.to_row_major();
    Ok(write_table(file, &Frame { rows: matrix.rows(), texts, columns: &columns, values: &values })?)
}

/// The largest entries of each row of the plan, in the order of their size. The entry of a sample with itself is one of them.
fn strongest(plan: &Plan, partners: usize) -> Vec<Partner> {
    let row = |sample: usize| {
        let mass = plan.weights()[sample];
        let pair = move |(partner, share)| Partner { sample, partner, weight: share * mass };
        plan.partners(sample, partners).into_iter().map(pair).collect::<Vec<_>>()
    };
    (0..plan.len()).into_par_iter().map(row).collect::<Vec<_>>().concat()
}

fn as_sparse(partners: &[Partner], samples: usize) -> SparseValues {
    let mut sorted = partners.to_vec();
    sorted.sort_by_key(|pair| (pair.sample, pair.partner));
    let offsets = (0..=samples).map(|sample| sorted.partition_point(|pair| pair.sample < sample)).collect();
    SparseValues {
        columns: samples,
        offsets,
        indices: sorted.iter().map(|pair| pair.partner as u32).collect(),
        values: sorted.iter().map(|pair| pair.weight).collect(),
    }
}

fn parameters(model: &Model) -> Vec<(String, Parameter)> {
    let numbers = |values: &[f64]| Parameter::Numbers(values.to_vec());
    let approximate = model.certificate.approximation.map(|near| {
        [
            ("approximate_landmarks", Parameter::Integer(near.landmarks as i64)),
            ("approximate_marginal_error", Parameter::Number(near.marginal_error)),
        ]
    });
    let always = [
        ("version", Parameter::Text(env!("CARGO_PKG_VERSION").into())),
        ("solver", Parameter::Text(model.solver.name().into())),
        ("termination", Parameter::Text(model.termination.name().into())),
        ("n_components", Parameter::Integer(model.n_components() as i64)),
        ("collapsed", Parameter::Integer(model.certificate.collapsed.into())),
        ("epsilon", Parameter::Number(model.epsilon)),
        ("perplexity", Parameter::Number(model.perplexity.overall)),
        ("loss", Parameter::Number(model.loss)),
        ("variance", numbers(&model.explained_variance)),
        ("variance_ratio", numbers(&model.explained_variance_ratio)),
    ];
    let all = always.into_iter().chain(approximate.into_iter().flatten());
    all.map(|(name, value)| (name.to_string(), value)).collect()
}
