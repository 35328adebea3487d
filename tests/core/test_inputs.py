"""What is refused, how it is said, and that nothing is left behind."""

import math

import numpy as np
import pytest

from dpfit import _native
from dpfit.exceptions import Code, DpfitError, NotFiniteError, ParameterError

from .oracle import Map

MAP = Map.plain(3, norm="weight", intercept=0.2)
THETA = np.array([0.1, -0.2, 0.3, 0.4])
SECRET = 12345.678


def good(n=40):
    rng = np.random.default_rng(0)
    return rng.normal(size=(n, 3)), rng.normal(size=n)


class Everything:
    """A store and the sums of some rows, and what they should still be after a batch is refused."""

    def __init__(self):
        self.native = MAP.native
        self.rows, self.gram = _native.Rows(self.native), _native.Gram(self.native)
        self.alone = _native.Gram(self.native)
        self.counts = _native.Histogram([_native.Bins.powers(-9, 9)] * 4)
        self.number = _native.Count(3)
        for extend in self.ways:
            extend(*good())
        self.before = self.state()

    @property
    def ways(self):
        """Every call that reads rows."""
        return [
            lambda x, y, **options: self.rows.extend(x, y, self.gram, **options),
            lambda x, y, **options: self.alone.extend(self.native, x, y, **options),
            lambda x, y, **options: self.counts.extend(x, y, **options),
            lambda x, y, **options: self.number.extend(x, y, **options),
        ]

    def state(self):
        gradient = _native.Gradient.of(self.rows, THETA, 2**20)
        statistics = (self.gram, self.alone, self.counts, self.number, gradient)
        return [s.insecure_exact() for s in statistics], self.rows.to_bytes()

    def refuses(self, kind, x, y, match=None, **options):
        for extend in self.ways:
            with pytest.raises(kind, match=match) as caught:
                extend(x, y, **options)
            assert self.state() == self.before
            yield caught.value


@pytest.fixture
def everything():
    return Everything()


@pytest.mark.parametrize(
    "dtype",
    ["float16", "longdouble", "complex128", "object", "U3", "S3", "M8[s]", "m8[s]", ">f8", ">i4"],
)
def test_types_that_are_not_read(everything, dtype):
    x, y = good()
    other = np.zeros(x.shape, dtype=dtype)
    list(everything.refuses(TypeError, other, y, match="X must contain"))
    list(everything.refuses(TypeError, x, other[:, 0], match="y must contain"))


def test_arrays_are_wanted(everything):
    x, y = good()
    for bad_x, bad_y in ((x.tolist(), y), (x, y.tolist()), (None, y), (x, 1.0)):
        list(everything.refuses(TypeError, bad_x, bad_y))


