"""Which hyperparameters to try next.

The next trial is a function of the trials before it and of a seed, and of nothing else: a study
that was killed goes on as if it had not been.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpfit.experiments.methods import Choice, Parameters, Range, Value

__all__ = ["Trial", "finalists", "propose"]

# Optuna wants finite numbers.
_WORST = 1e300
# How many of the best trials are looked at again.
_FINALISTS = 3


@dataclass(frozen=True)
class Trial:
    """Hyperparameters that were tried, and the mean squared error on rows held out."""

    parameters: Parameters
    error: float


def finalists(trials: Sequence[Trial]) -> list[int]:
    """Return the trials to look at again: the best few, and the fixed setting.

    One draw of the noise makes some bad hyperparameters look good: the best of many trials is
    partly the luckiest. A second look at a few finds that out.

    Parameters
    ----------
    trials : sequence of Trial
        A study that is done; the first is the fixed setting.

    Returns
    -------
    list of int
        Numbers of trials, the best first.
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
