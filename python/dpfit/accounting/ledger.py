"""The ledger: a privacy budget that belongs to a data set and outlives the process."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Sequence
from typing import Any, Self, TypeAlias

from dpfit._printable import printable
from dpfit._typing import Neighbors
from dpfit.accounting import _ledger_file as file
from dpfit.accounting import _ledger_tables as tables
from dpfit.accounting._checks import must_be
from dpfit.accounting._ledger_budget import charged, exceeded, fits, remaining, remark_on_units
from dpfit.accounting._ledger_entries import (
    ADOPTED,
    Charge,
    LedgerEntry,
    ModelFile,
    Remaining,
    Settings,
    as_frame,
)
from dpfit.accounting.provenance import utc_now
from dpfit.exceptions import LedgerError

__all__ = ["Charge", "Ledger", "LedgerEntry", "LedgerLike", "ModelFile", "Remaining"]


class Ledger:
    """A privacy budget in a file, from which every fit on a data set is paid.

    Parameters
    ----------
    path : str or path
        A file that :meth:`create` made.

    Raises
    ------
    LedgerError
        If the file does not exist, is not a ledger, is damaged or needs a newer dpfit.

    Privacy
    -------
    The entries never cost more than the budget, however many processes and threads use the file.
    An entry is on disk before the noise of its fit is drawn. A fit that fails afterwards has spent
    its budget; one that fails before has not. Costs are added exactly. ``docs/privacy/ledger.md``
    says what a ledger cannot see.

    Examples
    --------
    >>> import os, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = os.path.join(folder.name, "study.dpl")
    >>> ledger = Ledger.create(path, epsilon=2.0, delta=1e-6, dataset="Study", unit="person")
    >>> _ = ledger.add("published table", epsilon=0.5, delta=1e-7)
    >>> [entry.what for entry in ledger.history()]
    ['published table']
    >>> ledger.remaining().epsilon < 2.0
    True
    >>> folder.cleanup()
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        # Absolute, so that a pickled ledger is the same file in another folder.
        self._path = os.path.realpath(_checked_path(path))
        found = file.read(self._path, lambda connection: tables.load(connection, self._path))
        self._settings = found[0]

    @classmethod
    def create(
        cls,
        path: str | os.PathLike[str],
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        mu: float | None = None,
        dataset: str,
        unit: str | None = None,
        rows_per_unit: int | None = 1,
        neighbors: Neighbors = "add_remove",
        other_epsilon: float = 0.0,
        other_delta: float = 0.0,
    ) -> Self:
        """Create a ledger.

        Parameters
        ----------
        path : str or path
            The file. It must not exist.
        epsilon : float
            The budget of all fits together, with `delta`.
        delta : float, default 1e-6
            With `mu`, the delta for which epsilon is stated.
        mu : float
            The budget in terms of Gaussian DP, instead of `epsilon`. Only Gaussian costs can then
            be charged.
        dataset : str
            The name of the data set.
        unit : str or None, default None
            What is protected, for example ``"person"``. None to protect rows.
        rows_per_unit : int or None, default 1
            The largest number of rows that one unit has in the tables of fits without ``unit=``,
            to the best of your knowledge. Such fits protect rows and are charged this many times
            their mu. None refuses them; so does "replace", unless it is 1. Not used without `unit`.
        neighbors : {"add_remove", "replace"}, default "add_remove"
            The neighbouring relation of all fits.
        other_epsilon, other_delta : float, default 0
            What is set aside for costs that are not Gaussian: fits of `TukeyEM`, and :meth:`add`
            with `epsilon`. Without it, they can be paid only before the first Gaussian cost.

        Returns
        -------
        Ledger
            The new ledger.

        Raises
        ------
        LedgerError
            If the file exists or cannot be written.

        Privacy
        -------
        The budget and its parts cannot be changed later. `mu` is rounded down.
        """
        settings = Settings.checked(
            epsilon=epsilon,
            delta=delta,
            mu=mu,
            dataset=dataset,
            unit=unit,
            rows_per_unit=rows_per_unit,
            neighbors=neighbors,
            other_epsilon=other_epsilon,
            other_delta=other_delta,
        )
        place = os.path.realpath(_checked_path(path))

        file.create(place, lambda connection: tables.insert_settings(connection, place, settings))
        return cls(place)

    @classmethod
    def of(cls, ledger: LedgerLike) -> Ledger:
        """Return a ledger that is given as such or by its path."""
        return ledger if isinstance(ledger, Ledger) else cls(ledger)

    @property
    def path(self) -> str:
        """The absolute path of the file."""
        return self._path

    @property
    def dataset(self) -> str:
        """The name of the data set."""
        return self._settings.dataset

    @property
    def unit(self) -> str | None:
        """What is protected; None if rows are."""
        return self._settings.unit

    @property
    def rows_per_unit(self) -> int | None:
        """How many rows of a unit fits without ``unit=`` are charged for; None refuses them."""
        return self._settings.rows_per_unit

    @property
    def neighbors(self) -> Neighbors:
        """The neighbouring relation."""
        return self._settings.neighbors

    @property
    def epsilon(self) -> float | None:
        """The whole budget; None if it was given as mu."""
        return self._settings.epsilon

    @property
    def delta(self) -> float:
        """The delta of the budget, or the one for which epsilon is stated."""
        return self._settings.delta

    @property
    def mu(self) -> float:
        """The budget of Gaussian costs, rounded down: all that is not set aside for others."""
        return self._settings.mu

    @property
    def set_aside(self) -> tuple[float, float]:
        """The epsilon and delta that are set aside for costs that are not Gaussian."""
        return self._settings.other_epsilon, self._settings.other_delta

    @property
    def created(self) -> str:
        """When the ledger was created, in UTC."""
        return self._settings.created

    def remaining(self) -> Remaining:
        """Return what is left of the budget for Gaussian costs: all fits but those of `TukeyEM`.

        Returns
        -------
        Remaining
            Its `mu`, and its `epsilon` at the ledger's `delta`. Each can be spent by one fit.

        Privacy
        -------
        Rounded down. Another process may spend it before you do.
        """
        return remaining(*file.read(self._path, self._load))

    def history(self) -> tuple[LedgerEntry, ...]:
        """Return all entries, in the order in which they were written."""
        return file.read(self._path, self._load)[1]

    def to_frame(self) -> Any:
        """Return the history as a data frame of pandas or, if that is not installed, polars.

        Raises
        ------
        ImportError
            If neither is installed.
        """
        return as_frame(self.history())

    def add(
        self,
        what: str,
        *,
        mu: float | None = None,
        epsilon: float | None = None,
        delta: float | None = None,
        times: int = 1,
    ) -> LedgerEntry:
        """Charge a release that was made without the ledger.

        Parameters
        ----------
        what : str
            A description of the release.
        mu : float
            Its cost, if it is Gaussian. For a fit of dpfit with a known epsilon and delta, this is
            ``gdp_mu(epsilon, delta)``.
        epsilon, delta : float
            Its cost otherwise. By default, delta is 0.
        times : int, default 1
            How many such releases there were.

        Returns
        -------
        LedgerEntry
            The new entry.

        Raises
        ------
        BudgetExceeded
            If the budget does not allow it. The ledger is then unchanged, and so no longer
            describes all that was released.

        Privacy
        -------
        The cost is your claim. It must hold for the ledger's unit and neighbouring relation.
        """
        charge = Charge.added(
            what, mu=mu, epsilon=epsilon, delta=delta, times=times, neighbors=self.neighbors
        )
        return self.reserve(charge)[0]

    def check(self, charge: Charge) -> None:
        """Raise the error that :meth:`reserve` would raise now; write nothing."""
        file.write(self._path, lambda connection: self._append(connection, [charge]), commit=False)

    def reserve(self, *charges: Charge) -> tuple[LedgerEntry, ...]:
        """Charge the ledger.

        Parameters
        ----------
        *charges : Charge
            The costs. All of them are charged, or none.

        Returns
        -------
        tuple of LedgerEntry
            The new entries, which are on disk.

        Raises
        ------
        BudgetExceeded
            If the budget does not allow it.
        ParameterError
            If a charge protects something else than the ledger.
        LedgerError
            If the file cannot be used or written.

        Warns
        -----
        LedgerWarning
            If the clock went back since the last entry: entries keep their order. Or if some fits
            protect rows, which are charged as if each unit had one row, and others protect units.

        Privacy
        -------
        To be called before noise is drawn. After an error nothing may be released.
        """
        return file.write(self._path, lambda connection: self._append(connection, charges))

    def add_model_file(self, entry: str, path: str | os.PathLike[str]) -> None:
        """Record the checksum of a model file, which the history then shows.

        Parameters
        ----------
        entry : str
            The ID of the fit's entry: ``model.provenance_.ledger_entry``.
        path : str or path
            The file. Its name and the SHA-256 of its bytes are recorded.
        """
        with open(path, "rb") as model:
            self.add_checksum(entry, os.path.basename(os.fspath(path)), model.read())

    def add_checksum(self, entry: str, name: str, content: bytes) -> None:
        """Record the checksum of a model that was written, as :meth:`add_model_file` does."""
        checksum = f"sha256:{hashlib.sha256(content).hexdigest()}"
        new = ModelFile(name=printable(name), checksum=checksum, time=utc_now())

        def act(connection: sqlite3.Connection) -> None:
            self._load(connection)
            tables.add_file(connection, self._path, entry, new)

        file.write(self._path, act)

    def is_copy(self) -> bool:
        """Return whether the file is not the one that was created or last adopted."""
        return file.read(self._path, lambda connection: tables.is_copy(connection, self._path))

    def adopt(self) -> LedgerEntry:
        """Continue to use a ledger that was copied, restored or moved to another disk.

        Returns
        -------
        LedgerEntry
            An entry without a cost, which records the decision.

        Privacy
        -------
        Call this only if the other file is no longer used. Otherwise the two spend the budget
        twice.
        """

        def act(connection: sqlite3.Connection) -> LedgerEntry:
            _, entries = self._load(connection)
            tables.set_place(connection, self._path)
            remark = "went on with a file that was copied, restored or moved"
            no_cost = Charge(what="ledger", kind=ADOPTED)
            return tables.append(connection, self._path, entries, no_cost, remark)

        return file.write(self._path, act)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Ledger):
            return NotImplemented
        return (self._path, self._settings) == (other._path, other._settings)

    def __hash__(self) -> int:
        return hash((self._path, self._settings.ledger))

    def __repr__(self) -> str:
        """Return a short description, without reading the file."""
        return f"Ledger({self._path!r})"

    def _append(
        self, connection: sqlite3.Connection, charges: Sequence[Charge]
    ) -> tuple[LedgerEntry, ...]:
        """Write entries; raise if they must not be paid."""
        settings, entries = self._load(connection)
        tables.check_place(connection, self._path)
        before = len(entries)
        for charge in charges:
            cost = charged(settings, entries, charge)
            if not fits(settings, [*entries, cost]):
                raise exceeded(self._path, settings, entries, cost)
            remark = remark_on_units(settings, entries, cost)
            entries += (tables.append(connection, self._path, entries, cost, remark),)
        return entries[before:]

    def _load(self, connection: sqlite3.Connection) -> tuple[Settings, tuple[LedgerEntry, ...]]:
        settings, entries = tables.load(connection, self._path)
        if settings != self._settings:
            raise LedgerError(
                f"the ledger {self._path!r} was replaced by another one", subject=self._path
            )
        return settings, entries


def _checked_path(path: str | os.PathLike[str]) -> str:
    if not isinstance(path, str | os.PathLike) or not os.fspath(path):
        raise must_be("ledger", "a path or a Ledger", repr(path))
    found = os.fsdecode(os.fspath(path))
    if "\0" in found:
        raise must_be("ledger", "a path without null characters", repr(found))
    return found


LedgerLike: TypeAlias = Ledger | str | os.PathLike[str]
"""A ledger, or the path of its file."""
