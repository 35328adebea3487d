"""How far a run is, and how long it will take."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Self

from dpfit.experiments.methods import METHODS
from dpfit.experiments.plan import Plan, Unit

__all__ = ["Clock", "Progress"]


class Clock:
    """Estimates the time left from guesses of costs and from what the work really took.

    Parameters
    ----------
    units : iterable of Unit
        All work.
    plan : Plan
        How it is done.
    jobs : int
        Processes.
    """

    def __init__(self, units: Iterable[Unit], plan: Plan, jobs: int) -> None:
        self.plan, self.jobs = plan, jobs
        self.left = {unit: unit.cost(plan) for unit in units}
        # For every method, and for all: seconds that were guessed, and that passed.
        self.seen: dict[str, tuple[float, float]] = {}

    def done(self, unit: Unit, seconds: float) -> None:
        """Count a piece of work as done; one that took no time was done before."""
        guess = self.left.pop(unit)
        if seconds == 0.0:
            return
        for name in (unit.method + unit.setting, ""):
            guessed, passed = self.seen.get(name, (0.0, 0.0))
            self.seen[name] = (guessed + guess, passed + seconds)

    def seconds_left(self) -> float | None:
        """Return the estimate; None before anything is known."""
        if "" not in self.seen:
            return None
        total = 0.0
        for unit, guess in self.left.items():
            guessed, passed = self.seen.get(unit.method + unit.setting, self.seen[""])
            total += guess * passed / guessed
        return total / self.jobs


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02d}:{seconds:02d}"


class Progress:
    """A bar on the terminal; nothing where there is none.

    Parameters
    ----------
    units : sequence of Unit
        All work.
    plan : Plan
        How it is done.
    jobs : int
        Processes.
    show : bool or None
        Whether to show it; None for only on a terminal.
    """

    def __init__(self, units: list[Unit], plan: Plan, jobs: int, show: bool | None = None) -> None:
        from rich.console import Console
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
        from rich.progress import Progress as Bar

        console = Console(stderr=True)
        show = sys.stderr.isatty() if show is None else show
        self.clock = Clock(units, plan, jobs)
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
        self.task = self.bar.add_task("starting", total=len(units), left="")

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

    def follow(self, done: Iterable[tuple[Unit, float]]) -> Iterator[Unit]:
        """Pass on what is done, and show it."""
        for unit, seconds in done:
            self.clock.done(unit, seconds)
            left = self.clock.seconds_left()
            self.bar.update(
                self.task,
                advance=1,
                description=f"{unit.entry.name}: {METHODS[unit.method].label}, {unit.setting}",
                left="" if left is None else f"about {_duration(left)} left",
            )
            yield unit
