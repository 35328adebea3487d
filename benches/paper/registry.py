"""The paper's 33 tasks, from its table of data sets."""

from __future__ import annotations

import csv
import functools
from dataclasses import dataclass
from importlib.resources import files

__all__ = ["Task", "difference", "registry", "twins"]

# Two tasks with different names that use the same census.
_SAME_DATA = frozenset({361078, 361089})
# The paper prints six decimals of the bound.
_PRINTED = 5e-7


@dataclass(frozen=True)
class Task:
    """A row of the paper's table.

    Parameters
    ----------
    number : int
        The task number on OpenML.
    name : str
        The name of the data set on OpenML.
    n : int
        Rows without missing values.
    columns : int
        Columns without the target.
    d : int
        Columns after one-hot encoding.
    bound : float
        Largest absolute value of the target.
    """

    number: int
    name: str
    n: int
    columns: int
    d: int
    bound: float


@functools.cache
def registry() -> dict[int, Task]:
    """Return the paper's tasks by number.

    Examples
    --------
    >>> from paper.registry import registry
    >>> len(registry()), registry()[361076].name
    (33, 'wine_quality')
    """
    text = files("paper").joinpath("registry.csv").read_text("utf-8")
    return {
        int(row["task"]): Task(
            number=int(row["task"]),
            name=row["name"],
            n=int(row["n"]),
            columns=int(row["columns"]),
            d=int(row["d"]),
            bound=float(row["bound"]),
        )
        for row in csv.DictReader(text.splitlines())
    }


def twins(number: int) -> set[int]:
    """Return the other tasks that use the same data.

    Parameters
    ----------
    number : int
        A task.

    Returns
    -------
    set of int
        Empty for most tasks.
    """
    tasks = registry()
    if number not in tasks:
        return set()
    found = {other for other, task in tasks.items() if task.name == tasks[number].name}
    return (found | (_SAME_DATA if number in _SAME_DATA else set())) - {number}


def difference(task: Task, *, n: int, d: int, bound: float) -> str:
    """Describe how a table differs from the paper's.

    Parameters
    ----------
    task : Task
        The paper's description.
    n, d, bound
        Those of the table.

    Returns
    -------
    str
        For example ``"n 242000, paper 581835"``; empty if there is no difference.
    """
    found = []
    if n != task.n:
        found.append(f"n {n}, paper {task.n}")
    if d != task.d:
        found.append(f"d {d}, paper {task.d}")
    if abs(bound - task.bound) > _PRINTED * max(1.0, task.bound):
        found.append(f"max |y| {bound:.7g}, paper {task.bound:.7g}")
    return "; ".join(found)
