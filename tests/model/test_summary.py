"""Summaries: aligned, escaped, and made of the model's attributes alone."""

import copy
import dataclasses
import pickle
import re
from xml.etree import ElementTree

import narwhals as nw
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from dpfit import (
    Categorical,
    Numeric,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
)
from dpfit.models.names import listed, shortened
from dpfit.models.summary import linear_summary
from dpfit.models.tables import Summary

LONG = "the_name_of_this_column_is_far_too_long_for_a_table_2"
NAMES = ["age", "<b>&\"x'", LONG, "tab\there"]
seeded = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")
BOTH = [PrivateLinearRegression, PrivateAdditiveRegression]
both = pytest.mark.parametrize("cls", BOTH, ids=lambda cls: cls.__name__)


def table(rows=8000, names=NAMES, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, len(names))) * np.logspace(-4, 5, len(names))
    y = (X / np.logspace(-4, 5, len(names))).sum(axis=1) + rng.normal(size=rows)
    return pd.DataFrame(X, columns=names), y


@pytest.fixture(scope="module")
def linear():
    return PrivateLinearRegression(epsilon=2.0).fit(*table())


@pytest.fixture(scope="module")
def additive():
    return PrivateAdditiveRegression(mu=0.5, neighbors="replace").fit(*table())


@pytest.fixture(params=["linear", "additive"])
def summary(request):
    return request.getfixturevalue(request.param).summary()


def mean_only(cls):
    # With `replace` the number of rows is public: 5 are always too few.
    schema = Schema(target=Numeric(-3.0, 40.0))
    return cls(neighbors="replace", schema=schema).fit(*table(rows=5))


def tables(summary):
    root = ElementTree.fromstring(summary._repr_html_())
    return root, [
        [[" ".join("".join(cell.itertext()).split()) for cell in row] for row in part.iter("tr")]
        for part in root.iter("table")
    ]


def close(shown, values):
    """Return whether numbers are shown with four digits."""
    return np.allclose([float(text) for text in shown], values, rtol=5.001e-4, atol=0.0)


def column(summary, heading):
    place = summary.columns.index(heading)
    return [row[place] for row in summary.rows]


def test_columns_are_aligned(summary):
    lines = str(summary).split("\n")
    (top,) = (i for i, line in enumerate(lines) if line.strip().startswith(summary.columns[1]))
    ends, start = [], 0
    for heading in summary.columns[1:]:
        start = lines[top].index(heading, start) + len(heading)
        ends.append(start)
    for row, line in zip(summary.rows, lines[top + 2 :], strict=False):
        assert line.startswith(shortened(row[0]))
        for end, cell in zip(ends, row[1:], strict=True):
            shown = line[:end].ljust(end)[end - len(cell) - 1 :]
            assert shown == " " + cell
    rules = [line for line in lines if set(line) in ({"="}, {"-"})]
    assert {len(rule) for rule in rules} == {len(rules[0])}
    assert max(map(len, lines)) == len(rules[0])
    assert not any(line != line.rstrip() for line in lines)


def test_ranges_are_one_below_the_other(linear):
    ranges = column(linear.summary(), "range")[:-1]
    assert len({text.index(" to ") for text in ranges}) == 1
    ends = [text.split(" to ") for text in ranges]
    assert close(np.ravel(ends), linear.feature_range_.ravel())


def test_linear_numbers_are_the_models(linear):
    summary = linear.summary(0.9)
    assert summary.columns == (
        *("", "coef", "std err", "z", "p", "[0.05", "0.95]", "privacy", "range"),
    )
    assert [row[0] for row in summary.rows] == [*NAMES, "(intercept)"]
    noise, sampling = np.diag(linear.coef_noise_), np.diag(linear.coef_sampling_)
    error, estimates = np.sqrt(noise + sampling), linear.coef_estimates_
    # The intercept is another one.
    assert close(column(summary, "coef")[:-1], estimates[:-1])
    assert close(column(summary, "std err")[:-1], error[:-1])
    shown = [float(text) for text in column(summary, "z")[:-1]]
    assert np.allclose(shown, (estimates / error)[:-1], atol=0.00501)
    shown = [float(text.removesuffix(" %")) for text in column(summary, "privacy")[:-1]]
    assert np.allclose(shown, 100 * (noise / error**2)[:-1], atol=0.501)
    assert close(column(summary, "[0.05")[:-1], linear.coef_interval(0.9)[:-1, 0])
    assert close(column(summary, "0.95]")[:-1], linear.coef_interval(0.9)[:-1, 1])
    facts = dict(summary.facts)
    deviation = facts.pop("Residual SD (approx.)")
    assert close([deviation], [np.sqrt(linear.residual_variance_)])
    assert close(facts.pop("Target range (approx.)").split(" to "), linear.target_range_)
    value, error = linear.r_squared_
    assert facts == {
        "Budget": "epsilon 2, delta 1e-06",
        "Rows (noisy)": f"{linear.n_rows_:.0f}",
        "Neighbors": "add_remove",
        "Rounds": str(linear.n_rounds_),
        "Protects": "each row",
        "R-squared": f"{value:.3f} (std err {error:.3f})",
    }
    assert re.findall(r"\d[\d.]*", " ".join(summary.notes[:2])) == ["0.05", "0.95", "90"]


