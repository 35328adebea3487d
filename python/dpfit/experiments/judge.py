"""How claims are measured: comparisons at every privacy level, in words."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from dpfit.experiments.errors import Comparison, Errors, Side
from dpfit.experiments.methods import METHODS
from dpfit.experiments.plan import Plan
from dpfit.experiments.regimes import PAPER, REGIMES, SCALED, Regime
from dpfit.experiments.registry import registry
from dpfit.experiments.store import Result

__all__ = ["Claim", "Judge", "number", "percent"]


@dataclass(frozen=True)
class Claim:
    """One claim.

    Parameters
    ----------
    text : str
        What the paper says.
    criterion : str
        What we take that to mean.
    measured : str
        What came out.
    holds : bool or None
        Whether it holds here; None if there are no results to tell.
    why : str
        What explains it.
    """

    text: str
    criterion: str
    measured: str
    holds: bool | None
    why: str

    @property
    def verdict(self) -> str:
        """The outcome in a word."""
        return {True: "holds", False: "does not hold", None: "not measured"}[self.holds]


def percent(share: float) -> str:
    """Return a share as a text."""
    return "–" if math.isnan(share) else f"{share:.0%}"


def number(value: float) -> str:
    """Return a number as a text."""
    return "–" if math.isnan(value) else f"{value:.3g}"


def _named(task: int) -> str:
    if task not in registry():
        return str(task)
    return f"{registry()[task].name} ({task}; {registry()[task].bound:.3g})"


class Judge:
    """Measures claims on one set of results.

    Parameters
    ----------
    errors : Errors
        Medians over seeds, of the tables that count.
    results : iterable of Result
        All fits; those that the plan does not ask for are left out.
    plan : Plan
        How the run was done.
    """

    def __init__(self, errors: Errors, results: Iterable[Result], plan: Plan) -> None:
        self.errors, self.levels = errors, plan.epsilons
        wanted = set(errors.tasks)
        self.results = [
            row
            for row in results
            if row.task in wanted
            and row.epsilon in (*plan.epsilons, math.inf)
            and row.seed < plan.seeds
            and row.trials == plan.trials_in(row.setting, METHODS[row.method])
        ]

    def compare(self, first: Side, second: Side) -> list[Comparison]:
        """Compare two methods at every privacy level."""
        return [self.errors.compare(first, second, epsilon) for epsilon in self.levels]

    def pairs(self, regime: Regime, peer: str) -> list[Comparison]:
        """Compare the paper's method with a peer as both are set in a regime."""
        return self.compare(regime.side(PAPER), regime.side(peer))

    def each(self, pairs: Sequence[Comparison], show: Callable[[Comparison], str]) -> str:
        """Show something at every privacy level."""
        return self.every([show(pair) for pair in pairs])

    def every(self, shown: Sequence[str]) -> str:
        """Return a text for each privacy level, as one."""
        pairs = zip(self.levels, shown, strict=True)
        return "; ".join(f"ε = {epsilon:g}: {text}" for epsilon, text in pairs)

    def outcome(
        self, pairs: Sequence[Comparison], test: Callable[[Comparison], bool]
    ) -> bool | None:
        """Return whether all pass; None if there is one of no tables."""
        return all(map(test, pairs)) if all(pair.tasks for pair in pairs) else None

    def wins(self, pairs: Sequence[Comparison]) -> str:
        """Say on how many tables the first has the smaller error, and what chance would do."""

        def show(pair: Comparison) -> str:
            share = f"{pair.wins} of {len(pair.tasks)} tables"
            return f"{share} (p {pair.chance:.2g}), ratio {number(pair.ratio)}"

        return self.each(pairs, lambda pair: show(pair) if pair.tasks else "–")

    def outperforms(self, peer: str, text: str, why: str, *, most_ratio: float = math.inf) -> Claim:
        """Check that the paper's method wins on the majority in all three regimes."""
        shown, outcomes = [], []
        for regime in REGIMES[:3]:
            pairs = self.pairs(regime, peer)
            shown.append(f"({regime.key}) {self.wins(pairs)}")
            outcomes.append(self.outcome(pairs, lambda p: p.majority and p.ratio < most_ratio))
        asked = f", and a ratio below {most_ratio:g}" if math.isfinite(most_ratio) else ""
        return Claim(
            text,
            f"smaller error on more tables than not{asked}, in (a), (b) and (c), at every ε",
            " · ".join(shown),
            None if None in outcomes else all(outcomes),
            why,
        )

    def scaled_note(self, peer: str) -> str:
        """Say how the fixed comparison comes out on features of one size."""
        return (
            "With a constant and all features scaled to one size beforehand (not private), both "
            f"fixed: {self.wins(self.pairs(SCALED, peer))}."
        )

    def beyond(self, pairs: Sequence[Comparison], factor: float) -> str:
        """Name the tables on which the first is above `factor` times the second at some level."""
        lost = {
            task
            for pair in pairs
            for task, first, second in zip(pair.tasks, pair.first, pair.second, strict=True)
            if first > factor * second
        }
        return ", ".join(map(_named, sorted(lost))) or "none"

    def share_of_zeros(self, setting: str) -> list[float]:
        """Return the share of TukeyEM's fits that its own check gave up, at every level."""
        shares = []
        for epsilon in self.levels:
            zeros = [
                row.note == "all zeros"
                for row in self.results
                if (row.method, row.setting, row.epsilon) == ("tukey_em", setting, epsilon)
            ]
            shares.append(sum(zeros) / len(zeros) if zeros else math.nan)
        return shares
