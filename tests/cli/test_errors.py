"""Errors become one line with a hint for the command line, by their code."""

import errno
import os

import pytest

from dpfit.cli.errors import explain, failure, wrong_use
from dpfit.exceptions import Code, NotFiniteError, ParameterError, SourceError

PYTHON = "schema=Schema({'city': Categorical([...])})"


@pytest.mark.parametrize("code", Code)
@pytest.mark.parametrize("command", ["fit", "predict"])
def test_hints_for_python_are_not_shown(code, command):
    line, exit_code = explain(ParameterError("wrong", code=code, hint=PYTHON), command)
    assert exit_code == 2
    # These hints are about files, and the same everywhere.
    assert (PYTHON in line) == (code in (Code.SCHEMA, Code.UNREADABLE))


@pytest.mark.parametrize(
    ("code", "fit", "predict"),
    [
        (Code.MIXED_TYPES, "--without", "correct the file"),
        (Code.TEXT_COLUMN, "dpfit schema infer", "dpfit: wrong"),
        (Code.NOT_FINITE, "--missing drop", "--missing empty"),
        (Code.NOT_UTF8, "iconv", "iconv"),
        (Code.TEMPORARY_FILE, "TMPDIR", "TMPDIR"),
    ],
)
def test_hints_have_options_of_the_command(code, fit, predict):
    error = SourceError("wrong", code=code)
    for command, words in (("fit", fit), ("predict", predict)):
        line, exit_code = explain(error, command)
        assert exit_code == 1
        assert words in f"dpfit: {line}"
    assert "--without" not in explain(error, "predict")[0]


def test_the_core_raises_without_a_code():
    line, exit_code = explain(NotFiniteError("X contains NaN"), "fit")
    assert "--missing drop" in line
    assert exit_code == 1


def test_the_subject_of_a_wrong_delimiter_is_quoted():
    error = SourceError("a row is too long", code=Code.DELIMITER, subject=";")
    assert explain(error, "fit") == ("a row is too long (hint: --delimiter ';')", 1)


def test_errors_of_other_libraries_show_only_their_class():
    line, exit_code = explain(KeyError("secret"), "fit")
    assert "internal error (KeyError); please report it. Tracebacks may contain data" in line
    assert "secret" not in line
    assert exit_code == 1


def test_a_full_disk_without_a_name_is_that_of_temporary_files():
    full = OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    assert "TMPDIR" in explain(full, "fit")[0]
    full.filename = "model.json"
    assert explain(full, "fit") == ("'model.json': No space left on device", 1)


def test_messages_are_one_printable_line():
    line, exit_code = explain(wrong_use("a\nb\x1b[2J.", "c"), "fit")
    assert (line, exit_code) == ("a b\\x1b[2J (hint: c)", 2)
    assert explain(failure("d"), "fit") == ("d", 1)
