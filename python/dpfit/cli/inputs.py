"""Open the tables and models that a command reads."""

from __future__ import annotations

import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dpfit._similar import similar_name
from dpfit.cli.errors import CommandError, failure, wrong_use
from dpfit.cli.outputs import STANDARD
from dpfit.cli.printing import print_note
from dpfit.cli.standard_streams import is_closed

if TYPE_CHECKING:
    from dpfit.models.base import PrivateModel
    from dpfit.schema import Kind
    from dpfit.sources import Scan
    from dpfit.sources.files.formats import Format

__all__ = [
    "NUMBERS_AS_STRINGS",
    "check_columns",
    "check_roles",
    "files_of",
    "is_table",
    "not_numeric",
    "note_single_column",
    "open_model",
    "open_table",
    "resolve_delimiter",
    "without_columns",
]

# Why a column that should be numbers may contain strings.
NUMBERS_AS_STRINGS = (
    "in CSV, a single word or a decimal comma (3,5) turns a numeric column into strings; write 3.5"
)

_MODEL_FILES = "MODEL is a file that dpfit fit wrote"
# Standard input up to this size is kept in memory.
_MEMORY_BYTES = 1 << 26


def open_table(
    path: Path, format: str | None, delimiter: str = ",", memory_limit: str = "1GB"
) -> tuple[Scan, Format]:
    """Return the rows of a file, and its format.

    Parameters
    ----------
    path : Path
        A file, a folder, a pattern, or ``-``; named pipes are read like ``-``.
    format : str or None
        The name of the format; None to find out.
    delimiter : str
        The delimiter of CSV.
    memory_limit : str
        How much memory a fit may use for rows.

    Privacy
    -------
    Standard input can be read once and is needed twice: for types, and for rows. What does not fit
    in memory goes to a temporary file without a name, which disappears with the process.
    """
    from dpfit.sources.files.formats import FORMATS, format_of_content

    name = str(path)
    place: str | IO[bytes] = name
    if name != STANDARD and os.path.exists(name) and not os.access(name, os.R_OK):
        raise failure(f"cannot read {name!r}: permission denied")
    if name == STANDARD or _is_stream(name):
        place = _spooled(name)
        found = FORMATS[format] if format else format_of_content(place.read(1 << 10))
    else:
        found = FORMATS[format] if format else _format_of(name)
    options = {"memory_limit": memory_limit}
    if "delimiter" in found.options:
        options["delimiter"] = resolve_delimiter(name, delimiter)
    return found.scan(place, **options), found


def files_of(path: Path, format: str | None) -> list[str]:
    """Return the names of all files that :func:`open_table` reads; none if it will fail."""
    from dpfit.exceptions import SourceError
    from dpfit.sources.files.formats import FORMATS
    from dpfit.sources.files.paths import files_at

    name = str(path)
    if name == STANDARD:
        return [name]
    try:
        suffix = ""
        if os.path.isdir(name):
            suffix = (FORMATS[format] if format else _format_of(name)).suffixes[0]
        return [file for file in files_at(name, suffix) if isinstance(file, str)]
    except (SourceError, OSError):
        # Reported when it is opened.
        return []


def is_table(name: str) -> bool:
    """Return whether a file is a table by its name."""
    from dpfit.sources.files.formats import format_of_name

    return format_of_name(name) is not None


def resolve_delimiter(name: str, delimiter: str) -> str:
    """Return the delimiter of a CSV file, given its name and the option ``--delimiter``."""
    if delimiter.lower() in ("tab", "\\t") or (delimiter == "," and ".tsv" in Path(name).suffixes):
        return "\t"
    if len(delimiter) != 1:
        raise wrong_use(f"--delimiter {delimiter!r} must be one character, or tab")
    return delimiter


def _format_of(name: str) -> Format:
    """Return the format of a file by its name, or of a folder by the files in it."""
    from dpfit.sources.files.formats import FORMATS, format_of_name

    if os.path.isdir(name):
        suffixes = {Path(entry).suffix for entry in os.listdir(name)}
        formats = list(FORMATS.values())
        return next((format for format in formats if format.suffixes[0] in suffixes), formats[0])
    format = format_of_name(name)
    if format is not None:
        return format
    if not os.path.exists(name):
        titles = " and ".join(sorted(format.title for format in FORMATS.values()))
        raise failure(f"there is no file {name!r}", f"dpfit reads {titles} files")
    options = " or ".join(f"--format {format}" for format in sorted(FORMATS))
    raise wrong_use(f"the name {name!r} does not show the file's format", options)


