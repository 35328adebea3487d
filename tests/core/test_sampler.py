"""The law of the noise, against probabilities computed to 40 digits.

Most draws are from the operating system, so a correct sampler may fail by chance: each check says
how rarely, and all of them together less than once in a million runs. What is seeded gives the same
answer every time.
"""

import itertools
import math

import numpy as np
import pytest
from mpmath import mp, mpf

from dpfit import _native
from dpfit.exceptions import ParameterError

DRAWS = 2_000_000
RATE = 1e-7
SCALES = [0.3, 1.0, 7.5]


def draw(sigma, size, entropy=None, **options):
    values = _native.rounded_gaussian(sigma, size, entropy or _native.Entropy(), **options)
    return np.fromiter(values, dtype=np.int64, count=size)


def upper(t):
    """Return P(Z > t)."""
    return mp.erfc(t / mp.sqrt(2)) / 2


def cells(sigma, draws):
    """Return P(round(σZ) = m) for m = 0, 1, … and last that of all larger ones.

    Every cell expects at least 100 draws, enough for χ² to be what it should be far out.
    """
    with mp.workdps(40):
        # mpf of a double is the double, exactly.
        edges = [(m + mpf(1) / 2) / mpf(sigma) for m in range(200)]
        found = [1 - 2 * upper(edges[0])]
        for low, high in itertools.pairwise(edges):
            if min(upper(low) - upper(high), upper(high)) * draws < 100:
                break
            found.append(upper(low) - upper(high))
        found.append(upper(edges[len(found) - 1]))
        assert abs(found[0] + 2 * sum(found[1:]) - 1) < mpf(10) ** -35
        return [float(cell) for cell in found]


def chi_square(counts, expected):
    """Return the probability that a statistic as large as this one comes about by chance."""
    statistic = float(((counts - expected) ** 2 / expected).sum())
    freedom = len(expected) - 1
    return float(mp.gammainc(freedom / 2, statistic / 2, mp.inf, regularized=True))


def fits(sample, sigma):
    """Return how likely it is that the cells of a sample are this far from σ's."""
    positive = cells(sigma, len(sample))
    last = len(positive) - 1
    expected = len(sample) * np.array([*positive[:0:-1], *positive])
    return chi_square(
        np.bincount(np.clip(sample, -last, last) + last, minlength=2 * last + 1), expected
    )


@pytest.mark.parametrize("sigma", SCALES)
def test_every_cell_has_its_probability(sigma):
    """False alarms: 1e-7 for each of three scales."""
    assert fits(draw(sigma, DRAWS), sigma) > RATE


@pytest.mark.parametrize("sigma", SCALES)
def test_a_scale_that_is_wrong_by_one_percent_would_be_noticed(sigma):
    # It adds about 2·10⁶·2·0.01² = 400 to the statistic (250 at 0.3). Seeded.
    sample = draw(1.01 * sigma, DRAWS, _native.Entropy.insecure_seed(1))
    assert fits(sample, sigma) < RATE**2
    assert fits(sample, 1.01 * sigma) > RATE
    sample = draw(0.99 * sigma, DRAWS, _native.Entropy.insecure_seed(1))
    assert fits(sample, sigma) < RATE**2


