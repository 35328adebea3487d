"""Missing values as flags and levels: fits, predictions, summaries, files and exports."""

import dataclasses
import json
import math

import duckdb
import numpy as np
import pandas as pd
import pytest

import dpfit
from dpfit import (
    Binary,
    Categorical,
    Date,
    Numeric,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

from .tables import every, seeded, state

SCHEMA = Schema(
    {
        "age": Numeric(0.0, 120.0),
        "sex": Categorical(["f", "m"]),
        "smoker": Binary(),
        "ward": Categorical([3, 1, 7]),
        "height": Numeric(missing=False),
    }
)
FLAGS = ["age (missing)", "bmi (missing)", "smoker (missing)", "seen (missing)"]
DAYS = np.datetime64("2020-01-01", "ns")


def patients(rows=20_000, seed=0):
    """Draw patients, of whom some values are not known, and what these values would add."""
    rng = np.random.default_rng(seed)
    age, bmi = rng.uniform(20.0, 90.0, rows), rng.normal(25.0, 4.0, rows)
    sex, smoker = rng.choice(["f", "m"], rows), rng.integers(0, 2, rows).astype(float)
    ward, height = rng.choice([1.0, 3.0, 7.0], rows), rng.normal(170.0, 10.0, rows)
    seen = DAYS + rng.integers(0, 1000, rows) * np.timedelta64(1, "D")
    y = 2.0 * age + 30.0 * smoker + 20.0 * (sex == "m") + height + 15.0 * (ward == 7.0)
    frame = pd.DataFrame(
        {
            "age": age,
            "bmi": bmi,
            "sex": sex.astype(object),
            "smoker": smoker,
            "ward": ward,
            "seen": seen,
            "height": height,
        }
    )
    for name, share, effect in (
        ("age", 0.4, 40.0),
        ("sex", 0.2, -25.0),
        ("smoker", 0.2, 0.0),
        ("ward", 0.1, 60.0),
        ("seen", 0.3, 10.0),
    ):
        gone = rng.random(rows) < share
        y[gone] += effect
        frame.loc[gone, name] = None
    frame["y"] = y + rng.normal(0.0, 10.0, rows)
    return frame


def fitted(cls, frame, **options):
    return seeded(cls, frame, "y", schema=SCHEMA, missing="indicator", **options)


@pytest.fixture(scope="module", params=[PrivateLinearRegression, PrivateAdditiveRegression])
def model(request):
    return fitted(request.param, patients())


def test_coefficients_of_flags_and_levels():
    """The seed is fixed; intervals are checked by other tests."""
    model = fitted(PrivateLinearRegression, patients())
    found = dict(zip(model.coef_names_, model.coef_, strict=True))
    assert list(found)[-4:] == FLAGS
    assert found["age"] == pytest.approx(2.0, abs=0.1)
    assert found["age (missing)"] == pytest.approx(40.0, abs=3.0)
    assert found["sex=m"] == pytest.approx(20.0, abs=2.0)
    assert found["seen (missing)"] == pytest.approx(10.0, abs=2.0)
    # A missing sex is half a male one on average, and has 25 less.
    assert found["sex=(missing)"] == pytest.approx(-15.0, abs=2.0)
    assert found["ward=(missing)"] - found["ward=1"] == pytest.approx(65.0, abs=4.0)
    assert found["smoker (missing)"] == pytest.approx(0.0, abs=2.0)
    contrast = model.contrast({"sex=(missing)": 1.0, "sex=m": -1.0})
    assert contrast.interval[0] < -35.0 < contrast.interval[1]
    assert model.contrast({"age (missing)": 1.0}).p < 1e-6


def test_a_range_is_that_of_the_values_that_are_there():
    """Not also that of zero, or of the bins among which noise would spread the other rows."""
    rng = np.random.default_rng(0)
    x = rng.normal(100.0, 1.0, size=(20_000, 1))
    y = x[:, 0] + rng.normal(size=20_000)
    whole = seeded(PrivateLinearRegression, x, y, epsilon=3.0)
    x[rng.random(20_000) < 0.7] = np.nan
    part = seeded(PrivateLinearRegression, x, y, epsilon=3.0, missing="indicator")
    np.testing.assert_allclose(part.feature_range_[0], whole.feature_range_[0], atol=1.0)
    assert part.coef_[0] == pytest.approx(1.0, abs=0.15)


def test_the_summary_names_flags_that_have_no_rows():
    frame = patients().assign(age=50.0)
    frame["age"] += np.arange(len(frame)) % 31
    text = str(fitted(PrivateLinearRegression, frame, epsilon=1.0).summary())
    assert "smoker (missing)" in text
    assert "sex=(missing)" in text
    note = " ".join(text.split())
    assert "Not known: age (missing)" in note
    shown = fitted(PrivateAdditiveRegression, patients()).summary().to_frame()
    assert shown["column"].tolist()[-4:] == FLAGS


def test_predictions_are_those_of_the_middle_and_the_flag(model):
    frame = patients(50, seed=1)
    value = model.model_
    filled = frame.copy()
    for place, name in enumerate(value.names):
        if name in ("age", "bmi", "smoker"):
            filled[name] = frame[name].fillna(value.middle(place))
            assert value.middle(place) == pytest.approx(model.feature_range_[place].mean())
    assert value.middle(3) == 0.5
    for name in ("age", "smoker"):
        flag = value.effects[value.column_names.index(f"{name} (missing)")]
        gone = frame[name].isna().to_numpy()
        assert gone.any()
        only = frame.copy()
        only[name] = filled[name]
        difference = model.predict(frame) - model.predict(only)
        zero, one = flag(np.arange(2))
        np.testing.assert_allclose(difference, np.where(gone, one - zero, 0.0), atol=1e-9)
    assert np.isfinite(model.predict(frame)).all()


def test_infinities_are_missing_values(model):
    frame = patients(50, seed=1)
    gone = frame["age"].isna()
    expected = model.predict(frame)
    for value in (np.inf, -np.inf):
        frame.loc[gone, "age"] = value
        np.testing.assert_array_equal(model.predict(frame), expected)


def test_a_column_that_has_no_missing_values(model):
    """Rows in which there is one are dropped, and have no prediction."""
    frame = patients(3000)
    gone = np.arange(3000) % 10 == 0
    holes = frame.copy()
    holes.loc[gone, "height"] = np.nan
    cls = type(model)
    assert state(fitted(cls, holes)) == state(fitted(cls, frame[~gone]))
    found = model.predict(holes)
    assert np.isnan(found[gone]).all()
    np.testing.assert_array_equal(found[~gone], model.predict(frame[~gone]))
    assert np.isnan(model.predict(holes, interval=0.9).to_numpy()[gone]).all()
    assert "height (missing)" not in model.model_.column_names


@every
def test_only_the_columns_that_are_named(cls):
    """All others are as if the schema said that they have no missing values."""
    frame = patients(3000)
    named = {**SCHEMA, "age": Numeric(0.0, 120.0, missing=True), "height": Numeric()}
    sex = Categorical(["f", "m"], missing=True)
    model = seeded(cls, frame, "y", schema=Schema({**named, "sex": sex}), missing="indicator")
    assert model.model_.column_names[7:] == ["age (missing)"]
    assert [kind.levels for kind in model.model_.columns if kind.levels] == [
        ("f", "m", "(missing)"),
        (3, 1, 7),
    ]
    others = ["bmi", "smoker", "ward", "seen", "height"]
    complete = frame[others].notna().all(axis=1)
    assert 0.3 < complete.mean() < 0.7
    assert model.n_rows_ == pytest.approx(complete.sum(), abs=5)
    np.testing.assert_array_equal(np.isfinite(model.predict(frame)), complete)


@every
def test_rows_without_a_target_are_dropped(cls):
    frame = patients(3000)
    gone = np.arange(3000) % 10 == 0
    holes = frame.copy()
    holes.loc[gone, "y"] = np.nan
    assert state(fitted(cls, holes)) == state(fitted(cls, frame[~gone]))
    # So their number is not public, even if rows are replaced.
    model = fitted(cls, frame, neighbors="replace")
    assert not model.model_.rows_are_public
    assert any("Rows without a target were dropped" in note for note in model.privacy_.notes)


def test_intervals_of_predictions(model):
    """Rows without an age vary more than the intervals assume, so that these hold less often."""
    frame = patients(2000, seed=2)
    found = model.predict(frame, interval=0.95, kind="observation")
    inside = (found["lower"] < frame["y"]) & (frame["y"] < found["upper"])
    assert inside.mean() > 0.87
    np.testing.assert_array_equal(found["prediction"], model.predict(frame))


def test_evaluations(model):
    """Rows without a target, or with an unexpected missing value, are left out."""
    frame = patients(5000, seed=6)
    frame.loc[::10, "y"] = np.nan
    frame.loc[5::10, "height"] = np.inf
    kept = frame["y"].notna() & np.isfinite(frame["height"])
    with pytest.warns(dpfit.InsecureSeedWarning):
        found = model.evaluate(frame, "y", epsilon=10.0, random_state=0)
    with pytest.warns(dpfit.InsecureSeedWarning):
        without = model.evaluate(frame[kept], "y", epsilon=10.0, random_state=0)
    assert found.to_dict() == without.to_dict()
    assert found.rows == pytest.approx(4000, abs=30)
    off = (frame["y"] - model.predict(frame))[kept]
    assert found.rmse.value == pytest.approx(math.sqrt(np.mean(off**2)), rel=0.05)
    assert found.privacy.notes == ("Rows without a target were dropped.",)


def test_files(model, tmp_path):
    model.save(tmp_path / "model.json")
    again = dpfit.load(tmp_path / "model.json")
    frame = patients(100, seed=3)
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    assert again.model_ == dataclasses.replace(model.model_, estimates=again.model_.estimates)
    assert again.n_features_in_ == 7
    assert again.summary().to_html() == model.summary().to_html()
    assert again.schema["height"].missing is False


def test_a_file_with_other_indicators_is_refused(model, tmp_path):
    content = model.model_.to_dict()
    for missing in ("drop", "error", "keep"):
        with pytest.raises(ValueError, match=r"effects|levels|missing"):
            type(model.model_).from_dict({**content, "missing": missing})


def test_sql(model):
    frame = patients(300, seed=4)
    frame["row"] = np.arange(300)
    rows = frame  # noqa: F841 - the query reads it
    found = duckdb.sql(model.to_sql("rows")).df().sort_values("row")
    np.testing.assert_allclose(found["prediction"], model.predict(frame), rtol=1e-9)
    frame.loc[::2, "age"] = np.inf
    found = duckdb.sql(model.to_sql("rows")).df().sort_values("row")
    np.testing.assert_allclose(found["prediction"], model.predict(frame), rtol=1e-9)
    frame.loc[::7, "height"] = np.nan
    found = duckdb.sql(model.to_sql("rows")).df().sort_values("row")
    np.testing.assert_allclose(found["prediction"], model.predict(frame), rtol=1e-9)


@pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")
def test_scikit_learn(model):
    frame = patients(300, seed=5).drop(columns="y")
    frame.loc[::5, "age"] = -np.inf
    frame.loc[1, "sex"] = "other"
    frame.loc[2, "ward"] = 99.0
    frame.loc[3, "sex"] = np.nan
    found = model.to_sklearn().predict(frame)
    np.testing.assert_allclose(found, model.predict(frame), rtol=1e-9)


@every
@pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")
def test_columns_without_names(cls):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(3000, 2))
    y = X @ [1.0, 2.0] + rng.normal(0.0, 0.1, 3000)
    X[rng.random(3000) < 0.3, 0] = np.nan
    X[:, 1] = np.floor(3.0 * X[:, 1])
    schema = Schema({1: Categorical([0, 1, 2])})
    model = seeded(cls, X, y, missing="indicator", schema=schema)
    assert model.model_.column_names == ["x0", "x1", "x0 (missing)"]
    X[:5, 1] = np.nan
    np.testing.assert_allclose(model.to_sklearn().predict(X), model.predict(X), rtol=1e-9)


