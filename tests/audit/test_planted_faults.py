"""Every planted fault is found, and nothing is found in the honest estimator beside it.

The bounds have a confidence of 1 - 1e-9, so a false alarm is rarer than 1e-8 in all tests here. The
faults are far outside of what chance can hide.
"""

import numpy as np
import pytest

import dpfit.estimator
import dpfit.release
from dpfit import AdaSSP, BoostedMean, DPGradientDescent, _native
from dpfit.accounting import per_round
from dpfit.audit import Neighbours, audit
from dpfit.statistics import Table

from . import faults

CONFIDENCE = 1.0 - 1e-9


def tables(target=1000.0):
    return Neighbours.adding(np.zeros((20, 1)), np.resize([0.5, -0.5], 20), [0.0], target)


@pytest.mark.parametrize("cls", faults.FAULTY, ids=lambda cls: cls.__name__)
def test_a_fault_is_found_in_the_outputs(cls):
    # Where one row changes how others are read, a table has to have others that all agree.
    pair = tables()
    if cls is faults.ScaledByItsLargest:
        pair = Neighbours.adding(np.zeros((50, 1)), np.ones(50), [0.0], 1e6)
    found = audit(cls(), pair, n_fits=400, confidence=CONFIDENCE)
    assert found.exceeds
    assert "NOT AS PRIVATE AS CLAIMED" in str(found)


@pytest.mark.parametrize("cls", [faults.Mean, faults.Laplace], ids=lambda cls: cls.__name__)
def test_honest_noise_passes(cls):
    for pair in (tables(), Neighbours.adding(np.zeros((50, 1)), np.ones(50), [0.0], 1e6)):
        found = audit(cls(), pair, n_fits=400, confidence=CONFIDENCE)
        assert not found.exceeds
        assert "No fault was found" in str(found)


def rows():
    row = faults.row_above_the_bound()
    return Neighbours.adding(np.tile([0.1, 0.2, 0.3], (5, 1)), np.zeros(5), row, 0.0)


@pytest.mark.parametrize(
    ("cls", "problem"), faults.FAULTY_TRANSCRIPTS, ids=lambda case: getattr(case, "__name__", "")
)
def test_a_fault_is_found_in_transcripts(cls, problem):
    found = audit(cls(mu=1.0), rows(), n_fits=32, method="transcript", confidence=CONFIDENCE)
    assert found.exceeds
    assert any(problem in text for text in found.problems)


def test_honest_transcripts_pass():
    found = audit(faults.Sum(mu=1.0), rows(), n_fits=32, method="transcript", confidence=CONFIDENCE)
    assert not found.exceeds
    (pair,) = found.pairs
    # The row is as long as it can be on the grid.
    assert 0.999 < pair.largest_mu <= 1.0


def test_one_row_that_changes_how_others_are_read_is_found():
    # So many rows that the noise hardly shows, unless they are made as small as it.
    X, y = np.full((2000, 1), 0.9), np.ones(2000)
    pair = Neighbours.adding(X, y, [1e6], 1.0)
    for method, fits in (("transcript", 32), ("black_box", 300)):
        for cls, faulty in ((AdaSSP, False), (faults.ScaledRows, True)):
            estimator = cls(mu=1.0, n_jobs=1)
            found = audit(estimator, pair, n_fits=fits, method=method, confidence=CONFIDENCE)
            assert found.exceeds == faulty


ESTIMATORS = [
    BoostedMean(mu=0.5, n_rounds=2, n_jobs=1),
    AdaSSP(mu=0.5, n_jobs=1),
    DPGradientDescent(mu=0.5, n_rounds=2, n_jobs=1),
]
METHODS = ["transcript", "black_box"]
every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)


@every_estimator
@pytest.mark.parametrize("method", METHODS)
def test_a_seed_in_the_releaser_is_found(estimator, method, monkeypatch):
    monkeypatch.setattr(dpfit.estimator, "entropy", lambda _: _native.Entropy.insecure_seed(5))
    found = audit(estimator, "whole", n_fits=200, method=method, confidence=CONFIDENCE)
    assert found.exceeds


@every_estimator
@pytest.mark.parametrize("method", METHODS)
def test_too_little_noise_in_the_releaser_is_found(estimator, method, monkeypatch):
    sigma = dpfit.release._sigma
    monkeypatch.setattr(dpfit.release, "_sigma", lambda s, mu: sigma(s, mu) / 16.0)
    found = audit(estimator, "whole", n_fits=200, method=method, confidence=CONFIDENCE)
    assert found.exceeds


class Less:
    """Sums whose noise is a tenth of what is asked for."""

    def __init__(self, total):
        self._total = total

    def insecure_exact(self):
        return self._total.insecure_exact()

    def release(self, sigma, entropy, **options):
        return self._total.release(sigma / 10.0, entropy, **options)


class LessNoise(faults.RowSum):
    def sum(self, part):
        return Less(super().sum(part))


class FaultySampler(faults.Sum):
    statistic = LessNoise


@pytest.mark.parametrize("method", METHODS)
def test_a_sampler_with_too_little_noise_is_found(method):
    """Nothing but the noise itself shows it."""
    found = audit(FaultySampler(mu=0.5), rows(), n_fits=200, method=method, confidence=CONFIDENCE)
    assert found.exceeds
    assert found.problems == ()
    if method == "transcript":
        assert found.pairs[0].largest_mu <= 0.5
        assert found.pairs[0].shares[0].noise == pytest.approx(0.1, rel=0.2)


class Negative(faults.RowSum):
    """Another statistic with the same sensitivity: the sum of negative rows."""

    name = "minus the sum of rows"

    def sum(self, part):
        return faults.Total([-value for value in super().sum(part).insecure_exact()])


class NoiseUsedTwice(faults.Sum):
    """Two releases with the same noise: in their difference there is none."""

    again = True

    def _fit(self, X, y, spend, releaser):
        seed = int(np.random.default_rng().integers(1 << 40))
        table, found = Table.of(X, y), []
        for place, statistic in enumerate((faults.RowSum(), Negative())):
            number = seed if self.again else seed + place
            releaser._entropy = _native.Entropy.insecure_seed(number)
            found.append(releaser.release(table, statistic, per_round(spend.mu, 2)).value)
        self.coef_ = np.concatenate(found)
        return ()


class NoiseUsedOnce(NoiseUsedTwice):
    again = False


@pytest.mark.parametrize("method", METHODS)
def test_noise_that_is_used_twice_in_a_fit_is_found(method):
    for cls, faulty in ((NoiseUsedTwice, True), (NoiseUsedOnce, False)):
        found = audit(cls(mu=0.5), rows(), n_fits=300, method=method, confidence=CONFIDENCE)
        assert found.exceeds == faulty
