//! A compact store of quantised rows, laid out so that one pass runs at the speed of memory.
//!
//! Two bytes a value: with fifteen bits the loss against 64-bit floats is far below the noise of any budget
//! (`docs/precision.md` has the figures and the script that prints them), and half the bytes is twice the speed.

pub(crate) mod batch;
pub mod layout;
mod segment;
mod store;
pub mod theta;

pub use layout::{LANES, Layout, Line};
pub use store::{Backing, Panel};
pub use theta::Theta;
