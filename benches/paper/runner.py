"""Run work items in several processes."""

from __future__ import annotations

import concurrent.futures
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path

import threadpoolctl

from paper.design import Design, WorkItem
from paper.work import do

__all__ = ["run"]


def run(
    items: Sequence[WorkItem], design: Design, path: Path, jobs: int
) -> Iterator[tuple[WorkItem, float]]:
    """Run all work items and yield each one when it is done.

    Parameters
    ----------
    items : sequence of WorkItem
        The work items, in order.
    design : Design
        The design of the run.
    path : Path
        The store.
    jobs : int
        Number of processes; 1 to use this process.

    Yields
    ------
    WorkItem, float
        A finished work item and the seconds that it took.
    """
    if jobs == 1:
        with threadpoolctl.threadpool_limits(1):
            for item in items:
                yield item, do(item, design, path)
        return
    # No fork: threads of the core and of linear algebra may be running.
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        jobs, mp_context=context, initializer=_prepare
    ) as pool:
        waiting = {pool.submit(do, item, design, path): item for item in items}
        try:
            for future in concurrent.futures.as_completed(waiting):
                yield waiting.pop(future), future.result()
        except BaseException:
            # Unfinished fits are lost; finished ones are in the store.
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _prepare() -> None:
    """Set up a process: one thread for linear algebra, and an end when its parent ends."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threadpoolctl.threadpool_limits(1)
    parent = multiprocessing.parent_process()
    if parent is not None:
        threading.Thread(target=_follow, args=(parent,), daemon=True).start()


def _follow(parent: multiprocessing.process.BaseProcess) -> None:
    """End this process when its parent has ended for any reason."""
    parent.join()
    os._exit(1)
