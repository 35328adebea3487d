"""Weighted rows: exact sums, and neighbours that are no further apart than without weights."""

from fractions import Fraction

import numpy as np
import pytest

from dpfit import PrivateAdditiveRegression, PrivateLinearRegression, _native
from dpfit.statistics import RowCount, RowMap, Scale, WeightSum
from dpfit.statistics.statistic import Relation
from dpfit.statistics.table import LocalBatches, Table

from .transcript import caught, largest_share, replayed

RELATIONS = ["add_remove", "replace"]
WEIGHTS = [0.0, -0.0, 5e-324, 1e-9, 0.3, 1.0, 2.0, 2.0000001, 1e300]
MOST = 2.0


def table(X, y, weight, missing="error", most=MOST):
    return Table(LocalBatches(lambda: [([*X.T, weight], y)], missing, 1, max_weight=most))


def rows(count=200, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(count, 2)), rng.normal(size=count), rng.choice(WEIGHTS, count)


def row_map(most=None):
    columns = [(0.0, 1.0, [(-1.5, 1.5, 0.4)])] * 2
    return RowMap(columns, (0.0, 1.0), Scale(2.0**-10), 0.3, max_weight=most)


def stored(X, y, weight):
    """Return the exact X'X of rows with weights."""
    gram = _native.Gram(row_map(MOST).native())
    gram.extend(row_map(MOST).native(), [*X.T, weight], y)
    return gram.insecure_exact()


def test_stored_rows_are_scaled_by_the_root_of_the_weight():
    """Against the same in floats, to one step of each entry."""
    X, y, weight = rows()
    factor = np.sqrt(np.clip(weight / MOST, 0.0, 1.0))
    features = np.column_stack([np.clip(X, -1.5, 1.5) * 0.4, np.full(len(X), np.sqrt(0.3))])
    features /= np.maximum(np.linalg.norm(features, axis=1), 1.0)[:, None]
    integers = np.trunc(features * factor[:, None] * 2.0**15)
    found = stored(X, y, weight)
    expected = (integers.T @ integers)[np.triu_indices(3)]
    np.testing.assert_allclose([float(one) for one in found], expected, atol=3e5)


def test_weights_of_zero_add_nothing_and_those_above_the_bound_are_clipped():
    X, y, _ = rows()
    assert set(stored(X, y, np.zeros(200))) == {0}
    assert stored(X, y, np.full(200, 1e300)) == stored(X, y, np.full(200, MOST))
    plain = _native.Gram(row_map().native())
    plain.extend(row_map().native(), X, y)
    assert stored(X, y, np.full(200, MOST)) == plain.insecure_exact()


@pytest.mark.parametrize("weight", WEIGHTS)
def test_no_row_is_longer_than_one(weight):
    X = np.array([[1e300, -1e300], [0.0, 0.0], [1.5, 1.5], [5e-324, 1.0]])
    for row in X:
        gram = stored(row[None, :], np.zeros(1), np.array([weight]))
        # The diagonal of the upper triangle.
        assert sum(gram[place] for place in (0, 3, 5)) <= 2**30


def test_the_sum_of_weights():
    X, y, weight = rows()
    total = table(X, y, weight).sum(WeightSum())
    exact = Fraction(total.insecure_exact()[0]) / (2**30 - 2**10)
    expected = float(np.clip(weight / MOST, 0.0, 1.0).sum())
    # Roots are truncated to 2**-15.
    assert expected * (1.0 - 1e-3) - 0.1 < exact <= expected
    # Each row adds at most the sensitivity, which is one in units of the largest weight.
    relation = Relation("replace", 3)
    one = table(X[:1], y[:1], np.array([1e300])).sum(WeightSum()).insecure_exact()[0]
    assert 0.999 < 3 * one / WeightSum().sensitivity(relation) <= 1.0
    assert WeightSum().sensitivity(relation) * WeightSum().resolution == pytest.approx(3.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_a_target_that_stands_for_a_bad_weight_is_dropped_everywhere(bad):
    X, y, weight = rows()
    y[5] = bad
    dropped = table(X, y, weight, "drop")
    kept = np.arange(200) != 5
    without = table(X[kept], y[kept], weight[kept], "drop")
    for statistic in (RowCount(), WeightSum()):
        first, second = (each.sum(statistic).to_bytes() for each in (dropped, without))
        assert first == second


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
@pytest.mark.parametrize("mu", [0.5, 50.0])
def test_neighbours_are_as_close_as_the_record_says(relation, cls, mu):
    X, y, weight = rows(300)
    model = cls(mu=mu, neighbors=relation, max_weight=MOST, n_jobs=1)
    rng = np.random.default_rng(1)
    for value in (*WEIGHTS, MOST):
        row, target = rng.normal(size=2) * rng.choice([0.1, 1.0, 1e200]), rng.choice([1.0, -1e300])
        more = np.vstack([X, row]), np.append(y, target), np.append(weight, value)
        first = more if relation == "add_remove" else (X, y, weight)
        second = (X, y, weight) if relation == "add_remove" else tuple(each[1:] for each in more)
        with caught() as transcript:
            model.fit(first[0], first[1], sample_weight=first[2])
        before = model.model_
        with replayed(transcript) as neighbour:
            model.fit(second[0], second[1], sample_weight=second[2])
        assert model.model_.to_dict() == before.to_dict()
        assert largest_share(transcript, neighbour, model.privacy_) <= 1.0


@pytest.mark.parametrize("most", [0.0, -1.0, np.nan, np.inf, 1e101])
def test_the_core_checks_the_bound(most):
    with pytest.raises(ValueError, match="max_weight"):
        row_map(most).native()


def test_the_core_refuses_weights_that_do_not_scale_the_target():
    with pytest.raises(ValueError, match="last column"):
        _native.RowMap([(0.0, 1.0, [])], step=1.0, intercept=0.5, max_weight=1.0)
    column = (0.0, 1.0, [(-1.0, 1.0, 1.0)])
    with pytest.raises(ValueError, match="last column"):
        _native.RowMap([column], step=1.0, norm="weight", max_weight=1.0)


def test_statistics_of_rows_that_are_not_stored_refuse_weights():
    from dpfit.statistics import Gram

    X, y, weight = rows()
    with pytest.raises(ValueError, match="stored rows"):
        table(X, y, weight).sum(Gram(row_map()))
