"""Faults that public code has had (DESIGN.md section 3), each with a check that would see it.

Every check is used twice: it passes on dpfit as it is, and it fails once the fault is put in.
Checks of noise have false alarms as in `transcript.py`; what is put in is far outside.
"""

import dataclasses
import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf

import dpfit._parameters
import dpfit.accounting
import dpfit.accounting.accountant
import dpfit.paper.adassp
import dpfit.paper.gradient_descent
import dpfit.paper.mean
import dpfit.paper.tukey_em
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
from dpfit.accounting import gaussian_sigma, gdp_mu
from dpfit.paper import _tukey
from dpfit.paper._exact_choice import Enclosing
from dpfit.paper._tukey_stages import pass_probability
from dpfit.release import Publisher

from .neighbours import ROWS
from .transcript import (
    COUNT,
    GRAM,
    caught,
    fitted,
    isometric,
    replayed,
    variance_is,
)

ROUNDS = 10
ESTIMATORS = [
    BoostedAdaSSP(n_rounds=ROUNDS, n_jobs=1),
    AdaSSP(n_jobs=1),
    DPGradientDescent(n_rounds=ROUNDS, n_jobs=1),
    BoostedMean(n_rounds=ROUNDS, n_jobs=1),
]
ITERATED = [estimator for estimator in ESTIMATORS if not isinstance(estimator, AdaSSP)]
MODULES = {
    BoostedAdaSSP: dpfit.paper.adassp,
    DPGradientDescent: dpfit.paper.gradient_descent,
    BoostedMean: dpfit.paper.mean,
}
RELATIONS = ["add_remove", "replace"]
smallest = dpfit.release._SMALLEST_SIGMA

every_estimator = pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
every_iterated = pytest.mark.parametrize("estimator", ITERATED, ids=str)


def table(rows=8, columns=2):
    rng = np.random.default_rng(7)
    return rng.normal(size=(rows, columns)), rng.normal(size=rows)


def delta_of(epsilon, mu):
    """Return the delta that mu-GDP has at an epsilon, in 60 digits."""
    with mp.workdps(60):
        epsilon, mu = mpf(epsilon), mpf(mu)

        def above(t):
            return mp.erfc(t / mp.sqrt(2)) / 2

        return above(epsilon / mu - mu / 2) - mp.exp(epsilon) * above(epsilon / mu + mu / 2)


# ------------------------------------------------------------------------ noise has the right scale


def check_noise(estimator, mu=0.25, fits=200, X=None, y=None):
    """Assert that noise has the standard deviation that sensitivities and the budget ask for.

    The record is believed in nothing but sensitivities, which are those of the table in DESIGN.md
    (`test_noise_scale.py`): what a release costs follows from its noise, and every release that was
    caught counts, whether it is on record or not.
    """
    if X is None:
        X, y = table()
    estimator.set_params(mu=mu)
    with caught() as released:
        for _ in range(fits):
            estimator.fit(X, y)
    noise = {}
    for release in released:
        values = release.noise
        if release.statistic == GRAM:
            values = values * isometric(X.shape[1])
        noise.setdefault(release.statistic, []).append(values)
    cost = Fraction(0)
    for event in estimator.privacy_.events:
        values = noise.pop(event.statistic)
        grid = 1.0 if event.statistic == COUNT else 0.0
        assert variance_is(values, event.sigma, grid)
        cost += len(values) * (Fraction(event.sensitivity) / Fraction(event.sigma)) ** 2
    assert not noise
    assert cost <= fits * Fraction(mu) ** 2


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
    release = "example_gradient" if isinstance(estimator, DPGradientDescent) else "gradient"
    original, sigma = getattr(Publisher, release), dpfit.release._sigma

    def faulty(self, *arguments):
        with monkeypatch.context() as patch:
            patch.setattr(dpfit.release, "_sigma", lambda s, mu: sigma(s, mu * math.sqrt(ROUNDS)))
            return original(self, *arguments)

    monkeypatch.setattr(Publisher, release, faulty)
    with pytest.raises(AssertionError):
        check_noise(estimator)


@every_iterated
def test_rounds_that_are_not_on_record_are_seen(estimator, monkeypatch):
    """All rounds spend what one should, and only one is written down: the sum looks right."""
    original = Publisher._record
    monkeypatch.setattr(MODULES[type(estimator)], "per_round", lambda mu, count: mu)

    def once(self, statistic, sensitivity, mu):
        if statistic not in [event.statistic for event in self._events]:
            original(self, statistic, sensitivity, mu)

    monkeypatch.setattr(Publisher, "_record", once)
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
    original, sigma = Publisher.gram, dpfit.release._sigma

    def faulty(self, gram, mu, bound):
        with monkeypatch.context() as patch:
            patch.setattr(dpfit.release, "_sigma", lambda s, mu: sigma(s / bound**2, mu))
            return original(self, gram, mu, bound)

    monkeypatch.setattr(Publisher, "gram", faulty)
    with pytest.raises(AssertionError):
        check_noise(estimator)


