"""Columns of levels: each with an effect of its own, none for what is not listed.

Fits have seeds, so nothing here fails by chance. With 100,000 rows and epsilon 10 the noise in an
effect is far below the 0.05 that effects may be off by.
"""

import functools
import warnings

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt

from dpfit import (
    Binary,
    Categorical,
    NotFiniteError,
    Numeric,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)

from .tables import CLASSES, every, r_squared, seeded, state

# Some fits have too few rows to find the target.
pytestmark = pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")

ROWS = 100_000
TOWNS = ("Bonn", "Köln", "Ulm", "Wien")
EFFECTS = {"Bonn": -1.0, "Köln": 0.0, "Ulm": 0.5, "Wien": 2.0, "elsewhere": -0.25}
GRADES = {1: 0.5, 2: 0.0, 7: -0.5}
SCHEMA = Schema({"town": Categorical(TOWNS), "grade": Categorical(list(GRADES))})


@functools.cache
def towns(rows=ROWS, seed=0):
    """Draw a table of two columns of levels and one of numbers; a town in eight is not listed."""
    rng = np.random.default_rng(seed)
    town = rng.choice(list(EFFECTS), size=rows, p=[0.3, 0.3, 0.2, 0.075, 0.125])
    grade, x = rng.choice(list(GRADES), size=rows), rng.uniform(-1.0, 1.0, size=rows)
    y = np.array([EFFECTS[t] for t in town]) + np.array([GRADES[g] for g in grade])
    frame = pd.DataFrame({"x": x, "town": town, "grade": grade})
    return frame, y + 0.75 * x + 0.3 * rng.normal(size=rows)


@functools.cache
def fitted(cls):
    return seeded(cls, *towns(), schema=SCHEMA, epsilon=10.0)


def effects(model, feature):
    """Return the effects of all levels of a column, as predictions have them."""
    return dict(zip(*model.model_.curve(model.model_.position(feature)), strict=True))


COLUMNS = ["x", *(f"town={town}" for town in TOWNS), *(f"grade={grade}" for grade in GRADES)]


def rows(**values):
    return pd.DataFrame({"x": [0.0], "town": ["Bonn"], "grade": [1]}).assign(**values)


@every
def test_effects_are_found(cls):
    """Those of towns, against rows of none; those of grades, of which all are listed, by pairs."""
    model = fitted(cls)
    found = effects(model, "town")
    assert list(found) == list(TOWNS)
    for town in TOWNS:
        assert found[town] == pytest.approx(EFFECTS[town] - EFFECTS["elsewhere"], abs=0.05)
    found = list(effects(model, "grade").values())
    np.testing.assert_allclose(
        np.subtract.outer(found, found).ravel(),
        [a - b for a in GRADES.values() for b in GRADES.values()],
        atol=0.05,
    )
    frame, y = towns()
    assert r_squared(y, model.predict(frame)) > 1.0 - 0.3**2 / y.var() - 0.01


@every
def test_a_level_that_is_not_listed_has_no_effect(cls):
    model = fitted(cls)
    nowhere = model.predict(rows(town="elsewhere"))[0]
    for name in ("never seen", "", "bonn", "Bonn ", "NA"):
        assert model.predict(rows(town=name))[0] == nowhere
    for town, effect in effects(model, "town").items():
        assert model.predict(rows(town=town))[0] == pytest.approx(nowhere + effect, abs=1e-12)
    # Numbers of any type, and numbers that are no level.
    grades = effects(model, "grade")
    first = grades[1]
    for grade in (3, 1.5, -1, 0, 2**62, np.inf if model.missing == "drop" else 9):
        assert model.predict(rows(grade=grade))[0] == pytest.approx(
            model.predict(rows(grade=1))[0] - first, abs=1e-12
        )
    for grade in (np.int8(1), np.uint64(1), np.float32(1), True):
        assert model.predict(rows(grade=grade))[0] == model.predict(rows(grade=1))[0]


def test_names_intervals_and_the_summary_have_a_line_for_every_level():
    model = fitted(PrivateLinearRegression)
    assert model.coef_names_ == COLUMNS
    assert model.coef_.shape == (8,)
    assert model.feature_range_.shape == (8, 2)
    np.testing.assert_array_equal(model.feature_range_[1:], np.tile([0.0, 1.0], (7, 1)))
    assert model.coef_interval().shape == (9, 2)
    assert model.n_features_in_ == 3
    text = str(model.summary())
    assert all(name in text for name in COLUMNS)
    html = model.summary()._repr_html_()
    assert "town=K" in html


