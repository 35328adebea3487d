//! A batch of rows from Python, and how to read it.

use dpfit_core::execution::Execution;
use dpfit_core::source::Missing;
use numpy::PyUntypedArray;
use pyo3::prelude::*;

use crate::convert::Arrays;
use crate::enter::execution;
use crate::error::choice;

/// The arguments that all sums over raw rows share.
pub(crate) struct Batch {
    pub(crate) source: Arrays,
    pub(crate) missing: Missing,
    pub(crate) execution: Execution,
}

impl Batch {
    pub(crate) fn new(
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyUntypedArray>,
        missing: &str,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<Self> {
        let source = Arrays::new(x, y)?;
        let missing = match missing {
            "error" => Missing::Error,
            "drop" => Missing::Drop,
            "indicator" => Missing::Indicator,
            other => return Err(choice("missing", "\"error\", \"drop\" or \"indicator\"", other)),
        };
        Ok(Self { source, missing, execution: execution(n_jobs, portable)? })
    }
}
