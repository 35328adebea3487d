//! Rows to integers to noise: everything in dpfit that touches a row.
//!
//! ```text
//! source → rowmap → panel → statistics → noise
//! ```
//!
//! One direction, no way back. [`rowmap`] takes one row at a time to a vector of integers of bounded norm, [`panel`]
//! keeps those, [`statistics`] adds them up exactly, and [`noise`] is what must be added before anything leaves.

pub mod error;
pub mod kernel;
pub mod noise;
pub mod panel;
pub mod rowmap;
pub mod source;
pub mod statistics;
pub mod threads;

pub use error::{Error, Result};
