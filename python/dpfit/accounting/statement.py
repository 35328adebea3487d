"""Privacy records in plain English, for readers who are not statisticians.

Privacy
-------
All numbers are rounded up, so the text never promises more than the record.
"""

from __future__ import annotations

import html
import math
from collections.abc import Sequence
from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from statistics import NormalDist
from typing import TYPE_CHECKING

from dpfit.accounting.events import Event, Release

if TYPE_CHECKING:
    from dpfit.accounting.record import PrivacyRecord

__all__ = [
    "advantage_percent",
    "as_html",
    "as_statement",
    "as_text",
    "detection_percent",
    "probability_factor",
    "rounded_down",
    "rounded_up",
]

_FALSE_POSITIVE_RATE = 0.05
_WEAK_EPSILON = 10.0
_LARGEST_SHOWN_FACTOR = 1e6


def as_text(record: PrivacyRecord) -> str:
    """Return the record as a few aligned lines."""
    fields = _fields(record)
    width = max(len(name) for name, _ in fields)
    return "\n".join(f"{name:<{width}}  {value}" for name, value in fields)


def as_html(record: PrivacyRecord) -> str:
    """Return the record as an HTML table, followed by its statement."""
    cells = "".join(
        f'<tr><th style="text-align:left">{html.escape(name)}</th>'
        f'<td style="text-align:left">{html.escape(value)}</td></tr>'
        for name, value in _fields(record)
    )
    texts = "".join(f"<p>{html.escape(text)}</p>" for text in as_statement(record).split("\n\n"))
    return f"<table>{cells}</table>{texts}"


def as_statement(record: PrivacyRecord) -> str:
    """Return the record as a paragraph of plain English, and an appendix in technical terms."""
    return f"{_paragraph(record)}\n\n{_appendix(record)}"


def _paragraph(record: PrivacyRecord) -> str:
    sentences = []
    if record.insecure_seed:
        sentences.append(
            "NOT PRIVATE: the noise came from a fixed seed, so anyone who knows or guesses the "
            "seed can remove the noise. With a random seed, the following would hold."
        )
    sentences += [*_guarantee(record), _detection(record), _advantage(record), _releases(record)]
    sentences.append(
        "This holds if bounds and other settings were chosen without looking at the data. The "
        "privacy cost adds to the cost of everything else released from the same data."
    )
    sentences += [note if note.endswith((".", "!", "?")) else f"{note}." for note in record.notes]
    return " ".join(sentences)


def rounded_up(value: float, digits: int = 6) -> str:
    """Return a number with few significant digits, rounded up."""
    return _rounded(value, digits, ROUND_CEILING)


def rounded_down(value: float, digits: int = 6) -> str:
    """Return a number with few significant digits, rounded down: for a budget that is granted."""
    return _rounded(value, digits, ROUND_FLOOR)


def _rounded(value: float, digits: int, rounding: str) -> str:
    rounded = Context(prec=digits, rounding=rounding).create_decimal(Decimal(repr(value)))
    return f"{float(rounded):g}"


def probability_factor(epsilon: float) -> str | None:
    """Return exp(epsilon) with few digits, rounded up; None if it exceeds a million.

    For a factor close to 1, the digits are those of its excess over 1.
    """
    if epsilon < 1.0:
        excess = Context(prec=2, rounding=ROUND_CEILING).create_decimal(
            Decimal(repr(math.expm1(epsilon)))
        )
        return f"{(1 + excess).normalize():f}"
    factor = math.exp(min(epsilon, 700.0))
    return rounded_up(factor, 3) if factor < _LARGEST_SHOWN_FACTOR else None


def detection_percent(mu: float) -> float:
    """Return the power of the best test with a 5 % false-positive rate, in percent, rounded up."""
    normal = NormalDist()
    return _percent(normal.cdf(mu - normal.inv_cdf(1.0 - _FALSE_POSITIVE_RATE)))


def advantage_percent(mu: float) -> str:
    """Return the advantage of the best attacker, 2 Phi(mu / 2) - 1, in percent, rounded up.

    It is the largest difference between the rates at which a test finds a row that was included and
    one that was not, whatever its false-positive rate.
    """
    return _points(math.erf(mu / math.sqrt(8.0)))


