"""What a report says: the model's numbers, escaped, and nothing that was not released."""

import base64
import copy
import dataclasses
import html.parser
import json
import math
import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from dpfit import (
    Ledger,
    LedgerError,
    Numeric,
    ParameterError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    load,
)
from dpfit.accounting import PrivacyRecord, gdp_delta
from dpfit.models.numbers import date_text
from dpfit.models.report.attacker import least_misses
from dpfit.models.report.markup import Html, element, name_of
from dpfit.models.report.scales import Scale, tick_texts, ticks

from . import models

VOID = {"meta", "rect", "circle", "path", "line"}
# Everything that could load or run something.
LOADING = {"script", "img", "link", "iframe", "object", "embed", "audio", "video", "base", "form"}


class Reader(html.parser.HTMLParser):
    """The tags, attributes and text of a page; elements must be closed in order."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.attributes, self.words, self._open = set(), [], [], []
        self.feed(text)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag, attributes):
        self.tags.add(tag)
        self.attributes += attributes
        self._open.append(tag)

    def handle_startendtag(self, tag, attributes):
        assert tag in VOID
        self.tags.add(tag)
        self.attributes += attributes

    def handle_endtag(self, tag):
        assert self._open.pop() == tag

    def handle_data(self, data):
        if "style" not in self._open:
            self.words.append(data)

    @property
    def text(self):
        return " ".join(" ".join(self.words).split())


@pytest.fixture(scope="module")
def account(tmp_path_factory):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("platform.node", lambda: "machine-of-the-office")
        patch.setattr("getpass.getuser", lambda: "name-of-the-colleague")
        yield models.ledger(tmp_path_factory.mktemp("ledger"))


@pytest.fixture(scope="module")
def linear(account):
    return models.linear(account)


@pytest.fixture(scope="module")
def additive(account):
    return models.additive(account)


@pytest.fixture(scope="module", params=["linear", "additive"])
def model(request):
    return request.getfixturevalue(request.param)


@pytest.fixture(scope="module")
def simple():
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 10, size=(20_000, 2))
    y = X @ [3.0, -1.0] + rng.normal(size=20_000)
    return PrivateLinearRegression(epsilon=1.0).fit(X, y)


def flat(text):
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def test_names_are_text(model):
    """Names of columns, levels, units, data sets and ledger entries, in any script."""
    page = Reader(model.report_html(title=f"Title {models.SCRIPT}"))
    assert not page.tags & LOADING
    assert not [name for name, _ in page.attributes if name.startswith("on") or name == "src"]
    for hostile in (models.SCRIPT, models.IMAGE, models.LEVELS[0], models.LEVELS[1]):
        assert flat(hostile) in page.text
    for name in ("東京都", "大阪", "עלות כוללת", "<i>target</i>", "<u>person</u>"):
        assert name in page.text
    # A mark that reverses the text after it.
    assert "\u202e" not in model.report_html()
    links = [value for name, value in page.attributes if name == "href"]
    assert all(value.startswith(("#", "data:application/json;base64,")) for value in links)
    assert "http" not in "".join(value or "" for _, value in page.attributes)


def test_sections(model):
    text = model.report_html()
    found = re.findall(r'<section id="(\w+)"', text)
    effects = "coefficients" if hasattr(model, "coef_") else "curves"
    rest = ["attacker", "budget", "statement", "certificate", "cite"]
    assert found == [effects, *rest]
    assert re.findall(r'<a href="#(\w+)"', text) == found


def test_facts_and_notes_are_those_of_the_summary(model):
    page, summary = Reader(model.report_html()), model.summary()
    for name, value in summary.facts:
        assert name in page.text
        assert flat(value) in page.text
    for note in summary.notes:
        assert flat(note) in page.text


def test_r_squared_is_shown_where_the_model_has_it(simple):
    again = copy.copy(simple)
    again.model_ = dataclasses.replace(simple.model_, r_squared=None)
    assert "R-squared" not in again.report_html()
    again.model_ = dataclasses.replace(simple.model_, r_squared=(0.871, 0.012))
    assert "0.871 (std err 0.012)" in Reader(again.report_html()).text


def test_coefficients_are_those_of_the_summary(linear):
    page, summary = Reader(linear.report_html()), linear.summary()
    for row in summary.rows:
        if row[1] not in ("-", "reference"):
            _, estimate, error, _, p, low, high, _, _ = row
            assert f"{estimate}" in page.text
            assert f"{low} to {high} {p}" in page.text
            assert error in page.text


def bars(text):
    """Return the places and widths of both parts of interval bars, and the dots, in percent."""
    part = r'<rect x="([\d.]+)%" width="([\d.]+)%" y="5" height="8" class="{}"/>'
    dot = r'<circle cx="([\d.]+)%"'
    pattern = part.format("sampling") + part.format("privacy") + dot
    return np.array([[float(x) for x in row] for row in re.findall(pattern, text)])


def test_bars_have_two_parts(simple):
    """The inner part is the interval without sampling error; both are around the estimate."""
    found = bars(simple.report_html())
    half = np.diff(simple.feature_range_, axis=1) / 2
    outer, inner = (
        simple.coef_interval(0.95, inference=kind)[:-1] * half for kind in ("population", "sample")
    )
    estimates = simple.coef_estimates_[:-1] * half[:, 0]
    scale = Scale.around([*outer.flat, *estimates])
    place = np.vectorize(scale)
    expected = np.column_stack(
        [
            place(outer[:, 0]),
            place(outer[:, 1]) - place(outer[:, 0]),
            place(inner[:, 0]),
            place(inner[:, 1]) - place(inner[:, 0]),
            place(estimates),
        ]
    )
    np.testing.assert_allclose(found, expected, atol=1e-3)
    assert (found[:, 3] < found[:, 1]).all()


def test_shares_of_errors_are_those_of_privacy(simple):
    numbers = dict(simple.summary().numbers)
    mixed = re.findall(
        r'<svg class="bar mix"[^>]*><rect x="0.000%" width="([\d.]+)%"', simple.report_html()
    )
    found = np.array(mixed, dtype=float)
    expected = [100 * share for share in numbers["privacy_share"]]
    np.testing.assert_allclose(found, expected, atol=1e-3)


def test_curves_have_two_bands():
    rng = np.random.default_rng(3)
    X = rng.uniform(-3, 3, size=(20_000, 3))
    y = np.abs(X[:, 0]) + rng.normal(size=20_000)
    model = PrivateAdditiveRegression(epsilon=1.0).fit(X, y)
    text = model.report_html()
    figures = re.findall(r"<figure>.*?</figure>", text)
    names = re.findall(r"<figure><figcaption><bdi>(\w+)</bdi>", text)
    reach = [np.ptp(model.curve(i)[1]) for i in range(3)]
    assert names == [f"x{i}" for i in np.argsort(np.negative(reach))]
    for figure, name in zip(figures, names, strict=True):
        x, height, low, high = model.curve(name, interval=0.95)
        assert figure.count('class="dot"') == len(x)
        assert '<path d="' in figure
        heights = {}
        for style in ("sampling", "privacy"):
            (path,) = re.findall(rf'<path d="M([^"]*) Z" class="{style}"/>', figure)
            points = np.array([pair.split() for pair in path.split(" L")], dtype=float)
            # To the right along the upper end, and back.
            up, down = points[: len(x) + 2, 1], points[len(x) + 2 :, 1][::-1]
            heights[style] = down - up
        assert (heights["privacy"] <= heights["sampling"]).all()
        inner = np.stack([low, high]), np.stack(model.curve(name, 0.95, inference="sample")[2:])
        scale = Scale.around([*height, *np.concatenate([part.flat for part in inner])])
        width = (high - low) / (scale.high - scale.low) * (190 - 24 - 8)
        np.testing.assert_allclose(heights["sampling"][1:-1], width, atol=0.02)


def test_the_statement_and_the_certificate_are_the_records(model):
    text = model.report_html()
    page = Reader(text)
    for paragraph in model.privacy_.statement().split("\n\n"):
        assert flat(paragraph) in page.text
    (content,) = re.findall(r"data:application/json;base64,([\w+/=]+)", text)
    assert PrivacyRecord.from_json(base64.b64decode(content).decode()) == model.privacy_
    (shown,) = re.findall(r'<details>.*?<pre tabindex="0">(.*?)</pre>', text, re.DOTALL)
    assert PrivacyRecord.from_dict(json.loads(html.unescape(shown))) == model.privacy_


def test_the_trade_off_is_that_of_gaussian_privacy():
    """Against the conversion to epsilon and delta: lines of slope -e^eps touch the curve."""
    for mu in (0.1, 0.7, 3.0):
        rates = np.linspace(1e-9, 1 - 1e-9, 20_001)
        misses = np.array([least_misses(rate, mu) for rate in rates])
        for epsilon in (0.1, 0.5, 1.0):
            touching = np.min(misses + math.exp(epsilon) * rates)
            assert touching == pytest.approx(1 - gdp_delta(mu, epsilon), abs=1e-6)
    assert least_misses(0.0, 1.0) == 1.0
    assert least_misses(1.0, 1.0) == 0.0
    # Far apart, there is no error.
    assert least_misses(0.5, 1e9) == 0.0


def test_the_ledger_shows_its_history(model, account):
    page = Reader(model.report_html())
    entries = account.history()
    assert all(flat(entry.what) in page.text for entry in entries)
    assert page.text.count("(this model)") == 1
    assert entries[0].user == "name-of-the-colleague"
    for private in (entries[0].id, entries[0].user, entries[0].host, account.path):
        assert private not in page.text
    without = copy.copy(model).set_params(ledger=None)
    assert "Ledger of the data set" not in without.report_html()
    assert "Ledger of the data set" in without.report_html(ledger=account.path)


def test_fits_that_protect_rows_are_named_where_units_are_protected(model, account, tmp_path):
    assert "protects each row, and is charged" not in model.report_html()
    path = tmp_path / "study.dpl"
    Ledger.create(path, epsilon=5.0, dataset="x", unit="person", rows_per_unit=2)
    options = {"epsilon": 0.5, "ledger": path}
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 1))
    PrivateLinearRegression(**options, max_rows=2).fit(X, X[:, 0], unit=np.arange(500) // 2)
    page = Reader(PrivateLinearRegression(**options).fit(X, X[:, 0]).report_html())
    note = "Entry 2 protects each row, and is charged as if no person had more than 2 rows."
    assert note in page.text


def test_shares_of_a_ledger_sum_to_what_is_spent(model, account):
    text = model.report_html().split("Ledger of the data set")[1].split("</section>")[0]
    (bar,) = re.findall(r"<svg[^>]*>(.*?)</svg>", text)
    widths = np.array(re.findall(r'width="([\d.]+)%"', bar), dtype=float)
    spent = 1 - (account.remaining().mu / account.mu) ** 2
    assert len(widths) == len(account.history())
    assert widths.sum() == pytest.approx(100 * spent, abs=0.01)
    assert (widths > 0).all()


def test_a_copied_ledger_is_shown_as_such(model, account, tmp_path):
    assert "was copied" not in model.report_html()
    copied = tmp_path / "copy.dpl"
    copied.write_bytes(Path(account.path).read_bytes())
    assert "was copied, restored or moved" in model.report_html(ledger=copied)


def test_another_ledger_is_refused(simple, model, tmp_path):
    other = Ledger.create(tmp_path / "other.dpl", epsilon=1.0, dataset="Other")
    for estimator in (simple, model):
        with pytest.raises(ParameterError, match="no entry of this model"):
            estimator.report_html(ledger=other)
    with pytest.raises(LedgerError):
        simple.report_html(ledger=tmp_path / "missing.dpl")


def test_an_evaluation_is_shown(simple):
    rng = np.random.default_rng(5)
    X = rng.uniform(0, 10, size=(9000, 2))
    evaluation = simple.evaluate(X, X @ [3.0, -1.0] + rng.normal(size=9000), epsilon=2.0)
    page = Reader(simple.report_html(evaluation=evaluation))
    for row in evaluation.summary().rows:
        assert " ".join(row) in page.text
    assert "This evaluation protects" in page.text
    assert "Calibration" in page.text


@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
@pytest.mark.parametrize("rows", [3, 60])
def test_models_that_know_little(cls, rows):
    rng = np.random.default_rng(rows)
    schema = Schema({0: Numeric(0, 1)}, target=Numeric(0, 1)) if rows > 50 else None
    X = rng.uniform(size=(rows, 2))
    model = cls(epsilon=0.2, schema=schema).fit(X, X[:, 0])
    page = Reader(model.report_html())
    assert model.status_ != "full"
    assert "Too few rows" in page.text
    assert "nan" not in page.text.lower().split()


@pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")
@pytest.mark.parametrize("cls", [PrivateLinearRegression, PrivateAdditiveRegression])
def test_a_seeded_model_says_so(cls):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(2000, 2))
    model = cls(epsilon=1.0, random_state=1).fit(X, X[:, 0])
    page = Reader(model.report_html())
    assert page.text.count("NOT PRIVATE") >= 2
    assert "so the guarantee does not hold" in page.text
    assert "misses at least" not in page.text


def test_a_loaded_model_has_the_same_report(simple, tmp_path):
    simple.save(tmp_path / "model.json")
    simple.report(tmp_path / "model.html")
    loaded = load(tmp_path / "model.json")
    assert loaded.report_html() == (tmp_path / "model.html").read_text("utf-8")


def test_needs_a_fit(tmp_path):
    with pytest.raises(NotFittedError):
        PrivateLinearRegression().report(tmp_path / "model.html")
    assert list(tmp_path.iterdir()) == []


def test_markup_escapes_everything_but_markup():
    found = element("p", "<b>", Html("<br>"), None, class_='a"b', title=None, data_x=1.5)
    assert found == '<p class="a&quot;b" data-x="1.5">&lt;b&gt;<br></p>'
    assert name_of("\u202e\x00<") == "<bdi>&lt;</bdi>"
    assert name_of("\ud800").encode() == b"<bdi>(empty)</bdi>"


def test_ticks_are_round_and_inside():
    for low, high in [(-5152, 13501), (0, 1), (1e-9, 3e-9), (-3.2e8, 1e9), (57.78, 66.36)]:
        found = ticks(low, high, 5)
        assert 2 <= len(found) <= 5
        assert low - 1e-9 * abs(low) <= found[0] < found[-1] <= high * (1 + 1e-9)
        assert len(set(tick_texts(found))) == len(found)
    assert ticks(1.0, 1.0) == []
    assert ticks(-math.inf, math.inf) == []
    assert tick_texts([-1000.0, 0.0, 1000.0]) == ["−1,000", "0", "1,000"]
    assert tick_texts([0.0, 0.05, 0.1]) == ["0.00", "0.05", "0.10"]


def test_scales_and_dates():
    assert Scale(-1e308, 1e308)(0.0) == 50.0
    assert Scale.around([]) == Scale(-1.0, 1.0)
    assert Scale.around([math.nan, 5.0]).low < 0.0
    assert date_text(0.0) == "1970-01-01"
    assert date_text(1e12) == "1e+12"
