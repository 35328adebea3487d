"""Whatever is wrong with a table: the error it must give, or the result; and nothing of it left.

After an error the model is as it was before, nothing was released, no file is left, and neither the
error nor one that led to it holds a value of the table.
"""

import gc

import numpy as np
import pandas as pd
import pytest

from dpfit import (
    DpfitError,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
)
from dpfit.exceptions import Code
from dpfit.release import Releaser
from dpfit.statistics import Gradient, RowCount

from . import bad_files, bad_tables
from .bad_tables import NUMBER, TEXT, Y

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")

CASES = {**bad_tables.CASES, **bad_files.CASES}
CLASSES = [PrivateLinearRegression, PrivateAdditiveRegression]
HIDDEN = [str(int(NUMBER)), str(int(Y[-1])), TEXT]


@pytest.fixture
def released(monkeypatch):
    """Return a list to which every statistic that is released is added."""
    found, method = [], Releaser.release

    def release(self, table, statistic, *mus):
        answer = method(self, table, statistic, *mus)
        found.append(type(statistic))
        return answer

    monkeypatch.setattr(Releaser, "release", release)
    return found


def all_errors(error):
    """Return an error and all that led to it."""
    found, waiting = [], [error]
    while waiting:
        if (error := waiting.pop()) is not None and error not in found:
            found.append(error)
            waiting += [error.__cause__, error.__context__]
    return found


def check_problem(error, problem):
    """Check the code of an error, or a part of its message."""
    assert problem is error.code if isinstance(problem, Code) else problem in str(error)


def check_says_nothing(error):
    for part in all_errors(error):
        shown = " ".join([str(part), repr(part), repr(part.args), repr(vars(part))])
        assert not [hidden for hidden in HIDDEN if hidden in shown], shown


def fit(case, model, folder):
    X, y, *unit = case.make(folder)
    return X, model.fit(X, y, unit=unit[0] if unit else None)


@pytest.mark.parametrize("name", CASES)
def test_bad_input(name, tmp_path, monkeypatch, released):
    case, cls = CASES[name], CLASSES[len(name) % 2]
    folder, temporary = tmp_path / "data", tmp_path / "temporary"
    folder.mkdir()
    temporary.mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(temporary))
    model = cls(epsilon=1.0, schema=case.schema, **case.options)
    if case.error is None:
        X, _ = fit(case, model, folder)
        assert {RowCount, Gradient} <= set(released)
        assert np.isfinite([model.intercept_, model.n_rows_]).all()
        predictions = np.asarray(model.predict(X), dtype=np.float64)
        assert len(predictions) == (case.predictions or len(predictions))
        assert np.isfinite(predictions).all() or case.options.get("missing") == "drop"
    else:
        with pytest.raises(case.error) as caught:
            fit(case, model, folder)
        check_problem(caught.value, case.problem)
        check_says_nothing(caught.value)
        assert vars(model) == model.get_params()
        assert released == []
        del caught
    gc.collect()
    assert not list(temporary.iterdir())


def test_there_are_many_cases():
    assert len(CASES) == len(bad_tables.CASES) + len(bad_files.CASES) >= 100
    assert sum(case.error is not None for case in CASES.values()) >= 60


def test_what_is_hidden_would_be_found():
    try:
        try:
            raise KeyError(TEXT)
        except KeyError:
            raise ValueError("a table is wrong") from None
    except ValueError as error:
        found = error
    with pytest.raises(AssertionError, match=TEXT):
        check_says_nothing(found)


@pytest.mark.parametrize("name", ["NaN", "Parquet that ends early", "CSV with text"])
def test_a_model_that_was_fitted_is_still_what_it_was(name, tmp_path):
    case = CASES[name]
    model = PrivateLinearRegression(epsilon=1.0).fit(np.c_[Y, Y], Y)
    before = dict(vars(model))
    with pytest.raises(case.error):
        fit(case, model, tmp_path)
    assert vars(model) == before


BAD_ROWS = {
    "NaN": "NaN or infinity",
    "an infinity": "NaN or infinity",
    "text": "contained numbers or dates in the fit",
    "text among numbers": Code.MIXED_TYPES,
    "a number among texts": Code.MIXED_TYPES,
    "dictionaries": Code.MIXED_TYPES,
    "intervals": Code.WRONG_TYPE,
    "a lazy frame that fails": Code.FAILED,
    "a stream that fails": Code.FAILED,
    "CSV with a row too long": Code.UNREADABLE,
    "Parquet with a damaged page": Code.UNREADABLE,
}


@pytest.mark.parametrize("name", BAD_ROWS)
def test_bad_rows_to_predict_for(name, tmp_path):
    """An error is as silent when a model predicts."""
    X, *_ = CASES[name].make(tmp_path)
    train, target = bad_tables.frame(Y)
    if name.startswith(("Parquet", "a stream")):
        train = train.drop(columns="b")
    model = PrivateLinearRegression(epsilon=1.0).fit(train, target)
    with pytest.raises(DpfitError) as caught:
        model.predict(X)
    check_problem(caught.value, BAD_ROWS[name])
    check_says_nothing(caught.value)


def test_all_columns_of_strings_are_named():
    frame = pd.DataFrame({"a": ["x", "y"] * 50, "b": range(100), "c": ["u", "v"] * 50})
    with pytest.raises(ParameterError, match="columns 'a', 'c' contain strings") as caught:
        PrivateLinearRegression(epsilon=1.0).fit(frame, "b")
    assert caught.value.code == "text-column"
    assert "convert them to numbers or dates, or drop them" in caught.value.hint
