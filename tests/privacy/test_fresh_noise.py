"""Processes and threads of every kind draw their own noise, and none of them waits for another.

The target has no relation to the features, and the budget is small, so every released number is
mostly noise. Two fits give the same double with probability below 1e-12.
"""

import concurrent.futures
import contextlib
import multiprocessing
import os
import subprocess
import sys
import sysconfig
import threading

import joblib
import numpy as np
import pytest
from sklearn.base import clone

from dpfit import (
    AdaSSP,
    DpfitError,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    TukeyEM,
    _native,
)
from dpfit._forks import this_process
from dpfit.accounting import PrivacyRecord
from dpfit.release import Releaser
from dpfit.statistics import RowCount, Table

PATIENCE = 240.0
DRAWS = 200
METHODS = [
    name
    for name in ("fork", "forkserver", "spawn")
    if name in multiprocessing.get_all_start_methods()
]
rng = np.random.default_rng(0)
# Above 200,000 values the core uses its threads.
X, Y = rng.normal(size=(70_000, 3)), rng.normal(size=70_000)
FEW = slice(0, 300)
ESTIMATORS = {
    "linear": PrivateLinearRegression(epsilon=0.1, n_jobs=2),
    "additive": PrivateAdditiveRegression(epsilon=0.1, n_jobs=2),
    "adassp": AdaSSP(epsilon=0.1, n_jobs=2),
}

