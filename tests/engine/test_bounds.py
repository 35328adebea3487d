"""Public bounds tell where to look for a column; the marginal inside them is released."""

import dataclasses
import math

import numpy as np
import pytest

from dpfit import _native
from dpfit.accounting import BudgetTracker
from dpfit.engine.constants import RangeConstants, Shares
from dpfit.engine.ranges.find import _seen, release_marginals
from dpfit.engine.ranges.histograms import ColumnCounter
from dpfit.release import Releaser
from dpfit.statistics import Table

ROWS = 20_000


def released(columns, wanted, mu=1.0, seed=0):
    """Release marginals of columns, the last of which is the target; return the events, too."""
    releaser = Releaser(_native.Entropy.insecure_seed(seed), "add_remove", n_jobs=1)
    table = Table.of(np.column_stack(columns[:-1]), columns[-1], n_jobs=1)
    counter = ColumnCounter(table, releaser, BudgetTracker(mu), float(len(columns[-1])))
    return release_marginals(counter, wanted, Shares(), RangeConstants()), releaser.events


def days(seed=0):
    rng = np.random.default_rng(seed)
    return np.maximum(1.0, np.floor(rng.lognormal(1.15, 0.8, ROWS)))


@pytest.mark.parametrize("most", [30.0, 60.0, 365.0, 1e4, 1e9])
def test_bounds_wider_than_the_column_do_not_hide_it(most):
    column = days()
    (found, _), _ = released([column, column], [(0.0, most), (0.0, most)])
    exact = np.quantile(column, [0.05, 0.5, 0.95])
    assert found.is_seen
    assert found.quantiles([0.05, 0.5, 0.95]) == pytest.approx(exact, abs=1.5)
    assert found.edges[0] >= 0.0
    assert found.edges[-1] <= most


def test_bounds_that_the_column_fills_save_the_histograms_of_powers():
    column = days()
    _, with_bounds = released([column, column], [(0.0, 20.0), (0.0, 20.0)])
    _, without = released([column, column], ["range", "range"])
    # One look at the feature and one at the target, or two at each.
    assert len(with_bounds) == 2
    assert len(without) == 4
    _, mixed = released([column, column, column], ["range", (0.0, 20.0), (0.0, 20.0)])
    assert len(mixed) == 3


@pytest.mark.parametrize(("most", "looks"), [(30.0, 1), (60.0, 2), (365.0, 3), (1e9, 3)])
def test_columns_that_fill_a_part_of_their_bounds_are_looked_at_again(most, looks):
    """In equal bins of that part; or, if bounds are far too wide, as if there were none."""
    column = days()
    (found, target), events = released([column, column], [(0.0, most), (0.0, most)])
    assert len(events) == 2 * looks
    # Nine rows in ten are between 1 and 12: as fine as bins of a column without bounds, whose
    # range ends at a power of two.
    for marginal in (found, target):
        inside = marginal.edges[(marginal.edges >= 1.0) & (marginal.edges <= 12.0)]
        assert np.diff(inside).max() <= 1.0


def test_a_second_look_between_bounds_keeps_what_the_first_one_saw():
    """Few rows are all over the bounds; the others fill a fifth of them."""
    rng = np.random.default_rng(0)
    column = np.where(rng.random(ROWS) < 0.97, rng.normal(50.0, 4.0, ROWS), 0.0)
    column[column == 0.0] = rng.uniform(0.0, 100.0, np.count_nonzero(column == 0.0))
    (found, _), events = released([column, column], [(0.0, 100.0)] * 2)
    assert len(events) == 4
    assert found.edges[0] < 10.0
    assert found.edges[-1] > 90.0
    assert found.width_at(50.0) < 0.5
    middles, shares = found.points()
    assert shares[np.abs(middles - 50.0) > 20.0].sum() == pytest.approx(0.018, abs=0.005)


@pytest.mark.parametrize("bounds", [(0.0, 20.0), (0.0, 60.0), (0.0, 1e6), (5.0, 6.0)])
def test_what_was_looked_at_lies_between_the_bounds(bounds):
    column = days()
    (found, target), _ = released([column, column], [bounds, bounds])
    for marginal in (found, target):
        low, high = marginal.reach
        assert bounds[0] <= low <= marginal.edges[0]
        assert marginal.edges[-1] <= high <= bounds[1]


def test_the_noise_of_a_marginal_is_that_of_a_bin_as_a_share_of_the_rows():
    column = np.random.default_rng(0).uniform(0.0, 1.0, ROWS)
    (found, target), events = released([column, column], [(0.0, 1.0)] * 2)
    assert [found.noise * ROWS, target.noise * ROWS] == pytest.approx([e.sigma for e in events])


@pytest.mark.parametrize("unknown", ["range", (-10.0, 0.0), (-1e4, 1e4)])
def test_zeros_of_a_column_that_is_never_positive_are_not_lost(unknown):
    """Bins are half-open: zero would be above the last bin of a range that ends there."""
    column = -(np.random.default_rng(0).random(ROWS) < 0.5).astype(float)
    (found, target), _ = released([column, column], [unknown, unknown])
    for marginal in (found, target):
        middles, shares = marginal.points()
        assert shares[middles > -0.5].sum() == pytest.approx(0.5, abs=0.02)
        assert marginal.edges[0] <= -1.0
        assert marginal.edges[-1] >= 0.0


