"""Errors of commands, each as one line for standard error and an exit code."""

from __future__ import annotations

import errno
import re
import shlex

from dpfit._printable import printable
from dpfit.exceptions import Code, DpfitError, LedgerError, NotFiniteError, ParameterError

__all__ = ["CommandError", "PipeClosed", "explain", "failure", "needs_extra", "wrong_use"]

# Problems that the command line describes in its own words.
_MESSAGES = {
    Code.NOT_FINITE: "the data contain missing or infinite values",
    Code.NO_ROWS: "the table has no rows",
}
# What to do on the command line. The hint of an error is for Python.
_LEAVE_OUT = "leave the column out with --without"
_HINTS = {
    Code.COPIED: "dpfit ledger adopt LEDGER continues with this file",
    Code.DAMAGED: "dpfit ledger create writes ledgers; if this one is damaged, restore a backup, "
    "and add what was spent since then (dpfit ledger add)",
    Code.DATE_COLUMN: f'give it the kind "date" in a schema (dpfit schema infer), or {_LEAVE_OUT}',
    Code.DELIMITER: "--delimiter sets the CSV delimiter",
    Code.MIXED_TYPES: f"correct the file, or {_LEAVE_OUT}",
    Code.NOT_DATES: f"write dates like 2024-09-07 or 2024-09-07 14:30, or {_LEAVE_OUT}",
    Code.NOT_FINITE: "--missing drop leaves such rows out, --missing indicator keeps them",
    Code.NOT_UTF8: "iconv -f LATIN1 -t UTF-8 OLD.csv > NEW.csv",
    Code.NO_COLUMN: "dpfit schema infer DATA lists the columns",
    Code.NO_FILE: "DATA is a file, a folder, a pattern in quotes, or - for standard input",
    Code.NEWER_VERSION: "pip install --upgrade dpfit",
    Code.NO_TARGET: "--target names the column to predict",
    Code.READ_ONLY: "its user must be able to write both the file and its folder",
    Code.TEMPORARY_FILE: "TMPDIR sets the folder for temporary files",
    Code.TEXT_COLUMN: f"list its levels in a schema (dpfit schema infer), or {_LEAVE_OUT}",
    Code.WRONG_TYPE: f"convert it to numbers, strings or dates, or {_LEAVE_OUT}",
}
# `dpfit predict` needs all columns of the fit, with the types that they had.
_PREDICT_HINTS = {
    **_HINTS,
    Code.DATE_COLUMN: "",
    Code.MIXED_TYPES: "correct the file",
    Code.NOT_DATES: "write dates like 2024-09-07 or 2024-09-07 14:30",
    Code.NOT_FINITE: "--missing empty leaves the predictions of such rows empty",
    Code.TEXT_COLUMN: "",
    Code.WRONG_TYPE: "",
}
# Their hints are about the content of files, in which Python and the command line do not differ.
_ABOUT_FILES = {Code.SCHEMA, Code.UNREADABLE}


class CommandError(Exception):
    """A command cannot continue.

    Parameters
    ----------
    message : str
        What is wrong.
    hint : str
        What to do about it; empty if there is nothing to suggest.
    exit_code : int
        2 for wrong usage, 1 for a failure.
    """

    def __init__(self, message: str, hint: str = "", exit_code: int = 1) -> None:
        super().__init__(message)
        self.message, self.hint, self.exit_code = message, hint, exit_code


class PipeClosed(Exception):  # noqa: N818 - nothing is wrong
    """The reader closed the pipe."""


def wrong_use(message: str, hint: str = "") -> CommandError:
    """Return the error for a command that was called in a wrong way."""
    return CommandError(message, hint, 2)


def failure(message: str, hint: str = "") -> CommandError:
    """Return the error for a command that could not do its work."""
    return CommandError(message, hint, 1)


def needs_extra(what: str, extra: str) -> CommandError:
    """Return the error for a feature whose dependencies are not installed."""
    return failure(f"{what} needs more packages", f'pip install "dpfit[{extra}]"')


def explain(error: Exception, command: str) -> tuple[str, int]:
    """Return an error as one line, and the exit code.

    Parameters
    ----------
    error : Exception
        The error.
    command : str
        The command that raised it, such as "fit".

    Privacy
    -------
    Messages of dpfit contain no value of the data. Those of other libraries might: only the class
    of such an error is shown.
    """
    if isinstance(error, CommandError):
        return _line(error.message, error.hint), error.exit_code
    if isinstance(error, DpfitError):
        message = _MESSAGES.get(_code(error), error.message)
        return _line(message, _hint(error, command)), 2 if isinstance(error, ParameterError) else 1
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        # An error of typer about the arguments. Without a message, typer has printed the help.
        if not error.format_message():
            return "", int(error.exit_code)
        context = getattr(error, "ctx", None)
        command = getattr(context, "command_path", "dpfit")
        message = error.format_message().replace(": Value error, ", ": ")
        return _line(message, f"{command} --help"), int(error.exit_code)
    if isinstance(error, OSError) and error.strerror:
        if error.filename is None:
            # Output files have names, temporary files have none.
            is_full = error.errno == errno.ENOSPC
            return _line(error.strerror, _HINTS[Code.TEMPORARY_FILE] if is_full else ""), 1
        return _line(f"{str(error.filename)!r}: {error.strerror}"), 1
    if isinstance(error, MemoryError):
        return _line("not enough memory", "--memory-limit lets a fit use less"), 1
    if isinstance(error, UnicodeEncodeError):
        # Of an argument or a file name: data are written as UTF-8.
        problem = "a name contains characters that the locale cannot encode"
        return _line(problem, "LC_ALL=C.UTF-8 dpfit ..."), 1
    kind = type(error).__name__
    problem = f"internal error ({kind}); please report it. Tracebacks may contain data."
    return _line(problem, "DPFIT_TRACEBACK=1 prints the traceback"), 1


def _code(error: DpfitError) -> Code:
    # The core raises this error without a code.
    return Code.NOT_FINITE if isinstance(error, NotFiniteError) else error.code


def _hint(error: DpfitError, command: str) -> str:
    code = _code(error)
    if isinstance(error, LedgerError) and code is Code.NO_FILE:
        return "dpfit ledger create --help"
    if code is Code.DELIMITER and error.subject:
        return f"--delimiter {shlex.quote(error.subject)}"
    if code in _ABOUT_FILES:
        return error.hint or ""
    return (_PREDICT_HINTS if command == "predict" else _HINTS).get(code, "")


def _line(message: str, hint: str = "") -> str:
    text = printable(re.sub(r"\s+", " ", message)).strip().rstrip(".")
    return f"{text} (hint: {hint})" if hint else text
