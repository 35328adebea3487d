"""Rows with missing values that are kept: neighbours are no further apart than other rows."""

import math

import numpy as np
import pytest

from dpfit import (
    Binary,
    Categorical,
    Numeric,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    _native,
)
from dpfit.schema import Indicators
from dpfit.sources.missing import AddIndicators
from dpfit.statistics import EqualBins, Histograms, PowerBins, RowCount, RowMap, Scale
from dpfit.statistics.statistic import Relation
from dpfit.statistics.table import LocalBatches, Table

from .transcript import caught, features_histogram, largest_share, replayed

RELATIONS = ["add_remove", "replace"]
CLASSES = [PrivateLinearRegression, PrivateAdditiveRegression]
MISSING = [np.nan, np.inf, -np.inf]
KINDS = (Numeric(), Numeric(-1.0, 2.0), Binary(), Categorical([0, 1, 2]), Numeric(missing=False))
SCHEMA = Schema(dict(enumerate(KINDS)))
BINS = (PowerBins(-5, 5), EqualBins(-1.0, 1.0, 4), None, None, PowerBins(0, 3), EqualBins(0, 1, 2))


def rows(count=300, seed=0, holes=0.3):
    """Draw rows of all kinds, with missing values in every column but the last."""
    rng = np.random.default_rng(seed)
    columns = [
        rng.lognormal(size=count),
        rng.normal(size=count),
        rng.integers(0, 2, size=count),
        rng.integers(-1, 4, size=count),
        rng.normal(size=count),
    ]
    X = np.column_stack(columns).astype(np.float64)
    away = rng.random(X.shape) < holes
    away[:, -1] = False
    X[away] = rng.choice(MISSING, size=int(away.sum()))
    return X, rng.normal(size=count)


def adversarial(rng):
    """Yield rows: nothing is there, all is, each alone is there or missing, and far-out values."""
    yield np.full(5, np.nan), 1e300
    yield np.array([np.inf, -np.inf, np.nan, np.inf, 0.0]), -1e300
    yield np.array([1e300, -1e300, 1.0, 2.0, 1e300]), 1.0
    for place in range(4):
        row = rng.normal(size=5) * 1e200
        row[place] = rng.choice(MISSING)
        yield row, rng.choice([1e300, 0.0])
        row = np.full(5, np.nan)
        row[[place, -1]] = 1e200, 1.0
        yield row, rng.choice([-1e300, 0.0])
    yield np.array([1.0, 1.0, 1.0, 1.0, np.nan]), 1.0
    yield np.zeros(5), np.nan


def table(X, y):
    def batches():
        return [AddIndicators(Indicators(KINDS))((X, y))]

    return Table(LocalBatches(batches, "indicator", 1))


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("cls", CLASSES)
@pytest.mark.parametrize("mu", [0.5, 50.0])
def test_neighbours_are_as_close_as_the_record_says(relation, cls, mu):
    X, y = rows()
    model = cls(mu=mu, neighbors=relation, schema=SCHEMA, missing="indicator", n_jobs=1)
    shares = []
    for row, target in adversarial(np.random.default_rng(1)):
        more = np.vstack([X, row]), np.append(y, target)
        first = more if relation == "add_remove" else (X, y)
        second = (X, y) if relation == "add_remove" else tuple(each[1:] for each in more)
        with caught() as transcript:
            model.fit(*first)
        before = model.model_
        with replayed(transcript) as neighbour:
            model.fit(*second)
        assert model.model_.to_dict() == before.to_dict()
        shares.append(largest_share(transcript, neighbour, model.privacy_))
    assert max(shares) <= 1.0
    # The bound is reached: a sensitivity that is stated too small would be noticed.
    assert max(shares) > 0.999


def test_a_missing_value_is_in_the_bin_of_missing_values_and_in_no_other():
    histograms = Histograms(BINS, with_missing=True)

    def counts(X, y):
        part = Table(LocalBatches(lambda: [(X, y)], "indicator", 1))
        found = np.array(part.sum(histograms).insecure_exact())
        ends = np.cumsum([24, 7, 10, 4])
        return np.split(found, ends[:-1])

    empty = [part * 0 for part in counts(np.zeros((1, 5)), np.zeros(1))]
    for value in MISSING:
        for place in (0, 1, 4):
            row = np.zeros((1, 5))
            row[0, place] = value
            found = counts(row, np.zeros(1))
            for part, which in zip(found[:-1], (0, 1, 4), strict=True):
                assert part.sum() == 1
                assert part[-1] == (which == place)
        # Without a target, nothing is counted.
        for part, none in zip(counts(np.zeros((1, 5)), np.array([value])), empty, strict=True):
            np.testing.assert_array_equal(part, none)


