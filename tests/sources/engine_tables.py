"""One table for all engines, in parts, and what must be the same whoever fitted it."""

import pathlib
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import dpfit.release
from dpfit import (
    Categorical,
    Date,
    InsecureSeedWarning,
    Ledger,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)
from dpfit.sources.source import Reading, tell_nothing
from dpfit.statistics import Gradient, MappedGram, ResidualCounts, ResidualSums, RowMap, Scale

CLASSES = [PrivateLinearRegression, PrivateAdditiveRegression]
CITIES = ["Bonn", "Graz", "Köln", "Zug"]
# Dates that are objects, as pandas may have them, are dates only if somebody says so.
SCHEMA = Schema({"built": Date(), "city": Categorical(CITIES), "rooms": Categorical([1, 2, 3, 4])})
# A value that no message may show.
MARKER = 424242.5
MARKER_TEXT = "the-secret-of-row-17"


def table(rows, seed=0):
    """Return numbers, a flag, dates, levels that are texts and levels that are numbers."""
    rng = np.random.default_rng(seed)
    area = rng.lognormal(4.0, 0.5, rows)
    days = rng.integers(0, 9000, rows)
    city, rooms = rng.integers(0, 5, rows), rng.integers(1, 6, rows)
    lift = rng.random(rows) < 0.3
    price = 3.0 * area + 40.0 * lift + 15.0 * (city == 1) - 10.0 * (rooms == 2) + days / 300.0
    first = np.datetime64("1995-01-01")
    seconds = rng.integers(0, 10**8, rows)
    return pa.table(
        {
            "area": area,
            "floor": rng.integers(-1, 12, rows).astype(np.int16),
            "lift": lift,
            "built": first + days,
            "sold": pa.array(first.astype("M8[us]") + seconds * np.timedelta64(1, "s")).cast(
                pa.timestamp("us", "UTC")
            ),
            # The last of each is not listed.
            "city": pa.array([*CITIES, "Ulm"]).take(pa.array(city)),
            "rooms": rooms.astype(np.int32),
            "price": price + rng.normal(0.0, 20.0, rows),
        }
    )


def parquet_files(folder, whole, parts):
    """Write a table as files of equal size; return their paths."""
    step = -(-len(whole) // parts)
    paths = [str(folder / f"{part:02d}.parquet") for part in range(parts)]
    for part, path in enumerate(paths):
        pq.write_table(whole.slice(part * step, step), path)
    return paths


def fitted(cls, X, y="price", *, unit=None, seed=0, **options):
    """Fit with noise that can be repeated."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        model = cls(random_state=seed, **{"schema": SCHEMA, "n_jobs": 1, **options})
        return model.fit(X, y, unit=unit)


def state(model):
    """Return everything that a fit has set, as bytes that are the same for equal values."""
    found = {key: value for key, value in sorted(vars(model).items()) if "_" in (key[0], key[-1])}
    # Twice, so that it does not matter which strings were the same object.
    return pickle.dumps(pickle.loads(pickle.dumps(found)))


def example(engine):
    """Return the code that the documentation has for an engine."""
    page = (pathlib.Path(__file__).parents[2] / "docs" / "how_to" / "engines.md").read_text("utf-8")
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    (found,) = (block for block in blocks if engine in block)
    return found


def chain(error):
    """Return the texts of an error and of all that are attached to it."""
    texts = []
    while error is not None:
        texts += [repr(error), str(error), *getattr(error, "__notes__", ())]
        assert error.__cause__ is None
        error = error.__context__
    return " ".join(texts)


def assert_same_error(whole, frame, kind, y="price", **options):
    """Check that both fits fail alike, and that no message shows the data."""
    texts = []
    for X in (whole, frame):
        with pytest.raises(kind) as caught:
            fitted(PrivateLinearRegression, X, y, **options)
        texts.append(str(caught.value))
        told = chain(caught.value)
        assert str(MARKER) not in told
        assert MARKER_TEXT not in told
    assert texts[0] == texts[1]


def assert_charged_first(frame, path, monkeypatch):
    """Fit with a ledger; check that it has one entry whenever noise is drawn, and afterwards."""
    Ledger.create(path, epsilon=8, delta=1e-6, dataset="homes")
    seen = []

    class Noise(dpfit.release.Noise):
        def __init__(self, *arguments):
            # As another process would see it.
            seen.append(len(Ledger(path).history()))
            super().__init__(*arguments)

    monkeypatch.setattr(dpfit.release, "Noise", Noise)
    schema = Schema({name: kind for name, kind in SCHEMA.items() if name in frame.columns})
    model = PrivateLinearRegression(epsilon=0.5, delta=1e-8, ledger=path, schema=schema)
    model.fit(frame, "price")
    assert len(seen) > 1
    assert set(seen) == {1}
    (entry,) = Ledger(path).history()
    assert entry.mu == pytest.approx(model.privacy_.mu)


def with_units(whole, units, seed=1):
    """Add whose row it is; some have many rows and some few."""
    who = np.random.default_rng(seed).geometric(3.0 / units, len(whole))
    return whole.append_column("who", pa.array(who))


def with_holes(whole, seed=2):
    """Take some values away."""
    frame = whole.to_pandas()
    rng = np.random.default_rng(seed)
    for name in ("area", "price", "sold", "city"):
        frame.loc[rng.random(len(frame)) < 0.02, name] = pd.NaT if name == "sold" else None
    return pa.Table.from_pandas(frame, schema=whole.schema, preserve_index=False)


def sums_of_mapped_rows(source):
    """Return exact sums of rows that were stored, and mapped twice, as bytes."""
    kinds = SCHEMA.resolve(source.names, source.columns, source.declared)
    table = source.table(kinds, Reading("drop", None, None, tell_nothing))
    rng = np.random.default_rng(5)
    scale, columns = Scale(2.0**-8), [(20.0, 50.0, [(-2.0, 2.0, 0.3)])] * source.columns
    first, second = rng.normal(size=(source.columns + 1, 12)), rng.normal(size=(12, 5))
    try:
        stored = table.store(RowMap(columns, (300.0, 100.0), scale, 0.2))
        sums = [stored.sum(MappedGram(first))]
        once = stored.mapped(first, free=True)
        sums.append(once.sum(MappedGram(second)))
        twice = once.mapped(second)
        theta = rng.normal(size=5)
        sums += [
            twice.sum(Gradient(theta, 1000, scale, 2**22)),
            twice.sum(ResidualCounts(theta, (10, 100, 1000), scale)),
            twice.sum(ResidualSums(theta, 900, ((-50, 0), (), (7,), (), (1, 2)), scale)),
            once.sum(Gradient(np.resize(theta, 12), 1000, scale)),
        ]
    finally:
        table.free()
    return [total.to_bytes() for total in sums]
