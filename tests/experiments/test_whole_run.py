"""A whole run in a tiny form, and its report."""

import csv
import json
import re

import pytest
from tests.experiments.folders import folder_of_tables

from dpfit.exceptions import ParameterError
from paper import Options, openml_source, reproduce, work
from paper.methods import METHODS

TINY = {"quick": True, "epsilons": [0.5, 5.0], "trials": 1, "jobs": 1}


@pytest.fixture(scope="module")
def tiny(tmp_path_factory):
    """All methods, all regimes, two tables, two privacy levels."""
    base = tmp_path_factory.mktemp("tiny")
    data, out, said = folder_of_tables(base / "data", rows=500), base / "out", []
    page = reproduce(Options(data=data, out=out, figures="results", **TINY), say=said.append)
    return page, out, said


def rows(path):
    with path.open(newline="") as lines:
        return list(csv.DictReader(lines))


def test_every_method_setting_and_level_has_a_result(tiny):
    _, out, _ = tiny
    found = {
        (r["task"], r["method"], r["setting"], r["epsilon"]) for r in rows(out / "results.csv")
    }
    tunable = [m for m in METHODS.values() if m.space]
    studies = [study for m in METHODS.values() for study in m.studies]
    references = [m for m in METHODS.values() if m.role == "reference"]
    private = len(METHODS) - len(references) + len(tunable) + len(studies)
    expected = 2 * (2 * private + len(references))
    assert len(found) == expected
    assert not [r for r in rows(out / "results.csv") if r["note"].startswith("failed")]


def test_json_is_strict_and_has_what_the_csv_has(tiny):
    _, out, _ = tiny

    def refuse(name):
        raise AssertionError(name)

    records = json.loads((out / "results.json").read_text("utf-8"), parse_constant=refuse)
    assert sum(len(r["mse"]) for r in records) == len(rows(out / "results.csv"))
    summary = json.loads((out / "summary.json").read_text("utf-8"), parse_constant=refuse)
    share = summary["headline"]["ours untuned against tuned"]["additive / every peer"]["0.5"]
    assert share["tables"] == 2


def test_the_report_needs_no_other_file_and_no_network(tiny):
    page, _, _ = tiny
    text = page.read_text("utf-8")
    assert not re.findall(r'(?:src|href)\s*=\s*"(?!data:)', text)
    assert "@import" not in text
    assert "url(" not in text
    assert "<script" not in text
    assert text.count("data:image/svg+xml;base64,") >= 9


def test_the_report_says_how_it_was_made_and_nothing_about_the_machine(tiny, tmp_path):
    page, out, _ = tiny
    text = page.read_text("utf-8")
    assert "benches/reproduce.py --data FOLDER --quick" in text
    assert str(out.parent) not in text
    for needed in ("scikit-learn", "interpret-core", "cores", "Optuna", "n 500, paper 8641"):
        assert needed in text
    assert "Rows were capped at 4,000 for tuning the slow methods" in text


def test_every_claim_is_in_the_report_with_its_outcome(tiny):
    page, out, _ = tiny
    claims = json.loads((out / "summary.json").read_text("utf-8"))["claims"]
    assert len(claims) >= 12
    text = page.read_text("utf-8")
    for claim in claims:
        # Two small tables can't tell how many rows TukeyEM needs.
        unknown = "massive number of samples" in claim["claim"]
        assert claim["holds"] in (True, False) or unknown, claim
        assert claim["why"]
        assert claim["measured"]
    assert text.count('class="holds"') + text.count('class="fails"') == len(claims) - 1


def test_the_markdown_has_short_lines_and_every_table(tiny):
    text = (tiny[1] / "results.md").read_text("utf-8")
    assert max(map(len, text.splitlines())) <= 120
    assert text.count("<details>") == 4  # fixed and tuned, two epsilons
    assert "| 361094 visualizing_soil |" in text


def test_figures_are_files_too(tiny):
    _, out, _ = tiny
    names = {path.stem for path in (out / "figures").glob("*.svg")}
    assert {"errors", "wins", "scatter_adassp", "scatter_additive", "scatter_scaled"} <= names


def test_the_figures_that_matter_are_said(tiny):
    page, _, said = tiny
    assert any("untuned, beats every peer, tuned" in line for line in said)
    assert said[-1] == f"report: {page}"


def test_a_report_of_half_a_run_says_so(tiny, tmp_path):
    page, out, _ = tiny
    assert "not finished" not in page.read_text("utf-8")
    # The same store, asked for a level that was not run.
    options = {**TINY, "epsilons": [0.5, 5.0, 50.0], "report_only": True, "figures": "none"}
    half = reproduce(
        Options(data=out.parent / "data", out=out, report=tmp_path / "half", **options), say=str
    )
    text = half.read_text("utf-8")
    assert "This run is not finished." in text
    assert "DP-EBM, tuned" in text
    assert "2 of 6" in text


def test_nothing_is_done_twice(tiny, monkeypatch):
    _, out, _ = tiny

    def refuse(*args):
        raise AssertionError("fitted again")

    monkeypatch.setattr(work, "_error", refuse)
    before = (out / "results.csv").read_bytes()
    reproduce(Options(data=out.parent / "data", out=out, figures="none", **TINY), say=str)
    assert (out / "results.csv").read_bytes() == before


def test_a_new_user_without_data_and_network_gets_a_demonstration(tmp_path, monkeypatch):
    monkeypatch.delenv("DPFIT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))

    def fetch(number):
        raise ConnectionError

    monkeypatch.setattr(openml_source, "_fetch", fetch)
    said = []
    options = Options(
        out=tmp_path / "out",
        trials=0,
        rows=1500,
        methods=["boosted_adassp", "linear", "additive"],
        jobs=1,
        figures="none",
    )
    page = reproduce(options, say=said.append)
    assert "DEMONSTRATION" in said[0]
    text = page.read_text("utf-8")
    assert "Demonstration on generated tables" in text
    assert "generated-wages" in text


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"methods": ["magic"]}, "`methods` must be among .*, got 'magic'"),
        ({"jobs": 0}, "`jobs` must be >= 1, got 0"),
        ({"trials": -1}, "`trials` must be >= 0, got -1"),
        ({"seeds": 0}, "`seeds` must be >= 1, got 0"),
        ({"ebm_rounds": 0}, "`ebm_rounds` must be >= 1, got 0"),
        ({"epsilons": [1.0, 0.0]}, "`epsilons` must be > 0, got 0.0"),
        ({"delta": 1.0}, "`delta` must be between 0 and 1, got 1.0"),
    ],
)
def test_wrong_options_are_refused(tmp_path, options, said):
    with pytest.raises(ParameterError, match=said):
        reproduce(Options(data=tmp_path, out=tmp_path / "out", **options))
    assert not (tmp_path / "out").exists()
