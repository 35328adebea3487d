"""Fit an estimator many times to both tables of a pair, in this process or in several."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any, Protocol

from sklearn.base import clone
from sklearn.utils.parallel import Parallel, delayed

from dpfit.audit.likelihood import Path, path_of
from dpfit.audit.neighbours import Neighbours
from dpfit.audit.outputs import Outputs, Reader

__all__ = ["BlackBox", "Transcript", "copied", "fit_once", "sampled"]

# Fits of both tables between two reports of progress.
_BATCH = 10
# Batches that wait for each process, so that none is idle.
_QUEUED = 4


class Work(Protocol):
    """What is done with one fit of each table."""

    def start(self, estimator: Any) -> None:
        """Get copies of the estimator."""

    def __call__(self, pair: Neighbours, own: int) -> Any:
        """Fit one of the tables and return what is kept."""


class BlackBox:
    """Fits and keeps the outputs."""

    def __init__(self, read: Reader) -> None:
        self._read = read

    def start(self, estimator: Any) -> None:
        """Copy the estimator."""
        self._estimator = copied(estimator)

    def __call__(self, pair: Neighbours, own: int) -> Outputs:
        """Fit the copy again: noise that is kept from fit to fit shows."""
        return self._read(fit_once(self._estimator, (pair.first, pair.second)[own]))


class Transcript:
    """Fits, replays the fit on the other table, and keeps the comparison."""

    def __init__(self, read: Reader) -> None:
        self._read = read

    def start(self, estimator: Any) -> None:
        """Copy the estimator twice."""
        self._fitted, self._again = copied(estimator), copied(estimator)

    def __call__(self, pair: Neighbours, own: int) -> Path:
        """Fit one table and replay the other."""
        return path_of(self._fitted, self._again, (pair.first, pair.second), own, self._read)


def copied(estimator: Any) -> Any:
    """Return an unfitted copy of an estimator, or a copy of any other object.

    It has no ledger: the rows of an audit are made up, so that nobody's budget is spent on them.
    """
    if hasattr(estimator, "get_params"):
        found = clone(estimator)
        # Also those of the steps of a pipeline, which are called step__ledger.
        ledgers = [
            name
            for name, value in found.get_params().items()
            if name.split("__")[-1] == "ledger" and value is not None
        ]
        return found.set_params(**dict.fromkeys(ledgers))
    return copy.deepcopy(estimator)


def fit_once(estimator: Any, table: Any) -> Any:
    """Fit an object and return what is fitted."""
    fitted = estimator.fit(**table) if isinstance(table, dict) else estimator.fit(*table)
    # Some libraries return nothing.
    return estimator if fitted is None else fitted


def sampled(
    estimator: Any,
    pair: Neighbours,
    work: Work,
    n_fits: int,
    n_jobs: int | None,
    progress: Callable[[int], None],
) -> tuple[list[Any], list[Any]]:
    """Return what is kept of `n_fits` fits of either table.

    Fits of the two tables alternate. In one process, one copy of the estimator is fitted again and
    again, as by a user who keeps the object.
    """
    counts = [min(_BATCH, n_fits - start) for start in range(0, n_fits, _BATCH)]
    kept: tuple[list[Any], list[Any]] = [], []
    for first, second in _batches(estimator, pair, work, counts, n_jobs):
        kept[0].extend(first)
        kept[1].extend(second)
        progress(2 * len(first))
    return kept


def _batches(
    estimator: Any, pair: Neighbours, work: Work, counts: list[int], n_jobs: int | None
) -> Iterator[tuple[list[Any], list[Any]]]:
    if n_jobs is None or n_jobs == 1:
        work.start(estimator)
        for count in counts:
            yield _batch(work, pair, count)
        return
    with Parallel(n_jobs=n_jobs) as parallel:
        size = _QUEUED * n_jobs
        for start in range(0, len(counts), size):
            yield from parallel(
                delayed(_started_batch)(estimator, work, pair, count)
                for count in counts[start : start + size]
            )


def _started_batch(
    estimator: Any, work: Work, pair: Neighbours, count: int
) -> tuple[list[Any], list[Any]]:
    work.start(estimator)
    return _batch(work, pair, count)


def _batch(work: Work, pair: Neighbours, count: int) -> tuple[list[Any], list[Any]]:
    kept: tuple[list[Any], list[Any]] = [], []
    for _ in range(count):
        for own in (0, 1):
            kept[own].append(work(pair, own))
    return kept
