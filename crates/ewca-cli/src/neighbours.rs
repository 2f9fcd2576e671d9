//! `ewca neighbours`: over whom the mass of samples spreads.

use ewca::{Matrix, Plan};
use ewca_io::{Frame, TextColumn};
use rayon::prelude::*;

use crate::args::NeighboursJob;
use crate::failure::Failure;
use crate::input::Dataset;
use crate::outcome::Outcome;
use crate::output;
use crate::terminal::Console;
use crate::transform::{model_at, table_for};

/// Runs the job.
pub fn run(job: &NeighboursJob, console: Console) -> Result<Outcome, Failure> {
    let file = model_at(&job.model, console)?;
    let plan = file.model.plan();
    let (ids, partners) = match &job.table {
        None => (file.ids.clone(), of_training(&plan, job.count)),
        Some(table) => {
            let name = table.input.name();
            let data = Dataset::to_apply(table_for(&file, table, console)?, &file.preprocessing, &name)?;
            let scores = data.scores(&file.model).map_err(|source| Failure::Fit { file: name, source })?;
            (data.ids, of_new(&plan, &scores, job.count))
        }
    };

    let pairs = || partners.iter().enumerate().flat_map(|(i, row)| row.iter().map(move |&(j, share)| (i, j, share)));
    let samples: Vec<String> = pairs().map(|(i, ..)| ids[i].clone()).collect();
    let others: Vec<String> = pairs().map(|(_, j, _)| file.ids[j].clone()).collect();
    let labels: Option<Vec<String>> =
        file.labels.as_ref().map(|labels| pairs().map(|(_, j, _)| labels[j].clone()).collect());
    let shares: Vec<f64> = pairs().map(|(.., share)| share).collect();
    let mut texts =
        vec![TextColumn { name: "sample", cells: &samples }, TextColumn { name: "partner", cells: &others }];
    texts.extend(labels.as_ref().map(|cells| TextColumn { name: "label", cells }));
    let frame = Frame { rows: shares.len(), texts: &texts, columns: &["share".into()], values: &shares };
    output::give(&frame, job.output.as_deref(), console)?;
    Ok(Outcome::Converged)
}

/// The strongest partners of every training sample, apart from itself.
fn of_training(plan: &Plan, count: usize) -> Vec<Vec<(usize, f64)>> {
    let partners = |i: usize| {
        let others = plan.partners(i, count.saturating_add(1)).into_iter().filter(|&(j, _)| j != i);
        others.take(count).collect()
    };
    (0..plan.len()).into_par_iter().map(partners).collect()
}

/// The strongest partners of new samples, given by their scores.
fn of_new(plan: &Plan, scores: &Matrix, count: usize) -> Vec<Vec<(usize, f64)>> {
    let partners = |i: usize| {
        let shares = plan.shares(&scores.row(i));
        let mut order: Vec<usize> = (0..shares.len()).collect();
        order.sort_by(|&i, &j| shares[j].total_cmp(&shares[i]).then(i.cmp(&j)));
        order.into_iter().take(count).map(|j| (j, shares[j])).collect()
    };
    (0..scores.rows()).into_par_iter().map(partners).collect()
}
