//! Noise, and the door through which statistics leave.

use std::sync::Mutex;

use dpfit_core::noise::{self as core, Scales, Sigma};
use numpy::PyReadonlyArray1;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;

use crate::enter::{execution, without_python};
use crate::error::{integer, raise};

/// Where noise comes from: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Entropy {
    source: Mutex<core::Entropy>,
    // Beside the lock: to ask must neither wait for a release nor depend on how one ended.
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
        let seed = integer("seed", seed, "from 0 to 2**64 - 1")?;
        Ok(Self { source: Mutex::new(core::Entropy::insecure_seed(seed)), insecure: true })
    }

    #[getter]
    fn is_insecure(&self) -> bool {
        self.insecure
    }
}

/// `round(σZ)`, one σ for all or one for each.
#[pyfunction]
#[pyo3(signature = (sigma, size, entropy, *, n_jobs=None))]
pub(crate) fn rounded_gaussian(
    py: Python<'_>,
    sigma: &Bound<'_, PyAny>,
    size: i128,
    entropy: &Bound<'_, Entropy>,
    n_jobs: Option<i128>,
) -> PyResult<Vec<i128>> {
    let size = integer("size", size, "not negative, and not more than memory holds")?;
    draws(py, sigma, size, entropy, n_jobs)
}

fn draws(
    py: Python<'_>,
    sigma: &Bound<'_, PyAny>,
    size: usize,
    entropy: &Bound<'_, Entropy>,
    n_jobs: Option<i128>,
) -> PyResult<Vec<i128>> {
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
    without_python(py, |stop| core::rounded_gaussian(entropy, scales, execution.pool(), stop))
}

/// One σ, or `size` of them.
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

/// Exact integers plus noise, as doubles.
///
/// # Privacy
/// The sum is an integer and carries the whole guarantee; converting it to the nearest double is post-processing.
pub(crate) fn noisy(
    py: Python<'_>,
    exact: &[i128],
    sigma: &Bound<'_, PyAny>,
    entropy: &Bound<'_, Entropy>,
    n_jobs: Option<i128>,
) -> PyResult<Vec<f64>> {
    let noise = draws(py, sigma, exact.len(), entropy, n_jobs)?;
    // Sums and noise are below 2^126 by construction, so their sum cannot leave 128 bits; if it ever did, a
    // saturated sum is still a function of the noisy one.
    Ok(exact.iter().zip(noise).map(|(exact, noise)| exact.saturating_add(noise) as f64).collect())
}
