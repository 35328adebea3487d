"""Faults of public code in noise and budgets, each with a check that would see it."""

import dataclasses
import itertools
import math

import pytest
from mpmath import mp, mpf

import dpfit._parameters
import dpfit.accounting.accountant
import dpfit.paper.adassp
import dpfit.paper.gradient_descent
import dpfit.paper.mean
import dpfit.release
from dpfit import (
    AdaSSP,
    BoostedAdaSSP,
    BoostedMean,
    BudgetExceeded,
    DPGradientDescent,
    ParameterError,
    TukeyEM,
    _native,
)
from dpfit.accounting import gdp_mu
from dpfit.paper import _tukey
from dpfit.paper._exact_choice import Enclosing
from dpfit.paper._tukey_stages import pass_probability
from dpfit.release import Releaser
from dpfit.statistics import ClippedGradients, Gradient, Gram

from .faults import ESTIMATORS, RELATIONS, ROUNDS, check_noise, every_estimator, smallest, table

ITERATED = [estimator for estimator in ESTIMATORS if not isinstance(estimator, AdaSSP)]
MODULES = {
    BoostedAdaSSP: dpfit.paper.adassp,
    DPGradientDescent: dpfit.paper.gradient_descent,
    BoostedMean: dpfit.paper.mean,
}

every_iterated = pytest.mark.parametrize("estimator", ITERATED, ids=str)


def put_in(monkeypatch, kinds, faulty):
    """Let releases of these statistics have noise of another standard deviation."""
    original, sigma = Releaser.release, dpfit.release._sigma

    def release(self, table, statistic, *mus):
        with monkeypatch.context() as patch:
            if isinstance(statistic, kinds):
                patch.setattr(dpfit.release, "_sigma", faulty(sigma, statistic))
            return original(self, table, statistic, *mus)

    monkeypatch.setattr(Releaser, "release", release)


# ------------------------------------------------------------------------ noise has the right scale


@every_estimator
@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_is_right(estimator, relation):
    check_noise(estimator.set_params(neighbors=relation))


@every_estimator
@pytest.mark.parametrize("mu", [0.03, 5.0])
def test_mu_as_the_standard_deviation_is_seen(estimator, mu, monkeypatch):
    """The paper's reference code: `self.sigma = mu`, so that noise rises with epsilon."""
    # On the grid of each statistic: one row is so many steps.
    monkeypatch.setattr(
        dpfit.release, "_sigma", lambda sensitivity, mu: max(sensitivity * mu, smallest)
    )
    with pytest.raises(AssertionError):
        check_noise(estimator, mu)


@every_iterated
def test_rounds_that_are_not_composed_are_seen_by_the_record(estimator, monkeypatch):
    """The same code: every one of T + 2 releases gets the noise of one alone."""
    monkeypatch.setattr(MODULES[type(estimator)], "per_round", lambda mu, count: mu)
    with pytest.raises(BudgetExceeded, match="the events cost"):
        check_noise(estimator, fits=1)


@every_iterated
def test_rounds_that_are_not_composed_are_seen_behind_the_records_back(estimator, monkeypatch):
    """The record is as it should be, the noise is that of one release."""
    put_in(
        monkeypatch,
        (Gradient, ClippedGradients),
        lambda sigma, _: lambda s, mu: sigma(s, mu * math.sqrt(ROUNDS)),
    )
    with pytest.raises(AssertionError):
        check_noise(estimator)


@every_iterated
def test_rounds_that_are_not_on_record_are_seen(estimator, monkeypatch):
    """All rounds spend what one should, and only one is written down: the sum looks right."""
    original = Releaser._record
    monkeypatch.setattr(MODULES[type(estimator)], "per_round", lambda mu, count: mu)

    def once(self, statistic, sensitivity, mu):
        if statistic not in [event.statistic for event in self._events]:
            original(self, statistic, sensitivity, mu)

    monkeypatch.setattr(Releaser, "_record", once)
    with pytest.raises(AssertionError):
        check_noise(estimator, fits=20)


