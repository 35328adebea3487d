"""Write the tables of arguments and options into docs/reference/command_line.md, from typer.

    python tools/option_tables.py

Each table stands between ``<!-- options: dpfit fit -->`` and ``<!-- end of options -->``. A test
compares the page with what this script would write.
"""

from __future__ import annotations

import enum
import pathlib
import re
import typing
from typing import Any

import typer

from dpfit.cli.run import app

PAGE = pathlib.Path(__file__).resolve().parents[1] / "docs" / "reference" / "command_line.md"
_PLACE = re.compile(
    r"(<!-- options: (?P<name>[a-z ]+) -->\n).*?(<!-- end of options -->)", re.DOTALL
)
# Options of every command, which the page describes once.
_COMMON = {"--help", "--install-completion", "--show-completion"}


def commands(command: Any, name: str = "dpfit") -> dict[str, Any]:
    """Return all commands that have options of their own, by their whole names."""
    found = {name: command}
    for child_name, child in getattr(command, "commands", {}).items():
        found |= commands(child, f"{name} {child_name}")
    return {name: command for name, command in found.items() if rows(command)}


def rows(command: Any) -> list[str]:
    """Return the lines of a command's table: arguments first, then options."""
    found = []
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            found.append(f"| `{_metavar(command, parameter)}` | {_meaning(command, parameter)} |")
    for parameter in command.params:
        is_option = parameter.param_type_name == "option"
        if (
            is_option
            and not getattr(parameter, "hidden", False)
            and not set(parameter.opts) & _COMMON
        ):
            names = sorted(parameter.opts, key=len, reverse=True)
            is_bare = parameter.is_flag or _choices(command, parameter)
            metavar = "" if is_bare else f" {_metavar(command, parameter)}"
            first = ", ".join(f"`{name}{metavar if name == names[-1] else ''}`" for name in names)
            found.append(f"| {first} | {_meaning(command, parameter)} |")
    return found


def table(command: Any) -> str:
    """Return a command's table of arguments and options."""
    return "\n".join(["| option | meaning |", "|---|---|", *rows(command)]) + "\n"


def written(page: str) -> str:
    """Return the page with the tables of all commands."""
    known = commands(typer.main.get_command(app))
    places = [match["name"] for match in _PLACE.finditer(page)]
    if sorted(places) != sorted(known):
        missing = sorted(set(known) ^ set(places))
        raise SystemExit(
            f"the page has no place for these commands, or they do not exist: {missing}"
        )
    return _PLACE.sub(
        lambda match: match[1] + "\n" + table(known[match["name"]]) + "\n" + match[3], page
    )


def _metavar(command: Any, parameter: Any) -> str:
    text = str(parameter.metavar or parameter.name)
    return text[1:-1] if text.startswith("{") else text


def _meaning(command: Any, parameter: Any) -> str:
    text = " ".join((parameter.help or "").split())
    if values := _choices(command, parameter):
        text += f" One of {', '.join(f'`{value}`' for value in values)}."
    if parameter.required and parameter.param_type_name == "option":
        text += " Required."
    default = parameter.default
    shown = parameter.show_default and not parameter.required and "Default" not in text
    if shown and default not in (None, False, (), []) and not callable(default):
        text += (
            f" Default: `{default:g}`." if isinstance(default, float) else f" Default: `{default}`."
        )
    # Names of options as code.
    parts = re.split(r"(`[^`]*`)", text.strip())
    parts[::2] = [re.sub(r"(--[a-z][a-z-]*)", r"`\1`", part) for part in parts[::2]]
    return "".join(parts)


def _choices(command: Any, parameter: Any) -> list[str]:
    """Return the values that the type of a parameter allows, if it lists them."""
    hints = typing.get_type_hints(command.callback) if command.callback else {}
    return _literals(hints.get(parameter.name))


def _literals(hint: Any) -> list[str]:
    if isinstance(hint, type) and issubclass(hint, enum.Enum):
        return [str(member.value) for member in hint]
    if typing.get_origin(hint) is typing.Literal:
        return [str(value) for value in typing.get_args(hint)]
    return [value for part in typing.get_args(hint) for value in _literals(part)]


def main() -> None:
    """Write the tables into the page."""
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
