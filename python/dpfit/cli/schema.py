"""``dpfit schema``."""

from __future__ import annotations

import json as json_module
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfit.cli import inputs
from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.files import STANDARD, written
from dpfit.cli.options import Data, Delimiter, Format, FormatOption, Json, output_path
from dpfit.cli.text import epilog, note, paragraph, say, say_json, unwrapped

if TYPE_CHECKING:
    from dpfit.schema import Kind, Schema
    from dpfit.sources import Scan

__all__ = ["app", "read_schema"]

EXAMPLES = (
    "dpfit schema infer data.parquet --target price -o schema.json",
    "dpfit schema infer data.csv --json",
)

app = typer.Typer(no_args_is_help=True)


def _schema() -> None:
    """Say what is public about the columns, in a file.

    Levels that are known without a look at the data cost nothing, bounds next to nothing, and both
    usually make a model better.
    """


def infer(
    data: Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", parser=output_path, help="Where to write to."
        ),
    ] = Path(STANDARD),
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict."),
    ] = None,
    format: FormatOption = None,
    delimiter: Delimiter = ",",
    json: Json = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Write over a file that is there, and what is in it."),
    ] = False,
) -> None:
    """Begin a schema from the types of the columns.

    No value becomes part of it. It says which columns need levels, and where bounds may be
    written if they are public.
    """
    from dpfit.schema import Numeric
    from dpfit.sources import declared_kinds

    scan, found_format = inputs.open_table(data, format, delimiter)
    kinds = declared_kinds(scan)
    unusable = _unusable(scan)
    for name in unusable:
        del kinds[name]
    empty = _guess(kinds, scan)
    if target is not None:
        if target in unusable:
            raise wrong_use(f"column {target!r} holds no numbers: a target does")
        inputs.check_column(target, kinds, "--target")
        if kinds.pop(target) is None:
            raise wrong_use(f"column {target!r} holds text: a target holds numbers", inputs.POINTS)
    plain = _plain(kinds)
    inputs.tell_of_delimiter(kinds)
    if os.path.isfile(output) and not force:
        raise wrong_use(f"{str(output)!r} is there already", "--force writes over it")
    if str(output) != STANDARD or not json:
        with written(str(output), *inputs.files_of(data, format)) as file:
            file.write((json_module.dumps(plain, indent=2, ensure_ascii=False) + "\n").encode())
    found = _Sorts.of(kinds, empty)
    if json:
        file_name = None if str(output) == STANDARD else str(output)
        open_columns = [name for name, kind in kinds.items() if isinstance(kind, Numeric)]
        lists = {"needs_levels": found.texts, "open": open_columns, "empty": found.empty}
        lists["unusable"] = unusable
        say_json({"file": file_name, **lists, "schema": plain})
        return
    tell = note if str(output) == STANDARD else say
    for line in _advice(found, str(output), found_format):
        tell(line)
    if unusable:
        tell(
            paragraph(
                f"Columns that can be no features: {_listed(unusable)}. They hold lists, records "
                "or bytes, and are not in the schema: --without leaves them out in the fit."
            )
        )


app.callback(help=unwrapped(_schema), epilog=epilog(EXAMPLES))(_schema)
app.command("infer", help=unwrapped(infer), epilog=epilog(EXAMPLES))(infer)


def _unusable(scan: Scan) -> list[str]:
    """Return columns of types that no feature has: a fit refuses them."""
    import pyarrow as pa

    found = []
    for field in scan.reader.schema():
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
        if pa.types.is_nested(kind) or any(is_binary(kind) for is_binary in binary):
            found.append(field.name)
    return found


def _plain(kinds: dict[str, Kind | None]) -> dict[str, Any]:
    """Return a schema as JSON has it, with empty levels where they have to be written."""
    from dpfit.schema import Numeric, Schema

    known: dict[Any, Kind] = {name: kind or Numeric() for name, kind in kinds.items()}
    plain: dict[str, Any] = json_module.loads(Schema(known).to_json())
    plain["columns"] = [
        {"name": column["name"], "kind": "categorical", "levels": []}
        if kinds[column["name"]] is None
        else column
        for column in plain["columns"]
    ]
    return plain


def _guess(kinds: dict[str, Kind | None], scan: Scan) -> list[str]:
    """Take over what the beginning of a CSV file looks like; return columns that begin empty.

    Privacy
    -------
    This is for a person who checks it. A fit does not guess that a column is true or false.
    """
    import pyarrow as pa

    from dpfit.schema import Binary

    if not hasattr(scan.reader, "guessed"):
        return []
    guessed = scan.reader.guessed()
    for field in guessed:
        if pa.types.is_boolean(field.type):
            kinds[field.name] = Binary()
    empty = [field.name for field in guessed if pa.types.is_null(field.type)]
    if len(empty) == len(kinds):
        raise failure(
            "the table has no rows to guess types from", "CSV has no types: add the rows first"
        )
    return empty


@dataclass(frozen=True)
class _Sorts:
    """Columns by what is to be said of them."""

    texts: list[str]
    dates: list[str]
    numbers: list[str]
    empty: list[str]

    @classmethod
    def of(cls, kinds: dict[str, Kind | None], empty: list[str]) -> _Sorts:
        from dpfit.schema import Date, Numeric

        texts = [name for name, kind in kinds.items() if kind is None]
        dates = [name for name, kind in kinds.items() if isinstance(kind, Date)]
        # Dates are of a kind of their own, below that of numbers.
        numbers = [name for name, kind in kinds.items() if type(kind) is Numeric]
        return cls(texts, dates, numbers, [name for name in empty if name in kinds])


