"""Bytes come back as what they were, or not at all."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import _native

from .oracle import PLAIN, Map

MAP = Map.plain(4, intercept=0.1)
BINS = [_native.Bins.powers(-3, 3), None, _native.Bins.equal(0.0, 1.0, 4), None, None]
THETA, TAU = np.full(5, 0.1), 2**16


def made():
    """Return something of every kind."""
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(50, 4)), rng.normal(size=50)
    rows, gram, counts = _native.Rows(MAP.native), _native.Gram(MAP.native), _native.Histogram(BINS)
    number = _native.Count(4)
    rows.extend(x, y, gram)
    counts.extend(x, y)
    number.extend(x, y)
    return {
        "rows": rows,
        "gram": gram,
        "histogram": counts,
        "count": number,
        "gradient": _native.Gradient.of(rows, THETA, TAU),
        "energy": _native.Energy.of(rows, THETA, TAU),
    }


THINGS = made()
BLOBS = {kind: thing.to_bytes() for kind, thing in THINGS.items()}
READERS = {
    "rows": lambda blob: _native.Rows.from_bytes(MAP.native, blob),
    "gram": _native.Gram.from_bytes,
    "count": _native.Count.from_bytes,
    "histogram": lambda blob: _native.Histogram.from_bytes(BINS, blob),
    "gradient": _native.Gradient.from_bytes,
    "energy": _native.Energy.from_bytes,
}
kinds = pytest.mark.parametrize("kind", BLOBS)


@kinds
def test_there_and_back(kind):
    back = READERS[kind](BLOBS[kind])
    assert back.to_bytes() == BLOBS[kind]
    if kind == "rows":
        found = _native.Gradient.of(back, THETA, TAU).insecure_exact()
        assert found == THINGS["gradient"].insecure_exact()
    else:
        assert back.insecure_exact() == THINGS[kind].insecure_exact()


@kinds
def test_what_came_back_goes_on(kind):
    if kind == "rows":
        x, y = np.ones((3, 4)), np.ones(3)
        back, original = READERS[kind](BLOBS[kind]), made()["rows"]
        for rows in (back, original):
            rows.extend(x, y)
        found, expected = (
            _native.Gradient.of(r, THETA, TAU).insecure_exact() for r in (back, original)
        )
        assert found == expected
    else:
        back = READERS[kind](BLOBS[kind])
        back.merge(THINGS[kind])
        once, twice = (np.atleast_1d(s.insecure_exact()) for s in (THINGS[kind], back))
        assert [2 * value for value in once.tolist()] == twice.tolist()


@kinds
@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_changed_bytes_are_refused(kind, data):
    blob = bytearray(BLOBS[kind])
    for _ in range(data.draw(st.integers(1, 3))):
        blob[data.draw(st.integers(0, len(blob) - 1))] ^= data.draw(st.integers(1, 255))
    if bytes(blob) != BLOBS[kind]:
        with pytest.raises(ValueError, match=kind):
            READERS[kind](bytes(blob))


@kinds
def test_cut_and_lengthened_bytes_are_refused(kind):
    blob = BLOBS[kind]
    others = [blob[:end] for end in range(len(blob))]
    others += [blob[1:], blob + b"\0", b"\0" + blob, blob + blob, blob[:-16], bytes(len(blob))]
    for other in others:
        with pytest.raises(ValueError, match=kind):
            READERS[kind](other)


@kinds
@settings(max_examples=50, deadline=None)
@given(blob=st.binary(max_size=200))
def test_any_bytes_are_refused(kind, blob):
    with pytest.raises(ValueError, match=kind):
        READERS[kind](blob)
    with pytest.raises(ValueError, match=kind):
        READERS[kind](b"dpfit\x01" + blob)


@kinds
def test_one_kind_is_not_another(kind):
    for other, blob in BLOBS.items():
        if other != kind:
            with pytest.raises(ValueError, match=kind):
                READERS[kind](blob)


@pytest.mark.parametrize(
    "other",
    [
        Map.plain(4, intercept=0.2),
        Map.plain(4, intercept=0.1, norm="weight"),
        Map.plain(4, intercept=0.1, step=2.0**-15),
        Map.plain(4, intercept=0.1, target=(0.0, 2.0)),
        Map.plain(5),
        Map.plain(3, intercept=0.1),
        Map((*MAP.columns[:3], (0.0, 1.0, ((-np.inf, 9.0, 1.0),))), intercept=0.1),
        Map((*MAP.columns[:3], (0.0, 1.0, ((-9.0, np.inf, 1.0),))), intercept=0.1),
        Map((*MAP.columns[:2], (0.0, 1.0, 2 * PLAIN), (0.0, 1.0, ())), intercept=0.1),
    ],
)
def test_another_map_is_not_this_one(other):
    with pytest.raises(ValueError, match="differ"):
        _native.Rows.from_bytes(other.native, BLOBS["rows"])
    with pytest.raises(ValueError, match="differ"):
        _native.Gram(other.native).merge(THINGS["gram"])


def test_other_bins_are_not_these():
    for bins in (
        BINS[::-1],
        BINS[:4],
        [None] * 5,
        [*BINS[:2], _native.Bins.equal(0.0, 2.0, 4), None, None],
    ):
        with pytest.raises(ValueError, match="differ"):
            _native.Histogram.from_bytes(bins, BLOBS["histogram"])


def test_sums_too_large_are_refused_and_nothing_is_changed():
    gram = _native.Gram.from_bytes(BLOBS["gram"])
    for _ in range(200):
        before = gram.insecure_exact()
        try:
            gram.merge(_native.Gram.from_bytes(gram.to_bytes()))
        except OverflowError:
            assert gram.insecure_exact() == before
            assert max(before) >= 2**126
            return
    pytest.fail("sums doubled two hundred times without a limit")


def test_nothing_but_bytes():
    for kind, read in READERS.items():
        for other in (BLOBS[kind].decode("latin1"), None, 5):
            with pytest.raises(TypeError):
                read(other)
