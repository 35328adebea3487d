"""Many processes on one ledger, and processes that are killed."""

import math
import os
import random
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from dpfit import Ledger

from . import worker

PROCESSES = 8


def spent(ledger):
    return sum(Fraction(entry.mu) ** 2 for entry in ledger.history())


def check(ledger):
    """Check that the sum is within the budget, and that no log is left beside the file."""
    entries = ledger.history()
    assert [entry.number for entry in entries] == list(range(1, len(entries) + 1))
    assert spent(ledger) <= Fraction(ledger.mu) ** 2
    names = os.listdir(os.path.dirname(ledger.path))
    assert [name for name in names if name.startswith("study.dpl")] == ["study.dpl"]


def compete(tmp_path, seconds, mu):
    """Let processes spend what they can; return the number of entries and of refusals."""
    ledger = Ledger.create(tmp_path / "study.dpl", mu=mu, dataset="x")
    workers = [worker.start("spend", ledger.path, seconds) for _ in range(PROCESSES)]
    answers = [process.communicate(timeout=seconds + 120)[0].split() for process in workers]
    assert [process.returncode for process in workers] == [0] * PROCESSES
    every = [answer for printed in answers for answer in printed]
    granted = [answer for answer in every if answer != "exceeded"]
    # Every entry was granted to one process, and nothing was granted without an entry.
    assert sorted(granted) == sorted(entry.id for entry in ledger.history())
    check(ledger)
    return len(granted), every.count("exceeded")


def test_processes_together_spend_the_budget_and_no_more(tmp_path):
    # Room for 10 entries and a little: every process comes too late sooner or later.
    granted, refused = compete(tmp_path, 3.0, worker.MU * math.sqrt(10.5))
    assert granted == 10
    assert refused >= PROCESSES


@pytest.mark.slow
def test_processes_compete_for_a_minute(tmp_path):
    granted, refused = compete(tmp_path, 60.0, worker.MU * math.sqrt(1000.5))
    assert granted == 1000
    assert refused >= PROCESSES


def kill_at(ledger, seconds):
    """Kill a process that fits, some time after its first fit started; return what it printed."""
    process = worker.start("fit", ledger.path)
    first = process.stdout.readline()
    assert first == "start\n"
    time.sleep(seconds)
    process.kill()
    printed = [first.strip(), *process.communicate()[0].split()]
    assert process.returncode == -9
    return printed


def survive(tmp_path, kills):
    ledger = Ledger.create(tmp_path / "study.dpl", mu=100.0, dataset="x")
    rng = random.Random()
    before, released = 0, []
    for _ in range(kills):
        printed = kill_at(ledger, rng.uniform(0.0, 0.3))
        entries = ledger.history()
        released += [line for line in printed if line != "start"]
        # Every model has its entry; at most the last fit was charged and did not finish.
        assert set(released) <= {entry.id for entry in entries}
        assert printed.count("start") - 1 <= len(entries) - before <= printed.count("start")
        before = len(entries)
        ledger.add("after the kill", mu=worker.MU)
        before += 1
        check(ledger)
    assert spent(ledger) == before * Fraction(worker.MU) ** 2


def test_a_killed_fit_leaves_a_ledger_that_is_right(tmp_path):
    survive(tmp_path, 3)


@pytest.mark.slow
def test_twenty_killed_fits_leave_a_ledger_that_is_right(tmp_path):
    survive(tmp_path, 20)


@pytest.mark.parametrize(
    ("moment", "entries"),
    [
        ("before the transaction", 0),
        ("before the commit", 0),
        ("after the commit", 1),
        ("after the first noise", 1),
    ],
)
def test_a_fit_that_dies_has_spent_from_the_commit_on(tmp_path, moment, entries):
    ledger = Ledger.create(tmp_path / "study.dpl", mu=1.0, dataset="x")
    process = worker.start("die", ledger.path, moment)
    process.communicate(timeout=120)
    assert process.returncode == -9
    assert len(ledger.history()) == entries
    # Nothing is in the way of the next fit.
    ledger.add("after the kill", mu=worker.MU)
    check(ledger)


def test_a_forked_process_can_use_the_ledger_of_its_parent(tmp_path):
    ledger = Ledger.create(tmp_path / "study.dpl", mu=1.0, dataset="x")
    ledger.add("parent", mu=worker.MU)
    child = os.fork()
    if child == 0:
        try:
            ledger.add("child", mu=worker.MU)
            os._exit(0)
        finally:
            os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    ledger.add("parent", mu=worker.MU)
    assert [entry.what for entry in ledger.history()] == ["parent", "child", "parent"]


def test_a_fork_beside_a_thread_that_spends_can_spend(tmp_path):
    """SQLite keeps in memory which locks a process has: a fork has to wait for its threads.

    The test runs in a process of its own, without threads of pytest's workers.
    """
    ledger = Ledger.create(tmp_path / "study.dpl", mu=1.0, dataset="x")
    code = f"""
import os, signal, threading, warnings
from dpfit import Ledger
from dpfit.accounting import _ledger_file as file
warnings.simplefilter("ignore", DeprecationWarning)
file._PATIENCE = 5.0
ledger = Ledger({ledger.path!r})
inside = threading.Event()
def hold(connection):
    connection.execute("SELECT count(*) FROM entries").fetchone()
    inside.set()
    # The fork starts, and has to wait.
    threading.Event().wait(0.5)
thread = threading.Thread(target=file.write, args=(ledger.path, hold))
thread.start()
assert inside.wait(60)
child = os.fork()
if child == 0:
    signal.alarm(60)
    try:
        ledger.add("child", mu=0.1)
        os._exit(0)
    finally:
        os._exit(1)
status = os.waitpid(child, 0)[1]
thread.join()
ledger.add("parent", mu=0.1)
raise SystemExit(status)
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=120, check=False)
    assert done.returncode == 0
    assert [entry.what for entry in ledger.history()] == ["child", "parent"]
    check(ledger)


def test_threads_and_their_forks_share_a_ledger(tmp_path):
    ledger = Ledger.create(tmp_path / "study.dpl", mu=100.0, dataset="x")
    code = f"""
import os, signal, threading, warnings
from dpfit import Ledger
warnings.simplefilter("ignore", DeprecationWarning)
ledger, done = Ledger({ledger.path!r}), threading.Event()
def spend():
    while not done.is_set():
        ledger.add("thread", mu=0.001)
threads = [threading.Thread(target=spend) for _ in range(3)]
for thread in threads:
    thread.start()
children = []
for _ in range(10):
    children.append(os.fork())
    if children[-1] == 0:
        signal.alarm(100)
        try:
            ledger.add("child", mu=0.001)
            os._exit(0)
        finally:
            os._exit(1)
codes = [os.waitpid(child, 0)[1] for child in children]
done.set()
for thread in threads:
    thread.join()
assert codes == [0] * 10, codes
"""
    done = subprocess.run([sys.executable, "-c", code], timeout=150, check=False)
    assert done.returncode == 0
    assert [entry.what for entry in ledger.history()].count("child") == 10
    check(ledger)
