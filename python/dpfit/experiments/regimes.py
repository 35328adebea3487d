"""The paper's three regimes and a fourth: who is tuned and who is not."""

from __future__ import annotations

from dataclasses import dataclass

from dpfit.experiments.errors import Comparison, Errors, Side
from dpfit.experiments.methods import METHODS, PEERS

__all__ = ["CONSTANT", "REGIMES", "SCALED", "Regime", "untuned_against_tuned"]

PAPER = "boosted_adassp"


@dataclass(frozen=True)
class Regime:
    """A view of the results.

    Parameters
    ----------
    key : str
        Its letter.
    title : str
        What it compares.
    paper : str
        How BoostedAdaSSP is set.
    others : str
        How the other methods are set.
    """

    key: str
    title: str
    paper: str
    others: str

    def side(self, method: str) -> Side:
        """Return a method as it is set here."""
        setting = self.paper if method == PAPER else self.others
        if not METHODS[method].space:
            # Ours, and least squares, have nothing to set.
            setting = "fixed"
        elif setting not in ("fixed", "tuned", *METHODS[method].studies):
            setting = "fixed"
        return method, setting


REGIMES = (
    Regime("a", "all tuned on each table (the tuning is not private)", "tuned", "tuned"),
    Regime("b", "BoostedAdaSSP fixed, the others tuned", "fixed", "tuned"),
    Regime("c", "all fixed", "fixed", "fixed"),
    Regime("d", "ours untuned, everybody else tuned", "tuned", "tuned"),
)
# Two studies: what a constant does, and what columns of one size do besides.
CONSTANT = Regime("k", "all fixed, with a constant", "constant", "constant")
SCALED = Regime(
    "s", "all fixed, with a constant, on features of one size (not private)", "scaled", "scaled"
)


def untuned_against_tuned(errors: Errors, ours: str, epsilon: float) -> Comparison:
    """Compare one of ours with the best tuned peer of each table."""
    return errors.against_best((ours, "fixed"), [(peer, "tuned") for peer in PEERS], epsilon)