pytestmark = [
    # Python 3.12 warns of forks in processes with threads. That is the subject here.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]


def draw(_=None):
    """Return one number of noise, from 90 bits."""
    return _native.rounded_gaussian(2.0**90, 1, _native.Entropy())[0]


def released(name, rows=slice(None)):
    """Return a number of a new fit that depends on all its noise."""
    model = clone(ESTIMATORS[name]).fit(X[rows], Y[rows])
    return float(model.coef_[0] if name == "adassp" else model.intercept_)


def all_differ(values):
    return len(set(values)) == len(values)


def repeated(values):
    """Return whether values are copies; a few equal ones among many are enough."""
    return not all_differ(values)


def test_200_copies_of_one_draw_are_rejected():
    """What the tests below would say of a generator that a fork has copied."""
    copied = [draw()] * DRAWS
    assert repeated(copied)
    assert repeated([*copied[:2], *(draw() for _ in range(DRAWS - 2))])
    assert not repeated([draw() for _ in range(DRAWS)])


@pytest.mark.parametrize("method", METHODS)
def test_processes_draw_their_own_noise(method):
    context = multiprocessing.get_context(method)
    draw()
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        values = list(pool.map(draw, range(DRAWS), timeout=PATIENCE))
    assert not repeated([*values, draw()])


@pytest.mark.skipif("fork" not in METHODS, reason="the system has no fork")
def test_200_forks_of_one_process_draw_200_values():
    """Each child begins with the same memory, and draws once."""
    entropy = _native.Entropy()
    _native.rounded_gaussian(2.0**90, 5, entropy)
    values = []
    for _ in range(DRAWS):
        readable, writable = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                value = _native.rounded_gaussian(2.0**90, 1, entropy)[0]
                os.write(writable, str(value).encode())
            finally:
                os._exit(0)
        os.close(writable)
        with os.fdopen(readable) as pipe:
            values.append(int(pipe.read()))
        assert os.waitpid(child, 0)[1] == 0
    assert not repeated(values)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_process_forked_in_the_middle_of_a_fit_does_not_go_on():
    """Both would draw noise for the same sums, and a ledger was charged once."""
    table = Table.of(X[FEW], Y[FEW])
    paid = []
    releaser = Releaser(_native.Entropy(), "add_remove", reserve=lambda: paid.append(os.getpid()))
    releaser.release(table, RowCount(), 1.0)
    if (child := os.fork()) == 0:
        refused = 0
        for act in (
            lambda: releaser.release(table, RowCount(), 1.0),
            releaser.random,
            lambda: releaser.record(*releaser.events),
        ):
            try:
                act()
            except DpfitError as error:
                refused += "forked in the middle" in str(error)
        os._exit(refused)
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 3
    releaser.release(table, RowCount(), 1.0)
    assert paid == [os.getpid()]


# The first process of a container has the number 1, and so has its child in another container.
SAME_NUMBER = """
import ctypes, os, sys
import numpy as np
from dpfit import DpfitError, _native
from dpfit.release import Releaser
from dpfit.statistics import RowCount, Table
NEW_NUMBERS = 0x20000000

def child(act):
    if (number := os.fork()) == 0:
        os._exit(act())
    return os.waitstatus_to_exitcode(os.waitpid(number, 0)[1])

def new_numbers():
    if ctypes.CDLL(None).unshare(NEW_NUMBERS) != 0:
        os._exit(77)

def first():
    assert os.getpid() == 1
    table = Table.of(np.zeros((70_000, 3)), np.zeros(70_000), n_jobs=2)
    releaser = Releaser(_native.Entropy(), "add_remove", n_jobs=2)
    releaser.release(table, RowCount(), 1.0)
    new_numbers()
    def second():
        assert os.getpid() == 1
        # Its parent had threads, and it has none.
        noise = _native.rounded_gaussian(2.0**90, 300_000, _native.Entropy(), n_jobs=2)
        assert len(noise) == 300_000
        try:
            releaser.release(table, RowCount(), 1.0)
        except DpfitError as error:
            return 3 if "forked in the middle" in str(error) else 4
        return 5
    return child(second)

new_numbers()
sys.exit(child(first))
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs containers of Linux")
def test_a_forked_process_with_the_number_of_its_parent_is_noticed():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", SAME_NUMBER], timeout=PATIENCE, check=False
    )
    if done.returncode == 77:
        pytest.skip("this user cannot create containers")
    assert done.returncode == 3


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_number_of_a_process_that_is_used_again_is_noticed(monkeypatch):
    """As above, for users who cannot create containers."""
    ours = this_process()
    assert this_process() == ours
    monkeypatch.setattr(os, "getpid", lambda: ours[0])
    if (child := os.fork()) == 0:
        if (grandchild := os.fork()) == 0:
            os._exit(this_process() != ours)
        _, status = os.waitpid(grandchild, 0)
        os._exit(os.waitstatus_to_exitcode(status) + (this_process() != ours))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 2
    assert this_process() == ours


def test_threads_draw_their_own_noise():
    """A source that two threads use at the same moment refuses one of them."""
    entropy = _native.Entropy()

    def from_shared(_):
        try:
            return _native.rounded_gaussian(2.0**90, 1, entropy)[0]
        except RuntimeError as error:
            if "in use by another thread" not in str(error):
                raise
            return None

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        own = list(pool.map(draw, range(DRAWS), timeout=PATIENCE))
        found = list(pool.map(from_shared, range(DRAWS), timeout=PATIENCE))
    shared = [value for value in found if value is not None]
    assert shared
    assert not repeated([*own, *shared])


@pytest.mark.parametrize(
    ("method", "name"),
    [
        (method, name)
        for method in METHODS
        for name in ESTIMATORS
        if method == "fork" or name == "linear"
    ],
)
def test_fits_in_processes_after_a_fit_in_the_parent(method, name):
    """The parent has used its threads, which a forked child does not have."""
    values = [released(name)]
    context = multiprocessing.get_context(method)
    with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
        values += pool.map(released, [name] * 2, timeout=PATIENCE)
    assert all_differ(values)


@pytest.mark.parametrize("backend", ["loky", "threading", "multiprocessing"])
def test_fits_in_joblib(backend):
    values = [released("linear")]
    parallel = joblib.Parallel(2, backend=backend, timeout=PATIENCE)
    values += parallel(joblib.delayed(released)("linear") for _ in range(2))
    assert all_differ(values)


def test_an_unfitted_estimator_that_was_copied_to_many_fits_has_no_shared_noise():
    """One object, pickled to every worker: a generator in it would be copied, too."""
    estimator = TukeyEM(epsilon=50.0, delta=0.1, n_models=20)
    # joblib may send several tasks to a worker in one pickle. These then share one estimator, so
    # the result of each fit is read before the next one.
    parallel = joblib.Parallel(2, backend="loky", timeout=PATIENCE)
    found = parallel(joblib.delayed(choice_of)(estimator) for _ in range(6))
    assert all_differ([coef for coef in found if coef is not None])


def choice_of(estimator):
    """Fit, and return the coefficients' bytes, or None if the check failed."""
    model = estimator.fit(X[FEW], Y[FEW])
    assert isinstance(model.privacy_, PrivacyRecord)
    return model.coef_.tobytes() if model.passed_ else None


def in_threads(act, threads=8):
    """Call `act` in several threads at once."""
    start = threading.Barrier(threads)

    def run():
        start.wait()
        act()

    started = [threading.Thread(target=run) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def test_threads_that_share_a_source_of_noise_draw_different_noise_or_are_refused():
    entropy, drawn = _native.Entropy(), []

    def draw_many():
        for _ in range(100):
            with contextlib.suppress(RuntimeError):
                drawn.append(_native.rounded_gaussian(2.0**90, 1, entropy)[0])

    in_threads(draw_many)
    assert drawn
    assert not repeated(drawn)


def test_threads_that_share_a_sum_lose_no_row():
    """Without an interpreter lock, too: a sum is changed by one thread at a time, or not at all."""
    total, one = (Table.of(X[:n], Y[:n]).sum(RowCount()) for n in (20, 1))
    merged = []

    def merge():
        for _ in range(500):
            try:
                total.merge(one)
            except RuntimeError:
                continue
            merged.append(1)

    in_threads(merge)
    assert total.rows == 20 + len(merged)
    assert merged


def test_the_core_does_not_enable_the_lock_of_the_interpreter():
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        pytest.skip("this interpreter always has its lock")
    code = "import sys, dpfit._native; raise SystemExit(sys._is_gil_enabled())"
    assert subprocess.run([sys.executable, "-W", "error", "-c", code], check=False).returncode == 0


def test_fits_in_threads_while_others_fork():
    """Locks that a thread holds at the moment of a fork are held for good in the child.

    The test runs in a process of its own: threads of pytest's workers hold locks, too.
    """
    if "fork" not in METHODS:
        pytest.skip("the system has no fork")
    code = """
import multiprocessing, threading, warnings
import numpy as np
from dpfit import PrivateLinearRegression
warnings.simplefilter("ignore", DeprecationWarning)
rng = np.random.default_rng(0)
X, y = rng.normal(size=(70_000, 3)), rng.normal(size=70_000)
done, values = threading.Event(), []
def released(_=None):
    return float(PrivateLinearRegression(epsilon=0.1, n_jobs=2).fit(X, y).intercept_)
def busy():
    while not done.is_set():
        values.append(released())
threads = [threading.Thread(target=busy) for _ in range(2)]
for thread in threads:
    thread.start()
for _ in range(3):
    with multiprocessing.get_context("fork").Pool(2) as pool:
        values += pool.map(released, range(2))
done.set()
for thread in threads:
    thread.join()
assert len(set(values)) == len(values)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=False)
    assert done.returncode == 0


def test_a_process_that_ends_in_the_middle_of_a_fit_does_not_hang():
    """Threads of the core, and the one that holds BLAS, do not keep a process alive."""
    code = """
import threading, numpy as np, sys
from dpfit import PrivateLinearRegression, release
true, reached = release.Releaser.release, threading.Event()
def slow(*arguments):
    reached.set()
    threading.Event().wait()
release.Releaser.release = slow
x = np.zeros((100_000, 3))
threading.Thread(target=PrivateLinearRegression().fit, args=(x, x[:, 0]), daemon=True).start()
reached.wait()
sys.exit(7)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=PATIENCE, check=False)
    assert done.returncode == 7
