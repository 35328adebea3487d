"""Plots: what is drawn are the model's numbers; matplotlib is needed for nothing else."""

import itertools
import subprocess
import sys

import matplotlib

matplotlib.use("Agg")

import numpy as np
import pandas as pd
import pytest
from matplotlib import pyplot as plt
from sklearn.exceptions import NotFittedError

from dpfit import (
    Binary,
    Categorical,
    Numeric,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)
from dpfit.models import fonts

seeded = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")


@pytest.fixture(autouse=True)
def _close():
    yield
    plt.close("all")


def table(columns, rows=20_000):
    rng = np.random.default_rng(columns)
    Z = rng.normal(size=(rows, columns))
    y = Z @ np.linspace(1.0, 0.0, columns) + np.abs(Z[:, 0]) + rng.normal(size=rows)
    names = [f"column_{i}" for i in range(columns)]
    return pd.DataFrame(Z * np.logspace(-3, 5, columns), columns=names), y


@pytest.fixture(scope="module")
def linear():
    return PrivateLinearRegression(epsilon=1.0).fit(*table(5))


@pytest.fixture(scope="module")
def additive():
    return PrivateAdditiveRegression(epsilon=2.0).fit(*table(14))


def labels(ax):
    return [label.get_text() for label in ax.get_yticklabels()]


def titles(figure):
    return [ax.get_title(loc="left") for ax in figure.axes if ax.get_visible()]


def all_texts(figure):
    return " ".join(text.get_text() for text in figure.findobj(matplotlib.text.Text))


def test_coefficients_are_the_models(linear):
    ax = linear.plot_coefficients(level=0.8)
    half = np.diff(linear.feature_range_, axis=1) / 2
    moved = linear.coef_estimates_[:-1] * half[:, 0]
    order = np.argsort(-np.abs(moved))
    assert labels(ax) == [f"column_{i}" for i in order]
    (dots,) = (line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(dots.get_xdata(), moved[order])
    np.testing.assert_array_equal(dots.get_ydata(), np.arange(5))
    noise, both = ax.collections
    for bars, inference in ((noise, "sample"), (both, "population")):
        ends = np.array(bars.get_segments())
        expected = (linear.coef_interval(0.8, inference=inference)[:-1] * half)[order]
        np.testing.assert_array_equal(ends[:, :, 0], expected)
        np.testing.assert_array_equal(ends[:, :, 1], np.arange(5)[:, None] * [1, 1])
    assert noise.get_linewidths()[0] > 3 * both.get_linewidths()[0]
    assert "from the middle to the end of the feature's range" in ax.get_xlabel()
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["80 % confidence interval without sampling error", "with sampling error"]
    low, high = ax.get_ylim()
    assert low > high  # the largest on top


def test_draws_where_it_is_told(linear):
    figure, ax = plt.subplots()
    assert linear.plot_coefficients(ax=ax) is ax
    assert plt.get_fignums() == [figure.number]


@pytest.mark.parametrize("size", [None, (6, 4)])
@pytest.mark.parametrize("columns", [1, 12, 60])
def test_labels_do_not_overlap(columns, size):
    schema = Schema({i: Numeric(-1, 1) for i in range(columns)})
    model = PrivateLinearRegression(epsilon=2.0, schema=schema).fit(*table(columns))
    ax = plt.subplots(figsize=size, layout="constrained")[1] if size else None
    ax = model.plot_coefficients(ax=ax)
    ax.figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_yticklabels()]
    assert all(below.y1 <= above.y0 + 0.5 for above, below in itertools.pairwise(boxes))
    edges = ax.figure.bbox
    for text in [*ax.get_yticklabels(), ax.xaxis.label, *ax.get_legend().get_texts()]:
        box = text.get_window_extent()
        assert edges.x0 <= box.x0 < box.x1 <= edges.x1
        assert edges.y0 <= box.y0 < box.y1 <= edges.y1


def test_curves_are_the_models(additive):
    figure = additive.plot_curves(features=["column_3", 0, np.int64(7)], ncols=2)
    assert titles(figure) == ["column_3", "column_0", "column_7"]
    for ax, place in zip(figure.axes, (3, 0, 7), strict=False):
        x, height = additive.curve(place)
        drawn = np.sort(np.concatenate([line.get_xdata() for line in ax.lines[1:]]))
        low, high = ax.get_xlim()
        assert drawn[0] == low < x[0]
        assert drawn[-1] == high > x[-1]
        left, right, curve = ax.lines[1:4]
        np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([x, height]))
        assert list(left.get_ydata()) == [height[0]] * 2
        assert list(right.get_ydata()) == [height[-1]] * 2
    assert len({ax.get_ylim() for ax in figure.axes if ax.get_visible()}) == 1


