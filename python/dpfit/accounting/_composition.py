"""Composition of mu-GDP releases, and its inverse: the division of mu among several releases.

Squares, sums and roots are exact integers. Each result is rounded once, to the private side.
"""

from __future__ import annotations

import math
from collections.abc import Iterable

from dpfit._rounding import root_of_ratio_down, root_up, sum_of_squares
from dpfit.accounting._checks import check_count, check_non_negative, check_positive, must_be
from dpfit.exceptions import ParameterError

__all__ = ["compose", "per_round", "split"]

_SMALLEST_NORMAL = math.ldexp(1.0, -1022)


def compose(*mus: float) -> float:
    """Return the mu of several releases taken together, ``sqrt(mu_1**2 + mu_2**2 + ...)``.

    Parameters
    ----------
    *mus : float
        Privacy parameters of the releases; >= 0.

    Returns
    -------
    float
        The smallest double that is at least the exact root; 0 without releases.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or if the root exceeds the largest double.

    Privacy
    -------
    Releases that are mu_i-GDP, where each may depend on the earlier ones, are together mu-GDP with
    the returned mu (Dong, Roth and Su 2022, corollary 3.3). Squares, sum and root are exact
    integers; only the result is rounded, upwards.

    Examples
    --------
    >>> compose(3.0, 4.0)
    5.0
    >>> compose(1e-200, 1e-200)
    1.4142135623730953e-200
    """
    checked = [(check_non_negative(f"mus[{i}]", mu), 1) for i, mu in enumerate(mus)]
    try:
        return root_up(*sum_of_squares(checked))
    except OverflowError:
        raise ParameterError("the composed mu exceeds the largest double") from None


def split(mu: float, ratio: Iterable[float]) -> tuple[float, ...]:
    """Divide mu among several releases in a given ratio.

    Parameters
    ----------
    mu : float
        The mu that the releases may compose to; positive.
    ratio : iterable of float
        Relative size of each part; positive. At least one.

    Returns
    -------
    tuple of float
        For each entry r, the largest double that is at most ``mu * r / sqrt(sum of squares)``.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or a part would be less than the smallest
        normal double.

    Privacy
    -------
    Parts are computed in exact integers and rounded down, so in exact arithmetic they compose to at
    most mu. The loss is a few ulps. ``compose(*split(mu, ratio)) <= mu`` holds for doubles, too.

    Examples
    --------
    >>> split(5.0, (3, 4))
    (3.0, 4.0)
    """
    mu = check_positive("mu", mu)
    if not isinstance(ratio, Iterable):
        raise must_be("ratio", "a sequence of positive numbers", type(ratio).__name__)
    shares = [check_positive(f"ratio[{i}]", share) for i, share in enumerate(ratio)]
    if not shares:
        raise must_be("ratio", "a sequence of positive numbers", "an empty one")
    total, total_exponent = sum_of_squares((share, 1) for share in shares)
    whole, whole_exponent = sum_of_squares([(mu, 1)])
    parts: dict[float, float] = {}
    for i, share in enumerate(shares):
        if share in parts:
            continue
        square, exponent = sum_of_squares([(share, 1)])
        exponent += whole_exponent - total_exponent
        parts[share] = root_of_ratio_down(whole * square, total, exponent)
        if parts[share] < _SMALLEST_NORMAL:
            raise _part_too_small(f"ratio[{i}]={share!r} is too small", mu)
    return tuple(parts[share] for share in shares)


def per_round(mu: float, count: int) -> float:
    """Divide mu among a number of equal releases.

    Parameters
    ----------
    mu : float
        The mu that the releases may compose to; positive.
    count : int
        Number of releases; at least 1.

    Returns
    -------
    float
        The largest double that is at most ``mu / sqrt(count)``.

    Raises
    ------
    ParameterError
        If a parameter is not a number in its range, or the part would be less than the smallest
        normal double.

    Privacy
    -------
    As for :func:`split`: in exact arithmetic, ``count`` releases with the returned mu compose to at
    most the given mu.

    Examples
    --------
    >>> per_round(1.0, 4)
    0.5
    """
    mu = check_positive("mu", mu)
    count = check_count("count", count)
    whole, exponent = sum_of_squares([(mu, 1)])
    part = root_of_ratio_down(whole, count, exponent)
    if part < _SMALLEST_NORMAL:
        raise _part_too_small(f"count={count} is too large", mu)
    return part


def _part_too_small(problem: str, mu: float) -> ParameterError:
    return ParameterError(f"{problem}: each part of mu={mu!r} must be >= {_SMALLEST_NORMAL!r}")
