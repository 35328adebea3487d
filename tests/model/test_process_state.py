"""What a fit leaves in its process: BLAS threads as before, few threads of its own."""

import concurrent.futures
import os
import subprocess
import sys
import textwrap
import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from dpfit import PrivateLinearRegression
from dpfit._blas_threads import one_blas_thread

PATIENCE = 60.0


def blas_threads():
    """Return the number of threads of each BLAS library."""
    return [
        library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"
    ]


@pytest.fixture
def two_threads():
    """Let BLAS have two threads, also on a machine with one core."""
    assert blas_threads()
    before = blas_threads()[0]
    set_threads(2)
    assert set(blas_threads()) == {2}
    yield
    set_threads(before)


def set_threads(count):
    """Set the number in a thread that ends: otherwise no other thread could change it."""
    thread = threading.Thread(target=threadpool_limits, args=(count, "blas"))
    thread.start()
    thread.join(PATIENCE)


@pytest.mark.usefixtures("two_threads")
def test_fits_that_end_out_of_order_leave_blas_as_it_was():
    """The first to begin is the first to end: the second began when there was one thread."""
    entered, began, ended = (threading.Event() for _ in range(3))
    seen = {}

    def first():
        with one_blas_thread():
            entered.set()
            began.wait(PATIENCE)
        ended.set()

    thread = threading.Thread(target=first)
    thread.start()
    assert entered.wait(PATIENCE)
    with one_blas_thread():
        began.set()
        assert ended.wait(PATIENCE)
        # The first has ended. The second still needs the limit.
        seen["while the second runs"] = set(blas_threads())
    thread.join(PATIENCE)
    seen["afterwards"] = set(blas_threads())
    assert seen == {"while the second runs": {1}, "afterwards": {2}}


@pytest.mark.usefixtures("two_threads")
def test_fits_in_many_threads_leave_blas_as_it_was():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))

    def fit(rows):
        PrivateLinearRegression(epsilon=1.0, n_jobs=1).fit(X[:rows], X[:rows, 0])

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(fit, range(100, 500, 20)))
    assert set(blas_threads()) == {2}


@pytest.mark.usefixtures("two_threads")
def test_a_failed_fit_leaves_blas_as_it_was():
    with pytest.raises(ZeroDivisionError), one_blas_thread():
        raise ZeroDivisionError
    assert set(blas_threads()) == {2}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
def test_a_child_forked_during_a_fit_can_fit():
    """The lock may be held by a thread that the child does not have."""
    script = """
        import os, sys, threading
        from threadpoolctl import threadpool_info, threadpool_limits
        import numpy
        from dpfit import _blas_threads

        limit, ready, done = _blas_threads._LIMIT, threading.Event(), threading.Event()

        def fit():
            with _blas_threads.one_blas_thread():
                with limit._lock:
                    ready.set()
                    done.wait()

        def threads():
            return {m["num_threads"] for m in threadpool_info() if m["user_api"] == "blas"}

        # In a thread that ends: otherwise no other thread could change it.
        setting = threading.Thread(target=threadpool_limits, args=(2, "blas"))
        setting.start()
        setting.join()
        thread = threading.Thread(target=fit)
        thread.start()
        ready.wait()
        child = os.fork()
        if child == 0:
            with _blas_threads.one_blas_thread():
                assert threads() == {1}
            os._exit(0 if threads() == {2} else 3)
        status = os.waitpid(child, 0)[1]
        done.set()
        thread.join()
        assert threads() == {2}
        sys.exit(os.waitstatus_to_exitcode(status))
    """
    command = [sys.executable, "-W", "ignore", "-c", textwrap.dedent(script)]
    assert subprocess.run(command, timeout=PATIENCE, check=False).returncode == 0


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_pools_of_many_sizes_are_not_kept():
    """Once every value of `n_jobs` kept its threads until the process ended."""
    script = """
        import os, time
        import numpy as np
        from dpfit import _native

        def threads():
            # The names of threads are in the process's folder.
            found = 0
            for task in os.listdir("/proc/self/task"):
                try:
                    found += open(f"/proc/self/task/{task}/comm").read().startswith("dpfit-")
                except OSError:
                    pass
            return found

        row_map = _native.RowMap([(0.0, 1.0, [(-np.inf, np.inf, 1.0)])] * 4, step=1e-3)
        x = np.zeros((100_000, 4))
        for n_jobs in (*range(2, 40), 200, 2, 3):
            _native.Gram(row_map).extend(row_map, x, x[:, 0], n_jobs=n_jobs)
        # A thread that was told to end needs a moment.
        end = time.monotonic() + 60
        while threads() > 5 and time.monotonic() < end:
            time.sleep(0.01)
        assert threads() == 5, threads()
    """
    command = [sys.executable, "-c", textwrap.dedent(script)]
    subprocess.run(command, timeout=2 * PATIENCE, check=True)
