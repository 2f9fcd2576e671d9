//! `ewca reconstruct`: the samples that scores stand for.

use ewca::Matrix;
use ewca_io::{Error, Expected, Frame, RoleColumns, Table, Values};

use crate::args::TransformJob;
use crate::commands::transform::model_at;
use crate::console::failure::Failure;
use crate::console::outcome::Outcome;
use crate::console::terminal::Console;
use crate::input::remember::read_remembering;
use crate::output::emit;
use crate::output::results::component_name;
use crate::run::progress;

/// Runs the job.
pub fn run(job: &TransformJob, console: Console) -> Result<Outcome, Failure> {
    let file = model_at(&job.model, console)?;
    let name = job.table.input.name();
    let mut table = read_scores(job, file.model.n_components(), console)?;
    let values = match &table.values {
        Values::Dense(dense) => dense.clone(),
        Values::Sparse(sparse) => sparse.to_dense(),
    };
    let refused = |source| Failure::Fit { file: name.clone(), source };
    let scores = Matrix::from_row_major(values.rows, values.columns, &values.data).map_err(refused)?;
    let samples = file.model.inverse_transform(&scores).map_err(refused)?;

    let ids = table.ids.take().unwrap_or_else(|| (1..=values.rows).map(|row| row.to_string()).collect());
    let features = file.preprocessing.output_features();
    let names = emit::names_beside(&table.texts, &features);
    let texts = emit::text_columns(&ids, &table, &names);
    let frame = Frame { rows: samples.rows(), texts: &texts, columns: &features, values: &samples.to_row_major() };
    emit::emit_table(&frame, job.output.as_deref(), console)?;
    if !file.preprocessing.steps.is_nothing() {
        console.remark("The samples are in the units of the data after preprocessing.\n");
    }
    Ok(Outcome::Success)
}

/// Reads scores as this program writes them: with a column `id`, and maybe `label`, unless other names were given. An array
/// without names has the components in order.
fn read_scores(job: &TransformJob, components: usize, console: Console) -> Result<Table, Failure> {
    let columns = RoleColumns { label: Some("label".into()), id: Some("id".into()) };
    let expected = Expected { features: (0..components).map(component_name).collect(), means: None, by_place: true };
    let table = progress::while_reading(&job.table.input.name(), console, || {
        let mut opened = job.table.input.open(&job.table.read)?;
        read_remembering(&mut opened, &columns, Some(expected), &job.table.read)
    });
    table.map_err(|error| match error {
        Error::Features { .. } => Failure::Unfit {
            file: job.table.input.name(),
            problem: format!(
                "does not have the scores of this model, which are columns {} to {}; use a table that `ewca fit` or `ewca \
                 transform` wrote with this model",
                component_name(0),
                component_name(components - 1)
            ),
        },
        other => other.into(),
    })
}
