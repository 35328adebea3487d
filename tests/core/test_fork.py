"""A forked child draws its own noise and does not wait for threads that it does not have."""

import os
import pickle
import select
import signal
import sys
import threading

import numpy as np
import pytest

from dpfit import _native

from .oracle import Map

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork"),
    # Python 3.12 warns of forks in processes with threads. That is the subject here.
    pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning"),
]

PATIENCE = 60.0
MAP = Map.plain(8)
SIGMA = 2.0**90


def in_child(work):
    """Start a forked child that does `work`, and return a function that waits for its result."""
    readable, writable = os.pipe()
    child = os.fork()
    if child == 0:
        status = 1
        try:
            os.close(readable)
            with os.fdopen(writable, "wb") as pipe:
                pickle.dump(work(), pipe)
            status = 0
        finally:
            # No clean-up of the parent's affairs.
            sys.stderr.flush()
            os._exit(status)
    os.close(writable)

    def result():
        with os.fdopen(readable, "rb") as pipe:
            ready, _, _ = select.select([pipe], [], [], PATIENCE)
            if not ready:
                os.kill(child, signal.SIGKILL)
            data = pipe.read()
        _, status = os.waitpid(child, 0)
        assert ready, "the child hangs"
        assert status == 0, "the child failed"
        return pickle.loads(data)

    return result


def table():
    # Above 200,000 values the core uses its threads.
    rng = np.random.default_rng(0)
    return rng.normal(size=(60_000, 8)), rng.normal(size=60_000)


def noise(entropy):
    return _native.rounded_gaussian(SIGMA, 20_000, entropy, n_jobs=2)


def everything():
    """Use the threads in every way, and return what does not depend on noise."""
    x, y = table()
    native = MAP.native
    rows, gram = _native.Rows(native), _native.Gram(native)
    counts = _native.Histogram([_native.Bins.powers(-9, 9)] * 9)
    rows.extend(x, y, gram, n_jobs=2)
    counts.extend(x, y, n_jobs=2)
    gradient = _native.Gradient.of(rows, np.ones(8), 2**16, n_jobs=2)
    assert len(noise(_native.Entropy())) == 20_000
    return [statistic.insecure_exact() for statistic in (gram, gradient, counts)]


def test_noise_is_not_repeated():
    entropy = _native.Entropy()
    samples = [noise(entropy)]
    children = [in_child(lambda: noise(entropy)) for _ in range(2)]
    samples += [noise(entropy), noise(entropy)]
    samples += [child() for child in children]
    values = [abs(value) for sample in samples for value in sample]
    # At this scale two of them are equal with probability below 1e-16.
    assert len(values) == 5 * 20_000 == len(set(values))


def test_a_child_works_after_its_parent_used_threads():
    expected = everything()
    assert in_child(everything)() == expected
    # And so does a child's child.
    assert in_child(lambda: in_child(everything)())() == expected
    assert everything() == expected


def test_a_child_works_while_its_parent_uses_threads():
    expected = everything()
    native, done = MAP.native, threading.Event()
    x = np.broadcast_to(np.linspace(-1.0, 1.0, 8), (300_000, 8))
    y = np.broadcast_to(1.0, 300_000)

    def busy():
        while not done.is_set():
            _native.Gram(native).extend(native, x, y, n_jobs=2)

    thread = threading.Thread(target=busy)
    thread.start()
    try:
        for _ in range(5):
            assert in_child(everything)() == expected
    finally:
        done.set()
        thread.join()


def test_a_store_goes_with_the_child():
    x, y = table()
    rows = _native.Rows(MAP.native)
    rows.extend(x, y)

    def gradient():
        return _native.Gradient.of(rows, np.ones(8), 2**16, n_jobs=2).insecure_exact()

    before = gradient()

    def grow():
        rows.extend(x, y, n_jobs=2)
        return gradient()

    assert in_child(grow)() == [2 * value for value in before]
    # The parent's own is as it was.
    assert gradient() == before
