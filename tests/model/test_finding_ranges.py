"""The parts that find where a column lies: runs of powers, ranges and marginals."""

import math

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpfit import _native
from dpfit.engine.constants import RangeConstants
from dpfit.engine.ranges.marginal import Marginal, on_simplex
from dpfit.engine.ranges.powers import _run, locate

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
    """Return the range of a column that is seen."""
    low, high, is_seen = locate(exact_counts(column), sigma, float(len(column)), CONSTANTS)
    assert is_seen
    return low, high


def mirrored(low, high):
    """Return the range of the column with the other sign.

    Bins contain their lower ends only. So negative ranges end a little above their upper end, by a
    share of their lower end that is less than any bin is wide.
    """
    return -high, 2.0**-40 * high - low


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.0, 1.0, (0.0, 1.0)),
        (0.0, 1000.0, (0.0, 1024.0)),
        (-3.0, 5.0, (-8.0, 8.0)),
        (-3.0, -2.1, mirrored(2.0, 4.0)),
        (5.0, 6.0, (4.0, 8.0)),
        (7.0, 9.0, (4.0, 16.0)),
        (1e-9, 1e-6, (0.0, 2.0**-19)),
        (-1e9, -0.9e9, mirrored(2.0**29, 2.0**30)),
        (-1e12, 1e-3, mirrored(0.0, 2.0**40)),
    ],
)
def test_ranges_are_powers_of_two_around_the_data(low, high, expected):
    assert decided(np.random.default_rng(0).uniform(low, high, size=4000)) == expected


def test_zeros_belong_to_the_range():
    column = np.concatenate([np.zeros(500), np.random.default_rng(0).uniform(5, 6, size=500)])
    assert decided(column) == (0.0, 8.0)
    assert decided(-column) == mirrored(0.0, 8.0)


@pytest.mark.parametrize("power", [-40, 0, 49])
@pytest.mark.parametrize("bins", [8, 64])
def test_the_upper_end_of_a_negative_range_is_in_its_last_bin(power, bins):
    """As the core counts: rows that are zero, or minus a power of two, must not be lost."""
    unit = 2.0**power
    for values in ((0.0, -0.75), (-0.5, -0.75)):
        column = unit * np.repeat(values, 500)
        low, high = decided(column)
        assert high - low == pytest.approx(-low if values[0] == 0.0 else -low / 2, rel=1e-9)
        found = _native.Histogram([_native.Bins.equal(low, high, bins), None])
        found.extend(column[:, None], np.zeros(len(column)))
        counts = np.array(found.insecure_exact())[: bins + 2]
        assert counts[0] == counts[-1] == 0
        assert counts[-2] == 500


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
    assert found == (expected if sign > 0 else mirrored(*expected))


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
        one, two = (locate(part + noise, 7.0, 3000.0, CONSTANTS) for part in (counts, shifted))
        assert one[2]
        assert two[2]
        same += (one[0] * 32.0, one[1] * 32.0) == two[:2]
    assert same >= 495


def noisy_ranges(counts, rows, fits=500):
    """Return ranges of counts with noise of standard deviation one, and whether they are seen."""
    noise = np.random.default_rng(0).normal(size=(fits, len(counts)))
    return [locate(counts + part, 1.0, rows, CONSTANTS) for part in noise]


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_a_column_of_one_sign_is_seen_without_the_noise_of_the_other(sign):
    """Six deviations in one power: of the noise of both signs together, these would be four."""
    found = noisy_ranges(exact_counts(sign * np.full(6, 5.0)), 6.0)
    low, high = (4.0, 8.0) if sign > 0 else mirrored(4.0, 8.0)
    assert np.mean([seen and one <= low and two >= high for one, two, seen in found]) > 0.95


def test_rows_of_both_signs_that_noise_hides_one_by_one_are_seen_together():
    """1.7 deviations in each of three powers, of one sign or of both."""
    column = np.repeat([1.0, 2.0, 4.0], 17)
    one, both = 0.1 * exact_counts(column), 0.1 * exact_counts(np.append(column, -column))
    alone, together = noisy_ranges(one, 5.1), noisy_ranges(both, 10.2)
    seen_alone, seen = (np.mean([found[2] for found in part]) for part in (alone, together))
    assert seen > seen_alone + 0.3


