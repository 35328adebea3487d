"""Spend from a ledger as another process does.

python worker.py spend LEDGER SECONDS    prints an ID for each entry that it was granted
python worker.py fit LEDGER              fits until it is killed; prints the entry of each model
python worker.py die LEDGER MOMENT       kills itself at some moment of a fit
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

MU = 0.05


def start(*arguments):
    """Start a worker, which imports the same package."""
    return subprocess.Popen(
        [sys.executable, __file__, *map(str, arguments)], stdout=subprocess.PIPE, text=True
    )


def spend(path, seconds):
    from dpfit.accounting import Charge, Ledger
    from dpfit.exceptions import BudgetExceeded

    end = time.monotonic() + float(seconds)
    answer = ""
    # At least until it was refused once, however slow the machine is.
    while time.monotonic() < end or answer != "exceeded":
        try:
            answer = Ledger(path).reserve(Charge(what="worker", mu=MU))[0].id
        except BudgetExceeded:
            answer = "exceeded"
        print(answer, flush=True)


def table():
    import numpy as np

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    return X, X @ [1.0, 2.0] + rng.normal(size=500)


def fit(path):
    from dpfit import PrivateLinearRegression

    X, y = table()
    place = pathlib.Path(path).with_name(f"{os.getpid()}.json")
    while True:
        print("start", flush=True)
        model = PrivateLinearRegression(mu=MU, ledger=path).fit(X, y)
        print(model.provenance_.ledger_entry, flush=True)
        model.save(place)


def die(path, moment):
    from dpfit import PrivateLinearRegression
    from dpfit.accounting import _ledger_file
    from dpfit.accounting.ledger import Ledger
    from dpfit.release import Releaser

    def leave(*_):
        os.kill(os.getpid(), signal.SIGKILL)

    reserve = Ledger.reserve
    if moment == "before the transaction":
        Ledger.reserve = leave
    elif moment == "before the commit":
        append = _ledger_file.write

        def write(path, act, *, commit=True):
            return append(path, lambda c: (act(c), leave()) if commit else act(c), commit=commit)

        _ledger_file.write = write
    elif moment == "after the commit":

        def charge(self, *charges):
            reserve(self, *charges)
            leave()

        Ledger.reserve = charge
    else:
        Releaser._record = leave
    PrivateLinearRegression(mu=MU, ledger=path).fit(*table())


if __name__ == "__main__":
    {"spend": spend, "fit": fit, "die": die}[sys.argv[1]](*sys.argv[2:])