def test_additive_numbers_are_the_models(additive):
    summary = additive.summary()
    assert [row[0] for row in summary.rows] == NAMES
    curves = [additive.curve(name) for name in NAMES]
    low, high = (np.array([f(h) for _, h in curves]) for f in (np.min, np.max))
    ends = [text.split(" to ") for text in column(summary, "range")]
    assert close(np.ravel(ends), additive.feature_range_.ravel())
    assert column(summary, "knots") == [str(len(x) - 2) for x, _ in curves]
    assert close(column(summary, "lowest"), low)
    assert close(column(summary, "highest"), high)
    assert close(column(summary, "importance"), high - low)
    facts = dict(summary.facts)
    assert facts["Budget"] == "mu 0.5"
    assert facts["Neighbors"] == "replace"
    # With "replace" the number of rows is public.
    assert facts["Rows"] == "8000"
    assert close([facts["Intercept"]], [additive.intercept_])
    assert not re.search(r"\d", " ".join(summary.notes))


def test_html_holds_the_same_and_escapes_names(summary):
    root, (facts, body) = tables(summary)
    assert facts == [list(pair) for pair in summary.facts]
    rows = [[shortened(row[0]), *(" ".join(cell.split()) for cell in row[1:])] for row in body[1:]]
    expected = [
        [shortened(row[0]), *(" ".join(cell.split()) for cell in row[1:])] for row in summary.rows
    ]
    assert rows == expected
    assert body[2][0] == "<b>&\"x'"
    assert {element.tag for element in root.iter()} == {
        *("div", "p", "table", "thead", "tbody", "tr", "th", "td")
    }
    assert [e.get("title") for e in root.iter("th") if e.get("title")] == [LONG, "tab here"]
    page = summary._repr_html_()
    assert all(note in " ".join(root.itertext()) for note in summary.notes)
    assert not re.search("http|class=|<style|<script", page)


@both
def test_mean_only_says_so(cls):
    model = mean_only(cls)
    assert model.residual_variance_ is None
    summary = model.summary()
    text = " ".join(str(summary).split())
    assert (
        "Too few rows for " + ("curves" if cls is PrivateAdditiveRegression else "slopes") in text
    )
    assert dict(summary.facts)["Residual SD (approx.)"] == "-"
    assert model.status_ == "mean"
    shown = 1 if cls is PrivateAdditiveRegression else 2
    assert all(set(row[shown:]) == {"-"} for row in summary.rows[: len(NAMES)])
    tables(summary)
    low, high = re.search(r"from (\S+) to (\S+?)\.(?: |$)", summary.notes[0]).groups()
    assert float(low) < float(high)
    assert np.allclose([float(low), float(high)], model.target_range_, rtol=5.001e-4, atol=0.0)
    if cls is PrivateLinearRegression:
        assert close([summary.rows[-1][1]], [model.intercept_])


@seeded
@both
def test_a_target_that_the_noise_hides_has_no_interval(cls):
    model = cls(epsilon=0.001, random_state=0).fit(*table(rows=5))
    assert model.target_range_ == (-np.inf, np.inf)
    summary = model.summary()
    assert "the noise hides even the range of the target" in summary.notes[0]
    assert len(summary.notes) == 1
    tables(summary)
    if cls is PrivateLinearRegression:
        assert set(summary.rows[-1][1:8]) == {"-"}
    assert model.status_ == "nothing"
    assert dict(summary.facts)["Target range (approx.)"] == "-"


@seeded
@both
def test_a_seed_is_not_private(cls):
    model = cls(random_state=1).fit(*table())
    assert "NOT PRIVATE" in str(model.summary())
    assert "NOT PRIVATE" in "".join(tables(model.summary())[0].itertext())


def test_without_a_seed_nothing_is_said(summary):
    assert "NOT PRIVATE" not in str(summary) + summary._repr_html_()


def test_prompt_and_copies(summary):
    assert repr(summary) == str(summary)
    assert pickle.loads(pickle.dumps(summary)) == summary == copy.deepcopy(summary)


