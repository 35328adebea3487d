//! Exact statistics: they merge, travel as bytes, and leave with noise.

use dpfit_core::statistics as core;
use numpy::PyUntypedArray;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::convert::Arrays;
use crate::enter::{execution, without_python};
use crate::error::{integer, raise};
use crate::noise::{Entropy, noisy};
use crate::row_map::RowMap;

/// X'X: see `_native.pyi`.
#[pyclass(module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Gram(pub(crate) core::Gram);

/// X'g: see `_native.pyi`.
#[pyclass(module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Gradient(pub(crate) core::Gradient);

/// Σg²: see `_native.pyi`.
#[pyclass(module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Energy(pub(crate) core::Energy);

/// The sum of clipped per-example gradients: see `_native.pyi`.
#[pyclass(module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct ExampleGradient(core::ExampleGradient);

/// How a column is cut into bins: see `_native.pyi`.
#[pyclass(frozen, module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Bins(core::Bins);

/// Counts: see `_native.pyi`.
#[pyclass(module = "dpfit._native")]
#[derive(Debug)]
pub(crate) struct Histogram(core::Histogram);

/// The methods that all statistics share.
macro_rules! statistic {
    ($name:ident { $($extra:tt)* }) => {
        #[pymethods]
        impl $name {
            $($extra)*

            fn merge(&mut self, other: &Self) -> PyResult<()> {
                self.0.merge(&other.0).map_err(|error| raise(&error))
            }

            fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.to_bytes())
            }

            fn insecure_exact(&self) -> Vec<i128> {
                self.0.exact().to_vec()
            }

            #[pyo3(signature = (sigma, entropy, *, n_jobs=None))]
            fn release<'py>(
                &self,
                py: Python<'py>,
                sigma: &Bound<'_, PyAny>,
                entropy: &Bound<'_, Entropy>,
                n_jobs: Option<i128>,
            ) -> PyResult<Bound<'py, numpy::PyArray1<f64>>> {
                let noisy = noisy(py, self.0.exact(), sigma, entropy, n_jobs)?;
                Ok(numpy::PyArray1::from_vec(py, noisy))
            }
        }
    };
}

statistic!(Gram {
    #[new]
    fn new(row_map: &RowMap) -> Self {
        Self(core::Gram::new(&row_map.0))
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        core::Gram::from_bytes(bytes).map(Self).map_err(|error| raise(&error))
    }

    #[getter]
    fn features(&self) -> usize {
        self.0.features()
    }

    #[getter]
    fn eigenvalue_sensitivity(&self) -> f64 {
        self.0.eigenvalue_sensitivity()
    }

    fn insecure_smallest_eigenvalue(&self, py: Python<'_>) -> PyResult<i128> {
        without_python(py, |_| Ok(self.0.smallest_eigenvalue()))
    }

    fn release_smallest_eigenvalue(
        &self,
        py: Python<'_>,
        sigma: &Bound<'_, PyAny>,
        entropy: &Bound<'_, Entropy>,
    ) -> PyResult<f64> {
        let exact = self.insecure_smallest_eigenvalue(py)?;
        noisy(py, &[exact], sigma, entropy, None).map(|noisy| noisy[0])
    }

    #[pyo3(signature = (row_map, x, y, *, missing="error", n_jobs=None, portable=false))]
    #[allow(clippy::too_many_arguments)]
    fn extend(
        &mut self,
        py: Python<'_>,
        row_map: &RowMap,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyUntypedArray>,
        missing: &str,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<()> {
        let (source, missing) = (Arrays::new(x, y)?, crate::rows::missing(missing)?);
        let execution = execution(n_jobs, portable)?;
        without_python(py, |stop| self.0.extend(&row_map.0, &source, missing, &execution, stop))
    }
});

statistic!(Gradient {
    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        core::Gradient::from_bytes(bytes).map(Self).map_err(|error| raise(&error))
    }
});

/// One number, where the others are vectors.
#[pymethods]
impl Energy {
    fn merge(&mut self, other: &Self) -> PyResult<()> {
        self.0.merge(&other.0).map_err(|error| raise(&error))
    }

    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.to_bytes())
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        core::Energy::from_bytes(bytes).map(Self).map_err(|error| raise(&error))
    }

    fn insecure_exact(&self) -> i128 {
        self.0.exact()
    }

    fn release(
        &self,
        py: Python<'_>,
        sigma: &Bound<'_, PyAny>,
        entropy: &Bound<'_, Entropy>,
    ) -> PyResult<f64> {
        noisy(py, &[self.0.exact()], sigma, entropy, None).map(|noisy| noisy[0])
    }
}

statistic!(ExampleGradient {
    #[staticmethod]
    #[pyo3(signature = (x, y, theta, bound, *, missing="error", n_jobs=None, portable=false))]
    #[allow(clippy::too_many_arguments)]
    fn of(
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyUntypedArray>,
        theta: numpy::PyReadonlyArray1<'_, f64>,
        bound: f64,
        missing: &str,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<Self> {
        let (source, missing) = (Arrays::new(x, y)?, crate::rows::missing(missing)?);
        let execution = execution(n_jobs, portable)?;
        let theta = theta.as_array().to_vec();
        without_python(py, |stop| core::ExampleGradient::of(&source, &theta, bound, missing, &execution, stop)).map(Self)
    }

    #[staticmethod]
    fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
        core::ExampleGradient::from_bytes(bytes).map(Self).map_err(|error| raise(&error))
    }
});

#[pymethods]
impl Bins {
    #[staticmethod]
    fn powers(least: i128, most: i128) -> PyResult<Self> {
        let allowed = "ordered and from -1022 to 1023";
        let (least, most) = (integer("exponents", least, allowed)?, integer("exponents", most, allowed)?);
        core::Bins::powers(least, most).map(Self).map_err(|error| raise(&error))
    }

    #[staticmethod]
    fn equal(low: f64, high: f64, count: i128) -> PyResult<Self> {
        let count = integer("bins", count, "from 1 to 1048576")?;
        core::Bins::equal(low, high, count).map(Self).map_err(|error| raise(&error))
    }

    fn __len__(&self) -> usize {
        self.0.len()
    }
}

/// The bins of every column; `None` for a column that is not counted.
fn bins(columns: &[Option<Bound<'_, Bins>>]) -> Vec<core::Bins> {
    columns.iter().map(|bins| bins.as_ref().map_or(core::Bins::Skip, |bins| bins.get().0)).collect()
}

statistic!(Histogram {
    #[new]
    fn new(columns: Vec<Option<Bound<'_, Bins>>>) -> Self {
        Self(core::Histogram::new(bins(&columns)))
    }

    #[staticmethod]
    fn from_bytes(columns: Vec<Option<Bound<'_, Bins>>>, bytes: &[u8]) -> PyResult<Self> {
        core::Histogram::from_bytes(bins(&columns), bytes).map(Self).map_err(|error| raise(&error))
    }

    #[getter]
    fn counted(&self) -> usize {
        self.0.counted()
    }

    #[pyo3(signature = (x, y, *, missing="error", n_jobs=None, portable=false))]
    #[allow(clippy::too_many_arguments)]
    fn extend(
        &mut self,
        py: Python<'_>,
        x: &Bound<'_, PyAny>,
        y: &Bound<'_, PyUntypedArray>,
        missing: &str,
        n_jobs: Option<i128>,
        portable: bool,
    ) -> PyResult<()> {
        let (source, missing) = (Arrays::new(x, y)?, crate::rows::missing(missing)?);
        let execution = execution(n_jobs, portable)?;
        without_python(py, |stop| self.0.extend(&source, missing, &execution, stop))
    }
});
