//! Results of a fit in further places and formats.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use ewca::{Model, Plan};
use ewca_io::{
    AnnDataResults, Annotation, Frame, Parameter, Partner, Preprocessing, SparseValues, Staged, TextCells, TextColumn,
    add_partners, stage_anndata, stage_matrix_npy, stage_table,
};
use rayon::prelude::*;
use serde_json::json;

use crate::console::failure::Failure;
use crate::console::terminal::Console;
use crate::console::text::count;
use crate::input::table::{Dataset, Input};
use crate::output::emit::{check_writable, go_on, id_columns, names_beside, stage_frame, stopping};
use crate::output::results::component_name;

/// Pairs of the plan that are held at a time while they are written, and entries of the whole plan.
const PAIRS: usize = 1 << 15;
const ENTRIES: usize = 1 << 19;

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

/// Where exports come from, and whether they are still wanted.
#[derive(Clone, Copy)]
pub struct Exporting<'a> {
    /// The table.
    pub input: &'a Input,
    /// The same, as it was fitted.
    pub data: &'a Dataset,
    /// The fit.
    pub model: &'a Model,
    /// The layer of an AnnData file that was fitted, where one was named.
    pub layer: Option<&'a str>,
    /// Whether the user wants to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

impl Exports {
    /// Makes sure that what is to be copied can be read again.
    pub fn check_input(&self, input: &Input) -> Result<(), Failure> {
        match self.anndata.is_some() && input.is_stream() {
            true => Err(Failure::Unfit {
                file: input.name(),
                problem: "cannot be copied for --write-anndata, because a pipe can be read only once; save it to a file first".into(),
            }),
            false => Ok(()),
        }
    }

    /// Makes sure that all of them can be written: a long fit should not find out at its end.
    pub fn check_writable(&self) -> Result<(), Failure> {
        let files = [&self.scores, &self.loadings, &self.plan, &self.dense_plan, &self.anndata];
        files.into_iter().flatten().try_for_each(|file| check_writable(file))
    }

    /// The bytes that are held at most while they are written, beside the model: of `samples` x `features`.
    pub fn bytes(&self, samples: usize, features: usize, components: usize) -> usize {
        let times = usize::saturating_mul;
        let matrix = |file: &Option<PathBuf>, rows| if file.is_some() { times(times(rows, components), 16) } else { 0 };
        let tables = matrix(&self.scores, samples).max(matrix(&self.loadings, features));
        if self.plan.is_none() && self.dense_plan.is_none() && self.anndata.is_none() {
            return tables;
        }
        // The plan has its own scores, and the points of its kernel; each thread works on a row.
        let plan = times(samples, times(components, 24).saturating_add(48));
        let rows = times(times(samples, 32), rayon::current_num_threads());
        let partners = self.partners.min(samples).max(1);
        let pairs = times(samples, partners);
        let blocks = match (&self.plan, &self.anndata) {
            // Partners, their names, and the text of a block; Parquet keeps up to a million rows until it writes them.
            (Some(file), None) => {
                let held = pairs.min(PAIRS.max(times(partners, rayon::current_num_threads())));
                let kept = if is_parquet(file) { times(pairs.min(1 << 20), 24) } else { 0 };
                times(held, 160).saturating_add(kept)
            }
            // All of them, twice while they are sorted, and as they are written.
            (_, Some(_)) => times(pairs, 72),
            (None, None) => 0,
        };
        let dense = if self.dense_plan.is_some() { times(ENTRIES.max(samples), 16) } else { 0 };
        let copies =
            if self.anndata.is_some() { times(times(samples.saturating_add(features), components), 24) } else { 0 };
        tables.max(plan.saturating_add(rows).saturating_add(blocks.max(dense)).saturating_add(copies))
    }