def _guarantee(record: PrivacyRecord) -> list[str]:
    """State what is protected, how well, and what is public."""
    label, replaces = record.unit_label, record.neighbors == "replace"
    protects, rows, any_one = f"This model protects each {label}", "row", f"any one {label}"
    if record.max_rows is not None:
        used = "1 row of each is" if record.max_rows == 1 else f"{record.max_rows} rows of each are"
        protects += f" (at most {used} used)"
        rows, any_one = "rows", f"all rows of any one {label}"
    if record.epsilon is None or record.delta is None:
        sentences = [
            f"{protects}: deciding from the result whether any one {label} was "
            f"{_happened(record)} is at least as hard as deciding whether a single random number "
            "was drawn from a normal distribution with mean 0 or with mean "
            f"{rounded_up(record.mu or 0.0)}, both with variance 1 (Gaussian differential privacy)."
        ]
    else:
        change = (
            f"replacing {any_one} with any other {rows}"
            if replaces
            else (f"adding or removing {any_one}")
        )
        epsilon = rounded_up(record.epsilon)
        factor = probability_factor(record.epsilon) or f"e^{epsilon}"
        plus = f", plus {rounded_up(record.delta)} (delta)" if record.delta > 0.0 else ""
        sentences = [
            f"{protects}: {change} changes the probability of any result by at most a factor of "
            f"{factor} (epsilon = {epsilon}){plus}."
        ]
        if record.epsilon > _WEAK_EPSILON:
            sentences.append("An epsilon above 10 is commonly regarded as weak protection.")
    if replaces:
        counted = "rows" if record.max_rows is None else "units"
        sentences.append(f"The number of {counted} is treated as public.")
    return sentences


def _happened(record: PrivacyRecord) -> str:
    return "replaced" if record.neighbors == "replace" else "included"


def _detection(record: PrivacyRecord) -> str:
    """State the largest power of a test with a 5 % false-positive rate."""
    if record.mu is not None and _is_gaussian(record):
        percent = detection_percent(record.mu)
    else:
        epsilon, delta = record.epsilon or 0.0, record.delta or 0.0
        missed = math.exp(-epsilon) * (1.0 - delta - _FALSE_POSITIVE_RATE)
        alarms = math.exp(min(epsilon, 9.0)) * _FALSE_POSITIVE_RATE + delta
        percent = _percent(min(1.0 - max(missed, 0.0), alarms))
    article = "a" if record.neighbors == "replace" else "an"
    return (
        "Someone who knows all other rows and accepts a 5 % false-positive rate detects "
        f"{article} {_happened(record)} {record.unit_label} with a probability of at most "
        f"{percent:g} %."
    )


def _advantage(record: PrivacyRecord) -> str:
    """State how far detections can exceed false positives, at any false-positive rate."""
    if record.mu is not None and _is_gaussian(record):
        points = advantage_percent(record.mu)
    else:
        epsilon, delta = record.epsilon or 0.0, record.delta or 0.0
        points = _points(
            math.tanh(epsilon / 2.0) + 2.0 * delta / (1.0 + math.exp(min(epsilon, 700.0)))
        )
    return (
        "Whatever false-positive rate is accepted, the detection rate exceeds it by at most "
        f"{points} percentage points (the attacker's advantage)."
    )


def _points(share: float) -> str:
    """Return a share in percent with three digits, rounded up."""
    # A little more than the error of the functions above.
    return rounded_up(min(100.0 * share * (1.0 + 1e-12), 100.0), 3)


def _percent(power: float) -> float:
    return min(math.ceil(power * 1000.0 + 1e-6) / 10.0, 100.0)


def _releases(record: PrivacyRecord) -> str:
    total = sum(event.count if isinstance(event, Release) else 1 for event in record.events)
    return (
        f"The data were used only through {total} noisy release{'' if total == 1 else 's'}. "
        "Everything else was computed from the released numbers, at no further privacy cost."
    )


def _appendix(record: PrivacyRecord) -> str:
    """Name the releases and their cost, in the words of the code."""
    one = len(record.events) == 1 and getattr(record.events[0], "count", 1) == 1
    text = f"Appendix: the {'release was' if one else 'releases were'} {_statistics(record.events)}"
    if record.mu is None:
        return f"{text}."
    cost = f"mu = {rounded_up(record.mu)} in Gaussian differential privacy"
    if not _is_gaussian(record):
        return f"{text}. The Gaussian ones together cost {cost}."
    return f"{text}, which {'costs' if one else 'together cost'} {cost}."


def _is_gaussian(record: PrivacyRecord) -> bool:
    return all(isinstance(event, Release) for event in record.events)


def _statistics(events: Sequence[Event]) -> str:
    """Return the released statistics with their counts, in the order of their first release."""
    counts: dict[str, int] = {}
    for event in events:
        count = event.count if isinstance(event, Release) else 1
        counts[event.statistic] = counts.get(event.statistic, 0) + count
    return ", ".join(name if n == 1 else f"{name} x {n}" for name, n in counts.items())


def _fields(record: PrivacyRecord) -> list[tuple[str, str]]:
    fields = [("NOT PRIVATE", "fixed seed")] if record.insecure_seed else []
    if record.epsilon is not None and record.delta is not None:
        fields += [("epsilon", rounded_up(record.epsilon)), ("delta", rounded_up(record.delta))]
    if record.mu is not None:
        fields.append(("mu", rounded_up(record.mu)))
    fields += [
        ("neighbors", record.neighbors),
        ("protects", record.protects),
        ("releases", _statistics(record.events)),
    ]
    return fields + [("note", note) for note in record.notes]
