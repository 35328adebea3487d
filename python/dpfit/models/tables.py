"""Summary tables of fitted models: text, HTML, LaTeX and data frames."""

from __future__ import annotations

import html
import importlib.util
import re
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from dpfit.exceptions import ParameterError
from dpfit.models.names import cleaned, distinct, width_of
from dpfit.models.numbers import NONE

__all__ = ["Summary"]

_NARROWEST = 64
_WIDEST = 100

_RULE = "border-bottom:1px solid rgba(128,128,128,.6)"
_CELL = "padding:.15em .7em;border:0;background:none;font-variant-numeric:tabular-nums"
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    # They would begin an optional argument after the end of a line.
    "[": "{[}",
    "]": "{]}",
}
# Facts on each line below the table: more would make it wider than the page.
_LATEX_FACTS = 3
_BACKENDS = ("pandas", "polars", "pyarrow")


@dataclass(frozen=True, repr=False)
class Summary:
    """The summary of a fitted model: text with `str`, HTML in a notebook.

    Parameters
    ----------
    title : str
        The name of the estimator.
    warning : str
        A warning at the top; empty for none.
    facts : tuple of (str, str)
        Names and values of the block at the top.
    columns : tuple of str
        Column headings; the first column has the names of rows.
    rows : tuple of tuple of str
        The cells of each row.
    notes : tuple of str
        Explanations below the table.
    numbers : tuple of (str, tuple)
        Names and values of the columns of :meth:`to_frame`, with all digits.

    Privacy
    -------
    All numbers are attributes of the fitted model or computed from them, at no privacy cost.
    """

    title: str
    warning: str
    facts: tuple[tuple[str, str], ...]
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...]
    numbers: tuple[tuple[str, tuple[Any, ...]], ...] = ()

    @property
    def _short_names(self) -> list[str]:
        return distinct([row[0] for row in self.rows])

    def __str__(self) -> str:
        """Return the table as text."""
        named = zip(self._short_names, self.rows, strict=True)
        body = _aligned([self.columns, *([name, *row[1:]] for name, row in named)])
        block = _block(self.facts)
        width = max(_NARROWEST, *(width_of(line) for line in [*body, *block]))
        lines = [self.title.center(width).rstrip(), "=" * width]
        if self.warning:
            lines += [self.warning, "-" * width]
        lines += [*block, "-" * width, body[0], "-" * width, *body[1:], "=" * width]
        for note in self.notes:
            lines += textwrap.wrap(note, min(width, _WIDEST))
        return "\n".join(lines)

    def __repr__(self) -> str:
        """Return the table as text, for the prompt."""
        return str(self)

    def _repr_html_(self) -> str:
        return self.to_html()

    def to_html(self) -> str:
        """Return the table as HTML, without scripts or links."""
        warning = f'<p style="margin:.3em 0;font-weight:bold;color:#c0392b">{_text(self.warning)}'
        pairs = "".join(
            f'<tr style="background:none">{_cell(name, "th", "left")}{_cell(value, "td", "left")}'
            "</tr>"
            for name, value in self.facts
        )
        named = zip(self._short_names, self.rows, strict=True)
        return (
            '<div style="overflow-x:auto">'
            f'<p style="margin:.3em 0;font-weight:bold">{_text(self.title)}</p>'
            + (f"{warning}</p>" if self.warning else "")
            + f'<table style="border-collapse:collapse;margin:0 0 .6em">{pairs}</table>'
            f'<table style="border-collapse:collapse;{_RULE}">'
            f"<thead>{_table_row(self.columns[0], self.columns, 'th')}</thead>"
            f"<tbody>{''.join(_table_row(name, row, 'td') for name, row in named)}</tbody></table>"
            + "".join(
                f'<p style="margin:.4em 0;max-width:60em;font-size:90%">{_text(note)}</p>'
                for note in self.notes
            )
            + "</div>"
        )

    def to_latex(self) -> str:
        """Return the table as LaTeX: a ``tabular`` with the rules of the package ``booktabs``.

        The last lines of the table have the budget, the protected unit, the number of rows and the
        other facts at the top of the summary. The notes are comments.
        """
        count = len(self.columns)
        lines = [
            *(f"% {cleaned(note)}" for note in self.notes),
            rf"\begin{{tabular}}{{l{'r' * (count - 1)}}}",
            r"\toprule",
            _latex_row(self.columns),
            r"\midrule",
            *(_latex_row(row) for row in self.rows),
            r"\midrule",
        ]
        facts = [f"{name}: {value}" for name, value in self.facts]
        below = ["; ".join(facts[i : i + _LATEX_FACTS]) for i in range(0, len(facts), _LATEX_FACTS)]
        for words in filter(None, (self.warning, *below)):
            lines.append(rf"\multicolumn{{{count}}}{{l}}{{\footnotesize {_latex(words)}}} \\")
        return "\n".join([*lines, r"\bottomrule", r"\end{tabular}"]) + "\n"

    def to_frame(self, backend: str | None = None) -> Any:
        """Return the numbers of the table as a data frame, with all digits.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}, optional
            The library of the frame; None for the first of them that is installed.

        Returns
        -------
        DataFrame or pyarrow Table
            One row for each row of the table. What is not known is missing (None or NaN).
        """
        import narwhals as nw

        if backend is None:
            backend = next(name for name in _BACKENDS if importlib.util.find_spec(name))
        elif backend not in _BACKENDS:
            names = ", ".join(map(repr, _BACKENDS))
            raise ParameterError(f"backend must be one of {names}", subject="backend")
        columns: dict[str, Any] = {name: list(values) for name, values in self.numbers}
        implementation: Any = backend
        return nw.from_dict(columns, backend=implementation).to_native()


