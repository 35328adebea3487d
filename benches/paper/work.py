"""Run one work item: trials, then final fits, each stored at once."""

from __future__ import annotations

import math
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from paper.catalogue import load
from paper.design import Design, WorkItem
from paper.methods import METHODS, Method, Parameters, Spend
from paper.seeds import seed_of
from paper.store import Result, Store, TrialRow
from paper.tables import Split
from paper.tuning import Trial, finalists, propose

__all__ = ["do"]


def do(item: WorkItem, design: Design, path: Path) -> float:
    """Run the missing fits of a work item.

    Parameters
    ----------
    item : WorkItem
        The work item.
    design : Design
        The design of the run.
    path : Path
        The store. Fits that it contains are not repeated.

    Returns
    -------
    float
        Time in seconds.
    """
    start = time.perf_counter()
    store, method = Store(path), METHODS[item.method]
    trials = design.trials_in(item.setting, method)
    key = (item.entry.number, item.method, item.epsilon)
    missing = sorted(set(range(design.seeds_of(method))) - store.seeds(*key, item.setting, trials))
    if not missing:
        return 0.0
    table = load(item.entry)
    split = table.split(design.most_rows)
    parameters = dict(method.fixed)
    if item.setting == "tuned":
        parameters = _tuned(item, method, design, split, table.binary, store)
    if item.setting in ("constant", "scaled"):
        parameters["fit_intercept"] = True
    if item.setting == "scaled":
        split = split.scaled()
    variance = float(np.var(split.y_test))
    for seed in missing:
        spend = Spend(
            item.epsilon,
            design.delta,
            seed_of("fit", *key, item.setting, seed),
            table.binary,
        )
        before = time.perf_counter()
        mse, note = _error(method, parameters, spend, split)
        store.add_result(
            Result(
                *key,
                item.setting,
                trials,
                seed,
                len(split.y),
                parameters,
                mse,
                mse / variance,
                note,
                time.perf_counter() - before,
            )
        )
    return time.perf_counter() - start


def _tuned(
    item: WorkItem, method: Method, design: Design, split: Split, binary: np.ndarray, store: Store
) -> Parameters:
    """Return hyperparameters tuned on this table, and run the missing trials.

    All trials of a table use the same rows in the same order.
    """
    key = (item.entry.number, item.method, item.epsilon)
    rows = design.tuning_rows if method.slow else None
    part = split.held_out(seed_of("held out", item.entry.number), rows)
    history, space = store.trials(*key), design.space_of(method)
    while len(history) < design.trials_of(method):
        number = len(history)
        before = time.perf_counter()
        parameters = propose(method.fixed, space, history, seed_of("propose", *key, number))
        spend = Spend(item.epsilon, design.delta, seed_of("trial", *key, number), binary)
        mse, _ = _error(method, parameters, spend, part)
        seconds = time.perf_counter() - before
        store.add_trial(TrialRow(*key, number, len(part.y), parameters, mse, seconds))
        history.append(Trial(parameters, mse))
    history = history[: design.trials_of(method)]

    def again(number: int) -> float:
        """Return the error of a trial as the median over draws of the noise."""
        found = [history[number].error]
        for draw in range(1, method.draws):
            seed = seed_of("again", *key, number, draw)
            spend = Spend(item.epsilon, design.delta, seed, binary)
            found.append(_error(method, history[number].parameters, spend, part)[0])
        return statistics.median(found)

    return history[min(finalists(history), key=again)].parameters


def _error(method: Method, parameters: Parameters, spend: Spend, split: Split) -> tuple[float, str]:
    """Fit, and return the mean squared error on the test rows and a note."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Seeds and the settings that peers warn about are deliberate.
        warnings.simplefilter("ignore")
        try:
            model = method.make(parameters, spend).fit(split.X, split.y)
            mse = float(np.mean((split.y_test - model.predict(split.X_test)) ** 2))
        except (ArithmeticError, ValueError) as problem:
            # A failed fit counts as an infinite error, and the run continues.
            return math.inf, f"failed: {type(problem).__name__}"
    note = "all zeros" if getattr(model, "passed_", True) is False else ""
    return (mse if math.isfinite(mse) else math.inf), note
