"""Execute the projects in docs/projects, and write each as a page with its output and figures.

    python tools/notebooks.py [NAME...]

A project is a Python file whose cells begin with ``# %%``, or ``# %% [markdown]`` for text: the
format that VS Code and Jupytext open as a notebook. All cells run in one namespace, in a temporary
folder. What a cell prints follows it on the page, and so do the figures that it leaves open. A cell
that draws begins with a comment ``# Figure: ...``, which is the text for readers who cannot see it.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import pathlib
import re
import sys
import tempfile
from dataclasses import dataclass
from typing import Any

PROJECTS = pathlib.Path(__file__).resolve().parents[1] / "docs" / "projects"
_CELL = re.compile(r"^# %%(?P<kind> \[markdown\])?\n", re.MULTILINE)
_FIGURE = re.compile(r"# Figure: (.*)")


@dataclass(frozen=True)
class Cell:
    """A piece of a project: Markdown, or code."""

    is_code: bool
    text: str


def cells(text: str) -> list[Cell]:
    """Return the cells of a project."""
    parts = _CELL.split(text)
    if parts[0].strip():
        raise ValueError("a project begins with a cell")
    found = []
    for kind, body in zip(parts[1::2], parts[2::2], strict=True):
        if kind:
            body = re.sub(r"^# ?", "", body, flags=re.MULTILINE)
        found.append(Cell(kind is None, body.strip()))
    return found


def to_notebook(text: str) -> str:
    """Return a project as a Jupyter notebook without outputs."""
    found: list[dict[str, Any]] = []
    for number, cell in enumerate(cells(text)):
        common = {"id": f"cell-{number}", "metadata": {}, "source": cell.text}
        if cell.is_code:
            found.append({"cell_type": "code", "execution_count": None, "outputs": [], **common})
        else:
            found.append({"cell_type": "markdown", **common})
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": found, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, indent=1, ensure_ascii=False) + "\n"


def execute(name: str, text: str, figures: pathlib.Path) -> str:
    """Run a project in the current folder, write its figures, and return its page."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    namespace: dict[str, Any] = {"__name__": "__main__"}
    page = [f"<!-- Written by tools/notebooks.py from {name}.py. Edit that file instead. -->"]
    drawn = 0
    for number, cell in enumerate(cells(text)):
        if not cell.is_code:
            page.append(cell.text)
            continue
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.text, f"{name}.py, cell {number}", "exec"), namespace)
        code = _FIGURE.sub("", cell.text).strip()
        page.append(f"```python\n{code}\n```")
        if printed.getvalue():
            page.append(f"```\n{printed.getvalue().rstrip()}\n```")
        for figure in map(pyplot.figure, pyplot.get_fignums()):
            title = _FIGURE.search(cell.text)
            if title is None:
                raise ValueError(f"cell {number} draws, and has no line '# Figure: ...'")
            drawn += 1
            file = figures / f"{name}_{drawn}.png"
            figure.savefig(file, dpi=130, bbox_inches="tight")
            page.append(f"![{title[1]}](figures/{file.name})")
        pyplot.close("all")
    return "\n\n".join(page) + "\n"


def main(names: list[str]) -> None:
    """Execute projects, all by default."""
    figures = PROJECTS / "figures"
    figures.mkdir(exist_ok=True)
    for source in sorted(PROJECTS.glob("*.py")):
        if names and source.stem not in names:
            continue
        home = os.getcwd()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                page = execute(source.stem, source.read_text("utf-8"), figures)
            finally:
                os.chdir(home)
        source.with_suffix(".md").write_text(page, "utf-8")
        print(f"{source.stem}: done", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
