"""What a fit asks for first is summed in the pass that reads the table."""

import numpy as np
import pytest

from dpfit import Numeric, PrivateAdditiveRegression, PrivateLinearRegression, Schema
from dpfit.engine.constants import RangeConstants
from dpfit.statistics import Histograms, PowerBins, RowCount
from dpfit.statistics.table import LocalBatches, Table

MODELS = [PrivateLinearRegression, PrivateAdditiveRegression]


@pytest.fixture
def passes(monkeypatch):
    """Return the statistic of every pass over the batches of a table."""
    found, kept = [], LocalBatches.sum

    def recorded(self, asked):
        found.append(asked)
        return kept(self, asked)

    monkeypatch.setattr(LocalBatches, "sum", recorded)
    return found


def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3))
    return X, X @ [1.0, -1.0, 0.5] + rng.normal(size=2000)


@pytest.mark.parametrize("cls", MODELS, ids=lambda cls: cls.__name__)
def test_rows_and_powers_are_counted_in_one_pass(cls, passes):
    cls(epsilon=5.0).fit(*table())
    first, *rest = passes
    powers = PowerBins(RangeConstants.least_power, RangeConstants.most_power)
    assert first == Histograms((powers,) * 4)
    assert rest
    for later in rest:
        assert isinstance(later, Histograms)
        assert later != first


def test_a_histogram_tells_how_many_rows_are_kept():
    X, y = table()
    X[::5, 1] = np.nan
    y[0] = np.nan
    bins = tuple(None if place < 3 else PowerBins(-4, 4) for place in range(4))
    for missing, rows in (("drop", 1600), ("indicator", 1999)):
        parts = LocalBatches(lambda: [(X[:900], y[:900]), (X[900:], y[900:])], missing, 1)
        counts = Histograms(bins, with_missing=missing == "indicator")
        told = RowCount().told_by(counts, parts.sum(counts))
        assert told.rows == parts.sum(RowCount()).rows == rows
        without = Histograms((*bins[:3], None))
        assert RowCount().told_by(without, parts.sum(without)) is None
        assert Table(parts, [counts]).sum(RowCount()).rows == rows


def test_bins_between_bounds_wait_for_the_number_of_rows(passes):
    schema = Schema({0: Numeric(-3.0, 3.0)})
    PrivateLinearRegression(epsilon=5.0, schema=schema).fit(*table())
    first, *rest = passes
    assert first == RowCount()
    assert any(isinstance(bins, PowerBins) for bins in rest[0].bins)
