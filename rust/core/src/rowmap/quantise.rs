//! Floats to fixed point, rounded toward zero.
//!
//! # Privacy
//! Let f be the features of a row and b its constant. `weight` gives w ≤ 1 such that w·‖(f, b)‖ ≤ 1 + 2^−38 (or the
//! same for the two parts and their shares, when x alone is clipped), and truncating gives integers
//! `|q_j| ≤ 2^15·w·|f_j|·(1 + 2^−53)`. Then Σq² ≤ 2^30·(1 + 2^−36) < 2^30 + 1, and Σq² is an integer, so Σq² ≤ 2^30.
//!
//! The rounding errors: features are at most 1e150, so no square overflows; a square that underflows is too small to
//! matter beside a sum above one, and a sum below one needs no weight. The d products, d additions, one root, one
//! division and one product have relative errors of at most 2^−53 each, and d ≤ 2^13.
//!
//! The result is still checked for every row: the squares are summed as 32-bit integers (up to 2^31), and a row above the
//! bound would be replaced by zeros, which is again a function of that row alone.

use crate::layout::BITS;
use crate::number::clamp;

/// 2^15.
pub(crate) const ONE: f64 = (1u32 << BITS) as f64;
/// The bound on Σq².
pub const SQUARES: u32 = 1 << (2 * BITS);
/// Targets are clamped to ±2^30 steps.
pub const LARGEST_TARGET: f64 = 1_073_741_824.0;
/// Adding this to a double rounds it to an integer and leaves the integer in the low bits.
pub(crate) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// Return the factor, at most one, that brings the norm of a row down to `bound`.
#[inline(always)]
pub(crate) fn weight(squares: f64, bound: f64) -> f64 {
    // For a row of zeros this divides by zero; the minimum of infinity and one is one.
    let weight = bound / squares.sqrt();
    if weight < 1.0 { weight } else { 1.0 }
}

/// Return the factor of a row with this weight: the root of weight / `most`, from 0 to 1; 0 for NaN.
///
/// A product with it is not larger than before, whatever the rounding.
#[inline(always)]
pub(crate) fn row_weight(weight: f64, most: f64) -> f64 {
    if weight > 0.0 { (weight / most).min(1.0).sqrt() } else { 0.0 }
}

/// Return a target in steps, rounded to the nearest integer and clamped to ±2^30.
///
/// No sensitivity depends on targets: residuals are clipped, as integers.
#[inline(always)]
pub(crate) fn target(y: f64, inverse_step: f64) -> i32 {
    (clamp(y * inverse_step, LARGEST_TARGET) + SHIFT).to_bits() as i32
}

#[cfg(test)]
mod tests {
    use super::row_weight;

    #[test]
    fn weights_are_roots_of_shares() {
        let cases = [
            (0.0, 0.0),
            (-0.0, 0.0),
            (-3.0, 0.0),
            (f64::NAN, 0.0),
            (1.0, 0.5),
            (4.0, 1.0),
            (5.0, 1.0),
            (f64::INFINITY, 1.0),
            (f64::MAX, 1.0),
        ];
        for (weight, expected) in cases {
            assert_eq!(row_weight(weight, 4.0).to_bits(), f64::to_bits(expected));
        }
    }
}
