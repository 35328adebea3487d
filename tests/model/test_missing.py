"""Rows with NaN or an infinity: dropped as if they had never been, or an error without data."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dpfit import NotFiniteError, ParameterError

from .tables import every, seeded, state, uniform

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")

quick = settings(max_examples=12, deadline=None)
SECRET = 8.76543210123
holes = st.lists(
    st.tuples(st.integers(0, 699), st.integers(0, 2), st.sampled_from([np.nan, np.inf, -np.inf])),
    max_size=60,
)


@every
@quick
@given(holes, st.sampled_from([0.2, 20.0]), st.sampled_from(["add_remove", "replace"]))
def test_dropping_is_as_if_the_rows_had_not_been_there(cls, holes, epsilon, relation):
    X, y = uniform(700)
    for row, column, value in holes:
        X[row, column] = value
    kept = np.isfinite(X).all(axis=1)
    options = {"missing": "drop", "epsilon": epsilon, "neighbors": relation}
    dropped = seeded(cls, X, y, **options)
    without = seeded(cls, X[kept], y[kept], **options)
    assert state(dropped) == state(without)
    if relation == "add_remove":
        # The record says what was asked for.
        found = seeded(cls, X[kept], y[kept], epsilon=epsilon)
        assert state(found) == state(without, record={"notes": ()}, missing="error")


@every
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_a_row_without_a_target_is_dropped(cls, value):
    X, y = uniform(700)
    kept = np.arange(700) % 50 != 0
    expected = seeded(cls, X[kept], y[kept], missing="drop")
    y[~kept] = value
    assert state(seeded(cls, X, y, missing="drop")) == state(expected)


@every
@pytest.mark.parametrize("layout", [np.asfortranarray, lambda X: X.astype(np.float32)])
def test_dropping_in_any_layout(cls, layout):
    X, y = uniform(700)
    X = X.astype(np.float32).astype(np.float64)
    X[::9, 1] = np.nan
    expected = seeded(cls, X, y, missing="drop")
    assert state(seeded(cls, layout(X), y, missing="drop")) == state(expected)


@every
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", ["first", "last", "target"])
@pytest.mark.parametrize("rows", [5, 700])
def test_an_error_says_nothing_of_the_data_and_changes_nothing(cls, value, place, rows):
    X, y = uniform(rows)
    X[1], y[1] = SECRET, SECRET
    if place == "target":
        y[rows // 2] = value
    else:
        X[rows // 2, 0 if place == "first" else -1] = value
    model = cls()
    with pytest.raises(NotFiniteError) as error:
        model.fit(X, y)
    shown = error.value
    while shown is not None:
        assert "8.765" not in str(shown)
        assert str(rows) not in str(shown)
        shown = None if shown.__suppress_context__ else shown.__context__
    assert set(vars(model)) == set(model.get_params())


@every
def test_a_table_of_which_nothing_is_left(cls):
    """It is like any other small table: how much was dropped is not told by an error."""
    X, y = uniform(50)
    model = seeded(cls, np.full_like(X, np.nan), y, missing="drop")
    assert np.isfinite(model.intercept_)
    assert np.isfinite(model.predict(X)).all()
    assert model.n_rows_ >= 1.0


@every
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_units_and_missing_rows(cls, relation):
    """A row that is dropped may take the place of one that is not."""
    X, y = uniform(700)
    X[::3, 1] = np.nan
    owners = np.arange(700) // 7
    options = {"missing": "drop", "max_rows": 3, "neighbors": relation, "epsilon": 100.0}
    model = seeded(cls, X, y, unit=owners, **options)
    assert np.isfinite(model.predict(np.nan_to_num(X))).all()
    order = np.random.default_rng(0).permutation(700)
    assert state(seeded(cls, X[order], y[order], unit=owners[order], **options)) == state(model)


@every
def test_the_parameter_is_checked_before_anything_is_released(cls):
    with pytest.raises(ParameterError, match="'error', 'drop'"):
        cls(missing="keep").fit(*uniform(50))