def test_rounding_that_is_not_to_the_nearest_would_be_noticed():
    fine = draw(64 * 7.5, DRAWS, _native.Entropy.insecure_seed(2))
    assert fits((fine + 32) // 64, 7.5) > RATE
    assert fits((fine + 40) // 64, 7.5) < RATE**2
    assert fits(np.trunc(fine / 64).astype(np.int64), 7.5) < RATE**2


def within(value, mean, variance):
    """Return whether an average of many is within 5.7 standard deviations: false alarms 1.2e-8."""
    return abs(value - mean) < 5.7 * math.sqrt(variance)


def check_moments(sample, sigma):
    """Compare four moments and the product of neighbours. False alarms: 6e-8 in all."""
    z, n = sample / sigma, len(sample)
    for power, mean, variance in ((1, 0, 1), (2, 1, 2), (3, 0, 15), (4, 3, 96)):
        assert within(np.mean(z**power), mean, variance / n), power
    assert within(np.mean(z[1:] * z[:-1]), 0, 1 / (n - 1))


def surprise(count, n, p):
    """Return n·KL(count/n ‖ p).

    By Chernoff's bound a binomial count is this far off on one side with probability below e^−this.
    """
    share = count / n
    parts = [(share, p), (1 - share, 1 - p)]
    return n * sum(a * math.log(a / b) for a, b in parts if a > 0)


def test_moments_and_tails_of_a_large_scale():
    """False alarms: 6e-8 for moments, 6e-8 for tails, 1e-7 for the lowest bits."""
    sigma = 2.0**40
    sample = draw(sigma, DRAWS)
    check_moments(sample, sigma)
    for t in (1.0, 2.0, 3.0, 4.0, 4.5):
        beyond = int((np.abs(sample) > t * sigma).sum())
        # Twice e^-18.9 for two sides.
        assert surprise(beyond, DRAWS, 2 * float(upper(t))) < 18.9, t
    # P(|Z| > 8) is 1.2e-15.
    assert np.abs(sample).max() < 8 * sigma
    counts = np.bincount(sample % 64, minlength=64)
    assert chi_square(counts, np.full(64, DRAWS / 64)) > RATE


def test_one_scale_for_each_entry():
    """False alarms: 6e-8 for each of two scales."""
    sigmas = np.tile([2.0**-10, 100.0, 2.0**40], 200_000)
    sample = draw(sigmas, len(sigmas))
    # P(|Z| > 512) is below 2^-189,000.
    assert not sample[::3].any()
    # Rounding adds a variance of 1/12 to 10,000, far below what is looked for.
    check_moments(sample[1::3], 100.0)
    check_moments(sample[2::3], 2.0**40)


def test_the_largest_scale_is_wider_than_64_bits():
    sample = _native.rounded_gaussian(2.0**100, 1000, _native.Entropy())
    # P(|Z| > 16) is below 1e-57, and 999 of 1000 draws are above 2^80 but for a chance below 1e-15.
    assert all(type(value) is int and abs(value) < 2**104 for value in sample)
    assert sum(abs(value) > 2**80 for value in sample) >= 999
    assert len({value % 2**64 for value in sample}) == 1000


def test_same_seed_same_draws():
    first, second = (_native.Entropy.insecure_seed(3) for _ in range(2))
    for sigma, size in ((7.5, 10), (2.0**40, 9000), (1.0, 0), (0.3, 100)):
        assert draw(sigma, size, first).tolist() == draw(sigma, size, second).tolist()
    assert first.is_insecure
    assert not _native.Entropy().is_insecure


def test_threads_change_nothing():
    sigmas = 2.0 ** (np.arange(20_000) % 50)
    expected = draw(sigmas, 20_000, _native.Entropy.insecure_seed(4), n_jobs=1)
    for n_jobs in (2, 4, None):
        found = draw(sigmas, 20_000, _native.Entropy.insecure_seed(4), n_jobs=n_jobs)
        assert np.array_equal(found, expected)


def test_what_a_seed_means_does_not_change():
    entropy = _native.Entropy.insecure_seed(2016)
    assert _native.rounded_gaussian(0.3, 6, entropy) == [0, 0, 0, 1, 0, 0]
    assert _native.rounded_gaussian(7.5, 6, entropy) == [10, 8, 10, 15, -4, -4]


def distinct(*samples):
    """Return whether no number occurs twice; at σ = 2^90, it would not by chance."""
    values = [value for sample in samples for value in sample]
    return len(set(values)) == len({abs(value) for value in values}) == len(values)


def test_bits_are_never_used_twice():
    # Several chunks a release, several releases of a source, several sources.
    system, other, seeded = _native.Entropy(), _native.Entropy(), _native.Entropy.insecure_seed(5)
    sources = [system, other, seeded, _native.Entropy.insecure_seed(6), system, seeded]
    assert distinct(*(_native.rounded_gaussian(2.0**90, 10_000, source) for source in sources))
    # The test would notice.
    again = _native.rounded_gaussian(2.0**90, 10, _native.Entropy.insecure_seed(5))
    assert not distinct(
        again, _native.rounded_gaussian(2.0**90, 10, _native.Entropy.insecure_seed(5))
    )


def test_what_is_refused():
    entropy = _native.Entropy()
    low, high = 2.0**-10, 2.0**100
    for sigma in (low, high):
        assert len(_native.rounded_gaussian(sigma, 3, entropy)) == 3
    bad = [math.nextafter(low, 0.0), math.nextafter(high, math.inf), 0.0, -1.0, math.nan, math.inf]
    for sigma in bad:
        for given in (sigma, np.array([1.0, sigma, 1.0])):
            with pytest.raises(ParameterError, match="sigma must be between"):
                _native.rounded_gaussian(given, 3, entropy)
    with pytest.raises(ParameterError, match="values of sigma: expected 3, got 2"):
        _native.rounded_gaussian(np.ones(2), 3, entropy)
    assert _native.rounded_gaussian(1.0, 0, entropy) == []
    assert _native.rounded_gaussian(np.empty(0), 0, entropy) == []
    # A length of one is one scale for all.
    assert len(_native.rounded_gaussian(np.array([2.0]), 3, entropy)) == 3