def test_twelve_most_important_curves(additive):
    figure = additive.plot_curves()
    reach = [np.ptp(additive.curve(i)[1]) for i in range(14)]
    assert titles(figure) == [f"column_{i}" for i in np.argsort(np.negative(reach))[:12]]
    assert figure.get_suptitle() == "The 12 most important of 14 features"
    assert titles(additive.plot_curves(range(14))) == [f"column_{i}" for i in range(14)]
    assert titles(additive.plot_curves("column_2")) == ["column_2"]


def test_few_curves_need_no_title():
    X, y = table(2)
    X["column_1"] = (X["column_1"] > 0).astype(float)
    model = PrivateAdditiveRegression(epsilon=2.0, schema=Schema({"column_1": Binary()})).fit(X, y)
    figure = model.plot_curves()
    assert figure.get_suptitle() == ""
    assert len(figure.axes) == 2


@pytest.mark.parametrize("name", [r"$\frac$", "$a$", r"\$", "$", "{$x_$}", "a_b^"])
def test_a_name_is_no_formula(name):
    rng = np.random.default_rng(0)
    X = pd.DataFrame({name: rng.normal(size=2000), "kind": rng.choice([name, "b"], 2000)})
    y = X[name] + (X.kind == "b")
    schema = Schema({"kind": Categorical([name, "b"])})
    options = {"epsilon": 20.0, "schema": schema}
    figures = [
        PrivateLinearRegression(**options).fit(X, y).plot_coefficients().figure,
        PrivateAdditiveRegression(**options).fit(X, y).plot_curves(),
    ]
    for figure in figures:
        figure.canvas.draw()
        shown = [text for text in figure.findobj(matplotlib.text.Text) if name in text.get_text()]
        assert len(shown) >= 2
        assert not any(text.get_parse_math() for text in shown)


@pytest.mark.parametrize("features", [[], ["other"], [14], [-1], [None]])
def test_features_that_are_none(additive, features):
    with pytest.raises(ParameterError, match="feature"):
        additive.plot_curves(features)


@pytest.mark.parametrize("ncols", [0, 1.5, True, "3"])
def test_numbers_of_columns_that_are_none(additive, ncols):
    with pytest.raises(ParameterError, match="ncols"):
        additive.plot_curves(ncols=ncols)


def test_mean_only_says_so():
    X, y = table(3, rows=5)
    linear = PrivateLinearRegression(neighbors="replace").fit(X, y)
    ax = linear.plot_coefficients()
    assert "Too few rows for slopes" in all_texts(ax.figure)
    # Nothing is known of any slope, so no name has a place.
    assert labels(ax) == []
    assert "3 terms are not shown" in ax.get_xlabel()
    additive = PrivateAdditiveRegression(neighbors="replace").fit(X, y)
    figure = additive.plot_curves()
    assert "Too few rows for curves" in all_texts(figure)
    for drawn in (ax.figure, figure):
        drawn.canvas.draw()


@seeded
@pytest.mark.parametrize("rows", [5, 5000])
def test_a_seed_is_not_private(rows):
    X, y = table(3, rows=rows)
    options = {"neighbors": "replace", "random_state": 1}
    linear = PrivateLinearRegression(**options).fit(X, y)
    assert "NOT PRIVATE" in all_texts(linear.plot_coefficients().figure)
    additive = PrivateAdditiveRegression(**options).fit(X, y)
    assert "NOT PRIVATE" in all_texts(additive.plot_curves())


def test_without_a_seed_nothing_is_said(linear, additive):
    assert "NOT PRIVATE" not in all_texts(linear.plot_coefficients().figure)
    assert "NOT PRIVATE" not in all_texts(additive.plot_curves())


def test_not_fitted():
    with pytest.raises(NotFittedError):
        PrivateLinearRegression().plot_coefficients()
    with pytest.raises(NotFittedError):
        PrivateAdditiveRegression().plot_curves()


