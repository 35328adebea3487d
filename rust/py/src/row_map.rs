//! The row map.

use dpfit_core::rowmap::{Column, Norm, RowMap as Core, Target};
use pyo3::prelude::*;

use crate::error::raise;

/// The map from rows of floats to rows of integers: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct RowMap(pub(crate) Core);

/// A column as Python describes it.
#[derive(Debug, FromPyObject)]
enum Spec {
    /// Centre, scale, ramps.
    Ramps(f64, f64, Vec<(f64, f64, f64)>),
    /// The number of levels, and the height of their features.
    Levels(usize, f64),
}

impl Spec {
    fn column(&self) -> dpfit_core::Result<Column> {
        match self {
            Self::Ramps(centre, scale, ramps) => Column::new(*centre, *scale, ramps),
            Self::Levels(count, height) => Column::levels(*count, *height),
        }
    }
}

#[pymethods]
impl RowMap {
    #[new]
    #[pyo3(signature = (columns, *, target=(0.0, 1.0), step, norm="clip", intercept=None, max_weight=None))]
    fn new(
        columns: Vec<Spec>,
        target: (f64, f64),
        step: f64,
        norm: &str,
        intercept: Option<f64>,
        max_weight: Option<f64>,
    ) -> PyResult<Self> {
        let norm = match norm {
            "clip" => Norm::Clip,
            "weight" => Norm::Weight,
            other => return Err(crate::error::choice("norm", "\"clip\" or \"weight\"", other)),
        };
        let make = || {
            let columns = columns.iter().map(Spec::column).collect::<dpfit_core::Result<Vec<_>>>()?;
            let map = Core::new(columns, Target::new(target.0, target.1, step)?, norm, intercept)?;
            match max_weight {
                Some(most) => map.with_weights(most),
                None => Ok(map),
            }
        };
        make().map(Self).map_err(|error| raise(&error))
    }

    /// The number of columns of X.
    #[getter]
    fn columns(&self) -> usize {
        self.0.columns().len()
    }

    /// The number of integers in a row.
    #[getter]
    fn features(&self) -> usize {
        self.0.features()
    }

    /// The step of the target's grid.
    #[getter]
    fn step(&self) -> f64 {
        self.0.target().step()
    }
}
