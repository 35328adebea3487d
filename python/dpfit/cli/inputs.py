"""Tables and models that a command is given."""

from __future__ import annotations

import difflib
import os
import shutil
import stat
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dpfit.cli.errors import CommandError, explained, failure, wrong_use
from dpfit.cli.files import STANDARD
from dpfit.cli.options import Format
from dpfit.cli.streams import is_closed
from dpfit.cli.text import note

if TYPE_CHECKING:
    from dpfit._private import PrivateModel
    from dpfit.sources.scan import Scan

__all__ = [
    "POINTS",
    "check_column",
    "check_columns",
    "delimiter_of",
    "files_of",
    "format_of",
    "open_model",
    "open_table",
    "tell_of_delimiter",
    "without",
]

# What to say of text where numbers should be.
POINTS = "one word makes a column of CSV text; so do decimal commas: numbers are written 3.5"

_ENDINGS = {
    ".csv": Format.CSV,
    ".tsv": Format.CSV,
    ".parquet": Format.PARQUET,
    ".parq": Format.PARQUET,
    ".pq": Format.PARQUET,
}
_COMPRESSED = (".gz", ".bz2")
_MAGIC = b"PAR1"
# Standard input up to this size is kept in memory.
_IN_MEMORY = 1 << 26


def open_table(
    path: Path, format: Format | None, delimiter: str = ",", memory_limit: str = "1GB"
) -> tuple[Scan, Format]:
    """Return the rows of a file, and what it holds.

    Parameters
    ----------
    path : Path
        A file, a folder, a pattern, or ``-``; pipes with a name are read as ``-`` is.
    format : Format or None
        What it holds, if the name does not tell.
    delimiter : str
        What is between the values of CSV.
    memory_limit : str
        What a fit may hold in memory.

    Privacy
    -------
    Standard input can be read once, and is needed twice: for types, and for rows. What does not
    fit in memory is in a temporary file without a name, which is gone with the process.
    """
    from dpfit.sources import scan_csv, scan_parquet

    name = str(path)
    place: str | IO[bytes] = name
    if name != STANDARD and os.path.exists(name) and not os.access(name, os.R_OK):
        raise failure(f"{name!r} cannot be read: it is protected")
    if name == STANDARD or _is_stream(name):
        place = _kept_of(name)
        if format is None:
            format = Format.PARQUET if place.read(len(_MAGIC)) == _MAGIC else Format.CSV
    elif format is None:
        format = _found_format(name)
    if format is Format.PARQUET:
        return scan_parquet(place, memory_limit=memory_limit), format
    delimiter = delimiter_of(name, delimiter)
    return scan_csv(place, delimiter=delimiter, memory_limit=memory_limit), format


def files_of(path: Path, format: Format | None) -> list[str]:
    """Return the names of all files that :func:`open_table` reads; none if it will refuse."""
    from dpfit.exceptions import SourceError
    from dpfit.sources.opened import files_at

    name = str(path)
    if name == STANDARD:
        return [name]
    try:
        ending = f".{(format or _found_format(name)).value}" if os.path.isdir(name) else ""
        return [file for file in files_at(name, ending) if isinstance(file, str)]
    except (SourceError, OSError):
        # Said when it is opened.
        return []


def delimiter_of(name: str, delimiter: str) -> str:
    """Return what is between the values of a CSV file."""
    if delimiter.lower() in ("tab", "\\t") or (delimiter == "," and ".tsv" in Path(name).suffixes):
        return "\t"
    if len(delimiter) != 1:
        raise wrong_use(f"--delimiter {delimiter!r} must be one character, or tab")
    return delimiter


def format_of(name: str) -> Format | None:
    """Return what a file holds by its name, None if that does not tell."""
    path = Path(name)
    if path.suffix.lower() in _COMPRESSED:
        path = path.with_suffix("")
    return _ENDINGS.get(path.suffix.lower())


