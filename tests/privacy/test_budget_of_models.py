"""Estimators without tuning spend what was asked for, whatever they find out on the way.

How much a fit spends on what depends on what it released before: looks closer into a range, a
first additive model, a mean instead of slopes. All of it has to add up to the budget, to 1e-12
and never above.
"""

import itertools
import math

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import dpfit.engine.stage
import dpfit.engine.threshold
import dpfit.release
from dpfit import BudgetExceeded, PrivateAdditiveRegression, PrivateLinearRegression
from dpfit.accounting import compose, gdp_mu
from dpfit.release import Releaser
from dpfit.schema import Binary, Numeric, Schema

from .test_budget import budgets, check_record, check_spent, relations
from .transcript import (
    COUNT,
    GRADIENT,
    MAPPED,
    PRODUCTS,
    SCORES,
    SUMS,
    TARGET,
    claims,
    features_histogram,
    fitted,
    largest_correlation_is_chance,
    mean_is_zero,
    variance_is,
)

CLASSES = [PrivateLinearRegression, PrivateAdditiveRegression]
every = pytest.mark.parametrize("cls", CLASSES, ids=lambda cls: cls.__name__)
RELATIONS = ["add_remove", "replace"]
GRIDS = {COUNT, TARGET, SCORES, *(features_histogram(count) for count in range(1, 9))}

# What a linear model releases to see where its lines end, and what any model does then.
FIRST = [MAPPED, GRADIENT, SCORES, GRADIENT, GRADIENT, GRADIENT, SUMS]
SQUARES = "sum of squared residuals"
FULL = [MAPPED, MAPPED, GRADIENT, GRADIENT, SCORES, *[GRADIENT] * 7, PRODUCTS, SQUARES, SQUARES]
LAST = [MAPPED, GRADIENT, SCORES, *[GRADIENT] * 6, PRODUCTS, SQUARES, SQUARES]


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
    # So small that in floating point no function is worth more than another.
    @example({"mu": 1e-9}, (2, 3, "dates"), "add_remove", "target", 1)
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
    events = claims(record)
    names = [event.statistic for event in events]
    # How many rows there are costs something unless it cannot change. With few rows they are
    # counted twice.
    assert names.count(COUNT) in ({1, 2} if relation == "add_remove" or most is not None else {0})
    assert TARGET in names
    # All columns of numbers are looked at first, then those without bounds and perhaps others.
    unknown = {None: columns, "target": columns, "some": 1, "all": 0}[known]
    flags = {"some": columns > 2, "all": columns > 1}.get(known, False)
    histograms = [
        name for name in names if name.startswith("histogram") and name not in (TARGET, SCORES)
    ]
    numbers = columns - flags
    if not histograms:
        # A mean needs nothing of the columns.
        assert not numbers or model.residual_variance_ is None
        numbers = unknown = 0
    assert histograms[:1] == [features_histogram(numbers)] * (numbers > 0)
    assert len(histograms) > 1 or not unknown
    assert set(histograms[1:2]) <= {
        features_histogram(n) for n in range(max(unknown, 1), numbers + 1)
    }
    assert set(histograms) <= {features_histogram(n) for n in range(1, numbers + 1)}
    rest = check_model(model, names)
    rows = most or 1
    assert record.max_rows == most
    protected = "each row:" if most is None else f"each unit (at most {most} row"
    assert protected in record.statement()
    both = 2 if relation == "replace" else 1
    bins = rows * math.sqrt(both)
    expected = {COUNT: rows, TARGET: bins, MAPPED: bins, SCORES: bins}
    for count in range(1, columns + 1):
        expected[features_histogram(count)] = rows * math.sqrt(count * both)
    if model.n_rounds_ == 1:
        # The threshold of the mean, in half-widths of the target's range.
        tau = events[-1].sensitivity / (rows * both)
        assert np.abs(dpfit.engine.threshold.EDGES / tau - 1.0).min() < 2.0**-8
    for event in events:
        if event.statistic == SQUARES:
            # Thresholds of R-squared, rounded to steps of 2**-14 half-widths.
            tau = math.sqrt(event.sensitivity / rows)
            assert np.abs(dpfit.engine.explained.THRESHOLDS / tau - 1.0).min() < 0.01
        elif event.statistic not in (GRADIENT, SUMS, PRODUCTS):
            assert event.sensitivity == pytest.approx(expected[event.statistic], rel=1e-12)
    # Thresholds change once: after residuals are counted.
    for start, stage, wide in rest:
        sizes = [e.sensitivity for e in events[start : start + stage] if e.statistic == GRADIENT]
        assert len(set(sizes[:wide])) == 1
        assert len(set(sizes[wide:])) <= 1
        assert min(sizes) > 0.0
    # A row adds its residual once for each line.
    for place, event in enumerate(events):
        if event.statistic == SUMS:
            tau = event.sensitivity / (rows * both)
            roots = np.sqrt(np.arange(1, columns + 1))
            steps = tau * dpfit.engine.stage.STEPS / roots
            assert np.abs(steps - np.round(steps)).min() < 1e-6
            assert events[place - 1].statistic == GRADIENT


