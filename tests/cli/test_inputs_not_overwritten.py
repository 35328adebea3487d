"""No command overwrites its inputs, however they are named."""

import shutil

import pytest

from .tool import dpfit, error_of

FIT = "-t price -e 1 --without cut"
# Commands that would overwrite an input.
CASES = [
    "predict model.json fold -o fold/a.csv",
    "predict model.json 'fold/*.csv' -o fold/a.csv",
    "predict model.json '**/a.csv' -o fold/a.csv",
    "predict model.json fold -o link.csv",
    f"fit fold {FIT} -o fold/a.csv",
    f"fit 'fold/*.csv' {FIT} -o fold/b.csv",
    "schema infer fold -o fold/a.csv --force",
    "schema infer 'fold/?.csv' -o fold/a.csv --force",
    "show m.png --plot m.png",
    "show m.png --html m.png",
]


@pytest.fixture
def place(folder, tmp_path):
    (tmp_path / "fold").mkdir()
    for name in ("a.csv", "b.csv"):
        shutil.copy(folder / "data.csv", tmp_path / "fold" / name)
    (tmp_path / "link.csv").symlink_to("fold/a.csv")
    for name in ("model.json", "m.png"):
        shutil.copy(folder / "model.json", tmp_path / name)
    return tmp_path


def contents(place):
    return {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}


@pytest.mark.parametrize("line", CASES)
def test_an_input_is_not_overwritten(place, quick, line):
    before = contents(place)
    done = dpfit(place, line, program=quick)
    assert "is an input of this command" in error_of(done, 2)
    assert contents(place) == before


def test_standard_input_is_not_overwritten(place, quick):
    with open(place / "fold/a.csv", "rb") as rows:
        done = dpfit(place, f"fit - {FIT} -o fold/a.csv", stdin=rows, program=quick)
    assert "is an input of this command" in error_of(done, 2)


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("predict model.json fold -o fold/c.csv", "fold/c.csv"),
        # Beside the inputs, but not one of them.
        ("schema infer fold -o fold/s.json --force", "fold/s.json"),
        ("predict model.json 'fold/a*.csv' -o fold/b.csv", "fold/b.csv"),
    ],
)
def test_other_files_beside_the_inputs_are_written(place, quick, line, name):
    before = contents(place)
    done = dpfit(place, line, program=quick)
    assert done.returncode == 0, done.stderr
    after = contents(place)
    assert after.pop(place / name) != before.pop(place / name, None)
    assert after == before
