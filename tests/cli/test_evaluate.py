"""`dpfit evaluate`: what it prints, and what it refuses before anything is spent."""

import json

import pytest

from . import tool

EVALUATE = "evaluate model.json data.csv -t price -e 1"


def test_numbers_and_statement(folder, quick):
    done = tool.dpfit(folder, EVALUATE, program=quick)
    text = done.stdout.decode()
    assert done.returncode == 0, done.stderr
    for word in ("Evaluation of PrivateLinearRegression", "R²", "RMSE", "target at"):
        assert word in text
    assert "This evaluation protects each row" in " ".join(text.split())


def test_json(folder, quick):
    found = json.loads(tool.dpfit(folder, f"{EVALUATE} --json", program=quick).stdout)
    assert found["privacy"]["epsilon"] == 1.0
    assert {"value", "noise", "sampling"} == set(found["r2"])
    assert "evaluation" in found["statement"]


def test_units(folder, quick, tmp_path):
    model = tmp_path / "m.json"
    fit = f"fit visits.csv -t cost -e 5 --unit patient --max-rows 2 -o {model}"
    assert tool.dpfit(folder, fit, program=quick).returncode == 0
    line = f"evaluate {model} visits.csv -t cost -e 5 --unit patient --max-rows 2"
    done = tool.dpfit(folder, line, program=quick)
    assert done.returncode == 0, done.stderr
    assert "each patient" in done.stdout.decode()
    assert done.stderr == b""
    rows = tool.dpfit(folder, f"evaluate {model} visits.csv -t cost -e 5", program=quick)
    assert b"The model protects each patient, and this evaluation each row." in rows.stderr


def test_weights(folder, quick, tmp_path):
    """Only rows of weight one are of the line that the model then has."""
    lines = ["x,w,y"] + [f"{i % 50},{i % 2},{(i % 50) * (3 if i % 2 else -3)}" for i in range(4000)]
    (tmp_path / "rows.csv").write_text("\n".join(lines) + "\n")
    model, weights = tmp_path / "m.json", "--weight w --max-weight 1"
    fit = f"fit {tmp_path}/rows.csv -t y -e 20 {weights} -o {model}"
    assert tool.dpfit(folder, fit, program=quick).returncode == 0
    found = json.loads(model.read_text())
    assert found["parameters"]["max_weight"] == 1.0
    assert found["model"]["names"] == ["x"]
    line = f"evaluate {model} {tmp_path}/rows.csv -t y -e 20 --json"
    weighted = json.loads(tool.dpfit(folder, f"{line} {weights}", program=quick).stdout)
    plain = json.loads(tool.dpfit(folder, line, program=quick).stdout)
    assert weighted["r2"]["value"] > 0.9
    assert plain["r2"]["value"] < 0.5
    assert weighted["max_weight"] == 1.0
    text = tool.dpfit(folder, f"{line.removesuffix(' --json')} {weights}", program=quick).stdout
    assert "at most 1" in " ".join(text.decode().split())


WRONG = [
    ("evaluate model.json data.csv -t price -e 1 --weight carat", "--max-weight"),
    ("evaluate model.json data.csv -t price -e 1 --weight w --max-weight 1", "'w'"),
    ("evaluate model.json data.csv -t price -e 1 --weight cut --max-weight 1", "strings"),
    ("fit data.csv -t price -e 1 --max-weight 1 -o m.json", "--weight"),
    ("fit data.csv -t price -e 1 --weight cut --max-weight 1 -o m.json", "weights must be numeric"),
    ("fit data.csv -t price -e 1 --without cut --weight carat --max-weight 0 -o m.json", "weight"),
    ("evaluate model.json data.csv -t price", "budget"),
    ("evaluate model.json data.csv -t price -e 0", "epsilon"),
    ("evaluate model.json data.csv -t cost -e 1", "'cost'"),
    ("evaluate model.json data.csv -t cut -e 1", "strings"),
    ("evaluate model.json data.csv -t carat -e 1", "feature"),
    ("evaluate model.json visits.csv -t cost -e 1", "needed by the model"),
    ("evaluate model.json data.csv -t price -e 1 --unit carat", "--max-rows"),
    ("evaluate data.csv model.json -t price -e 1", "MODEL comes before DATA"),
    ("evaluate - - -t price -e 1", "standard input"),
    ("score model.json data.csv", "dpfit evaluate"),
]


@pytest.mark.parametrize(("line", "word"), WRONG)
def test_wrong_usage(folder, quick, line, word):
    assert word in tool.error_of(tool.dpfit(folder, line, program=quick), 2)


def test_files_that_cannot_be_read(folder, quick):
    for line in (
        "evaluate nothing.json data.csv -t price -e 1",
        "evaluate model.json nothing.csv -t price -e 1",
        "evaluate s.json data.csv -t price -e 1",
    ):
        assert tool.error_of(tool.dpfit(folder, line, program=quick), 1)
