//! The distribution of the noise, its reproducibility, and that no bits are used twice.
//!
//! The seeds are fixed, so a test that passes keeps passing. A false-alarm rate is the probability that a correct sampler
//! fails with another seed.
#![allow(clippy::unreadable_literal, clippy::excessive_precision, reason = "tables as they were printed")]

use dpfit_core::execution::{Execution, Path};
use dpfit_core::noise::{Entropy, Scales, Sigma, rounded_gaussian};

const DRAWS: usize = 2_000_000;

// P(round(σZ) = m) for m = 0, 1, 2, …, and last P(round(σZ) ≥ m) for the first m where a cell of 2,000,000
// draws, or what lies above it, would expect fewer than 20. Printed by
//
//     from mpmath import mp, mpf, erfc, sqrt
//     mp.dps = 40
//     upper = lambda t: erfc(t / sqrt(mpf(2))) / 2            # P(Z > t)
//     draws = 2_000_000
//     for sigma in (mpf(0.3), mpf(1), mpf(7.5)):              # mpf(0.3) is the f64, exactly
//         edge = lambda m: (m + mpf(1) / 2) / sigma
//         cells, m = [1 - 2 * upper(edge(0))], 1
//         while draws * (upper(edge(m - 1)) - upper(edge(m))) >= 20 and draws * upper(edge(m)) >= 20:
//             cells.append(upper(edge(m - 1)) - upper(edge(m)))
//             m += 1
//         cells.append(upper(edge(m - 1)))                    # everything from m on
//         print(mp.nstr(sigma, 5), [mp.nstr(c, 17) for c in cells])
#[rustfmt::skip]
const CELLS_0_3: &[f64] = &[
    0.9044192954543706, 0.047790352272814702,
];
#[rustfmt::skip]
const CELLS_1: &[f64] = &[
    0.38292492254802621, 0.24173033745712883, 0.060597535943081931, 0.0059770362467406101,
    0.00023262907903552504,
];
#[rustfmt::skip]
const CELLS_7_5: &[f64] = &[
    0.053152928600730208, 0.052683245138737919, 0.051298950379133339, 0.049072149280493254,
    0.046116073151196804, 0.042575543115275321, 0.038615237492891331, 0.034407083210449878,
    0.030118104589042084, 0.025899897510279182, 0.021880592598364738, 0.018159786442864212,
    0.014806520518092126, 0.011860033159888904, 0.0093327450919161662, 0.0072147869321910352,
    0.005479339575319992, 0.0040881188848532695, 0.0029964663584692379, 0.002157674246457353,
    0.0015263457630132582, 0.0010607438971113998, 0.00072420033196399772, 0.00048573282253202635,
    0.00032005655663092638, 0.00020717938679026085, 0.00013175189997174856, 8.231097573998032e-5,
    5.0518346040032087e-5, 3.046007703505875e-5, 1.8042776179873033e-5, 1.0499441694281853e-5,
    1.3345749015906338e-5,
];

/// The calling thread.
fn alone() -> Execution {
    Execution::on(Path::portable())
}

fn draws(entropy: &mut Entropy, sigma: f64, len: usize) -> Vec<i128> {
    let sigma = Sigma::new(sigma).unwrap();
    rounded_gaussian(entropy, Scales::Same { sigma, len }, &alone(), &mut || false).unwrap()
}

/// The chi-square statistic of `sample` over the cells `… -2, -1, 0, 1, 2 …` and the two tails.
fn chi_square(sample: &[i128], cells: &[f64]) -> f64 {
    let last = cells.len() as i128 - 1;
    let mut counts = vec![0u32; 2 * cells.len() - 1];
    for &value in sample {
        counts[(value.clamp(-last, last) + last) as usize] += 1;
    }
    let term = |(index, &count): (usize, &u32)| {
        let expected = sample.len() as f64 * cells[(index as i128 - last).unsigned_abs() as usize];
        (f64::from(count) - expected).powi(2) / expected
    };
    counts.iter().enumerate().map(term).sum()
}

/// `(σ, cells, limit)`: chi-square with `2·(number of cells) - 2` degrees of freedom, here 2, 8 and 64, is
/// above the limit with probability below 1e-7 (`scipy.stats.chi2.isf(1e-7, freedom)`).
const DISTRIBUTIONS: [(f64, &[f64], f64); 3] =
    [(0.3, CELLS_0_3, 32.24), (1.0, CELLS_1, 47.98), (7.5, CELLS_7_5, 141.04)];

#[test]
fn the_cells_are_a_distribution() {
    for (_, cells, _) in DISTRIBUTIONS {
        let total = cells[0] + 2.0 * cells[1..].iter().sum::<f64>();
        assert!((total - 1.0).abs() < 1e-15, "{total}");
    }
}

#[test]
fn small_scales_follow_the_distribution() {
    for (seed, (sigma, cells, limit)) in (100..).zip(DISTRIBUTIONS) {
        let statistic = chi_square(&draws(&mut Entropy::insecure_seed(seed), sigma, DRAWS), cells);
        assert!(statistic < limit, "{sigma}: {statistic}");
    }
}

