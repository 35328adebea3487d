"""What a ledger contains, as values."""

from __future__ import annotations

import importlib
import secrets
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any, Self

from dpfit._rounding import fraction_down
from dpfit._typing import Neighbors
from dpfit.accounting._checks import (
    DELTA_RANGE,
    EPSILON_RANGE,
    check_count,
    check_integer,
    check_name,
    check_neighbors,
    check_non_negative,
    check_positive,
    check_within,
)
from dpfit.accounting.events import ApproximateRelease
from dpfit.accounting.gdp import gdp_mu
from dpfit.accounting.provenance import utc_now
from dpfit.exceptions import ParameterError

__all__ = [
    "ADOPTED",
    "Charge",
    "LedgerEntry",
    "ModelFile",
    "Remaining",
    "Settings",
    "as_columns",
    "as_frame",
    "gaussian_rest",
]

ADOPTED = "adopted"
"""The kind of the entry that adopts a copy of the ledger, the only kind without a cost."""

_DELTA = 1e-6
# What SQLite can store is larger.
_MOST_TIMES = 10**15


@dataclass(frozen=True, kw_only=True)
class Settings:
    """What was fixed when the ledger was created.

    `other_epsilon` and `other_delta` are set aside for costs that are not Gaussian; `mu` is the
    rest, for Gaussian ones.
    """

    ledger: str
    dataset: str
    unit: str | None
    rows_per_unit: int | None
    neighbors: Neighbors
    epsilon: float | None
    delta: float
    mu: float
    other_epsilon: float
    other_delta: float
    created: str

    @classmethod
    def checked(
        cls,
        *,
        epsilon: float | None,
        delta: float | None,
        mu: float | None,
        dataset: str,
        unit: str | None,
        rows_per_unit: int | None,
        neighbors: Neighbors,
        other_epsilon: float,
        other_delta: float,
    ) -> Self:
        """Return the settings of a new ledger, with a random ID.

        Privacy
        -------
        The mu of epsilon and delta is rounded down.
        """
        if (epsilon is None) == (mu is None):
            raise ParameterError("give epsilon (and delta), or mu", subject="epsilon")
        delta = _DELTA if delta is None else check_within("delta", delta, DELTA_RANGE)
        if unit is None and rows_per_unit != 1:
            raise ParameterError("rows_per_unit requires unit", subject="rows_per_unit")
        other_epsilon = check_non_negative("other_epsilon", other_epsilon)
        other_delta = check_non_negative("other_delta", other_delta)
        return cls(
            ledger=secrets.token_hex(16),
            dataset=check_name("dataset", dataset),
            unit=None if unit is None else check_name("unit", unit),
            rows_per_unit=None
            if rows_per_unit is None
            else check_count("rows_per_unit", rows_per_unit),
            neighbors=check_neighbors(neighbors),
            epsilon=None if epsilon is None else float(epsilon),
            delta=delta,
            mu=cls._gaussian(epsilon, delta, mu, other_epsilon, other_delta),
            other_epsilon=other_epsilon,
            other_delta=other_delta,
            created=utc_now(),
        )

    @staticmethod
    def _gaussian(
        epsilon: float | None, delta: float, mu: Any, other_epsilon: float, other_delta: float
    ) -> float:
        if epsilon is None:
            if other_epsilon or other_delta:
                raise ParameterError(
                    "other_epsilon and other_delta are parts of epsilon and delta, not of mu",
                    subject="other_epsilon",
                )
            return check_positive("mu", mu)
        check_within("epsilon", epsilon, EPSILON_RANGE)
        if other_epsilon >= epsilon or other_delta >= delta:
            name = "other_epsilon" if other_epsilon >= epsilon else "other_delta"
            raise ParameterError(f"{name} must be below that of the ledger", subject=name)
        found = gaussian_rest(epsilon, delta, Fraction(other_epsilon), Fraction(other_delta))
        if not found:
            raise ParameterError(
                "nothing is left for Gaussian costs: other_epsilon or other_delta is too large",
                subject="other_epsilon",
            )
        return found


def gaussian_rest(
    epsilon: float, delta: float, other_epsilon: Fraction, other_delta: Fraction
) -> float:
    """Return the mu that a budget allows beside other costs; 0 if it is too small.

    Privacy
    -------
    Differences are exact and rounded down before they are converted, and mu is rounded down.
    """
    rest = fraction_down(Fraction(epsilon) - other_epsilon)
    rest_delta = fraction_down(Fraction(delta) - other_delta)
    if rest < EPSILON_RANGE[0] or rest_delta < DELTA_RANGE[0]:
        return 0.0
    return gdp_mu(rest, rest_delta)


