"""Files and streams that cannot be read, or only just: what must be said of each."""

import gzip

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

from dpfit import (
    Categorical,
    ParameterError,
    Schema,
    SourceError,
    scan_batches,
    scan_csv,
    scan_parquet,
)

from .bad_tables import (
    DAY,
    KNOWN,
    LISTED,
    NO_ROWS,
    NOT_FINITE,
    NUMBER,
    ROWS,
    SAY_LEVELS,
    TEXT,
    TEXTS,
    WHOLE,
    A,
    Case,
    Y,
    arrow,
    frame,
    with_one,
)

DAMAGED = (SourceError, "cannot be read as Parquet")
LIMIT = "1MB"


def csv(text, **options):
    """Return what writes a CSV file and scans it."""

    def make(folder):
        path = folder / "t.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return scan_csv(path, **{"target": "price", "memory_limit": LIMIT, **options}), None

    return make


def lines(b, header="a,b,price\n"):
    return header + "".join(
        f"{x!r},{v},{y!r}\n" for x, v, y in zip(A.tolist(), b, Y.tolist(), strict=True)
    )


def parquet(*tables, damage=lambda data: data):
    """Return what writes Parquet files, the last of them damaged, and scans their folder."""

    def make(folder):
        for i, table in enumerate(tables):
            pq.write_table(table, folder / f"{i}.parquet", row_group_size=16, use_dictionary=False)
        last = folder / f"{len(tables) - 1}.parquet"
        last.write_bytes(damage(last.read_bytes()))
        return scan_parquet(folder, target="price", memory_limit=LIMIT), None

    return make


def flipped(data):
    """Return bytes of which a part in the middle, that of pages, is another."""
    return data[:200] + bytes(255 - byte for byte in data[200:700]) + data[700:]


def batches(*parts, raises=None):
    """Return a scan of batches, with an error of the program's own at their end."""

    def factory():
        yield from parts
        if raises is not None:
            raise raises

    return lambda _: (scan_batches(factory, target="price", memory_limit=LIMIT), None)


def used_twice(_):
    reader = WHOLE.to_reader()
    reader.read_all()
    return reader, "price"


def failing_stream(_):
    def generate():
        yield from WHOLE.to_batches()
        raise ValueError(TEXT)

    return pa.RecordBatchReader.from_batches(WHOLE.schema, generate()), "price"


def never_again():
    """Return a factory that returns what it returned before."""
    parts = iter([WHOLE, WHOLE])
    return lambda: parts


def changing():
    """Return a factory whose columns are others the second time."""
    tables = iter([WHOLE, WHOLE.rename_columns(["c", "price"])])
    return lambda: [next(tables)]


def lazily_wrong(_):
    texts = pl.LazyFrame({"a": A, "b": ["1.5"] * (ROWS - 1) + [TEXT], "price": Y})
    return texts.with_columns(pl.col("b").cast(pl.Float64)), "price"


