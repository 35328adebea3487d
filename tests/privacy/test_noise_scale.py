"""The noise has the scale that the record claims: less is a leak, more is a mistake.

Every number that leaves a fit is caught beside its exact value (`transcript.py`), over 2,000 fits
with noise from the operating system. A correct estimator fails by chance: 2e-9 for each of the 82
checks here, so less than once in a million runs.
"""

import functools
import math
from types import SimpleNamespace

import numpy as np
import pytest

from dpfit import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, _native
from dpfit.release import Releaser
from dpfit.statistics import (
    EqualBins,
    Gradient,
    Gram,
    Histograms,
    PowerBins,
    RowCount,
    RowMap,
    Scale,
    SquaredResiduals,
    Table,
)

from .transcript import (
    COUNT,
    EIGENVALUE,
    ENERGY,
    EXAMPLES,
    GRADIENT,
    GRAM,
    TARGET,
    features_histogram,
    fitted,
    isometric,
    largest_correlation_is_chance,
    mean_is_zero,
    sigmas,
    variance_is,
)

FITS = 2000
ROUNDS = 3
MU = 0.3
RELATIONS = ["add_remove", "replace"]
FEATURES = features_histogram(2)
# Of each release of `Direct`: one that takes the part of another would be seen.
SPENT = {FEATURES: 0.3, TARGET: 0.2, ENERGY: 0.5, COUNT: 0.4, GRAM: 0.6, GRADIENT: 0.7}


class Direct:
    """Everything that the estimators without tuning release; the record is the releaser's list.

    Of units with several rows, see `test_budget_of_models.py`.
    """

    tau, step = 3000, 2.0**-10
    bins = (PowerBins(-2, 2), None, EqualBins(-1.0, 1.0, 2), PowerBins(-2, 2))

    def __init__(self, *, neighbors, n_jobs):
        self.neighbors, self.n_jobs = neighbors, n_jobs

    def fit(self, X, y):
        releaser = Releaser(_native.Entropy(), self.neighbors, n_jobs=self.n_jobs)
        table, scale = Table.of(X, y, 1), Scale(self.step, 2.0)
        column = (0.0, 1.0, [(-2.0, 2.0, 0.5)])
        row_map = RowMap([column] * X.shape[1], (0.0, 1.0), scale, None, norm="clip")
        theta = np.full(3, 0.5)
        releaser.release(table, Histograms(self.bins), SPENT[FEATURES], SPENT[TARGET])
        releaser.release(table, RowCount(), SPENT[COUNT])
        stored = table.store(row_map)
        releaser.release(stored, SquaredResiduals(theta, self.tau, scale), SPENT[ENERGY])
        releaser.release(stored, Gram(row_map), SPENT[GRAM])
        releaser.release(stored, Gradient(theta, self.tau, scale), SPENT[GRADIENT])
        self.privacy_ = SimpleNamespace(events=releaser.events)


# Bounds other than one: an estimator that takes the sensitivity for one would be seen.
ESTIMATORS = {
    "boosted": functools.partial(
        BoostedAdaSSP, mu=MU, x_bound=0.5, tau=3.0, n_rounds=ROUNDS, split=(1.0, 2.0, 1.5)
    ),
    "adassp": functools.partial(AdaSSP, mu=MU, x_bound=2.0, y_bound=0.25, fit_intercept=True),
    "descent": functools.partial(
        DPGradientDescent, mu=MU, clip_norm=0.7, n_rounds=ROUNDS, fit_intercept=True
    ),
    "mean": functools.partial(BoostedMean, mu=MU, tau=5.0, n_rounds=ROUNDS),
    "direct": Direct,
}
STATISTICS = [
    *(("boosted", name) for name in ("diagonal", "beside", EIGENVALUE, GRADIENT)),
    *(("adassp", name) for name in ("diagonal", "beside", EIGENVALUE, GRADIENT)),
    *(("descent", name) for name in (EXAMPLES, COUNT)),
    *(("mean", name) for name in (GRADIENT, COUNT)),
    *(
        ("direct", name)
        for name in ("diagonal", "beside", GRADIENT, ENERGY, COUNT, FEATURES, TARGET)
    ),
]
CASES = [
    (name, statistic, relation)
    for name, statistic in STATISTICS
    for relation in RELATIONS
    # How many rows there are is public if rows are only ever replaced; unless some are dropped.
    if (statistic, relation) != (COUNT, "replace") or name == "direct"
]


def table(rows=6):
    rng = np.random.default_rng(5)
    return rng.normal(size=(rows, 3)), rng.normal(size=rows)


@functools.cache
def noise(name, relation):
    """Fit 2,000 times; return the noise of every statistic, a row per fit, and the record."""
    X, y = table()
    estimator = ESTIMATORS[name](neighbors=relation, n_jobs=1)
    collected = {}
    for _ in range(FITS):
        parts = {}
        for release in fitted(estimator, X, y):
            parts.setdefault(release.statistic, []).append(release.noise)
        for statistic, values in parts.items():
            collected.setdefault(statistic, []).append(np.concatenate(values))
    return {name: np.array(rows) for name, rows in collected.items()}, estimator.privacy_


