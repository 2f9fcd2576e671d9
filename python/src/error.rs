//! The core's errors as Python's.

use ewca_io::OptionName;
use pyo3::PyErr;
use pyo3::exceptions::{PyMemoryError, PyOSError, PyValueError};

/// `MemoryError` for what does not fit, `ValueError` for all else, with the core's message.
pub fn fit_error(error: ewca::Error) -> PyErr {
    match error {
        ewca::Error::Memory { .. } => PyMemoryError::new_err(error.to_string()),
        other => PyValueError::new_err(other.to_string()),
    }
}

/// `OSError` for files that cannot be opened or written, `ValueError` for what is in them.
pub fn file_error(error: ewca_io::Error) -> PyErr {
    let message = error.message().in_words(keyword);
    match error {
        ewca_io::Error::Read { .. } | ewca_io::Error::Write { .. } => PyOSError::new_err(message),
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
