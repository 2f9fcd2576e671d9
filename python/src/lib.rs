//! The compiled half of the Python package `ewca`: arrays in, models out. Python validates, converts and presents; all numbers
//! come from here.
//!
//! Data are borrowed from NumPy, never copied; what is not in memory is read part by part. Fits run on our own threads without the
//! GIL, while the calling thread looks for signals every 50 ms.
#![forbid(unsafe_code)]

mod arrays;
mod checkpoint;
mod choose;
mod data;
mod error;
mod fit;
mod model;
mod plan;
mod program;
mod report;
mod run;
mod settings;
mod steps;
mod table;
mod threads;

use pyo3::prelude::*;

/// The compiled half of the package; what it offers to people is in `ewca` itself.
///
/// It needs no GIL: what Python sees does not change once it is made, and what threads share is behind a lock.
#[pymodule(gil_used = false)]
mod _ewca {
    #[pymodule_export]
    use crate::choose::{components_for, covariates, scree};
    #[pymodule_export]
    use crate::fit::{default_epsilons, fit, path, select};
    #[pymodule_export]
    use crate::model::PyModel;
    #[pymodule_export]
    use crate::plan::{PyPlan, self_transport};
    #[pymodule_export]
    use crate::program::run_program;
    #[pymodule_export]
    use crate::report::{PyReport, report};
    #[pymodule_export]
    use crate::run::exit::python_ends;
    #[pymodule_export]
    use crate::steps::{PySteps, preprocess};
    #[pymodule_export]
    use crate::table::PyTable;
    #[pymodule_export]
    use crate::threads::{available_cores, available_memory, limit_threads, usual_threads};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.py().import("atexit")?.call_method1("register", (module.getattr("python_ends")?,))?;
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEFAULT_COMPONENTS", (*ewca::DEFAULT_COMPONENTS.start(), *ewca::DEFAULT_COMPONENTS.end()))?;
        module.add("DEFAULT_PERPLEXITY", ewca::DEFAULT_PERPLEXITY)
    }
}
