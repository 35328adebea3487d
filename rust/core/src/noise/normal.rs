//! Karney's algorithm N: the magnitude of an exact normal variable.
//!
//! Write `|Z| = k + x` with an integer `k` and `x` in `[0, 1)`. Its density is proportional to
//!
//! ```text
//! exp(-(k+x)²/2) = exp(-k/2) · exp(-k(k-1)/2) · exp(-x(2k+x)/2)
//!                  ^ step 1    ^ step 2         ^ step 3
//! ```
//!
//! so `k` is proposed with probability proportional to the first factor and `x` uniformly, and the proposal is accepted
//! with the probabilities that the other two factors give. All three use an idea of von Neumann: in a run of independent
//! trials, where trial `j` succeeds with probability `q/j`, the number of successes before the first failure is at least
//! `n` with probability `q^n/n!`, and hence even with probability
//!
//! ```text
//! 1 - q + q²/2! - q³/3! + … = exp(-q).
//! ```
//!
//! Karney obtains `1/j` from a descending run of uniform numbers. Here it is a separate trial: the run has the same
//! distribution, and only `x` is ever compared. A trial of probability `q/j` is split into trials for the factors of `q`
//! and one for `1/j`, in any order.
//!
//! # Privacy
//!
//! Every trial is a comparison of random integers or of lazily drawn digits, so its probability is exact. The result has
//! exactly the distribution of `|Z|` given `|Z| < 1024`: larger magnitudes are rejected. Their probability is below
//! `exp(-2^19) < 2^-756,000`, which is also the total variation distance to `|Z|`.

use super::bits::{Bits, Words};
use super::uniform::Uniform;

/// Magnitudes of at least this size are rejected, so that `k` has 10 bits and the rounding fits into 128.
pub(super) const WHOLE_LIMIT: u32 = 1 << 10;

/// `|Z|` as an integer part below [`WHOLE_LIMIT`] and a fraction.
#[inline]
pub(super) fn magnitude<W: Words>(bits: &mut Bits<W>) -> (u32, Uniform) {
    loop {
        let whole = whole_part(bits);
        let mut fraction = Uniform::new(bits);
        // Step 3: exp(-x(2k+x)/2) is the (k+1)-th power of exp(-x(2k+x)/(2k+2)), whose exponent is at most 1.
        if (0..=whole).all(|_| keeps_fraction(bits, whole, &mut fraction)) {
            return (whole, fraction);
        }
    }
}

/// Steps 1 and 2: `k < WHOLE_LIMIT` with probability proportional to `exp(-k²/2)`.
#[inline]
fn whole_part<W: Words>(bits: &mut Bits<W>) -> u32 {
    loop {
        let mut whole = 0;
        while whole < WHOLE_LIMIT && exp_minus_half(bits) {
            whole += 1;
        }
        // exp(-k(k-1)/2) takes k(k-1) trials of exp(-1/2); none for k = 0 and k = 1.
        let trials = whole * whole.saturating_sub(1);
        if whole < WHOLE_LIMIT && (0..trials).all(|_| exp_minus_half(bits)) {
            return whole;
        }
    }
}

/// True with probability `exp(-1/2)`: a run whose trial number `j` succeeds with probability `1/(2j)`.
#[inline]
fn exp_minus_half<W: Words>(bits: &mut Bits<W>) -> bool {
    // The first two trials need one bit and two bits; seven runs in eight end with them.
    let first_two = bits.take(3);
    if first_two & 1 == 1 {
        return true;
    }
    if first_two != 0 {
        return false;
    }
    let mut successes = 2;
    while bits.below(2 * (successes + 1)) == 0 {
        successes += 1;
    }
    successes % 2 == 0
}

/// True with probability `exp(-x·p)`, `p = (2k+x)/(2k+2)`: a run whose trial number `j` has probability
/// `x·p/j`.
#[inline]
fn keeps_fraction<W: Words>(bits: &mut Bits<W>, whole: u32, fraction: &mut Uniform) -> bool {
    let mut successes = 0;
    while exceeds_mixture(bits, whole, fraction)
        && (successes == 0 || bits.below(successes + 1) == 0)
        && fraction.exceeds_fresh(bits)
    {
        successes += 1;
    }
    successes % 2 == 0
}

/// True with probability `p = (2k+x)/(2k+2)`: of `2k+2` equally likely cases `2k` succeed, one succeeds with
/// probability `x`, and one fails.
#[inline]
fn exceeds_mixture<W: Words>(bits: &mut Bits<W>, whole: u32, fraction: &mut Uniform) -> bool {
    let case = bits.below(2 * whole + 2);
    case < 2 * whole || (case == 2 * whole && fraction.exceeds_fresh(bits))
}

#[cfg(test)]
mod tests {
    use super::super::bits::testing::{Script, seeded};
    use super::super::bits::{Bits, ChaChaWords};
    use super::super::entropy::Entropy;
    use super::*;

    /// Returns the same word every time.
    struct Constant(u64);

    impl Words for Constant {
        fn word(&mut self) -> u64 {
            self.0
        }
    }

    /// A generator with a fault: one word in `every` has its lowest bit set.
    struct Faulty {
        words: ChaChaWords,
        count: u64,
        every: u64,
    }

