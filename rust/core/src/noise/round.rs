//! `floor(σ|Z| + 1/2)`, decided exactly.
//!
//! Write `σ = m·2^e` and `|Z| = k + x`, and let `a` be the first digit of `x`, so that `x = (a + y)·2^-64`
//! with a uniform `y` in `[0, 1)` made of the digits after it. With `s = 64 - e`,
//!
//! ```text
//! σ|Z| + 1/2 = (m·(k·2^64 + a) + 2^(s-1) + m·y) / 2^s = n + (r + m·y) / 2^s
//! ```
//!
//! for an integer `n` and an integer remainder `0 ≤ r < 2^s`. While `m < 2^s`, the result is `n` or `n + 1`. It is `n`
//! for every `y` if `r + m ≤ 2^s`. Otherwise it is `n + 1` exactly if `y ≥ (2^s - r)/m`. The right side is a fraction
//! with a numerator below `m < 2^53`, and long division yields its digits one by one. Comparing them with the digits of
//! `y` never needs a number longer than 128 bits, no matter how many digits agree.
//!
//! For `σ ≥ 2^64`, `m ≥ 2^s`. A second digit is then always needed. It turns `(r, s)` into `(r·2^64 + m·a', s + 64)`, with
//! the integer part added to `n`.

use super::bits::{Bits, Words};
use super::sigma::Sigma;
use super::uniform::Uniform;

/// Mantissas are below `2^MANTISSA_BITS`.
const MANTISSA_BITS: u32 = 53;

/// A standard deviation, ready for rounding.
#[derive(Debug, Clone, Copy)]
pub(super) struct Scale {
    /// `m`, in `2^52..2^53`.
    mantissa: u128,
    /// `s = 64 - e`, in `16..=126`.
    shift: u32,
}

impl Scale {
    /// Split `sigma` into integers.
    #[inline]
    pub(super) fn new(sigma: Sigma) -> Self {
        let (mantissa, exponent) = sigma.parts();
        Self { mantissa: u128::from(mantissa), shift: (64 - exponent) as u32 }
    }

    /// Return `floor(σ(whole + fraction) + 1/2)`, at most `2^110`. Only the digits of `fraction` that are needed are drawn.
    /// `whole` is below `2^10`.
    #[inline]
    pub(super) fn round<W: Words>(self, whole: u32, fraction: &mut Uniform, bits: &mut Bits<W>) -> u128 {
        let magnitude = u128::from(whole) << 64 | u128::from(fraction.first());
        // Below 2^53 · 2^74 + 2^125 < 2^128.
        let scaled = self.mantissa * magnitude + (1 << (self.shift - 1));
        let (result, rest) = split(scaled, self.shift);
        // The whole interval lies below the next integer. The sum is below 2^126 + 2^53.
        if rest + self.mantissa <= 1 << self.shift {
            return result;
        }
        self.round_undecided(result, rest, fraction, bits)
    }

    /// Continue when the first digit does not determine the result.
    #[cold]
    #[inline(never)]
    fn round_undecided<W: Words>(
        self,
        mut result: u128,
        mut rest: u128,
        fraction: &mut Uniform,
        bits: &mut Bits<W>,
    ) -> u128 {
        let (mut shift, mut next) = (self.shift, 1);
        if shift < MANTISSA_BITS {
            // rest < 2^52, so the sum is below 2^116 + 2^117.
            let scaled = (rest << 64) + self.mantissa * u128::from(fraction.digit(1, bits));
            shift += 64;
            next = 2;
            let (carry, remainder) = split(scaled, shift);
            result += carry;
            rest = remainder;
            if rest + self.mantissa <= 1 << shift {
                return result;
            }
        }
        let gap = (1 << shift) - rest;
        result + u128::from(reaches(fraction, next, gap, self.mantissa, bits))
    }
}

/// Return quotient and remainder of a division by `2^shift`.
#[inline]
fn split(value: u128, shift: u32) -> (u128, u128) {
    (value >> shift, value & ((1 << shift) - 1))
}

/// Return whether the digits of `fraction` from index `next` on, as a number in `[0, 1)`, are at least
/// `numerator / denominator`. The quotient is in `(0, 1)` and the denominator below `2^53`.
fn reaches<W: Words>(
    fraction: &mut Uniform,
    mut next: usize,
    mut numerator: u128,
    denominator: u128,
    bits: &mut Bits<W>,
) -> bool {
    // After the last digit of the bound, any further digits reach it.
    while numerator != 0 {
        // The numerator is below the denominator, so the product is below 2^117 and the quotient is one
        // digit.
        let product = numerator << 64;
        let bound = (product / denominator) as u64;
        let digit = fraction.digit(next, bits);
        if digit != bound {
            return digit > bound;
        }
        numerator = product % denominator;
        next += 1;
    }
    true
}

#[cfg(test)]
mod tests;
