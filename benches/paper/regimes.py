"""The paper's three regimes and a fourth: which methods are tuned."""

from __future__ import annotations

from dataclasses import dataclass

from paper.errors import Comparison, Errors, Side
from paper.methods import METHODS, PEERS

__all__ = ["CONSTANT", "PAPER", "REGIMES", "SCALED", "SETTINGS", "Regime", "untuned_against_tuned"]

PAPER = "boosted_adassp"
# Names of the settings in tables and figures.
SETTINGS = {
    "fixed": "fixed",
    "tuned": "tuned",
    "constant": "fixed, with intercept",
    "scaled": "fixed, scaled features",
}


@dataclass(frozen=True)
class Regime:
    """Settings of all methods for one comparison.

    Parameters
    ----------
    key : str
        Letter of the regime.
    title : str
        What it compares.
    paper : str
        Setting of BoostedAdaSSP.
    others : str
        Setting of the other methods.
    """

    key: str
    title: str
    paper: str
    others: str

    def side(self, method: str) -> Side:
        """Return a method with its setting."""
        setting = self.paper if method == PAPER else self.others
        if not METHODS[method].space:
            # dpfit's models and least squares have nothing to set.
            setting = "fixed"
        elif setting not in ("fixed", "tuned", *METHODS[method].studies):
            setting = "fixed"
        return method, setting


REGIMES = (
    Regime("a", "all tuned on each table (tuning is not private)", "tuned", "tuned"),
    Regime("b", "BoostedAdaSSP fixed, the others tuned", "fixed", "tuned"),
    Regime("c", "all fixed", "fixed", "fixed"),
    Regime("d", "dpfit untuned, all others tuned", "tuned", "tuned"),
)
# The effect of an intercept, and of scaled features in addition.
CONSTANT = Regime("k", "all fixed, with an intercept", "constant", "constant")
SCALED = Regime(
    "s", "all fixed, with an intercept and scaled features (not private)", "scaled", "scaled"
)


def untuned_against_tuned(errors: Errors, ours: str, epsilon: float) -> Comparison:
    """Compare a dpfit model with the best tuned peer of each table."""
    return errors.against_best((ours, "fixed"), [(peer, "tuned") for peer in PEERS], epsilon)
