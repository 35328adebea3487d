"""What went wrong, in one line."""

from __future__ import annotations

import re

from dpfit._printable import printable
from dpfit.exceptions import DpfitError, ModelFileError, NotFiniteError, ParameterError, SourceError

__all__ = [
    "CommandError",
    "PipeClosed",
    "explain",
    "explained",
    "failure",
    "needs_extra",
    "wrong_use",
]

# What is said in Python's words, and how the command line would put it.
_HINTS = (
    ("there is no file", "a file, a folder, a pattern in quotes, or - for standard input"),
    ("contains NaN or infinity", "--missing says what to do with such rows"),
    ("hold NaN or infinite values", "--missing drop leaves such rows out"),
    ("0 sample", "the table has a header and no rows"),
    ("not of the type of the first ones", "correct the file; --without leaves a column out"),
    ("is not UTF-8", "iconv -f LATIN1 -t UTF-8 OLD.csv > NEW.csv"),
    ("are not UTF-8", "iconv -f LATIN1 -t UTF-8 OLD.csv > NEW.csv"),
    ("a temporary file", "TMPDIR says where temporary files go"),
)
# Advice that is written for Python, and what the command line has for it.
_ADVICE = (
    (
        r"list (its|their) levels, schema=Schema\(.*\), or leave (it|them) out",
        r"write \1 levels into a schema (dpfit schema infer), or leave \2 out (--without)",
    ),
    (r"\bdelimiter=('[^']*')", r"--delimiter \1"),
    (r' fit\(frame, "cost"\) takes a column of the table\.', " --target names it."),
)


class CommandError(Exception):
    """A command cannot go on.

    Parameters
    ----------
    message : str
        What is wrong.
    hint : str
        What to do about it; empty if there is nothing to say.
    code : int
        The exit code: 2 for wrong use, 1 for a failure.
    """

    def __init__(self, message: str, hint: str = "", code: int = 1) -> None:
        super().__init__(message)
        self.message, self.hint, self.code = message, hint, code


class PipeClosed(Exception):  # noqa: N818 - nothing is wrong
    """Whoever read the output has had enough."""


def wrong_use(message: str, hint: str = "") -> CommandError:
    """Return the error of a command that was called in a wrong way."""
    return CommandError(message, hint, 2)


def failure(message: str, hint: str = "") -> CommandError:
    """Return the error of a command that could not do what it should."""
    return CommandError(message, hint, 1)


def needs_extra(what: str, extra: str) -> CommandError:
    """Return the error of something that is not installed."""
    return failure(f"{what} needs more", f'pip install "dpfit[{extra}]"')


def explain(error: Exception) -> tuple[str, int]:
    """Return an error as one line, and the exit code.

    Privacy
    -------
    Messages of dpfit's own errors hold no value of the data. Others might: of these the type
    alone is told.
    """
    if isinstance(error, CommandError):
        return _line(error.message, error.hint), error.code
    if isinstance(error, ParameterError):
        return _line(str(error), _hint(str(error))), 2
    if isinstance(error, NotFiniteError):
        return _line("a value is missing, or infinite", _hint(str(error))), 1
    if isinstance(error, SourceError | ModelFileError | DpfitError):
        return _line(str(error), _hint(str(error))), 1
    if hasattr(error, "format_message") and hasattr(error, "exit_code"):
        # Of typer, whatever it calls them: wrong options and the like. Without a message it has
        # printed the help instead.
        if not error.format_message():
            return "", int(error.exit_code)
        context = getattr(error, "ctx", None)
        command = getattr(context, "command_path", "dpfit")
        return _line(error.format_message(), f"{command} --help"), int(error.exit_code)
    if isinstance(error, OSError) and error.strerror:
        name = "" if error.filename is None else f"{str(error.filename)!r}: "
        return _line(f"{name}{error.strerror}", ""), 1
    if isinstance(error, MemoryError):
        return _line("there is not enough memory", "--memory-limit lets a fit use less"), 1
    if isinstance(error, ImportError) and "pip install" in str(error):
        return _line(str(error), ""), 1
    if isinstance(error, UnicodeEncodeError):
        # Of a name on the command line, or in a folder: data are bytes of UTF-8.
        problem = "a name has letters that the language settings of the system do not have"
        return _line(problem, "LC_ALL=C.UTF-8 dpfit ..."), 1
    kind = type(error).__name__
    return _line(f"this should not happen ({kind})", "DPFIT_TRACEBACK=1 shows where"), 1


def explained(message: str) -> str:
    """Return a message with the command line's advice instead of Python's."""
    for pattern, replacement in _ADVICE:
        message = re.sub(pattern, replacement, message)
    return message


def _hint(message: str) -> str:
    return next((hint for words, hint in _HINTS if words in message), "")


def _line(message: str, hint: str) -> str:
    text = printable(re.sub(r"\s+", " ", explained(message))).strip().rstrip(".")
    return f"{text} (hint: {hint})" if hint else text
