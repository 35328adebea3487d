//! A uniform number in `[0, 1)` that is drawn digit by digit.

use super::bits::{Bits, Words};

/// A uniform number `0.d₀d₁d₂…` in base `2^64`. Digits are drawn only when they are needed.
///
/// # Privacy
///
/// The number is exactly uniform. A comparison, with another uniform number or with a bound, is decided only when the
/// digits drawn so far determine its result, and uses no other digits. Given the results of all comparisons, the remaining
/// digits are therefore still independent and uniform, and drawing them later is the same as drawing them at the start.
pub(super) struct Uniform {
    first: u64,
    /// The digits after the first: empty except for about one draw in `2^60`, or for a very large sigma.
    more: Vec<u64>,
}

impl Uniform {
    /// Create a number and draw its first digit.
    #[inline]
    pub(super) fn new<W: Words>(bits: &mut Bits<W>) -> Self {
        Self { first: bits.word(), more: Vec::new() }
    }

    /// The first digit.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Return digit `index`, and draw it if necessary.
    pub(super) fn digit<W: Words>(&mut self, index: usize, bits: &mut Bits<W>) -> u64 {
        if index == 0 {
            return self.first;
        }
        while self.more.len() < index {
            self.more.push(bits.word());
        }
        self.more[index - 1]
    }

    /// Return whether a new uniform number is below this one: true with a probability equal to this number.
    #[inline]
    pub(super) fn exceeds_fresh<W: Words>(&mut self, bits: &mut Bits<W>) -> bool {
        let fresh = bits.word();
        if fresh == self.first { self.exceeds_after_tie(bits) } else { fresh < self.first }
    }

    /// Continue with further digits of both numbers when the first ones agree.
    #[cold]
    #[inline(never)]
    fn exceeds_after_tie<W: Words>(&mut self, bits: &mut Bits<W>) -> bool {
        let mut index = 1;
        loop {
            let (own, fresh) = (self.digit(index, bits), bits.word());
            if own != fresh {
                return fresh < own;
            }
            index += 1;
        }
    }

    /// A number with a given first digit.
    #[cfg(test)]
    pub(super) fn starting(first: u64) -> Self {
        Self { first, more: Vec::new() }
    }

    /// The number of digits drawn.
    #[cfg(test)]
    pub(super) fn digits(&self) -> usize {
        1 + self.more.len()
    }
}

#[cfg(test)]
mod tests {
    use super::super::bits::testing::Script;
    use super::*;

    #[test]
    fn one_digit_decides_unless_it_ties() {
        for (fresh, below) in [(4, true), (6, false), (0, true), (u64::MAX, false)] {
            let mut bits = Script::bits(&[5, fresh]);
            let mut number = Uniform::new(&mut bits);
            assert_eq!(number.exceeds_fresh(&mut bits), below);
            assert_eq!((number.digits(), bits.words_left()), (1, 0));
        }
    }

    #[test]
    fn ties_draw_digits_of_both_numbers_until_they_differ() {
        // Own first digit, tie; own 7, fresh 7; own 9, fresh 8.
        let mut bits = Script::bits(&[5, 5, 7, 7, 9, 8, 5, 7, 10, 5, 7, 9, 1, 0]);
        let mut number = Uniform::new(&mut bits);
        assert!(number.exceeds_fresh(&mut bits));
        assert_eq!((number.digits(), bits.words_left()), (3, 8));
        // The digits stay: the next two numbers are compared with 5, 7, 9, and a fourth digit is drawn only if necessary.
        assert!(!number.exceeds_fresh(&mut bits));
        assert_eq!((number.digits(), bits.words_left()), (3, 5));
        assert!(number.exceeds_fresh(&mut bits));
        assert_eq!((number.digits(), bits.words_left()), (4, 0));
        assert_eq!([0, 1, 2, 3].map(|i| number.digit(i, &mut bits)), [5, 7, 9, 1]);
    }

    #[test]
    fn the_extreme_digits_tie_like_others() {
        let mut bits = Script::bits(&[0, 0, 1, 0, u64::MAX, u64::MAX, 0, 1]);
        let mut lowest = Uniform::new(&mut bits);
        assert!(lowest.exceeds_fresh(&mut bits));
        let mut highest = Uniform::new(&mut bits);
        assert!(!highest.exceeds_fresh(&mut bits));
        assert_eq!(bits.words_left(), 0);
    }
}
