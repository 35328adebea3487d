//! Standard deviations that the sampler accepts.

use crate::error::{Result, parameter};

/// A standard deviation of noise on integers: a number in `[2^-10, 2^100]`, used exactly.
///
/// With these bounds every step of the sampler fits into 128-bit integers. Noise below the lower bound would always round to
/// zero; sums with noise above the upper bound could overflow.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Sigma(f64);

impl Sigma {
    /// The smallest standard deviation, `2^-10`.
    pub const SMALLEST: Self = Self(1.0 / 1024.0);
    /// The largest standard deviation, `2^100`.
    pub const LARGEST: Self = Self((1u128 << 100) as f64);

    /// Check a standard deviation.
    ///
    /// # Errors
    ///
    /// [`crate::Error::Parameter`] if `value` is NaN or outside `[2^-10, 2^100]`.
    pub fn new(value: f64) -> Result<Self> {
        if (Self::SMALLEST.0..=Self::LARGEST.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(parameter("sigma", "between 2^-10 and 2^100", value))
        }
    }

    /// The standard deviation as a number.
    pub const fn get(self) -> f64 {
        self.0
    }

    /// The integers `(m, e)` with `σ = m·2^e`, `2^52 ≤ m < 2^53` and `-62 ≤ e ≤ 48`.
    pub(super) fn parts(self) -> (u64, i32) {
        let bits = self.0.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        // The sign bit is zero and no number in the range is subnormal, so the upper bits are the biased exponent and
        // the leading one of the mantissa is implicit.
        ((1 << 52) | fraction, (bits >> 52) as i32 - 1075)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;
    use proptest::prelude::*;

    #[test]
    fn the_range_is_closed() {
        for good in [2f64.powi(-10), 0.3, 1.0, 2f64.powi(100)] {
            assert_eq!(Sigma::new(good).unwrap().get().to_bits(), good.to_bits());
        }
        let bad = [
            2f64.powi(-10).next_down(),
            2f64.powi(100).next_up(),
            0.0,
            -0.0,
            -1.0,
            f64::MIN_POSITIVE,
            5e-324,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        for value in bad {
            assert!(matches!(Sigma::new(value), Err(Error::Parameter { name: "sigma", .. })), "{value}");
        }
    }

    #[test]
    fn parts_at_the_ends_of_the_range() {
        assert_eq!(Sigma::SMALLEST.parts(), (1 << 52, -62));
        assert_eq!(Sigma::LARGEST.parts(), (1 << 52, 48));
        assert_eq!(Sigma::new(1.0).unwrap().parts(), (1 << 52, -52));
        assert_eq!(Sigma::new(2.0f64.next_down()).unwrap().parts(), ((1 << 53) - 1, -52));
    }

    proptest! {
        #[test]
        fn parts_give_the_number_back(exponent in -10i32..100, fraction in 0u64..1 << 52) {
            let value = f64::from_bits(((exponent + 1023) as u64) << 52 | fraction);
            let (mantissa, exponent) = Sigma::new(value).unwrap().parts();
            prop_assert_eq!((mantissa as f64 * 2f64.powi(exponent)).to_bits(), value.to_bits());
        }
    }
}
