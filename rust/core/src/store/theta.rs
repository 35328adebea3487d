//! The public model, rounded to the grid on which residuals are exact integers.

use crate::error::{Error, Result, parameter};
use crate::layout::BITS;

/// The number of low bits of θ, which the second multiplication handles.
pub(crate) const LOW_BITS: u32 = 10;
/// ‖θ‖ on its grid is at most 2^24.
const NORM_BITS: i32 = 24;
/// ‖θ‖ is at most 2^29 steps of the target; a longer one is scaled down ([`Theta`]).
const MOST_UNITS: f64 = 536_870_912.0;
const SMALLEST_EXPONENT: i32 = LOW_BITS as i32 - BITS as i32;
const LARGEST_EXPONENT: i32 = 16;

/// θ as integers: `θ_j / step ≈ t_j · 2^−e`, `t_j = high_j · 2^10 + low_j`.
///
/// The prediction for a row q, in steps of the target, is then the integer
/// `(Σ q·high + ⌊Σ q·low / 2^10⌋ + half) >> shift`, `shift = 15 + e − 10`.
///
/// No sum exceeds 32 bits, for any row: by Cauchy–Schwarz with ‖q‖ ≤ 2^15,
/// |Σ q·high| ≤ 2^15 · (2^24 + 2^9·√d) / 2^10 < 2^30 and |Σ q·low| ≤ 2^15 · 2^9 · √d < 2^31 for d ≤ 8192;
/// partial sums may wrap, which addition modulo 2^32 undoes. |prediction| ≤ 2^29 + 1 and |target| ≤ 2^30, so
/// residuals fit, too.
///
/// # Privacy
/// θ is public; rounding it only chooses another public θ. If its norm is above 2^29 steps of the target, it is scaled down
/// to that norm. Such a model is useless anyway: no target is that large.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Theta {
    // In pairs, as the vector code multiplies them. An odd number of coefficients is padded with a zero.
    high: Vec<[i16; 2]>,
    low: Vec<[i16; 2]>,
    len: usize,
    shift: u32,
}

impl Theta {
    /// Round `theta`. Its product with a row of norm one is measured on the same scale as `step`.
    ///
    /// # Errors
    /// [`Error::Parameter`] if an entry is NaN or infinite, or `step` is out of range.
    pub fn new(theta: &[f64], step: f64) -> Result<Self> {
        if theta.iter().any(|value| !value.is_finite()) {
            return Err(parameter("theta", "finite", "NaN or infinity"));
        }
        if !(1e-100..=1e100).contains(&step) {
            return Err(parameter("step", "between 1e-100 and 1e100", step));
        }
        // Huge entries are clamped first, so that their squares do not overflow.
        let mut scaled: Vec<f64> = theta.iter().map(|value| (value / step).clamp(-1e60, 1e60)).collect();
        let norm = scaled.iter().map(|value| value * value).sum::<f64>().sqrt();
        let shorten = if norm > MOST_UNITS { MOST_UNITS / norm } else { 1.0 };
        let mut exponent = LARGEST_EXPONENT;
        while exponent > SMALLEST_EXPONENT && norm * shorten * 2f64.powi(exponent) > 2f64.powi(NORM_BITS) {
            exponent -= 1;
        }
        for value in &mut scaled {
            *value = (*value * shorten * 2f64.powi(exponent)).round_ties_even();
        }
        scaled.resize(theta.len().next_multiple_of(2), 0.0);
        let (pairs, _) = scaled.as_chunks::<2>();
        let (high, low) = pairs
            .iter()
            .map(|&[a, b]| {
                let ((a_high, a_low), (b_high, b_low)) = (split(a), split(b));
                ([a_high, b_high], [a_low, b_low])
            })
            .unzip();
        Ok(Self { high, low, len: theta.len(), shift: (BITS as i32 + exponent) as u32 - LOW_BITS })
    }

    /// The number of coefficients.
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there are no coefficients.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Return the integers t and the exponent e: θ ≈ step · t · 2^−e.
    pub fn integers(&self) -> (Vec<i32>, i32) {
        let halves = self.high.as_flattened().iter().zip(self.low.as_flattened());
        let whole = halves.map(|(&high, &low)| (i32::from(high) << LOW_BITS) + i32::from(low));
        (whole.take(self.len).collect(), self.shift as i32 + LOW_BITS as i32 - BITS as i32)
    }

    pub(crate) fn high(&self) -> &[[i16; 2]] {
        &self.high
    }

    pub(crate) fn low(&self) -> &[[i16; 2]] {
        &self.low
    }

    pub(crate) fn pairs(&self) -> usize {
        self.high.len()
    }

    pub(crate) fn shift(&self) -> u32 {
        self.shift
    }

    /// The summand that rounds the shifted sum to the nearest integer.
    pub(crate) fn half(&self) -> i32 {
        if self.shift == 0 { 0 } else { 1 << (self.shift - 1) }
    }

    pub(crate) fn check_len(&self, features: usize) -> Result<()> {
        if self.len() == features {
            Ok(())
        } else {
            Err(Error::Shape { what: "coefficients", expected: features, got: self.len() })
        }
    }
}

/// The high and the low part of an integer of at most 25 bits.
pub(super) fn split(value: f64) -> (i16, i16) {
    let high = (value as i32 + (1 << (LOW_BITS - 1))) >> LOW_BITS;
    (high as i16, (value as i32 - (high << LOW_BITS)) as i16)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn stays_within_its_bounds(
            theta in prop::collection::vec(prop_oneof![-1e3..1e3f64, -1e300..1e300f64, Just(0.0), -1e-9..1e-9f64], 1..200),
            step in 1e-12..1e3f64,
        ) {
            let rounded = Theta::new(&theta, step).unwrap();
            let (whole, exponent) = rounded.integers();
            let norm = whole.iter().map(|&t| f64::from(t).powi(2)).sum::<f64>().sqrt();
            prop_assert!(norm <= 2f64.powi(NORM_BITS) + 0.5 * (theta.len() as f64).sqrt());
            prop_assert!(norm * 2f64.powi(-exponent) <= MOST_UNITS + 16.0 * (theta.len() as f64).sqrt());
            prop_assert!(rounded.shift <= 21);
            prop_assert!(rounded.low.as_flattened().iter().all(|&low| (-512..512).contains(&low)));
        }

        #[test]
        fn is_close_to_the_given_theta(theta in prop::collection::vec(-200.0..200.0f64, 1..50)) {
            let step = 2f64.powi(-18);
            let (whole, exponent) = Theta::new(&theta, step).unwrap().integers();
            let norm = theta.iter().map(|t| t * t).sum::<f64>().sqrt();
            for (&t, &given) in whole.iter().zip(&theta) {
                let back = f64::from(t) * 2f64.powi(-exponent) * step;
                prop_assert!((back - given).abs() <= norm * 2f64.powi(-23) + step * 2f64.powi(-16));
            }
        }
    }

    #[test]
    fn infinite_and_missing_entries_are_rejected() {
        assert!(Theta::new(&[0.0, f64::NAN], 1.0).is_err());
        assert!(Theta::new(&[f64::INFINITY], 1.0).is_err());
    }
}