@pytest.mark.parametrize("relation", RELATIONS)
def test_the_sensitivity_of_histograms_with_missing_values(relation):
    """By brute force, over pairs of rows in which every subset of values is missing."""
    histograms = Histograms(BINS, with_missing=True)
    rng = np.random.default_rng(0)
    found = []
    for subset in range(32):
        row = rng.normal(size=(1, 5))
        row[0, [place for place in range(5) if subset >> place & 1]] = rng.choice(MISSING)
        y = np.array([subset % 3 / 2.0])
        part = Table(LocalBatches(lambda row=row, y=y: [(row, y)], "indicator", 1))
        found.append(np.array(part.sum(histograms).insecure_exact(), dtype=float))
    claimed = histograms.sensitivity(Relation(relation))
    if relation == "add_remove":
        largest = max(np.linalg.norm(counts) for counts in found)
    else:
        largest = max(np.linalg.norm(one - two) for one in found for two in found)
    assert largest <= claimed
    assert largest == pytest.approx(math.sqrt(4 if relation == "add_remove" else 8), rel=1e-12)


def test_no_row_is_longer_than_one():
    """Flags are features like others: all of them together are within the norm."""
    indicators = Indicators(KINDS)
    gain = 0.5
    columns = [
        (0.0, 1.0, [(-2.0, 0.0, gain), (0.0, 2.0, gain)]),
        (0.0, 1.0, [(0.0, 1.0, gain)]),
        (0.0, 1.0, [(0.0, 1.0, gain)]),
        (4, gain),
        (0.0, 1.0, [(-3.0, 3.0, gain)]),
        *[(0.0, 1.0, [(0.0, 1.0, gain)])] * 3,
    ]
    assert len(columns) == len(indicators.columns)
    native = RowMap(columns, (0.0, 1.0), Scale(2.0**-10), 0.3).native()
    corner = np.flatnonzero(np.equal(*np.triu_indices(native.features)))
    for row, target in adversarial(np.random.default_rng(2)):
        gram = _native.Gram(native)
        x, y = AddIndicators(indicators)((row[None, :], np.array([target])))
        gram.extend(native, x, y, missing="indicator")
        exact = gram.insecure_exact()
        dropped = not np.isfinite(target) or not np.isfinite(row[-1])
        length = sum(exact[int(place)] for place in corner)
        assert (length == 0) == dropped
        assert length <= 2**30


def test_rows_that_are_dropped_are_dropped_by_all_statistics():
    X, y = rows()
    bad_target, bad_column = np.arange(300) % 7 == 0, np.arange(300) % 11 == 0
    y[bad_target], X[bad_column, -1] = np.nan, np.inf
    kept = ~(bad_target | bad_column)
    bins = Histograms((PowerBins(-5, 5),) * 9, with_missing=True)
    for statistic in (RowCount(), bins):
        found, without = table(X, y).sum(statistic), table(X[kept], y[kept]).sum(statistic)
        assert found.to_bytes() == without.to_bytes()
    assert table(X, y).sum(RowCount()).insecure_exact() == int(kept.sum())


def test_which_indicators_there_are_does_not_depend_on_the_rows():
    """Nor do the releases: a table without missing values has the same ones, at the same price."""
    found = []
    for holes in (0.0, 0.3):
        X, y = rows(holes=holes)
        model = PrivateLinearRegression(mu=1.0, schema=SCHEMA, missing="indicator").fit(X, y)
        first = [(e.statistic, e.sensitivity, e.sigma) for e in model.privacy_.events[:3]]
        found.append((model.model_.column_names, model.model_.columns, first[:2]))
        assert features_histogram(3) in [e.statistic for e in model.privacy_.events]
    assert found[0] == found[1]
    names = ["x0", "x1", "x2", "x3", "x4", "x0 (missing)", "x1 (missing)", "x2 (missing)"]
    assert found[0][0] == names
