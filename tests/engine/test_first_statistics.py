"""What a fit asks for first is summed in the pass that reads the table."""

import numpy as np
import pytest

from dpfit import Numeric, PrivateAdditiveRegression, PrivateLinearRegression, Schema
from dpfit.engine.constants import RangeConstants
from dpfit.statistics import Histograms, PowerBins, RowCount
from dpfit.statistics.table import LocalBatches

MODELS = [PrivateLinearRegression, PrivateAdditiveRegression]


@pytest.fixture
def passes(monkeypatch):
    """Return the statistics of every pass over the batches of a table."""
    found = []
    for name in ("sum", "sums"):
        kept = getattr(LocalBatches, name)

        def recorded(self, asked, kept=kept):
            found.append(tuple(asked) if isinstance(asked, tuple) else (asked,))
            return kept(self, asked)

        monkeypatch.setattr(LocalBatches, name, recorded)
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
    assert first == (RowCount(), Histograms((powers,) * 4))
    assert rest
    for (later,) in rest:
        assert isinstance(later, Histograms)
        assert later != first[1]


def test_bins_between_bounds_wait_for_the_number_of_rows(passes):
    schema = Schema({0: Numeric(-3.0, 3.0)})
    PrivateLinearRegression(epsilon=5.0, schema=schema).fit(*table())
    first, *rest = passes
    assert first == (RowCount(),)
    assert any(isinstance(bins, PowerBins) for bins in rest[0][0].bins)
