"""One table, and the same rows as every kind of table there is."""

import functools
import itertools
import warnings

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from dpfit import (
    Binary,
    Categorical,
    Date,
    InsecureSeedWarning,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    scan_batches,
    scan_csv,
    scan_parquet,
)

CLASSES = [PrivateLinearRegression, PrivateAdditiveRegression]
TOWNS, GRADES = ("Bonn", "Köln", "Ulm"), (1, 2, 3, 7)
NAMES = ["size", "weight", "rooms", "new", "town", "grade", "sold"]
# CSV files declare neither booleans nor dates.
SCHEMA = Schema(
    {
        "new": Binary(),
        "town": Categorical(TOWNS),
        "grade": Categorical(GRADES),
        "sold": Date(),
    }
)
# The columns of an array have no types of their own that would say what is yes or no.
PLACES = Schema({3: Binary(), 4: Categorical(TOWNS), 5: Categorical(GRADES)})
CODES = Schema({3: Binary(), 4: Categorical((0, 1, 2)), 5: Categorical(GRADES)})


@functools.cache
def houses(rows, holes=False, seed=0):
    """Draw the table as Arrow's; with holes, a value in a hundred is missing."""
    rng = np.random.default_rng(seed)
    size = rng.gamma(4.0, 30.0, size=rows)
    weight = rng.normal(size=rows).astype(np.float32)
    rooms = rng.integers(1, 9, size=rows)
    new = rng.random(rows) < 0.3
    # The last town and the last grade are in no list.
    town, grade = rng.integers(0, 4, size=rows), rng.choice([1, 2, 3, 5, 7], size=rows)
    sold = rng.integers(-9000, 20_000, size=rows)
    price = 3.0 * size + 40.0 * new + 25.0 * (town - 1) - 9.0 * grade + rng.normal(size=rows) * 30
    columns = {
        "size": pa.array(size),
        "weight": pa.array(weight),
        "rooms": pa.array(rooms),
        "new": pa.array(new),
        "town": pa.array(np.array([*TOWNS, "Nowhere"], dtype=object)[town]),
        "grade": pa.array(grade.astype(np.int32)),
        "sold": pa.array(sold.astype("M8[D]")),
        "price": pa.array(price),
    }
    if holes:
        for name, column in columns.items():
            missing = pa.array(rng.random(rows) < 0.01)
            columns[name] = pa.compute.if_else(missing, pa.scalar(None, column.type), column)
    table = pa.table(columns)
    # In chunks that have nothing to do with batches.
    cuts = [0, rows // 7, rows // 7 + 1, rows // 2, rows]
    return pa.concat_tables([table.slice(a, b - a) for a, b in itertools.pairwise(cuts)])


class Stream:
    """Something of which nothing is known but that it gives an Arrow stream."""

    def __init__(self, table):
        self._table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self._table.__arrow_c_stream__(requested_schema)


def objects(table):
    """Return X as an array of objects, and y."""
    X = np.empty((len(table), len(NAMES)), dtype=object)
    for place, name in enumerate(NAMES):
        X[:, place] = table[name].to_pylist()
    return X, table["price"].to_numpy()


def numbers(table):
    """Return X as an array of numbers, with places of towns and days of dates; and y."""
    days = table["sold"].cast(pa.int32())
    names = table["town"].to_pylist()
    towns = [None if t is None else TOWNS.index(t) if t in TOWNS else -1 for t in names]
    columns = [table[name] for name in NAMES[:4]] + [pa.array(towns), table["grade"], days]
    X = np.column_stack([c.cast(pa.float64()).to_numpy(zero_copy_only=False) for c in columns])
    return X, table["price"].to_numpy()


def pandas_frame(table, **types):
    """Return the table as pandas has it, with an index of its own."""
    frame = table.to_pandas()
    frame["sold"] = pd.to_datetime(frame["sold"])
    if table["new"].null_count:
        # Objects otherwise, whose type does not say that they are yes or no.
        frame["new"] = frame["new"].astype("boolean")
    order = np.random.default_rng(5).permutation(len(frame))
    return frame.set_index(pd.Index(order, name="house")).astype(types)


def written(table, folder, parts, write, ending):
    """Write the table to some files; return their folder."""
    folder.mkdir()
    cuts = np.linspace(0, len(table), parts + 1).astype(int)
    for i, (a, b) in enumerate(itertools.pairwise(cuts)):
        write(table.slice(a, b - a), folder / f"part-{i:03}.{ending}")
    return folder


def csv_columns(table):
    """Return the table with single precision as the doubles that it is."""
    place = table.schema.get_field_index("weight")
    return table.set_column(place, "weight", table["weight"].cast(pa.float64()))


def mixed_batches(table):
    """Return a factory of batches: one of pandas, one of polars, one of Arrow, a record batch."""
    step = len(table) // 9 + 1
    parts = [table.slice(start, step) for start in range(0, len(table), step)]
    makers = [
        lambda part: pandas_frame(part).astype({"town": "category"}),
        lambda part: pl.DataFrame(part).with_columns(pl.col("town").cast(pl.Categorical)),
        lambda part: part,
        lambda part: part.combine_chunks().to_batches()[0],
        lambda part: nw.from_native(pl.DataFrame(part)),
        Stream,
    ]
    return lambda: (makers[i % len(makers)](part) for i, part in enumerate(parts))


def with_dictionaries(table):
    place = table.schema.get_field_index("town")
    return table.set_column(place, "town", table["town"].dictionary_encode())


# How to make the table of Arrow's, and a folder, into (X, y, schema).
KINDS = {
    "numpy objects": lambda t, _: (*objects(t), PLACES),
    "numpy numbers": lambda t, _: (*numbers(t), CODES),
    "pandas": lambda t, _: (pandas_frame(t), "price", SCHEMA),
    "pandas and a target": lambda t, _: (
        pandas_frame(t)[NAMES],
        pandas_frame(t)["price"].reset_index(drop=True),
        SCHEMA,
    ),
    "pandas objects": lambda t, _: (pandas_frame(t, town=object), "price", SCHEMA),
    "pandas categories": lambda t, _: (
        pandas_frame(t, town=pd.CategoricalDtype(["Nowhere", *TOWNS[::-1]]), grade="category"),
        "price",
        SCHEMA,
    ),
    "pandas nullable": lambda t, _: (pandas_frame(t).convert_dtypes(), "price", SCHEMA),
    "pandas on Arrow": lambda t, _: (t.to_pandas(types_mapper=pd.ArrowDtype), "price", SCHEMA),
    "polars": lambda t, _: (pl.DataFrame(t), "price", SCHEMA),
    "polars enum": lambda t, _: (
        pl.DataFrame(t).with_columns(pl.col("town").cast(pl.Enum(["Nowhere", *TOWNS]))),
        "price",
        SCHEMA,
    ),
    "polars lazy": lambda t, _: (pl.DataFrame(t).lazy(), "price", SCHEMA),
    "narwhals": lambda t, _: (nw.from_native(pl.DataFrame(t)), "price", SCHEMA),
    "arrow": lambda t, _: (t, "price", SCHEMA),
    "arrow dictionaries": lambda t, _: (with_dictionaries(t), "price", SCHEMA),
    "arrow reader": lambda t, _: (t.to_reader(), "price", SCHEMA),
    "arrow stream": lambda t, _: (Stream(t), "price", SCHEMA),
    "parquet": lambda t, folder: (
        scan_parquet(written(t, folder / "one", 1, pq.write_table, "parquet"), target="price"),
        None,
        SCHEMA,
    ),
    "parquet in 50 files": lambda t, folder: (
        scan_parquet(f"{written(t, folder / '50', 50, pq.write_table, 'parquet')}/part*"),
        "price",
        SCHEMA,
    ),
    "parquet past the limit": lambda t, folder: (
        scan_parquet(
            written(with_dictionaries(t), folder / "past", 2, pq.write_table, "parquet"),
            target="price",
            memory_limit="1MB",
        ),
        None,
        SCHEMA,
    ),
    "csv": lambda t, folder: (
        scan_csv(
            written(csv_columns(t), folder / "csv", 1, pa.csv.write_csv, "csv"), target="price"
        ),
        None,
        SCHEMA,
    ),
    "csv in 3 files": lambda t, folder: (
        scan_csv(written(csv_columns(t), folder / "csv3", 3, pa.csv.write_csv, "csv")),
        "price",
        SCHEMA,
    ),
    "batches": lambda t, _: (scan_batches(mixed_batches(t), target="price"), None, SCHEMA),
}


def seeded(cls, X, y=None, *, unit=None, **options):
    """Fit with noise that can be repeated."""
    options = {"epsilon": 1.0, "random_state": 3, **options}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        return cls(**options).fit(X, y, unit=unit)