def _aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """Return lines with the first column aligned left, the others right."""
    widths = [max(map(width_of, column)) for column in zip(*rows, strict=True)]
    lines = []
    for first, *others in rows:
        line = first + " " * (widths[0] - width_of(first))
        for width, cell in zip(widths[1:], others, strict=True):
            line += "  " + cell.rjust(width)
        lines.append(line.rstrip())
    return lines


def _block(facts: Sequence[tuple[str, str]]) -> list[str]:
    """Return names and values in two columns."""
    pairs = [*facts, ("", "")] if len(facts) % 2 else list(facts)
    sides = []
    for side in (pairs[::2], pairs[1::2]):
        name, value = (max(len(pair[i]) for pair in side) for i in (0, 1))
        sides.append([f"{pair[0]:<{name}}  {pair[1]:<{value}}" for pair in side])
    return [f"{left}      {right}".rstrip() for left, right in zip(*sides, strict=True)]


def _text(text: str) -> str:
    return html.escape(cleaned(text))


def _cell(text: str, tag: str, align: str, full: str = "") -> str:
    title = f' title="{_text(full)}"' if full else ""
    return f'<{tag} style="text-align:{align};{_CELL}"{title}>{_text(text)}</{tag}>'


def _table_row(name: str, cells: Sequence[str], tag: str) -> str:
    first = _cell(name, "th", "left", cells[0] if name != cells[0] else "")
    others = "".join(_cell(cell, tag, "right") for cell in cells[1:])
    style = f"background:none;{_RULE}" if tag == "th" else "background:none"
    return f'<tr style="{style}">{first}{others}</tr>'


def _latex(text: str) -> str:
    return "".join(_LATEX.get(c, c) for c in cleaned(text))


def _latex_row(cells: Sequence[str]) -> str:
    first, *numbers = cells
    return " & ".join([_latex(first), *map(_latex_number, numbers)]) + r" \\"


def _latex_number(text: str) -> str:
    """Return a cell with minus signs: LaTeX prints a hyphen for each that is not in a formula."""
    if text == NONE:
        return "--"
    # Not the hyphens of dates.
    return re.sub(r"(?<![^\s(])-(?=\d)|(?<=\de)-(?=\d)", "$-$", _latex(text))
