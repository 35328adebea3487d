"""When a model was fitted, on which data set, and which entry of a ledger paid for it."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Self

from dpfit.accounting._checks import check_name, must_be
from dpfit.exceptions import ParameterError

__all__ = ["Provenance", "utc_now"]

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def utc_now() -> str:
    """Return the time in UTC, to the second, such as ``2026-01-31T12:00:00Z``."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


@dataclass(frozen=True, kw_only=True)
class Provenance:
    """Where a fitted model comes from; the attribute ``provenance_`` of an estimator.

    Parameters
    ----------
    fitted_at : str
        When the fit started, or when its ledger entry was written: in UTC, to the second.
    dataset : str or None
        The name of the data set in the ledger; None without a ledger.
    ledger_entry : str or None
        The ID of the ledger's entry; None without a ledger.

    Privacy
    -------
    Nothing in it was read from the data. The time is from before the first release, to the second,
    so that it does not reveal how long the fit took.

    Examples
    --------
    >>> Provenance(fitted_at="2026-01-31T12:00:00Z").dataset is None
    True
    """

    fitted_at: str
    dataset: str | None = None
    ledger_entry: str | None = None

    def __post_init__(self) -> None:
        """Check the fields."""
        if not _TIME.fullmatch(check_name("fitted_at", self.fitted_at)):
            raise must_be("fitted_at", "a time such as 2026-01-31T12:00:00Z", repr(self.fitted_at))
        for name in ("dataset", "ledger_entry"):
            if getattr(self, name) is not None:
                check_name(name, getattr(self, name))

    def to_dict(self) -> dict[str, str | None]:
        """Return the fields as a dictionary of plain values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Self:
        """Return what :meth:`to_dict` wrote."""
        if not isinstance(fields, Mapping) or set(fields) != set(cls.__dataclass_fields__):
            raise ParameterError("Provenance: missing or unknown fields")
        return cls(**fields)
