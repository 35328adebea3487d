"""Running pieces of work in several processes."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import threadpoolctl

from dpfit.experiments.plan import Plan, Unit
from dpfit.experiments.work import do

__all__ = ["run"]


def run(units: Sequence[Unit], plan: Plan, path: Path, jobs: int) -> Iterator[tuple[Unit, float]]:
    """Do all work and yield each piece when it is done, with its seconds.

    Parameters
    ----------
    units : sequence of Unit
        What to do, in order.
    plan : Plan
        How.
    path : Path
        The store.
    jobs : int
        Processes; 1 for this one alone.

    Yields
    ------
    Unit, float
        What is done, and the seconds it took now.
    """
    if jobs == 1:
        with threadpoolctl.threadpool_limits(1):
            for unit in units:
                yield unit, do(unit, plan, path)
        return
    # Not forked: threads of the core and of linear algebra may be running.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_prepare
    ) as pool:
        waiting = {pool.submit(do, unit, plan, path): unit for unit in units}
        try:
            for future in concurrent.futures.as_completed(waiting):
                yield waiting.pop(future), future.result()
        except BaseException:
            # What is under way is lost; what is done is in the store.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _prepare() -> None:
    """Set up a process: one thread of linear algebra, and no life without its parent."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpoolctl.threadpool_limits(1)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: multiprocessing.process.BaseProcess) -> None:
    """End this process when its parent has ended, however that came about."""
    parent.join()
    os._exit(1)
