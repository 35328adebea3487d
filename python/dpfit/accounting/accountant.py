"""The accountant: events in, one guarantee out."""

from __future__ import annotations

import json
from collections.abc import Iterable
from fractions import Fraction
from typing import Any, Self

from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    Neighbors,
    check_neighbors,
    check_within,
)
from dpfit.accounting._rounding import fraction_down, fraction_up, root_up, sum_of_squares
from dpfit.accounting.events import ApproximateRelease, Event, Release
from dpfit.accounting.gdp import gdp_delta, gdp_epsilon, gdp_mu
from dpfit.exceptions import ParameterError

__all__ = ["GDPAccountant"]


class GDPAccountant:
    """Composes releases on one data set under one neighbouring relation.

    Gaussian releases compose exactly, as the root of the sum of the squares of their mu. Releases
    of which only (epsilon, delta) is known are kept beside them: their epsilons and deltas are
    added to those of the Gaussian part.

    Parameters
    ----------
    neighbors : {"add_remove", "replace"}, default "add_remove"
        The relation that every event must refer to.

    Privacy
    -------
    What :meth:`epsilon` and :meth:`delta` return holds for all events together, each mechanism
    being allowed to depend on the results of the earlier ones. The Gaussian part follows from
    composition of Gaussian differential privacy (Dong, Roth and Su 2022, corollary 3.3), the sum of
    the parts from basic composition (Dwork and Roth 2014, theorem 3.16). Gaussian releases may be
    grouped although others came between them, because composition of trade-off functions does
    not depend on the order (Dong, Roth and Su 2022, section 3.1). Sums are exact and rounded once,
    to the private side.

    Examples
    --------
    >>> accountant = GDPAccountant()
    >>> for statistic, mu in (("gram", 3.0), ("gradient", 4.0)):
    ...     _ = accountant.add(
    ...         Release(statistic=statistic, sensitivity=1.0, mu=mu, neighbors="add_remove")
    ...     )
    >>> accountant.mu
    5.0
    >>> accountant.epsilon(1e-6) == gdp_epsilon(5.0, 1e-6)
    True
    """

    def __init__(self, neighbors: Neighbors = "add_remove") -> None:
        self._neighbors = check_neighbors(neighbors)
        self._events: tuple[Event, ...] = ()

    @property
    def neighbors(self) -> Neighbors:
        """The neighbouring relation."""
        return self._neighbors

    @property
    def events(self) -> tuple[Event, ...]:
        """The events so far, in the order in which they were added."""
        return self._events

    @property
    def mu(self) -> float:
        """The mu of the Gaussian part, rounded up; 0 if there is none.

        Privacy
        -------
        The Gaussian releases are together mu-GDP. The other events are not covered by it.
        """
        try:
            return root_up(*sum_of_squares((event.mu, event.count) for event in self._gaussian()))
        except OverflowError:
            raise ParameterError("the releases compose to more than the largest double") from None

    def add(self, event: Event) -> Self:
        """Add one event.

        Parameters
        ----------
        event : Release or ApproximateRelease

        Returns
        -------
        GDPAccountant
            This accountant, so that calls can be chained.

        Raises
        ------
        ParameterError
            If the event is of an unknown type or refers to another neighbouring relation. The
            accountant is then as it was before.

        Privacy
        -------
        Nothing is ever taken off the account.
        """
        return self.compose((event,))

    def compose(self, events: Iterable[Event]) -> Self:
        """Add several events, all or none.

        Parameters
        ----------
        events : iterable of Release or ApproximateRelease

        Returns
        -------
        GDPAccountant
            This accountant, so that calls can be chained.

        Raises
        ------
        ParameterError
            If one of the events cannot be added. None of them is added then.

        Privacy
        -------
        Every event is checked before the first is added: an account never holds a part of what
        was composed.
        """
        new = tuple(events)
        for i, event in enumerate(new):
            # An exact match: a subclass could mean something else by the same fields.
            if type(event) is not Release and type(event) is not ApproximateRelease:
                raise ParameterError(
                    f"events[{i}] has type {type(event).__name__}; known are Release and "
                    "ApproximateRelease"
                )
            if event.neighbors != self._neighbors:
                raise ParameterError(
                    f"events[{i}].neighbors={event.neighbors!r} differs from the accountant's "
                    f"neighbors={self._neighbors!r}"
                )
        self._events += new
        return self

    def epsilon(self, delta: float) -> float:
        """Return an epsilon for which all events together are (epsilon, delta)-DP.

        Parameters
        ----------
        delta : float
            From 1e-300 to 0.5, and above the deltas of the (epsilon, delta) events; 0 is allowed
            if all events are pure.

        Returns
        -------
        float
            The epsilon of the Gaussian part at what the other events leave of delta, plus their
            epsilons, rounded up. 0 if there are no events.

        Raises
        ------
        ParameterError
            If delta is out of range or too small for the events.

        Privacy
        -------
        The guarantee holds for all events together; see the class.
        """
        delta = check_within("delta", delta, (0.0, DELTA_RANGE[1]))
        spent_epsilon, spent_delta = self._approximate()
        if not self._gaussian():
            if spent_delta > delta:
                raise _delta_too_small(delta, fraction_up(spent_delta))
            return fraction_up(spent_epsilon)
        rest = fraction_down(Fraction(delta) - spent_delta)
        if rest < DELTA_RANGE[0]:
            raise _delta_too_small(delta, fraction_up(spent_delta + Fraction(DELTA_RANGE[0])))
        return fraction_up(Fraction(gdp_epsilon(self.mu, rest)) + spent_epsilon)

    def delta(self, epsilon: float) -> float:
        """Return a delta for which all events together are (epsilon, delta)-DP.

        Parameters
        ----------
        epsilon : float
            From 1e-6 to 1e3, and above the epsilons of the (epsilon, delta) events.

        Returns
        -------
        float
            The delta of the Gaussian part at what the other events leave of epsilon, plus their
            deltas, rounded up; at most 1. 0 if there are no events, or pure ones only.

        Raises
        ------
        ParameterError
            If epsilon is out of range or too small for the events.

        Privacy
        -------
        The guarantee holds for all events together; see the class.
        """
        epsilon = check_within("epsilon", epsilon, EPSILON_RANGE)
        spent_epsilon, spent_delta = self._approximate()
        if not self._gaussian():
            if spent_epsilon > epsilon:
                raise _epsilon_too_small(epsilon, fraction_up(spent_epsilon))
            return min(fraction_up(spent_delta), 1.0)
        rest = fraction_down(Fraction(epsilon) - spent_epsilon)
        if rest < EPSILON_RANGE[0]:
            lowest = fraction_up(spent_epsilon + Fraction(EPSILON_RANGE[0]))
            raise _epsilon_too_small(epsilon, lowest)
        return min(fraction_up(Fraction(gdp_delta(self.mu, rest)) + spent_delta), 1.0)

    def gaussian_budget(self, epsilon: float, delta: float) -> float:
        """Return what all Gaussian releases together may cost within a total (epsilon, delta).

        Parameters
        ----------
        epsilon : float
            From 1e-6 to 1e3, and above the epsilons of the (epsilon, delta) events.
        delta : float
            From 1e-300 to 0.5, and above the deltas of the (epsilon, delta) events.

        Returns
        -------
        float
            The largest mu that can be certified, those Gaussian releases included that are
            already on the account.

        Raises
        ------
        ParameterError
            If epsilon or delta is out of range or too small for the (epsilon, delta) events.

        Privacy
        -------
        If the Gaussian releases compose to at most this mu, then all events together are
        (epsilon, delta)-DP. The differences are rounded down before they are converted.

        Examples
        --------
        >>> GDPAccountant().gaussian_budget(1.0, 1e-6) == gdp_mu(1.0, 1e-6)
        True
        """
        epsilon = check_within("epsilon", epsilon, EPSILON_RANGE)
        delta = check_within("delta", delta, DELTA_RANGE)
        spent_epsilon, spent_delta = self._approximate()
        rest_epsilon = fraction_down(Fraction(epsilon) - spent_epsilon)
        if rest_epsilon < EPSILON_RANGE[0]:
            lowest = fraction_up(spent_epsilon + Fraction(EPSILON_RANGE[0]))
            raise _epsilon_too_small(epsilon, lowest)
        rest_delta = fraction_down(Fraction(delta) - spent_delta)
        if rest_delta < DELTA_RANGE[0]:
            raise _delta_too_small(delta, fraction_up(spent_delta + Fraction(DELTA_RANGE[0])))
        return gdp_mu(rest_epsilon, rest_delta)

    def to_dict(self) -> dict[str, Any]:
        """Return the account as a dictionary of plain values."""
        return {
            "neighbors": self._neighbors,
            "mu": self.mu,
            "events": [event.to_dict() for event in self._events],
        }

    def to_json(self) -> str:
        """Return the account as JSON."""
        return json.dumps(self.to_dict(), indent=2, allow_nan=False)

    def __repr__(self) -> str:
        """Return a short description."""
        return (
            f"GDPAccountant(neighbors={self._neighbors!r}, events={len(self._events)}, "
            f"mu={self.mu!r})"
        )

    def _gaussian(self) -> list[Release]:
        return [event for event in self._events if isinstance(event, Release)]

    def _approximate(self) -> tuple[Fraction, Fraction]:
        """Return the exact sums of epsilon and delta over the (epsilon, delta) events."""
        others = [event for event in self._events if isinstance(event, ApproximateRelease)]
        return (
            sum((Fraction(event.epsilon) for event in others), Fraction()),
            sum((Fraction(event.delta) for event in others), Fraction()),
        )


def _delta_too_small(delta: float, lowest: float) -> ParameterError:
    return _too_small("delta", delta, lowest, DELTA_RANGE[1])


def _epsilon_too_small(epsilon: float, lowest: float) -> ParameterError:
    return _too_small("epsilon", epsilon, lowest, EPSILON_RANGE[1])


def _too_small(name: str, value: float, lowest: float, highest: float) -> ParameterError:
    if lowest > highest:
        return ParameterError(
            f"{name}={value!r} is out of range: the events alone need {name} >= {lowest!r}, and "
            f"{name} cannot exceed {highest!r}"
        )
    return ParameterError(
        f"{name}={value!r} is too small for the events: {lowest!r} <= {name} <= {highest!r}"
    )
