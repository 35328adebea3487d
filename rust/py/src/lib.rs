//! `dpfit._native`: the core as Python sees it. Thin: arguments are converted and checked, the core does the rest.

// Arguments that Python hands over are taken by value.
#![allow(clippy::needless_pass_by_value)]

mod convert;
mod enter;
mod error;
mod noise;
mod row_map;
mod rows;
mod statistics;

/// The exact core: rows to integers to noise.
#[pyo3::pymodule]
mod _native {
    #[pymodule_export]
    use super::noise::{Entropy, rounded_gaussian};
    #[pymodule_export]
    use super::row_map::RowMap;
    #[pymodule_export]
    use super::rows::{Rows, round_theta};
    #[pymodule_export]
    use super::statistics::{Bins, Energy, ExampleGradient, Gradient, Gram, Histogram};
}
