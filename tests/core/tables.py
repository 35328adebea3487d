"""Tables for tests: numbers of every kind, in arrays of every type and layout."""

import math
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from .oracle import Map

DTYPES = [
    np.dtype(kind)
    for kind in (
        *(np.bool_, np.int8, np.int16, np.int32, np.int64),
        *(np.uint8, np.uint16, np.uint32, np.uint64, np.float32, np.float64),
    )
]
# Around the sizes at which the core cuts rows: 16 to a tile, 64 to a strip, 512 to a block.
EDGES = [0, 1, 2, 15, 16, 17, 63, 64, 65, 511, 512, 513, 1100]


def ordinary(rng, shape):
    return rng.normal(size=shape)


def tiny(rng, shape):
    return rng.normal(size=shape) * 5e-324 * 2.0 ** rng.integers(0, 53, size=shape)


def mixed(rng, shape):
    return rng.choice([-1.0, 1.0], size=shape) * 10.0 ** rng.uniform(-300, 300, size=shape)


def one_huge_column(rng, shape):
    x = rng.normal(size=shape)
    if x.size:
        x[..., 0] *= 1e300
    return x


def round_numbers(rng, shape):
    return rng.choice([0.0, -0.0, 0.25, -0.5, 1.0, -1.0, 2.0, 1e150, -1e308], size=shape)


KINDS = [ordinary, tiny, mixed, one_huge_column, round_numbers]


def made(rng, shape, dtype, kind):
    """Return an array of a type: floats of a kind, or integers of the whole range."""
    if dtype.kind == "f":
        with np.errstate(over="ignore", under="ignore"):
            values = kind(rng, shape).astype(dtype)
        return np.nan_to_num(values)
    if dtype.kind == "b":
        return rng.integers(0, 2, size=shape).astype(bool)
    limits = np.iinfo(dtype)
    values = rng.integers(limits.min, limits.max, size=shape, dtype=dtype, endpoint=True)
    return np.where(rng.random(shape) < 0.5, values, values % 5).astype(dtype)


def spaced(x):
    """Return a view that has other values between its own."""
    whole = np.ones([2 * size for size in x.shape], dtype=x.dtype)
    whole[tuple(slice(None, None, 2) for _ in x.shape)] = x
    return whole[tuple(slice(None, None, 2) for _ in x.shape)]


def backwards(x):
    """Return a view with negative strides."""
    turn = tuple(slice(None, None, -1) for _ in x.shape)
    return np.ascontiguousarray(x[turn])[turn]


def backward_columns(x):
    """Return a view whose last axis alone runs backwards."""
    return np.ascontiguousarray(x[..., ::-1])[..., ::-1]


def read_only(x):
    x = x.copy()
    x.flags.writeable = False
    return x


def transposed(x):
    return np.ascontiguousarray(x.T).T


def part_of_wider(x):
    """Return the first columns of a wider array: rows lie apart, their values side by side."""
    whole = np.ones([*x.shape[:-1], x.shape[-1] + 3], dtype=x.dtype)
    whole[..., : x.shape[-1]] = x
    return whole[..., : x.shape[-1]]


def unaligned(x):
    """Return a view of bytes that begin one past where a number may begin."""
    buffer = np.zeros(x.nbytes + 1, dtype=np.uint8)
    view = buffer[1:].view(x.dtype).reshape(x.shape)
    view[...] = x
    return view


def field(x):
    """Return one field of records."""
    records = np.zeros(x.shape, dtype=[("before", np.int8), ("value", x.dtype), ("after", "f4")])
    records["value"] = x
    return records["value"]


LAYOUTS = [
    np.ascontiguousarray,
    np.asfortranarray,
    spaced,
    backwards,
    backward_columns,
    read_only,
    transposed,
    part_of_wider,
    unaligned,
    field,
]


@dataclass(frozen=True)
class Table:
    """Rows in their layout, and the map that they go through."""

    x: np.ndarray
    y: np.ndarray
    map: Map

    def __repr__(self):
        arrays = ", ".join(f"{a.dtype}{a.shape} strides {a.strides}" for a in (self.x, self.y))
        return f"Table({arrays}, {self.map})"

    @property
    def integers(self):
        return self.map.rows(self.x, self.y)


def numbers(low, high):
    """Draw positive numbers of any magnitude between two."""
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@st.composite
def ramps(draw):
    """Draw ramps: everywhere, on both sides of the centre, on one, without an end."""
    low = draw(st.sampled_from([-math.inf, -1e100, -1.0, 0.0]) | st.floats(-3.0, 3.0))
    high = draw(st.sampled_from([math.inf, 1e100, 1.0, 0.0]) | st.floats(-3.0, 3.0))
    if low >= high:
        high = low + draw(st.sampled_from([1e-3, 1.0]))
    return low, high, draw(st.just(1.0) | numbers(1e-2, 10.0))


levels = st.tuples(st.integers(1, 5), st.just(1.0) | numbers(1e-2, 10.0))
"""How many levels, and the height of their features."""


@st.composite
def maps(draw, width):
    """Draw maps of `width` columns, sometimes with nothing to do."""
    columns = [
        draw(levels)
        if draw(st.integers(0, 3)) == 3
        else (
            draw(st.sampled_from([0.0, 0.1, -7.5, 1e9])),
            draw(st.just(1.0) | numbers(1e-3, 1e3)),
            tuple(draw(st.lists(ramps(), max_size=3))) if j else (draw(ramps()),),
        )
        for j in range(width)
    ]
    return Map(
        columns=tuple(columns),
        target=(draw(st.sampled_from([0.0, 0.3, -1e6])), draw(st.just(1.0) | numbers(1e-3, 1e6))),
        step=draw(st.sampled_from([2.0**-18, 2.0**-10, 1.0, 1e-6, 3.7])),
        norm=draw(st.sampled_from(["clip", "weight"])),
        intercept=draw(st.none() | st.floats(1e-6, 1.0, exclude_max=True)),
    )


@st.composite
def tables(draw, most_columns=7):
    """Draw a table of any type and layout, and a map for it."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    rows = draw(st.sampled_from(EDGES) | st.integers(0, 200))
    width = draw(st.integers(1, most_columns))
    x, y = (
        draw(st.sampled_from(LAYOUTS))(
            made(rng, shape, draw(st.sampled_from(DTYPES)), draw(st.sampled_from(KINDS)))
        )
        for shape in ((rows, width), (rows,))
    )
    return Table(x, y, draw(maps(width)))


@st.composite
def thetas(draw, q):
    """Draw a model of any length, sometimes along a row, where predictions are largest."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    theta = rng.normal(size=q.shape[1])
    if len(q) and draw(st.booleans()):
        theta = q[rng.integers(len(q))] / 2.0**15
    return theta * draw(st.just(0.0) | st.just(1.0) | numbers(1e-12, 1e12) | st.just(1e300))


ways = st.fixed_dictionaries(
    {"n_jobs": st.sampled_from([1, 2, 4, None]), "portable": st.booleans()}
)
taus = st.sampled_from([1, 2**20]) | st.integers(1, 2**20)
