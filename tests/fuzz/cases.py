"""Random calls of estimators: parameters, tables of every kind, and a marker in one cell."""

import datetime
import math

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq

import dpfit
from dpfit import Binary, Categorical, Date, Numeric, Schema

# Values that are in the data of every call, and that nothing may show.
NUMBER, TEXT, DAY = 76543210987.0625, "Zorbleflux", datetime.date(2031, 7, 19)
UNIT = 867530986753097
LEVELS = ("a", "b", "Ünïcode", "it's")


def one_of(rng, values):
    return values[int(rng.integers(len(values)))]


def parameters(rng, cls):
    """Return parameters, of which few are invalid."""
    found = {"epsilon": one_of(rng, [None, 0.01, 0.5, 1.0, 3.0, 50.0])}
    if rng.random() < 0.2:
        found = {"epsilon": None, "mu": one_of(rng, [1e-3, 0.3, 5.0])}
    found["delta"] = one_of(rng, [None, 1e-9, 1e-6, 0.01])
    found["neighbors"] = one_of(rng, ["add_remove", "replace"])
    found["n_jobs"] = one_of(rng, [None, 1, 1, 2])
    if rng.random() < 0.3:
        found["random_state"] = int(rng.integers(100))
    choices = {
        "missing": ["error", "drop", "drop"],
        "knots": [None, 1, 4],
        "fit_intercept": [True, False],
        "clip_predictions": [True, False],
        "x_bound": [0.1, 1.0, 1e6],
        "y_bound": [0.1, 1.0, 1e6],
        "tau": [0.1, 1.0, 1e6],
        "clip_norm": [0.1, 1.0],
        "n_rounds": [1, 3],
        "n_models": [1, 5, 20],
        "averaging": [0.0, 0.5, 1.0],
        "learning_rate": ["constant", "linear", "none"],
        "ridge": ["adassp", "literal"],
        "verbose": [False, False, True],
    }
    known = cls().get_params()
    for name, values in choices.items():
        if name in known and rng.random() < 0.5:
            found[name] = one_of(rng, values)
    found = {name: value for name, value in found.items() if name in known}
    if rng.random() < 0.15:
        wrong = [-1, 0, math.nan, math.inf, "no", None, [], {}, 1e300, b"x", True]
        found[one_of(rng, sorted(known))] = one_of(rng, wrong)
    return found


def numbers(rng, rows):
    return one_of(
        rng,
        [
            lambda: rng.normal(size=rows),
            lambda: rng.normal(size=rows) * 10.0 ** rng.uniform(-12, 12),
            lambda: np.exp(rng.normal(size=rows) * 4),
            lambda: rng.integers(-5, 6, rows).astype(float),
            lambda: np.zeros(rows),
            lambda: np.where(rng.random(rows) < 0.1, np.nan, rng.normal(size=rows)),
            lambda: np.where(rng.random(rows) < 0.02, np.inf, rng.normal(size=rows)),
            lambda: rng.choice([1e308, -1e308, 5e-324, 0.0], rows),
        ],
    )()


def column(rng, rows, marked):
    """Return a column as a list, and its kind in the schema; None if it need not be listed."""
    place = int(rng.integers(rows))
    which = one_of(rng, ["number", "number", "number", "text", "date", "flag", "code", "mixed"])
    if which == "number":
        values, kind = numbers(rng, rows).tolist(), one_of(rng, [None, None, Numeric(-1, 1)])
        mark = NUMBER
    elif which == "text":
        values = [one_of(rng, [*LEVELS, None, "other"]) for _ in range(rows)]
        kind, mark = one_of(rng, [Categorical(LEVELS), Categorical(LEVELS), None]), TEXT
    elif which == "date":
        start = datetime.date(2000, 1, 1)
        values = [start + datetime.timedelta(days=int(d)) for d in rng.integers(0, 9999, rows)]
        kind, mark = one_of(rng, [None, Date(), Date("1990-01-01", "2030-01-01")]), DAY
    elif which == "flag":
        values, kind = (rng.random(rows) < 0.5).tolist(), one_of(rng, [None, Binary()])
        mark = one_of(rng, [True, NUMBER])
    elif which == "code":
        values = rng.integers(0, 5, rows).tolist()
        kind, mark = one_of(rng, [Categorical([0, 1, 2]), None]), int(UNIT)
    else:
        values = [one_of(rng, [1.5, "a", None, True, b"x", [1], DAY]) for _ in range(rows)]
        kind, mark = None, TEXT
    if marked:
        values[place] = mark
    return values, kind


