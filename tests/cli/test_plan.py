"""`dpfit plan`: what it prints, and what it refuses."""

import json

import pytest

from dpfit import plan

from . import tool

PLAN = "plan --rows 3000 --columns 2 --levels 2,0.5/0.3/0.2 --epsilon 1,5"


def test_the_table_is_that_of_the_function(folder, quick):
    done = tool.dpfit(folder, PLAN, program=quick)
    assert done.returncode == 0, done.stderr
    expected = plan(3000, 2, [2, (0.5, 0.3, 0.2)], epsilon=[1.0, 5.0])
    assert done.stdout.decode().split() == str(expected).split()


def test_json(folder, quick):
    found = json.loads(tool.dpfit(folder, f"{PLAN} --width 2 --json", program=quick).stdout)
    assert found["rows"] == 3000
    assert len(found["widths"]) == 8
    assert {part["kind"] for part in found["widths"]} == {
        "number",
        "level, 50 % of rows",
        "level, 30 % of rows",
        "level, 20 % of rows",
    }
    assert 0.01 < found["smallest_epsilon"] < 100.0


def test_bounds_and_units(folder, quick):
    line = "plan --rows 5000 --columns 1 -e 5 --bounds --max-rows 2 --delta 1e-8 --r-squared 0.2"
    done = tool.dpfit(folder, line, program=quick)
    assert done.returncode == 0, done.stderr
    assert "1e-08" in done.stdout.decode()


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("plan --columns 3", "--rows"),
        ("plan --rows 100", "columns"),
        ("plan --rows 100 --columns 1 --epsilon one", "--epsilon"),
        ("plan --rows 100 --columns 1 --epsilon 0", "epsilon"),
        ("plan --rows 100 --levels 2.5", "--levels"),
        ("plan --rows 100 --levels 0.5/0.1", "levels"),
        ("plan --rows 100 --columns 1 --width 0.1", "width"),
    ],
)
def test_wrong_use(folder, quick, line, word):
    done = tool.dpfit(folder, line, program=quick)
    assert done.returncode in (1, 2)
    assert word in done.stderr.decode()
    assert "Traceback" not in done.stderr.decode()
