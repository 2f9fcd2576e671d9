//! `ewca neighbours`: over whom the mass of samples spreads.

use std::ops::Range;

use ewca::{Matrix, Plan};
use ewca_io::{Frame, TextColumn};
use rayon::prelude::*;

use crate::args::NeighboursJob;
use crate::commands::transform::{model_at, table_for};
use crate::console::failure::Failure;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;
use crate::input::table::Dataset;
use crate::output::emit;
use crate::run::interrupt;

/// Pairs that are held at a time.
const PAIRS: usize = 1 << 15;

/// Runs the job.
pub fn run(job: &NeighboursJob, console: Console) -> Result<Outcome, Failure> {
    let file = model_at(&job.model, console)?;
    let plan = file.model.plan();
    let new = match &job.table {
        None => None,
        Some(table) => {
            let name = table.input.name();
            let data = Dataset::to_apply(table_for(&file, table, console)?, &file.preprocessing, &name)?;
            let scores = data.scores(&file.model).map_err(|source| Failure::Fit { file: name, source })?;
            Some((data.ids, scores))
        }
    };
    let ids = new.as_ref().map_or(&file.ids, |(ids, _)| ids);
    let partners = |sample| match &new {
        // Soon all is given up anyway.
        _ if interrupt::requested() => Vec::new(),
        None => of_training(&plan, sample, job.count),
        Some((_, scores)) => of_new(&plan, scores, sample, job.count),
    };
    let each = job.count.min(plan.len() - usize::from(new.is_none()));
    let block = (PAIRS / each.max(1)).max(rayon::current_num_threads());
    emit::emit_blocks(ids.len() * each, job.output.as_deref(), console, |put| {
        (0..ids.len()).step_by(block).try_for_each(|start| {
            let samples = start..(start + block).min(ids.len());
            let pairs = pairs(samples, partners);
            let samples: Vec<String> = pairs.iter().map(|&(i, ..)| ids[i].clone()).collect();
            let others: Vec<String> = pairs.iter().map(|&(_, j, _)| file.ids[j].clone()).collect();
            let labels: Option<Vec<String>> =
                file.labels.as_ref().map(|labels| pairs.iter().map(|&(_, j, _)| labels[j].clone()).collect());
            let shares: Vec<f64> = pairs.iter().map(|&(.., share)| share).collect();
            let mut texts =
                vec![TextColumn { name: "sample", cells: &samples }, TextColumn { name: "partner", cells: &others }];
            texts.extend(labels.as_ref().map(|cells| TextColumn { name: "label", cells }));
            put(&Frame { rows: shares.len(), texts: &texts, columns: &["share".into()], values: &shares })
        })
    })?;
    Ok(Outcome::Success)
}

/// Some samples, their partners, and how much they share.
fn pairs(
    samples: Range<usize>,
    partners: impl Fn(usize) -> Vec<(usize, f64)> + Sync + Send,
) -> Vec<(usize, usize, f64)> {
    samples.into_par_iter().flat_map_iter(|i| partners(i).into_iter().map(move |(j, share)| (i, j, share))).collect()
}

/// The strongest partners of a training sample, apart from itself.
fn of_training(plan: &Plan, sample: usize, count: usize) -> Vec<(usize, f64)> {
    let others = plan.partners(sample, count.saturating_add(1)).into_iter().filter(|&(j, _)| j != sample);
    others.take(count).collect()
}

/// The strongest partners of a new sample, given by its scores.
fn of_new(plan: &Plan, scores: &Matrix, sample: usize, count: usize) -> Vec<(usize, f64)> {
    let shares = plan.shares(&scores.row(sample));
    let mut order: Vec<usize> = (0..shares.len()).collect();
    order.sort_by(|&i, &j| shares[j].total_cmp(&shares[i]).then(i.cmp(&j)));
    order.into_iter().take(count).map(|j| (j, shares[j])).collect()
}
