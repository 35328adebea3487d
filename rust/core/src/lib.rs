//! Rows to integers to noise: everything in dpfit that touches a row.
//!
//! ```text
//! noise        Gaussian noise on integers: the only way out
//! statistics   exact integer sums over rows, which merge in any order
//! predict      what a public model says about rows
//! store        quantised rows, in memory or in files
//! rowmap       a row of floats becomes a row of integers of bounded norm
//! source       batches of rows, copied strip by strip
//! blob         bytes that move between processes, with a checksum
//! layout       how quantised rows lie in memory
//! execution    threads, code path, interruption
//! number       floats to integers within limits
//! error        the one error type
//! ```
//!
//! A module uses modules that stand below it and no others; `tests/conventions.rs` reads this list and fails otherwise. Rows
//! go up: [`rowmap`] maps one row at a time to a vector of integers of bounded norm, [`store`] keeps these, [`statistics`]
//! adds them up exactly, and [`noise`] must be added before anything leaves.

mod blob;
pub mod error;
pub mod execution;
pub mod layout;
pub mod noise;
mod number;
pub mod predict;
pub mod rowmap;
pub mod source;
pub mod statistics;
pub mod store;

pub use error::{Error, Result};