@pytest.mark.parametrize("estimator", [DPGradientDescent(n_jobs=1), BoostedMean(n_jobs=1)], ids=str)
def test_noise_for_added_rows_where_rows_are_replaced_is_seen(estimator, monkeypatch):
    """The neighbouring relation of public code is often not stated: half the noise is missing."""
    estimator.set_params(neighbors="replace", n_rounds=2)
    sigma = dpfit.release._sigma
    monkeypatch.setattr(dpfit.release, "_sigma", lambda s, mu: sigma(s / 2.0, mu))
    with pytest.raises(AssertionError):
        check_noise(estimator)


@pytest.mark.parametrize(
    "estimator", [BoostedAdaSSP(n_rounds=2, n_jobs=1), AdaSSP(n_jobs=1)], ids=str
)
def test_sensitivities_of_one_are_seen(estimator, monkeypatch):
    """Public code: sensitivity one whatever the bounds. Its experiments had bounds of one."""
    x_bound, tau = 3.0, 0.2
    estimator.set_params(x_bound=x_bound, neighbors="add_remove")
    estimator.set_params(**{"y_bound" if isinstance(estimator, AdaSSP) else "tau": tau})
    check_noise(estimator)
    put_in(
        monkeypatch,
        Gram,
        lambda sigma, gram: lambda s, mu: sigma(s / gram.row_map.scale.bound**2, mu),
    )
    with pytest.raises(AssertionError):
        check_noise(estimator)


# ---------------------------------------------------------------- calibration ends on the safe side


GRID = [
    (epsilon, delta)
    for epsilon in (1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 10.0, 50.0, 100.0, 800.0, 1000.0)
    for delta in (1e-300, 1e-12, 1e-6, 1e-5, 0.1, 0.5)
]


def delta_of(epsilon, mu):
    """Return the delta that mu-GDP has at an epsilon, in 60 digits."""
    with mp.workdps(60):
        epsilon, mu = mpf(epsilon), mpf(mu)

        def above(t):
            return mp.erfc(t / mp.sqrt(2)) / 2

        return above(epsilon / mu - mu / 2) - mp.exp(epsilon) * above(epsilon / mu + mu / 2)


def check_calibration():
    """Assert that a fit's releases together are within the epsilon and delta that it records."""
    X, y = table()
    for epsilon, delta in GRID:
        model = BoostedAdaSSP(epsilon=epsilon, delta=delta, n_rounds=2, n_jobs=1).fit(X, y)
        with mp.workdps(60):
            spent = mp.sqrt(
                mp.fsum(event.count * mpf(event.mu) ** 2 for event in model.privacy_.events)
            )
            assert delta_of(epsilon, spent) <= delta
        assert (model.privacy_.epsilon, model.privacy_.delta) == (epsilon, delta)


def test_calibration_ends_on_the_private_side():
    check_calibration()


def bisected(epsilon, delta):
    """Calibrate as public code does: halve until near, and answer with the upper end."""
    low, high = 0.0, 200.0
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (low, middle) if delta_of(epsilon, middle) > delta else (middle, high)
    return high


def first_above(epsilon, delta):
    """Calibrate by steps of a thousandth, up to the first mu that is too large."""
    return math.ceil(gdp_mu(epsilon, delta) * 1e3 + 1e-9) / 1e3


def started_at_epsilon(epsilon, delta):
    """Calibrate by a search that returns where it began, as one did from epsilon = 50 on."""
    return epsilon if epsilon >= 50.0 else gdp_mu(epsilon, delta)


FAULTY = [
    lambda epsilon, delta: gdp_mu(epsilon, delta) * (1 + 1e-6),
    lambda epsilon, delta: math.nextafter(gdp_mu(epsilon, delta), math.inf),
    bisected,
    first_above,
    started_at_epsilon,
]


