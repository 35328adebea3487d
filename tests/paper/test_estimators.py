"""What the paper's estimators promise as objects: parameters, files, repeatability, Ctrl-C."""

import copy
import gc
import io
import pickle
import re
import sys
import types
import warnings

import joblib
import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from dpfit import (
    AdaSSP,
    BoostedAdaSSP,
    BoostedMean,
    DpfitError,
    DPGradientDescent,
    InsecureSeedWarning,
    NotFiniteError,
    ParameterError,
    TukeyEM,
)
from dpfit.release import Publisher

GAUSSIAN = [BoostedAdaSSP, AdaSSP, DPGradientDescent, BoostedMean]
LINEAR = [BoostedAdaSSP, AdaSSP, DPGradientDescent, TukeyEM]
EVERY = [*GAUSSIAN, TukeyEM]
ROUNDS = [BoostedAdaSSP, DPGradientDescent, BoostedMean]


def named(cls):
    return cls.__name__


every = pytest.mark.parametrize("cls", EVERY, ids=named)
gaussian = pytest.mark.parametrize("cls", GAUSSIAN, ids=named)
with_rounds = pytest.mark.parametrize("cls", ROUNDS, ids=named)
seeded = pytest.mark.filterwarnings("ignore::dpfit.InsecureSeedWarning")


def small(cls, **options):
    """Return an estimator that is quick to fit."""
    if cls is TukeyEM:
        options = {"n_models": 10, **options}
    if cls in ROUNDS:
        options = {"n_rounds": 5, **options}
    return cls(**options)


def table(rows=60, columns=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rows, columns)) * 0.4
    return X, X @ np.arange(1.0, columns + 1) + 0.1 * rng.normal(size=rows)


def fitted_state(model):
    """Return everything that a fit has set, as bytes."""
    return pickle.dumps({k: v for k, v in sorted(vars(model).items()) if k.endswith("_")})


def fail_on_release(monkeypatch):
    """Let a test fail that looks at the data before it has looked at its parameters."""

    def released(*_, **__):
        pytest.fail("something was released")

    for name in ("gram", "smallest_eigenvalue", "gradient", "example_gradient", "count", "random"):
        monkeypatch.setattr(Publisher, name, released)


# -------------------------------------------------------------------------------------- parameters

BUDGET = {
    "epsilon": [(0.0, "1e-06 .* 1000"), (-1.0, "1e-06 .* 1000"), (1001.0, "1e-06 .* 1000")],
    "delta": [(0.0, "1e-300 .* 0.5"), (0.6, "1e-300 .* 0.5"), (-1e-6, "1e-300 .* 0.5")],
}
MU = {"mu": [(0.0, "above"), (-2.0, "above"), (2e12, r"at most 1e\+12")]}
SIZE = [(0.0, "above"), (-3.0, "above"), (float("inf"), r"at most 1e\+50")]
ROUND_NUMBERS = [(0, "from 1"), (-7, "from 1"), (10**7, "1000000")]
SHARED = {
    "neighbors": [("substitute", "'add_remove', 'replace'"), (None, "'add_remove', 'replace'")],
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
        ((1.0, 1.0), "3 positive"),
        ((1.0, 0.0, 1.0), "3 positive"),
        ((1.0, -1.0, 1.0), "3 positive"),
        ((1.0, float("nan"), 1.0), "3 positive"),
        (3.0, "3 positive"),
        ("abc", "3 positive"),
    ],
    "ridge": [("none", "'adassp', 'literal'"), (1.0, "'adassp', 'literal'")],
}
WRONG = {
    BoostedAdaSSP: {
        **SUFFICIENT,
        **RATE,
        "tau": SIZE,
        "n_rounds": ROUND_NUMBERS,
        "averaging": [(-0.1, "from 0 to 1"), (1.5, "from 0 to 1"), ("all", "from 0 to 1")],
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
    if name not in ("neighbors", "ridge", "learning_rate", "split", "random_state", "n_jobs")
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
        with pytest.raises(ValueError, match=r"array|rows|dim"):
            model.fit(bad, y)
    if cls is not BoostedMean:
        with pytest.raises(NotFiniteError):
            model.fit(np.full((60, 2), np.nan), y)
    assert fitted_state(model) == before
    assert len(model.predict(X)) == len(X)


# ------------------------------------------------------------------------------- as an object


@every
def test_clone_and_parameters(cls):
    estimator = small(cls, epsilon=0.7, neighbors="replace")
    twin = clone(estimator)
    assert twin.get_params() == estimator.get_params()
    assert clone(small(cls).fit(*table())).__sklearn_is_fitted__() is False
    assert twin.set_params(epsilon=0.2) is twin
    assert twin.epsilon == 0.2
    with pytest.raises(ValueError, match="nonsense"):
        twin.set_params(nonsense=1)


@every
def test_unfitted_models_say_so(cls):
    with pytest.raises(NotFittedError):
        small(cls).predict(table()[0])


@every
def test_files_hold_the_whole_model(cls, tmp_path):
    X, y = table()
    model = small(cls, fit_intercept=True) if cls in LINEAR else small(cls)
    model.fit(X, y)
    joblib.dump(model, tmp_path / "model")
    copies = [
        *(pickle.loads(pickle.dumps(model, protocol)) for protocol in range(2, 6)),
        joblib.load(tmp_path / "model"),
        copy.deepcopy(model),
    ]
    for twin in copies:
        np.testing.assert_array_equal(twin.predict(X), model.predict(X))
        assert twin.privacy_ == model.privacy_
        assert twin.get_params() == model.get_params()


@every
def test_pandas_names_are_kept_and_checked(cls):
    X, y = table()
    frame = pd.DataFrame(X, columns=["age", "height", "weight"])
    model = small(cls).fit(frame, pd.Series(y))
    assert model.feature_names_in_.tolist() == ["age", "height", "weight"]
    assert model.n_features_in_ == 3
    model.predict(frame)
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["height", "age", "weight"]])
    with pytest.raises(ValueError, match="feature"):
        model.predict(frame[["age", "height"]])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict(X)
    assert not hasattr(model.fit(X, y), "feature_names_in_")


