//! Floats to fixed point, toward zero.
//!
//! # Privacy
//! Let f be the features of a row and b its intercept. [`factors`] gives w ≤ 1 such that w·‖(f, b)‖ ≤ 1 + 2^−37
//! (or the same for the parts, when x alone is clipped), and [`truncate`] gives q with |q_j| ≤ 2^15·w·|f_j|
//! except for one rounding of the product. Then Σq² ≤ 2^30·(1 + 2^−36) < 2^30 + 1, and Σq² is an integer, so
//! Σq² ≤ 2^30 exactly.
//!
//! The rounding errors: r_j = f_j·p is exact, as p is a power of two that brings the largest |f_j| into [1, 2)
//! (an entry so much smaller that it underflows has no bit in the sum); d products, d additions, a root, a
//! division and a product have relative errors of at most 2^−53 each, d + 5 in all, and d ≤ 2^13.
//!
//! The argument is checked for every row all the same: the squares are summed as exact integers (doubles below
//! 2^53), and a row above the bound would be replaced by zeros, which is a function of that row alone.

use crate::panel::layout::{BITS, LARGEST};

/// 2^15.
pub(crate) const ONE: f64 = (1u32 << BITS) as f64;
/// The bound on Σq².
pub const SQUARES: f64 = ONE * ONE;
/// Adding this leaves an integer of up to 50 bits in the low bits of a double.
const SHIFT: f64 = 6_755_399_441_055_744.0;
/// Targets are cut to ±2^30 units.
pub const LARGEST_TARGET: f64 = 1_073_741_824.0;

/// The power of two that brings `largest` into [1, 2); 2^200 for anything smaller than 2^−200, whose row is
/// zero on the grid anyway.
#[inline(always)]
pub(crate) fn prescale(largest: f64) -> f64 {
    // Exponents are taken from the bits: no logarithm, no rounding. A feature is at most 1e300.
    let exponent = (largest.max(6.223_015_277_861_142e-61).to_bits() >> 52) & 0x7ff;
    f64::from_bits((2046 - exponent) << 52)
}

/// What to multiply a row by so that its norm is at most `bound`, at most one.
///
/// `squares` is the sum of squares of the row times `prescale`.
#[inline(always)]
pub(crate) fn factor(squares: f64, prescale: f64, bound: f64) -> f64 {
    // An all-zero row divides by zero: infinity, and the smaller of it and one is one.
    (bound * prescale / squares.sqrt()).min(1.0)
}

/// A value on the grid, toward zero.
#[inline(always)]
pub(crate) fn truncate(value: f64) -> f64 {
    let largest = f64::from(LARGEST);
    (value * ONE).trunc().clamp(-largest, largest)
}

/// An integer-valued double of up to 50 bits as its low bits.
#[inline(always)]
pub(crate) fn low_bits(integer: f64) -> u64 {
    (integer + SHIFT).to_bits()
}

/// A target in units, rounded to the nearest integer and cut to ±2^30.
///
/// No sensitivity rests on a target: it is the residual that is clipped, as an integer.
#[inline(always)]
pub(crate) fn target(y: f64, inverse_unit: f64) -> i32 {
    low_bits((y * inverse_unit).clamp(-LARGEST_TARGET, LARGEST_TARGET)) as i32
}
