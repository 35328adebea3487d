"""Lists, which have no type: what they are must not follow from one row of them."""

import datetime
import re
import uuid
import warnings

import numpy as np
import pandas as pd
import pytest

from dpfit import AdaSSP, Binary, Numeric, ParameterError, PrivateLinearRegression


class Wild(float):
    """A number that shows itself when it is asked whether it is one."""

    def __float__(self):
        raise ValueError("SECRET")


def problem_of(call):
    """Return the error of dpfit that a call raises, None if it raises none."""
    try:
        call()
    except ParameterError as error:
        problem = error
    else:
        return None
    assert problem.__context__ is None
    return problem


@pytest.mark.parametrize(
    "value",
    [
        uuid.UUID(int=7),
        pd.Period("2031-07"),
        datetime.date(2031, 7, 19),
        np.timedelta64(7, "s"),
        Wild(1.5),
        {"SECRET": 7},
    ],
    ids=lambda value: type(value).__name__,
)
def test_objects_that_are_no_numbers_are_errors_without_values(value):
    numbers = [float(i) for i in range(50)]
    odd = [*numbers[:-1], value]
    column = pd.Series(np.array([*odd, None], dtype=object)[:-1], dtype=object)
    model, paper = PrivateLinearRegression(), AdaSSP()
    calls = [
        lambda: model.fit([[x] for x in odd], numbers),
        lambda: model.fit([[x] for x in numbers], odd),
        lambda: model.fit(pd.DataFrame({"a": column, "y": numbers}), "y"),
        lambda: model.fit(pd.DataFrame({"a": numbers, "y": column}), "y"),
        lambda: paper.fit([[x] for x in odd], numbers),
        lambda: PrivateLinearRegression(max_rows=2).fit(
            [[x] for x in numbers], numbers, unit=[*range(49), value]
        ),
    ]
    for call in calls:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            problem = problem_of(call)
        # In a list, NumPy takes some for numbers, each by itself.
        assert problem is not None or isinstance(value, Wild | np.timedelta64)
        assert not re.search("SECRET|2031|7", str(problem))


def test_one_row_of_a_list_does_not_make_other_columns_of_it():
    """A list of booleans has no type: with one number in it, it would be one of numbers."""
    rng = np.random.default_rng(0)
    X = [[bool(a), bool(b)] for a, b in rng.integers(0, 2, size=(500, 2))]
    y = [float(a) + b for a, b in X]
    for rows in (X, [*X[:-1], [2, True]], tuple(X)):
        model = PrivateLinearRegression(epsilon=1.0).fit(rows, y)
        assert model.model_.kinds == (Numeric(), Numeric())
    model = PrivateLinearRegression(epsilon=1.0).fit(np.array(X), y)
    assert model.model_.kinds == (Binary(), Binary())


def test_one_text_in_a_list_does_not_make_texts_of_its_numbers():
    """As text and back again, a number of single precision is another one."""
    X = [[np.float32(0.1)], [np.float32(0.2)], ["3"]]
    for estimator in (PrivateLinearRegression(), AdaSSP()):
        with pytest.raises(ParameterError, match="got strings"):
            estimator.fit(X, [1.0, 2.0, 3.0])
