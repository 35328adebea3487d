"""``dpfit ledger``, and fits with ``--ledger``."""

import hashlib
import json
import shutil
import signal

import pandas as pd
import pytest

import dpfit
from dpfit import Ledger, PrivateLinearRegression
from dpfit.accounting import gdp_mu

from . import tool

FIT = "fit data.parquet -t price -e 0.5"


@pytest.fixture
def place(folder, tmp_path):
    """A folder with a table, a model that no ledger knows, and a ledger."""
    for name in ("data.parquet", "visits.csv", "model.json"):
        shutil.copy(folder / name, tmp_path)
    Ledger.create(tmp_path / "study.dpl", epsilon=2.0, dataset="Diamonds", unit="stone")
    return tmp_path


@pytest.fixture
def run(place, quick):
    def run(line, code=0):
        done = tool.dpfit(place, line, program=quick)
        if code:
            return tool.error_of(done, code)
        assert done.returncode == 0, done.stderr
        return done.stdout.decode()

    return run


def history(place):
    return Ledger(place / "study.dpl").history()


def test_a_ledger_is_created_as_asked(place, run):
    line = "ledger create new.dpl -e 1 --delta 1e-7 --dataset 'My data' --unit person"
    found = json.loads(run(f"{line} --rows-per-unit 3 --neighbors replace --json"))
    ledger = Ledger(place / "new.dpl")
    assert (ledger.epsilon, ledger.delta, ledger.dataset) == (1.0, 1e-7, "My data")
    assert (ledger.unit, ledger.rows_per_unit, ledger.neighbors) == ("person", 3, "replace")
    assert found["budget"] == {"epsilon": 1.0, "delta": 1e-7, "mu": gdp_mu(1.0, 1e-7)}
    assert found["left"] == found["budget"]
    run("ledger create only.dpl --mu 1 --dataset x --unit person --only-units")
    assert Ledger(place / "only.dpl").rows_per_unit is None


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("create new.dpl --dataset x", 2, "give --epsilon or --mu"),
        ("create new.dpl --dataset x -e 1 --mu 1", 2, "give --epsilon or --mu"),
        ("create new.dpl --dataset x -e 1 --only-units", 2, "need --unit"),
        ("create new.dpl --dataset x -e 1 --rows-per-unit 2", 2, "need --unit"),
        ("create new.dpl --dataset x -e 1 --unit a --rows-per-unit 2 --only-units", 2, "exclude"),
        ("create new.dpl --dataset ' ' -e 1", 2, "dataset must be"),
        ("create new.dpl --dataset x -e -1", 2, "epsilon must be"),
        ("create study.dpl --dataset x -e 1", 1, "exists already"),
        ("create none/new.dpl --dataset x -e 1", 1, "cannot be created"),
        ("show none.dpl", 1, "does not exist (hint: dpfit ledger create"),
        ("show data.parquet", 1, "not a dpfit ledger"),
        ("show model.json", 1, "dpfit ledger create writes ledgers"),
        ("add study.dpl", 2, "nothing to add"),
        ("add study.dpl --mu 0.1", 2, "need --what"),
        ("add study.dpl --mu nonsense --what x", 2, "must be MU"),
        ("add study.dpl --mu 9 --what x", 1, "x needs mu = 9"),
        ("add study.dpl none.json", 1, "none.json"),
        ("add study.dpl data.parquet", 1, "not a dpfit model file"),
    ],
)
def test_wrong_calls_are_one_line(place, run, line, code, words):
    before = tool.files_in(place)
    assert words in run(f"ledger {line}", code)
    assert tool.files_in(place) == before
    assert history(place) == ()


def test_a_fit_is_charged_and_its_file_recorded(place, run):
    found = json.loads(run(f"{FIT} --ledger study.dpl -o m.json --json"))
    (entry,) = history(place)
    assert entry.mu == gdp_mu(0.5, 1e-6)
    assert (found["dataset"], found["ledger_entry"]) == ("Diamonds", entry.id)
    assert found["fitted_at"] == entry.time
    (file,) = entry.files
    digest = hashlib.sha256((place / "m.json").read_bytes()).hexdigest()
    assert (file.name, file.checksum) == ("m.json", f"sha256:{digest}")
    assert dpfit.load(place / "m.json").provenance_.ledger_entry == entry.id
    shown = run("ledger show study.dpl")
    assert "PrivateLinearRegression" in shown
    assert "m.json (sha256:" in shown
    assert "7.7 %" in shown
    assert shown.count("#") == 3
    assert json.loads(run("show m.json --json"))["dataset"] == "Diamonds"


