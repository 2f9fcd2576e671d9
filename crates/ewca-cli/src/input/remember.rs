//! Tables that a model is applied to, read as the fit read its own.

use std::sync::Arc;

use ewca_io::{Error, Expected, OptionName, ReadOptions, RoleColumns, Table, TableFile};

/// Reads a table, with the columns that named samples and classes when the model was fitted, unless others were named now, or
/// the table does not have them.
pub fn read_remembering(
    file: &mut TableFile,
    columns: &RoleColumns,
    expected: Option<Expected>,
    given: &ReadOptions,
) -> Result<Table, Error> {
    let mut options = ReadOptions {
        id: given.id.clone().or(columns.id.clone()),
        label: given.label.clone().or(columns.label.clone()),
        expected: expected.map(Arc::new),
        ..given.clone()
    };
    loop {
        match file.read(&options) {
            Err(error) if without_the_remembered(&error, given, &mut options) => {}
            other => return other,
        }
    }
}

/// Takes back a column that nobody asked for, if it was the trouble. Says whether there is anything else to try.
fn without_the_remembered(error: &Error, given: &ReadOptions, options: &mut ReadOptions) -> bool {
    let mut forget_id = || given.id.is_none() && options.id.take().is_some();
    match error {
        Error::NoColumn { role: OptionName::Id, .. } => forget_id(),
        Error::NoColumn { role: OptionName::Label, .. } | Error::MissingLabel { .. } => {
            given.label.is_none() && options.label.take().is_some()
        }
        // Not every format can have both a label and samples in columns.
        Error::Options { .. } => {
            let forgot_id = forget_id();
            (given.label.is_none() && options.label.take().is_some()) || forgot_id
        }
        _ => false,
    }
}
