"""Tell two samples of outputs apart: choose a test on one part of them, try it on the rest.

A test is a score and a threshold. A fifth of the outputs serves to find directions, a fifth to
choose the score and its threshold, and the rest to count errors. The limits on the error rates are
therefore those of a fixed test.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from dpfit._typing import Floats
from dpfit.audit.bounds import lower_epsilon, lower_mu, upper_rate

__all__ = ["Bound", "Findings", "distinguish"]

# Ridges of the linear discriminant, in variances of its standardised inputs. The smallest one finds
# combinations in which the noise cancels, the largest one is right for more inputs than outputs.
_RIDGES = (1e-9, 1e-2, 1.0)
# Values are clipped at so many standard deviations before a discriminant is fitted.
_WINSOR = 5.0
_MOST_THRESHOLDS = 400
# Thresholds whose bound is below the best one by no more than this share are taken for as good.
_AS_GOOD = {"mu": 0.1, "epsilon": 0.03}
# A discriminant of more outputs uses those that differ most.
_MOST_INPUTS = 200

Score = Callable[[Floats], Floats]


@dataclass(frozen=True)
class Bound:
    """A lower bound, and the test that it comes from.

    Parameters
    ----------
    value : float
        The bound.
    score : str
        What the test looks at.
    false_positives, false_negatives : int
        How many of `trials` fits of either table were taken for one of the other.
    trials : int
        The number of fits of each table that the test was tried on.
    """

    value: float
    score: str
    false_positives: int
    false_negatives: int
    trials: int


@dataclass(frozen=True, eq=False)
class Findings:
    """What two samples show.

    Parameters
    ----------
    mu, epsilon : Bound
        Lower bounds that hold together, with the confidence that was asked for.
    scores : tuple of two arrays
        The scores of the test for mu on the fits that it was tried on, for plots.
    """

    mu: Bound
    epsilon: Bound
    scores: tuple[Floats, Floats]


def distinguish(
    first: Floats, second: Floats, names: Sequence[str], *, delta: float, risk: float
) -> Findings:
    """Return lower bounds on mu and epsilon from outputs of two neighbouring tables.

    Parameters
    ----------
    first, second : arrays of shape (fits, outputs)
        What fits of either table returned. There must be at least 8 of each.
    names : sequence of str
        The name of every output.
    delta : float
        Where the bound on epsilon is stated.
    risk : float
        The probability with which one of the bounds may be too large.

    Privacy
    -------
    The bounds hold if the fits are independent. Nothing is assumed about the distribution of the
    outputs.
    """
    fits = min(len(first), len(second))
    both = np.stack([_finite(first[:fits]), _finite(second[:fits])])
    train, choose, test = np.split(both, [fits // 5, 2 * fits // 5], axis=1)
    candidates = _candidates(train, names)
    tables = _Table(choose.shape[1], risk / 4), _Table(test.shape[1], risk / 4)
    best: dict[str, tuple[float, int, float, float]] = {}
    for place, (_, score) in enumerate(candidates):
        scores = score(choose)
        for sign in (1.0, -1.0):
            for kind, (value, threshold) in _best(sign * scores, tables[0], delta).items():
                if kind not in best or value > best[kind][0]:
                    best[kind] = value, place, sign, threshold
    bounds, shown = {}, (np.zeros(0), np.zeros(0))
    for kind, (_, place, sign, threshold) in best.items():
        name, score = candidates[place]
        scores = sign * score(test)
        wrong = int((scores[0] > threshold).sum()), int((scores[1] <= threshold).sum())
        rates = tables[1].limits[wrong[0]], tables[1].limits[wrong[1]]
        found = lower_mu(*rates) if kind == "mu" else lower_epsilon(*rates, delta)
        bounds[kind] = Bound(float(found), name, *wrong, test.shape[1])
        if kind == "mu":
            shown = scores[0], scores[1]
    return Findings(bounds["mu"], bounds["epsilon"], shown)


class _Table:
    """Upper limits of an error rate, for every number of errors."""

    def __init__(self, trials: int, risk: float) -> None:
        self.trials = trials
        self.limits = upper_rate(np.arange(trials + 1), trials, risk)


def _best(scores: Floats, table: _Table, delta: float) -> dict[str, tuple[float, float]]:
    """Return the best bounds on mu and epsilon, and thresholds for them.

    The threshold of the best bound is often a lucky one, at which few fits of this part happen to
    be. The one in the middle of those that are nearly as good does better on other fits.
    """
    values = np.unique(scores)
    if len(values) > _MOST_THRESHOLDS:
        values = np.unique(np.quantile(values, np.linspace(0.0, 1.0, _MOST_THRESHOLDS)))
    # Halves, because the sum of two huge numbers may overflow.
    thresholds = values[:-1] / 2 + values[1:] / 2 if len(values) > 1 else values
    positives = table.trials - np.searchsorted(np.sort(scores[0]), thresholds, side="right")
    negatives = np.searchsorted(np.sort(scores[1]), thresholds, side="right")
    rates = table.limits[positives], table.limits[negatives]
    found = {"mu": lower_mu(*rates), "epsilon": lower_epsilon(*rates, delta)}
    best = {}
    for kind, bounds in found.items():
        good = np.flatnonzero(bounds >= bounds.max() * (1.0 - _AS_GOOD[kind]))
        best[kind] = float(bounds.max()), float(thresholds[good[len(good) // 2]])
    return best


def _candidates(train: Floats, names: Sequence[str]) -> list[tuple[str, Score]]:
    """Return scores: single outputs, their distances from the middle, and combinations."""
    middle, scale = _location(train.reshape(-1, train.shape[-1]))

    def output(place: int) -> Score:
        return lambda values: values[..., place]

    def distance(place: int) -> Score:
        return lambda values: np.abs(values[..., place] - middle[place])

    def standardised(values: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.clip((values - middle) / scale, -_WINSOR, _WINSOR)

    found = [(name, output(place)) for place, name in enumerate(names)]
    found += [
        (f"distance of {name} from its median", distance(place)) for place, name in enumerate(names)
    ]
    if len(names) > 1:
        found.append(
            (
                "sum of squares",
                lambda values: np.asarray(np.square(standardised(values)).sum(axis=-1)),
            )
        )
        found += _discriminants(train, standardised, "linear combination")
        found += _discriminants(train, _normal_scores(train), "linear combination of ranks")
    return found


def _discriminants(train: Floats, scaled: Score, name: str) -> list[tuple[str, Score]]:
    """Return linear discriminants of outputs after `scaled`, with different ridges."""
    first, second = scaled(train)
    moved = second.mean(axis=0) - first.mean(axis=0)
    kept = np.arange(len(moved))
    if len(moved) > _MOST_INPUTS:
        width = np.sqrt((first.var(axis=0) + second.var(axis=0)) / 2) + np.finfo(float).tiny
        kept = np.argsort(-np.abs(moved) / width, kind="stable")[:_MOST_INPUTS]
    spread = (_covariance(first[:, kept]) + _covariance(second[:, kept])) / 2

    def combination(weights: Floats) -> Score:
        return lambda values: np.asarray(scaled(values)[..., kept] @ weights)

    return [
        (
            name,
            combination(np.linalg.solve(spread + ridge * np.eye(len(kept)), moved[kept])),
        )
        for ridge in _RIDGES
    ]


def _normal_scores(train: Floats) -> Score:
    """Return a function that maps every output to the normal quantile of its rank in `train`.

    Standard errors and scales vary by factors between fits. Their ranks do not have such tails.
    """
    pooled = np.sort(train.reshape(-1, train.shape[-1]), axis=0)
    levels = ndtri((np.arange(len(pooled)) + 0.5) / len(pooled))
    grids = []
    for column in pooled.T:
        # Equal values get the mean of their quantiles.
        values, places = np.unique(column, return_inverse=True)
        grids.append((values, np.bincount(places, levels) / np.bincount(places)))

    def scores(values: Floats) -> Floats:
        columns = [np.interp(values[..., j], *grid) for j, grid in enumerate(grids)]
        return np.stack(columns, axis=-1)

    return scores


def _covariance(values: Floats) -> Floats:
    centred = values - values.mean(axis=0)
    return np.asarray(centred.T @ centred / max(len(values) - 1, 1))


def _location(values: Floats) -> tuple[Floats, Floats]:
    """Return a middle and a width of every column, which few wild values do not change."""
    low, middle, high = np.quantile(values, [0.16, 0.5, 0.84], axis=0)
    width = high / 2 - low / 2
    whole = values.max(axis=0) / 2 - values.min(axis=0) / 2
    width = np.where(width > 0.0, width, whole)
    return middle, np.where(width > 0.0, width, 1.0)


def _finite(values: Floats) -> Floats:
    """Return values with NaN and infinities as numbers, so that they can be told apart."""
    return np.clip(np.nan_to_num(values, nan=2e300, posinf=1e300, neginf=-1e300), -1e300, 2e300)