def test_a_model_file_is_compared_with_its_checksum(place, run, quick):
    run(f"{FIT} --ledger study.dpl -o m.json --quiet")
    text = (place / "m.json").read_text()
    (place / "same.json").write_text(text)
    (place / "changed.json").write_text(text + "\n")
    for name, words in (
        ("m.json", "The checksum of m.json is that of entry 1 of the ledger."),
        ("same.json", "The checksum of same.json is that of entry 1 of the ledger."),
        ("changed.json", "WARNING: changed.json is not the file that entry 1"),
    ):
        done = tool.dpfit(place, f"show {name} --html r.html --ledger study.dpl", program=quick)
        assert done.returncode == 0
        assert words in done.stderr.decode()
    unsaved = PrivateLinearRegression(epsilon=0.5, ledger=place / "study.dpl")
    unsaved.fit([[1.0]] * 9, [1.0] * 9).set_params(ledger=None).save(place / "u.json")
    done = tool.dpfit(place, "show u.json --html r.html --ledger study.dpl", program=quick)
    assert "no checksum of a model file for entry 2" in done.stderr.decode()


def test_fits_of_rows_and_of_people_in_one_ledger_are_noted(place, run, quick):
    fit = "fit visits.csv -t cost -e 0.1 --quiet --ledger study.dpl"
    run(f"{fit} --unit patient --max-rows 2 -o a.json")
    done = tool.dpfit(place, f"{fit} --without patient -o b.json", program=quick)
    assert done.returncode == 0
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("dpfit: warning: PrivateLinearRegression is charged as if each stone")
    first, second = run("ledger show study.dpl").splitlines()[-2:]
    assert "each patient (2 rows)" in first
    assert "each row" in second
    assert "charged for 1 row of each stone, unlike entry 1" in second


def test_standard_output_is_recorded_too(place, run):
    text = run(f"{FIT} --ledger study.dpl -o - --quiet")
    (file,) = history(place)[0].files
    assert file.name == "standard output"
    assert file.checksum == f"sha256:{hashlib.sha256(text.encode()).hexdigest()}"


@pytest.mark.parametrize(
    ("line", "code", "words"),
    [
        ("fit data.parquet -t price -e 3 --ledger study.dpl -o m.json", 1, "left"),
        (f"{FIT} --ledger none.dpl -o m.json", 1, "does not exist"),
        (f"{FIT} --ledger study.dpl -o study.dpl", 2, "is an input of this command"),
        (f"{FIT} --ledger study.dpl --neighbors replace -o m.json", 2, "neighbors"),
        (f"{FIT} --ledger study.dpl -o model.json", 2, "the record of its cost"),
        ("fit data.parquet -t none -e 0.5 --ledger study.dpl -o m.json", 2, "no column"),
    ],
)
def test_a_fit_that_is_refused_costs_and_writes_nothing(place, run, line, code, words):
    before = tool.files_in(place)
    assert words in run(line, code)
    assert history(place) == ()
    assert tool.files_in(place) == before


def test_a_fit_that_fails_after_the_charge_says_so(place, monkeypatch, capsys):
    """In this process, where the disk can be made to fail."""
    from dpfit.cli import main
    from dpfit.release import Releaser

    def fail(*_):
        raise OSError(5, "Input/output error", "data.parquet")

    monkeypatch.setattr(Releaser, "_record", fail)
    monkeypatch.chdir(place)
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    assert main([*FIT.split(), "--ledger", "study.dpl", "-o", "m.json"]) == 1
    assert {number: signal.getsignal(number) for number in handlers} == handlers
    text = capsys.readouterr().err
    assert "the fit failed after it was charged: entry 1 of the ledger" in text
    assert len(history(place)) == 1
    assert "m.json" not in tool.files_in(place)


