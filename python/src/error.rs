//! The core's errors as Python's.

use std::io::ErrorKind;

use ewca_io::OptionName;
use pyo3::PyErr;
use pyo3::exceptions::{
    PyFileNotFoundError, PyIsADirectoryError, PyMemoryError, PyOSError, PyPermissionError, PyValueError,
};

/// `MemoryError` for what does not fit, `ValueError` for all else, with the core's message.
pub fn fit_error(error: ewca::Error) -> PyErr {
    match error {
        ewca::Error::Memory { needed, budget, cause } => PyMemoryError::new_err(format!(
            "the fit needs about {needed} bytes in addition to the data, more than max_memory allows ({budget}): raise max_memory, or use fewer {cause}"
        )),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// `OSError`, of the kind that Python itself raises, for files that cannot be opened or written; `ValueError` for what is in them.
pub fn file_error(error: ewca_io::Error) -> PyErr {
    let message = error.message().in_words(keyword);
    match error {
        ewca_io::Error::Read { source, .. } | ewca_io::Error::Write { source, .. } => match source.kind() {
            ErrorKind::NotFound => PyFileNotFoundError::new_err(message),
            ErrorKind::PermissionDenied => PyPermissionError::new_err(message),
            ErrorKind::IsADirectory => PyIsADirectoryError::new_err(message),
            _ => PyOSError::new_err(message),
        },
        _ => PyValueError::new_err(message),
    }
}

/// An option as Python's keyword argument: `missing`, or `missing='mean'`.
fn keyword(option: OptionName, value: Option<&str>) -> String {
    match value {
        Some(value) => format!("{}={value:?}", option.field()),
        None => option.field().into(),
    }
}
