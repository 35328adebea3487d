"""Files and streams that cannot be read, or only just: what must be said of each."""

import gzip
import io

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
from dpfit.exceptions import Code

from .bad_tables import (
    DAY,
    KNOWN,
    LISTED,
    NO_ROWS,
    NOT_FINITE,
    NOT_UTF8,
    NUMBER,
    ONE_TYPE,
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

DAMAGED = (SourceError, Code.UNREADABLE)
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


class Unopened:
    """A lazy table of another program, which fails when it is asked for its stream."""

    def __arrow_c_stream__(self, requested_schema=None):
        raise ValueError(TEXT)


class FailingFile(io.BytesIO):
    """An open file, such as one that decrypts, that cannot be read."""

    def read(self, size=-1):
        raise ValueError(TEXT)


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
    "a lazy frame that fails": Case(lazily_wrong, SourceError, Code.FAILED),
    "a reader that was read": Case(used_twice, *NO_ROWS),
    "a stream that fails": Case(failing_stream, SourceError, Code.FAILED),
    "a stream that cannot be opened": Case(
        lambda _: (Unopened(), "price"), SourceError, Code.FAILED
    ),
    "a target beside a stream": Case(
        lambda _: (WHOLE.to_reader(), Y), ParameterError, "must be the name of one of its columns"
    ),
    # Batches.
    "a factory that is none": Case(
        lambda _: (scan_batches([WHOLE]), "price"), ParameterError, "factory must be callable"
    ),
    "no batch": Case(batches(), SourceError, Code.NO_ROWS),
    "a batch of another kind": Case(batches(WHOLE, np.c_[A, Y]), SourceError, Code.WRONG_TYPE),
    "a batch with a column less": Case(
        batches(WHOLE, WHOLE.select(["price"])), SourceError, Code.COLUMNS_DIFFER
    ),
    "a batch with a column more": Case(
        batches(WHOLE, arrow(A)[0]), SourceError, Code.COLUMNS_DIFFER
    ),
    "a batch of mixed types": Case(
        batches(WHOLE, frame(with_one(TEXT, NUMBER, object))[0]), *ONE_TYPE
    ),
    "a batch of text": Case(
        batches(arrow(A)[0], arrow(TEXTS)[0]), SourceError, "strings in a batch, but numbers"
    ),
    "yes and no, then numbers": Case(
        batches(arrow(A > 0.0)[0], arrow(A)[0]), SourceError, "numbers in a batch, but bool"
    ),
    "batches of which one is empty": Case(batches(WHOLE, WHOLE.slice(0, 0), WHOLE)),
    "an error in the middle": Case(
        batches(WHOLE, raises=RuntimeError(TEXT)),
        SourceError,
        Code.FAILED,
    ),
    "an iterator that does not begin anew": Case(
        lambda _: (scan_batches(never_again()), "price"), SourceError, "the same iterator twice"
    ),
    "columns that change": Case(
        lambda _: (scan_batches(changing()), "price"), SourceError, Code.COLUMNS_DIFFER
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
        Code.UNREADABLE,
    ),
    "CSV with a row too short": Case(csv(lines(A.tolist()) + "1\n"), SourceError, Code.UNREADABLE),
    "CSV without a header": Case(csv("1.5,2.5\n3.5,4.5\n"), ParameterError, Code.NO_COLUMN),
    "CSV of nothing": Case(csv(""), SourceError, Code.UNREADABLE),
    "CSV of an empty line": Case(csv("\n"), SourceError, Code.UNREADABLE),
    "CSV with semicolons, and commas in a text": Case(
        csv(f"a;b;price\n1;{TEXT}, and more;2\n"), SourceError, Code.DELIMITER
    ),
    "CSV with semicolons": Case(csv("a;b;price\n1;2;2\n"), ParameterError, Code.DELIMITER),
    "CSV with tabs": Case(csv("a\tprice\n1\t2,3\n"), SourceError, Code.DELIMITER),
    "CSV of a header": Case(csv("a,price\n"), *NO_ROWS),
    "CSV with two columns of one name": Case(
        csv("a,a,price\n1,2,3\n"), SourceError, Code.DUPLICATE_COLUMN
    ),
    "CSV with text after megabytes of numbers": Case(
        csv("a,price\n" + "1.5,2.5\n" * 600_000 + f"{TEXT},2.5\n"),
        SourceError,
        Code.MIXED_TYPES,
    ),
    "CSV with text in the target, later": Case(
        csv("price,a\n" + "1.5,2.5\n" * 600_000 + f"{TEXT},2.5\n"),
        SourceError,
        Code.MIXED_TYPES,
    ),
    "CSV of other bytes": Case(csv(bytes(range(256)) * 9), SourceError, "the header"),
    "CSV that ends early": Case(
        lambda folder: (
            (folder / "t.csv.gz").write_bytes(gzip.compress(lines(A.tolist()).encode())[:-200]),
            (scan_csv(folder / "t.csv.gz", target="price"), None),
        )[1],
        SourceError,
        Code.UNREADABLE,
    ),
    "a delimiter of two characters": Case(
        csv("", delimiter=";;"), ParameterError, "delimiter must be one ASCII character"
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
        parquet(arrow(A)[0], WHOLE), SourceError, Code.COLUMNS_DIFFER
    ),
    "Parquet with a column more": Case(
        parquet(WHOLE, arrow(A)[0]), SourceError, Code.COLUMNS_DIFFER
    ),
    "Parquet with text instead of numbers": Case(
        parquet(arrow(A)[0], arrow(TEXTS)[0]), SourceError, "column 'b' contains strings in"
    ),
    "Parquet with dates instead of numbers": Case(
        parquet(arrow(A)[0], arrow([DAY] * ROWS)[0]), SourceError, "column 'b' contains dates in"
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
    "Parquet with a unit that is not UTF-8": Case(
        lambda folder: (*parquet(arrow(NOT_UTF8)[0])(folder), "b"),
        ParameterError,
        Code.UNIT_VALUES,
        options={"max_rows": 2},
    ),
    "an open file that fails": Case(
        lambda _: (scan_parquet(FailingFile(b"PAR1" * 99)), "price"), *DAMAGED
    ),
    "an open CSV file that fails": Case(
        lambda _: (scan_csv(FailingFile(lines(KNOWN).encode())), "price"), *DAMAGED
    ),
    "no file": Case(
        lambda folder: (scan_parquet(folder / "none.parquet"), "price"), SourceError, Code.NO_FILE
    ),
    "a folder without files": Case(
        lambda folder: (scan_parquet(folder), "price"), SourceError, Code.NO_FILE
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
        Code.NO_COLUMN,
    ),
    "a target beside a scan": Case(
        lambda folder: (parquet(WHOLE)(folder)[0], Y),
        ParameterError,
        "must be the name of one of its columns",
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
