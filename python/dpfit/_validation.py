"""scikit-learn's checks of X and y, with messages that contain no data."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.utils.validation import validate_data

from dpfit.exceptions import Code, NotFiniteError, ParameterError

__all__ = ["validate"]

# What a message of scikit-learn contains, and the message and code that replace it. Its own may
# contain values or the number of rows, which is not public. Its errors have no codes to look at.
_MESSAGES = {
    "could not convert string to float": (
        "X and y must contain numbers, got strings",
        Code.INVALID,
    ),
    "y should be a 1d array": ("y should be a 1d array with a number for each row", Code.INVALID),
    "Complex data not supported": ("Complex data not supported", Code.INVALID),
    "Sparse data was passed": (
        "Sparse data was passed, but dense data is required. Use X.toarray(), or "
        "sparse_output=False in the transformer that makes X (ColumnTransformer: "
        "sparse_threshold=0).",
        Code.INVALID,
    ),
    "numbers of samples": ("X and y must have the same number of rows", Code.INVALID),
    "contains NaN": ("X or y contains NaN or infinity", Code.NOT_FINITE),
    "contains infinity": ("X or y contains NaN or infinity", Code.NOT_FINITE),
    "0 sample(s)": (
        "Found array with 0 sample(s) while a minimum of 1 is required.",
        Code.NO_ROWS,
    ),
    "0 feature(s)": (
        "Found array with 0 feature(s) (shape=(, 0)) while a minimum of 1 is required.",
        Code.INVALID,
    ),
    "Expected 2D array": (
        "Expected 2D array, got an array with another number of dimensions. Reshape your data "
        "with array.reshape(-1, 1) if it is one column, or array.reshape(1, -1) if it is one row.",
        Code.INVALID,
    ),
}
# Sentences about columns, which are public, so that they are kept.
_PUBLIC = re.compile(
    r"X has \d+ features, but \w+ is expecting \d+ features as input"
    r"|The feature names should match those that were passed during fit"
    r"|This \w+ estimator requires y to be passed"
    r"|Feature names are only supported if all input features have string names"
)
# For a list or a dictionary instead of a number, in the words that scikit-learn's checks expect.
_NO_NUMBER = "X and y must contain numbers: float() argument must be a string or a real number"
_OTHER = "X must be a table of numbers, and y must have a number for each row"


class _NoNumberError(ParameterError, TypeError):
    """A parameter error that is also a TypeError, as scikit-learn's estimator checks expect."""


def validate(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """Check X, or X and y, as :func:`sklearn.utils.validation.validate_data` does.

    Privacy
    -------
    Errors contain neither values nor the number of rows, and are not chained to errors that do.
    With ``ensure_all_finite=False`` values are not checked here: the core checks rows one by one,
    or drops them.
    """
    blind = options.get("ensure_all_finite") is False
    if isinstance(options.get("X"), str):
        # scikit-learn's check of y alone does not have this option.
        del options["ensure_all_finite"]
    try:
        # scikit-learn always looks for NaN in y, with a sum that may warn.
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
    except Exception as error:  # X may be a list of any objects, whose errors may contain values
        text = str(error)
    # Raised here, not in the handler, so that the first error is not chained to it.
    for part, (message, code) in _MESSAGES.items():
        if part in text:
            kind = NotFiniteError if code is Code.NOT_FINITE else ParameterError
            raise kind(message, code=code)
    if "argument must be a string" in text:
        raise _NoNumberError(_NO_NUMBER)
    raise ParameterError(text if _PUBLIC.match(text) else _OTHER)


def _array(rows: Any) -> Any:
    """Return a list as an array; refuse a list with strings.

    Privacy
    -------
    One string in a list would make NumPy convert all its numbers to strings, and not exactly.
    """
    if not isinstance(rows, list | tuple):
        return rows
    found = np.asarray(rows)
    if found.dtype.kind in "US":
        raise ValueError("could not convert string to float")
    return found


def _numbers(array: Any) -> Any:
    """Return an array of a type that the core can read."""
    if array.dtype.kind == "f" and array.dtype.itemsize not in (4, 8):
        return array.astype(np.float64)
    if array.dtype.kind in "iufb":
        return array if array.dtype.isnative else array.astype(array.dtype.newbyteorder("="))
    raise ValueError(_OTHER)
