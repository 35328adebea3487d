//! The rounding against its definition, in long integers and in Python's fractions.

use super::*;
use crate::noise::bits::testing::Script;
use crate::noise::limbs::Natural;
use crate::noise::normal::WHOLE_LIMIT;
use proptest::prelude::*;

/// The definition: return the integer to which the whole interval of the fraction rounds, and the smallest number of digits
/// for which it does. With `count` digits the magnitude is in `[N, N+1)·2^(-64·count)`.
fn reference(sigma: Sigma, whole: u32, digits: &[u64]) -> (u128, usize) {
    let (mantissa, exponent) = sigma.parts();
    for count in 1..=digits.len() {
        let mut limbs: Vec<u64> = digits[..count].iter().rev().copied().collect();
        limbs.push(u64::from(whole));
        let shift = (64 * count as i32 - exponent) as u32;
        let low = Natural::new(limbs).times(mantissa).plus(&Natural::power_of_two(shift - 1));
        // The interval is half open, and its largest integer is one below its end.
        let high = low.plus(&Natural::new(vec![mantissa - 1]));
        let result = low.shifted_down(shift);
        if result == high.shifted_down(shift) {
            return (result.to_u128(), count);
        }
    }
    panic!("{} digits do not decide", digits.len());
}

/// Return the result for a magnitude with these digits, and the number of digits drawn.
fn rounded(sigma: Sigma, whole: u32, digits: &[u64]) -> (u128, usize) {
    let mut bits = Script::bits(digits);
    let mut fraction = Uniform::new(&mut bits);
    let result = Scale::new(sigma).round(whole, &mut fraction, &mut bits);
    assert_eq!(fraction.digits(), digits.len() - bits.words_left());
    (result, fraction.digits())
}

/// The magnitude `(j - 1/2)/σ` at which the result changes from `j - 1` to `j`, truncated after four digits.
fn boundary(sigma: Sigma, j: u128) -> (u64, [u64; 4]) {
    let (mantissa, exponent) = sigma.parts();
    let odd = 2 * j - 1;
    let scaled = (0..256 - exponent - 1)
        .fold(Natural::new(vec![odd as u64, (odd >> 64) as u64]), |number, _| number.times(2));
    let quotient = scaled.over(mantissa);
    (quotient.limb(4), [3, 2, 1, 0].map(|i| quotient.limb(i)))
}

fn sigmas() -> impl Strategy<Value = Sigma> {
    let mantissas =
        prop_oneof![Just(0), Just((1 << 52) - 1), 0u64..1 << 52, (0u64..1 << 10).prop_map(|m| m << 42)];
    (-10i32..100, mantissas).prop_map(|(exponent, fraction)| {
        Sigma::new(f64::from_bits(((exponent + 1023) as u64) << 52 | fraction)).unwrap()
    })
}