    impl Words for Faulty {
        fn word(&mut self) -> u64 {
            self.count += 1;
            self.words.word() | u64::from(self.count.is_multiple_of(self.every))
        }
    }

    /// Over all prefixes of 22 bits, the shares that end in true and in false enclose the probability.
    #[test]
    fn exp_minus_half_by_enumeration() {
        const DEPTH: u32 = 22;
        let (mut kept, mut open) = (0u32, 0u32);
        for prefix in 0..1u64 << DEPTH {
            // The bits after the prefix only have to end the run: small nonzero numbers.
            let word = prefix | (0x9249_2492_4924_9249 << DEPTH);
            let mut bits = Bits::new(Constant(word));
            let result = exp_minus_half(&mut bits);
            if 64 - bits.left() > DEPTH {
                open += 1;
            } else {
                kept += u32::from(result);
            }
        }
        let share = |count| f64::from(count) / f64::from(1u32 << DEPTH);
        let truth = (-0.5f64).exp();
        assert!(share(open) < 4e-4, "{}", share(open));
        assert!(share(kept) < truth && truth < share(kept + open), "{} + {}", share(kept), share(open));
    }

    /// 12 frequencies of 200,000 trials within 6 standard deviations: false alarms below 12 · 2e-9.
    #[test]
    fn keeps_a_fraction_with_the_right_probability() {
        let mut bits = seeded(21);
        let trials = 200_000;
        for whole in [0u32, 1, 2, 9] {
            for x in [0.125f64, 0.5, 0.9375] {
                let kept = (0..trials)
                    .filter(|_| {
                        let mut fraction = Uniform::starting((x * 2f64.powi(64)) as u64);
                        keeps_fraction(&mut bits, whole, &mut fraction)
                    })
                    .count();
                let k = f64::from(whole);
                let p = (-x * (2.0 * k + x) / (2.0 * k + 2.0)).exp();
                let deviation =
                    (kept as f64 - p * f64::from(trials)) / (p * (1.0 - p) * f64::from(trials)).sqrt();
                assert!(deviation.abs() < 6.0, "{whole} {x}: {deviation}");
            }
        }
    }

    /// The chi-square statistic of a million draws of the whole part: cells 0, 1, 2, 3 and 4 or more.
    fn whole_part_statistic<W: Words>(bits: &mut Bits<W>) -> f64 {
        let mut counts = [0u32; 5];
        for _ in 0..1_000_000 {
            counts[whole_part(bits).min(4) as usize] += 1;
        }
        let weights: Vec<f64> = (0..40).map(|k| (-0.5 * f64::from(k * k)).exp()).collect();
        let total: f64 = weights.iter().sum();
        let statistic = |(cell, &count): (usize, &u32)| {
            let weight = if cell < 4 { weights[cell] } else { weights[4..].iter().sum() };
            let expected = 1e6 * weight / total;
            (f64::from(count) - expected).powi(2) / expected
        };
        counts.iter().enumerate().map(statistic).sum()
    }

    /// 40.5 has an upper tail of 3.4e-8 under chi-square with 4 degrees of freedom.
    #[test]
    fn whole_parts_follow_their_distribution() {
        assert!(whole_part_statistic(&mut seeded(22)) < 40.5);
    }

    #[test]
    fn a_faulty_generator_is_noticed() {
        let words = |seed| ChaChaWords::new(&Entropy::insecure_seed(seed).release_key().unwrap(), 0);
        let statistic =
            |every| whole_part_statistic(&mut Bits::new(Faulty { words: words(23), count: 0, every }));
        assert!(statistic(4) > 40.5);
        assert!(statistic(u64::MAX) < 40.5);
    }

    #[test]
    fn a_run_of_1024_is_rejected() {
        // 21 trials of three bits per word: 48 words and 16 more trials make 1024 successes in a row. The
        // next trial fails at once, so the second proposal is 0.
        let mut script = vec![u64::MAX; 48];
        script.push(((1 << 48) - 1) | (0b010 << 48));
        let mut bits = Script::bits(&script);
        assert_eq!(whole_part(&mut bits), 0);
        assert_eq!((bits.words_left(), bits.left()), (0, 64 - 51));
    }

    #[test]
    #[allow(clippy::unusual_byte_groupings, reason = "a group of digits is one draw")]
    fn a_scripted_draw() {
        // Trials: true, false (k = 1, kept for sure); x = 1/2 + ...; twice: case 3 of 4 ends a run without
        // success.
        let mut bits = Script::bits(&[0b11_11_010_001, 0x8000_0000_0000_0001]);
        let (whole, mut fraction) = magnitude(&mut bits);
        assert_eq!((whole, fraction.digit(0, &mut bits)), (1, 0x8000_0000_0000_0001));
        assert_eq!((bits.words_left(), bits.left()), (0, 64 - 10));
        // k = 0; x; a run of two successes (both comparisons below x, each time; 1/2 passed), then a failure.
        let pieces = 0b1_0_0_0_010;
        let mut bits = Script::bits(&[pieces, 1 << 63, 1, 2, 3, 4]);
        let (whole, fraction) = magnitude(&mut bits);
        assert_eq!((whole, fraction.first(), fraction.digits()), (0, 1 << 63, 1));
        assert_eq!((bits.words_left(), bits.left()), (0, 64 - 7));
    }
}
