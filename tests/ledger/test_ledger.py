"""A ledger by itself: what fits into its budget, what it remembers, and how it is passed on."""

import copy
import math
import os
import pickle
import sqlite3
import sys
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpfit
from dpfit import BudgetExceeded, Ledger, LedgerError, ParameterError
from dpfit.accounting import Charge, GDPAccountant, gdp_mu
from dpfit.accounting._ledger_budget import charged, fits, remaining
from dpfit.accounting._ledger_entries import Settings
from dpfit.exceptions import Code

BUDGET = {"epsilon": 2.0, "delta": 1e-6, "dataset": "NHANES 2017"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "study.dpl"


def whole(mu=1.0, **others):
    """Return the settings of a ledger."""
    values = {"ledger": "a", "dataset": "x", "unit": None, "rows_per_unit": 1, "created": ""}
    values |= {"neighbors": "add_remove", "epsilon": None, "delta": 1e-6, "mu": mu}
    return Settings(**values | others)


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


def test_the_budget_is_used_to_the_last_bit(path):
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    for _ in range(4):
        ledger.add("a quarter", mu=0.5)
    assert ledger.remaining().mu == 0.0
    assert ledger.remaining().epsilon == 0.0
    with pytest.raises(BudgetExceeded):
        ledger.add("a little", mu=1e-150)
    assert len(ledger.history()) == 4


def test_costs_that_doubles_would_lose_are_counted(path):
    """In doubles, 1 + 1e-20 is 1."""
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    ledger.add("a little", mu=1e-10)
    with pytest.raises(BudgetExceeded):
        ledger.add("all", mu=1.0)
    ledger.add("almost all", mu=math.nextafter(1.0, 0.0))


@settings(deadline=None, max_examples=200)
@given(
    st.floats(1e-6, 100.0),
    st.lists(st.tuples(st.floats(1e-9, 1.0), st.integers(1, 1000)), max_size=10),
)
def test_what_remains_can_be_spent_and_nothing_more(mu, costs):
    entries = []
    for cost, times in costs:
        charge = Charge(what="x", mu=cost * mu, times=times)
        within = sum(Fraction(c.mu) ** 2 * c.times for c in [*entries, charge]) <= Fraction(mu) ** 2
        assert fits(whole(mu), [*entries, charge]) == within
        if within:
            entries.append(charge)
    left = remaining(whole(mu), entries)
    if left.mu > 0.0:
        assert fits(whole(mu), [*entries, Charge(what="x", mu=left.mu)])
    above = math.nextafter(left.mu, math.inf)
    assert not fits(whole(mu), [*entries, Charge(what="x", mu=above)])
    if left.epsilon:
        asked = gdp_mu(left.epsilon, left.delta)
        assert fits(whole(mu), [*entries, Charge(what="x", mu=asked)])
        # And hardly more: epsilon is not rounded down by more than it has to be.
        more = min(left.epsilon * (1 + 1e-9), 1000.0)
        assert more == 1000.0 or gdp_mu(more, left.delta) > left.mu


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(st.floats(1e-3, 0.5), st.floats(1e-9, 4e-7)), min_size=1, max_size=5),
    st.lists(st.floats(0.01, 0.3), max_size=5),
)
def test_other_mechanisms_are_added_as_the_accountant_adds_them(others, mus):
    settings = whole(gdp_mu(3.0, 1e-6), epsilon=3.0)
    accountant = GDPAccountant()
    costs = [Charge(what="x", epsilon=epsilon, delta=delta) for epsilon, delta in others]
    costs += [Charge(what="x", mu=mu) for mu in mus]
    from dpfit.accounting import ApproximateRelease, Release

    for epsilon, delta in others:
        accountant.add(
            ApproximateRelease(
                mechanism="m",
                statistic="s",
                epsilon=epsilon,
                delta=delta,
                neighbors="add_remove",
            )
        )
    for mu in mus:
        accountant.add(Release(statistic="s", sensitivity=1.0, mu=mu, neighbors="add_remove"))
    try:
        within = accountant.epsilon(1e-6) <= 3.0
    except ParameterError:
        within = False
    assert fits(settings, costs) == within


def test_a_budget_in_mu_pays_for_gaussian_releases_only(path):
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    with pytest.raises(BudgetExceeded, match="not Gaussian"):
        ledger.add("table", epsilon=0.01)
    assert ledger.epsilon is None


def test_other_releases_may_use_up_epsilon_and_delta(path):
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6, dataset="x")
    ledger.add("first", epsilon=0.5, delta=1e-6)
    with pytest.raises(BudgetExceeded, match="delta is taken from the ledger's 1e-06"):
        ledger.add("second", epsilon=0.1, delta=1e-9)
    ledger.add("third", epsilon=0.5)
    assert ledger.remaining().mu == 0.0


@pytest.mark.parametrize(
    "cost",
    [
        {},
        {"mu": 1.0, "epsilon": 1.0},
        {"mu": 1.0, "delta": 1e-6},
        {"mu": math.inf},
        {"mu": 0.0},
        {"epsilon": 0.0},
        {"epsilon": 1.0, "delta": -1.0},
        {"mu": 0.1, "times": 0},
    ],
)
def test_wrong_costs_are_refused(path, cost):
    ledger = Ledger.create(path, **BUDGET)
    with pytest.raises(ParameterError):
        ledger.add("table", **cost)
    with pytest.raises(ParameterError):
        ledger.add("", mu=0.1)
    assert ledger.history() == ()


def test_several_charges_are_all_written_or_none(path):
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    with pytest.raises(BudgetExceeded):
        ledger.reserve(Charge(what="a", mu=0.5), Charge(what="b", mu=0.9))
    assert ledger.history() == ()
    first, second = ledger.reserve(Charge(what="a", mu=0.5), Charge(what="b", mu=0.5, times=3))
    assert ledger.history() == (first, second)
    assert (first.number, second.number) == (1, 2)


@pytest.mark.parametrize(
    "cost",
    [
        {"mu": 0.5, "times": -4},
        {"mu": 0.5, "times": 0},
        {"mu": -0.5},
        {"mu": math.nan},
        {"mu": math.inf},
        {"epsilon": -1.0},
        {"epsilon": 0.1, "delta": -1e-7},
        {},
    ],
)
def test_no_charge_gives_back_budget(path, cost):
    ledger = Ledger.create(path, epsilon=1.0, delta=1e-6, dataset="x")
    ledger.reserve(Charge(what="all", mu=ledger.mu))
    with pytest.raises(ParameterError):
        ledger.reserve(Charge(what="less than nothing", **cost))
    assert ledger.remaining().mu == 0.0
    assert len(ledger.history()) == 1


def test_to_check_is_not_to_spend(path):
    ledger = Ledger.create(path, mu=1.0, dataset="x")
    ledger.check(Charge(what="a", mu=1.0))
    with pytest.raises(BudgetExceeded):
        ledger.check(Charge(what="a", mu=1.1))
    assert ledger.history() == ()


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
