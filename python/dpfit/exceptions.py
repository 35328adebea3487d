"""Errors and warnings of dpfit.

A message names parameters, their values and what is allowed. It never holds a value that was
read from the data: an exception is an output like any other.
"""

__all__ = [
    "BudgetExceeded",
    "DpfitError",
    "InsecureSeedWarning",
    "ModelFileError",
    "NotFiniteError",
    "ParameterError",
    "SourceError",
]


class DpfitError(Exception):
    """Base of every error that dpfit raises on purpose."""


class ParameterError(DpfitError, ValueError):
    """A parameter has a type or a value that cannot be used."""


class NotFiniteError(DpfitError, ValueError):
    """The data hold NaN or infinite entries and the caller asked for an error."""


class SourceError(DpfitError, ValueError):
    """A table cannot be read, or is not what it was said to be."""


class ModelFileError(DpfitError, ValueError):
    """A file is not of a model, was changed, or is of a newer version."""


class BudgetExceeded(DpfitError):  # noqa: N818 - the name says what happened
    """More privacy would be spent than was granted."""


class InsecureSeedWarning(UserWarning):
    """The noise comes from a fixed seed, so the result is not private."""
