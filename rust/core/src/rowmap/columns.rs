//! Centre, scale, winsorise, basis: what happens to one column of a row.

use crate::error::{Result, parameter};
use crate::kernel::cut;
use crate::panel::layout::LANES;
use crate::source::Lanes;
use xxhash_rust::xxh3::Xxh3;

/// Feature values are cut here, so that a sum of their squares stays in the range of doubles.
const LARGEST_FEATURE: f64 = 1.0e150;

/// z = (x − centre) / scale, cut to ±winsor; the features are gain·z and, for every knot k, gain·(|z − k| − |k|).
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    pub(crate) centre: f64,
    /// gain / scale.
    pub(crate) factor: f64,
    /// winsor · gain.
    pub(crate) limit: f64,
    /// knot · gain.
    pub(crate) knots: Vec<f64>,
}

impl Column {
    /// A column with a centre, a scale, a winsorising bound (infinite for none), a gain and knots in z.
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`] for what is not finite or not positive.
    pub fn new(centre: f64, scale: f64, winsor: f64, gain: f64, knots: &[f64]) -> Result<Self> {
        check_centre(centre)?;
        check_scale("scale", scale)?;
        check_scale("gain", gain)?;
        if winsor.is_nan() || winsor <= 0.0 {
            return Err(parameter("winsor", "positive", winsor));
        }
        if let Some(knot) = knots.iter().find(|knot| knot.abs() > 1e100 || knot.is_nan()) {
            return Err(parameter("knots", "between -1e100 and 1e100", knot));
        }
        let knots = knots.iter().map(|knot| knot * gain).collect();
        Ok(Self { centre, factor: gain / scale, limit: (winsor * gain).min(LARGEST_FEATURE), knots })
    }

    /// A column taken as it is.
    pub fn plain() -> Self {
        Self { centre: 0.0, factor: 1.0, limit: LARGEST_FEATURE, knots: Vec::new() }
    }

    /// Features made of the column.
    pub fn features(&self) -> usize {
        1 + self.knots.len()
    }

    pub(crate) fn hash_into(&self, hash: &mut Xxh3) {
        for value in [self.centre, self.factor, self.limit, self.knots.len() as f64].iter().chain(&self.knots)
        {
            hash.update(&value.to_le_bytes());
        }
    }

    /// The features of a tile's column; their squares are added to those of their rows.
    #[inline(always)]
    pub(crate) fn apply(&self, x: &[f64; LANES], features: &mut [Lanes], squares: &mut [f64; LANES]) {
        let [Lanes(z), terms @ ..] = features else { return };
        for lane in 0..LANES {
            // A difference of finite numbers may overflow to an infinity, which the cut makes finite again.
            z[lane] = cut((x[lane] - self.centre) * self.factor, self.limit);
            squares[lane] += z[lane] * z[lane];
        }
        for (Lanes(term), knot) in terms.iter_mut().zip(&self.knots) {
            for lane in 0..LANES {
                term[lane] = (z[lane] - knot).abs() - knot.abs();
                squares[lane] += term[lane] * term[lane];
            }
        }
    }
}

/// The target, (y − centre) / scale, in integer multiples of `unit`.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    pub(crate) centre: f64,
    pub(crate) inverse: f64,
    unit: f64,
    pub(crate) inverse_unit: f64,
}

impl Target {
    /// A target with a centre, a scale and the unit of its grid (in scaled terms).
    ///
    /// # Errors
    /// [`crate::error::Error::Parameter`] for what is not finite or not positive.
    pub fn new(centre: f64, scale: f64, unit: f64) -> Result<Self> {
        check_centre(centre)?;
        check_scale("scale", scale)?;
        check_scale("unit", unit)?;
        Ok(Self { centre, inverse: 1.0 / scale, unit, inverse_unit: 1.0 / unit })
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
        cut((y - self.centre) * self.inverse, f64::MAX)
    }
}

fn check_centre(centre: f64) -> Result<()> {
    if centre.is_finite() { Ok(()) } else { Err(parameter("centre", "finite", centre)) }
}

/// Small enough that products and quotients of two of them are normal numbers.
fn check_scale(name: &'static str, scale: f64) -> Result<()> {
    if (1e-100..=1e100).contains(&scale) {
        Ok(())
    } else {
        Err(parameter(name, "between 1e-100 and 1e100", scale))
    }
}