def _standard_input() -> IO[bytes]:
    if is_closed("stdin"):
        raise wrong_use("standard input is closed", "give the name of a file")
    return sys.stdin.buffer


def _is_stream(name: str) -> bool:
    """Return whether a name is of a pipe or a device, which can be read only once."""
    mode = os.stat(name).st_mode if os.path.exists(name) else stat.S_IFREG
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _spooled(name: str) -> IO[bytes]:
    """Return the content of a stream as a file that can be read again."""
    if name == STANDARD:
        return _spool(_standard_input())
    with open(name, "rb") as stream:
        return _spool(stream)


def _spool(stream: IO[bytes]) -> IO[bytes]:
    if stream.isatty():
        raise wrong_use("no data on standard input", "cat data.csv | dpfit ...")
    spooled: Any = tempfile.SpooledTemporaryFile(max_size=_MEMORY_BYTES)  # noqa: SIM115
    shutil.copyfileobj(stream, spooled, 1 << 20)
    spooled.seek(0)
    file: IO[bytes] = spooled
    return file


def without_columns(scan: Scan, names: Sequence[str]) -> Scan:
    """Return a table without some of its columns."""
    from dpfit.sources import Scan

    return Scan(scan.reader, scan.target, scan.memory_limit, names)


def check_columns(wanted: Iterable[str], names: Iterable[str], origin: str) -> None:
    """Refuse columns that are not in the table.

    Parameters
    ----------
    wanted : iterable of str
        Columns that should be there.
    names : iterable of str
        Columns that are there.
    origin : str
        What asks for them, for the message.

    Privacy
    -------
    The message shows at most one similar name, not all of them: in a CSV file without a header
    they would be a row of data.
    """
    known = list(names)
    missing = [name for name in wanted if name not in known]
    if not missing:
        return
    similar = similar_name(missing[0], known) if len(missing) == 1 else None
    hint = "dpfit schema infer DATA lists the columns"
    if similar is not None:
        hint = f"did you mean {similar!r}?"
    if len(known) == 1:
        hint = "the table has a single column; --delimiter sets the CSV delimiter"
    columns = f"column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
    raise wrong_use(f"the table has no {columns} ({origin})", hint)


def check_roles(declared: Mapping[str, Kind | None], roles: Mapping[str, str | None]) -> list[str]:
    """Raise an error if columns that are not features do not exist or are not as they must be.

    Parameters
    ----------
    declared : mapping of str to Kind or None
        The columns of the table.
    roles : mapping of str to str or None
        Columns by their options, ``--target`` first; None for options that are not given.

    Returns
    -------
    list of str
        The columns, the target first.
    """
    given = {option: name for option, name in roles.items() if name is not None}
    for option, name in given.items():
        check_columns([name], declared, option)
    for option, word in (("--target", "a target"), ("--weight", "weights")):
        if option in given and declared[given[option]] is None:
            raise not_numeric(given[option], word)
    return list(given.values())


def not_numeric(name: str, what: str = "a target") -> CommandError:
    """Return the error for a column of strings that must be numeric."""
    return wrong_use(
        f"column {name!r} contains strings, but {what} must be numeric",
        f"write yes and no as 1 and 0; {NUMBERS_AS_STRINGS}",
    )


def note_single_column(names: Iterable[str]) -> None:
    """Print a note if a table of one column looks like one with another delimiter."""
    from dpfit.sources.files.delimiters import likely_delimiter

    known = list(names)
    likely = likely_delimiter(known[0]) if len(known) == 1 else None
    if likely is not None:
        print_note(
            f"The table has a single column, and its name contains {likely!r}. "
            f"Did you mean --delimiter {likely!r}?"
        )


def open_model(path: Path) -> PrivateModel:
    """Return the model in a file."""
    from dpfit.exceptions import ModelFileError
    from dpfit.models.file import from_json, load

    name = str(path)
    try:
        if name == STANDARD:
            return from_json(_standard_input().read().decode("utf-8"))
        return load(name)
    except ModelFileError as error:
        problem: CommandError = failure(error.message, error.hint or _MODEL_FILES)
    except UnicodeDecodeError:
        problem = failure("not a dpfit model file", _MODEL_FILES)
    except FileNotFoundError:
        problem = failure(f"there is no file {name!r}", _MODEL_FILES)
    except IsADirectoryError:
        problem = failure(f"{name!r} is a folder", "give the name of a model file")
    raise problem
