"""Functions of one column: uncorrelated, of variance one, the line first."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit.engine.features.functions import Knots
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.strategy import Lines

from .marginals import marginals, of_values, rows_of

quick = settings(max_examples=150, deadline=None)


def values(knots, heights, points):
    return np.column_stack([np.interp(points, knots.places, h) for h in heights.T])


@quick
@given(marginals(), st.integers(2, 16), st.floats(0.0, 0.04))
def test_functions_are_orthonormal_and_have_mean_zero(marginal, number, noise):
    """Under the marginal with the rows that its noise may hide."""
    marginal = dataclasses.replace(marginal, noise=noise)
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, number), 0.01)
    assert knots is not None
    functions = knots.functions()
    points, shares = rows_of(marginal.with_hidden(*marginal.ends(0.01)))
    found = values(knots, functions, points)
    assert functions.shape[1] <= len(knots.places) - 1
    assert shares @ found == pytest.approx(np.zeros(functions.shape[1]), abs=1e-6)
    covariance = found.T @ (shares[:, None] * found)
    # Where two knots have next to no rows between them, a bend is smaller than one.
    size = np.sqrt(np.diag(covariance))
    assert np.all(size < 1.0 + 1e-6)
    assert covariance == pytest.approx(np.diag(size**2), abs=1e-5)
    assert size[:1] == pytest.approx(1.0)


@quick
@given(marginals(), st.integers(2, 16))
def test_the_first_function_is_the_line(marginal, number):
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, number), 0.01)
    line = knots.functions()[:, 0]
    slopes = np.diff(line) / np.diff(knots.places)
    assert slopes == pytest.approx(np.full(len(slopes), slopes[0]), rel=1e-6)
    assert slopes[0] > 0.0


@quick
@given(marginals(), st.integers(2, 16))
def test_knots_ascend_between_the_quantiles_and_are_half_a_bin_apart(marginal, number):
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, number), 0.01)
    assert 2 <= len(knots.places) <= max(number, 2)
    assert marginal.edges[0] <= knots.places[0]
    assert knots.places[-1] <= marginal.edges[-1]
    apart = np.diff(knots.places)
    assert np.all(apart > 0.0)
    # Of two neighbours, one at least is as far as half of its bin from the other.
    widths = np.array([marginal.width_at(place) for place in knots.places])
    least = 0.5 * np.minimum(widths[1:], widths[:-1])
    assert np.all(apart >= least * (1.0 - 1e-9))


def test_integers_at_the_edges_of_bins_are_between_the_outer_knots():
    """The first and the last of 1 to 20, in bins of width one: no value is cut."""
    weights = 0.8 ** np.arange(20.0)
    marginal = Marginal(np.arange(1.0, 22.0), weights)
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, 12), 0.01)
    shares = np.cumsum(weights) / weights.sum()
    last = 1.0 + np.flatnonzero(shares > 0.99)[0]
    assert knots.places[0] == 1.0
    assert knots.places[-1] == last + 1.0


def test_bends_go_from_smooth_to_rough():
    knots = Knots.of(Marginal.uniform(0.0, 1.0), np.linspace(0.0, 1.0, 12))
    functions = knots.functions()
    assert functions.shape == (12, 11)
    roughness = np.square(np.diff(functions, 2, axis=0)).sum(axis=0)
    assert roughness[0] == pytest.approx(0.0, abs=1e-20)
    assert np.all(np.diff(roughness) > 0.0)
    # The k-th function changes its sign k + 1 times, like polynomials.
    assert [(np.diff(np.sign(f)) != 0).sum() for f in functions.T] == list(range(1, 12))


@quick
@given(marginals(), st.integers(4, 16))
def test_bends_between_any_knots_go_from_smooth_to_rough(marginal, number):
    functions = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, number), 0.01).functions()
    roughness = np.square(np.diff(functions[:, 1:], 2, axis=0)).sum(axis=0)
    assert np.all(np.diff(roughness) >= -1e-6 * roughness.max(initial=0.0))


def test_smooth_curves_need_few_functions():
    marginal = Marginal.uniform(-1.0, 1.0)
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, 12), 0.01)
    functions = knots.functions()
    curve = np.exp(knots.places)
    parts = knots.covariances(functions, curve)
    explained = np.cumsum(parts**2) / knots.covariances(curve[:, None], curve)
    assert explained[1] > 0.995
    assert explained[-1] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("knots", [5, 12])
def test_a_bin_that_stands_alone_has_one_knot_in_its_middle(knots):
    # Integers from 0 to 9 in bins of width 1/6; nor do the outermost bins have two.
    integers = np.random.default_rng(0).integers(0, 10, 5000).astype(float)
    counts, edges = np.histogram(integers, np.linspace(-0.5, 9.5, 61))
    marginal = Marginal(edges, counts.astype(float))
    places = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, knots), 0.01).places
    width = edges[1] - edges[0]
    assert np.all(np.abs(places - np.round(places)) <= width)
    assert len(np.unique(np.round(places))) == len(places)


def test_spread_columns_have_knots_at_quantiles():
    values = np.random.default_rng(0).lognormal(0.0, 1.0, 20_000)
    positions = Lines().positions
    knots = Knots.at_quantiles(of_values(values[values < 10.0], 400), positions, 0.01)
    # Closer to each other near the ends: cosines of equal angles.
    shares = 0.5 - 0.49 * np.cos(np.linspace(0.0, np.pi, 12))
    assert np.all(np.diff(shares, 2)[:5] > 0.0)
    wanted = np.quantile(values[values < 10.0], shares)
    # The outer ones at edges of bins of width 0.025.
    assert knots.places == pytest.approx(wanted, abs=0.05)
    assert knots.places[0] <= wanted[0]
    assert knots.places[-1] >= wanted[-1]


def test_a_constant_column_has_no_line():
    marginal = Marginal(np.array([2.0, 3.0]), np.ones(1))
    assert marginal.is_point()
    # Its only bin stands alone; between the quantiles of the bin there may be one value.
    knots = Knots.of(Marginal(np.array([5.0, 6.0]), np.ones(1)), np.array([0.0, 1.0]))
    assert not knots.lines([(0, 1)]).any()
    assert knots.functions().shape == (2, 0)


def test_a_knot_beyond_all_rows_adds_no_bend():
    marginal = Marginal(np.array([0.0, 1.0, 2.0]), np.ones(2))
    knots = Knots.of(marginal, np.array([0.0, 1.0, 2.0, 5.0]))
    within = Knots.of(marginal, np.array([0.0, 1.0, 2.0]))
    beyond = Knots.of(Marginal(np.array([0.0, 2.0]), np.ones(1)), np.array([0.0, 2.0, 4.0]))
    assert knots.functions().shape == (4, 2)
    assert within.functions().shape == (3, 2)
    assert beyond.functions().shape == (3, 1)


@quick
@given(marginals(), st.integers(2, 12), st.data())
def test_the_share_between_two_knots_is_that_of_rows(marginal, number, data):
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, number), 0.01)
    last = len(knots.places) - 1
    first = data.draw(st.integers(0, last - 1))
    second = data.draw(st.integers(first + 1, last))
    shares = knots.shares(np.array([(i, i + 1) for i in range(last)]))
    whole, part = knots.shares(np.array([(0, last), (first, second)]))
    assert whole == pytest.approx(1.0)
    assert sum(shares) == pytest.approx(1.0)
    assert part == pytest.approx(sum(shares[first:second]))


def test_shorter_lines_are_flat_outside_and_standardised():
    marginal = Marginal.uniform(0.0, 11.0)
    knots = Knots.of(marginal, np.arange(12.0))
    found = knots.lines([(0, 11), (2, 7), (7, 8)])
    assert found.shape == (12, 3)
    line = found[:, 1]
    assert np.ptp(line[:3]) == 0.0
    assert np.ptp(line[7:]) == pytest.approx(0.0)
    assert np.diff(line[2:8]) == pytest.approx(np.full(5, line[3] - line[2]))
    assert knots.means @ found == pytest.approx(np.zeros(3), abs=1e-12)
    assert knots.covariances(found, found) == pytest.approx(np.ones(3))


@quick
@given(marginals(), st.integers(2, 12), st.data())
def test_covariances_are_those_of_rows(marginal, number, data):
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, number), 0.01)
    heights = data.draw(
        st.lists(st.floats(-10, 10), min_size=2 * len(knots.places), max_size=2 * len(knots.places))
    )
    curves = np.reshape(heights, (len(knots.places), 2))
    points, shares = rows_of(marginal)
    found = values(knots, curves, points)
    found = found - shares @ found
    exact = found.T @ (shares[:, None] * found)
    assert knots.covariances(curves, curves) == pytest.approx(np.diag(exact), abs=1e-9)
    assert knots.covariances(curves, curves[:, 0]) == pytest.approx(exact[0], abs=1e-9)


@quick
@given(marginals(), st.integers(3, 12), st.data())
def test_two_of_the_knots_know_what_all_of_them_know(marginal, number, data):
    """Means and products of a line between them, flat outside."""
    knots = Knots.at_quantiles(marginal, np.linspace(0.0, 1.0, number), 0.01)
    last = len(knots.places) - 1
    first = data.draw(st.integers(0, last - 1))
    second = data.draw(st.integers(first + 1, last))
    found = knots.between(first, second)
    exact = Knots.of(marginal, knots.places[[first, second]])
    assert found.places.tolist() == exact.places.tolist()
    assert found.means == pytest.approx(exact.means, abs=1e-9)
    assert found.products == pytest.approx(exact.products, abs=1e-9)


@quick
@given(st.integers(1, 40), st.integers(2, 9), st.integers(0, 1000))
def test_moments_of_hat_functions_are_those_of_points(bins, knots, seed):
    """Eight points stand for each bin; those beyond the knots are at the nearest."""
    rng = np.random.default_rng(seed)
    edges = np.cumsum(rng.uniform(0.1, 1.0, bins + 1))
    weights = rng.uniform(0.0, 1.0, bins) + 1e-3
    places = np.sort(rng.uniform(edges[0], edges[-1], knots))
    found = Knots.of(Marginal(edges, weights), places)
    inside = (np.arange(8) + 0.5) / 8
    points = (edges[:-1, None] + np.diff(edges)[:, None] * inside).ravel()
    shares = np.repeat(weights / weights.sum() / 8, 8)
    hats = np.array([np.interp(points, places, row) for row in np.eye(knots)])
    assert found.means == pytest.approx(hats @ shares, abs=1e-12)
    assert found.products == pytest.approx((hats * shares) @ hats.T, abs=1e-12)
    line = found.between(0, knots - 1)
    assert line.functions() == pytest.approx(line.lines([(0, 1)]), abs=1e-9)
