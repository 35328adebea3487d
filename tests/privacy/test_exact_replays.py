"""Whole runs on tables of every kind lose at most their mu to random neighbours, exactly."""

import pickle

import numpy as np
import pytest

from dpfit import AdaSSP, BoostedAdaSSP, BoostedMean, DPGradientDescent, ParameterError, _native
from dpfit.statistics import RowCount

from .exact_replay import check
from .random_frames import LARGEST, FrameCase

pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")

WILD = [0.0, -0.0, 1.0, 5e-324, -1e-300, 1e-160, 1e154, 2.0**53, 1e308, LARGEST, -LARGEST]


def check_frames(seeds, neighbours, folder, shares):
    for seed in seeds:
        case = FrameCase(seed, folder)
        others = [case.neighbour() for _ in range(neighbours)]
        check(case.fit, case.rows, others, case.estimator.mu, shares)
        try:
            case.evaluate(case.rows)
        except ParameterError:
            # The model does not know the range of its target.
            continue
        check(case.evaluate, case.rows, others, case.estimator.mu, shares)


def paper_case(seed):
    """Draw an estimator of the paper, and arrays for it."""
    rng = np.random.default_rng(seed)
    rows, columns, rounds = int(rng.choice([1, 2, 7, 40])), int(rng.integers(1, 4)), 3

    def size(exponent):
        return float(10.0 ** rng.uniform(-exponent, exponent))

    estimator = [
        lambda: AdaSSP(x_bound=size(5), y_bound=size(2), fit_intercept=rng.random() < 0.5),
        lambda: BoostedAdaSSP(x_bound=size(5), tau=size(2), n_rounds=rounds),
        lambda: BoostedMean(tau=size(2), n_rounds=rounds),
        lambda: DPGradientDescent(clip_norm=size(2), n_rounds=rounds),
    ][rng.integers(4)]()
    estimator.set_params(
        mu=float(rng.choice([0.05, 1.0, 1e4])),
        neighbors=str(rng.choice(["add_remove", "replace"])),
        n_jobs=1,
    )

    def values(*shape):
        drawn = rng.normal(size=shape) * 10.0 ** rng.choice([0, 0, -3, 3])
        return np.where(rng.random(shape) < 0.3, rng.choice(WILD, shape), drawn)

    X, y = values(rows, columns), values(rows)

    def neighbour():
        gone = int(rng.integers(rows))
        if estimator.neighbors == "replace":
            other, target = X.copy(), y.copy()
            other[gone], target[gone] = values(columns), values(1)[0]
            return other, target
        if rows > 1 and rng.random() < 0.5:
            return np.delete(X, gone, axis=0), np.delete(y, gone)
        return np.insert(X, gone, values(columns), axis=0), np.insert(y, gone, values(1)[0])

    return estimator, (X, y), neighbour


def check_paper(seeds, neighbours, shares):
    for seed in seeds:
        estimator, table, neighbour = paper_case(seed)

        def fit(table, estimator=estimator):
            estimator.fit(*table)
            names = sorted(set(vars(estimator)) - {"provenance_"})
            return pickle.dumps([getattr(estimator, name) for name in names])

        others = [neighbour() for _ in range(neighbours)]
        check(fit, table, others, estimator.mu, shares)


def test_frames_lose_no_more_than_mu(tmp_path):
    shares = {}
    check_frames(range(50), 3, tmp_path, shares)
    # Some neighbours are as far away as any can be.
    for name in ("RowCount", "Histograms", "Gradient", "SquaredResiduals", "WeightedCounts"):
        assert shares[name] > 0.99


def test_the_papers_estimators_lose_no_more_than_mu():
    shares = {}
    check_paper(range(150), 4, shares)
    assert min(shares.values()) > 0.9


def test_a_sum_that_moves_too_far_is_noticed(monkeypatch, tmp_path):
    """As if the counts of a histogram told twice the number of rows."""

    def twice(self, other, total):
        told = _native.Count.told_by(total)
        if told is not None:
            told.merge(_native.Count.told_by(total))
        return told

    monkeypatch.setattr(RowCount, "told_by", twice)
    with pytest.raises(AssertionError):
        check_frames(range(20), 3, tmp_path, {})


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 1800, 100))
def test_many_tables_lose_no_more_than_mu(start, tmp_path):
    check_frames(range(start, start + 100), 8, tmp_path, {})
    check_paper(range(start, start + 100), 8, {})