fn digit() -> impl Strategy<Value = u64> {
    prop_oneof![1 => Just(0), 1 => Just(u64::MAX), 1 => Just(1 << 63), 6 => any::<u64>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn agrees_with_the_definition(
        sigma in sigmas(),
        whole in prop_oneof![4 => 0u32..8, 1 => 0..WHOLE_LIMIT],
        digits in prop::collection::vec(digit(), 12),
    ) {
        // A dozen digits of these four kinds may all agree with a bound; the two digits after them do not.
        let digits = [&digits[..], &[0x5555_5555_5555_5555, 0x3333_3333_3333_3333]].concat();
        prop_assert_eq!(rounded(sigma, whole, &digits), reference(sigma, whole, &digits));
    }

    /// Digits on, just below and just above a rounding boundary, so that two to five of them are needed.
    #[test]
    fn agrees_with_the_definition_at_boundaries(
        sigma in sigmas(),
        z in 0.0f64..40.0,
        level in 1usize..4,
        step in -1i64..2,
        tail in prop::collection::vec(digit(), 8),
    ) {
        let j = (sigma.get() * z) as u128 + 1;
        let (whole, mut digits) = boundary(sigma, j);
        prop_assert!(whole < u64::from(WHOLE_LIMIT));
        // Without a digit to borrow from or to carry to, the step would not be a small one.
        let moved = digits[level].checked_add_signed(step);
        prop_assume!(moved.is_some());
        digits[level] = moved.unwrap_or_default();
        let digits = [&digits[..], &tail, &[0x5555_5555_5555_5555, 0x3333_3333_3333_3333]].concat();
        let (result, count) = rounded(sigma, whole as u32, &digits);
        prop_assert_eq!((result, count), reference(sigma, whole as u32, &digits));
        prop_assert!(result == j || result == j - 1);
    }
}

/// Digits that agree with a boundary decide at the first one that differs, on either side: here the fourth and the fifth.
#[test]
fn boundaries_need_many_digits() {
    for (value, j) in [(0.3, 1), (7.5, 11), (1e6, 123_456), (1e17, 3), (3e25, 1 << 84), (1e30, 99)] {
        let sigma = Sigma::new(value).unwrap();
        let (whole, digits) = boundary(sigma, j);
        let below = [&digits[..3], &[digits[3] - 1]].concat();
        assert_eq!(rounded(sigma, whole as u32, &below), (j - 1, 4));
        // If all four digits of the truncated boundary agree, the fifth decides: 0 is below the boundary, all ones are not.
        assert_eq!(rounded(sigma, whole as u32, &[&digits[..], &[0]].concat()), (j - 1, 5));
        assert_eq!(rounded(sigma, whole as u32, &[&digits[..], &[u64::MAX]].concat()), (j, 5));
        let above = [&digits[..3], &[digits[3] + 1]].concat();
        assert_eq!(rounded(sigma, whole as u32, &above), (j, 4));
    }
}

/// A boundary with finitely many digits is decided at its last digit.
#[test]
fn a_boundary_that_ends_needs_no_more_digits() {
    let one = Sigma::new(1.0).unwrap();
    assert_eq!(rounded(one, 0, &[1 << 63]), (1, 1));
    assert_eq!(rounded(one, 0, &[(1 << 63) - 1]), (0, 1));
    // At 2^70 and 2^100 the boundaries end within the second digit.
    assert_eq!(rounded(Sigma::new(2f64.powi(70)).unwrap(), 0, &[5, 1 << 57]), (5 << 6 | 1, 2));
    assert_eq!(rounded(Sigma::new(2f64.powi(70)).unwrap(), 0, &[5, (1 << 57) - 1]), (5 << 6, 2));
    assert_eq!(rounded(Sigma::LARGEST, 3, &[0, 1 << 27]), ((3 << 100) + 1, 2));
}

/// First digits that leave any chosen gap to the next integer. With `σ = m` odd and `s = 64`, the
/// remainder is `2^64 - gap` for the digit that solves `m·a + 2^63 = -gap` modulo `2^64`.
#[test]
fn every_size_of_gap() {
    for mantissa in [(1u64 << 52) + 1, 0x0015_5555_5555_5555, (1 << 53) - 1] {
        let sigma = Sigma::new(mantissa as f64).unwrap();
        // Newton's iteration doubles the correct low bits of the inverse, of which an odd m itself has
        // three.
        let inverse = (0..5).fold(mantissa, |inverse, _| {
            inverse.wrapping_mul(2u64.wrapping_sub(mantissa.wrapping_mul(inverse)))
        });
        for gap in [1, 2, 3, mantissa / 2, mantissa - 2, mantissa - 1, mantissa, mantissa + 1] {
            let first = inverse.wrapping_mul((gap + (1 << 63)).wrapping_neg());
            let bound = ((u128::from(gap) << 64) / u128::from(mantissa)) as u64;
            for second in [0, bound.wrapping_sub(1), bound, bound.wrapping_add(1), u64::MAX] {
                let digits = [first, second, 0, 0, 1];
                let (result, count) = rounded(sigma, 0, &digits);
                assert_eq!((result, count), reference(sigma, 0, &digits));
                assert_eq!(count == 1, gap >= mantissa);
            }
        }
    }
}

#[test]
fn the_largest_numbers_fit() {
    let most = WHOLE_LIMIT - 1;
    let ones = [u64::MAX; 3];
    assert_eq!(rounded(Sigma::LARGEST, most, &ones), (1 << 110, 2));
    for sigma in [Sigma::SMALLEST.get(), 2f64.powi(-9).next_down(), 2f64.powi(64).next_down(), 2f64.powi(64)]
    {
        let sigma = Sigma::new(sigma).unwrap();
        assert_eq!(rounded(sigma, most, &ones), reference(sigma, most, &ones));
        assert_eq!(rounded(sigma, 0, &[0, 0, 1]), reference(sigma, 0, &[0, 0, 1]));
    }
}

/// Rows of (sigma, whole, digits, result, digits used), from Python's integers and fractions:
///
/// ```python
/// from fractions import Fraction as F
/// from math import ceil, floor
/// def result(sigma, whole, digits):
///     x = F(whole)
///     for count, digit in enumerate(digits, 1):
///         x += F(digit, 1 << 64 * count)
///         low = F(sigma) * x + F(1, 2)
///         high = low + F(sigma) / (1 << 64 * count)   # not reached
///         if floor(low) == ceil(high) - 1:
///             return floor(low), count
/// ```
#[test]
#[allow(clippy::unreadable_literal, reason = "as Python prints them")]
fn agrees_with_python() {
    let rows: &[(f64, u32, &[u64], u128, usize)] = &[
        (0.3, 0, &[0xf4aa_d5c9_fb8f_3ad9], 0, 1),
        (1.0, 4, &[0x0ed2_539c_2b27_ab52], 4, 1),
        (7.5, 1, &[0xa37b_7ab9_fdb1_e61a], 12, 1),
        (333_333.3333333333, 3, &[0xa805_93b8_11b7_3058], 1_218_778, 1),
        (1_099_511_627_777.0, 0, &[0x459c_77b6_9954_cc4d], 298_977_834_650, 1),
        (1e18, 4, &[0x95c7_2d9e_f4c5_c77b], 4_585_070_468_242_313_450, 1),
        (1e19, 3, &[0xbff6_5471_952a_f665, 0x0acf_a9c0_fe39_204f], 37_498_524_453_450_662_097, 2),
        (
            1.2592977287652387e22,
            3,
            &[0x8513_8def_0a4b_1014, 0x9558_8457_8edd_fc77],
            44_325_134_547_995_279_928_168,
            2,
        ),
        (
            1e30,
            4,
            &[0x4509_a519_ce8a_e970, 0xdaaa_cc88_5871_4d8b],
            4_269_678_419_876_566_038_396_112_933_643,
            2,
        ),
        (0.3, 1, &[0xaaaa_aaaa_aaaa_af1c, 0x71c7_1c71_c728_4bda, 0x1a0e_ac66_e7e6_981d], 1, 3),
        (7.5, 2, &[0x9999_9999_9999_9999, 0x9999_9999_9999_9999, 0x9999_9999_9999_999a], 20, 3),
        (333_333.3333333333, 2, &[0x5555_1505_4ac2_a5ba, 0xc768_f5ef_b130_437d], 777_776, 2),
        (
            1e18,
            2,
            &[0x0000_0000_0000_0077, 0xe761_d3d6_b7db_95df, 0xef58_c5af_d6f1_d859, 0xd4c1_f36f_dbdd_1c8f],
            2_000_000_000_000_000_007,
            4,
        ),
        (
            1.2592977287652387e22,
            1,
            &[0x8000_0000_0000_0600, 0x0330_0000_0018_000c, 0xc000_0000_6000_3301],
            18_889_465_931_478_580_854_793,
            3,
        ),
        (
            1e30,
            0,
            &[
                0x1999_9999_9999_9974,
                0xeb59_f640_6b0a_b46c,
                0x6aa5_d8a2_fa19_29e6,
                0x4dc5_9c5e_cb05_34df,
                0x303f_ca0b_751b_7017,
            ],
            100_000_000_000_000_000_000_000_000_001,
            5,
        ),
        (0.0009765625, 512, &[0x0000_0000_0000_0000], 1, 1),
        (
            0.0009765625000000002,
            511,
            &[0xffff_ffff_ffe0_0000, 0x0000_0001_ffff_ffff, 0x45db_a3f2_18a4_ff0d],
            0,
            3,
        ),
    ];
    for &(sigma, whole, digits, result, count) in rows {
        assert_eq!(rounded(Sigma::new(sigma).unwrap(), whole, digits), (result, count), "{sigma} {whole}");
    }
}
