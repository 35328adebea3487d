"""One column as numbers: the same value is the same double, whatever the type that holds it."""

import datetime
import decimal
import math
import mmap
import os
import tempfile

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import Binary, Categorical, Numeric, ParameterError
from dpfit.sources.columns import encode_array, encode_arrow
from dpfit.sources.files.scan import size_in_bytes
from dpfit.sources.files.spool import Spool
from dpfit.sources.source import Read

quick = settings(max_examples=100, deadline=None)
UNITS = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
# What a double of days can tell apart, and nanoseconds of 64 bits can hold.
seconds = st.integers(-(2**33), 2**33)
texts = st.text(max_size=3)
levels = st.lists(texts, min_size=1, max_size=9, unique=True)


def encoded(values, kind=None):
    return encode_arrow(values, Numeric() if kind is None else kind, "b")


def same(a, b):
    """Check that two columns are the same doubles."""
    np.testing.assert_array_equal(np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64))


# Dates.


@quick
@given(st.lists(st.none() | seconds, min_size=1))
def test_an_instant_is_the_same_double_in_every_unit(instants):
    expected = [math.nan if s is None else s // 86_400 + (s % 86_400) / 86_400 for s in instants]
    for unit, ticks in UNITS.items():
        whole = [None if s is None else s * ticks for s in instants]
        for zone in (None, "UTC", "Asia/Kolkata", "+05:30"):
            same(encoded(pa.array(whole, pa.timestamp(unit, zone))), expected)
        same(encoded(pa.array(whole, pa.duration(unit))), expected)
        missing = np.array(["NaT" if s is None else s for s in whole], dtype=f"M8[{unit}]")
        same(encode_array(missing, Numeric(), "b"), expected)


@quick
@given(st.lists(st.none() | st.dates(), min_size=1))
def test_a_date_is_its_days_in_every_type(dates):
    epoch = datetime.date(1970, 1, 1)
    expected = [math.nan if day is None else (day - epoch).days for day in dates]
    for kind in (pa.date32(), pa.date64(), pa.timestamp("s"), pa.timestamp("us", "UTC")):
        same(encoded(pa.array(dates, pa.date32()).cast(kind)), expected)
    objects = np.empty(len(dates), dtype=object)
    objects[:] = dates
    same(encode_array(objects, Numeric(), "b"), expected)
    same(encode_array(np.array(dates, dtype="M8[D]"), Numeric(), "b"), expected)


def test_dates_before_and_after_1970_by_hand():
    instants = [-1, -86_400, -43_200, 0, 43_200, 86_399]
    same(
        encoded(pa.array(instants, pa.timestamp("s"))),
        [-1 + 86_399 / 86_400, -1.0, -0.5, 0.0, 0.5, 86_399 / 86_400],
    )
    noon = datetime.time(12)
    for kind in (pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")):
        same(encoded(pa.array([noon, None], kind)), [0.5, math.nan])
    berlin = datetime.timezone(datetime.timedelta(hours=2))
    moment = datetime.datetime(2020, 1, 1, 2, tzinfo=berlin)
    same(encode_array(np.array([moment], dtype=object), Numeric(), "b"), [18_262.0])


# Numbers.


@quick
@given(
    st.lists(st.none() | st.integers(-(10**25), 10**25), min_size=1),
    st.integers(0, 12),
    st.sampled_from([pa.decimal128, pa.decimal256]),
)
def test_a_decimal_is_the_nearest_double(digits, scale, kind):
    values = [None if n is None else decimal.Decimal(n).scaleb(-scale) for n in digits]
    expected = [math.nan if value is None else float(value) for value in values]
    same(encoded(pa.array(values, kind(38, scale))), expected)
    # The same number with other digits behind.
    same(encoded(pa.array(values, kind(38, 12))), expected)


NUMBERS = [
    *(np.bool_, np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64),
    *(np.float16, np.float32, np.float64),
]


@quick
@given(
    st.sampled_from(NUMBERS),
    st.lists(st.integers(0, 100), min_size=1, max_size=40),
    st.integers(0, 9),
    st.data(),
)
def test_numbers_are_what_they_are(dtype, values, start, data):
    """Sliced, in chunks, with nulls, with bytes in the other order."""
    values = np.array(values).astype(dtype)
    expected = values.astype(np.float64)
    same(encode_array(values, Numeric(), "b"), expected)
    same(encode_array(values.astype(values.dtype.newbyteorder("S")), Numeric(), "b"), expected)
    same(encode_array(np.repeat(values, 2)[::2], Numeric(), "b"), expected)
    column = pa.array(values)
    same(encoded(column.slice(start)), expected[start:])
    same(encoded(pa.chunked_array([column, column.slice(start)])), [*expected, *expected[start:]])
    holes = np.array(data.draw(st.lists(st.booleans(), min_size=len(values), max_size=len(values))))
    missing = pa.array(values, mask=holes).slice(start)
    same(encoded(missing), np.where(holes, math.nan, expected)[start:])


def test_columns_of_numbers_are_not_copied():
    for values in (np.arange(9.0), np.arange(9, dtype=np.int16), np.arange(9, dtype=np.float32)):
        assert encode_array(values, Numeric(), "b") is values
        assert np.shares_memory(encode_arrow(pa.array(values), Binary(), "b"), values)


def test_columns_without_rows():
    for kind in (pa.float64(), pa.bool_(), pa.date32(), pa.decimal128(9, 2), pa.null()):
        assert encoded(pa.array([], kind)).shape == (0,)
        assert encoded(pa.chunked_array([], kind)).shape == (0,)
    for kind in (pa.string(), pa.string_view(), pa.dictionary(pa.int8(), pa.string())):
        assert encoded(pa.chunked_array([], kind), Categorical(["u"])).shape == (0,)
    assert encode_array(np.zeros(0, dtype=object), Numeric(), "b").shape == (0,)


# Levels.


@quick
@given(levels, st.lists(st.none() | texts, min_size=1), st.integers(0, 9), st.randoms())
def test_a_text_is_its_place_among_the_levels(levels, values, start, random):
    values = values + levels
    random.shuffle(values)
    kind = Categorical(levels)
    expected = [math.nan if v is None else levels.index(v) if v in levels else -1 for v in values]
    for text in (pa.string(), pa.large_string(), pa.string_view()):
        column = pa.array(values, text)
        same(encoded(column, kind), expected)
        same(encoded(column.slice(start), kind), expected[start:])
        same(
            encoded(pa.chunked_array([column.slice(start), column]), kind),
            [
                *expected[start:],
                *expected,
            ],
        )
    numbered = pa.array(values).dictionary_encode()
    same(encoded(numbered, kind), expected)
    same(encoded(numbered.slice(start), kind), expected[start:])
    # Null among the texts instead of among the numbers.
    same(encoded(pa.array(values).dictionary_encode("encode"), kind), expected)
    objects = np.empty(len(values), dtype=object)
    objects[:] = values
    same(encode_array(objects, kind, "b"), expected)
    if np.array(levels).tolist() == levels:  # NumPy takes zeros at a text's end for none
        same(encode_array(np.array(levels), kind, "b"), range(len(levels)))


@pytest.mark.parametrize("index", [pa.int8(), pa.uint8(), pa.int16(), pa.int64()])
def test_dictionaries_as_large_as_their_numbers_allow(index):
    """And in chunks that have other texts each, more together than the numbers can tell."""
    most = min(2**index.bit_width // (1 if index == pa.uint8() else 2), 300)
    names = [f"level {i}" for i in range(2 * most)]
    kind = Categorical(names[::2])
    parts = [
        pa.DictionaryArray.from_arrays(
            pa.array([*range(most), None][::-1], index), pa.array(names[start : start + most])
        )
        for start in (0, most)
    ]
    codes = [i // 2 if i % 2 == 0 else -1 for i in range(2 * most)]
    expected = [math.nan, *codes[:most][::-1], math.nan, *codes[most:][::-1]]
    same(np.append(encoded(parts[0], kind), encoded(parts[1], kind)), expected)
    same(encoded(pa.chunked_array(parts), kind), expected)


@quick
@given(
    st.lists(st.integers(-5, 5) | st.sampled_from([2**53 - 1, 1 - 2**53]), min_size=1, unique=True),
    st.lists(st.integers(-6, 6) | st.integers(-(2**62), 2**62), min_size=1),
)
def test_a_whole_number_is_its_place_in_any_type(levels, values):
    kind = Categorical(levels)
    expected = [levels.index(v) if v in levels else -1 for v in values]
    whole = np.array(values)
    same(encode_array(whole, kind, "b"), expected)
    same(encode_array(whole.astype(np.float64), kind, "b"), expected)
    same(encoded(pa.array(whole), kind), expected)
    same(encoded(pa.array(whole).dictionary_encode(), kind), expected)
    same(
        encoded(pa.array([decimal.Decimal(v) for v in values], pa.decimal128(38, 3)), kind),
        expected,
    )
    same(encoded(pa.array([None, *values]), kind), [math.nan, *expected])
    same(encode_array(whole + 0.25, kind, "b")[np.abs(whole) < 2**50], -1.0)
    same(encode_array(np.array([1e300]), kind, "b"), [-1])
    for wild in (math.inf, -math.inf):
        same(encode_array(np.array([wild]), kind, "b"), [math.nan])


def test_yes_and_no_are_one_and_zero():
    kind = Categorical([True, False])
    assert kind.levels == (1, 0)
    same(encode_array(np.array([True, False]), kind, "b"), [0, 1])
    same(encoded(pa.array([True, None, False]), kind), [0, math.nan, 1])


@pytest.mark.parametrize("count", [126, 127, 128, 129, 4000])
def test_many_levels(count):
    names = [str(i) for i in range(count)]
    for kind, values in ((Categorical(names), names), (Categorical(range(count)), range(count))):
        same(encoded(pa.array([*values]), kind), range(count))


@pytest.mark.parametrize("kind", [Numeric(), Binary(), Categorical([1]), None])
@pytest.mark.parametrize("values", [["SECRET"], [b"SECRET"], [{"SECRET": 1}], [["SECRET"]]])
def test_what_is_no_number_is_refused_for_its_type(values, kind):
    objects = np.empty(1, dtype=object)
    objects[:] = values
    for encode in (
        lambda: encode_arrow(pa.array(values), kind, "b"),
        lambda: encode_array(objects, kind, "b"),
    ):
        with pytest.raises(ParameterError, match=r"'b' (contains|must contain|has type)") as error:
            encode()
        assert "SECRET" not in str(error.value)


# The spool.

dtypes = st.sampled_from([np.int8, np.int16, np.bool_, np.float32, np.float64, np.uint64])


@st.composite
def read_batches(draw):
    """Draw batches of a few columns, each of any type in any batch."""
    columns = draw(st.integers(1, 4))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    found = []
    for rows in draw(st.lists(st.integers(0, 50), max_size=8)):
        arrays = [rng.integers(0, 2, size=2 * rows).astype(draw(dtypes)) for _ in range(columns)]
        arrays = [array[::2] if draw(st.booleans()) else array[:rows] for array in arrays]
        found.append(Read(arrays, rng.normal(size=rows), [1] * rows))
    return found


@quick
@given(read_batches(), st.integers(0, 3000))
def test_a_spool_gives_what_was_put_in(batches, limit):
    spool = Spool(limit)
    for batch in batches:
        spool.add(batch)
    for _ in range(2):
        again = list(spool)
        assert len(again) == len(batches)
        for found, batch in zip(again, batches, strict=True):
            assert found.unit is None
            pairs = zip([*found.columns, found.target], [*batch.columns, batch.target], strict=True)
            for a, b in pairs:
                assert a.dtype == b.dtype
                np.testing.assert_array_equal(a, b)
    spool.close()
    assert list(spool) == []
    spool.close()


def test_the_file_of_a_spool_has_no_name(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    spool = Spool(2 * mmap.PAGESIZE)
    spool.add(Read([np.zeros(4)], np.zeros(4)))
    assert spool._file is None
    spool.add(Read([np.ones(1000)], np.ones(1000)))
    assert not list(tmp_path.iterdir())
    # In whole pages, which can be mapped and given back one batch at a time.
    pages = -(-16_000 // mmap.PAGESIZE)
    assert os.fstat(spool._file.fileno()).st_size == pages * mmap.PAGESIZE
    assert os.fstat(spool._file.fileno()).st_nlink == 0
    # A second reader, in the middle of which the first goes on.
    first, second = iter(spool), iter(spool)
    next(first)
    np.testing.assert_array_equal(list(second)[1].target, np.ones(1000))
    np.testing.assert_array_equal(next(first).target, np.ones(1000))
    spool.close()


@pytest.mark.parametrize(
    ("size", "expected"),
    [
        (1_000_000, 1_000_000),
        ("1MB", 1_000_000),
        ("500MB", 500_000_000),
        (" 2 gb ", 2_000_000_000),
        ("0.5GB", 500_000_000),
        ("1500kB", 1_500_000),
        ("1TB", 10**12),
        ("2000000B", 2_000_000),
        ("1MiB", 2**20),
        ("1.5GiB", 3 * 2**29),
    ],
)
def test_sizes(size, expected):
    assert size_in_bytes(size) == expected


@pytest.mark.parametrize(
    "size",
    [
        "",
        "MB",
        "much",
        "1 000 MB",
        "-1MB",
        "1e3MB",
        "999kB",
        "1PB",
        999_999,
        -(10**9),
        5e8,
        None,
        True,
    ],
)
def test_wrong_sizes(size):
    with pytest.raises(ParameterError, match='at least one megabyte, for example "500MB"'):
        size_in_bytes(size)
