"""The progress of a run and its remaining time."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from paper.design import Design, WorkItem
from paper.methods import METHODS

__all__ = ["Clock", "Progress"]


class Clock:
    """Estimate the remaining time from expected and measured times.

    Parameters
    ----------
    items : iterable of WorkItem
        All work items.
    design : Design
        The design of the run.
    jobs : int
        Number of processes.
    """

    def __init__(self, items: Iterable[WorkItem], design: Design, jobs: int) -> None:
        self.design, self.jobs = design, jobs
        self.left = {item: item.cost(design) for item in items}
        # Expected and measured seconds for each method and setting, and for all.
        self.seen: dict[str, tuple[float, float]] = {}

    def done(self, item: WorkItem, seconds: float) -> None:
        """Count a work item as done. One that took no time was done before."""
        guess = self.left.pop(item)
        if seconds == 0.0:
            return
        for name in (item.method + item.setting, ""):
            guessed, passed = self.seen.get(name, (0.0, 0.0))
            self.seen[name] = (guessed + guess, passed + seconds)

    def seconds_left(self) -> float | None:
        """Return the estimate; None before the first measured time."""
        if "" not in self.seen:
            return None
        total = 0.0
        for item, guess in self.left.items():
            guessed, passed = self.seen.get(item.method + item.setting, self.seen[""])
            total += guess * passed / guessed
        return total / self.jobs


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


class Progress:
    """A progress bar on the terminal.

    Parameters
    ----------
    items : sequence of WorkItem
        All work items.
    design : Design
        The design of the run.
    jobs : int
        Number of processes.
    show : bool or None
        Whether to show the bar; None to show it only on a terminal.
    """

    def __init__(
        self, items: list[WorkItem], design: Design, jobs: int, show: bool | None = None
    ) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        show = sys.stderr.isatty() if show is None else show
        self.clock = Clock(items, design, jobs)
        self.bar = Bar(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            TextColumn("{task.fields[left]}"),
            console=console,
            disable=not show,
            transient=True,
        )
        self.task = self.bar.add_task("starting", total=len(items), left="")

    def __enter__(self) -> Self:
        self.bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        problem: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.stop()

    def follow(self, done: Iterable[tuple[WorkItem, float]]) -> Iterator[WorkItem]:
        """Yield finished work items and update the bar."""
        for item, seconds in done:
            self.clock.done(item, seconds)
            left = self.clock.seconds_left()
            self.bar.update(
                self.task,
                advance=1,
                description=f"{item.entry.name}: {METHODS[item.method].label}, {item.setting}",
                left="" if left is None else f"about {_duration(left)} left",
            )
            yield item
