"""What can be passed to a fit: a strategy, constants, a callback for the progress."""

from dataclasses import dataclass, replace

import numpy as np
import pytest

from dpfit import Numeric, _native
from dpfit.engine.constants import Constants, PlanConstants, Shares
from dpfit.engine.features.additive import AdditiveFeatures
from dpfit.engine.features.linear import LinearFeatures
from dpfit.engine.features.ramps import Ramp
from dpfit.engine.fit import fit
from dpfit.engine.task import FitTask
from dpfit.release import Releaser
from dpfit.statistics import Table

X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(20_000, 2))
Y = np.where(X[:, 0] > 0.0, X[:, 0], 0.0) + 0.5 * X[:, 1]
TASK = FitTask([Numeric(), Numeric()], Numeric(), 5.0, LinearFeatures())


def fitted(task):
    """Return the result of a fit and the number of releases of each statistic."""
    releaser = Releaser(_native.Entropy.insecure_seed(1), "add_remove")
    found, counts = fit(Table.of(X, Y), task, releaser), {}
    for event in releaser.events:
        counts[event.statistic] = counts.get(event.statistic, 0) + event.count
    return found, counts


def predictions(found):
    basis, theta = found.basis, found.averaged.theta
    total = theta[-1] * np.sqrt(basis.constant_share)
    for coefficient, ramp in zip(theta, basis.ramps, strict=False):
        total = total + coefficient * basis.gain * ramp.values(X[:, ramp.column])
    return found.centre + found.scale * total


def error(found):
    return np.mean((Y - predictions(found)) ** 2) / np.var(Y)


def test_the_progress_is_told_round_by_round():
    calls = []
    fitted(replace(TASK, progress=lambda done, rounds: calls.append((done, rounds))))
    assert calls == [(done, 14) for done in range(1, 15)]


@pytest.mark.parametrize("strategy", [LinearFeatures(), AdditiveFeatures()], ids=lambda s: type(s))
def test_constants_can_be_passed_in(strategy):
    plan = PlanConstants(rounds=7, warm_up=2, averaged=4, shares=Shares(gram=0.5))
    constants = Constants(plan=plan)
    found, counts = fitted(replace(TASK, strategy=strategy, constants=constants))
    assert found.rounds == counts["X'g"] == 7
    usual, counts = fitted(replace(TASK, strategy=strategy))
    assert usual.rounds == counts["X'g"] == 14


def test_curves_bend_where_lines_do_not():
    linear, _ = fitted(TASK)
    additive, _ = fitted(replace(TASK, strategy=AdditiveFeatures(knots=1)))
    assert len(linear.basis.ramps) == 2
    assert len(additive.basis.ramps) == 4
    assert error(additive) < 0.01 < error(linear) < 0.15


@dataclass(frozen=True)
class BentAtZero(AdditiveFeatures):
    """Curves that bend at zero: all that a strategy has to say differently."""

    def ramps(self, column, kind, marginal, plan):
        return [Ramp(column, *ends, 0.0, 1.0) for ends in ((-1.0, 0.0), (0.0, 1.0))]


def test_a_new_strategy_is_one_class():
    found, _ = fitted(replace(TASK, strategy=BentAtZero()))
    assert error(found) < 0.01
