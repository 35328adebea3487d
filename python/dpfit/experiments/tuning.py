"""Which hyperparameters to try next.

The next trial is a function of the trials before it and of a seed, and of nothing else: a study
that was killed goes on as if it had not been.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpfit.experiments.methods import Choice, Method, Parameters, Range

__all__ = ["Trial", "best", "propose"]

# Optuna wants finite numbers.
_WORST = 1e300


@dataclass(frozen=True)
class Trial:
    """Hyperparameters that were tried, and the mean squared error on rows held out."""

    parameters: Parameters
    error: float


def best(trials: Sequence[Trial]) -> Parameters:
    """Return the hyperparameters with the smallest error, the first of equals."""
    return min(trials, key=lambda trial: trial.error).parameters


def propose(method: Method, history: Sequence[Trial], seed: int) -> Parameters:
    """Return the next hyperparameters.

    Parameters
    ----------
    method : Method
        Whose tuning ranges.
    history : sequence of Trial
        All earlier trials of this study, in order.
    seed : int
        For Optuna's sampler; another one for every trial.

    Returns
    -------
    dict
        The fixed hyperparameters first: tuning starts from what its paper recommends. Then the
        choices of Optuna's tree-structured Parzen estimator.
    """
    if not history:
        return dict(method.fixed)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = _distributions(method.space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        for trial in history:
            study.add_trial(
                optuna.trial.create_trial(
                    params=dict(trial.parameters),
                    distributions=space,
                    value=min(trial.error, _WORST),
                )
            )
        return dict(study.ask(space).params)


def _distributions(space: Mapping[str, Range | Choice]) -> dict[str, Any]:
    from optuna.distributions import (
        CategoricalDistribution,
        FloatDistribution,
        IntDistribution,
    )

    found: dict[str, Any] = {}
    for name, values in space.items():
        if isinstance(values, Choice):
            found[name] = CategoricalDistribution(values.values)
        elif values.whole:
            found[name] = IntDistribution(int(values.low), int(values.high), log=True)
        else:
            found[name] = FloatDistribution(values.low, values.high, log=True)
    return found
