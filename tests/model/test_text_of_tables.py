"""Numbers and names in tables of text: few digits, no name too wide, and no two alike."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dpfit.models.names import distinct, shortened
from dpfit.models.numbers import date_pair, number_text, pair_text
from dpfit.models.tables import Summary

from .test_summary import LONG, tables


def test_wide_letters_take_two_columns():
    names = ["年収と年齢", "cafe\u0301", "x"]
    rows = tuple((name, "1.000") for name in names)
    summary = Summary("Model", "", (("Budget", "mu 1"),), ("", "coef"), rows, ())
    lines = [line for line in str(summary).split("\n") if line.endswith("1.000")]
    assert [len(line) for line in lines] == [12, 18, 17]


@given(st.text(max_size=60), st.integers(min_value=8, max_value=30))
def test_any_name_can_be_shown(name, longest):
    short = shortened(name, longest)
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in short)
    zero = sum(unicodedata.combining(c) > 0 for c in short)
    assert len(short) + wide - zero <= longest
    assert short.isprintable()
    rows = ((name, "1"),)
    summary = Summary("Model", "", (("Budget", name),), ("", "coef"), rows, (name,))
    tables(summary)
    assert str(summary)


def test_the_ends_of_a_long_name_are_kept():
    assert shortened("a" * 30 + "_1", 12) == "aaaaa...aa_1"


def test_long_names_stay_different():
    names = [LONG, LONG.replace("far", "not"), LONG + "3", "tab\there", "tab here", "x", "x (1)"]
    shown = distinct(names)
    assert len(set(shown)) == len(names)
    assert shown[2] == shortened(LONG + "3")
    assert shown[3:] == ["tab here (1)", "tab here (2)", "x", "x (1)"]
    # As long as needed, and no longer.
    assert all("..." in name for name in shown[:3])
    assert distinct([]) == []


@given(st.lists(st.text(max_size=40), max_size=12))
def test_any_names_stay_different(names):
    shown = distinct(names, 8)
    assert len(set(shown)) == len(shown) == len(names)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0"),
        (-0.00012345, "-0.0001234"),
        (0.000099999, "0.0001000"),
        (3.47323e-05, "3.473e-05"),
        (1.5, "1.500"),
        (9.99996, "10.00"),
        (1234.5678, "1235"),
        (-20664.4, "-20664"),
        (99999.7, "1.000e+05"),
        (1e90, "1.000e+90"),
    ],
)
def test_numbers_have_four_or_five_digits(value, shown):
    assert number_text(value) == shown


def test_pairs_of_numbers_as_text():
    assert pair_text(0.0, 1.0) == ("0", "1")
    assert pair_text(0.0, 2.0) == ("0", "2.000")
    assert pair_text(10000.1, 10000.2) == ("10000.1", "10000.2")


def test_dates_are_told_apart():
    assert date_pair(0.0, 365.7) == ("1970-01-01", "1971-01-01")
    assert date_pair(0.25, 0.75) == ("1970-01-01 06:00", "1970-01-01 18:00")
    assert date_pair(0.0, 1e-6) == ("1970-01-01 00:00:00.000000", "1970-01-01 00:00:00.086400")
    # There is no such year: days as a number.
    assert date_pair(-1e9, 1e12) == ("-1e+09", "1e+12")
