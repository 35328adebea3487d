"""``dpfit schema``."""

from __future__ import annotations

import json as json_module
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dpfit.cli import inputs
from dpfit.cli.errors import failure, wrong_use
from dpfit.cli.options import Command, Data, Delimiter, Json, TableFormat, output_path
from dpfit.cli.outputs import STANDARD, open_output
from dpfit.cli.printing import epilog, paragraph, print_json, print_note, print_text, unwrapped

if TYPE_CHECKING:
    from dpfit.schema import Kind
    from dpfit.sources import Scan

__all__ = ["app"]

EXAMPLES = (
    "dpfit schema infer data.parquet --target price -o schema.json",
    "dpfit schema infer data.csv --json",
)

app = typer.Typer(no_args_is_help=True)


def _schema() -> None:
    """Write a schema file: types, public levels and public bounds of columns.

    Public levels cost nothing and public bounds almost nothing. Both usually improve a model.
    """


def infer(
    data: Data,
    output: Annotated[
        Path,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            parser=output_path,
            help="File to write, or - for standard output.",
        ),
    ] = Path(STANDARD),
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="COLUMN", help="The column to predict."),
    ] = None,
    format: TableFormat = None,
    delimiter: Delimiter = ",",
    json: Json = False,
    force: Annotated[
        bool,
        typer.Option("--force", help="Overwrite FILE, if it exists."),
    ] = False,
) -> None:
    """Draft a schema from the names and types of the columns.

    The schema contains no values of the data. The command lists the columns that need levels, and
    those to which you can add public bounds.
    """
    from dpfit.sources import declared_kinds

    scan, found_format = inputs.open_table(data, format, delimiter)
    kinds = declared_kinds(scan)
    unusable = _unusable(scan)
    for name in unusable:
        del kinds[name]
    empty = [] if found_format.has_types else _guess(kinds, scan.reader)
    if target is not None:
        if target in unusable:
            raise wrong_use(f"column {target!r} contains no numbers, but a target must be numeric")
        inputs.check_columns([target], kinds, "--target")
        if kinds.pop(target) is None:
            raise inputs.not_numeric(target)
    schema = _as_json(kinds)
    inputs.note_single_column(kinds)
    if os.path.isfile(output) and not force:
        raise wrong_use(f"{str(output)!r} exists already", "--force overwrites it")
    if str(output) != STANDARD or not json:
        with open_output(str(output), *inputs.files_of(data, format)) as file:
            file.write((json_module.dumps(schema, indent=2, ensure_ascii=False) + "\n").encode())
    columns = _Columns.of(kinds, [name for name in empty if name in kinds], unusable)
    if json:
        numeric = [name for name, kind in kinds.items() if kind and kind.needs_range]
        print_json(
            {
                "file": None if str(output) == STANDARD else str(output),
                "needs_levels": columns.strings,
                "open": numeric,
                "empty": columns.empty,
                "unusable": columns.unusable,
                "schema": schema,
            }
        )
        return
    print_line = print_note if str(output) == STANDARD else print_text
    for line in _advice(columns, str(output), has_types=found_format.has_types):
        print_line(line)


app.callback(help=unwrapped(_schema), epilog=epilog(EXAMPLES))(_schema)
app.command("infer", cls=Command, help=unwrapped(infer), epilog=epilog(EXAMPLES))(infer)


def _unusable(scan: Scan) -> list[str]:
    """Return the columns whose types cannot be features: a fit refuses them."""
    import pyarrow as pa

    found = []
    for field in scan.reader.schema():
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        binary = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_fixed_size_binary)
        if pa.types.is_nested(kind) or any(is_binary(kind) for is_binary in binary):
            found.append(field.name)
    return found


def _as_json(kinds: dict[str, Kind | None]) -> dict[str, Any]:
    """Return the content of a schema file, with an empty list where levels are needed."""
    from dpfit.schema import Numeric, Schema

    known: dict[Any, Kind] = {name: kind or Numeric() for name, kind in kinds.items()}
    schema: dict[str, Any] = json_module.loads(Schema(known).to_json())
    schema["columns"] = [
        {"name": column["name"], "kind": "categorical", "levels": []}
        if kinds[column["name"]] is None
        else column
        for column in schema["columns"]
    ]
    return schema