@every
def test_a_mean_and_nothing(cls):
    """Too few rows for slopes, and for anything: there are indicators all the same."""
    for rows, status in ((300, "mean"), (3, "nothing")):
        frame = patients(rows)
        model = fitted(cls, frame, epsilon=0.2)
        assert model.status_ == status
        assert model.model_.column_names[-4:] == FLAGS
        if status == "mean":
            assert np.isfinite(model.predict(frame)).all()
            assert "Too few rows" in str(model.summary())


def test_plots(model):
    pytest.importorskip("matplotlib").use("agg")
    from matplotlib import pyplot

    if isinstance(model, PrivateLinearRegression):
        shown = [label.get_text() for label in model.plot_coefficients().get_yticklabels()]
        assert "age (missing)" in shown
    else:
        figure = model.plot_curves(["age (missing)", "sex", "age"])
        assert figure.axes[0].get_title("left") == "age (missing)"
        assert model.curve("sex")[0] == ["f", "m", "(missing)"]
        x, height, low, high = model.curve("age (missing)", interval=0.95)
        assert x.tolist() == [0.0, 1.0]
        assert low[1] < 40.0 < high[1]
        assert height[1] - height[0] == pytest.approx(40.0, abs=3.0)
    pyplot.close("all")


@every
def test_names_that_are_taken(cls):
    frame = patients(100)
    with pytest.raises(ParameterError, match=r"a column 'age \(missing\)', which is the name"):
        fitted(cls, frame.assign(**{"age (missing)": 1.0}))
    taken = Schema({**SCHEMA, "sex": Categorical(["f", "(missing)"])})
    with pytest.raises(ParameterError, match=r"'sex' lists the level '\(missing\)'"):
        seeded(cls, frame, "y", schema=taken, missing="indicator")
    allowed = Schema({**SCHEMA, "sex": Categorical(["f", "(missing)"], missing=False)})
    frame["sex"] = frame["sex"].fillna("(missing)")
    model = seeded(cls, frame, "y", schema=allowed, missing="indicator")
    assert model.model_.columns[2].levels == ("f", "(missing)")