def check_model(model, names):
    """Assert which releases come after histograms; return begin, length, wide rounds of stages."""
    ends = [i for i, name in enumerate(names) if name.startswith("histogram") and name != SCORES]
    first = ends[-1] + 1
    rest = names[first:]
    if rest[: len(FIRST)] == FIRST:
        assert isinstance(model, PrivateLinearRegression)
        assert rest == FIRST + LAST
        assert model.n_rounds_ == LAST.count(GRADIENT)
        return [(first, len(FIRST), 1), (first + len(FIRST), len(LAST), 1)]
    # A model that did not see its target keeps nothing of its rounds but their number.
    is_mean = model.n_rounds_ == 1
    assert model.status_ == "nothing" or is_mean == (model.residual_variance_ is None)
    last = [GRADIENT] if is_mean else FULL
    assert model.n_rounds_ == last.count(GRADIENT)
    # The first X'X may leave nothing to find out.
    assert rest == last or (last == FULL and rest == FULL[1:])
    return [(first, len(rest), 2)]


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
    assert [event.statistic for event in claims(record.privacy_)][-19:] == FIRST + LAST
    # With fewer rows, lines are fitted without a look at their ends in more than half of all fits.
    asked = {"epsilon": 1.0}
    fits = [fit(CLASSES[0], asked, (400, 3, "dates"), "replace", None, None) for _ in range(25)]
    names = [[event.statistic for event in claims(model.privacy_)] for model in fits]
    assert any(part.count(MAPPED) == 2 and part[-15:] == FULL for part in names)
    few = fit(CLASSES[0], asked, (1, 3, "dates"), "replace", None, None)
    assert few.residual_variance_ is None
    assert not few.coef_.any()
    assert [event.statistic for event in claims(few.privacy_)].count(GRADIENT) == 1


@every
def test_rounds_that_are_not_composed_are_seen_by_the_record(cls, monkeypatch):
    monkeypatch.setattr(dpfit.engine.stage, "per_round", lambda mu, count: mu)
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
    (asked, shape, known, most), noise, rounds, means = REGIMES[regime], {}, [], 0
    for number in range(fits):
        X, y = table(*shape)
        model = CLASSES[number % 2](
            **asked, neighbors=relation, schema=schema(known, 2), max_rows=most, n_jobs=1
        )
        released = fitted(model, X, y, unit=None if most is None else np.arange(len(y)) // 3)
        means += model.residual_variance_ is None
        for release, event in zip(released, claims(model.privacy_), strict=True):
            assert release.statistic == event.statistic
            values = release.in_norm(release.noise)
            grid = 1.0 if release.statistic in GRIDS else 0.0
            size = math.sqrt(event.sigma**2 + grid**2 / 12.0)
            noise.setdefault(release.statistic, []).append(values / size)
        # A first model is not always made.
        if model.residual_variance_ is not None:
            last = [part[:2] for part in noise[GRADIENT][-LAST.count(GRADIENT) :]]
            rounds.append(np.concatenate(last))
    for statistic, parts in noise.items():
        values = np.concatenate(parts)
        assert variance_is(values, 1.0), statistic
        assert mean_is_zero(values, 1.0), statistic
        if values.size > 5000:
            assert not variance_is(1.25 * values, 1.0)
            assert not variance_is(0.8 * values, 1.0)
    # The rounds of one fit have noise of their own.
    if regime == "mean":
        assert means > fits / 4
    else:
        # One fit in a thousand of dates is a mean.
        assert means < fits / 4
        assert largest_correlation_is_chance(np.array(rounds))


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


@pytest.mark.parametrize("statistic", [COUNT, TARGET, MAPPED, SCORES, GRADIENT])
def test_a_release_without_an_event_is_seen(statistic, monkeypatch):
    original = Releaser._record

    def record(self, name, sensitivity, mu):
        if name != statistic:
            original(self, name, sensitivity, mu)

    monkeypatch.setattr(Releaser, "_record", record)
    with pytest.raises((AssertionError, ValueError)):
        check_noise("slopes", "add_remove", fits=1)
