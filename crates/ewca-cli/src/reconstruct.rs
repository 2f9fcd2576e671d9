//! `ewca reconstruct`: the samples that scores stand for.

use ewca::Matrix;
use ewca_io::{Error, Frame, ReadOptions, Role, Table, Values};

use crate::args::TransformJob;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output;
use crate::results::component_name;
use crate::terminal::Console;
use crate::transform::model_at;

/// Runs the job.
pub fn run(job: &TransformJob, console: Console) -> Result<Outcome, Failure> {
    let file = model_at(&job.model)?;
    let name = job.table.input.name();
    let table = with_components(read_scores(job)?, file.model.n_components(), &name)?;
    let values = match &table.values {
        Values::Dense(dense) => dense.clone(),
        Values::Sparse(sparse) => sparse.to_dense(),
    };
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let scores = Matrix::from_row_major(values.rows, values.columns, &values.data).map_err(refused)?;
    let samples = file.model.inverse_transform(&scores).map_err(refused)?;

    let ids = table.ids.unwrap_or_else(|| (1..=values.rows).map(|row| row.to_string()).collect());
    let texts = output::id_columns(&ids, table.labels.as_deref());
    let features = file.preprocessing.output_features();
    let frame = Frame { rows: samples.rows(), texts: &texts, columns: &features, values: &samples.to_row_major() };
    output::give(&frame, job.output.as_deref(), console)?;
    if !file.preprocessing.steps.is_nothing() {
        console.remark("The samples are in the units of the fit, after its preprocessing.\n");
    }
    Ok(Outcome::Converged)
}

/// Reads scores as this program writes them: with a column `id`, and maybe `label`, unless other names were given.
fn read_scores(job: &TransformJob) -> Result<Table, Failure> {
    let given = &job.table.read;
    let options = ReadOptions {
        id: given.id.clone().or(Some("id".into())),
        label: given.label.clone().or(Some("label".into())),
        ..given.clone()
    };
    let mend = |error: &Error, options: &mut ReadOptions| match error {
        Error::NoColumn { role: Role::Id, .. } if given.id.is_none() => options.id.take().is_some(),
        Error::NoColumn { role: Role::Label, .. } if given.label.is_none() => options.label.take().is_some(),
        _ => false,
    };
    Ok(job.table.input.read_trying(options, mend)?)
}

/// The scores in the order of the components. An array without names has them in order already.
fn with_components(table: Table, components: usize, file: &str) -> Result<Table, Failure> {
    let wanted: Vec<String> = (0..components).map(component_name).collect();
    let nameless = table.features.iter().enumerate().all(|(at, name)| *name == format!("column{}", at + 1));
    if nameless && table.columns() == components {
        return Ok(Table { features: wanted, ..table });
    }
    table.with_features(&wanted, file).map_err(|error| match error {
        Error::Features { .. } => Failure::Unfit {
            file: file.into(),
            problem: format!(
                "has no scores of this model: they are the columns {} to {}, and nothing else but id and label; leave out \
                 others with --ignore",
                component_name(0),
                component_name(components - 1)
            ),
        },
        other => other.into(),
    })
}
