"""How a fit of the paper's estimators runs: seeds, threads, the bar, Ctrl-C."""

import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from dpfit import AdaSSP, BoostedMean, InsecureSeedWarning, TukeyEM
from dpfit.release import Releaser
from dpfit.statistics import ClippedGradients, Gradient

from .estimators import every, fitted_state, gaussian, small, table, with_rounds

seeded = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")


# -------------------------------------------------------------------------------------- seeds


@every
@pytest.mark.parametrize(
    "seed",
    [0, np.int64(7), np.random.RandomState(3), np.random.default_rng(3)],
    ids=lambda s: type(s).__name__,
)
def test_a_seed_warns_and_is_on_record(cls, seed):
    with pytest.warns(InsecureSeedWarning, match="not private"):
        model = small(cls, random_state=seed).fit(*table())
    assert model.privacy_.insecure_seed is True


@every
def test_no_seed_means_no_warning_and_new_noise(cls):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = small(cls).fit(*table())
    assert model.privacy_.insecure_seed is False


@every
def test_the_warning_points_at_the_line_that_fits(cls):
    estimator = small(cls, random_state=0)
    with pytest.warns(InsecureSeedWarning) as found:
        estimator.fit(*table())
    line = sys._getframe().f_lineno - 1
    assert (found[0].filename, found[0].lineno) == (__file__, line)


@seeded
@every
def test_seeded_fits_repeat(cls):
    X, y = table()
    options = {"epsilon": 50.0, "delta": 0.1} if cls is TukeyEM else {}
    first, second, other = (small(cls, random_state=s, **options).fit(X, y) for s in (1, 1, 2))
    assert fitted_state(first) == fitted_state(second)
    if cls is not TukeyEM or first.passed_ or other.passed_:
        assert fitted_state(first) != fitted_state(other)


@seeded
@gaussian
@pytest.mark.parametrize("neighbors", ["add_remove", "replace"])
def test_threads_and_the_order_of_rows_change_nothing(cls, neighbors):
    """To the last bit: sums are of integers."""
    X, y = table(rows=5000)
    X[:50] *= 1e6
    options = {"random_state": 5, "neighbors": neighbors}
    if cls is not BoostedMean:
        options["fit_intercept"] = True
    expected = fitted_state(small(cls, n_jobs=1, **options).fit(X, y))
    for n_jobs in (2, 3, None):
        assert fitted_state(small(cls, n_jobs=n_jobs, **options).fit(X, y)) == expected
    for seed in range(3):
        order = np.random.default_rng(seed).permutation(len(y))
        assert fitted_state(small(cls, **options).fit(X[order], y[order])) == expected
    assert fitted_state(small(cls, **options).fit(np.asfortranarray(X), y)) == expected


@seeded
def test_threads_change_nothing_for_tukey_em():
    X, y = table(rows=2000)
    first, second = (
        TukeyEM(30.0, 0.1, n_models=50, random_state=1, n_jobs=n).fit(X, y) for n in (1, 2)
    )
    assert first.passed_
    assert fitted_state(first) == fitted_state(second)


# --------------------------------------------------------------------------------- the bar, Ctrl-C


@with_rounds
def test_the_bar_goes_to_standard_error(cls, capsys):
    small(cls, n_rounds=4, verbose=True).fit(*table())
    out, err = capsys.readouterr()
    assert out == ""
    assert cls.__name__ in err
    assert [f"{t}/4" in err for t in range(1, 5)] == [True] * 4
    assert err.endswith("\n")
    small(cls).fit(*table())
    assert capsys.readouterr() == ("", "")


@with_rounds
def test_the_bar_shows_no_data(cls, capsys):
    """Whatever the table, the same text."""
    shown = set()
    for seed in range(3):
        small(cls, verbose=True).fit(*table(rows=10 + seed, seed=seed))
        shown.add(capsys.readouterr().err)
    assert len(shown) == 1


def interrupted_at(monkeypatch, call):
    """Raise KeyboardInterrupt at a release of a gradient."""
    calls, original = [], Releaser.release

    def release(self, table, statistic, *mus):
        if isinstance(statistic, Gradient | ClippedGradients):
            calls.append(statistic)
            if len(calls) == call:
                raise KeyboardInterrupt
        return original(self, table, statistic, *mus)

    monkeypatch.setattr(Releaser, "release", release)


@with_rounds
def test_ctrl_c_leaves_an_unfitted_model_unfitted(cls, monkeypatch):
    X, y = table()
    estimator = small(cls)
    before = dict(vars(estimator))
    interrupted_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        estimator.fit(X, y)
    assert vars(estimator) == before
    with pytest.raises(NotFittedError):
        estimator.predict(X)
    estimator.fit(X, y)  # and it can be fitted afterwards


@with_rounds
def test_ctrl_c_leaves_a_fitted_model_as_it_was(cls, monkeypatch):
    X, y = table()
    model = small(cls).fit(pd.DataFrame(X, columns=list("abc")), y)
    before, predictions = fitted_state(model), model.predict(pd.DataFrame(X, columns=list("abc")))
    interrupted_at(monkeypatch, 3)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X[:, :2], y)
    assert fitted_state(model) == before
    np.testing.assert_array_equal(model.predict(pd.DataFrame(X, columns=list("abc"))), predictions)


def test_ctrl_c_in_the_middle_of_adassp(monkeypatch):
    X, y = table()
    model = AdaSSP().fit(X, y)
    before = fitted_state(model)
    interrupted_at(monkeypatch, 1)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert fitted_state(model) == before


def test_ctrl_c_in_the_middle_of_tukey_em(monkeypatch):
    X, y = table()
    model = small(TukeyEM).fit(X, y)
    before = fitted_state(model)

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dpfit.paper.tukey_em.release_tukey_point", interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X, y)
    assert fitted_state(model) == before