@dataclass(frozen=True, kw_only=True)
class Charge:
    """What is to be charged: a cost, and what it protects.

    Parameters
    ----------
    what : str
        What is paid for, such as the name of an estimator.
    mu : float or None
        The cost of Gaussian releases; None if they are not Gaussian.
    epsilon, delta : float or None
        The cost of other releases. Together with mu, they are for people to read.
    times : int
        How often the cost occurs.
    kind : {"fit", "added", "adopted"}
        Whether it comes from a fit or was added by a person; or whether it is the decision to
        continue with a copy of the ledger, which has no cost.
    neighbors : {"add_remove", "replace"}
        The neighbouring relation of the releases.
    protects_units : bool or None
        Whether all rows of a unit are protected together, or each row. None if the cost is known
        to hold for what the ledger protects.
    unit_name : str or None
        The name of the person-ID column, if there is one.
    max_rows : int or None
        How many rows of a unit are used.

    Raises
    ------
    ParameterError
        If a cost is negative, not finite or missing.

    Privacy
    -------
    A cost below zero, or one that occurs less than once, would give back budget that was spent.
    """

    what: str
    mu: float | None = None
    epsilon: float | None = None
    delta: float | None = None
    times: int = 1
    kind: str = "fit"
    neighbors: Neighbors = "add_remove"
    protects_units: bool | None = None
    unit_name: str | None = None
    max_rows: int | None = None

    def __post_init__(self) -> None:
        """Check the cost, and convert its numbers to those of Python."""
        times = check_integer("times", self.times, 1, _MOST_TIMES)
        object.__setattr__(self, "times", times)
        checks = {"mu": check_positive, "epsilon": check_non_negative, "delta": check_non_negative}
        for name, check in checks.items():
            if getattr(self, name) is not None:
                object.__setattr__(self, name, check(name, getattr(self, name)))
        if self.mu is None and self.epsilon is None and self.kind != ADOPTED:
            raise ParameterError("a charge needs mu, or epsilon (and delta)", subject="mu")

    @classmethod
    def added(
        cls,
        what: str,
        *,
        mu: float | None,
        epsilon: float | None,
        delta: float | None,
        times: int,
        neighbors: Neighbors,
    ) -> Self:
        """Return what a person says that a release cost: mu, or epsilon and perhaps delta.

        Privacy
        -------
        The cost is taken to hold for what the ledger protects.
        """
        if (epsilon is None) == (mu is None):
            raise ParameterError("give mu, or epsilon (and delta)", subject="mu")
        if mu is not None:
            if delta is not None:
                raise ParameterError("delta is for epsilon, not for mu", subject="delta")
            mu = check_positive("mu", mu)
        else:
            # For its checks.
            release = ApproximateRelease(
                mechanism="other",
                statistic="release",
                epsilon=epsilon,  # type: ignore[arg-type]
                delta=0.0 if delta is None else delta,
                neighbors=neighbors,
            )
            epsilon, delta = release.epsilon, release.delta
        return cls(
            what=check_name("what", what),
            mu=mu,
            epsilon=epsilon,
            delta=delta,
            times=check_count("times", times),
            kind="added",
            neighbors=neighbors,
        )


@dataclass(frozen=True, kw_only=True)
class ModelFile:
    """A model file that was saved after a fit: its name, the SHA-256 of its bytes, and when."""

    name: str
    checksum: str
    time: str


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """One entry of a ledger.

    Attributes
    ----------
    number : int
        Entries are numbered 1, 2, 3, ... in the order in which they were written.
    id : str
        A random ID, which model files contain.
    time : str
        When it was written, in UTC.
    kind : {"fit", "added", "adopted"}
        A fit; a cost that a person added; or the decision to continue with a copy of the ledger.
    user, host, process : str, str, int
        Who wrote it.
    what : str
        What was paid for.
    mu : float or None
        The cost; None if it is not Gaussian. It includes the factor for several rows per unit.
    epsilon, delta : float or None
        The cost if there is no mu; otherwise, what the fit was asked for.
    times : int
        How often the cost occurred.
    unit_name, max_rows : str or None, int or None
        The person-ID column of the fit, and how many rows of a unit it used; None if it protects
        rows.
    remark : str
        What was unusual, such as a clock that went back; empty if nothing was.
    files : tuple of ModelFile
        Model files of the fit.
    """

    number: int
    id: str
    time: str
    kind: str
    user: str
    host: str
    process: int
    what: str
    mu: float | None
    epsilon: float | None
    delta: float | None
    times: int
    unit_name: str | None
    max_rows: int | None
    remark: str = ""
    files: tuple[ModelFile, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the entry as a dictionary of plain values."""
        return {**asdict(self), "files": [asdict(file) for file in self.files]}


@dataclass(frozen=True)
class Remaining:
    """What is left of a ledger's budget.

    Attributes
    ----------
    mu : float
        A fit with this mu can still be paid for.
    epsilon : float or None
        A fit with this epsilon, at `delta`, can still be paid for. 0 if no epsilon is small
        enough, None if every epsilon up to 1000 is.
    delta : float
        The delta of the ledger.
    """

    mu: float
    epsilon: float | None
    delta: float


def as_frame(entries: Sequence[LedgerEntry]) -> Any:
    """Return entries as a data frame of pandas or, if that is not installed, polars."""
    columns = as_columns(entries)
    for library in ("pandas", "polars"):
        try:
            return importlib.import_module(library).DataFrame(columns)
        except ModuleNotFoundError as error:
            if error.name != library:
                raise
    raise ImportError("to_frame needs pandas or polars: pip install pandas")


def as_columns(entries: Sequence[LedgerEntry]) -> dict[str, list[Any]]:
    """Return entries by field, with the names and checksums of model files as strings."""
    names = [name for name in LedgerEntry.__dataclass_fields__ if name != "files"]
    columns: dict[str, list[Any]] = {
        name: [getattr(entry, name) for entry in entries] for name in names
    }
    for name in ("name", "checksum"):
        # Most fits have one model file or none.
        columns[f"file_{name}"] = [
            ", ".join(getattr(file, name) for file in entry.files) or None for entry in entries
        ]
    return columns
