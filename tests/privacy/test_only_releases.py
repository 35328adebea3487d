"""A model is a function of what was released and of what is public, and of nothing else.

A fit is repeated on another table with every release answered from the first fit's transcript:
if the two models differ in any bit, something of the table went past the releaser.
"""

import dataclasses
import pickle

import numpy as np
import pytest

import dpfit.paper.tukey_em
from dpfit import (
    AdaSSP,
    BoostedAdaSSP,
    BoostedMean,
    DPGradientDescent,
    PrivateAdditiveRegression,
    PrivateLinearRegression,
    TukeyEM,
)
from dpfit.exceptions import DpfitError
from dpfit.release import Releaser
from dpfit.schema import Binary, Categorical, Numeric, Schema
from dpfit.statistics import RowCount

from .transcript import fitted, replayed

ESTIMATORS = [
    BoostedAdaSSP(n_rounds=4),
    BoostedAdaSSP(n_rounds=4, fit_intercept=True, ridge="literal", averaging=0.5),
    BoostedAdaSSP(n_rounds=4, x_bound=1e-3, tau=1e3, learning_rate="1/t", mu=1e6),
    AdaSSP(),
    AdaSSP(fit_intercept=True, x_bound=3.0, y_bound=0.1),
    DPGradientDescent(n_rounds=4),
    DPGradientDescent(n_rounds=4, fit_intercept=True, learning_rate="1/sqrt(t)"),
    BoostedMean(n_rounds=4),
]
PUBLIC = Schema({0: Numeric(-2, 2), 1: Binary()}, target=Numeric(-9, 9))
LEVELS = Schema({0: Categorical([0, 1, -7]), 1: Categorical([1])})
# At this budget a table of 50 rows has slopes; by default it has a mean only.
MODELS = [
    cls(**options)
    for cls in (PrivateLinearRegression, PrivateAdditiveRegression)
    for options in (
        {},
        {"mu": 5.0, "missing": "drop"},
        {"mu": 1000.0},
        {"mu": 5.0, "schema": PUBLIC},
        {"mu": 5.0, "schema": LEVELS},
    )
]


def other_tables(rows):
    """Return tables that have nothing in common but their width."""
    rng = np.random.default_rng(2)
    return [
        (rng.normal(size=(rows, 3)) * 1e200, rng.normal(size=rows) * 1e300),
        (np.zeros((rows, 3)), np.zeros(rows)),
        (np.ones((rows, 3), dtype=np.int8), np.full(rows, -1e-320)),
        (np.repeat(rng.normal(size=(rows, 1)), 3, axis=1), np.arange(float(rows))),
    ]


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *MODELS], ids=str)
def test_a_model_depends_on_its_table_only_through_releases(estimator, relation):
    rng = np.random.default_rng(1)
    estimator.set_params(neighbors=relation)
    transcript = fitted(estimator, rng.normal(size=(50, 3)), rng.normal(size=50))
    model = pickle.dumps(estimator)
    # Where rows may be added, not even their number may show.
    for rows in (50,) if relation == "replace" else (50, 1, 777):
        for table in other_tables(rows):
            with replayed(transcript):
                estimator.fit(*table)
            assert pickle.dumps(estimator) == model


@pytest.mark.parametrize("estimator", MODELS[1::5], ids=str)
@pytest.mark.parametrize("relation", ["add_remove", "replace"])
def test_how_many_rows_were_dropped_does_not_show(estimator, relation):
    """Replacing a row may make it one that is dropped, so what is left is not public."""
    rng = np.random.default_rng(1)
    estimator.set_params(neighbors=relation)
    X, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    transcript = fitted(estimator, X, y)
    model = pickle.dumps(estimator)
    X[7, 1] = np.nan
    with replayed(transcript):
        estimator.fit(X, y)
    assert pickle.dumps(estimator) == model


def test_a_leak_would_be_seen():
    """Public code uses the number of rows without paying for it."""
    estimator = DPGradientDescent(n_rounds=4)
    transcript = fitted(estimator, np.ones((50, 3)), np.ones(50))
    model = pickle.dumps(estimator)
    with replayed(transcript), pytest.MonkeyPatch.context() as patch:
        answered = Releaser.release

        def leak(self, table, statistic, *mus):
            answer = answered(self, table, statistic, *mus)
            if isinstance(statistic, RowCount):
                return dataclasses.replace(answer, value=float(table.sum(statistic).rows))
            return answer

        patch.setattr(Releaser, "release", leak)
        estimator.fit(np.ones((40, 3)), np.ones(40))
    assert pickle.dumps(estimator) != model


