"""``dpfit budget add``: what adds up, what does not, and in whose words."""

import json
import shutil

import numpy as np
import pandas as pd
import pytest

from dpfit import PrivateLinearRegression

from . import tool


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """A folder with models that protect rows, patients, hospitals, and units without a name."""
    place = tmp_path_factory.mktemp("models")
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"age": rng.uniform(0, 100, 900), "cost": rng.normal(size=900)})
    owned = rows.assign(patient=np.arange(900) // 3)
    at = rows.assign(hospital=np.arange(900) // 300)

    def fit(name, table, unit=None, **options):
        model = PrivateLinearRegression(epsilon=1.0, **options)
        model.fit(table, "cost", unit=unit).save(place / name)

    fit("row.json", rows)
    fit("replaced.json", rows, neighbors="replace")
    fit("patient.json", owned, "patient", max_rows=2)
    fit("patient3.json", owned, "patient", max_rows=3)
    fit("patient_replaced.json", owned, "patient", max_rows=2, neighbors="replace")
    fit("hospital.json", at, "hospital", max_rows=2)
    fit("unnamed.json", rows, np.arange(900) // 3, max_rows=2)
    shutil.copy(place / "patient.json", place / "copy.json")
    return place


def run(models, quick, line):
    return tool.dpfit(models, f"budget add {line}", program=quick)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("patient.json hospital.json", ["patient.json", "one patient and one hospital"]),
        ("unnamed.json patient.json hospital.json", ["one patient and one hospital"]),
        ("row.json patient.json", ["one row and one patient"]),
        ("row.json unnamed.json", ["one row and one unit"]),
        ("patient.json patient_replaced.json", ["add_remove and replace"]),
    ],
)
def test_promises_to_others_do_not_add_up(models, quick, line, words):
    text = tool.error_of(run(models, quick, line), 2)
    assert all(word in text for word in [*words, "do not add up"])


def test_how_many_rows_are_used_is_no_other_promise(models, quick):
    done = run(models, quick, "patient.json patient3.json --json")
    assert done.returncode == 0
    assert done.stderr == b""
    found = json.loads(done.stdout)
    assert (found["neighbors"], found["protected"]) == ("add_remove", "one patient")
    units = [(part["unit"], part["unit_column"]) for part in found["releases"]]
    assert units == [
        ("one unit, at most 2 rows", "patient"),
        ("one unit, at most 3 rows", "patient"),
    ]
    assert {part["neighbors"] for part in found["releases"]} == {"add_remove"}


@pytest.mark.parametrize(
    ("line", "change", "seen"),
    [
        ("row.json", "One row more or less changes", "it is there"),
        ("replaced.json", "One row replaced by any other changes", "it was replaced"),
        ("patient.json", "One patient with all its rows more or less changes", "it is there"),
        (
            "patient_replaced.json",
            "One patient with all its rows replaced by any other changes",
            "it was replaced",
        ),
    ],
)
def test_the_words_are_of_what_is_protected(models, quick, line, change, seen):
    text = " ".join(run(models, quick, line).stdout.decode().split())
    assert change in text
    assert seen in text
    if "patient" in line:
        assert "ne row" not in text


def test_what_is_assumed_and_what_is_counted_twice_is_told(models, quick):
    assert run(models, quick, "unnamed.json").stderr == b""
    done = run(models, quick, "unnamed.json patient.json")
    assert done.returncode == 0
    assert b"has no name in unnamed.json" in done.stderr
    assert b"one patient with all its rows" in done.stdout.lower()
    done = run(models, quick, "patient.json patient.json")
    assert done.stderr == b"patient.json is counted twice.\n"
    done = run(models, quick, "patient.json patient3.json copy.json")
    assert b"patient.json and copy.json are the same model" in done.stderr


def test_a_budget_beyond_every_epsilon_adds_up(models, quick):
    """Such fits can be made with --mu, and what they have spent must not be hidden."""
    frame = pd.DataFrame({"x": np.arange(500.0), "y": np.arange(500.0)})
    PrivateLinearRegression(mu=100.0).fit(frame, "y").save(models / "large.json")
    done = run(models, quick, "large.json")
    assert done.returncode == 0
    assert b"together    mu 100\n" in done.stdout
    assert b"hardly a promise" in done.stdout
    found = json.loads(run(models, quick, "large.json --json").stdout)
    assert (found["epsilon"], found["delta"], found["mu"]) == (None, None, 100.0)
