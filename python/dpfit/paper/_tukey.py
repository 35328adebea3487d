"""The private choice of one model out of many (TukeyEM), in exact arithmetic.

Amin, Joseph, Ribero and Vassilvitskii (2022, arXiv:2208.07353) fit m models on m disjoint parts of
the data and release a point that lies deep among them. A propose-test-release check ensures that
deep regions are not much smaller than shallow ones; then the exponential mechanism chooses a point
by its depth.

Here the coefficients are first rounded to a public grid. Every region is then a box of integers,
and every volume an exact count of grid points. Models that coincide form a box of one point rather
than a region of measure zero. Volumes are compared and choices are made exactly
(:mod:`dpfit.paper._exact_choice`), so the guarantee does not depend on floating-point arithmetic.
``docs/privacy/tukey_em.md`` has the theorem, the lemmas that are named below, and their proofs.
"""

from __future__ import annotations

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from dpfit._rounding import fraction_down
from dpfit._typing import Neighbors
from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    check_count,
    check_positive,
    check_within,
)
from dpfit.accounting.events import ApproximateRelease
from dpfit.exceptions import ParameterError
from dpfit.paper._exact_choice import RandomBits
from dpfit.paper._tukey_stages import (
    TukeyPlan,
    check_passes,
    choose_point,
    depth_levels,
    distance_to_unsafety,
    smallest_threshold,
)

__all__ = ["Grid", "TukeyPlan", "TukeyRelease", "plan_tukey", "release_tukey_point"]

_LARGEST_RADIUS = 2**53


@dataclass(frozen=True, kw_only=True)
class Grid:
    """The public grid that coefficients are rounded to: ``step`` times -radius, ..., radius.

    Parameters
    ----------
    step : float
        A power of two.
    radius : int, default 2**53
        From 1 to 2**53. Coefficients beyond ``radius * step`` are moved to the edge.

    Raises
    ------
    ParameterError
        If a parameter is invalid, or ``radius * step`` is not a double.

    Privacy
    -------
    The grid must be chosen without looking at the data.

    Examples
    --------
    >>> Grid(step=0.25, radius=100).quantise(np.array([[0.3, -1e9, np.nan]])).tolist()
    [[1, -100, 0]]
    """

    step: float
    radius: int = _LARGEST_RADIUS

    def __post_init__(self) -> None:
        """Check the fields."""
        step = check_positive("step", self.step)
        if math.frexp(step)[0] != 0.5:
            raise ParameterError(f"step must be a power of two, got {step!r}")
        radius = check_count("radius", self.radius)
        if radius > _LARGEST_RADIUS:
            raise ParameterError(f"radius must be <= 2**53, got {radius}")
        if math.isinf(step * radius):
            raise ParameterError(f"step * radius must be finite, got {step!r} * {radius}")
        object.__setattr__(self, "step", step)
        object.__setattr__(self, "radius", radius)

    def quantise(self, models: NDArray[np.float64]) -> NDArray[np.int64]:
        """Round coefficients to the grid, NaN to 0 and values beyond the grid to its edge.

        Privacy
        -------
        Entries are mapped one at a time, so a changed row changes only the same row of the result.
        No value raises or warns.
        """
        with np.errstate(all="ignore"):
            scaled = np.ldexp(models, 1 - math.frexp(self.step)[1])
            np.rint(scaled, out=scaled)
            scaled[np.isnan(scaled)] = 0.0
            np.clip(scaled, -float(self.radius), float(self.radius), out=scaled)
        return scaled.astype(np.int64)

    def coefficients(self, point: Sequence[int]) -> NDArray[np.float64]:
        """Return the coefficients of a grid point, exactly."""
        return np.ldexp(np.array(point, dtype=np.float64), math.frexp(self.step)[1] - 1)

    def size(self, n_features: int) -> int:
        """Return the number of grid points."""
        return int((2 * self.radius + 1) ** n_features)


@dataclass(frozen=True, kw_only=True)
class TukeyRelease:
    """The outcome of a release.

    Attributes
    ----------
    passed : bool
        Whether the check passed.
    point : tuple of int, or None
        Coefficients as multiples of the grid step; None if the check failed.
    check_cost, choice_cost : (float, float)
        Epsilon and delta of the two stages. Both are charged for every outcome.
    """

    passed: bool
    point: tuple[int, ...] | None
    check_cost: tuple[float, float]
    choice_cost: tuple[float, float]

    def events(
        self, neighbors: Neighbors, *, statistic: str = "coefficients"
    ) -> tuple[ApproximateRelease, ApproximateRelease]:
        """Return the release as two accounting events.

        Privacy
        -------
        The cost of the release is the sum of both events. The second event is not a guarantee for
        the choice alone, which is private only after the check. ``neighbors`` must be a relation
        under which one change of the table changes one model.
        """
        stages = (
            ("propose-test-release", f"safety of {statistic}", self.check_cost),
            ("exponential", statistic, self.choice_cost),
        )
        first, second = (
            ApproximateRelease(
                mechanism=mechanism,
                statistic=name,
                epsilon=epsilon,
                delta=delta,
                neighbors=neighbors,
            )
            for mechanism, name, (epsilon, delta) in stages
        )
        return first, second


