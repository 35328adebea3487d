//! The target of a row.

use xxhash_rust::xxh3::Xxh3;

use super::columns::{check_centre, check_scale};
use crate::error::Result;
use crate::number::clamp;

/// The target, (y − centre) / scale, in integer multiples of `step`.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub(crate) centre: f64,
    pub(crate) inverse: f64,
    step: f64,
    pub(crate) inverse_step: f64,
}

impl Target {
    /// Create a target with a centre, a scale and the step of its grid, after scaling.
    ///
    /// # Errors
    /// [`crate::Error::Parameter`] if the centre is not finite, or scale or step is not between 1e−100 and 1e100.
    pub fn new(centre: f64, scale: f64, step: f64) -> Result<Self> {
        check_centre(centre)?;
        check_scale("scale", scale)?;
        check_scale("step", step)?;
        Ok(Self { centre, inverse: 1.0 / scale, step, inverse_step: 1.0 / step })
    }

    /// The step of the target's grid.
    pub fn step(&self) -> f64 {
        self.step
    }

    pub(crate) fn hash_into(&self, hash: &mut Xxh3) {
        for value in [self.centre, self.inverse, self.step] {
            hash.update(&value.to_le_bytes());
        }
    }

    #[inline(always)]
    pub(crate) fn apply(&self, y: f64) -> f64 {
        clamp((y - self.centre) * self.inverse, f64::MAX)
    }
}
