"""The likelihood ratio of a transcript, and the bound that follows from its distribution.

Along a transcript, release r of the two tables differs by d_r, in standard deviations of its noise.
If the noise z_r is normal, the logarithm of the likelihood ratio of the tables is the sum of
d_r z_r + d_r**2 / 2, which is normal with mean mu**2 / 2 and variance mu**2, where mu**2 is the sum
of d_r**2. So mu of a transcript is known exactly, up to how large the noise really is. That is
estimated from the transcripts.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import special, stats

from dpfit._typing import Array, Floats
from dpfit.audit.bounds import upper_rate
from dpfit.audit.outputs import Reader
from dpfit.audit.transcripts import PUBLIC, Diverged, Entry, recorded, replayed

__all__ = ["Path", "Share", "gaussian_bound", "path_of"]

# The variance of rounding to integers, in steps.
_ROUNDING = 1.0 / 12.0
# Quantiles of mu among transcripts that the bound may be based on.
_QUANTILES = (0.0, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5)


@dataclass(frozen=True)
class Share:
    """What the releases of one statistic add to a transcript.

    Parameters
    ----------
    statistic : str
        Its name.
    releases : int
        How often it was released.
    claimed : float
        The mu of these releases together, as claimed.
    found : float
        The mu with which they distinguish the two tables, given the noise that was asked for.
    noise : float
        The root mean square of the noise, in the standard deviations that were asked for.
    """

    statistic: str
    releases: int
    claimed: float
    found: float
    noise: float


@dataclass(frozen=True, eq=False)
class Path:
    """A transcript, compared with what the other table would have released.

    Parameters
    ----------
    mu : float
        The mu of this transcript, given the noise that was asked for; infinite if something was
        used without noise.
    ratio : float
        The logarithm of the likelihood ratio, first table to second.
    spread : float
        Its standard deviation: mu, with noise that is rounded to integers.
    residuals : array
        What was released minus the exact sums of the first table, in standard deviations.
    moved : array of bool
        Which of them differ between the tables.
    layout : tuple of (str, int)
        Name and length of every release.
    shares : tuple of Share
        By statistic.
    problems : tuple of str
        Proofs that the claim is wrong: releases of which the tables are further apart than the
        noise allows, and outputs that do not follow from releases.
    """

    mu: float
    ratio: float
    spread: float
    residuals: Floats
    moved: Array
    layout: tuple[tuple[str, int], ...]
    shares: tuple[Share, ...]
    problems: tuple[str, ...]


def path_of(fitted: Any, again: Any, tables: tuple[Any, Any], own: int, read: Reader) -> Path:
    """Fit one of two tables, replay the fit on the other one, and compare.

    Parameters
    ----------
    fitted, again : estimator
        Two copies of the estimator.
    tables : tuple of two tables
        The neighbours.
    own : {0, 1}
        Which one is fitted with noise.
    read : callable
        Reads the outputs of a fitted estimator. If all releases are the same, they must be.
    """
    transcript = recorded(fitted, tables[own])
    try:
        other = replayed(again, tables[1 - own], transcript)
    except Diverged:
        problem = "the two tables lead to different releases, although all answers are the same"
        layout = tuple((entry.statistic, len(entry.exact)) for entry in transcript)
        nothing = np.zeros(0)
        return Path(math.inf, 0.0, 0.0, nothing, nothing, layout, (), (problem,))
    problems = [
        f"{entry.statistic} differs by more than its noise allows"
        for entry, second in zip(transcript, other, strict=True)
        if entry.exceeds(second)
    ]
    before, after = read(fitted), read(again)
    problems += [
        f"{name} does not follow from the releases"
        for name in dict.fromkeys([*before, *after])
        if name not in before
        or name not in after
        or not np.array_equal(before[name], after[name], equal_nan=True)
    ]
    first, second = (transcript, other) if own == 0 else (other, transcript)
    return _compared(first, second, own, tuple(dict.fromkeys(problems)))


def _compared(
    first: Sequence[Entry], second: Sequence[Entry], own: int, problems: tuple[str, ...]
) -> Path:
    """Return what distinguishes two tables along one transcript."""
    mu_squared, ratio, spread_squared = 0.0, 0.0, 0.0
    residuals, moved, groups = [], [], dict[str, list[Any]]()
    for one, other in zip(first, second, strict=True):
        steps = np.array([float(step) for step in one.moved(other)])
        if one.statistic == PUBLIC:
            mu_squared += math.inf if steps.any() else 0.0
            continue
        asked = float(np.square(steps / one.sigmas).sum())
        widths = np.sqrt(np.square(one.sigmas) + _ROUNDING)
        differences = steps / widths
        noisy = one.noisy
        from_first = _residuals(noisy, one) / widths
        noise = from_first if own == 0 else _residuals(noisy, other) / widths
        mu_squared += asked
        ratio += float(differences @ noise) + (0.5 if own == 0 else -0.5) * float(
            differences @ differences
        )
        spread_squared += float(differences @ differences)
        residuals.append(from_first)
        moved.append(steps != 0.0)
        group = groups.setdefault(one.statistic, [0, 0.0, 0.0, 0.0, 0])
        group[0] += 1
        group[1] += float(one.cost)
        group[2] += asked
        group[3] += float(noise @ noise)
        group[4] += len(noise)
    shares = tuple(
        Share(name, count, math.sqrt(cost), math.sqrt(found), math.sqrt(noise / size))
        for name, (count, cost, found, noise, size) in groups.items()
    )
    layout = tuple((entry.statistic, len(entry.exact)) for entry in first)
    return Path(
        math.sqrt(mu_squared),
        ratio,
        math.sqrt(spread_squared),
        np.concatenate(residuals) if residuals else np.zeros(0),
        np.concatenate(moved) if moved else np.zeros(0),
        layout,
        shares,
        problems,
    )


def _residuals(noisy: Floats, entry: Entry) -> Floats:
    """Return what was released minus the exact sums."""
    return np.array(
        [float(int(value) - exact) for value, exact in zip(noisy, entry.exact, strict=True)]
    )


def gaussian_bound(first: Sequence[Path], second: Sequence[Path], risk: float) -> float:
    """Return a lower bound on mu, if the logarithms of likelihood ratios are normal.

    Parameters
    ----------
    first, second : sequences of Path
        Transcripts of fits of either table.
    risk : float
        The probability with which the bound may be too large.

    Privacy
    -------
    The bound takes the noise as normal, with a standard deviation that is `s` times what was asked
    for; the upper limit of s is from the variance of the likelihood ratios. It then takes the
    transcripts as those of a test that stops as soon as their mu reaches a threshold m. The share p
    of transcripts that do not reach m has an upper limit because m is an order statistic of the
    fits; a few of them are tried, and share the risk. Both error rates are then at most
    Phi(-m / (2 s)) + p.
    """
    spreads = np.array([[path.spread for path in paths] for paths in (first, second)])
    centres = 0.5 * np.square(spreads) * np.array([[1.0], [-1.0]])
    ratios = np.array([[path.ratio for path in paths] for paths in (first, second)])
    moved = spreads > 0.0
    if not moved.any():
        return 0.0
    noise = (ratios - centres)[moved] / spreads[moved]
    scale = math.sqrt(float(noise @ noise) / float(stats.chi2.ppf(risk / 2, noise.size)))
    if scale == 0.0:
        return math.inf
    ordered = np.sort(spreads, axis=1)
    places = sorted({int(share * ordered.shape[1]) for share in _QUANTILES})
    # The share of all transcripts that are below the k-th smallest of n has a beta distribution at
    # most, whatever the distribution of transcripts is.
    missed = upper_rate(places, ordered.shape[1], risk / (4 * len(places)))
    return max(
        _bound(float(ordered[:, place].min()), scale, float(share))
        for place, share in zip(places, missed, strict=True)
    )


def _bound(m: float, scale: float, missed: float) -> float:
    rate = min(float(special.ndtr(-m / (2.0 * scale))) + missed, 0.5)
    return max(0.0, -2.0 * float(special.ndtri(rate)))