CASES = {
    # Lazy frames and streams.
    "a lazy frame that fails": Case(lazily_wrong, SourceError, "the lazy frame cannot be computed"),
    "a reader that was read": Case(used_twice, *NO_ROWS),
    "a stream that fails": Case(failing_stream, SourceError, "cannot be read to its end"),
    "a target beside a stream": Case(
        lambda _: (WHOLE.to_reader(), Y), ParameterError, "give its name"
    ),
    # Batches.
    "a factory that is none": Case(
        lambda _: (scan_batches([WHOLE]), "price"), ParameterError, "factory must be callable"
    ),
    "no batch": Case(batches(), SourceError, "not a single batch"),
    "a batch of another kind": Case(
        batches(WHOLE, np.c_[A, Y]), SourceError, "a batch must be a frame"
    ),
    "a batch with a column less": Case(
        batches(WHOLE, WHOLE.select(["price"])), SourceError, "a batch has no column 'a'"
    ),
    "a batch with a column more": Case(
        batches(WHOLE, arrow(A)[0]), SourceError, "a batch has a column 'b'"
    ),
    "a batch of mixed types": Case(
        batches(WHOLE, frame(with_one(TEXT, NUMBER, object))[0]), SourceError, "of one type"
    ),
    "a batch of text": Case(
        batches(arrow(A)[0], arrow(TEXTS)[0]), SourceError, "holds text in a batch, and numbers"
    ),
    "yes and no, then numbers": Case(
        batches(arrow(A > 0.0)[0], arrow(A)[0]), SourceError, "holds numbers in a batch, and bool"
    ),
    "batches of which one is empty": Case(batches(WHOLE, WHOLE.slice(0, 0), WHOLE)),
    "an error in the middle": Case(
        batches(WHOLE, raises=RuntimeError(TEXT)),
        SourceError,
        "failed with RuntimeError",
    ),
    "an iterator that does not begin anew": Case(
        lambda _: (scan_batches(never_again()), "price"), SourceError, "the same iterator twice"
    ),
    "columns that change": Case(
        lambda _: (scan_batches(changing()), "price"), SourceError, "a batch has no column 'a'"
    ),
    # CSV.
    "CSV": Case(csv(lines(KNOWN)), schema=LISTED),
    "CSV with text": Case(csv(lines(TEXTS)), *SAY_LEVELS),
    "CSV with NA as a level": Case(
        csv(lines(["NA", "u"] * 30)), schema=Schema({1: Categorical(["NA", "u"])})
    ),
    "CSV with NA": Case(csv(lines(["NA", "u"] * 30)), *NOT_FINITE, LISTED),
    "CSV with NA as a level of another column": Case(
        csv(lines(["NA,NA", "u,1.5"] * 30, "a,b,c,price\n")),
        *NOT_FINITE,
        Schema({1: Categorical(["NA", "u"])}),
    ),
    "CSV with a row too long": Case(
        csv(lines(A.tolist()) + f"1,2,3,{TEXT}\n"),
        SourceError,
        "more or fewer values than the header",
    ),
    "CSV with a row too short": Case(
        csv(lines(A.tolist()) + "1\n"), SourceError, "more or fewer values than the header"
    ),
    "CSV without a header": Case(csv("1.5,2.5\n3.5,4.5\n"), ParameterError, "no column 'price'"),
    "CSV of nothing": Case(csv(""), SourceError, "t.csv' is empty"),
    "CSV of an empty line": Case(csv("\n"), SourceError, "t.csv' is empty"),
    "CSV with semicolons, and commas in a text": Case(
        csv(f"a;b;price\n1;{TEXT}, and more;2\n"), SourceError, "delimiter=';' may be meant"
    ),
    "CSV with semicolons": Case(
        csv("a;b;price\n1;2;2\n"), ParameterError, "delimiter=';' may be meant"
    ),
    "CSV with tabs": Case(csv("a\tprice\n1\t2,3\n"), SourceError, r"delimiter='\t' may be meant"),
    "CSV of a header": Case(csv("a,price\n"), *NO_ROWS),
    "CSV with two columns of one name": Case(
        csv("a,a,price\n1,2,3\n"), SourceError, "the same name"
    ),
    "CSV with text after megabytes of numbers": Case(
        csv("a,price\n" + "1.5,2.5\n" * 600_000 + f"{TEXT},2.5\n"),
        SourceError,
        "a value of column 'a' is not of the type",
    ),
    "CSV with text in the target, later": Case(
        csv("price,a\n" + "1.5,2.5\n" * 600_000 + f"{TEXT},2.5\n"),
        SourceError,
        "a value of column 'price' is not of the type",
    ),
    "CSV of other bytes": Case(csv(bytes(range(256)) * 9), SourceError, "the header"),
    "CSV that ends early": Case(
        lambda folder: (
            (folder / "t.csv.gz").write_bytes(gzip.compress(lines(A.tolist()).encode())[:-200]),
            (scan_csv(folder / "t.csv.gz", target="price"), None),
        )[1],
        SourceError,
        "cannot be read as CSV",
    ),
    "a delimiter of two characters": Case(
        csv("", delimiter=";;"), ParameterError, "delimiter must be one character"
    ),
    # Parquet.
    "Parquet": Case(parquet(WHOLE, WHOLE), predictions=2 * ROWS),
    "Parquet that ends early": Case(parquet(WHOLE, damage=lambda data: data[:-9]), *DAMAGED),
    "Parquet that ends early, the second": Case(
        parquet(WHOLE, WHOLE, damage=lambda data: data[: len(data) // 2]), *DAMAGED
    ),
    "Parquet with a damaged page": Case(parquet(WHOLE, WHOLE, damage=flipped), *DAMAGED),
    "Parquet of other bytes": Case(parquet(WHOLE, damage=lambda _: bytes(999)), *DAMAGED),
    "Parquet of no bytes": Case(parquet(WHOLE, damage=lambda _: b""), *DAMAGED),
    "Parquet with a column less": Case(
        parquet(arrow(A)[0], WHOLE), SourceError, "has no column 'b', unlike"
    ),
    "Parquet with a column more": Case(
        parquet(WHOLE, arrow(A)[0]), SourceError, "has a column 'b', unlike"
    ),
    "Parquet with text instead of numbers": Case(
        parquet(arrow(A)[0], arrow(TEXTS)[0]), SourceError, "column 'b' holds text in"
    ),
    "Parquet with dates instead of numbers": Case(
        parquet(arrow(A)[0], arrow([DAY] * ROWS)[0]), SourceError, "column 'b' holds dates in"
    ),
    "Parquet of whole numbers, then of others": Case(
        parquet(arrow([1] * ROWS)[0], arrow(A)[0]), predictions=2 * ROWS
    ),
    "Parquet with null": Case(
        parquet(WHOLE, pa.table({"a": [None], "price": [NUMBER]})), *NOT_FINITE
    ),
    "null in Parquet past the limit": Case(
        parquet(pa.table({"a": [NUMBER] * 99_999 + [None], "price": np.ones(100_000)})),
        *NOT_FINITE,
    ),
    "no file": Case(
        lambda folder: (scan_parquet(folder / "none.parquet"), "price"), SourceError, "no file"
    ),
    "a folder without files": Case(
        lambda folder: (scan_parquet(folder), "price"), SourceError, "no file that ends in .parquet"
    ),
    "a path that is none": Case(
        lambda _: (scan_parquet(["a"]), "price"), ParameterError, "path must be"
    ),
    "a scan without a target": Case(
        lambda _: (scan_batches(lambda: [WHOLE]), None), ValueError, "requires y to be passed"
    ),
    "a scan with a wrong target": Case(
        lambda _: (scan_batches(lambda: [WHOLE], target="prize"), None),
        ParameterError,
        "no column 'prize' to be the target",
    ),
    "a target beside a scan": Case(
        lambda folder: (parquet(WHOLE)(folder)[0], Y), ParameterError, "give its name"
    ),
    "a limit below a megabyte": Case(
        lambda _: (scan_batches(lambda: [WHOLE], memory_limit="10kB"), "price"),
        ParameterError,
        "memory_limit must be at least one megabyte",
    ),
    "a limit that is none": Case(
        lambda _: (scan_batches(lambda: [WHOLE], memory_limit="much"), "price"),
        ParameterError,
        "memory_limit must be at least one megabyte",
    ),
}