def test_shapes_that_do_not_fit(everything):
    x, y = good()
    cases = [
        (x[0], y, "X must be a 2D array"),
        (x[None], y, "X must be a 2D array"),
        (np.ones(()), y, "X must be a 2D array"),
        (x, x, "y must be a 1D array"),
        (x, y[:-1], "y must be as long as X"),
        (x[:0], y, "y must be as long as X"),
        (x[:, :2], y, "columns"),
        (np.hstack([x, x]), y, "columns"),
        (x[:, :0], y, "columns"),
    ]
    for bad_x, bad_y, words in cases:
        list(everything.refuses(ParameterError, bad_x, bad_y, match=words))


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize("place", ["x", "y", "both"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_what_is_not_finite_is_an_error_that_says_nothing_of_the_rows(
    everything, bad, place, dtype
):
    x, y = (np.full_like(a, SECRET, dtype=dtype) for a in good(937))
    if place != "y":
        x[613, 1] = bad
    if place != "x":
        y[613] = bad
    messages = {str(error) for error in everything.refuses(NotFiniteError, x, y)}
    assert len(messages) == 1
    message = messages.pop()
    assert "NaN or infinity" in message
    assert not any(digit in message for digit in "0123456789")


def test_errors_carry_data(everything):
    x, y = good()
    for error in everything.refuses(NotFiniteError, np.full_like(x, np.nan), y):
        assert (error.code, error.hint) == (Code.NOT_FINITE, "drop or replace such rows")
    for error in everything.refuses(ParameterError, x, y, missing="ignore"):
        assert error.subject == "missing"


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_the_message_does_not_depend_on_how_many_or_where(everything, n_jobs):
    x, y = (np.tile(a, (2_000, 1)[: a.ndim]) for a in good())
    messages = set()
    for spoilt in ([0], [79_999], range(0, 80_000, 2)):
        other = x.copy()
        other[list(spoilt), 2] = np.nan
        errors = everything.refuses(NotFiniteError, other, y, n_jobs=n_jobs)
        messages |= {str(error) for error in errors}
    assert len(messages) == 1


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_dropping_a_row_is_never_having_had_it(n_jobs):
    rng = np.random.default_rng(1)
    n = 70_000
    x, y = rng.normal(size=(n, 3)), rng.normal(size=n)
    x[rng.random((n, 3)) < 0.1] = np.nan
    x[rng.random((n, 3)) < 0.01] = -np.inf
    y[rng.random(n) < 0.1] = np.inf
    keep = np.isfinite(x).all(axis=1) & np.isfinite(y)
    dropped, fewer = Everything(), Everything()
    for extend in dropped.ways:
        extend(x, y, missing="drop", n_jobs=n_jobs)
    for extend in fewer.ways:
        extend(x[keep], y[keep])
    # The store keeps a place for a dropped row, and nothing in it.
    assert dropped.state()[0] == fewer.state()[0] != dropped.before[0]


def test_dropping_every_row(everything):
    x, y = good()
    for extend in everything.ways:
        extend(np.full_like(x, np.nan), y, missing="drop")
        extend(x, np.full_like(y, np.nan), missing="drop")
    assert everything.state()[0] == everything.before[0]


def test_a_gram_of_another_map_leaves_the_store_alone(everything):
    other = _native.Gram(Map.plain(3, norm="clip", intercept=0.2).native)
    with pytest.raises(ValueError, match="differ"):
        everything.rows.extend(*good(), other)
    with pytest.raises(ValueError, match="differ"):
        other.extend(everything.native, *good())
    assert everything.state() == everything.before
    assert other.insecure_exact() == [0] * 10


def test_words_that_are_not_known(everything):
    for missing in ("Error", "", "ignore"):
        list(everything.refuses(ParameterError, *good(), match="missing", missing=missing))


@pytest.mark.parametrize("n_jobs", [0, 1025, -1, 2**64])
def test_bad_n_jobs(everything, n_jobs):
    list(everything.refuses(ParameterError, *good(), match="n_jobs", n_jobs=n_jobs))
    with pytest.raises(ParameterError, match="n_jobs"):
        _native.Gradient.of(everything.rows, THETA, 5, n_jobs=n_jobs)
    with pytest.raises(ParameterError, match="n_jobs"):
        _native.rounded_gaussian(1.0, 3, _native.Entropy(), n_jobs=n_jobs)


@pytest.mark.parametrize("tau", [0, -1, 2**20 + 1, 2**31, -(2**40)])
def test_bad_tau(everything, tau):
    with pytest.raises(ParameterError, match="tau"):
        _native.Gradient.of(everything.rows, THETA, tau)


def test_bad_theta(everything):
    for bad in (math.nan, math.inf, -math.inf):
        for call in (
            lambda theta: _native.Gradient.of(everything.rows, theta, 5),
            lambda theta: _native.round_theta(theta, 1.0),
        ):
            theta = THETA.copy()
            theta[2] = bad
            with pytest.raises(ParameterError, match="theta must be finite"):
                call(theta)
    for theta in (THETA[:3], THETA[:0], np.ones(5)):
        with pytest.raises(ParameterError, match="coefficients: expected 4"):
            _native.Gradient.of(everything.rows, theta, 5)
    for theta in (THETA.astype(np.float32), THETA[None], THETA.tolist(), None):
        with pytest.raises(TypeError):
            _native.Gradient.of(everything.rows, theta, 5)


@pytest.mark.parametrize("step", [0.0, -1.0, math.nan, math.inf])
def test_bad_unit_of_theta(step):
    with pytest.raises(ParameterError, match="step"):
        _native.round_theta(THETA, step)


COLUMN = {"centre": 0.0, "scale": 1.0, "low": -1.0, "high": 1.0, "gain": 1.0}


def column(**changes):
    """Return a column of one ramp."""
    centre, scale, *ramp = (COLUMN | changes).values()
    return centre, scale, [tuple(ramp)]


@pytest.mark.parametrize(
    ("name", "bad"),
    [
        *[("centre", value) for value in (math.nan, math.inf, -math.inf)],
        *[
            (n, v)
            for n in ("scale", "gain")
            for v in (0.0, -1.0, math.nan, math.inf, 1e101, 1e-101)
        ],
        *[("low", value) for value in (math.nan, math.inf, 1e101, -1e101)],
        *[("high", value) for value in (math.nan, -math.inf, 1e101, -1e101, -1.0, -2.0)],
    ],
)
def test_bad_column(name, bad):
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        _native.RowMap([column(**{name: bad})], step=1.0)
    # A ramp among others.
    centre, scale, ramps = column(**{name: bad})
    with pytest.raises(ParameterError, match=f"^{name} must be"):
        _native.RowMap([column(), (centre, scale, [(0.0, 1.0, 1.0), *ramps])], step=1.0)


@pytest.mark.parametrize(
    "other",
    [
        (0.0, 1.0),
        (0.0, 1.0, math.inf, 1.0, ()),
        (0.0, 1.0, (-1.0, 1.0, 1.0)),
        (0.0, 1.0, [(-1.0, 1.0)]),
        (0.0, 1.0, [(-1.0, 1.0, None)]),
        (0.0, 1.0, None),
    ],
)
def test_a_column_of_another_shape(other):
    with pytest.raises((TypeError, ValueError)):
        _native.RowMap([other], step=1.0)


@pytest.mark.parametrize(
    ("name", "options"),
    [
        *[("step", {"step": value}) for value in (0.0, -1.0, math.nan, math.inf)],
        *[("intercept", {"intercept": value}) for value in (0.0, 1.0, -0.1, math.nan)],
        *[("norm", {"norm": value}) for value in ("", "Clip", "l2")],
        ("centre", {"target": (math.nan, 1.0)}),
        ("scale", {"target": (0.0, 0.0)}),
    ],
)
def test_bad_map(name, options):
    with pytest.raises(ParameterError, match=name) as caught:
        _native.RowMap([column()], **({"step": 1.0} | options))
    assert isinstance(caught.value, ValueError)
    assert isinstance(caught.value, DpfitError)


def test_bad_number_of_features():
    for width in (0, 8193):
        with pytest.raises(ParameterError, match="features"):
            _ = Map.plain(width).native


def test_nothing_private_is_printed(everything):
    x, y = np.full((5, 3), SECRET), np.full(5, SECRET)
    for extend in everything.ways:
        extend(x, y)
    for thing in (everything.rows, everything.gram, everything.counts, everything.native):
        assert not any(digit in repr(thing).split(" at 0x")[0] for digit in "0123456789")


def test_more_rows_than_any_memory_holds():
    rows = _native.Rows(Map.plain(1).native)
    rows.extend(np.ones((3, 1)), np.ones(3))
    before = rows.to_bytes()
    for n in (2**50, 2**60, 2**61, 2**62):
        one = np.broadcast_to(np.int8(1), n)
        with pytest.raises((MemoryError, OSError, OverflowError, ParameterError)):
            rows.extend(one[:, None], one)
        assert rows.to_bytes() == before
