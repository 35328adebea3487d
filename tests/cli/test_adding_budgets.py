"""``dpfit budget add``: which costs add up, and how the total is described."""

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
        ("patient.json hospital.json", ["patient.json", "each patient and each hospital"]),
        ("unnamed.json patient.json hospital.json", ["each patient and each hospital"]),
        ("row.json patient.json", ["each row and each patient"]),
        ("row.json unnamed.json", ["each row and each unit"]),
        ("patient.json patient_replaced.json", ["add_remove and replace"]),
    ],
)
def test_models_that_protect_different_things_do_not_add_up(models, quick, line, words):
    text = tool.error_of(run(models, quick, line), 2)
    assert all(word in text for word in [*words, "do not add up"])


def test_the_number_of_rows_used_does_not_change_what_is_protected(models, quick):
    done = run(models, quick, "patient.json patient3.json --json")
    assert done.returncode == 0
    assert done.stderr == b""
    found = json.loads(done.stdout)
    assert (found["neighbors"], found["protected"]) == ("add_remove", "one patient")
    units = [(part["max_rows"], part["unit_name"]) for part in found["releases"]]
    assert units == [(2, "patient"), (3, "patient")]
    assert {part["neighbors"] for part in found["releases"]} == {"add_remove"}


@pytest.mark.parametrize(
    ("line", "change", "detected"),
    [
        ("row.json", "Adding or removing any one row changes", "an included row"),
        (
            "replaced.json",
            "Replacing any one row with any other row changes",
            "a replaced row",
        ),
        (
            "patient.json",
            "Adding or removing all rows of any one patient changes",
            "an included patient",
        ),
        (
            "patient_replaced.json",
            "Replacing all rows of any one patient with any other rows changes",
            "a replaced patient",
        ),
    ],
)
def test_the_guarantee_names_what_is_protected(models, quick, line, change, detected):
    text = " ".join(run(models, quick, line).stdout.decode().split())
    assert change in text
    assert detected in text
    if "patient" in line:
        assert "one row" not in text


def test_assumptions_and_copies_get_a_note(models, quick):
    assert run(models, quick, "unnamed.json").stderr == b""
    done = run(models, quick, "unnamed.json patient.json")
    assert done.returncode == 0
    assert b"have no name in unnamed.json" in done.stderr
    assert b"any one patient" in done.stdout
    done = run(models, quick, "patient.json patient.json")
    assert done.stderr == b"patient.json is counted twice.\n"
    done = run(models, quick, "patient.json patient3.json copy.json")
    assert b"patient.json and copy.json are the same model" in done.stderr


def test_a_budget_beyond_every_epsilon_adds_up(models, quick):
    """Such fits are possible with --mu, and their cost must not be hidden."""
    frame = pd.DataFrame({"x": np.arange(500.0), "y": np.arange(500.0)})
    PrivateLinearRegression(mu=100.0).fit(frame, "y").save(models / "large.json")
    done = run(models, quick, "large.json")
    assert done.returncode == 0
    assert b"total       mu 100\n" in done.stdout
    assert b"hardly any protection" in done.stdout
    found = json.loads(run(models, quick, "large.json --json").stdout)
    assert (found["epsilon"], found["delta"], found["mu"]) == (None, None, 100.0)
