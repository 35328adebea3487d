"""The two stages of TukeyEM on quantised models: the safety check and the choice of a point.

Models are rows of integers here, and volumes are counts of grid points. The lemmas are in
``docs/privacy/tukey_em.md``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from dpfit.paper._exact_choice import (
    ONE,
    START_DIGITS,
    ZERO,
    Bounds,
    Enclosing,
    RandomBits,
    decide,
    draw_below,
    exact_choice,
)

__all__ = [
    "Levels",
    "TukeyPlan",
    "check_passes",
    "choose_point",
    "depth_levels",
    "depth_sums",
    "distance_to_unsafety",
    "pass_probability",
    "shell_point",
    "smallest_threshold",
]

_EMPTY = (1, 0)

Interval = tuple[int, int]
"""Lowest and highest integer of a range; empty if the second is smaller."""


@dataclass(frozen=True, kw_only=True)
class TukeyPlan:
    """The public parameters of a release, as returned by :func:`plan_tukey`.

    Attributes
    ----------
    n_models : int
        Number m of models.
    depth : int
        Only points at least this deep may be released (the paper's t).
    epsilon_check, epsilon_choice : float
        Shares of the check and of the choice. Their exact sum is at most epsilon.
    delta : float
        Delta of the release.
    noise_rate : Fraction
        The noise X of the check has P(X = x) proportional to exp(-noise_rate * abs(x)).
    depth_rate : Fraction
        The choice gives a point of depth i the weight exp(depth_rate * i).
    threshold : int
        The check passes if the noisy distance to unsafety is at least this. The distance is less
        than ``depth`` unless the grid is very small. So if the threshold is at least ``depth``,
        there are too few models for the check to pass often.
    """

    n_models: int
    depth: int
    epsilon_check: float
    epsilon_choice: float
    delta: float
    noise_rate: Fraction
    depth_rate: Fraction
    threshold: int


@dataclass(frozen=True)
class Levels:
    """The regions of depth at least i, for all i.

    Attributes
    ----------
    ordered : array of shape (m, d)
        The quantised models, each column sorted.
    volumes : tuple of int
        Number of grid points of depth at least i, for i from 0 (all points) to m + 1 (none).
    """

    ordered: NDArray[np.int64]
    volumes: tuple[int, ...]

    def box(self, depth: int) -> list[Interval]:
        """Return the points of at least this depth (1 to m + 1) as one interval per column."""
        n_models, n_features = self.ordered.shape
        if depth > n_models:
            return [_EMPTY] * n_features
        lows, highs = self.ordered[depth - 1].tolist(), self.ordered[n_models - depth].tolist()
        return list(zip(lows, highs, strict=True))


def depth_levels(rows: NDArray[np.int64], grid_size: int) -> Levels:
    """Sort the models and count the points of every depth.

    Parameters
    ----------
    rows : array of shape (m, d)
        Quantised models, entries at most 2**53 in absolute value.
    grid_size : int
        Number of points of the whole grid.

    Returns
    -------
    Levels

    Privacy
    -------
    The depth of a point x is the smallest, over all columns j, of the number of models with
    entry j at most x[j] and the number of models with entry j at least x[j]. Replacing one
    model changes it by at most one (lemma 1), with or without ties.
    """
    ordered = np.sort(rows, axis=0)
    widths = ordered[::-1] - ordered + 1
    counts = [math.prod(row) if min(row) > 0 else 0 for row in widths.tolist()]
    return Levels(ordered, (grid_size, *counts, 0))


def distance_to_unsafety(
    volumes: Sequence[int], plan: TukeyPlan, *, start_digits: int = START_DIGITS
) -> int:
    """Return a lower bound on the number of replaced models that makes the choice unsafe.

    With volumes V[i], least depth t and g = exp(depth_rate), the choice is safe after k
    replacements if ::

        V[t-k-1] - V[t+k+1]  <=  delta * sum((V[i] - V[i+1]) * g**(i-t-k-1) for i > t+k)

    The result is the number of k = 0, 1, ... for which this holds.

    Parameters
    ----------
    volumes : sequence of int
        As in :class:`Levels`.
    plan : TukeyPlan
        Public parameters.
    start_digits : int
        Precision of the first attempt. It does not affect the result.

    Returns
    -------
    int
        From 0 to ``n_models - depth``.

    Privacy
    -------
    If the result is positive, the choice on these models and on any neighbouring ones is
    (epsilon_choice, delta)-indistinguishable (lemma 3). Replacing one model changes the result by
    at most one (lemma 4), because every comparison is decided exactly.
    """
    tails = cache(lambda digits: _tails(volumes, plan, Enclosing(digits)))
    delta = Decimal(plan.delta)

    def is_safe(k: int) -> bool:
        first = plan.depth + k + 1
        moved = volumes[max(plan.depth - k - 1, 0)] - volumes[first]
        if volumes[first + 1] == 0:  # no exponential in the sum, and equality is possible
            return moved <= Fraction(plan.delta) * volumes[first]

        def compare(enclosing: Enclosing) -> bool | None:
            tail = tails(enclosing.digits)[first - plan.depth - 1]
            allowed = enclosing.times(Bounds(delta, delta), tail)
            return True if moved <= allowed.low else False if moved > allowed.high else None

        return decide(compare, start_digits=start_digits)

    k = 0
    while k < plan.n_models - plan.depth and is_safe(k):
        k += 1
    return k


def smallest_threshold(noise_rate: Fraction, delta: float) -> int:
    """Return the smallest n >= 1 with P(X >= n) <= delta for the noise X of the check.

    Parameters
    ----------
    noise_rate : Fraction
        Positive.
    delta : float
        More than 0, at most 0.5.

    Returns
    -------
    int
        At least 1.

    Privacy
    -------
    An unsafe input has distance 0, so it passes the check with probability at most delta. For
    n >= 1, P(X >= n) = q**n / (1 + q) with q = exp(-noise_rate). (For continuous Laplace noise, it
    would be q**n / 2.)
    """
    allowed = Decimal(delta)

    def is_enough(n: int) -> bool:
        def compare(enclosing: Enclosing) -> bool | None:
            tail = _upper_tail(n, noise_rate, enclosing)
            return True if tail.high <= allowed else False if tail.low > allowed else None

        return decide(compare)

    high = 1
    while not is_enough(high):
        high *= 2
    low = high // 2  # not enough, or 0
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high


def pass_probability(distance: int, plan: TukeyPlan, enclosing: Enclosing) -> Bounds:
    """Enclose the probability that distance plus noise reaches the threshold.

    Privacy
    -------
    The noise is two-sided geometric with ratio exp(-noise_rate). The distance has sensitivity 1,
    so the outcome is epsilon_check-DP if noise_rate is epsilon_check.
    """
    missing = plan.threshold - distance
    if missing >= 1:
        return _upper_tail(missing, plan.noise_rate, enclosing)
    return enclosing.minus(ONE, _upper_tail(1 - missing, plan.noise_rate, enclosing))


def check_passes(distance: int, plan: TukeyPlan, source: RandomBits) -> bool:
    """Return whether distance plus noise reaches the threshold.

    Only this outcome is drawn, with its exact probability; the noise itself is not needed.

    Privacy
    -------
    epsilon_check-DP if only the outcome is released.
    """
    return exact_choice(lambda e: [pass_probability(distance, plan, e), ONE], source) == 0


def depth_sums(volumes: Sequence[int], plan: TukeyPlan, enclosing: Enclosing) -> list[Bounds]:
    """Enclose the partial sums of the weights of the depths t, t+1, ..., m.

    Privacy
    -------
    Depth i has weight (V[i] - V[i+1]) * exp(depth_rate * (i - t)). This is the distribution of the
    depth of a point that the exponential mechanism draws, with the depth as score and the region of
    depth at least t as domain.
    """
    growth = enclosing.exp(plan.depth_rate)
    power, total, sums = ONE, ZERO, []
    for i in range(plan.depth, plan.n_models + 1):
        if count := volumes[i] - volumes[i + 1]:
            total = enclosing.plus(total, enclosing.times(enclosing.integer(count), power))
        sums.append(total)
        power = enclosing.times(power, growth)
    return sums


def choose_point(levels: Levels, plan: TukeyPlan, source: RandomBits) -> tuple[int, ...]:
    """Draw a point of depth at least t with probability proportional to exp(depth_rate * depth).

    Privacy
    -------
    (epsilon_choice, delta)-DP on safe inputs only: call it only after the check passed.
    """
    depth = plan.depth + exact_choice(lambda e: depth_sums(levels.volumes, plan, e), source)
    rank = draw_below(levels.volumes[depth] - levels.volumes[depth + 1], source)
    return shell_point(levels.box(depth), levels.box(depth + 1), rank)


def shell_point(outer: Sequence[Interval], inner: Sequence[Interval], rank: int) -> tuple[int, ...]:
    """Return one of the points that lie in the outer box but not in the inner one.

    The points are grouped by the first column in which they leave the inner box. Before that
    column they are within the inner box; after it they are anywhere in the outer box.

    Parameters
    ----------
    outer, inner : sequence of (int, int)
        Lowest and highest value per column. Each interval of the inner box is empty or lies within
        that of the outer box.
    rank : int
        From 0 to the number of such points minus one.

    Returns
    -------
    tuple of int

    Privacy
    -------
    The map is a bijection, so a uniform rank gives a uniform point.
    """
    widths = [high - low + 1 for low, high in outer]
    inner_widths = [max(high - low + 1, 0) for low, high in inner]
    before, after = 1, math.prod(widths)
    for leaving in range(len(widths)):
        after //= widths[leaving]
        group = before * (widths[leaving] - inner_widths[leaving]) * after
        if rank < group:
            break
        rank -= group
        before *= inner_widths[leaving]
    else:
        raise ValueError("rank must be less than the number of points")
    point = []
    for j, ((low, _), (inner_low, inner_high)) in enumerate(zip(outer, inner, strict=True)):
        if j < leaving:
            rank, offset = divmod(rank, inner_widths[j])
            point.append(inner_low + offset)
        elif j > leaving:
            rank, offset = divmod(rank, widths[j])
            point.append(low + offset)
        else:
            rank, offset = divmod(rank, widths[j] - inner_widths[j])
            skipped = inner_widths[j] > 0 and low + offset >= inner_low
            point.append(inner_high + 1 + low + offset - inner_low if skipped else low + offset)
    return tuple(point)


def _upper_tail(n: int, noise_rate: Fraction, enclosing: Enclosing) -> Bounds:
    """Enclose P(X >= n) for n >= 1."""
    ratio = enclosing.exp(-noise_rate)
    return enclosing.over(enclosing.exp(-noise_rate * n), enclosing.plus(ONE, ratio))


def _tails(volumes: Sequence[int], plan: TukeyPlan, enclosing: Enclosing) -> list[Bounds]:
    """Enclose ``sum((V[i] - V[i+1]) * g**(i-n) for i >= n)`` for n from depth + 1 to n_models."""
    growth = enclosing.exp(plan.depth_rate)
    tail, tails = ZERO, []
    for n in range(plan.n_models, plan.depth, -1):
        tail = enclosing.times(tail, growth)
        if count := volumes[n] - volumes[n + 1]:
            tail = enclosing.plus(tail, enclosing.integer(count))
        tails.append(tail)
    return tails[::-1]