def test_missing_matplotlib_is_named(linear, additive, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    for draw in (linear.plot_coefficients, additive.plot_curves):
        with pytest.raises(ImportError, match=r'pip install "dpfit\[plot\]"'):
            draw()
    assert str(linear.summary())


def test_dpfit_does_not_import_matplotlib():
    code = "import sys, dpfit; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


TOWNS = [
    "東京都新宿区",
    "大阪府大阪市北区中之島",
    "Köln",
    "nowhere",
    "a_level_with_a_name_that_goes_on_and_on",
]


@pytest.fixture(scope="module")
def of_towns():
    rng = np.random.default_rng(0)
    long = "the_name_of_this_column_is_far_too_long_for_a_plot_"
    X = pd.DataFrame(rng.normal(size=(8000, 2)), columns=[long + "1", long + "2"])
    X["town"] = rng.choice([town for town in TOWNS if town != "nowhere"], 8000)
    y = X[long + "1"] + 2.0 * (X.town == "Köln") + rng.normal(size=8000)
    schema = Schema({"town": Categorical(TOWNS, reference="Köln")})
    options = {"epsilon": 3.0, "schema": schema}
    return [
        cls(**options).fit(X, y) for cls in (PrivateLinearRegression, PrivateAdditiveRegression)
    ]


@pytest.mark.parametrize("coding", ["treatment", "sum"])
def test_every_dot_has_its_bars_and_levels_are_together(of_towns, coding):
    model, _ = of_towns
    ax = model.plot_coefficients(coding=coding)
    shown = labels(ax)
    # The level without rows has neither name nor dot.
    assert len(shown) == 6
    assert "1 term is not shown: the noise hides it" in ax.get_xlabel()
    (dots,) = (line for line in ax.lines if line.get_marker() == "o")
    for bars in ax.collections:
        ends = np.array(bars.get_segments())
        np.testing.assert_array_equal(ends[:, 0, 1], dots.get_ydata())
        assert np.isfinite(ends).all()
        assert (ends[:, 0, 0] < dots.get_xdata()).all()
        assert (dots.get_xdata() < ends[:, 1, 0]).all()
    references = [place for place, label in enumerate(shown) if label.endswith("(reference)")]
    assert len(dots.get_xdata()) == 6 - len(references)
    assert len(references) == (coding == "treatment")
    towns = [place for place, label in enumerate(shown) if "town=" in label]
    assert towns == list(range(towns[0], towns[0] + 4))
    assert "Köln" in shown[towns[2]]
    assert len(set(shown)) == 6


def test_names_in_any_script_are_drawn_and_not_cut_off(of_towns):
    for figure in (of_towns[0].plot_coefficients().figure, of_towns[1].plot_curves()):
        figure.canvas.draw()  # a missing glyph would be a warning
        box, (width, height) = figure.get_tightbbox(), figure.get_size_inches()
        assert 0.0 <= box.x0 < box.x1 <= width
        assert 0.0 <= box.y0 < box.y1 <= height


def test_characters_without_a_glyph_are_squares(monkeypatch):
    monkeypatch.setattr(fonts, "_OTHERS", ())
    fonts._installed.cache_clear()
    found = fonts.printable_labels(["Ελλάδα", "東京", "大阪", "東京都", "plain"])
    assert found == ["Ελλάδα", "2: □□", "3: □□", "□□□", "plain"]
    fonts._installed.cache_clear()


def test_bands_are_the_models(additive):
    figure = additive.plot_curves([0], interval=0.8)
    (ax,) = figure.axes
    (band,) = ax.collections
    _, _, low, high = additive.curve(0, 0.8)
    drawn = band.get_paths()[0].vertices[:, 1]
    assert drawn.min() == low.min()
    assert drawn.max() == high.max()
    (ax,) = additive.plot_curves([0], interval=None).axes
    assert not np.isfinite([path.vertices for c in ax.collections for path in c.get_paths()]).any()
    with pytest.raises(ParameterError, match="interval"):
        additive.plot_curves(interval=95)


def test_levels_of_curves_have_bars(of_towns):
    _, model = of_towns
    (ax,) = model.plot_curves("town").axes
    _, _, low, high = model.curve("town", 0.95)
    known = np.isfinite(low)
    assert known.tolist() == [True, True, True, False, True]
    (bars,) = ax.collections
    ends = np.array([segment[:, 1] for segment in bars.get_segments() if len(segment)])
    np.testing.assert_array_equal(
        ends[np.isfinite(ends).all(axis=1)], np.column_stack([low, high])[known]
    )
    (dots,) = (line for line in ax.lines if line.get_marker() == "o")
    np.testing.assert_array_equal(np.isfinite(dots.get_ydata()), known)


def test_flags_and_dates_have_their_own_labels():
    rng = np.random.default_rng(0)
    start = np.datetime64("2019-03-01")
    X = pd.DataFrame(
        {
            "flag": rng.integers(0, 2, 20_000),
            "when": start + rng.integers(0, 1500, 20_000).astype("timedelta64[D]"),
        }
    )
    schema = Schema({"flag": Binary()})
    y = X["flag"] + (X["when"] - pd.Timestamp("2019-03-01")).dt.days / 1500
    model = PrivateAdditiveRegression(epsilon=5.0, schema=schema).fit(X, y)
    figure = model.plot_curves(["flag", "when"])
    flag, when = figure.axes
    assert [label.get_text() for label in flag.get_xticklabels()] == ["0", "1"]
    first, last = (label.get_text() for label in when.get_xticklabels())
    ends = model.feature_range_[1]
    assert first == str(np.datetime64(int(np.floor(ends[0])), "D"))
    assert last == str(np.datetime64(int(np.floor(ends[1])), "D"))
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in when.get_xticklabels()]
    assert boxes[0].x1 < boxes[1].x0
