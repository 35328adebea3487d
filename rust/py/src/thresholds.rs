//! Thresholds of residuals and scores as Python gives them. The core checks their ranges once more.

use dpfit_core::store::{MOST_REACH, MOST_TAU};
use pyo3::prelude::*;

use crate::error::integer;

/// Convert a threshold of residuals, in steps of the target.
pub(crate) fn tau(value: i128) -> PyResult<i32> {
    integer("tau", value, &format!("between 1 and {MOST_TAU}"))
}

/// Convert a threshold of scores, in steps of X'g.
pub(crate) fn reach(value: i128) -> PyResult<u64> {
    integer("reach", value, &format!("between 1 and {MOST_REACH}"))
}

/// Convert edges between counts, which are thresholds up to `most`.
pub(crate) fn edges<T: TryFrom<i128>>(values: Vec<i128>, most: u64) -> PyResult<Vec<T>> {
    let allowed = format!("strictly increasing and between 1 and {most}");
    values.into_iter().map(|edge| integer("edges", edge, &allowed)).collect()
}