def test_the_reference_is_a_listed_level():
    schema = Schema({**SCHEMA, "sex": Categorical(["f", "m"], reference="m")})
    model = seeded(PrivateLinearRegression, patients(), "y", schema=schema, missing="indicator")
    found = dict(zip(model.coef_names_, model.coef_, strict=True))
    assert found["sex=m"] == 0.0
    assert found["sex=(missing)"] == pytest.approx(-35.0, abs=3.0)


@pytest.mark.parametrize(
    "kind",
    [
        Numeric(0.0, 1.0, missing=False),
        Numeric(missing=True),
        Date("2020-01-01", "2021-01-01", missing=False),
        Binary(missing=False),
        Categorical(["a", "b"], "b", missing=False),
    ],
)
def test_schema_files(kind):
    schema = Schema({"x": kind})
    assert Schema.from_json(schema.to_json()) == schema
    (column,) = json.loads(schema.to_json())["columns"]
    assert column["missing"] is kind.missing
    assert (
        "missing"
        not in Schema({"x": type(kind)(*getattr(kind, "levels", ()) and [["a"]])}).to_json()
    )


def test_wrong_fields():
    for kind in (Numeric, Date, Binary, lambda **fields: Categorical(["a"], **fields)):
        for value in (0, 1, "no"):
            with pytest.raises(ParameterError, match="missing must be True, False or None"):
                kind(missing=value)
    with pytest.raises(ParameterError, match="missing is for features"):
        Schema(target=Numeric(missing=True))
    # Dates keep the field if the schema has bounds as numbers of days.
    assert Date().specified(Numeric(0.0, 9.0, missing=False)) == Date(0.0, 9.0, missing=False)
