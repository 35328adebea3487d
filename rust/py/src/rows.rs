//! The store of quantised rows.

use std::path::PathBuf;
use std::sync::RwLock;

use dpfit_core::execution::Stop;
use dpfit_core::store::{self, Backing, Matrix, Store, Theta};
use numpy::{PyArray2, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray, PyUntypedArrayMethods};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::Batch;
use crate::enter::{execution, without_python};
use crate::error::raise;
use crate::row_map::RowMap;
use crate::statistics::Gram;

/// Quantised rows: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Rows(RwLock<Store>);

/// Memory that several stores use: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug, Default)]
pub(crate) struct Memory(store::Memory);

#[pymethods]
impl Memory {
    #[new]
    fn new() -> Self {
        Self::default()
    }
}

fn in_use<T>(_: T) -> PyErr {
    PyRuntimeError::new_err("the rows are in use by another thread")
}

impl Rows {
    /// Run a pass over the store. `body` receives θ in the type of the core.
    pub(crate) fn pass<T: Send>(
        &self,
        py: Python<'_>,
        theta: &PyReadonlyArray1<'_, f64>,
        body: impl FnOnce(&Store, &Theta, Stop<'_>) -> dpfit_core::Result<T> + Send,
    ) -> PyResult<T> {
        let store = &*self.0.try_read().map_err(in_use)?;
        let theta = rounded(theta, store.map().target().step())?;
        without_python(py, |stop| body(store, &theta, stop))
    }

    /// Run a pass over the rows that a matrix maps these to.
    pub(crate) fn pass_mapped<T: Send>(
        &self,
        py: Python<'_>,
        matrix: &PyReadonlyArray2<'_, f64>,
        body: impl FnOnce(&Store, &Matrix, Stop<'_>) -> dpfit_core::Result<T> + Send,
    ) -> PyResult<T> {
        let store = &*self.0.try_read().map_err(in_use)?;
        let matrix = rounded_matrix(matrix)?;
        without_python(py, |stop| body(store, &matrix, stop))
    }
}

fn backing(directory: Option<PathBuf>) -> Backing {
    directory.map_or(Backing::Memory, Backing::Directory)
}

#[pymethods]
impl Rows {
    #[new]
    #[pyo3(signature = (row_map, *, directory=None, memory=None))]
    fn new(row_map: &RowMap, directory: Option<PathBuf>, memory: Option<&Memory>) -> Self {
        let memory = memory.map(|memory| memory.0.clone()).unwrap_or_default();
        Self(RwLock::new(Store::new(row_map.0.clone(), backing(directory)).within(memory)))
    }

    #[getter]
    fn features(&self) -> PyResult<usize> {
        Ok(self.0.try_read().map_err(in_use)?.features())
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
        let Batch { source, missing, execution } = Batch::new(x, y, missing, n_jobs, portable)?;
        let store = &mut *self.0.try_write().map_err(in_use)?;
        let mut gram = gram.map(Bound::try_borrow_mut).transpose()?;
        let gram = gram.as_mut().map(|gram| &mut gram.0);
        without_python(py, |stop| match gram {
            None => store.extend(&source, missing, &execution, stop),
            Some(gram) => gram.extend_storing(store, &source, missing, &execution, stop),
        })
    }

    #[pyo3(signature = (matrix, *, directory=None, n_jobs=None, portable=false))]
    fn mapped(
        &self,
        py: Python<'_>,
        matrix: PyReadonlyArray2<'_, f64>,
        directory: Option<PathBuf>,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<Self> {
        let execution = execution(n_jobs, portable)?;
        let mapped = |store: &Store, matrix: &Matrix, stop: Stop<'_>| {
            store.mapped(matrix, backing(directory), &execution, stop)
        };
        self.pass_mapped(py, &matrix, mapped).map(|store| Self(RwLock::new(store)))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let store = &*self.0.try_read().map_err(in_use)?;
        let bytes = without_python(py, |_| Ok(store.to_bytes()))?;
        Ok(PyBytes::new(py, &bytes))
    }

    fn save(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        let store = &*self.0.try_read().map_err(in_use)?;
        without_python(py, |_| store.save(&path))
    }

    #[staticmethod]
    #[pyo3(signature = (row_map, path, matrices=Vec::new()))]
    fn open(
        py: Python<'_>,
        row_map: &RowMap,
        path: PathBuf,
        matrices: Vec<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let matrices = matrices.iter().map(rounded_matrix).collect::<PyResult<Vec<_>>>()?;
        let map = row_map.0.clone();
        let store = without_python(py, |_| Store::open(map, &matrices, &path))?;
        Ok(Self(RwLock::new(store)))
    }

    #[staticmethod]
    #[pyo3(signature = (row_map, bytes, matrices=Vec::new()))]
    fn from_bytes(
        row_map: &RowMap,
        bytes: &[u8],
        matrices: Vec<PyReadonlyArray2<'_, f64>>,
    ) -> PyResult<Self> {
        let matrices = matrices.iter().map(rounded_matrix).collect::<PyResult<Vec<_>>>()?;
        let store = Store::from_bytes(row_map.0.clone(), &matrices, bytes).map_err(|error| raise(&error))?;
        Ok(Self(RwLock::new(store)))
    }
}

/// Return the integers and the exponent to which a pass rounds θ.
#[pyfunction]
pub(crate) fn round_theta(theta: PyReadonlyArray1<'_, f64>, step: f64) -> PyResult<(Vec<i32>, i32)> {
    rounded(&theta, step).map(|theta| theta.integers())
}

fn rounded(theta: &PyReadonlyArray1<'_, f64>, step: f64) -> PyResult<Theta> {
    Theta::new(&theta.as_array().to_vec(), step).map_err(|error| raise(&error))
}

/// The matrix to which a map of stored rows rounds one.
#[pyfunction]
pub(crate) fn round_matrix<'py>(
    py: Python<'py>,
    matrix: PyReadonlyArray2<'py, f64>,
) -> PyResult<Bound<'py, PyArray2<f64>>> {
    let rounded = rounded_matrix(&matrix)?;
    let rows: Vec<Vec<f64>> = rounded.rounded().chunks(rounded.outputs()).map(<[f64]>::to_vec).collect();
    Ok(PyArray2::from_vec2(py, &rows)?)
}

fn rounded_matrix(matrix: &PyReadonlyArray2<'_, f64>) -> PyResult<Matrix> {
    let entries: Vec<f64> = matrix.as_array().iter().copied().collect();
    Matrix::new(&entries, matrix.shape()[1]).map_err(|error| raise(&error))
}