@pytest.mark.parametrize("reference", [None, "Ulm"])
def test_coefficients_are_relative_to_the_reference(reference):
    """The reference changes what is printed, and no prediction."""
    schema = Schema({**SCHEMA, "town": Categorical(TOWNS, reference)})
    model = seeded(PrivateLinearRegression, *towns(), schema=schema, epsilon=10.0)
    place = TOWNS.index(reference or "Bonn")
    assert model.coef_[1 + place] == 0.0
    # Those of towns, then those of grades.
    truth = [EFFECTS[town] - EFFECTS[TOWNS[place]] for town in TOWNS]
    truth += [effect - GRADES[1] for effect in GRADES.values()]
    np.testing.assert_allclose(model.coef_[1:], truth, atol=0.05)
    low, high = model.coef_interval(1.0 - 1e-9)[1:-1].T
    assert ((low <= truth) & (truth <= high)).all()
    assert (high - low < 0.5).all()
    assert ((high > low) == (model.coef_[1:] != 0.0)).all()
    frame, _ = towns()
    frame = frame[frame.town != "elsewhere"]
    np.testing.assert_array_equal(
        model.predict(frame), fitted(PrivateLinearRegression).predict(frame)
    )
    flags = [frame["town"] == town for town in TOWNS] + [frame["grade"] == g for g in GRADES]
    rows = np.column_stack([np.clip(frame["x"], *model.feature_range_[0]), *flags])
    expected = np.clip(rows @ model.coef_ + model.intercept_, *model.prediction_range_)
    np.testing.assert_allclose(model.predict(frame), expected, atol=1e-12)


def test_coefficients_relative_to_the_mean_of_levels():
    model = fitted(PrivateLinearRegression)
    interval = model.coef_interval(coding="sum")
    middles = interval.mean(axis=1)
    assert middles[1:5].sum() == pytest.approx(0.0, abs=1e-12)
    assert middles[5:8].sum() == pytest.approx(0.0, abs=1e-12)
    truth = np.array([EFFECTS[town] for town in TOWNS])
    np.testing.assert_allclose(middles[1:5], truth - truth.mean(), atol=0.05)
    # An effect less the mean is a contrast of all levels.
    weights = {f"town={town}": (town == "Ulm") - 0.25 for town in TOWNS}
    np.testing.assert_allclose(model.contrast(weights).interval, interval[3], rtol=1e-9)
    np.testing.assert_array_equal(interval[0], model.coef_interval()[0])
    with pytest.raises(ParameterError, match="coding"):
        model.coef_interval(coding="helmert")


def test_rows_of_no_level_have_a_line_and_a_contrast():
    model = fitted(PrivateLinearRegression)
    found = model.contrast({"town=(not listed)": 1})
    assert found.estimate == pytest.approx(EFFECTS["elsewhere"] - EFFECTS["Bonn"], abs=0.05)
    low, high = found.interval
    assert low < found.estimate < high < low + 0.2
    assert "town=(not listed)" in [row[0] for row in model.summary().rows]
    assert "grade=(not listed)" not in [row[0] for row in model.summary().rows]
    assert "town=(not listed)" not in model.coef_names_


def test_curves_of_levels():
    model = fitted(PrivateAdditiveRegression)
    names, heights = model.curve("town")
    assert names == list(TOWNS)
    heights[:] = 7.0  # a copy
    assert model.curve(1)[1] is not heights
    assert np.abs(model.curve("town")[1]).max() < 5.0
    assert model.curve("grade")[0] == list(GRADES)
    text = str(model.summary())
    assert "4 levels" in text
    assert "3 levels" in text


def test_plots_have_levels():
    axes = fitted(PrivateLinearRegression).plot_coefficients()
    labels = [label.get_text() for label in axes.get_yticklabels()]
    shown = [label.removesuffix(" (reference)") for label in labels]
    assert sorted(shown) == sorted(COLUMNS)
    # Levels of a column are together and in their order.
    for start in ("town", "grade"):
        own = [place for place, label in enumerate(shown) if label.startswith(start)]
        assert own == list(range(own[0], own[0] + len(own)))
        assert [shown[i] for i in own] == [name for name in COLUMNS if name.startswith(start)]
    figure = fitted(PrivateAdditiveRegression).plot_curves(["town", "x"])
    figure.canvas.draw()
    shown = [label.get_text() for label in figure.axes[0].get_xticklabels()]
    assert shown == list(TOWNS)
    many = seeded(
        PrivateAdditiveRegression,
        *towns(),
        schema=Schema({"town": Categorical([*TOWNS, *map(str, range(60))]), "grade": Binary()}),
    )
    many.plot_curves().canvas.draw()
    plt.close("all")


