//! Bins of histograms.

use dpfit_core::statistics as core;
use pyo3::prelude::*;

use crate::error::{integer, raise};

/// The bins of a column: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Bins(core::Bins);

#[pymethods]
impl Bins {
    #[staticmethod]
    fn powers(least: i128, most: i128) -> PyResult<Self> {
        let allowed = "ordered and between -1022 and 1023";
        let (least, most) = (integer("exponents", least, allowed)?, integer("exponents", most, allowed)?);
        core::Bins::powers(least, most).map(Self).map_err(|error| raise(&error))
    }

    #[staticmethod]
    fn equal(low: f64, high: f64, count: i128) -> PyResult<Self> {
        let count = integer("bins", count, "between 1 and 1048576")?;
        core::Bins::equal(low, high, count).map(Self).map_err(|error| raise(&error))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// The bins of every column; `None` for a column that is not counted.
pub(crate) fn bins(columns: &[Option<Bound<'_, Bins>>]) -> Vec<core::Bins> {
    columns.iter().map(|bins| bins.as_ref().map_or(core::Bins::Skip, |bins| bins.get().0)).collect()
}
