"""``dpfit audit``."""

import json

import pytest

from .tool import dpfit as run
from .tool import error_of

QUICK = "audit AdaSSP --mu 2 --tables whole --fits 16"


def test_text_and_json(folder, quick):
    done = run(folder, QUICK, program=quick)
    assert done.returncode == 0, done.stderr
    assert "Privacy audit of AdaSSP" in done.stdout.decode()
    done = run(folder, f"{QUICK} --json --method black_box --confidence 0.9", program=quick)
    found = json.loads(done.stdout)
    assert (found["method"], found["confidence"], found["n_fits"]) == ("black_box", 0.9, 16)
    assert found["claimed_mu"] == 2.0
    assert done.stderr == b""


def test_the_options_arrive(folder, quick):
    line = "audit adassp -e 2 --delta 1e-5 --neighbors replace --tables gram --tables whole"
    done = run(folder, f"{line} --fits 20 --json", program=quick)
    found = json.loads(done.stdout)
    assert (found["claimed_epsilon"], found["delta"]) == (2.0, 1e-5)
    assert [pair["name"] for pair in found["pairs"]] == ["gram", "whole"]
    assert found["estimator"] == "AdaSSP"


@pytest.mark.parametrize(
    "name",
    [
        "PrivateLinearRegression",
        "PrivateAdditiveRegression",
        "BoostedAdaSSP",
        "AdaSSP",
        "DPGradientDescent",
        "TukeyEM",
        "BoostedMean",
    ],
)
def test_every_estimator(folder, quick, name):
    done = run(folder, f"audit {name} -e 4 --tables whole --fits 16 --json", program=quick)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["estimator"] == name


def test_tukey_em_is_a_black_box(folder, quick):
    line = "audit TukeyEM --tables whole --fits 16"
    assert json.loads(run(folder, f"{line} --json", program=quick).stdout)["method"] == "black_box"
    done = run(folder, f"{line} --method transcript", program=quick)
    assert "not Gaussian" in error_of(done, 2)
    assert "cannot be given as mu" in error_of(run(folder, f"{line} --mu 1", program=quick), 2)


def test_a_plot(folder, quick, tmp_path):
    done = run(folder, f"{QUICK} --plot {tmp_path}/a.png", program=quick)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "a.png").read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("line", "parts"),
    [
        ("audit Lasso", ["'Lasso' is not an estimator"]),
        ("audit AdaSSP --tables nothing", ["'whole'"]),
        ("audit AdaSSP --epsilon 0 --fits 16", ["epsilon"]),
        (f"{QUICK} --confidence 1", ["confidence"]),
        (f"{QUICK} --plot a.txt", [".png"]),
        (f"{QUICK} --plot -", ["--plot FILE.png"]),
        (f"{QUICK} --epsilon 1", ["must not both"]),
    ],
)
def test_errors(folder, quick, line, parts):
    text = error_of(run(folder, line, program=quick), 2)
    assert all(part in text for part in parts), text