/// Not seeded, so this test may fail by chance: once in 10^7 runs.
#[test]
fn keys_from_the_system_follow_the_distribution() {
    let statistic = chi_square(&draws(&mut Entropy::system(), 7.5, DRAWS), CELLS_7_5);
    assert!(statistic < 141.04, "{statistic}");
}

/// The test must fail for faults of the size that it is meant to find.
#[test]
fn a_wrong_distribution_is_noticed() {
    // A standard deviation that is 1 % off adds some 2·N·0.01² = 400 to the statistic (250 at σ = 0.3).
    for (sigma, cells, limit) in DISTRIBUTIONS {
        let sample = draws(&mut Entropy::insecure_seed(200), 1.01 * sigma, DRAWS);
        assert!(chi_square(&sample, cells) > 2.0 * limit, "{sigma}");
    }
    // Rounding up from 3/8 instead of 1/2 moves the mean by an eighth and adds N·(1/8/7.5)² = 556. The draws come from a
    // grid that is 64 times as fine; rounded up from 1/2 they pass.
    let fine = draws(&mut Entropy::insecure_seed(201), 64.0 * 7.5, DRAWS);
    let rounded_from = |at: i128| fine.iter().map(|v| (v + 64 - at).div_euclid(64)).collect::<Vec<i128>>();
    assert!(chi_square(&rounded_from(24), CELLS_7_5) > 2.0 * 141.04);
    assert!(chi_square(&rounded_from(32), CELLS_7_5) < 141.04);
}

/// Moments of `Z = noise/σ` over N draws, each within 5.6 standard deviations (false alarms about 2.2e-8
/// each): the means of Z, Z², Z³, Z⁴ have the variances 1/N, 2/N, 15/N and 96/N.
fn check_moments(sample: &[i128], sigma: f64) {
    let n = sample.len() as f64;
    let mut moments = [0.0; 4];
    for &value in sample {
        let z = value as f64 / sigma;
        for (moment, power) in moments.iter_mut().zip([z, z * z, z * z * z, z * z * z * z]) {
            *moment += power / n;
        }
    }
    let truth = [0.0, 1.0, 0.0, 3.0];
    for ((moment, truth), variance) in moments.into_iter().zip(truth).zip([1.0f64, 2.0, 15.0, 96.0]) {
        let deviation = (moment - truth) / (variance / n).sqrt();
        assert!(deviation.abs() < 5.6, "{moment} for {truth}: {deviation}");
    }
}

/// The lowest six bits of noise with a large standard deviation are uniform: 63 degrees of freedom, false
/// alarms 1e-7.
fn check_low_bits(sample: &[i128]) {
    let mut counts = [0u32; 64];
    for &value in sample {
        counts[value.rem_euclid(64) as usize] += 1;
    }
    let expected = sample.len() as f64 / 64.0;
    let statistic: f64 = counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum();
    assert!(statistic < 139.6, "{statistic}");
}

#[test]
fn moments_and_tails_at_two_to_the_forty() {
    let sigma = 2f64.powi(40);
    let sample = draws(&mut Entropy::insecure_seed(300), sigma, DRAWS);
    check_moments(&sample, sigma);
    check_low_bits(&sample);
    // P(|Z| > t) is 2.699796e-3, 6.334248e-5 and 6.795346e-6 for t = 3, 4, 4.5; the counts below and above
    // which a binomial variable with that probability and 2,000,000 trials falls with probability 2e-8 each.
    for (t, low, high) in [(3.0, 5002, 5807), (4.0, 70, 193), (4.5, 0, 38)] {
        let beyond = sample.iter().filter(|v| v.unsigned_abs() as f64 > t * sigma).count();
        assert!((low..=high).contains(&beyond), "{t}: {beyond}");
    }
    // P(|Z| > 8) = 1.2e-15.
    assert!(sample.iter().all(|v| (v.unsigned_abs() as f64) < 8.0 * sigma));
}

#[test]
fn the_largest_scale() {
    let sigma = Sigma::LARGEST.get();
    let sample = draws(&mut Entropy::insecure_seed(301), sigma, 200_000);
    check_moments(&sample, sigma);
    check_low_bits(&sample);
    assert!(sample.iter().all(|v| v.unsigned_abs() < 1 << 103));
}

#[test]
fn scales_that_need_the_second_digit_sometimes() {
    for exponent in [60, 62, 63, 64, 65] {
        let sigma = 1.7 * 2f64.powi(exponent);
        let sample = draws(&mut Entropy::insecure_seed(302), sigma, 100_000);
        check_moments(&sample, sigma);
        check_low_bits(&sample);
    }
}

#[test]
fn the_smallest_scale_is_silent() {
    // P(|Z| > 512) is below 2^-189,000.
    let sample = draws(&mut Entropy::insecure_seed(303), Sigma::SMALLEST.get(), 10_000);
    assert!(sample.iter().all(|&v| v == 0));
}

