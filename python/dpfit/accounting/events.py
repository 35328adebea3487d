"""Releases as data: which statistic was released, its sensitivity and its cost.

An event describes a release, not its result. It contains parameters, and no number that was read
from the data.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Literal, Self

from dpfit._typing import Neighbors
from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    check_count,
    check_name,
    check_neighbors,
    check_positive,
    check_within,
    must_be,
)
from dpfit.accounting.gdp import gaussian_sigma
from dpfit.exceptions import ParameterError

__all__ = ["ApproximateRelease", "Event", "Release", "event_from_dict"]


@dataclass(frozen=True, kw_only=True)
class Release:
    """A statistic released with Gaussian noise, once or in several identical rounds.

    Parameters
    ----------
    statistic : str
        What was released, for example ``"gram"``.
    sensitivity : float
        Largest Euclidean distance between the statistics of two neighbouring tables, on the scale
        of the statistic.
    mu : float
        Privacy parameter of one round.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation that ``sensitivity`` refers to.
    sigma : float, optional
        Standard deviation of the noise, on the scale of the statistic. By default, the smallest
        one that gives ``mu``.
    count : int, default 1
        Number of rounds.
    mechanism : str, default "gaussian"
        The only allowed value. It is a field so that it appears in records.

    Raises
    ------
    ParameterError
        If a parameter is invalid, or if ``sigma`` is too small for ``mu``.

    Privacy
    -------
    If the sensitivity is correct and the noise is normal with at least this sigma, one round is
    mu-GDP and all rounds together are ``mu * sqrt(count)``-GDP. The condition
    ``sensitivity <= mu * sigma`` is checked in exact arithmetic. The sensitivity itself is the
    caller's claim.

    Examples
    --------
    >>> event = Release(statistic="gram", sensitivity=1.0, mu=0.25, neighbors="add_remove")
    >>> event.sigma
    4.0
    """

    statistic: str
    sensitivity: float
    mu: float
    neighbors: Neighbors
    sigma: float = None  # type: ignore[assignment]  # filled in below, so never None
    count: int = 1
    mechanism: Literal["gaussian"] = "gaussian"

    def __post_init__(self) -> None:
        """Check the fields and convert them to plain types."""
        if self.mechanism != "gaussian":
            raise must_be("mechanism", "'gaussian'", repr(self.mechanism))
        sensitivity = check_positive("sensitivity", self.sensitivity)
        mu = check_positive("mu", self.mu)
        if self.sigma is None:  # type: ignore[redundant-expr, unused-ignore]
            sigma = gaussian_sigma(sensitivity, mu)
        else:
            sigma = check_positive("sigma", self.sigma)
            if Fraction(sensitivity) > Fraction(mu) * Fraction(sigma):
                least = gaussian_sigma(sensitivity, mu)
                allowed = f">= {least!r} for mu={mu!r} and sensitivity={sensitivity!r}"
                raise must_be("sigma", allowed, sigma)
        _set(
            self,
            statistic=check_name("statistic", self.statistic),
            sensitivity=sensitivity,
            mu=mu,
            neighbors=check_neighbors(self.neighbors),
            sigma=sigma,
            count=check_count("count", self.count),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a dictionary of plain values."""
        return {"type": "Release", **asdict(self)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the event that :meth:`to_dict` wrote."""
        return cls(**_fields(cls, fields))


@dataclass(frozen=True, kw_only=True)
class ApproximateRelease:
    """A release of which only (epsilon, delta) is known.

    Parameters
    ----------
    mechanism : str
        The privacy mechanism, for example ``"exponential"``.
    statistic : str
        What was released.
    epsilon : float
        From 0 to 1e3.
    delta : float
        0 for pure differential privacy, otherwise from 1e-300 to 0.5.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation that epsilon and delta refer to.

    Raises
    ------
    ParameterError
        If a parameter is invalid, or if epsilon and delta are both 0.

    Privacy
    -------
    The pair (epsilon, delta) is the caller's claim. An accountant adds up such pairs, which is
    valid for every mechanism.

    Examples
    --------
    >>> ApproximateRelease(
    ...     mechanism="exponential", statistic="model", epsilon=0.5, neighbors="add_remove"
    ... ).delta
    0.0
    """

    mechanism: str
    statistic: str
    epsilon: float
    delta: float = 0.0
    neighbors: Neighbors

    def __post_init__(self) -> None:
        """Check the fields and convert them to plain types."""
        epsilon = check_within("epsilon", self.epsilon, (0.0, EPSILON_RANGE[1]))
        delta = check_within("delta", self.delta, (0.0, DELTA_RANGE[1]))
        if 0.0 < delta < DELTA_RANGE[0]:
            low, high = DELTA_RANGE
            raise must_be("delta", f"0 or between {low!r} and {high!r}", delta)
        if epsilon == delta == 0.0:
            raise ParameterError("epsilon and delta are both 0: a release must have a cost")
        _set(
            self,
            mechanism=check_name("mechanism", self.mechanism),
            statistic=check_name("statistic", self.statistic),
            epsilon=abs(epsilon),
            delta=abs(delta),
            neighbors=check_neighbors(self.neighbors),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the event as a dictionary of plain values."""
        return {"type": "ApproximateRelease", **asdict(self)}

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the event that :meth:`to_dict` wrote."""
        return cls(**_fields(cls, fields))


Event = Release | ApproximateRelease
"""The types of events that an accountant accepts."""

_TYPES: dict[str, type[Release] | type[ApproximateRelease]] = {
    "Release": Release,
    "ApproximateRelease": ApproximateRelease,
}


def event_from_dict(fields: Mapping[str, Any]) -> Event:
    """Return the event that ``to_dict`` wrote.

    Parameters
    ----------
    fields : mapping
        As written by ``to_dict``. The entry ``"type"`` is the name of the class.

    Returns
    -------
    Release or ApproximateRelease

    Raises
    ------
    ParameterError
        If the type is unknown, or the fields do not match it.

    Privacy
    -------
    All checks of a new event are made, so a modified file cannot contain an invalid event.

    Examples
    --------
    >>> event = Release(statistic="gram", sensitivity=1.0, mu=0.25, neighbors="add_remove")
    >>> event_from_dict(event.to_dict()) == event
    True
    """
    if not isinstance(fields, Mapping):
        raise must_be("an event", "a mapping", type(fields).__name__)
    kind = fields.get("type")
    if not isinstance(kind, str) or kind not in _TYPES:
        raise must_be("type", f"one of {sorted(_TYPES)}", repr(kind))
    return _TYPES[kind].from_dict(fields)


def _fields(cls: type[Release] | type[ApproximateRelease], fields: Mapping[str, Any]) -> Any:
    """Return the keyword arguments from a dictionary, which must have exactly the fields."""
    expected = {"type", *cls.__dataclass_fields__}
    if set(fields) != expected:
        wrong = sorted(str(name) for name in set(fields) ^ expected)
        raise ParameterError(f"{cls.__name__}: missing or unknown fields {wrong}")
    if fields["type"] != cls.__name__:
        raise must_be("type", repr(cls.__name__), repr(fields["type"]))
    return {name: value for name, value in fields.items() if name != "type"}


def _set(event: object, **values: object) -> None:
    """Store checked values in a frozen dataclass, from its ``__post_init__``."""
    for name, value in values.items():
        object.__setattr__(event, name, value)
