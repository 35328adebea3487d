//! A uniform number in `[0, 1)` that is drawn digit by digit.

use super::bits::{Bits, Words};

/// A uniform number `0.d₀d₁d₂…` in base `2^64`, of which only the digits that somebody needed exist.
///
/// # Privacy
///
/// The number is exactly uniform, whatever is asked of it. A question (is a fresh uniform number below it, on
/// which side of a bound does it lie) is answered only when the digits drawn so far leave one answer, and
/// looks at no digit beyond them. The later digits are therefore still independent and uniform given all
/// answers, and drawing them later is the same as having drawn them at first.
pub(super) struct Uniform {
    first: u64,
    /// The digits after the first: empty but for one draw in `2^60` or so, or for very large sigmas.
    more: Vec<u64>,
}

impl Uniform {
    /// A new number, with its first digit drawn.
    #[inline]
    pub(super) fn new<W: Words>(bits: &mut Bits<W>) -> Self {
        Self { first: bits.word(), more: Vec::new() }
    }

    /// The first digit.
    #[inline]
    pub(super) fn first(&self) -> u64 {
        self.first
    }

    /// Digit `index`, drawn now if it was not drawn before.
    pub(super) fn digit<W: Words>(&mut self, index: usize, bits: &mut Bits<W>) -> u64 {
        if index == 0 {
            return self.first;
        }
        while self.more.len() < index {
            self.more.push(bits.word());
        }
        self.more[index - 1]
    }

    /// Whether a fresh uniform number lies below this one: true with a probability equal to this number.
    #[inline]
    pub(super) fn exceeds_fresh<W: Words>(&mut self, bits: &mut Bits<W>) -> bool {
        let fresh = bits.word();
        if fresh == self.first { self.exceeds_after_tie(bits) } else { fresh < self.first }
    }

    /// Goes on with the second digits of both numbers when the first ones agree.
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

    /// How many digits exist.
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
        // The digits stay: the next two fresh numbers meet 5, 7, 9 and draw a fourth digit only when they
        // must.
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