def test_units_are_named():
    X, y = table()
    model = PrivateLinearRegression(epsilon=1.0, max_rows=2)
    model.fit(X, y, unit=np.arange(len(y)) // 2)
    assert dict(model.summary().facts)["Protects"] == "each unit (at most 2 rows each)"


def test_all_of_many_features():
    X, y = table(rows=3000, names=[f"f{i}" for i in range(70)])
    schema = Schema({name: Numeric(-1, 1) for name in X})
    text = str(PrivateLinearRegression(epsilon=8.0, schema=schema).fit(X, y).summary())
    assert all(re.search(rf"^f{i} ", text, re.MULTILINE) for i in range(70))


@pytest.mark.parametrize("level", [0.0, 1.0, 2, "0.95", None])
def test_levels_that_are_none(linear, level):
    with pytest.raises(ParameterError, match="level"):
        linear.summary(level)


@both
def test_not_fitted(cls):
    with pytest.raises(NotFittedError):
        cls().summary()


def test_narrow_ranges_are_told_apart(linear):
    first, *others = linear.model_.effects
    effects = (dataclasses.replace(first, low=5.0, high=5.00001), *others)
    summary = linear_summary(dataclasses.replace(linear.model_, effects=effects))
    assert column(summary, "range")[0].split() == ["5.00000", "to", "5.00001"]


@pytest.fixture(scope="module")
def with_levels():
    rng = np.random.default_rng(0)
    town = rng.choice(["Ulm", "Bonn", "A & B_%"], 8000)
    frame = pd.DataFrame({"size": rng.uniform(10, 20, 8000), "town": town})
    y = 100 + 3 * frame["size"] + 5 * (town == "Bonn") + rng.normal(size=8000)
    levels = Categorical(["Ulm", "nowhere", "Bonn", "A & B_%"], reference="Bonn")
    return PrivateLinearRegression(epsilon=2.0, schema=Schema({"town": levels})).fit(frame, y)


def test_levels_are_together_in_their_order(with_levels):
    summary = with_levels.summary()
    names = ["size", "town=Ulm", "town=nowhere", "town=Bonn", "town=A & B_%", "(intercept)"]
    assert [row[0] for row in summary.rows] == names
    assert summary.rows[3][1:] == ("reference", *[""] * 7)
    # What has no interval is not a number, and a line says what would help.
    assert set(summary.rows[2][1:8]) == {"-"}
    text = " ".join(summary.notes)
    assert "Not known: town=nowhere." in text
    assert "Predictions use a rough value for them, or zero. It helps to merge rare levels" in text
    assert "differences from the reference level" in text
    by_mean = with_levels.summary(coding="sum")
    assert by_mean.rows[3][1] != "reference"
    assert "differences from the mean of their column's levels" in " ".join(by_mean.notes)


def test_the_intercept_is_where_the_summary_says(with_levels):
    """It is a prediction, with its interval, at the means of columns and the reference levels."""
    for coding, town in (("treatment", "Bonn"), ("sum", "not listed")):
        summary = with_levels.summary(coding=coding)
        (note,) = (note for note in summary.notes if note.startswith("(intercept)"))
        place = with_levels.model_.effects[0].centre
        assert place == pytest.approx(15.0, abs=1.0)
        assert close([re.search(r"size = (\S+?),", note).group(1)], [place])
        rows = pd.DataFrame({"size": [place], "town": [town]})
        found = with_levels.predict(rows, 0.95).iloc[0]
        shown = summary.to_frame("pandas").iloc[-1]
        # Intervals of predictions contain what is predicted after shrinkage.
        assert found["lower"] == pytest.approx(min(shown["low"], found["prediction"]))
        assert found["upper"] == pytest.approx(max(shown["high"], found["prediction"]))


def test_intercept_of_numbers_alone(linear, additive):
    (note,) = (note for note in linear.summary().notes if note.startswith("(intercept)"))
    assert "age = " in note
    assert "levels" not in note
    assert not any("(intercept)" in note for note in additive.summary().notes)


@pytest.mark.parametrize("backend", [None, "pandas", "polars", "pyarrow"])
def test_a_frame_has_all_digits(with_levels, backend):
    frame = with_levels.summary(0.9).to_frame(backend)
    assert type(frame).__module__.startswith(backend or "pandas")
    frame = nw.from_native(frame)
    assert frame["term"].to_list() == [*with_levels.coef_names_, "(intercept)"]
    assert frame["column"].to_list()[:5] == ["size", *["town"] * 4]
    assert frame["level"].to_list()[1:5] == ["Ulm", "nowhere", "Bonn", "A & B_%"]
    assert frame["is_reference"].to_list() == [False, False, False, True, False, False]
    known = [0, 1, 4]
    for name, column in (("low", 0), ("high", 1)):
        expected = with_levels.coef_interval(0.9)[known, column]
        np.testing.assert_array_equal(frame[name].to_numpy()[known], expected)
    estimates = frame["estimate"].to_numpy()
    np.testing.assert_array_equal(estimates[known], with_levels.coef_estimates_[known])
    assert estimates[3] == 0.0
    # Nothing is known of a level without rows.
    assert frame["p"].is_null().to_list()[2] or np.isnan(frame["p"].to_list()[2])
    parts = frame["noise"].to_numpy() ** 2 + frame["sampling"].to_numpy() ** 2
    np.testing.assert_allclose(parts[known], frame["std_error"].to_numpy()[known] ** 2)
    for name in ("z", "p", "privacy_share", "range_low", "range_high"):
        assert np.isfinite(frame[name].to_list()[0])


def test_a_frame_of_curves(additive):
    frame = additive.summary().to_frame("pandas")
    assert frame["column"].tolist() == NAMES
    np.testing.assert_array_equal(frame[["range_low", "range_high"]], additive.feature_range_)
    assert frame["p_no_effect"].between(0.0, 1.0).all()
    assert frame["edf"].notna().all()


def test_a_frame_of_another_library(linear):
    with pytest.raises(ParameterError, match="backend"):
        linear.summary().to_frame("excel")


def test_latex(with_levels, summary):
    lines = with_levels.summary().to_latex().split("\n")
    body = [line for line in lines if not line.startswith("%")]
    assert body[0] == r"\begin{tabular}{lrrrrrrrr}"
    rows = [line for line in body if line.endswith(r" \\") and not line.startswith(r"\multi")]
    # Rows have the same number of cells, and names are escaped.
    cells = [re.split(r"(?<!\\)&", row) for row in rows]
    assert {len(row) for row in cells} == {9}
    assert any(row.startswith(r"town=A \& B\_\% & ") for row in rows)
    assert any("epsilon 2, delta 1e-06" in line for line in body)
    # All facts are below the table, on lines that are not much wider than it.
    below = [line for line in body if line.startswith(r"\multicolumn")]
    for name, value in with_levels.summary().facts:
        assert any(f"{name}: {value}".replace("_", r"\_") in line for line in below), name
    assert max(map(len, below)) < 160
    assert body[-2] == r"\end{tabular}"
    for text in (summary.to_latex(), mean_only(PrivateLinearRegression).summary().to_latex()):
        assert text.count("{") == text.count("}")
        assert text.count(r"\begin") == text.count(r"\end") == 1


def test_lists_of_names_with_commas():
    assert listed(["a", "b"]) == "a, b"
    assert listed(["ward=ICU, step-down", "b"]) == "ward=ICU, step-down; b"
    assert listed(list("abcdefg")) == "a, b, c, d, e and 2 more"


def test_latex_has_minus_signs():
    cells = ("a-1 b", "-1.5", "1.2e-06", "-3e-05 to -1e-05", "2020-01-31 to 2021-05-02", "-")
    table = Summary("T", "", (), tuple("abcdef"), (cells,), ())
    row = next(line for line in table.to_latex().split("\n") if line.startswith("a-1"))
    assert row == (
        r"a-1 b & $-$1.5 & 1.2e$-$06 & $-$3e$-$05 to $-$1e$-$05 & 2020-01-31 to 2021-05-02 & -- \\"
    )


@seeded
def test_latex_of_a_seed_is_not_private():
    text = PrivateLinearRegression(random_state=1).fit(*table()).summary().to_latex()
    assert "NOT PRIVATE" in text


def test_html_is_what_a_notebook_shows(summary):
    assert summary.to_html() == summary._repr_html_()


def test_r_squared_is_printed_where_it_is_known(linear):
    unknown = dataclasses.replace(linear.model_, r_squared=None)
    assert "R-squared" not in dict(linear_summary(unknown).facts)
    model = dataclasses.replace(linear.model_, r_squared=(0.8125, 0.0251))
    assert dict(linear_summary(model).facts)["R-squared"] == "0.812 (std err 0.025)"


def test_inference_about_the_rows(linear):
    summary = linear.summary(inference="sample")
    assert close(column(summary, "std err")[:-1], np.sqrt(np.diag(linear.coef_noise_))[:-1])
    assert set(column(summary, "privacy")) == {"100 %"}
    assert "population" not in " ".join(summary.notes)
    with pytest.raises(ParameterError, match="inference"):
        linear.summary(inference="everyone")
    with pytest.raises(ParameterError, match="coding"):
        linear.summary(coding="none")