def test_a_bell_around_zero_has_both_signs():
    """In counts of all rows that are 40 times their noise."""
    counts = exact_counts(np.random.default_rng(0).normal(size=40_000)) / 1000.0
    found = noisy_ranges(counts, 40.0)
    assert all(is_seen and low == -high for low, high, is_seen in found)
    # Runs that are not seen clearly sometimes continue into the noise.
    assert np.mean([2.0 <= high <= 8.0 for _, high, _ in found]) > 0.9


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_noise_of_the_other_sign_does_not_widen_a_clear_range(sign):
    """Four deviations in one power, which noise rarely has; with eight, it is seen."""
    counts = exact_counts(sign * np.full(100, 5.0))
    place = len(counts) // 2 - int(sign) * (1 + 30 - LEAST)
    for size, expected in ((4.0, 8.0), (8.0, 2.0**31)):
        counts[place] = size
        low, high, is_seen = locate(counts, 1.0, 100.0, CONSTANTS)
        assert is_seen
        assert max(abs(low), abs(high)) == pytest.approx(expected)


def test_noise_alone_is_rarely_seen():
    """One column in 20, by one of three looks: at each sign, and at both."""
    found = noisy_ranges(np.zeros(2 * (MOST - LEAST + 1) + 1), 10.0, fits=2000)
    assert np.mean([is_seen for _, _, is_seen in found]) < 0.07


def test_zeros_are_all_there_is_only_if_few_rows_are_elsewhere():
    """Rows that are not zero, and in no power visible, may be anywhere: nothing is seen then."""
    counts = exact_counts(np.zeros(1000))
    for rows, expected in ((1000.0, True), (1005.0, True), (1007.0, False), (2000.0, False)):
        low, high, is_seen = locate(counts, 1.0, rows, CONSTANTS)
        assert low == -high
        assert 0.0 < high < 1e-12
        assert is_seen == expected


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
    low, high, _ = locate(counts, sigma, 100.0 * sigma, CONSTANTS)
    assert math.isfinite(low)
    assert low < high < math.inf
    assert max(-low, high) <= 2.0 ** (MOST + 1)


@pytest.mark.parametrize("height", [2.5, 3.0, 4.0, 4.75, 5.0, 6.0])
def test_a_column_of_all_sizes_has_a_range(height):
    """Spread evenly over 40 powers of two, in none of which there is much."""
    counts = np.zeros(2 * (MOST - LEAST + 1) + 1)
    counts[-60:-20] = height
    low, high, is_seen = locate(counts, 1.0, 40.0 * height, CONSTANTS)
    assert is_seen
    assert low == 0.0
    assert high > 1.0


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


@pytest.mark.parametrize(
    ("noise", "least", "expected"),
    [(0.0, 0.01, 0.01), (0.002, 0.01, 0.01), (0.01, 0.01, 0.02), (1.0, 0.01, 0.05)],
)
def test_a_range_leaves_out_as_much_as_the_noise_of_two_bins(noise, least, expected):
    marginal = Marginal(np.linspace(0.0, 1.0, 101), np.ones(100), noise=noise)
    assert marginal.outside(least) == pytest.approx(expected)
    assert marginal.range(least) == pytest.approx((expected, 1.0 - expected), abs=1e-9)


def test_a_range_is_never_empty():
    """All rows but a few are in one bin, or in one place of it."""
    low, high = Marginal(np.array([2.0, 3.0]), np.ones(1)).range(0.01)
    assert 2.0 <= low < high <= 3.0
    edges = np.array([1.0, 1.0 + 2.0**-52])
    assert Marginal(edges, np.ones(1)).range(0.05) == tuple(edges)


def test_edges_of_the_bin_of_a_point():
    marginal = Marginal(np.array([0.0, 1.0, 3.0, 4.0]), np.ones(3))
    points = [-1.0, 0.0, 0.5, 1.0, 2.9, 3.0, 4.0, 9.0]
    expected = [(0.0, 1.0)] * 3 + [(1.0, 3.0)] * 2 + [(3.0, 4.0)] * 3
    assert [marginal.edges_at(point) for point in points] == expected
    assert [marginal.width_at(point) for point in points] == [b - a for a, b in expected]
    assert [marginal.middle_at(point) for point in points] == [(a + b) / 2 for a, b in expected]


def test_a_uniform_marginal():
    marginal = Marginal.uniform(-2.0, 6.0)
    shares = np.linspace(0, 1, 9)
    np.testing.assert_allclose(marginal.quantiles(shares), -2.0 + 8.0 * shares, atol=1e-8)
    middles, weights = marginal.points()
    assert middles @ weights == pytest.approx(2.0)
    assert weights.sum() == pytest.approx(1.0)
