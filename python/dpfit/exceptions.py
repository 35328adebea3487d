"""Errors and warnings of dpfit.

An error carries its facts as data: a code for programs, the parameter or column it is about, and a
hint for people. Messages never contain a value that was read from the data, because an exception is
an output like any other.
"""

from __future__ import annotations

import enum
from typing import Any

__all__ = [
    "BudgetExceeded",
    "Code",
    "DpfitError",
    "ExactScoreWarning",
    "HiddenTargetWarning",
    "InsecureSeedWarning",
    "LedgerError",
    "LedgerWarning",
    "ModelFileError",
    "NotFiniteError",
    "ParameterError",
    "SourceError",
]


class Code(enum.StrEnum):
    """What kind of problem an error reports, for programs that react to it."""

    INVALID = "invalid"
    NOT_FINITE = "not-finite"
    NO_ROWS = "no-rows"
    NO_FILE = "no-file"
    NO_COLUMN = "no-column"
    NO_TARGET = "no-target"
    NO_FEATURES = "no-features"
    NO_LEVELS = "no-levels"
    DUPLICATE_COLUMN = "duplicate-column"
    MIXED_TYPES = "mixed-types"
    WRONG_TYPE = "wrong-type"
    TEXT_COLUMN = "text-column"
    DATE_COLUMN = "date-column"
    NOT_DATES = "not-dates"
    TEXT_TARGET = "text-target"
    COLUMNS_DIFFER = "columns-differ"
    LENGTHS_DIFFER = "lengths-differ"
    UNIT_VALUES = "unit-values"
    SCHEMA = "schema"
    UNREADABLE = "unreadable"
    FAILED = "failed"
    NOT_UTF8 = "not-utf8"
    DELIMITER = "delimiter"
    TEMPORARY_FILE = "temporary-file"
    EXISTS = "exists"
    DAMAGED = "damaged"
    READ_ONLY = "read-only"
    DISK_FULL = "disk-full"
    NEWER_VERSION = "newer-version"
    BUSY = "busy"
    COPIED = "copied"
    WORKERS = "workers"


class DpfitError(Exception):
    """Base class of all errors that dpfit raises on purpose.

    Parameters
    ----------
    message : str
        What is wrong.
    code : Code
        What kind of problem it is.
    subject : str, optional
        The parameter, column or file that the error is about.
    hint : str, optional
        How to solve it in Python.
    """

    def __init__(
        self,
        message: str,
        *,
        code: Code = Code.INVALID,
        subject: str | None = None,
        hint: str | None = None,
    ) -> None:
        super().__init__(message if hint is None else f"{message}; {hint}")
        self.message, self.code, self.subject, self.hint = message, code, subject, hint

    def __reduce__(self) -> Any:
        return _restored, (type(self), self.message, self.code, self.subject, self.hint)


def _restored(
    cls: type[DpfitError], message: str, code: Code, subject: str | None, hint: str | None
) -> DpfitError:
    """Return an error that was pickled."""
    return cls(message, code=code, subject=subject, hint=hint)


class ParameterError(DpfitError, ValueError):
    """A parameter has an unusable type or value."""


class NotFiniteError(DpfitError, ValueError):
    """The data contain NaN or infinity, and missing values are an error."""


class SourceError(DpfitError, ValueError):
    """A table cannot be read, or its contents do not match its description."""


class ModelFileError(DpfitError, ValueError):
    """Not a dpfit model file, or one that was changed or written by another version."""


class BudgetExceeded(DpfitError):  # noqa: N818 - the name says what happened
    """The requested privacy cost exceeds the budget."""


class LedgerError(DpfitError):
    """A ledger cannot be used: it is missing, damaged, a copy, or cannot be written.

    Nothing was released, and whatever the ledger contains is unchanged.
    """


class InsecureSeedWarning(UserWarning):
    """The noise comes from a fixed seed, so the result is not private."""


class ExactScoreWarning(UserWarning):
    """A score is an exact function of the rows, so it reveals something about them."""


class LedgerWarning(UserWarning):
    """A ledger is in order, but something about its history is unusual."""


class HiddenTargetWarning(UserWarning):
    """The noise hides where the target lies, so predictions are not informative."""