@every
def test_other_names_for_levels_change_no_bit(cls):
    """Texts, texts that are longer, whole numbers: a level is its place."""
    frame, y = (part[:5000] for part in towns())
    model = seeded(cls, frame, y, schema=SCHEMA)
    long = frame.assign(town="the town of " + frame["town"], grade=frame["grade"].astype(float))
    schema = Schema(
        {"town": Categorical([f"the town of {t}" for t in TOWNS]), 2: Categorical(list(GRADES))}
    )
    other = seeded(cls, long, y, schema=schema)
    place = {town: i for i, town in enumerate(TOWNS)}
    codes = np.column_stack([frame["x"], frame["town"].map(place).fillna(99), frame["grade"]])
    schema = Schema({1: Categorical(range(4)), 2: Categorical(list(GRADES))})
    numbers = seeded(cls, codes, y, schema=schema)
    predictions = model.predict(frame)
    np.testing.assert_array_equal(other.predict(long), predictions)
    np.testing.assert_array_equal(numbers.predict(codes), predictions)
    assert state(
        seeded(cls, frame.assign(town=frame["town"].replace("elsewhere", "!")), y, schema=SCHEMA)
    ) == state(model)


@every
def test_the_order_of_levels_matters_no_more_than_the_noise(cls):
    """The noise of a seed is by place, so the same effects are found, but not to the bit."""
    frame, y = towns()
    model = fitted(cls)
    turned = Schema({"town": Categorical(TOWNS[::-1]), "grade": SCHEMA["grade"]})
    other = seeded(cls, frame, y, schema=turned, epsilon=10.0)
    if cls is PrivateAdditiveRegression:
        a, b = effects(model, "town"), effects(other, "town")
        assert list(b) == list(TOWNS[::-1])
    else:
        assert other.coef_names_[1:5] == model.coef_names_[1:5][::-1]
        assert model.coef_[0] == pytest.approx(other.coef_[0], abs=0.05)
        # The first levels, which others are relative to, differ.
        a = dict(zip(model.coef_names_[1:5], model.coef_[1:5] - model.coef_[4], strict=True))
        b = dict(zip(other.coef_names_[1:5], other.coef_[1:5] - other.coef_[1], strict=True))
    # Of grades, all of which are listed, only differences are told by the data.
    for name in (name for name in a if not name.startswith("grade")):
        assert a[name] == pytest.approx(b[name], abs=0.05), name
    # What is found before rows are mapped does not depend on the order at all.
    assert model.n_rows_ == other.n_rows_
    assert model.target_range_ == other.target_range_
    assert [e.statistic for e in model.privacy_.events] == [
        e.statistic for e in other.privacy_.events
    ]


@every
def test_the_order_of_rows_changes_no_bit(cls):
    frame, y = (part[:3000] for part in towns())
    order = np.random.default_rng(1).permutation(3000)
    model = seeded(cls, frame, y, schema=SCHEMA)
    assert state(seeded(cls, frame.iloc[order], y[order], schema=SCHEMA)) == state(model)


@every
def test_levels_are_much_like_columns_of_zeros_and_ones(cls):
    frame, y = towns()
    flags = {f"is {town}": frame["town"] == town for town in TOWNS}
    flags |= {f"is {grade}": frame["grade"] == grade for grade in GRADES}
    columns = pd.DataFrame({"x": frame["x"], **flags})
    other = seeded(cls, columns, y, epsilon=10.0)
    predictions = fitted(cls).predict(frame)
    assert np.sqrt(np.mean(np.square(other.predict(columns) - predictions))) < 0.05


@every
def test_levels_cost_nothing(cls):
    frame, y = (part[:3000] for part in towns())
    schema = Schema({"x": Binary(), **SCHEMA}, target=Numeric(-3, 4))
    events = [e.statistic for e in seeded(cls, frame, y, schema=schema).privacy_.events]
    assert not [name for name in events if "feature" in name]
    events = [e.statistic for e in seeded(cls, frame, y, schema=SCHEMA).privacy_.events]
    assert "histogram of a feature" in events