def chosen(name, statistic, relation):
    """Return the noise of a statistic and the standard deviation that is claimed for it."""
    found, record = noise(name, relation)
    if statistic not in ("diagonal", "beside"):
        return found[statistic], sigmas(record)[statistic]
    # Equal noise in isometric coordinates: X'X counts its off-diagonal entries twice.
    weights = isometric(4 if name == "adassp" else 3)
    diagonal = weights == 1.0
    place = diagonal if statistic == "diagonal" else ~diagonal
    return (found[GRAM] * weights)[:, place], sigmas(record)[GRAM]


@pytest.mark.parametrize(("name", "statistic", "relation"), CASES)
def test_noise_has_the_variance_that_the_record_claims(name, statistic, relation):
    values, sigma = chosen(name, statistic, relation)
    assert len(values) == FITS
    grid = 1.0 if statistic in (COUNT, FEATURES, TARGET) else 0.0
    assert variance_is(values, sigma, grid)
    # The check sees a quarter too much and, worse, a fifth too little: seven deviations beyond.
    assert not variance_is(1.25 * values, sigma, grid)
    assert not variance_is(0.8 * values, sigma, grid)


@pytest.mark.parametrize(("name", "statistic", "relation"), CASES)
def test_noise_has_mean_zero(name, statistic, relation):
    values, sigma = chosen(name, statistic, relation)
    assert mean_is_zero(values, sigma)
    assert not mean_is_zero(values + 0.4 * sigma, sigma)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_noise_is_independent_between_statistics_rounds_and_fits(name, relation):
    found, _ = noise(name, relation)
    columns = np.column_stack(list(found.values()))
    # One fit beside the next: a stream that went on, or began anew, would show.
    assert largest_correlation_is_chance(np.column_stack([columns[1:], columns[:-1]]))
    # It would see a round that keeps half of another's noise.
    half = (columns[:, 0] / columns[:, 0].std() + columns[:, -1] / columns[:, -1].std()) / 2
    assert not largest_correlation_is_chance(np.column_stack([columns, half]))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_no_fit_repeats_the_noise_of_another(name, relation):
    found, _ = noise(name, relation)
    columns = np.column_stack(list(found.values()))
    assert len(np.unique(columns, axis=0)) == FITS


B, TAU = {"boosted": 0.5, "adassp": 2.0 * math.sqrt(2.0)}, {"boosted": 3.0, "adassp": 0.25}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("name", ESTIMATORS)
def test_claims_are_those_of_the_table_of_sensitivities(name, relation):
    """Sensitivities follow from the bounds of rows and residuals; each has its share of mu."""
    replace = relation == "replace"
    _, record = noise(name, relation)
    found = {event.statistic: event for event in record.events}
    if name in ("boosted", "adassp"):
        ratio = (1.0, 2.0, 1.5) if name == "boosted" else (1.0, 1.0, 1.0)
        gram, rounds, eigenvalue = np.array(ratio) / np.linalg.norm(ratio) * MU
        count = ROUNDS if name == "boosted" else 1
        expected = {
            GRAM: (B[name] ** 2 * (math.sqrt(2.0) if replace else 1.0), gram, 1),
            EIGENVALUE: (B[name] ** 2, eigenvalue, 1),
            GRADIENT: (B[name] * TAU[name] * (2 if replace else 1), rounds, count),
        }
    elif name == "direct":
        tau = Direct.tau * Direct.step
        sizes = {
            FEATURES: math.sqrt(4.0 if replace else 2.0),
            TARGET: math.sqrt(2.0 if replace else 1.0),
            ENERGY: tau**2,
            COUNT: 1.0,
            GRAM: 4.0 * (math.sqrt(2.0) if replace else 1.0),
            GRADIENT: 2.0 * tau * (2 if replace else 1),
        }
        expected = {statistic: (size, SPENT[statistic], 1) for statistic, size in sizes.items()}
    else:
        share = 0.1 if name == "descent" else 0.3
        size = 0.7 if name == "descent" else 5.0
        statistic = EXAMPLES if name == "descent" else GRADIENT
        part = MU if replace else MU / math.hypot(1.0, share)
        expected = {statistic: (size * (2 if replace else 1), part, ROUNDS)}
        if not replace:
            expected[COUNT] = (1.0, share * part, 1)
    assert found.keys() == expected.keys()
    for statistic, (sensitivity, mu, count) in expected.items():
        event = found[statistic]
        assert event.neighbors == relation
        assert event.count == count
        assert event.mu * math.sqrt(count) == pytest.approx(mu, rel=1e-12)
        # The eigenvalue's is larger by the error of its solver: a few thousandths.
        slack = 3e-3 if statistic == EIGENVALUE else 1e-12
        assert sensitivity * (1 - 1e-12) <= event.sensitivity <= sensitivity * (1 + slack)
        assert event.sigma == pytest.approx(event.sensitivity / event.mu, rel=1e-12)