    /// Writes all of them next to their places. What cannot be written does not keep the others from it: the first failure is told
    /// beside them.
    pub fn stage(&self, from: Exporting<'_>) -> (Vec<(Written, Staged)>, Option<Failure>) {
        let (mut all, mut failure) = (Vec::new(), None);
        let mut take = |file: &Path, staged: Result<Staged, ewca_io::Error>, what: String| match stopping(file, staged)
        {
            Ok(staged) => all.push((Written { file: file.into(), what }, staged)),
            Err(failed) => failure = failure.take().or(Some(failed)),
        };
        let Exporting { data, model, stop, .. } = from;
        let k = count(model.n_components(), "component");
        if let Some(file) = &self.scores {
            take(file, stage_scores(file, data, model), format!("{} x {k}", count(model.n_samples(), "sample")));
        }
        if let Some(file) = &self.loadings {
            take(file, stage_loadings(file, data, model), format!("{} x {k}", count(model.n_features(), "feature")));
        }
        if self.plan.is_none() && self.dense_plan.is_none() && self.anndata.is_none() {
            return (all, failure);
        }
        let plan = model.plan();
        if let Some(file) = &self.dense_plan {
            take(
                file,
                stage_dense(file, &plan, stop),
                format!("whole transport plan, {} x {}", plan.len(), plan.len()),
            );
        }
        if let Some(file) = &self.plan {
            let what = format!("{} of each sample", count(self.partners.min(plan.len()), "strongest partner"));
            take(file, stage_plan(file, &plan, self.partners, &data.ids, stop), what);
        }
        if let (Some(file), Input::File(source)) = (&self.anndata, from.input) {
            let what = "obsm X_ewca, varm EWCs and ewca_mean, obsp ewca_plan, uns ewca".into();
            take(file, stage_annotated(source, file, &plan, self.partners, from), what);
        }
        (all, failure)
    }
}

fn is_parquet(file: &Path) -> bool {
    file.extension()
        .is_some_and(|extension| extension.eq_ignore_ascii_case("parquet") || extension.eq_ignore_ascii_case("pq"))
}

/// The scores in the format of the file's extension.
pub fn stage_scores(file: &Path, data: &Dataset, model: &Model) -> Result<Staged, ewca_io::Error> {
    let columns: Vec<String> = (0..model.n_components()).map(component_name).collect();
    let known = |annotation: &Annotation| TextCells {
        name: annotation.name.clone(),
        cells: annotation.texts(),
        categorical: false,
    };
    let texts: Vec<TextCells> = data.annotations.iter().map(known).collect();
    let names = names_beside(&texts, &columns);
    let mut all = id_columns(&data.ids, data.table.labels.as_deref());
    all.extend(names.iter().zip(&texts).map(|(name, text)| TextColumn { name, cells: &text.cells }));
    stage_matrix(file, &all, model.scores())
}

/// The loadings in the format of the file's extension.
pub fn stage_loadings(file: &Path, data: &Dataset, model: &Model) -> Result<Staged, ewca_io::Error> {
    stage_matrix(file, &[TextColumn { name: "feature", cells: &data.table.features }], model.components())
}

