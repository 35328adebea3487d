"""The ends of lines and curves: beyond the range if noise hides rows there, but not beyond zero."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import _native
from dpfit.accounting import BudgetTracker
from dpfit.engine.features.functions import Knots
from dpfit.engine.ranges.histograms import ColumnCounter
from dpfit.engine.ranges.marginal import Marginal
from dpfit.release import Releaser
from dpfit.statistics import EqualBins, Table

from .marginals import marginals

quick = settings(max_examples=150, deadline=None)
LEAST = 0.01


def with_noise(marginal, noise):
    return dataclasses.replace(marginal, noise=noise)


def spread(low, high, noise):
    """Return a uniform marginal."""
    return with_noise(Marginal.uniform(low, high), noise)


@quick
@given(marginals(), st.floats(0.0, 0.5))
def test_with_little_noise_the_ends_are_those_of_the_range(marginal, share):
    """Two bins of noise are then no more than the rows that are left out anyway."""
    marginal = with_noise(marginal, share * LEAST)
    low, high = marginal.range(LEAST)
    # Bins that begin at zero, or end there, contain quantiles a rounding error beyond it.
    assert marginal.ends(LEAST) == pytest.approx((low, high), abs=1e-9 * (high - low))


@quick
@given(marginals(), st.floats(1.0, 100.0))
def test_with_much_noise_the_range_is_wider_by_its_width_at_either_end(marginal, share):
    marginal = with_noise(marginal, share * LEAST)
    low, high = marginal.range(LEAST)
    below, above = marginal.ends(LEAST)
    first, last = marginal.edges[[0, -1]]
    if first < 0.0:
        assert below == pytest.approx(2.0 * low - high)
    else:
        assert below == pytest.approx(max(2.0 * low - high, 0.0))
    # Between these, the bins end so close to zero that it counts as zero.
    if last > 1e-6 * (last - first):
        assert above == pytest.approx(2.0 * high - low)
    elif last <= 0.0:
        assert above == pytest.approx(min(2.0 * high - low, 0.0))


@pytest.mark.parametrize(("noise", "share"), [(0.005, 0.0), (0.0075, 0.5), (0.01, 1.0)])
def test_the_ends_move_with_the_noise_between(noise, share):
    marginal = spread(-3.0, 5.0, noise)
    low, high = marginal.range(LEAST)
    moved = share * (high - low)
    assert marginal.ends(LEAST) == pytest.approx((low - moved, high + moved))


@quick
@given(st.floats(0.0, 0.1), st.floats(0.0, 5.0))
def test_the_ends_are_not_beyond_zero_if_no_row_is_seen_there(noise, start):
    one, other = spread(start, start + 2.0, noise), spread(-start - 2.0, -start, noise)
    low, high = one.ends(LEAST)
    assert low >= 0.0
    assert other.ends(LEAST) == pytest.approx((-high, -low), abs=1e-9)
    # Rows on both sides are a reason to go on.
    assert spread(-1e-3, 2.0, 0.02).ends(LEAST)[0] < -1.0
    assert spread(-2.0, 1e-3, 0.02).ends(LEAST)[1] > 1.0


@pytest.mark.parametrize("size", [2.0**-40, 1.0, 2.0**40])
def test_bins_of_a_column_that_is_never_positive_end_at_zero(size):
    """They contain their lower edges only, so that their last edge is a little above zero."""
    edges = size * np.linspace(-1.0, 2.0**-40, 65)
    low, high = Marginal(edges, np.ones(64), noise=0.02).ends(LEAST)
    assert high == edges[-1]
    assert low == pytest.approx(-1.88 * size, rel=0.01)


@quick
@given(marginals(), st.floats(0.0, 0.1), st.floats(0.1, 3.0), st.floats(0.1, 3.0))
def test_hidden_rows_are_between_the_bins_and_the_ends(marginal, noise, below, above):
    marginal = with_noise(marginal, noise)
    first, last = marginal.edges[[0, -1]]
    width = last - first
    # A thousandth of the rows at least: no function is scaled by less.
    share = max(noise, 0.001) * marginal.weights.sum()
    found = marginal.with_hidden(first - below * width, last + above * width)
    assert found.edges[[0, -1]] == pytest.approx([first - below * width, last + above * width])
    assert found.edges[1:-1] == pytest.approx(marginal.edges)
    assert found.weights == pytest.approx(np.array([share, *marginal.weights, share]))
    # Ends within the bins hide nothing.
    same = marginal.with_hidden(first, last)
    assert same.edges.tolist() == marginal.edges.tolist()
    assert same.weights.tolist() == marginal.weights.tolist()
    one = marginal.with_hidden(first - width, last)
    assert len(one.weights) == len(marginal.weights) + 1
    assert one.weights[0] == pytest.approx(share)


@quick
@given(marginals(), st.integers(2, 16), st.floats(0.0, 0.5))
def test_there_is_no_further_knot_if_the_noise_is_small(marginal, number, share):
    knots = Knots.at_quantiles(
        with_noise(marginal, share * LEAST), np.linspace(0.0, 1.0, number), LEAST
    )
    assert marginal.edges[0] <= knots.places[0]
    assert knots.places[-1] <= marginal.edges[-1]


@quick
@given(marginals(fewest=10), st.integers(2, 16), st.floats(0.0, 0.1))
def test_a_further_knot_is_at_an_end_more_than_a_bin_away(marginal, number, noise):
    marginal = with_noise(marginal, noise)
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, number), LEAST)
    quantiles = marginal.quantiles([marginal.outside(LEAST), 1.0 - marginal.outside(LEAST)])
    inner = marginal.edges_at(quantiles[0])[0], marginal.edges_at(quantiles[1])[1]
    ends = marginal.ends(LEAST)
    is_wider = (
        inner[0] - ends[0] > marginal.width_at(inner[0]),
        ends[1] - inner[1] > marginal.width_at(inner[1]),
    )
    places = knots.places.tolist()
    assert places[0] == (ends[0] if is_wider[0] else inner[0])
    assert places[-1] == (ends[1] if is_wider[1] else inner[1])
    # The knots of a range that is not wider are still there.
    assert inner[0] in places
    assert inner[1] in places
    assert len(places) <= max(number, 2) + sum(is_wider)


def test_functions_are_not_scaled_by_rows_that_are_only_seen():
    """Hidden rows beyond the bins count, so that a line has the variance of all of them."""
    marginal = spread(-1.0, 1.0, 0.02)
    low, high = marginal.ends(LEAST)
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, 5), LEAST)
    line = knots.functions()[:, 0]
    rows = np.concatenate(
        [np.linspace(-1, 1, 100_001), np.linspace(low, -1, 2001), np.linspace(1, high, 2001)]
    )
    values = np.interp(rows, knots.places, line)
    assert values.mean() == pytest.approx(0.0, abs=1e-3)
    assert values.var() == pytest.approx(1.0, abs=5e-3)


@pytest.mark.parametrize(("mu", "expected"), [(1.0, 1.0), (4.0, 0.5), (1000.0, 0.5)])
def test_counts_have_noise_of_half_a_row_at_least(mu, expected):
    """Rounded, less noise is mostly zero; one row that it adds would be far beyond it."""
    releaser = Releaser(_native.Entropy.insecure_seed(0), "add_remove", n_jobs=1)
    column = np.linspace(0.0, 1.0, 100)
    counter = ColumnCounter(
        Table.of(column[:, None], column, n_jobs=1), releaser, BudgetTracker(2e3), 100.0
    )
    bins = EqualBins(0.0, 1.0, 4)
    feature, target = counter.release([bins, bins], (mu, 1.0))
    assert feature.sigma == pytest.approx(expected, rel=1e-6)
    assert target.sigma == pytest.approx(1.0, rel=1e-6)
    # What is told of the noise changes, and not the noise.
    assert counter.sigmas([True, True], (mu, 1.0)) == pytest.approx([1.0 / mu, 1.0], rel=1e-6)
