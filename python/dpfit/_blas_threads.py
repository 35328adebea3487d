"""One BLAS thread while fits run, and as many as before when the last of them has ended."""

from __future__ import annotations

import contextlib
import functools
import os
import threading
from collections.abc import Iterator
from typing import Any

from threadpoolctl import ThreadpoolController

__all__ = ["one_blas_thread"]


class _Keeper:
    """A thread that sets the limit and, on request, restores the previous one.

    Since version 3.8 of threadpoolctl, the thread that has set a limit is the only one that can
    change it. Of several fits the last one restores it, which need not be the one that began first.

    Parameters
    ----------
    left_behind : limit of threadpoolctl, optional
        A limit of a thread that does not exist any more. It is restored before.
    """

    def __init__(self, left_behind: Any = None) -> None:
        self.limit = left_behind
        self._is_set, self._done = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=self._keep, name="dpfit-blas", daemon=True)
        self._thread.start()

    def _keep(self) -> None:
        try:
            if self.limit is not None:
                self.limit.restore_original_limits()
            with _libraries().limit(limits=1, user_api="blas") as self.limit:
                self._is_set.set()
                self._done.wait()
        finally:
            self._is_set.set()

    def wait(self) -> None:
        """Wait until the limit is set."""
        self._is_set.wait()

    def end(self) -> None:
        """Restore what was before the limit."""
        self._done.set()
        self._thread.join()


class _SharedLimit:
    """A limit that all fits of the process share.

    The number of BLAS threads belongs to the process. If each fit restored the number that it
    found, the fit that began second would restore the limit of the first, for good.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._fits = 0
        self._keeper: _Keeper | None = None
        self._left_behind: Any = None

    @contextlib.contextmanager
    def held(self) -> Iterator[None]:
        """Hold the limit."""
        entered = False
        try:
            with self._lock:
                self._fits += 1
                entered = True
                if self._keeper is None:
                    self._keeper = _Keeper(self._left_behind)
                    self._left_behind = None
                self._keeper.wait()
            yield
        finally:
            if entered:
                self._leave()

    def _leave(self) -> None:
        with self._lock:
            self._fits = max(self._fits - 1, 0)
            if self._fits == 0 and self._keeper is not None:
                self._keeper.end()
                self._keeper = None

    def forget_threads(self) -> None:
        """Start again in a forked child, in which other threads and their fits do not exist.

        The next fit of the child restores what its parent had before the limit.
        """
        self._lock = threading.Lock()
        self._fits = 0
        if self._keeper is not None:
            self._left_behind, self._keeper = self._keeper.limit, None


_LIMIT = _SharedLimit()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_LIMIT.forget_threads)


@contextlib.contextmanager
def one_blas_thread() -> Iterator[None]:
    """Let BLAS have one thread, in the whole process, until the last of such contexts ends.

    Its threads, idle between small matrices, would spin while the core's threads go over the rows:
    with both, a round takes twice as long.
    """
    # With OpenMP, each thread has its own limit.
    of_this_thread = _libraries().select(threading_layer="openmp")
    with _LIMIT.held(), of_this_thread.limit(limits=1, user_api="blas"):
        yield


@functools.cache
def _libraries() -> ThreadpoolController:
    """Return the controller of BLAS threads; finding the libraries takes milliseconds."""
    return ThreadpoolController()
