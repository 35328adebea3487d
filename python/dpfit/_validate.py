"""scikit-learn's checks of X and y, with messages that hold nothing of the data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import validate_data

from dpfit.exceptions import NotFiniteError, ParameterError

__all__ = ["validate"]

# What a message of scikit-learn contains, and what is said instead. Its own may show values, or the
# number of rows, which is not public.
_MESSAGES: tuple[tuple[str, type[ValueError], str], ...] = (
    ("could not convert string to float", ParameterError, "X and y must hold numbers, got text"),
    ("y should be a 1d array", ParameterError, "y should be a 1d array: one number for each row"),
    ("Complex data not supported", ParameterError, "Complex data not supported"),
    (
        "Sparse data was passed",
        ParameterError,
        "Sparse data was passed, but dense data is required: X.toarray() makes it so",
    ),
    ("numbers of samples", ParameterError, "X and y must have the same number of rows"),
    ("contains NaN", NotFiniteError, "X or y contains NaN or infinity"),
    ("contains infinity", NotFiniteError, "X or y contains NaN or infinity"),
    (
        "0 sample(s)",
        ParameterError,
        "Found array with 0 sample(s) while a minimum of 1 is required.",
    ),
    (
        "0 feature(s)",
        ParameterError,
        "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
    ),
    (
        "Expected 2D array",
        ParameterError,
        "Expected 2D array, got an array of another number of dimensions. Reshape your data with "
        "array.reshape(-1, 1) if it is one column, or array.reshape(1, -1) if it is one row.",
    ),
)
# Sentences about columns, which are public.
_PUBLIC = re.compile(
    r"X has \d+ features, but \w+ is expecting \d+ features as input"
    r"|The feature names should match those that were passed during fit"
    r"|This \w+ estimator requires y to be passed"
    r"|Feature names are only supported if all input features have string names"
)
# Of a list or a dictionary where a number should be. scikit-learn's checks want these words.
_NO_NUMBER = "X and y must hold numbers: float() argument must be a string or a real number"
_OTHER = "X must be a table of numbers and y a number for each of its rows"


class _NoNumberError(ParameterError, TypeError):
    """An error of dpfit, which scikit-learn's checks want to be a TypeError, too."""


def validate(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """Check X, or X and y, as :func:`sklearn.utils.validation.validate_data` does.

    Privacy
    -------
    An error names neither a value nor the number of rows, and carries no other error that does.
    With ``ensure_all_finite=False`` neither X nor y is looked at: the core checks them, or drops
    rows, one by one.
    """
    blind = options.get("ensure_all_finite") is False
    if isinstance(options.get("X"), str):
        # scikit-learn's check of y alone does not know the option.
        del options["ensure_all_finite"]
    try:
        # scikit-learn looks for NaN in y whatever it is told, by a sum that may warn.
        with config_context(assume_finite=blind), np.errstate(all="ignore"):
            given = {name: _array(options[name]) for name in ("X", "y") if name in options}
            checked = validate_data(estimator, *map(_array, arrays), **options | given)
            if options.get("skip_check_array"):
                return checked
            if isinstance(checked, tuple):
                return tuple(_numbers(array) for array in checked)
            return _numbers(checked)
    except MemoryError:
        raise
    except Exception as error:  # of any object in a list, which may show itself
        text = str(error)
    # Raised out here, so that the first error is not attached to it.
    for part, kind, message in _MESSAGES:
        if part in text:
            raise kind(message)
    if "argument must be a string" in text:
        raise _NoNumberError(_NO_NUMBER)
    raise ParameterError(text if _PUBLIC.match(text) else _OTHER)


def _array(rows: Any) -> Any:
    """Return a list as an array; a list with text is refused.

    Privacy
    -------
    One text in a list would make texts of all its numbers, and not the same numbers again.
    """
    if not isinstance(rows, list | tuple):
        return rows
    found = np.asarray(rows)
    if found.dtype.kind in "US":
        raise ValueError("could not convert string to float")
    return found


def _numbers(array: Any) -> Any:
    """Return an array of a type that the core reads."""
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    if array.dtype.kind in "iufb":
        return array
    raise ValueError(_OTHER)
