"""What is public costs little or nothing, and what is wrong is said at once."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest

from dpfit import Binary, Numeric, ParameterError, Schema

from .tables import every, r_squared, seeded, uniform

BOUNDS = Schema(dict.fromkeys(range(3), Numeric(-1, 3)), target=Numeric(-8, 16))


def histograms(model):
    return [e.statistic for e in model.privacy_.events if e.statistic.startswith("histogram")]


@every
@pytest.mark.parametrize("rows", [30, 3000])
def test_public_bounds_cost_little(cls, rows):
    X, y = uniform(rows)
    model = seeded(cls, X, y, schema=BOUNDS, epsilon=2.0)
    low, high = model.target_range_
    assert -8.0 <= low < high <= 16.0
    # Powers of two are not looked at, and what is not spent on them is spent on the rest.
    spent = looks(model)
    without = looks(seeded(cls, X, y, epsilon=2.0))
    assert spent < 0.85 * without


def looks(model):
    """Return the share of the budget that is spent on histograms of columns."""
    columns = set(histograms(model)) - {"histogram of scores"}
    spent = sum(e.count * e.mu**2 for e in model.privacy_.events if e.statistic in columns)
    return spent / model.privacy_.mu**2


@every
def test_zeros_and_ones_cost_nothing(cls):
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, size=(5000, 4)).astype(float)
    y = X @ [1.0, 2.0, 0.0, -1.0] + 0.1 * rng.normal(size=5000)
    schema = Schema(dict.fromkeys(range(4), Binary()), target=Numeric(-2, 4))
    model = seeded(cls, X, y, schema=schema)
    assert set(histograms(model)) <= {"histogram of the target", "histogram of scores"}
    assert r_squared(y, model.predict(X)) > 0.97
    for column, effect in enumerate([1.0, 2.0, 0.0, -1.0]):
        changed = X.copy()
        changed[:, column] = 1.0 - X[:, column]
        moved = (model.predict(changed) - model.predict(X)) * (1.0 - 2.0 * X[:, column])
        np.testing.assert_allclose(moved, effect, atol=0.1)


@every
def test_only_what_is_not_public_is_looked_at(cls):
    X, y = uniform()
    model = seeded(cls, X, y, schema=Schema({-1: Binary(), 0: Numeric(-1, 3)}))
    # Powers of two of the second column and of the target, then equal bins, also of the first.
    assert set(histograms(model)) - {"histogram of scores"} == {
        "histogram of a feature",
        "histograms of 2 features",
        "histogram of the target",
    }
    np.testing.assert_array_equal(model.feature_range_[2], [0.0, 1.0])
    low, high = model.feature_range_[0]
    assert -1.0 <= low < -0.8
    assert 2.8 < high <= 3.0
    model = seeded(cls, X, y, schema=Schema(target=Numeric(-8, 16)))
    assert histograms(model).count("histogram of the target") == 1
    model = seeded(cls, X, y, schema=Schema(dict.fromkeys(range(3), Numeric(-1, 3))))
    assert histograms(model).count("histograms of 3 features") == 1


@every
def test_names_and_positions_are_the_same(cls):
    X, y = uniform()
    frame = pd.DataFrame(X, columns=["age", "pay", "rent"])
    by_name = seeded(cls, frame, y, schema=Schema({"pay": Numeric(-1, 3), "rent": Binary()}))
    for keys in ((1, 2), (-2, -1)):
        schema = Schema(dict(zip(keys, (Numeric(-1, 3), Binary()), strict=True)))
        model = seeded(cls, X, y, schema=schema)
        assert model.intercept_ == by_name.intercept_
        np.testing.assert_array_equal(model.feature_range_, by_name.feature_range_)


@every
def test_values_beyond_public_bounds_are_cut(cls):
    """The fit is the one of the cut values, to the bit."""
    X, y = uniform()
    wild = X.copy()
    wild[::5] *= 1e6
    schema = Schema({0: Numeric(0, 1), 1: Numeric(-1, 1), 2: Binary()}, target=Numeric(-2, 4))
    cut = np.clip(wild, [0, -1, 0], [1, 1, 1])
    model, other = (seeded(cls, table, y, schema=schema) for table in (wild, cut))
    assert model.intercept_ == other.intercept_
    np.testing.assert_array_equal(model.predict(wild), other.predict(cut))
    low, high = model.target_range_
    assert -2.0 <= low < high <= 4.0


@every
def test_wrong_bounds_are_a_worse_model_and_no_error(cls):
    X, y = uniform()
    schema = Schema(dict.fromkeys(range(3), Numeric(100, 200)), target=Numeric(0, 1e-3))
    model = seeded(cls, X, y, schema=schema)
    assert np.isfinite(model.predict(X)).all()
    # Nothing is seen of rows that are all at one end.
    assert np.ptp(model.predict(X)) < 1.0


@every
@pytest.mark.parametrize(
    ("schema", "message"),
    [
        (Schema({"age": Binary()}), "'age' is not in the table"),
        (Schema({3: Binary()}), "3 is not in the table"),
        (Schema({-4: Binary()}), "-4 is not in the table"),
        (Schema({0: Binary(), -3: Numeric(0, 1)}), "column 0 twice"),
    ],
)
def test_a_schema_of_another_table(cls, schema, message):
    X, y = uniform(60)
    model = cls(schema=schema)
    with pytest.raises(ParameterError, match=message):
        model.fit(X, y)
    assert not hasattr(model, "privacy_")


@every
def test_a_column_by_name_and_by_position(cls):
    X, y = uniform(60)
    frame = pd.DataFrame(X, columns=["age", "pay", "rent"])
    with pytest.raises(ParameterError, match="twice"):
        cls(schema=Schema({"pay": Binary(), 1: Binary()})).fit(frame, y)
    with pytest.raises(ParameterError, match="'height' is not in the table"):
        cls(schema=Schema({"height": Binary()})).fit(frame, y)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Schema({0: "binary"}),
        lambda: Schema({0: Binary}),
        lambda: Schema({0: None}),
        lambda: Schema({0: (0, 1)}),
        lambda: Schema({0.5: Binary()}),
        lambda: Schema({None: Binary()}),
        lambda: Schema({True: Binary()}),
        lambda: Schema({("a", "b"): Binary()}),
        lambda: Schema(target=Binary()),
        lambda: Schema(target=(0, 1)),
        lambda: Numeric(0),
        lambda: Numeric(high=1),
        lambda: Numeric(1, 1),
        lambda: Numeric(2, 1),
        lambda: Numeric(0, float("inf")),
        lambda: Numeric(float("nan"), 1),
        lambda: Numeric("a", "b"),
        lambda: Numeric(-1e100, 1e100),
        lambda: Numeric(0, 1e-100),
        lambda: Numeric([0], 1),
    ],
)
def test_wrong_kinds(make):
    with pytest.raises(ParameterError):
        make()


def test_a_schema_is_a_mapping_that_can_be_compared_and_kept():
    schema = Schema({"age": Numeric(0, 120), 3: Binary()}, target=Numeric(0, 1))
    assert schema["age"].bounds == (0.0, 120.0)
    assert Numeric().bounds is None
    assert dict(schema) == {"age": Numeric(0, 120), 3: Binary()}
    assert len(schema) == 2
    assert schema == Schema({3: Binary(), "age": Numeric(0.0, 120.0)}, target=Numeric(0, 1))
    assert hash(schema) == hash(copy.deepcopy(schema))
    assert schema != Schema(dict(schema))
    assert schema != dict(schema)
    assert pickle.loads(pickle.dumps(schema)) == schema
    assert eval(repr(schema), {"Schema": Schema, "Numeric": Numeric, "Binary": Binary}) == schema
    # What was given is not held on to.
    given = {0: Binary()}
    schema = Schema(given)
    given[1] = Binary()
    assert len(schema) == 1


@pytest.mark.parametrize("bounds", [(-1e-80, 1e-80), (1e89, 8e89), (1e9, 1e9 + 1e-6)])
@every
def test_extreme_bounds_are_finite(cls, bounds):
    X, y = uniform(500)
    schema = Schema({0: Numeric(*bounds), 1: Numeric(*bounds)}, target=Numeric(*bounds))
    model = seeded(cls, X, y, schema=schema)
    assert np.isfinite(model.predict(X)).all()
    assert np.isfinite(model.intercept_)
