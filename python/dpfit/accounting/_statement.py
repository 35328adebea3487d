"""Wording of a privacy record, for people who decide and do not compute."""

from __future__ import annotations

import html
import math
import re
from collections.abc import Sequence
from decimal import ROUND_CEILING, Context, Decimal
from statistics import NormalDist
from typing import TYPE_CHECKING

from dpfit.accounting.events import Event, Release

if TYPE_CHECKING:
    from dpfit.accounting.record import PrivacyRecord

__all__ = ["as_html", "as_paragraph", "as_text", "factor_up", "named_unit", "noticed"]

_FALSE_ALARMS = 0.05
_WEAK_EPSILON = 10.0
_LARGEST_SHOWN_FACTOR = 1e6
# What `describe_unit` writes.
_UNIT = re.compile(r"one unit, at most (\d+) rows?")


def as_text(record: PrivacyRecord) -> str:
    """Return the record as a few aligned lines."""
    rows = _rows(record)
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in rows)


def as_html(record: PrivacyRecord) -> str:
    """Return the record as an HTML table with its statement below."""
    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in _rows(record)
    )
    return f"<table>{cells}</table><p>{html.escape(as_paragraph(record))}</p>"


def as_paragraph(record: PrivacyRecord) -> str:
    """Return the record as a paragraph of plain English."""
    sentences = []
    if record.insecure_seed:
        sentences.append(
            "NOT PRIVATE: the noise came from a fixed seed, so whoever knows or guesses the seed "
            "can remove it. With a random seed the following would hold."
        )
    sentences += [_protected(record), *_promise(record), _test(record), _releases(record)]
    sentences.append(
        "This holds if the bounds and other settings were chosen without a look at the data. The "
        "cost adds to that of everything else released from the same data."
    )
    sentences += [note if note.endswith((".", "!", "?")) else f"{note}." for note in record.notes]
    return " ".join(sentences)


def named_unit(unit: str, column: str | None) -> str:
    """Return what is protected, without how many rows of it are used: "one patient".

    A name that is no word is in quotes, in which what cannot be printed is spelled out.
    """
    if _UNIT.fullmatch(unit) is None:
        return unit
    if column is None:
        return "one unit"
    return f"one {column if column.isidentifier() else repr(column)}"


def _protected(record: PrivacyRecord) -> str:
    if record.neighbors == "replace":
        change = "replaced by any other; how many there are is treated as public"
    else:
        change = "added or removed"
    used = _UNIT.fullmatch(record.unit)
    if used is None:
        return f"Protected is {record.unit}, {change}."
    at_most = "1 row of each is" if used[1] == "1" else f"{used[1]} rows of each are"
    return f"Protected is {record.protected} with all rows, {change}. At most {at_most} used."


def _promise(record: PrivacyRecord) -> list[str]:
    happens = "replaced" if record.neighbors == "replace" else "in the data"
    if record.epsilon is None or record.delta is None:
        return [
            f"Finding out from the result whether it was {happens} is at least as hard as finding "
            f"out whether one random number came from a normal distribution with mean 0 or from "
            f"one with mean {_up(record.mu or 0.0)}, both with variance 1 (Gaussian differential "
            "privacy)."
        ]
    shown = factor_up(record.epsilon) or f"e^{_up(record.epsilon)}"
    further = f", and a further {_up(record.delta)} (delta)" if record.delta > 0.0 else ""
    sentences = [
        f"Whether it was {happens} or not changes the probability of every possible result by at "
        f"most a factor of {shown} (epsilon = {_up(record.epsilon)}){further}."
    ]
    if record.epsilon > _WEAK_EPSILON:
        sentences.append("An epsilon above 10 is commonly regarded as weak protection.")
    return sentences


def _test(record: PrivacyRecord) -> str:
    """State the most that a test with 5 % false alarms can detect."""
    if record.mu is not None and all(isinstance(event, Release) for event in record.events):
        percent = noticed(record.mu)
    else:
        epsilon, delta = record.epsilon or 0.0, record.delta or 0.0
        missed = math.exp(-epsilon) * (1.0 - delta - _FALSE_ALARMS)
        power = min(1.0 - max(missed, 0.0), math.exp(min(epsilon, 9.0)) * _FALSE_ALARMS + delta)
        percent = _percent(power)
    happens = "it was replaced" if record.neighbors == "replace" else "it was there"
    return (
        f"Someone who knows all the rest of the data, and accepts a false alarm in 5 % of the "
        f"cases where it was not, would notice that {happens} in at most {percent:g} % of cases."
    )


def noticed(mu: float) -> float:
    """Return the percentage of cases noticed by the best test with 5 % false alarms, at most."""
    normal = NormalDist()
    return _percent(normal.cdf(mu - normal.inv_cdf(1.0 - _FALSE_ALARMS)))


def _percent(power: float) -> float:
    return min(math.ceil(power * 1000.0 + 1e-6) / 10.0, 100.0)


def _releases(record: PrivacyRecord) -> str:
    total = sum(event.count if isinstance(event, Release) else 1 for event in record.events)
    mu = "" if record.mu is None else f"; the Gaussian ones together cost mu = {_up(record.mu)}"
    plural = "release" if total == 1 else "releases"
    return (
        f"The data were used only through {total} noisy {plural} ({_list(record.events)}){mu}. "
        "Everything else was computed from these and costs nothing more."
    )


def _list(events: Sequence[Event]) -> str:
    """Return the statistics in the order of their first release, with their numbers."""
    counts: dict[str, int] = {}
    for event in events:
        count = event.count if isinstance(event, Release) else 1
        counts[event.statistic] = counts.get(event.statistic, 0) + count
    return ", ".join(name if n == 1 else f"{name} x {n}" for name, n in counts.items())


def _rows(record: PrivacyRecord) -> list[tuple[str, str]]:
    rows = [("NOT PRIVATE", "fixed seed")] if record.insecure_seed else []
    if record.epsilon is not None and record.delta is not None:
        rows += [("epsilon", _up(record.epsilon)), ("delta", _up(record.delta))]
    if record.mu is not None:
        rows.append(("mu", _up(record.mu)))
    rows += [
        ("neighbors", record.neighbors),
        ("unit", record.unit.replace("one unit", record.protected)),
        ("releases", _list(record.events)),
    ]
    return rows + [("note", note) for note in record.notes]


def _up(value: float, digits: int = 6) -> str:
    """Return a number with few digits, rounded up."""
    rounded = Context(prec=digits, rounding=ROUND_CEILING).create_decimal(Decimal(repr(value)))
    return f"{float(rounded):g}"


def factor_up(epsilon: float) -> str | None:
    """Return exp(epsilon) with few digits, rounded up; None if it is over a million.

    Near one, the digits are those of what it is above one: all of the promise is there.
    """
    if epsilon < 1.0:
        above = Context(prec=2, rounding=ROUND_CEILING).create_decimal(
            Decimal(repr(math.expm1(epsilon)))
        )
        return f"{(1 + above).normalize():f}"
    factor = math.exp(min(epsilon, 700.0))
    return _up(factor, 3) if factor < _LARGEST_SHOWN_FACTOR else None