def test_models_are_added_once(place, run):
    run("ledger add study.dpl model.json --mu 0.1,2 --other 0.2,1e-8 --what 'a table'")
    other, model, release = history(place)
    assert (model.what, model.mu, model.kind) == ("model.json", gdp_mu(1.0, 1e-6), "added")
    assert model.files[0].name == "model.json"
    assert (release.what, release.mu, release.times) == ("a table", 0.1, 2)
    assert (other.mu, other.epsilon, other.delta) == (None, 0.2, 1e-8)
    assert "charged already, as entry 2" in run("ledger add study.dpl model.json", 1)
    run(f"{FIT} --ledger study.dpl -o m.json -q")
    assert "charged already, as entry 4" in run("ledger add study.dpl m.json", 1)
    assert len(history(place)) == 4
    message = run("ledger add study.dpl --other 0.1 --what table", 1)
    assert "epsilon = 0, delta = 0 for releases that are not Gaussian left" in message


def test_a_part_is_set_aside_for_other_releases(place, run):
    create = "ledger create aside.dpl --epsilon 2 --dataset Diamonds"
    assert "EPSILON[,DELTA]" in run(f"{create} --other 0.5,1e-7,2", 2)
    assert "part of --epsilon" in run("ledger create a.dpl --mu 1 --dataset x --other 0.5", 2)
    text = run(f"{create} --other 0.5,1e-7")
    assert "Set aside epsilon 0.5, delta 1e-07, for releases that are not Gaussian\n" in text
    run("ledger add aside.dpl --mu 0.1 --what fit")
    run("ledger add aside.dpl --other 0.5,1e-7 --what table")
    found = json.loads(run("ledger show aside.dpl --json"))
    assert found["set_aside"] == {"epsilon": 0.5, "delta": 1e-7}
    assert "epsilon = 0, delta = 0 for" in run("ledger add aside.dpl --other 1e-6 --what x", 1)


def test_a_ledger_is_not_an_output(place, run):
    before = (place / "study.dpl").read_bytes()
    for line in (
        f"{FIT} --force -o study.dpl",
        "predict model.json visits.csv -o study.dpl",
        "schema infer visits.csv --force -o study.dpl",
        "show model.json --html study.dpl",
    ):
        assert "it is a ledger" in run(line, 1), line
    assert (place / "study.dpl").read_bytes() == before


def test_nothing_is_added_if_one_cost_is_too_high(place, run):
    assert "needs mu = 9" in run("ledger add study.dpl model.json --mu 9 --what x", 1)
    assert history(place) == ()


def test_models_that_are_not_private_or_protect_others_are_not_added(place, run):
    frame = pd.read_csv(place / "visits.csv")
    with pytest.warns(dpfit.InsecureSeedWarning):
        seeded = PrivateLinearRegression(epsilon=0.1, random_state=0).fit(frame, "cost")
    seeded.save(place / "seeded.json")
    assert "not private" in run("ledger add study.dpl seeded.json", 1)
    replaced = PrivateLinearRegression(epsilon=0.1, neighbors="replace").fit(frame, "cost")
    replaced.save(place / "replaced.json")
    assert "replaced.json has 'replace'" in run("ledger add study.dpl replaced.json", 2)
    assert history(place) == ()


def test_a_copy_is_shown_with_a_note_and_can_be_adopted(place, quick, run):
    shutil.copy(place / "study.dpl", place / "copy.dpl")
    done = tool.dpfit(place, "ledger show copy.dpl", program=quick)
    assert done.returncode == 0
    assert b"dpfit ledger adopt" in done.stderr
    hint = "dpfit ledger adopt LEDGER continues with this file"
    assert hint in run(f"{FIT} --ledger copy.dpl -o m.json", 1)
    assert "went on with a file" in run("ledger adopt copy.dpl")
    run(f"{FIT} --ledger copy.dpl -o m.json -q")


def test_budgets_of_different_data_sets_are_noted(place, quick, run):
    Ledger.create(place / "other.dpl", epsilon=2.0, dataset="Rubies")
    run(f"{FIT} --ledger study.dpl -o a.json -q")
    run(f"{FIT} --ledger other.dpl -o b.json -q")
    run(f"{FIT} --ledger study.dpl -o c.json -q")
    done = tool.dpfit(place, "budget add a.json b.json c.json", program=quick)
    assert done.returncode == 0
    assert done.stderr.decode() == (
        "The models are of different data sets: a.json of 'Diamonds' and b.json of 'Rubies'. "
        "The total is for people who are in all of them.\n"
    )
    assert tool.dpfit(place, "budget add a.json c.json model.json", program=quick).stderr == b""
