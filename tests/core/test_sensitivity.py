"""One row more, one row less, one row changed: how far the exact sums move."""

import numpy as np
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from dpfit import _native

from .tables import tables, taus, thetas

quick = settings(max_examples=100, deadline=None)


def exact(table, keep, theta, tau):
    """Return the sums of the rows in `keep`."""
    native = table.map.native
    rows, gram = _native.Rows(native), _native.Gram(native)
    counts = _native.Histogram([_native.Bins.powers(-9, 9)] * (table.x.shape[1] + 1))
    rows.extend(table.x[keep], table.y[keep], gram)
    counts.extend(table.x[keep], table.y[keep])
    sums = [s.insecure_exact() for s in (gram, _native.Gradient.of(rows, theta, tau), counts)]
    return [*sums, [_native.Energy.of(rows, theta, tau).insecure_exact()]]


def square(upper, weights):
    return sum(w * value**2 for w, value in zip(weights, upper, strict=True))


@quick
@given(tables(), taus, st.data())
def test_sums_move_by_no_more_than_their_sensitivity(table, tau, data):
    n = len(table.y)
    assume(n >= 2)
    theta = data.draw(thetas(table.integers[0]))
    first = data.draw(st.integers(0, n - 1))
    second = (first + data.draw(st.integers(1, n - 1))) % n
    everyone = np.arange(n)
    without = exact(table, everyone != first, theta, tau)
    other = exact(table, everyone != second, theta, tau)
    whole = exact(table, everyone, theta, tau)

    def moved(a, b):
        return [[p - q for p, q in zip(u, v, strict=True)] for u, v in zip(a, b, strict=True)]

    features, columns = table.map.features, table.x.shape[1] + 1
    # Off the diagonal an entry of the triangle stands for two of the matrix.
    upper = np.triu_indices(features)
    weights = [1 if i == j else 2 for i, j in zip(*upper, strict=True)]
    gram, gradient, counts, (energy,) = moved(whole, without)
    assert square(gram, weights) <= 2**60
    assert sum(g**2 for g in gradient) <= (2**15 * tau) ** 2
    assert sum(c**2 for c in counts) == columns
    assert 0 <= energy <= tau**2
    # Leaving out one row and leaving out another differ by one replaced row.
    gram, gradient, counts, (energy,) = moved(without, other)
    assert square(gram, weights) <= 2 * 2**60
    assert sum(g**2 for g in gradient) <= (2**16 * tau) ** 2
    assert sum(c**2 for c in counts) <= 2 * columns
    assert abs(energy) <= tau**2
