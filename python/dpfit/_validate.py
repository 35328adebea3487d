"""scikit-learn's checks of X and y, with messages that hold nothing of the data."""

from __future__ import annotations

from typing import Any

from sklearn.utils.validation import validate_data

from dpfit.exceptions import ParameterError

__all__ = ["validate"]

# What scikit-learn's message contains, and what is said instead: its own shows values or counts.
_MESSAGES = (
    ("could not convert string to float", "X and y must hold numbers, got text"),
    ("Complex data not supported", "Complex data not supported"),
    ("inconsistent numbers of samples", "X and y must have the same number of rows"),
    (
        "Expected 2D array",
        "Expected 2D array, got an array of another number of dimensions. Reshape your data with "
        "array.reshape(-1, 1) if it is one column, or array.reshape(1, -1) if it is one row.",
    ),
)


def validate(estimator: Any, *arrays: Any, **options: Any) -> Any:
    """Check X, or X and y, as :func:`sklearn.utils.validation.validate_data` does.

    Privacy
    -------
    An error about types and shapes names neither a value nor the number of rows.
    """
    try:
        return validate_data(estimator, *arrays, **options)
    except ValueError as error:
        text = str(error)
        for part, message in _MESSAGES:
            if part in text:
                raise ParameterError(message) from None
        raise