def table(rng, rows):
    """Return columns by name, and a schema."""
    width = int(rng.integers(1, 5))
    marked = int(rng.integers(width))
    columns, kinds = {}, {}
    for place in range(width):
        values, kind = column(rng, rows, place == marked)
        columns[f"c{place}"] = values
        if kind is not None and rng.random() < 0.9:
            kinds[f"c{place}"] = kind
    target = numbers(rng, rows)
    if rng.random() < 0.5:
        target[int(rng.integers(rows))] = NUMBER
    columns["y"] = target.tolist()
    return columns, kinds


def damaged(rng, path):
    """Cut a file, or change some of its bytes, in a third of the cases."""
    content = bytearray(path.read_bytes())
    if content and rng.random() < 1 / 3:
        if rng.random() < 0.5:
            del content[int(rng.integers(len(content))) :]
        else:
            for place in rng.integers(len(content), size=int(rng.integers(1, 4))):
                content[place] = int(rng.integers(256))
        path.write_bytes(content)
    return path


def given(rng, columns, folder):
    """Return the table as one of the things that `fit` accepts, or nearly; and the target."""
    names = [name for name in columns if name != "y"]
    y = np.array(columns["y"])

    def frame():
        return pd.DataFrame(columns), "y"

    def objects():
        return pd.DataFrame({name: columns[name] for name in names}, dtype=object), y

    def arrow():
        return pa.table(columns), "y"

    def polars():
        return pl.DataFrame(columns, strict=False), "y"

    def lists():
        return list(zip(*(columns[name] for name in names), strict=True)), columns["y"]

    def array():
        return np.array(list(zip(*(columns[name] for name in names), strict=True))), y

    def batches():
        whole = pa.table(columns)
        half = len(whole) // 2
        return dpfit.scan_batches(lambda: [whole.slice(0, half), whole.slice(half)]), "y"

    def stream():
        return pa.table(columns).to_reader(), "y"

    def csv():
        pd.DataFrame(columns).to_csv(folder / "rows.csv", index=False)
        return dpfit.scan_csv(damaged(rng, folder / "rows.csv")), "y"

    def parquet():
        pq.write_table(pa.table(columns), folder / "rows.parquet")
        return dpfit.scan_parquet(damaged(rng, folder / "rows.parquet")), "y"

    forms = [frame, frame, objects, arrow, polars, lists, array, batches, stream, csv, parquet]
    try:
        return one_of(rng, forms)()
    except dpfit.DpfitError:
        raise
    except Exception:
        # The other library does not take such a table.
        return frame()


def call(seed, folder):
    """Return an estimator, and the arguments of its `fit`, perhaps with a file in a folder."""
    rng = np.random.default_rng([11, seed])
    rows = int(one_of(rng, [1, 2, 5, 30, 30, 100, 300]))
    if rng.random() < 0.5:
        cls = one_of(rng, [dpfit.PrivateLinearRegression, dpfit.PrivateAdditiveRegression])
        columns, kinds = table(rng, rows)
        X, y = given(rng, columns, folder)
        options = parameters(rng, cls)
        if kinds and "schema" not in options:
            options["schema"] = Schema(kinds)
        arguments = {}
        if rng.random() < 0.25:
            arguments["unit"] = units(rng, rows)
            options["max_rows"] = int(rng.integers(1, 4))
        return cls, options, (X, y), arguments
    cls = one_of(
        rng,
        [
            dpfit.AdaSSP,
            dpfit.BoostedAdaSSP,
            dpfit.DPGradientDescent,
            dpfit.TukeyEM,
            dpfit.BoostedMean,
        ],
    )
    X = np.stack([numbers(rng, rows) for _ in range(rng.integers(1, 4))], axis=1)
    y = numbers(rng, rows)
    X[rng.integers(rows), 0] = NUMBER
    if rng.random() < 0.3:
        with np.errstate(all="ignore"):
            X = X.astype(one_of(rng, [np.float32, object, str, ">f8", complex]))
    if rng.random() < 0.1:
        y = y[:-1]
    if rng.random() < 0.2:
        X = X.tolist()
    return cls, parameters(rng, cls), (X, y), {}


def units(rng, rows):
    """Return whose rows they are, among them the marker."""
    found = [int(unit) for unit in rng.integers(0, max(rows // 2, 1), rows)]
    found[int(rng.integers(rows))] = UNIT
    forms = [
        lambda: found,
        lambda: np.array(found),
        lambda: [f"{TEXT}{unit}" for unit in found],
        lambda: pd.Series(found),
        lambda: pl.Series(found),
        lambda: [*found[:-1], None],
        lambda: [float(unit) for unit in found],
        lambda: found[:-1],
    ]
    return one_of(rng, forms)()
