"""The result of an audit: numbers, text, JSON and a plot."""

from __future__ import annotations

import json
import math
import textwrap
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from dpfit._typing import Floats
from dpfit.audit.distinguish import Bound
from dpfit.audit.likelihood import Share

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["AuditResult", "PairResult"]

_WIDTH = 80
_NONE = "-"


def _no_scores() -> tuple[Floats, Floats]:
    return np.zeros(0), np.zeros(0)


@dataclass(frozen=True, eq=False, kw_only=True)
class PairResult:
    """What one pair of tables shows.

    Parameters
    ----------
    name : str
        The pair.
    mu, epsilon : float
        Lower bounds.
    tests : tuple of Bound
        The tests by which the tables were distinguished, for mu and for epsilon; empty if the fits
        could not be compared.
    scores : tuple of two arrays
        The scores of the test for mu, for fits of either table.
    largest_mu : float or None
        The largest mu of a transcript, given the noise that was asked for; None for a black box.
    shares : tuple of Share
        By statistic, in the transcript in which it distinguishes most.
    problems : tuple of str
        Facts that refute the claim without statistics.
    """

    name: str
    mu: float
    epsilon: float
    tests: tuple[Bound, ...]
    scores: tuple[Floats, Floats] = field(default_factory=_no_scores, repr=False)
    largest_mu: float | None = None
    shares: tuple[Share, ...] = ()
    problems: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; a number that is not finite is None."""
        return {
            "name": self.name,
            "mu": _json_number(self.mu),
            "epsilon": _json_number(self.epsilon),
            "largest_mu": _json_number(self.largest_mu),
            "tests": [
                {"bound": kind, **asdict(test), "value": _json_number(test.value)}
                for kind, test in zip(("mu", "epsilon"), self.tests, strict=False)
            ],
            "statistics": [
                {**asdict(share), "found": _json_number(share.found)} for share in self.shares
            ],
            "problems": list(self.problems),
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class AuditResult:
    """The result of :func:`dpfit.audit.audit`: text with `str`.

    Parameters
    ----------
    estimator : str
        The name of its class.
    method : {"black_box", "transcript"}
        What was looked at.
    confidence : float
        The probability with which all bounds hold together.
    n_fits : int
        Fits of each table.
    claimed_mu, claimed_epsilon : float or None
        What is claimed; None if nothing is.
    delta : float
        Where epsilon is stated.
    pairs : tuple of PairResult
        By pair of tables.

    Privacy
    -------
    The result is computed from exact sums of the audited tables. It is not private.
    """

    estimator: str
    method: str
    confidence: float
    n_fits: int
    claimed_mu: float | None
    claimed_epsilon: float | None
    delta: float
    pairs: tuple[PairResult, ...]

    @property
    def mu(self) -> float:
        """The largest lower bound on mu."""
        return max(pair.mu for pair in self.pairs)

    @property
    def epsilon(self) -> float:
        """The largest lower bound on epsilon, at `delta`."""
        return max(pair.epsilon for pair in self.pairs)

    @property
    def problems(self) -> tuple[str, ...]:
        """Facts that refute the claim without statistics."""
        return tuple(dict.fromkeys(text for pair in self.pairs for text in pair.problems))

    @property
    def exceeds(self) -> bool:
        """Whether the estimator is less private than it claims.

        For an estimator that is as private as it claims, this is True with a probability of at most
        1 - `confidence`.
        """
        above_mu = self.claimed_mu is not None and self.mu > self.claimed_mu
        above_epsilon = self.claimed_epsilon is not None and self.epsilon > self.claimed_epsilon
        return above_mu or above_epsilon or bool(self.problems)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; a number that is not finite is None."""
        return {
            "estimator": self.estimator,
            "method": self.method,
            "confidence": self.confidence,
            "n_fits": self.n_fits,
            "delta": self.delta,
            "claimed_mu": _json_number(self.claimed_mu),
            "claimed_epsilon": _json_number(self.claimed_epsilon),
            "mu": _json_number(self.mu),
            "epsilon": _json_number(self.epsilon),
            "exceeds": self.exceeds,
            "problems": list(self.problems),
            "pairs": [pair.to_dict() for pair in self.pairs],
        }

    def to_json(self) -> str:
        """Return the result as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the error rates of the best test next to those that the claim allows.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Where to draw; by default, a new figure.

        Returns
        -------
        matplotlib axes
        """
        from dpfit.audit.plots import plot_audit

        return plot_audit(self, ax)

    def summary(self) -> str:
        """Return the result as text."""
        way = {"black_box": "black box", "transcript": "transcripts"}[self.method]
        lines = [
            f"Privacy audit of {self.estimator}".center(_WIDTH).rstrip(),
            "=" * _WIDTH,
            f"Method      {way:<28}Fits        {self.n_fits} of each table",
            f"Confidence  {f'{100.0 * self.confidence:.10g} %':<28}Delta       {self.delta:g}",
            "-" * _WIDTH,
            f"{'':<10}{'claimed':>12}{'lower bound':>14}{'share':>9}",
            _comparison("mu", self.claimed_mu, self.mu),
            _comparison("epsilon", self.claimed_epsilon, self.epsilon),
            "-" * _WIDTH,
            *self._pair_lines(),
            *self._statistic_lines(),
            "=" * _WIDTH,
            *textwrap.wrap(self._verdict(), _WIDTH),
        ]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.summary()

    def _pair_lines(self) -> list[str]:
        width = max(12, *(len(pair.name) + 2 for pair in self.pairs))
        lines = [f"{'tables':<{width}}{'mu':>9}{'epsilon':>9}  best test"]
        for pair in self.pairs:
            test = pair.tests[0].score if pair.tests else _NONE
            found = f"{pair.name:<{width}}{pair.mu:>9.4g}{pair.epsilon:>9.4g}  {test}"
            lines.append(found if len(found) <= _WIDTH else found[: _WIDTH - 3] + "...")
        return lines

    def _statistic_lines(self) -> list[str]:
        best: dict[str, Share] = {}
        for pair in self.pairs:
            for share in pair.shares:
                if share.statistic not in best or share.found > best[share.statistic].found:
                    best[share.statistic] = share
        if not best:
            return []
        lines = [
            "-" * _WIDTH,
            f"{'statistic':<32}{'releases':>9}{'claimed mu':>13}{'mu':>10}{'noise':>9}",
        ]
        for share in best.values():
            lines.append(
                f"{share.statistic[:31]:<32}{share.releases:>9}{share.claimed:>13.4g}"
                f"{share.found:>10.4g}{share.noise:>9.4g}"
            )
        return lines

    def _verdict(self) -> str:
        if self.problems:
            return f"NOT AS PRIVATE AS CLAIMED: {'; '.join(self.problems)}."
        if self.exceeds:
            return "NOT AS PRIVATE AS CLAIMED: the lower bound is above the claim."
        if self.claimed_mu is None and self.claimed_epsilon is None:
            return "Nothing is claimed, so the bounds are compared with nothing."
        return (
            "No fault was found. This does not prove that there is none: other tables or more fits "
            "may show more."
        )


def _comparison(name: str, claimed: float | None, found: float) -> str:
    share = _NONE if not claimed else f"{100.0 * found / claimed:.0f} %"
    stated = _NONE if claimed is None else f"{claimed:.4g}"
    return f"{name:<10}{stated:>12}{found:>14.4g}{share:>9}"


def _json_number(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(value)
