//! `dpfit._native`: a thin binding of the core. It converts and checks arguments, and the core does the rest.

// PyO3 passes arguments by value.
#![allow(clippy::needless_pass_by_value)]

mod batch;
mod bins;
mod convert;
mod enter;
mod error;
mod noise;
mod predict;
mod row_map;
mod rows;
mod statistics;
mod thresholds;
mod weighted;

/// The exact core: rows to integers to noise.
///
/// Free-threaded interpreters need not enable their lock for it. Classes are frozen, except sums, whose methods borrow
/// them exclusively (`PyO3` raises an error if two threads do so at once), and the core has no global state but its
/// thread pools, which are behind a mutex. `docs/explanation/free_threading.md` says what is tested.
#[pyo3::pymodule(gil_used = false)]
mod _native {
    use dpfit_core::execution;
    use dpfit_core::layout::{self, LANES, Line};
    use dpfit_core::noise::Sigma;
    use dpfit_core::statistics::{EXAMPLE_BITS, MOST_EDGES as EDGES};
    use dpfit_core::store;
    use pyo3::prelude::*;

    /// The largest norm of the integers of a row.
    #[pymodule_export]
    const ROW_SCALE: u64 = 1 << layout::BITS;
    /// The largest norm of the integers of a clipped gradient.
    #[pymodule_export]
    const EXAMPLE_SCALE: u64 = 1 << EXAMPLE_BITS;
    /// The most features of a row, including the constant.
    #[pymodule_export]
    const MOST_FEATURES: usize = layout::MOST_FEATURES;
    /// The bytes of a feature in a store.
    #[pymodule_export]
    const FEATURE_BYTES: usize = size_of::<Line>() / (2 * LANES);
    /// The bytes of a target in a store.
    #[pymodule_export]
    const TARGET_BYTES: usize = size_of::<Line>() / LANES;
    /// The largest residual threshold, in steps of the target.
    #[pymodule_export]
    const MOST_TAU: i32 = store::MOST_TAU;
    /// The largest joint bound on a row and its residual, in steps of X'g.
    #[pymodule_export]
    const MOST_REACH: u64 = store::MOST_REACH;
    /// The most edges of residual counts.
    #[pymodule_export]
    const MOST_EDGES: usize = EDGES;
    /// The smallest standard deviation of noise.
    #[pymodule_export]
    const SMALLEST_SIGMA: f64 = Sigma::SMALLEST.get();

    #[pymodule_export]
    use super::noise::{Entropy, rounded_gaussian};
    #[pymodule_export]
    use super::predict::{Additive, Forms};
    #[pymodule_export]
    use super::row_map::RowMap;
    #[pymodule_export]
    use super::rows::{Memory, Rows, round_matrix, round_theta};

    /// Say that this process was just forked.
    #[pyfunction]
    fn forked() {
        execution::forked();
    }

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        use super::statistics::{
            Count, Energy, ExampleGradient, Gradient, Gram, Histogram, ResidualCounts, ResidualSums,
        };

        module.add_class::<super::bins::Bins>()?;
        module.add_class::<Count>()?;
        module.add_class::<Energy>()?;
        module.add_class::<ExampleGradient>()?;
        module.add_class::<Gradient>()?;
        module.add_class::<Gram>()?;
        module.add_class::<Histogram>()?;
        module.add_class::<ResidualCounts>()?;
        module.add_class::<ResidualSums>()?;
        module.add_class::<super::weighted::WeightedResiduals>()
    }
}
