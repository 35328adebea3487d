"""Faults of public code in what a row may move, each with a check that would see it."""

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest

import dpfit.paper.adassp
import dpfit.release
from dpfit import AdaSSP, BoostedAdaSSP, ParameterError, _native
from dpfit.accounting import gaussian_sigma
from dpfit.release import Releaser
from dpfit.statistics import RowMap

from .faults import RELATIONS, check_noise, every_estimator, smallest, table
from .neighbours import ROWS
from .transcript import GRAM, fitted, isometric, replayed

# ---------------------------------------------------------------------- rows beyond the bounds


def check_one_sided(estimator, relation):
    """Assert that rows of (0, 100), far beyond the bounds, are clipped and covered by noise.

    A lower bound of 0 taken twice, max(|0|, |0|), would make the sensitivity 0.
    """
    estimator.set_params(neighbors=relation)
    rng = np.random.default_rng(1)
    X, y = rng.uniform(0.0, 100.0, size=(20, 2)), rng.uniform(0.0, 100.0, size=20)
    # One row more, or a row at the one end instead of the other.
    others = {
        "add_remove": (np.vstack([X, [100.0, 100.0]]), np.append(y, 100.0)),
        "replace": (np.vstack([X[:-1], [0.0, 0.0]]), np.append(y[:-1], 0.0)),
    }
    transcript = fitted(estimator, X, y)
    with replayed(transcript) as again:
        estimator.fit(*others[relation])
    events = {event.statistic: event for event in estimator.privacy_.events}
    seen = 0.0
    for one, two in zip(transcript, again, strict=True):
        moved = one.exact - two.exact
        if one.statistic == GRAM:
            moved = moved * isometric(2)
        assert np.linalg.norm(moved) <= events[one.statistic].sensitivity * (1 + 1e-12)
        seen = max(seen, float(np.linalg.norm(moved)))
    assert seen > 0.1
    check_noise(estimator, fits=100, X=X, y=y)


@every_estimator
@pytest.mark.parametrize("relation", RELATIONS)
def test_rows_beyond_the_bounds_are_clipped_and_noised(estimator, relation):
    check_one_sided(estimator, relation)


@every_estimator
def test_a_bound_that_takes_the_lower_end_twice_is_seen(estimator, monkeypatch):
    lower = 0.0

    def faulty(sensitivity, mu):
        bound = max(abs(lower), abs(lower))
        return max(bound * gaussian_sigma(sensitivity, mu), smallest)

    monkeypatch.setattr(dpfit.release, "_sigma", faulty)
    with pytest.raises(AssertionError):
        check_one_sided(estimator, "add_remove")


def check_clipped(estimator):
    """Assert that a row far beyond a bound of one weighs as much as one of norm one."""
    for row in ([100.0, 0.0], [60.0, 80.0], [0.0, 1e300], [1.0, 1.0]):
        gram = fitted(estimator, np.array([row]), np.array([100.0]))[0]
        assert gram.statistic == GRAM
        assert 0.999 <= gram.exact[0] + gram.exact[2] <= 1.0


CLIPPING = [BoostedAdaSSP(n_rounds=2), AdaSSP()]


@pytest.mark.parametrize("estimator", CLIPPING, ids=str)
def test_rows_beyond_the_bound_weigh_no_more_than_it(estimator):
    check_clipped(estimator)


@pytest.mark.parametrize("estimator", CLIPPING, ids=str)
def test_rows_that_are_clipped_elsewhere_are_seen(estimator, monkeypatch):
    """Rows are cut at a hundred, the upper end, where one was asked for."""

    def wider(columns, target, scale, *options, **others):
        columns = [
            (centre, width, [(low, high, gain / 100.0) for low, high, gain in ramps])
            for centre, width, ramps in columns
        ]
        scale = dataclasses.replace(scale, bound=scale.bound * 100.0)
        return RowMap(columns, target, scale, *options, **others)

    monkeypatch.setattr(dpfit.paper.adassp, "RowMap", wider)
    with pytest.raises(AssertionError):
        check_clipped(estimator)


# ------------------------------------------------------------------------ the norm of a clipped row