def test_columns_that_fill_their_bounds_have_their_whole_range():
    column = np.random.default_rng(0).uniform(-3.0, 7.0, ROWS)
    (found, target), _ = released([column, column], [(-3.0, 7.0), (-3.0, 7.0)])
    for marginal in (found, target):
        assert marginal.edges[0] == pytest.approx(-3.0, abs=0.2)
        assert marginal.edges[-1] == pytest.approx(7.0, abs=0.2)


def test_values_beyond_bounds_are_not_in_the_marginal():
    column = np.random.default_rng(0).normal(0.0, 10.0, ROWS)
    (found, _), _ = released([column, column], [(-5.0, 5.0), "range"])
    assert found.edges[0] >= -5.0
    assert found.edges[-1] <= 5.0


def test_a_constant_column_between_bounds_is_a_point():
    column = np.full(ROWS, 20.0)
    (found, _), _ = released([column, days()], [(0.0, 1e6), (0.0, 100.0)])
    assert found.is_point()
    assert found.edges[0] <= 20.0 <= found.edges[-1]


@pytest.mark.parametrize("seed", range(5))
def test_bounds_are_enough_where_the_noise_hides_everything(seed):
    column = np.random.default_rng(seed).uniform(size=50)
    (found, target), _ = released([column, column], [(0.0, 1.0)] * 2, mu=0.01, seed=seed)
    for marginal in (found, target):
        assert 0.0 <= marginal.edges[0] < marginal.edges[-1] <= 1.0
        assert np.all(np.isfinite(marginal.weights))
        assert marginal.weights.sum() > 0.0


def test_columns_of_which_nothing_is_wanted_cost_nothing():
    column = days()
    found, events = released([column, column], [None, None])
    assert found == [None, None]
    assert not events


@pytest.mark.parametrize("unknown", ["range", (0.0, 448.0)], ids=["found", "bounds"])
@pytest.mark.parametrize("share", [0.01, 0.05])
def test_amounts_among_zeros_are_in_the_marginal(unknown, share):
    """Closer looks find zero alone, and count the other rows beyond: the column is not a point.

    The first look may have most of them in the bin of the zeros.
    """
    for seed in range(10):
        rng = np.random.default_rng(seed)
        amounts = np.minimum(rng.lognormal(2.0, 2.0, 100_000), 448.0)
        column = np.where(rng.random(100_000) < share, amounts, 0.0)
        (found, target), _ = released([column, column], [unknown] * 2, mu=2.0, seed=seed)
        for marginal in (found, target):
            assert not marginal.is_point()
            _, shares = marginal.points()
            beyond = marginal.edges[:-1] >= 16.0
            assert shares[beyond].sum() == pytest.approx(np.mean(column >= 16.0), rel=0.5)


@pytest.mark.parametrize("unknown", ["range", (0.0, 448.0)], ids=["found", "bounds"])
def test_a_column_of_zeros_with_a_few_amounts_is_a_point(unknown):
    """Fewer amounts than the noise in a bin shows."""
    column = np.zeros(100_000)
    column[:5] = 100.0
    for seed in range(10):
        (found, _), _ = released([column, column], [unknown] * 2, mu=0.2, seed=seed)
        assert found.is_point()
        assert abs(found.edges).max() < 1.0


def test_a_target_that_noise_hides_is_looked_at_again():
    """With three times the budget of the first look in all; a column that is hidden is not."""
    rng = np.random.default_rng(0)
    column = rng.normal(size=ROWS)
    hidden, again = [], []
    for seed in range(40):
        options = {"mu": 90.0 / ROWS, "seed": seed}
        (_, target), events = released([column, column], ["range", "range"], **options)
        hidden.append(not target.is_seen)
        looks = [event.mu for event in events if "target" in event.statistic]
        again.append(len(looks) == 3)
        if again[-1]:
            assert looks[1] == pytest.approx(math.sqrt(2.0) * looks[0])
    assert 0.3 < np.mean(again) < 1.0
    assert np.mean(hidden) < 0.5 * np.mean(again)
    _, clear = released([column, column], ["range", "range"])
    assert len(clear) == 4


def test_a_target_of_which_only_zeros_are_seen_is_looked_at_again():
    rng = np.random.default_rng(0)
    column = np.where(rng.random(ROWS) < 0.6, 0.0, 80.0)
    others = []
    for seed in range(20):
        (_, target), events = released(
            [column, column], ["range", "range"], mu=65.0 / ROWS, seed=seed
        )
        looks = [event for event in events if "target" in event.statistic]
        if len(looks) == 3:
            others.append(target.edges[-1] > 1.0)
    assert len(others) > 5
    assert np.mean(others) > 0.6


def test_rare_ones_of_a_target_stay_in_its_range():
    """250 ones are eight times the noise, but the sum of the empty bins above may be negative."""
    column = (np.arange(5000) % 20 == 0).astype(float)
    for seed in range(60):
        (_, target), _ = released([column, column], ["range", "range"], mu=0.237, seed=seed)
        assert target.range(0.01)[1] > 0.9


def test_single_bins_of_noise_hardly_ever_widen_a_range():
    """Of 64 bins of noise, one is taken to have rows in one histogram of 4,600."""
    rng = np.random.default_rng(0)
    usual = RangeConstants()
    never = dataclasses.replace(usual, alone_evidence=math.inf)
    rows = np.concatenate([np.full(16, 100.0), np.zeros(48)])
    draws = rows + rng.normal(size=(4000, 64))
    wider = [_seen(draw, usual) != _seen(draw, never) for draw in draws]
    # More than nine in 4,000 happen with a probability below 1e-6.
    assert np.sum(wider) <= 9