@pytest.mark.parametrize("relation", ["add_remove", "replace"])
@pytest.mark.parametrize("fit_intercept", [False, True])
@pytest.mark.parametrize("passes", [False, True])
def test_tukey_em_depends_on_its_table_only_through_its_release(
    relation, fit_intercept, passes, monkeypatch
):
    estimator = TukeyEM(n_models=5, neighbors=relation, fit_intercept=fit_intercept)
    width = 3 + fit_intercept
    original = dpfit.paper.tukey_em.release_tukey_point

    def same(models, *arguments, **options):
        release = original(np.zeros((400, width)), *arguments, **options)
        assert release.passed
        if passes:
            return release
        return original(np.eye(1, width), *arguments, **options)

    monkeypatch.setattr(dpfit.paper.tukey_em, "release_tukey_point", same)
    rng = np.random.default_rng(1)
    model = pickle.dumps(estimator.fit(rng.normal(size=(50, 3)), rng.normal(size=50)))
    assert estimator.passed_ is passes
    for table in (*other_tables(50), *other_tables(1)):
        assert pickle.dumps(estimator.fit(*table)) == model


WILD = [
    np.full((5, 2), 1.7e308),
    np.full((5, 2), 5e-324),
    np.array([[1e308, -1e308], [1e-308, 1e308], [0.0, 0.0]]),
    np.zeros((1, 2)),
    np.repeat([[1.0, 1.0]], 6, axis=0),
    np.array([[np.finfo(np.float32).max, 1.0]], dtype=np.float32),
    np.array([[np.iinfo(np.int64).min, np.iinfo(np.int64).max]]),
]


# It follows from releases that the target was not found.
@pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")
@pytest.mark.parametrize("estimator", [*ESTIMATORS, *MODELS, TukeyEM(n_models=3)], ids=str)
@pytest.mark.parametrize("X", WILD, ids=range(len(WILD)))
@pytest.mark.parametrize("y", [1.7e308, -5e-324, 0.0])
def test_no_finite_table_raises_or_warns(estimator, X, y):
    """An exception is an output, too, and would have to be paid for. Warnings are errors here."""
    model = estimator.fit(X, np.full(len(X), y))
    if isinstance(model, BoostedMean):
        assert np.isfinite(model.mean_)
    else:
        assert np.isfinite([*getattr(model, "coef_", ()), model.intercept_]).all()
    assert np.isfinite(model.predict(np.ones((1, 2)))).all()
    if estimator in MODELS:
        rows = np.array([[-1e308, 1e308], [0.0, 5e-324]])
        assert np.isfinite(model.predict(rows)).all()


@pytest.mark.filterwarnings("ignore::dpfit.HiddenTargetWarning")
@pytest.mark.parametrize(
    "estimator",
    [*ESTIMATORS[::3], BoostedMean(n_rounds=4), *MODELS[::5], TukeyEM(n_models=3)],
    ids=lambda estimator: type(estimator).__name__,
)
def test_no_finite_target_raises_or_warns(estimator):
    """In whose sum infinities of both signs meet."""
    model = estimator.fit(np.ones((16, 2)), np.tile([1.7e308, -1.7e308], 8))
    assert np.isfinite(model.predict(np.ones((1, 2)))).all()


SECRET = 8.76543210123
MISSHAPEN = {
    "one-dimensional": (np.full(3, SECRET), np.ones(3)),
    "a number": (SECRET, np.ones(3)),
    "complex": (np.full((3, 2), complex(SECRET)), np.ones(3)),
    "three-dimensional": (np.full((3, 2, 2), SECRET), np.ones(3)),
    "words": (np.array([["8.76543210123x", 1.0]], dtype=object), np.ones(1)),
    "words in y": (np.ones((1, 2)), np.array(["8.76543210123x"], dtype=object)),
    "two targets": (np.ones((3, 2)), np.full((3, 2), SECRET)),
    "NaN": (np.array([[SECRET, np.nan]]), np.array([SECRET])),
    "NaN in y": (np.array([[SECRET], [SECRET]]), np.array([SECRET, np.nan])),
    "infinity": (np.array([[SECRET, np.inf]]), np.array([SECRET])),
}


@pytest.mark.parametrize("kind", MISSHAPEN)
@pytest.mark.parametrize(
    "estimator",
    [BoostedAdaSSP(), AdaSSP(), DPGradientDescent(), TukeyEM(), BoostedMean(), *MODELS[::5]],
    ids=lambda estimator: type(estimator).__name__,
)
def test_messages_hold_no_value_of_the_table(estimator, kind):
    X, y = MISSHAPEN[kind]
    if isinstance(estimator, BoostedMean) and kind in ("NaN", "infinity"):
        pytest.skip("X is not looked at")
    with pytest.raises((ValueError, TypeError, DpfitError)) as error:
        estimator.fit(X, y)
    shown = error.value
    while shown is not None:
        assert "8.765" not in str(shown)
        shown = None if shown.__suppress_context__ else shown.__context__


@pytest.mark.parametrize("estimator", [*ESTIMATORS, *MODELS[:1], TukeyEM()], ids=str)
def test_a_table_too_large_for_the_memory_does_not_show_its_length(estimator):
    """NumPy's message contains the shape of what it cannot allocate."""
    rows = 1_234_567
    # It has one value; its copy in double precision would not fit into any address space.
    X = np.broadcast_to(np.float16(1.0), (rows, 10**8))
    with pytest.raises(MemoryError) as caught:
        estimator.fit(X, np.zeros(rows))
    error = caught.value
    assert str(rows) not in f"{error} {error!r} {error.args} {vars(error)}"
    assert error.__context__ is error.__cause__ is None
