//! The compiled half of the Python package `ewca`: arrays in, models out. Python validates, converts and presents; all numbers
//! come from here.
//!
//! Data are borrowed from NumPy, never copied. Fits run on our own threads without the GIL, while the calling thread looks for
//! signals every 50 ms.
#![forbid(unsafe_code)]

mod arrays;
mod data;
mod error;
mod fit;
mod model;
mod plan;
mod run;
mod settings;

use pyo3::prelude::*;

/// The compiled half of the package; what it offers to people is in `ewca` itself.
#[pymodule]
mod _ewca {
    #[pymodule_export]
    use crate::fit::{default_epsilons, fit, path, select};
    #[pymodule_export]
    use crate::model::PyModel;
    #[pymodule_export]
    use crate::plan::{PyPlan, self_transport};

    use super::*;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("__version__", env!("CARGO_PKG_VERSION"))?;
        module.add("DEFAULT_COMPONENTS", (*ewca::DEFAULT_COMPONENTS.start(), *ewca::DEFAULT_COMPONENTS.end()))?;
        module.add("DEFAULT_PERPLEXITY", ewca::DEFAULT_PERPLEXITY)
    }
}