# ---------------------------------------------------------------------- rows beyond the bounds


def check_one_sided(estimator, relation):
    """Assert that rows of (0, 100), far beyond the bounds, are clipped and covered by noise.

    A lower bound of 0 taken twice, max(|0|, |0|), would make the sensitivity 0.
    """
    estimator.set_params(neighbors=relation)
    rng = np.random.default_rng(1)
    X, y = rng.uniform(0.0, 100.0, size=(20, 2)), rng.uniform(0.0, 100.0, size=20)
    # One row more, or a row at the one end instead of the other.
    others = {
        "add_remove": (np.vstack([X, [100.0, 100.0]]), np.append(y, 100.0)),
        "replace": (np.vstack([X[:-1], [0.0, 0.0]]), np.append(y[:-1], 0.0)),
    }
    transcript = fitted(estimator, X, y)
    with replayed(transcript) as again:
        estimator.fit(*others[relation])
    events = {event.statistic: event for event in estimator.privacy_.events}
    seen = 0.0
    for one, two in zip(transcript, again, strict=True):
        moved = one.exact - two.exact
        if one.statistic == GRAM:
            moved = moved * isometric(2)
        assert np.linalg.norm(moved) <= events[one.statistic].sensitivity * (1 + 1e-12)
        seen = max(seen, float(np.linalg.norm(moved)))
    assert seen > 0.1
    check_noise(estimator, fits=100, X=X, y=y)


@every_estimator
@pytest.mark.parametrize("relation", RELATIONS)
def test_rows_beyond_the_bounds_are_clipped_and_noised(estimator, relation):
    check_one_sided(estimator, relation)


@every_estimator
def test_a_bound_that_takes_the_lower_end_twice_is_seen(estimator, monkeypatch):
    lower = 0.0

    def faulty(sensitivity, mu):
        bound = max(abs(lower), abs(lower))
        return max(bound * gaussian_sigma(sensitivity, mu), smallest)

    monkeypatch.setattr(dpfit.release, "_sigma", faulty)
    with pytest.raises(AssertionError):
        check_one_sided(estimator, "add_remove")


def check_clipped(estimator):
    """Assert that a row far beyond a bound of one weighs as much as one of norm one."""
    for row in ([100.0, 0.0], [60.0, 80.0], [0.0, 1e300], [1.0, 1.0]):
        gram = fitted(estimator, np.array([row]), np.array([100.0]))[0]
        assert gram.statistic == GRAM
        assert 0.999 <= gram.exact[0] + gram.exact[2] <= 1.0


CLIPPING = [BoostedAdaSSP(n_rounds=2), AdaSSP()]


@pytest.mark.parametrize("estimator", CLIPPING, ids=str)
def test_rows_beyond_the_bound_weigh_no_more_than_it(estimator):
    check_clipped(estimator)


@pytest.mark.parametrize("estimator", CLIPPING, ids=str)
def test_rows_that_are_clipped_elsewhere_are_seen(estimator, monkeypatch):
    """Rows are cut at a hundred, the upper end, where one was asked for."""
    plain, original = _native.RowMap, Publisher.gram

    class Patched:
        @staticmethod
        def RowMap(columns, **options):  # noqa: N802
            wider = [
                (centre, scale, [(low, high, gain / 100.0) for low, high, gain in ramps])
                for centre, scale, ramps in columns
            ]
            return plain(wider, **options)

        def __getattr__(self, name):
            return getattr(_native, name)

    monkeypatch.setattr(dpfit.paper.adassp, "_native", Patched())

    def gram(self, gram, mu, bound):
        return original(self, gram, mu, bound * 100.0)

    monkeypatch.setattr(Publisher, "gram", gram)
    with pytest.raises(AssertionError):
        check_clipped(estimator)


# ------------------------------------------------------------------------ the norm of a clipped row


def awkward_rows():
    """Yield rows of which some have a norm above one after scaling in floats."""
    for seed in range(400):
        rng = np.random.default_rng(seed)
        theta = rng.normal(size=rng.integers(1, 7))
        row = ROWS[seed % len(ROWS)](rng, (), theta, 1.0)
        yield np.clip(row, -1e150, 1e150)


def check_norms(scale):
    """Assert that no scaled row is longer than one, in exact arithmetic."""
    for row in awkward_rows():
        assert sum(Fraction(value) ** 2 for value in scale(row)) <= 1