def _listed(names: list[str]) -> str:
    """Return names one after the other; that of a column without one has to be seen, too."""
    return ", ".join(name or "''" for name in names)


def _advice(found: _Sorts, output: str, format: Format) -> list[str]:
    from dpfit.plan import SHARES

    texts, dates, numbers = found.texts, found.dates, found.numbers

    features = SHARES.feature_powers + SHARES.feature_bins
    target = SHARES.target_powers + SHARES.target_bins
    # Shares are of the square of mu.
    less = 1.0 - (1.0 - features - target) ** 0.5
    where = "the schema" if output == STANDARD else output
    lines = [] if output == STANDARD else [f"The schema is in {output}.", ""]
    if texts:
        lines.append(paragraph(f"Columns of text, which need levels: {_listed(texts)}"))
        lines.append(
            paragraph(
                f'List the levels of each in {where}, as in "levels": ["no", "yes"]: all that '
                "may occur, from a form or a code book and not from the data. A value that is not "
                "listed counts as none of them. A column that says whose row it is needs none: use "
                "--unit for it in the fit, and --without for others that are no feature.",
                "  ",
            )
        )
    if numbers:
        lines.append(paragraph(f"Columns of numbers, without bounds: {_listed(numbers)}"))
        lines.append(
            paragraph(
                "They may stay open. Ranges are then found privately, for about "
                f"{100 * features:.0f} % of the budget for all columns together and "
                f"{100 * target:.0f} % for the target: as if mu were {100 * less:.0f} % smaller. "
                'Where bounds are public, write "low": 0, "high": 120 beside "kind": "numeric": '
                "this costs little, and values beyond are cut. What only tells rows apart, such "
                "as a number of a customer or the index of a frame, is no feature: --without "
                "leaves it out in the fit.",
                "  ",
            )
        )
    if dates:
        lines.append(paragraph(f"Columns of dates, without bounds: {_listed(dates)}"))
        lines.append(
            paragraph(
                "They become days since 1970-01-01, and may stay open like numbers. Public bounds "
                'are written as "low": "2021-01-01", "high": "2025-12-31" beside "kind": "date".',
                "  ",
            )
        )
    if found.empty:
        lines.append(
            paragraph(
                "Columns that begin with nothing but missing values, taken for numbers: "
                f"{_listed(found.empty)}"
            )
        )
    if sum(map(_is_number, [*texts, *numbers])) * 2 > len(texts) + len(numbers):
        lines.append(
            paragraph(
                "Most columns are called by numbers. If the file has no header, its first row is "
                "in the schema now: delete it, and write names into the first line of the file."
            )
        )
    if format is Format.CSV:
        lines.append(
            paragraph(
                "CSV has no types: they were guessed from the beginning of the file. Check them."
            )
        )
    return lines


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True


def read_schema(path: Path, columns: Iterable[str], aside: Sequence[str] = ()) -> Schema:
    """Return the schema in a file.

    Parameters
    ----------
    path : Path
        The file.
    columns : iterable of str
        Those of the table, beyond which the schema must not list any.
    aside : sequence of str
        Columns that are no features, and need no levels.
    """
    from dpfit.exceptions import ParameterError
    from dpfit.schema import Schema

    name = str(path)
    try:
        text = path.read_text("utf-8")
    except FileNotFoundError:
        raise failure(f"there is no file {name!r}", "dpfit schema infer begins one") from None
    except UnicodeDecodeError:
        raise wrong_use(f"{name!r} is not a schema: it is not text") from None
    text = _without_columns(text, aside) if aside else text
    # First, because what is not there cannot be left out either.
    inputs.check_columns(_names(text), columns, f"in {name!r}")
    empty = _without_levels(text)
    if empty:
        raise wrong_use(
            f"{name!r} has no levels yet for {', '.join(map(repr, empty))}",
            'write them, as in "levels": ["no", "yes"]; or --unit for a column that says whose '
            "row it is, --without for others",
        )
    try:
        return Schema.from_json(text)
    except ParameterError as error:
        problem = str(error)
    raise wrong_use(f"{name!r}: {problem}")


def _without_columns(text: str, names: Sequence[str]) -> str:
    """Return a schema without some columns; what is no schema stays as it is."""
    try:
        plain = json_module.loads(text)
        plain["columns"] = [c for c in plain["columns"] if c.get("name") not in names]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return text
    return json_module.dumps(plain)


def _names(text: str) -> list[str]:
    """Return the columns that a schema lists by name."""
    try:
        columns = json_module.loads(text)["columns"]
        return [c["name"] for c in columns if isinstance(c.get("name"), str)]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return []


def _without_levels(text: str) -> list[str]:
    """Return the columns whose levels nobody has written yet."""
    try:
        columns = json_module.loads(text)["columns"]
        return [c["name"] for c in columns if c["kind"] == "categorical" and not c["levels"]]
    except (ValueError, KeyError, TypeError, RecursionError):
        return []