def awkward_rows():
    """Yield rows of which some have a norm above one after scaling in floats."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        theta = rng.normal(size=rng.integers(1, 7))
        row = ROWS[seed % len(ROWS)](rng, (), theta, 1.0)
        yield np.clip(row, -1e150, 1e150)


def check_norms(scale):
    """Assert that no scaled row is longer than one, in exact arithmetic."""
    for row in awkward_rows():
        assert sum(Fraction(value) ** 2 for value in scale(row)) <= 1


def quantised(row):
    """Return a row as the core keeps it, read off X'X of that row alone with a marker beside it."""
    row_map = _native.RowMap([(0.0, 1.0, [(-math.inf, math.inf, 1.0)])] * len(row), step=1.0)
    gram = _native.Gram(row_map)
    gram.extend(row_map, row[None, :], np.zeros(1))
    squares = gram.insecure_exact()
    places = [i * len(row) - i * (i - 1) // 2 for i in range(len(row))]
    return [Fraction(math.isqrt(squares[place]), 2**15) for place in places]


def clipped_gradient(row):
    """Return a row's clipped gradient as the core adds it up: y = 1, theta = 0, bound one."""
    found = _native.ExampleGradient.of(row[None, :], np.ones(1), np.zeros(len(row)), 1.0)
    return [Fraction(value, 2**24) for value in found.insecure_exact()]


@pytest.mark.parametrize("scale", [quantised, clipped_gradient])
def test_no_row_is_longer_than_the_bound(scale):
    check_norms(scale)


def divided(row):
    with np.errstate(all="ignore"):
        return row / max(1.0, np.linalg.norm(row))


def multiplied(row):
    with np.errstate(all="ignore"):
        return row * min(1.0, 1.0 / max(np.linalg.norm(row), 1e-300))


def rounded_to_the_nearest(row):
    return np.rint(multiplied(row) * 2**15) / 2**15


@pytest.mark.parametrize("scale", [divided, multiplied, rounded_to_the_nearest])
def test_scaling_in_floats_is_seen(scale):
    with pytest.raises(AssertionError):
        check_norms(scale)


# -------------------------------------------------------------------- other faults of public code


def check_smallest_eigenvalue(of):
    """Assert that a row moves the smallest eigenvalue, in units of a row, by at most one.

    Rows lie in a line or a plane; the one that is added does not.
    """
    rng = np.random.default_rng(5)
    for _ in range(50):
        X = np.repeat(rng.normal(size=(rng.integers(1, 3), 3)), 50, axis=0)
        row = rng.normal(size=3) * rng.choice([1e-3, 1.0])
        assert abs(of(np.vstack([X, row])) - of(X)) <= 1.01


def smallest_eigenvalue(X):
    row_map = _native.RowMap([(0.0, 1.0, [(-math.inf, math.inf, 1.0)])] * 3, step=1.0)
    gram = _native.Gram(row_map)
    gram.extend(row_map, X, np.zeros(len(X)))
    return gram.insecure_smallest_eigenvalue() / 2**30


def smallest_positive_eigenvalue(X):
    """The reference code asks for eigenvalues in (0, inf): the next one, if one is zero."""
    X = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    values = np.linalg.eigvalsh(X.T @ X)
    return values[values > 1e-9][0]


def test_the_smallest_eigenvalue_has_the_sensitivity_of_a_row():
    check_smallest_eigenvalue(smallest_eigenvalue)


def test_the_smallest_positive_eigenvalue_is_seen():
    with pytest.raises(AssertionError):
        check_smallest_eigenvalue(smallest_positive_eigenvalue)


@every_estimator
def test_a_table_of_zeros_is_no_special_case(estimator):
    estimator.fit(np.zeros((5, 2)), np.zeros(5))


@every_estimator
def test_fit_leaves_parameters_alone(estimator):
    """Public code has overwritten its bounds with those of the data."""
    before = estimator.get_params()
    estimator.fit(*table())
    assert estimator.get_params() == before
    assert all(estimator.get_params()[name] is value for name, value in before.items())


def test_unknown_schedules_raise_before_the_data_are_read(monkeypatch):
    monkeypatch.setattr(Releaser, "release", None)
    with pytest.raises(ParameterError, match="learning_rate"):
        BoostedAdaSSP(learning_rate="1/T").fit(*table())