def _found_format(name: str) -> Format:
    if os.path.isdir(name):
        endings = {Path(entry).suffix for entry in os.listdir(name)}
        return Format.CSV if ".csv" in endings and ".parquet" not in endings else Format.PARQUET
    format = format_of(name)
    if format is None:
        if not os.path.exists(name):
            raise failure(f"there is no file {name!r}", "CSV and Parquet files are read")
        raise wrong_use(f"the name {name!r} does not tell what it holds", "--format csv or parquet")
    return format


def _standard_input() -> IO[bytes]:
    if is_closed("stdin"):
        raise wrong_use("standard input is closed", "give the name of a file")
    return sys.stdin.buffer


def _is_stream(name: str) -> bool:
    """Return whether a name is of a pipe or a device, which can be read once."""
    mode = os.stat(name).st_mode if os.path.exists(name) else stat.S_IFREG
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _kept_of(name: str) -> IO[bytes]:
    if name == STANDARD:
        return _kept(_standard_input())
    with open(name, "rb") as stream:
        return _kept(stream)


def _kept(stream: IO[bytes]) -> IO[bytes]:
    if stream.isatty():
        raise wrong_use("standard input is the keyboard", "cat data.csv | dpfit ...")
    kept: Any = tempfile.SpooledTemporaryFile(max_size=_IN_MEMORY)  # noqa: SIM115 - gone at the end
    shutil.copyfileobj(stream, kept, 1 << 20)
    kept.seek(0)
    found: IO[bytes] = kept
    return found


def without(scan: Scan, names: Sequence[str]) -> Scan:
    """Return a table without some of its columns."""
    from dpfit.sources.scan import Scan

    return Scan(scan.reader, scan.target, scan.memory_limit, names)


def check_column(name: str, names: Iterable[str], what: str) -> None:
    """Refuse a column that is not in the table."""
    check_columns([name], names, what)


def check_columns(wanted: Iterable[str], names: Iterable[str], what: str) -> None:
    """Refuse columns that are not in the table.

    Parameters
    ----------
    wanted : iterable of str
        Columns that should be there.
    names : iterable of str
        Columns that are.
    what : str
        Who wants them, for the message.

    Privacy
    -------
    Names that are similar are told, and not all of them: of a CSV file without a header they would
    be a row.
    """
    known = list(names)
    missing = [name for name in wanted if name not in known]
    if not missing:
        return
    similar = difflib.get_close_matches(missing[0], known, 1) if len(missing) == 1 else []
    hint = f"did you mean {similar[0]!r}?" if similar else "dpfit schema infer DATA lists columns"
    if len(known) == 1:
        hint = "it has one column in all: --delimiter says what is between the values of CSV"
    columns = f"column{'s' if len(missing) > 1 else ''} {', '.join(map(repr, missing))}"
    raise wrong_use(f"the table has no {columns} ({what})", hint)


def tell_of_delimiter(names: Iterable[str]) -> None:
    """Say that a table of one column may be one of many, if its name looks like it."""
    from dpfit.sources.delimiters import delimiter_hint

    known = list(names)
    hint = delimiter_hint(known[0]) if len(known) == 1 else ""
    if hint:
        note(f"The table has one column in all{explained(hint)}.")


def open_model(path: Path) -> PrivateModel:
    """Return the model in a file."""
    from dpfit.exceptions import ModelFileError
    from dpfit.model_file import from_json, load

    name = str(path)
    try:
        if name == STANDARD:
            return from_json(_standard_input().read().decode("utf-8"))
        return load(name)
    except ModelFileError as error:
        problem: CommandError = failure(str(error), "dpfit fit writes model files")
    except UnicodeDecodeError:
        problem = failure("the file is not of a model of dpfit", "dpfit fit writes model files")
    except FileNotFoundError:
        problem = failure(f"there is no file {name!r}", "dpfit fit writes model files")
    except IsADirectoryError:
        problem = failure(f"{name!r} is a folder", "give the name of a model file")
    raise problem