def _guess(kinds: dict[str, Kind | None], reader: Any) -> list[str]:
    """Update kinds with guesses from the start of the file; return columns that start empty.

    Privacy
    -------
    The guesses are for a person to check. A fit does not guess that a column is Boolean or has
    dates.
    """
    import pyarrow as pa

    from dpfit.schema import Binary, Date

    guessed = reader.guessed()
    for field in guessed:
        if pa.types.is_boolean(field.type):
            kinds[field.name] = Binary()
        elif pa.types.is_date(field.type) or pa.types.is_timestamp(field.type):
            kinds[field.name] = Date()
    empty = [field.name for field in guessed if pa.types.is_null(field.type)]
    if len(empty) == len(kinds):
        raise failure("the table has no rows to guess types from", "CSV files have no types")
    return empty


@dataclass(frozen=True)
class _Columns:
    """Names of columns, by what to say about them."""

    strings: list[str]
    dates: list[str]
    numbers: list[str]
    empty: list[str]
    unusable: list[str]

    @classmethod
    def of(cls, kinds: dict[str, Kind | None], empty: list[str], unusable: list[str]) -> _Columns:
        strings = [name for name, kind in kinds.items() if kind is None]
        dates = [name for name, kind in kinds.items() if kind and kind.is_date]
        wanting = [name for name, kind in kinds.items() if kind and kind.needs_range]
        numbers = [name for name in wanting if name not in dates]
        return cls(strings, dates, numbers, empty, unusable)


def _advice(columns: _Columns, output: str, *, has_types: bool) -> list[str]:
    """Return what to do with the draft, as lines that fit into the terminal."""
    file = "the schema" if output == STANDARD else output
    lines = [] if output == STANDARD else [f"The schema was written to {output}.", ""]
    lines += _section("String columns, which need levels", columns.strings, _LEVELS, file=file)
    lines += _section(
        "Numeric columns without bounds", columns.numbers, _NUMBERS, **_costs_of_ranges()
    )
    lines += _section("Date columns without bounds", columns.dates, _DATES)
    lines += _section(
        "Columns that start with missing values only, assumed to be numeric", columns.empty
    )
    named = [*columns.strings, *columns.numbers]
    if sum(map(_is_number, named)) * 2 > len(named):
        lines.append(paragraph(_NO_HEADER))
    if not has_types:
        lines.append(paragraph(_GUESSED))
    return lines + _section("Columns that cannot be features", columns.unusable, _UNUSABLE)


_LEVELS = (
    'List all possible levels of each column in {file}, as in "levels": ["no", "yes"]. Take them '
    "from a form or a codebook, not from the data. All values that are not listed are treated "
    "alike. A person-ID column needs no levels: use --unit for it in the fit, and --without for "
    "other columns that are not features."
)
_NUMBERS = (
    "Bounds are optional. Without them, the fit estimates ranges privately, for about {features} "
    "of the budget for all columns together and {target} for the target: as if mu were {less} "
    'smaller. If bounds are public, add "low": 0, "high": 120 after "kind": "numeric". This costs '
    'little, and values outside are clipped. For zeros and ones, write "kind": "binary"; numbers '
    'that are codes are levels: "kind": "categorical", "levels": [1, 2]. Identifiers, '
    "such as a customer number or a row index, are not features: leave them out of the fit with "
    "--without."
)
_DATES = (
    "Dates become days since 1970-01-01. Bounds are optional, as for numbers; public ones are "
    'written "low": "2021-01-01", "high": "2025-12-31" after "kind": "date".'
)
_UNUSABLE = (
    "They contain lists, records or bytes and are not in the schema. Leave them out of the fit "
    "with --without."
)
_NO_HEADER = (
    "Most column names are numbers. If the file has no header, the schema now contains its first "
    "row: delete the schema, and add a line with column names to the file."
)
_GUESSED = "CSV files have no types. These were guessed from the start of the file: check them."


def _section(title: str, names: list[str], text: str = "", **values: str) -> list[str]:
    """Return a heading with names and an indented text; nothing if there are no names."""
    if not names:
        return []
    # A column without a name has to be visible, too.
    heading = paragraph(f"{title}: {', '.join(name or repr(name) for name in names)}")
    for name, value in values.items():
        text = text.replace(f"{{{name}}}", value)
    return [heading, paragraph(text, "  ")] if text else [heading]


def _costs_of_ranges() -> dict[str, str]:
    """Return the shares of the budget that ranges cost, in percent."""
    from dpfit.engine.constants import Shares

    shares = Shares()
    # Powers of two, and equal bins.
    features, target = 2 * shares.feature_look, 2 * shares.target_look
    # Shares are of the square of mu.
    less = 1.0 - (1.0 - features - target) ** 0.5
    parts = {"features": features, "target": target, "less": less}
    return {name: f"{100 * part:.0f} %" for name, part in parts.items()}


def _is_number(name: str) -> bool:
    try:
        float(name)
    except ValueError:
        return False
    return True
