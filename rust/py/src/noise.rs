//! Noise, and the release of statistics.

use std::sync::Mutex;

use dpfit_core::execution::{Execution, Stop};
use dpfit_core::noise::{self as core, Scales, Sigma};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::enter::{execution, without_python};
use crate::error::{integer, raise};

/// The source of noise: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Entropy {
    source: Mutex<core::Entropy>,
    // Outside the lock: reading it must neither wait for a release nor fail after one that panicked.
    insecure: bool,
}

#[pymethods]
impl Entropy {
    #[new]
    fn new() -> Self {
        Self { source: Mutex::new(core::Entropy::system()), insecure: false }
    }

    #[staticmethod]
    fn insecure_seed(seed: i128) -> PyResult<Self> {
        let seed = integer("seed", seed, "between 0 and 2**64 - 1")?;
        Ok(Self { source: Mutex::new(core::Entropy::insecure_seed(seed)), insecure: true })
    }

    #[getter]
    fn is_insecure(&self) -> bool {
        self.insecure
    }
}

/// Draw `round(σZ)`, with one σ for all or one for each.
#[pyfunction]
#[pyo3(signature = (sigma, size, entropy, *, n_jobs=None))]
pub(crate) fn rounded_gaussian(
    py: Python<'_>,
    sigma: &Bound<'_, PyAny>,
    size: i128,
    entropy: &Bound<'_, Entropy>,
    n_jobs: Option<i128>,
) -> PyResult<Vec<i128>> {
    let size = integer("size", size, "at least 0 and fit into memory")?;
    draw(py, sigma, size, entropy, n_jobs, core::rounded_gaussian)
}

/// Release exact integers: return them with noise, as doubles.
///
/// # Privacy
/// No other function of this crate publishes statistics. [`core::release`] states the guarantee.
pub(crate) fn release(
    py: Python<'_>,
    exact: &[i128],
    sigma: &Bound<'_, PyAny>,
    entropy: &Bound<'_, Entropy>,
    n_jobs: Option<i128>,
) -> PyResult<Vec<f64>> {
    draw(py, sigma, exact.len(), entropy, n_jobs, |entropy, scales, execution, stop| {
        core::release(exact, entropy, scales, execution, stop)
    })
}

/// Call `body` with the scales of `size` draws and the source of their noise.
fn draw<T: Send>(
    py: Python<'_>,
    sigma: &Bound<'_, PyAny>,
    size: usize,
    entropy: &Bound<'_, Entropy>,
    n_jobs: Option<i128>,
    body: impl FnOnce(&mut core::Entropy, Scales<'_>, &Execution, Stop<'_>) -> dpfit_core::Result<T> + Send,
) -> PyResult<T> {
    let sigmas = sigmas(sigma, size)?;
    let scales = match &sigmas[..] {
        [sigma] => Scales::Same { sigma: *sigma, len: size },
        sigmas => Scales::Each(sigmas),
    };
    let execution = execution(n_jobs, false)?;
    let mut entropy = entropy.get().source.try_lock().map_err(|_| {
        PyRuntimeError::new_err("the source of noise is in use by another thread; give each thread its own")
    })?;
    let entropy = &mut *entropy;
    without_python(py, |stop| body(entropy, scales, &execution, stop))
}

/// Return one σ, or `size` of them.
fn sigmas(sigma: &Bound<'_, PyAny>, size: usize) -> PyResult<Vec<Sigma>> {
    let values: Vec<f64> = match sigma.extract::<f64>() {
        Ok(value) => vec![value],
        Err(_) => sigma.extract::<PyReadonlyArray1<'_, f64>>()?.as_array().to_vec(),
    };
    if values.len() != 1 && values.len() != size {
        let error = dpfit_core::Error::Shape { what: "values of sigma", expected: size, got: values.len() };
        return Err(raise(&error));
    }
    values.into_iter().map(Sigma::new).collect::<dpfit_core::Result<_>>().map_err(|error| raise(&error))
}
