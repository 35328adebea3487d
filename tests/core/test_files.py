"""A store in files: the same bits, no name, and nothing of a batch that failed."""

import sys
from pathlib import Path

import numpy as np
import pytest

from dpfit import _native
from dpfit.exceptions import NotFiniteError

from .oracle import Map

# A file has 32 MiB: at this width, some 16,700 rows.
WIDTH, ROWS = 1000, 40_000
MAP = Map.plain(WIDTH)
TAU = 2**20


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.integers(-100, 100, size=(ROWS, WIDTH), dtype=np.int8), rng.normal(size=ROWS)


def gradient(rows):
    return _native.Gradient.of(rows, np.full(WIDTH, 0.01), TAU).insecure_exact()


def test_files_hold_the_same_rows(table, tmp_path):
    x, y = table
    memory, files = _native.Rows(MAP.native), _native.Rows(MAP.native, directory=str(tmp_path))
    for start in range(0, ROWS, 9_001):
        for rows in (memory, files):
            rows.extend(x[start : start + 9_001], y[start : start + 9_001])
        assert gradient(files) == gradient(memory)
    if sys.platform == "linux":
        # They are files indeed.
        assert str(tmp_path.resolve()) in Path("/proc/self/maps").read_text()
    # And nobody can find them.
    assert list(tmp_path.iterdir()) == []
    assert files.to_bytes() == memory.to_bytes()
    assert gradient(files) == gradient(memory)
    copy = _native.Rows.from_bytes(MAP.native, files.to_bytes())
    assert gradient(copy) == gradient(memory)
    del files
    assert list(tmp_path.iterdir()) == []


def test_rows_added_after_the_first_pass(table, tmp_path):
    x, y = table
    rows = _native.Rows(MAP.native, directory=str(tmp_path))
    rows.extend(x[:20_000], y[:20_000])
    gradient(rows)
    rows.extend(x[20_000:], y[20_000:])
    memory = _native.Rows(MAP.native)
    memory.extend(x, y)
    assert gradient(rows) == gradient(memory)


def test_a_directory_that_is_not_there(table, tmp_path):
    x, y = table
    rows = _native.Rows(MAP.native, directory=str(tmp_path / "missing"))
    gram = _native.Gram(MAP.native)
    # What fits into memory needs no file.
    rows.extend(x[:10], y[:10])
    before = gradient(rows)
    with pytest.raises(OSError, match="rows") as caught:
        rows.extend(x, y, gram)
    assert not any(digit in str(caught.value) for digit in "0123456789")
    assert gradient(rows) == before
    assert not any(gram.insecure_exact())
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("first", [10, 16, 0])
def test_a_batch_that_fails_after_a_file_was_written(table, tmp_path, first):
    x, y = table
    spoilt = y.copy()
    spoilt[-1] = np.nan
    files, memory = _native.Rows(MAP.native, directory=str(tmp_path)), _native.Rows(MAP.native)
    for rows in (files, memory):
        rows.extend(x[:first], y[:first])
        before = gradient(rows)
        with pytest.raises(NotFiniteError):
            rows.extend(x, spoilt)
        assert gradient(rows) == before
        rows.extend(x[:100], y[:100])
    assert gradient(files) == gradient(memory)
    assert list(tmp_path.iterdir()) == []
