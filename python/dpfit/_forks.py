"""Tell a process from those that it was forked from."""

from __future__ import annotations

import os

from dpfit import _native

__all__ = ["this_process"]

_forks = 0


def _count() -> None:
    """Note in a child that it was forked, before anything else runs there."""
    global _forks
    _forks += 1
    _native.forked()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_count)


def this_process() -> tuple[int, int]:
    """Return what no process has in common with one that it was forked from.

    It is the number of the process and the number of forks before it. Numbers of processes that
    have ended are used again, and containers count from one: a child of a child can have the number
    of its parent's parent. The first one notices forks by code that is not Python's.
    """
    return os.getpid(), _forks
