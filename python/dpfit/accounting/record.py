"""What a fitted estimator says about its privacy."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Self

from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    Neighbors,
    check_count,
    check_name,
    check_neighbors,
    check_positive,
    check_within,
)
from dpfit.accounting._rounding import fraction_up
from dpfit.accounting._statement import as_html, as_paragraph, as_text, named_unit
from dpfit.accounting.accountant import GDPAccountant
from dpfit.accounting.events import ApproximateRelease, Event, Release, event_from_dict
from dpfit.exceptions import BudgetExceeded, ParameterError

__all__ = ["PrivacyRecord", "describe_unit"]

_FORMAT = "dpfit-privacy-record"
_VERSION = 1
_TOLERANCE = Fraction(1, 10**12)


@dataclass(frozen=True, kw_only=True)
class PrivacyRecord:
    """The privacy guarantee of a result, with the releases that it rests on.

    Most callers use :meth:`from_events`, which fills in what follows from the rest.

    Parameters
    ----------
    epsilon, delta : float or None
        The guarantee as (epsilon, delta)-DP; both or neither.
    mu : float or None
        The budget of the Gaussian releases; None if there are none.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation.
    events : tuple of Release or ApproximateRelease
        What was released; at least one.
    insecure_seed : bool, default False
        Whether the noise came from a fixed seed. Then nothing is private.
    unit : str, default "one row"
        What is protected; see :func:`describe_unit`.
    unit_column : str or None, default None
        The column that tells units apart, if they have a name.
    notes : tuple of str, default ()
        Sentences to add to the statement. They must not depend on the data other than through
        what was released.

    Raises
    ------
    BudgetExceeded
        If the events cost more than epsilon, delta and mu say.
    ParameterError
        If a parameter is not usable, or if the events cost less than ``1 - 1e-12`` times the
        budget.

    Privacy
    -------
    A record exists only if its numbers are true of its events: they compose, in exact arithmetic,
    to at most the budget, and mu-GDP with the recorded mu implies the recorded (epsilon, delta).
    The record holds nothing that was read from the data.

    Examples
    --------
    >>> from dpfit.accounting import gdp_mu
    >>> budget = gdp_mu(1.0, 1e-6)
    >>> event = Release(statistic="mean", sensitivity=1.0, mu=budget, neighbors="add_remove")
    >>> record = PrivacyRecord.from_events([event], epsilon=1.0, delta=1e-6)
    >>> print(record)
    epsilon    1
    delta      1e-06
    mu         0.236705
    neighbors  add_remove
    unit       one row
    releases   mean
    >>> PrivacyRecord.from_json(record.to_json()) == record
    True
    """

    epsilon: float | None
    delta: float | None
    mu: float | None
    neighbors: Neighbors
    events: tuple[Event, ...]
    insecure_seed: bool = False
    unit: str = "one row"
    unit_column: str | None = None
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        """Check the fields, and that the events cost what they say."""
        check_neighbors(self.neighbors)
        check_name("unit", self.unit)
        if self.unit_column is not None and not isinstance(self.unit_column, str):
            kind = type(self.unit_column).__name__
            raise ParameterError(f"unit_column must be a string, got {kind}")
        if type(self.insecure_seed) is not bool:
            kind = type(self.insecure_seed).__name__
            raise ParameterError(f"insecure_seed must be True or False, got {kind}")
        if isinstance(self.notes, str):
            raise ParameterError("notes must be a sequence of strings, got str")
        notes = tuple(check_name(f"notes[{i}]", note) for i, note in enumerate(self.notes))
        object.__setattr__(self, "notes", notes)
        object.__setattr__(self, "events", tuple(self.events))
        for name, value in _checked_budget(self.epsilon, self.delta, self.mu).items():
            object.__setattr__(self, name, value)
        self._check_events()

    @classmethod
    def from_events(
        cls,
        events: Iterable[Event],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        insecure_seed: bool = False,
        unit: str = "one row",
        unit_column: str | None = None,
        notes: Iterable[str] = (),
    ) -> Self:
        """Make a record from events and from the budget that was asked for.

        Parameters
        ----------
        events : iterable of Release or ApproximateRelease
            What was released; at least one, all under the same neighbouring relation.
        epsilon, delta : float, optional
            The budget. If ``mu`` is given instead, ``delta`` alone says at which delta epsilon
            is to be stated.
        mu : float, optional
            The budget of the Gaussian releases, instead of ``epsilon``.
        insecure_seed : bool, default False
            Whether the noise came from a fixed seed.
        unit : str, default "one row"
            What is protected.
        unit_column : str, optional
            The column that tells units apart.
        notes : iterable of str, default ()
            Sentences to add to the statement.

        Returns
        -------
        PrivacyRecord
            With epsilon and delta left out if only mu was given, or if only an epsilon above 1000
            would hold.

        Raises
        ------
        BudgetExceeded, ParameterError
            As for the class.

        Privacy
        -------
        Derived numbers are rounded to the private side, and the record is then checked like any
        other.
        """
        events = tuple(events)
        if not events:
            raise ParameterError("events must hold at least one release")
        if mu is not None and epsilon is not None:
            raise ParameterError("epsilon and mu exclude each other: give one of them")
        known = isinstance(events[0], Release | ApproximateRelease)
        neighbors: Neighbors = events[0].neighbors if known else "add_remove"
        accountant = GDPAccountant(neighbors).compose(events)
        if mu is not None:
            epsilon, delta = _stated(accountant, check_positive("mu", mu), delta)
        elif epsilon is not None and delta is not None and accountant.mu > 0.0:
            mu = accountant.gaussian_budget(epsilon, delta)
        return cls(
            epsilon=epsilon,
            delta=delta,
            mu=mu,
            neighbors=neighbors,
            events=events,
            insecure_seed=insecure_seed,
            unit=unit,
            unit_column=unit_column,
            notes=tuple(notes),
        )

    @property
    def protected(self) -> str:
        """What one change of the table is about, however many of its rows are used.

        Privacy
        -------
        Costs add up if this and `neighbors` are the same. Without a name for the column, it is for
        the reader to know that units are of the same kind.
        """
        return named_unit(self.unit, self.unit_column)

    def statement(self) -> str:
        """Return a paragraph of plain English that says what is promised and on what terms.

        Privacy
        -------
        Numbers are rounded up, so the text never promises more than the record. With
        ``insecure_seed`` it begins by saying that nothing is private.
        """
        return as_paragraph(self)

    def to_dict(self) -> dict[str, Any]:
        """Return the record, and its statement, as a dictionary of plain values."""
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "mu": self.mu,
            "neighbors": self.neighbors,
            "unit": self.unit,
            "unit_column": self.unit_column,
            "insecure_seed": self.insecure_seed,
            "events": [event.to_dict() for event in self.events],
            "notes": list(self.notes),
            "statement": self.statement(),
        }

    def to_json(self) -> str:
        """Return the record as JSON; :meth:`from_json` reads it back without loss."""
        return json.dumps(self.to_dict(), indent=2, ensure_ascii=False, allow_nan=False)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return the record that :meth:`to_dict` wrote.

        Privacy
        -------
        The record is checked as if it were made anew. The statement is not read but written again
        from the checked numbers.
        """
        if not isinstance(fields, Mapping):
            raise ParameterError(f"a record must be a mapping, got {type(fields).__name__}")
        if fields.get("format") != _FORMAT or fields.get("version") != _VERSION:
            raise ParameterError(
                f"format={fields.get('format')!r}, version={fields.get('version')!r} is not a "
                f"record; need format={_FORMAT!r}, version={_VERSION}"
            )
        values = {
            name: value
            for name, value in fields.items()
            if name not in ("format", "version", "statement")
        }
        # Records were written without it once.
        values.setdefault("unit_column", None)
        if set(values) != set(cls.__dataclass_fields__):
            wrong = sorted(str(name) for name in set(values) ^ set(cls.__dataclass_fields__))
            raise ParameterError(f"PrivacyRecord: missing or unknown fields {wrong}")
        for name in ("events", "notes"):
            if not isinstance(values[name], list):
                raise ParameterError(f"{name} must be a list, got {type(values[name]).__name__}")
        values["events"] = tuple(event_from_dict(event) for event in values["events"])
        values["notes"] = tuple(values["notes"])
        return cls(**values)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Return the record that :meth:`to_json` wrote, checked as in :meth:`from_dict`."""
        try:
            fields = json.loads(text)
        except json.JSONDecodeError as error:
            raise ParameterError(f"the record is not JSON: {error.msg}") from None
        return cls.from_dict(fields)

    def __str__(self) -> str:
        """Return a few aligned lines."""
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)

    def _check_events(self) -> None:
        """Refuse events that cost more than the budget, or noticeably less."""
        if not self.events:
            raise ParameterError("events must hold at least one release")
        accountant = GDPAccountant(self.neighbors).compose(self.events)
        others = [event for event in self.events if isinstance(event, ApproximateRelease)]
        if self.epsilon is None and others:
            raise ParameterError("epsilon and delta are needed: some events are not Gaussian")
        if accountant.mu == 0.0:
            if self.mu is not None:
                raise ParameterError(f"mu={self.mu!r} must be None: no event is Gaussian")
            for name, granted in (("epsilon", self.epsilon), ("delta", self.delta)):
                spent = sum((Fraction(getattr(event, name)) for event in others), Fraction())
                _check_spent(name, spent, granted or 0.0)
            return
        if self.mu is None:
            raise ParameterError("mu is needed: some events are Gaussian")
        _check_spent("mu", Fraction(accountant.mu), self.mu)
        if self.epsilon is not None and self.delta is not None:
            _check_conversion(accountant, self.mu, self.epsilon, self.delta)


def describe_unit(max_rows: int | None = None) -> str:
    """Return the text for :attr:`PrivacyRecord.unit`.

    Parameters
    ----------
    max_rows : int, optional
        Largest number of rows kept of a unit; None if every row stands for itself.

    Examples
    --------
    >>> describe_unit()
    'one row'
    >>> describe_unit(5)
    'one unit, at most 5 rows'
    """
    if max_rows is None:
        return "one row"
    count = check_count("max_rows", max_rows)
    return f"one unit, at most {count} row{'' if count == 1 else 's'}"


def _checked_budget(epsilon: object, delta: object, mu: object) -> dict[str, float | None]:
    """Return the budget as doubles."""
    if (epsilon is None) != (delta is None):
        raise ParameterError("epsilon and delta must be given together")
    if epsilon is None and mu is None:
        raise ParameterError("a budget is needed: epsilon and delta, or mu")
    return {
        "epsilon": None
        if epsilon is None
        else check_within("epsilon", epsilon, (0.0, EPSILON_RANGE[1])),
        "delta": None if delta is None else check_within("delta", delta, (0.0, DELTA_RANGE[1])),
        "mu": None if mu is None else check_positive("mu", mu),
    }


def _check_spent(name: str, spent: Fraction, granted: float) -> None:
    """Refuse a cost that is above what was granted, or noticeably below."""
    if spent > Fraction(granted):
        raise BudgetExceeded(
            f"the events cost {name}={fraction_up(spent)!r}, granted was {name}={granted!r}"
        )
    if spent < Fraction(granted) * (1 - _TOLERANCE):
        raise ParameterError(
            f"{name}={granted!r} is more than the events cost, {name}={fraction_up(spent)!r}: "
            "the budget must be spent to 1e-12"
        )


def _check_conversion(accountant: GDPAccountant, mu: float, epsilon: float, delta: float) -> None:
    """Refuse an (epsilon, delta) that mu does not imply, or that is noticeably larger."""
    limit = accountant.gaussian_budget(epsilon, delta)
    if mu > limit or epsilon != _stated(accountant, mu, delta)[0]:
        _check_spent("mu", Fraction(mu), limit)


def _stated(
    accountant: GDPAccountant, mu: float, delta: float | None
) -> tuple[float | None, float | None]:
    """Return (epsilon, delta) if the Gaussian events cost mu; nothing if epsilon is over 1000."""
    if delta is None or mu > accountant.gaussian_budget(EPSILON_RANGE[1], delta):
        return None, None
    budget = GDPAccountant(accountant.neighbors).compose(
        event for event in accountant.events if isinstance(event, ApproximateRelease)
    )
    budget.add(Release(statistic="budget", sensitivity=mu, mu=mu, neighbors=accountant.neighbors))
    return budget.epsilon(delta), delta
