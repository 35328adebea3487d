"""What a fit or an evaluation charges its ledger."""

from __future__ import annotations

from dpfit.accounting.ledger import Charge, Ledger, LedgerEntry, LedgerLike
from dpfit.accounting.provenance import Provenance
from dpfit.exceptions import ParameterError

__all__ = ["Bill"]


class Bill:
    """A charge that is written as soon as something is released.

    Parameters
    ----------
    ledger : Ledger
        Who pays.
    charge : Charge
        How much.
    """

    def __init__(self, ledger: Ledger, charge: Charge) -> None:
        self._ledger, self._charge = ledger, charge
        self._entry: LedgerEntry | None = None

    @classmethod
    def of(cls, ledger: LedgerLike | None, charge: Charge, *, is_seeded: bool) -> Bill | None:
        """Return the bill, if there is a ledger and it can pay.

        Privacy
        -------
        Seeded noise protects nobody, so no cost would be the right one. `BaggingRegressor` and
        `AdaBoostRegressor` seed their members, and draw rows repeatedly, which a fit cannot see.
        """
        if ledger is None:
            return None
        found = Ledger.of(ledger)
        if is_seeded:
            raise ParameterError(
                "a fit with random_state is not private and cannot be charged to a ledger",
                subject="random_state",
                hint="leave random_state out; ensembles that resample rows, such as "
                "BaggingRegressor, set it and cannot be used with a ledger",
            )
        # Before rows are read. It is checked again when it is written.
        found.check(charge)
        return cls(found, charge)

    def __call__(self) -> None:
        """Write the entry."""
        (self._entry,) = self._ledger.reserve(self._charge)

    def add_note(self, error: BaseException) -> None:
        """Add a note to an error if the entry was written before it."""
        if self._entry is not None:
            error.add_note(
                f"the fit failed after it was charged: entry {self._entry.number} of the ledger "
                f"{self._ledger.path!r}"
            )

    def provenance(self) -> Provenance:
        """Return when the entry was written, for which data set, and its ID."""
        assert self._entry is not None
        return Provenance(
            fitted_at=self._entry.time,
            dataset=self._ledger.dataset,
            ledger_entry=self._entry.id,
        )
