"""The section on attackers: the errors of every test of whether somebody is in the data."""

from __future__ import annotations

import math
from statistics import NormalDist

from dpfit.accounting import PrivacyRecord, Release
from dpfit.accounting.statement import advantage_percent, detection_percent
from dpfit.models.report.markup import Html, element
from dpfit.models.report.scales import Scale, points

__all__ = ["attacker_section", "least_misses"]

_SIZE, _LEFT, _BOTTOM, _EDGE = 260.0, 58.0, 44.0, 12.0
_STEPS = 100
_FALSE_ALARMS = 0.05


def least_misses(rate: float, mu: float) -> float:
    """Return the smallest type II error of a test with a given type I error, under mu-GDP.

    Privacy
    -------
    The trade-off function of Gaussian differential privacy (Dong, Roth and Su 2022). It is for
    drawings: numbers in the text are rounded to the private side elsewhere.
    """
    if not 0.0 < rate < 1.0:
        return 1.0 - rate
    normal = NormalDist()
    return normal.cdf(normal.inv_cdf(1.0 - rate) - min(mu, 1e3))


def attacker_section(record: PrivacyRecord) -> Html | None:
    """Return the trade-off curve and what it means; None if the releases are not all Gaussian.

    Privacy
    -------
    Percentages are rounded against the model: detections up, misses down.
    """
    if record.mu is None or not all(isinstance(event, Release) for event in record.events):
        return None
    heading = element("h2", "What an attacker can find out")
    if record.insecure_seed:
        words = "The noise came from a fixed seed, so there is no limit to what can be found out."
        return element("section", heading, element("p", words, class_="alarm"), id="attacker")
    found = detection_percent(record.mu)
    unit = record.unit_label
    happened = "replaced" if record.neighbors == "replace" else "included"
    everything = "all other rows" if record.max_rows is None else f"all rows of every other {unit}"
    return element(
        "section",
        heading,
        element(
            "div",
            _drawing(record.mu),
            element(
                "div",
                element(
                    "p",
                    f"Suppose that an attacker knows {everything} and everything that this fit "
                    f"released, and guesses whether one {unit} was {happened}. There are two ways "
                    "to be wrong: a false alarm (type I error), and a miss (type II error).",
                ),
                element(
                    "p",
                    "No attack, with whatever computing power, has errors below the blue line. "
                    "Without privacy, both errors could be zero. On the dashed line, an attacker "
                    "only guesses.",
                ),
                element(
                    "p",
                    "With 5 % false alarms, an attacker misses at least ",
                    element("strong", f"{100 - found:.4g} %"),
                    " (the dot), where guessing misses 95 %. At any rate of false alarms, "
                    "detections exceed them by at most ",
                    element("strong", f"{advantage_percent(record.mu)} percentage points"),
                    ".",
                ),
            ),
            class_="beside",
        ),
        id="attacker",
    )


def _drawing(mu: float) -> Html:
    across = Scale(0.0, 1.0, _LEFT, _SIZE - _EDGE)
    up = Scale(0.0, 1.0, _SIZE - _BOTTOM, _EDGE)
    # Closer together at the ends, where the curve of a large mu bends.
    rates = [math.sin(math.pi * i / (2 * _STEPS)) ** 2 for i in range(_STEPS + 1)]
    curve = [(across(rate), up(least_misses(rate, mu))) for rate in rates]
    guess = [(across(0.0), up(1.0)), (across(1.0), up(0.0))]
    parts = [
        element("path", d=f"M{points([*curve, *guess[::-1]])} Z", class_="gap"),
        element("path", d=f"M{points(guess)}", class_="guess"),
        element("path", d=f"M{points(curve)}", class_="line"),
        element(
            "circle",
            cx=across(_FALSE_ALARMS),
            cy=up(least_misses(_FALSE_ALARMS, mu)),
            r="4",
            class_="dot",
        ),
    ]
    for share in (0.0, 0.5, 1.0):
        text = f"{100 * share:.0f} %"
        y, x = up(share), across(share)
        parts += [
            element("line", x1=_LEFT, x2=_SIZE - _EDGE, y1=y, y2=y, class_="grid-line"),
            element("line", x1=x, x2=x, y1=up(0.0), y2=up(1.0), class_="grid-line"),
            element("text", text, x=_LEFT - 5, y=y + 4, class_="tick end"),
            element("text", text, x=x, y=up(0.0) + 16, class_="tick middle"),
        ]
    middle = up(0.5)
    parts += [
        element("text", "false alarms", x=across(0.5), y=_SIZE - 8, class_="label middle"),
        element(
            "text",
            "misses",
            x="12",
            y=middle,
            transform=f"rotate(-90 12 {middle:g})",
            class_="label middle",
        ),
    ]
    return element(
        "svg",
        *parts,
        viewBox=f"0 0 {_SIZE:g} {_SIZE:g}",
        class_="plot trade-off",
        role="img",
        aria_label="Trade-off curve of the two errors of an attacker",
    )
