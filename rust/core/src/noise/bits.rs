//! Random words, split into bits and small integers.

use chacha20::ChaCha20Rng;
use rand_core::{Rng, SeedableRng};
use zeroize::Zeroize;

use super::entropy::Key;

/// A sequence of independent uniform 64-bit words. Tests script it.
pub(super) trait Words {
    /// The next word.
    fn word(&mut self) -> u64;
}

/// One `ChaCha20` stream.
///
/// # Privacy
///
/// Different `(key, stream)` pairs give unrelated words: the pair is the key and nonce of the cipher, and the
/// 64-bit block counter does not wrap in any feasible time. State and buffer are wiped on drop, by the
/// `zeroize` feature of `chacha20`.
pub(super) struct ChaChaWords(ChaCha20Rng);

impl ChaChaWords {
    /// Stream number `stream` under `key`.
    pub(super) fn new(key: &Key, stream: u64) -> Self {
        let mut generator = ChaCha20Rng::from_seed(**key);
        generator.set_stream(stream);
        Self(generator)
    }
}

impl Words for ChaChaWords {
    #[inline]
    fn word(&mut self) -> u64 {
        self.0.next_u64()
    }
}

/// Words, single bits and small integers from one source. Every bit is used at most once.
pub(super) struct Bits<W: Words> {
    words: W,
    /// Unread bits: the next one is the lowest, and there are zeros above them.
    spare: u64,
    /// The number of unread bits in `spare`.
    left: u32,
}

impl<W: Words> Bits<W> {
    /// Read the bits of these words.
    pub(super) fn new(words: W) -> Self {
        Self { words, spare: 0, left: 0 }
    }

    /// A new word.
    #[inline]
    pub(super) fn word(&mut self) -> u64 {
        self.words.word()
    }

    /// A uniform integer of `count ≤ 32` bits.
    ///
    /// If too few bits are left, they are dropped. Whether that happens depends on their number and not on their values,
    /// so the other bits stay uniform.
    #[inline]
    pub(super) fn take(&mut self, count: u32) -> u32 {
        if self.left < count {
            self.spare = self.words.word();
            self.left = 64;
        }
        let value = self.spare & ((1 << count) - 1);
        self.spare >>= count;
        self.left -= count;
        value as u32
    }

    /// A fair coin.
    #[inline]
    pub(super) fn coin(&mut self) -> bool {
        self.take(1) == 1
    }

    /// An exactly uniform integer in `0..bound`, by rejection. `bound` is at least 1.
    #[inline]
    pub(super) fn below(&mut self, bound: u32) -> u32 {
        let count = u32::BITS - (bound - 1).leading_zeros();
        loop {
            let value = self.take(count);
            if value < bound {
                return value;
            }
        }
    }

    /// The number of unread bits of the last word that was split.
    #[cfg(test)]
    pub(super) fn left(&self) -> u32 {
        self.left
    }
}

impl<W: Words> Drop for Bits<W> {
    fn drop(&mut self) {
        self.spare.zeroize();
    }
}

/// Sources for tests.
#[cfg(test)]
pub(super) mod testing {
    use super::{Bits, ChaChaWords, Words};
    use crate::noise::entropy::Entropy;

    /// Returns the words of a list and panics after the last one.
    pub(crate) struct Script {
        words: Vec<u64>,
        read: usize,
    }

    impl Script {
        pub(crate) fn bits(words: &[u64]) -> Bits<Self> {
            Bits::new(Self { words: words.to_vec(), read: 0 })
        }
    }

    impl Words for Script {
        fn word(&mut self) -> u64 {
            self.read += 1;
            self.words[self.read - 1]
        }
    }

    impl Bits<Script> {
        /// The number of unread words of the script.
        pub(crate) fn words_left(&self) -> usize {
            self.words.words.len() - self.words.read
        }
    }

    /// A reproducible stream.
    pub(crate) fn seeded(seed: u64) -> Bits<ChaChaWords> {
        Bits::new(ChaChaWords::new(&Entropy::insecure_seed(seed).release_key().unwrap(), 0))
    }
}

#[cfg(test)]
mod tests {
    use super::testing::{Script, seeded};
    use super::*;
    use crate::noise::entropy::Entropy;

    #[test]
    fn pieces_come_from_the_low_end_and_leftovers_are_dropped() {
        let mut bits = Script::bits(&[0x8000_0000_0000_00b5, 0xffff_ffff_0000_0003, 42]);
        assert_eq!((bits.take(1), bits.take(3), bits.take(4)), (1, 2, 11));
        assert_eq!((bits.take(24), bits.take(30)), (0, 0));
        // Two bits (binary 10) are left, too few for three: they are dropped, not joined to the next word.
        assert_eq!(bits.take(3), 3);
        // A whole word does not touch the pieces.
        assert_eq!(bits.word(), 42);
        assert_eq!((bits.take(29), bits.take(32)), (0, 0xffff_ffff));
        assert_eq!(bits.take(0), 0);
        assert_eq!((bits.left(), bits.words_left()), (0, 0));
    }

    #[test]
    fn below_rejects_and_never_wraps() {
        // Three bits at a time below 5: 7, 6, 5 are rejected and 4 is kept.
        let mut bits = Script::bits(&[0b100_101_110_111]);
        assert_eq!(bits.below(5), 4);
        assert_eq!(bits.left(), 64 - 12);
        // A power of two rejects nothing, and 0..1 needs no bit.
        let mut bits = Script::bits(&[0b11_10]);
        assert_eq!((bits.below(1), bits.below(4), bits.below(1), bits.below(4)), (0, 2, 0, 3));
        assert_eq!(bits.left(), 60);
        let mut bits = Script::bits(&[u64::MAX >> 32]);
        assert_eq!(bits.below(u32::MAX), 0);
    }

    #[test]
    fn below_is_uniform() {
        let mut bits = seeded(11);
        for bound in [2u32, 3, 6, 7, 10, 2048] {
            let per_cell = 2000;
            let mut counts = vec![0u32; bound as usize];
            for _ in 0..per_cell * bound {
                counts[bits.below(bound) as usize] += 1;
            }
            let expected = f64::from(per_cell);
            let statistic: f64 = counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
            // Chi-square with `bound - 1` degrees of freedom: beyond this with probability below 1e-7 (a
            // bound of Laurent and Massart, with x = 16.2).
            let freedom = f64::from(bound - 1);
            assert!(statistic < freedom + 2.0 * (16.2 * freedom).sqrt() + 32.4, "{bound}: {statistic}");
        }
    }

    #[test]
    fn streams_of_a_key_differ_and_repeat() {
        let key = Entropy::insecure_seed(5).release_key().unwrap();
        let head = |stream| {
            let mut words = ChaChaWords::new(&key, stream);
            [words.word(), words.word()]
        };
        assert_eq!(head(0), head(0));
        assert_ne!(head(0), head(1));
        assert_ne!(head(0), head(1 << 32));
    }
}
