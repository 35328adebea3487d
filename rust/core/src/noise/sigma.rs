//! Standard deviations that the sampler accepts.

use crate::error::{Result, parameter};

/// A standard deviation of the noise, in units of the grid: a number in `[2^-10, 2^100]`, taken exactly.
///
/// The bounds are what lets every step of the sampler fit into 128-bit integers. Noise below the lower one
/// would round to zero anyway; noise above the upper one would not fit beside the sums.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
pub struct Sigma(f64);

impl Sigma {
    /// The smallest standard deviation, `2^-10`.
    pub const SMALLEST: Self = Self(1.0 / 1024.0);
    /// The largest standard deviation, `2^100`.
    pub const LARGEST: Self = Self((1u128 << 100) as f64);

    /// Checks a standard deviation.
    ///
    /// # Errors
    ///
    /// [`Error::Parameter`](crate::error::Error::Parameter) if `value` is NaN or outside `[2^-10, 2^100]`.
    pub fn new(value: f64) -> Result<Self> {
        if (Self::SMALLEST.0..=Self::LARGEST.0).contains(&value) {
            Ok(Self(value))
        } else {
            Err(parameter("sigma", "between 2^-10 and 2^100", value))
        }
    }

    /// The standard deviation as a number.
    pub fn get(self) -> f64 {
        self.0
    }

    /// The integers `(m, e)` with `σ = m·2^e`, `2^52 ≤ m < 2^53` and `-62 ≤ e ≤ 48`.
    pub(super) fn parts(self) -> (u64, i32) {
        let bits = self.0.to_bits();
        let fraction = bits & ((1 << 52) - 1);
        // The sign bit is zero and no number in the range is subnormal: what is left is the biased exponent,
        // and the leading one of the mantissa is implied.
        ((1 << 52) | fraction, (bits >> 52) as i32 - 1075)
    }
}

/// The standard deviation `sensitivity / mu`, rounded up, that makes a release `mu`-GDP.
///
/// # Privacy
///
/// Adding `round(σZ)` to an integer statistic of that sensitivity is `mu`-GDP when `σ ≥ sensitivity / mu`.
/// The quotient is rounded to the nearest `f64` by the division and then replaced by the next larger one, so
/// it is never below the true quotient; and it is raised to `2^-10` if it is smaller. Both err on the private
/// side.
///
/// # Errors
///
/// [`Error::Parameter`](crate::error::Error::Parameter) if an argument is not a positive finite number or if
/// the quotient is not below `2^100`.
pub fn sigma_for(sensitivity: f64, mu: f64) -> Result<Sigma> {
    for (name, value) in [("sensitivity", sensitivity), ("mu", mu)] {
        if !(value > 0.0 && value.is_finite()) {
            return Err(parameter(name, "positive and finite", value));
        }
    }
    let quotient = (sensitivity / mu).next_up();
    if quotient > Sigma::LARGEST.0 {
        return Err(parameter("sensitivity / mu", "below 2^100", quotient));
    }
    Ok(Sigma(quotient.max(Sigma::SMALLEST.0)))
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

    #[test]
    fn a_quotient_out_of_range_is_refused_or_raised() {
        for (sensitivity, mu, name) in [
            (0.0, 1.0, "sensitivity"),
            (-1.0, 1.0, "sensitivity"),
            (f64::NAN, 1.0, "sensitivity"),
            (f64::INFINITY, 1.0, "sensitivity"),
            (1.0, 0.0, "mu"),
            (1.0, -0.0, "mu"),
            (1.0, f64::NAN, "mu"),
            (1.0, f64::INFINITY, "mu"),
            (1e300, 1e-300, "sensitivity / mu"),
            (2f64.powi(100), 1.0, "sensitivity / mu"),
        ] {
            match sigma_for(sensitivity, mu) {
                Err(Error::Parameter { name: got, .. }) => assert_eq!(got, name),
                other => panic!("{sensitivity} / {mu}: {other:?}"),
            }
        }
        assert_eq!(sigma_for(1e-300, 1e300).unwrap(), Sigma::SMALLEST);
        assert_eq!(sigma_for(5e-324, 1.0).unwrap(), Sigma::SMALLEST);
    }

    proptest! {
        #[test]
        fn parts_give_the_number_back(exponent in -10i32..100, fraction in 0u64..1 << 52) {
            let value = f64::from_bits(((exponent + 1023) as u64) << 52 | fraction);
            let (mantissa, exponent) = Sigma::new(value).unwrap().parts();
            prop_assert_eq!((mantissa as f64 * 2f64.powi(exponent)).to_bits(), value.to_bits());
        }

        /// `σ·mu ≥ sensitivity` in exact integers.
        #[test]
        fn the_quotient_is_never_below_the_truth(sensitivity in 1u64..1 << 53, mu in 1u64..1 << 53) {
            let (mantissa, exponent) = sigma_for(sensitivity as f64, mu as f64).unwrap().parts();
            // m·2^e·mu ≥ sensitivity, with e from -62 to 1: no shift leaves 128 bits.
            let (left, right) = (u128::from(mantissa) * u128::from(mu), u128::from(sensitivity));
            let holds = if exponent < 0 { left >= right << -exponent } else { left << exponent >= right };
            prop_assert!(holds);
        }
    }
}
