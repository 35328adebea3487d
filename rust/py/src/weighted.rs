//! Counts and sums of residuals in which rows have weights.

use dpfit_core::execution::Stop;
use dpfit_core::statistics::{self as core, Statistic};
use dpfit_core::store::{Store, Theta};
use numpy::{PyArray1, PyReadonlyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::enter::execution;
use crate::error::raise;
use crate::noise::{Entropy, release};
use crate::rows::Rows;
use crate::statistics::statistic;
use crate::thresholds;

/// The feature and the largest value of a weight.
fn weight((feature, most): (usize, i16)) -> core::Weight {
    core::Weight { feature, most }
}

statistic!(
    /// Weighted counts and sums of residuals: see `_native.pyi`.
    WeightedResiduals: vector, from_bytes {
        #[staticmethod]
        #[pyo3(signature = (rows, theta, edges, weights, *, n_jobs=None))]
        fn counts(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            edges: Vec<i32>,
            weights: (usize, i16),
            n_jobs: Option<i128>,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, false)?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                let part = core::Part::Counts { edges: &edges };
                core::WeightedResiduals::of(store, theta, weight(weights), part, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }

        #[staticmethod]
        #[pyo3(signature = (rows, theta, by, edges, weights, *, n_jobs=None))]
        fn counts_by(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            by: usize,
            edges: Vec<i16>,
            weights: (usize, i16),
            n_jobs: Option<i128>,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, false)?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                let part = core::Part::CountsByFeature { feature: by, edges: &edges };
                core::WeightedResiduals::of(store, theta, weight(weights), part, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }

        #[staticmethod]
        #[pyo3(signature = (rows, theta, tau, by, edges, weights, *, n_jobs=None))]
        #[allow(clippy::too_many_arguments)]
        fn sums(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            tau: i128,
            by: usize,
            edges: Vec<i16>,
            weights: (usize, i16),
            n_jobs: Option<i128>,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, false)?;
            let tau = thresholds::tau(tau)?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                let part = core::Part::Sums { tau, feature: by, edges: &edges };
                core::WeightedResiduals::of(store, theta, weight(weights), part, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }

        #[staticmethod]
        #[pyo3(signature = (rows, theta, tau, weights, *, n_jobs=None))]
        fn squares(
            py: Python<'_>,
            rows: &Rows,
            theta: PyReadonlyArray1<'_, f64>,
            tau: i128,
            weights: (usize, i16),
            n_jobs: Option<i128>,
        ) -> PyResult<Self> {
            let execution = execution(n_jobs, false)?;
            let tau = thresholds::tau(tau)?;
            let of = |store: &Store, theta: &Theta, stop: Stop<'_>| {
                let part = core::Part::Squares { tau };
                core::WeightedResiduals::of(store, theta, weight(weights), part, &execution, stop)
            };
            rows.pass(py, &theta, of).map(Self)
        }
    }
);
