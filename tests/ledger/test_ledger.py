"""A ledger by itself: what it remembers, whom it charges, and how it is passed on."""

import copy
import dataclasses
import math
import os
import pickle
import sqlite3
import sys
import warnings
from fractions import Fraction

import pytest

import dpfit
from dpfit import Ledger, LedgerError, LedgerWarning, ParameterError
from dpfit.accounting import Charge, gdp_mu
from dpfit.accounting._ledger_budget import charged
from dpfit.exceptions import Code

from .settings import whole

BUDGET = {"epsilon": 2.0, "delta": 1e-6, "dataset": "NHANES 2017"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.dpl"


def test_a_ledger_keeps_what_it_was_created_with(path):
    created = Ledger.create(path, **BUDGET, unit="person", rows_per_unit=3)
    for ledger in (created, Ledger(path), Ledger(str(path)), Ledger.of(path), Ledger.of(created)):
        assert (ledger.dataset, ledger.unit, ledger.rows_per_unit) == ("NHANES 2017", "person", 3)
        assert (ledger.epsilon, ledger.delta, ledger.mu) == (2.0, 1e-6, gdp_mu(2.0, 1e-6))
        assert ledger.neighbors == "add_remove"
        assert ledger.history() == ()
        assert ledger.remaining().mu == ledger.mu
        assert ledger.remaining().epsilon == 2.0
    assert os.listdir(path.parent) == ["study.dpl"]
    assert dpfit.Ledger is Ledger


def test_the_file_is_in_the_wal_mode(path):
    Ledger.create(path, **BUDGET)
    connection = sqlite3.connect(path)
    assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    connection.close()


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"epsilon": None}, "give epsilon"),
        ({"mu": 1.0}, "give epsilon"),
        ({"epsilon": 0.0}, "epsilon must be"),
        ({"delta": 0.9}, "delta must be"),
        ({"epsilon": None, "mu": -1.0}, "mu must be"),
        ({"dataset": " "}, "dataset must be"),
        ({"dataset": "\x1b[2J"}, "control characters"),
        ({"unit": 7}, "unit must be"),
        ({"unit": "person", "rows_per_unit": 0}, "rows_per_unit must be"),
        ({"rows_per_unit": 2}, "requires unit"),
        ({"neighbors": "other"}, "neighbors must be"),
        ({"other_epsilon": -0.1}, "other_epsilon must be"),
        ({"other_delta": math.nan}, "other_delta must be"),
        ({"other_epsilon": 2.0}, "other_epsilon must be below"),
        ({"other_delta": 1e-6}, "other_delta must be below"),
        ({"other_epsilon": math.nextafter(2.0, 0.0)}, "nothing is left"),
        ({"epsilon": None, "mu": 1.0, "other_epsilon": 0.1}, "not of mu"),
    ],
)
def test_wrong_parameters_create_no_file(path, change, words):
    with pytest.raises(ParameterError, match=words):
        Ledger.create(path, **{**BUDGET, **change})
    assert os.listdir(path.parent) == []


def test_a_file_is_never_replaced(path):
    Ledger.create(path, **BUDGET).add("table", mu=0.1)
    with pytest.raises(LedgerError, match="exists already") as error:
        Ledger.create(path, **BUDGET)
    assert error.value.code is Code.EXISTS
    assert len(Ledger(path).history()) == 1


ROWS = Charge(what="fit", mu=0.25, protects_units=False)
UNITS = Charge(what="fit", mu=0.25, protects_units=True, max_rows=5)


