"""Targets that are mostly zero: powers of two show rows that equal bins do not."""

import numpy as np
import pytest

from dpfit.engine.constants import RangeConstants
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.ranges.zeros import with_powers
from dpfit.release import Released

CONSTANTS = RangeConstants()
POWERS = CONSTANTS.most_power - CONSTANTS.least_power + 1
SIGMA = 30.0
EDGES = np.linspace(0.0, 8.0, 33)


def powers_of(zeros, positive=None, negative=None):
    """Return counts of powers of two: zeros, and rows by exponent."""
    counts = np.zeros(2 * POWERS + 1)
    counts[POWERS] = zeros
    for exponent, rows in (positive or {}).items():
        counts[POWERS + 1 + exponent - CONSTANTS.least_power] = rows
    for exponent, rows in (negative or {}).items():
        counts[POWERS - 1 - exponent + CONSTANTS.least_power] = rows
    return Released(counts, (SIGMA,))


def found(powers, edges=EDGES, bins=None, rows=2000.0):
    """Return the marginal, if equal bins show nothing but zeros unless `bins` says otherwise."""
    counts = np.zeros(len(edges) - 1)
    zero = min(int(np.searchsorted(edges, 0.0, side="right")), len(counts)) - 1
    counts[zero] = rows
    for place, number in (bins or {}).items():
        counts[place] = number
    shown = Marginal(edges[zero : zero + 2], np.array([rows]))
    return with_powers(shown, edges, Released(counts, (SIGMA,)), powers, CONSTANTS), shown


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_rows_that_only_powers_show_are_in_the_marginal(sign):
    """400 rows in 31 bins are 13 in each, less than half of the noise."""
    amounts = {-1: 90.0, 0: 110.0, 1: 120.0, 2: 80.0}
    if sign > 0:
        marginal, _ = found(powers_of(1600.0, amounts))
    else:
        marginal, _ = found(powers_of(1600.0, negative=amounts), -EDGES[::-1])
        marginal = Marginal(-marginal.edges[::-1], marginal.weights[::-1])
    assert marginal.weights.sum() == pytest.approx(2000.0)
    below = marginal.quantiles([0.8, 0.99])
    assert below[0] == pytest.approx(0.25, abs=0.3)
    assert 6.0 < below[1] < 8.0
    assert np.all(np.diff(marginal.edges) > 0.0)


def test_bins_that_show_the_rows_stay():
    powers = powers_of(1600.0, {0: 400.0})
    marginal, shown = found(powers, bins={4: 200.0, 5: 200.0})
    assert marginal is shown


def test_targets_that_are_not_mostly_zero_stay_as_they_are():
    marginal, shown = found(powers_of(900.0, {0: 110.0, 1: 120.0}))
    assert marginal is shown
    edges = np.linspace(1.0, 2.0, 33)
    marginal, shown = found(powers_of(1600.0, {0: 400.0}), edges)
    assert marginal is shown


def test_if_nothing_but_zeros_is_seen_only_zeros_are_left():
    marginal, _ = found(powers_of(1990.0, {0: 50.0}))
    least = 2.0**CONSTANTS.least_power
    assert marginal.edges.tolist() == [-least, least]


def test_noise_alone_is_hardly_ever_taken_for_rows():
    """Of six powers, all or one are so far above the noise in about one target of 700."""
    rng = np.random.default_rng(0)
    rows = 0
    for _ in range(3000):
        powers = powers_of(2000.0)
        noisy = Released(powers.value + rng.normal(0.0, SIGMA, powers.value.size), (SIGMA,))
        rows += found(noisy)[0].edges[-1] > 1.0
    # More than 20 of 3,000 happen with a probability below 1e-6.
    assert rows <= 20
