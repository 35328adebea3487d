"""What the tests of faults that public code has had share.

Every check is used twice: it passes on dpfit as it is, and it fails once the fault is put in.
Checks of noise have false alarms as in `transcript.py`; what is put in is far outside.
"""

from fractions import Fraction

import numpy as np
import pytest

from dpfit import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, _native

from .transcript import COUNT, GRAM, caught, isometric, variance_is

ROUNDS = 10
ESTIMATORS = [
    BoostedAdaSSP(n_rounds=ROUNDS, n_jobs=1),
    AdaSSP(n_jobs=1),
    DPGradientDescent(n_rounds=ROUNDS, n_jobs=1),
    BoostedMean(n_rounds=ROUNDS, n_jobs=1),
]
RELATIONS = ["add_remove", "replace"]
smallest = _native.SMALLEST_SIGMA

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)


def table(rows=8, columns=2):
    rng = np.random.default_rng(7)
    return rng.normal(size=(rows, columns)), rng.normal(size=rows)


def check_noise(estimator, mu=0.25, fits=200, X=None, y=None):
    """Assert that noise has the standard deviation that sensitivities and the budget ask for.

    Only the sensitivities of the record are trusted, which `test_noise_scale.py` checks. What a
    release costs follows from its noise, and every release that was caught counts, whether it is on
    record or not.
    """
    if X is None:
        X, y = table()
    estimator.set_params(mu=mu)
    with caught() as released:
        for _ in range(fits):
            estimator.fit(X, y)
    noise = {}
    for release in released:
        values = release.noise
        if release.statistic == GRAM:
            values = values * isometric(X.shape[1])
        noise.setdefault(release.statistic, []).append(values)
    cost = Fraction(0)
    for event in estimator.privacy_.events:
        values = noise.pop(event.statistic)
        grid = 1.0 if event.statistic == COUNT else 0.0
        assert variance_is(values, event.sigma, grid)
        cost += len(values) * (Fraction(event.sensitivity) / Fraction(event.sigma)) ** 2
    assert not noise
    assert cost <= fits * Fraction(mu) ** 2
