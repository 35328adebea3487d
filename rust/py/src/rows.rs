//! The store of quantised rows.

use std::path::PathBuf;
use std::sync::RwLock;

use dpfit_core::panel::{Backing, Panel, Theta};
use dpfit_core::rowmap::Missing;
use numpy::{PyReadonlyArray1, PyUntypedArray};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::Arrays;
use crate::enter::{execution, without_python};
use crate::error::{choice, integer, raise};
use crate::row_map::RowMap;
use crate::statistics::{Energy, Gradient, Gram};

/// Rows, mapped and quantised: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Rows(RwLock<Panel>);

/// What to do with a row that holds NaN or an infinity.
pub(crate) fn missing(word: &str) -> PyResult<Missing> {
    match word {
        "error" => Ok(Missing::Error),
        "drop" => Ok(Missing::Drop),
        other => Err(choice("missing", "\"error\" or \"drop\"", other)),
    }
}

fn in_use<T>(_: T) -> PyErr {
    PyRuntimeError::new_err("the rows are in use by another thread")
}

/// θ and τ as the core takes them.
fn residuals_of(panel: &Panel, theta: &PyReadonlyArray1<'_, f64>, tau: i128) -> PyResult<(Theta, i32)> {
    let tau = integer("tau", tau, "from 1 to 1048576 units")?;
    let unit = panel.map().target().unit();
    let theta = Theta::new(&theta.as_array().to_vec(), unit).map_err(|error| raise(&error))?;
    Ok((theta, tau))
}

#[pymethods]
impl Rows {
    #[new]
    #[pyo3(signature = (row_map, *, directory=None))]
    fn new(row_map: &RowMap, directory: Option<PathBuf>) -> Self {
        let backing = directory.map_or(Backing::Memory, Backing::Directory);
        Self(RwLock::new(Panel::new(row_map.0.clone(), backing)))
    }

    #[pyo3(signature = (x, y, gram=None, *, missing="error", n_jobs=None, portable=false))]
    #[allow(clippy::too_many_arguments)]
    fn extend(
        &self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyUntypedArray>,
        gram: Option<&Bound<'_, Gram>>,
        missing: &str,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<()> {
        let (source, missing) = (Arrays::new(x, y)?, self::missing(missing)?);
        let execution = execution(n_jobs, portable)?;
        let mut panel = self.0.try_write().map_err(in_use)?;
        let panel = &mut *panel;
        let mut gram = gram.map(Bound::try_borrow_mut).transpose()?;
        let gram = gram.as_mut().map(|gram| &mut gram.0);
        without_python(py, |stop| panel.extend(&source, missing, gram, &execution, stop))
    }

    #[pyo3(signature = (theta, tau, *, n_jobs=None, portable=false))]
    fn gradient(
        &self,
        py: Python<'_>,
        theta: PyReadonlyArray1<'_, f64>,
        tau: i128,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<Gradient> {
        let panel = &*self.0.try_read().map_err(in_use)?;
        let (theta, tau) = residuals_of(panel, &theta, tau)?;
        let execution = execution(n_jobs, portable)?;
        without_python(py, |stop| panel.gradient(&theta, tau, &execution, stop)).map(Gradient)
    }

    #[pyo3(signature = (theta, tau, *, n_jobs=None, portable=false))]
    fn energy(
        &self,
        py: Python<'_>,
        theta: PyReadonlyArray1<'_, f64>,
        tau: i128,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<Energy> {
        let panel = &*self.0.try_read().map_err(in_use)?;
        let (theta, tau) = residuals_of(panel, &theta, tau)?;
        let execution = execution(n_jobs, portable)?;
        without_python(py, |stop| panel.energy(&theta, tau, &execution, stop)).map(Energy)
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let panel = &*self.0.try_read().map_err(in_use)?;
        let bytes = without_python(py, |_| Ok(panel.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    #[staticmethod]
    fn from_bytes(row_map: &RowMap, bytes: &[u8]) -> PyResult<Self> {
        let panel = Panel::from_bytes(row_map.0.clone(), bytes).map_err(|error| raise(&error))?;
        Ok(Self(RwLock::new(panel)))
    }
}

/// The integers and the exponent to which a pass rounds θ.
#[pyfunction]
pub(crate) fn round_theta(theta: PyReadonlyArray1<'_, f64>, unit: f64) -> PyResult<(Vec<i32>, i32)> {
    let theta = Theta::new(&theta.as_array().to_vec(), unit).map_err(|error| raise(&error))?;
    Ok(theta.integers())
}
