"""Errors that several kinds of tables can raise. None contains a value of the data."""

from __future__ import annotations

from collections.abc import Iterable

from dpfit._similar import similar_name
from dpfit.exceptions import Code, ParameterError, SourceError

__all__ = [
    "date_column",
    "lengths_differ",
    "mixed_types",
    "no_column",
    "no_features",
    "not_dates",
    "same_name_twice",
    "text_columns",
    "text_target",
]


def text_columns(*names: str) -> ParameterError:
    """Return the error for columns of strings without levels."""
    listed = ", ".join(map(repr, names))
    one = len(names) == 1
    levels = f"{names[0]!r}: Categorical([...]){'' if one else ', ...'}"
    return ParameterError(
        f"column {listed} contains strings" if one else f"columns {listed} contain strings",
        code=Code.TEXT_COLUMN,
        subject=", ".join(names),
        hint=f"list {'its' if one else 'their'} levels, schema=Schema({{{levels}}}), convert "
        f"{'it' if one else 'them'} to numbers or dates, or drop {'it' if one else 'them'}; "
        "unit= names a person-ID column",
    )


def text_target(name: str) -> ParameterError:
    """Return the error for a target of strings."""
    return ParameterError(
        f"the target {name!r} contains strings",
        code=Code.TEXT_TARGET,
        subject=name,
        hint="the target must be numbers (3.5, not 3,5; 1 and 0 for yes and no) or dates",
    )


def date_column(name: str) -> ParameterError:
    """Return the error for dates in a column that neither its type nor the schema declares."""
    return ParameterError(
        f"column {name!r} contains dates",
        code=Code.DATE_COLUMN,
        subject=name,
        hint=f"schema=Schema({{{name!r}: Date()}}) declares them",
    )


def mixed_types(name: str) -> ParameterError:
    """Return the error for a column without a type that can be read."""
    return ParameterError(
        f"column {name!r} must contain only numbers, only strings or only dates",
        code=Code.MIXED_TYPES,
        subject=name,
    )


def not_dates(name: str) -> ParameterError:
    """Return the error for a column that should contain dates."""
    return ParameterError(
        f"column {name!r} must contain dates, as the schema or the fitted model says",
        code=Code.NOT_DATES,
        hint="convert strings, for example with pandas.to_datetime; only scan_csv reads strings, "
        "such as 2024-09-07 or 2024-09-07 14:30, as dates",
        subject=name,
    )


def no_column(name: str, purpose: str = "", known: Iterable[object] = ()) -> ParameterError:
    """Return the error for a column that is not in the table.

    Parameters
    ----------
    name : str
        The column that was asked for.
    purpose : str
        What for, such as "to leave out".
    known : iterable
        The columns of the table, one of which may have been meant.
    """
    similar = similar_name(name, known)
    return ParameterError(
        f"the table has no column {name!r} {purpose}".rstrip(),
        code=Code.NO_COLUMN,
        subject=name,
        hint=None if similar is None else f"did you mean {similar!r}?",
    )


def no_features() -> ParameterError:
    """Return the error for a table without features, in the words of scikit-learn."""
    return ParameterError(
        "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
        code=Code.NO_FEATURES,
    )


def lengths_differ(what: str = "number of rows") -> ParameterError:
    """Return the error for a target that does not belong to the table."""
    problem = f"X and y must have the same {what}"
    return ParameterError(problem, code=Code.LENGTHS_DIFFER, subject="y")


def same_name_twice() -> SourceError:
    """Return the error for a table in which two columns have the same name."""
    return SourceError("two columns of the table have the same name", code=Code.DUPLICATE_COLUMN)
