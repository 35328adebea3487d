"""Whose row it is, in CSV files: every value is read by itself."""

import pytest

from dpfit import Numeric, ParameterError, SourceError, scan_csv
from dpfit.sources import Reading, named_source
from dpfit.sources.source import tell_nothing
from dpfit.statistics import RowCount


def rows_that_count(path, max_rows=3):
    """Return how many rows of a table of x, y and person count."""
    source = named_source(scan_csv(path, target="y"), unit="person")
    table = source.table([Numeric()], Reading("error", 1, max_rows, tell_nothing))
    return table.sum(RowCount()).rows


def write_persons(path, persons):
    path.write_text("x,y,person\n" + "".join(f"{i},{i},{who}\n" for i, who in enumerate(persons)))


@pytest.mark.parametrize("number", ["7.0", "7.", ".5", "1.5e3", "7e+0", "1E-5", "0x7", "-7.0"])
@pytest.mark.parametrize("others", ["7", "A7"])
def test_a_unit_with_a_fraction_is_refused_whatever_is_beside_it(tmp_path, number, others):
    write_persons(tmp_path / "a.csv", [others] * 50)
    write_persons(tmp_path / "b.csv", [others] * 20 + [number])
    for files in ("*.csv", "b.csv"):
        with pytest.raises(
            SourceError, match="'person' must contain only integers or only strings"
        ):
            rows_that_count(tmp_path / files)


@pytest.mark.parametrize("more", [[], ["A7"], ["A7"] * 50])
@pytest.mark.parametrize(
    "ways",
    [
        ["7", "007", " 7", "7 ", "+7", '"7"', "0000000000000000000000000000007"],
        ["-7", "-007", " -7"],
        ["0", "-0", "000", "+0"],
        ["B7", " B7", "B7 "],
        ["12345678901234567890123", "+12345678901234567890123"],
    ],
)
def test_a_unit_is_one_however_it_is_written_and_whoever_else_there_is(tmp_path, ways, more):
    """One unit called A7 once made text of the column, and several units of 7, 007 and ' 7'."""
    write_persons(tmp_path / "a.csv", ways * 5)
    write_persons(tmp_path / "b.csv", more + ways * 2)
    for files in ("a.csv", "b.csv", "*.csv"):
        expected = 3 if files == "a.csv" else 3 + min(len(more), 3)
        assert rows_that_count(tmp_path / files) == expected


def test_units_that_are_text_stay_apart(tmp_path):
    write_persons(
        tmp_path / "a.csv", ["1e5", "100000", "1-2", "12", "a", "A", "0x", "7.0.0", "1_2"]
    )
    assert rows_that_count(tmp_path / "a.csv", max_rows=1) == 9


@pytest.mark.parametrize("nobody", ["", "NA", " ", " NA ", "null"])
def test_a_unit_that_is_missing_is_refused(tmp_path, nobody):
    write_persons(tmp_path / "a.csv", ["7", "A7", nobody])
    with pytest.raises(ParameterError, match="no missing values"):
        rows_that_count(tmp_path / "a.csv")
