//! Exact integer statistics that merge in any order.
//!
//! # Privacy
//! Statistics are exact and therefore private; only [`crate::noise::release`] may publish them. Sums of integers are not
//! rounded, so adding or removing a row changes them by exactly the contribution of that row, for every order and
//! partition of the rows and every number of threads. Each type documents its sensitivity.
//!
//! # How to add a statistic
//! Write a module with a type that contains [`Sums`], implement [`Statistic`] with `statistic!`, and list the module below.
//! A sum over raw rows uses `Scan::fold` (see [`Count`]), a sum over stored rows and their residuals uses `Store::pass`
//! (see [`Energy`]), and a sum over rows while they are mapped is a `Sink` (see [`Gram`]).

mod sums;

mod count;
mod energy;
mod example_gradient;
mod gradient;
mod gram;
mod histogram;
mod residual_counts;
mod residual_sums;
mod weighted_residuals;

pub use count::Count;
pub use energy::Energy;
pub use example_gradient::{EXAMPLE_BITS, ExampleGradient};
pub use gradient::Gradient;
pub use gram::Gram;
pub use histogram::{Bins, Histogram};
pub use residual_counts::{MOST_EDGES, ResidualCounts};
pub use residual_sums::ResidualSums;
pub use sums::{Statistic, Sums};
pub use weighted_residuals::{Part, Weight, WeightedResiduals};
