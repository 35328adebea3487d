"""Without an interval there is no number: in tables, plots and reports of additive models."""

import numpy as np
import pandas as pd
import pytest

from dpfit import Binary, Categorical, PrivateAdditiveRegression, Schema

# Shown as if they were effects, though the noise hides whether there are rows.
HIDDEN = ["flag", "age (missing)"]


@pytest.fixture(scope="module")
def model():
    """One row in 2,000 has the flag, three have the level c, and no value is missing."""
    rng = np.random.default_rng(0)
    rows = 4000
    frame = pd.DataFrame({"age": rng.uniform(20, 80, rows), "flag": np.arange(rows) % 2000 == 0})
    frame["ward"] = np.where(np.arange(rows) < 3, "c", np.where(frame.age < 50, "a", "b"))
    frame["days"] = frame.age / 10 + rng.normal(size=rows) + 100 * (frame.ward == "c")
    schema = Schema({"flag": Binary(missing=False), "ward": Categorical(["a", "b", "c"])})
    found = PrivateAdditiveRegression(epsilon=1.0, schema=schema, missing="indicator")
    return found.fit(frame, "days")


def test_the_summary_names_them(model):
    summary = model.summary()
    rows = {row[0]: row for row in summary.rows}
    for name in HIDDEN:
        assert set(rows[name][2:]) <= {"-", "0"}
    assert "-" not in rows["age"]
    text = " ".join(str(summary).split())
    assert "Not known: ward=c, ward=(missing), flag, age (missing)." in text
    frame = summary.to_frame("pandas").set_index("column")
    assert frame.loc[HIDDEN, ["lowest", "highest"]].isna().all(axis=None)


def test_levels_that_are_not_known_count_in_no_importance(model):
    ward = list(model.feature_names_in_).index("ward")
    seen = model.model_.is_seen(ward)
    assert seen.tolist() == [True, True, False, False]
    heights = model.model_.curve(ward)[1]
    assert model.model_.importance(ward) == np.ptp(heights[:2])
    shown = model.summary().to_frame("pandas").set_index("column").loc["ward"]
    assert (shown.lowest, shown.highest) == (heights[:2].min(), heights[:2].max())


def test_reports_and_plots_draw_no_curve(model):
    assert model.report_html().count("not known: hidden by the noise") == len(HIDDEN)
    pytest.importorskip("matplotlib")
    figure = model.plot_curves()
    words = {
        axes.get_title(loc="left"): [text.get_text() for text in axes.texts] for axes in figure.axes
    }
    assert [name for name, found in words.items() if "not known" in found] == HIDDEN
    _shows_the_whole_curve(model, figure)


def _shows_the_whole_curve(model, figure):
    low, high = figure.axes[0].get_ylim()
    heights = model.curve("age")[1]
    assert low < heights.min() < heights.max() < high


def test_a_column_without_an_effect_cuts_off_no_curve():
    """All axes share their limits."""
    pytest.importorskip("matplotlib")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.uniform(20, 80, 4000), "zero": np.zeros(4000)})
    model = PrivateAdditiveRegression(epsilon=5.0).fit(frame, frame.age)
    _shows_the_whole_curve(model, model.plot_curves())