/// The noise of a seed must not change silently: recorded results depend on it. The values were computed twice, by this
/// crate and by a separate program with Python's integers and fractions.
#[test]
fn seeded_values_stay() {
    let mut entropy = Entropy::insecure_seed(2016);
    let mut next = |sigma| draws(&mut entropy, sigma, 6);
    assert_eq!(next(0.3), [0, 0, 0, 1, 0, 0]);
    assert_eq!(next(7.5), [10, 8, 10, 15, -4, -4]);
    assert_eq!(
        next(2f64.powi(40)),
        [
            709_191_164_302,
            1_498_307_280_712,
            419_094_158_750,
            202_021_170_072,
            1_397_069_513_820,
            1_567_735_821_491
        ]
    );
    assert_eq!(
        next(1.7 * 2f64.powi(62)),
        [
            1_885_514_682_720_019_744,
            717_204_429_693_833_502,
            3_056_678_365_870_676_812,
            -23_434_732_110_875_853_098,
            3_140_704_118_761_402_268,
            -2_761_788_744_333_569_640
        ]
    );
    assert_eq!(
        next(2f64.powi(100)),
        [
            -794_256_436_565_955_228_398_407_111_831,
            156_338_023_772_023_698_728_135_438_600,
            -678_906_380_352_445_376_021_727_639_238,
            -568_130_975_624_596_235_482_760_914_560,
            89_427_048_504_958_470_536_666_360_617,
            70_700_602_004_384_618_496_892_771_188
        ]
    );
}

/// The number of entries that agree; at σ = 2^40 independent ones practically never do.
fn agreements(a: &[i128], b: &[i128]) -> usize {
    a.iter().zip(b).filter(|(a, b)| a == b).count()
}

#[test]
fn bits_are_never_reused() {
    let sigma = 2f64.powi(40);
    for new in [Entropy::system, || Entropy::insecure_seed(5)] {
        let mut entropy = new();
        let first = draws(&mut entropy, sigma, 3 * 4096);
        let second = draws(&mut entropy, sigma, 3 * 4096);
        assert_eq!(agreements(&first, &second), 0);
        for chunks in [[0, 1], [0, 2], [1, 2]] {
            let [a, b] = chunks.map(|chunk| &first[chunk * 4096..][..4096]);
            assert_eq!(agreements(a, b), 0);
        }
        let again = draws(&mut new(), sigma, 3 * 4096);
        let expected = if entropy.is_insecure() { 3 * 4096 } else { 0 };
        assert_eq!(agreements(&first, &again), expected);
    }
}

/// Every release uses one key, so later releases do not depend on its length or scales.
#[test]
fn releases_do_not_disturb_each_other() {
    let second = |len, sigma| {
        let mut entropy = Entropy::insecure_seed(6);
        draws(&mut entropy, sigma, len);
        draws(&mut entropy, 1e12, 50)
    };
    assert_eq!(second(1, 1.0), second(9000, 1e25));
    assert_eq!(second(1, 1.0), second(0, 1.0));
}

#[test]
fn the_thread_count_changes_nothing() {
    let sigmas: Vec<Sigma> =
        (0..5 * 4096 + 17).map(|i| Sigma::new(2f64.powi(i % 111 - 10)).unwrap()).collect();
    let same = Scales::Same { sigma: Sigma::new(1e6).unwrap(), len: sigmas.len() };
    for scales in [Scales::Each(&sigmas), same] {
        assert_eq!(scales.len(), sigmas.len());
        let serial =
            rounded_gaussian(&mut Entropy::insecure_seed(7), scales, &alone(), &mut || false).unwrap();
        assert_eq!(serial.len(), sigmas.len());
        for threads in [1, 2, 4] {
            let execution = Execution::new(Some(threads), Path::detect()).unwrap();
            let shared =
                rounded_gaussian(&mut Entropy::insecure_seed(7), scales, &execution, &mut || false).unwrap();
            assert!(shared == serial, "{threads} threads");
        }
    }
}

#[test]
fn one_scale_for_all_is_the_same_scale_for_each() {
    let sigma = Sigma::new(12.34).unwrap();
    let same = Scales::Same { sigma, len: 9000 };
    let sigmas = vec![sigma; 9000];
    let release =
        |scales| rounded_gaussian(&mut Entropy::insecure_seed(8), scales, &alone(), &mut || false).unwrap();
    assert!(release(same) == release(Scales::Each(&sigmas)));
}

#[test]
fn nothing_is_a_release_of_no_entries() {
    for scales in [Scales::Same { sigma: Sigma::LARGEST, len: 0 }, Scales::Each(&[])] {
        assert!(scales.is_empty());
        assert!(
            rounded_gaussian(&mut Entropy::system(), scales, &alone(), &mut || false).unwrap().is_empty()
        );
    }
}
