"""The parts that find where a column lies: runs of powers, ranges, marginals."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpfit import _native
from dpfit.engine.constants import RangeConstants
from dpfit.engine.ranges.find import _decide, _run
from dpfit.engine.ranges.marginal import Marginal, on_simplex

quick = settings(max_examples=150, deadline=None)
CONSTANTS = RangeConstants()
LEAST, MOST = CONSTANTS.least_power, CONSTANTS.most_power
values = st.lists(st.floats(-100, 100) | st.integers(-9, 9).map(float), min_size=1, max_size=30)
weights = st.lists(st.floats(0, 1e6) | st.just(0.0), min_size=1, max_size=30)


# ------------------------------------------------------------------------------------------ runs


@quick
@given(values)
def test_a_run_has_the_largest_sum_there_is(values):
    first, last, total = _run(np.array(values))
    assert 0 <= first <= last < len(values)
    sums = [math.fsum(values[i : j + 1]) for i in range(len(values)) for j in range(i, len(values))]
    assert total == pytest.approx(math.fsum(values[first : last + 1]), abs=1e-9)
    assert total == pytest.approx(max(sums), abs=1e-9)


def test_runs_by_hand():
    assert _run(np.array([-1.0, 3.0, -1.0, 2.0, -5.0, 1.0])) == (1, 3, 4.0)
    assert _run(np.array([-3.0, -1.0, -2.0])) == (1, 1, -1.0)
    assert _run(np.array([5.0])) == (0, 0, 5.0)


# ------------------------------------------------------------------------------------- decisions


def exact_counts(column):
    counts = _native.Histogram([_native.Bins.powers(LEAST, MOST), None])
    counts.extend(np.asarray(column, dtype=np.float64)[:, None], np.zeros(len(column)))
    return np.array(counts.insecure_exact(), dtype=np.float64)


def decided(column, sigma=1.0):
    found = _decide(exact_counts(column), sigma, CONSTANTS)
    return found.low, found.high


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, (0.0, 1.0)),
        (0.0, 1000.0, (0.0, 1024.0)),
        (-3.0, 5.0, (-8.0, 8.0)),
        (-3.0, -2.1, (-4.0, -2.0)),
        (5.0, 6.0, (4.0, 8.0)),
        (7.0, 9.0, (4.0, 16.0)),
        (1e-9, 1e-6, (0.0, 2.0**-19)),
        (-1e9, -0.9e9, (-(2.0**30), -(2.0**29))),
        (-1e12, 1e-3, (-(2.0**40), 0.0)),
    ],
)
def test_ranges_are_powers_of_two_around_the_data(low, high, expected):
    assert decided(np.random.default_rng(0).uniform(low, high, size=4000)) == expected


def test_zeros_belong_to_the_range():
    column = np.concatenate([np.zeros(500), np.random.default_rng(0).uniform(5, 6, size=500)])
    assert decided(column) == (0.0, 8.0)
    assert decided(-column) == (-8.0, 0.0)


def test_all_zero_is_a_narrow_range_around_it():
    low, high = decided(np.zeros(1000))
    assert low == -high
    assert 0.0 < high < 1e-12


def test_a_few_outliers_are_not_the_range():
    column = np.random.default_rng(0).uniform(0.5, 1.0, size=5000)
    column[:3] = 1e12
    low, high = decided(column, sigma=3.0)
    assert (low, high) == (0.5, 1.0)


@pytest.mark.parametrize("power", [-40, -7, 0, 3, 39])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_decisions_move_with_the_column(power, sign):
    column = np.random.default_rng(1).uniform(0.1, 3.0, size=2000)
    low, high = decided(column)
    found = decided(sign * column * 2.0**power)
    expected = (low * 2.0**power, high * 2.0**power)
    assert found == (expected if sign > 0 else (-expected[1], -expected[0]))


def test_noise_beside_a_range_does_not_widen_it():
    """The same noise, with the column in other units: the decision is the same, in these units.

    So says `dpfit.engine.ranges.find`; the range is plain to see: 100 deviations in its last
    power.
    """
    rng = np.random.default_rng(2)
    counts, shifted = (exact_counts(rng.uniform(-1, 3, size=3000) * u) for u in (1.0, 32.0))
    same = 0
    for _ in range(500):
        noise = 7.0 * rng.normal(size=len(counts))
        one, two = (_decide(part + noise, 7.0, CONSTANTS) for part in (counts, shifted))
        same += (one.low * 32.0, one.high * 32.0) == (two.low, two.high)
    assert same >= 495


@quick
@given(
    st.integers(0, 2**32),
    st.floats(0.1, 1e6),
    st.floats(0.0, 10.0),
    st.integers(0, 200),
    st.integers(1, 201),
)
def test_any_counts_have_a_range(seed, sigma, height, first, length):
    """Noise alone, or with as much of a column in each of a few powers, or of very many."""
    rng = np.random.default_rng(seed)
    counts = sigma * rng.normal(size=2 * (MOST - LEAST + 1) + 1)
    counts[first : first + length] += height * sigma
    found = _decide(counts, sigma, CONSTANTS)
    assert math.isfinite(found.low)
    assert found.low < found.high < math.inf
    assert max(-found.low, found.high) <= 2.0 ** (MOST + 1)


@pytest.mark.parametrize("height", [2.5, 3.0, 4.0, 4.75, 5.0, 6.0])
def test_a_column_of_all_sizes_has_a_range(height):
    """Spread evenly over 40 powers of two, in none of which there is much."""
    counts = np.zeros(2 * (MOST - LEAST + 1) + 1)
    counts[-60:-20] = height
    found = _decide(counts, 1.0, CONSTANTS)
    assert found.low == 0.0
    assert found.high > 1.0


# ------------------------------------------------------------------------------------- marginals


@quick
@given(values, st.floats(0.1, 1e4))
def test_the_simplex_has_the_sum_and_no_negative_part(values, total):
    found = on_simplex(np.array(values), total)
    assert (found >= 0.0).all()
    assert found.sum() == pytest.approx(total, rel=1e-9, abs=1e-9)
    # The nearest: all that stayed was moved by the same, and what is zero would be below it.
    threshold = (np.array(values) - found)[found > 0.0]
    np.testing.assert_allclose(threshold, threshold[0], atol=1e-9 * (total + 100))
    assert (np.array(values)[found == 0.0] <= threshold[0] + 1e-9 * (total + 100)).all()


@quick
@given(values, st.floats(0.1, 1e4), st.integers(0, 2**32))
def test_no_other_point_of_the_simplex_is_nearer(values, total, seed):
    found = on_simplex(np.array(values), total)
    other = np.random.default_rng(seed).dirichlet(np.ones(len(values))) * total
    slack = 1e-9 * (total + 100) ** 2
    for point in (other, 0.99 * found + 0.01 * other):
        assert np.sum((found - values) ** 2) <= np.sum((point - values) ** 2) + slack


def test_counts_on_the_simplex_are_left_alone():
    counts = np.array([3.0, 0.0, 7.0])
    np.testing.assert_allclose(on_simplex(counts, 10.0), counts)
    np.testing.assert_allclose(on_simplex(np.array([-5.0, 4.0, 3.0]), 5.0), [0.0, 3.0, 2.0])


@quick
@given(weights, st.lists(st.floats(0, 1), min_size=2, max_size=9))
def test_quantiles_ascend_within_the_edges(weights, shares):
    assume(sum(weights) > 0.0)
    marginal = Marginal(np.arange(len(weights) + 1.0), np.array(weights))
    found = marginal.quantiles(sorted(shares))
    assert (np.diff(found) >= 0.0).all()
    assert found[0] >= 0.0
    assert found[-1] <= len(weights)
    # Below a quantile lies its share of the weight.
    below = np.interp(found, marginal.edges, np.append(0.0, np.cumsum(weights)) / sum(weights))
    np.testing.assert_allclose(below, sorted(shares), atol=1e-9)


def test_quantiles_by_hand():
    marginal = Marginal(np.array([0.0, 1.0, 2.0, 4.0]), np.array([1.0, 0.0, 1.0]))
    np.testing.assert_allclose(
        marginal.quantiles([0.0, 0.25, 0.75, 1.0]), [0, 0.5, 3, 4], atol=1e-9
    )
    assert 1.0 - 1e-9 <= marginal.quantiles([0.5])[0] <= 2.0 + 1e-9
    middles, shares = marginal.points()
    np.testing.assert_array_equal(middles, [0.5, 1.5, 3.0])
    np.testing.assert_array_equal(shares, [0.5, 0.0, 0.5])


@quick
@given(weights, st.integers(-40, 40))
def test_quantiles_in_other_units(weights, power):
    assume(sum(weights) > 0.0)
    edges = np.arange(len(weights) + 1.0) / 3
    shares = np.linspace(0, 1, 21)
    one, two = (Marginal(edges * u, np.array(weights)) for u in (1.0, 2.0**power))
    np.testing.assert_array_equal(one.quantiles(shares) * 2.0**power, two.quantiles(shares))


def test_a_uniform_marginal():
    marginal = Marginal.uniform(-2.0, 6.0)
    shares = np.linspace(0, 1, 9)
    np.testing.assert_allclose(marginal.quantiles(shares), -2.0 + 8.0 * shares, atol=1e-8)
    middles, weights = marginal.points()
    assert middles @ weights == pytest.approx(2.0)
    assert weights.sum() == pytest.approx(1.0)
