"""Estimators without tuning spend what was asked for, whatever they find out on the way.

How much a fit spends on what depends on what it released before: looks closer into a range, a
mean instead of slopes. All of it has to add up to the budget, to 1e-12 and never above.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dpfit.engine.fit
import dpfit.release
from dpfit import BudgetExceeded, PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.accounting import compose, gdp_mu
from dpfit.release import Releaser
from dpfit.schema import Binary, Numeric, Schema

from .test_budget import budgets, check_record, check_spent, relations
from .transcript import (
    COUNT,
    ENERGY,
    GRADIENT,
    GRAM,
    TARGET,
    claims,
    features_histogram,
    fitted,
    isometric,
    largest_correlation_is_chance,
    mean_is_zero,
    variance_is,
)

CLASSES = [PrivateLinearRegression, PrivateAdditiveRegression]
every = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
RELATIONS = ["add_remove", "replace"]
GRIDS = {COUNT, TARGET, *(features_histogram(count) for count in range(1, 9))}


def table(rows, columns, kind, seed=0):
    """Draw a table: plain, of dates (far from zero, so that ranges are looked into), or one row."""
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(rows, columns)), rng.normal(size=rows)
    if kind == "dates":
        X, y = 737_000.0 + 200.0 * X, 1e6 + y
    elif kind == "constant":
        X, y = np.full_like(X, 3.7), np.full_like(y, -1e-5)
    return X, y


def schema(known, columns):
    """Return what is public: of all columns, of all but the last, of the target alone, nothing."""
    kinds = [Numeric(-3, 1e6), Binary(), Numeric(0, 1)]
    if known == "all":
        return Schema(dict(zip(range(columns), itertools.cycle(kinds))), target=Numeric(0, 1))
    if known == "some":
        return Schema(dict(zip(range(columns - 1), itertools.cycle(kinds))))
    return Schema(target=Numeric(-1, 5)) if known == "target" else None


tables = st.tuples(
    st.sampled_from([1, 2, 30, 120, 400]),
    st.integers(1, 4),
    st.sampled_from(["plain", "dates", "constant"]),
)


def fit(cls, asked, shape, relation, known, most):
    """Fit a model and return its record."""
    X, y = table(*shape)
    model = cls(
        **asked,
        neighbors=relation,
        schema=schema(known, shape[1]),
        max_rows=most,
        n_jobs=1,
    )
    unit = None if most is None else np.arange(len(y)) // 3
    return model.fit(X, y, unit=unit)


@every
def test_events_compose_to_the_budget(cls):
    @settings(max_examples=60, deadline=None)
    @given(
        budgets,
        tables,
        relations,
        st.sampled_from([None, "all", "some", "target"]),
        st.sampled_from([None, 1, 2, 7]),
    )
    def check(asked, shape, relation, known, most):
        model = fit(cls, asked, shape, relation, known, most)
        record = model.privacy_
        check_spent(record, asked)
        check_record(record, asked, {"neighbors": relation})
        check_events(model, shape[1], relation, known, most)

    check()


def check_events(model, columns, relation, known, most):
    """Assert that events are those of the table, with the sensitivities of a unit."""
    record = model.privacy_
    found = {}
    for event in record.events:
        found.setdefault(event.statistic, []).append(event)
    # How many rows there are costs something unless it cannot change.
    assert (COUNT in found) == (relation == "add_remove" or most is not None)
    # Whether a target fills its bounds is looked at only with many rows.
    assert TARGET in found or known in ("all", "target")
    slopes = model.residual_variance_ is not None
    histograms = {name for name in found if name.startswith("histogram") and name != TARGET}
    unknown = {None: columns, "target": columns, "some": 1, "all": 0}[known]
    assert (features_histogram(unknown) in histograms) == bool(slopes and unknown)
    # A closer look may have fewer columns. Those with bounds are looked at apart.
    bounded = columns - columns // 3 if known in ("all", "some") else 0
    assert histograms <= {features_histogram(n) for n in range(1, max(unknown, bounded) + 1)}
    rows = most or 1
    assert record.max_rows == most
    protected = "each row:" if most is None else f"each unit (at most {most} row"
    assert protected in record.statement()
    both = 2 if relation == "replace" else 1
    expected = {COUNT: rows, TARGET: rows * math.sqrt(both)}
    for count in range(1, columns + 1):
        expected[features_histogram(count)] = rows * math.sqrt(count * both)
    if slopes:
        expected[GRAM] = rows * math.sqrt(both)
        assert {name for name in found if name not in expected} == {GRADIENT, ENERGY}
        assert sum(event.count for event in found[GRADIENT]) == model.n_rounds_
        # Residuals are clipped at one until their size was released.
        (first, second), gradients = found[ENERGY], found[GRADIENT]
        assert first.sensitivity == pytest.approx(rows)
        assert gradients[0].sensitivity == pytest.approx(rows * both)
        tau = gradients[-1].sensitivity / (rows * both)
        assert second.sensitivity == pytest.approx(rows * tau**2)
    else:
        expected[GRADIENT] = rows * both
        assert found.keys() <= expected.keys()
    for name, size in expected.items():
        for event in found.get(name, []) if name != GRADIENT or not slopes else []:
            assert event.sensitivity == pytest.approx(size, rel=1e-12)


@every
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("epsilon", [0.01, 0.1, 1.0, 5.0, 50.0])
@pytest.mark.parametrize(("rows", "kind"), [(1, "plain"), (60, "dates"), (3000, "dates")])
def test_composition_is_within_the_last_digits_of_the_budget(cls, relation, epsilon, rows, kind):
    record = fit(cls, {"epsilon": epsilon}, (rows, 3, kind), relation, None, None).privacy_
    spent = compose(*(event.mu for event in claims(record)))
    assert gdp_mu(epsilon, 1e-6) * (1 - 1e-12) <= spent <= gdp_mu(epsilon, 1e-6)


def test_the_regimes_are_all_met():
    """The tables above are those on which ranges are looked into, and those with a mean only."""
    record = fit(CLASSES[0], {"epsilon": 5.0}, (3000, 3, "dates"), "add_remove", None, None)
    looks = [event for event in claims(record.privacy_) if event.statistic.startswith("histog")]
    assert len(looks) >= 6
    # More than a mean would be six deviations away.
    few = fit(CLASSES[0], {"epsilon": 1.0}, (1, 3, "dates"), "add_remove", None, None)
    assert few.residual_variance_ is None
    assert not few.coef_.any()
    assert [event.statistic for event in few.privacy_.events[:2]] == [COUNT, COUNT]


@every
def test_rounds_that_are_not_composed_are_seen_by_the_record(cls, monkeypatch):
    monkeypatch.setattr(dpfit.engine.fit, "per_round", lambda mu, count: mu)
    with pytest.raises(BudgetExceeded, match="the events cost"):
        fit(cls, {"epsilon": 5.0}, (400, 2, "plain"), "add_remove", None, None)


FITS = 64
REGIMES = {
    "slopes": ({"mu": 2.0}, (120, 2, "plain"), None, None),
    "mean": ({"mu": 0.3}, (20, 2, "plain"), None, None),
    "units": ({"mu": 4.0}, (150, 2, "plain"), None, 3),
    "dates": ({"mu": 8.0}, (200, 2, "dates"), "target", None),
}


def check_noise(regime, relation, fits=FITS):
    """Assert that every release has the noise of the event at its place in the record."""
    (asked, shape, known, most), noise = REGIMES[regime], {}
    for number in range(fits):
        X, y = table(*shape)
        model = CLASSES[number % 2](
            **asked, neighbors=relation, schema=schema(known, 2), max_rows=most, n_jobs=1
        )
        released = fitted(model, X, y, unit=None if most is None else np.arange(len(y)) // 3)
        for release, event in zip(released, claims(model.privacy_), strict=True):
            assert release.statistic == event.statistic
            values = release.noise
            if release.statistic == GRAM:
                values = values * isometric(math.isqrt(2 * len(values)))
            grid = 1.0 if release.statistic in GRIDS else 0.0
            size = math.sqrt(event.sigma**2 + grid**2 / 12.0)
            noise.setdefault(release.statistic, []).append(values / size)
    for statistic, parts in noise.items():
        values = np.concatenate(parts)
        assert variance_is(values, 1.0), statistic
        assert mean_is_zero(values, 1.0), statistic
        if values.size > 5000:
            assert not variance_is(1.25 * values, 1.0)
            assert not variance_is(0.8 * values, 1.0)
    # The rounds of one fit have noise of their own.
    if regime != "mean":
        rounds = np.array([part[:2] for part in noise[GRADIENT]]).reshape(fits, -1)
        assert largest_correlation_is_chance(rounds)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("regime", REGIMES)
def test_noise_has_the_scale_that_the_record_claims(regime, relation):
    """False alarms as in `transcript.py`, in at most 15 checks for each case."""
    check_noise(regime, relation)


@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_for_one_row_where_a_unit_has_three_is_seen(relation, monkeypatch):
    sigma = dpfit.release._sigma
    monkeypatch.setattr(dpfit.release, "_sigma", lambda s, mu: sigma(s / 3.0, mu))
    with pytest.raises(AssertionError):
        check_noise("units", relation, fits=4)


@pytest.mark.parametrize("statistic", [COUNT, GRAM, ENERGY])
def test_a_release_without_an_event_is_seen(statistic, monkeypatch):
    original = Releaser._record

    def record(self, name, sensitivity, mu):
        if name != statistic:
            original(self, name, sensitivity, mu)

    monkeypatch.setattr(Releaser, "_record", record)
    with pytest.raises((AssertionError, ValueError)):
        check_noise("slopes", "add_remove", fits=1)