def plan_tukey(
    epsilon: float,
    delta: float,
    n_models: int,
    *,
    depth: int | None = None,
    check_share: float = 0.5,
) -> TukeyPlan:
    """Divide (epsilon, delta) between the check and the choice.

    Parameters
    ----------
    epsilon : float
        From 1e-6 to 1e3.
    delta : float
        From 1e-300 to 0.5.
    n_models : int
        Number of models.
    depth : int, optional
        Least depth of a released point, from 1 to (n_models + 1) // 2. By default a quarter of
        ``n_models``.
    check_share : float, default 0.5
        Share of epsilon for the check, between 0 and 1.

    Returns
    -------
    TukeyPlan

    Raises
    ------
    ParameterError
        If a parameter is invalid.

    Privacy
    -------
    All parameters are public. The shares of epsilon are rounded down. Delta is not divided: the
    theorem charges the larger of the two stages' deltas, not their sum.

    Examples
    --------
    >>> plan_tukey(1.0, 1e-6, 1000).threshold
    27
    """
    epsilon = check_within("epsilon", epsilon, EPSILON_RANGE)
    delta = check_within("delta", delta, DELTA_RANGE)
    n_models = check_count("n_models", n_models)
    depth = max(1, n_models // 4) if depth is None else check_count("depth", depth)
    if depth > (n_models + 1) // 2:
        raise ParameterError(f"depth must be <= (n_models + 1) // 2, got {depth}")
    share = check_positive("check_share", check_share)
    if share >= 1.0:
        raise ParameterError(f"check_share must be between 0 and 1, got {share!r}")
    epsilon_check = fraction_down(Fraction(epsilon) * Fraction(share))
    epsilon_choice = fraction_down(Fraction(epsilon) - Fraction(epsilon_check))
    if min(epsilon_check, epsilon_choice) <= 0.0:
        raise ParameterError(f"check_share must leave some epsilon to both stages, got {share!r}")
    return TukeyPlan(
        n_models=n_models,
        depth=depth,
        epsilon_check=epsilon_check,
        epsilon_choice=epsilon_choice,
        delta=delta,
        noise_rate=Fraction(epsilon_check),
        depth_rate=Fraction(epsilon_choice) / 2,
        threshold=smallest_threshold(Fraction(epsilon_check), delta),
    )


def release_tukey_point(
    models: NDArray[np.float64],
    epsilon: float,
    delta: float,
    grid: Grid,
    *,
    depth: int | None = None,
    check_share: float = 0.5,
    source: RandomBits | None = None,
) -> TukeyRelease:
    """Release a grid point that is deep among the rows of ``models``, if the check passes.

    Parameters
    ----------
    models : array of shape (m, d), float64
        One vector of coefficients per part of the data. All values are allowed, even NaN and inf.
    epsilon, delta, depth, check_share
        As for :func:`plan_tukey`.
    grid : Grid
        The public grid.
    source : RandomBits, optional
        The source of randomness, by default the operating system. ``random.Random(seed)`` makes
        tests repeatable and is not private.

    Returns
    -------
    TukeyRelease

    Raises
    ------
    ParameterError
        If a parameter, or the type or shape of ``models``, is invalid. No value in ``models``
        causes an exception or a warning.

    Privacy
    -------
    (epsilon, delta)-differentially private with respect to replacing one row of ``models`` by any
    other (theorem). The numbers of rows and columns are public. The running time is not constant.

    Examples
    --------
    >>> models = np.tile([0.5, -0.25], (400, 1))
    >>> release = release_tukey_point(
    ...     models, 1.0, 1e-6, Grid(step=2.0**-10), source=random.Random(1)
    ... )
    >>> release.passed, release.point
    (True, (512, -256))
    """
    if not isinstance(models, np.ndarray) or models.dtype != np.float64 or models.ndim != 2:
        raise ParameterError("models must be a two-dimensional array of float64")
    if 0 in models.shape:
        raise ParameterError(f"models must have a row and a column, got shape {models.shape}")
    plan = plan_tukey(epsilon, delta, models.shape[0], depth=depth, check_share=check_share)
    return _release(grid.quantise(models), plan, grid, source or random.SystemRandom())


def _release(
    rows: NDArray[np.int64], plan: TukeyPlan, grid: Grid, source: RandomBits
) -> TukeyRelease:
    """Check, then choose."""
    levels = depth_levels(rows, grid.size(rows.shape[1]))
    passed = check_passes(distance_to_unsafety(levels.volumes, plan), plan, source)
    return TukeyRelease(
        passed=passed,
        point=choose_point(levels, plan, source) if passed else None,
        check_cost=(plan.epsilon_check, 0.0),
        choice_cost=(plan.epsilon_choice, plan.delta),
    )
