//! Exact integer statistics that merge in any order.
//!
//! # Privacy
//! What is here is exact and therefore private; it may leave only through [`crate::noise`]. A sum of integers has
//! no rounding, so adding or removing one row changes it by exactly that row's contribution, whatever the order,
//! the partition and the number of threads. Each type states its sensitivity.

pub mod blob;
mod eigenvalue;
mod energy;
mod example_gradient;
mod gradient;
mod gram;
pub mod histogram;

pub use energy::Energy;
pub use example_gradient::{EXAMPLE_BITS, ExampleGradient};
pub use gradient::Gradient;
pub use gram::Gram;
pub use histogram::{Bins, Histogram};