@every
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_missing_levels(cls, relation):
    frame, y = (part[:4000] for part in towns())
    holes = np.arange(4000) % 40 == 0
    missing = frame.assign(town=frame["town"].where(~holes, None))
    with pytest.raises(NotFiniteError, match="NaN or infinity"):
        seeded(cls, missing, y, schema=SCHEMA, neighbors=relation)
    options = {"schema": SCHEMA, "missing": "drop", "neighbors": relation}
    model = seeded(cls, missing, y, **options)
    without = seeded(cls, frame[~holes], y[~holes], **options)
    assert state(model) == state(without)
    # A level that is not listed is not missing.
    nowhere = frame.assign(town=frame["town"].where(~holes, "elsewhere"))
    assert state(seeded(cls, nowhere, y, **options)) != state(model)
    predictions = model.predict(missing)
    np.testing.assert_array_equal(np.isnan(predictions), holes)
    strict = seeded(cls, frame, y, schema=SCHEMA, neighbors=relation)
    with pytest.raises(NotFiniteError):
        strict.predict(missing)


@every
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_units_with_levels(cls, relation):
    """Which rows of a unit are kept does not depend on their order; the record says how many."""
    frame, y = (part[:6000] for part in towns())
    owners = np.random.default_rng(2).integers(0, 2500, size=6000)
    options = {"schema": SCHEMA, "max_rows": 2, "neighbors": relation}
    model = seeded(cls, frame, y, unit=owners, **options)
    order = np.random.default_rng(3).permutation(6000)
    again = seeded(cls, frame.iloc[order], y[order], unit=owners[order], **options)
    assert state(again) == state(model)
    named = seeded(cls, frame.assign(who=owners), y, unit="who", **options)
    # The values of an array have no name.
    assert state(named, record={"unit_name": None}, not_features=()) == state(model)
    grams = [e for e in model.privacy_.events if e.statistic == "X'X of mapped rows"]
    assert grams
    factor = 2.0 * (np.sqrt(2.0) if relation == "replace" else 1.0)
    for gram in grams:
        assert gram.sensitivity == pytest.approx(factor)


@every
@pytest.mark.parametrize("count", [1, 5, 60])
def test_few_rows(cls, count):
    frame, y = (part[:count] for part in towns())
    model = seeded(cls, frame, y, schema=SCHEMA, epsilon=0.5)
    predictions = model.predict(towns()[0][:50])
    assert np.isfinite(predictions).all()
    assert len(str(model.summary())) > 100
    if cls is PrivateLinearRegression:
        assert model.coef_names_ == COLUMNS


@every
@pytest.mark.parametrize("name", ["one level", "no row has a level", "every row has the same"])
def test_levels_of_which_nothing_can_be_learned(cls, name):
    frame, y = (part[:5000] for part in towns())
    levels = {"one level": ["Bonn"], "no row has a level": ["Rom", "Oslo"]}.get(
        name, ["Bonn", "Ulm"]
    )
    if name == "every row has the same":
        frame = frame.assign(town="Bonn")
    schema = Schema({"town": Categorical(levels), "grade": SCHEMA["grade"]})
    model = seeded(cls, frame, y, schema=schema)
    predictions = model.predict(frame)
    assert np.isfinite(predictions).all()
    # No worse than a model without the column, but for noise.
    without = seeded(cls, frame.drop(columns="town"), y, schema=Schema({1: SCHEMA["grade"]}))
    expected = r_squared(y, without.predict(frame.drop(columns="town")))
    assert r_squared(y, predictions) > expected - 0.02


def test_more_terms_than_there_may_be():
    with pytest.raises(ParameterError, match="at most 4000 columns, counting each level"):
        PrivateLinearRegression(
            schema=Schema({0: Categorical(range(3000)), 1: Categorical(range(1001))})
        ).fit(np.zeros((9, 2)), np.zeros(9))


@pytest.mark.parametrize("cls", CLASSES)
def test_many_levels_at_once(cls):
    """Of 300, most of them seldom, those that are frequent are found."""
    rng = np.random.default_rng(4)
    codes = np.where(
        rng.random(50_000) < 0.6, rng.integers(0, 2, 50_000), rng.integers(0, 300, 50_000)
    )
    y = np.where(codes == 0, 1.0, 0.0) - np.where(codes == 1, 1.0, 0.0)
    schema = Schema({0: Categorical(range(300))}, target=Numeric(-2, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        model = seeded(cls, codes[:, None].astype(float), y, schema=schema, epsilon=10.0)
    assert model.predict([[0.0]])[0] - model.predict([[1.0]])[0] == pytest.approx(2.0, abs=0.1)
