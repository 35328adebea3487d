//! Exact statistics: they can be merged, moved as bytes and released with noise.

use dpfit_core::execution::Stop;
use dpfit_core::statistics::{self as core, Statistic};
use dpfit_core::store::{MOST_REACH, MOST_TAU, Matrix, Store, Theta};
use numpy::{PyArray1, PyReadonlyArray1, PyReadonlyArray2, PyUntypedArray};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::batch::Batch;
use crate::bins::{Bins, bins};
use crate::enter::{execution, without_python};
use crate::error::{integer, raise};
use crate::noise::{Entropy, release};
use crate::row_map::RowMap;
use crate::rows::Rows;
use crate::thresholds;

/// Define the class of a statistic of the core. It has its own methods (in braces), `merge` and `to_bytes`, and the methods
/// that are listed by name:
///
/// - `vector` or `number`: `insecure_exact` and `release`, for many integers or for one;
/// - `from_bytes`, if `from_bytes` of the core takes only the bytes;
/// - `extend`, if `extend` of the core takes only a batch of raw rows;
/// - `of_rows`, if `of` of the core takes a store, θ and τ.
macro_rules! statistic {
    ($(#[$doc:meta])* $name:ident: $($method:ident),* { $($own:tt)* }) => {
        statistic!(@methods [$(#[$doc])*] $name [$($method)*] { $($own)* });
    };
    (@methods [$(#[$doc:meta])*] $name:ident [] { $($methods:tt)* }) => {
        $(#[$doc])*
        #[pyclass(module = "dpfit._native")]
        #[derive(Debug)]
        pub(crate) struct $name(pub(crate) core::$name);

        #[pymethods]
        impl $name {
            $($methods)*

            fn merge(&mut self, other: &Self) -> PyResult<()> {
                self.0.merge(&other.0).map_err(|error| raise(&error))
            }

            fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
                PyBytes::new(py, &self.0.to_bytes())
            }
        }
    };
    (@methods $doc:tt $name:ident [vector $($rest:ident)*] { $($methods:tt)* }) => {
        statistic!(@methods $doc $name [$($rest)*] {
            $($methods)*

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
            ) -> PyResult<Bound<'py, PyArray1<f64>>> {
                release(py, self.0.exact(), sigma, entropy, n_jobs).map(|noisy| PyArray1::from_vec(py, noisy))
            }
        });
    };
    (@methods $doc:tt $name:ident [number $($rest:ident)*] { $($methods:tt)* }) => {
        statistic!(@methods $doc $name [$($rest)*] {
            $($methods)*

            fn insecure_exact(&self) -> i128 {
                self.0.exact()[0]
            }

            fn release(
                &self,
                py: Python<'_>,
                sigma: &Bound<'_, PyAny>,
                entropy: &Bound<'_, Entropy>,
            ) -> PyResult<f64> {
                release(py, self.0.exact(), sigma, entropy, None).map(|noisy| noisy[0])
            }
        });
    };
    (@methods $doc:tt $name:ident [from_bytes $($rest:ident)*] { $($methods:tt)* }) => {
        statistic!(@methods $doc $name [$($rest)*] {
            $($methods)*

            #[staticmethod]
            fn from_bytes(bytes: &[u8]) -> PyResult<Self> {
                core::$name::from_bytes(bytes).map(Self).map_err(|error| raise(&error))
            }
        });
    };
    (@methods $doc:tt $name:ident [extend $($rest:ident)*] { $($methods:tt)* }) => {
        statistic!(@methods $doc $name [$($rest)*] {
            $($methods)*

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
                let Batch { source, missing, execution } = Batch::new(x, y, missing, n_jobs, portable)?;
                without_python(py, |stop| self.0.extend(&source, missing, &execution, stop))
            }
        });
    };
    (@methods $doc:tt $name:ident [of_rows $($rest:ident)*] { $($methods:tt)* }) => {
        statistic!(@methods $doc $name [$($rest)*] {
            $($methods)*

            #[staticmethod]
            #[pyo3(signature = (rows, theta, tau, *, n_jobs=None, portable=false))]
            fn of(
                py: Python<'_>,
                rows: &Rows,
                theta: PyReadonlyArray1<'_, f64>,
                tau: i128,
                n_jobs: Option<i128>,
                portable: bool,
            ) -> PyResult<Self> {
                let execution = execution(n_jobs, portable)?;
                let tau = thresholds::tau(tau)?;
                let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                    core::$name::of(store, theta, tau, &execution, stop)
                };
                rows.pass(py, &theta, of).map(Self)
            }
        });
    };
}
pub(crate) use statistic;

statistic!(
    /// X'X: see `_native.pyi`.
    Gram: vector, from_bytes {
        #[new]
        fn new(row_map: &RowMap) -> Self {
            Self(core::Gram::new(&row_map.0))
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
            release(py, &[exact], sigma, entropy, None).map(|noisy| noisy[0])
        }

        #[staticmethod]
        #[pyo3(signature = (rows, matrix, *, n_jobs=None, portable=false))]
        fn of_mapped(
            py: Python<'_>,
            rows: &Rows,
            matrix: PyReadonlyArray2<'_, f64>,
            n_jobs: Option<i128>,
            portable: bool,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, portable)?;
            let of = |store: &Store, matrix: &Matrix, stop: Stop<'_>| {
                core::Gram::of_mapped(store, matrix, &execution, stop)
            };
            rows.pass_mapped(py, &matrix, of).map(Self)
        }

        #[staticmethod]
        #[pyo3(signature = (rows, theta, tau, reach, *, n_jobs=None, portable=false))]
        fn of_scores(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            tau: i128,
            reach: i128,
            n_jobs: Option<i128>,
            portable: bool,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, portable)?;
            let tau = thresholds::tau(tau)?;
            let reach = thresholds::reach(reach)?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                core::Gram::of_scores(store, theta, tau, reach, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }

        #[staticmethod]
        fn score_shift(reach: i128) -> PyResult<u32> {
            thresholds::reach(reach).map(core::Gram::score_shift)
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
            let Batch { source, missing, execution } = Batch::new(x, y, missing, n_jobs, portable)?;
            without_python(py, |stop| self.0.extend(&row_map.0, &source, missing, &execution, stop))
        }
    }
);

