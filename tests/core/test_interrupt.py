"""Ctrl-C ends a long call, and leaves nothing of it behind."""

import signal
import subprocess
import sys
import time

import pytest

PATIENCE = 10.0
SCRIPT = """
import signal
import sys
import numpy as np
from dpfit import _native

# A process that was started in the background may have been told to ignore it.
signal.signal(signal.SIGINT, signal.default_int_handler)

def many(n, width):
    row = np.linspace(-1.0, 1.0, width)
    # No memory: the same row again and again.
    return np.broadcast_to(row, (n, width)), np.broadcast_to(0.5, n)

def row_map(width):
    return _native.RowMap([(0.0, 1.0, [(-np.inf, np.inf, 1.0)])] * width, step=1e-3)

def gram():
    native = row_map(20)
    found = _native.Gram(native)
    return lambda: found.extend(native, *many(10**11, 20)), found.insecure_exact

def gram_on_one_thread():
    native = row_map(20)
    found = _native.Gram(native)
    return lambda: found.extend(native, *many(10**11, 20), n_jobs=1), found.insecure_exact

def histogram():
    found = _native.Histogram([_native.Bins.powers(-9, 9)] * 21)
    return lambda: found.extend(*many(10**11, 20)), found.insecure_exact

def count():
    found = _native.Count(20)
    return lambda: found.extend(*many(10**11, 20)), found.insecure_exact

def rows():
    found = _native.Rows(row_map(2))
    found.extend(*many(100, 2))
    # Three gigabytes, of which the call gets to touch a few hundred megabytes.
    call = lambda: found.extend(*many(4 * 10**8, 2), n_jobs=1, portable=True)
    return call, lambda: _native.Gradient.of(found, np.ones(2), 1000).insecure_exact()

def gradient():
    found = _native.Rows(row_map(20))
    found.extend(*many(10**6, 20))
    def call():
        while True:
            _native.Gradient.of(found, np.ones(20), 1000)
    return call, found.to_bytes

call, state = globals()[sys.argv[1]]()
before = state()
print("started", flush=True)
try:
    call()
    print("finished")
except KeyboardInterrupt:
    print("interrupted" if state() == before else "changed")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise")
@pytest.mark.parametrize(
    "call", ["gram", "gram_on_one_thread", "histogram", "count", "rows", "gradient"]
)
def test_a_long_call_is_interrupted(call):
    command = [sys.executable, "-c", SCRIPT, call]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout.readline() == "started\n"
            # Let it get well into the call.
            time.sleep(0.4)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            sent = time.monotonic()
            output, _ = process.communicate(timeout=PATIENCE)
            elapsed = time.monotonic() - sent
        finally:
            process.kill()
    assert output == "interrupted\n"
    assert process.returncode == 0
    assert elapsed < PATIENCE
