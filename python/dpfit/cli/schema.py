"""``dpfit schema``."""

from __future__ import annotations

import json as json_module
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfit.cli import inputs
from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.files import STANDARD, written
from dpfit.cli.options import Data, Delimiter, Format, FormatOption, Json
from dpfit.cli.text import epilog, note, paragraph, say, say_json, unwrapped

if TYPE_CHECKING:
    from dpfit.schema import Kind, Schema

__all__ = ["app", "read_schema"]

EXAMPLES = (
    "dpfit schema infer data.parquet --target price -o schema.json",
    "dpfit schema infer data.csv --json",
)

app = typer.Typer(no_args_is_help=True)


def _schema() -> None:
    """Say what is public about the columns, in a file.

    Bounds and levels that are known without a look at the data cost nothing, and usually make a
    model better.
    """


def infer(
    data: Data,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Where to write to."),
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
    from dpfit.sources import declared_kinds

    scan, found_format = inputs.open_table(data, format, delimiter)
    kinds = declared_kinds(scan)
    if target is not None:
        inputs.check_column(target, kinds, "--target")
        if kinds.pop(target) is None:
            raise wrong_use(f"column {target!r} holds text: a target holds numbers", inputs.POINTS)
    plain = _plain(kinds)
    inputs.tell_of_delimiter(kinds)
    if os.path.isfile(output) and not force:
        raise wrong_use(f"{str(output)!r} is there already", "--force writes over it")
    if str(output) != STANDARD or not json:
        with written(str(output), data) as file:
            file.write((json_module.dumps(plain, indent=2, ensure_ascii=False) + "\n").encode())
    texts, numbers = _sorts(kinds)
    if json:
        file_name = None if str(output) == STANDARD else str(output)
        say_json({"file": file_name, "needs_levels": texts, "open": numbers, "schema": plain})
        return
    tell = note if str(output) == STANDARD else say
    for line in _advice(texts, numbers, str(output), found_format):
        tell(line)


app.callback(help=unwrapped(_schema), epilog=epilog(EXAMPLES))(_schema)
app.command("infer", help=unwrapped(infer), epilog=epilog(EXAMPLES))(infer)


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


def _sorts(kinds: dict[str, Kind | None]) -> tuple[list[str], list[str]]:
    """Return the columns that need levels, and those that may have bounds."""
    from dpfit.schema import Numeric

    texts = [name for name, kind in kinds.items() if kind is None]
    numbers = [name for name, kind in kinds.items() if isinstance(kind, Numeric)]
    return texts, numbers


def _advice(texts: list[str], numbers: list[str], output: str, format: Format) -> list[str]:
    from dpfit.plan import SHARES

    features = SHARES.feature_powers + SHARES.feature_bins
    target = SHARES.target_powers + SHARES.target_bins
    # Shares are of the square of mu.
    less = 1.0 - (1.0 - features - target) ** 0.5
    where = "the schema" if output == STANDARD else output
    lines = [] if output == STANDARD else [f"The schema is in {output}.", ""]
    if texts:
        lines.append(paragraph(f"Columns of text, which need levels: {', '.join(texts)}"))
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
        lines.append(paragraph(f"Columns of numbers, without bounds: {', '.join(numbers)}"))
        lines.append(
            paragraph(
                "They may stay open. Ranges are then found privately, for about "
                f"{100 * features:.0f} % of the budget for all columns together and "
                f"{100 * target:.0f} % for the target: as if mu were {100 * less:.0f} % smaller. "
                'Where bounds are public, write "low": 0, "high": 120 beside "kind": "numeric": '
                "this costs nothing, and values beyond are cut.",
                "  ",
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


def read_schema(path: Path, aside: Sequence[str] = ()) -> Schema:
    """Return the schema in a file.

    Parameters
    ----------
    path : Path
        The file.
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
    empty = _without_levels(text)
    if empty:
        columns = ", ".join(map(repr, empty))
        raise wrong_use(
            f"{name!r} has no levels yet for {columns}",
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


def _without_levels(text: str) -> list[str]:
    """Return the columns whose levels nobody has written yet."""
    try:
        columns = json_module.loads(text)["columns"]
        return [c["name"] for c in columns if c["kind"] == "categorical" and not c["levels"]]
    except (ValueError, KeyError, TypeError):
        return []
