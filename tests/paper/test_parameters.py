"""Parameters of the paper's estimators: errors name them, before anything is released."""

import re

import numpy as np
import pytest

from dpfit import (
    AdaSSP,
    BoostedAdaSSP,
    BoostedMean,
    DpfitError,
    DPGradientDescent,
    NotFiniteError,
    ParameterError,
    TukeyEM,
)
from dpfit.release import Releaser

from .estimators import EVERY, GAUSSIAN, every, fitted_state, gaussian, named, small, table

BUDGET = {
    "epsilon": [(0.0, "1e-06 .* 1000"), (-1.0, "1e-06 .* 1000"), (1001.0, "1e-06 .* 1000")],
    "delta": [(0.0, "1e-300 .* 0.5"), (0.6, "1e-300 .* 0.5"), (-1e-6, "1e-300 .* 0.5")],
}
MU = {"mu": [(0.0, "> 1e-12"), (-2.0, "> 1e-12"), (2e12, r"<= 1e\+12")]}
SIZE = [(0.0, "> 1e-50"), (-3.0, "> 1e-50"), (float("inf"), r"<= 1e\+50")]
ROUND_NUMBERS = [(0, "from 1"), (-7, "from 1"), (10**7, "1000000")]
SHARED = {
    "neighbors": [("substitute", "'add_remove', 'replace'"), (None, "'add_remove', 'replace'")],
    "ledger": [(7, "a path or a Ledger"), ("", "a path or a Ledger"), (b"x", "a path or a Ledger")],
    "n_jobs": [(0, "from 1 to 1024"), (-2, "from 1 to 1024"), (1.5, "from 1 to 1024")],
    "random_state": [(-1, "from 0"), (2**64, "from 0"), (0.5, "from 0")],
}
RATE = {"learning_rate": [("1/T", "'constant', '1/t'"), (0.1, "'constant', '1/t'")]}
SUFFICIENT = {
    **BUDGET,
    **MU,
    **SHARED,
    "x_bound": SIZE,
    "split": [
        ((1.0, 1.0), "3 numbers > 0"),
        ((1.0, 0.0, 1.0), "3 numbers > 0"),
        ((1.0, -1.0, 1.0), "3 numbers > 0"),
        ((1.0, float("nan"), 1.0), "3 numbers > 0"),
        (3.0, "3 numbers > 0"),
        ("abc", "3 numbers > 0"),
    ],
    "ridge": [("none", "'adassp', 'literal'"), (1.0, "'adassp', 'literal'")],
}
WRONG = {
    BoostedAdaSSP: {
        **SUFFICIENT,
        **RATE,
        "tau": SIZE,
        "n_rounds": ROUND_NUMBERS,
        "averaging": [(-0.1, ">= 0 and <= 1"), (1.5, ">= 0 and <= 1"), ("all", ">= 0 and <= 1")],
    },
    AdaSSP: {**SUFFICIENT, "y_bound": SIZE},
    DPGradientDescent: {
        **BUDGET,
        **MU,
        **SHARED,
        **RATE,
        "clip_norm": SIZE,
        "n_rounds": ROUND_NUMBERS,
    },
    BoostedMean: {**BUDGET, **MU, **SHARED, "tau": SIZE, "n_rounds": ROUND_NUMBERS},
    TukeyEM: {**BUDGET, **SHARED, "n_models": ROUND_NUMBERS},
}
SWITCHES = {"fit_intercept", "clip_predictions", "verbose"}


def fail_on_release(monkeypatch):
    """Let a test fail that looks at the data before it has looked at its parameters."""

    def released(*_, **__):
        pytest.fail("something was released")

    for name in ("release", "public_rows", "random"):
        monkeypatch.setattr(Releaser, name, released)


@pytest.mark.parametrize(
    ("cls", "name", "value", "allowed"),
    [
        (cls, name, value, allowed)
        for cls, wrong in WRONG.items()
        for name, values in wrong.items()
        for value, allowed in values
    ],
)
def test_errors_name_the_parameter_its_value_and_what_is_allowed(
    cls, name, value, allowed, monkeypatch
):
    fail_on_release(monkeypatch)
    estimator = cls(**{name: value})  # which is not the place to complain
    with pytest.raises(ParameterError, match=allowed) as error:
        estimator.fit(*table())
    assert isinstance(error.value, ValueError)
    assert str(error.value).startswith(name)
    assert repr(value) in str(error.value)
    assert not hasattr(estimator, "n_features_in_")


@every
def test_every_parameter_is_among_those_checked(cls):
    assert set(cls().get_params()) == WRONG[cls].keys() | SWITCHES & set(cls().get_params())


