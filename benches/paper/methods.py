"""The methods, with their fixed hyperparameters and tuning ranges."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.linear_model import LinearRegression

from dpfit import (
    AdaSSP,
    Binary,
    BoostedAdaSSP,
    DPGradientDescent,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    Schema,
    TukeyEM,
)
from paper.dp_ebm import DPEBM

__all__ = [
    "METHODS",
    "OURS",
    "PEERS",
    "REFERENCES",
    "Choice",
    "Method",
    "Parameters",
    "Range",
    "Spend",
    "Value",
]

Value = float | int | str | bool
Parameters = dict[str, Value]


@dataclass(frozen=True)
class Range:
    """Numbers from low to high, uniform on a logarithmic scale."""

    low: float
    high: float
    whole: bool = False


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[str | bool, ...]


@dataclass(frozen=True)
class Spend:
    """What a fit is given besides its rows.

    Parameters
    ----------
    epsilon, delta : float
        The privacy budget.
    seed : int
        Seed for the noise.
    binary : array of bool
        Which columns are one-hot columns of levels.
    """

    epsilon: float
    delta: float
    seed: int
    binary: npt.NDArray[np.bool_]


@dataclass(frozen=True)
class Method:
    """A method.

    Parameters
    ----------
    name : str
        Key in the results.
    label : str
        Name in figures and tables.
    role : {"paper", "peer", "study", "ours", "reference"}
        The paper's method, a method that it is compared with, a variant for explanation, a dpfit
        model without tuning, or a method without privacy.
    make : callable
        Returns an estimator for parameters and a budget.
    fixed : mapping
        Hyperparameters that are the same for all tables.
    space : mapping
        Tuning ranges; empty for a method without hyperparameters.
    cost : callable
        Approximate seconds of a fit from rows and columns; decides the order of work.
    trials : int
        Multiple of the number of trials in the design: fast methods get more.
    draws : int
        Number of draws of the noise for the final comparison of the best trials.
    slow : bool
        Whether rows are capped for tuning.
    studies : tuple of str
        Additional settings for explanation: ``"constant"`` is fixed with an intercept,
        ``"scaled"`` is the same on scaled features.
    """

    name: str
    label: str
    role: Literal["paper", "peer", "study", "ours", "reference"]
    make: Callable[[Parameters, Spend], Any]
    cost: Callable[[int, int], float]
    fixed: Mapping[str, Value] = field(default_factory=dict)
    space: Mapping[str, Range | Choice] = field(default_factory=dict)
    trials: int = 1
    draws: int = 3
    slow: bool = False
    studies: tuple[Literal["constant", "scaled"], ...] = ()


def _private(kind: type[Any]) -> Callable[[Parameters, Spend], Any]:
    def make(parameters: Parameters, spend: Spend) -> Any:
        return kind(
            epsilon=spend.epsilon,
            delta=spend.delta,
            random_state=spend.seed,
            n_jobs=1,
            **parameters,
        )

    return make


def _untuned(kind: type[Any]) -> Callable[[Parameters, Spend], Any]:
    def make(parameters: Parameters, spend: Spend) -> Any:
        schema = Schema({int(i): Binary() for i in np.flatnonzero(spend.binary)})
        return _private(kind)({"schema": schema, **parameters}, spend)  # type: ignore[dict-item]

    return make


def _ebm(parameters: Parameters, spend: Spend) -> Any:
    return DPEBM(spend.epsilon, spend.delta, random_state=spend.seed, **parameters)  # type: ignore[arg-type]


def _least_squares(parameters: Parameters, spend: Spend) -> Any:
    return LinearRegression()


def _plain_ebm(parameters: Parameters, spend: Spend) -> Any:
    from interpret.glassbox import ExplainableBoostingRegressor

    # Without interactions, like DP-EBM, and with one bag to save time.
    return ExplainableBoostingRegressor(
        interactions=0, outer_bags=1, n_jobs=1, random_state=spend.seed
    )


# The ranges of the paper's table of hyperparameters. That table has one "data clipping bound". The
# paper's code has one for rows and one for the target; both are tuned here. The intercept is not in
# that table. It is tuned, too, because it can only help the peers.
_BOUND = Range(1e-5, 1e5)
_COUNT = Range(1, 4000, whole=True)
_LEAVES = Range(1, 1000, whole=True)
_SCHEDULE = Choice(("constant", "1/t", "1/sqrt(t)"))
_CONSTANT = Choice((False, True))

_LIST = (
    Method(
        "boosted_adassp",
        "BoostedAdaSSP",
        "paper",
        _private(BoostedAdaSSP),
        cost=lambda n, d: 0.02 + 3e-8 * n * d + 2e-6 * d * d,
        fixed={
            "x_bound": 1.0,
            "tau": 1.0,
            "n_rounds": 100,
            "learning_rate": "constant",
            "fit_intercept": False,
        },
        space={
            "x_bound": _BOUND,
            "tau": _BOUND,
            "n_rounds": _COUNT,
            "learning_rate": _SCHEDULE,
            "fit_intercept": _CONSTANT,
        },
        trials=3,
        studies=("constant", "scaled"),
    ),
    Method(
        "adassp",
        "AdaSSP",
        "peer",
        _private(AdaSSP),
        cost=lambda n, d: 0.01 + 5e-9 * n * d + 2e-6 * d * d,
        fixed={"x_bound": 1.0, "y_bound": 1.0, "fit_intercept": False},
        space={"x_bound": _BOUND, "y_bound": _BOUND, "fit_intercept": _CONSTANT},
        trials=3,
        studies=("constant", "scaled"),
    ),
    Method(
        "gradient_descent",
        "DP gradient descent",
        "peer",
        _private(DPGradientDescent),
        cost=lambda n, d: 0.02 + 1e-6 * n * d,
        fixed={
            "clip_norm": 1.0,
            "n_rounds": 100,
            "learning_rate": "constant",
            "fit_intercept": False,
        },
        space={
            "clip_norm": _BOUND,
            "n_rounds": _COUNT,
            "learning_rate": _SCHEDULE,
            "fit_intercept": _CONSTANT,
        },
        slow=True,
        studies=("constant", "scaled"),
    ),
    Method(
        "tukey_em",
        "TukeyEM",
        "peer",
        _private(TukeyEM),
        cost=lambda n, d: 0.05 + 3e-8 * n * d + 1e-3 * d,
        # Amin et al. recommend about 1,000 models, and add an intercept on all tables.
        fixed={"n_models": 1000, "fit_intercept": True},
        space={"n_models": _COUNT, "fit_intercept": _CONSTANT},
        trials=3,
        studies=("scaled",),
    ),
    Method(
        "dp_ebm",
        "DP-EBM",
        "peer",
        _ebm,
        cost=lambda n, d: d * (0.07 + 1.5e-6 * n),
        # InterpretML's defaults.
        fixed={"max_rounds": 300, "max_leaves": 3},
        space={"max_rounds": _COUNT, "max_leaves": _LEAVES},
        # Its fits are slow.
        draws=1,
        slow=True,
    ),
    Method(
        "dp_ebm_blind",
        "DP-EBM, one bound",
        "study",
        _ebm,
        cost=lambda n, d: d * (0.07 + 1.5e-6 * n),
        # Like BoostedAdaSSP: a bound of 1 for all columns and the target.
        fixed={"max_rounds": 300, "max_leaves": 3, "bound": 1.0},
        # The paper's table has a data clipping bound for DP-EBM as well.
        space={"max_rounds": _COUNT, "max_leaves": _LEAVES, "bound": _BOUND},
        draws=1,
        slow=True,
    ),
    Method(
        "linear",
        "dpfit linear",
        "ours",
        _untuned(PrivateLinearRegression),
        cost=lambda n, d: 0.02 + 2e-8 * n * d + 6e-6 * d * d,
    ),
    Method(
        "additive",
        "dpfit additive",
        "ours",
        _untuned(PrivateAdditiveRegression),
        cost=lambda n, d: 0.02 + 5e-8 * n * d + 6e-6 * d * d,
    ),
    Method(
        "least_squares",
        "least squares, no privacy",
        "reference",
        _least_squares,
        cost=lambda n, d: 0.01 + 1e-8 * n * d,
    ),
    Method(
        "ebm",
        "EBM, no privacy",
        "reference",
        _plain_ebm,
        cost=lambda n, d: 0.5 + 3e-6 * n * d,
    ),
)

METHODS: dict[str, Method] = {method.name: method for method in _LIST}
OURS = tuple(m.name for m in _LIST if m.role == "ours")
REFERENCES = tuple(m.name for m in _LIST if m.role == "reference")
PEERS = tuple(m.name for m in _LIST if m.role in ("paper", "peer"))
