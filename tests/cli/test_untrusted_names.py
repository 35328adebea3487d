"""Names in a model may come from anyone: control characters do not reach the terminal."""

import json
import warnings

import pandas as pd
import pytest

from dpfit import InsecureSeedWarning, PrivateLinearRegression
from dpfit._printable import is_printable, printable

from . import tool

# Clears the screen; the same with a C1 character; changes the direction of what follows.
CONTROLS = ["\x1b[2J", "\x9b2J", "\u202e"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a model with control characters in names, a seeded one, and rows."""
    found = tmp_path_factory.mktemp("strange")
    names = [f"{control}a" for control in CONTROLS]
    rows = pd.DataFrame({name: [float(i % 7) for i in range(300)] for name in names})
    PrivateLinearRegression().fit(rows, range(300)).save(found / "strange.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        plain = rows.set_axis(list("abc"), axis=1)
        PrivateLinearRegression(random_state=0).fit(plain, range(300)).save(found / "seed.json")
    plain.to_csv(found / "new.csv", index=False)
    return found


@pytest.mark.parametrize(
    "line",
    [
        "show strange.json",
        "show strange.json --json",
        "show strange.json --sql t",
        "show strange.json --html -",
    ],
)
def test_output_has_no_control_characters(place, quick, line):
    done = tool.dpfit(place, line, program=quick)
    assert done.returncode == 0
    text = done.stdout.decode()
    assert not any(control in text for control in CONTROLS)
    if "json " in line and line.endswith("--json"):
        names = [part["name"] for part in json.loads(text)["coefficients"]]
        assert names == [f"{control}a" for control in CONTROLS]


def test_messages_have_no_control_characters(place, quick):
    text = tool.error_of(
        tool.dpfit(place, "predict strange.json new.csv -o p.csv", program=quick), 2
    )
    assert is_printable(text)


def test_predictions_of_a_seeded_model_are_not_private(place, quick):
    done = tool.dpfit(place, "predict seed.json new.csv -o p.csv", program=quick)
    assert done.returncode == 0
    assert done.stderr == b"NOT PRIVATE: the noise of seed.json came from a fixed seed.\n"


def test_what_is_printable_stays():
    for text in ("Größe (m²)", "年齢", "a\u00a0b", "", 'it\'s "a"'):
        assert printable(text) == text
    assert printable("a\nb\tc", keep="\n\t") == "a\nb\tc"
    assert printable("a\nb\x1b\u202e") == "a\\nb\\x1b\\u202e"