statistic!(
    /// X'g: see `_native.pyi`.
    Gradient: vector, from_bytes {
        #[staticmethod]
        #[pyo3(signature = (rows, theta, tau, reach=None, *, n_jobs=None, portable=false))]
        pub(crate) fn of(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            tau: i128,
            reach: Option<i128>,
            n_jobs: Option<i128>,
            portable: bool,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, portable)?;
            let tau = thresholds::tau(tau)?;
            let reach = reach.map(thresholds::reach).transpose()?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                core::Gradient::within(store, theta, tau, reach, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }
    }
);

statistic!(
    /// Σg²: see `_native.pyi`.
    Energy: number, from_bytes, of_rows {}
);

statistic!(
    /// Counts of residuals: see `_native.pyi`.
    ResidualCounts: vector, from_bytes {
        #[staticmethod]
        #[pyo3(signature = (rows, theta, edges, *, n_jobs=None, portable=false))]
        pub(crate) fn of(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            edges: Vec<i128>,
            n_jobs: Option<i128>,
            portable: bool,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, portable)?;
            let edges = thresholds::edges::<i32>(edges, MOST_TAU as u64)?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                core::ResidualCounts::of(store, theta, &edges, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }

        #[staticmethod]
        #[pyo3(signature = (rows, theta, edges, *, n_jobs=None, portable=false))]
        fn of_scores(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            edges: Vec<i128>,
            n_jobs: Option<i128>,
            portable: bool,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, portable)?;
            let edges = thresholds::edges::<u64>(edges, MOST_REACH)?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                core::ResidualCounts::of_scores(store, theta, &edges, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }
    }
);

statistic!(
    /// Sums of residuals: see `_native.pyi`.
    ResidualSums: vector, from_bytes {
        #[staticmethod]
        #[pyo3(signature = (rows, theta, tau, edges, *, n_jobs=None, portable=false))]
        pub(crate) fn of(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            tau: i128,
            edges: Vec<Vec<i16>>,
            n_jobs: Option<i128>,
            portable: bool,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, portable)?;
            let tau = thresholds::tau(tau)?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                core::ResidualSums::of(store, theta, tau, &edges, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }
    }
);

statistic!(
    /// The number of rows: see `_native.pyi`.
    Count: number, from_bytes, extend {
        #[new]
        fn new(columns: i128) -> PyResult<Self> {
            integer("columns", columns, "between 0 and 2**32 - 1").map(core::Count::new).map(Self)
        }

        #[staticmethod]
        fn told_by(histogram: &Histogram) -> Option<Self> {
            core::Count::told_by(&histogram.0).map(Self)
        }

        #[getter]
        fn rows(&self) -> i128 {
            self.0.exact()[0]
        }
    }
);

statistic!(
    /// The sum of clipped per-example gradients: see `_native.pyi`.
    ExampleGradient: vector, from_bytes {
        #[staticmethod]
        #[pyo3(signature = (x, y, theta, bound, *, missing="error", n_jobs=None, portable=false))]
        #[allow(clippy::too_many_arguments)]
        fn of(
            py: Python<'_>,
            x: &Bound<'_, PyAny>,
            y: &Bound<'_, PyUntypedArray>,
            theta: PyReadonlyArray1<'_, f64>,
            bound: f64,
            missing: &str,
            n_jobs: Option<i128>,
            portable: bool,
        ) -> PyResult<Self> {
            let Batch { source, missing, execution } = Batch::new(x, y, missing, n_jobs, portable)?;
            let theta = theta.as_array().to_vec();
            let of = |stop: Stop<'_>| core::ExampleGradient::of(&source, &theta, bound, missing, &execution, stop);
            without_python(py, of).map(Self)
        }
    }
);

statistic!(
    /// Histograms: see `_native.pyi`.
    Histogram: vector, extend {
        #[new]
        #[pyo3(signature = (columns, *, with_missing=false))]
        fn new(columns: Vec<Option<Bound<'_, Bins>>>, with_missing: bool) -> Self {
            let histogram = core::Histogram::new(bins(&columns));
            Self(if with_missing { histogram.with_missing() } else { histogram })
        }

        #[staticmethod]
        #[pyo3(signature = (columns, bytes, *, with_missing=false))]
        fn from_bytes(columns: Vec<Option<Bound<'_, Bins>>>, bytes: &[u8], with_missing: bool) -> PyResult<Self> {
            Self::new(columns, with_missing).0.read(bytes).map(Self).map_err(|error| raise(&error))
        }

        #[getter]
        fn counted(&self) -> usize {
            self.0.counted()
        }
    }
);
