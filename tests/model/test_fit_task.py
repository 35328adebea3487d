"""What can be passed to a fit: a strategy, constants, a callback for the progress."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpfit import Numeric, _native
from dpfit.engine.constants import Constants, RangeConstants, Shares
from dpfit.engine.features.functions import Knots
from dpfit.engine.fit import fit
from dpfit.engine.ranges.marginal import Marginal
from dpfit.engine.strategy import Curves, Lines
from dpfit.engine.task import FitTask
from dpfit.release import Releaser
from dpfit.statistics import Table

X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(20_000, 2))
Y = np.where(X[:, 0] > 0.0, X[:, 0], 0.0) + 0.5 * X[:, 1]
TASK = FitTask([Numeric(), Numeric()], Numeric(), 5.0, Lines())


def fitted(task):
    """Return the result of a fit and the number of releases of each statistic."""
    releaser = Releaser(_native.Entropy.insecure_seed(1), "add_remove")
    found, counts = fit(Table.of(X, Y), task, releaser), {}
    for event in releaser.events:
        counts[event.statistic] = counts.get(event.statistic, 0) + event.count
    return found, counts


def predictions(found):
    estimate, total = found.estimate, np.zeros(len(X))
    for size, function in zip(estimate.coefficients, estimate.basis.functions, strict=True):
        if function.column < 0:
            total += size
            continue
        knots = estimate.basis.columns[function.column].knots
        total += size * np.interp(X[:, function.column], knots.places, function.heights)
    return found.centre + found.scale * total


def error(found):
    return np.mean((Y - predictions(found)) ** 2) / np.var(Y)


def functions(found, column):
    return [f for f in found.estimate.basis.functions if f.column == column]


@pytest.mark.parametrize(("strategy", "rounds"), [(Lines(), 11), (Curves(), 9)])
def test_the_progress_is_told_round_by_round(strategy, rounds):
    """A linear model has four rounds to look for bends, and seven after them."""
    calls = []
    task = replace(TASK, strategy=strategy, progress=lambda *call: calls.append(call))
    _, counts = fitted(task)
    assert calls == [(done, rounds) for done in range(1, rounds + 1)]
    assert counts["X'g"] == rounds


def test_the_progress_of_a_mean_is_one_round():
    calls = []
    found, counts = fitted(replace(TASK, mu=1e-4, progress=lambda *call: calls.append(call)))
    assert calls == [(1, 1)]
    assert counts["X'g"] == found.estimate.rounds == 1


@pytest.mark.parametrize("strategy", [Lines(), Curves()], ids=lambda s: type(s).__name__)
def test_constants_can_be_passed_in(strategy):
    def of_rows(shares):
        constants = Constants(shares=shares)
        releaser = Releaser(_native.Entropy.insecure_seed(1), "add_remove")
        fit(Table.of(X, Y), replace(TASK, strategy=strategy, constants=constants), releaser)
        return releaser.events[0].mu

    assert of_rows(Shares(rows=0.04)) == pytest.approx(2.0 * of_rows(Shares(rows=0.01)))
    few = RangeConstants(bins=replace(RangeConstants().bins, most=8))
    coarse, _ = fitted(replace(TASK, strategy=strategy, constants=Constants(ranges=few)))
    usual, _ = fitted(replace(TASK, strategy=strategy))
    assert len(coarse.marginals[0].weights) < len(usual.marginals[0].weights)


def test_curves_bend_where_lines_do_not():
    linear, _ = fitted(TASK)
    additive, _ = fitted(replace(TASK, strategy=Curves()))
    assert len(linear.estimate.basis.functions) == 3
    assert len(functions(additive, 0)) > 2
    assert error(additive) < 0.01
    assert error(additive) < error(linear) < 0.15


def test_a_line_ends_where_the_curve_levels_off():
    """The target does not depend on negative values of the first column."""
    found, _ = fitted(TASK)
    (line,), (other,) = functions(found, 0), functions(found, 1)
    places = found.estimate.basis.columns[0].knots.places
    assert len(line.heights) == len(other.heights) == 2
    assert -0.4 < places[0] < 0.2
    assert places[1] > 0.9
    # Where it does not bend, the line goes over the whole range.
    low, high = found.estimate.basis.columns[1].knots.places
    assert low < -0.9 < 0.9 < high


@dataclass(frozen=True)
class BentAtZero(Curves):
    """Curves with one bend, near zero: all that a strategy has to say differently."""

    def first(self, columns):
        found = []
        for column, marginal in zip(columns, MARGINALS, strict=True):
            places = column.knots.places
            middle = places[int(np.abs(places).argmin())]
            knots = Knots.of(marginal, np.array([places[0], middle, places[-1]]))
            found.append(replace(column, knots=knots))
        return found


MARGINALS = (Marginal.uniform(-1.0, 1.0), Marginal.uniform(-1.0, 1.0))


def test_a_new_strategy_is_one_class():
    found, _ = fitted(replace(TASK, strategy=BentAtZero(knots=13)))
    assert len(found.estimate.basis.functions) == 5
    assert error(found) < 0.01
