"""Doing one piece of work: trials, then final fits, each kept at once."""

from __future__ import annotations

import math
import statistics
import time
import warnings
from pathlib import Path

import numpy as np

from dpfit.experiments.catalogue import load
from dpfit.experiments.methods import METHODS, Method, Parameters, Spend
from dpfit.experiments.plan import Plan, Unit
from dpfit.experiments.seeds import seed_of
from dpfit.experiments.store import Result, Store, TrialRow
from dpfit.experiments.tables import Split
from dpfit.experiments.tuning import Trial, finalists, propose

__all__ = ["do"]


def do(unit: Unit, plan: Plan, path: Path) -> float:
    """Do what is left of a piece of work.

    Parameters
    ----------
    unit : Unit
        What to do.
    plan : Plan
        How.
    path : Path
        The store. What is in there already is not done again.

    Returns
    -------
    float
        Seconds it took now.
    """
    start = time.perf_counter()
    store, method = Store(path), METHODS[unit.method]
    trials = plan.trials_in(unit.setting, method)
    key = (unit.entry.number, unit.method, unit.epsilon)
    missing = sorted(set(range(plan.seeds_of(method))) - store.seeds(*key, unit.setting, trials))
    if not missing:
        return 0.0
    table = load(unit.entry)
    split = table.split(plan.most_rows)
    parameters = dict(method.fixed)
    if unit.setting == "tuned":
        parameters = _tuned(unit, method, plan, split, table.binary, store)
    if unit.setting in ("constant", "scaled"):
        parameters["fit_intercept"] = True
    if unit.setting == "scaled":
        split = split.scaled()
    variance = float(np.var(split.y_test))
    for seed in missing:
        spend = Spend(
            unit.epsilon,
            plan.delta,
            seed_of("fit", *key, unit.setting, seed),
            table.binary,
        )
        before = time.perf_counter()
        mse, note = _error(method, parameters, spend, split)
        store.add_result(
            Result(
                *key,
                unit.setting,
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
    unit: Unit, method: Method, plan: Plan, split: Split, binary: np.ndarray, store: Store
) -> Parameters:
    """Return hyperparameters tuned on this table; trials that are not yet done are done now.

    All rows of a study are held out and shuffled alike, whatever was done before.
    """
    key = (unit.entry.number, unit.method, unit.epsilon)
    rows = plan.tuning_rows if method.slow else None
    part = split.held_out(seed_of("held out", unit.entry.number), rows)
    history, space = store.trials(*key), plan.space_of(method)
    while len(history) < plan.trials_of(method):
        number = len(history)
        before = time.perf_counter()
        parameters = propose(method.fixed, space, history, seed_of("propose", *key, number))
        spend = Spend(unit.epsilon, plan.delta, seed_of("trial", *key, number), binary)
        mse, _ = _error(method, parameters, spend, part)
        seconds = time.perf_counter() - before
        store.add_trial(TrialRow(*key, number, len(part.y), parameters, mse, seconds))
        history.append(Trial(parameters, mse))
    history = history[: plan.trials_of(method)]

    def again(number: int) -> float:
        """Return a trial's error, as the median over draws of the noise."""
        found = [history[number].error]
        for draw in range(1, method.draws):
            seed = seed_of("again", *key, number, draw)
            spend = Spend(unit.epsilon, plan.delta, seed, binary)
            found.append(_error(method, history[number].parameters, spend, part)[0])
        return statistics.median(found)

    return history[min(finalists(history), key=again)].parameters


def _error(method: Method, parameters: Parameters, spend: Spend, split: Split) -> tuple[float, str]:
    """Fit, and return the mean squared error on the other rows and a note."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        # Seeds are repeated on purpose, and peers warn of what they are given on purpose.
        warnings.simplefilter("ignore")
        try:
            model = method.make(parameters, spend).fit(split.X, split.y)
            mse = float(np.mean((split.y_test - model.predict(split.X_test)) ** 2))
        except (ArithmeticError, ValueError) as problem:
            # A method that cannot do a table has lost there; the run goes on.
            return math.inf, f"failed: {type(problem).__name__}"
    note = "all zeros" if getattr(model, "passed_", True) is False else ""
    return (mse if math.isfinite(mse) else math.inf), note
