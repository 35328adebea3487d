"""Spend from a ledger as another process does.

python worker.py spend LEDGER SECONDS      prints one line per entry that it was granted
python worker.py fit LEDGER                fits for ever; prints the entry of each model
"""

import os
import pathlib
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

    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            (entry,) = Ledger(path).reserve(Charge(what="worker", mu=MU))
        except BudgetExceeded:
            print("exceeded", flush=True)
        else:
            print(entry.id, flush=True)


def fit(path):
    import numpy as np

    from dpfit import PrivateLinearRegression

    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 2))
    y = X @ [1.0, 2.0] + rng.normal(size=500)
    place = pathlib.Path(path).with_name(f"{os.getpid()}.json")
    while True:
        print("start", flush=True)
        model = PrivateLinearRegression(mu=MU, ledger=path).fit(X, y)
        print(model.provenance_.ledger_entry, flush=True)
        model.save(place)


if __name__ == "__main__":
    if sys.argv[1] == "spend":
        spend(sys.argv[2], float(sys.argv[3]))
    else:
        fit(sys.argv[2])