@pytest.mark.parametrize(
    ("ledger", "charge", "mu"),
    [
        ({}, ROWS, 0.25),
        ({"unit": "person"}, ROWS, 0.25),
        ({"unit": "person", "rows_per_unit": 3}, ROWS, 0.75),
        ({"unit": "person", "rows_per_unit": 3}, UNITS, 0.25),
        ({"unit": "person", "rows_per_unit": None}, UNITS, 0.25),
        ({"unit": "person", "rows_per_unit": 3}, Charge(what="stated", mu=0.25), 0.25),
        (
            {"unit": "person", "neighbors": "replace"},
            dataclasses.replace(ROWS, neighbors="replace"),
            0.25,
        ),
    ],
)
def test_a_fit_that_protects_rows_is_charged_for_all_rows_of_a_unit(ledger, charge, mu):
    assert charged(whole(**ledger), [], charge).mu == mu


def test_the_factor_for_rows_is_rounded_up():
    found = charged(whole(unit="person", rows_per_unit=3), [], Charge(what="x", mu=0.1)).mu
    assert found == 0.1
    rows = Charge(what="x", mu=0.1, protects_units=False)
    found = charged(whole(unit="person", rows_per_unit=3), [], rows).mu
    assert Fraction(found) >= 3 * Fraction(0.1) > Fraction(math.nextafter(found, 0.0))


@pytest.mark.parametrize(
    ("ledger", "charge", "words"),
    [
        ({}, UNITS, "protects rows, and fit protects units"),
        ({"unit": "person", "rows_per_unit": None}, ROWS, "protects each person"),
        ({"neighbors": "replace"}, ROWS, "'replace', and fit has 'add_remove'"),
        (
            {"unit": "person", "rows_per_unit": 2, "neighbors": "replace"},
            dataclasses.replace(ROWS, neighbors="replace"),
            "with more or fewer rows, and fit protects rows",
        ),
        (
            {"unit": "person", "rows_per_unit": 2},
            Charge(what="fit", epsilon=1.0, delta=1e-9, protects_units=False),
            "with up to 2 rows",
        ),
    ],
)
def test_a_fit_that_protects_something_else_is_refused(ledger, charge, words):
    with pytest.raises(ParameterError, match=words) as error:
        charged(whole(**ledger), [], charge)
    assert error.value.subject == "ledger"


def test_all_named_units_must_have_the_same_name(path):
    ledger = Ledger.create(path, **BUDGET, unit="person")
    patients = Charge(what="fit", mu=0.01, protects_units=True, unit_name="patient", max_rows=2)
    unnamed = Charge(what="fit", mu=0.01, protects_units=True, max_rows=2)
    hospitals = Charge(what="fit", mu=0.01, protects_units=True, unit_name="hospital", max_rows=2)
    ledger.reserve(unnamed, patients, unnamed, patients)
    with pytest.raises(ParameterError, match="'patient', and fit protects those in 'hospital'"):
        ledger.reserve(hospitals)
    assert [entry.unit_name for entry in ledger.history()] == [None, "patient"] * 2


