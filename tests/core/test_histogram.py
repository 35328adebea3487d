"""Counts against the oracle."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import _native
from dpfit.exceptions import ParameterError

from . import oracle
from .tables import tables, ways

quick = settings(max_examples=100, deadline=None)

EXPONENTS = st.sampled_from([-1022, -1021, -30, -3, 0, 3, 30, 1022, 1023])
EDGES = st.floats(-1e6, 1e6) | st.sampled_from([-1e300, 0.0, 1e300])


@st.composite
def cuts(draw):
    """Draw how a column is cut: the arguments of `Bins`, or none."""
    kind = draw(st.sampled_from(["none", "powers", "equal"]))
    if kind == "powers":
        least, most = sorted((draw(EXPONENTS), draw(EXPONENTS)))
        return "powers", least, most
    if kind == "equal":
        low = draw(EDGES)
        width = draw(st.floats(1e-3, 1e6))
        return (
            "equal",
            low,
            max(low + width, math.nextafter(low, math.inf)),
            draw(st.integers(1, 70)),
        )
    return None


def bins(cut):
    return None if cut is None else getattr(_native.Bins, cut[0])(*cut[1:])


def counts(cut, values):
    """Return the oracle's counts of a column."""
    if cut is None:
        return []
    count = {"powers": oracle.power_counts, "equal": oracle.equal_counts}[cut[0]]
    return count(values, *cut[1:])


@quick
@given(tables(), ways, st.data())
def test_any_table(table, way, data):
    columns = [*table.x.T, table.y]
    chosen = [data.draw(cuts()) for _ in columns]
    histogram = _native.Histogram([bins(cut) for cut in chosen])
    histogram.extend(table.x, table.y, **way)
    expected = [n for cut, values in zip(chosen, columns, strict=True) for n in counts(cut, values)]
    assert histogram.insecure_exact() == expected
    assert histogram.counted == sum(cut is not None for cut in chosen)
    # Every row is in one bin of every column that is counted.
    assert sum(expected) == histogram.counted * len(table.y)


@pytest.mark.parametrize("least", [-1022, -30, 0])
def test_powers_of_two_and_their_neighbours(least):
    powers = [math.ldexp(1.0, e) for e in range(-1074, 1024)]
    near = [v for p in powers for v in (p, math.nextafter(p, 0.0), math.nextafter(p, math.inf))]
    values = np.array([sign * v for v in near for sign in (1.0, -1.0) if math.isfinite(v)])
    histogram = _native.Histogram([_native.Bins.powers(least, 30), None])
    histogram.extend(values[:, None], np.zeros(len(values)))
    assert histogram.insecure_exact() == oracle.power_counts(values, least, 30)


def test_the_ends_of_equal_bins():
    values = np.array([0.0, 0.25, 0.5, 0.75, 1.0, 1.5, -1e308, 1e308])
    histogram = _native.Histogram([_native.Bins.equal(0.0, 1.0, 4), None])
    histogram.extend(values[:, None], np.zeros(8))
    #                                      <0 [0 [¼ [½ [¾ ≥1
    assert histogram.insecure_exact() == [1, 1, 1, 1, 1, 3]
    just_outside, just_inside = math.nextafter(0.0, -1.0), math.nextafter(1.0, 0.0)
    histogram.extend(np.array([[just_outside], [just_inside]]), np.zeros(2))
    assert histogram.insecure_exact() == [2, 1, 1, 1, 2, 3]


def test_lengths():
    assert len(_native.Bins.powers(-30, 30)) == 123
    assert len(_native.Bins.powers(5, 5)) == 3
    assert len(_native.Bins.equal(0.0, 1.0, 64)) == 66


@pytest.mark.parametrize(
    "make",
    [
        lambda: _native.Bins.powers(3, 2),
        lambda: _native.Bins.powers(-1023, 2),
        lambda: _native.Bins.powers(0, 1024),
        lambda: _native.Bins.equal(1.0, 1.0, 4),
        lambda: _native.Bins.equal(1.0, 0.0, 4),
        lambda: _native.Bins.equal(math.nan, 0.0, 4),
        lambda: _native.Bins.equal(0.0, math.inf, 4),
        lambda: _native.Bins.equal(-1e308, 1e308, 4),
        lambda: _native.Bins.equal(0.0, 5e-324, 4),
        lambda: _native.Bins.equal(0.0, 1.0, 0),
        lambda: _native.Bins.equal(0.0, 1.0, 2**20 + 1),
    ],
)
def test_bins_that_cannot_be(make):
    with pytest.raises(ParameterError):
        make()