fn stage_matrix(file: &Path, texts: &[TextColumn<'_>], matrix: &ewca::Matrix) -> Result<Staged, ewca_io::Error> {
    let columns: Vec<String> = (0..matrix.columns()).map(component_name).collect();
    let values = matrix.to_row_major();
    // Scores and loadings are what the run was for, and are written soon.
    stage_frame(file, &Frame { rows: matrix.rows(), texts, columns: &columns, values: &values }, || false)
}

/// The whole plan, some rows after the others: it may be larger than the memory.
fn stage_dense(file: &Path, plan: &Plan, stop: &(dyn Fn() -> bool + Sync)) -> Result<Staged, ewca_io::Error> {
    let samples = plan.len();
    stage_matrix_npy(file, samples, samples, |put| {
        in_blocks(samples, ENTRIES / samples, |rows| {
            let row = |sample| if stop() { Vec::new() } else { plan.row(sample) };
            let block: Vec<Vec<f64>> = rows.into_par_iter().map(row).collect();
            go_on(stop)?;
            block.iter().try_for_each(|row| put(row))
        })
    })
}

/// The strongest partners as a long table, those of some samples after the others.
fn stage_plan(
    file: &Path,
    plan: &Plan,
    partners: usize,
    ids: &[String],
    stop: &(dyn Fn() -> bool + Sync),
) -> Result<Staged, ewca_io::Error> {
    let pairs = plan.len() * partners.min(plan.len());
    stage_table(file, pairs, |table| {
        in_blocks(plan.len(), PAIRS / partners.max(1), |samples| {
            let block = strongest(plan, samples, partners, stop);
            go_on(stop)?;
            add_partners(table, &block, Some(ids))
        })
    })
}

fn stage_annotated(
    source: &Path,
    file: &Path,
    plan: &Plan,
    partners: usize,
    from: Exporting<'_>,
) -> Result<Staged, ewca_io::Error> {
    let Exporting { data, model, stop, .. } = from;
    let stopped = |source| ewca_io::Error::Write { file: file.display().to_string(), source };
    let (scores, loadings) = (model.scores().to_row_major(), model.components().to_row_major());
    let partners = as_sparse(strongest(plan, 0..plan.len(), partners, stop), plan.len());
    go_on(stop).map_err(stopped)?;
    let results = AnnDataResults {
        components: model.n_components(),
        ids: Some(&data.ids),
        scores: &scores,
        features: &data.table.features,
        loadings: &loadings,
        means: model.mean(),
        plan: Some(&partners),
        parameters: &parameters(model, from.layer, &data.preprocessing.steps),
    };
    stage_anndata(source, file, &results)
}

/// Does something to blocks of so many samples, at least one per thread.
fn in_blocks(samples: usize, block: usize, mut each: impl FnMut(Range<usize>) -> io::Result<()>) -> io::Result<()> {
    let block = block.max(rayon::current_num_threads());
    (0..samples).step_by(block).try_for_each(|start| each(start..(start + block).min(samples)))
}

/// The largest entries of some rows of the plan, in the order of their size. The entry of a sample with itself is one of them. Where
/// the user wants to stop, some are not there.
fn strongest(plan: &Plan, samples: Range<usize>, partners: usize, stop: &(dyn Fn() -> bool + Sync)) -> Vec<Partner> {
    let row = |sample: usize| {
        let mass = plan.weights()[sample];
        let pair = move |(partner, share)| Partner { sample, partner, weight: share * mass };
        let found = if stop() { Vec::new() } else { plan.partners(sample, partners) };
        found.into_iter().map(pair).collect::<Vec<_>>()
    };
    samples.into_par_iter().flat_map_iter(row).collect()
}

fn as_sparse(mut sorted: Vec<Partner>, samples: usize) -> SparseValues {
    sorted.sort_unstable_by_key(|pair| (pair.sample, pair.partner));
    let offsets = (0..=samples).map(|sample| sorted.partition_point(|pair| pair.sample < sample)).collect();
    SparseValues {
        columns: samples,
        offsets,
        indices: sorted.iter().map(|pair| pair.partner as u32).collect(),
        values: sorted.iter().map(|pair| pair.weight).collect(),
    }
}

/// What goes into `uns["ewca"]`, by the names that `ewca.scanpy` in Python has for it.
fn parameters(model: &Model, layer: Option<&str>, steps: &Preprocessing) -> Vec<(String, Parameter)> {
    let numbers = |values: &[f64]| Parameter::Numbers(values.to_vec());
    let text = |text: &str| Parameter::Text(text.into());
    let named = |(name, value): (&str, Parameter)| (name.to_string(), value);
    let params = [
        ("n_comps", Parameter::Integer(model.n_components() as i64)),
        ("solver", text(model.solver().name())),
        ("tol", Parameter::Number(model.params().tolerance())),
        ("use_highly_variable", Parameter::Flag(false)),
        ("zero_center", Parameter::Flag(true)),
    ];
    // Loadings and means are then of what the steps made, so that whoever projects other cells must know of them.
    let steps = (!steps.is_nothing()).then(|| ("preprocessing", text(&json!(steps).to_string())));
    let params = params.into_iter().chain(layer.map(|layer| ("layer", text(layer)))).chain(steps);
    let certificate = model.certificate();
    let approximate = certificate.approximation.map(|near| {
        [
            ("approximate_landmarks", Parameter::Integer(near.landmarks as i64)),
            ("approximate_marginal_error", Parameter::Number(near.marginal_error)),
        ]
    });
    let always = [
        ("version", text(env!("CARGO_PKG_VERSION"))),
        ("params", Parameter::Group(params.map(named).collect())),
        ("variance", numbers(model.explained_variance())),
        ("variance_ratio", numbers(model.explained_variance_ratio())),
        ("epsilon", Parameter::Number(model.epsilon())),
        ("perplexity", Parameter::Number(model.perplexity().overall)),
        ("loss", Parameter::Number(model.loss())),
        ("termination", text(model.termination().name())),
        ("marginal_error", Parameter::Number(certificate.marginal_error)),
        ("relative_gradient", Parameter::Number(certificate.relative_gradient)),
        ("collapsed", Parameter::Flag(certificate.collapsed)),
    ];
    always.into_iter().chain(approximate.into_iter().flatten()).map(named).collect()
}