@pytest.mark.parametrize(
    ("cls", "name"),
    [(cls, name) for cls in EVERY for name in sorted(SWITCHES) if name in cls().get_params()],
)
@pytest.mark.parametrize("value", ["no", None])
def test_switches_are_true_or_false(cls, name, value, monkeypatch):
    """A word would switch on what it says is off."""
    fail_on_release(monkeypatch)
    with pytest.raises(ParameterError, match=name):
        cls(**{name: value}).fit(*table())


NUMBERS = [
    (cls, name)
    for cls, wrong in WRONG.items()
    for name in wrong
    if name
    not in ("ledger", "neighbors", "ridge", "learning_rate", "split", "random_state", "n_jobs")
]


@pytest.mark.parametrize(("cls", "name"), NUMBERS)
@pytest.mark.parametrize("value", ["1", True, float("nan"), [1.0], 1j, 10**400], ids=type)
def test_what_is_no_number_is_refused_by_name(cls, name, value, monkeypatch):
    fail_on_release(monkeypatch)
    with pytest.raises(ParameterError, match=name):
        cls(**{name: value}).fit(*table())


@pytest.mark.parametrize(
    "value", ["123", {1.0, 2.0, 3.0}, {1: 0, 2: 0, 3: 0}, (10**400, 1, 1)], ids=type
)
@pytest.mark.parametrize("cls", [BoostedAdaSSP, AdaSSP], ids=named)
def test_a_split_is_a_sequence_of_numbers(cls, value, monkeypatch):
    """A word is no ratio, and a set has no order."""
    fail_on_release(monkeypatch)
    with pytest.raises(ParameterError, match="split"):
        cls(split=value).fit(*table())


EXTREMES = [
    *((cls, name, value) for cls, name in NUMBERS for value in (1e-320, 1e-200, 1e-100, 1e50)),
    *((cls, "mu", value) for cls in GAUSSIAN for value in (1e-300, 1e-30, 1e-20, 1e12)),
    *(
        (cls, "split", value)
        for cls in (BoostedAdaSSP, AdaSSP)
        for value in ((1e-320, 1.0, 1.0), (1e-30, 1.0, 1.0), (1.0, 1e200, 1.0), (1e300,) * 3)
    ),
]


@pytest.mark.parametrize(("cls", "name", "value"), EXTREMES)
def test_extreme_values_fit_or_are_refused_by_their_own_name(cls, name, value):
    """Never by the name of something inside that the user has not heard of."""
    try:
        model = small(cls, **{name: value}).fit(*table())
    except ParameterError as error:
        assert re.search(rf"\b{name}\b", str(error))  # noqa: PT017
    else:
        assert np.isfinite(model.predict(table()[0])).all()


@gaussian
def test_epsilon_and_mu_exclude_each_other(cls, monkeypatch):
    fail_on_release(monkeypatch)
    with pytest.raises(ParameterError, match=r"epsilon.*mu"):
        cls(epsilon=1.0, mu=1.0).fit(*table())


@gaussian
@pytest.mark.parametrize("delta", [0.0, 0.7, -1.0, "much"])
def test_delta_beside_mu_is_checked_before_anything_is_released(cls, delta, monkeypatch):
    fail_on_release(monkeypatch)
    with pytest.raises(ParameterError, match="delta"):
        cls(mu=1.0, delta=delta).fit(*table())


@gaussian
def test_delta_beside_mu_says_where_epsilon_is_stated(cls):
    record = small(cls, mu=0.5, delta=1e-5).fit(*table()).privacy_
    assert record.mu == 0.5
    assert record.delta == 1e-5
    assert 1.9 < record.epsilon < 2.1


@every
def test_the_default_budget_is_one_and_a_millionth(cls):
    record = small(cls).fit(*table()).privacy_
    assert (record.epsilon, record.delta) == (1.0, 1e-6)


def test_tukey_em_has_no_mu():
    assert "mu" not in TukeyEM().get_params()
    with pytest.raises(TypeError):
        TukeyEM(mu=1.0)


@every
def test_a_failed_fit_leaves_a_model_as_it_was(cls):
    X, y = table()
    model = small(cls).fit(X, y)
    before = fitted_state(model)
    model.set_params(n_jobs=-1)
    with pytest.raises(ParameterError):
        model.fit(X[:, :2], y)
    model.set_params(n_jobs=1)
    for bad in (X[:, :2, None], X[:5]):
        with pytest.raises(ValueError, match=r"rows|table"):
            model.fit(bad, y)
    if cls is not BoostedMean:
        with pytest.raises(NotFiniteError):
            model.fit(np.full((60, 2), np.nan), y)
    assert fitted_state(model) == before
    assert len(model.predict(X)) == len(X)


@every
def test_errors_share_a_base(cls):
    with pytest.raises(DpfitError):
        cls(epsilon=-1.0).fit(*table())