@pytest.mark.parametrize("order", [(ROWS, UNITS), (UNITS, ROWS)])
def test_fits_of_rows_and_of_units_together_are_suspicious(path, order):
    """If people have several rows, the fit of rows protects them less than the ledger says."""
    ledger = Ledger.create(path, **BUDGET, unit="person")
    ledger.reserve(Charge(what="stated", mu=0.01, kind="added"), *order[:1] * 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(LedgerWarning):
            ledger.reserve(order[1])
        assert len(ledger.history()) == 3
    with pytest.warns(LedgerWarning, match="as if each person had 1 row"):
        ledger.reserve(order[1])
    remarks = [entry.remark for entry in ledger.history()]
    assert remarks[:3] == [""] * 3
    assert "1 row of each person" in remarks[3]
    several = Ledger.create(
        path.with_name("b.dpl"), mu=5.0, dataset="x", unit="person", rows_per_unit=5
    )
    several.reserve(*order)
    assert [entry.remark for entry in several.history()] == ["", ""]


def test_the_history_says_when_who_what_and_how_much(path, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "ana\x1b[2J")
    monkeypatch.setattr("platform.node", lambda: "desk")
    ledger = Ledger.create(path, **BUDGET)
    entry = ledger.add("table 1", mu=0.125, times=2)
    assert ledger.history() == (entry,)
    assert (entry.number, entry.what, entry.mu, entry.times) == (1, "table 1", 0.125, 2)
    assert (entry.user, entry.host, entry.process) == (r"ana\x1b[2J", "desk", os.getpid())
    assert entry.time.endswith("Z")
    assert (entry.kind, entry.remark, entry.files) == ("added", "", ())


def test_a_user_without_a_name_has_a_number(path, monkeypatch):
    def unknown():
        raise KeyError("uid not found")

    monkeypatch.setattr("getpass.getuser", unknown)
    assert Ledger.create(path, **BUDGET).add("x", mu=0.1).user == f"uid {os.getuid()}"


def test_a_model_file_is_recorded_with_its_checksum(path, tmp_path):
    ledger = Ledger.create(path, **BUDGET)
    entry = ledger.add("model", mu=0.1)
    (tmp_path / "model.json").write_text("{}")
    for _ in range(2):
        ledger.add_model_file(entry.id, tmp_path / "model.json")
    (file,) = ledger.history()[0].files
    assert file.name == "model.json"
    # sha256sum model.json
    digest = "44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"
    assert file.checksum == f"sha256:{digest}"
    with pytest.raises(LedgerError, match="no entry 'other'"):
        ledger.add_model_file("other", tmp_path / "model.json")


@pytest.mark.parametrize("library", ["pandas", "polars"])
def test_the_history_as_a_frame(path, library, monkeypatch):
    pytest.importorskip(library)
    if library == "polars":
        monkeypatch.setitem(sys.modules, "pandas", None)
    ledger = Ledger.create(path, **BUDGET)
    assert len(ledger.to_frame()) == 0
    entry = ledger.add("table 1", mu=0.125)
    ledger.add_checksum(entry.id, "m.json", b"{}")
    frame = ledger.to_frame()
    assert type(frame).__module__.startswith(library)
    assert list(frame["mu"]) == [0.125]
    assert list(frame["what"]) == ["table 1"]
    assert list(frame["file_name"]) == ["m.json"]
    assert next(iter(frame["file_checksum"])).startswith("sha256:4413")


def test_without_a_library_of_frames_there_is_a_hint(path, monkeypatch):
    for library in ("pandas", "polars"):
        monkeypatch.setitem(sys.modules, library, None)
    with pytest.raises(ImportError, match="pip install pandas"):
        Ledger.create(path, **BUDGET).to_frame()


def test_copies_of_the_object_are_the_same_ledger(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    ledger = Ledger.create("study.dpl", **BUDGET)
    (tmp_path / "elsewhere").mkdir()
    copies = [pickle.dumps(ledger), copy.deepcopy(ledger), copy.copy(ledger)]
    monkeypatch.chdir(tmp_path / "elsewhere")
    copies[0] = pickle.loads(copies[0])
    for other in copies:
        other.add("x", mu=0.1)
        assert other == ledger
        assert hash(other) == hash(ledger)
    assert len(ledger.history()) == 3
    assert ledger.path == str(path)
    assert repr(ledger) == f"Ledger({str(path)!r})"
    assert ledger != Ledger.create("other.dpl", **BUDGET)
    assert ledger != "study.dpl"


@pytest.mark.parametrize("table", ["settings", "entries", "files"])
@pytest.mark.parametrize("statement", ["DELETE FROM {}", "UPDATE {} SET rowid = rowid"])
def test_entries_cannot_be_changed_by_accident(path, table, statement):
    ledger = Ledger.create(path, **BUDGET)
    ledger.add_checksum(ledger.add("x", mu=0.1).id, "m.json", b"")
    connection = sqlite3.connect(path)
    with pytest.raises(sqlite3.IntegrityError, match="never changed"):
        connection.execute(statement.format(table))
    connection.close()