@every
def test_pipelines_and_cross_validation(cls):
    X, y = table()
    pipeline = make_pipeline(FunctionTransformer(np.tanh), small(cls))
    scores = cross_val_score(pipeline, X, y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()
    model = pipeline.fit(X, y)[-1]
    assert model.privacy_.epsilon == 1.0
    assert np.isfinite(pipeline.score(X, y))


@every
def test_a_grid_search_fits_every_candidate(cls):
    X, y = table()
    search = GridSearchCV(small(cls), {"epsilon": [0.5, 2.0]}, cv=2).fit(X, y)
    assert search.best_estimator_.privacy_.epsilon == search.best_params_["epsilon"]


@pytest.mark.parametrize("cls", LINEAR, ids=named)
def test_score_is_that_of_predict(cls):
    X, y = table(rows=2000)
    model = small(cls, epsilon=100.0).fit(X, y)
    rest = y - model.predict(X)
    assert model.score(X, y) == pytest.approx(1 - (rest @ rest) / np.sum((y - y.mean()) ** 2))


@every
@pytest.mark.filterwarnings("ignore:Unknown section Privacy")  # see the test below
def test_repr_shows_parameters_and_no_data(cls):
    X = np.full((30, 2), 8.7654321)
    y = np.full(30, 3.1234567)
    model = small(cls, epsilon=0.5).fit(X, y)
    # Of a record, too: it holds parameters and claims.
    for text in (repr(model), str(model), model._repr_html_(), repr(model.privacy_)):
        assert "8.765" not in text
        assert "3.1234" not in text
        assert "30 rows" not in text
    assert repr(model).startswith(f"{cls.__name__}(epsilon=0.5")


@every
def test_a_notebook_shows_it_without_a_warning(cls):
    """scikit-learn reads the docstring for this, and warns about sections that it does not know."""
    # Texts that it has read it remembers; this one it has not seen.
    fresh = type("Fresh", (cls,), {"__doc__": f"Fresh. {cls.__doc__}"})
    assert "Fresh" in fresh()._repr_html_()


# ------------------------------------------------------------------------------------- predictions


def trained(**options):
    X, y = table(rows=500)
    return BoostedAdaSSP(mu=1e12, n_rounds=20, **options).fit(X, y)


def test_predict_clips_rows_as_fit_does():
    model = trained(x_bound=0.5)
    row = np.array([[3.0, -4.0, 12.0]])
    assert model.predict(row) == pytest.approx(row @ model.coef_ * (0.5 / 13.0))
    assert model.predict(row / 100.0) == pytest.approx(row / 100.0 @ model.coef_)
    model.set_params(clip_predictions=False)
    assert model.predict(row) == pytest.approx(row @ model.coef_)


def test_predict_adds_the_intercept_after_clipping():
    model = trained(fit_intercept=True)
    assert model.predict(np.zeros((1, 3))) == pytest.approx([model.intercept_])
    far = model.predict([[1e6, 0.0, 0.0]])
    assert far == pytest.approx([model.coef_[0] + model.intercept_])


@pytest.mark.parametrize("size", [1e100, 1e160, 1e200, 1.7e308])
def test_rows_of_any_size_are_predicted_along_their_direction(size):
    """As in the fit, in which a row this long is one of norm x_bound. Warnings are errors."""
    model = trained()
    direction = np.array([[0.6, 0.0, -0.8]])
    assert model.predict(direction * size) == pytest.approx(direction @ model.coef_, rel=1e-9)


def test_a_fitted_model_does_not_follow_its_parameters():
    """Rows are clipped as they were in the fit, whatever a later set_params says."""
    model = trained(x_bound=0.5)
    row = np.array([[3.0, -4.0, 12.0]])
    before = model.predict(row)
    model.set_params(x_bound=5.0)
    assert model.predict(row) == pytest.approx(before)


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
    calls = []
    for name in ("gradient", "example_gradient"):
        original = getattr(Publisher, name)

        def release(self, *arguments, original=original):
            calls.append(1)
            if len(calls) == call:
                raise KeyboardInterrupt
            return original(self, *arguments)

        monkeypatch.setattr(Publisher, name, release)


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


# ------------------------------------------------------------------------------ what a model holds

ROWS = 7919  # a number of rows that does not come about otherwise


def reachable(model):
    """Return every object that can be reached from a model, classes and modules left out."""
    skipped = (type, types.ModuleType, types.FunctionType, types.BuiltinFunctionType)
    found, todo = {}, [vars(model)]
    while todo:
        item = todo.pop()
        if id(item) in found or isinstance(item, skipped):
            continue
        found[id(item)] = item
        todo += gc.get_referents(item)
        if isinstance(item, np.ndarray) and item.base is not None:
            todo.append(item.base)
    return list(found.values())


@every
def test_a_model_keeps_no_row_and_no_count(cls):
    X, y = table(rows=ROWS)
    model = small(cls).fit(X, y)
    for item in reachable(model):
        if isinstance(item, np.ndarray):
            assert item.size <= X.shape[1] + 1
            assert not np.shares_memory(item, X)
            assert not np.shares_memory(item, y)
        if isinstance(item, (int, float, np.number)):
            assert item not in (ROWS, ROWS - 1)
        if isinstance(item, (list, tuple, dict, set, str, bytes)):
            assert len(item) < 1000
        assert not type(item).__module__.startswith("dpfit._native")
    assert len(pickle.dumps(model)) < 5000


@every
def test_a_models_size_says_nothing_about_its_table(cls):
    sizes = {
        len(pickle.dumps(small(cls, epsilon=1e-3, delta=1e-9).fit(*table(rows=rows)), protocol=5))
        for rows in (1, 50, 3000)
    }
    assert len(sizes) == 1


@every
def test_arrays_given_are_not_changed(cls):
    X, y = table()
    before = X.copy(), y.copy()
    X.flags.writeable = y.flags.writeable = False
    small(cls).fit(X, y)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


@every
def test_attributes_are_those_documented(cls):
    model = small(cls).fit(*table())
    found = {name for name in vars(model) if name.endswith("_")}
    expected = {"privacy_", "n_features_in_"}
    expected |= {"mean_"} if cls is BoostedMean else {"coef_", "intercept_"}
    assert expected <= found
    for name in found:
        assert name in cls.__doc__ or name in BoostedAdaSSP.__doc__


@every
@pytest.mark.parametrize("dtype", [np.float32, np.int16, bool])
def test_other_types_of_numbers_fit(cls, dtype):
    X = np.random.default_rng(0).integers(0, 2, size=(40, 2)).astype(dtype)
    model = small(cls).fit(X, X[:, 0])
    assert np.isfinite(model.predict(X)).all()


@every
def test_lists_and_files_of_numbers_fit(cls):
    text = io.StringIO("0.1,0.2,1\n0.3,0.1,2\n0.2,0.2,1.5\n")
    rows = np.loadtxt(text, delimiter=",")
    model = small(cls).fit(rows[:, :2].tolist(), rows[:, 2].tolist())
    assert model.predict([[0.1, 0.2]]).shape == (1,)


@every
def test_errors_share_a_base(cls):
    with pytest.raises(DpfitError):
        cls(epsilon=-1.0).fit(*table())
