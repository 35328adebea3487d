"""Models that somebody else has made: their texts are shown, and no terminal obeys them."""

import json
import warnings

import pandas as pd
import pytest

from dpfit import InsecureSeedWarning, PrivateLinearRegression
from dpfit._printable import is_printable, printable

from . import tool

# Clears the screen; the same in one byte of C1; turns the direction of what follows.
SIGNALS = ["\x1b[2J", "\x9b2J", "\u202e"]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a model of loud names, one with a seed, and rows to predict for."""
    found = tmp_path_factory.mktemp("loud")
    names = [f"{signal}a" for signal in SIGNALS]
    rows = pd.DataFrame({name: [float(i % 7) for i in range(300)] for name in names})
    PrivateLinearRegression().fit(rows, range(300)).save(found / "loud.json")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", InsecureSeedWarning)
        plain = rows.set_axis(list("abc"), axis=1)
        PrivateLinearRegression(random_state=0).fit(plain, range(300)).save(found / "seed.json")
    plain.to_csv(found / "new.csv", index=False)
    return found


@pytest.mark.parametrize(
    "line", ["show loud.json", "show loud.json --json", "show loud.json --sql t"]
)
def test_a_terminal_has_nothing_to_obey(place, quick, line):
    done = tool.dpfit(place, line, program=quick)
    assert done.returncode == 0
    text = done.stdout.decode()
    assert not any(signal in text for signal in SIGNALS)
    if "json " in line and line.endswith("--json"):
        names = [part["name"] for part in json.loads(text)["coefficients"]]
        assert names == [f"{signal}a" for signal in SIGNALS]


def test_a_message_has_nothing_to_obey(place, quick):
    text = tool.error_of(tool.dpfit(place, "predict loud.json new.csv -o p.csv", program=quick), 2)
    assert is_printable(text)


def test_predictions_of_a_model_with_a_seed_say_so(place, quick):
    done = tool.dpfit(place, "predict seed.json new.csv -o p.csv", program=quick)
    assert done.returncode == 0
    assert done.stderr == b"NOT PRIVATE: the noise of seed.json came from a fixed seed.\n"


def test_what_is_printable_stays():
    for text in ("Größe (m²)", "年齢", "a\u00a0b", "", 'it\'s "a"'):
        assert printable(text) == text
    assert printable("a\nb\tc", keep="\n\t") == "a\nb\tc"
    assert printable("a\nb\x1b\u202e") == "a\\nb\\x1b\\u202e"
