//! Centre, scale, winsorise, basis: what happens to one column of a row.

use crate::error::{Result, parameter};
use xxhash_rust::xxh3::Xxh3;

/// Feature values are cut here. Larger ones have the same direction to within rounding, and their squares could
/// leave the range of doubles.
pub(crate) const LARGEST_FEATURE: f64 = 1.0e300;

/// z = (x − centre) / scale, cut to ±winsor; the features are gain·z and, for every knot k, gain·(|z − k| − |k|).
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    centre: f64,
    inverse: f64,
    winsor: f64,
    gain: f64,
    knots: Vec<f64>,
}

impl Column {
    /// A column with a centre, a scale, a winsorising bound (infinite for none), a gain and knots in z.
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`] for what is not finite or not positive.
    pub fn new(centre: f64, scale: f64, winsor: f64, gain: f64, knots: Vec<f64>) -> Result<Self> {
        check_centre(centre)?;
        if winsor.is_nan() || winsor <= 0.0 {
            return Err(parameter("winsor", "positive", winsor));
        }
        if !(gain > 0.0 && gain <= 1e100) {
            return Err(parameter("gain", "between 0 and 1e100", gain));
        }
        if let Some(knot) = knots.iter().find(|knot| !knot.is_finite()) {
            return Err(parameter("knots", "finite", knot));
        }
        Ok(Self { centre, inverse: inverse(scale)?, winsor: winsor.min(f64::MAX), gain, knots })
    }

    /// A column taken as it is.
    pub fn plain() -> Self {
        Self { centre: 0.0, inverse: 1.0, winsor: f64::MAX, gain: 1.0, knots: Vec::new() }
    }

    /// Features made of the column.
    pub fn features(&self) -> usize {
        1 + self.knots.len()
    }

    pub(crate) fn hash_into(&self, hash: &mut Xxh3) {
        for value in [self.centre, self.inverse, self.winsor, self.gain, self.knots.len() as f64] {
            hash.update(&value.to_le_bytes());
        }
        for knot in &self.knots {
            hash.update(&knot.to_le_bytes());
        }
    }

    /// The features of a block's column: `self.features()` times `x.len()` values.
    #[inline(always)]
    pub(crate) fn apply(&self, x: &[f64], features: &mut [f64]) {
        let (z, rest) = features.split_at_mut(x.len());
        for (z, &x) in z.iter_mut().zip(x) {
            // A difference of finite numbers may overflow to an infinity, which the cut makes finite again.
            *z = ((x - self.centre) * self.inverse).clamp(-self.winsor, self.winsor);
        }
        let cut = |value: f64| value.clamp(-LARGEST_FEATURE, LARGEST_FEATURE);
        for (term, &knot) in rest.chunks_exact_mut(x.len()).zip(&self.knots) {
            for (term, &z) in term.iter_mut().zip(&*z) {
                *term = cut(((z - knot).abs() - knot.abs()) * self.gain);
            }
        }
        for z in z {
            *z = cut(*z * self.gain);
        }
    }
}

/// The target, (y − centre) / scale, in integer multiples of `unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    centre: f64,
    inverse: f64,
    unit: f64,
}

impl Target {
    /// A target with a centre, a scale and the unit of its grid (in scaled terms).
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`] for what is not finite or not positive.
    pub fn new(centre: f64, scale: f64, unit: f64) -> Result<Self> {
        check_centre(centre)?;
        if !(unit >= 1e-200 && unit <= 1e200) {
            return Err(parameter("unit", "between 1e-200 and 1e200", unit));
        }
        Ok(Self { centre, inverse: inverse(scale)?, unit })
    }

    /// The unit of the target's grid.
    pub fn unit(&self) -> f64 {
        self.unit
    }

    pub(crate) fn hash_into(&self, hash: &mut Xxh3) {
        for value in [self.centre, self.inverse, self.unit] {
            hash.update(&value.to_le_bytes());
        }
    }

    #[inline(always)]
    pub(crate) fn apply(&self, y: f64) -> f64 {
        ((y - self.centre) * self.inverse).clamp(-f64::MAX, f64::MAX)
    }
}

fn check_centre(centre: f64) -> Result<()> {
    if centre.is_finite() { Ok(()) } else { Err(parameter("centre", "finite", centre)) }
}

fn inverse(scale: f64) -> Result<f64> {
    if scale >= 1e-290 && scale <= 1e290 {
        Ok(1.0 / scale)
    } else {
        Err(parameter("scale", "between 1e-290 and 1e290", scale))
    }
}