def quantised(row):
    """Return a row as the core keeps it, read off X'X of that row alone with a marker beside it."""
    row_map = _native.RowMap([(0.0, 1.0, [(-math.inf, math.inf, 1.0)])] * len(row), unit=1.0)
    gram = _native.Gram(row_map)
    gram.extend(row_map, row[None, :], np.zeros(1))
    squares = gram.insecure_exact()
    places = [i * len(row) - i * (i - 1) // 2 for i in range(len(row))]
    return [Fraction(math.isqrt(squares[place]), 2**15) for place in places]


def clipped_gradient(row):
    """Return a row's clipped gradient as the core adds it up: y = 1, theta = 0, bound one."""
    found = _native.ExampleGradient.of(row[None, :], np.ones(1), np.zeros(len(row)), 1.0)
    return [Fraction(value, 2**24) for value in found.insecure_exact()]


@pytest.mark.parametrize("scale", [quantised, clipped_gradient])
def test_no_row_is_longer_than_the_bound(scale):
    check_norms(scale)


def divided(row):
    with np.errstate(all="ignore"):
        return row / max(1.0, np.linalg.norm(row))


def multiplied(row):
    with np.errstate(all="ignore"):
        return row * min(1.0, 1.0 / max(np.linalg.norm(row), 1e-300))


def rounded_to_the_nearest(row):
    return np.rint(multiplied(row) * 2**15) / 2**15


@pytest.mark.parametrize("scale", [divided, multiplied, rounded_to_the_nearest])
def test_scaling_in_floats_is_seen(scale):
    with pytest.raises(AssertionError):
        check_norms(scale)


# ---------------------------------------------------------------- calibration ends on the safe side


GRID = [
    (epsilon, delta)
    for epsilon in (1e-6, 1e-3, 0.1, 0.5, 1.0, 3.0, 10.0, 50.0, 100.0, 800.0, 1000.0)
    for delta in (1e-300, 1e-12, 1e-6, 1e-5, 0.1, 0.5)
]


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

    The whole mechanism is in tests/paper/test_tukey_mechanism.py.
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


# ------------------------------------------------------------------------------ others of PEERS.md


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
    monkeypatch.setattr("dpfit._estimator.entropy", lambda random_state: fixed(42))
    with pytest.raises(AssertionError):
        check_unpredictable(estimator)


def check_smallest_eigenvalue(of):
    """Assert that a row moves the smallest eigenvalue, in units of a row, by at most one.

    Rows lie in a line or a plane; the one that is added does not.
    """
    rng = np.random.default_rng(5)
    for _ in range(50):
        X = np.repeat(rng.normal(size=(rng.integers(1, 3), 3)), 50, axis=0)
        row = rng.normal(size=3) * rng.choice([1e-3, 1.0])
        assert abs(of(np.vstack([X, row])) - of(X)) <= 1.01


def smallest_eigenvalue(X):
    row_map = _native.RowMap([(0.0, 1.0, [(-math.inf, math.inf, 1.0)])] * 3, unit=1.0)
    gram = _native.Gram(row_map)
    gram.extend(row_map, X, np.zeros(len(X)))
    return gram.insecure_smallest_eigenvalue() / 2**30


def smallest_positive_eigenvalue(X):
    """The reference code asks for eigenvalues in (0, inf): the next one, if one is zero."""
    X = X / np.maximum(1.0, np.linalg.norm(X, axis=1, keepdims=True))
    values = np.linalg.eigvalsh(X.T @ X)
    return values[values > 1e-9][0]


def test_the_smallest_eigenvalue_has_the_sensitivity_of_a_row():
    check_smallest_eigenvalue(smallest_eigenvalue)


def test_the_smallest_positive_eigenvalue_is_seen():
    with pytest.raises(AssertionError):
        check_smallest_eigenvalue(smallest_positive_eigenvalue)


@every_estimator
def test_a_table_of_zeros_is_no_special_case(estimator):
    estimator.fit(np.zeros((5, 2)), np.zeros(5))


@every_estimator
def test_fit_leaves_parameters_alone(estimator):
    """Public code has overwritten its bounds with those of the data."""
    before = estimator.get_params()
    estimator.fit(*table())
    assert estimator.get_params() == before
    assert all(estimator.get_params()[name] is value for name, value in before.items())


def test_noise_falls_as_epsilon_grows():
    """In the reference code it rose."""
    levels = []
    for epsilon in (0.1, 1.0, 10.0):
        model = BoostedAdaSSP(epsilon=epsilon, n_rounds=3).fit(*table())
        levels.append([event.sigma for event in model.privacy_.events])
    assert all(a > b > c for a, b, c in zip(*levels, strict=True))


def test_unknown_schedules_raise_before_the_data_are_read(monkeypatch):
    monkeypatch.setattr(Publisher, "gram", None)
    with pytest.raises(ParameterError, match="learning_rate"):
        BoostedAdaSSP(learning_rate="1/T").fit(*table())
