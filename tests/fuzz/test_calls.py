"""Random calls end with a model or an error of dpfit, and nothing shows a marker in the data.

It is searched for in errors and what led to them, warnings, logs, standard output and error, the
`repr`, summary, record and SQL of models, their files and their pickles. ``make test-slow`` makes
more than ten thousand calls. Tables have fixed seeds; the noise has not, and nothing depends on it.
"""

import contextlib
import io
import json
import logging
import math
import pickle
import struct
import warnings

import numpy as np
import pytest

from dpfit import DpfitError, InsecureSeedWarning

from .cases import DAY, NUMBER, TEXT, UNIT, call

# As text, and as the bytes of doubles and integers. They are long: among a gigabyte of digits of
# released numbers, one of 15 digits is found by chance with probability 1e-6.
WORDS = [str(NUMBER), TEXT, str(UNIT), str(DAY)]
DAYS = DAY.toordinal() - 719163
BYTES = [
    *(word.encode() for word in WORDS),
    struct.pack("<d", NUMBER),
    struct.pack(">d", NUMBER),
    struct.pack("<q", UNIT),
    struct.pack("<d", float(UNIT)),
    struct.pack("<d", float(DAYS)),
]


class Logs(logging.Handler):
    def __init__(self):
        super().__init__(0)
        self.lines = []

    def emit(self, record):
        self.lines.append(record.getMessage())


def shown_by_error(error):
    """Return all text of an error and of those that led to it."""
    found, waiting = [], [error]
    while waiting:
        if (error := waiting.pop()) is None:
            continue
        notes = getattr(error, "__notes__", [])
        found += [str(error), repr(error), repr(error.args), repr(vars(error)), *notes]
        waiting += [error.__cause__, error.__context__]
    return found


def shown_by_model(model, X, folder):
    """Return all text and bytes that can be had from a model."""
    found = [repr(model), model.privacy_.to_json(), str(model.privacy_), pickle.dumps(model)]
    found += [repr(vars(model).keys()), model._repr_html_()]
    if hasattr(model, "summary"):
        found += [str(model.summary()), model.summary()._repr_html_()]
    if hasattr(model, "to_sql"):
        found.append(model.to_sql("rows"))
        path = folder / "model.json"
        with contextlib.suppress(DpfitError):
            model.save(path)
            found.append(path.read_bytes())
    return found


def run(seed, folder):
    """Make a call; return its error or None, and all that it showed."""
    logs, shown, failed = Logs(), [], None
    streams = io.StringIO(), io.StringIO()
    logging.getLogger().addHandler(logs)
    try:
        with (
            warnings.catch_warnings(record=True) as warned,
            contextlib.redirect_stdout(streams[0]),
            contextlib.redirect_stderr(streams[1]),
        ):
            warnings.simplefilter("always")
            try:
                cls, options, arguments, keywords = call(seed, folder)
                model = cls(**options).fit(*arguments, **keywords)
                shown += shown_by_model(model, arguments[0], folder)
            except Exception as error:
                failed = error
                shown += shown_by_error(error)
    finally:
        logging.getLogger().removeHandler(logs)
    shown += [stream.getvalue() for stream in streams]
    shown += [str(warning.message) for warning in warned] + logs.lines
    assert {warning.category for warning in warned} <= {InsecureSeedWarning}, seed
    return failed, shown


def markers_in(shown):
    """Return the markers that are in texts and bytes."""
    found = {word for text in shown if isinstance(text, str) for word in WORDS if word in text}
    data = [part for part in shown if isinstance(part, bytes)]
    return found | {mark for part in data for mark in BYTES if mark in part}


def check(seeds, folder):
    """Make calls; return how many ended with a model."""
    models = 0
    for seed in seeds:
        failed, shown = run(seed, folder)
        assert failed is None or isinstance(failed, DpfitError), (seed, failed)
        assert not markers_in(shown), (seed, markers_in(shown))
        models += failed is None
    return models


def test_markers_would_be_found():
    shown = [
        f"a number {NUMBER}",
        f"{TEXT} and {UNIT}",
        f"on {DAY}",
        pickle.dumps(np.array([1.0, NUMBER])),
        pickle.dumps({"rows": [NUMBER, float(DAYS)]}),
        json.dumps({"unit": UNIT}).encode(),
    ]
    for text in shown:
        assert markers_in([text]), text
    assert not markers_in([f"{math.pi}", b"nothing"])


def test_some_calls(tmp_path):
    assert check(range(150), tmp_path) > 30


@pytest.mark.slow
@pytest.mark.parametrize("first", range(1000, 11_500, 525))
def test_ten_thousand_calls(first, tmp_path):
    assert check(range(first, first + 525), tmp_path) > 100
