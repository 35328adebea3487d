"""The only door out: exact sums plus noise."""

import numpy as np
import pytest

from dpfit import _native
from dpfit.exceptions import ParameterError

from .oracle import Map

MAP = Map.plain(3, intercept=0.1)
BINS = [_native.Bins.powers(-3, 3), None, _native.Bins.equal(0.0, 1.0, 4), None]


def made():
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(500, 3)), rng.normal(size=500)
    rows, gram, counts = _native.Rows(MAP.native), _native.Gram(MAP.native), _native.Histogram(BINS)
    rows.extend(x, y, gram)
    counts.extend(x, y)
    return [gram, _native.Gradient.of(rows, np.zeros(4), 2**16), counts]


STATISTICS = made()
LENGTHS = [10, 4, 15 + 6]
each = pytest.mark.parametrize(
    ("statistic", "length"),
    list(zip(STATISTICS, LENGTHS, strict=True)),
    ids=["gram", "gradient", "histogram"],
)


def scales(length):
    """Return one scale for all, one for each, and one for each through a stride."""
    varied = 2.0 ** np.linspace(-10, 100, length)
    return [2.0**-10, 1, 7.5, np.float64(1e6), 2.0**60, 2.0**100, varied, varied[::-1]]


@each
def test_a_release_is_the_sum_and_the_noise(statistic, length):
    entropy, other = (_native.Entropy.insecure_seed(5) for _ in range(2))
    exact = statistic.insecure_exact()
    for sigma in scales(length):
        noise = _native.rounded_gaussian(sigma, length, other)
        found = statistic.release(sigma, entropy)
        assert found.dtype == np.float64
        assert found.shape == (length,)
        # Added as integers and only then rounded to doubles.
        assert found.tolist() == [float(a + b) for a, b in zip(exact, noise, strict=True)]
    assert statistic.insecure_exact() == exact


@each
def test_releases_differ(statistic, length):
    entropy = _native.Entropy()
    found = [statistic.release(2.0**60, entropy) for _ in range(2)]
    found.append(statistic.release(2.0**60, _native.Entropy()))
    # Two draws agree with probability below 1e-15.
    assert len(np.unique(found)) == 3 * length


@each
def test_the_smallest_scale_shows_the_sums(statistic, length):
    # P(|Z| > 512) is below 2^-189,000.
    found = statistic.release(2.0**-10, _native.Entropy())
    assert found.tolist() == [float(value) for value in statistic.insecure_exact()]


@each
def test_a_refused_release_draws_nothing(statistic, length):
    entropy = _native.Entropy.insecure_seed(6)
    cases = [0.0, -1.0, np.nan, np.inf, 2.0**-11, 2.0**101, np.ones(length + 1), np.ones(0)]
    one_bad = np.ones(length)
    one_bad[-1] = 0.0
    for sigma in [*cases, one_bad]:
        with pytest.raises(ParameterError, match="sigma"):
            statistic.release(sigma, entropy)
    with pytest.raises(ParameterError, match="n_jobs"):
        statistic.release(1.0, entropy, n_jobs=0)
    for sigma in ("1", None, [1.0] * length, np.ones((length, 1)), np.ones(length, dtype=int)):
        with pytest.raises(TypeError):
            statistic.release(sigma, entropy)
    first = statistic.release(1e6, _native.Entropy.insecure_seed(6))
    assert statistic.release(1e6, entropy).tolist() == first.tolist()


def test_threads_change_nothing():
    row_map = Map.plain(120)
    gram = _native.Gram(row_map.native)
    assert gram.features == 120
    found = [
        gram.release(1e9, _native.Entropy.insecure_seed(7), n_jobs=n_jobs).tolist()
        for n_jobs in (1, 2, 4)
    ]
    assert len(found[0]) == 120 * 121 // 2
    assert found[0] == found[1] == found[2]
