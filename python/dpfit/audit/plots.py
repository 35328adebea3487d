"""The plot of an audit. Matplotlib is imported when it is drawn."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import special

from dpfit.models.style import ALARM, COLOUR, GREY, LIGHT, NO_MATH, import_pyplot, style_axes

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpfit._typing import Floats
    from dpfit.audit.result import AuditResult

__all__ = ["plot_audit"]


def plot_audit(result: AuditResult, ax: Axes | None = None) -> Axes:
    """Implement :meth:`AuditResult.plot`."""
    plt = import_pyplot()
    if ax is None:
        _, ax = plt.subplots(figsize=(4.8, 4.2), layout="constrained")
    assert ax is not None
    pair = max(result.pairs, key=lambda pair: pair.mu)
    rates = np.linspace(0.0, 1.0, 501)
    ax.plot([0.0, 1.0], [1.0, 0.0], color=LIGHT, linewidth=1.0, label="guessing")
    if len(pair.scores[0]):
        ax.step(*_errors(*pair.scores), color=GREY, linewidth=1.2, label="best test that was found")
    _curve(ax, rates, result.mu, color=COLOUR, label=f"lower bound, mu = {result.mu:.3g}")
    if result.claimed_mu is not None:
        name = f"claimed, mu = {result.claimed_mu:.3g}"
        _curve(ax, rates, result.claimed_mu, color=ALARM, linestyle="--", label=name)
    elif result.claimed_epsilon is not None:
        grown = np.exp(min(result.claimed_epsilon, 700.0))
        most = np.maximum(1.0 - result.delta - grown * rates, (1.0 - result.delta - rates) / grown)
        name = f"claimed, epsilon = {result.claimed_epsilon:.3g}"
        ax.plot(rates, np.maximum(most, 0.0), color=ALARM, linestyle="--", label=name)
    ax.set_xlim(0.0, 1.0)
    ax.set_ylim(0.0, 1.0)
    ax.set_xlabel("false-positive rate", color=GREY)
    ax.set_ylabel("false-negative rate", color=GREY)
    # Names of classes may contain anything.
    ax.set_title(f"{result.estimator}: {pair.name}", fontsize=10, **NO_MATH)
    ax.legend(fontsize=8, frameon=False)
    style_axes(ax)
    return ax


def _curve(ax: Axes, rates: Floats, mu: float, **style: Any) -> None:
    """Draw the errors of the best test of two normal distributions that are mu apart."""
    ax.plot(rates, special.ndtr(special.ndtri(1.0 - rates) - min(mu, 1e3)), **style)


def _errors(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    """Return false-positive and false-negative rates at all thresholds."""
    thresholds = np.unique(np.concatenate([first, second]))
    positives = 1.0 - np.searchsorted(np.sort(first), thresholds, side="right") / len(first)
    negatives = np.searchsorted(np.sort(second), thresholds, side="right") / len(second)
    return np.append(1.0, positives), np.append(0.0, negatives)
