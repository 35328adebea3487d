"""Tables that become lists on a narrow screen."""

from __future__ import annotations

from collections.abc import Sequence

from dpfit.models.report.markup import Child, Html, element, joined

__all__ = ["facts_grid", "table"]

# Longer values are sentences.
_SHORT = 30


def table(
    columns: Sequence[Child],
    rows: Sequence[Sequence[Child]],
    *,
    labels: Sequence[str] | None = None,
    wide: int | None = None,
    style: str = "",
) -> Html:
    """Return a table, whose first column has the names of rows.

    Parameters
    ----------
    columns : sequence of Html, str or None
        Headings.
    rows : sequence of sequences of Html, str or None
        The cells of each row.
    labels : sequence of str, optional
        What cells are called on a narrow screen, which has no headings; `columns` by default.
    wide : int, optional
        The position of the column that takes the remaining width.
    style : str
        Further classes.
    """
    names = [str(name or "") for name in columns] if labels is None else list(labels)
    return element(
        "table",
        element(
            "thead",
            element(
                "tr",
                *(
                    element("th", name, scope="col", class_="wide" if i == wide else None)
                    for i, name in enumerate(columns)
                ),
            ),
        ),
        element("tbody", *(_row(names, row, wide) for row in rows)),
        class_=f"stack {style}".strip(),
    )


def _row(names: Sequence[str], row: Sequence[Child], wide: int | None) -> Html:
    first, *others = row
    cells = []
    for place, (name, cell) in enumerate(zip(names[1:], others, strict=True), 1):
        style = "wide" if place == wide else (None if cell else "empty")
        cells.append(element("td", cell, data_label=name or None, class_=style))
    return element("tr", element("th", first, scope="row"), *cells)


def facts_grid(facts: Sequence[tuple[str, Child]]) -> Html:
    """Return names and values as a grid."""
    return element(
        "dl",
        *(
            element("div", element("dt", name), element("dd", _unbroken(value)))
            for name, value in facts
            if value
        ),
        class_="facts",
    )


def _unbroken(value: Child) -> Child:
    """Return text in which short numbers such as 1e-06 stay on one line."""
    if value is None or isinstance(value, Html) or len(value) > _SHORT:
        return value
    parts: list[Child] = []
    for piece in value.split(", "):
        parts += [", " if parts else None, element("span", piece, class_="unbroken")]
    return joined(*parts)
