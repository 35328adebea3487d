//! Floats to fixed point, toward zero.
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
//! The argument is checked for every row all the same: the squares are summed as integers (of 32 bits, no further than 2^31),
//! and a row above the bound would be replaced by zeros, which is a function of that row alone.

use crate::kernel::cut;
use crate::panel::layout::BITS;

/// 2^15.
pub(crate) const ONE: f64 = (1u32 << BITS) as f64;
/// The bound on Σq².
pub const SQUARES: u32 = 1 << (2 * BITS);
/// Targets are cut to ±2^30 units.
pub const LARGEST_TARGET: f64 = 1_073_741_824.0;
/// Adding this rounds to an integer and leaves it in the low bits of the double.
pub(crate) const SHIFT: f64 = 6_755_399_441_055_744.0;

/// What to multiply a row by so that its norm is at most `bound`: at most one.
#[inline(always)]
pub(crate) fn weight(squares: f64, bound: f64) -> f64 {
    // A row of zeros divides by zero: an infinity, and the smaller of it and one is one.
    let weight = bound / squares.sqrt();
    if weight < 1.0 { weight } else { 1.0 }
}

/// A target in units, rounded to the nearest integer and cut to ±2^30.
///
/// No sensitivity rests on a target: it is the residual that is clipped, as an integer.
#[inline(always)]
pub(crate) fn target(y: f64, inverse_unit: f64) -> i32 {
    (cut(y * inverse_unit, LARGEST_TARGET) + SHIFT).to_bits() as i32
}
