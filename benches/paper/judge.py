"""Measure claims: comparisons at every epsilon, as text."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from paper.design import Design
from paper.errors import Comparison, Errors, Side
from paper.methods import METHODS
from paper.regimes import PAPER, REGIMES, SCALED, Regime
from paper.registry import registry
from paper.store import Result

__all__ = ["Claim", "Judge", "number", "percent"]


@dataclass(frozen=True)
class Claim:
    """A claim and its outcome.

    Parameters
    ----------
    text : str
        What the paper says.
    criterion : str
        How this is measured.
    measured : str
        The result.
    holds : bool or None
        Whether the claim holds here; None if it was not measured.
    why : str
        Explanation of the result.
    """

    text: str
    criterion: str
    measured: str
    holds: bool | None
    why: str

    @property
    def verdict(self) -> str:
        """The outcome as text."""
        return {True: "holds", False: "does not hold", None: "not measured"}[self.holds]


def percent(share: float) -> str:
    """Return a share as a string."""
    return "–" if math.isnan(share) else f"{share:.0%}"


def number(value: float) -> str:
    """Return a number as a string."""
    return "–" if math.isnan(value) else f"{value:.3g}"


def _named(task: int) -> str:
    if task not in registry():
        return str(task)
    return f"{registry()[task].name} ({task}; {registry()[task].bound:.3g})"


class Judge:
    """Measure claims on the results of a run.

    Parameters
    ----------
    errors : Errors
        Median errors on the headline tables.
    results : iterable of Result
        All fits; those that do not belong to the design are ignored.
    design : Design
        The design of the run.
    """

    def __init__(self, errors: Errors, results: Iterable[Result], design: Design) -> None:
        self.errors, self.epsilons = errors, design.epsilons
        wanted = set(errors.tasks)
        self.results = [
            row
            for row in results
            if row.task in wanted
            and row.epsilon in (*design.epsilons, math.inf)
            and row.seed < design.seeds
            and row.trials == design.trials_in(row.setting, METHODS[row.method])
        ]

    def compare(self, first: Side, second: Side) -> list[Comparison]:
        """Compare two methods at every epsilon."""
        return [self.errors.compare(first, second, epsilon) for epsilon in self.epsilons]

    def pairs(self, regime: Regime, peer: str) -> list[Comparison]:
        """Compare BoostedAdaSSP with a peer in a regime."""
        return self.compare(regime.side(PAPER), regime.side(peer))

    def each(self, pairs: Sequence[Comparison], show: Callable[[Comparison], str]) -> str:
        """Return a string for each epsilon, joined."""
        return self.every([show(pair) for pair in pairs])

    def every(self, shown: Sequence[str]) -> str:
        """Join strings, one for each epsilon."""
        pairs = zip(self.epsilons, shown, strict=True)
        return "; ".join(f"ε = {epsilon:g}: {text}" for epsilon, text in pairs)

    def outcome(
        self, pairs: Sequence[Comparison], test: Callable[[Comparison], bool]
    ) -> bool | None:
        """Return whether all comparisons pass; None if one of them has no tables."""
        return all(map(test, pairs)) if all(pair.tasks for pair in pairs) else None

    def wins(self, pairs: Sequence[Comparison]) -> str:
        """Return wins, p-values and ratios of errors as a string."""

        def show(pair: Comparison) -> str:
            share = f"{pair.wins} of {len(pair.tasks)} tables"
            return f"{share} (p = {pair.chance:.2g}), ratio {number(pair.ratio)}"

        return self.each(pairs, lambda pair: show(pair) if pair.tasks else "–")

    def outperforms(self, peer: str, text: str, why: str, *, most_ratio: float = math.inf) -> Claim:
        """Check that BoostedAdaSSP wins on the majority of tables in all three regimes."""
        shown, outcomes = [], []
        for regime in REGIMES[:3]:
            pairs = self.pairs(regime, peer)
            shown.append(f"({regime.key}) {self.wins(pairs)}")
            outcomes.append(self.outcome(pairs, lambda p: p.majority and p.ratio < most_ratio))
        asked = f", and a ratio below {most_ratio:g}" if math.isfinite(most_ratio) else ""
        return Claim(
            text,
            f"wins on more tables than it loses{asked}, in regimes (a), (b) and (c), at every ε",
            " · ".join(shown),
            None if None in outcomes else all(outcomes),
            why,
        )

    def scaled_note(self, peer: str) -> str:
        """Return how the fixed comparison changes with scaled features."""
        return (
            "With an intercept and features scaled beforehand (not private), both fixed: "
            f"{self.wins(self.pairs(SCALED, peer))}."
        )

    def beyond(self, pairs: Sequence[Comparison], factor: float) -> str:
        """Name the tables on which the first error exceeds `factor` times the second at any ε."""
        lost = {
            task
            for pair in pairs
            for task, first, second in zip(pair.tasks, pair.first, pair.second, strict=True)
            if first > factor * second
        }
        return ", ".join(map(_named, sorted(lost))) or "none"

    def share_of_zeros(self, setting: str) -> list[float]:
        """Return the share of TukeyEM's fits that failed its own check, at every epsilon."""
        shares = []
        for epsilon in self.epsilons:
            zeros = [
                row.note == "all zeros"
                for row in self.results
                if (row.method, row.setting, row.epsilon) == ("tukey_em", setting, epsilon)
            ]
            shares.append(sum(zeros) / len(zeros) if zeros else math.nan)
        return shares
