"""Choose the hyperparameters of the next trial.

The next trial depends only on the earlier trials and a seed, so a study that was killed continues
as if it had not been.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from paper.methods import Choice, Parameters, Range, Value

__all__ = ["Trial", "finalists", "propose"]

# Optuna needs finite numbers.
_WORST = 1e300
# Number of trials that are evaluated again.
_FINALISTS = 3


@dataclass(frozen=True)
class Trial:
    """Hyperparameters and their mean squared error on the rows held out."""

    parameters: Parameters
    error: float


def finalists(trials: Sequence[Trial]) -> list[int]:
    """Return the trials to evaluate again: the best ones, and the fixed setting.

    The best of many trials is partly the one with the luckiest noise. Further draws of the noise
    correct for that.

    Parameters
    ----------
    trials : sequence of Trial
        A finished study. The first trial is the fixed setting.

    Returns
    -------
    list of int
        Indices of trials, the best first.
    """
    order = sorted(range(len(trials)), key=lambda number: trials[number].error)
    kept: list[int] = []
    for number in order:
        if all(trials[number].parameters != trials[other].parameters for other in kept):
            kept.append(number)
        if len(kept) == _FINALISTS:
            break
    return kept if 0 in kept else [*kept, 0]


def propose(
    fixed: Mapping[str, Value],
    space: Mapping[str, Range | Choice],
    history: Sequence[Trial],
    seed: int,
) -> Parameters:
    """Return the next hyperparameters.

    Parameters
    ----------
    fixed : mapping
        The fixed hyperparameters.
    space : mapping
        The tuning ranges.
    history : sequence of Trial
        All earlier trials of the study, in order.
    seed : int
        Seed for Optuna's sampler, different for every trial.

    Returns
    -------
    dict
        The fixed hyperparameters for the first trial. Then the choices of Optuna's tree-structured
        Parzen estimator.
    """
    if not history:
        return dict(fixed)
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    distributions = _distributions(space)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed))
        for trial in history:
            study.add_trial(
                optuna.trial.create_trial(
                    params=dict(trial.parameters),
                    distributions=distributions,
                    value=min(trial.error, _WORST),
                )
            )
        return dict(study.ask(distributions).params)


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