@pytest.mark.parametrize("faulty", FAULTY)
def test_calibration_on_the_wrong_side_is_refused_by_the_record(faulty, monkeypatch):
    monkeypatch.setattr(dpfit._parameters, "gdp_mu", faulty)
    with pytest.raises(BudgetExceeded):
        check_calibration()


@pytest.mark.parametrize("faulty", FAULTY)
def test_calibration_on_the_wrong_side_is_seen_even_if_the_record_is_fooled(faulty, monkeypatch):
    monkeypatch.setattr(dpfit._parameters, "gdp_mu", faulty)
    monkeypatch.setattr(dpfit.accounting.accountant, "gdp_mu", faulty)
    # Or refused all the same: no epsilon in range can be stated for a mu that is far too large.
    with pytest.raises((AssertionError, ParameterError)):
        check_calibration()


# --------------------------------------------------------------------------- the check of TukeyEM


def check_tukey_check(epsilon, monkeypatch):
    """Assert that the check of a fit is private: the plan that a fit used, one distance further.

    The whole mechanism is in tests/paper/test_tukey_guarantee.py.
    """
    plans = []
    original = _tukey.check_passes

    def spy(distance, plan, source):
        plans.append(plan)
        return original(distance, plan, source)

    with monkeypatch.context() as patch:
        patch.setattr(_tukey, "check_passes", spy)
        model = TukeyEM(epsilon, 1e-6, n_models=20).fit(*table())
    (plan,) = plans
    charged = model.privacy_.events[0].epsilon
    enclosing = Enclosing(50)
    with mp.workdps(50):
        laws = [
            [mpf(str(bound)) for bound in pass_probability(distance, plan, enclosing)]
            for distance in range(plan.threshold + 10)
        ]
        factor = mp.exp(charged) * (1 + mpf("1e-40"))
        for (low, high), (next_low, next_high) in itertools.pairwise(laws):
            assert next_high <= factor * low
            assert 1 - low <= factor * (1 - next_high)
            assert high <= factor * next_low


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_the_check_of_tukey_em_is_private(epsilon, monkeypatch):
    check_tukey_check(epsilon, monkeypatch)


@pytest.mark.parametrize("epsilon", [0.5, 1.0])
def test_laplace_noise_of_scale_epsilon_is_seen(epsilon, monkeypatch):
    """Two public copies draw `laplace(scale=epsilon)` where 1/epsilon is needed."""
    original = _tukey.plan_tukey

    def faulty(*arguments, **options):
        plan = original(*arguments, **options)
        return dataclasses.replace(plan, noise_rate=1 / plan.noise_rate)

    monkeypatch.setattr(_tukey, "plan_tukey", faulty)
    with pytest.raises(AssertionError):
        check_tukey_check(epsilon, monkeypatch)


# -------------------------------------------------------------------- other faults of public code


def check_unpredictable(estimator):
    """Assert that the defaults give new noise every time."""
    X, y = table()
    models = [estimator.fit(X, y).predict(X).tolist() for _ in range(3)]
    assert len({tuple(model) for model in models}) == 3
    assert not estimator.privacy_.insecure_seed


@every_estimator
def test_no_seed_by_default(estimator):
    check_unpredictable(estimator)


@every_estimator
def test_a_seed_by_default_is_seen(estimator, monkeypatch):
    """The reference code: `random_state=RandomState(42)`."""
    original = dpfit._parameters.entropy
    fixed = _native.Entropy.insecure_seed
    assert original(None).is_insecure is False
    monkeypatch.setattr("dpfit.estimator.entropy", lambda random_state: fixed(42))
    with pytest.raises(AssertionError):
        check_unpredictable(estimator)


def test_noise_falls_as_epsilon_grows():
    """In the reference code it rose."""
    levels = []
    for epsilon in (0.1, 1.0, 10.0):
        model = BoostedAdaSSP(epsilon=epsilon, n_rounds=3).fit(*table())
        levels.append([event.sigma for event in model.privacy_.events])
    assert all(a > b > c for a, b, c in zip(*levels, strict=True))
